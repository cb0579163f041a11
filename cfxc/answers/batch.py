"""The same question about many instances: in parts, by several processes, kept on disk as it goes.

A part is a slice of the table.  Parts are independent, so that joblib spreads them, and each is
written as soon as it is answered: a batch that was broken off goes on where it stopped.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..arrays import Ints
from ..errors import CfxcError, DataTypeError, InvalidInputError, MissingExtraError
from ..stopping import listening
from ..writing import make_folder, write_whole, written_whole
from .cells import changes_between
from .explaining import Explainer
from .result import Result

PART = 100  # instances in a part
PREFIX = "counterfactual."
HEAD = "_question.json"  # readers of Parquet leave such names alone
UNASKED = "interrupted before this instance was asked about"
ERROR = "error"  # the status of a row that is not answered for what is wrong with it
UNCHANGED = "unchanged"  # the status of a row that has the target outcome already
Done = Callable[[int, int], None]
"""Is told how many instances are answered, and of how many."""


def explain_rows(
    question: Explainer, rows: pd.DataFrame, n_jobs: int, out: str | Path | None, done: Done | None
) -> pd.DataFrame:
    """See :meth:`cfxc.CompiledModel.explain_batch`."""
    if not isinstance(rows, pd.DataFrame):
        raise DataTypeError(f"explain_batch takes a DataFrame of rows, not {type(rows).__name__}")
    if rows.empty:
        raise InvalidInputError("explain_batch: the table has no rows")
    if done is not None and not callable(done):
        raise DataTypeError(f"progress is a function of two numbers, not {done!r}")
    parts = range(0, len(rows), PART)
    store = None if out is None else Store.open(Path(out), question, rows)
    kept = {} if store is None else store.parts()
    missing = [number for number in range(len(parts)) if number not in kept]
    first = first_alike(rows)
    own = [_own(first, parts[number]) for number in missing]
    answers = _answers(question, [rows.iloc[places] for places in own], n_jobs)
    answered = sum(len(part) for part in kept.values())
    with suppress(KeyboardInterrupt):  # what was answered by then is kept
        for number, places, answer in zip(missing, own, answers, strict=False):
            piece = rows.iloc[parts[number] : parts[number] + PART]
            part = _spread(answer, places, first[parts[number] :][:PART], parts[number], kept)
            part = kept[number] = part.set_axis(piece.index)
            if (part["reason"] == UNASKED).any():
                break
            if store is not None:
                store.add(number, part)
            answered += len(part)
            if done is not None:
                done(answered, len(rows))
    for number in missing:
        if number not in kept:
            piece = rows.iloc[parts[number] : parts[number] + PART]
            kept[number] = _table_of(piece, [None] * len(piece))
    table = pd.concat([kept[number] for number in range(len(parts))])
    if (table["status"] == ERROR).all() and table["reason"].nunique() == 1:
        raise InvalidInputError(f"no instance can be answered: {table['reason'].iloc[0]}")
    return table


def first_alike(rows: pd.DataFrame) -> Ints:
    """The place of the first row with the same cells, for each row (n,): they have one answer.

    Cells of objects are the same only if they have one type and one text: ``1`` is not ``True``.
    """
    group = np.zeros(len(rows), dtype=np.int64)
    for number in range(rows.shape[1]):
        column = rows.iloc[:, number]
        if column.dtype == object:
            column = column.map(lambda cell: f"{type(cell).__qualname__} {cell!r}")
        codes = pd.factorize(column, use_na_sentinel=False)[0].astype(np.int64)
        group = np.unique(group * (codes.max() + 1) + codes, return_inverse=True)[1]
    _, place = np.unique(group, return_index=True)
    firsts: Ints = place[group]
    return firsts


def _own(first: Ints, start: int) -> Ints:
    """The places of the rows of a part whose like did not come before."""
    here = np.arange(start, min(start + PART, first.size))
    own: Ints = here[first[here] == here]
    return own


def _spread(
    answer: pd.DataFrame, places: Ints, first: Ints, start: int, kept: Mapping[int, pd.DataFrame]
) -> pd.DataFrame:
    """The answers of a whole part: its own at ``places``, and those of rows that came before."""
    before = [place for place in np.unique(first).tolist() if place not in set(places.tolist())]
    earlier = [kept[place // PART].iloc[[place % PART]] for place in before]
    known = pd.concat([answer, *earlier] if len(answer) else earlier) if earlier else answer
    at = {place: i for i, place in enumerate([*places.tolist(), *before])}
    part = known.iloc[[at[place] for place in first.tolist()]].copy()
    part["seconds"] = part["seconds"].where(first == np.arange(first.size) + start, 0.0)
    return part


def _answers(
    question: Explainer, pieces: Sequence[pd.DataFrame], n_jobs: int
) -> Iterator[pd.DataFrame]:
    """The parts' answers, in order, as they come."""
    if n_jobs == 1:
        with listening():
            for piece in pieces:
                yield answer_part(question, piece)
    elif pieces:
        from joblib import Parallel, delayed

        content = _packed(question)
        work = (delayed(answer_part)(content, piece) for piece in pieces)
        yield from Parallel(n_jobs=n_jobs, return_as="generator")(work)


def _packed(question: Explainer) -> Explainer | bytes:
    """The question as bytes, which a process unpacks once for all its parts; itself if it cannot.

    What a process has worked out of the model, it then keeps.
    """
    try:
        return pickle.dumps(question, pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError):  # joblib itself packs more
        return question


@lru_cache(maxsize=1)
def _unpacked(content: bytes) -> Explainer:
    question: Explainer = pickle.loads(content)
    return question


def answer_part(question: Explainer | bytes, rows: pd.DataFrame) -> pd.DataFrame:
    """A table of answers with the index of ``rows``."""
    question = _unpacked(question) if isinstance(question, bytes) else question
    with listening():
        answers = question.answers(rows)
    return _table_of(rows, answers)


def _table_of(rows: pd.DataFrame, answers: Sequence[Result | CfxcError | None]) -> pd.DataFrame:
    records = [_record(answer) for answer in answers]
    table = pd.DataFrame(records, rows.index, columns=[*_RECORD])
    points, places = rows.iloc[:0], np.empty(0, np.int64)
    found = {
        i: answer.counterfactual
        for i, answer in enumerate(answers)
        if isinstance(answer, Result) and answer.counterfactual is not None
    }
    if found:
        points, places = pd.concat(found.values()), np.array(list(found))
    changes = np.full(len(rows), "", dtype=object)
    for place, changed in zip(places, changes_between(rows.iloc[places], points), strict=True):
        changes[place] = "; ".join(f"{name}: {old} → {new}" for name, (old, new) in changed.items())
    table.insert(table.columns.get_loc("seconds"), "changes", changes)
    points = points.set_axis(places)
    if len(found) < len(rows):
        points = points.reindex(range(len(rows)))
    return pd.concat([table, points.set_axis(rows.index).add_prefix(PREFIX)], axis=1)


def _record(answer: Result | CfxcError | None) -> dict[str, Any]:
    if answer is None:
        unknown = {"status": "unknown", "seconds": 0.0, "reason": UNASKED}
        return dict.fromkeys(_RECORD) | unknown
    if isinstance(answer, CfxcError):
        return {**dict.fromkeys(_RECORD), "status": ERROR, "seconds": 0.0, "reason": str(answer)}
    return {
        "status": UNCHANGED if answer.unchanged else answer.status,
        "outcome_before": answer.outcome_before,
        "outcome_after": answer.outcome_after,
        "distance": answer.distance,
        "lower_bound": answer.lower_bound,
        "lower_bound_proof": answer.lower_bound_proof,
        "seconds": answer.seconds,
        "reason": "" if answer.unchanged else answer.reason or answer.why.removeprefix(", "),
    }


_RECORD: dict[str, Any] = {
    "status": "", "outcome_before": None, "outcome_after": None, "distance": 0.0,
    "lower_bound": 0.0, "lower_bound_proof": "", "seconds": 0.0, "reason": "",
}  # fmt: skip


def part_name(number: int) -> str:
    """The file of a part."""
    return f"part-{number:06d}.parquet"


@dataclass(frozen=True)
class Store:
    """A directory of Parquet files, one for each part, of one question about one table.

    Attributes:
        schema: Of all of them alike, whether or not there is an answer in one.
        rows: Of the table.
    """

    path: Path
    schema: Any
    rows: int

    @classmethod
    def open(cls, path: Path, question: Explainer, rows: pd.DataFrame) -> Store:
        """A new one, or the one that was begun.

        Raises:
            MissingExtraError: Parquet cannot be written.
            InvalidInputError: there is something else, or answers to another question; it cannot
                be written; a column has no type in Parquet.
        """
        if find_spec("pyarrow") is None:
            raise MissingExtraError("parquet", "pyarrow", "explain_batch(out=…): writing Parquet")
        head = path / HEAD
        requested = {"sha256": _hash(question, rows), "rows": len(rows), "rows_per_part": PART}
        text = json.dumps(requested)
        found = cls(path, _schema(path, question, rows), len(rows))
        if head.is_file():
            if head.read_bytes() != text.encode():
                raise InvalidInputError(
                    f"{path} holds answers to another question, or about other instances; name "
                    "another directory, or delete this one"
                )
            return found
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise InvalidInputError(f"{path} is no directory of answers; name a new directory")
        make_folder(path)
        write_whole(head, text)
        return found

    def parts(self) -> dict[int, pd.DataFrame]:
        """The parts that are there, by number.

        Raises:
            InvalidInputError: one is damaged, or no part of these answers.
        """
        files = {number: self._file(number) for number in range(-(-self.rows // PART))}
        known = {file.name for file in files.values()}
        if odd := sorted({file.name for file in self.path.glob("part-*")} - known):
            raise InvalidInputError(f"{self.path / odd[0]}: no part of these answers; delete it")
        return {n: self._read(n, file) for n, file in files.items() if file.exists()}

    def _file(self, number: int) -> Path:
        return self.path / part_name(number)

    def _read(self, number: int, file: Path) -> pd.DataFrame:
        import pyarrow
        from pyarrow.parquet import ParquetFile

        again = "delete it, and its instances are answered again"
        try:
            with ParquetFile(file) as content:
                same = content.schema_arrow.equals(self.schema)
                part: pd.DataFrame = content.read().to_pandas()
        except (OSError, pyarrow.ArrowException) as error:
            raise InvalidInputError(f"{file}: damaged, or no Parquet: {again}") from error
        if not same or len(part) != min(PART, self.rows - number * PART):
            raise InvalidInputError(f"{file}: the answers of other instances or columns: {again}")
        return part

    def add(self, number: int, part: pd.DataFrame) -> None:
        """Write a part, as a whole or not at all.

        Raises:
            InvalidInputError: it cannot be written.
        """
        with written_whole(self._file(number)) as beside, _as_parquet(self.path):
            part.to_parquet(beside, schema=self.schema)


def _schema(path: Path, question: Explainer, rows: pd.DataFrame) -> Any:
    """The types of the columns of all parts alike, whether or not there is an answer in one."""
    import pyarrow

    classes = question.model.predictor.classes
    outcome = 0.0 if classes is None else classes[0]
    record = {**_RECORD, "outcome_before": outcome, "outcome_after": outcome}
    sample = pd.DataFrame([record] * len(rows), index=rows.index)
    sample.insert(sample.columns.get_loc("seconds"), "changes", "")
    table = pd.concat([sample, rows.add_prefix(PREFIX)], axis=1)
    for name in table.columns:
        with _as_parquet(path, f"column '{name.removeprefix(PREFIX)}': "):
            pyarrow.Schema.from_pandas(table[[name]])
    return pyarrow.Schema.from_pandas(table)


@contextmanager
def _as_parquet(path: Path, where: str = "") -> Iterator[None]:
    """Values that Parquet has no type for, such as texts and numbers in one column, are named."""
    import pyarrow

    try:
        yield
    except pyarrow.ArrowException as error:
        raise InvalidInputError(
            f"{path}: cannot write Parquet: {where}{error.args[0]}; give each column one type"
        ) from error


def _hash(question: Explainer, rows: pd.DataFrame) -> str:
    """Of everything an answer depends on."""
    import joblib

    model = question.model
    texts = (
        model.program, model.space.unworded.to_toml(), question.target, question.distance.program,
        joblib.hash({**question.question.given, "n_jobs": 1}), rows.dtypes.to_dict(),
        pd.util.hash_pandas_object(rows).to_numpy().tobytes().hex(),
    )  # fmt: skip
    return sha256("\n".join(map(str, texts)).encode()).hexdigest()

"""The same question about many instances: in parts, by several processes, kept on disk as it goes.

A part is a run of rows that takes some seconds.  Parts are independent, so that joblib spreads
them, and each is written as soon as it is answered: a batch that was broken off goes on where it
stopped, with the rows that no part holds.
"""

from __future__ import annotations

import json
import pickle
import re
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from importlib.util import find_spec
from itertools import chain
from math import inf
from pathlib import Path
from time import time
from typing import Any

import numpy as np
import pandas as pd

from ..arrays import Ints
from ..errors import CfxcError, DataTypeError, InvalidInputError, MissingExtraError
from ..frontends.compiled import Compiled
from ..question.checks import positive_number
from ..question.question import Question
from ..solvers.base import Watch
from ..stopping import TimeUp, listening, now, until
from ..writing import held_alone, make_folder, write_whole, written_whole
from .cells import changes_between, changes_text, first_alike
from .explaining import Explainer, explainer_of
from .result import Result

PART = 100
"""Instances in a part, at most."""
FIRST = 1
"""Instances in the first part, before it is known how long one takes."""
SECONDS = 5.0
"""About how long a part takes: what is lost at most, for each process, by a power cut."""
PREFIX = "counterfactual."
HEAD = "_question.json"  # readers of Parquet leave such names alone
UNASKED = "interrupted before this instance was asked about"
ERROR = "error"  # the status of a row that is not answered for what is wrong with it
UNCHANGED = "unchanged"  # the status of a row that has the target outcome already
CERTIFYING = 10.0
"""Seconds that a certificate may take where the time limit is less."""
NONE = "none: "
"""How a cell begins that says why there is no certificate."""
ONE_EACH = {"count", "diversity", "apart", "relax", "seeds"}
"""Options that a batch, with one answer a row, does not have."""
Done = Callable[[int, int], None]
"""Is told how many instances are answered, and of how many."""


@dataclass(frozen=True)
class Run:
    """How a batch runs.

    Attributes:
        n_jobs: How many processes.
        out: A folder for the parts.
        certificates: A folder for one certificate an answer.
        seconds: After how many no more instance is asked about.
        part: Is told of every part that there is, as a table.
        watch: Is told of the search of the present instance, where one process runs.
        overwrite: Whether the parts of another question give way.
    """

    n_jobs: int = 1
    out: str | Path | None = None
    certificates: str | Path | None = None
    seconds: float | None = None
    part: Callable[[pd.DataFrame], None] | None = None
    watch: Watch | None = None
    overwrite: bool = False


def explain_rows(model: Compiled, question: Question, rows: pd.DataFrame, run: Run) -> pd.DataFrame:
    """See :meth:`cfxc.CompiledModel.explain_batch`."""
    if odd := sorted(ONE_EACH & set(question.given)):
        raise InvalidInputError(
            f"explain_batch gives one answer a row, and takes no {', '.join(odd)}"
        )
    explainer = explainer_of(model, question.with_(n_jobs=1), run.watch)
    if not isinstance(rows, pd.DataFrame):
        raise DataTypeError(
            f"explain_batch takes a DataFrame of rows, not {type(rows).__name__}; "
            "such as X[:10], or pd.DataFrame(rows, columns=[…])"
        )
    if rows.empty:
        raise InvalidInputError("explain_batch: the table has no rows")
    limit = None if run.seconds is None else positive_number(run.seconds, "total_time_limit")
    store = None if run.out is None else Store.open(Path(run.out), explainer, rows, run)
    if run.certificates is not None:
        make_folder(Path(run.certificates))
    batch = Batch(explainer, rows, run, first_alike(rows), inf if limit is None else time() + limit)
    held = nullcontext() if store is None else held_alone(store.path / HEAD)
    with held, suppress(KeyboardInterrupt), warnings.catch_warnings():  # what was answered is kept
        warnings.filterwarnings("ignore", ".* tasks which were still being processed")
        for start, part in ({} if store is None else store.parts()).items():
            batch.keep(start, part)
        for start, part in batch.missing():
            if store is not None:
                store.add(start, part)
            batch.keep(start, part)
    table = batch.table()
    if (table["status"] == ERROR).all() and table["reason"].nunique() == 1:
        raise InvalidInputError(f"no instance can be answered: {table['reason'].iloc[0]}")
    return table


class Batch:
    """The answers to a question about the rows of a table, as they come.

    ``first``: the place of the first row like it, for each row; ``deadline``: of ``time.time``.
    """

    def __init__(
        self, question: Explainer, rows: pd.DataFrame, run: Run, first: Ints, deadline: float
    ) -> None:
        self.question, self.rows, self.run, self.first = question, rows, run, first
        self.deadline = deadline
        self.kept: dict[int, pd.DataFrame] = {}
        self._tables: list[pd.DataFrame] = []
        self._table = np.full(len(rows), -1)  # of each row: which of them has its answer
        self._line = np.zeros(len(rows), dtype=np.int64)  # and where
        self._pace, self._size = 0.0, FIRST

    def keep(self, start: int, part: pd.DataFrame) -> None:
        """Part of the answers, which begins with row ``start``."""
        self.kept[start] = part
        self._know(np.arange(start, start + len(part)), part)
        if self.run.part is not None:
            self.run.part(part)

    def _know(self, places: Ints, answers: pd.DataFrame) -> None:
        self._table[places], self._line[places] = len(self._tables), np.arange(len(places))
        self._tables.append(answers)

    def missing(self) -> Iterator[tuple[int, pd.DataFrame]]:
        """Parts that are not there, in order, as they are answered: where each begins, and it.

        A part ends with the last row before one that was not asked about, when time is up.
        """
        sent = deque[range]()
        for answer in self._answers(sent):
            places = sent.popleft()
            own = self._own(places)
            self._measure(own.size, answer["seconds"].sum())
            requested = ~(answer["reason"] == UNASKED).to_numpy(bool)
            self._know(own[requested], answer[requested])
            known = self._table[self.first[places.start : places.stop]] >= 0
            count = len(places) if known.all() else int(np.argmin(known))
            if count:
                yield places.start, self._spread(places.start, places.start + count)
            if count < len(places) and time() < self.deadline:
                return

    def _measure(self, count: int, seconds: float) -> None:
        """Let the next parts take about ``SECONDS``."""
        if count:
            pace = float(seconds) / count
            self._pace = pace if not self._pace else (self._pace + pace) / 2
            self._size = max(1, min(PART, int(SECONDS / max(self._pace, 1e-9))))

    def _pieces(self) -> Iterator[range]:
        """Runs of rows that no part holds, while there is time."""
        held, at = self._table >= 0, 0
        while at < len(held) and time() < self.deadline:
            if held[at]:
                at += 1
                continue
            end = min(at + min(self._size, PART), len(held))
            end = at + next((i for i in range(end - at) if held[at + i]), end - at)
            yield range(at, end)
            at = end

    def _own(self, places: range) -> Ints:
        """The places of the rows whose like did not come before."""
        here = np.arange(places.start, places.stop)
        own: Ints = here[self.first[here] == here]
        return own

    def _spread(self, start: int, stop: int) -> pd.DataFrame:
        """The answers of a part, also of rows that have the answer of one before."""
        wanted = self.first[start:stop]
        tables = self._table[wanted]
        found, order = list[pd.DataFrame](), list[Ints]()
        for number in np.unique(tables).tolist():
            here = np.flatnonzero(tables == number)
            found.append(self._tables[number].iloc[self._line[wanted[here]]])
            order.append(here)
        part = pd.concat(found).iloc[np.argsort(np.concatenate(order))]
        copied = wanted != np.arange(start, stop)
        part["seconds"] = part["seconds"].mask(copied, 0.0)
        return part.set_axis(self.rows.index[start:stop])

    def _answers(self, sent: deque[range]) -> Iterator[pd.DataFrame]:
        """The answers of own rows, part by part; ``sent`` gets which parts these are."""
        if self.run.n_jobs == 1:
            with listening():
                for places in self._pieces():
                    sent.append(places)
                    yield answer_part(self.question, *self._task(places))
            return
        from joblib import Parallel, delayed

        content, pieces = _packed(self.question), self._pieces()
        first = next(pieces, None)
        if first is None:
            return

        def work() -> Iterator[Any]:
            for places in chain([first], pieces):
                sent.append(places)
                yield delayed(answer_part)(content, *self._task(places))

        yield from Parallel(n_jobs=self.run.n_jobs, return_as="generator")(work())

    def _task(self, places: range) -> tuple[pd.DataFrame, float, list[Path] | None]:
        own = self._own(places)
        rows, folder = self.rows.iloc[own], self.run.certificates
        if folder is None:
            return rows, self.deadline, None
        index = self.rows.index
        numbered = index.is_unique and pd.api.types.is_integer_dtype(index)
        names = rows.index.tolist() if numbered else own.tolist()
        return rows, self.deadline, [Path(folder, f"row-{name}.json.gz") for name in names]

    def table(self) -> pd.DataFrame:
        """All answers, in the order of the rows; ``unknown`` for who was not asked about."""
        parts, at = list[pd.DataFrame](), 0
        for start, part in sorted(self.kept.items()):
            parts += [self._nothing(at, start), part]
            at = start + len(part)
        parts.append(self._nothing(at, len(self.rows)))
        return pd.concat([part for part in parts if len(part)])

    def _nothing(self, start: int, stop: int) -> pd.DataFrame:
        rows = self.rows.iloc[start:stop]
        return _table_of(rows, [None] * len(rows), self.run.certificates is not None)


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


def answer_part(
    question: Explainer | bytes,
    rows: pd.DataFrame,
    deadline: float = inf,
    certificates: Sequence[Path] | None = None,
) -> pd.DataFrame:
    """A table of answers with the index of ``rows``, which are asked about until the deadline."""
    question = _unpacked(question) if isinstance(question, bytes) else question
    with listening(), until(now() + (deadline - time())):
        answers = question.answers(rows)
    if certificates is None:
        return _table_of(rows, answers, False)
    saved, most = list[str](), max(question.question.time_limit, CERTIFYING)
    for answer, path in zip(answers, certificates, strict=True):
        with until(now() + most):  # beyond the deadline too, else it would be lost
            saved.append(_certified(answer, path))
    table = _table_of(rows, answers, True)
    table["certificate"] = pd.Series(saved, rows.index, dtype=object)
    return table


def _certified(answer: Result | CfxcError | None, path: Path) -> str:
    """The name of the certificate's file, which is written; else why there is none."""
    if not isinstance(answer, Result) or answer.unchanged:
        return ""
    try:
        answer.certificate.save(path)
    except CfxcError as error:
        return f"{NONE}{str(error).splitlines()[0]}"
    except TimeUp:
        return f"{NONE}the time was up"
    return path.name


def _table_of(
    rows: pd.DataFrame, answers: Sequence[Result | CfxcError | None], certified: bool
) -> pd.DataFrame:
    records = [_record(answer) for answer in answers]
    numbers = [name for name, value in _RECORD.items() if isinstance(value, float)]
    table = pd.DataFrame(records, rows.index, columns=[*_RECORD])
    table[numbers] = table[numbers].astype(np.float64)  # also where none of these rows has one
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
        changes[place] = changes_text(changed)
    table["changes"] = changes
    if certified:
        table["certificate"] = ""
    points = points.set_axis(places).reindex(range(len(rows)))
    return pd.concat([table, points.set_axis(rows.index).add_prefix(PREFIX)], axis=1)


def _record(answer: Result | CfxcError | None) -> dict[str, Any]:
    if answer is None:
        return {**dict.fromkeys(_RECORD), "status": "unknown", "seconds": 0.0, "reason": UNASKED}
    if isinstance(answer, CfxcError):
        return {**dict.fromkeys(_RECORD), "status": ERROR, "seconds": 0.0, "reason": str(answer)}
    return {
        "status": UNCHANGED if answer.unchanged else answer.status,
        "outcome_before": answer.outcome_before,
        "outcome_after": answer.outcome_after,
        "distance": answer.distance,
        "distance_name": answer.distance_name,
        "lower_bound": answer.lower_bound,
        "lower_bound_proof": answer.lower_bound_proof,
        "seconds": answer.seconds,
        "reason": "" if answer.unchanged else answer.reason or answer.why.removeprefix(", "),
    }


_RECORD: dict[str, Any] = {
    "status": "", "changes": "", "outcome_before": None, "outcome_after": None, "distance": 0.0,
    "distance_name": "", "lower_bound": 0.0, "lower_bound_proof": "", "seconds": 0.0, "reason": "",
}  # fmt: skip


def part_start(file: Path) -> int:
    """The place of the first row of a part.

    Raises:
        InvalidInputError: the file is none.
    """
    number = re.fullmatch(r"part-(\d{9})\.parquet", file.name)
    if number is None:
        raise InvalidInputError(f"{file}: no part of these answers; delete it")
    return int(number[1])


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
    def open(cls, path: Path, question: Explainer, rows: pd.DataFrame, run: Run) -> Store:
        """A new one, or the one that was begun.

        Raises:
            MissingExtraError: Parquet cannot be written.
            InvalidInputError: there is something else, or answers to another question; it cannot
                be written; a column has no type in Parquet.
        """
        if find_spec("pyarrow") is None:
            raise MissingExtraError("parquet", "pyarrow", "explain_batch(out=…): writing Parquet")
        head, certified = path / HEAD, run.certificates is not None
        requested = {"sha256": _hash(question, rows), "rows": len(rows), "certificates": certified}
        text = json.dumps(requested)
        found = cls(path, _schema(path, question, rows, certified), len(rows))
        if head.is_file() and head.read_bytes() == text.encode():
            return found
        if head.is_file():
            if not run.overwrite:
                raise InvalidInputError(
                    f"{path} holds answers to another question (other flags?), or about other "
                    "instances; ask as before, name another directory, or delete this one"
                )
            with held_alone(head):
                for file in path.glob(f"part-{'[0-9]' * 9}.parquet"):
                    file.unlink()
        elif path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise InvalidInputError(f"{path} is no directory of answers; name a new directory")
        make_folder(path)
        write_whole(head, text)
        return found

    def parts(self) -> dict[int, pd.DataFrame]:
        """The parts that are there, by their first row.

        Raises:
            InvalidInputError: one is damaged, or no part of these answers.
        """
        found, at = dict[int, pd.DataFrame](), 0
        for file in sorted(self.path.glob("part-*")):
            start = part_start(file)
            if start >= self.rows:
                raise InvalidInputError(f"{file}: no part of these answers; delete it")
            found[start] = self._read(file, at, start)
            at = start + len(found[start])
        return found

    def _read(self, file: Path, least: int, start: int) -> pd.DataFrame:
        import pyarrow
        from pyarrow.parquet import ParquetFile

        again = "delete it, and its instances are answered again"
        try:
            with ParquetFile(file) as content:
                same = content.schema_arrow.equals(self.schema)
                part: pd.DataFrame = content.read().to_pandas()
        except (OSError, pyarrow.ArrowException) as error:
            raise InvalidInputError(f"{file}: damaged, or no Parquet: {again}") from error
        if not same or not len(part) or start < least or start + len(part) > self.rows:
            raise InvalidInputError(f"{file}: the answers of other instances or columns: {again}")
        return part

    def add(self, start: int, part: pd.DataFrame) -> None:
        """Write a part, as a whole or not at all.

        Raises:
            InvalidInputError: it cannot be written.
        """
        file = self.path / f"part-{start:09d}.parquet"
        with written_whole(file) as beside, _as_parquet(self.path):
            part.to_parquet(beside, schema=self.schema)


def _schema(path: Path, question: Explainer, rows: pd.DataFrame, certified: bool) -> Any:
    """The types of the columns of all parts alike, whether or not there is an answer in one."""
    import pyarrow

    classes = question.model.predictor.classes
    outcome = 0.0 if classes is None else classes[0]
    record = {**_RECORD, "outcome_before": outcome, "outcome_after": outcome}
    sample = pd.DataFrame([record] * len(rows), index=rows.index)
    if certified:
        sample["certificate"] = ""
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

"""The table of many answers, and the folder that keeps it in parts as they come."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..errors import CfxcError, InvalidInputError, MissingExtraError
from ..writing import held_alone, make_folder, write_whole, written_whole
from .cells import changes_between, changes_text
from .explaining import Explainer
from .result import Result

PREFIX = "counterfactual."
HEAD = "_question.json"  # readers of Parquet leave such names alone
UNASKED = "interrupted before this instance was asked about"
ERROR = "error"  # the status of a row that is not answered for what is wrong with it
UNCHANGED = "unchanged"  # the status of a row that has the target outcome already
NONE = "none: "
"""How a cell begins that says why there is no certificate."""
TOO_LONG = f"{NONE}the time was up"
OWED = f"{NONE}the time of all rows was up"
"""What a cell says of a certificate that is made when the batch goes on."""


def table_of(
    rows: pd.DataFrame, answers: Sequence[Result | CfxcError | None], certified: bool
) -> pd.DataFrame:
    """A row for each of ``rows``: its answer, why there is none, or that nobody asked (``None``).

    ``certified``: whether there is a column for certificates.
    """
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
        "target": answer.target,
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
    "status": "", "changes": "", "target": "", "outcome_before": None, "outcome_after": None,
    "distance": 0.0, "distance_name": "", "lower_bound": 0.0, "lower_bound_proof": "",
    "seconds": 0.0, "reason": "",
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
    def open(
        cls, path: Path, question: Explainer, rows: pd.DataFrame, certified: bool, overwrite: bool
    ) -> Store:
        """A new one, or the one that was begun.

        Args:
            certified: Whether rows say where their certificates are.
            overwrite: Whether the parts of another question give way.

        Raises:
            MissingExtraError: Parquet cannot be written.
            InvalidInputError: there is something else, or answers to another question; it cannot
                be written; a column has no type in Parquet.
        """
        if find_spec("pyarrow") is None:
            raise MissingExtraError("parquet", "pyarrow", "explain_batch(out=…): writing Parquet")
        head = path / HEAD
        requested = {"sha256": _hash(question, rows), "rows": len(rows), "certificates": certified}
        text = json.dumps(requested)
        found = cls(path, _schema(path, question, rows, certified), len(rows))
        if head.is_file() and head.read_bytes() == text.encode():
            return found
        if head.is_file():
            if not overwrite:
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

"""What a certificate is compared with: a policy, the row it is about, the hash in a letter."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction as Q
from pathlib import Path
from typing import Any

from ..checker import Feature, Rejected, Shown, need, rounded
from .inputs import WrongInput, text_of
from .policy import (
    Policy,
    columns_of,
    document,
    read_policy,
    require_no_narrower,
    require_same,
    stated,
)
from .report import exact, facts, name_of, printable, quoted

PARQUET = re.compile(r".+\.(parquet|pq)(:[0-9]*)?", re.IGNORECASE)
NUMBERED = re.compile(r"(?P<path>.+\.csv):(?P<row>[0-9]{1,18})", re.IGNORECASE)
MISSING = ("", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "null", "none")  # in small letters
TRUTHS = {"true": True, "false": False}
HASH = re.compile(r"[0-9a-f]{16,64}")
GIVEN = "the row that was given"
ROUND = Q(2) ** 1000  # what is larger is no double


@dataclass(frozen=True)
class Asked:
    """What a certificate has to be, besides true; read before it is checked."""

    policy: Policy | None
    row: dict[str, Any] | None
    hash: str | None
    said: tuple[str, ...]
    """What it is compared with, as the report names it."""

    @classmethod
    def read(
        cls, policy: str | Path | None, factual: str | dict[str, Any] | None, hash: str | None
    ) -> Asked:
        """From a file, a row or its name, and a letter; raises ``WrongInput``."""
        wide = None if policy is None else read_policy(Path(policy))
        row = read_row(factual) if isinstance(factual, str) else factual
        named = f"the row {printable(factual)}" if isinstance(factual, str) else GIVEN
        digest = None if hash is None else read_hash(hash)
        silent = [] if wide is None else wide.silent
        left = f" (which says nothing of {', '.join(silent)})" if silent else ""
        said = [] if wide is None else [f"the policy {printable(str(policy))}{left}"]
        said += [] if factual is None else [named]
        said += [] if digest is None else [f"the hash {digest}"]
        return cls(wide, row, digest, tuple(said))

    def facts(self, shown: Shown) -> dict[str, Any]:
        """What the report says of a certificate that is what was asked for.

        Raises:
            Rejected: it is not; or it is malformed.
        """
        require_same(shown.space, shown.question.features)
        if self.hash is not None:
            require_hash(shown, self.hash)
        if self.row is not None:
            said = self.said[self.policy is not None]
            require_row(shown, self.row, said if said == GIVEN else said[len("the row ") :])
        found = facts(shown)
        found["warnings"] += list(self._named(document(shown.space, "space")))
        if self.policy is not None:
            unmet = require_no_narrower(shown, self.policy, found["constraints"])
            found["warnings"] += [
                f"The policy admits a constraint that was not asked: {printable(one)}"
                for one in unmet
            ]
        return {**found, "compared with": list(self.said)}

    def _named(self, space: dict[str, Any]) -> Iterator[str]:
        """Where the certificate's names are not those of the model's columns, or of the row's."""
        for one in stated(space, "space"):
            name = name_of(one.name)
            if one.encoding is None and one.columns != [one.name]:
                yield f"{name} is the model's column {quoted(one.columns[0])}."
            pairs = zip(one.labels, one.columns, strict=False)
            for (_, label), column in pairs if one.encoding == "one_hot" else ():
                if not column.endswith(str(label)):
                    yield f"{name} = {quoted(label)} is the model's column {quoted(column)}."
        columns = columns_of(space)
        if self.row is not None and columns != [one for one in self.row if one in columns]:
            yield (
                "The row has its columns in another order than the certificate, which is the order "
                "that a model file without names of columns takes them in."
            )


def read_hash(text: str) -> str:
    """A hash, or its beginning, as a letter prints it: in digits of 16, with or without blanks.

    Raises:
        WrongInput: it is none, or too short to tell certificates apart.
    """
    found = "".join(text.split()).lower().removeprefix("sha256:")
    if not HASH.fullmatch(found):
        raise WrongInput(f"hash {text[:80]!a}: give 16 to 64 hexadecimal digits, as in the letter")
    return found


def require_hash(shown: Shown, wanted: str) -> None:
    """Rejects a certificate of another hash."""
    same = shown.hash.startswith(wanted)
    need(same, f"hash: the certificate's is {shown.hash}, and not {wanted}: it is another one")


def read_row(text: str) -> dict[str, Any]:
    """The cells of a row by column: ``people.csv:11`` (counted from 0), a CSV of one, or JSON.

    Raises:
        WrongInput: there is no such file or row.
    """
    path, number = Path(text), None
    if PARQUET.fullmatch(text):
        raise WrongInput(f"{path}: a row is read from CSV or JSON; write it as one of these")
    if (numbered := NUMBERED.fullmatch(text)) and not path.exists():
        path, number = Path(numbered["path"]), int(numbered["row"])
    elif (table := re.match(r".+\.csv(?=:)", text, re.IGNORECASE)) and not path.exists():
        raise WrongInput(f"{text[:80]!a}: after {table[0]!a} and a colon stands a row's number, "
                         "counted from 0, as people.csv:11")  # fmt: skip
    body = text_of(path)
    if path.suffix.lower() == ".csv":
        return _of_table(path, body, number)
    try:
        row = json.loads(body)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        raise WrongInput(f"{path}: no row: give a CSV file and a row's number, as people.csv:11, "
                         "or one JSON object of columns and values")  # fmt: skip
    return row


def _of_table(path: Path, body: str, number: int | None) -> dict[str, Any]:
    try:
        header, *rows = [row for row in csv.reader(body.splitlines(keepends=True)) if row]
    except (csv.Error, ValueError) as error:
        raise WrongInput(f"{path}: no CSV: {error or 'it is empty'}") from None
    if twice := sorted({name for name in header if header.count(name) > 1}):
        raise WrongInput(f"{path}: two columns are called {twice[0]!a}")
    if number is None and len(rows) != 1:
        raise WrongInput(f"{path}: it has {len(rows)} rows; name one, counted from 0: {path}:0")
    if not 0 <= (number or 0) < len(rows):
        raise WrongInput(f"{path}: no row {number}: they count from 0 to {len(rows) - 1}")
    row = rows[number or 0]
    if len(row) != len(header):
        raise WrongInput(f"{path}: row {number or 0} has {len(row)} cells, and not {len(header)}")
    return dict(zip(header, row, strict=True))


def require_row(
    shown: Shown, row: dict[str, Any], where: str, point: list[Any] | None = None
) -> None:
    """A row is the factual, or another point: each number the same double, each label the same.

    Raises:
        Rejected: they differ; names the first feature that does.
        WrongInput: the row lacks a column.
    """
    space = stated(document(shown.space, "space"), "space")
    features = shown.question.features
    values = [feature.own for feature in features] if point is None else point
    what = "factual" if point is None else "witness"
    for given, feature, value in zip(space, features, values, strict=True):
        lacking = [name for name in given.columns if name not in row]
        if lacking:
            near = get_close_matches(lacking[0], list(row), 1)
            hint = f"; is it {near[0]!a}?" if near else ""
            raise WrongInput(f"{where}: it has no column {lacking[0]!a}{hint}")
        cells = [row[name] for name in given.columns]
        if not _is_held(feature, value, cells, given.encoding):
            held = "missing" if _is_gone(feature, value) else exact(value)
            held = quoted(feature.labels[value][1]) if feature.labels else held
            told = f"is {held} in the certificate, and {_told(cells)} in {printable(where)}"
            raise Rejected(f"{what}: {feature.name!a} {told}")


def _told(cells: list[Any]) -> str:
    """Cells as a message has them; texts in quotes, as labels are."""
    return ", ".join(
        "missing" if _is_missing(cell)
        else quoted(cell[:40]) if isinstance(cell, str) and _number(cell) is None
        else printable(str(cell)[:40])
        for cell in cells
    )  # fmt: skip


def _is_gone(feature: Feature, value: Any) -> bool:
    """Whether a number is missing."""
    return feature.gap or (feature.absent is not None and value == feature.absent)


def _is_held(feature: Feature, own: Any, cells: list[Any], encoding: str | None) -> bool:
    """Whether cells hold a value of a feature."""
    if encoding in ("one_hot", "thermometer"):
        bits, one_hot = [_number(cell) for cell in cells], encoding == "one_hot"
        return bits == [Q(own == i if one_hot else own > i) for i in range(len(cells))]
    (cell,) = cells
    if feature.labels:
        label = feature.labels[own][1]
        others = (one for _, one in feature.labels if one is not None)  # such as "NA"
        other = label is None and cell in others
        return is_label(label, cell) and not other
    if _is_gone(feature, own):
        return _is_missing(cell)
    value = _number(cell)
    if value is None or abs(value) >= ROUND:
        return False
    # What is compared is exact: the float that a model reads is what it decides by.
    value = value if feature.width == 0 and value.denominator == 1 else Q(float(value))
    return bool(own == (rounded(value, 4) if feature.width == 4 else value))


def _is_missing(cell: Any) -> bool:
    return (
        cell is None or cell != cell or (isinstance(cell, str) and cell.strip().lower() in MISSING)
    )


def is_label(label: Any, cell: Any) -> bool:
    """Whether a cell is a label; in a CSV file all cells are texts."""
    if label is None:
        return _is_missing(cell)
    if isinstance(label, str):
        return isinstance(cell, str) and cell == label
    if isinstance(label, bool):
        held = TRUTHS.get(cell.strip().lower()) if isinstance(cell, str) else cell
        return held is not None and bool(held == label)
    value = _number(cell)
    if isinstance(label, Q) and value is not None and abs(value) < ROUND:
        value = Q(float(value))  # as the model reads it; a whole number is compared as written
    return value is not None and value == label


def _number(cell: Any) -> Q | None:
    """The number that a cell holds, as it is written; ``None`` if it is none."""
    if isinstance(cell, str):
        text = cell.strip()
        if text.lower() in TRUTHS:
            return Q(TRUTHS[text.lower()])
        if len(text) > 400 or not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?", text,
                                               re.ASCII | re.IGNORECASE):  # fmt: skip
            return None
        return Q(text.removesuffix("."))
    if isinstance(cell, Q):
        return cell if abs(cell) < ROUND else None
    is_number = isinstance(cell, bool | int | float) and cell == cell and abs(cell) < ROUND
    return Q(cell) if is_number else None

"""The certificates of a batch: each is checked, and compared with the answer that names it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ..certificates import Report
from ..certificates import report as check
from ..certificates.auditing.binding import require_row
from ..certificates.auditing.inputs import WrongInput
from ..certificates.checker import Rejected
from ..errors import CfxcError, InvalidInputError
from .batch import HEAD, PREFIX
from .cells import plain_cell

COLUMN = "certificate"
NEAR = 1e-12
"""Relative; distances are written as doubles, rounded to different sides."""


@dataclass(frozen=True)
class Checked:
    """What became of one certificate.

    Attributes:
        file: Its name.
        hash, claim: Of one that holds.
        verdict: Whether it was accepted, and whether it is the answer's.
        holds: Whether it was, and is.
        place: Of the answer that names it.
    """

    file: str
    hash: str
    claim: str
    verdict: str
    holds: bool
    place: int | None = None


def checked_certificates(
    folder: Path, table: pd.DataFrame, rows: pd.DataFrame | None
) -> list[Checked]:
    """Every certificate of a folder, and those that answers name and that are not there.

    ``table`` holds the answers, ``rows`` those that were asked about, in the same order.

    Raises:
        InvalidInputError: there is no such folder, or none in it.
    """
    files = {path.name: path for path in [*folder.glob("*.json"), *folder.glob("*.json.gz")]}
    files.pop(HEAD, None)
    if not files:
        raise InvalidInputError(f"{folder}: no certificates (.json, .json.gz)")
    named: list[tuple[str, int | None]] = [
        (name, place)
        for place, name in enumerate(table.get(COLUMN, ()))
        if isinstance(name, str) and name.endswith((".json", ".json.gz"))
    ]
    named += [(name, None) for name in files.keys() - {name for name, _ in named}]
    found = []
    for name, place in sorted(named, key=lambda pair: pair[0]):
        before = None if place is None or rows is None else _cells(rows, place)
        answer = None if place is None else table.iloc[place]
        found.append(_checked(name, files.get(name), place, answer, before))
    return found


def _checked(
    name: str, path: Path | None, place: int | None, answer: Any, before: Mapping[str, str] | None
) -> Checked:
    if path is None:
        return Checked(name, "", "", "missing: there is no such file", False, place)
    try:
        made = check(path)
    except CfxcError as error:
        return Checked(name, "", "", str(error), False, place)
    if not made.ok or made.shown is None:
        refused = "undecided" if made.undecided else "rejected"
        return Checked(name, "", "", f"{refused}: {made.reason}", False, place)
    faults = [] if answer is None else list(_faults(made, answer, before))
    verdict, kept = "accepted", place is not None and not faults
    if faults:
        verdict = f"accepted, but not this answer's: {'; '.join(faults)}"
    elif answer is None:
        verdict = "accepted; no answer names it"
    return Checked(name, made.shown.hash, made.shown.status, verdict, kept, place)


def _faults(made: Report, answer: Any, before: Mapping[str, str] | None) -> Iterator[str]:
    """In what a certificate is not what an answer says."""
    shown = made.shown
    assert shown is not None
    if shown.status != answer["status"]:
        yield f"it claims {shown.status}"
    columns = [str(name) for name in answer.index if str(name).startswith(PREFIX)]
    after = {name.removeprefix(PREFIX): _text(answer[name]) for name in columns}
    witness = None if shown.witness is None else list(shown.witness)
    points = [(before, None), (None if witness is None else after, witness)]
    for row, point in points:
        if row is not None:
            try:
                require_row(shown, dict(row), "the batch", point)
            except (Rejected, WrongInput) as error:
                yield str(error)
    for name, fact in (("distance", "distance"), ("lower_bound", "lower bound")):
        own, theirs = made.facts[fact], plain_cell(answer[name])
        if (own is None) != (theirs is None):
            yield f"{fact}: {own} in it, and {theirs}"
        elif own is not None and theirs is not None and not math.isclose(own, theirs, rel_tol=NEAR):
            yield f"{fact}: {own:.9g} in it, and {theirs:.9g}"


def _cells(rows: pd.DataFrame, place: int) -> dict[str, str]:
    return {str(name): _text(rows[name].iloc[place]) for name in rows}


def _text(cell: Any) -> str:
    """A cell as a CSV file has it; what reads one may have made a number of a label."""
    plain = plain_cell(cell)
    return "" if plain is None else str(plain)


__all__ = ["Checked", "checked_certificates"]

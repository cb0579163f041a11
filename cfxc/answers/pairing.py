"""The certificates of a batch: each is checked, and compared with the answer that names it."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from ..certificates import Report
from ..certificates import report as check
from ..certificates.auditing.binding import Asked, is_label, require_row
from ..certificates.auditing.inputs import WrongInput
from ..certificates.auditing.report import quoted
from ..certificates.checker import Rejected, Shown
from ..certificates.checker.program import Program
from ..errors import CfxcError, InvalidInputError, MissingColumnError
from ..show.numbers import cell_text
from .cells import plain_cell
from .parts import HEAD, NONE, PREFIX

COLUMN = "certificate"
COMPARED = ("outcome_before", "outcome_after", "lower_bound")
"""Columns of answers, beside those that every report needs."""
ASKED = (
    "the feature space", "the distance", "epsilon", "the arithmetic", "the model", "the program",
    "the target", "the number of constraints",
)  # fmt: skip
TEXTS = ("the target", "the distance", "epsilon", "the arithmetic", "the number of constraints")
OFFERED = "name the one that the batch wrote with --certificates (in Python certificates=)"
NEAR = 1e-12
"""Relative; distances are written as doubles, rounded to different sides."""
ROUNDED = 1e-4
"""The same of a model's numbers, which may be single floats."""


@dataclass(frozen=True)
class Checked:
    """What became of one certificate.

    Attributes:
        file: Its name.
        verdict: Whether it was accepted, and whether it is the answer's.
        holds: Whether it was, and is.
        place: Of the answer that names it.
        hash, claim: Of one that holds.
        notes: What makes its claim worth less than it sounds.
        question: What is asked of every row alike.
    """

    file: str
    verdict: str
    holds: bool = False
    place: int | None = None
    hash: str = ""
    claim: str = ""
    notes: str = ""
    question: tuple[Any, ...] = ()


def checked_certificates(
    folder: Path, table: pd.DataFrame, rows: pd.DataFrame, policy: str | Path | None = None
) -> list[Checked]:
    """Every certificate of a folder, and those that answers name and that are not there.

    ``table`` holds the answers, ``rows`` those that were asked about, in the same order.  A file
    that no answer names is of the row whose number it bears.  What most certificates ask of their
    rows is what the batch asked.  A ``policy`` says what each has to ask.

    Raises:
        InvalidInputError: there is no such folder, or none in it; the policy is none.
        MissingColumnError: the answers lack what certificates are compared with.
    """
    try:
        Asked.read(policy, None, None)
    except WrongInput as error:
        raise InvalidInputError(str(error)) from None
    if lacking := [name for name in COMPARED if name not in table]:
        raise MissingColumnError(
            f"the answers have no column {lacking[0]!r}, which certificates are compared with"
        )
    if not folder.is_dir():
        raise InvalidInputError(f"{folder}: no such folder of certificates; {OFFERED}")
    files = {path.name: path for path in [*folder.glob("*.json"), *folder.glob("*.json.gz")]}
    files.pop(HEAD, None)
    if not files:
        raise InvalidInputError(f"{folder}: no certificates (.json, .json.gz) in it; {OFFERED}")
    named: list[tuple[str, int | None]] = [
        (name, place)
        for place, name in enumerate(table.get(COLUMN, ()))
        if isinstance(name, str) and name and not name.startswith(NONE)
    ]
    numbered = {f"row-{label}.json.gz": place for place, label in enumerate(table.index)}
    others = files.keys() - {name for name, _ in named}
    named += [(name, numbered.get(name)) for name in others]
    found = []
    for name, place in sorted(named, key=lambda pair: pair[0]):
        pair = None if place is None else (rows.iloc[place], table.iloc[place])
        found.append(replace(_checked(name, files.get(name), pair, policy), place=place))
    counts = Counter(one.question for one in found if one.holds)
    usual = counts.most_common(1)[0][0] if counts else ()
    return [_asked_alike(one, usual) if one.holds else one for one in found]


def asked_of(checked: list[Checked]) -> list[tuple[str, str]]:
    """What the certificates that hold ask of every row alike, as far as it is a short text."""
    usual = next((one.question for one in checked if one.holds), None)
    pairs = [] if usual is None else zip(ASKED, usual, strict=True)
    return [(name, text) for name, text in pairs if name in TEXTS]


def _asked_alike(one: Checked, usual: tuple[Any, ...]) -> Checked:
    pairs = zip(ASKED, one.question, usual, strict=True)
    odd = [name for name, own, theirs in pairs if own != theirs]
    if not odd:
        return one
    verdict = f"{one.verdict}, but it asks otherwise than most: {', '.join(odd)}"
    return replace(one, holds=False, verdict=verdict)


def _checked(
    name: str, path: Path | None, pair: tuple[Any, Any] | None, policy: str | Path | None
) -> Checked:
    if path is None:
        return Checked(name, "missing: there is no such file")
    try:
        made = check(path, policy=policy)
    except CfxcError as error:
        return Checked(name, str(error))
    if not made.ok or made.shown is None:
        return Checked(name, f"{'undecided' if made.undecided else 'rejected'}: {made.reason}")
    shown, verdict = made.shown, "accepted"
    faults = [] if pair is None else list(_faults(made, made.shown, *pair))
    if faults:
        verdict = f"accepted, but not this answer's: {'; '.join(faults)}"
    elif pair is None:
        verdict = "accepted; no answer names it"
    return Checked(
        name, verdict, pair is not None and not faults, None, shown.hash, shown.status,
        " ".join(made.facts["warnings"]), _asked(made, shown),
    )  # fmt: skip


def _asked(made: Report, shown: Shown) -> tuple[Any, ...]:
    """What is asked of every row alike, in the order of ``ASKED``.

    A batch may ask each row for the other one of two labels.  Constraints hold figures of the row.
    """
    facts, program, labels = made.facts, made.content["program"], shown.question.program.labels
    target = facts["target"]
    if labels is not None and len(labels) == 2:
        own = quoted(labels[shown.question.place][1])
        target = f"one of two labels{target.removeprefix(own)}"
    parts = [program[part] for part in ("labels", "trees", "outputs")]
    parts.append(program["made"][: _of_model(shown.question.program)])
    return (
        shown.space, facts["distance by"], facts["epsilon"], facts["semantics"],
        tuple(shown.model or ()),
        json.dumps(parts), target, str(len(shown.question.truths)),
    )  # fmt: skip


def _of_model(program: Program) -> int:
    """How many of the values that are made on the way outputs read; constraints add others."""
    read = {source for form in program.outputs for source in form}
    own = [source[1] + 1 for source in read if source[0] in program.kinds]
    own += [program.needs[source[1]] for source in read if source[0] == "tree"]
    return max(own, default=0)


def _faults(made: Report, shown: Shown, row: Any, answer: Any) -> Iterator[str]:
    """In what a certificate is not what an answer says."""
    if shown.status != answer["status"]:
        yield f"it claims {shown.status}"
    columns = [str(name) for name in answer.index if str(name).startswith(PREFIX)]
    yield from _differing(shown, row.to_dict(), None)
    if shown.witness is not None:
        after = {name.removeprefix(PREFIX): answer[name] for name in columns}
        yield from _differing(shown, after, list(shown.witness))
    yield from _other_outcomes(made, shown, answer)
    for name, fact in (("distance", "distance"), ("lower_bound", "lower bound")):
        own, theirs = made.facts[fact], plain_cell(answer[name])
        if (own is None) != (theirs is None):
            yield f"{fact}: {own} in it, and {theirs}"
        elif own is not None and theirs is not None and not math.isclose(own, theirs, rel_tol=NEAR):
            yield f"{fact}: {own:.9g} in it, and {theirs:.9g}"


def _other_outcomes(made: Report, shown: Shown, answer: Any) -> Iterator[str]:
    """Outcomes that are not the program's of the factual, or of the witness."""
    question = shown.question
    labels, program = question.program.labels, question.program
    for name, point in (
        ("outcome_before", [feature.own for feature in question.features]),
        ("outcome_after", shown.witness),
    ):
        told = plain_cell(answer[name])
        if point is None:
            continue
        if told is None:
            same = False
        elif labels is None:
            try:
                value = float(program.values(program.outputs, list(point))[0])
            except Rejected:  # a smooth function's, beyond what the checker can tell
                continue
            same = math.isclose(value, float(told), rel_tol=ROUNDED, abs_tol=ROUNDED)
        elif name == "outcome_after":
            same = any(is_label(labels[question.place][1], text) for text in _texts(told))
        else:
            held = [label for _, label in labels if quoted(label) == made.facts["outcome"]]
            same = not held or any(is_label(x, text) for x in held for text in _texts(told))
        if not same:
            yield f"{name.replace('_', ' ')}: {told!a}"


def _differing(shown: Shown, cells: Mapping[Any, Any], point: list[Any] | None) -> Iterator[str]:
    """In what cells are not the factual, or another point, whichever way they were read."""
    texts = {str(name): _texts(cell) for name, cell in cells.items()}
    why = ""
    for way in range(2):
        row = {name: both[way] for name, both in texts.items()}
        try:
            require_row(shown, row, "the batch", point)
        except (Rejected, WrongInput) as error:
            why = why or str(error)
        else:
            return
    yield why


def _texts(cell: Any) -> tuple[str, str]:
    """A cell as Python writes it, and as a file may have: reading makes True of the label ``true``,
    and 2.0 of ``2`` where other rows have none.
    """
    plain = plain_cell(cell)
    if plain is None:
        return "", ""
    return str(plain), str(plain).lower() if isinstance(plain, bool) else cell_text(plain)

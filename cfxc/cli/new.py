"""``cfxc new``: a feature space and a question for a model and its table, to read and edit."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import CfxcError, InvalidInputError, MissingColumnError
from ..frontends.row_files import read_frame
from ..writing import check_writable, make_folder, write_together
from .commands import Source
from .flags import Favourable, ModelFile, Overwrite, Reading, grouped
from .guard import guarded, keep_present
from .remedies import again
from .report import doing, say_next
from .spaces import DataFile, Drop, Marks, OutcomeColumn, Statement, note_ranges

if TYPE_CHECKING:
    import pandas as pd

    from ..model import CompiledModel
    from ..space import FeatureSpace

ROWS = 1000
"""Rows of the table that the model is asked about."""
UPPER = 0.75
"""Of a number: which share of the rows is below the outcome that is proposed."""
SPACE_NOTES = """\
# Check each feature: what it is (kind), from where to where an answer may go (lower, upper), in
# which steps (resolution), and whether it may change (action: free, fixed, increase, decrease).
# Rows outside of lower to upper, which are the ends of the table, are refused: widen them here.
"""
QUESTION_NOTES = """\
# What is asked of every row: cfxc explain and cfxc batch read it with --question.
# Take a '#' away to say something else than the default.
"""


@dataclass(frozen=True)
class Proposal:
    """The outcome that is proposed as the target, why, and a row that is without it, if any is."""

    target: Any
    why: str
    row: int | None


@guarded
@grouped
def command(
    *,
    model: ModelFile,
    table: DataFile,
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="FOLDER", help="Where to write the two files.")
    ] = Path("."),
    target: OutcomeColumn = None,
    favourable: Favourable = None,
    drop: Drop = None,
    marks: Marks,
    overwrite: Overwrite = False,
    reading: Reading,
) -> int:
    """Write a feature space and a question for a model and a table.

    They are space.toml and question.toml, to read and edit; the table is that of cfxc space infer.
    """
    from ..space.names import suggestion

    space_file, question_file = out / "space.toml", out / "question.toml"
    _check(space_file, question_file, overwrite)
    said = Statement(target, drop, marks)
    source = Source(model, space_file, reading)
    frame = read_frame(table)
    if target is not None and target not in frame.columns:
        raise MissingColumnError(
            f"{table}: no column {target!r}{suggestion(target, frame.columns)}; --target names the "
            "outcome's column, --favourable the wanted outcome"
        )
    frame, space = said.infer(table, frame)
    with doing("compiling …"):
        compiled = _compiled(source, space, favourable, target)
        proposed = _proposed(compiled, frame.head(ROWS))
    make_folder(out)
    texts = {
        space_file: said.written(frame, space).replace("\nversion", f"\n{SPACE_NOTES}version", 1),
        question_file: question_text(compiled, proposed),
    }
    write_together(texts)
    print(f"{space_file}: {', '.join(_kinds(space))}")
    print(f"{question_file}: {proposed.why}")
    if proposed.row is None:
        print(f"cfxc: no row is without that outcome; edit {question_file}", file=sys.stderr)
        return 0
    row = f"{table}:{proposed.row}"
    note_ranges(space_file)
    say_next("cfxc", "explain", *source.words(), "--question", question_file, "--factual", row)
    return 0


def _check(space: Path, question: Path, overwrite: bool) -> None:
    for file in (space, question):
        if file.parent.is_dir():
            check_writable(file)
        keep_present(overwrite, file)


def _compiled(
    source: Source, space: FeatureSpace, favourable: str | None, target: str | None
) -> CompiledModel:
    """The model over the space."""
    try:
        return source.over(space, favourable=favourable)
    except CfxcError as error:
        unknown = re.search(r"not trained on: (.+?); leave", str(error))
        if unknown is None:
            raise
        names = re.findall(r"'([^']*)'", unknown[1])
        option = "--drop" if target is not None else "--target"
        more = [
            word for name in names for word in (option if name == names[-1] else "--drop", name)
        ]
        raise InvalidInputError(
            f"the model was not trained on the columns {unknown[1]}; --target NAME "
            f"leaves out the outcome, --drop a,b others\n{again(*more)}"
        ) from error


def _proposed(model: CompiledModel, frame: pd.DataFrame) -> Proposal:
    """The favourable outcome; else the rarer one of a few rows, or a number that few reach."""
    import numpy as np

    from ..frontends.predictor import plain_item
    from ..question.target import resolve_target

    outcomes = [plain_item(each) for each in model.predict(frame)]
    why, wanted = "", model.favourable
    if wanted is None and model.predictor.classes is None:
        numbers = np.array(outcomes, dtype=float)
        wanted = float(np.quantile(numbers, UPPER, method="higher")), None
        have = f"{int((numbers >= wanted[0]).sum())} of {len(numbers)} rows have"
        why = f"an output of at least {wanted[0]:g}, as {have}; edit it"
    elif wanted is None:
        classes = model.predictor.classes or ()
        wanted = min(classes, key=outcomes.count)
        named = ", ".join(map(repr, classes))
        why = f"to {wanted!r}, the rarest of {named}; edit it, or say --favourable"
    target = resolve_target(model.program, wanted, {})
    if model.favourable is not None:
        why = f"to {target}, the favourable outcome"
    without = [place for place, each in enumerate(outcomes) if not target.holds(each)]
    return Proposal(wanted, why, without[0] if without else None)


def _kinds(space: FeatureSpace) -> Iterator[str]:
    """How many features there are of each kind, and which may not change."""
    yield f"{len(space)} features"
    kinds = [feature.kind for feature in space]
    for kind in dict.fromkeys(kinds):
        yield f"{kinds.count(kind)} {kind}"
    fixed = [feature.name for feature in space if feature.action == "fixed"]
    yield f"fixed: {', '.join(fixed)}" if fixed else "nothing is fixed (--fixed a,b)"


def question_text(model: CompiledModel, proposed: Proposal) -> str:
    """The question as TOML, each option with what it means."""
    from ..question.criteria import CRITERIA
    from ..question.options import OPTIONS

    lines = [QUESTION_NOTES]
    for name, option in OPTIONS.items():
        if not option.in_file or name == "subject_to":
            continue
        lines.append(f"# {option.short.replace('``', '')}")
        if name == "target":
            lines += [_target_line(proposed.target), ""]
            continue
        lines += [f"# {name} = {_value(option.default)}", ""]
    number = next((f.name for f in model.space if not f.is_symbolic), None)
    rule = "" if number is None or not number.isidentifier() else f"{number} >= factual.{number}"
    lines += [
        "# What else must hold: conditions, and tables such as the one below, of",
        f"# {', '.join(name for name in CRITERIA if name != 'constraints')}.",
        "# subject_to = [", *([f"#   {_value(rule)},"] if rule else []),
        "#   {max_changes = 3},", "# ]",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _target_line(target: Any) -> str:
    if isinstance(target, tuple):
        ends = [
            f"{name} = {float(end)!r}"
            for name, end in zip(("lower", "upper"), target, strict=True)
            if end is not None
        ]
        return f"target = {{{', '.join(ends)}}}"
    return f"target = {_value(target)}"


def _value(value: Any) -> str:
    """A text, number, truth value or empty list as TOML writes it, on one line."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[]"
    return json.dumps(value, ensure_ascii=False)

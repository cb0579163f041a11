"""``cfxc compile``: a model as IR, core-language program, formula, SMT-LIB or linear program."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from ..errors import InvalidInputError

if TYPE_CHECKING:
    from ..compiler.transform import Characteristic
    from ..ir import Program
    from ..model import CompiledModel
    from ..space import FeatureSpace

ALL = "all"
DECISIONS = ("label", "value")
"""What is shown: the output of a classifier, and that of a regressor."""


class Emit(StrEnum):
    """What to print."""

    ir = "ir"
    program = "program"
    formula = "formula"
    smt2 = "smt2"
    mip = "mip"


class Transformer(StrEnum):
    """The predicate transformer behind a formula."""

    path = "path"
    compact = "compact"


def emission(
    model: CompiledModel,
    source: str,
    kind: Emit,
    transformer: Transformer | None,
    outputs: Sequence[str],
    after: str | None = None,
) -> str:
    """The text of a compiled model; ``source`` is what the comments call it.

    ``after``: the pass up to which the IR is simplified before it is shown; by default none.
    """
    program = _chosen(model.program, outputs)
    if after is not None:
        if kind is not Emit.ir:
            raise InvalidInputError(f"--after belongs to --emit ir, not to {kind.value}")
        from ..compiler.pipeline import run_passes

        program = run_passes(program, after)
    if kind is not Emit.ir:
        from ..compiler.passes import multiply_out

        program = multiply_out(program)
    if kind in (Emit.formula, Emit.smt2):
        return _formula(program, model.space, source, kind, transformer or Transformer.compact)
    if kind is Emit.mip and transformer is None:
        return _mixed_integer(program, model.space, source)
    if transformer is not None:
        raise InvalidInputError(f"--formula belongs to --emit formula or smt2, not to {kind.value}")
    return str(program) if kind is Emit.ir else _core_text(program)


def _chosen(program: Program, outputs: Sequence[str]) -> Program:
    """The program with only the outputs asked for; by default the decision."""
    from ..ir.patterns import keep_outputs
    from ..space.names import nearest, shown

    known = [name for name, _ in program.outputs]
    if ALL in outputs and ALL not in known:
        return program
    for name in outputs:
        if name not in known:
            close = shown(nearest(name, known))
            hint = f" (nearest: {close})" if close else ""
            raise InvalidInputError(
                f"the model has no output {name!r}{hint}; it has {shown(known)}"
            )
    return keep_outputs(program, outputs or [name for name in known if name in DECISIONS])


def _core_text(program: Program) -> str:
    from ..lang import to_text

    return to_text(_core(program))


def _core(program: Program) -> Program:
    """The core-level program, without what the outputs do not need (columns no tree looks at)."""
    from ..compiler.expand import expand
    from ..compiler.passes import narrow_argmax
    from ..ir.patterns import keep_outputs

    core = expand(narrow_argmax(program))
    return keep_outputs(core, [name for name, _ in core.outputs])


def _formula(
    program: Program, space: FeatureSpace, source: str, kind: Emit, transformer: Transformer
) -> str:
    from ..compiler.bounds import variable_ranges
    from ..compiler.emit.smtlib import emit
    from ..compiler.rewriting import AbsorbingPool
    from ..compiler.terms import postorder
    from ..compiler.transform import compact_formula, path_formula
    from ..show.formula import emit_formula

    make = compact_formula if transformer is Transformer.compact else path_formula
    core, pool = _core(program), AbsorbingPool()
    found = make(core, pool)
    title = [f"{source}: its characteristic formula ({transformer.value})"]
    if kind is Emit.formula:
        notes = ["A decimal number is the double it denotes; other numbers are exact as written."]
        return emit_formula(core, found, pool, [*title, *notes])
    relaxed = any(term.kind == "apply" for term in postorder([found.formula]))
    if relaxed:  # how well roundings and smooth functions are enclosed depends on the ranges
        pool = AbsorbingPool()
        ranges = {one.name: one.extent for one in space if not one.is_symbolic}
        found = make(core, pool, variable_ranges(core, ranges))
    comments = [*title, *_legend(core, found), *_notes(found, relaxed)]
    comments = [line.replace("\n", " ") for line in comments]
    return emit(pool, [found.formula], comments=comments, footer=_unused(core, found))


def _mixed_integer(program: Program, space: FeatureSpace, source: str) -> str:
    """The relation between features and outputs as a mixed-integer program, without a goal."""
    from ..compiler.passes import narrow_argmax
    from ..show.mip import emit_program, mip_text

    ranges = {one.name: one.extent for one in space if not one.is_symbolic}
    comments = [
        f"{source}: its mixed-integer program, in the LP format",
        "feasible if the outputs are what the model returns on the inputs, over the reals;",
        "on the border between two outcomes either is feasible, and must be checked",
        "rows are scaled; a row with a coefficient that is no double is written with the nearest",
        "ones, and wider by what that can change: no value of the model is cut off",
    ]
    emission = emit_program(narrow_argmax(program), ranges)
    return mip_text(emission.model, [line.replace("\n", " ") for line in comments])


def _unused(core: Program, found: Characteristic) -> list[str]:
    """Declarations of the inputs that the formula does not mention, so that more can be added."""
    from ..compiler.emit.smtlib import symbol
    from ..compiler.terms import free_variables

    used = set(free_variables([found.formula]))
    variables = ((found.inputs[name], sort) for name, sort in core.inputs)
    return [
        f"(declare-const {symbol(one.data)} {sort.kind.capitalize()})"
        for one, sort in variables
        if sort.kind != "category" and one not in used
    ]


def _legend(core: Program, found: Characteristic) -> list[str]:
    """What the symbols of the script stand for, by the names that the variables have in it."""
    from ..ir.sorts import format_label, format_name

    lines = []
    values = [("input", name, found.inputs[name], sort) for name, sort in core.inputs]
    outputs = core.output_sorts.items()
    values += [("output", name, found.outputs[name], sort) for name, sort in outputs]
    for role, name, value, sort in values:
        what = f"{role} {format_name(name)}"
        if sort.kind != "category":
            lines.append(f"{what}: {_symbols(value)[0]}, {sort.kind.capitalize()}")
            continue
        lines.append(f"{what}: exactly one of")
        pairs = zip(_symbols(value), sort.labels, strict=True)
        lines += [f"  {each} is {format_label(label)}" for each, label in pairs]
    return lines


def _symbols(value: Any) -> list[str]:
    """The symbol of a number or truth value; of a category one symbol per label."""
    from ..compiler.emit.smtlib import symbol
    from ..compiler.terms import Term

    variables = [value] if isinstance(value, Term) else value.guards
    return [symbol(one.data) for one in variables]


def _notes(found: Characteristic, relaxed: bool) -> list[str]:
    value = next(iter(found.outputs.values()))
    first = _symbols(value)[0]
    is_number = getattr(value, "sort", "bool") != "bool"
    notes = ["holds iff the outputs are what the model returns on the inputs, over the reals"]
    if relaxed:
        notes = [
            "holds if the outputs are what the model returns on the inputs, within their ranges;",
            "roundings to float32 and smooth functions being anything within their enclosures",
        ]
    required = f"(>= {first} 0.0)" if is_number else first
    return [*notes, f"to use it, add what you ask and (check-sat), e.g. (assert {required})"]

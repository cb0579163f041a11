"""Mixed-integer programs as text in the LP format, in numbers that solvers read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite, lcm
from typing import Any

from ..compiler.emit.mip import Emitter, least, refused
from ..compiler.emit.rows import Emission
from ..compiler.functional import Symbolic, functional
from ..compiler.mixed_integer import Model, Row
from ..compiler.terms import Pool, Term
from ..errors import UnsupportedError
from ..ir import Program, Sort
from ..ir.interval import ceil_float, floor_float, nearest_float
from ..ir.linear import LinearForm, Number, power_near
from ..ir.sorts import format_label

_WIDTH = 98
_SMALL_INTEGER = 2**20
_LEAST = Fraction(1, 2**29)  # solvers take coefficients below 1e-9 for zero
_MOST = 2**20  # the largest coefficient, where others would be below the least
Ends = tuple[Fraction | None, Fraction | None]


def mip_text(model: Model, comments: Sequence[str] = ()) -> str:
    """The program as an LP file; ``comments`` come first.

    The objective is scaled like a row; a comment says by what, which constant it leaves out, and
    by how much rounding can have moved it.
    """
    lines = [f"\\ {line}" for line in comments]
    lines += [f"\\ x{j}: {_one_line(column.name)}" for j, column in enumerate(model.columns)]
    goal = _written(model, model.objective.terms, (None, None))
    constant = nearest_float(goal.scale * model.objective.constant)
    lines.append(f"\\ objective: times {_text(goal.scale)}, plus {_figure(constant)}")
    if any(goal.moved):
        moved = ceil_float(max(abs(end) for end in goal.moved))
        lines.append(f"\\ objective: rounded, by at most {moved:.3g}")
    lines += ["Minimize", *_wrapped(" obj:", _sum(goal.terms)), "Subject To"]
    if model.refuted:
        lines += [" refuted: 0 x0 >= 1"] if model.columns else []
    for i, row in enumerate(model.rows):
        lines += _row(f"r{i}", row, _written(model, row.terms, (row.lower, row.upper)))
    lines += ["Bounds", *_bounds(model)]
    whole = [f"x{j}" for j, column in enumerate(model.columns) if column.whole]
    if whole:
        lines += ["General", *_wrapped("", whole)]
    return "\n".join([*lines, "End"]) + "\n"


@dataclass(frozen=True, slots=True)
class _Written:
    """A linear form times ``scale`` in doubles; the ends that are sound for it.

    ``moved``: the least and the most by which rounding changes its value.
    """

    terms: Mapping[int, float]
    ends: Ends
    scale: Fraction
    moved: tuple[Fraction, Fraction]


def _written(model: Model, terms: Mapping[int, Fraction], ends: Ends) -> _Written:
    """``lower <= sum c_j x_j <= upper`` times a scale, every coefficient a double."""
    scale = _scale([*terms.values(), *(end for end in ends if end is not None)], terms)
    kept: dict[int, float] = {}
    errors: dict[int, Fraction] = {}
    for j, factor in sorted(terms.items()):
        exact = factor * scale
        number = 0.0 if abs(exact) < _LEAST else nearest_float(exact)
        if number:
            kept[j] = number
        if error := Fraction(number) - exact:
            errors[j] = error
    least, most = model.range(LinearForm(errors))
    low, high = (None if end is None else end * scale for end in ends)
    moved = (low if low is None else low + least, high if high is None else high + most)
    return _Written(kept, moved, scale, (least, most))


def _scale(numbers: Sequence[Fraction], terms: Mapping[int, Fraction]) -> Fraction:
    """The common denominator where it gives small integers, else a power of two."""
    common = lcm(1, *(number.denominator for number in numbers))
    if all(abs(number) * common <= _SMALL_INTEGER for number in numbers):
        return Fraction(common)
    sizes = [abs(factor) for factor in terms.values() if factor]
    if not sizes:
        return Fraction(1)
    scale = 2 / power_near(max(sizes))
    missing = _LEAST / (min(sizes) * scale)
    if missing > 1:
        scale *= min(2 / power_near(1 / missing), Fraction(_MOST))
    return scale


def _row(name: str, row: Row, written: _Written) -> list[str]:
    body, (low, high) = _sum(written.terms), written.ends
    rounded = "rounded, and wider by that" if any(written.moved) else ""
    why = "; ".join(filter(None, (row.why, rounded)))
    lines = [f"\\ {name}: {why}"] if why else []
    if low is not None and low == high and Fraction(nearest_float(low)) == low:
        return [*lines, *_wrapped(f" {name}:", [*body, f"= {_text(low)}"])]
    for suffix, end, relation in (
        ("l", None if low is None else floor_float(low), ">="),
        ("u", None if high is None else ceil_float(high), "<="),
    ):
        if end is not None and isfinite(end):
            lines += _wrapped(f" {name}{suffix}:", [*body, f"{relation} {_figure(end)}"])
    return lines


def _bounds(model: Model) -> list[str]:
    """The columns' ranges, rounded outward to doubles."""
    ends = ((floor_float(column.lower), ceil_float(column.upper)) for column in model.columns)
    return [f" {_figure(low)} <= x{j} <= {_figure(high)}" for j, (low, high) in enumerate(ends)]


def _sum(terms: Mapping[int, float]) -> list[str]:
    found = [f"{'-' if c < 0 else '+'} {_figure(abs(c))} x{j}" for j, c in terms.items()]
    return found or ["0 x0"]


def _text(number: Fraction) -> str:
    return _figure(nearest_float(number))


def _figure(number: float) -> str:
    """The shortest decimal that is read as this double."""
    if number.is_integer() and abs(number) < 2**53:
        return str(int(number))
    return repr(number)


def _wrapped(head: str, parts: Sequence[str]) -> list[str]:
    """The parts on as many lines as they take."""
    lines = [head]
    for part in parts:
        if len(lines[-1]) + len(part) + 1 > _WIDTH:
            lines.append(" ")
        lines[-1] += f" {part}"
    return lines


def _one_line(text: str) -> str:
    return " ".join(text.split())


def emit_program(program: Program, ranges: Mapping[str, tuple[Number, Number]]) -> Emission:
    """Inputs and outputs of a program as columns, feasible where they belong together.

    A category is one binary per label, of inputs and outputs alike; ``ranges`` bound the numeric
    inputs.  Output columns are named after the outputs.

    Raises:
        UnsupportedError: listing every op that has no encoding, or a number without bounds.
    """
    if offences := refused(program):
        raise UnsupportedError("no mixed-integer program", offences)
    pool = Pool()
    inputs = {name: _declare(pool, name, sort, ranges.get(name)) for name, sort in program.inputs}
    emitter = Emitter(pool, Emission())
    for value in inputs.values():
        for guard in value.guards if isinstance(value, Symbolic) else (value,):
            emitter.variable(guard)
    outputs = functional(program, inputs, pool)
    terms = [pair for name, value in outputs.items() for pair in _named_terms(name, value)]
    for _, term in terms:  # outputs are defined exactly, whatever is asked of them later
        if term.sort == "bool":
            emitter.orient((term, pool.not_(term)))
        else:
            emitter.orient((least(pool, term), least(pool, pool.neg(term))))
    emitter.prepare([term for _, term in terms])
    for label, term in terms:
        if term.sort == "bool":
            column, form = emitter.model.binary(label), emitter.exact(term)
        else:
            form = emitter.number(term)
            column = emitter.model.column(label, *emitter.model.range(form), term.sort == "int")
        emitter.model.constrain(column - form, 0, 0, "output")
    emitter.emission.complete()
    return emitter.emission


def _declare(pool: Pool, name: str, sort: Sort, ends: tuple[Number, Number] | None) -> Any:
    """An input as a variable, or as one guard per label."""
    if sort.kind == "category":
        guards = [pool.unique(f"{name}={format_label(x)}", "bool") for x in sort.labels]
        pool.group(guards)
        return Symbolic(sort.labels, tuple(guards))
    if sort.kind == "bool":
        return pool.unique(name, "bool")
    low, high = ends or (None, None)
    return pool.unique(name, "int" if sort.kind == "int" else "real", low, high)


def _named_terms(name: str, value: Any) -> list[tuple[str, Term]]:
    """The terms of an output, each with the name of its column."""
    if isinstance(value, Symbolic):
        pairs = zip(value.labels, value.guards, strict=True)
        return [(f"{name}={format_label(label)}", guard) for label, guard in pairs]
    if isinstance(value, Term):
        return [(name, value)]
    return [(f"{name}[{i}]", term) for i, term in enumerate(value.ravel())]

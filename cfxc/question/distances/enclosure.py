"""Between which numbers a distance lies, by exact interval arithmetic and monotonicity.

Each value v of the program is enclosed over the box of its inputs, and so is ∂v/∂δ_j.  Where
∂d/∂δ_j >= 0 on the whole box, d is least at δ_j = 0 and greatest at δ_j = 1 (the reverse where it
is <= 0); the enclosure over what is left of the box is as sound, and ``exp(delta[1]) - 1`` or
``2 * delta[1] - delta[1] * delta[1]`` are seen to be at least 0.  A kink (``abs``, ``max``) has the
slopes of both sides: the mean value theorem holds for Clarke's generalised gradient.  What an
``if`` assigns, or an op without a rule here gives, is enclosed in doubles, without slopes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite
from typing import Any

from ...ir import Let, Literal, Operand, Program, ops
from ...ir.evaluator import enclose
from ...ir.interval import Bounds, Interval
from ...ir.op import rule_of
from ...ir.ops.smooth import Smooth, smooth_kinds

ZERO, ONE = Fraction(0), Fraction(1)
Range = tuple[Fraction, Fraction]
Slopes = Mapping[str, Range]
Bound = Fraction | float


@dataclass(frozen=True, slots=True)
class Enclosed:
    """A value within [low, high]; ``slopes`` by each δ_j that it depends on, ``None``: unknown."""

    low: Fraction
    high: Fraction
    slopes: Slopes | None

    @property
    def range(self) -> Range:
        return self.low, self.high


def enclosed(program: Program, box: Mapping[str, Bounds]) -> tuple[Bound, Bound]:
    """Lower and upper bound of the only output over a box; infinite where nothing is known.

    The inputs ``delta.1``, … are those that monotonicity may push to one end.
    """
    found = _run(program, box)
    if found is None:
        return -inf, inf
    if not found.slopes:
        return found.range
    below = _run(program, _pushed(box, found.slopes, 0))
    above = _run(program, _pushed(box, found.slopes, 1))
    assert below is not None
    assert above is not None
    return max(below.low, found.low), min(above.high, found.high)


def _pushed(box: Mapping[str, Bounds], slopes: Slopes, side: int) -> dict[str, Bounds]:
    """What is left of the box to look for the least (0) or greatest (1) value."""
    left = dict(box)
    for name, (least, most) in slopes.items():
        whole = box[name]
        if isinstance(whole, Interval) and (least >= 0 or most <= 0):
            end = (whole.lower, whole.upper)[side if least >= 0 else 1 - side]
            left[name] = Interval(end, end)
    return left


def _run(program: Program, box: Mapping[str, Bounds]) -> Enclosed | None:
    doubles = enclose(program, box)
    values = {name: _input(name, bounds) for name, bounds in box.items()}
    still = {name for name in box if not name.startswith("delta.")}
    once = {statement.name for statement in program.body if isinstance(statement, Let)}
    for let in program.lets():
        operands = list(let.op.operands())
        made = _made(let, [_read(operand, values) for operand in operands], once)
        if let.name in once and all(isinstance(o, Literal) or o in still for o in operands):
            still.add(let.name)
        values[let.name] = made or _from_doubles(doubles[let.name], let.name in still)
    (output,) = program.output_sorts
    return _read(program.output(output), values)


def _made(let: Let, operands: list[Any], once: Collection[str]) -> Enclosed | None:
    """What the op's rule gives; ``None`` where there is none, or of a choice between branches."""
    rule = rule_of(_RULES, let.op)
    if rule is None or None in operands or let.name not in once:
        return None
    made = rule(*operands)
    if made is not None and isinstance(let.op, ops.Mul) and let.op.x == let.op.y:
        return Enclosed(max(made.low, ZERO), made.high, made.slopes)  # a square
    return made


def _input(name: str, bounds: Bounds) -> Enclosed | None:
    found = _from_doubles(bounds, still=True)
    if found is None or not name.startswith("delta."):
        return found
    return Enclosed(found.low, found.high, {name: (ONE, ONE)})


def _from_doubles(bounds: Bounds, still: bool) -> Enclosed | None:
    """A value that no rule follows: it may jump, unless no δ_j moves it."""
    if not isinstance(bounds, Interval) or bounds.lower.shape:
        return None
    low, high = float(bounds.lower), float(bounds.upper)
    if not isfinite(low) or not isfinite(high):
        return None
    return Enclosed(Fraction(low), Fraction(high), {} if still else None)


def _read(operand: Operand, values: Mapping[str, Enclosed | None]) -> Enclosed | None:
    if not isinstance(operand, Literal):
        return values[operand]
    if isinstance(operand.value, bool) or not isinstance(operand.value, int | Fraction):
        return None
    exact = Fraction(operand.value)
    return Enclosed(exact, exact, {})


# -- intervals -------------------------------------------------------------------------------------


def _times(x: Range, y: Range) -> Range:
    corners = [a * b for a in x for b in y]
    return min(corners), max(corners)


def _joined(x: Range, y: Range) -> Range:
    return min(x[0], y[0]), max(x[1], y[1])


def _mixed(x: Slopes | None, y: Slopes | None, mix: Callable[[Range, Range], Range]) -> Any:
    """The slopes of a function of two values, each 0 where a value does not depend on δ_j."""
    if x is None or y is None:
        return None
    none = (ZERO, ZERO)
    return {name: mix(x.get(name, none), y.get(name, none)) for name in {**x, **y}}


# -- ops -------------------------------------------------------------------------------------------


def _add(x: Enclosed, y: Enclosed) -> Enclosed:
    slopes: dict[str, Range] | None = None
    if x.slopes is not None and y.slopes is not None:
        slopes = dict(x.slopes)  # long sums grow by one term each time
        for name, (low, high) in y.slopes.items():
            before = slopes.get(name, (ZERO, ZERO))
            slopes[name] = before[0] + low, before[1] + high
    return Enclosed(x.low + y.low, x.high + y.high, slopes)


def _neg(x: Enclosed) -> Enclosed:
    slopes = x.slopes and {name: (-b, -a) for name, (a, b) in x.slopes.items()}
    return Enclosed(-x.high, -x.low, slopes)


def _sub(x: Enclosed, y: Enclosed) -> Enclosed:
    return _add(x, _neg(y))


def _mul(x: Enclosed, y: Enclosed) -> Enclosed:
    def rule(a: Range, b: Range) -> Range:
        left, right = _times(a, y.range), _times(b, x.range)
        return left[0] + right[0], left[1] + right[1]

    return Enclosed(*_times(x.range, y.range), _mixed(x.slopes, y.slopes, rule))


def _div(x: Enclosed, y: Enclosed) -> Enclosed | None:
    """By a number that does not vary and is not 0."""
    if y.low != y.high or not y.low:
        return None
    return _mul(x, Enclosed(1 / y.low, 1 / y.low, {}))


def _maximum(x: Enclosed, y: Enclosed) -> Enclosed:
    if x.low >= y.high or y.low >= x.high:
        return x if x.low >= y.high else y
    slopes = _mixed(x.slopes, y.slopes, _joined)
    return Enclosed(max(x.low, y.low), max(x.high, y.high), slopes)


def _minimum(x: Enclosed, y: Enclosed) -> Enclosed:
    return _neg(_maximum(_neg(x), _neg(y)))


def _abs(x: Enclosed) -> Enclosed:
    found = _maximum(x, _neg(x))
    return Enclosed(max(found.low, ZERO), found.high, found.slopes)


def _relu(x: Enclosed) -> Enclosed:
    return _maximum(x, Enclosed(ZERO, ZERO, {}))


def _smooth(kind: type[Smooth]) -> Callable[[Enclosed], Enclosed | None]:
    """An increasing function; its slope is at most ``steepness``, or that of ``exp`` itself."""

    def rule(x: Enclosed) -> Enclosed | None:
        low, high = kind.image(*x.range)
        if low is None or high is None:  # too large to be evaluated
            return None
        slope = (low, high) if kind.steepness is None else (ZERO, kind.steepness)
        slopes = x.slopes and {name: _times(one, slope) for name, one in x.slopes.items()}
        return Enclosed(low, high, slopes)

    return rule


_RULES: Mapping[type[Any], Callable[..., Enclosed | None]] = {
    ops.Identity: lambda x: x,
    ops.ToReal: lambda x: x,
    ops.Add: _add,
    ops.Sub: _sub,
    ops.Neg: _neg,
    ops.Mul: _mul,
    ops.Div: _div,
    ops.Maximum: _maximum,
    ops.Minimum: _minimum,
    ops.Abs: _abs,
    ops.Relu: _relu,
    **{kind: _smooth(kind) for kind in smooth_kinds().values() if kind.turn is None},
}

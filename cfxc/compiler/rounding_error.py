"""How far a deployed evaluator may be from the exact program, from rounding alone.

Deployed models compute every op in floats of unit roundoff u, sums in whatever order a library
takes.  With M a bound of an exact value's size over a box and E of its error (Higham, *Accuracy and
Stability of Numerical Algorithms*, §2.2, §3.1; γₙ = n u / (1 - n u)):

* ``x + y``: ``Eₓ + E_y + u (M + Eₓ + E_y)``; products and quotients likewise;
* ``W x + b``: ``|W| Eₓ + γ (|W| (Mₓ + Eₓ) + |b|)`` with n + 2 terms; sums over n trees likewise;
* maxima, clips and linear units do not enlarge errors; rounding to float32 may add its two halves.

What decides by a comparison (a tree, a selection) must read exact values: features, and what is
made of them without rounding.  Frontends fold scalers into thresholds, so trees do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from ..arrays import Floats
from ..errors import UnsupportedError
from ..ir import Let, Literal, Op, Operand, Program, ops
from ..ir.evaluator import enclose
from ..ir.interval import Bounds, Interval
from ..ir.op import rule_of

SINGLE = 2.0**-24  # unit roundoff of single floats
SLACK = 1 + 2.0**-20  # for the rounding of this computation itself: sums of what is not negative
TINY = 2.0**-140  # underflow, of single floats too
WHOLE = 2.0**24  # below it all whole numbers are floats
LAST = 64.0  # units in the last place that logistic functions and their likes may lose
POWER = 8.0  # and that a whole power may, beyond what its factors do


class RoundingError:
    """Errors of a program's values for inputs within a box, evaluated with unit roundoff ``unit``.

    Asked value by value, so that what a question does not depend on need not have a bound.
    """

    def __init__(self, program: Program, box: Mapping[str, Bounds], unit: Fraction) -> None:
        self.program, self.unit = program, float(unit)
        self.bounds = enclose(program, box)
        self.definitions = {s.name: s for s in program.body if isinstance(s, Let)}
        self.inputs = {name for name, _ in program.inputs}
        self._known: dict[str, Floats] = {}

    def size(self, operand: Operand) -> Floats:
        """M: the largest exact magnitude, elementwise."""
        if isinstance(operand, Literal):
            return np.asarray(abs(float(operand.value)))
        bounds = self.bounds[operand]
        assert isinstance(bounds, Interval)
        return np.maximum(np.abs(bounds.lower), np.abs(bounds.upper))

    def error(self, operand: Operand) -> Floats:
        """E: how far the deployed value may be from the exact one, elementwise.

        Raises:
            UnsupportedError: it is not bounded, naming the op.
        """
        if isinstance(operand, Literal):
            exact = Fraction(operand.value) == Fraction(float(operand.value))
            return np.asarray(0.0 if exact else self.unit * abs(float(operand.value)) * SLACK)
        if operand in self.inputs:
            return np.asarray(0.0)
        if operand not in self._known:
            statement = self.definitions.get(operand)
            rule = None if statement is None else rule_of(RULES, statement.op)
            if statement is None or rule is None:
                what = "an if" if statement is None else f"'{statement.op.name}'"
                raise UnsupportedError(f"the rounding of {what} has no bound")
            found = np.asarray(rule(self, statement.op), dtype=np.float64) * SLACK
            if not np.isfinite(found).all():
                raise UnsupportedError(f"the rounding of '{statement.op.name}' has no bound")
            self._known[operand] = found
        return self._known[operand]

    def reach(self, operand: Operand) -> Floats:
        """The largest magnitude of the deployed value."""
        return self.size(operand) + self.error(operand)

    def gamma(self, count: int) -> float:
        """γₙ, with two operations to spare."""
        n = (count + 2) * self.unit
        if n >= 0.5:
            raise UnsupportedError("sums of so many terms have no bound in this precision")
        return n / (1 - n)

    def spread(self, operand: Operand) -> Floats:
        """The sum of the magnitudes of all that a value is added up from, products multiplied out.

        For units and sums of trees; where a value is made otherwise, its reach.
        """
        known = None if isinstance(operand, Literal) else self.definitions.get(operand)
        op: Any = None if known is None else known.op
        if isinstance(op, ops.Identity | ops.ToReal | ops.Relu | ops.Take | ops.Item | ops.Neg):
            inner = self.spread(op.x)
            if isinstance(op, ops.Item):
                return inner[op.index] if inner.ndim else inner
            return inner[list(op.indices)] if isinstance(op, ops.Take) and inner.ndim else inner
        if isinstance(op, ops.Concat):
            pairs = [(self.spread(part), self.size(part).size) for part in op.parts]
            return np.concatenate([np.broadcast_to(s, size).ravel() for s, size in pairs])
        if isinstance(op, ops.Add | ops.Sub):
            return self.spread(op.x) + self.spread(op.y)
        if isinstance(op, ops.Mul):
            return self.spread(op.x) * self.spread(op.y)
        if isinstance(op, ops.Div) and not self.depends(op.y):
            return self.spread(op.x) / self.size(op.y)
        if isinstance(op, ops.Affine):
            weight = np.abs(op.weight.floats())
            inner = np.broadcast_to(self.spread(op.x), weight.shape[1])
            found: Floats = weight @ inner + np.abs(op.bias.floats())
            return found
        if isinstance(op, ops.TreeEnsemble):
            return np.abs(np.asarray(op.base.array, dtype=np.float64)) + _largest_leaves(op)
        return self.reach(operand)

    def depends(self, operand: Operand) -> bool:
        """Whether a value varies."""
        bounds = None if isinstance(operand, Literal) else self.bounds[operand]
        return isinstance(bounds, Interval) and bool(np.any(bounds.lower < bounds.upper))

    @property
    def terms(self) -> int:
        """How many numbers are added up on the way to any value, at most."""
        layers, width = 2, 2 * sum(len(sort.labels) + 1 for _, sort in self.program.inputs)
        for statement in self.definitions.values():
            if isinstance(statement.op, ops.TreeEnsemble):
                width += statement.op.roots.array.size + 2 * statement.op.base.shape[0]
            elif isinstance(statement.op, ops.PiecewiseLinear | ops.Maximum):
                layers, width = layers + 1, width + self.size(statement.name).size
        return layers * (width + 2)

    def require_exact(self, operand: Operand, op: Op) -> None:
        """Refuse what decides by a value that may be rounded."""
        if np.any(self.error(operand) > 0):
            raise UnsupportedError(
                f"'{op.name}' decides by a rounded value, so rounding may change it by any amount"
            )


Rule = Callable[[RoundingError, Any], Any]


def _same(at: RoundingError, op: Any) -> Any:
    return at.error(op.x)


def _label(at: RoundingError, op: Any) -> Any:
    if op.x not in at.inputs:
        raise UnsupportedError(f"'{op.name}' decides by a label that rounding may change")
    return 0.0


def _lookup(at: RoundingError, op: Any) -> Any:
    return _label(at, op) + _constant(at, op)


def _constant(at: RoundingError, op: Any) -> Any:
    table = op.value if isinstance(op, ops.Constant) else op.table
    rounded = at.unit if table.dtype == "rat" else 0.0
    return rounded * np.abs(np.asarray(table.array, dtype=np.float64)).max(initial=0.0)


def _concat(at: RoundingError, op: Any) -> Any:
    sizes = [at.size(part).size for part in op.parts]
    pairs = zip(op.parts, sizes, strict=True)
    return np.concatenate([np.broadcast_to(at.error(part), size).ravel() for part, size in pairs])


def _item(at: RoundingError, op: Any) -> Any:
    error = at.error(op.x)
    return error[op.index] if error.ndim else error


def _added(at: RoundingError, op: Any) -> Any:
    errors = at.error(op.x) + at.error(op.y)
    return errors + at.unit * (at.size(op.x) + at.size(op.y) + errors) + TINY


def _times(at: RoundingError, op: Any) -> Any:
    """Powers may be those of a mathematical library, not products."""
    x, y = at.reach(op.x), at.reach(op.y)
    last = POWER if op.x == op.y or _repeats(at, op) else 1.0
    return at.error(op.x) * y + at.error(op.y) * x + last * at.unit * x * y + TINY


def _repeats(at: RoundingError, op: Any) -> bool:
    """Whether a product is multiplied by its own last factor once more."""
    before = None if isinstance(op.x, Literal) else at.definitions.get(op.x)
    return before is not None and isinstance(before.op, ops.Mul) and before.op.y == op.y


def _over(at: RoundingError, op: Any) -> Any:
    if isinstance(op.y, Literal):
        least = np.asarray(abs(float(op.y.value)))
    else:
        bounds = at.bounds[op.y]
        assert isinstance(bounds, Interval)
        apart = np.maximum(bounds.lower, -bounds.upper)  # above 0 where 0 is not between
        least = np.where(apart > 0, apart, 0.0)
    nearest = least - at.error(op.y)
    if not np.all(nearest > 0):
        raise UnsupportedError("the rounding of a division by what may be 0 has no bound")
    change = at.error(op.x) / nearest + at.reach(op.x) * at.error(op.y) / (nearest * least)
    return change + at.unit * at.reach(op.x) / nearest * 2 + TINY


def _larger(at: RoundingError, op: Any) -> Any:
    return np.maximum(at.error(op.x), at.error(op.y))


def _leaky(at: RoundingError, op: Any) -> Any:
    return at.error(op.x) + at.unit * at.reach(op.x) + TINY


def _clipped(at: RoundingError, op: Any) -> Any:
    """A clip moves by at most as much as what it is of, or a bound that is no double, moves."""
    ends = max(float(at.error(Literal(end))) for end in (op.lower, op.upper))
    return np.maximum(at.error(op.x), ends)


def _piecewise(at: RoundingError, op: Any) -> Any:
    """Of a product and a sum, both constants rounded, of the piece where x lies."""
    _, *lines = op.hinges().lines
    slope, intercept = (max(map(abs, line)) for line in lines)
    largest = float(slope) * (at.reach(op.x) + at.error(op.x)) + float(intercept)
    return float(slope) * at.error(op.x) + 4 * at.unit * largest + TINY


def _affine(at: RoundingError, op: Any) -> Any:
    weight, bias = np.abs(op.weight.floats()), np.abs(op.bias.floats())
    error = np.broadcast_to(at.error(op.x), weight.shape[1])
    if not error.any() and _counts(at, op, weight, bias):
        return np.zeros(bias.shape)
    reach = np.broadcast_to(at.reach(op.x), weight.shape[1])
    return weight @ error + at.gamma(weight.shape[1]) * (weight @ reach + bias) + TINY * len(reach)


def _counts(at: RoundingError, op: ops.Affine, weight: Floats, bias: Floats) -> bool:
    """Whether it adds whole numbers where truth values hold, too small to be rounded."""
    source = None if isinstance(op.x, Literal) else at.definitions.get(op.x)
    if source is None or not isinstance(source.op, ops.ToReal):
        return False
    truths = isinstance(source.op.x, str) and at.program.sorts[source.op.x].kind == "bool"
    whole = all(np.array_equal(each, np.rint(each)) for each in (weight, bias))
    return truths and whole and bool(np.all(weight.sum(axis=1) + bias < WHOLE))


def _sum(at: RoundingError, op: Any) -> Any:
    count = at.size(op.x).size
    error, reach = (np.broadcast_to(each, count) for each in (at.error(op.x), at.reach(op.x)))
    return error.sum() + at.gamma(count) * reach.sum()


def _most(at: RoundingError, op: Any) -> Any:
    return at.error(op.x).max()


def _single(at: RoundingError, op: Any) -> Any:
    error = at.error(op.x)
    return np.where(error > 0, error + 2 * SINGLE * at.reach(op.x) + TINY, 0.0)


def _selected(at: RoundingError, op: Any) -> Any:
    at.require_exact(op.condition, op)
    return np.maximum(at.error(op.x), at.error(op.y))


def _compared(at: RoundingError, op: Any) -> Any:
    for part in op.operands():
        at.require_exact(part, op)
    return 0.0


def _trees(at: RoundingError, op: Any) -> Any:
    error = np.broadcast_to(at.error(op.x), at.size(op.x).shape)
    read = np.unique(op.feature.array[op.feature.array >= 0])
    if np.any(error[read] > 0):
        raise UnsupportedError(
            "trees read what is rounded, so rounding may change their sum by any amount"
        )
    total = np.abs(np.asarray(op.base.array, dtype=np.float64)) + _largest_leaves(op)
    return at.gamma(op.roots.array.size + 2) * total + TINY * op.roots.array.size


def _largest_leaves(op: ops.TreeEnsemble) -> Floats:
    """Of every column the sum over trees of the largest magnitude of a leaf."""
    best = np.abs(np.asarray(op.value.array, dtype=np.float64))
    left, right = op.left.array, op.right.array
    for nodes in reversed(op.levels()):
        best[nodes] = np.maximum(best[left[nodes]], best[right[nodes]])
    total: Floats = best[op.roots.array].sum(axis=0)
    return total


def _squashed(at: RoundingError, op: Any) -> Any:
    return np.max(at.error(op.x)) + LAST * at.unit


def _bent(at: RoundingError, op: Any) -> Any:
    """The argument's error times the greatest slope, and the last places of a value of its size."""
    if op.steepness is None:
        raise UnsupportedError(f"the rounding of '{op.name}' has no bound")
    reach = at.reach(op.x) + at.error(op.x)
    return float(op.steepness) * at.error(op.x) * SLACK + LAST * at.unit * (1 + 2 * reach)


RULES: Mapping[type[Op], Rule] = {
    ops.Identity: _same, ops.ToReal: _same, ops.Neg: _same, ops.Abs: _same, ops.Relu: _same,
    ops.Clip: _clipped, ops.Constant: _constant, ops.Lookup: _lookup, ops.Concat: _concat,
    ops.Take: lambda at, op: np.broadcast_to(at.error(op.x), at.size(op.x).shape)[
        list(op.indices)
    ],
    ops.Item: _item, ops.Reshape: lambda at, op: np.max(at.error(op.x)),
    ops.Add: _added, ops.Sub: _added, ops.Mul: _times, ops.Div: _over,
    ops.Minimum: _larger, ops.Maximum: _larger, ops.LeakyRelu: _leaky,
    ops.PiecewiseLinear: _piecewise, ops.Affine: _affine,
    ops.ReduceSum: _sum, ops.ReduceMax: _most, ops.ReduceMin: _most, ops.RoundFloat32: _single,
    ops.Select: _selected, ops.TreeEnsemble: _trees, ops.IsLabel: _label,
    ops.Le: _compared, ops.Lt: _compared, ops.Ge: _compared, ops.Gt: _compared,
    ops.Eq: _compared, ops.Ne: _compared, ops.And: _compared, ops.Or: _compared, ops.Not: _compared,
    ops.Smooth: _bent, ops.Sigmoid: _squashed, ops.Tanh: _squashed, ops.Softmax: _squashed,
}  # fmt: skip


def final(at: RoundingError, operand: Operand) -> float:
    """The error of a score that decides, with what scaling and squashing it may lose after it.

    At least what doubles lose that add it up from scratch, as a certificate writes it: scalers are
    multiplied out there, and what they take away is added again.
    """
    reach = float(np.max(at.reach(operand)))
    deployed = float(np.max(at.error(operand))) + at.unit * (LAST + 8 * reach)
    written = 2.0**-53 * at.terms * float(np.max(at.spread(operand)))
    return max(deployed, written) * SLACK * SLACK

"""Arithmetic ops, elementwise with numpy broadcasting unless said otherwise."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...errors import VerificationError
from ..float32 import FLOAT32_MAX, round_to_float32
from ..interval import Bounds, Interval, ceil_float, floor_float, sum_above, sum_below
from ..op import (
    Op,
    Operand,
    Value,
    broadcast_shape,
    elementwise,
    join_kinds,
    register,
    require,
    require_numeric,
    require_vector,
)
from ..sorts import REAL, Sort
from ..tensor import Tensor
from .structure import interval_of

ZERO, ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True)
class Binary(Op):
    """A function of two numbers, elementwise."""

    x: Operand
    y: Operand
    function: ClassVar[staticmethod[[Any, Any], Any]]
    bounds_function: ClassVar[staticmethod[[Interval, Interval], Interval]]

    def sort(self, *operands: Sort) -> Sort:
        return join_kinds(*operands)

    def evaluate(self, *values: Value) -> Value:
        return elementwise(type(self).function, *values)

    def interval(self, *bounds: Bounds) -> Bounds:
        x, y = map(interval_of, bounds)
        return type(self).bounds_function(x, y)


@register("add")
class Add(Binary):
    """``x + y``."""

    function = staticmethod(operator.add)
    bounds_function = staticmethod(operator.add)


@register("sub")
class Sub(Binary):
    """``x - y``."""

    function = staticmethod(operator.sub)
    bounds_function = staticmethod(operator.sub)


@register("mul")
class Mul(Binary):
    """``x * y``; nonlinear unless one side is constant."""

    function = staticmethod(operator.mul)
    bounds_function = staticmethod(operator.mul)


def _divide(x: Any, y: Any) -> Fraction:
    if y == 0:
        raise VerificationError("division by zero")
    return Fraction(x) / Fraction(y)


@register("div")
class Div(Binary):
    """``x / y`` (always Real); evaluating with y = 0 is an error."""

    function = staticmethod(_divide)
    bounds_function = staticmethod(operator.truediv)

    def sort(self, *operands: Sort) -> Sort:
        require_numeric(*operands)
        return REAL.with_shape(broadcast_shape(*operands))


@register("minimum")
class Minimum(Binary):
    """``min(x, y)``."""

    function = staticmethod(lambda x, y: min(x, y))
    bounds_function = staticmethod(Interval.minimum)


@register("maximum")
class Maximum(Binary):
    """``max(x, y)``."""

    function = staticmethod(lambda x, y: max(x, y))
    bounds_function = staticmethod(Interval.maximum)


@dataclass(frozen=True)
class Unary(Op):
    """A function of one number, elementwise."""

    x: Operand
    function: ClassVar[staticmethod[[Any], Any]]

    def sort(self, *operands: Sort) -> Sort:
        require_numeric(*operands)
        return operands[0]

    def evaluate(self, *values: Value) -> Value:
        return elementwise(type(self).function, values[0])


@register("neg")
class Neg(Unary):
    """``-x``."""

    function = staticmethod(operator.neg)

    def interval(self, *bounds: Bounds) -> Bounds:
        return -interval_of(bounds[0])


@dataclass(frozen=True)
class RealFunction(Op):
    """A function of one number, elementwise; Real."""

    x: Operand

    def sort(self, *operands: Sort) -> Sort:
        require_numeric(*operands)
        return REAL.with_shape(operands[0].shape)


class Hinges(NamedTuple):
    """``constant + slope x + Σ_i change_i max(x - place_i, 0)``, places rising."""

    constant: Fraction
    slope: Fraction
    turns: tuple[tuple[Fraction, Fraction], ...]  # place, change of the slope there

    @property
    def lines(self) -> tuple[list[Fraction], list[Fraction], list[Fraction]]:
        """Places (n,), and of the n + 1 pieces between them slopes and intercepts.

        The k-th piece is ``slope_k x + intercept_k`` where ``place_{k-1} <= x <= place_k``.
        """
        slopes, intercepts = [self.slope], [self.constant]
        for place, change in self.turns:
            slopes.append(slopes[-1] + change)
            intercepts.append(intercepts[-1] - change * place)
        return [place for place, _ in self.turns], slopes, intercepts


@dataclass(frozen=True)
class PiecewiseLinear(RealFunction):
    """A continuous, piecewise linear function of one number, elementwise; Real.

    ``hinges`` is all that a subclass must say: evaluators, enclosures, formulae, mixed-integer
    programs, certificates and roundings derive from it.  A subclass may do any of them better.
    """

    def hinges(self) -> Hinges:
        """The function."""
        raise TypeError(f"{type(self).__name__} defines no hinges")

    def evaluate(self, *values: Value) -> Value:
        constant, slope, turns = self.hinges()

        def at(x: Any) -> Fraction:
            beyond = (change * max(x - place, 0) for place, change in turns)
            return Fraction(constant + slope * x + sum(beyond))

        return elementwise(at, values[0])

    def interval(self, *bounds: Bounds) -> Bounds:
        x = interval_of(bounds[0])
        places, slopes, intercepts = self.hinges().lines
        below = [-np.inf, *map(floor_float, places)]
        above = [*map(ceil_float, places), np.inf]
        lower, upper = np.full(x.lower.shape, np.inf), np.full(x.upper.shape, -np.inf)
        for slope, intercept, low, high in zip(slopes, intercepts, below, above, strict=True):
            part = Interval(np.clip(x.lower, low, high), np.clip(x.upper, low, high))
            line = part * Interval.exact(slope, slope) + Interval.exact(intercept, intercept)
            meets = (x.lower <= high) & (x.upper >= low)
            lower = np.where(meets, np.minimum(lower, line.lower), lower)
            upper = np.where(meets, np.maximum(upper, line.upper), upper)
        return Interval(lower, upper)


@register("abs")
class Abs(Unary, PiecewiseLinear):
    """``|x|``."""

    function = staticmethod(abs)

    def hinges(self) -> Hinges:
        return Hinges(ZERO, -ONE, ((ZERO, Fraction(2)),))

    def interval(self, *bounds: Bounds) -> Bounds:
        x = interval_of(bounds[0])
        lower = np.maximum(0.0, np.maximum(x.lower, -x.upper))
        return Interval(lower, np.maximum(-x.lower, x.upper))


@register("relu")
class Relu(Unary, PiecewiseLinear):
    """``max(x, 0)``."""

    function = staticmethod(lambda x: x if x > 0 else x * 0)

    def hinges(self) -> Hinges:
        return Hinges(ZERO, ZERO, ((ZERO, ONE),))

    def interval(self, *bounds: Bounds) -> Bounds:
        return interval_of(bounds[0]).monotone(lambda v: np.maximum(v, 0.0))


@register("leaky_relu")
class LeakyRelu(PiecewiseLinear):
    """``x`` where positive, else ``alpha * x``; ``0 <= alpha <= 1``."""

    alpha: Fraction

    def hinges(self) -> Hinges:
        return Hinges(ZERO, self.alpha, ((ZERO, 1 - self.alpha),))

    def sort(self, *operands: Sort) -> Sort:
        require(0 <= self.alpha <= 1, "leaky_relu: alpha must lie in [0, 1]")
        return super().sort(*operands)

    def evaluate(self, *values: Value) -> Value:
        return elementwise(lambda x: Fraction(x) if x > 0 else self.alpha * x, values[0])

    def interval(self, *bounds: Bounds) -> Bounds:
        x, slope = interval_of(bounds[0]), Interval.exact(self.alpha, self.alpha)
        scaled = x * slope
        return Interval(
            np.where(x.lower > 0, x.lower, scaled.lower),
            np.where(x.upper > 0, x.upper, scaled.upper),
        )


@register("clip")
class Clip(PiecewiseLinear):
    """``min(max(x, lower), upper)``, Real."""

    lower: Fraction
    upper: Fraction

    def hinges(self) -> Hinges:
        return Hinges(self.lower, ZERO, ((self.lower, ONE), (self.upper, -ONE)))

    def sort(self, *operands: Sort) -> Sort:
        require(self.lower <= self.upper, "clip: lower exceeds upper")
        return super().sort(*operands)

    def evaluate(self, *values: Value) -> Value:
        return elementwise(lambda x: Fraction(min(max(x, self.lower), self.upper)), values[0])

    def interval(self, *bounds: Bounds) -> Bounds:
        # a clip at 1/3 returns 1/3 itself: each end is clipped to doubles on its own side
        x, low, high = interval_of(bounds[0]), self.lower, self.upper
        return Interval(
            np.clip(x.lower, floor_float(low), floor_float(high)),
            np.clip(x.upper, ceil_float(low), ceil_float(high)),
        )


@register("round_float32")
class RoundFloat32(RealFunction):
    """The IEEE single-precision number nearest to ``x``, ties to even; Real."""

    def evaluate(self, *values: Value) -> Value:
        return elementwise(round_to_float32, values[0])

    def interval(self, *bounds: Bounds) -> Bounds:
        # rounding is monotone, and so exact on the ends; what overflows has no value at all
        return interval_of(bounds[0]).monotone(
            lambda v: np.clip(v, -FLOAT32_MAX, FLOAT32_MAX).astype(np.float32).astype(np.float64)
        )


@register("affine")
class Affine(Op):
    """``y = W x + b`` for a vector x of length n, W of shape (m, n), b of length m."""

    x: Operand
    weight: Tensor
    bias: Tensor

    def sort(self, *operands: Sort) -> Sort:
        (x,) = operands
        require_numeric(x)
        shape = self.weight.shape
        require(len(shape) == 2, "affine: the weight must be a matrix")
        require(x.shape == shape[1:], f"affine: weight {list(shape)} does not fit {x}")
        require(self.bias.shape == shape[:1], "affine: one bias per row of the weight")
        numeric = "bool" not in (self.weight.kind, self.bias.kind)
        require(numeric, "affine: weight and bias are numbers")
        return REAL.with_shape(shape[:1])

    def evaluate(self, *values: Value) -> Value:
        return self.weight.affine(values[0], self.bias)

    def interval(self, *bounds: Bounds) -> Bounds:
        weight, bias = map(Interval.constant, (self.weight.array, self.bias.array))
        return interval_of(bounds[0]).affine(weight, bias)


@dataclass(frozen=True)
class Reduction(Op):
    """A vector to a scalar."""

    x: Operand

    def sort(self, *operands: Sort) -> Sort:
        require_vector(operands[0], self.name)
        return operands[0].with_shape(())


@register("reduce_sum")
class ReduceSum(Reduction):
    """The sum of a vector."""

    def evaluate(self, *values: Value) -> Value:
        return sum(values[0].tolist())

    def interval(self, *bounds: Bounds) -> Bounds:
        x = interval_of(bounds[0])
        return Interval(sum_below(x.lower), sum_above(x.upper))


@register("reduce_max")
class ReduceMax(Reduction):
    """The largest entry of a vector."""

    def evaluate(self, *values: Value) -> Value:
        return max(values[0].tolist())

    def interval(self, *bounds: Bounds) -> Bounds:
        x = interval_of(bounds[0])
        return Interval.of(x.lower.max(), x.upper.max())


@register("reduce_min")
class ReduceMin(Reduction):
    """The smallest entry of a vector."""

    def evaluate(self, *values: Value) -> Value:
        return min(values[0].tolist())

    def interval(self, *bounds: Bounds) -> Bounds:
        x = interval_of(bounds[0])
        return Interval.of(x.lower.min(), x.upper.min())

"""Smooth transcendental ops.

Their meaning is the real function.  No rational equals it, so ``evaluate`` gives a rational within
``10**-PLACES`` of it: relative to the exponentials involved, absolute where these are smaller than
``exp(-_LIMIT)``.  Every other back end either handles these
ops soundly (enclosures) or refuses them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from ...errors import VerificationError
from ..interval import Bounds, Interval, ceil_float, floor_float
from ..op import Op, Operand, Value, elementwise, register, require_vector
from ..sorts import REAL, Sort
from .arithmetic import RealFunction
from .structure import interval_of

PLACES = 60
_FAR = 2000  # beyond it no double but the limit, or the one beside it, bounds the functions
_LIMIT = 10**6  # exp(-_LIMIT) is 0 to hundreds of thousands of places

_BITS = 230  # 10**-69: what is kept of a value, relative to it
_POINT = _BITS + 60  # bits after the point of what is added up for it
_MORE = 30  # bits more of ln 2, which is taken up to 1.5 million times
_HALVED = 10  # times that the operand of the series is halved
_LN_2 = int(Fraction(Context(prec=120).ln(Decimal(2))) * 2 ** (_POINT + _MORE))


def _short(value: Fraction, least: int = 0) -> Fraction:
    """A value to ``_BITS`` bits, over a power of 2: sums of such stay short.

    ``least``: bits after the point are no more than this, if it is not 0.
    """
    bits = _BITS + value.denominator.bit_length() - abs(value).numerator.bit_length()
    bits = min(bits, least) if least else max(bits, 0)
    twice = (value.numerator << bits + 1) // value.denominator
    return Fraction((twice + 1) >> 1, 1 << bits)


def exp(x: Fraction | int) -> Fraction:
    """e to the power x to more than ``PLACES`` places; ``VerificationError`` for x > 10**6."""
    above, below = x.numerator, x.denominator
    if abs(above) > _LIMIT * below:
        if above > 0:
            raise VerificationError("exp overflows: its operand exceeds 10**6")
        above, below = -_LIMIT, 1
    total, twos = _raised(above, below)
    spare = total.bit_length() - _BITS - 1
    total, twos = (total >> spare - 1) + 1 >> 1, twos + spare
    return Fraction(total << max(twos, 0), 1 << max(-twos, 0))


def _raised(above: int, below: int) -> tuple[int, int]:
    """Whole numbers t, k with ``exp(x) = t 2**k`` to within a share of 2**-260, x = above / below.

    ``x = n ln 2 + 2**_HALVED r``: the series of exp(r), whose first terms number twenty, squared so
    many times.  Each of its roundings is below 2**-_POINT, and a square doubles what it is off.
    """
    n = round(above / below * 1.4426950408889634)
    r = (above << _POINT + _MORE) // below - n * _LN_2 >> _MORE + _HALVED
    total = (1 << _POINT) + r
    term, place = r, 2
    while not -2 < term < 2:
        term = (term * r >> _POINT) // place
        total, place = total + term, place + 1
    for _ in range(_HALVED):
        total = total * total >> _POINT
    return total, n - _POINT


def sigmoid(x: Fraction | int) -> Fraction:
    """``1 / (1 + exp(-x))``."""
    if x >= 0:
        return _short(1 / (1 + exp(-x)))
    raised = exp(x)
    return _short(raised / (1 + raised))


def tanh(x: Fraction | int) -> Fraction:
    """``2 sigmoid(2 x) - 1``."""
    return _short(2 * sigmoid(2 * x) - 1, _BITS)


@dataclass(frozen=True)
class Smooth(RealFunction):
    """A function with a Lipschitz continuous derivative, elementwise; Real.

    The class attributes are all that a subclass must say: the exact evaluator, enclosures, formulae
    and relaxations derive from them.  The function rises everywhere, or falls up to a place within
    ``turn`` and rises from there on.

    Attributes:
        function, slope: f and its derivative, within ``10**-PLACES``.
        least, greatest: Doubles that no value is below or above.
        turn: Around where the function is least, if it does not rise everywhere.
        convex: Whether it is convex left and right of 0, if it is convex or concave there.
        curvature: A bound of f'' in size; ``None`` if it has none.
        steepness: A bound of f' in size; ``None`` if it has none.
        algebraic: Whether it nears its limits slowly, as quotients do, and not as exponentials.
        relative: Whether the function is evaluated to so many places of its own: it adds up nothing
            larger than itself.
        exact_at_zero: Whether it is evaluated without any error at 0.
    """

    function: ClassVar[staticmethod[[Any], Fraction]]
    slope: ClassVar[staticmethod[[Any], Fraction]]
    least: ClassVar[float]
    greatest: ClassVar[float] = float("inf")
    turn: ClassVar[tuple[float, float] | None] = None
    convex: ClassVar[tuple[bool, bool] | None] = None
    curvature: ClassVar[Fraction | None] = None
    steepness: ClassVar[Fraction | None] = None
    algebraic: ClassVar[bool] = False
    relative: ClassVar[bool] = False
    exact_at_zero: ClassVar[bool] = True

    def evaluate(self, *values: Value) -> Value:
        return elementwise(type(self).function, values[0])

    def interval(self, *bounds: Bounds) -> Bounds:
        x = interval_of(bounds[0])
        lower, upper = self._ends(x.lower, -1), self._ends(x.upper, 1)
        if self.turn is not None:
            left, right = self.turn
            lower = np.where(x.upper <= left, self._ends(x.upper, -1), lower)
            lower = np.where((x.upper > left) & (x.lower < right), self.least, lower)
            upper = np.maximum(upper, np.where(x.lower < right, self._ends(x.lower, 1), upper))
        return Interval(np.maximum(lower, self.least), np.minimum(upper, self.greatest))

    @classmethod
    def image(
        cls, low: Fraction | None, high: Fraction | None
    ) -> tuple[Fraction | None, Fraction | None]:
        """Bounds of the function on a range, whose ends may be open (``None``)."""
        ends = [cls._bound(low, -1), cls._bound(high, 1)]
        if cls.turn is not None:
            left, right = cls.turn
            if low is None or low < right:
                falls = cls._bound(low, 1)
                ends[1] = None if falls is None or ends[1] is None else max(falls, ends[1])
                ends[0] = None
                if high is not None and high <= left:
                    ends[0] = cls._bound(high, -1)
        least = None if np.isinf(cls.least) else Fraction(cls.least)
        greatest = None if np.isinf(cls.greatest) else Fraction(cls.greatest)
        return _tighter(max, ends[0], least), _tighter(min, ends[1], greatest)

    @classmethod
    def _bound(cls, end: Fraction | None, side: int) -> Fraction | None:
        """The function at an end of a range, moved outward; ``None`` where it is not known."""
        if end is None:
            return None
        if not end and cls.exact_at_zero:
            return cls.function(end)
        try:
            value = cls._at(end)
        except VerificationError:  # it overflows there
            return None
        return value + side * cls._error(value)

    @classmethod
    def _at(cls, x: Fraction) -> Fraction:
        """The function; far out its limit, which it is within ``exp(8 - _FAR)`` of."""
        if abs(x) <= _FAR or cls.algebraic or cls.relative:
            return cls.function(x)
        if x > 0:
            return x if np.isinf(cls.greatest) else Fraction(cls.greatest)
        return Fraction(0) if cls.turn else Fraction(cls.least)

    @classmethod
    def _error(cls, value: Fraction) -> Fraction:
        return (abs(value) + (not cls.relative)) * Fraction(1, 10 ** (PLACES - 10))

    def _ends(self, values: Any, side: int) -> Any:
        """Doubles beyond the function of each end, away by more than its evaluation error."""
        array = np.asarray(values, dtype=np.float64)
        ends = [self._end(value, side) for value in array.ravel().tolist()]
        return np.array(ends, dtype=np.float64).reshape(array.shape)

    def _end(self, value: float, side: int) -> float:
        if np.isinf(value):
            return self.greatest if value > 0 else self.least if self.turn is None else 0.0
        far = _FAR if self.relative else np.inf  # no double but the limit is between there
        image = self._at(Fraction(max(min(value, far), -far)))
        error = self._error(image)
        return floor_float(image - error) if side < 0 else ceil_float(image + error)


def _tighter(
    choose: Callable[[Fraction, Fraction], Fraction], x: Fraction | None, y: Fraction | None
) -> Fraction | None:
    return y if x is None else x if y is None else choose(x, y)


def smooth_kinds() -> dict[str, type[Smooth]]:
    """Every smooth function by the name of its op."""
    return {cls.name: cls for cls in _kinds(Smooth)}


def _kinds(base: type[Smooth]) -> list[type[Smooth]]:
    return [cls for kind in base.__subclasses__() for cls in (kind, *_kinds(kind))]


@register("exp")
class Exp(Smooth):
    """``e**x``."""

    function = staticmethod(exp)
    slope = staticmethod(exp)
    least, relative = 0.0, True
    convex = (True, True)


@register("sigmoid")
class Sigmoid(Smooth):
    """``1 / (1 + exp(-x))``."""

    function = staticmethod(sigmoid)
    slope = staticmethod(lambda x: sigmoid(x) * (1 - sigmoid(x)))
    least, greatest, relative = 0.0, 1.0, True
    convex = (True, False)
    curvature, steepness = Fraction(1, 8), Fraction(1, 4)


@register("tanh")
class Tanh(Smooth):
    """The hyperbolic tangent."""

    function = staticmethod(tanh)
    slope = staticmethod(lambda x: 1 - tanh(x) ** 2)
    least, greatest = -1.0, 1.0
    convex = (True, False)
    curvature = steepness = Fraction(1)


@register("softmax")
class Softmax(Op):
    """``y_i = exp(x_i) / sum_j exp(x_j)`` of a vector."""

    x: Operand

    def sort(self, *operands: Sort) -> Sort:
        require_vector(operands[0], self.name)
        return REAL.with_shape(operands[0].shape)

    def evaluate(self, *values: Value) -> Value:
        entries = values[0].tolist()
        top = max(entries)
        raised = [exp(x - top) for x in entries]  # over powers of 2; the top one's is 1
        total = sum((y.numerator << _POINT) // y.denominator for y in raised)
        out = np.empty(len(raised), dtype=object)
        out[:] = [
            Fraction((y.numerator << 2 * _POINT) // total, y.denominator << _POINT) for y in raised
        ]
        return out

    def interval(self, *bounds: Bounds) -> Bounds:
        # y_i = sigmoid(-log sum_{j != i} exp(x_j - x_i)): increasing in x_i, decreasing in x_j
        x = interval_of(bounds[0])
        lower, upper = np.empty_like(x.lower), np.empty_like(x.upper)
        for i in range(x.lower.size):
            lower[i] = _share(i, np.where(np.arange(x.lower.size) == i, x.lower, x.upper), -1)
            upper[i] = _share(i, np.where(np.arange(x.lower.size) == i, x.upper, x.lower), 1)
        return Interval(np.maximum(lower, 0.0), np.minimum(upper, 1.0))


def _share(index: int, entries: Any, side: int) -> float:
    if not np.isfinite(entries).all():
        return 0.0 if side < 0 else 1.0
    exact = [Fraction(v) for v in entries.tolist()]
    top = max(exact)
    raised = [exp(max(v - top, Fraction(-_FAR))) for v in exact]  # off by far less than the error
    error = Fraction(1, 10 ** (PLACES - 10))
    share = raised[index] / sum(raised)
    return floor_float(share - error) if side < 0 else ceil_float(share + error)

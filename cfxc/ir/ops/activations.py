"""The smooth activations of networks, and the functions that they are made of.

Bounds of second derivatives: of ``silu``, ``σ'(x) (2 - x tanh(x/2))`` is at most 1/2, and of
``gelu``, ``φ(x) (2 - x²)`` at most ``2 φ(0) < 4/5``; ``softplus''  = σ'``; ``elu''`` is at most 1,
``softsign''`` at most 2 and ``erf'' = -4 x exp(-x²) / √π`` less than 1; those of ``mish`` and of
``gelu_tanh``, at most 0.65 and 0.81, were enclosed by intervals (tests/ir/test_activations.py).
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import wraps

from ..op import register
from .smooth import PLACES, Smooth, exp, sigmoid

_CONTEXT = Context(prec=PLACES + 25, rounding=ROUND_HALF_EVEN, Emin=-(10**9), Emax=10**9)
PI = Fraction("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")
ROOT_HALF = Fraction(_CONTEXT.sqrt(Decimal("0.5")))
ROOT_PI = Fraction(_CONTEXT.sqrt(_CONTEXT.divide(Decimal(PI.numerator), Decimal(PI.denominator))))
TANH_SCALE = 2 * ROOT_HALF / ROOT_PI  # √(2/π)
CUBE = Fraction(44715, 10**6)
_WIDE = Fraction(13)  # erf is 1 to more than 70 places beyond
_FAR = 2000  # exp(-2000) is 0 to hundreds of places
_STOP = Decimal(10) ** -(PLACES + 20)


Function = Callable[[Fraction | int], Fraction]


def tailed(left: int) -> Callable[[Function], Function]:
    """Decorator: the function is ``left`` far left and x far right, but for exp(-2000)."""

    def enter(function: Function) -> Function:
        @wraps(function)
        def near(x: Fraction | int) -> Fraction:
            if -_FAR <= x <= _FAR:
                return function(x)
            return Fraction(x) if x > 0 else Fraction(left)

        return near

    return enter


def erf(x: Fraction | int) -> Fraction:
    """``2/√π ∫₀ˣ exp(-t²) dt = 2/√π exp(-x²) Σ 2ⁿ x^(2n+1) / (2n+1)!!``."""
    if x < 0:
        return -erf(-x)
    if x > _WIDE:
        return Fraction(1)
    at = _CONTEXT.divide(Decimal(Fraction(x).numerator), Decimal(Fraction(x).denominator))
    square, term, total, n = _CONTEXT.multiply(at, at), at, at, 1
    while term > _STOP * max(total, Decimal(1)) or 2 * n < square:
        factor = _CONTEXT.divide(_CONTEXT.multiply(Decimal(2), square), Decimal(2 * n + 1))
        term = _CONTEXT.multiply(term, factor)
        total = _CONTEXT.add(total, term)
        n += 1
        if not term:
            break
    small = _CONTEXT.exp(_CONTEXT.minus(square))
    return min(Fraction(_CONTEXT.multiply(total, small)) * 2 / ROOT_PI, Fraction(1))


@tailed(0)
def softplus(x: Fraction | int) -> Fraction:
    """``log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|))``."""
    odds = exp(-abs(Fraction(x))) + 1
    ratio = _CONTEXT.divide(Decimal(odds.numerator), Decimal(odds.denominator))
    above: Fraction = max(Fraction(x), Fraction(0))
    return above + Fraction(_CONTEXT.ln(ratio))


def softsign(x: Fraction | int) -> Fraction:
    """``x / (1 + |x|)``."""
    return Fraction(x) / (Fraction(1) + abs(Fraction(x)))


@tailed(-1)
def elu(x: Fraction | int) -> Fraction:
    """``x`` where positive, else ``exp(x) - 1``."""
    return Fraction(x) if x > 0 else exp(x) - 1


@tailed(0)
def silu(x: Fraction | int) -> Fraction:
    """``x / (1 + exp(-x))``."""
    return x * sigmoid(x)


def _silu_slope(x: Fraction) -> Fraction:
    share = sigmoid(x)
    return share * (1 + x * (1 - share))


def normal(x: Fraction | int) -> Fraction:
    """``Φ(x)``, of the standard normal law."""
    share: Fraction = erf(Fraction(x) * ROOT_HALF)
    return (1 + share) / 2


def gelu(x: Fraction | int) -> Fraction:
    """``x Φ(x)``."""
    return x * normal(x)


def _gelu_slope(x: Fraction) -> Fraction:
    return normal(x) + x * exp(-(Fraction(x) ** 2) / 2) * ROOT_HALF / ROOT_PI


@tailed(0)
def gelu_tanh(x: Fraction | int) -> Fraction:
    """``x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2``."""
    return x * sigmoid(2 * TANH_SCALE * (x + CUBE * Fraction(x) ** 3))


def _gelu_tanh_slope(x: Fraction) -> Fraction:
    share = sigmoid(2 * TANH_SCALE * (x + CUBE * Fraction(x) ** 3))
    inner = 2 * TANH_SCALE * (1 + 3 * CUBE * Fraction(x) ** 2)
    return share + x * share * (1 - share) * inner


@tailed(0)
def mish(x: Fraction | int) -> Fraction:
    """``x tanh(log(1 + exp(x)))``, where ``tanh(log t) = (t² - 1) / (t² + 1)``."""
    return x * _gate(x)


def _gate(x: Fraction | int) -> Fraction:
    if x > 0:  # divided by exp(2x)
        small = exp(-x)
        return (1 + 2 * small) / (1 + 2 * small + 2 * small * small)
    large = exp(x)
    return large * (large + 2) / (large * (large + 2) + 2)


def _mish_slope(x: Fraction) -> Fraction:
    gate = _gate(x)
    return gate + x * (1 - gate * gate) * sigmoid(x)


@register("erf")
class Erf(Smooth):
    """The error function."""

    function = staticmethod(erf)
    slope = staticmethod(lambda x: 2 * exp(-(Fraction(x) ** 2)) / ROOT_PI)
    least, greatest = -1.0, 1.0
    convex = (True, False)
    curvature, steepness = Fraction(1), Fraction(6, 5)


@register("softplus")
class Softplus(Smooth):
    """``log(1 + exp(x))``."""

    function = staticmethod(softplus)
    slope = staticmethod(sigmoid)
    least, exact_at_zero = 0.0, False
    convex = (True, True)
    curvature, steepness = Fraction(1, 4), Fraction(1)


@register("softsign")
class Softsign(Smooth):
    """``x / (1 + |x|)``."""

    function = staticmethod(softsign)
    slope = staticmethod(lambda x: 1 / (1 + abs(Fraction(x))) ** 2)
    least, greatest = -1.0, 1.0
    convex = (True, False)
    curvature, steepness, algebraic = Fraction(2), Fraction(1), True


@register("elu")
class Elu(Smooth):
    """``x`` where positive, else ``exp(x) - 1``."""

    function = staticmethod(elu)
    slope = staticmethod(lambda x: exp(min(Fraction(x), Fraction(0))))
    least = -1.0
    convex = (True, True)
    curvature = steepness = Fraction(1)


@register("silu")
class Silu(Smooth):
    """``x / (1 + exp(-x))``."""

    function = staticmethod(silu)
    slope = staticmethod(_silu_slope)
    least, turn = -0.27846454276108, (-1.2784645428, -1.2784645427)
    curvature, steepness = Fraction(1, 2), Fraction(6, 5)


@register("gelu")
class Gelu(Smooth):
    """``x Φ(x)``."""

    function = staticmethod(gelu)
    slope = staticmethod(_gelu_slope)
    least, turn = -0.16997120747991, (-0.7517915247, -0.7517915246)
    curvature, steepness = Fraction(4, 5), Fraction(6, 5)


@register("gelu_tanh")
class GeluTanh(Smooth):
    """``x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2``."""

    function = staticmethod(gelu_tanh)
    slope = staticmethod(_gelu_tanh_slope)
    least, turn = -0.1700407507, (-0.7524615, -0.7524614)
    curvature, steepness = Fraction(9, 10), Fraction(6, 5)


@register("mish")
class Mish(Smooth):
    """``x tanh(softplus(x))``."""

    function = staticmethod(mish)
    slope = staticmethod(_mish_slope)
    least, turn = -0.30884342, (-1.1924313, -1.1924312)
    curvature, steepness = Fraction(3, 4), Fraction(6, 5)

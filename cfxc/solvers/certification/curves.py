"""Lines beside smooth functions: which slopes, and where they touch, in doubles.

Whatever is chosen here is sound: the checker finds how far such a line must be moved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from math import erfc, exp, log1p, pi, sqrt

from ...certificates.checker.smooth import CURVES, value

Function = Callable[[float], float]
STEPS = 60  # of a bisection
POINTS = 4  # where the envelope is touched at first, from end to end
LARGEST = 700.0  # of which exp is a double


def _exp(x: float) -> float:
    return exp(min(x, LARGEST))


def _sigmoid(x: float) -> float:
    return 1 / (1 + exp(-x)) if x > 0 else _exp(x) / (1 + _exp(x))


VALUES: dict[str, Function] = {
    "exp": _exp,
    "sigmoid": _sigmoid,
    "softplus": lambda x: max(x, 0.0) + log1p(exp(-abs(x))),
    "normal": lambda x: erfc(-x / sqrt(2)) / 2,
}
SLOPES: dict[str, Function] = {
    "exp": _exp,
    "sigmoid": lambda x: _sigmoid(x) * _sigmoid(-x),
    "softplus": _sigmoid,
    "normal": lambda x: _exp(-min(x * x, 2 * LARGEST) / 2) / sqrt(2 * pi),
}


def lines(
    kind: str, low: float, high: float, more: Iterable[float] = ()
) -> Iterator[tuple[int, float, float, float]]:
    """Side (1: below the function), slope, place of touch and value at 0 of lines of the envelope
    over a range.

    ``more``: places at which to touch it besides.
    """
    for side in (1, -1):
        ends = _tangents(kind, side, low, high)
        if ends is None:
            rise, start = VALUES[kind](high) - VALUES[kind](low), VALUES[kind](low)
            slope = rise / (high - low) if high > low else SLOPES[kind](low)
            yield side, slope, low, start - slope * low
            continue
        first, last = ends
        places = {first + (last - first) * n / (POINTS - 1) for n in range(POINTS)}
        places |= {min(max(place, first), last) for place in more}
        for place in sorted(places):
            slope = SLOPES[kind](place)
            yield side, slope, place, VALUES[kind](place) - slope * place


def _tangents(kind: str, side: int, low: float, high: float) -> tuple[float, float] | None:
    """Between which places tangents bound the function over a whole range; ``None`` if nowhere:
    what bounds it is the chord.
    """
    if CURVES[kind].convex == (True, True):
        return (low, high) if side > 0 else None
    if side < 0:  # f(-x) = 1 - f(x)
        ends = _tangents(kind, 1, -high, -low)
        return ends and (-ends[1], -ends[0])
    if low >= 0 or high <= 0:
        return None if low >= 0 else (low, high)
    f, slope = VALUES[kind], SLOPES[kind]
    if f(low) + slope(low) * (high - low) >= f(high):
        return None
    near, far = low, 0.0  # a tangent there ends below the function, and above it
    for _ in range(STEPS):
        middle = (near + far) / 2
        is_below = f(middle) + slope(middle) * (high - middle) < f(high)
        near, far = (middle, far) if is_below else (near, middle)
    return low, near


def touch(kind: str, side: int, slope: float, low: float, high: float) -> float:
    """Where a line of a slope touches the function, if it is curved away from it on that side."""
    if CURVES[kind].convex != (True, True):
        if side < 0:
            return -touch(kind, 1, slope, -high, -low)
        high = max(min(high, 0.0), low)
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if SLOPES[kind](middle) < slope else (low, middle)
    return low


def crossing(
    kind: str, factor: Fraction, constant: Fraction, low: Fraction, high: Fraction
) -> Fraction | None:
    """A place in a range, beside where ``factor f(x) + constant`` has its zero: on its one side,
    the place included, the checker's own bounds have it below 0; ``None`` if there is none.
    """

    def is_below(x: float) -> bool:
        return factor * value(kind, Fraction(x), factor > 0) + constant < 0

    near, far = (float(low), float(high))[:: 1 if factor > 0 else -1]
    if not is_below(near) or is_below(far):
        return None
    for _ in range(STEPS):
        middle = (near + far) / 2
        near, far = (middle, far) if is_below(middle) else (near, middle)
    return Fraction(near) if low < near < high else None

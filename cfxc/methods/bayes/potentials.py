"""Counterfactual potentials: how good an output is as an answer to "about this much different".

A potential ρ(y; c) judges outputs y of a regression model beside the output c of the factual.  It
is 0 there, rises to its maximum where the output is just as different as it should be, and falls
off beyond (Spooner et al. 2021, §2).  Unlike a threshold it does not flip when the target moves a
little.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from math import e, inf, isfinite
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from ...arrays import Floats
from ...errors import DataTypeError, InvalidInputError
from ...question.checks import positive_number
from ...space.names import names_arguments

Interval = tuple[float, float]
PEAK = 1 / e
"""The maximum of every exponential-polynomial potential."""
SIDES = {"+": (1,), "-": (-1,), "+-": (1, -1)}
SCAN = 4096  # points at which a user's potential is looked at to find where it is high
SEEN = 64  # centers whose scans are kept
REACH = 8.0  # how many widths to either side that is


class Potential(ABC):
    """ρ(y; c) >= 0 for outputs y beside the factual's output c.

    Attributes:
        width: The scale w > 0 of the outputs; the unit of ``z = (y - c) / w``.
        known: Whether ``superlevel`` follows from a formula.  Otherwise it is what is known of
            a function at many outputs, and nothing can be proved from it.
    """

    width: float
    known: ClassVar[bool] = False

    @abstractmethod
    def peak(self, center: float) -> float:
        """sup ρ(·; center)."""

    @abstractmethod
    def __call__(self, y: Any, center: Any) -> Floats:
        """ρ(y; center), broadcast; doubles."""

    @abstractmethod
    def superlevel(self, level: float, center: float) -> tuple[Interval, ...]:
        """{y : ρ(y; center) >= level} as closed intervals, in rising order; empty if none."""

    def optima(self, center: float) -> tuple[float, ...]:
        """The outputs at which it is largest."""
        return tuple(low for low, _ in self.superlevel(self.peak(center), center))


@dataclass(frozen=True)
class ExponentialPolynomial(Potential):
    """ρ(y; c) = Σ over its sides of [±z]₊² exp(-[±z]₊²), z = (y - c) / w (eqs. 7, 8).

    Largest, 1/e, at y = c ± w.
    """

    width: float
    sign: str
    known: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", positive_number(self.width, "width", finite=True))
        if self.sign not in SIDES:
            raise InvalidInputError(f"sign is '+' or '-', not {self.sign!r}")

    @property
    def sides(self) -> tuple[int, ...]:
        """+1 for outputs above the factual's, -1 for those below."""
        return SIDES[self.sign]

    def peak(self, center: float) -> float:
        return PEAK

    def __call__(self, y: Any, center: Any) -> Floats:
        z = (np.asarray(y, np.float64) - np.asarray(center, np.float64)) / self.width
        if len(self.sides) == 1:
            z = np.maximum(self.sides[0] * z, 0.0)
        square = np.minimum(z * z, 800.0)  # exp(-800) is 0, and inf * 0 is none
        return np.asarray(square * np.exp(-square))

    def superlevel(self, level: float, center: float) -> tuple[Interval, ...]:
        if level > PEAK:
            return ()
        near, far = (float(end) * self.width for end in band(level))
        ends = [(center + near, center + far), (center - far, center - near)]
        return tuple(sorted(ends[side < 0] for side in self.sides))

    def __str__(self) -> str:
        name = "SEP" if self.sign == "+-" else f"AEP{self.sign}"
        return f"{name}, width {self.width:g}"


@names_arguments
def SEP(width: float) -> ExponentialPolynomial:  # noqa: N802, the paper's name
    """The symmetric potential: an output about ``width`` away, on either side (eq. 8).

    Args:
        width: w > 0, in units of the output; ρ is largest, 1/e, at f(q) ± w.

    Raises:
        DataTypeError, InvalidInputError: no positive, finite number.
    """
    return ExponentialPolynomial(width, "+-")


@names_arguments
def AEP(width: float, sign: str = "+") -> ExponentialPolynomial:  # noqa: N802, the paper's name
    """The asymmetric potential: an output about ``width`` above, or below (eq. 7).

    Args:
        width: w > 0, in units of the output; ρ is largest, 1/e, at f(q) + w, or f(q) - w.
        sign: ``"+"`` for outputs above the factual's, ``"-"`` for outputs below.

    Raises:
        DataTypeError, InvalidInputError: no positive, finite number; another sign.
    """
    if sign not in ("+", "-"):
        raise InvalidInputError(f"sign is '+' or '-', not {sign!r}")
    return ExponentialPolynomial(width, sign)


@names_arguments
@dataclass(frozen=True)
class CustomPotential(Potential):
    """A potential of one's own: any smooth function of y (and of the factual's output c).

    Args:
        function: ``function(y, center)`` on arrays of doubles of one shape, elementwise; >= 0.
        width: The scale on which it varies; it is looked for within 8 of these of the center.
        name: What it is called.

    Its maximum is the largest of some thousand values; better rows are looked for by exact
    engines too, but no bound is proved: between two outputs it could be anything.

    Raises:
        DataTypeError, InvalidInputError: no function, no width; when it is called: it returns
            something else than finite numbers >= 0, or is 0 everywhere within reach.
    """

    function: Callable[[Floats, Floats], Any]
    width: float
    name: str = "potential"
    _seen: dict[float, tuple[Floats, Floats]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise DataTypeError(f"a potential's function is callable, not {self.function!r}")
        object.__setattr__(self, "width", positive_number(self.width, "width", finite=True))

    def peak(self, center: float) -> float:
        found = float(self._scan(center)[1].max())
        if found <= 0:
            raise InvalidInputError(
                f"{self.name} is 0 at all outputs within {REACH:g} widths of {center:g}; "
                "give the width on which it varies"
            )
        return found

    def __call__(self, y: Any, center: Any) -> Floats:
        values, centers = np.broadcast_arrays(
            np.asarray(y, np.float64), np.asarray(center, np.float64)
        )
        try:
            found = np.asarray(self.function(values, centers), np.float64)
        except (TypeError, ValueError) as error:
            raise DataTypeError(f"{self.name} failed on an array of outputs: {error}") from error
        if found.shape != values.shape:
            raise DataTypeError(
                f"{self.name} gives an array of shape {found.shape} for {values.shape}; it works "
                "element by element"
            )
        if not np.isfinite(found).all() or (found < 0).any():
            raise InvalidInputError(f"{self.name} gives something else than finite numbers >= 0")
        return found

    def superlevel(self, level: float, center: float) -> tuple[Interval, ...]:
        y, value = self._scan(center)
        high = np.concatenate([[False], value >= level, [False]])
        begins = np.flatnonzero(~high[:-1] & high[1:])
        ends = np.flatnonzero(high[:-1] & ~high[1:]) - 1
        starts = self._crossing(y[np.maximum(begins - 1, 0)], y[begins], level, center)
        stops = self._crossing(y[np.minimum(ends + 1, len(y) - 1)], y[ends], level, center)
        return tuple(zip(starts.tolist(), stops.tolist(), strict=True))

    def _crossing(self, out: Floats, into: Floats, level: float, center: float) -> Floats:
        """Bisection between outputs below a level and outputs that reach it: the latter's last."""
        for _ in range(60):
            middle = (out + into) / 2
            high = self(middle, center) >= level
            out, into = np.where(high, out, middle), np.where(high, middle, into)
        return into

    def _scan(self, center: float) -> tuple[Floats, Floats]:
        """Outputs around a center, those of the optimum at their finest, and their potential."""
        if center not in self._seen:
            if len(self._seen) >= SEEN:
                self._seen.clear()
            y = center + np.linspace(-REACH, REACH, SCAN + 1) * self.width
            value = self(y, center)
            step = 2 * REACH * self.width / SCAN
            fine = y[int(value.argmax())] + np.linspace(-step, step, 201)
            y = np.union1d(y, fine)
            self._seen[center] = y, self(y, center)
        return self._seen[center]

    def __str__(self) -> str:
        return f"{self.name}, width {self.width:g}"


def band(level: float | Floats) -> tuple[Floats, Floats]:
    """Where z² exp(-z²) = level, for z >= 0: the roots a <= 1 <= b; level in [0, 1/e].

    With u = z², -u exp(-u) = -level, so u = -W(-level) on the branches W₀ (a) and W₋₁ (b) of
    Lambert's function; eq. 13 of the paper has W at +ρ*.  Of level 0 the roots are 0 and infinity.
    Near the branch point, where W loses half of its digits, Newton's
    method solves d - ln(1 + d) = -1 - ln(level) for d = u - 1.
    """
    from scipy.special import lambertw

    given = np.clip(np.asarray(level, np.float64), 0.0, PEAK)
    safe = np.maximum(given, 1e-300)
    low, high = (np.asarray(-lambertw(-safe, branch).real) for branch in (0, -1))
    depth = np.maximum(-1 - np.log(safe), 0.0)
    close = depth < 0.01
    first = np.sqrt(2 * np.where(close, depth, 0.0))
    ends = []
    for sign, far in ((-1, low), (1, high)):
        d = sign * first
        for _ in range(4):
            slope = np.where(d == 0, 1.0, d / (1 + d))
            d = d - np.where(d == 0, 0.0, (d - np.log1p(d) - depth) / slope)
        ends.append(np.sqrt(np.maximum(np.where(close, 1 + d, far), 0.0)))
    return np.where(given > 0, ends[0], 0.0), np.where(given > 0, ends[1], inf)


def width_to(output: float, goal: Any) -> ExponentialPolynomial:
    """The asymmetric potential that is largest where the output is ``goal``.

    Raises:
        DataTypeError, InvalidInputError: no number; the output of the factual itself.
    """
    if isinstance(goal, bool) or not isinstance(goal, Real) or not isfinite(float(goal)):
        raise InvalidInputError(f"the target output is a finite number, not {goal!r}")
    if goal == output:
        raise InvalidInputError(f"the factual's output is {output:g} already: ask for another one")
    away = float(goal) - output
    return AEP(abs(away), "+" if away > 0 else "-")

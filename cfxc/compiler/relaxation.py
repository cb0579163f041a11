"""Linear relaxation: bounds of affine forms from linear facts about the columns of a model.

Three kinds of facts, beside the columns' ranges:

* units ``h = max(z, 0)`` with z an affine form of earlier columns and l <= z <= u: the triangle
  ``h >= 0``, ``h >= z``, ``h <= s z + t`` (s = u / (u - l), t = -l s);
* units ``h = f(z)`` with f smooth: a line above and one below;
* groups: of some columns exactly one is 1, the others 0 (the labels of one category);
* a budget ``c·x <= r`` (the distance within a radius).

An upper bound of a form f follows from multipliers u, v >= 0 per unit and w >= 0 for the budget:

    f <= f + u (s z + t - h) + v (h - a z - b) + w (r - c·x),

whose right side is affine, and largest over ranges and groups in closed form.  *Any* multipliers
are sound; back-substitution (as in CROWN, DeepPoly) or a linear program only choose them.  Doubles
are rounded outward.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from ..arrays import Floats
from ..ir.interval import ceil_float, down, floor_float, up
from ..ir.linear import ONE, ZERO, dot
from ..kernels import curve_lines
from .linear_programs import EPS, TINY
from .mixed_integer import Affine, Model

SQUARE = "square"
#: Smooth functions with lines above and below, in the order of the kernels.
CURVES = (
    "sigmoid", "tanh", "erf", "softplus", "softsign", "elu", "silu", "gelu", "gelu_tanh", "mish",
    SQUARE,
)  # fmt: skip
_HALVINGS = 24  # of the range of the budget's multiplier; it need not be the best


@dataclass(frozen=True, slots=True)
class Unit:
    """``tilt * z + base <= h <= slope * z + offset`` for the column ``h``, z in [lower, upper].

    ``curve``: the place in ``CURVES`` of the function of z that h is; -1 for ``max(z, 0)``.
    """

    column: int
    z: Affine
    lower: Fraction
    upper: Fraction
    slope: float
    offset: float
    tilt: float = 1.0
    base: float = 0.0
    curve: int = -1


@dataclass(frozen=True)
class Proof:
    """Why a form is at most ``bound``: multipliers of units (by index) and of the budget."""

    bound: Fraction
    above: Mapping[int, float]
    below: Mapping[int, float]
    budget: float


@dataclass(frozen=True, slots=True)
class Bounds:
    """``lower <= form <= upper``, with the proof of ``-form <= -lower`` and that of the other."""

    lower: Fraction
    upper: Fraction
    below: Proof
    above: Proof


@dataclass
class Relaxation:
    """The linear facts known so far about the columns of ``model``."""

    model: Model
    units: list[Unit] = field(default_factory=list)
    groups: list[tuple[int, ...]] = field(default_factory=list)
    budget: tuple[Affine, Fraction] | None = None
    _unit_of: dict[int, int] = field(default_factory=dict)
    _rounded: list[Doubles] = field(default_factory=list)

    def define(self, column: int, z: Affine, lower: Fraction, upper: Fraction) -> None:
        """Column ``h`` is ``max(z, 0)``, and z lies in [lower, upper] with lower < 0 < upper."""
        low, high = floor_float(lower), ceil_float(upper)
        slope = min(high / (high - low), 1.0)
        ends = (up(slope * -low), up(high - down(slope * high)))
        self._add(Unit(column, z, lower, upper, slope, float(up(max(ends)))))

    def define_curve(
        self, column: int, z: Affine, lower: Fraction, upper: Fraction, name: str
    ) -> None:
        """Column ``h`` is a smooth function of z, one of ``CURVES``, and z is in [lower, upper]."""
        code = CURVES.index(name)
        lines = curve_lines(code, floor_float(lower), ceil_float(upper))
        self._add(Unit(column, z, lower, upper, *lines, code))

    def _add(self, unit: Unit) -> None:
        self._unit_of[unit.column] = len(self.units)
        self.units.append(unit)
        self._rounded.append(in_doubles(unit.z))

    def group(self, columns: Iterable[int]) -> None:
        """Exactly one of these columns is 1, the others are 0."""
        self.groups.append(tuple(columns))

    def most(self, form: Affine) -> Fraction:
        """The exact maximum of a form over ranges and groups alone."""
        parts, grouped = list[tuple[Fraction, Fraction]](), set[int]()
        for group in self.groups:
            if any(j in form.terms for j in group):
                parts.append((ONE, max(form.terms.get(j, ZERO) for j in group)))
                grouped.update(group)
        for j, factor in form.terms.items():
            if j not in grouped:
                column = self.model.columns[j]
                parts.append((factor, column.upper if factor > 0 else column.lower))
        return dot(parts, form.constant)

    def bounds(self, forms: Sequence[Affine]) -> list[Bounds]:
        """Bounds of several forms at once, by back-substitution."""
        if not forms:
            return []
        proofs = System(self, forms).mirrored().prove()
        pairs = zip(proofs[: len(forms)], proofs[len(forms) :], strict=True)
        return [Bounds(-below.bound, above.bound, below, above) for above, below in pairs]


class System:
    """Forms and the facts that matter to them, in doubles.

    Arrays: ``forms`` (R, n) and ``constants`` (R,); per unit (K, …) its column ``h``, ``z``
    (K, n), ``z0``, ``slope``, ``offset``, ``tilt``, ``base``; per column ``lower``,
    ``upper``, ``cost`` (n,).
    """

    def __init__(self, relaxation: Relaxation, forms: Sequence[Affine]) -> None:
        self.relaxation = relaxation
        used = self._closure(forms)
        self.columns = sorted(used)
        self.place = {j: i for i, j in enumerate(self.columns)}
        indices = sorted(relaxation._unit_of[j] for j in used if j in relaxation._unit_of)
        self.indices = indices
        self.units = [relaxation.units[i] for i in indices]
        self.forms, self.constants = dense(self.place, forms)
        self.z, self.z0 = _matrix(self.place, [relaxation._rounded[i] for i in indices])
        self.h = np.array([self.place[unit.column] for unit in self.units], dtype=np.int64)
        self.slope = np.array([unit.slope for unit in self.units], dtype=np.float64)
        self.offset = np.array([unit.offset for unit in self.units], dtype=np.float64)
        self.tilt = np.array([unit.tilt for unit in self.units], dtype=np.float64)
        self.base = np.array([unit.base for unit in self.units], dtype=np.float64)
        self.curved = np.array([unit.curve >= 0 for unit in self.units], dtype=np.bool_)
        held = [relaxation.model.columns[j] for j in self.columns]
        self.lower = np.array([floor_float(c.lower) for c in held], dtype=np.float64)
        self.upper = np.array([ceil_float(c.upper) for c in held], dtype=np.float64)
        self.size = np.maximum(np.abs(self.lower), np.abs(self.upper))
        self.cost, self.radius = np.zeros(len(held)), 0.0
        if relaxation.budget is not None:
            cost, radius = relaxation.budget
            self.cost = dense(self.place, [cost])[0][0]
            self.radius = ceil_float(radius - cost.constant)
        self._place_groups()

    def mirrored(self) -> System:
        """The same with the forms and their negatives."""
        self.forms = np.concatenate([self.forms, -self.forms])
        self.constants = np.concatenate([self.constants, -self.constants])
        return self

    def _closure(self, forms: Sequence[Affine]) -> set[int]:
        """Columns of the forms, of the units behind them, of the budget and of their groups."""
        relaxation, used, stack = self.relaxation, set[int](), list[int]()
        for form in forms:
            stack += form.terms
        if relaxation.budget is not None:
            stack += relaxation.budget[0].terms
        while stack:
            j = stack.pop()
            if j not in used:
                used.add(j)
                index = relaxation._unit_of.get(j)
                if index is not None:
                    stack += relaxation.units[index].z.terms
        for group in relaxation.groups:
            if not used.isdisjoint(group):
                used.update(group)
        return used

    def _place_groups(self) -> None:
        """Per group its positions, padded with its first; and which columns stand alone."""
        groups = [
            [self.place[j] for j in group]
            for group in self.relaxation.groups
            if group[0] in self.place
        ]
        width = max(map(len, groups), default=1)
        padded = [group + group[:1] * (width - len(group)) for group in groups]
        self.grouped = np.array(padded, dtype=np.int64).reshape(len(groups), width)
        self.alone = np.ones(len(self.columns), dtype=np.bool_)
        self.alone[self.grouped.ravel()] = False

    # -- choosing multipliers ---------------------------------------------------------------------

    def prove(self) -> list[Proof]:
        """Upper bounds of all forms: back-substitution under two choices of lower lines."""
        lows = np.array([float(unit.lower) for unit in self.units])
        highs = np.array([float(unit.upper) for unit in self.units])
        ones, steep = np.ones(len(self.units)), (highs > -lows).astype(np.float64)
        choices = [(ones, np.where(self.curved, 1.0, steep))]
        if self.units:
            choices.append((np.where(self.curved, 0.0, 1.0), np.zeros(len(self.units))))
        best: list[Proof] = []
        for shares in choices:
            above, below, rest = self._substitute(*shares)
            proofs = self.evaluate(above, below, self._budget_multipliers(rest))
            best = [min(p, q, key=_bound) for p, q in zip(best or proofs, proofs, strict=True)]
        return best

    def _substitute(self, over: Floats, under: Floats) -> tuple[Floats, Floats, Floats]:
        """Units replaced, last first, by shares (K,) of their lines above and below.

        Gives multipliers, and what is left.
        """
        rest = self.forms.copy()
        above, below = (np.zeros((rest.shape[0], len(self.units))) for _ in range(2))
        for k in range(len(self.units) - 1, -1, -1):
            factor = rest[:, self.h[k]].copy()
            above[:, k] = over[k] * np.maximum(factor, 0)
            below[:, k] = under[k] * np.maximum(-factor, 0)
            mixed = above[:, k] * self.slope[k] - below[:, k] * self.tilt[k]
            rest += np.outer(mixed, self.z[k])
            rest[:, self.h[k]] -= above[:, k] - below[:, k]
        return above, below, rest

    def _budget_multipliers(self, rest: Floats) -> Floats:
        """About the best multipliers: the bound is convex in each, so its slope is halved upon."""
        low: Floats = np.zeros(rest.shape[0])
        costly = self.cost != 0
        if not costly.any():
            return low
        ratios = np.abs(rest[:, costly]) / np.abs(self.cost[costly])
        high: Floats = ratios.max(axis=1) * 1.001
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            too_small = self._spent(rest - middle[:, None] * self.cost) > self.radius
            low, high = np.where(too_small, middle, low), np.where(too_small, high, middle)
        return high

    def _spent(self, rest: Floats) -> Floats:
        """What the best point of ranges and groups costs, per form."""
        chosen = np.where(rest > 0, self.upper, self.lower)[:, self.alone]
        spent: Floats = np.asarray(chosen @ self.cost[self.alone], dtype=np.float64)
        if not self.grouped.size:
            return spent
        best = rest[:, self.grouped].argmax(axis=2)
        taken: Floats = self.cost[self.grouped[np.arange(self.grouped.shape[0]), best]]
        return np.asarray(spent + taken.sum(axis=1), dtype=np.float64)

    # -- bounds that hold -------------------------------------------------------------------------

    def evaluate(self, above: Floats, below: Floats, budget: Floats) -> list[Proof]:
        """The bounds that nonnegative multipliers (R, K), (R, K), (R,) prove, rounded upward."""
        mixed = above * self.slope - below * self.tilt
        heavy = above * np.abs(self.slope) + below * np.abs(self.tilt)
        rest = self.forms + mixed @ self.z - budget[:, None] * self.cost
        weight = np.abs(self.forms) + heavy @ np.abs(self.z) + budget[:, None] * np.abs(self.cost)
        rest[:, self.h] -= above - below  # every unit has a column of its own
        weight[:, self.h] += above + below
        lines = above @ self.offset - below @ self.base
        constant = self.constants + lines + mixed @ self.z0 + budget * self.radius
        scale = np.abs(self.constants) + above @ np.abs(self.offset) + below @ np.abs(self.base)
        scale = scale + heavy @ np.abs(self.z0) + budget * abs(self.radius)
        ends = np.where(rest > 0, self.upper, self.lower) * rest
        total = constant + ends[:, self.alone].sum(axis=1)
        if self.grouped.size:
            total = total + rest[:, self.grouped].max(axis=2).sum(axis=1)
        size = np.where(self.alone, self.size, 1.0)
        operations = len(self.columns) + 2 * len(self.units) + 16
        slack = operations * EPS * (scale + weight @ size) + TINY
        bounds = up(total + slack * (1 + 2.0**-20))
        return [
            self._proof(float(bounds[i]), above[i], below[i], float(budget[i]))
            for i in range(len(bounds))
        ]

    def _proof(self, bound: float, above: Floats, below: Floats, budget: float) -> Proof:
        return Proof(Fraction(bound), self._sparse(above), self._sparse(below), budget)

    def _sparse(self, multipliers: Floats) -> dict[int, float]:
        kept = np.flatnonzero(multipliers)
        held = multipliers[kept].tolist()
        return {self.indices[k]: value for k, value in zip(kept.tolist(), held, strict=True)}


def _bound(proof: Proof) -> Fraction:
    return proof.bound


Doubles = tuple[list[int], list[float], float]
"""A form's columns, its factors, and its constant, rounded to the nearest."""


def in_doubles(form: Affine) -> Doubles:
    """A form, rounded."""
    return [*form.terms], [n / d for n, d in map(_ratio, form.terms.values())], float(form.constant)


_ratio = Fraction.as_integer_ratio


def dense(place: Mapping[int, int], forms: Sequence[Affine]) -> tuple[Floats, Floats]:
    """Forms as a matrix, each column of the program at its place, and their constants."""
    return _matrix(place, [in_doubles(form) for form in forms])


def _matrix(place: Mapping[int, int], forms: Sequence[Doubles]) -> tuple[Floats, Floats]:
    matrix = np.zeros((len(forms), len(place)))
    for row, (columns, factors, _) in zip(matrix, forms, strict=True):
        row[[place[j] for j in columns]] = factors
    return matrix, np.array([constant for *_, constant in forms], dtype=np.float64)

r"""COPA: plans that are near, diverse and valid under many parameters, by projected gradient.

Over x_1, …, x_J (Bui, Nguyen & Nguyen 2022, eq. 6), with c the Euclidean distance,

    min  (1/J) Σ_j c(x_j, x_0)  -  λ₁ min_j r(x_j)  -  λ₂ det K        s.t.  μ̂ᵀx_j ≥ ε ,

    K_ij = 1/(1 + c(x_i, x_j)),      r(x) = μ̂ᵀx/√(xᵀΣ̂x) .

min_j r(x_j) is the radius of the largest ellipsoid around μ̂ of parameters under all of which the
plan is valid (Lemma 4.1), so it is *maximised*: eq. 6 subtracts it, the appendix (eq. 8) adds it.
Steps are Adam's, each followed by the projection onto the constraints.  The half-space alone has
the closed form of the Requirement correction.  With bounds on the entries the nearest point is

    x(η) = clip(x + ηa, lower, upper),    the least η ≥ 0 with μ̂ᵀx(η) ≥ ε ,

a being μ̂ on the entries that may move: these are the optimality conditions of the projection, and
μ̂ᵀx(η) does not fall as η rises.  The problem is not convex: the best plan met is returned.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...arrays import Floats
from ...errors import InvalidInputError
from ...question.checks import number_from_zero, positive_number, whole_number
from ...stopping import left
from .corrections import free_entries
from .moments import array_of, covariance_of, mean_of

HALVINGS = 60  # of the interval in which the step of a projection lies
NEAREST = 1e-18  # squares of distances below it count as this: a root has no slope at 0
BETAS = 0.9, 0.999  # of Adam (Kingma & Ba 2015): how much of the moments each step keeps
MOST = 250  # rows of a plan: each step takes the determinant of a J x J matrix
SPREAD = 0.5  # of the box, or of 1 where there is none: how far apart the first points are drawn


@dataclass(frozen=True)
class Copa:
    """What to weigh, and how long to search; see :mod:`cfxc.methods.plans.copa`.

    Attributes:
        size: J ≥ 1.
        validity_weight: λ₁ ≥ 0.
        diversity_weight: λ₂ ≥ 0.
        epsilon: ε ≥ 0, the least nominal score μ̂ᵀx.
        steps: Of Adam.
        rate: Of learning, at the first step; it falls to 0 as a cosine.
        starts: How often to begin anew from other points; the best plan counts.
        random_state: Seed of the first points.
    """

    size: int = 5
    validity_weight: float = 1.0
    diversity_weight: float = 10.0
    epsilon: float = 0.1
    steps: int = 1000
    rate: float = 0.02
    starts: int = 4
    random_state: int = 0

    def __post_init__(self) -> None:
        for name, least in (("size", 1), ("steps", 1), ("starts", 1), ("random_state", 0)):
            object.__setattr__(self, name, whole_number(getattr(self, name), name, least))
        for name in ("validity_weight", "diversity_weight", "epsilon"):
            object.__setattr__(self, name, number_from_zero(getattr(self, name), name))
        object.__setattr__(self, "rate", positive_number(self.rate, "rate"))


def refuse_large(size: int) -> None:
    """Refuse plans of more rows than the search can weigh.

    Raises:
        InvalidInputError: saying how many it can.
    """
    if size > MOST:
        raise InvalidInputError(f"size is at most {MOST} rows in one plan, not {size}")


def copa_plan(
    factual: Any,
    mean: Any,
    covariance: Any,
    options: Copa | None = None,
    *,
    lower: Any = None,
    upper: Any = None,
    fixed: Iterable[int] = (),
) -> Floats:
    """A plan for one instance; shape (J, d), or (n, J, d) for n instances.

    Args:
        factual: x_0, length d, or n × d; no bias term is added.
        mean, covariance: μ̂ and Σ̂, as for :func:`validity_bounds`.
        options: Weights and effort.
        lower, upper: Of every entry, length d or n × d; by default none.
        fixed: Entries that keep the instance's value, such as the trailing 1.

    Raises:
        InvalidInputError: shapes that do not fit, more rows than can be weighed, or bounds within
            which no x has μ̂ᵀx ≥ ε.
    """
    chosen = Copa() if options is None else options
    refuse_large(chosen.size)
    given = np.asarray(factual)
    instances = array_of(given[None] if given.ndim == 1 else given, "factual", 2)
    center = mean_of(mean)
    spread, _ = covariance_of(covariance, len(center))
    if instances.shape[1] != len(center):
        raise InvalidInputError(
            f"factual has {instances.shape[1]} entries, mean has {len(center)}: both need one for "
            "each parameter"
        )
    free = free_entries(fixed, len(center))
    low = _bound(lower, instances, -np.inf, "lower")
    high = _bound(upper, instances, np.inf, "upper")
    low, high = np.where(free, low, instances), np.where(free, high, instances)
    if (low > high).any():
        raise InvalidInputError("lower exceeds upper")
    again = [np.repeat(each, chosen.starts, axis=0) for each in (instances, low, high)]
    box = _Box(center, chosen.epsilon, again[1][:, None], again[2][:, None])
    box.refuse_empty()
    found, values = _descend(again[0], center, (spread + spread.T) / 2, chosen, box)
    best = values.reshape(len(instances), chosen.starts).argmin(axis=1)
    made = found.reshape(len(instances), chosen.starts, *found.shape[1:])[
        np.arange(len(instances)), best
    ]
    return np.asarray(made[0] if given.ndim == 1 else made)


def _bound(value: Any, instances: Floats, default: float, name: str) -> Floats:
    if value is None:
        return np.full(instances.shape, default)
    array = np.asarray(value, dtype=np.float64)
    if array.shape not in (instances.shape, instances.shape[1:]) or np.isnan(array).any():
        raise InvalidInputError(f"{name} must be {instances.shape[1]} numbers, one for each entry")
    return np.broadcast_to(array, instances.shape)


@dataclass(frozen=True)
class _Box:
    """{x: μ̂ᵀx ≥ ε, low ≤ x ≤ high}, of n instances at once: low and high (n, 1, d)."""

    mean: Floats
    epsilon: float
    low: Floats
    high: Floats

    def refuse_empty(self) -> None:
        """Refuse bounds without any x of the half-space."""
        best = np.where(self.mean > 0, self.high, self.low)
        most = np.where(self.mean == 0, 0.0, best) @ self.mean
        if (most < self.epsilon).any():
            raise InvalidInputError(
                f"within the bounds, the mean of the parameters gives at most {most.min():.4g}, "
                f"and epsilon is {self.epsilon:g}: no plan is valid for it"
            )

    def project(self, x: Floats) -> Floats:
        """The nearest points, (n, J, d)."""
        near = np.clip(x, self.low, self.high)
        short = near @ self.mean < self.epsilon
        if not short.any():
            return near
        room = np.where(self.mean > 0, self.high - x, x - self.low)
        slopes = np.abs(self.mean)
        with np.errstate(invalid="ignore", divide="ignore"):
            ends = np.where((slopes > 0) & np.isfinite(room), room / slopes, 0.0).max(axis=-1)
        gap, square = self.epsilon - near @ self.mean, float(self.mean @ self.mean)
        low, high = np.zeros(short.shape), np.maximum(ends, gap / square) * 2 + 1e-12
        while (bad := short & (self._at(x, high) @ self.mean < self.epsilon)).any():
            if (high[bad] > 1e12).all():
                break  # on the border of the box, up to rounding
            high = np.where(bad, 2 * high, high)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            enough = self._at(x, middle) @ self.mean >= self.epsilon
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return np.where(short[..., None], self._at(x, high), near)

    def _at(self, x: Floats, eta: Floats) -> Floats:
        return np.clip(x + eta[..., None] * self.mean, self.low, self.high)


def _descend(
    instances: Floats, mean: Floats, covariance: Floats, options: Copa, box: _Box
) -> tuple[Floats, Floats]:
    """The best plans met on the way, (n, J, d), and their objectives, (n,)."""
    x = _first(instances, options.size, box, np.random.default_rng(options.random_state))
    best, least = x, np.full(len(instances), np.inf)
    first, second = np.zeros_like(x), np.zeros_like(x)  # moments of the slope, as Adam keeps them
    for step in range(options.steps + 1):
        if left() <= 0 or not np.isfinite(x).all():
            break  # with what there is: weights or points are too large for doubles
        value, slope = objective(x, instances[:, None], mean, covariance, options)
        better = value < least
        best = np.where(better[:, None, None], x, best)
        least = np.where(better, value, least)
        first += (1 - BETAS[0]) * (slope - first)
        second += (1 - BETAS[1]) * (slope * slope - second)
        known = [1 - beta ** (step + 1) for beta in BETAS]
        rate = options.rate * (1 + np.cos(np.pi * step / options.steps)) / 2
        x = box.project(x - rate * first / known[0] / (np.sqrt(second / known[1]) + 1e-8))
    return best, least


def _first(instances: Floats, size: int, box: _Box, rng: np.random.Generator) -> Floats:
    """Points around each instance, as far apart as the box allows, valid for μ̂."""
    width = np.broadcast_to(box.high - box.low, (len(instances), 1, instances.shape[1]))
    width = np.where(np.isfinite(width), width, 1.0)
    away = rng.uniform(-SPREAD, SPREAD, size=(len(instances), size, instances.shape[1]))
    return box.project(instances[:, None] + width * away)


def objective(
    x: Floats, home: Floats, mu: Floats, sigma: Floats, options: Copa
) -> tuple[Floats, Floats]:
    """Proximity - λ₁ min_j r - λ₂ det K, of n plans, (n,), and its slopes, (n, J, d)."""
    away = x - home
    lengths = _lengths(away)
    swing, scores = x @ sigma, x @ mu
    deviations = np.sqrt(np.maximum((swing * x).sum(-1), NEAREST))
    radii = scores / deviations
    worst = np.arange(len(x)), radii.argmin(-1)
    between = _lengths(x[:, :, None] - x[:, None])
    eye = np.eye(x.shape[1], dtype=bool)
    K = 1 / (1 + np.where(eye, 0.0, between))
    det, cofactors = _determinant(K)
    pull = np.where(eye, 0.0, cofactors * K * K / between)
    slopes = away / lengths[..., None] / x.shape[1]
    share = np.where(deviations**2 > NEAREST, scores / deviations**2, 0.0)[worst]
    slopes[worst] -= (
        options.validity_weight * (mu - share[:, None] * swing[worst]) / deviations[worst][:, None]
    )
    slopes += 2 * options.diversity_weight * (pull.sum(-1)[..., None] * x - pull @ x)
    value = lengths.mean(-1) - options.validity_weight * radii[worst]
    return value - options.diversity_weight * det, slopes


def _lengths(vectors: Floats) -> Floats:
    """Euclidean lengths along the last axis, never 0."""
    return np.asarray(np.sqrt(np.maximum((vectors * vectors).sum(-1), NEAREST)))


def _determinant(K: Floats) -> tuple[Floats, Floats]:
    """det K of symmetric matrices, and its slopes: their cofactors, which need no inverse."""
    values, vectors = np.linalg.eigh(K)
    ones = np.ones_like(values[..., :1])
    below = np.cumprod(np.concatenate([ones, values[..., :-1]], axis=-1), axis=-1)
    above = np.cumprod(np.concatenate([ones, values[..., :0:-1]], axis=-1), axis=-1)[..., ::-1]
    return values.prod(-1), (vectors * (below * above)[..., None, :]) @ np.swapaxes(vectors, -1, -2)


# -- measures ------------------------------------------------------------------------------------


def proximity(plan: npt.ArrayLike, factual: npt.ArrayLike) -> float:
    """The mean Euclidean distance of the rows from the factual (eq. 4)."""
    rows, home = np.asarray(plan, dtype=float), np.asarray(factual, dtype=float)
    return float(np.linalg.norm(rows - home, axis=1).mean())


def diversity(plan: npt.ArrayLike) -> float:
    """det K, K_ij = 1/(1 + |x_i - x_j|) (eq. 5): 0 if two rows are the same, at most 1."""
    rows = np.asarray(plan, dtype=float)
    away = np.linalg.norm(rows[:, None] - rows[None], axis=-1)
    return max(float(np.linalg.det(1 / (1 + away))), 0.0)

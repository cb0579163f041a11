"""Local surrogates as LIME fits them: a weighted ridge regression on perturbed rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from ...arrays import Array, Floats
from ...errors import InvalidInputError
from ...frontends.compiled import Compiled
from ...ir import BatchEvaluator, Program
from ...question.checks import positive_number, whole_number
from ...question.target import Target
from ...solvers.rows import leads
from ...space import Feature
from .local import check_model, point_of, target_of
from .pieces import Coordinates

Columns = dict[str, Array]


@dataclass(frozen=True, eq=False)
class Surrogate:
    """A linear model ``margin(z) = coefficients · z + intercept``, fitted near a row.

    Attributes:
        coordinates: What z_1 … z_d are (``names``), as for :class:`LocalLinear`.
        coefficients: Shape (d,).
        target: What is to be reached.
        agreement: How faithful it is: the weighted share of fresh perturbed rows, not those it was
            fitted to, of which it says the same as the model (``margin >= 0`` where the model
            reaches the target).
        baseline: The agreement that the better of the two constant answers has there.
        r2: The weighted share of the variance of the model's margin that it explains there; 0 if
            the margin does not vary.
        agrees_at_row: Whether it says the same as the model of the row itself.
        samples: How many rows it was fitted to; as many again are ``agreement``'s.
    """

    coordinates: Coordinates
    coefficients: Floats
    intercept: float
    target: Target
    agreement: float
    baseline: float
    r2: float
    agrees_at_row: bool
    samples: int

    @property
    def names(self) -> tuple[str, ...]:
        """The coordinates' names."""
        return self.coordinates.names

    @property
    def theta(self) -> Floats:
        """Coefficients and intercept, shape (d + 1,)."""
        return np.append(self.coefficients, self.intercept)


def surrogate(
    model: Compiled,
    row: Any,
    *,
    target: Any = None,
    samples: int = 5000,
    spread: float = 0.25,
    width: float | None = None,
    ridge: float = 1.0,
    random_state: int = 0,
) -> Surrogate:
    """A weighted ridge regression of a model's margin near a row (C.2; Ribeiro et al. 2016).

        min over a, b of  Σ_i w_i (a · z_i + b - m(x_i))² + ridge |a|² ,
        w_i = exp(-D_i² / 2 width²),  D_i² = Σ_j (δ_ij / spread)²  or  [x_ij ≠ x_j] of categories.

    Rows x_i are drawn within the feature space: numbers and orders normally around the row, with
    ``spread`` of their range as deviation, cut off at its ends and put on whole numbers and
    resolutions; a category keeps its label half of the time, else has any.  m is the probability
    of the target label less that of its strongest rival; of models without probabilities its score
    likewise, or ±1; of a range the distance to its nearer end.  All of the feature space is
    perturbed, whatever may be acted upon.

    Args:
        row, target: As for :func:`local_linear`.
        samples: How many rows are drawn, ≥ 2; LIME's 5000 by default.
        spread: Share of a range, > 0.
        width: Of the kernel, > 0; by default 0.75 √J for J features, as LIME has it.
        ridge: > 0.

    Raises:
        InvalidInputError, DataTypeError: bad arguments; a width so small that no row counts.
    """
    check_model(model, "model")
    count = whole_number(samples, "samples", 2)
    scale, penalty = positive_number(spread, "spread"), positive_number(ridge, "ridge")
    space = model.space
    kernel = 0.75 * len(space.names) ** 0.5 if width is None else positive_number(width, "width")
    rng = np.random.default_rng(whole_number(random_state, "random_state", 0))
    point = point_of(space, row)
    wanted = target_of(model, point, target)
    coordinates, margin = Coordinates.of(space), _Margin(model.program, wanted)

    def drawn(number: int) -> tuple[Floats, Floats, Floats]:
        columns, weights = _perturbed(space, point, number, scale, kernel, rng)
        return coordinates.rows(columns), margin(columns), weights

    z, m, w = drawn(count)
    fresh, truth, v = drawn(count)
    if not (w.sum() > 0 and v.sum() > 0):
        raise InvalidInputError(f"width {kernel:g}: no drawn row has any weight; make it larger")
    a, b = _ridge(z, m, w, penalty)
    own = {name: np.array([_code(space[name], value)]) for name, value in point.items()}
    said = coordinates.rows(own) @ a + b
    return Surrogate(
        coordinates, a, b, wanted, *_faithfulness(fresh @ a + b, truth, v),
        agrees_at_row=bool((said >= 0)[0] == (margin(own) >= 0)[0]), samples=count,
    )  # fmt: skip


def _faithfulness(said: Floats, truth: Floats, weights: Floats) -> tuple[float, float, float]:
    """Of a surrogate's margins beside the model's: ``agreement``, ``baseline`` and ``r2``."""
    total, right = weights.sum(), truth >= 0
    agreement, reached = (float(weights @ each / total) for each in ((said >= 0) == right, right))
    varies = float(weights @ (truth - weights @ truth / total) ** 2)
    r2 = 1 - float(weights @ (said - truth) ** 2) / varies if varies else 0.0
    return agreement, max(reached, 1 - reached), r2


def _ridge(z: Floats, m: Floats, w: Floats, penalty: float) -> tuple[Floats, float]:
    """Weighted ridge regression with a free intercept."""
    centre, mean = w @ z / w.sum(), float(w @ m / w.sum())
    moved = z - centre
    gram = (moved * w[:, None]).T @ moved + penalty * np.eye(z.shape[1])
    a: Floats = np.linalg.solve(gram, moved.T @ (w * (m - mean)))
    return a, mean - float(a @ centre)


def _perturbed(
    space: Any, point: Mapping[str, Any], count: int, spread: float, width: float,
    rng: np.random.Generator,
) -> tuple[Columns, Floats]:  # fmt: skip
    """Rows near a point as columns of numbers and codes, and their weights."""
    columns, far = Columns(), np.zeros(count)
    for feature in space:
        own, size = _code(feature, point[feature.name]), float(feature.range)
        if feature.is_symbolic and feature.kind != "ordinal":
            anew = rng.integers(len(feature.labels), size=count)
            drawn = np.where(rng.random(count) < 0.5, own, anew).astype(np.int64)
            far += drawn != own
        else:
            drawn = _on_grid(feature, own + spread * size * rng.normal(size=count))
            if size:
                far += ((drawn - own) / (spread * size)) ** 2
        columns[feature.name] = drawn
    weights = np.exp(-far / (2 * width * width))
    return columns, weights


def _on_grid(feature: Feature, values: Floats) -> Array:
    """Values that the feature can have, near those given."""
    if feature.is_symbolic:  # an order of labels
        return np.clip(np.rint(values), 0, len(feature.labels) - 1).astype(np.int64)
    low, high = map(float, feature.bounds)
    if feature.kind != "real":
        return np.clip(np.rint(values), low, high)
    if feature.resolution:
        step = float(feature.resolution)
        values = np.rint(values / step) * step
    return np.clip(values, low, high)


def _code(feature: Feature, value: Any) -> Any:
    """A value as a number, or a label as its place."""
    if feature.is_symbolic:
        return feature.label_tuple.position(value)
    return float(value)


class _Margin:
    """How far rows reach a target, in doubles: 0 or more where they do."""

    def __init__(self, program: Program, target: Target) -> None:
        self.program, self.target = program, target
        self.run = BatchEvaluator(program)

    def __call__(self, columns: Columns) -> Floats:
        found, target = self.run(columns), self.target
        if target.is_range:
            low = -inf if target.lower is None else float(target.lower)
            high = inf if target.upper is None else float(target.upper)
            value = np.asarray(found["value"], dtype=np.float64)
            return np.minimum(value - low, high - value)
        place = self.program.output_sorts["label"].labels.position(target.label)
        reached = np.asarray(found["label"]) == place
        lead = _lead(found, place)
        # where rounding or a tie decides, the label does
        return np.where(reached, np.maximum(lead, 0.0), np.minimum(lead, -TIE))


TIE = 1e-12
"""Less than any lead that matters, and below 0."""


def _lead(found: Mapping[str, Array], place: int) -> Floats:
    """The target label's probability or score less its strongest rival's; or ±1."""
    name = next((name for name in ("probability", "score") if name in found), None)
    if name is None:
        return np.where(np.asarray(found["label"]) == place, 1.0, -1.0)
    return leads(np.asarray(found[name], dtype=np.float64), place)

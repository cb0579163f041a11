"""The columns that a model reads, and the way back from them to a row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from sklearn.compose import ColumnTransformer

import cfxc

from .portable import Array

Kind = Literal["number", "scaled", "code", "one-hot", "steps"]
Values = dict[str, Any]


@dataclass(frozen=True)
class Part:
    """The columns of one feature.

    Attributes:
        start, stop: Where they are.
        levels: Labels of the columns (one-hot) or codes; of a thermometer all levels.
        mean, scale: Of standardised numbers.
    """

    feature: cfxc.Feature
    kind: Kind
    start: int
    stop: int
    levels: tuple[Any, ...] = ()
    mean: float = 0.0
    scale: float = 1.0

    @property
    def columns(self) -> slice:
        """Of the matrix that the model reads."""
        return slice(self.start, self.stop)

    @property
    def is_number(self) -> bool:
        """Whether it is one column of a number."""
        return self.kind in ("number", "scaled")

    def shares(self, own: Array, others: Array) -> Array:
        """δ_j between the columns of one row and of many, of whatever values."""
        away = np.abs(others - own)
        if self.is_number:
            low, high = self.feature.bounds
            return away[:, 0] * self.scale / (float(high - low) or 1.0)
        if self.feature.kind == "ordinal" and self.kind in ("code", "steps"):
            return away.sum(axis=1) / (len(self.levels) - 1)
        return (away > 0).any(axis=1).astype(np.float64)

    def projected(self, own: Array, values: Array) -> Array:
        """The nearest columns that some plausible value of the feature has.

        Of one-hot columns another category than the own one is taken if any was switched on, or
        the own one off.
        """
        if self.is_number:
            low, high = (float(end) for end in self.feature.bounds)
            raw = np.clip(values * self.scale + self.mean, low, high)
            return (self._on_grid(raw) - self.mean) / self.scale
        if self.kind == "code":
            return np.clip(np.rint(values), 0, len(self.levels) - 1)
        if self.kind == "steps":
            reached = np.rint(np.clip(values, 0, 1)).sum(axis=1)
            return (np.arange(values.shape[1]) < reached[:, None]).astype(np.float64)
        mine = int(own.argmax())
        others = values.copy()
        others[:, mine] = -np.inf
        moved = (others.max(axis=1) > 0.5) | (values[:, mine] <= 0.5)
        return np.eye(values.shape[1])[np.where(moved, others.argmax(axis=1), mine)]

    def _on_grid(self, raw: Array) -> Array:
        if self.feature.kind != "real":
            return np.rint(raw)
        if self.feature.resolution is None:
            return raw
        step = float(self.feature.resolution)
        return np.rint(raw / step) * step

    def value(self, own: Any, changed: bool, values: Array, lenient: bool = False) -> Any:
        """The feature's value where the columns have these values; ``None`` if no value has them.

        ``lenient``: the largest column decides among categories, the number of steps among levels.
        """
        if not changed:
            return own
        if self.is_number:
            return self._number(float(values[0]) * self.scale + self.mean)
        if self.kind == "code":
            code = float(values[0])
            whole = code.is_integer() and 0 <= code < len(self.levels)
            return self.levels[int(code)] if whole else None
        bits = np.rint(values)
        if not lenient and not (np.isin(values, (0, 1)).all() and self._consistent(bits)):
            return None
        return self.levels[int(values.argmax() if self.kind == "one-hot" else bits.sum())]

    def _consistent(self, bits: Array) -> bool:
        if self.kind == "one-hot":
            return bool(bits.sum() == 1)
        return bool((np.diff(bits) <= 0).all())

    def _number(self, raw: float) -> Any:
        if self.kind == "scaled" or self.feature.kind != "real":
            raw = round(raw, 9)  # back from standardised numbers
        if self.feature.kind != "real":
            return int(raw) if raw.is_integer() else None
        step = self.feature.resolution
        exact = Fraction(raw)
        return exact if step is None or (exact / step).denominator == 1 else None


def layout_of(
    parts: Iterable[tuple[str, Kind]], encoder: ColumnTransformer, space: cfxc.FeatureSpace
) -> tuple[Part, ...]:
    """Where the columns of each feature are in what a fitted encoder writes."""
    found, start, seen = [], 0, Counter[Kind]()
    for name, kind in parts:
        feature, at = space[name], seen[kind]
        seen[kind] += 1
        levels, mean, scale, width = tuple(feature.labels), 0.0, 1.0, 1
        if kind == "scaled":
            scaler = encoder.named_transformers_[kind]
            mean, scale = float(scaler.mean_[at]), float(scaler.scale_[at])
        elif kind == "one-hot":
            levels = tuple(encoder.named_transformers_[kind].categories_[at])
            width = len(levels)
        elif kind == "steps":
            if not feature.is_symbolic:
                levels = tuple(range(int(feature.bounds[0]), int(feature.bounds[1]) + 1))
            width = len(levels) - 1
        found.append(Part(feature, kind, start, start + width, levels, mean, scale))
        start += width
    return tuple(found)


def shares(layout: Sequence[Part], own: Array, others: Array) -> Array:
    """δ of many encoded rows from one, (n, J)."""
    return np.column_stack([p.shares(own[p.columns], others[:, p.columns]) for p in layout])


def length(distance: str, deltas: Array) -> Array:
    """l0, l1 or linf of δ, as ``evidence.norm`` has it, in doubles."""
    if distance == "linf":
        return np.asarray(deltas.max(axis=1))
    return np.asarray((deltas if distance == "l1" else deltas > 0).mean(axis=1))


def projected(layout: Sequence[Part], own: Array, values: Array) -> Array:
    """Encoded rows as plausible ones."""
    found = values.copy()
    for part in layout:
        at = part.columns
        moved = (values[:, at] != own[at]).any(axis=1)
        if moved.any():
            found[moved, at] = part.projected(own[at], values[moved, at])
    return found


def decoded(
    layout: Sequence[Part], factual: Values, own: Array, found: Array, lenient: bool = False
) -> Values | str:
    """Feature → value of an encoded row, or the feature that has no such value."""
    values = dict(factual)
    for part in layout:
        at, name = part.columns, part.feature.name
        changed = bool((found[at] != own[at]).any())
        value = part.value(factual[name], changed, found[at], lenient)
        if value is None:
            return f"implausible: {name} has no such value"
        values[name] = value
    return values

"""Feature tweaking (Tolomei et al. 2017), plain and made plausible (Karimi et al. 2020)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from . import encodings
from .encodings import Part
from .portable import Array

Way = Literal["published", "near", "coded"]


@dataclass(frozen=True, eq=False)
class Tweaking:
    """Of every favourable leaf the row that is brought there, and of these the nearest.

    Attributes:
        model: A fitted tree or forest of scikit-learn.
        favourable: The class that is asked for.
        spread: Standard deviations of the columns it was fitted on.
        tolerance: How far behind a threshold a column goes, in these.
        way: As ``published`` every condition of a path sets its column to the threshold ± the
            tolerance, from the root on: the last one on a column stands.  ``near``: all
            conditions on a column hold together, and columns that satisfy them stay.  ``coded``:
            as published, but the first condition stands, and only those trees are asked that
            find favourable the row that is 1 where the person's columns are not 1, else 0.
    """

    model: Any
    layout: Sequence[Part]
    favourable: int
    spread: Array
    tolerance: float
    way: Way = "published"
    offsets: Array | None = None  # of ``coded``: what is added to columns before they are compared

    @cached_property
    def trees(self) -> list[Any]:
        """The trees, each one voting."""
        return list(getattr(self.model, "estimators_", [self.model]))

    @cached_property
    def _position(self) -> int:
        return list(self.model.classes_).index(self.favourable)

    @cached_property
    def paths(self) -> list[tuple[Array, Array, Array]]:
        """Of each tree's favourable leaves: lower and upper ends, last tweaks (nan: none)."""
        return [self._leaves(tree.tree_) for tree in self.trees]

    def _leaves(self, tree: Any) -> tuple[Array, Array, Array]:
        width = len(self.spread)
        start = np.full(width, -np.inf), np.full(width, np.inf), np.full(width, np.nan)
        found = list(self._below(tree, start))
        lows, highs, tweaks = zip(*found, strict=True) if found else ((), (), ())
        return tuple(np.array(each).reshape(-1, width) for each in (lows, highs, tweaks))  # type: ignore[return-value]

    def _below(
        self, tree: Any, start: tuple[Array, Array, Array]
    ) -> Iterator[tuple[Array, Array, Array]]:
        waiting = [(0, start)]
        while waiting:
            node, (low, high, tweak) = waiting.pop()
            j, cut = tree.feature[node], tree.threshold[node]
            if tree.children_left[node] < 0:
                if tree.value[node][0].argmax() == self._position:
                    yield low, high, tweak
                continue
            step = self.tolerance * self.spread[j]
            left, right = (low, high.copy(), tweak.copy()), (low.copy(), high, tweak.copy())
            left[1][j], right[0][j] = min(high[j], cut), max(low[j], cut)
            if self.way != "coded" or np.isnan(tweak[j]):
                left[2][j], right[2][j] = cut - step, cut + step
            waiting += [(tree.children_right[node], right), (tree.children_left[node], left)]

    def candidates(self, own: Array) -> Array:
        """One encoded row for each favourable leaf of the trees that vote against it."""
        found = [np.empty((0, len(own)))]
        for tree, (low, high, tweak) in zip(self.trees, self.paths, strict=True):
            if int(tree.predict(own[None])[0]) == self._vote(tree) or not self._asked(tree, own):
                continue
            if self.way == "near":
                with np.errstate(invalid="ignore"):
                    step = np.minimum(self.tolerance * self.spread, (high - low) / 2)
                found.append(np.where(own <= low, low + step,
                                      np.where(own > high, high - step, own)))  # fmt: skip
            else:
                found.append(np.where(np.isnan(tweak), own, tweak))
        return np.vstack(found)

    def _asked(self, tree: Any, own: Array) -> bool:
        if self.way != "coded":
            return True
        differs = own + (0.0 if self.offsets is None else self.offsets) != 1
        return int(tree.predict(differs[None].astype(np.float64))[0]) == self._vote(tree)

    def _vote(self, tree: Any) -> int:
        """What a tree says for the favourable class: trees of a forest know positions only."""
        return int(tree.classes_[self._position])

    def nearest(self, own: Array, distance: str, plausible: bool) -> Array | None:
        """The nearest candidate that the model finds favourable, made plausible before or not."""
        found = self.candidates(own)
        if plausible:
            found = encodings.projected(self.layout, own, found)
        if not len(found):
            return None
        found = found[self.model.predict(found) == self.favourable]
        if not len(found):
            return None
        away = encodings.length(distance, encodings.shares(self.layout, own, found))
        nearest: Array = found[int(away.argmin())]
        return nearest

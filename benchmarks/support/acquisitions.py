"""Where two acquisitions look next, on two features: Figure 3 of Spooner et al. (2021).

Both see the same evaluated rows.  One expects improvement of ρ∘f by a surrogate of f (EI-CFX), the
other by a surrogate of ρ∘f itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats.qmc import LatinHypercube

import cfxc
from cfxc.methods.bayes.acquisition import log_ei_cfx
from cfxc.methods.bayes.potentials import Potential, width_to
from cfxc.methods.bayes.search import Surrogate

from .income import Income
from .portable import Array
from .rivals import improvement

PAIR = {"capital_gain": (0, 20_000), "hours_per_week": (1, 99)}
"""What moves most of the people asked about to an even chance, and how far it may go; the paper
does not name its two."""
COUNTS = (4, 8, 16)
"""Evaluated rows of the three rows of maps."""
SIDE = 60
EVEN = 0.5
NEAR = 0.05
"""The target set: so far from an even chance."""
WAYS = ("EI-CFX", "EI of ρ∘f")


@dataclass(frozen=True)
class Map:
    """Of one query and some evaluated rows.

    Attributes:
        outputs: Of the model on the grid, (SIDE, SIDE).
        worth: Of each way, the acquisition there.
        rows: Evaluated rows (n, 2).
    """

    outputs: Array
    worth: dict[str, Array]
    rows: Array

    def mass(self, way: str) -> float:
        """The share of the acquisition that lies in the target set."""
        worth = self.worth[way]
        return float(worth[self._is_near].sum() / max(worth.sum(), 1e-300))

    def away(self, way: str) -> float:
        """How far from an even chance the model is where the acquisition is largest."""
        return float(abs(self.outputs.ravel()[self.worth[way].argmax()] - EVEN))

    @property
    def can(self) -> bool:
        """Whether there is a target set at all."""
        return bool(self._is_near.any())

    @property
    def _is_near(self) -> Array:
        return np.abs(self.outputs - EVEN) <= NEAR


def maps(found: Income, query: pd.DataFrame, seed: int) -> list[Map]:
    """One for each of ``COUNTS``; each has the rows of those before, and others."""
    space = cfxc.FeatureSpace([cfxc.Feature(name, "real", *ends) for name, ends in PAIR.items()])
    low, high = np.array(list(PAIR.values()), np.float64).T
    rows = LatinHypercube(2, rng=np.random.default_rng(seed)).random(COUNTS[-1])
    rows = np.random.default_rng(seed).permutation(rows)
    axis = np.linspace(0.0, 1.0, SIDE)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)

    def call(shares: Array) -> Array:
        table = query.iloc[np.zeros(len(shares), dtype=int)].reset_index(drop=True)
        values = low + shares * (high - low)
        table = table.assign(**dict(zip(PAIR, values.T, strict=True)))
        return np.asarray(found.pipeline.predict_proba(table)[:, 1])

    center = float(found.pipeline.predict_proba(query)[0, 1])
    potential, outputs = width_to(center, EVEN), call(grid)
    found_maps = []
    for count in COUNTS:
        worth = _worth(space, low + rows[:count] * (high - low), call(rows[:count]),
                       low + grid * (high - low), potential, center)  # fmt: skip
        shaped = {way: each.reshape(SIDE, SIDE) for way, each in worth.items()}
        found_maps.append(
            Map(outputs.reshape(SIDE, SIDE), shaped, low + rows[:count] * (high - low))
        )
    return found_maps


def _worth(
    space: cfxc.FeatureSpace, rows: Array, y: Array, grid: Array, potential: Potential,
    center: float,
) -> dict[str, Array]:  # fmt: skip
    """Both acquisitions on the grid, each relative to its largest value."""
    values = np.asarray(potential(y, center))
    best = float(values.max())
    of_f, of_both = (Surrogate(space, "rbf") for _ in WAYS)
    of_f.update(rows, y)
    of_both.update(rows, values)
    logs = np.asarray(log_ei_cfx(*of_f.predict(grid), best, potential, center))
    plain = improvement(*of_both.predict(grid), best)
    return {
        WAYS[0]: np.exp(logs - logs.max()), WAYS[1]: plain / max(float(plain.max()), 1e-300),
    }  # fmt: skip


def draw(some: list[Map], path: Path) -> None:
    """Three rows of two maps: darker is larger; the line wraps the target set."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams.update({"svg.hashsalt": "cfxc", "svg.fonttype": "none", "font.size": 9})
    figure = Figure(figsize=(6, 7.5), layout="constrained")
    extent = tuple(np.array(list(PAIR.values())).ravel())
    panels = figure.subplots(len(some), 2, sharex=True, sharey=True)
    for axes, one in zip(panels, some, strict=True):
        for own, way in zip(axes, WAYS, strict=True):
            own.imshow(one.worth[way], origin="lower", extent=extent, cmap="Greys",
                       aspect="auto", vmin=0, vmax=1)  # fmt: skip
            levels = [EVEN - NEAR, EVEN + NEAR]
            own.contour(one.outputs, levels, extent=extent, colors="tab:red", linewidths=1)
            own.plot(*one.rows.T, "o", markersize=3, color="tab:blue")
            own.set_title(f"{way}, {len(one.rows)} rows", fontsize=9)
        axes[0].set_ylabel("hours per week")
    for own in axes:
        own.set_xlabel("capital gain")
    figure.savefig(path, metadata={"Date": None})


__all__ = ["COUNTS", "NEAR", "PAIR", "WAYS", "Map", "draw", "maps"]

"""The laws that trained networks give to people's levels, and samples of them; without torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .kernels import Small, draw_levels
from .levels import Codes, Levels, Mask

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Weights = Mapping[str, Singles]


@dataclass(frozen=True)
class Laws:
    """What G and S say of people.

    Attributes:
        logits: G's (n, K, L), -inf where nobody may go.
        select: S's (n, K); inf without a selector.
        own: Own levels of the free features (n, K).
    """

    logits: Floats
    select: Floats
    own: Codes

    def of(self, people: Codes) -> Laws:
        """Those of some people."""
        return Laws(self.logits[people], self.select[people], self.own[people])

    def tempered(self, temperature: float) -> Floats:
        """q = (1 - π) z + π p (n, K, L), logits divided by a temperature: above 1, more varied."""
        scaled = self.logits / temperature
        raised = np.exp(scaled - scaled.max(axis=2, keepdims=True))
        p = raised / raised.sum(axis=2, keepdims=True)
        share = _sigmoid(self.select / temperature)[..., None]
        own = self.own[..., None] == np.arange(p.shape[2])
        law: Floats = (1 - share) * own + share * p
        return law

    def draw(self, temperature: float, draws: int, rng: np.random.Generator) -> Small:
        """Levels (n, draws, K).

        In each sample π is scaled by a share of its own, uniform in [0, 1]: once sampled, a row
        need not change all that S would, since only what is valid is kept.
        """
        n, k, _ = self.logits.shape
        noise = rng.random((n, draws, k), dtype=np.float32).astype(np.float64)
        found = draw_levels(self.tempered(temperature), noise)
        if np.isfinite(self.select).all():
            share = rng.random((n, draws, 1), dtype=np.float32)
            undone = rng.random(found.shape, dtype=np.float32) > share
            np.copyto(found, self.own[:, None], where=undone, casting="same_kind")
        return found


def laws_of(weights: Weights, levels: Levels, inputs: Singles, reach: Mask, codes: Codes) -> Laws:
    """What networks with these weights say of people, as :class:`.networks.Networks` computes it.

    Args:
        inputs: z and the wanted class (n, D + T).
        reach: Where each may go (n, K, L).
        codes: Own levels (n, J).
    """
    logits = forward(weights, "generator", inputs)[:, levels.places].astype(np.float64)
    logits[~reach] = -np.inf
    own = codes[:, levels.free]
    if any(name.startswith("selector.") for name in weights):
        select = forward(weights, "selector", inputs).astype(np.float64)
    else:
        select = np.full(own.shape, np.inf)
    return Laws(logits, select, own)


def forward(weights: Weights, name: str, inputs: Singles) -> Singles:
    """Linear layers 0, 2, 4, … of a torch Sequential, with ReLU between them."""
    found, layer = inputs, 0
    while f"{name}.{layer}.weight" in weights:
        found = np.maximum(found, 0) if layer else found
        found = found @ weights[f"{name}.{layer}.weight"].T + weights[f"{name}.{layer}.bias"]
        layer += 2
    return found


def _sigmoid(x: Floats) -> Floats:
    small = np.exp(-np.abs(x))
    share: Floats = np.where(x >= 0, 1 / (1 + small), small / (1 + small))
    return share


__all__ = ["Laws", "forward", "laws_of"]

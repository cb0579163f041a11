"""Plans in the manner of DiCE (Mothilal, Sharma & Tan 2020), of many people at once.

Minimised by Adam: the hinge loss max(0, 1 - xᵀθ), half the mean distance from the person, and
minus det K with K = 1/(1 + distances).  Distances are weighted by the inverse median absolute
deviation; entries stay in [0, 1].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from .portable import Array

NEAR, APART = 0.5, 1.0  # weights of proximity and diversity, DiCE's defaults
RATE, STEPS = 0.05, 500


def dice_plans(
    people: Array, model: Any, data: Array, size: int, seed: int, fixed: Sequence[int] = ()
) -> Array:
    """Plans (n, J, d) of people (n, d) whose last entry is a 1.

    Args:
        model: θ of a linear model, or a fitted ``MLPClassifier`` of ReLU units.
        data: Rows from which the weights of distances come.
        fixed: Entries that keep the person's value.
    """
    torch.set_num_threads(1)
    spread = np.median(np.abs(data - np.median(data, axis=0)), axis=0)
    weights = np.where(spread > 0, np.round(1 / np.where(spread > 0, spread, 1), 2), 1.0)
    weights[-1] = 0.0
    rng = np.random.default_rng(seed)
    first = rng.uniform(size=(len(people), size, people.shape[1]))
    x = torch.tensor(first, requires_grad=True)
    home, w, score = torch.tensor(people[:, None]), torch.tensor(weights), _score(model)
    kept = list(fixed)
    adam = torch.optim.Adam([x], lr=RATE)
    eye = torch.eye(size, dtype=torch.float64) * 1e-4  # DiCE's own, against singular kernels
    for _ in range(STEPS):
        with torch.no_grad():
            x.clamp_(0.0, 1.0)
            x[..., -1] = 1.0
            x[..., kept] = home[..., kept]
        adam.zero_grad()
        hinge = torch.clamp(1 - score(x), min=0).mean(-1)
        near = ((x - home).abs() * w).sum(-1).mean(-1) / people.shape[1]
        apart = ((x[:, :, None] - x[:, None]).abs() * w).sum(-1)
        loss = hinge + NEAR * near - APART * torch.linalg.det(1 / (1 + apart) + eye)
        loss.sum().backward()
        adam.step()
    made = np.clip(x.detach().numpy(), 0.0, 1.0)
    made[..., -1] = 1.0
    made[..., kept] = people[:, None, kept]
    return made


def _score(model: Any) -> Callable[[Any], Any]:
    """The score of vectors with a trailing 1: xᵀθ, or the logit of a network."""
    if isinstance(model, np.ndarray):
        theta = torch.tensor(model)
        return lambda x: x @ theta
    layers = [
        (torch.tensor(W), torch.tensor(b))
        for W, b in zip(model.coefs_, model.intercepts_, strict=True)
    ]

    def logit(x: Any) -> Any:
        h = x[..., :-1]
        for i, (W, b) in enumerate(layers):
            h = h @ W + b
            h = torch.relu(h) if i < len(layers) - 1 else h
        return h[..., 0]

    return logit

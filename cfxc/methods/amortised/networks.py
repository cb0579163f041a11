"""The generator G and the selector S of Vo et al. (2023, section 3.2), and samples of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from .levels import Levels

TINY = 1e-20
"""Keeps logarithms of shares and of noise finite."""


@dataclass(frozen=True)
class Batch:
    """Instances in a step: z and the target class (n, D + T), own levels as one-hot and where they
    may go (n, K, L), what each level is to them (n, K, L), and their places in the table.
    """

    inputs: Tensor
    own: Tensor
    reach: Tensor
    values: Tensor
    rows: Tensor
    targets: Tensor

    def __len__(self) -> int:
        return int(self.inputs.shape[0])


class Networks(nn.Module):  # type: ignore[misc]  # torch has no types here
    """p_i(z) and π_i(z) of every free feature i, from z and the target class.

    ``selector=False``: π_i = 1, so that G alone decides (B.4).
    """

    def __init__(self, levels: Levels, classes: int, hidden: Sequence[int], selector: bool):
        super().__init__()
        sizes = [len(levels.features[j]) for j in levels.free.tolist()]
        self.places = torch.from_numpy(levels.places)
        inputs = levels.width + classes
        self.generator = _layers(inputs, hidden, sum(sizes))
        self.selector = _layers(inputs, hidden, len(sizes)) if selector else None

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """log p (n, K, L), -inf where a level is not admissible, and the logits of π (n, K)."""
        logits = self.generator(batch.inputs)[:, self.places]
        log_p = torch.log_softmax(logits.masked_fill(~batch.reach, -torch.inf), dim=-1)
        if self.selector is None:
            return log_p, torch.full(log_p.shape[:2], torch.inf)
        return log_p, self.selector(batch.inputs)


def effective(log_p: Tensor, select: Tensor, own: Tensor) -> Tensor:
    """q = (1 - π) z + π p (n, K, L): the law of a feature's level, whether or not S selects it."""
    share = torch.sigmoid(select)[..., None]
    return (1 - share) * own + share * log_p.exp()


def relaxed(
    log_p: Tensor, select: Tensor, own: Tensor, temperature: float, rng: torch.Generator
) -> Tensor:
    """Samples z̃ (n, K, L) by Gumbel-softmax and binary concrete (section 3.4)."""
    noise = torch.rand(log_p.shape, generator=rng).clamp_min(TINY)
    gumbel = -torch.log((-torch.log(noise)).clamp_min(TINY))
    moved = torch.softmax((log_p + gumbel) / temperature, dim=-1)
    uniform = torch.rand(select.shape, generator=rng).clamp(1e-7, 1 - 1e-7)
    chosen = torch.sigmoid((select + torch.logit(uniform)) / temperature)[..., None]
    return (1 - chosen) * own + chosen * moved


def drawn(q: Tensor, draws: int, rng: torch.Generator) -> Tensor:
    """Levels (n, draws, K) by their law."""
    n, k, size = q.shape
    found = torch.multinomial(q.reshape(n * k, size), draws, replacement=True, generator=rng)
    return found.reshape(n, k, draws).transpose(1, 2)


def _layers(inputs: int, hidden: Sequence[int], outputs: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for units in hidden:
        layers += [nn.Linear(inputs, units), nn.ReLU()]
        inputs = units
    return nn.Sequential(*layers, nn.Linear(inputs, outputs))

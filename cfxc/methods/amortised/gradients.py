"""Three ways in which the loss of samples reaches the networks.

``pathwise``: through relaxed samples and the program as a torch module, as the paper does.
``reinforce``: through the likelihood of hard samples, judged by the batch evaluator, each against
the mean of its row's others (the leave-one-out baseline: it needs no network of its own, and stays
unbiased because a sample does not enter its own baseline).  ``straight-through``: hard samples
forward; backward through a small network that learns the program's answers on these very samples.
"""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor, nn

from ...errors import UnsupportedError
from .material import Material
from .networks import TINY, Batch, Networks, drawn, effective, relaxed
from .settings import Settings
from .verifying import Judge

SURROGATE_UNITS = 64
SURROGATE_RATE = 1e-3  # Adam's default: the surrogate has to keep up with the networks
FLOOR = 1e-300  # of probabilities whose logarithm is differentiated


class Gradient(Protocol):
    """Gives a number whose gradient is that of the expected cross-entropy, as far as it knows."""

    def __call__(self, networks: Networks, batch: Batch, rng: torch.Generator) -> Tensor:
        """The loss of a batch without the price of selection; and what it learns itself."""

    def state(self) -> dict[str, Any]:
        """What it has learned, for checkpoints."""

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from such a state."""


def gradient_of(material: Material, settings: Settings) -> tuple[str, Gradient]:
    """The gradient asked for, with its name; ``auto``: pathwise where the program allows it.

    Raises:
        UnsupportedError: ``pathwise`` for a program with ops that no gradient flows through.
    """
    asked = settings.gradient
    if asked in ("auto", "pathwise"):
        offences = pathwise_offences(material.judge)
        if not offences:
            return "pathwise", Pathwise(material, settings)
        if asked == "pathwise":
            raise UnsupportedError(
                "no gradient flows through this model", offences,
                "train with gradient='reinforce', which takes any model",
            )  # fmt: skip
    if asked == "straight-through":
        return asked, StraightThrough(material, settings)
    return "reinforce", Reinforce(material, settings)


def pathwise_offences(judge: Judge) -> list[str]:
    """Why no gradient flows through what the judge reads; empty if one does."""
    from ...compiler.emit.torch_refusals import refused

    if judge.source == "label":
        return ["label: the model gives neither probabilities nor scores"]
    return [str(each) for each in refused(judge.program)]


class Stateless:
    """A gradient that learns nothing itself."""

    def state(self) -> dict[str, Any]:
        """Nothing."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Nothing to go on from."""


class Pathwise(Stateless):
    """The cross-entropy of relaxed samples, differentiated through the program (eq. 3)."""

    def __init__(self, material: Material, settings: Settings) -> None:
        from ...compiler.emit.torch_module import TorchModule

        self.material, self.temperature = material, settings.temperature
        self.module = TorchModule(material.judge.program)
        self.fixed = {name: torch.tensor(column) for name, column in material.raw.items()}

    def __call__(self, networks: Networks, batch: Batch, rng: torch.Generator) -> Tensor:
        log_p, select = networks(batch)
        z = relaxed(log_p, select, batch.own, self.temperature, rng).double()
        judge = self.material.judge
        output = self.module(self._inputs(z, batch))[judge.source]
        if judge.source == "score":
            logs = torch.log_softmax(_pairs(output / judge.spread), dim=1)
        else:
            logs = torch.log(output.clamp_min(FLOOR))
        return -logs.gather(1, batch.targets[:, None]).mean()

    def _inputs(self, z: Tensor, batch: Batch) -> dict[str, Tensor]:
        levels = self.material.levels
        place = {j: k for k, j in enumerate(levels.free.tolist())}
        found: dict[str, Tensor] = {}
        for j, each in enumerate(levels.features):
            name, k = each.feature.name, place.get(j)
            column = self.fixed[name][batch.rows]
            if each.feature.is_symbolic:
                hot = nn.functional.one_hot(column, len(each)).double()
                found[name] = hot if k is None else z[:, k, : len(each)]
            elif k is None:
                found[name] = column
            else:
                found[name] = (z[:, k] * batch.values[:, k]).sum(dim=1)
        return found


class Reinforce(Stateless):
    """REINFORCE on the log-probability of the target class, with the leave-one-out baseline.

    Whether S selected a feature is summed out: ``q = (1 - π) z + π p`` is the law of its level.
    """

    def __init__(self, material: Material, settings: Settings) -> None:
        self.material, self.draws = material, settings.draws

    def __call__(self, networks: Networks, batch: Batch, rng: torch.Generator) -> Tensor:
        log_p, select = networks(batch)
        q = effective(log_p, select, batch.own)
        chosen = drawn(q.detach(), self.draws, rng)
        rewards = torch.from_numpy(self.material.rewards(batch, chosen.numpy()))
        others = (rewards.sum(dim=1, keepdim=True) - rewards) / (self.draws - 1)
        likely = q.clamp_min(TINY).log().gather(2, chosen.transpose(1, 2)).sum(dim=1)
        return -((rewards - others) * likely).mean()


class StraightThrough:
    """Hard samples forward, and backward the gradient of a surrogate at them.

    The surrogate is a small network over levels, fitted to the program's log-probabilities of the
    samples, step by step; where it is wrong, so is the gradient.
    """

    def __init__(self, material: Material, settings: Settings) -> None:
        self.material, self.temperature = material, settings.temperature
        width = material.levels.width
        self.surrogate = nn.Sequential(
            nn.Linear(width, SURROGATE_UNITS), nn.ReLU(),
            nn.Linear(SURROGATE_UNITS, SURROGATE_UNITS), nn.ReLU(),
            nn.Linear(SURROGATE_UNITS, material.classes),
        )  # fmt: skip
        self.optimiser = torch.optim.Adam(self.surrogate.parameters(), SURROGATE_RATE)

    def __call__(self, networks: Networks, batch: Batch, rng: torch.Generator) -> Tensor:
        log_p, select = networks(batch)
        soft = relaxed(log_p, select, batch.own, self.temperature, rng)
        chosen = soft.argmax(dim=2)
        hard = nn.functional.one_hot(chosen, soft.shape[2]).float()
        self._learn(batch, hard, chosen)
        through = hard + soft - soft.detach()
        logs = torch.log_softmax(self.surrogate(self._flat(batch, through)), dim=1)
        return -logs.gather(1, batch.targets[:, None]).mean()

    def _learn(self, batch: Batch, hard: Tensor, chosen: Tensor) -> None:
        """One step towards what the program says of the samples."""
        said = self.material.log_chances(batch, chosen[:, None].numpy())
        shares = torch.from_numpy(said).float().exp()
        logs = torch.log_softmax(self.surrogate(self._flat(batch, hard)), dim=1)
        self.optimiser.zero_grad()
        (-(shares * logs).sum(dim=1).mean()).backward()
        self.optimiser.step()

    def _flat(self, batch: Batch, z: Tensor) -> Tensor:
        """Samples of the free features within z of all (n, D)."""
        levels = self.material.levels
        parts = list(batch.inputs[:, : levels.width].split([len(f) for f in levels.features], 1))
        for k, j in enumerate(levels.free.tolist()):
            parts[j] = z[:, k, : len(levels.features[j])]
        return torch.cat(parts, dim=1)

    def state(self) -> dict[str, Any]:
        """Of the surrogate and its optimiser."""
        return {"model": self.surrogate.state_dict(), "adam": self.optimiser.state_dict()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from such a state."""
        self.surrogate.load_state_dict(state["model"])
        self.optimiser.load_state_dict(state["adam"])


def _pairs(score: Tensor) -> Tensor:
    """As :func:`.verifying.pairs`, of tensors."""
    return score if score.ndim == 2 else torch.stack([0 * score, score], dim=1)

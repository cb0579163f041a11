"""Training G and S (section 3.3), with early stopping and checkpoints.

A checkpoint is one safetensors file, with numbers and names in its head as JSON.
"""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from ...errors import InvalidInputError, ModelFileError
from ...writing import write_whole
from .gradients import Gradient, gradient_of
from .levels import Codes
from .material import Material
from .networks import Batch, Networks, drawn, effective
from .sampling import Singles
from .settings import Settings

FORMAT = "cfxc generator checkpoint 1"


def write_checkpoint(path: Path, identity: str, found: dict[str, Any]) -> None:
    """Write what training goes on from, whole or not at all.

    Raises:
        InvalidInputError: the file cannot be written.
    """
    tensors: dict[str, Tensor] = {}
    tree = _flatten({**found, "state": asdict(found["state"])}, "", tensors)
    head = {"format": FORMAT, "identity": identity, "tree": json.dumps(tree)}
    write_whole(path, save(tensors, metadata=head))


def read_checkpoint(path: Path, identity: str) -> dict[str, Any]:
    """What :func:`write_checkpoint` wrote.

    Raises:
        ModelFileError: it is no checkpoint, or cannot be read.
        InvalidInputError: it is of another training.
    """
    try:
        with safe_open(path, "pt") as file:
            head = file.metadata() or {}
            names = file.keys()  # it is no mapping: it cannot be iterated itself
            tensors = {name: file.get_tensor(name) for name in names}
    except (OSError, SafetensorError) as error:
        raise ModelFileError(f"{path}: no checkpoint that can be read: {error}") from error
    if head.get("format") != FORMAT:
        raise ModelFileError(f"{path}: not a checkpoint ({FORMAT!r})")
    if head.get("identity") != identity:
        raise InvalidInputError(
            f"{path}: a checkpoint of another model, other rows or settings; name another file, or "
            "delete this one"
        )
    found = _unflatten(json.loads(head["tree"]), tensors)
    assert isinstance(found, dict)
    return found


def _flatten(value: Any, name: str, tensors: dict[str, Tensor]) -> Any:
    """A tree of plain values; tensors are taken out and named by their place."""
    if isinstance(value, Tensor):
        tensors[name] = value.detach().clone().contiguous()
        return {"tensor": name}
    if isinstance(value, dict):
        pairs = [[k, _flatten(v, f"{name}/{k}", tensors)] for k, v in value.items()]
        return {"pairs": pairs}
    if isinstance(value, list | tuple):
        return {"items": [_flatten(v, f"{name}/{i}", tensors) for i, v in enumerate(value)]}
    if value is None or isinstance(value, bool | int | float | str):
        return {"plain": value}
    raise TypeError(f"{name}: a checkpoint holds no {type(value).__name__}")


def _unflatten(tree: Any, tensors: dict[str, torch.Tensor]) -> Any:
    ((kind, value),) = tree.items()
    if kind == "tensor":
        return tensors[value]
    if kind == "pairs":
        return {k: _unflatten(v, tensors) for k, v in value}
    if kind == "items":
        return [_unflatten(each, tensors) for each in value]
    return value


HELD_OUT_DRAWS = 2
"""Samples of each held-out row, the same noise in every epoch."""
MOST_HELD_OUT = 2000
"""Rows that suffice to tell whether the loss still falls."""
BETTER = 1e-3
"""By what share of its size the held-out loss must fall to count as lower."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """Where training stands.

    Attributes:
        number, of: Passes over the rows so far, and at most.
        loss: Of the rows held out (of those trained on, if none are): eq. 3 on hard samples.
        best: The lowest so far.
        seconds: Since training began, or was resumed.
    """

    number: int
    of: int
    loss: float
    best: float
    seconds: float


Watch = Callable[[Epoch], None]


@dataclass
class State:
    """Everything that training goes on from, apart from networks and optimisers."""

    epoch: int = 0
    waited: int = 0
    best: float = float("inf")
    losses: list[float] = field(default_factory=list)
    done: bool = False


@dataclass(frozen=True)
class Trained:
    """What came of training: weights by name, the loss after every epoch, how it was reached."""

    weights: dict[str, Singles]
    losses: tuple[float, ...]
    gradient: str


def train(
    material: Material,
    targets: Codes,
    settings: Settings,
    *,
    checkpoint: Path | None = None,
    identity: str = "",
    progress: Watch | None = None,
) -> Trained:
    """Train on all rows that can have a target.

    Args:
        targets: Positions of the classes that may be targets.
        checkpoint: A file to go on from, if it is there, and to write after every epoch.
        identity: Of all that the outcome depends on; another one's checkpoint is refused.

    Raises:
        UnsupportedError, InvalidInputError, ModelFileError: no such gradient; no row to learn from;
            a checkpoint of something else.
    """
    with torch.random.fork_rng(devices=[]):  # the user's own generator stays where it is
        torch.manual_seed(settings.random_state)  # of the first weights, which nn.Linear draws
        networks = Networks(material.levels, material.classes, settings.hidden, settings.selector)
        name, gradient = gradient_of(material, settings)
    lesson = Lesson(material, targets, settings, networks, gradient)
    if checkpoint is not None and checkpoint.exists():
        lesson.restore(read_checkpoint(checkpoint, identity))
    lesson.run(checkpoint, identity, progress)
    weights = {key: value.numpy().copy() for key, value in lesson.weights.items()}
    return Trained(weights, tuple(lesson.state.losses), name)


class Lesson:
    """Networks, their optimiser, and the rows they learn from."""

    def __init__(
        self,
        material: Material,
        targets: Codes,
        settings: Settings,
        networks: Networks,
        gradient: Gradient,
    ) -> None:
        self.material, self.settings, self.targets = material, settings, targets
        self.networks, self.gradient = networks, gradient
        self.optimiser = torch.optim.Adam(networks.parameters(), settings.learning_rate)
        self.rng = torch.Generator().manual_seed(settings.random_state)
        self.state = State()
        self.weights = copy.deepcopy(networks.state_dict())
        self.rows, self.held = self._parted()

    def run(self, checkpoint: Path | None, identity: str, progress: Watch | None) -> None:
        """Epochs until the last, or until the held-out loss has not fallen for long enough."""
        started, state = time.monotonic(), self.state
        while not state.done:
            trained_on = self._epoch()
            loss = self._held_out() if self.held.size else trained_on
            self._note(loss)
            if checkpoint is not None:
                write_checkpoint(checkpoint, identity, self.snapshot())
            if progress is not None:
                spent = time.monotonic() - started
                progress(Epoch(state.epoch, self.settings.epochs, loss, state.best, spent))

    def _parted(self) -> tuple[Codes, Codes]:
        """Rows to learn from, and rows held out."""
        others = (self.material.before[:, None] != self.targets[None]).any(axis=1)
        rows = np.flatnonzero(others)
        if not rows.size:
            raise InvalidInputError(
                "every row already has the target class: there is no row to learn from"
            )
        rows = np.random.default_rng(self.settings.random_state).permutation(rows)
        count = min(int(rows.size * self.settings.held_out), MOST_HELD_OUT)
        return rows[count:], rows[:count]

    def _epoch(self) -> float:
        """One pass; the mean loss."""
        order = self.rows[torch.randperm(self.rows.size, generator=self.rng).numpy()]
        targets = self._drawn_targets(order, self.rng)
        total, size = 0.0, self.settings.batch_size
        for start in range(0, order.size, size):
            batch = self.material.batch(order[start : start + size], targets[start : start + size])
            loss = self.gradient(self.networks, batch, self.rng) + self._price(batch)
            self.optimiser.zero_grad()
            loss.backward()
            self.optimiser.step()
            total += float(loss.detach()) * len(batch)
        return total / len(order)

    def _price(self, batch: Batch) -> torch.Tensor:
        """α ‖π‖₁, the mean over a batch."""
        if self.networks.selector is None:
            return torch.zeros(())
        select = self.networks.selector(batch.inputs)
        return self.settings.alpha * torch.sigmoid(select).sum(dim=1).mean()

    def _drawn_targets(self, rows: Codes, rng: torch.Generator) -> Codes:
        """For each row one of the targets that it does not have, all as likely."""
        open_to = torch.from_numpy(self.material.before[rows, None] != self.targets[None])
        picked = torch.multinomial(open_to.float(), 1, generator=rng)[:, 0].numpy()
        targets: Codes = self.targets[picked]
        return targets

    @torch.no_grad()  # type: ignore[untyped-decorator]  # torch has no types here
    def _held_out(self) -> float:
        """Eq. 3 on hard samples of the rows held out, drawn with the same noise every time."""
        rng = torch.Generator().manual_seed(self.settings.random_state + 1)
        targets, total = self._drawn_targets(self.held, rng), 0.0
        for part in self._pieces():
            batch = self.material.batch(self.held[part], targets[part])
            log_p, select = self.networks(batch)
            q = effective(log_p, select, batch.own)
            chosen = drawn(q, HELD_OUT_DRAWS, rng).numpy()
            loss = -float(self.material.rewards(batch, chosen).mean()) + float(self._price(batch))
            total += loss * len(batch)
        return total / len(self.held)

    def _pieces(self) -> Iterator[slice]:
        size = max(self.settings.batch_size, 1024)
        return (slice(start, start + size) for start in range(0, self.held.size, size))

    def _note(self, loss: float) -> None:
        """Keep the weights if they are the best, and see whether to go on."""
        state = self.state
        state.epoch += 1
        state.losses.append(loss)
        if loss < state.best - BETTER * abs(state.best) or state.epoch == 1:
            state.best, state.waited = loss, 0
            self.weights = copy.deepcopy(self.networks.state_dict())
        else:
            state.waited += 1
        out_of_patience = self.held.size > 0 and state.waited >= self.settings.patience
        state.done = state.epoch >= self.settings.epochs or out_of_patience

    def snapshot(self) -> dict[str, Any]:
        """All that :meth:`restore` needs."""
        return {
            "state": self.state,
            "networks": self.networks.state_dict(),
            "best": self.weights,
            "adam": self.optimiser.state_dict(),
            "gradient": self.gradient.state(),
            "rng": self.rng.get_state(),
        }

    def restore(self, found: dict[str, Any]) -> None:
        """Go on as if training had never stopped."""
        self.state = State(**found["state"])
        self.networks.load_state_dict(found["networks"])
        self.weights = found["best"]
        self.optimiser.load_state_dict(found["adam"])
        self.gradient.restore(found["gradient"])
        self.rng.set_state(found["rng"])

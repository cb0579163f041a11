"""The settings of a generator, checked before any work; by default those of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import DataTypeError, InvalidInputError
from ...question.checks import closed_share, number_from_zero, positive_number, whole_number

GRADIENTS = ("auto", "pathwise", "reinforce", "straight-through")
"""How the loss reaches the networks: through the model, or around it."""


@dataclass(frozen=True)
class Settings:
    """How rows are cut into levels and the networks are trained (A.2, A.3 of Vo et al. 2023).

    Attributes:
        buckets: Most levels of a number.
        bucket_rows: Fewest rows in each.
        hidden: Units of the hidden layers, of G and of S.
        temperature: τ > 0 of the relaxed samples.
        alpha: α >= 0, the price of a feature that S selects.
        learning_rate: Of Adam.
        epochs: Passes over the rows, at most.
        batch_size: Rows in a step.
        selector: Whether there is S; without it G alone decides (B.4).
        gradient: One of :data:`GRADIENTS`.
        draws: Samples of each row in a step, of the gradients that go around the model.
        held_out: Share of the rows that only tell when to stop.
        patience: Epochs without a lower loss on them before training stops.
        random_state: Seed of everything that is drawn while training.

    Raises:
        DataTypeError, InvalidInputError: naming the setting and what it may be.
    """

    buckets: int = 4
    bucket_rows: int = 100
    hidden: Sequence[int] = (50, 50)
    temperature: float = 0.2
    alpha: float = 1e-3
    learning_rate: float = 1e-4
    epochs: int = 200
    batch_size: int = 256
    selector: bool = True
    gradient: str = "auto"
    draws: int = 4
    held_out: float = 0.1
    patience: int = 20
    random_state: int = 0

    def __post_init__(self) -> None:
        for name, least in _WHOLE.items():
            self._set(name, whole_number(getattr(self, name), name, least))
        for name in ("temperature", "learning_rate"):
            self._set(name, positive_number(getattr(self, name), name, finite=True))
        self._set("alpha", number_from_zero(self.alpha, "alpha"))
        self._set("hidden", _units(self.hidden))
        self._set("held_out", closed_share(self.held_out, "held_out"))
        if self.held_out == 1:
            raise InvalidInputError("held_out is a share below 1: else no row is left to train on")
        if not isinstance(self.selector, bool):
            raise DataTypeError(f"selector is True or False, not {self.selector!r}")
        if self.gradient not in GRADIENTS:
            raise InvalidInputError(f"unknown gradient {self.gradient!r}: {', '.join(GRADIENTS)}")

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)


_WHOLE = {
    "buckets": 1, "bucket_rows": 1, "epochs": 1, "batch_size": 1, "draws": 2, "patience": 1,
    "random_state": 0,
}  # fmt: skip
"""The least of every whole number."""


def _units(value: Any) -> tuple[int, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        raise DataTypeError(
            f"hidden lists the units of each layer, such as (50, 50), not {value!r}"
        )
    return tuple(whole_number(each, "hidden", 1) for each in value)

"""A label that the model finds likely enough."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from ...errors import InvalidInputError, UnsupportedError
from ...ir import Program
from ...space.values import as_written
from ..target import Target
from .criterion import Criterion


@dataclass(frozen=True)
class Probability(Criterion):
    """The model gives the target label a probability of ``least`` or more.

    The model's own probability, where it gives any, is asked too.

    Args:
        least: 0 < p < 1.

    Raises:
        DataTypeError, InvalidInputError: it is no such number.
    """

    least: Any

    name = "probability"
    flag = "--probability"
    flag_type = float
    metavar = "P"
    help = "That the model must give to the label."

    def __post_init__(self) -> None:
        if not 0 < self._exact < 1:
            raise InvalidInputError(f"probability lies between 0 and 1, and is {self.least}")

    def __str__(self) -> str:
        return f"with probability {float(self._exact):g}"

    @property
    def _exact(self) -> Fraction:
        return as_written(self.least, self.name)

    def stricter(self, program: Program, target: Target) -> Target:
        """Raises ``UnsupportedError`` if the model gives no probabilities."""
        if target.is_range:
            raise InvalidInputError("a probability is of a label; move the range instead")
        if "probability" not in dict(program.outputs):
            raise UnsupportedError("the model gives no probabilities", remedy="ask for a margin")
        return replace(target, chance=self._exact)

    def to_toml(self) -> Any:
        return self.least

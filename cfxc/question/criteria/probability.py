"""A label that the model finds likely enough."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...errors import InvalidInputError, UnsupportedError
from ...ir import Program
from ..target import Target
from .criterion import Least


@dataclass(frozen=True)
class Probability(Least):
    """The model gives the target label a probability of ``least`` or more.

    The model's own probability, where it gives any, is asked too.

    Args:
        least: 0 < p < 1.

    Raises:
        DataTypeError, InvalidInputError: it is no such number.
    """

    name = "probability"
    flag = "--probability"
    metavar = "P"
    help = "That the model must give to the label."

    def __post_init__(self) -> None:
        if not 0 < self.exact < 1:
            raise InvalidInputError(f"probability lies between 0 and 1, and is {self.least}")

    def __str__(self) -> str:
        return f"with probability {float(self.exact):g}"

    def stricter(self, program: Program, target: Target) -> Target:
        """Raises ``UnsupportedError`` if the model gives no probabilities."""
        if target.is_range:
            raise InvalidInputError("a probability is of a label; move the range instead")
        if "probability" not in dict(program.outputs):
            raise UnsupportedError("the model gives no probabilities", remedy="ask for a margin")
        return replace(target, chance=self.exact)

"""A score that is won by more than nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from ...errors import InvalidInputError, UnsupportedError
from ...ir import Program
from ...space.values import as_written
from ..target import Target, target_program
from .criterion import Criterion


@dataclass(frozen=True)
class Margin(Criterion):
    """The score that decides is won by ``least``, over every other label's.

    Of a linear model or network that is its score, of a forest the share of votes, of boosting the
    sum over its trees, of LightGBM's random forests (``boosting_type="rf"``) their mean:
    ``raw_score`` by the number of trees.

    Args:
        least: In units of the score, >= 0.

    Raises:
        DataTypeError, InvalidInputError: it is no such number.
    """

    least: Any

    name = "margin"
    flag = "--margin"
    flag_type = float
    metavar = "M"
    help = "By which the label's score must win."

    def __post_init__(self) -> None:
        if self._exact < 0:
            raise InvalidInputError(f"margin must be at least 0, not {self.least}")

    def __str__(self) -> str:
        return f"won by {float(self._exact):g}"

    @property
    def _exact(self) -> Fraction:
        return as_written(self.least, self.name)

    def stricter(self, program: Program, target: Target) -> Target:
        """Raises ``UnsupportedError`` if the program compares no scores."""
        if not self._exact:
            return target
        if target.is_range:
            raise InvalidInputError("a margin is of a label; move the range instead")
        plain = Target(target.label)
        by = target_program(program, plain, self._exact)
        if by == target_program(program, plain, Fraction(0)):
            raise UnsupportedError("no score is known that decides, so none can be won by a margin")
        return replace(target, margin=self._exact)

    def to_toml(self) -> Any:
        return self.least

"""A score that is won by more than nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from ...errors import InvalidInputError, UnsupportedError
from ...ir import Program
from ..target import Target, target_program
from .criterion import Least


@dataclass(frozen=True)
class Margin(Least):
    """The score that decides is won by ``least``, over every other label's.

    Of a linear model or network that is its score, of a forest the share of votes, of boosting the
    sum over its trees, of LightGBM's random forests (``boosting_type="rf"``) their mean:
    ``raw_score`` by the number of trees.

    Args:
        least: In units of the score, >= 0.

    Raises:
        DataTypeError, InvalidInputError: it is no such number.
    """

    name = "margin"
    flag = "--margin"
    metavar = "M"
    help = "By which the label's score must win."

    def __post_init__(self) -> None:
        if self.exact < 0:
            raise InvalidInputError(f"margin must be at least 0, not {self.least}")

    def __str__(self) -> str:
        return f"won by {float(self.exact):g}"

    def stricter(self, program: Program, target: Target) -> Target:
        """Raises ``UnsupportedError`` if the program compares no scores."""
        if not self.exact:
            return target
        if target.is_range:
            raise InvalidInputError("a margin is of a label; move the range instead")
        plain = Target(target.label)
        by = target_program(program, plain, self.exact)
        if by == target_program(program, plain, Fraction(0)):
            raise UnsupportedError("no score is known that decides, so none can be won by a margin")
        return replace(target, margin=self.exact)

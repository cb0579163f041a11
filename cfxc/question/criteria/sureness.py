"""How sure the model must be of the outcome: by a score, or by a probability."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from sys import float_info
from typing import Any

from ...errors import InvalidInputError, UnsupportedError, brief
from ...ir import Program
from ...space.names import names_arguments
from ...space.values import as_written
from ..target import Target, target_program
from .criterion import Criterion


@dataclass(frozen=True)
class _Least(Criterion):
    """The model is so sure, at the least."""

    least: Any

    flag_type = float

    @property
    def exact(self) -> Fraction:
        """``least`` as it was written."""
        return as_written(self.least, self.name)

    def to_toml(self) -> Any:
        return self.least if isinstance(self.least, str | int | float) else str(self.exact)


@names_arguments
@dataclass(frozen=True)
class Margin(_Least):
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
        if not 0 <= self.exact <= Fraction(float_info.max):
            raise InvalidInputError(
                f"margin must be at least 0, and finite, not {brief(self.least)}"
            )

    def __str__(self) -> str:
        return f"won by {float(self.exact)!r}"

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


@names_arguments
@dataclass(frozen=True)
class Probability(_Least):
    """The model gives the target label a probability of ``least`` or more.

    The model's own probability, where it gives any, is asked too, and decides what somebody has.

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
            raise InvalidInputError(
                f"probability lies strictly between 0 and 1, and is {brief(self.least)}"
            )

    def __str__(self) -> str:
        return f"with probability {float(self.exact)!r}"

    def stricter(self, program: Program, target: Target) -> Target:
        """Raises ``UnsupportedError`` if the model gives no probabilities."""
        if target.is_range:
            raise InvalidInputError("a probability is of a label; move the range instead")
        if "probability" not in dict(program.outputs):
            raise UnsupportedError("the model gives no probabilities", remedy="ask for a margin")
        held = Fraction(float(self.exact))  # the model's own is a double, and may be this one
        return replace(target, chance=min(self.exact, held))

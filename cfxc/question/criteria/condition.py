"""Conditions in the core language: ``age >= factual.age``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import DataTypeError
from ...space.names import names_arguments
from .criterion import Constraint, Criterion, Instance


@names_arguments
@dataclass(frozen=True)
class Condition(Criterion):
    """An expression over ``x`` and ``factual`` that holds; texts in ``subject_to`` become these.

    Where an answer may fill in or lose a number, a condition that reads it holds only where it is
    there.

    Args:
        text: In the core language, such as ``"loan <= 5 * income || phd"``.

    Raises:
        DataTypeError: it is no text.
    """

    text: str

    name = "constraints"
    once = False
    flag = "--constraint"
    metavar = "CONDITION"
    help = "Such as 'age >= factual.age'; may be repeated."

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise DataTypeError(f"a condition is a text, not {self.text!r}")

    def __str__(self) -> str:
        return self.text

    def constraints(self, instance: Instance) -> Sequence[Constraint]:
        program = instance.compile(self.text)
        names = [name for name, _ in program.inputs]
        instance.refuse_missing(f"the condition {self.text!r}", names, gaps=False)
        return [Constraint(self.text, instance.there(program), by=self)]

    def to_toml(self) -> str:
        return self.text

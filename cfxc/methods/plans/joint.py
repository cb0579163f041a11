"""Questions that several models must all answer as wanted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import lru_cache

from ...ir import Builder, Program, ops
from ...question.query import Query
from ...question.target import Target, target_program


@dataclass(frozen=True)
class Decider:
    """A model's word on a target: its program, the target in its terms, and its slack."""

    program: Program
    target: Target
    slack: Fraction = Fraction(0)

    def with_margin(self, margin: Fraction) -> Program:
        """Features → ``in_target``, won by more than ``margin - slack``."""
        return target_program(self.program, self.target, margin - self.slack)


@dataclass(frozen=True)
class Joint(Query):
    """A query whose target is reached only where ``others`` say so too.

    Engines see one target program: a conjunction.  Of sums over trees it is one for box search as
    well, with a requirement for each model.
    """

    others: tuple[Decider, ...] = ()

    def target_with_margin(self, margin: Fraction) -> Program:
        """The target of every model, each won by more than ``margin`` less its slack."""
        own = super().target_with_margin(margin)
        return conjunction((own, *(each.with_margin(margin) for each in self.others)))


def joint(query: Query, others: Iterable[Decider]) -> Joint:
    """The same question, put to other models too."""
    given = {field.name: getattr(query, field.name) for field in fields(Query)}
    return Joint(**given, others=tuple(others))


@lru_cache(maxsize=32)
def conjunction(programs: tuple[Program, ...]) -> Program:
    """Features → ``in_target``: what all programs of the same inputs say."""
    if len(programs) == 1:
        return programs[0]
    builder = Builder(programs[0].name)
    names = {}
    for name, sort in programs[0].inputs:
        names[name] = builder.input(name, sort)
    parts = tuple(builder.inline(each, names)["in_target"] for each in programs)
    return builder.build(in_target=builder.let(ops.And(parts)))


__all__ = ["Decider", "Joint", "conjunction", "joint"]

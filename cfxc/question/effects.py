"""Features that follow from others: mechanisms, and what they are for one factual."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Array, Floats
from ..ir import BatchEvaluator, Builder, Literal, Program, evaluate, ops
from .domain import Domain

CLOSE = Fraction(1, 10**6)  # of its range: how far a number without a grid may be off


@dataclass(frozen=True)
class Mechanism:
    """c_i of one endogenous feature, a program over its parents; ``text`` as rules are shown."""

    name: str
    text: str
    program: Program
    output: str

    @property
    def parents(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.program.inputs)

    @cached_property
    def batch(self) -> BatchEvaluator:
        return BatchEvaluator(self.program)

    def effect(self, values: Mapping[str, Any]) -> Fraction:
        """c_i(p_i), exactly."""
        found = evaluate(self.program, self.program.arguments(values))
        return Fraction(found[self.output])


@dataclass(frozen=True)
class Effect:
    """A mechanism for one instance: ``x_i`` is within ``error`` of ``own + c_i(p_i)``."""

    mechanism: Mechanism
    domain: Domain
    own: Fraction

    @property
    def error(self) -> Fraction:
        """By how much the value may miss the equation's."""
        step, domain = self.domain.step, self.domain
        return CLOSE * domain.feature.range if step is None else step / 2 + domain.rounding

    @cached_property
    def holds(self) -> Program:
        """The equation as a constraint on the features."""
        mechanism, builder = self.mechanism, Builder("causal")
        x = builder.input(mechanism.name, self.domain.sort)
        for name, sort in mechanism.program.inputs:
            builder.input(name, sort)
        arguments = {name: name for name in mechanism.parents}
        effect = builder.inline(mechanism.program, arguments)[mechanism.output]
        off = builder.let(ops.Sub(x, effect))
        low = builder.let(ops.Ge(off, Literal(self.own - self.error)))
        high = builder.let(ops.Le(off, Literal(self.own + self.error)))
        return builder.build(holds=builder.let(ops.And((low, high))))

    def follow(self, columns: Mapping[str, Array]) -> Floats:
        """x_i of rows of columns (n,), in doubles: nearest to the equation's, in range and grid."""
        given = self.mechanism.program.arguments(columns)
        values = self.mechanism.batch(given)[self.mechanism.output] + float(self.own)
        step = self.domain.step
        if step is not None:
            per = float(1 / step)
            values = np.round(values * per) / per
        return np.clip(values, float(self.domain.lower), float(self.domain.upper))


def effects_of(
    mechanisms: Sequence[Mechanism], factual: Mapping[str, Any], domains: Sequence[Domain]
) -> tuple[Effect, ...]:
    """The mechanisms with what one instance's own values leave unexplained."""
    by_name = {domain.name: domain for domain in domains}
    return tuple(
        Effect(each, by_name[each.name], Fraction(factual[each.name]) - each.effect(factual))
        for each in mechanisms
    )

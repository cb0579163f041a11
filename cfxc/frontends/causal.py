"""Structural causal models: features that follow from others, whatever a person changes.

Each endogenous feature keeps its own noise, x_i = x̂_i + c_i(p_i) - c_i(p̂_i), where p_i are its
parents: equation 7 of Maragno, Röber & Birbil (2022), by abduction, action and prediction (Pearl
2013).  Mechanisms c_i are written down, or learned: any regressor that can be compiled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import DataTypeError, InvalidInputError, MissingColumnError
from ..ir import BatchEvaluator, Builder, Literal, Program, evaluate, ops
from .domain import Domain
from .files import load_model
from .inputs import input_sort
from .lang.lower import lower_expression
from .lang.parser import parse_expression
from .space import FeatureSpace
from .space.names import shown, suggestion

Floats = npt.NDArray[np.float64]
CLOSE = Fraction(1, 10**6)  # of its range: how far a number without a grid may be off


class CausalModel:
    """Which features follow from which, and how.

    Args:
        equations: Endogenous feature → the mechanism c_i: its text in the core language, over the
            features it follows from (``"90 * duration"``), or a fitted regressor and the features
            that it takes (``(regressor, ["duration"])``).

    A feature with a grid takes the value on it that is nearest to the equation's (either one
    halfway); one without may be off by 1e-6 of its range.  The person's own values need not obey
    the mechanisms: what they leave unexplained stays as it is.

    Raises:
        DataTypeError, InvalidInputError: no equations, or none of these forms.
    """

    def __init__(self, equations: Mapping[str, str | tuple[Any, Sequence[str]]]) -> None:
        if not isinstance(equations, Mapping) or not equations:
            raise DataTypeError('CausalModel takes {"feature": "equation", …}, one at least')
        for name, mechanism in equations.items():
            learned = isinstance(mechanism, tuple) and len(mechanism) == 2
            if not isinstance(mechanism, str) and not (
                learned and not isinstance(mechanism[1], str) and list(mechanism[1])
            ):
                raise InvalidInputError(
                    f"causal model, {name}: an equation as text, or (regressor, [feature, …])"
                )
        self.equations = dict(equations)

    def __repr__(self) -> str:
        return f"CausalModel({', '.join(map(self._told, self.equations))})"

    def mechanisms(self, space: FeatureSpace) -> tuple[Mechanism, ...]:
        """The mechanisms over the features of a space, causes before effects.

        Raises:
            MissingColumnError: a feature that the space does not have.
            InvalidInputError: a cycle, or an endogenous feature that is no number.
            LanguageError, UnsupportedError: a mechanism that cannot be compiled.
        """
        found = {name: self._mechanism(name, space) for name in self.equations}
        graph = {name: set(each.parents) for name, each in found.items()}
        try:
            order = list(TopologicalSorter(graph).static_order())
        except CycleError as error:
            raise InvalidInputError(
                f"causal model: features follow from themselves: {' → '.join(error.args[1])}"
            ) from None
        return tuple(found[name] for name in order if name in found)

    def _mechanism(self, name: str, space: FeatureSpace) -> Mechanism:
        _require(name, space)
        if space[name].is_symbolic:
            raise InvalidInputError(
                f"causal model: {name} is a category, and only numbers can follow from others"
            )
        mechanism = self.equations[name]
        if isinstance(mechanism, str):
            source = f"causal model, {name}"
            sorts = {feature.name: input_sort(feature) for feature in space}
            program = lower_expression(parse_expression(mechanism, source), sorts, source=source)
            output = "result"
        else:
            regressor, parents = mechanism
            for parent in parents:
                _require(parent, space)
            columns = FeatureSpace(tuple(space[parent] for parent in parents))
            program, _ = load_model(regressor, columns, task="regressor")
            output = "value"
        sort = dict(program.output_sorts).get(output)
        if sort is None or sort.shape or not sort.is_numeric:
            raise InvalidInputError(f"causal model: the mechanism of {name} gives no single number")
        return Mechanism(name, self._told(name), program, output)

    def _told(self, name: str) -> str:
        mechanism = self.equations[name]
        if isinstance(mechanism, str):
            return f"{name} follows {mechanism}"
        return f"{name} follows {type(mechanism[0]).__name__}({', '.join(mechanism[1])})"


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
        found = evaluate(self.program, {name: values[name] for name in self.parents})
        return Fraction(found[self.output])


@dataclass(frozen=True)
class Effect:
    """A mechanism for one person: ``x_i`` is within ``error`` of ``own + c_i(p_i)``."""

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

    def follow(self, columns: Mapping[str, npt.NDArray[Any]]) -> Floats:
        """x_i of rows of columns (n,), in doubles: nearest to the equation's, in range and grid."""
        given = {name: columns[name] for name in self.mechanism.parents}
        values = self.mechanism.batch(given)[self.mechanism.output] + float(self.own)
        step = self.domain.step
        if step is not None:
            per = float(1 / step)
            values = np.round(values * per) / per
        return np.clip(values, float(self.domain.lower), float(self.domain.upper))


def effects_of(
    mechanisms: Sequence[Mechanism], factual: Mapping[str, Any], domains: Sequence[Domain]
) -> tuple[Effect, ...]:
    """The mechanisms with what one person's own values leave unexplained."""
    by_name = {domain.name: domain for domain in domains}
    return tuple(
        Effect(each, by_name[each.name], Fraction(factual[each.name]) - each.effect(factual))
        for each in mechanisms
    )


def _require(name: str, space: FeatureSpace) -> None:
    if name not in space:
        raise MissingColumnError(
            f"causal model: there is no feature {name!r}{suggestion(name, space.names)}; "
            f"there are {shown(list(space.names))}"
        )


__all__ = ["CausalModel", "Effect", "Mechanism", "effects_of"]

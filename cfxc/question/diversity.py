"""Further answers that differ as much as they can: how it is asked for, and as a program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import Any, Literal, TypeVar, get_args

from ..errors import DataTypeError, InvalidInputError, brief
from ..ir import Builder, Operand, Program, ops
from ..ir import Literal as Number
from ..space import FeatureSpace
from ..space.names import meant, names_arguments
from ..space.values import as_written
from .checks import as_double, closed_share, non_negative, positive_number
from .criteria import Constraint
from .distances import Distance, has_extremes, is_extreme, mixed, resolve_distance
from .distances.delta import delta_program
from .domain import Domain, domain_of
from .query import Query

N = TypeVar("N", float, Fraction)
Measure = Literal["l1", "l0", "linf"]
MEASURES: tuple[Measure, ...] = get_args(Measure)
Aggregate = Literal["least", "mean"]
AGGREGATES: tuple[Aggregate, ...] = get_args(Aggregate)

LARGEST = 10**6
"""Times the distance of the nearest one: what is larger is a slip, and beyond what engines hold."""


@names_arguments
@dataclass(frozen=True)
class Diverse:
    """Further answers not much farther than the nearest, as different as they can be.

    With c_1 the nearest, the others are rows with ``d(c) ≤ (1 + within) · d(c_1)`` (up to 1e-12 of
    it).  One after the other, c_k makes ``min_{i<k} D(c_k, c_i)`` as large as it can be there, up
    to a share ``tolerance``.  That least difference is the answer's ``apart``; ``apart_bound`` is
    what no row there exceeds, proved.  No set of as many rows there has a least difference above
    twice the last ``apart_bound`` (Gonzalez 1985).  With ``aggregate="mean"``, ``apart`` is the
    mean of the ``D(c_k, c_i)``, and c_k another row than those before.

    Args:
        within: w ≥ 0.
        measure: D, a norm of the differences δ_j of two rows: ``l1`` their mean, ``l0`` the share
            of features that differ, ``linf`` the largest; with the features' weights.
        tolerance: In [0, 1): a search ends once its answer is this share below the bound.
        effort: How many times the boxes that the nearest answer took a further one may take (at
            least ``effort`` times 500), or by other searches how many times the seconds (at least
            ``effort`` times 1); ``inf``: until the time limit.  Then it is the best of the
            rows that were met, or the nearest other one, and ``apart_bound`` says what is left
            open.
        aggregate: ``least``, or ``mean``, of the differences from the answers before.
    """

    within: float = 0.5
    measure: Measure = "l1"
    tolerance: float = 0.1
    effort: float = 1.0
    aggregate: Aggregate = "least"

    def __post_init__(self) -> None:
        if non_negative(self.within, "within") > LARGEST:
            raise InvalidInputError(f"within is at most {LARGEST}: so far, any row will do")
        for name, known in (("measure", MEASURES), ("aggregate", AGGREGATES)):
            value = getattr(self, name)
            if not isinstance(value, str) or value not in known:
                close = meant(value, known) if isinstance(value, str) else ""
                raise InvalidInputError(
                    f"{name}: {brief(value)} is none of {', '.join(known)}{close}"
                )
        if closed_share(self.tolerance, "tolerance") == 1:
            raise InvalidInputError("tolerance is below 1: all answers are within that of a bound")
        object.__setattr__(self, "effort", positive_number(self.effort, "effort"))
        for name in ("within", "tolerance"):  # as its text is read
            object.__setattr__(self, name, as_double(as_written(getattr(self, name)), name))

    def __str__(self) -> str:
        return ",".join(f"{name}={value}" for name, value in vars(self).items())

    @classmethod
    def read(cls, text: str) -> Diverse:
        """From a text such as ``within=0.5,measure=l0``; parts that are left out are the defaults.

        Raises:
            InvalidInputError: it says something else.
        """
        given: dict[str, Any] = {}
        for part in text.split(","):
            name, equals, value = part.partition("=")
            name = name.strip()
            if not equals or name not in cls.__dataclass_fields__ or name in given:
                raise InvalidInputError(
                    f"diversity: {brief(text)} is not read; write such as within=0.5,measure=l1, "
                    f"each of {', '.join(cls.__dataclass_fields__)} once"
                )
            given[name] = value = value.strip()
            if name not in ("measure", "aggregate"):
                given[name] = inf if value == "inf" else as_double(as_written(value, name), name)
        return cls(**given)


def as_diversity(value: Any, name: str, known: Sequence[str]) -> str | Diverse:
    """An option's value: one of the names, or what answers are to differ in.

    Raises:
        DataTypeError, InvalidInputError: it is none.
    """
    if isinstance(value, Diverse) or (isinstance(value, str) and value in known):
        return value
    if not isinstance(value, str):
        raise DataTypeError(f"{name} is {', '.join(known)} or a cfxc.Diverse, not {brief(value)}")
    if "=" in value:
        return Diverse.read(value)
    if value == "diverse":
        return Diverse()
    raise InvalidInputError(
        f"unknown {name} {brief(value)}: {', '.join(known)}, diverse, or such as within=0.5"
        f"{meant(value, [*known, 'diverse'])}"
    )


def refuse_extremes(distance: Distance, space: FeatureSpace) -> None:
    """Refuse weights, and numbers in a distance, that searches for difference cannot weigh.

    Raises:
        InvalidInputError: one is extreme.
    """
    if has_extremes(distance) or any(is_extreme(feature.weight) for feature in space):
        raise InvalidInputError(
            "diversity: a weight, or a number of the distance, is neither 0 nor from 1e-30 to "
            "1e30 in size; write them in other units"
        )


@dataclass(frozen=True)
class Measured:
    """How much a row differs from some points: the least D, or the mean of all.

    Attributes:
        distance: D, between two rows.
    """

    space: FeatureSpace
    measure: Measure
    points: Sequence[Mapping[str, Any]]
    aggregate: Aggregate = "least"

    @cached_property
    def distance(self) -> Distance:
        return resolve_distance(self.measure, self.space)

    @cached_property
    def sides(self) -> list[list[Domain]]:
        """Per point the features as seen from there."""
        return [[domain_of(f, point[f.name]) for f in self.space] for point in self.points]

    def of(self, row: Mapping[str, Any]) -> Fraction:
        """That of a row, exactly."""
        norms = self.distance.norms
        assert norms is not None
        return self.over(
            mixed(norms, [(d.feature.weight, d.delta(row[d.name])) for d in side])
            for side in self.sides
        )

    def over(self, differences: Iterable[N]) -> N:
        """The least of some differences, or their mean."""
        found = list(differences)
        if self.aggregate == "least":
            return min(found)
        total: N = sum(found[1:], found[0])
        return total / len(found)

    def least(self, value: Fraction) -> Program:
        """Features → ``holds``: whether it is at least a value."""
        builder = Builder("diverse")
        differences = self._aggregated(builder, "")
        tests = [builder.let(ops.Ge(each, Number(value))) for each in differences]
        return builder.build(holds=builder.let(ops.And(tuple(tests))))

    def alike(self) -> Program:
        """``x.``features → ``result``: 1 less that."""
        builder = Builder("alike")
        differences = self._aggregated(builder, "x.")
        least = differences[0]
        for each in differences[1:]:
            least = builder.let(ops.Minimum(least, each))
        return builder.build(result=builder.let(ops.Sub(Number(Fraction(1)), least)))

    def _aggregated(self, builder: Builder, prefix: str) -> list[Operand]:
        """Differences of which the least counts."""
        found = self._differences(builder, prefix)
        if self.aggregate == "least":
            return found
        total, share = found[0], Number(Fraction(1, len(found)))
        for each in found[1:]:
            total = builder.let(ops.Add(total, each))
        return [builder.let(ops.Mul(share, total))]

    def _differences(self, builder: Builder, prefix: str) -> list[Operand]:
        program, inputs = self.distance.program, dict[str, Operand]()
        found = list[Operand]()
        for point in self.points:
            deltas = delta_program(self.space, point)
            for name, sort in deltas.inputs:
                if name not in inputs:
                    inputs[name] = builder.input(f"{prefix}{name}", sort)
            changes = builder.inline(deltas, inputs)
            found.append(builder.inline(program, program.arguments(changes))["result"])
        return found


def parted(query: Query, measured: Measured, limit: Fraction) -> Query:
    """The question for the row within a limit of the distance that differs most from some points.

    Minimised is ``1 - D``, with an absolute accuracy.
    """
    builder = Builder("near")
    changes, program = query.delta, query.distance.program
    own = {name: builder.input(name, sort) for name, sort in changes.inputs}
    scope = builder.inline(changes, own) | {f"x.{name}": each for name, each in own.items()}
    for name, sort in program.inputs:
        if name not in scope:
            scope[name] = builder.input(name, sort)
    total = builder.inline(program, program.arguments(scope))["result"]
    near = builder.build(holds=builder.let(ops.Le(total, Number(limit))))
    alike = measured.alike()
    distance = Distance(alike.name, alike, None, str(alike), is_absolute=True)
    constraints = (*query.constraints, Constraint("within the limit", near))
    return replace(query, distance=distance, constraints=constraints)

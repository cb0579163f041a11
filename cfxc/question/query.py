"""A question about one decision: program, factual, target, distance and constraints.

:func:`make_query` resolves what the user wrote (labels, ranges, distance names, constraint texts)
against the feature space, checks all of it, and returns a :class:`Query` made of IR programs and
exact values only.  Engines consume nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, floor
from typing import Any

import numpy as np

from ..errors import DataTypeError, InvalidInputError, NoChangeNeededError
from ..frontends.predictor import DOUBLE
from ..ir import Builder, Literal, Operand, Program, evaluate, ops
from ..space import FeatureSpace
from ..space.cells import absent_of
from .criteria import Constraint, MaxChanges, criteria_of
from .criteria.criterion import Instance
from .distances import Distance, delta_program, mixed, resolve_distance
from .domain import Domain, domain_of
from .effects import Effect
from .hull import Hull
from .rules import Rules, make_rules
from .target import Target, resolve_target, target_program


@dataclass(frozen=True)
class Query:
    """Everything an engine needs, in exact values and IR programs over the features.

    ``target_program``: features → ``in_target``; ``constraints``: what rows keep to; ``excluded``:
    features → ``holds``, false at one point each; ``delta``: features → ``delta.1 …``;
    ``distance``: see :class:`Distance`; ``slack``: by how much the score that decides may miss, for
    the deployed model's rounding (0: as the exact program has it); ``unit``: the unit roundoff of
    the deployed model's arithmetic; ``effects``: of the causal model, whose equations are among the
    constraints; ``hulls``: of which the point lies in one, if there are any; ``computed``: the
    program as libraries compute it, for bounds of rounding, where ``program`` is a smaller one.
    """

    space: FeatureSpace
    program: Program
    factual: Mapping[str, Any]
    target: Target
    distance: Distance
    domains: tuple[Domain, ...]
    constraints: tuple[Constraint, ...]
    excluded: tuple[Program, ...] = ()
    slack: Fraction = Fraction(0)
    unit: Fraction = DOUBLE
    effects: tuple[Effect, ...] = ()
    hulls: tuple[Hull, ...] = ()
    computed: Program | None = None

    @cached_property
    def rules(self) -> Rules:
        """What a row must keep to, whatever the model says of it."""
        return Rules(self.space, self.factual, self.domains, self.constraints, self.effects)

    @cached_property
    def cap(self) -> tuple[int, frozenset[str]] | None:
        """How many features may leave their factual value, and which are counted."""
        caps = [(each.by.most, each.program) for each in self.constraints
                if isinstance(each.by, MaxChanges)]  # fmt: skip
        if not caps:
            return None
        most, program = min(caps, key=lambda cap: cap[0])
        counted = frozenset(name for name, _ in program.inputs)
        return min(most, len(counted)), counted

    @cached_property
    def delta(self) -> Program:
        """δ_1 … δ_J as a program over the features."""
        return delta_program(self.space, self.factual)

    @cached_property
    def target_program(self) -> Program:
        """Whether the outcome lies in the target."""
        return self.target_with_margin(Fraction(0))

    def target_with_margin(self, margin: Fraction) -> Program:
        """The target, won by more than ``margin - slack`` in the score that decides."""
        return target_program(self.program, self.target, margin - self.slack)

    def in_target(self, values: Mapping[str, Any]) -> bool:
        """Whether a point (feature → exact value) has the target outcome, exactly."""
        return bool(evaluate(self.target_program, values)["in_target"])

    def violated(self, values: Mapping[str, Any]) -> list[str]:
        """What makes a point inadmissible: ranges, actions, constraints; empty if nothing."""
        found = self.rules.violated(values)
        for program in self.excluded:
            if not evaluate(program, program.arguments(values))["holds"]:
                found.append("differs from all that are excluded")
        return found

    def distance_to(self, values: Mapping[str, Any]) -> Fraction:
        """The exact distance of a point from the factual; of l2, its square."""
        norms = self.distance.norms
        if norms is not None:  # what the program says, faster
            return mixed(norms, [(d.feature.weight, d.delta(values[d.name])) for d in self.domains])
        deltas = evaluate(self.delta, values)
        scope = self.rules.scope(values) | deltas
        scope |= {f"x.{name}": value for name, value in values.items()}
        program = self.distance.program
        return Fraction(evaluate(program, program.arguments(scope))["result"])

    @cached_property
    def spacing(self) -> Fraction | None:
        """The spacing of possible distances where it is known: 1/J under l0 with equal weights."""
        norms, weights = self.distance.norms, {domain.feature.weight for domain in self.domains}
        alone = norms is not None and norms.l0 == 1 and len(weights) == 1
        alone = alone and not any(hull.weight for hull in self.hulls)
        return Fraction(1, len(self.domains)) if alone else None

    @property
    def is_finite(self) -> bool:
        """Whether no feature has more admissible values than labels, or steps of a grid."""
        return all(domain.is_symbolic or domain.step for domain in self.domains)

    def without(self, point: Mapping[str, Any], apart: Fraction = Fraction(0)) -> Query:
        """The same question, excluding one point: some feature must differ from it (§4.2).

        A number differs by at least the share ``apart`` of its range.
        """
        builder = Builder("different")
        builder.reserve(domain.name for domain in self.domains)
        tests: list[Operand] = []
        for domain in self.domains:
            if domain.is_fixed:
                continue
            value = point[domain.name]
            x = builder.input(domain.name, domain.sort)
            if domain.is_symbolic:
                tests.append(builder.let(ops.Not(builder.let(ops.IsLabel(x, value)))))
            elif apart and not domain.feature.is_absent(value):
                gap = apart * domain.feature.range
                ends = Fraction(value) - gap, Fraction(value) + gap
                low, high = (floor(ends[0]), ceil(ends[1])) if domain.sort.kind == "int" else ends
                tests.append(builder.let(ops.Le(x, Literal(low))))
                tests.append(builder.let(ops.Ge(x, Literal(high))))
                if domain.first is not None:
                    tests.append(builder.let(ops.Le(x, Literal(absent_of(domain.feature)))))
            else:
                tests.append(builder.let(ops.Ne(x, Literal(domain.feature.typed(value)))))
        differs = builder.let(ops.Or(tuple(tests))) if tests else Literal(False)
        return self.beside(builder.build(holds=differs))

    def beside(self, differs: Program) -> Query:
        """The same question, excluding rows where a program over the features does not hold."""
        return replace(self, excluded=(*self.excluded, differs))

    def keeping(self, names: Iterable[str]) -> Query:
        """The same question, some features fixed; those that follow from others still do."""
        kept = set(names) - {each.mechanism.name for each in self.effects}
        fixed = [
            domain_of(replace(d.feature, action="fixed", condition=""), d.factual)
            if d.name in kept
            else d
            for d in self.domains
        ]
        return replace(self, domains=tuple(fixed))


def needs_no_change(target: Target) -> NoChangeNeededError:
    """What says so of a row that has the target outcome."""
    return NoChangeNeededError(
        f"the row already has the outcome that is asked for ({target}): it needs no change", target
    )


def make_query(
    program: Program,
    space: FeatureSpace,
    factual: Mapping[str, Any],
    *,
    target: Any = None,
    distance: Any = "l1",
    subject_to: Any = (),
    before: Any = None,
    may_hold: bool = False,
) -> Query:
    """Check and resolve a question; raises ``InvalidInputError`` before any search.

    ``target``: a label, or ``(low, high)`` with ``None`` for an open end; by default the other
    label of a binary classifier.  ``subject_to``: criteria and conditions as text; ``before``: what
    the deployed model says of the factual, where rounding may have it differ from the program;
    ``may_hold``: whether the factual may have the target outcome already.
    """
    if "value" in dict(program.outputs) and program.output_sorts["value"].shape:
        raise InvalidInputError(
            "the model predicts several values; targets need exactly one. If they are scores of "
            "classes, compile it with task='classifier'"
        )
    if isinstance(target, np.ndarray) or hasattr(target, "iloc"):
        raise DataTypeError("target is a label, or a range (low, high), not a table or an array")
    outcome = evaluate(program, dict(factual))
    if before is not None:
        outcome = {**outcome, "label" if "label" in outcome else "value": before}
    resolved = resolve_target(program, target, outcome)
    inside = resolved.holds(outcome.get("label", outcome.get("value")))
    criteria = criteria_of(subject_to)
    for criterion in criteria:
        resolved = criterion.stricter(program, resolved)
    if inside and not resolved.is_plain:
        inside = evaluate(target_program(program, resolved, Fraction(0)), dict(factual))[
            "in_target"
        ]
    if inside and not may_hold:
        raise needs_no_change(resolved)
    rules = make_rules(space, factual, criteria)
    metric = resolve_distance(distance, space)
    if metric.norms is None and metric.whitening is None:
        read = [name.removeprefix("x.") for name, _ in metric.program.inputs]
        Instance(space, rules.factual, rules.domains).refuse_missing("the distance", read)
    return Query(
        space, program, rules.factual, resolved, metric, rules.domains, rules.constraints,
        effects=rules.effects,
    )  # fmt: skip

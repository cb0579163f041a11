"""What a row must keep to, whatever the model says of it: ranges, actions, constraints, causes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import InvalidInputError
from ..ir import Let, Literal, evaluate, ops
from ..lang.literals import quote
from ..space import Feature, FeatureSpace
from .criteria.criterion import Constraint, Criterion, Instance
from .domain import Domain, domain_of, is_admissible
from .effects import Effect


@dataclass(frozen=True)
class Rules:
    """The admissible rows of one instance, in exact values and IR programs over the features.

    ``effects``: of causal models, whose equations are among the constraints.
    """

    space: FeatureSpace
    factual: Mapping[str, Any]
    domains: tuple[Domain, ...]
    constraints: tuple[Constraint, ...] = ()
    effects: tuple[Effect, ...] = ()

    def violated(self, values: Mapping[str, Any]) -> list[str]:
        """What makes a point inadmissible: ranges, actions, constraints; empty if nothing."""
        found = [d.name for d in self.domains if not is_admissible(d, values[d.name])]
        scope = self.scope(values)
        for text, program, _ in self.constraints:
            if not evaluate(program, program.arguments(scope))["holds"]:
                found.append(text)
        return found

    def scope(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """A point's values, and the factual's as ``factual.…``."""
        return {**values, **{f"factual.{name}": value for name, value in self.factual.items()}}


def make_rules(
    space: FeatureSpace, factual: Mapping[str, Any], subject_to: Sequence[Criterion] = ()
) -> Rules:
    """What criteria and actions ask of one factual's counterfactuals.

    Raises:
        CfxcError: a criterion that does not compile, ranges that doubles do not tell apart.
    """
    domains = tuple(domain_of(feature, factual[feature.name]) for feature in space)
    for domain in domains:
        if domain.is_too_large:
            raise InvalidInputError(
                f"{domain.name}: values beyond 2^53 are not told apart by models, which compute "
                "with doubles; narrow its range, or make it fixed"
            )
    instance = Instance(space, dict(factual), domains)
    found = [each for criterion in subject_to for each in criterion.constraints(instance)]
    for domain in domains:
        if domain.feature.action == "conditional" and not domain.is_fixed:
            found.append(_conditional(instance, domain))
    effects = [each for criterion in subject_to for each in criterion.effects(instance)]
    return Rules(space, dict(factual), domains, tuple(found), tuple(effects))


def _conditional(instance: Instance, domain: Domain) -> Constraint:
    """The condition of a feature holds, or it keeps its value."""
    feature = domain.feature
    text = conditional_constraint(feature)
    condition = instance.compile(feature.condition)
    names = [name for name, _ in condition.inputs]
    instance.refuse_missing(f"the condition of {feature.name!r}", names, gaps=False)
    may = instance.there(condition)
    if may is condition:
        return Constraint(text, instance.compile(text))
    holds, name = may.output("holds"), feature.name
    inputs = dict(may.inputs) | {name: domain.sort}
    own = Literal(domain.factual)
    kept = ops.IsLabel(name, domain.factual) if domain.is_symbolic else ops.Eq(name, own)
    body = (*may.body, Let("%kept", kept), Let("%or kept", ops.Or((holds, "%kept"))))
    outputs = (("holds", "%or kept"),)
    return Constraint(text, replace(may, inputs=tuple(inputs.items()), body=body, outputs=outputs))


def conditional_constraint(feature: Feature) -> str:
    """The constraint that a conditional action stands for."""
    name = quote(feature.name, "`")
    return f"({feature.condition}\n) || x.{name} == factual.{name}"  # it may end in a comment

"""What a row must keep to, whatever the model says of it: ranges, actions, constraints, causes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..errors import InvalidInputError
from ..ir import Builder, Literal, Operand, Program, evaluate, ops
from .causal import Effect, Mechanism, effects_of
from .domain import Domain, domain_of, is_admissible
from .inputs import input_sort
from .lang import compile_constraint
from .space import Feature, FeatureSpace

#: What the constraint that ``max_changes`` stands for is called.
CAP: Final = re.compile(r"at most (\d+) features? may change")


@dataclass(frozen=True)
class Rules:
    """The admissible rows of one person, in exact values and IR programs over the features.

    ``constraints``: (text, features and ``factual.…`` → ``holds``); ``effects``: the causal model,
    whose equations are among the constraints.
    """

    space: FeatureSpace
    factual: Mapping[str, Any]
    domains: tuple[Domain, ...]
    constraints: tuple[tuple[str, Program], ...] = ()
    effects: tuple[Effect, ...] = ()

    def violated(self, values: Mapping[str, Any]) -> list[str]:
        """What makes a point inadmissible: ranges, actions, constraints; empty if nothing."""
        found = [d.name for d in self.domains if not is_admissible(d, values[d.name])]
        scope = self.scope(values)
        for text, program in self.constraints:
            arguments = {name: scope[name] for name, _ in program.inputs}
            if not evaluate(program, arguments)["holds"]:
                found.append(text)
        return found

    def scope(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """A point's values, and the factual's as ``factual.…``."""
        return {**values, **{f"factual.{name}": value for name, value in self.factual.items()}}


def make_rules(
    space: FeatureSpace,
    factual: Mapping[str, Any],
    constraints: Sequence[str] = (),
    mechanisms: Sequence[Mechanism] = (),
    max_changes: int | None = None,
    models: Iterable[tuple[str, Program]] = (),
) -> Rules:
    """Check and resolve what a person's row must keep to; see :func:`.query.make_query`.

    Raises:
        CfxcError: constraints that do not compile, ranges that doubles do not tell apart.
    """
    sorts = {feature.name: input_sort(feature) for feature in space}
    texts = [*constraints, *(conditional_constraint(f) for f in space if f.action == "conditional")]
    cells = {feature.name: feature.held for feature in space if feature.kind == "real"}
    rising = [feature.name for feature in space if feature.kind == "ordinal" and feature.labels]
    compiled = tuple(
        (text, compile_constraint(text, sorts, f"constraint {i}", ordered=rising, cells=cells))
        for i, text in enumerate(texts, start=1)
    )
    domains = tuple(domain_of(feature, factual[feature.name]) for feature in space)
    for domain in domains:
        if domain.is_too_large:
            raise InvalidInputError(
                f"{domain.name}: values beyond 2^53 are not told apart by models, which compute "
                "with doubles; narrow its range, or make it fixed"
            )
    compiled += tuple(models)
    effects = effects_of(mechanisms, factual, domains)
    compiled += tuple((each.mechanism.text, each.holds) for each in effects)
    if max_changes is not None:
        compiled += (few_changes(domains, max_changes),)
    return Rules(space, dict(factual), domains, compiled, effects)


def few_changes(domains: Sequence[Domain], most: int) -> tuple[str, Program]:
    """The constraint that at most so many features differ from the factual."""
    builder = Builder("changes")
    builder.reserve(domain.name for domain in domains)
    count: Operand = Literal(0)
    for domain in domains:
        x = builder.input(domain.name, domain.sort)
        if domain.is_symbolic:
            same = builder.let(ops.IsLabel(x, domain.factual))
        else:
            same = builder.let(ops.Eq(x, Literal(domain.factual)))
        changed = builder.let(ops.Sub(Literal(1), builder.let(ops.ToReal(same))))
        count = builder.let(ops.Add(count, changed))
    few = builder.let(ops.Le(count, Literal(most)))
    return f"at most {most} feature{'s' * (most > 1)} may change", builder.build(holds=few)


def conditional_constraint(feature: Feature) -> str:
    """The constraint that a conditional action stands for."""
    quoted = "`" + feature.name.replace("\\", "\\\\").replace("`", "\\`") + "`"
    return f"({feature.condition}\n) || x.{quoted} == factual.{quoted}"  # it may end in a comment


__all__ = ["CAP", "Rules", "conditional_constraint", "few_changes", "make_rules"]

"""A question about one decision: program, factual, target, distance and constraints.

:func:`make_query` resolves what the user wrote (labels, ranges, distance names, constraint texts)
against the feature space, checks all of it, and returns a :class:`Query` made of IR programs and
exact values only.  Engines consume nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ..errors import DataTypeError, InvalidInputError
from ..ir import (
    Builder,
    Label,
    Literal,
    Op,
    Operand,
    Program,
    Tensor,
    evaluate,
    ops,
)
from ..ir.patterns import before_scaling
from ..ir.sorts import label_key, preview
from ..ir.unused import keep_outputs
from .causal import Effect, Mechanism, effects_of
from .distances import Distance, Norms, delta_program, resolve_distance
from .domain import Domain, domain_of, is_admissible
from .hull import Hull
from .inputs import input_sort
from .lang import compile_constraint
from .space import Feature, FeatureSpace

Range = tuple[float | Fraction | int | None, float | Fraction | int | None]


@dataclass(frozen=True)
class Target:
    """What the outcome must be: a label of a classifier, or a closed range of a regressor."""

    label: Label = None
    lower: Fraction | None = None
    upper: Fraction | None = None
    is_range: bool = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return label_key(self.label), self.lower, self.upper, self.is_range

    def __str__(self) -> str:
        if not self.is_range:
            return repr(self.label)
        low = "-∞" if self.lower is None else float(self.lower)
        high = "∞" if self.upper is None else float(self.upper)
        return f"[{low}, {high}]"

    @property
    def wanted(self) -> tuple[Any, ...]:
        """The label alone, or both ends of the range (``None``: open)."""
        if not self.is_range:
            return (self.label,)
        return tuple(None if end is None else float(end) for end in (self.lower, self.upper))

    def holds(self, outcome: Any) -> bool:
        """Whether an outcome (label or number) is in the target."""
        if not self.is_range:
            return label_key(outcome) == label_key(self.label)
        value = Fraction(outcome)
        above = self.lower is None or value >= self.lower
        return above and (self.upper is None or value <= self.upper)


@dataclass(frozen=True)
class Query:
    """Everything an engine needs, in exact values and IR programs over the features.

    ``target_program``: features → ``in_target``; ``constraints``: (text, features and ``factual.…``
    → ``holds``); ``excluded``: features → ``holds``, false at one point each; ``delta``: features →
    ``delta.1 …``; ``distance``: see :class:`Distance`; ``slack``: by how much the score that
    decides may miss, for the deployed model's rounding (0: as the exact program has it);
    ``effects``: the causal model, whose equations are among the constraints; ``hulls``: of which
    the point lies in one, if there are any.
    """

    space: FeatureSpace
    program: Program
    factual: Mapping[str, Any]
    target: Target
    distance: Distance
    domains: tuple[Domain, ...]
    constraints: tuple[tuple[str, Program], ...]
    excluded: tuple[Program, ...] = ()
    slack: Fraction = Fraction(0)
    effects: tuple[Effect, ...] = ()
    hulls: tuple[Hull, ...] = ()

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
        """Whether a point (feature → exact value) has the wanted outcome, exactly."""
        return bool(evaluate(self.target_program, values)["in_target"])

    def violated(self, values: Mapping[str, Any]) -> list[str]:
        """What makes a point inadmissible: ranges, actions, constraints; empty if nothing."""
        found = [d.name for d in self.domains if not is_admissible(d, values[d.name])]
        scope = self._scope(values)
        for text, program in self.constraints:
            arguments = {name: scope[name] for name, _ in program.inputs}
            if not evaluate(program, arguments)["holds"]:
                found.append(text)
        for program in self.excluded:
            if not evaluate(program, {name: values[name] for name, _ in program.inputs})["holds"]:
                found.append("differs from all that are excluded")
        return found

    def distance_to(self, values: Mapping[str, Any]) -> Fraction:
        """The exact distance of a point from the factual; of l2, its square."""
        norms = self.distance.norms
        if norms is not None:  # what the program says, faster
            return mixed(norms, [(d.feature.weight, d.delta(values[d.name])) for d in self.domains])
        deltas = evaluate(self.delta, values)
        scope = self._scope(values) | deltas
        scope |= {f"x.{name}": value for name, value in values.items()}
        program = self.distance.program
        arguments = {name: scope[name] for name, _ in program.inputs}
        return Fraction(evaluate(program, arguments)["result"])

    @cached_property
    def spacing(self) -> Fraction | None:
        """The spacing of possible distances where it is known: 1/J under l0 with equal weights."""
        norms, weights = self.distance.norms, {domain.feature.weight for domain in self.domains}
        alone = norms is not None and norms.l0 == 1 and len(weights) == 1
        alone = alone and not any(hull.weight for hull in self.hulls)
        return Fraction(1, len(self.domains)) if alone else None

    def without(self, point: Mapping[str, Any]) -> Query:
        """The same question, excluding one point: some feature must differ from it (§4.2)."""
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
            else:
                exact = int(value) if domain.sort.kind == "int" else Fraction(value)
                tests.append(builder.let(ops.Ne(x, Literal(exact))))
        differs = builder.let(ops.Or(tuple(tests))) if tests else Literal(False)
        return replace(self, excluded=(*self.excluded, builder.build(holds=differs)))

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

    def _scope(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {**values, **{f"factual.{name}": value for name, value in self.factual.items()}}


def mixed(norms: Norms, changes: Sequence[tuple[Fraction, Fraction]]) -> Fraction:
    """The distance of weights and changes δ_j, as the programs of the norms define it."""
    heaviest = max(weight for weight, _ in changes)
    total = sum((weight for weight, _ in changes), Fraction(0))
    added, worst = Fraction(0), Fraction(0)
    for weight, delta in changes:
        if delta:
            added += weight * (norms.l0 + delta * (norms.l1 + norms.l2 * delta))
            worst = max(worst, weight * delta)
    return added / total + norms.linf * worst / heaviest


def make_query(
    program: Program,
    space: FeatureSpace,
    factual: Mapping[str, Any],
    *,
    target: Any = None,
    distance: Any = "l1",
    constraints: Sequence[str] = (),
    mechanisms: Sequence[Mechanism] = (),
    max_changes: int | None = None,
) -> Query:
    """Check and resolve a question; raises ``InvalidInputError`` before any search.

    ``target``: a label, or ``(low, high)`` with ``None`` for an open end; by default the other
    label of a binary classifier.  ``mechanisms``: of a :class:`CausalModel`, over ``space``;
    ``max_changes``: how many features may differ from the factual.
    """
    if "value" in dict(program.outputs) and program.output_sorts["value"].shape:
        raise InvalidInputError("the model predicts several values; targets need exactly one")
    if isinstance(target, np.ndarray) or hasattr(target, "iloc"):
        raise DataTypeError("target is a label, or a range (low, high), not a table or an array")
    outcome = evaluate(program, dict(factual))
    resolved = resolve_target(program, target, outcome)
    if resolved.holds(outcome.get("label", outcome.get("value"))):
        raise InvalidInputError(
            f"the factual is already in the target {resolved} of the exact program: its outcome "
            "needs no change"
        )
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
    effects = effects_of(mechanisms, factual, domains)
    compiled += tuple((each.mechanism.text, each.holds) for each in effects)
    if max_changes is not None:
        compiled += (few_changes(domains, max_changes),)
    metric = resolve_distance(distance, space)
    return Query(
        space, program, dict(factual), resolved, metric, domains, compiled, effects=effects
    )


def few_changes(domains: Sequence[Domain], most: int) -> tuple[str, Program]:
    """The constraint that at most so many features differ from the factual."""
    builder = Builder("changes")
    builder.reserve(domain.name for domain in domains)
    count: Operand = Literal(0)
    for domain in domains:
        if domain.is_fixed:
            continue
        x = builder.input(domain.name, domain.sort)
        if domain.is_symbolic:
            same = builder.let(ops.IsLabel(x, domain.factual))
        else:
            same = builder.let(ops.Eq(x, Literal(domain.factual)))
        changed = builder.let(ops.Select(same, Literal(0), Literal(1)))
        count = builder.let(ops.Add(count, changed))
    few = builder.let(ops.Le(count, Literal(most)))
    return f"at most {most} feature{'s' * (most > 1)} may change", builder.build(holds=few)


def conditional_constraint(feature: Feature) -> str:
    """The constraint that a conditional action stands for."""
    quoted = "`" + feature.name.replace("\\", "\\\\").replace("`", "\\`") + "`"
    return f"({feature.condition}\n) || x.{quoted} == factual.{quoted}"  # it may end in a comment


OUTCOMES = 20
"""Labels that a message lists."""


def resolve_target(program: Program, target: Any, outcome: Mapping[str, Any]) -> Target:
    """The target a user named, checked against the program's outcome."""
    if "label" not in dict(program.outputs):
        return _range_target(target)
    labels = program.output_sorts["label"].labels
    if target is None:
        others = [label for label in labels if label_key(label) != label_key(outcome["label"])]
        if not others:
            raise InvalidInputError(
                f"the model has only one outcome, {preview(labels)[1:-1]}: nothing can change it"
            )
        if len(others) > 1:
            raise InvalidInputError(
                f"the model has {len(labels)} outcomes; name one as target: "
                f"{preview(labels, OUTCOMES)}"
            )
        return Target(others[0])
    if isinstance(target, np.generic):
        target = target.item()
    if labels.has(target):
        return Target(target)
    same = [label for label in labels if label == target]
    if len(same) == 1 and not isinstance(target, tuple | list):
        return Target(same[0])
    raise InvalidInputError(
        f"target {target!r} is no outcome of the model: {preview(labels, OUTCOMES)}"
    )


def _range_target(target: Any) -> Target:
    if not isinstance(target, tuple | list) or len(target) != 2:
        raise InvalidInputError(
            "a regression target is a range (low, high); None leaves an end open"
        )
    ends: list[Fraction | None] = []
    for end in target:
        try:
            ends.append(None if end is None else Fraction(end))
        except (ValueError, OverflowError, TypeError):
            raise InvalidInputError(f"target range: {end!r} is not a finite number") from None
    low, high = ends
    if low is None and high is None:
        raise InvalidInputError("the target range is open at both ends: every outcome is in it")
    if low is not None and high is not None and low > high:
        raise InvalidInputError(f"target range: {target[0]} exceeds {target[1]}")
    return Target(lower=low, upper=high, is_range=True)


@lru_cache(maxsize=32)
def target_program(program: Program, target: Target, margin: Fraction) -> Program:
    """Features → ``in_target``; with a margin, on the score behind the label where it is known.

    Cached: people refused by one model share it.
    """
    builder = Builder(program.name)
    for name, sort in program.inputs:
        builder.input(name, sort)
    builder.reserve(program.sorts)
    builder.extend(program.body)
    definitions = {statement.name: statement.op for statement in program.lets()}
    if target.is_range:
        decided = _in_range(builder, program, target, margin)
    else:
        decided = _decisions(builder, program, definitions, target, margin)
    return keep_outputs(builder.build(in_target=decided), ["in_target"])


def _in_range(builder: Builder, program: Program, target: Target, margin: Fraction) -> Operand:
    value = program.output("value")
    tests: list[Operand] = []
    if target.lower is not None:
        tests.append(builder.let(ops.Ge(value, Literal(target.lower + margin))))
    if target.upper is not None:
        tests.append(builder.let(ops.Le(value, Literal(target.upper - margin))))
    return builder.let(ops.And(tuple(tests)))


def _decisions(
    builder: Builder,
    program: Program,
    definitions: Mapping[str, Op],
    target: Target,
    margin: Fraction,
) -> Operand:
    """``label == target`` as comparisons of scores, looking through argmax and sign tests."""
    label, sorts = program.output("label"), program.sorts
    plain = ops.IsLabel(label, target.label)
    op = definitions.get(label) if isinstance(label, str) else None
    if not isinstance(op, ops.Category) or not isinstance(op.index, str):
        return builder.let(plain)
    position = op.labels.position(target.label)
    decision = definitions.get(op.index)
    if isinstance(decision, ops.Argmax):
        assert isinstance(decision.x, str)  # a vector, so no literal
        x = before_scaling(decision.x, definitions)
        return _wins(builder, x, sorts[x].shape[0], position, margin)
    if isinstance(decision, ops.Select) and isinstance(decision.condition, str):
        chosen = [Literal(0), Literal(1)]
        test = definitions.get(decision.condition)
        if isinstance(test, ops.Gt | ops.Ge) and [decision.y, decision.x] == chosen:
            opposite = ops.Le if isinstance(test, ops.Gt) else ops.Lt
            if position == 0:
                return builder.let(opposite(test.x, _plus(builder, test.y, -margin)))
            return builder.let(type(test)(test.x, _plus(builder, test.y, margin)))
    return builder.let(plain)


def _plus(builder: Builder, operand: Operand, margin: Fraction) -> Operand:
    if isinstance(operand, Literal):
        return Literal(Fraction(operand.value) + margin)
    return builder.let(ops.Add(operand, Literal(margin))) if margin else operand


def _wins(builder: Builder, x: Operand, width: int, position: int, margin: Fraction) -> Operand:
    """Entry ``position`` beats every earlier entry strictly and every later one at least."""
    rivals = [rival for rival in range(width) if rival != position]
    if not rivals:
        return Literal(True)
    weight = np.zeros((len(rivals), width))
    weight[:, position] = 1.0
    weight[np.arange(len(rivals)), rivals] = -1.0
    leads = builder.let(ops.Affine(x, Tensor(weight), Tensor(np.zeros(len(rivals)))))
    tests = []
    for row, rival in enumerate(rivals):
        relation = ops.Gt if rival < position else ops.Ge
        lead = builder.let(ops.Item(leads, row))
        tests.append(builder.let(relation(lead, Literal(margin))))
    return builder.let(ops.And(tuple(tests)))

"""What conditions ask of one person, as parts that a letter has words for.

A part says exactly what its condition does, for this factual; a condition that no parts say as
exactly has none, and a letter counts it instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor, isinf
from typing import Any

import numpy as np

from ..ir import evaluate
from ..ir.linear import ZERO
from ..lang import ast, parse_expression
from ..lang.printer import print_expression
from ..question.criteria import Condition, Constraint, Instance, MaxChanges
from ..question.domain import Domain
from ..question.query import Query
from ..question.rules import conditional_constraint
from ..show.letters.words import Words
from ..space import Feature

LISTED = 8
"""Categories that a letter lists of one feature."""
OWN = {
    "==": "fixed", ">=": "increase", "<=": "decrease", ">": "rises", "<": "falls", "!=": "changes",
}  # fmt: skip
"""Of the factual's own value."""
OTHER = {
    "==": "is", ">=": "at_least", "<=": "at_most", ">": "above", "<": "below", "!=": "is_not",
}  # fmt: skip
"""Of another number."""
INWARD = {"<": "<=", "<=": "<=", ">": ">=", ">=": ">="}
"""Relations with the first number inside that cells hold, where they hold none at the bound."""
Form = tuple[Fraction, Fraction]
TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


@dataclass(frozen=True)
class Part:
    """One thing that is asked: of the feature ``name``, how it compares with ``value``.

    ``relation``: one of :data:`OWN` or :data:`OTHER`; ``one_of``, ``none_of`` (labels), ``there``
    (a number is not missing), ``only_if`` (it changes only where other parts hold), ``at_most_n``
    (of all features), ``known`` (rows like those that are known), ``follows`` (from features,
    though not how).
    """

    relation: str
    name: str = ""
    value: Any = None


def parts_of(query: Query, constraint: Constraint) -> tuple[Part, ...] | None:
    """What a constraint of a query asks, all of it; ``None`` if no parts say exactly that."""
    if isinstance(constraint.by, MaxChanges):
        return (Part("at_most_n", value=constraint.by.most),)
    if isinstance(constraint.by, Condition):
        return _condition(query, constraint.by.text)
    for effect in query.effects:
        name, parents = effect.mechanism.name, effect.mechanism.parents
        if constraint.text == effect.mechanism.text and parents:
            return (Part("follows", name, parents),)
    for domain in query.domains:
        feature = domain.feature
        is_conditional = constraint.by is None and feature.action == "conditional"
        if is_conditional and conditional_constraint(feature) == constraint.text:
            parts = _condition(query, feature.condition)
            return None if parts is None else (Part("only_if", domain.name, parts),)
    return None


def _condition(query: Query, text: str) -> tuple[Part, ...] | None:
    """The parts of a conjunction, and that the numbers it reads are there."""
    instance = Instance(query.space, query.factual, query.domains)
    found, read = list[Part](), set[str]()
    for node in _conjuncts(parse_expression(text)):
        program = instance.compile(print_expression(node))
        names = [name for name, _ in program.inputs if name in query.space]
        read.update(names)
        if len(names) != 1:
            return None
        domain = next(one for one in query.domains if one.name == names[0])
        if domain.is_symbolic:
            own = {f"factual.{name}": value for name, value in query.factual.items()}
            scope = {name: own[name] for name, _ in program.inputs if name in own}
            kept = [
                place
                for place, label in enumerate(domain.labels)
                if evaluate(program, {**scope, domain.name: label})["holds"]
            ]
            part = _labels(domain, kept)
        else:
            part = _comparison(query, domain, node)
        if part is None:
            return None
        found.append(part)
    there = [d.name for d in query.domains if d.name in read and d.first is not None]
    return (*found, *(Part("there", name) for name in there))


def _conjuncts(root: ast.Expr) -> Iterator[ast.Expr]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Binary) and node.operator == "&&":
            waiting += [node.right, node.left]
        else:
            yield node


def _labels(domain: Domain, kept: Sequence[int]) -> Part | None:
    """A category is one of those that are kept, by their places."""
    places, own = list(range(len(domain.labels))), domain.labels.position(domain.factual)
    if kept == [own]:
        return Part("fixed", domain.name)
    if domain.feature.kind == "ordinal" and kept == places[own:]:
        return Part("increase", domain.name)
    if domain.feature.kind == "ordinal" and kept == places[: own + 1]:
        return Part("decrease", domain.name)
    left_out = [place for place in places if place not in kept]
    if left_out == [own]:
        return Part("changes", domain.name)
    relation, chosen = ("one_of", kept) if len(kept) <= len(left_out) else ("none_of", left_out)
    values = tuple(list(domain.labels)[place] for place in chosen)
    return Part(relation, domain.name, values) if 0 < len(values) <= LISTED else None


def _comparison(query: Query, domain: Domain, node: ast.Expr) -> Part | None:
    """A number compared with the factual's own value, or with another number."""
    if not isinstance(node, ast.Binary) or node.operator not in ast.RELATIONS:
        return None
    relation: str = node.operator
    sides = node.left, node.right
    names = [_name(side, query) for side in sides]
    if names[0] != domain.name:
        sides, names, relation = sides[::-1], names[::-1], TURNED[relation]
    if names[0] == domain.name and names[1] == f"factual.{domain.name}":
        return Part(OWN[relation], domain.name)
    if names[0] == domain.name and isinstance(sides[1], ast.Number):
        value = _in_cells(domain.feature, sides[1].value)
        return None if value is None else _bound(domain, relation, value)
    forms = [_form(side, query) for side in sides]
    if forms[0] is None or forms[1] is None:
        return None
    slope, offset = (y - x for x, y in zip(forms[1], forms[0], strict=True))
    if not slope:
        return None
    return _bound(domain, relation if slope > 0 else TURNED[relation], -offset / slope)


def _name(node: ast.Expr, query: Query) -> str:
    """The feature that is read, or ``factual.`` and its name; empty if neither."""
    if not isinstance(node, ast.Name):
        return ""
    written = ".".join(node.parts)
    if written in query.space:
        return written
    root, _, rest = written.partition(".")
    if rest not in query.space or root not in ("x", "factual"):
        return ""
    return rest if root == "x" else written


def _form(node: ast.Expr, query: Query) -> Form | None:
    """An expression over the factual and one number x as ``a x + b``: (a, b), exactly."""
    if isinstance(node, ast.Number):
        return ZERO, node.value
    if name := _name(node, query):
        feature = query.space[name.removeprefix("factual.")]
        if feature.is_symbolic:
            return None
        own = name.startswith("factual.")
        return (ZERO, Fraction(query.factual[feature.name])) if own else (Fraction(1), ZERO)
    if not isinstance(node, ast.Binary):
        return None
    left, right = _form(node.left, query), _form(node.right, query)
    return None if left is None or right is None else _computed(node.operator, left, right)


def _computed(operator: str, left: Form, right: Form) -> Form | None:
    """What two forms give; ``None`` if it is no such form."""
    if operator in ("+", "-"):
        sign = 1 if operator == "+" else -1
        return left[0] + sign * right[0], left[1] + sign * right[1]
    if operator == "*" and not (left[0] and right[0]):
        return left[0] * right[1] + left[1] * right[0], left[1] * right[1]
    if operator == "/" and not right[0] and right[1]:
        return left[0] / right[1], left[1] / right[1]
    return None


def _in_cells(feature: Feature, value: Fraction) -> Fraction | None:
    """The number as a condition reads it beside a column: of floats, what its cells hold."""
    if feature.kind != "real":
        return value
    held = feature.held(value)
    return None if isinf(held) else Fraction(held)


def _bound(domain: Domain, relation: str, value: Fraction) -> Part | None:
    """A relation with a number that cells hold, which says the same of all that they hold."""
    feature = domain.feature
    if feature.kind != "real" and value % 1 and relation in INWARD:
        value = Fraction(floor(value) if relation[0] == "<" else ceil(value))
        relation = INWARD[relation]
    held = feature.held(value)
    if isinf(held) or (feature.kind != "real" and value % 1):
        return None
    if Fraction(held) == value:
        return Part(OTHER[relation], domain.name, value)
    if relation not in INWARD or feature.storage.kind != "f":
        return None
    return _beside(feature, relation[0], value)


def _beside(feature: Feature, side: str, value: Fraction) -> Part | None:
    """A number that no cell holds is between two that cells do: the one with fewer digits."""
    number = feature.storage.type(feature.held(value))
    above = Fraction(float(number)) > value
    other = np.nextafter(number, number.dtype.type(-np.inf if above else np.inf))
    low, high = (other, number) if above else (number, other)
    if not np.isfinite(low) or not np.isfinite(high):
        return None
    within, beyond = (low, high) if side == "<" else (high, low)
    if len(str(within)) <= len(str(beyond)):
        relation, shown = INWARD[side], within
    else:
        relation, shown = side, beyond
    return Part(OTHER[relation], feature.name, Fraction(float(shown)))


GROUPED = ("fixed", "increase", "decrease")
"""Relations that have a sentence for several features at once."""


def grouped(parts: Sequence[Part]) -> Mapping[str, list[str]]:
    """The features of the relations that have one sentence for several, each once."""
    return {
        relation: list(dict.fromkeys(part.name for part in parts if part.relation == relation))
        for relation in GROUPED
    }


def told(parts: Sequence[Part], rest: int, words: Words) -> list[str]:
    """Parts in the words of a letter, and how many conditions there are beside them."""
    found = []
    for relation, names in grouped(parts).items():
        if names:
            place = f"given.{relation}_{'one' if len(names) == 1 else 'many'}"
            found.append(words.text(place, label=words.listed(map(words.label, names))))
    others = (part for part in dict.fromkeys(parts) if part.relation not in GROUPED)
    found += [_told(part, words) for part in others]
    if rest:
        number = words.number(Decimal(rest))
        found.append(words.text("rule.rest_one" if rest == 1 else "rule.rest", number=number))
    return found


def _told(part: Part, words: Words) -> str:
    place, label = f"rule.{part.relation}", words.label(part.name) if part.name else ""
    if part.relation == "known":
        return words.text(place)
    if part.relation == "at_most_n":
        few = f"{place}_one" if part.value == 1 else place
        return words.text(few, number=words.number(Decimal(part.value)))
    if part.relation == "follows":
        causes = words.listed(map(words.label, part.value))
        return words.text(place, label=label, causes=causes)
    if part.relation == "only_if":
        rules = [_told(inner, words) for inner in part.value]
        return words.text(place, label=label, rules=words.listed(rules))
    if part.relation in ("one_of", "none_of"):
        values = [words.value(part.name, value) for value in part.value]
        if len(values) == 1:
            place = "rule.is" if part.relation == "one_of" else "rule.is_not"
            return words.text(place, label=label, value=values[0])
        return words.text(place, label=label, values=words.listed(values, "or"))
    if part.value is None:
        return words.text(place, label=label)
    return words.text(place, label=label, value=words.value(part.name, part.value))

"""What a certificate claims, decided by enumeration: nothing here asks the checker anything."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from tests.certificates.false_questions import CURVES, curve

F = Fraction
TOO_MANY = 4000  # points; beyond, some are left out


def number(text: str) -> F:
    return F(float.fromhex(text)) if "x" in text else F(text)


def label(value: Any) -> tuple[str, Any]:
    if isinstance(value, dict):
        return "float", number(value["float"])
    return type(value).__name__, value


def held(feature: dict[str, Any], value: F) -> F:
    width = feature["float"]
    if width == 0:
        return value
    return F(float(np.float32(float(value)))) if width == 4 else F(float(value))


def values(content: dict[str, Any], j: int) -> list[Any]:
    """Admissible values of a feature: places of labels, or numbers."""
    feature, action = content["features"][j], content["features"][j]["action"]
    own: Any = content["question"]["factual"][j]
    if feature["labels"]:
        labels = [label(each) for each in feature["labels"]]
        here = labels.index(label(own))
        everything = range(len(labels))
        kept = {"fixed": [here], "increase": everything[here:], "decrease": everything[: here + 1]}
        return list(kept.get(action, everything))
    own, low, high = number(own), number(feature["lower"]), number(feature["upper"])
    absent = number(feature["absent"]) if "absent" in feature else None
    if "missing" in feature:
        return [own]
    action = "free" if own == absent else action
    if feature["step"] is None:
        found = {low, high} | {low + (high - low) * F(i, 8) for i in range(9)}
        for cut in cuts(content, j):
            found |= {cut, F(math.nextafter(float(cut), math.inf))}
        found = {held(feature, value) for value in found}
    else:
        step = number(feature["step"])
        first, last = low // step - 1, high // step + 2
        if last - first > TOO_MANY:
            last = first + TOO_MANY
        found = {held(feature, k * step) for k in range(int(first), int(last))}
    low = own if action in ("fixed", "increase") else low
    high = own if action in ("fixed", "decrease") else high
    inside = {x for x in found | {own} if low <= x <= high}
    return sorted(inside if absent is None else inside | {absent})


def cuts(content: dict[str, Any], j: int) -> Iterator[F]:
    for ensemble in content["program"]["trees"]:
        for node in ensemble["nodes"]:
            if type(node[0]) is int and node[0] == j:
                yield number(node[1])


class Meaning:
    """The program of a certificate, evaluated by definition."""

    def __init__(self, content: dict[str, Any]) -> None:
        self.content, self.program = content, content["program"]
        self.slack = number(content["question"]["slack"])

    def form(self, form: list[Any], point: list[Any]) -> F:
        return sum((number(f) * self.source(source, point) for source, f in form), F(0))

    def source(self, source: list[Any], point: list[Any]) -> F:
        kind, k, *rest = source
        if kind == "one":
            return F(1)
        if kind == "x":
            return F(point[k])
        if kind == "is":
            return F(point[k] == rest[0])
        if kind == "tree":
            return self.trees(self.program["trees"][k], rest[0], point)
        if kind == "product":
            return math.prod(self.source(["form", i], point) for i in self.program["made"][k][1:])
        z = self.form(self.program["made"][k][1], point)
        if kind == "form":
            return z
        if kind == "unit":
            return max(z, F(0))
        if kind in CURVES:
            return curve(kind, z)
        return F(z >= 0) if kind == "step" else F(float(np.float32(float(z))))

    def trees(self, ensemble: dict[str, Any], column: int, point: list[Any]) -> F:
        total = F(0)
        for place in ensemble["roots"]:
            node = ensemble["nodes"][place]
            while type(node[0]) is int or node[0] == "form":
                j, test, left, right = node[-4:]
                value = self.source(["form", j], point) if node[0] == "form" else point[j]
                goes_left = value in test if isinstance(test, list) else value <= number(test)
                node = ensemble["nodes"][left if goes_left else right]
            total += number(node[column])
        return total

    def reached(self, point: list[Any]) -> bool:
        target, outputs = self.content["question"]["target"], self.program["outputs"]
        found, slack = [self.form(each, point) for each in outputs], self.slack
        if self.program["labels"] is None:
            low, high = target["lower"], target["upper"]
            above = low is None or found[0] >= number(low) - slack
            return above and (high is None or found[0] <= number(high) + slack)
        own = [label(each) for each in self.program["labels"]].index(label(target["label"]))
        margin, least = number(target.get("margin", "0")), target.get("least")
        lead = found[own] + slack - margin
        leads = all(
            lead > other if rival < own else lead >= other
            for rival, other in enumerate(found)
            if rival != own
        )
        return leads and (least is None or found[own] + slack >= number(least))

    def holds(self, truth: list[Any], point: list[Any]) -> bool:
        kind, *parts = truth
        if kind in ("ge", "gt"):
            z = self.form(parts[0], point)
            return z >= 0 if kind == "ge" else z > 0
        found = [self.holds(part, point) for part in parts]
        return not found[0] if kind == "not" else all(found) if kind == "and" else any(found)

    def delta(self, j: int, value: Any) -> F:
        feature, own = self.content["features"][j], self.content["question"]["factual"][j]
        if feature["labels"]:
            here = [label(each) for each in feature["labels"]].index(label(own))
            if feature["kind"] != "ordinal":
                return F(value != here)
            size = len(feature["labels"]) - 1
            return F(abs(value - here), size) if size else F(0)
        absent = number(feature["absent"]) if "absent" in feature else None
        if (value == absent) != (number(own) == absent):
            return F(1)
        size = number(feature["upper"]) - number(feature["lower"])
        return abs(value - number(own)) / size if size else F(0)

    def distance(self, point: list[Any]) -> F:
        weights = [number(f["weight"]) for f in self.content["features"]]
        norms = {name: number(v) for name, v in self.content["question"]["norms"].items()}
        deltas = [self.delta(j, value) for j, value in enumerate(point)]
        total = F(0)
        for w, d in zip(weights, deltas, strict=True):
            total += w * (norms["l0"] * (d > 0) + norms["l1"] * d + norms["l2"] * d * d)
        top = max(w * d for w, d in zip(weights, deltas, strict=True))
        return total / sum(weights) + norms["linf"] * top / max(weights)


def is_true(content: dict[str, Any]) -> bool:
    """Whether the claim holds of the certificate's own program, features and question."""
    meaning, claim = Meaning(content), content["claim"]
    if (content["semantics"] == "real" and meaning.slack) or meaning.slack < 0:
        return False
    bound = number(claim["lower_bound"])
    power = 2 if number(content["question"]["norms"]["l2"]) == 1 else 1
    choices = [values(content, j) for j in range(len(content["features"]))]
    rules = content["question"]["constraints"]
    if math.prod(map(len, choices)) > TOO_MANY:
        choices = [each[:: max(1, len(each) // 8)] for each in choices]
    for point in product(*choices):
        near = claim["status"] == "infeasible" or meaning.distance(list(point)) < bound
        met = near and all(meaning.holds(rule, list(point)) for rule in rules)
        if met and meaning.reached(list(point)):
            return False
    if claim["status"] == "infeasible":
        return True
    point = []
    for j, value in enumerate(content["witness"]):
        labels = [label(each) for each in content["features"][j]["labels"]]
        point.append(labels.index(label(value)) if labels else number(value))
        if content["features"][j]["step"] is not None and point[j] not in values(content, j):
            return False
    if not meaning.reached(point) or not all(meaning.holds(rule, point) for rule in rules):
        return False
    if meaning.distance(point) != number(claim["distance"]):
        return False
    least = meaning.distance(point) * (1 - number(claim["epsilon"])) ** power
    return claim["status"] != "optimal" or bound >= least


__all__ = ["is_true"]

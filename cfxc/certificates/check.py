"""Check a certificate of cfxc, with nothing but Python's standard library.

    python check.py certificate.json[.gz] [--model MODEL]   (exit code 0: it holds; 1: not)

A certificate says: this change leads to the wanted outcome, and nothing nearer than a bound does.
All is computed again in rational numbers: the witness, and a tree of splits that covers what is
admissible.  A part without children is too far, breaks a constraint, or is closed: with y, μ >= 0,
rows g >= 0 where the outcome is wanted, distance d and radius r, it holds nothing nearer than r if
``max Σ y g(x) + μ (r - d(x)) < 0``, bounded tree by tree, which pay for moving into their leaves.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import math
import re
import runpy
import sys
import time
import zlib
from fractions import Fraction as Q
from functools import lru_cache
from pathlib import Path
from typing import Any

LIMIT, SECONDS = 2**26, 600.0  # bytes of a certificate, unpacked; after which it gives up
ZERO, ONE, ULP = Q(0), Q(1), Q(1, 2**53)  # ULP: what rounding to a double changes, relative
HALF_ULP, LEAST = Q(1, 2**24), Q(1, 2**150)  # of float32: relative, and half of the least number
NUMBER = re.compile(r"-?[0-9]{1,4000}(/[1-9][0-9]{0,3999})?", re.ASCII)
DOUBLE = re.compile(r"-?0x[01]\.[0-9a-f]{1,13}p[+-][0-9]{1,4}", re.ASCII)
ENTRIES = "version made semantics claim model space features program question witness proof hash"
ODD = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
VERSION = "cfxc certificate 1"
NEARER = "The change leads to the wanted outcome; no admissible change nearer than the bound does"
SHOWN = {
    "optimal": f"{NEARER}, and the two differ by at most epsilon.",
    "feasible": f"{NEARER}, but one between the two may.",
    "infeasible": "No admissible change leads to the wanted outcome.",
}
NOT_SHOWN = """Not shown: that the model is any good, that its data were honest, or that the program
(and its slack for rounding) is the model file's; --model runs both on the person and on rows."""


class Rejected(Exception):
    """The certificate does not show what it claims; says why."""


def need(condition: object, why: str) -> None:
    """Reject unless a condition holds."""
    if not condition:
        raise Rejected(why)


def members(value: Any, names: str) -> list[Any]:
    """The members of an object that has exactly these."""
    need(isinstance(value, dict) and set(value) == set(names.split()), f"not exactly: {names}")
    return [value[name] for name in names.split()]


@lru_cache(None)
def number(value: Any, is_double: bool = False) -> Q:
    """A rational as text: 7, -1/3, or a double in hexadecimal digits."""
    need(isinstance(value, str), "a number is not in quotes")
    if DOUBLE.fullmatch(value):
        return Q(float.fromhex(value))
    need(NUMBER.fullmatch(value), f"not a number: {value[:40]!r}")
    need(not is_double or Q(float(Q(value))) == Q(value), "a cut is no double")
    return Q(value)


def whole(value: Any, least: int = -1) -> int:
    """A whole number, at least this."""
    need(type(value) is int and least <= value < 2**53, f"a place is out of range: {value!r}")
    return int(value)


def key(label: Any) -> tuple[str, Any]:
    """A label by type and value: 1 is not true."""
    if isinstance(label, dict):
        return "float", number(*members(label, "float"))
    need(label is None or isinstance(label, str | bool | int), "a label of an unknown type")
    return type(label).__name__, label


def _listed(value: Any) -> Any:
    need(isinstance(value, list), "no list")
    return value


def _distinct(labels: list[Any]) -> list[Any]:
    need(len({key(label) for label in _listed(labels)}) == len(labels), "a label twice")
    return [key(label) for label in labels]


Form = dict[Any, Q]  # factors of sources, see Program
NOTHING, CONSTANT = Form(), ("one", 0)


def plus(form: Form, other: Form, factor: Q = ONE) -> Form:
    """``form + factor * other``."""
    return {s: form.get(s, ZERO) + factor * other.get(s, ZERO) for s in {**form, **other}}


class Program:
    """Forms made on the way, trees, and outputs: one value, or forms whose first largest decides.

    A form is a sum of multiples of ``("one", 0)``; ``("x", j)``, a number; ``("is", j, i)``, 1 for
    label i of feature j; ``("tree", n, c)``, column c of trees n; and, of forms made before,
    ``("unit", k)``, the maximum with 0; ``("step", k)``, 1 from 0 on; ``("single", k)``, a float32.
    """

    def __init__(self, given: Any, features: list[Any]) -> None:
        made, trees, labels, outputs = members(given, "made trees labels outputs")
        self.features, self.kinds, self.made = features, list[str](), list[Form]()
        self.trees: list[tuple[list[int], list[Any]]] = []
        for kind, form in made:
            need(kind in ("unit", "step", "single"), "program: an unknown kind of source")
            self.made.append(self.form(form))
            self.kinds.append(kind)
        for roots, nodes in (members(one, "roots nodes") for one in trees):
            read = [self.node(place, node) for place, node in enumerate(nodes)]
            self.trees.append(([whole(root, 0) for root in roots], read))
        self.labels = None if labels is None else _distinct(labels)
        self.outputs = [self.form(form) for form in outputs]
        need(len(self.outputs) == len(self.labels or [("", 0)]), "program: labels and outputs")

    def form(self, given: Any) -> Form:
        terms: Form = {}
        for source, factor in map(_listed, _listed(given)):
            kind, k, *rest = _listed(source)
            labels: Any = self.features[whole(k, 0)].labels if kind in ("x", "is") else []
            there = {"one": k == 0, "x": not labels, "is": labels, "tree": True}.get(kind)
            there = self.kinds[whole(k, 0)] == kind if there is None else there
            most = len(self.trees[whole(k, 0)][1][-1]) if kind == "tree" else len(labels)
            fits = [whole(i, 0) < most for i in rest] == [True] * (most > 0)
            need(there and fits and tuple(source) not in terms, f"a form reads {source} wrongly")
            terms[tuple(source)] = number(factor)
        return terms

    def node(self, place: int, given: Any) -> Any:
        """The values of a leaf; or a feature, what goes left, and the places of both children."""
        if type(_listed(given)[0]) is not int:
            return [number(value) for value in given]
        j, test, left, right = given
        need(place < min(whole(left), whole(right)), "trees: a child before its parent")
        return whole(j, 0), self.features[j].test(test), left, right

    def at(self, form: Form, point: list[Any], known: dict[Any, Q] | None = None) -> Q:
        """A form at a point: numbers, and places of labels, by feature."""
        known = {} if known is None else known
        for source in set(form) - set(known):
            known[source] = self.source(source, point, known)
        return sum((factor * known[source] for source, factor in form.items()), ZERO)

    def source(self, source: Any, point: list[Any], known: dict[Any, Q]) -> Q:
        kind, k, *rest = source
        if kind in ("one", "x", "is"):
            return ONE if kind == "one" else Q(point[k] if kind == "x" else point[k] == rest[0])
        if kind != "tree":
            return _image(kind, self.at(self.made[k], point, known))
        total, (roots, nodes) = ZERO, self.trees[k]
        for root in roots:
            while isinstance(node := nodes[root], tuple):
                j, test, *both = node
                root = both[point[j] not in test if self.features[j].labels else point[j] > test]
            total += node[rest[0]]
        return Q(total)


def _misses(total: Q, strict: bool) -> bool:
    return total < 0 or (strict and total == 0)


def rounded(x: Q, width: int, how: Any = round) -> Q:
    """The nearest float of 4 or 8 bytes, ties to even; or, by floor and ceil, the one beside."""
    bits, least = (24, -149) if width == 4 else (53, -1074)
    exponent = abs(x).numerator.bit_length() - x.denominator.bit_length()
    quantum = Q(2) ** max(exponent - (Q(2) ** exponent > abs(x)) - bits + 1, least)
    need(abs(result := how(x / quantum) * quantum) < 2 ** (128 if width == 4 else 1024), "overflow")
    return Q(result)


def _image(kind: str, z: Q) -> Q:
    return Q(z >= 0) if kind == "step" else max(z, ZERO) if kind == "unit" else rounded(z, 4)


class Feature:
    """One feature for this person: what it may be, and how far that is."""

    def __init__(self, given: Any, factual: Any) -> None:
        names = "name kind labels lower upper step float weight action"
        self.name, kind, labels, low, high, step, self.width, weight, action = members(given, names)
        self.ordered, self.labels = kind == "ordinal", _distinct(labels)
        self.weight, self.known, self.away = number(weight), dict[Any, Any](), dict[Any, Q]()
        need(self.weight >= 0 and self.width in (0, 4, 8), f"{self.name}: weight or float")
        need(action in ("free", "fixed", "increase", "decrease", "conditional"), "an action")
        if self.labels:
            self.own: Any = self.labels.index(key(factual))
            first = self.own if action in ("fixed", "increase") else 0
            last = self.own + 1 if action in ("fixed", "decrease") else len(self.labels)
            self.all: Any = frozenset(range(first, last))
            self.size = Q(len(self.labels) - 1 if self.ordered else min(1, len(self.labels) - 1))
            return
        self.own, low, high = number(factual), number(low), number(high)
        self.step, self.size = None if step is None else number(step), high - low
        need(low <= high and (self.step is None or self.step > 0), f"{self.name}: range or step")
        held = self.width or (self.step == 1 and max(abs(low), abs(high), abs(self.own)) <= 2**53)
        held = held and (kind == "real" or self.step == 1) and Q(float(self.own)) == self.own
        need(held, f"{self.name}: numbers that are no doubles")
        self.lower = self.own if action in ("fixed", "increase") else low
        self.upper = self.own if action in ("fixed", "decrease") else high
        self.all = (self.near(self.lower, 1), self.near(self.upper, -1))

    def near(self, value: Any, side: int) -> Q | None:
        """The least admissible number at or above a value, or (side -1) the largest at or below."""
        value = max(value, self.lower) if side > 0 else min(value, self.upper)
        if self.step is None:
            found: Any = rounded(value, self.width, math.ceil if side > 0 else math.floor)
        else:
            xs = ((value // self.step + side * i) * self.step for i in range(-1, 1000))
            xs = (rounded(rounded(x, 8), self.width) if self.width else x for x in xs)
            found = next((x for x in xs if (x - value) * side >= 0), None)
        inside = [x for x in (found, self.own) if self.lower <= x <= self.upper]
        beyond = [(x - value) * side for x in inside if (x - value) * side >= 0]
        return value + side * min(beyond) if beyond else None

    def plain(self, value: Any) -> str:
        return repr(self.labels[value][1]) if self.labels else f"{float(value):.12g}"

    def test(self, cut: Any) -> Any:
        """What goes left of a split: some labels, or numbers up to a double."""
        return frozenset(whole(i, 0) for i in _listed(cut)) if self.labels else number(cut, True)

    def delta(self, value: Any) -> Q:
        """How far a value is from the factual's, over the feature's range."""
        if (known := self.away.get(value)) is not None:
            return known
        away = abs(value - self.own) if self.ordered or not self.labels else int(value != self.own)
        return self.away.setdefault(value, away / self.size if self.size else ZERO)

    def nearest(self, part: Any) -> Q | None:
        """The least δ in a part; None if it is empty."""
        if self.labels:
            return min(map(self.delta, part), default=None)
        low, high = part
        return None if None in part or low > high else self.delta(min(max(self.own, low), high))

    def sides(self, part: Any, test: Any) -> Any:
        """What of a part goes left, and what right: some labels, or numbers up to a double."""
        if self.labels:
            return part & test, part - test
        if None in part or part[1] <= test:
            return part, (None, None)
        if part[0] > test:
            return (None, None), part
        if test not in self.known:
            after = Q(math.nextafter(float(test), math.inf))
            self.known[test] = self.near(test, -1), self.near(after, 1)
        before, above = self.known[test]
        return (part[0], before), (above, part[1])


class Question:
    """Person, target, distance and constraints; what they ask of forms."""

    def __init__(self, features: list[Any], program: Any, given: Any) -> None:
        own, target, slack, norms, rules = members(given, "factual target slack norms constraints")
        self.features = [Feature(f, value) for f, value in zip(features, own, strict=True)]
        self.program = Program(program, self.features)
        self.norms = n = [number(factor) for factor in members(norms, "l0 l1 linf l2")]
        need(min(n) >= 0 and sum(n) == 1 and (n[3] in (0, 1) or n[1] == n[2] == 0), "norms")
        self.squared = n[3] == 1
        weights = [feature.weight for feature in self.features]  # not all 0, else this fails
        self.shares = [weight / sum(weights) for weight in weights]
        self.peaks = [weight / max(weights) for weight in weights]
        self.tops = [self.norms[2] * peak for peak in self.peaks]
        self.slack = number(slack)
        self.wanted = [(plus({CONSTANT: self.slack}, g), s) for g, s in self.asked(target)]
        self.truths = [self.truth(members(one, "text holds")[1]) for one in rules]
        self.rows = self.wanted + [row for truth in self.truths for row in rows_of(truth)]

    def point(self, given: list[Any]) -> list[Any]:
        pairs = zip(self.features, given, strict=True)
        return [f.labels.index(key(v)) if f.labels else number(v) for f, v in pairs]

    def asked(self, target: Any) -> list[tuple[Form, bool]]:
        """(form, strict): what must be at least, or above, 0 for the wanted outcome."""
        labels, outputs = self.program.labels, self.program.outputs
        if labels is None:
            pairs = zip(members(target, "lower upper"), (ONE, -ONE), strict=True)
            ends = [(number(end), side) for end, side in pairs if end is not None]
            return [(plus({CONSTANT: -side * end}, outputs[0], side), False) for end, side in ends]
        own = outputs[place := labels.index(key(members(target, "label")[0]))]
        return [(plus(own, o, -ONE), r < place) for r, o in enumerate(outputs) if r != place]

    def lost(self, form: Form) -> tuple[Q, int]:
        """How large the parts of a form may be, and how many are added up on the way."""
        size, most = ZERO, 0
        for (kind, k, *rest), factor in form.items():
            top, terms, best = ONE, 0, dict[int, Q]()
            if kind in ("step", "single"):  # of a number, but for a sign and a constant, no more
                inner = [abs(f) for s, f in self.program.made[k].items() if s != CONSTANT]
                need(inner == [1], "slack: what it decides by is rounded")
            if kind == "x":
                top = max(map(abs, self.features[k].all))
            elif kind in ("unit", "single"):
                top, terms = self.lost(self.program.made[k])
            elif kind == "tree":
                for i, n in reversed(list(enumerate(self.program.trees[k][1]))):
                    best[i] = max(best[n[2]], best[n[3]]) if type(n) is tuple else abs(n[rest[0]])
                tops = [best[root] for root in self.program.trees[k][0]]
                top, terms = sum(tops, ZERO), len(tops)
            size, most = size + abs(factor) * top, max(most, terms)
        return size, most + len(form)

    def truth(self, given: Any) -> Any:
        """``(kind, parts)``: forms that are at least (ge) or above (gt) 0, and what joins them."""
        kind, *parts = given
        need(kind in ("and", "or") or (kind in ("not", "ge", "gt") and len(parts) == 1), "a truth")
        read = self.truth if kind in ("and", "or", "not") else self.program.form
        return kind, [read(part) for part in parts]

    def told(self, truth: Any, span: Any) -> tuple[bool, bool]:
        """Whether something is true all over a part, and whether it is anywhere."""
        kind, of = truth
        if kind in ("ge", "gt"):
            low, high = span(of[0])
            return not _misses(low, kind == "gt"), not _misses(high, kind == "gt")
        found = [self.told(part, span) for part in of]
        if kind == "not":
            return not found[0][1], not found[0][0]
        over = all if kind == "and" else any
        return over(sure for sure, _ in found), over(perhaps for _, perhaps in found)

    def cost(self, j: int, d: Q) -> Q:
        """What a change d of feature j adds to the distance, without linf."""
        l0, l1, linf, l2 = self.norms
        return ZERO if linf == 1 else self.shares[j] * (l0 * (d > 0) + d * (l1 + l2 * d))

    def distance(self, deltas: list[Q]) -> Q:
        """The distance for changes δ_j; of l2, its square."""
        top = self.norms[2] and max(map(Q.__mul__, self.tops, deltas))
        return sum(map(self.cost, range(len(deltas)), deltas), top)

    def reach(self, j: int, radius: Q) -> Q | None:
        """The largest δ_j within a radius, or above it; None if there is no limit."""
        l0, l1, _, l2 = self.norms
        left = radius - l0 * self.shares[j]
        if left < 0:
            return ZERO
        slope = l1 * self.shares[j] + self.tops[j]
        if l2 and self.shares[j]:
            return Q(math.isqrt(math.ceil(left / self.shares[j] / l2 * 2**200)) + 1, 2**100)
        return left / slope if slope else None

    def check(self, point: list[Any]) -> Q:
        """A counterfactual's distance; rejects what is none."""
        for feature, value in zip(self.features, point, strict=True):
            fits = value in feature.all if feature.labels else feature.near(value, 1) == value
            need(fits, f"witness: {feature.name} may not be that")
        told = [self.told(t, lambda f: (self.program.at(f, point),) * 2) for t in self.truths]
        need(all(sure for sure, _ in told), "witness: a constraint")
        reached = (not _misses(self.program.at(form, point), s) for form, s in self.wanted)
        need(all(reached), "witness: it does not have the wanted outcome")
        return self.distance([f.delta(v) for f, v in zip(self.features, point, strict=True)])


def rows_of(truth: Any) -> list[tuple[Form, bool]]:
    """Rows that hold where something is true; those it cannot be put into are left out."""
    kind, parts = truth
    if kind == "and":
        return [row for part in parts for row in rows_of(part)]
    if kind == "not" and parts[0][0] in ("ge", "gt"):
        return [(plus(NOTHING, parts[0][1][0], -ONE), parts[0][0] == "ge")]
    return [(parts[0], kind == "gt")] if kind in ("ge", "gt") else []


class Proof(Question):
    """A question, and a tree of splits that covers all that is admissible, its leaves closed."""

    def __init__(self, features: list[Any], program: Any, question: Any, given: Any) -> None:
        super().__init__(features, program, question)
        radius, lemmas, self.nodes = members(given, "radius lemmas nodes")
        self.radius, self.deadline = number(radius), time.monotonic() + SECONDS
        self.root = [self.clip(j, f.all, self.radius) for j, f in enumerate(self.features)]
        self.bounds: dict[tuple[int, int], Q] = {}
        for k, side, bound, *by in lemmas:
            need(side in (1, -1), "lemma: a side")
            z, spans = self.program.made[whole(k, 0)], self.spans(self.root, {})
            most = self.most(plus({}, z, Q(side)), self.multipliers(*by), self.root, {}, spans)
            need(most <= number(bound), "lemma: the bound is not shown")
            self.bounds[k, side] = min(number(bound), self.bounds.get((k, side), number(bound)))

    def clip(self, j: int, part: Any, radius: Q) -> Any:
        """What of a part of a feature lies within a radius, and perhaps a little more."""
        feature, reach = self.features[j], self.reach(j, radius)
        if reach is None:
            return part
        if feature.labels:
            return frozenset(i for i in part if feature.delta(i) <= reach)
        away = reach * feature.size
        ends = feature.near(feature.own - away, 1), feature.near(feature.own + away, -1)
        how = zip(part, ends, (max, min), strict=True)
        return tuple(old if new is None else pick(old, new) for old, new, pick in how)

    def walk(self) -> dict[str, int]:
        """Walk all nodes from the root; how many parts were closed for which reason."""
        stack: list[Any] = [(0, self.root, {})]
        seen, reasons = set(), dict[str, int]()
        while stack:
            place, parts, signs = stack.pop()
            need(place not in seen, "proof: a node has two parents")
            seen.add(place)
            kind, *node = self.nodes[place]
            if kind in ("cut", "label", "sign"):
                pair = zip(node[-2:], self.halves(kind, node, parts, signs), strict=True)
                stack += [(whole(child, 1), *side) for child, side in pair]
            else:
                need(self.closes(kind, node, parts, signs), f"proof: {kind} closes no node {place}")
                reasons[kind] = reasons.get(kind, 0) + 1
        need(len(seen) == len(self.nodes), "proof: nodes that nothing leads to")
        return reasons

    def halves(self, kind: str, node: Any, parts: list[Any], signs: Any) -> Any:
        """The two sides of a split: parts and signs of units."""
        j = whole(node[0], 0)
        if kind == "sign":
            need(self.program.kinds[j] == "unit", "proof: the sign of no unit")
            return (parts, {**signs, j: -1}), (parts, {**signs, j: 1})
        feature = self.features[j]
        need((kind == "label") == bool(feature.labels), "proof: a split")
        left = [feature.labels.index(key(node[1]))] if feature.labels else node[1]
        sides = feature.sides(parts[j], feature.test(left))
        return [([*parts[:j], side, *parts[j + 1 :]], signs) for side in sides]

    def deltas(self, parts: list[Any]) -> Any:
        need(time.monotonic() < self.deadline, f"it takes more than {SECONDS} s")
        near = [f.nearest(part) for f, part in zip(self.features, parts, strict=True)]
        return None if None in near else near

    def closes(self, kind: str, node: Any, parts: list[Any], signs: Any) -> bool:
        """Whether a part holds nothing nearer than the radius that has the outcome."""
        far = (deltas := self.deltas(parts)) is None or self.distance(deltas) >= self.radius
        if far or kind == "distance":
            return far
        costs = list(map(self.cost, range(len(deltas)), deltas))
        rest = self.radius - sum(costs)
        parts = [self.clip(j, part, rest + costs[j]) for j, part in enumerate(parts)]
        spans = self.spans(parts, signs)
        if kind == "constraint" or spans is None:
            told = (self.told(t, lambda f: self.range(f, parts, spans)) for t in self.truths)
            return spans is None or not all(perhaps for _, perhaps in told)
        need(kind == "bound", "proof: a node of no known kind")
        most = self.most(NOTHING, by := self.multipliers(*node), parts, signs, spans)
        strict = any(name == "row" and self.rows[k][1] and y for (name, k), y in by[1].items())
        return most < 0 or (most == 0 and (by[0] > 0 or strict))

    def spans(self, parts: list[Any], signs: Any) -> list[tuple[Q, Q]] | None:
        """The ranges of the forms that were made; None if a sign cannot be what it should."""
        found: list[tuple[Q, Q]] = []
        for k, form in enumerate(self.program.made):
            low, high = self.range(form, parts, found)
            low = max(low, -self.bounds.get((k, -1), -low), low if signs.get(k, 0) <= 0 else ZERO)
            high = min(high, self.bounds.get((k, 1), high), high if signs.get(k, 0) >= 0 else ZERO)
            if low > high:
                return None
            found.append((rounded(low, 8, math.floor), rounded(high, 8, math.ceil)))
        return found

    def range(self, form: Form, parts: list[Any], spans: Any) -> tuple[Q, Q]:
        """The least and largest value of a form over a part."""
        low, high = ZERO, ZERO
        labels: dict[int, dict[int, Q]] = {}
        for (kind, k, *rest), factor in form.items():
            if kind == "is":
                labels.setdefault(k, {})[rest[0]] = factor
                continue
            need(kind != "tree", "a range of trees")
            made = [] if kind in ("one", "x") else [_image(kind, z) for z in spans[k]]
            both = [factor * z for z in made or ([ONE] if kind == "one" else parts[k])]
            low, high = low + min(both), high + max(both)
        for j, factors in labels.items():
            values = [factors.get(i, ZERO) for i in parts[j]]
            low, high = low + min(values), high + max(values)
        return low, high

    def multipliers(self, budget: Any, rows: Any, shares: Any) -> Any:
        """μ, y by the name of an inequality, and shares of a feature's cost by tree and feature."""
        found = {(name, whole(k, 0)): number(y) for name, k, y in rows}
        parted = {(whole(tree, 0), whole(j, 0)): number(share) for tree, j, share in shares}
        need(len(found) == len(rows) and len(parted) == len(shares), "proof: a multiplier twice")
        need(min([number(budget), *found.values(), *parted.values()]) >= 0, "proof: below 0")
        peaks = sum(y for (name, _), y in found.items() if name == "peak")
        shared = [sum(y for (_, i), y in parted.items() if i == j) for j in {j for _, j in parted}]
        need(max([ZERO, *shared]) <= 1 and peaks <= number(budget) * self.norms[2], "proof: shares")
        return number(budget), found, parted

    def inequality(self, name: str, k: int, signs: Any, spans: Any) -> Form:
        """g, which is at least 0 wherever the outcome is wanted."""
        if name in ("row", "peak"):
            return self.rows[k][0] if name == "row" else NOTHING
        z, (low, high), unit = self.program.made[k], spans[k], {("unit", k): ONE}
        need(self.program.kinds[k] == "unit", "proof: an inequality of no unit")
        if name == "sign":
            return plus(NOTHING, z, Q(signs[k]))
        need(name in ("above", "chord"), "proof: an unknown inequality")
        if name == "above" or not low < 0 < high:  # else the sign is known, and h is z or 0
            return plus(unit, z, -ONE) if name == "above" else NOTHING
        steep = Q(float(high / (high - low)))  # short digits: any slope will do, the line is raised
        return plus(plus({CONSTANT: max(-steep * low, high - steep * high)}, z, steep), unit, -ONE)

    def most(self, form: Form, by: Any, parts: list[Any], signs: Any, spans: Any) -> Q:
        """The largest ``form + Σ y g + μ (r - d)`` over a part, or something above it."""
        budget, rows, value = by[0], by[1], ZERO
        terms = plus(form, {CONSTANT: budget * self.radius})
        for (name, k), y in rows.items():
            terms = plus(terms, self.inequality(name, k, signs, spans), y)
        for k in reversed(range(len(spans))):
            kind, inner = self.program.kinds[k], self.program.made[k]
            factor, (low, high) = terms.pop((kind, k), ZERO), spans[k]
            if kind == "step":
                value += max(factor * _image(kind, z) for z in (low, high))
            elif kind == "single" or (factor and low >= 0):
                terms = plus(terms, inner, factor)
                if kind == "single":
                    value += abs(factor) * (HALF_ULP * max(abs(low), abs(high)) + LEAST)
            elif high > 0:
                value += max(factor * high, ZERO)
        return self.apart(terms, value + terms.get(CONSTANT, ZERO), by, parts, form is NOTHING)

    def apart(self, terms: dict[Any, Q], value: Q, by: Any, parts: list[Any], closing: bool) -> Q:
        """The same over trees and features; leaves with which the only row used fails drop out."""
        budget, rows, shares = by
        used = [k for name, k in rows if name != "peak"]
        drops = closing and len(used) == 1 and rows.get(("row", used[0]), ZERO) > 0
        trees = list(self.trees(terms, by, parts))
        free = [1 - sum(y for (_, i), y in shares.items() if i == j) for j in range(len(parts))]
        pieces = trees + [self.values(j, p, terms, by, free[j]) for j, p in enumerate(parts)]
        tops = [max(worth for worth, _ in piece) for piece in pieces]
        most = value - budget * self.radius + sum(tops)
        for j, (piece, top) in enumerate(zip(pieces, tops, strict=True), -len(trees)):
            kept, least, factor = piece, top - most, terms.get(("x", j), ZERO)
            if drops and factor:
                (low, high), end = parts[j], least / factor
                part = (max(low, end), high) if factor > 0 else (low, min(high, end))
                kept = self.values(j, part, terms, by, free[j])
            elif drops:
                kept = [e for e in piece if not _misses(e[0] - least, self.rows[used[0]][1])]
            if not kept:
                return -ONE
            value += max(worth - paid for worth, paid in kept)
        return value

    def values(self, j: int, part: Any, terms: Any, by: Any, free: Q) -> list[tuple[Q, Q]]:
        """What a feature adds, and what it pays, where their difference may be largest."""
        feature, budget = self.features[j], by[0] * free
        peak = by[1].get(("peak", j), ZERO) * self.peaks[j]
        if feature.labels:
            worth = {i: terms.get(("is", j, i), ZERO) for i in part}
        else:
            (low, high), factor = part, terms.get(("x", j), ZERO)
            places = {low, high, min(max(feature.own, low), high)} if low <= high else set()
            squares = 2 * budget * self.norms[3] * self.shares[j]
            if squares and feature.size and places:  # the vertex of a parabola
                away = factor * feature.size * feature.size / squares
                places.add(min(max(feature.own + away, low), high))
            worth = {x: factor * x for x in places}
        priced = [(own, feature.delta(x)) for x, own in worth.items()]
        return [(own, budget * self.cost(j, delta) + peak * delta) for own, delta in priced]

    def trees(self, terms: dict[Any, Q], by: Any, parts: list[Any]) -> Any:
        """For every tree the value of each leaf in reach, and what it pays."""
        tree, (budget, _, shares) = -1, by
        for n, (roots, nodes) in enumerate(self.program.trees):
            own = [(source[2], f) for source, f in terms.items() if source[:2] == ("tree", n)]
            for root in roots:
                tree += 1
                pays = [(j, share) for (each, j), share in shares.items() if each == tree]
                met = self.leaves(nodes, root, parts)
                met = ((leaf, sum(y * self.cost(j, d[j]) for j, y in pays)) for leaf, d in met)
                yield [(sum(f * leaf[c] for c, f in own), budget * paid) for leaf, paid in met]

    def leaves(self, nodes: list[Any], root: int, parts: list[Any]) -> Any:
        """The leaves that a part meets within the radius, with the least δ of what is left."""
        paid = sum(map(self.cost, range(len(near := self.deltas(parts) or [])), near), ZERO)
        stack = [(root, parts, near, paid, self.distance(near) - paid)]
        while stack:
            place, here, near, paid, top = stack.pop()
            if not isinstance(node := nodes[place], tuple):
                yield node, near
                continue
            j, test, *children = node
            for child, side in zip(children, self.features[j].sides(here[j], test), strict=True):
                if side is here[j]:
                    stack.append((child, here, near, paid, top))
                elif (delta := self.features[j].nearest(side)) is not None:  # at least near[j]
                    cost = paid + self.cost(j, delta) - self.cost(j, near[j])
                    if cost + (peak := max(top, self.tops[j] * delta)) < self.radius:
                        both = [*here[:j], side, *here[j + 1 :]], [*near[:j], delta, *near[j + 1 :]]
                        stack.append((child, *both, cost, peak))


def canonical(certificate: dict[str, Any]) -> bytes:
    """The bytes that are hashed."""
    kept = {name: value for name, value in certificate.items() if name != "hash"}
    return json.dumps(kept, sort_keys=True, separators=(",", ":")).encode()


def examined(certificate: Any) -> dict[str, str]:
    """What a certificate shows; raises whatever is wrong with it."""
    parts = dict(zip(ENTRIES.split(), members(certificate, ENTRIES), strict=True))
    need(parts["version"] == VERSION, "another version")
    need(parts["hash"] == hashlib.sha256(canonical(certificate)).hexdigest(), "the hash differs")
    status, distance, *given = members(parts["claim"], "status distance lower_bound epsilon")
    q = Proof(*(parts[name] for name in ("features", "program", "question", "proof")))
    (bound, allowed), reasons, floats = map(number, given), q.walk(), parts["semantics"] == "float"
    need(floats or (parts["semantics"] == "real" and not q.slack), "slack: in real numbers")
    need(not floats or all(q.slack >= ULP * math.prod(q.lost(g)) for g, _ in q.wanted), "slack")
    need(status in SHOWN and bound <= q.radius, "claim: the bound is not what the proof covers")
    shown = {"status": status, "parts closed": ", ".join(f"{n} by {r}" for r, n in reasons.items())}
    if status == "infeasible":
        need(parts["witness"] is None and distance is None, "claim: infeasible, and a witness")
        need(q.radius > q.distance([max(map(f.delta, f.all)) for f in q.features]), "too near")
        return shown
    away = q.check(point := q.point(parts["witness"]))
    need(away == number(distance) and bound <= away and allowed >= 0, "claim: its distances")
    rest = away - bound - (allowed**2 if q.squared else allowed)
    if status == "optimal" and rest > 0:  # of l2: sqrt(away) <= sqrt(bound) + epsilon
        need(q.squared and rest**2 <= 4 * allowed**2 * bound, "claim: the gap exceeds epsilon")
    power = 0.5 if q.squared else 1
    shown |= {"distance": f"{float(away) ** power}", "lower bound": f"{float(bound) ** power}"}
    pairs = zip(q.features, point, strict=True)
    return shown | {f.name: f"{f.plain(f.own)} -> {f.plain(v)}" for f, v in pairs if v != f.own}


def check(certificate: Any) -> dict[str, str]:
    """What a certificate shows; ``Rejected`` if it does not show what it claims, or is none."""
    try:
        return examined(certificate)
    except ODD as error:
        raise Rejected(f"malformed: {type(error).__name__}: {str(error)[:100]}") from None


def parse(body: bytes) -> Any:
    """JSON without floats and without a member twice; ValueError, RecursionError if it is none."""

    def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        need(len({name for name, _ in pairs}) == len(pairs), "a member twice")
        return dict(pairs)

    need(len(body) <= LIMIT, "the file is too large")
    return json.loads(body, object_pairs_hook=_once, parse_float=number, parse_constant=number)


def read(path: Path) -> Any:
    """A certificate from a file, gzipped or not."""
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as stream:
        return parse(stream.read(LIMIT + 1))


def beside(certificate: Any, model: Path, trusted: bool) -> str:
    """Run a model beside the program, by the file beside this one; why it could not be."""
    held = (certificate["model"] or {}).get("sha256")
    need(hashlib.sha256(model.read_bytes()).hexdigest() == held, "made for another model file")
    if not (file := Path(__file__).with_name("spot_check.py")).exists():
        return f"there is no {file.name} beside {Path(__file__).name}"
    question = Question(*(certificate[name] for name in ("features", "program", "question")))
    differs, unrun = runpy.run_path(str(file))["run"](question, certificate, model, trusted)
    need(not differs, f"the program is not the model's: {differs}")
    return str(unrun)


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Check a certificate of cfxc.")
    parser.add_argument("certificate", type=Path)
    parser.add_argument("--model", type=Path, help="the model file, to be run beside the program")
    parser.add_argument("--trust-pickle", action="store_true", help="run the code in a pickle")
    options = parser.parse_args(arguments)
    try:
        shown = check(certificate := read(options.certificate))
        unrun = beside(certificate, options.model, options.trust_pickle) if options.model else ""
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
        print(f"cannot be read: {str(error)[:200]}")
        return 2
    except Rejected as error:
        print(f"REJECTED: {error}")
        return 1
    lines = [f"  {name}: {value}" for name, value in shown.items()]
    print("accepted", *lines, SHOWN[shown["status"]], NOT_SHOWN, sep="\n")
    if unrun:
        print(f"ONLY THE HASH of the model was compared; it was not run: {unrun}")
    return 3 if unrun else 0


if __name__ == "__main__":
    sys.exit(main())

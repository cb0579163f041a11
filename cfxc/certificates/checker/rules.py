"""The proof: a tree of splits that covers the ball, each part closed by one rule, which shows that
nothing in it is nearer than the radius.  Lemmas: ``docs/reference/certificate-format.md``.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction as Q
from typing import Any, NamedTuple

from .layers import At, Ladder, Share, payments
from .program import CONSTANT, HALF_ULP, KINDS, LEAST, ONE, ZERO, Form, add, images, plus, rounded
from .question import Part, Question, misses
from .reader import KEPT, Clock, Rejected, key, listed, members, need, number, small, total, whole
from .smooth import CURVES, least

Spans = Sequence[tuple[Q, Q]]  # ranges of the forms that were made
Signs = Mapping[Any, Any]  # k: -1, 1 (its sign); (k, side): side z <= this or, of side 0, z > this
#                            ("hull", h): within hull h
Worths = list[tuple[Q, Q]]  # of each leaf or value: what it adds, and what it pays
SPLITS = ("cut", "label", "sign", "at", "hull")
PLANES = {"over": ONE, "under": -ONE}  # on which side of a plane a product lies, or of a line f(z)


class Multipliers(NamedTuple):
    """μ of the distance, y of inequalities, what trees pay of features, and what is left to those:
    all of it if nothing is said.
    """

    budget: Q
    rows: Mapping[Any, Q]  # by name and place and, of planes, slopes
    paid: Mapping[At, Ladder | Share]
    left: Mapping[int, Q]


NONE = Multipliers(ZERO, {}, {}, {})


class Proof(Question):
    """A question, and a tree of splits that covers all that is admissible, its leaves closed."""

    def __init__(self, features: Any, program: Any, question: Any, proof: Any, clock: Clock):
        super().__init__(features, program, question, clock)
        names = "radius lemmas nodes" + " faces inside" * (self.region is not None)
        radius, lemmas, nodes, *more = members(proof, names, "proof")
        self.radius, self.nodes = number(radius), listed(nodes, "proof.nodes")
        self.hulls, self.faces, self.inside = 0, list[tuple[int, Form]](), None
        if self.region is not None:
            self.hulls, self.inside = len(self.region.hulls), more[1]
            self.faces = self.region.faces(more[0])
        self.start: Signs = {("hull", 0): 1} if self.hulls == 1 else {}
        self.root = [self.clip(j, f.all, self.radius) for j, f in enumerate(self.features)]
        units = {k for k, kind in enumerate(self.program.kinds) if kind == "unit"}
        self.known: dict[str, Collection[int]] = {"above": units, "chord": units}
        self.known |= {"row": range(len(self.rows)), "peak": range(len(self.features))}
        self.known |= dict.fromkeys(("least", "most"), range(len(self.program.made)))
        bent = tuple(k for k, kind in enumerate(self.program.kinds) if kind in CURVES)
        self.known |= dict.fromkeys(PLANES, (*self.program.factors, *bent))
        self.roots = sum(len(roots) for roots, _ in self.program.trees)
        self.bounds: dict[tuple[int, int], Q] = {}
        self.before: Spans = ()
        for i, (k, side, bound, *by) in enumerate(listed(lemmas, "proof.lemmas")):
            shown = self.multipliers(by, self.start)
            self.bound_unit(k, side, number(bound), shown, f"proof.lemmas[{i}]")

    def bound_unit(self, k: Any, side: Any, bound: Q, by: Multipliers, where: str) -> None:
        """Lemma 12: ``side * z <= bound`` for a form that was made, at every counterfactual."""
        there = whole(k) < len(self.program.made) and type(side) is int and side in (1, -1)
        need(there and (k, side) not in self.bounds, f"{where}: of no form or side, or one twice")
        spans, form = self.spans_upto(k), plus({}, self.program.made[k], Q(side))
        shown = spans is None or self.most(form, by, self.root, {}, spans) <= bound
        need(shown, f"{where}: the bound is not shown")
        self.bounds[k, side] = bound

    def check(self, point: Sequence[Any]) -> tuple[Q, bool]:
        """The same; within the region, if there is one."""
        if self.region is not None:
            self.region.require(self.inside, point)
        return super().check(point)

    def walk(self) -> dict[str, int]:
        """Walk all nodes from the root; how many parts were closed for which reason."""
        stack, seen, reasons = [(0, self.root, self.start)], set[int](), dict[str, int]()
        while stack:
            place, parts, signs = stack.pop()
            self.require_few(stack, len(parts) + len(signs))
            need(place not in seen and place < len(self.nodes), f"proof: no tree at node {place}")
            seen.add(place)
            kind, *node = listed(self.nodes[place], "proof.nodes")
            if kind in SPLITS:
                children = [whole(child, 1) for child in (node if kind == "hull" else node[-2:])]
                halves = self.halves(kind, node[:-2], parts, signs)
                stack += [(c, *half) for c, half in zip(children, halves, strict=True)]
                continue
            need(kind in ("distance", "constraint", "bound"), f"proof: no rule at node {place}")
            closed = self.closes(kind, node, parts, signs)
            need(closed, f"proof: {kind} does not close node {place}")
            reasons[kind] = reasons.get(kind, 0) + 1
        need(len(seen) == len(self.nodes), "proof: nodes that nothing leads to")
        return reasons

    def require_few(self, stack: Sequence[Any], each: int) -> None:
        """Rejects too much that waits for its turn."""
        self.clock.tick()
        need(len(stack) * each <= 2**7 * KEPT, "limits: too many parts of too many features")

    # -- parts ------------------------------------------------------------------------------------

    def halves(self, kind: str, node: Any, parts: list[Part], signs: Signs) -> Any:
        """Lemma 2: the two sides of a split, parts and signs of units.  Lemma 16: all hulls."""
        if kind == "hull":
            need(self.hulls, "proof: a split by hulls, and no region")
            self.require_few(range(self.hulls), len(parts) + len(signs))
            return [(parts, {**signs, ("hull", h): 1}) for h in range(self.hulls)]
        if kind == "sign":
            (k,) = node
            need(self.program.kinds[whole(k)] == "unit", "proof: the sign of no unit")
            return (parts, {**signs, k: -1}), (parts, {**signs, k: 1})
        j, left = node
        if kind == "at":
            need(whole(j) < len(self.program.made), "proof: a split of no form")
            cut = number(left)
            return (parts, {**signs, (j, 1): cut}), (parts, {**signs, (j, -1): -cut, (j, 0): cut})
        feature = self.features[whole(j)]
        need((kind == "label") == bool(feature.labels), f"proof: a {kind} of {feature.name!a}")
        test = feature.test([feature.labels.index(key(left))] if feature.labels else left)
        sides = feature.sides(parts[j], test)
        return [([*parts[:j], side, *parts[j + 1 :]], signs) for side in sides]

    def clip(self, j: int, part: Part, radius: Q) -> Part:
        """Lemma 3: what of a part of a feature lies within a radius, and perhaps a little more."""
        feature, reach = self.features[j], self.reach(j, radius)
        if reach is None:
            return part
        if feature.labels:
            return frozenset(i for i in part if feature.delta(i) <= reach)
        if reach >= 1 and feature.absent is not None:
            return part
        own, away = feature.own, ZERO if feature.own == feature.absent else reach * feature.size
        low = max(own - away, min(own, feature.first))
        ends = feature.near(low, 1), feature.near(own + away, -1)
        how = zip(part, ends, (max, min), strict=True)
        return tuple(None if None in (old, new) else pick(old, new) for old, new, pick in how)

    def deltas(self, parts: list[Part]) -> list[Q] | None:
        """The least change of each feature in a part; None if the part is empty."""
        self.clock.tick()
        near = [f.nearest(part) for f, part in zip(self.features, parts, strict=True)]
        return None if None in near else near  # type: ignore[return-value]  # no None in it

    def spans_upto(self, k: int) -> Spans | None:
        """Lemma 4 at the root: to form k, or all that trees may test.  Those before k, which bounds
        of later forms do not change, are kept.
        """
        end = len(self.program.made) if self.program.trees else k + 1
        spans = self.spans(self.root, {}, self.before[:k], end)
        self.before = (spans or ())[:k]
        return spans

    def spans(self, parts: list[Part], signs: Signs, known: Spans = (), end: int | None = None
              ) -> Spans | None:  # fmt: skip
        """Lemma 4: ranges of all forms that were made; None if a sign cannot be what it should."""
        found = list(known)
        for k, form in enumerate(self.program.made[len(known) : end], len(known)):
            self.clock.tick()
            if self.program.kinds[k] == "product":
                ends = [u * v for u, v in self.corners(k, found, ZERO)]
                low, high = min(ends), max(ends)
            else:
                low, high = self.range(form, parts, signs, found)
            low = max(low, -self.bounds.get((k, -1), -low), low if signs.get(k, 0) <= 0 else ZERO)
            high = min(high, self.bounds.get((k, 1), high), high if signs.get(k, 0) >= 0 else ZERO)
            low, high = max(low, -signs.get((k, -1), -low)), min(high, signs.get((k, 1), high))
            if low > high:
                return None
            if self.program.kinds[k] == "single":  # beyond single floats it is no number
                images("single", low, high)
            found.append((rounded(low, 8, math.floor), rounded(high, 8, math.ceil)))
        return found

    def range(self, form: Form, parts: list[Part], signs: Signs, spans: Spans) -> tuple[Q, Q]:
        """Lemma 4: between which values a form lies, all over a part."""
        low, high, labels = ZERO, ZERO, dict[int, dict[int, Q]]()
        for (kind, k, *rest), factor in form.items():
            if kind == "is":
                labels.setdefault(k, {})[rest[0]] = factor
                continue
            if kind == "tree":
                ends: Any = self.extremes(k, rest[0], parts, signs, spans)
            else:
                ends = [ONE] if kind == "one" else parts[k] if kind == "x" else spans[k]
                if kind in CURVES:  # up to some milliseconds each
                    self.clock.tick()
                ends = images(kind, *ends) if kind in KINDS else ends
            both = [factor * z for z in ends]
            low, high = small(low + min(both)), small(high + max(both))
        for j, factors in labels.items():
            values = [factors.get(i, ZERO) for i in parts[j]]
            low, high = low + min(values), high + max(values)
        return low, high

    def extremes(
        self, n: int, column: int, parts: list[Part], signs: Signs, spans: Spans
    ) -> tuple[Q, Q]:
        """Lemma 4: the sums over trees of the least and the largest leaf in reach."""
        roots, nodes = self.program.trees[n]
        found = [self.leaves(nodes, root, parts, signs, spans) for root in roots]
        met = [[leaf[column] for leaf, *_ in leaves] for leaves in found]
        return total(map(min, met)), total(map(max, met))

    def corners(self, k: int, spans: Spans, vertex: Q) -> list[tuple[Q, Q]]:
        """Lemma 4: where a product less multiples of its factors is least and largest: at corners
        or, of a square, at the ends and the vertex.
        """
        i, m = self.program.factors[k]
        (low, high), others = spans[i], spans[m]
        if i == m:
            return [(z, z) for z in (low, min(max(vertex, low), high), high)]
        return [(u, v) for u in (low, high) for v in others]

    # -- rules ------------------------------------------------------------------------------------

    def closes(self, kind: Any, node: list[Any], parts: list[Part], signs: Signs) -> bool:
        """Whether a rule shows that a part holds no counterfactual nearer than the radius."""
        by = self.multipliers(node, signs) if kind == "bound" else NONE
        need(kind == "bound" or not node, f"proof: a {kind} has no more to it")
        if (near := self.within(parts)) is None or kind == "distance":
            return near is None
        if (spans := self.spans(near, signs)) is None:
            return True
        if kind == "bound":
            return self.outweighs(by, near, signs, spans)
        return self.contradicts(near, signs, spans)

    def within(self, parts: list[Part]) -> list[Part] | None:
        """Lemma 3, lemma 6: what of a part lies within the radius; None if nothing does."""
        deltas = self.deltas(parts)
        if deltas is None or self.distance(deltas) >= self.radius:
            return None
        costs = list(map(self.cost, range(len(deltas)), deltas))
        rest = self.radius - total(costs)
        return [self.clip(j, part, rest + costs[j]) for j, part in enumerate(parts)]

    def contradicts(self, parts: list[Part], signs: Signs, spans: Spans) -> bool:
        """Lemma 5: a constraint fails all over a part."""

        def span(form: Form) -> tuple[Q, Q]:
            ends = [self.most(plus({}, form, s), NONE, parts, signs, spans) for s in (-ONE, ONE)]
            return -ends[0], ends[1]

        return not all(self.verdict(truth, span)[1] for truth in self.truths)

    def outweighs(self, by: Multipliers, parts: list[Part], signs: Signs, spans: Spans) -> bool:
        """Lemma 7: ``Σ y g + μ (r - d)`` is below 0 all over a part, or 0 where it may not be."""
        used = [name for name, y in by.rows.items() if y > 0 and name[0] != "peak"]
        strict = any(name == "row" and self.rows[k][1] for name, k, *_ in used)
        worth = self.most({}, by, parts, signs, spans, strict if len(used) == 1 else None)
        return worth < 0 or (worth == 0 and (by.budget > 0 or strict))

    def multipliers(self, given: Any, signs: Signs) -> Multipliers:
        """Lemma 7: numbers that are not negative; shares of one feature sum to 1 at most."""
        budget, rows, shares = given
        found, faces = dict[Any, Q](), range(len(self.faces))
        here = {"sign": signs, "face": {i for i in faces if ("hull", self.faces[i][0]) in signs}}
        for name, k, y, *slopes in listed(rows, "proof: multipliers"):
            there = whole(k) in (here if name in here else self.known).get(name, ())
            if not there or len(slopes) != 2 * (name in PLANES):
                raise Rejected(f"proof: a multiplier of no inequality: {str(name)[:10]!a} {k}")
            found[name, k, *map(number, slopes)] = number(y)
        parted, weights = dict[At, Q](), dict[At, dict[Q, Q]]()
        for t, j, y, *upto in listed(shares, "proof: shares"):
            need(whole(t) < self.roots and whole(j) < len(self.features), "proof: a share of none")
            if not upto:
                need((t, j, 0) not in parted, "proof: a multiplier twice")
                parted[t, j, 0] = number(y)
                continue
            (end,) = map(number, upto)
            own = weights.setdefault((t, j, 1 if end > 0 else -1), {})
            need(end != 0 < number(y) and abs(end) not in own, "proof: a weight of nothing, or two")
            own[abs(end)] = number(y)
        need(len(found) == len(rows), "proof: a multiplier twice")
        need(min([number(budget), *found.values(), *parted.values()]) >= 0, "proof: below 0")
        peaks = sum(y for (name, *_), y in found.items() if name == "peak")
        fit = peaks <= number(budget) * self.norms[2]
        need(fit, "proof: shares of more than there is")
        return Multipliers(number(budget), found, *payments(parted, weights))

    def inequality(self, named: Sequence[Any], signs: Signs, spans: Spans) -> Form:
        """Lemma 8: g, which is at least 0 at every counterfactual of a part."""
        name, k, *slopes = named
        if name in ("row", "face"):
            row: Form = self.rows[k][0] if name == "row" else self.faces[k][1]
            return row
        if name in PLANES:
            beside = self.plane if k in self.program.factors else self.line
            return beside(k, PLANES[name], slopes, spans)
        z, unit, (low, high) = self.program.made[k], {("unit", k): ONE}, spans[k]
        if name in ("least", "most"):
            return plus({CONSTANT: -low}, z) if name == "least" else plus({CONSTANT: high}, z, -ONE)
        if name == "sign":
            return plus({}, z, Q(signs[k]))
        if name == "above":
            return plus(unit, z, -ONE)
        if not low < 0 < high:
            return {}
        steep = Q(float(high / (high - low)))  # short digits: any slope will do, the line is raised
        return plus(plus({CONSTANT: max(-steep * low, high - steep * high)}, z, steep), unit, -ONE)

    def plane(self, k: int, side: Q, slopes: list[Q], spans: Spans) -> Form:
        """Lemma 8: by how much ``side (u v - q u - p v)`` is above its least value in the part."""
        (i, m), (p, q) = self.program.factors[k], slopes
        ends = self.corners(k, spans, (p + q) / 2)
        least = min(side * (u * v - q * u - p * v) for u, v in ends)
        tilted = plus({CONSTANT: -least, ("product", k): side}, {("form", i): -side}, q)
        return add(tilted, {("form", m): -side}, p)

    def line(self, k: int, side: Q, slopes: list[Q], spans: Spans) -> Form:
        """Lemma 15: by how much ``side (f(z) - slope z)`` is above its least value in the part."""
        kind, (slope, place) = self.program.kinds[k], slopes
        below = least(kind, side, slope, place, *spans[k])
        return plus({CONSTANT: -below, (kind, k): side}, self.program.made[k], -side * slope)

    # -- bounds -----------------------------------------------------------------------------------

    def most(self, form: Form, by: Multipliers, parts: list[Part], signs: Signs, spans: Spans,
             alone: bool | None = None) -> Q:  # fmt: skip
        """Lemma 9: what ``form + Σ y g + μ (r - d)`` does not exceed in a part of the ball."""
        self.clock.tick()
        terms, value = plus(form, {CONSTANT: by.budget * self.radius}), ZERO
        for name, y in by.rows.items():
            self.clock.tick()
            if name[0] != "peak":
                add(terms, self.inequality(name, signs, spans), y)
        for k, kind in reversed([*enumerate(self.program.kinds)]):
            if not (factor := terms.pop((kind, k), ZERO)):
                continue
            self.clock.tick()
            inner, (low, high) = self.program.made[k], spans[k]  # malformed if these end before
            if kind in ("step", "product", *CURVES):
                value += max(factor * z for z in images(kind, low, high))
            elif kind in ("single", "form") or low >= 0:
                add(terms, inner, factor)
                if kind == "single":
                    value += abs(factor) * (HALF_ULP * max(abs(low), abs(high)) + LEAST)
            elif high > 0:
                value += max(factor * high, ZERO)
        return self.apart(terms, value + terms.get(CONSTANT, ZERO), by, parts, signs, spans, alone)

    def apart(self, terms: Form, value: Q, by: Multipliers, parts: list[Part], signs: Signs,
              spans: Spans, alone: bool | None) -> Q:  # fmt: skip
        """Lemma 10: the maximum, tree by tree and feature by feature.  Lemma 11: where one
        inequality, strict or not, closes ``alone``, without leaves and values that miss it anyhow.
        """
        free = [by.left.get(j, ONE) for j in range(len(parts))]
        trees = list(self.trees(terms, by, parts, signs, spans))
        pieces = trees + [self.values(j, p, terms, by, free[j]) for j, p in enumerate(parts)]
        if alone is None:
            return small(value + total(max(own - paid for own, paid in piece) for piece in pieces))
        tops = [max(worth for worth, _ in piece) for piece in pieces]
        spare = value - by.budget * self.radius + total(tops)  # the most that the row may be
        for j, (piece, top) in enumerate(zip(pieces, tops, strict=True), -len(trees)):
            kept, least, factor = piece, top - spare, terms.get(("x", j), ZERO)
            if factor:
                (low, high), end = parts[j], least / factor
                part = (max(low, end), high) if factor > 0 else (low, min(high, end))
                kept = self.values(j, part, terms, by, free[j])
            else:
                kept = [one for one in piece if not misses(one[0] - least, alone)]
            if not kept:
                return -ONE
            value = small(value + max(worth - paid for worth, paid in kept))
        return value

    def values(self, j: int, part: Part, terms: Form, by: Multipliers, free: Q) -> Worths:
        """Lemma 10: what a feature adds and pays, where the difference may be largest."""
        feature, budget = self.features[j], by.budget * free
        peak = by.rows.get(("peak", j), ZERO) * self.peaks[j]
        if feature.labels:
            worth = {i: terms.get(("is", j, i), ZERO) for i in part}
        else:
            (low, high), factor = part, terms.get(("x", j), ZERO)
            inner = (min(max(x, low), high) for x in (feature.own, feature.first))
            places = {low, high, *inner} if low <= high else set()
            squares = 2 * budget * self.norms[3] * self.shares[j]
            if squares and feature.size and places:  # the vertex of a parabola
                away = factor * feature.size * feature.size / squares
                places.add(min(max(feature.own + away, low), high))
            worth = {x: factor * x for x in places}
        priced = [(own, feature.delta(x)) for x, own in worth.items()]
        return [(own, budget * self.cost(j, delta) + peak * delta) for own, delta in priced]

    def trees(self, terms: Form, by: Multipliers, parts: list[Part], signs: Signs, spans: Spans
              ) -> Iterator[Worths]:  # fmt: skip
        """Lemma 10: for every tree what each leaf in reach adds, and what it pays."""
        tree, columns, costs = -1, dict[int, list[Any]](), dict[int, list[Any]]()
        for source, f in terms.items():
            if source[0] == "tree":
                columns.setdefault(source[1], []).append((source[2], f))
        for (each, j, way), share in by.paid.items():
            costs.setdefault(each, []).append((j, way, share))
        for n, (roots, nodes) in enumerate(self.program.trees):
            own = columns.get(n, [])
            for root in roots:
                tree += 1
                pays = costs.get(tree, [])
                if own or pays:
                    met = self.leaves(nodes, root, parts, signs, spans)
                    yield [
                        (sum(f * leaf[c] for c, f in own), by.budget * self.paid(pays, *near))
                        for leaf, *near in met
                    ]

    def paid(self, pays: list[Any], parts: list[Part], near: list[Q]) -> Q:
        """Lemma 10: what a leaf pays, of costs in one direction only if all of it lies there."""
        return total(
            share.of(self.cost(j, near[j]))
            for j, way, share in pays
            if not way or self.features[j].way(parts[j]) == way
        )

    def leaves(self, nodes: list[Any], root: int, parts: list[Part], signs: Signs, spans: Spans
               ) -> Iterator[Any]:  # fmt: skip
        """The leaves that a part meets within the radius, with the least δ of what is left."""
        near = self.deltas(parts) or []
        paid = total(map(self.cost, range(len(near)), near))
        stack = [(root, parts, near, paid, self.distance(near) - paid)]
        while stack:
            place, here, near, paid, top = stack.pop()
            if not isinstance(node := nodes[place], tuple):
                yield node, here, near
                continue
            self.require_few(stack, len(here))
            j, test, *children = node
            if isinstance(j, tuple):
                (low, high), beyond = spans[j[1]], signs.get((j[1], 0), test - 1)
                kept = children[:1] if high <= test else children[low > test or beyond >= test :]
                stack += [(child, here, near, paid, top) for child in kept]
                continue
            for child, side in zip(children, self.features[j].sides(here[j], test), strict=True):
                if side is here[j]:
                    stack.append((child, here, near, paid, top))
                elif (delta := self.features[j].nearest(side)) is not None:  # at least near[j]
                    cost = paid + self.cost(j, delta) - self.cost(j, near[j])
                    if cost + (peak := max(top, self.tops[j] * delta)) < self.radius:
                        both = [*here[:j], side, *here[j + 1 :]], [*near[:j], delta, *near[j + 1 :]]
                        stack.append((child, *both, cost, peak))

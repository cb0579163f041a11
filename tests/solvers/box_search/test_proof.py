"""Every refutation of box search is checked box by box, in exact arithmetic and from scratch."""

from __future__ import annotations

import sys
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import cfxc
from cfxc.compiler.linear_reader import requirements
from cfxc.compiler.pipeline import simplified
from cfxc.compiler.splits import Unary, raw_splits
from cfxc.ir import LabelTuple, evaluate, ops
from cfxc.question.query import Query, make_query
from cfxc.solvers import box_search
from cfxc.solvers.base import Limits
from cfxc.solvers.box_search.proof import Closing, Split, SplitTree
from cfxc.solvers.box_search.thread_pool import ThreadPool
from cfxc.solvers.engines import settle_by_smt
from cfxc.space import Feature
from tests.solvers import kinds
from tests.solvers import test_brute_force_ensembles as ensembles
from tests.solvers.grids import NORMS
from tests.solvers.kinds import task
from tests.solvers.test_brute_force import RULES, restricted

F = Fraction
UNIT, SMALL = F(1, 2**50), F(1, 10**6)


@dataclass(frozen=True)
class Box:
    """Per feature ``(above, upto]`` (``None``: open), or the labels left."""

    parts: tuple[Any, ...]

    def lower(self, j: int, split: Split) -> Box:
        part = self.parts[j]
        if split.cut is None:
            return self.with_part(j, part & {split.label})
        return self.with_part(j, (part[0], _least(part[1], split.cut)))

    def upper(self, j: int, split: Split) -> Box:
        part = self.parts[j]
        if split.cut is None:
            return self.with_part(j, part - {split.label})
        return self.with_part(j, (_largest(part[0], split.cut), part[1]))

    def with_part(self, j: int, part: Any) -> Box:
        return Box((*self.parts[:j], part, *self.parts[j + 1 :]))


def _least(a: F | None, b: F) -> F:
    return b if a is None else min(a, b)


def _largest(a: F | None, b: F) -> F:
    return b if a is None else max(a, b)


class Checker:
    """What a proof must show, from the query alone; nothing here knows cells or bits."""

    def __init__(self, query: Query, radius: F) -> None:
        self.query, self.radius = query, radius
        norms = query.distance.norms
        assert norms is not None
        self.norms = norms
        weights = [d.feature.weight for d in query.domains]
        self.weights, self.total, self.top = weights, sum(weights, F(0)), max(weights)
        program = simplified(query.target_program)
        self.required = requirements(program, "in_target")
        self.order = [name for name, _ in program.inputs]
        self.trees: list[tuple[str, int, Any, Any]] = []
        for statement in program.lets():
            op = statement.op
            if isinstance(op, ops.TreeEnsemble):
                splits = raw_splits(program, op)
                self.trees += [
                    (statement.name, root, op, splits) for root in op.roots.array.tolist()
                ]
        sources = dict.fromkeys(s for r in self.required for s in r.form.terms)
        functions = [s for s in sources if isinstance(s, Unary)]
        tables = [s for s in functions if s.table is not None]
        self.tables = list(
            {(s.input, bool(s.steps)): [t for t in tables if t.input == s.input] for s in tables}
            .values()
        )  # fmt: skip
        self.ramps = [s for s in functions if s.table is None]
        # a split changes one part: what those of the other features cost is known
        self.nearest, self.added = cache(self._nearest), cache(self._added)

    def root(self) -> Box:
        return Box(
            tuple(
                frozenset(d.allowed) if d.is_symbolic else (None, None) for d in self.query.domains
            )
        )

    def _nearest(self, j: int, part: Any) -> F | None:
        """The least δ_j of an admissible value in a part; ``None`` if it has none."""
        domain = self.query.domains[j]
        if domain.is_symbolic:
            return min((domain.delta(label) for label in part), default=None)
        above, upto = part
        own = F(domain.factual)
        if (above is None or own > above) and (upto is None or own <= upto):
            return F(0)
        if above is not None and own <= above:
            value = domain.ceil(float(np.nextafter(float(above), np.inf)))
            inside = value is not None and (upto is None or value <= upto)
        else:
            assert upto is not None
            value = domain.floor(upto)
            inside = value is not None and (above is None or value > above)
        return domain.delta(value) if inside and value is not None else None

    def distance(self, deltas: list[F]) -> F:
        peak = max(w * d for w, d in zip(self.weights, deltas, strict=True))
        added = sum((self.added(j, delta) for j, delta in enumerate(deltas)), F(0))
        return added + self.norms.linf * peak / self.top

    def deltas(self, box: Box) -> list[F] | None:
        found = [self.nearest(j, part) for j, part in enumerate(box.parts)]
        return None if None in found else found  # type: ignore[return-value]

    def beyond(self, box: Box) -> bool:
        deltas = self.deltas(box)
        return deltas is None or self.distance(deltas) > self.radius

    def leaves(self, tree: int, box: Box) -> list[tuple[Any, Box]]:
        """The leaves of one tree that the box meets within the radius, with the common part."""
        _, root, op, splits = self.trees[tree]
        found, stack = [], [(root, box)]
        while stack:
            node, here = stack.pop()
            if self.beyond(here):
                continue
            j = int(splits.input[node])
            if j < 0:
                found.append((op.value.exact()[node], here))
                continue
            j = [d.name for d in self.query.domains].index(self.order[j])
            left, right = self.sides(j, node, splits, here)
            stack += [(int(splits.left[node]), left), (int(splits.right[node]), right)]
        return found

    def sides(self, j: int, node: int, splits: Any, box: Box) -> tuple[Box, Box]:
        domain = self.query.domains[j]
        if domain.is_symbolic:
            names = LabelTuple(domain.feature.labels)
            words = splits.mask[node]
            chosen = frozenset(
                label for i, label in enumerate(names) if int(words[i // 64]) >> (i % 64) & 1
            )
            part = box.parts[j]
            return box.with_part(j, part & chosen), box.with_part(j, part - chosen)
        cut = float(splits.cut[node])
        if np.isinf(cut):
            nothing = box.with_part(j, (F(1), F(0)))
            return (box, nothing) if (cut > 0) == bool(splits.below[node]) else (nothing, box)
        split = Split("", F(cut), None, (0, 0))
        pair = box.lower(j, split), box.upper(j, split)
        return pair if splits.below[node] else (pair[1], pair[0])

    def check(self, proof: SplitTree) -> dict[str, int]:
        seen: dict[str, int] = {}
        stack, visited = [(0, self.root())], 0
        names = [d.name for d in self.query.domains]
        while stack:
            number, box = stack.pop()
            visited += 1
            node = proof[number]
            if isinstance(node, Split):
                j = names.index(node.feature)
                stack += [
                    (node.children[0], box.lower(j, node)),
                    (node.children[1], box.upper(j, node)),
                ]
                continue
            seen[node.reason] = seen.get(node.reason, 0) + 1
            assert self.closes(node, box), (number, node)
        assert visited == len(proof)
        return seen

    def closes(self, node: Closing, box: Box) -> bool:
        if self.beyond(box):
            return True
        if node.reason == "sum":
            return self.sum_misses(node.requirement, box, F(0), {}, {})
        if node.reason == "sharing":
            assert node.sharing is not None
            shares = node.sharing.shares
            for name in {feature for _, feature in shares}:
                total = sum(share for (_, feature), share in shares.items() if feature == name)
                assert total <= 1 + F(1, 10**9)
            scale = 1 + F(1, 10**9)
            shares = {key: share / scale for key, share in shares.items()}
            weights = node.sharing.weights
            assert not {name for _, name in shares} & {name for _, name in weights}
            rate = node.sharing.multiplier / UNIT
            return self.sum_misses(node.requirement, box, rate, shares, weights)
        return node.reason in ("constraint", "solver")  # seen by enumeration elsewhere

    def sum_misses(self, k: int | None, box: Box, multiplier: F, shares: Any, weights: Any) -> bool:
        assert k is not None
        required = self.required[k]
        near = self.deltas(box)
        assert near is not None
        gamma = self.norms.linf
        spent = [self.added(j, d) for j, d in enumerate(near)]
        peak = gamma * max(w * d for w, d in zip(self.weights, near, strict=True)) / self.top
        constant = required.form.constant
        trees = []
        for tree, (source, _, _, _) in enumerate(self.trees):
            own = [pair for pair in required.form.terms.items() if isinstance(pair[0], tuple)]
            factors = {column: f for (name, column), f in own if name == source}
            found = [
                (sum((f * F(row[c]) for c, f in factors.items()), F(0)), here)
                for row, here in self.leaves(tree, box)
            ]
            trees.append(found)
        trees += [self.parts(table, required, box) for table in self.tables]
        if not all(trees):
            return True
        terms = required.form.terms
        slopes = [terms.get(ramp, F(0)) for ramp in self.ramps]
        ends = [self.ends(ramp, box) for ramp in self.ramps]
        most = [max(value for value, _ in found) for found in trees]
        most += [max(f * end for end in pair) for f, pair in zip(slopes, ends, strict=True)]
        total = constant + multiplier * (self.radius - sum(spent) - peak)
        for tree, found in enumerate(trees):
            others = constant + sum(most) - most[tree]
            paying = [
                value
                - multiplier * self.paid(tree, here, spent, shares)
                - multiplier * self.paid_in_layers(tree, here, spent, weights)
                for value, here in found
                if not self.fails(required, others + value)  # else no point of the leaf will do
            ]
            if not paying:
                return True
            total += max(paying)
        for i, (ramp, factor) in enumerate(zip(self.ramps, slopes, strict=True), len(trees)):
            j = self.order.index(ramp.input)
            share = multiplier * shares.get((i, self.query.domains[j].name), F(0))
            floor = -(constant + sum(most) - most[i])
            best = self.highest(j, factor, share, floor, ends[i - len(trees)], spent[j])
            if best is None:
                return True
            total += best
        return self.fails(required, total)

    def parts(self, tables: list[Unary], required: Any, box: Box) -> list[tuple[F, Box]]:
        """Values of a sum of tables of one feature, each with its part of the box."""
        j, found = self.order.index(tables[0].input), []
        factors = [required.form.terms.get(table, F(0)) for table in tables]
        if not tables[0].steps:
            for code, label in enumerate(LabelTuple(self.query.domains[j].feature.labels)):
                part = box.parts[j] & {label}
                value = sum((f * t.table[code] for f, t in zip(factors, tables, strict=True)), F(0))  # type: ignore[index]
                found.append((value, box.with_part(j, part)))
        else:
            cuts = sorted({step for table in tables for step in table.steps})
            for above, upto in zip([None, *cuts], [*cuts, None], strict=True):
                value = F(0)
                for factor, table in zip(factors, tables, strict=True):
                    place = bisect_left(table.steps, np.inf if upto is None else upto)
                    value += factor * table.table[place]  # type: ignore[index]
                here = box
                if above is not None:
                    here = here.upper(j, Split("", F(above), None, (0, 0)))
                if upto is not None:
                    here = here.lower(j, Split("", F(upto), None, (0, 0)))
                found.append((value, here))
        return [(value, here) for value, here in found if not self.beyond(here)]

    def ends(self, ramp: Unary, box: Box) -> tuple[F, F]:
        """The numbers that a ramp reads lie between these two."""
        j = self.order.index(ramp.input)
        domain, (above, upto) = self.query.domains[j], box.parts[j]
        next_one = None if above is None else F(float(np.nextafter(float(above), np.inf)))
        low = domain.lower if next_one is None else max(next_one, domain.lower)
        high = domain.upper if upto is None else min(upto, domain.upper)
        delta = self.farthest(j, box)
        if delta is not None:
            low = max(low, min(high, F(domain.factual) - delta * domain.feature.range))
            high = min(high, max(low, F(domain.factual) + delta * domain.feature.range))
        least, most = domain.ceil(low), domain.floor(high)
        assert least is not None
        assert most is not None
        low, high = min(F(least), F(most)), max(F(least), F(most))
        if ramp.rounded:
            return low - abs(low) / 2**23, high + abs(high) / 2**23
        return low, high

    def farthest(self, j: int, box: Box) -> F | None:
        """How far feature j can go, the others at their nearest: by halving, rounded up."""
        near = self.deltas(box)
        assert near is not None
        low, high = near[j], F(1)
        if self.distance([*near[:j], high, *near[j + 1 :]]) <= self.radius:
            return None
        for _ in range(60):
            middle = (low + high) / 2
            inside = self.distance([*near[:j], middle, *near[j + 1 :]]) <= self.radius
            low, high = (middle, high) if inside else (low, middle)
        return high

    def highest(
        self, j: int, factor: F, multiplier: F, floor: F, ends: tuple[F, F], spent: F
    ) -> F | None:
        """The largest ``factor x - multiplier (cost(x) - spent)`` where ``factor x >= floor``."""
        low, high = ends
        if factor > 0:
            low = max(low, floor / factor)
        elif factor < 0:
            high = min(high, floor / factor)
        elif floor > 0:
            return None
        if low > high:
            return None
        domain = self.query.domains[j]
        own, size = F(domain.factual), domain.feature.range
        tried = {low, high, min(max(own, low), high)}
        squares = multiplier * self.norms.l2 * self.weights[j] / self.total
        slope = multiplier * self.norms.l1 * self.weights[j] / self.total
        if squares and size:
            for sign in (1, -1):
                delta = (sign * factor * size - slope) / (2 * squares)
                tried.add(min(max(own + sign * max(delta, F(0)) * size, low), high))
        values = []
        for x in tried:
            delta = abs(x - own) / size if size else F(0)
            values.append(factor * x - multiplier * max(self.added(j, delta) - spent, F(0)))
        return max(values)

    def fails(self, required: Any, total: F) -> bool:
        return total <= 0 if required.strict else total < 0

    def paid(self, tree: int, here: Box, spent: list[F], shares: Any) -> F:
        """The tree's share of what moving into a leaf costs beyond the box's nearest point."""
        names = [d.name for d in self.query.domains]
        deltas = self.deltas(here)
        assert deltas is not None
        own = ((names.index(name), part) for (each, name), part in shares.items() if each == tree)
        return sum((part * (self.added(j, deltas[j]) - spent[j]) for j, part in own), F(0))

    def paid_in_layers(self, tree: int, here: Box, spent: list[F], weights: Any) -> F:
        """The same by weights: of each layer the share of the weights that reach beyond it."""
        names = [d.name for d in self.query.domains]
        deltas = self.deltas(here)
        assert deltas is not None
        paid = F(0)
        for (each, name), own in weights.items():
            j = names.index(name)
            above, upto = here.parts[j]
            factual = F(self.query.domains[j].factual)
            up, down = above is not None and above >= factual, upto is not None and upto < factual
            if each != tree or not (up or down):
                continue
            side = 1 if up else -1
            every = [
                (side * end, weight)
                for (_, other), ends in weights.items()
                if other == name
                for end, weight in ends.items()
                if side * end > 0
            ]
            low = F(0)
            for high in sorted({end for end, _ in every}):
                reached = min(self.added(j, deltas[j]), high) - max(low, spent[j])
                mine = sum((w for end, w in own.items() if side * end >= high), F(0))
                if reached > 0:
                    paid += reached * mine / sum(w for end, w in every if end >= high)
                low = high
        return paid

    def _added(self, j: int, delta: F) -> F:
        alpha, beta, _, squares = self.norms
        cost = alpha * (delta > 0) + beta * delta + squares * delta**2
        return cost * self.weights[j] / self.total


def searched(query: Query, epsilon: F = SMALL, n_jobs: int = 1) -> Any:
    limits = Limits(epsilon, 60, n_jobs=n_jobs, settle=settle_by_smt)
    return box_search.search(query, lambda _: True, limits)


def proved(query: Query, epsilon: F = SMALL, n_jobs: int = 1) -> tuple[Any, dict[str, int]]:
    outcome = searched(query, epsilon, n_jobs)
    if outcome.proof is None:
        assert outcome.best is not None
        assert query.distance.below(outcome.best.distance, epsilon) < 0
        return outcome, {}
    assert outcome.proof.radius <= outcome.lower
    return outcome, Checker(query, outcome.proof.radius).check(outcome.proof)


@pytest.mark.parametrize("distance", [*NORMS, "mix"])
@pytest.mark.parametrize("kind", ["forest", "forest of 3", "extra trees for numbers", "boosting",
                                  "raw histogram", "raw histogram of 3", "isolation"])  # fmt: skip
def test_every_box_is_closed(kind: str, distance: str) -> None:
    source: Any = kinds if kind in kinds.KINDS else ensembles
    model, space, compiled = source.trained(kind)
    spec = {"l0": 0.25, "l1": 0.5, "linf": 0.25} if distance == "mix" else distance
    for seed in (3, 4):
        asked = task(model, space, source.KINDS[kind][1], seed)
        query = make_query(
            compiled.program, space, space.encode_row(asked.row), target=asked.target, distance=spec
        )
        proved(query)


@pytest.mark.parametrize("kind", ["forest", "tree of 3", "extra trees"])
def test_under_constraints(kind: str) -> None:
    model, space, _ = kinds.trained(kind)
    rules = RULES[kinds.KINDS[kind][2]]
    space = restricted(space, rules)
    program = cfxc.compile(model, space).program
    asked = task(model, space, kinds.KINDS[kind][1], 11)
    query = make_query(
        program, space, space.encode_row(asked.row), target=asked.target,
        subject_to=rules.constraints,
    )  # fmt: skip
    outcome, _ = proved(query)
    if outcome.best is None:
        assert outcome.infeasible


def continuous(model: Any, features: int, seed: int) -> tuple[Query, Any]:
    data, target = make_classification(
        300, features, n_informative=features - 2, n_redundant=1, random_state=seed
    )
    table = pd.DataFrame(data, columns=[f"x{i}" for i in range(features)])
    model.fit(table, target)
    space = cfxc.FeatureSpace.infer(table)
    row = table[model.predict(table) == 0].iloc[[seed]]
    program = cfxc.compile(model, space).program
    return make_query(program, space, space.encode_row(row), target=1), model


@pytest.mark.parametrize(
    "model",
    [RandomForestClassifier(25, max_depth=5, random_state=0),
     RandomForestClassifier(12, random_state=0),
     GradientBoostingClassifier(n_estimators=40, max_depth=3, learning_rate=0.5, random_state=0)],
    ids=["forest", "deep", "boosting"],
)  # fmt: skip
def test_sharing_closes_boxes_of_continuous_features(model: Any) -> None:
    """Bounds in which the trees share costs are exact inequalities too, and are needed."""
    reasons: dict[str, int] = {}
    for seed in range(2):
        _, seen = proved(continuous(model, 10, seed)[0])
        reasons = {name: reasons.get(name, 0) + seen.get(name, 0) for name in {*reasons, *seen}}
    assert reasons.get("sharing", 0) > 10, reasons
    assert reasons.get("sum", 0) > 10, reasons


@pytest.mark.sampled(2)
@pytest.mark.parametrize("n_jobs", [2, 5])
@pytest.mark.parametrize("seed", range(2))
def test_threads_share_one_proof(seed: int, n_jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Boxes handed from thread to thread make one tree, and the same optimum.

    That of one thread is the proof that is checked above.
    """
    engine, handed = sys.modules["cfxc.solvers.box_search.engine"], []
    monkeypatch.setattr(engine, "ALONE_UNTIL", 0)
    monkeypatch.setattr(engine, "SLICE", 1e-9)  # many short rounds
    monkeypatch.setattr(sys.modules["cfxc.solvers.box_search.thread_pool"], "FIRST_STEP", 5)
    take_on = ThreadPool._take_on
    monkeypatch.setattr(
        ThreadPool,
        "_take_on",
        lambda threads, *given: (handed.append(given[1]), take_on(threads, *given)),
    )
    query, _ = continuous(RandomForestClassifier(25, max_depth=5, random_state=0), 10, seed)
    alone = searched(query)
    assert not handed
    outcome, _ = proved(query, n_jobs=n_jobs)
    assert outcome.best.distance == alone.best.distance
    assert len(handed) > 5


def test_a_proof_does_not_show_more_than_it_says() -> None:
    """The same boxes do not refute a radius that holds a counterfactual."""
    query, _ = continuous(RandomForestClassifier(15, max_depth=4, random_state=0), 6, 1)
    outcome, _ = proved(query)
    assert evaluate(query.target_program, outcome.best.point)["in_target"]
    wider = Checker(query, outcome.best.distance)
    with pytest.raises(AssertionError):
        wider.check(outcome.proof)


def test_leaves_between_the_values_of_a_grid() -> None:
    """A tree whose only leaves in reach hold no admissible value closes the ball."""
    table = pd.DataFrame({"a": [0.4, 0.445, 0.5], "b": [0.0, 0.0, 0.0]})
    model = DecisionTreeClassifier(random_state=0).fit(table, [0, 1, 0])
    space = cfxc.FeatureSpace(
        (
            Feature("a", "real", lower=0.0, upper=1.0, resolution="0.1"),
            Feature("b", "real", lower=0.0, upper=0.0, resolution="0.1"),
        )
    )
    program = cfxc.compile(model, space).program
    query = make_query(program, space, space.encode_row(table.iloc[[0]]), target=1)
    outcome, _ = proved(query)
    assert outcome.infeasible
    assert outcome.best is None


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_any_small_forest(data: st.DataObject) -> None:
    """Few values, many ties: sums that just reach what is needed, and just miss it."""
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    table = pd.DataFrame(rng.integers(0, 5, (60, 4)), columns=list("abcd"))
    target = (table.sum(axis=1) + rng.integers(0, 4, 60) > 9).astype(int)
    trees = data.draw(st.integers(1, 6))
    model = RandomForestClassifier(trees, max_depth=4, random_state=0).fit(table, target)
    rows = table[model.predict(table) == 0]
    if not len(rows) or not target.any():
        return
    space = cfxc.FeatureSpace.infer(table)
    distance = data.draw(st.sampled_from(["l0", "l1", "l2", "linf"]))
    query = make_query(
        cfxc.compile(model, space).program, space, space.encode_row(rows.iloc[[0]]), target=1,
        distance=distance,
    )  # fmt: skip
    proved(query, F(1, 10**9))

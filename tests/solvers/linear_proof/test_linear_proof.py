"""Proofs by splits and multipliers: what each part's bound claims holds at its points.

The checks know no ranges and no duals.  At any point, an inequality of a part is evaluated as it is
written; since all are at least 0 where they should hold, no point may exceed the bound of its part,
and parts whose bound is below 0 hold no counterfactual.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.neural_network import MLPClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import cfxc
from cfxc.compiler.additive import constant
from cfxc.errors import UnsupportedError, VerificationError
from cfxc.frontends.query import Query, make_query
from cfxc.solvers import mio
from cfxc.solvers.linear_proof import Ball, Branch, LinearTree, Multipliers, Part, Spans, prove
from tests.solvers.grids import NORMS, all_values
from tests.solvers.kinds import KINDS, outcome_of, task, trained
from tests.solvers.test_brute_force import RULES, restricted

F = Fraction
MIX = {"l0": 0.2, "l1": 0.5, "linf": 0.3}
LINEAR = [kind for kind in KINDS if not any(word in kind for word in ("tree", "forest"))]


def asked(kind: str, seed: int, distance: Any, rules: Any = None) -> Query:
    model, space, compiled = trained(kind)
    if rules is not None:
        space = restricted(space, rules)
        compiled = cfxc.compile(model, space)
    one = task(model, space, outcome_of(kind), seed)
    return make_query(
        compiled.program, space, space.encode_row(one.row), target=one.target, distance=distance,
        constraints=() if rules is None else rules.constraints,
    )  # fmt: skip


def solved(query: Query) -> Any:
    return mio.search(
        query, lambda _: True, epsilon=F(1, 10**4), seconds=60, rng=np.random.default_rng(0)
    )


class Checker:
    """What a tree must show, at points."""

    def __init__(self, tree: LinearTree) -> None:
        self.tree, self.ball = tree, Ball(tree.query, tree.radius)
        self.known: dict[tuple[int, int], F] = {}
        for lemma in tree.lemmas:
            form = self.ball.units.forms[lemma.unit].scaled(F(lemma.side))
            spans = self.ball.spans(self.ball.root, self.known)
            assert spans is not None
            assert self.ball.most(form, lemma.by, self.ball.root, spans) <= lemma.bound
            self.known[lemma.unit, lemma.side] = lemma.bound

    def leaves(self) -> list[tuple[Part, Multipliers, Spans | None]]:
        """All closed parts, each of them closed by its multipliers."""
        found, stack, seen = [], [(0, self.ball.root)], 0
        while stack:
            place, part = stack.pop()
            node, seen = self.tree.nodes[place], seen + 1
            if isinstance(node, Branch):
                stack += zip(node.children, self.halves(node, part), strict=True)
                continue
            spans = self.ball.spans(part, self.known)
            assert spans is None or self.ball.closes(node, part, spans)
            found.append((part, node, spans))
        assert seen == len(self.tree.nodes)
        return found

    def halves(self, node: Branch, part: Part) -> tuple[Part, Part]:
        if node.unit is not None:
            return part.signed(node.unit, -1), part.signed(node.unit, 1)
        (domain,) = (d for d in self.tree.query.domains if d.name == node.feature)
        if domain.is_symbolic:
            place = frozenset({domain.labels.position(node.label)})
            rest = part.labels[domain.name] - place
            return part.among(domain.name, place), part.among(domain.name, rest)
        low, high = part.ranges[domain.name]
        cut, after = node.cut, node.after
        assert cut is not None
        assert after is not None
        assert low <= cut <= after <= high
        if cut < after:  # nothing admissible lies between
            beside = domain.ceil(float(np.nextafter(float(cut), np.inf)))
            assert beside is not None
            assert beside >= after
        return part.within(domain.name, low, cut), part.within(domain.name, after, high)


def values(ball: Ball, point: dict[str, Any]) -> dict[tuple[Any, ...], F]:
    """Every atom of the forms at a point."""
    found: dict[tuple[Any, ...], F] = {}
    for domain in ball.query.domains:
        value = point[domain.name]
        if domain.is_symbolic:
            for i, label in enumerate(domain.feature.labels):
                here = type(label) is type(value) and label == value
                found["is", domain.name, i] = F(here)
        else:
            found["x", domain.name] = F(value)
    for k, step in enumerate(ball.units.steps):
        z = at(step.form, found)
        found["step", k] = F(z > 0 or (z == 0 and not step.strict))
    assert not ball.units.rounded
    for k, form in enumerate(ball.units.forms):
        found["unit", k] = max(at(form, found), F(0))
    return found


def at(form: Any, found: dict[tuple[Any, ...], F]) -> F:
    return form.constant + sum((f * found[key] for key, f in form.terms.items()), F(0))


def random_point(query: Query, rng: np.random.Generator) -> dict[str, Any]:
    point = {}
    for domain in query.domains:
        if domain.is_symbolic:
            point[domain.name] = domain.allowed[int(rng.integers(len(domain.allowed)))]
        elif domain.step is None:
            near = float(domain.factual) + rng.normal(0, 0.2) * float(domain.feature.range)
            point[domain.name] = domain.floor(float(np.clip(near, domain.lower, domain.upper)))
        else:
            options = [
                v for v in all_values(domain.feature, domain.factual)
                if domain.lower <= v <= domain.upper
            ]  # fmt: skip
            point[domain.name] = options[int(rng.integers(len(options)))]
    return point


def holds(part: Part, ball: Ball, point: dict[str, Any], found: dict[Any, F]) -> bool:
    inside = all(low <= point[name] <= high for name, (low, high) in part.ranges.items())
    labels = {d.name: d.labels for d in ball.query.domains if d.is_symbolic}
    inside = inside and all(
        labels[name].position(point[name]) in kept for name, kept in part.labels.items()
    )
    return inside and all(
        sign * at(ball.units.forms[k], found) >= 0 for k, sign in part.signs.items()
    )


def look(tree: LinearTree, seed: int, count: int = 60) -> dict[str, int]:
    """Bounds of parts at random points, and that parts cover the ball."""
    checker, rng = Checker(tree), np.random.default_rng(seed)
    ball, leaves, seen = checker.ball, checker.leaves(), {"inside": 0, "target": 0}
    for _ in range(count):
        point = random_point(tree.query, rng)
        found = values(ball, point)
        if not tree.query.constraints:
            meets = all(
                at(row.form, found) > 0 or (at(row.form, found) == 0 and not row.strict)
                for row in ball.rows
            )
            assert meets == tree.query.in_target(point), "the forms are the program"
            seen["target"] += meets
        distance = tree.query.distance_to(point)
        own = [leaf for leaf in leaves if holds(leaf[0], ball, point, found)]
        if distance < tree.radius:
            assert own, "parts cover the ball"
            assert not tree.query.in_target(point) or tree.query.violated(point)
        given = [(constant(0), leaf[1], leaf[0]) for leaf in own]
        if holds(ball.root, ball, point, found):
            units = ball.units.forms
            given += [(units[x.unit].scaled(F(x.side)), x.by, ball.root) for x in tree.lemmas]
        for form, by, part in given:
            spans = ball.spans(part, {})  # lemmas hold where the target does, so nowhere here
            assert spans is not None
            total = at(form, found) + by.budget * (tree.radius - distance)
            for (kind, k), y in by.y.items():
                total += y * inequality(ball, part, spans, kind, k, found)
            assert total <= ball.most(form, by, part, spans)
            seen["inside"] += 1
    return seen


def inequality(ball: Ball, part: Part, spans: Spans, kind: str, k: int, found: Any) -> F:
    """The left side of g >= 0 at a point; of the largest change, what it may add to d at most."""
    if kind == "peak":
        return F(0)
    if kind == "row":
        return at(ball.rows[k].form, found)
    z, h = at(ball.units.forms[k], found), found["unit", k]
    if kind == "sign":
        assert part.signs[k] * z >= 0
        return part.signs[k] * z
    low, high = spans.units[k]
    assert low <= z <= high
    if kind == "above":
        return h - z
    slope = F(float(high / (high - low)))
    value = slope * z + max(-slope * low, high - slope * high) - h
    assert value >= 0
    return value


@pytest.mark.parametrize("distance", [*NORMS, "mix"])
@pytest.mark.parametrize("kind", LINEAR)
def test_every_kind(kind: str, distance: str) -> None:
    spec = MIX if distance == "mix" else distance
    inside = 0
    for seed in (3, 4):
        query = asked(kind, seed, spec)
        outcome = solved(query)
        tree = outcome.proof.make(30.0)
        assert tree is not None, "a proof is found"
        assert tree.radius == outcome.lower
        inside += look(tree, seed)["inside"]
        beyond = outcome.best.distance * F(100_001, 100_000)
        assert prove(query, beyond, 10.0) is None, "there is a counterfactual within"
    assert inside


@pytest.mark.parametrize("kind", ["relu", "relu for numbers", "logistic"])
def test_under_actions_and_constraints(kind: str) -> None:
    """Constraints that are no conjunctions of linear forms are left out, which proves less."""
    query = asked(kind, 11, "l1", RULES[KINDS[kind][2]])
    outcome = solved(query)
    if outcome.infeasible:
        assert outcome.proof is not None
        return
    tree = outcome.proof.make(10.0)
    if tree is not None:
        look(tree, 5)


def test_continuous_features() -> None:
    data, target = make_classification(200, 6, n_informative=5, n_redundant=0, random_state=2)
    table = pd.DataFrame(data, columns=list("abcdef"))
    model = MLPClassifier((8, 8), max_iter=400, random_state=0).fit(table, target)
    space = cfxc.FeatureSpace.infer(table)
    program = cfxc.compile(model, space).program
    for distance in ("l0", "l1", "l2", "linf"):
        row = table[model.predict(table) == 0].iloc[[1]]
        query = make_query(program, space, space.encode_row(row), target=1, distance=distance)
        outcome = mio.search(
            query, lambda _: True, epsilon=F(1, 100), seconds=60, rng=np.random.default_rng(0)
        )
        tree = outcome.proof.make(60.0)
        assert tree is not None
        assert look(tree, 7, 30)


def test_a_proof_that_was_tampered_with() -> None:
    query = asked("relu", 3, "l1")
    tree = solved(query).proof.make()
    place = next(i for i, n in enumerate(tree.nodes) if isinstance(n, Multipliers) and n.y)
    wrong = Multipliers({}, F(1))
    nodes = (*tree.nodes[:place], wrong, *tree.nodes[place + 1 :])
    with pytest.raises(AssertionError):
        Checker(LinearTree(query, tree.radius, tree.lemmas, nodes)).leaves()
    key = next(iter(tree.nodes[place].y))
    negative = Multipliers({key: F(-1)}, F(1))
    spans = Checker(tree).ball.spans(Ball(query, tree.radius).root, {})
    for bad in (negative, Multipliers({}, F(-1)), Multipliers({("peak", 0): F(1)}, F(1))):
        with pytest.raises(VerificationError):
            Ball(query, tree.radius).closes(bad, Ball(query, tree.radius).root, spans)
    wider = LinearTree(query, tree.radius * 2, tree.lemmas, tree.nodes)
    with pytest.raises(AssertionError):
        Checker(wider).leaves()


def test_infeasible_questions_have_proofs_too() -> None:
    table = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "b": [1.0, 0.0, 1.0, 0.0]})
    model = LinearSVC().fit(table, [0, 0, 1, 1])
    space = cfxc.FeatureSpace.infer(table, fixed=["a"])
    program = cfxc.compile(model, space).program
    query = make_query(program, space, space.encode_row(table.iloc[[0]]), target=1)
    outcome = solved(query)
    assert outcome.infeasible
    tree = outcome.proof.make()
    assert tree is not None
    assert tree.radius > 1
    look(tree, 3)


def test_what_has_no_such_proof() -> None:
    table = pd.DataFrame({"a": [0, 1, 2, 3], "b": [1, 0, 1, 0]})
    model = DecisionTreeClassifier().fit(table, [0, 0, 1, 1])
    space = cfxc.FeatureSpace.infer(table)
    program = cfxc.compile(model, space).program
    query = make_query(program, space, space.encode_row(table.iloc[[0]]), target=1)
    with pytest.raises(UnsupportedError, match="no linear form"):
        prove(query, F(1, 10), 1.0)
    own = make_query(
        program, space, space.encode_row(table.iloc[[0]]), target=1, distance="return delta[1]"
    )
    with pytest.raises(UnsupportedError, match="made of norms"):
        prove(own, F(1, 10), 1.0)

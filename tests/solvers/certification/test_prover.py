"""Proofs by splits and multipliers: what each part's bound claims holds at its points.

The checks know no ranges and no duals.  At any point, an inequality of a part is evaluated as it is
written; since all are at least 0 where they should hold, no point may exceed the bound of its part,
and parts whose bound is below 0 hold no counterfactual.
"""

from __future__ import annotations

import copy
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.neural_network import MLPClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import cfxc
from cfxc.certificates.checker import Clock, Proof, Rejected, number, plus
from cfxc.certificates.checker.rules import NONE, SPLITS, Multipliers
from cfxc.errors import UnsupportedError
from cfxc.question.query import Query, make_query
from cfxc.solvers import mio
from cfxc.solvers.base import Limits, Refuted
from cfxc.solvers.certification.prover import prove
from cfxc.solvers.certification.writer import certify
from tests.certificates.handmade import NEAREST
from tests.solvers.grids import NORMS, all_values
from tests.solvers.kinds import KINDS, outcome_of, task, trained
from tests.solvers.test_brute_force import RULES, restricted

F = Fraction
CLOSE = F(1, 10**4)
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
        subject_to=() if rules is None else rules.constraints,
    )  # fmt: skip


def solved(query: Query, epsilon: Fraction = CLOSE) -> Any:
    return mio.search(query, lambda _: True, Limits(epsilon, 60))


Given = tuple[Any, Any, Any]


def given(query: Query) -> Given:
    """Features, program and question of a query, as its certificate holds them."""
    content = certify(
        query, status="feasible", point=None, lower=F(0), epsilon=0.0, proof=None, made={}
    ).to_dict()
    return content["features"], content["program"], content["question"]


def made(query: Query, outcome: Any, seconds: float = 30.0) -> tuple[Given, dict[str, Any]]:
    """The proof of what was refuted."""
    assert isinstance(outcome.proof, Refuted)
    assert outcome.proof.radius >= outcome.lower
    parts = given(query)
    found = prove(parts, outcome.proof.radius, seconds)
    assert found is not None, "a proof is found"
    assert 0 <= outcome.proof.radius - number(found["radius"]) <= outcome.proof.radius / 2**40
    return parts, found


class Leaves:
    """Closed parts of a proof that the checker takes, with the multipliers that close them."""

    def __init__(self, parts: Given, content: dict[str, Any]) -> None:
        self.proof = Proof(*parts, content, Clock(inf))
        assert sum(self.proof.walk().values()) >= 1
        self.lemmas = [
            (k, side, number(bound), self.proof.multipliers(by, {}))
            for k, side, bound, *by in content["lemmas"]
        ]
        self.found: list[tuple[list[Any], dict[int, int], str, Multipliers]] = []
        stack: list[Any] = [(0, self.proof.root, {})]
        while stack:
            place, here, signs = stack.pop()
            kind, *node = content["nodes"][place]
            if kind in SPLITS:
                halves = self.proof.halves(kind, node[:-2], here, signs)
                stack += [(child, *half) for child, half in zip(node[-2:], halves, strict=True)]
                continue
            by = self.proof.multipliers(node, signs) if kind == "bound" else NONE
            self.found.append((here, signs, kind, by))


def written(query: Query, point: dict[str, Any]) -> list[Any]:
    """A point as the checker has it: numbers, and places of labels."""
    found = []
    for domain in query.domains:
        value = point[domain.name]
        found.append(domain.labels.position(value) if domain.is_symbolic else F(value))
    return found


def random_point(query: Query, rng: np.random.Generator, root: Any) -> dict[str, Any]:
    """An admissible point; of two, one in the ball's box."""
    point, spread = {}, rng.choice([0.2, 0.05, 0.01])
    near = rng.random() < 1 / 2
    for domain, part in zip(query.domains, root, strict=True):
        options: list[Any] = []
        if domain.is_symbolic:
            options = [x for x in domain.allowed if not near or domain.labels.position(x) in part]
        elif domain.step is None:
            away = float(domain.factual) + rng.normal(0, spread) * float(domain.feature.range)
            low, high = part if near else (domain.lower, domain.upper)
            options = [domain.floor(float(np.clip(away, float(low), float(high))))]
        else:
            every = all_values(domain.feature, domain.factual)
            options = [v for v in every if domain.lower <= v <= domain.upper]
            options = [v for v in options if not near or part[0] <= v <= part[1]]
        point[domain.name] = options[int(rng.integers(len(options)))]
    return point


def inside(here: list[Any], point: list[Any]) -> bool:
    """Whether a point lies in a part."""
    for part, value in zip(here, point, strict=True):
        if isinstance(part, frozenset):
            if value not in part:
                return False
        elif None in part or not part[0] <= value <= part[1]:
            return False
    return True


def look(query: Query, parts: Given, content: dict[str, Any], seed: int) -> dict[str, int]:
    """Bounds of parts at random points, and that parts cover the ball."""
    leaves, rng = Leaves(parts, content), np.random.default_rng(seed)
    proof, seen = leaves.proof, {"inside": 0, "target": 0}
    for _ in range(40):
        raw = random_point(query, rng, proof.root)
        point = written(query, raw)
        made_of = [proof.program.at(form, point) for form in proof.program.made]
        rows = [proof.program.at(form, point) for form, _ in proof.rows]
        meets = all(
            v > 0 or (v == 0 and not strict)
            for v, (_, strict) in zip(rows, proof.target_rows, strict=False)
        )
        assert meets == query.in_target(raw), "the forms are the program"
        seen["target"] += meets
        deltas = [f.delta(v) for f, v in zip(proof.features, point, strict=True)]
        distance = proof.distance(deltas)
        assert distance == query.distance_to(raw)
        signed = [
            leaf for leaf in leaves.found
            if inside(leaf[0], point) and all(s * made_of[k] >= 0 for k, s in leaf[1].items())
        ]  # fmt: skip
        if distance < proof.radius:
            assert signed, "parts cover the ball"
            assert not meets or query.violated(raw)
        for here, signs, kind, by in signed:
            if kind == "bound":
                require_at(proof, {}, by, (here, signs), (point, made_of, distance))
                seen["inside"] += 1
        for k, side, bound, by in leaves.lemmas:
            if meets and distance < proof.radius and not query.violated(raw):
                assert side * made_of[k] <= bound
            if inside(proof.root, point):
                form = plus({}, proof.program.made[k], F(side))
                require_at(proof, form, by, (proof.root, {}), (point, made_of, distance))
                seen["inside"] += 1
    return seen


def require_at(proof: Proof, form: Any, by: Multipliers, area: Any, at: Any) -> None:
    """At a point of a part, ``form + Σ y g + μ (r - d)`` is at most what the checker says."""
    (here, signs), (point, made_of, distance) = area, at
    bounds, proof.bounds = proof.bounds, {}  # lemmas hold where the target does, so nowhere here
    spans = proof.spans(here, signs)
    assert spans is not None
    total = proof.program.at(form, point) + by.budget * (proof.radius - distance)
    for name, y in by.rows.items():
        if name[0] == "peak":
            continue
        g = proof.program.at(proof.inequality(name, signs, spans), point)
        if name[0] != "row":
            assert g >= 0, name
        total += y * g
    for k, (low, high) in enumerate(spans):
        assert low <= made_of[k] <= high
    most = proof.most(form, by, here, signs, spans)
    proof.bounds = bounds
    assert total <= most


@pytest.mark.sampled(4)
@pytest.mark.parametrize("distance", [*NORMS, "mix"])
@pytest.mark.parametrize("kind", LINEAR)
def test_every_kind(kind: str, distance: str) -> None:
    spec = MIX if distance == "mix" else distance
    found = 0
    for seed in (3, 4):
        query = asked(kind, seed, spec)
        outcome = solved(query)
        parts, content = made(query, outcome)
        found += look(query, parts, content, seed)["inside"]
        beyond = outcome.best.distance * F(100_001, 100_000)
        assert prove(parts, beyond, 10.0) is None, "there is a counterfactual within"
    assert found


@pytest.mark.parametrize("kind", ["relu", "relu for numbers", "logistic"])
def test_under_actions_and_constraints(kind: str) -> None:
    query = asked(kind, 11, "l1", RULES[KINDS[kind][2]])
    outcome = solved(query)
    parts, content = made(query, outcome)
    look(query, parts, content, 5)


@pytest.mark.parametrize("distance", ["l0", "l1", "l2", "linf"])
def test_continuous_features(distance: str) -> None:
    data, target = make_classification(200, 6, n_informative=5, n_redundant=0, random_state=2)
    table = pd.DataFrame(data, columns=list("abcdef"))
    model = MLPClassifier((8, 8), max_iter=400, random_state=0).fit(table, target)
    space = cfxc.FeatureSpace.infer(table)
    program = cfxc.compile(model, space).program
    row = table[model.predict(table) == 0].iloc[[1]]
    query = make_query(program, space, space.encode_row(row), target=1, distance=distance)
    parts, content = made(query, solved(query, F(1, 100)), 60.0)
    assert look(query, parts, content, 7)["inside"]


def test_a_proof_that_was_tampered_with() -> None:
    query = asked("relu", 3, "l1")
    parts, content = made(query, solved(query))
    Leaves(parts, content)
    bounds = [i for i, node in enumerate(content["nodes"]) if node[0] == "bound" and node[2]]
    for place in bounds:
        bare = copy.deepcopy(content)
        bare["nodes"][place] = ["bound", "1", [], []]
        with pytest.raises(Rejected, match=f"does not close node {place}"):
            Leaves(parts, bare)
    place = bounds[0]
    name, k, _ = content["nodes"][place][2][0]
    for budget, row in (("1", [name, k, "-1"]), ("-1", [name, k, "1"]), ("1", ["peak", 0, "1"])):
        bad = copy.deepcopy(content)
        bad["nodes"][place] = ["bound", budget, [row], []]
        with pytest.raises(Rejected, match=r"below 0|shares of more than there is"):
            Leaves(parts, bad)
    wider = {**content, "radius": str(number(content["radius"]) * 2)}
    with pytest.raises(Rejected):
        Leaves(parts, wider)
    for i, (_, _, bound, *_) in enumerate(content["lemmas"]):
        tighter = copy.deepcopy(content)
        tighter["lemmas"][i][2] = str(number(bound) - F(1, 100))
        with pytest.raises(Rejected, match=rf"proof.lemmas\[{i}\]: the bound is not shown"):
            Leaves(parts, tighter)


def test_infeasible_questions_have_proofs_too() -> None:
    table = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "b": [1.0, 0.0, 1.0, 0.0]})
    model = LinearSVC().fit(table, [0, 0, 1, 1])
    space = cfxc.FeatureSpace.infer(table, fixed=["a"])
    program = cfxc.compile(model, space).program
    query = make_query(program, space, space.encode_row(table.iloc[[0]]), target=1)
    outcome = solved(query)
    assert outcome.infeasible
    parts, content = made(query, outcome)
    assert number(content["radius"]) > 1
    look(query, parts, content, 3)


def test_trees_have_such_a_proof_and_other_distances_none() -> None:
    table = pd.DataFrame({"a": [0, 1, 2, 3], "b": [1, 0, 1, 0]})
    model = DecisionTreeClassifier().fit(table, [0, 0, 1, 1])
    space = cfxc.FeatureSpace.infer(table)
    program = cfxc.compile(model, space).program
    row = space.encode_row(table.iloc[[0]])
    parts = given(make_query(program, space, row, target=1))
    found = prove(parts, F(1, 10), 5.0)
    assert found is not None
    assert Proof(*parts, found, Clock(inf)).walk()
    own = make_query(program, space, row, target=1, distance="return delta[1]")
    with pytest.raises(UnsupportedError, match="made of l0, l1, l2 and linf"):
        given(own)


X, Y, IS, ONE = ["x", 0], ["x", 1], ["is", 2, 1], ["one", 0]


@pytest.mark.parametrize("inner", [[X, Y], [IS], [Y], [ONE], [ONE, Y], []])
def test_curves_of_anything_are_proved_or_left(inner: list[Any]) -> None:
    """Programs that are read here have curves of one form each; others end no prover."""
    content: dict[str, Any] = copy.deepcopy(NEAREST)
    program = content["program"]
    program["made"] = [["sigmoid", [[source, "1"] for source in inner]]]
    program["outputs"][1] = [[ONE, "-3"], [X, "1"], [Y, "1"], [["sigmoid", 0], "1/3"]]
    parts = content["features"], program, content["question"]
    found = prove(parts, F(1, 8), 30.0)
    assert found is not None
    assert Proof(*parts, found, Clock(inf)).walk()
    assert prove(parts, F(1), 0.5) is None, "there is a counterfactual within"


def test_too_little_time_gives_no_proof() -> None:
    query = asked("relu", 3, "l1")
    assert prove(given(query), solved(query).lower, -1.0) is None

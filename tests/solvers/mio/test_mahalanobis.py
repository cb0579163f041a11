"""The Mahalanobis distance against enumeration, and what follows from a radius."""

from __future__ import annotations

import sys
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cfxc
from cfxc import FeatureSpace
from cfxc.question.query import Query, make_query
from cfxc.solvers.base import Deployed, Limits, Point
from cfxc.solvers.encoding.squares import whitened_limits
from cfxc.solvers.smt import backend as smt_backend
from cfxc.solvers.smt import search as smt_search
from tests.solvers.grids import brute_force, frame_of, root
from tests.solvers.kinds import KINDS, SMOOTH, outcome_of, task, trained
from tests.solvers.mahalanobis import measured, scattered
from tests.solvers.mio.test_search import check, real_network, run
from tests.solvers.test_brute_force import RULES, restricted

F = Fraction
SEARCH = sys.modules["cfxc.solvers.mio.search"]


def unweighted(space: FeatureSpace) -> FeatureSpace:
    return FeatureSpace(tuple(replace(feature, weight=F(1)) for feature in space))


def asked(kind: str, seed: int, rules: Any = None) -> tuple[Query, Deployed, list[Any]]:
    """The query of one person, the original model on points, and all answers, nearest first."""
    model, space, _ = trained(kind)
    space = unweighted(space if rules is None else restricted(space, rules))
    compiled = cfxc.compile(model, space)
    spec, metric = measured(space, scattered(unweighted(trained(kind)[1]), seed))
    one = task(model, space, outcome_of(kind), seed)
    constraints = () if rules is None else rules.constraints
    query = make_query(
        compiled.program, space, space.encode_row(one.row),
        target=one.target, distance=spec, subject_to=constraints,
    )  # fmt: skip

    def deployed(point: Point) -> bool:
        return bool(one.wanted(model.predict(frame_of(space, [dict(point)]))[0]))

    conditions = () if rules is None else rules.conditions
    best = brute_force(space, one.own, model.predict, one.wanted, metric, conditions)
    return query, deployed, best


@pytest.mark.sampled(4)
@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("kind", sorted(KINDS.keys() - set(SMOOTH)))
def test_every_kind(kind: str, alone: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without a local search, which finds most optima."""
    if alone:
        monkeypatch.setattr("cfxc.solvers.incumbent.first_candidate", lambda *_: None)
        monkeypatch.setattr("cfxc.solvers.incumbent.around", lambda _, point: [point])
    query, deployed, best = asked(kind, len(kind))
    check(run(query, deployed), query, best)
    query, deployed, best = asked(kind, 11 + len(kind), RULES[KINDS[kind][2]])
    check(run(query, deployed), query, best)


@pytest.mark.parametrize("kind", ["logistic", "relu of 3", "forest", "tree for numbers"])
def test_the_oracle_gives_the_same(kind: str) -> None:
    query, deployed, best = asked(kind, len(kind))
    outcome = smt_search(query, deployed, Limits(F(1, 1000), 60), smt_backend("z3"))
    assert outcome.best is not None
    assert root(outcome.lower) <= best[0].distance <= root(outcome.best.distance)
    assert root(outcome.lower) >= F(998, 1000) * root(outcome.best.distance)


@pytest.mark.parametrize("seed", [0, 1])
def test_continuous_features_agree_with_the_oracle(seed: int) -> None:
    model, table = real_network(seed, 4)
    space = FeatureSpace.infer(table)
    compiled = cfxc.compile(model, space)
    spec = cfxc.Mahalanobis(table)
    for i in np.flatnonzero(model.predict(table) == 0)[:3]:
        row = table.iloc[[i]]
        exact = compiled.explain(row, target=1, distance=spec)
        oracle = compiled.explain(row, target=1, distance=spec, method="smt", time_limit=10)
        assert exact.status == "optimal"
        assert exact.solver == "HiGHS"
        assert exact.distance is not None
        assert oracle.distance is not None
        assert exact.lower_bound <= oracle.distance
        assert oracle.lower_bound <= exact.distance


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["logistic", "logistic of 3", "relu for numbers"]))
def test_nothing_within_the_radius_lies_beyond_the_limits(seed: int, kind: str) -> None:
    """Of random points, those within a radius respect every feature's limit there; exactly."""
    _, space, compiled = trained(kind)
    space = unweighted(space)
    spec, metric = measured(space, scattered(space, seed % 7))
    model, _, _ = trained(kind)
    one = task(model, space, outcome_of(kind), seed)
    query = make_query(
        compiled.program, space, space.encode_row(one.row), target=one.target, distance=spec
    )
    rng = np.random.default_rng(seed)
    for _ in range(5):
        point = dict(one.own)
        for domain in rng.choice(np.array(query.domains, dtype=object), 2):
            values = domain.labels if domain.is_symbolic else (domain.lower, domain.upper)
            value = values[int(rng.integers(len(values)))]
            point[domain.name] = int(value) if domain.sort.kind == "int" else value
        square = query.distance_to(point)
        assert root(square) == metric([], point, one.own)
        limits = whitened_limits(query, square)
        for domain, limit in zip(query.domains, limits, strict=True):
            assert limit is None or domain.delta(point[domain.name]) <= limit

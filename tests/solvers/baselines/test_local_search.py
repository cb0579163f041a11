"""The local search: admissible points, deterministic, verified by the exact program."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cfxc
from cfxc import FeatureSpace
from cfxc.ir import evaluate
from cfxc.lang import compile_program
from cfxc.question.domain import is_admissible
from cfxc.question.query import Query, make_query
from cfxc.solvers.base import verify
from cfxc.solvers.baselines import LocalSearch
from cfxc.solvers.baselines.local_search import model_cuts
from cfxc.space import Feature
from cfxc.stopping import TimeUp, until
from tests.solvers.grids import NORMS, Point
from tests.solvers.kinds import KINDS, outcome_of, task, trained
from tests.solvers.test_brute_force_properties import Asked, forests, linear_models, questions

F = Fraction

SPACE = FeatureSpace(
    (
        Feature("n", "integer", lower=F(0), upper=F(20)),
        Feature("r", "real", lower=F(0), upper=F(1), resolution="0.1"),
        Feature("c", "categorical", labels=("x", "y", None)),
    )
)
OWN: Point = {"n": 3, "r": F(0.5), "c": "x"}


def by_hand(text: str, **options: Any) -> Query:
    program = compile_program(
        f'program p(n: Int, r: Real, c: Category{{"x", "y", none}}) {{ {text} }}'
    )
    return make_query(program, SPACE, OWN, target=(1, None), **options)


def search(query: Query, seed: int = 0) -> LocalSearch:
    return LocalSearch(query, np.random.default_rng(seed))


STEP = 'if n >= 9 || (r > 0.85 && c == "y") then return value = 1 else return value = n / 100'


@settings(max_examples=80, derandomize=True)
@given(st.one_of(questions(forests), questions(linear_models)), st.sampled_from(list(NORMS)))
def test_candidates_are_admissible(asked: Asked, distance: str) -> None:
    query = make_query(
        asked.program, asked.space, asked.own, target=asked.target, distance=distance
    )
    found = search(query).candidates([asked.own])
    assume(found)
    for point in found:
        assert all(is_admissible(domain, point[domain.name]) for domain in query.domains)
    away = [query.distance_to(point) for point in found]
    assert away == sorted(away)
    assert len({tuple(point.items()) for point in found}) == len(found)


@pytest.mark.parametrize("kind", KINDS)
def test_something_is_found_for_every_kind(kind: str) -> None:
    model, space, compiled = trained(kind)
    hits = 0
    for seed in (1, 2, 3):
        asked = task(model, space, outcome_of(kind), seed)
        query = make_query(compiled.program, space, asked.own, target=asked.target)
        points = search(query).candidates()
        hits += any(verify(query, point, lambda p: True) is not None for point in points)
    assert hits, "greedy steps ought to reach some target"


def test_it_needs_no_solver_on_easy_steps() -> None:
    query = by_hand(STEP)
    nearest = min(search(query).candidates(), key=query.distance_to)
    assert query.in_target(nearest)
    assert query.distance_to(nearest) == F(6, 20) / 3
    everywhere = [p for p in search(query).candidates() if query.in_target(p)]
    assert everywhere


def test_rows_and_points() -> None:
    made = search(by_hand(STEP))
    for point in (OWN, {"n": 20, "r": F(0.1), "c": None}, {"n": 0, "r": F(1), "c": "y"}):
        back = made.point(made.row(point))
        assert back == point
        assert [type(value) for value in back.values()] == [type(v) for v in point.values()]


def test_hits_and_distances_are_those_of_the_query() -> None:
    query = by_hand(
        STEP, distance={"l0": 0.5, "linf": 0.5}, subject_to=["n != 9", "n >= factual.n"]
    )
    made = search(query)
    points = [
        {"n": n, "r": F(float(r)), "c": c}
        for n in (0, 3, 9, 10, 20)
        for r in (0.0, 0.5, 0.9)
        for c in ("x", "y", None)
    ]
    rows = np.array([made.row(point) for point in points])
    good = [query.in_target(p) and not query.violated(p) for p in points]
    assert made.hits(rows).tolist() == good
    assert any(good)
    assert not all(good)
    exact = [float(query.distance_to(point)) for point in points]
    np.testing.assert_allclose(made.distances(rows), exact, rtol=1e-12, atol=1e-15)


def test_shrinking_goes_back_towards_the_factual() -> None:
    query = by_hand(STEP)
    made = search(query)
    far: Point = {"n": 20, "r": F(1), "c": None}
    near = made.point(made.shrink(made.row(far)))
    assert query.in_target(near)
    assert query.distance_to(near) < query.distance_to(far)
    assert near["c"] == "x"
    assert near["r"] == OWN["r"]
    assert near["n"] == 9


def test_changes_are_undone_until_the_end_and_not_after_it() -> None:
    query = by_hand(STEP, distance="linf")
    made = search(query)
    far: Point = {"n": 20, "r": F(1), "c": None}
    assert made.undone(far, float("-inf")) == []
    undone = made.undone(far, float("inf"))
    assert {**OWN, "n": 9} in undone
    assert made.undone(undone[0], float("inf")) == []


def test_scores_rise_towards_the_target() -> None:
    made = search(by_hand("return value = n / 10"))
    rows = np.array([made.row({**OWN, "n": n}) for n in range(12)])
    scores = made.scores(rows)
    assert (np.diff(scores[:10]) > 0).all()
    assert scores[10] == scores[11] == 0, "inside nothing is missing"


def test_fixed_features_do_not_move() -> None:
    space = SPACE.replace("n", action="fixed").replace("c", action="fixed")
    program = by_hand(STEP).program
    query = make_query(program, space, OWN, target=(1, None))
    made = search(query)
    assert [len(made.moves(j, made.start)) > 0 for j in range(3)] == [False, True, False]
    assert not any(query.in_target(point) for point in made.candidates())


def test_the_same_seed_gives_the_same_candidates() -> None:
    model, space, compiled = trained("forest")
    asked = task(model, space, "two", seed=2)
    query = make_query(compiled.program, space, asked.own, target=asked.target)
    assert search(query, 7).candidates() == search(query, 7).candidates()


def test_cuts_of_the_models_trees() -> None:
    model, _, compiled = trained("tree plain")
    cuts = model_cuts(compiled.program)
    tree = model[-1].tree_
    for j, name in enumerate(compiled.space.names[:3]):
        thresholds = tree.threshold[tree.feature == j]
        values = np.unique(cuts[name])
        # float32(x) <= t: the cut is the last double that rounds to at most t
        assert len(values) == len(np.unique(thresholds))
        assert np.allclose(values, np.unique(thresholds), atol=1e-6)
        assert cuts[name].tolist() == sorted(set(cuts[name].tolist()))


def test_cuts_are_cached_per_program() -> None:
    _, _, compiled = trained("tree plain")
    assert model_cuts(compiled.program) is model_cuts(compiled.program)
    assert not any(cuts.size for cuts in model_cuts(by_hand(STEP).program).values())
    assert evaluate(by_hand(STEP).program, OWN)["value"] == F(3, 100)


def test_under_linf_all_features_move_back_at_once() -> None:
    """Single moves leave the largest change where it is."""
    names = ("a", "b", "c")
    space = FeatureSpace([Feature(name, "real", lower=F(0), upper=F(1)) for name in names])
    program = compile_program(
        "program p(a: Real, b: Real, c: Real) "
        "{ if a >= 0.5 && b >= 0.5 && c >= 0.25 then return value = 1 else return value = 0 }"
    )
    own = dict.fromkeys(names, F(0))
    query = make_query(program, space, own, target=(1, None), distance="linf")
    local = search(query)
    far = np.ones(3)
    assert local.distances(local.shrink(far)[None])[0] == 1
    near = local.nearer(far)
    assert local.hits(near[None])[0]
    assert 0.5 <= local.distances(near[None])[0] < 0.6
    assert verify(query, local.point(near), lambda _: True) is not None


def test_what_was_found_is_kept_when_the_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under linf the climb finds a row long before all is tried."""

    def late(_: LocalSearch) -> list[Any]:
        raise TimeUp

    query = by_hand(STEP, distance="linf")
    whole = search(query).candidates()
    monkeypatch.setattr(LocalSearch, "_inflate", late)
    found = search(query).candidates()
    assert found
    assert all(verify(query, point, lambda _: True) for point in found)
    assert query.distance_to(whole[0]) <= query.distance_to(found[0])
    monkeypatch.setattr(LocalSearch, "_climb", lambda *_: late(search(query)))
    with pytest.raises(TimeUp):
        search(query).candidates()
    with until(0.0):  # seeds are not moved, and not lost
        assert search(query).candidates([{**OWN, "n": 20}]) == [{**OWN, "n": 20}]


@pytest.mark.parametrize("make", [
    lambda: RandomForestClassifier(20, max_depth=6, random_state=0),
    lambda: GradientBoostingClassifier(n_estimators=30, random_state=0),
    lambda: make_pipeline(StandardScaler(), LogisticRegression()),
], ids=["forest", "boosting", "logistic"])  # fmt: skip
def test_answers_under_linf_change_nothing_without_need(make: Any) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 10)), columns=[f"x{i}" for i in range(10)])
    total = X.to_numpy() @ rng.normal(size=10)
    model = make().fit(X, total > np.quantile(total, 0.7))
    compiled = cfxc.compile(model, cfxc.FeatureSpace.infer(X))
    for i in np.flatnonzero(~model.predict(X))[:6]:
        answer = compiled.explain(X.iloc[[i]], target=True, distance="linf")
        assert answer.status == "optimal"
        for name in answer.changes:
            kept = answer.counterfactual.assign(**{name: X[name].iloc[i]})
            assert not model.predict(kept)[0]

"""Rows that searches start from: the same optimum, and what is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import cfxc
from cfxc.answers.explaining import Explainer
from cfxc.answers.seeds import (
    EXAMPLES,
    NEAREST,
    _first_hits,
    _nearest_first,
    _points_of,
    nearest_of,
)
from cfxc.errors import CfxcError
from cfxc.solvers.baselines import LocalSearch
from cfxc.solvers.box_search import engine
from cfxc.solvers.box_search.climb import make_forest, shrunk
from cfxc.solvers.box_search.problem import make_problem
from cfxc.stopping import TimeUp
from tests.methods.amortised.loans import compiled, fitted, loans, refused


@pytest.mark.parametrize(
    ("kind", "method"),
    [("forest", "box"), ("boosting", "box"), ("linear", "mio"), ("linear", "smt")],
)
def test_the_optimum_stays_the_same(kind: str, method: str) -> None:
    model, made = compiled(kind), fitted(kind)
    for i in range(2):
        person = refused(model, 2).iloc[[i]]
        rows = made.generate(person, n=30, target=1)
        plain = model.explain(person, target=1, method=method)
        given = model.explain(person, target=1, method=method, seeds=rows)
        asked = model.explain(person, target=1, method=method, seeds=made)
        assert plain.seeds == (0, 0)
        assert given.seeds == (30, 30)
        assert asked.seeds[0] == asked.seeds[1] > 0
        for one in (given, asked):
            assert one.status == "optimal"
            assert one.distance is not None
            assert plain.distance is not None
            assert abs(one.distance - plain.distance) <= 1e-3
            assert one.lower_bound <= plain.distance
            assert one.nodes <= plain.nodes


@pytest.mark.parametrize("kind", ["forest", "boosting", "linear"])
@pytest.mark.parametrize("every", [1, 7, 10_000])
def test_the_first_examples_are_those_of_the_whole_table(kind: str, every: int) -> None:
    """Also where few rows are in the target, or none."""
    model = compiled(kind)
    asked = Explainer.of(model, cfxc.Question(target=1))
    query, _ = asked.pose(refused(model, 1))
    local = LocalSearch(query, np.random.default_rng(0))
    codes = query.space.encode_frame(loans(), check_range=False)
    rows = np.column_stack([codes[name] for name in query.space.names]).astype(np.float64)
    hits = local.hits(rows)
    rows = rows[~hits | (np.cumsum(hits) % every == 0)]
    whole, first = (
        _nearest_first(local, rows)[:EXAMPLES],
        _first_hits(local, rows, EXAMPLES)[:EXAMPLES],
    )
    assert whole.tolist() == first.tolist()


@pytest.mark.parametrize("kind", ["forest", "boosting"])
def test_cells_of_rows_and_the_way_back(kind: str) -> None:
    """A row's cells hold it; moved towards the person it stays valid and comes no farther."""
    model, made = compiled(kind), fitted(kind)
    person = refused(model, 1)
    rows = made.generate(person, n=40, target=1)
    asked = Explainer.of(model, cfxc.Question(target=1, method="box", time_limit=9))
    query, _ = asked.pose(person)
    decision, cells = make_problem(query).sketch()
    points = [model.space.encode_row(rows.iloc[[i]]) for i in range(len(rows))]
    chosen = [cells.around(query, point) for point in points]
    for point, cell in zip(points, chosen, strict=True):
        nearest = cells.values(query, cell)
        assert query.in_target(nearest)
        assert query.distance_to(nearest) <= query.distance_to(point)
        assert (cells.around(query, nearest) == cell).all()
    moved = [cells.values(query, cell) for cell in shrunk(make_forest(decision, cells), chosen)]
    assert all(query.in_target(point) and not query.violated(point) for point in moved)
    away = [query.distance_to(point) for point in moved]
    assert away == sorted(away)
    assert away[0] <= min(query.distance_to(point) for point in points)


def test_rows_are_read_exactly() -> None:
    """All at once as one by one; whole numbers that doubles do not hold, too."""
    space = cfxc.FeatureSpace(
        [
            cfxc.Feature("n", "integer", lower=0, upper=2**60),
            cfxc.Feature("r", "real", lower=0, upper=9, dtypes=("float32",)),
            cfxc.Feature("c", "categorical", labels=("u", "v")),
        ]
    )
    X = pd.DataFrame({"n": [2**53 + 1, 3], "r": np.float32([0.1, 7.5]), "c": ["u", "v"]})
    for rows in (X, X.iloc[1:]):
        one_by_one = [space.encode_row(rows.iloc[[i]]) for i in range(len(rows))]
        read = _points_of(space, rows)
        assert read == one_by_one
        kinds = [[type(value) for value in point.values()] for point in read]
        assert kinds == [[type(value) for value in point.values()] for point in one_by_one]
    assert _points_of(space, X.iloc[:0]) == []


@pytest.mark.parametrize("doubt", [0, 3, 10**6])
def test_what_is_hoped_of_seeds_does_not_matter(
    doubt: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bad seeds, few of them, and a search that leaps at once: the same optimum, as well proved."""
    for name, value in (("EASY", 0), ("MANY", 1), ("DOUBT", doubt)):
        monkeypatch.setattr(engine, name, value)
    model = compiled("forest")
    people = refused(model, 3)
    rows = loans()[model.predict(loans()) == 1].iloc[::40]
    for i in range(3):
        plain = model.explain(people.iloc[[i]], target=1)
        given = model.explain(people.iloc[[i]], target=1, seeds=rows)
        assert plain.distance is not None
        assert given.distance is not None
        assert abs(given.distance - plain.distance) <= 1e-3
        assert given.lower_bound >= given.distance - 1e-3
        assert cfxc.check(given.certificate).ok


def test_rows_are_moved_while_there_is_time() -> None:
    model = compiled("linear")
    query, _ = Explainer.of(model, cfxc.Question(target=1)).pose(refused(model, 1))
    points = _points_of(model.space, loans().iloc[:80])
    plain, valid = nearest_of(query, points, 0)
    late, _ = nearest_of(query, points, 0, 1e-9)
    moved, found = nearest_of(query, points, 0, 60.0)
    assert (valid, len(plain)) == (found, found)
    assert len(late) == 2 * NEAREST
    assert all(point in plain[:NEAREST] for point in late)
    assert len(moved) == 2 * NEAREST
    assert query.distance_to(moved[0]) < query.distance_to(plain[0])
    assert all(point in moved for point in plain[:NEAREST])


def test_rows_that_are_no_counterfactuals_are_passed_over() -> None:
    model, person = compiled("forest"), refused(compiled("forest"), 1)
    people = loans()
    others = people[people["job"] != person["job"].iloc[0]].iloc[:5]  # job is fixed
    result = model.explain(person, target=1, seeds=others)
    assert result.seeds == (5, 0)
    assert result.distance == model.explain(person, target=1).distance


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (lambda: loans().drop(columns="age"), "age"),
        (lambda: loans().assign(housing="tent"), "tent"),
        (lambda: [1, 2], "DataFrame"),
        (lambda: fitted("boosting"), "another model"),
        (lambda: cfxc.Generator(compiled("forest")), "not fitted"),
    ],
)
def test_bad_seeds_are_refused(given: Any, said: str) -> None:
    with pytest.raises(CfxcError, match=said):
        compiled("forest").explain(refused(compiled("forest"), 1), target=1, seeds=given())


@pytest.mark.parametrize("diversity", ["pool", cfxc.Diverse()])
def test_given_rows_are_known_where_no_engine_was_chosen_in_time(
    diversity: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And it is said that no further answer was found, which is no proof that there is none."""
    model = compiled("forest")
    person = refused(model, 1)
    rows = loans()[model.predict(loans()) == 1]
    asked = cfxc.Question(target=1, count=3, diversity=diversity, seeds=rows, time_limit=1e-9)
    explainer = Explainer.of(model, asked)
    query, _ = explainer.pose(person)
    monkeypatch.setattr(Explainer, "_posed", lambda *_: (query, None, "time limit"))
    answer = explainer.answer(person)
    assert (answer.status, answer.stop_reason, answer.alternatives) == ("feasible", "unknown", ())
    nearest = min(query.distance_to(point) for point in _points_of(model.space, rows))
    assert 0 < answer.distance <= float(nearest)  # moved towards the person as far as the time goes


def test_no_known_row_stands_in_for_one_of_a_region_that_was_not_built_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whether it lies in the region is not known."""
    model = compiled("linear")
    person = refused(model, 1)
    rows = loans()[model.predict(loans()) == 1]

    def in_hulls(self: Explainer, query: Any) -> Any:
        raise TimeUp

    region = cfxc.TrustRegion(rows[:9], epsilon=0.1)
    monkeypatch.setattr(Explainer, "_in_hulls", in_hulls)
    for seeds in (None, rows[9:]):
        for count in (1, 3):
            answer = model.explain(person, target=1, subject_to=[region], seeds=seeds, count=count)
            assert (answer.status, answer.counterfactual) == ("unknown", None)

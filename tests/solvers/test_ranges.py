"""Ranges of numbers whose ends the deployed model reaches by rounding, and ranges of one value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import AdaBoostRegressor, GradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

import cfxc
from cfxc.solvers import engines

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(RNG.integers(0, 9, (200, 3)), columns=list("abc"))
WORTH = TABLE.a * 1.1 - TABLE.b * 0.7 + RNG.normal(size=200)
GRID = pd.DataFrame(np.stack(np.meshgrid(*[range(9)] * 3), -1).reshape(-1, 3), columns=list("abc"))
SPACE = cfxc.FeatureSpace.infer(TABLE)
FOREST = RandomForestRegressor(10, max_depth=5, random_state=0).fit(TABLE, WORTH)


def ends_of(model: Any) -> list[tuple[float | None, float | None]]:
    """Ranges that begin or end exactly at the largest or the smallest prediction."""
    values = model.predict(GRID)
    return [(float(values.max()), None), (None, float(values.min()))]


def nearest(row: pd.DataFrame, fits: np.ndarray) -> float:
    """The l1 distance of the nearest row of the grid that fits."""
    apart = (GRID[fits] - row.to_numpy()[0]).abs().sum(axis=1)
    return float(apart.min()) / 24


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "kind",
    [
        RandomForestRegressor(10, max_depth=5), RandomForestRegressor(3, max_depth=3),
        GradientBoostingRegressor(n_estimators=10, max_depth=2), LinearRegression(),
    ],
    ids=["forest", "small forest", "boosting", "linear"],
)  # fmt: skip
def test_an_end_that_the_model_predicts_is_reached(kind: Any, seed: int) -> None:
    """The deployed model has such a row: nobody may be told that there is none."""
    model = kind if isinstance(kind, LinearRegression) else kind.set_params(random_state=seed)
    model.fit(TABLE, WORTH)
    compiled = cfxc.compile(model, SPACE)
    for low, high in ends_of(model):
        values = model.predict(GRID)
        fits = values >= low if low is not None else values <= high
        row = TABLE.iloc[[seed]]
        answer = compiled.explain(row, target=(low, high))
        assert answer.status != "infeasible", answer.summary()
        truth = nearest(row, fits)
        assert answer.lower_bound <= truth + 1e-12 or answer.semantics == "real"
        if answer.counterfactual is not None:
            said = float(model.predict(answer.counterfactual)[0])
            assert said >= low if low is not None else said <= high


def test_the_bound_is_of_the_model_as_it_runs_then() -> None:
    row = TABLE.iloc[[0]]
    answer = cfxc.compile(FOREST, SPACE).explain(row, target=ends_of(FOREST)[0])
    truth = nearest(row, FOREST.predict(GRID) >= FOREST.predict(GRID).max())
    assert (answer.status, answer.semantics) == ("optimal", "float")
    assert answer.lower_bound <= truth == pytest.approx(answer.distance)
    assert "as deployed" in answer.summary()
    assert cfxc.check(answer.certificate).ok


def test_in_a_batch_too() -> None:
    people = TABLE.iloc[:6]
    table = cfxc.compile(FOREST, SPACE).explain_batch(people, target=ends_of(FOREST)[0])
    assert set(table.status) == {"optimal"}


def test_what_no_rounding_reaches_is_infeasible_as_deployed() -> None:
    compiled = cfxc.compile(FOREST, SPACE)
    answer = compiled.explain(TABLE.iloc[[0]], target=(1000, None))
    assert (answer.status, answer.semantics, answer.beyond) == ("infeasible", "float", "")
    assert "as deployed" in answer.summary()


def test_where_rounding_has_no_bound_the_answer_says_what_is_left_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unknown(*_: Any) -> None:
        raise cfxc.UnsupportedError("semantics='float' is not known for this model")

    monkeypatch.setattr(engines, "deployed_slack", unknown)
    answer = cfxc.compile(FOREST, SPACE).explain(TABLE.iloc[[0]], target=ends_of(FOREST)[0])
    assert (answer.status, answer.semantics) == ("infeasible", "real")
    assert answer.summary().endswith(
        "; the deployed model may reach an end of the range by rounding, which semantics='float' "
        "asks about"
    )


def test_labels_are_not_ranges() -> None:
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(TABLE, WORTH > 3)
    fixed = cfxc.FeatureSpace.infer(TABLE, fixed=list("abc"))
    answer = cfxc.compile(forest, fixed).explain(TABLE.iloc[[0]])
    assert (answer.status, answer.semantics, answer.beyond) == ("infeasible", "real", "")


@pytest.mark.parametrize("kind", ["tree", "forest"])
def test_a_single_value_that_the_model_predicts(kind: str) -> None:
    tree = DecisionTreeRegressor(max_depth=4, random_state=0).fit(TABLE, WORTH)
    model = tree if kind == "tree" else FOREST
    values, row = model.predict(GRID), TABLE.iloc[[0]]
    value = float(values[values != model.predict(row)[0]][300])
    answer = cfxc.compile(model, SPACE).explain(row, target=(value, value))
    assert answer.status == "optimal", answer.summary()
    assert answer.counterfactual is not None
    assert model.predict(answer.counterfactual)[0] == value
    assert answer.distance == pytest.approx(nearest(row, values == value))


def wide() -> tuple[cfxc.CompiledModel, pd.DataFrame]:
    """A forest whose sums no bound rules out."""
    rows = pd.DataFrame(np.random.default_rng(1).normal(size=(300, 10)).round(2))
    rows.columns = [f"x{i}" for i in range(10)]
    forest = RandomForestRegressor(20, max_depth=6, random_state=0)
    forest.fit(rows, 200 + 50 * rows.sum(axis=1) + rows.x0 * rows.x1)
    return cfxc.compile(forest, cfxc.FeatureSpace.infer(rows)), rows


def test_a_single_value_that_nothing_rules_out_is_given_up_soon() -> None:
    model, rows = wide()
    answer = model.explain(rows.iloc[[0]], target=(180, 180), time_limit=300)
    assert answer.status == "unknown"
    assert answer.seconds < 100
    assert "gives exactly 180" in answer.reason
    assert "give the range a width, such as (179.819, 180.181)" in answer.reason
    assert model.explain(rows.iloc[[0]], target=(179.819, 180.181)).status == "optimal"


def test_a_single_value_that_was_found_is_searched_to_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The patience is for finding one at all."""
    model, rows = wide()
    value = float(model.predict(rows)[5])
    monkeypatch.setattr(engines, "PATIENCE", 0.3)
    answer = model.explain(rows.iloc[[0]], target=(value, value), seeds=rows, time_limit=3)
    assert answer.status in ("optimal", "feasible"), answer.summary()
    assert model.predict(answer.counterfactual)[0] == value


def test_members_that_are_not_sums_have_no_patience_of_their_own() -> None:
    median = AdaBoostRegressor(n_estimators=3, random_state=0).fit(TABLE, WORTH)
    value = float(median.predict(GRID)[300])
    answer = cfxc.compile(median, SPACE).explain(TABLE.iloc[[0]], target=(value, value))
    assert answer.status == "optimal", answer.summary()

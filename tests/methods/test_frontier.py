"""Frontiers and single changes are what trying every point finds."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.neural_network import MLPClassifier

import cfxc
from cfxc.errors import InvalidInputError, MissingExtraError, NoChangeNeededError
from cfxc.methods import frontier as frontiers
from cfxc.methods.frontier import Frontier

LEVELS = 4
NAMES = ["a", "b", "c", "d"]


def table(seed: int = 0, rows: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.integers(0, LEVELS, (rows, len(NAMES))), columns=NAMES)
    X.iloc[0], X.iloc[1] = 0, LEVELS - 1
    return X


@cache
def compiled(seed: int = 0, kind: str = "forest", **space: Any) -> cfxc.CompiledModel:
    X = table(seed)
    y = (X["a"] + X["b"] * X["c"] + (X["d"] == 2)) % 5 > 2
    made = RandomForestClassifier(5, max_depth=3, random_state=seed)
    if kind == "network":
        made = MLPClassifier((4,), max_iter=1000, random_state=seed)
    return cfxc.compile(made.fit(X, y), cfxc.FeatureSpace.infer(X, **space))


def oracle(model: cfxc.CompiledModel, row: pd.DataFrame) -> dict[tuple[int, ...], Fraction]:
    """The distance of every counterfactual, by the places of the features that change."""
    rows = pd.DataFrame(list(product(range(LEVELS), repeat=len(NAMES))), columns=NAMES)
    own = model.predict(row)[0]
    factual = row.iloc[0].tolist()
    found: dict[tuple[int, ...], Fraction] = {}
    for point, outcome in zip(rows.to_numpy().tolist(), model.predict(rows), strict=True):
        if outcome == own:
            continue
        steps = [abs(x - y) for x, y in zip(point, factual, strict=True)]
        moved = tuple(j for j, step in enumerate(steps) if step)
        far = Fraction(sum(steps), (LEVELS - 1) * len(NAMES))
        found[moved] = min(far, found.get(moved, far))
    return found


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["forest", "network"])
def test_every_point_is_the_nearest_with_so_many_changes(seed: int, kind: str) -> None:
    model, row = compiled(seed, kind), table(seed).iloc[[5 + seed]]
    truth = oracle(model, row)
    found = model.frontier(row)
    if not truth:
        assert [(point.changes, point.status) for point in found.points] == [(4, "infeasible")]
        return
    assert [point.changes for point in found.points] == list(range(1, len(found.points) + 1))
    for point in found.points:
        within = [far for moved, far in truth.items() if len(moved) <= point.changes]
        if not within:
            assert (point.status, point.distance, point.lower_bound) == (
                "infeasible", None, float("inf"),
            )  # fmt: skip
            continue
        assert point.status == "optimal"
        assert point.distance == pytest.approx(float(min(within)), rel=1e-3)
        assert point.lower_bound <= float(min(within)) <= point.distance
        assert len(point.answer.changes) <= point.changes
    assert found.points[-1].distance == pytest.approx(float(min(truth.values())), rel=1e-3)


def test_where_few_changes_are_not_enough_it_says_so() -> None:
    X = table()
    model = cfxc.compile(
        RandomForestClassifier(1, bootstrap=False, random_state=0).fit(
            X, (X["a"] == 3) & (X["b"] == 3)
        ),
        cfxc.FeatureSpace.infer(X),
    )
    found = model.frontier(pd.DataFrame([[0, 0, 1, 1]], columns=NAMES), target=True)
    assert [point.status for point in found.points] == ["infeasible", "optimal"]
    frame = found.to_frame()
    assert frame["changes"].tolist() == [1, 2]
    assert frame["features"].tolist() == ["", "a, b"]
    assert np.isnan(frame["distance"][0])
    assert "at most 1 change: no counterfactual exists" in found.summary()
    assert repr(found).startswith("Frontier(l1 distance)\nat most 1 change: ")
    assert ">a, b</td>" in found._repr_html_()
    pytest.importorskip("matplotlib")
    axes = found.plot()
    (marks,) = [line for line in axes.lines if line.get_label() == "nearest, proved"]
    assert marks.get_xdata().tolist() == [2]
    assert marks.get_ydata().tolist() == [found.points[1].distance]
    (field,) = [patch for patch in axes.patches if patch.get_hatch()]
    assert field.get_bbox().x1 == 1.5


def test_a_cap_of_the_question_is_kept() -> None:
    model, row = compiled(), table().iloc[[5]]
    found = model.frontier(row, subject_to=[cfxc.MaxChanges(1), "a >= factual.a"])
    assert [point.changes for point in found.points] == [1]


def test_unproved_points_take_what_others_know() -> None:
    """A bound for k holds for fewer; what fewer changes reach, k changes do."""
    answer = compiled().explain(table().iloc[[5]])

    def told(distance: float | None, lower: float, status: str) -> Any:
        made = {"distance": distance, "lower_bound": lower, "status": status, "epsilon": 0.001}
        return type("Told", (), {**made, "distance_name": "l1", "changes": answer.changes})()

    found = frontiers._frontier(
        {
            1: told(0.5, 0.1, "feasible"), 2: told(0.6, 0.2, "feasible"),
            3: told(None, 0.499999, "unknown"), 4: told(0.3, 0.25, "feasible"),
        }
    )  # fmt: skip
    assert [point.distance for point in found.points] == [0.5, 0.5, 0.5, 0.3]
    assert [point.lower_bound for point in found.points] == [0.499999] * 3 + [0.25]
    assert [point.status for point in found.points] == ["optimal"] * 3 + ["feasible"]
    pytest.importorskip("matplotlib")
    axes = found.plot()
    (marks,) = [line for line in axes.lines if line.get_label() == "nearest found, unproved"]
    assert marks.get_markerfacecolor() == "white"
    (open_,) = axes.collections
    assert [path.tolist() for path in open_.get_segments()] == [[[4, 0.25], [4, 0.3]]]


def test_wrong_questions_are_refused() -> None:
    model, row = compiled(), table().iloc[[5]]
    own = model.predict(row)[0].item()
    with pytest.raises(InvalidInputError, match="takes no count"):
        model.frontier(row, count=2)
    with pytest.raises(InvalidInputError, match="takes no relax"):
        model.single_changes(row, relax="actions")
    with pytest.raises(NoChangeNeededError):
        model.frontier(row, target=own)
    liked = cfxc.CompiledModel(model.program, model.space, model.predictor, favourable=own)
    with pytest.raises(InvalidInputError, match=r"there is no frontier: .*nothing needs to change"):
        liked.frontier(row)
    found = model.frontier(row, subject_to=[f"{n} == factual.{n}" for n in NAMES])
    with pytest.raises(InvalidInputError, match="no counterfactual to draw"):
        found.plot()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["forest", "network"])
def test_single_changes_are_those_that_suffice(seed: int, kind: str) -> None:
    model, row = compiled(seed, kind, fixed="d"), table(seed).iloc[[5 + seed]]
    truth = oracle(model, row)
    found = {one.feature: one for one in model.single_changes(row).singles}
    assert set(found) == set(NAMES)
    assert found["d"].verdict == "fixed"
    for j, name in enumerate(NAMES[:3]):
        one = found[name]
        assert one.proved
        if (j,) not in truth:
            assert one.verdict == "insufficient"
            continue
        assert one.verdict == "sufficient"
        assert Fraction(abs(one.after - one.before), 3 * len(NAMES)) == truth[(j,)]
        assert set(one.answer.changes) == {name}


def test_single_changes_as_table_text_and_picture() -> None:
    X = table()
    model = cfxc.compile(
        RandomForestClassifier(1, bootstrap=False, random_state=0).fit(X, X["a"] >= 2),
        cfxc.FeatureSpace.infer(X, fixed=["d"]),
    )
    found = model.single_changes(pd.DataFrame([[0, 1, 1, 1]], columns=NAMES))
    frame = found.to_frame()
    assert frame["verdict"].tolist() == ["sufficient", "insufficient", "insufficient", "fixed"]
    assert frame.loc["a", ["before", "after"]].tolist() == ["0", "2"]
    assert frame["lower_bound"].tolist()[1:3] == [float("inf")] * 2
    assert "b: no value suffices (proved by box search)" in found.summary()
    assert repr(found).splitlines()[0] == (
        "Singles(changes of one feature to True: 1 sufficient, 2 insufficient, 1 fixed)"
    )
    assert len(repr(found).splitlines()) == 2
    assert "no value suffices" in found._repr_html_()
    assert "a: 0 → 2 suffices; optimal" in found.summary()
    pytest.importorskip("matplotlib")
    axes = found.plot()
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["a", "b", "c"]
    (change,) = [line for line in axes.lines if line.get_label() == "counterfactual"]
    assert change.get_xdata() == pytest.approx([2 / 3])
    assert sum(each.get_hatch() is not None for each in axes.collections) == 2


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    found = compiled().frontier(table().iloc[[5]])
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'cfxc\[plot\]'"):
        found.plot()
    assert isinstance(found, Frontier)

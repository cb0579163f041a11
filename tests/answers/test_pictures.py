"""Pictures of answers and batches hold the values that were answered."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import cfxc
from cfxc.errors import CfxcError, DataTypeError, InvalidInputError, MissingColumnError

pyplot = pytest.importorskip("matplotlib.pyplot")
RNG = np.random.default_rng(0)
X = pd.DataFrame(
    {"pay": RNG.uniform(0, 10, 80).round(2), "age": RNG.integers(18, 90, 80),
     "job": RNG.choice(["it", "law", "art"], 80)}
)  # fmt: skip


@pytest.fixture(scope="module")
def model() -> cfxc.CompiledModel:
    encoder = make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough")
    pipeline = make_pipeline(encoder, RandomForestClassifier(10, random_state=0))
    return cfxc.compile(pipeline.fit(X, X["pay"] * 9 > X["age"]), cfxc.FeatureSpace.infer(X))


@pytest.fixture(autouse=True)
def closed() -> Any:
    yield
    pyplot.close("all")


def points(axes: Any, label: str) -> list[tuple[float, float]]:
    lines = [line for line in axes.lines if line.get_label() == label]
    return [tuple(xy) for line in lines for xy in line.get_xydata().tolist()]


def names(axes: Any) -> list[str]:
    return [tick.get_text() for tick in axes.get_yticklabels()]


def test_changes_stand_on_their_scales(model: cfxc.CompiledModel) -> None:
    answer = model.explain(
        X.iloc[[3]], target=bool(~model.predict(X.iloc[[3]])[0]), distance="linf"
    )
    axes = answer.plot()
    assert names(axes) == [name for name in model.space.names if name in answer.changes]
    for i, name in enumerate(names(axes)):
        before, after = answer.changes[name]
        feature = model.space[name]
        for value, label in ((before, "factual"), (after, "counterfactual")):
            x, y = points(axes, label)[i]
            assert y == -i
            if not feature.is_symbolic:
                lower, upper = map(float, feature.bounds)
                assert x == pytest.approx((value - lower) / (upper - lower))
    (rows,) = [t for t in axes.get_legend().get_texts() if "rows" in t.get_text()]
    assert rows.get_text() == "80 rows of data"
    few = answer.plot(data=X.iloc[:7]).get_legend().get_texts()
    assert "7 rows of data" in [text.get_text() for text in few]
    assert not answer.plot(data=False).patches


def test_answers_side_by_side_have_names_and_what_is_proved(model: cfxc.CompiledModel) -> None:
    row = X.iloc[[3]]
    answers = {d: model.explain(row, distance=d) for d in ("l1", "sparse")}
    answers["l1"] = replace(answers["l1"], status="feasible", exact_lower_bound=0 * X.size)
    axes = cfxc.plot_changes(answers)
    titles = [t.get_text() for t in axes.texts if "distance" in t.get_text()]
    assert [title.splitlines()[0] for title in titles] == ["l1", "sparse"]
    assert "no lower bound proved" in titles[0]
    assert "proved: none below" in titles[1]
    faces = {
        line.get_markerfacecolor() for line in axes.lines if line.get_label() == "counterfactual"
    }
    assert faces == {"white", "#D55E00"}
    several = model.explain(row, count=3)
    told = [t.get_text() for t in several.plot().texts if "proved" in t.get_text()]
    assert [("none other below" in title) for title in told] == [False, True, True]
    assert several.plot().get_xlim()[1] == pytest.approx(2 * 1.14 + 1.04)
    assert cfxc.plot_changes([several]).get_xlim()[1] == pytest.approx(1.04)


def test_bounds_close_in(model: cfxc.CompiledModel) -> None:
    answer = model.explain(X.iloc[[3]])
    trace = answer.trace
    for before, after in pairwise(trace):
        assert before.seconds <= after.seconds
        assert before.lower <= after.lower
        assert before.upper is None or after.upper <= before.upper
    assert trace[-1].upper == answer.distance
    assert trace[-1].lower == pytest.approx(answer.lower_bound)
    axes = answer.plot_bounds()
    found, bound = (
        points(axes, label) for label in ("nearest found", "lower bound: nothing below")
    )
    assert bound == [(one.seconds, one.lower) for one in trace]
    assert found == [(one.seconds, one.upper) for one in trace if one.upper is not None]
    assert "the search ended with" not in " ".join(text.get_text() for text in axes.texts)
    last = replace(trace[-1], seconds=0.25)
    for ended, point in ((last, "its first point, at"), (replace(last, upper=None), "no point")):
        (said,) = replace(answer, trace=(trace[0], ended)).plot_bounds().texts
        assert said.get_text().startswith(f"the search ended with {point}")
        assert "after 0.25 s" in said.get_text()


@pytest.mark.parametrize("method", ["smt", "mio"])
def test_every_engine_keeps_its_bounds(model: cfxc.CompiledModel, method: str) -> None:
    answer = model.explain(X.iloc[[3]], method=method)
    assert len(answer.trace) > 1
    assert answer.trace[-1].upper == answer.distance


def batch() -> pd.DataFrame:
    """Two groups: 0.1 and 0.4 proved, none, unchanged; 0.2 unproved, one open, an error."""
    return pd.DataFrame(
        {
            "status": [
                "optimal",
                "optimal",
                "infeasible",
                "unchanged",
                "feasible",
                "unknown",
                "error",
            ],
            "distance": [0.1, 0.4, None, 0.0, 0.2, None, None],
            "lower_bound": [0.1, 0.4, 1.0, 0.0, 0.1, 0.3, None],
            "where": ["a", "a", "a", "a", "b", "b", "b"],
        }
    )


def test_shares_count_those_without_an_answer() -> None:
    axes = cfxc.plot_costs(batch(), groups="where")
    one, two = (points(axes, line.get_label()) for line in axes.lines)
    assert one == [(0, 0), (0.1, 1 / 3), (0.4, 2 / 3), (0.42000000000000004, 2 / 3)]
    assert two == [(0, 0), (0.2, 0.5), (0.42000000000000004, 0.5)]
    assert [line.get_label() for line in axes.lines] == [
        "a (n = 3)\n1 have none, proved", "b (n = 2)\n1 open",
    ]  # fmt: skip
    (band,) = axes.collections
    corners = band.get_paths()[0].vertices
    assert {(0.1, 0.5), (0.3, 1.0)} <= {tuple(map(float, xy)) for xy in corners.round(9)}


def test_boxes_tell_proved_from_unproved() -> None:
    axes = cfxc.plot_costs(batch(), groups=list("aaaabbb"), kind="box")
    assert names(axes) == ["a (n = 3)\n1 have none, proved", "b (n = 2)\n1 open"]
    marks = {
        (line.get_marker(), x)
        for line in axes.lines
        for x, _ in line.get_xydata()
        if line.get_marker() in ("o", "^")
    }
    assert marks == {("o", 0.1), ("o", 0.4), ("^", 0.2)}
    key = [text.get_text() for text in axes.get_legend().get_texts()]
    assert key == ["proved nearest", "nearest found, unproved"]


def test_a_batch_is_drawn_as_it_is_answered(model: cfxc.CompiledModel) -> None:
    answers = model.explain_batch(X.iloc[:12], target=True)
    asked = answers["status"] != "unchanged"
    days = pd.Series(pd.to_datetime(["2024-01-05", None] * 6))
    axes = cfxc.plot_costs(answers, groups=days)
    assert [line.get_label().split(" (")[0] for line in axes.lines] == ["2024-01-05", "missing"]
    assert cfxc.plot_costs(answers).lines[0].get_label() == f"all (n = {asked.sum()})"


def test_what_cannot_be_drawn_is_refused_with_a_remedy(model: cfxc.CompiledModel) -> None:
    answer = model.explain(X.iloc[[3]])
    none = model.explain(X.iloc[[3]], subject_to=["pay == factual.pay", "age == factual.age"],
                         target=answer.outcome_after, distance="l1")  # fmt: skip
    liked = replace(model, favourable=answer.outcome_before).explain(X.iloc[[3]])
    cases: list[tuple[Any, type[CfxcError], str]] = [
        (lambda: cfxc.plot_changes([]), InvalidInputError, "give at least one"),
        (lambda: cfxc.plot_changes([3]), DataTypeError, "what explain answers"),
        (lambda: cfxc.plot_changes([answer, model.explain(X.iloc[[4]])]), InvalidInputError,
         "different instances.*plot_costs"),
        (lambda: replace(none, counterfactual=None).plot(), InvalidInputError, "nothing changes"),
        (liked.plot, InvalidInputError, "nothing needs to change"),
        (liked.plot_bounds, InvalidInputError, "nothing was recorded"),
        (lambda: answer.plot(data=3), DataTypeError, "a table with the space's columns"),
        (lambda: answer.plot(data=X[["pay"]]), MissingColumnError, "age"),
        (lambda: answer.plot("no/such/folder/x.svg"), InvalidInputError, "no/such/folder"),
        (lambda: answer.plot("x.xyz"), InvalidInputError, "x.xyz: a picture is .*svg"),
        (lambda: answer.plot("x"), InvalidInputError, "x: a picture is .*svg"),
        (lambda: answer.plot("."), InvalidInputError, "it is a folder"),
        (lambda: cfxc.plot_changes(None), DataTypeError, "what explain answers, and no None"),  # type: ignore[arg-type]
        (lambda: cfxc.plot_costs(X), InvalidInputError, "what explain_batch gives"),
        (lambda: cfxc.plot_costs(batch(), kind="pie"), InvalidInputError, "'ecdf' or 'box'"),
        (lambda: cfxc.plot_costs(batch(), groups="sex"), MissingColumnError, r"X\['sex'\]"),
        (lambda: cfxc.plot_costs(batch(), groups=[1]), InvalidInputError, "1 cells for 7"),
        (lambda: cfxc.plot_costs(batch().iloc[2:4]), InvalidInputError, "there is no cost"),
        (lambda: cfxc.plot_costs(pd.concat([batch()] * 2), groups=range(14)), InvalidInputError,
         "kind='box'"),
    ]  # fmt: skip
    for draw, error, message in cases:
        with pytest.raises(error, match=message):
            draw()

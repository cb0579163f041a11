"""Trees behind scalers split the raw columns, exactly where the rounded scaler does."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from cfxc.errors import UnsupportedError
from cfxc.frontends.sklearn import lower
from cfxc.frontends.sklearn.lowering import Image, Raw, Stage
from cfxc.frontends.sklearn.tracing import ALWAYS, last_below, regions
from cfxc.ir import evaluate, ops
from cfxc.space import FeatureSpace

numbers = st.floats(-1e6, 1e6).map(lambda x: x if abs(x) > 1e-6 else 0.0)


@given(numbers, st.floats(1e-6, 1e6), numbers)
@example(0.0, 1.0, 0.0)
@example(0.1, 3.0, -0.0)
def test_last_below_is_the_last_double(shift: float, scale: float, threshold: float) -> None:
    def function(values: Any) -> Any:
        return (values - shift) / scale

    found = last_below(function, np.array([threshold]))
    assert function(found)[0] <= threshold
    assert function(np.nextafter(found, np.inf))[0] > threshold


def test_last_below_everything_and_nothing() -> None:
    assert last_below(np.tanh, np.array([1.0, -2.0])).tolist() == [ALWAYS, -ALWAYS]
    assert last_below(lambda x: x, np.array([-0.5, 0.0, 5e-324])).tolist() == [-0.5, 0.0, 5e-324]


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """More values than a histogram has bins: its thresholds are training values."""
    rng = np.random.default_rng(2)
    return pd.DataFrame({"a": rng.normal(size=400) * 7 + 0.3, "b": rng.normal(size=400)})


@pytest.mark.parametrize(
    "scaler",
    [
        StandardScaler(),
        MinMaxScaler((-0.3, 0.7), clip=True),
        StandardScaler(with_mean=False),
        make_pipeline(MinMaxScaler(), StandardScaler(with_std=False)),
    ],
    ids=["standard", "range", "scale", "both"],
)
def test_scaled_values_on_a_threshold(scaler: Any, table: pd.DataFrame) -> None:
    """Training values lie on thresholds; exact arithmetic alone would put some on the far side."""
    target = (table["a"] * table["b"] > 0.4).to_numpy()
    booster = HistGradientBoostingClassifier(max_iter=30, learning_rate=0.5, random_state=0)
    model = make_pipeline(scaler, booster).fit(table, target)
    scaled = scaler.transform(table)
    thresholds = np.concatenate([stage[0].nodes["num_threshold"] for stage in booster._predictors])
    assert np.isin(scaled[:, 0], thresholds).sum() > 20
    space = FeatureSpace.infer(table, kinds={"a": "real", "b": "real"})
    program = lower(model, space)
    expected = model.decision_function(table)
    for row in range(len(table)):
        exact = evaluate(program, space.encode_row(table.iloc[[row]]))
        assert abs(exact["score"] - Fraction(expected[row])) < Fraction(1, 10**12)
        assert exact["label"] == (expected[row] > 0)


def test_forests_behind_columns_compare_the_table(table: pd.DataFrame) -> None:
    table = table.assign(word=np.where(table["a"] > 1, "x", "y"))
    columns = ColumnTransformer(
        [("hot", OneHotEncoder(), ["word"]), ("scale", StandardScaler(), ["b", "a"])]
    )
    forest = RandomForestClassifier(5, max_depth=5, random_state=0)
    model = make_pipeline(columns, forest).fit(table, table["a"] * table["b"] > 0)
    space = FeatureSpace.infer(table, kinds={"a": "real", "b": "real"})
    lets = {let.name: let.op for let in lower(model, space).lets()}
    (trees,) = [op for op in lets.values() if isinstance(op, ops.TreeEnsemble)]
    joined = lets[str(trees.x)]
    assert isinstance(joined, ops.Concat)
    assert joined.parts[1:] == ("b", "a")


def test_the_last_value_on_the_left_is_a_double_of_the_table() -> None:
    """Every neighbour of the cut is on the side on which the deployed pipeline has it."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=50) * 1e3})
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    model = make_pipeline(StandardScaler(), tree).fit(table, rng.integers(0, 2, 50))
    space = FeatureSpace.infer(table, kinds={"x": "real"})
    program = lower(model, space)
    (op,) = [let.op for let in program.lets() if isinstance(let.op, ops.TreeEnsemble)]
    cuts = op.threshold.array[op.feature.array >= 0]
    assert cuts.size > 3
    near = np.unique([np.nextafter(cuts, -np.inf), cuts, np.nextafter(cuts, np.inf)])
    deployed = model.predict(pd.DataFrame({"x": near}))
    for value, answer in zip(near.tolist(), deployed.tolist(), strict=True):
        assert evaluate(program, {"x": Fraction(value)})["label"] == answer
    assert len(set(deployed.tolist())) == 2


STAGES = {
    "shift": Stage(lambda x: (x - 0.3) / 0.7),
    "fall": Stage(lambda x: 0.1 - x / 3, falls=True),
    "fold": Stage(np.abs, (0.0,)),
    "square": Stage(np.square, (0.0,)),
    "invert": Stage(lambda x: 1 / x, (0.0,)),
    "clip": Stage(lambda x: np.clip(x, -1.0, 2.5)),
    "floor": Stage(np.floor),
    "wave": Stage(lambda x: np.abs(np.abs(x) - 1), (-1.0, 0.0, 1.0)),
    "loose": Stage(lambda x: np.log1p(np.abs(x)), (0.0,), loose=64),
}


@given(
    st.lists(st.sampled_from(sorted(STAGES)), min_size=1, max_size=4),
    st.floats(-20, 20),
    st.lists(st.floats(-50, 50), min_size=1, max_size=20),
)
@example(["fold", "fall", "square"], -3.3, [0.0])
@example(["invert", "floor"], 0.5, [-0.0, 5e-324])
def test_regions_are_where_the_function_is_at_most_the_threshold(
    names: list[str], point: float, others: list[float]
) -> None:
    """At random doubles, and on both sides of every cut, with the function's own values."""
    image = Image(Raw("x", np.dtype(float)), tuple(STAGES[name] for name in names))
    with np.errstate(all="ignore"):
        threshold = image.function(np.array([point]))
        if not np.isfinite(threshold).all():
            return
        try:
            (region,) = regions(image, threshold)
        except UnsupportedError as error:
            if "so flat that rounding decides" not in str(error):
                raise
            return  # refused when it is compiled, so there is no region to compare
        cuts = np.array(region.cuts)
        near = [cuts, np.nextafter(cuts, -np.inf), np.nextafter(cuts, np.inf)]
        xs = np.unique(np.concatenate([*near, others, [point]])) + 0.0
        xs = xs[np.isfinite(xs)]
        partial = [Image(image.source, image.stages[:n]).function(xs) for n in range(1, len(names))]
        xs = xs[np.isfinite([xs, *partial]).all(axis=0)]  # where all functions have a number
        inside = image.function(xs) <= threshold
    flips = np.searchsorted(cuts, xs, side="left")
    assert ((flips % 2 == 0) == region.first).tolist() == inside.tolist()
    assert list(region.cuts) == sorted(set(region.cuts))

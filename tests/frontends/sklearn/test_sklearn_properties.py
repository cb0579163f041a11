"""Small random tables: programs agree with the models trained on them, up to a proved bound."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from cfxc.frontends.sklearn import lower
from cfxc.ir import BatchEvaluator, Program, evaluate
from cfxc.space import FeatureSpace

UNIT = Fraction(1, 2**53)
REALS = st.one_of(
    st.integers(-4, 4).map(float),
    st.floats(-100, 100, allow_subnormal=False).map(lambda x: float(np.float32(x))),
    st.floats(-100, 100, allow_subnormal=False),
)


@st.composite
def tables(draw: st.DrawFn) -> tuple[pd.DataFrame, Any]:
    """A table of two numbers and a colour, and at least two classes."""
    count = draw(st.integers(6, 18))

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=count, max_size=count))

    frame = pd.DataFrame(
        {
            "x": column(REALS),
            "n": column(st.integers(-5, 5)),
            "colour": column(st.sampled_from(["red", "green", "blue"])),
        }
    )
    classes = np.array(column(st.integers(0, 2)))
    assume(len(set(classes)) > 1)
    return frame, classes


def encoded(model: Any) -> Any:
    columns = ColumnTransformer(
        [("colour", OneHotEncoder(), ["colour"])], remainder="passthrough", sparse_threshold=0
    )
    return make_pipeline(columns, model)


def space_of(frame: pd.DataFrame) -> FeatureSpace:
    return FeatureSpace.infer(frame, kinds={"x": "real", "n": "integer", "colour": "categorical"})


def run(model: Any, frame: pd.DataFrame) -> tuple[Program, dict[str, Any], list[dict[str, Any]]]:
    """The program, its outputs in doubles, and its exact outputs row by row."""
    space = space_of(frame)
    program = lower(model, space)
    outputs = BatchEvaluator(program)(space.encode_frame(frame))
    labels = np.array(program.output_sorts["label"].labels)
    assert labels[outputs["label"]].tolist() == model.predict(frame).tolist()
    rows = (frame.iloc[[row]] for row in range(len(frame)))
    return program, outputs, [evaluate(program, space.encode_row(row)) for row in rows]


@pytest.mark.parametrize("name", ["tree", "forest", "extra trees"])
@settings(max_examples=25, deadline=None)
@given(table=tables(), depth=st.integers(1, 5), seed=st.integers(0, 9))
def test_trees(name: str, table: tuple[pd.DataFrame, Any], depth: int, seed: int) -> None:
    frame, classes = table
    trees = 1 if name == "tree" else 4
    made = {
        "tree": lambda: DecisionTreeClassifier(max_depth=depth, random_state=seed),
        "forest": lambda: RandomForestClassifier(4, max_depth=depth, random_state=seed),
        "extra trees": lambda: ExtraTreesClassifier(4, max_depth=depth, random_state=seed),
    }
    model = encoded(made[name]()).fit(frame, classes)
    program, outputs, exact = run(model, frame)
    assert np.array_equal(outputs["probability"], model.predict_proba(frame))
    labels = program.output_sorts["label"].labels
    gamma = trees * UNIT / (1 - trees * UNIT)
    for row, answer in zip(exact, outputs["label"], strict=True):
        shares = row["probability"].tolist()
        top = shares[labels.index(row["label"])]
        deployed = shares[answer]  # the class that doubles name; it may differ only by rounding
        assert 0 <= top - deployed <= gamma * (top + deployed)


@pytest.mark.parametrize("model", [LogisticRegression(max_iter=20), RidgeClassifier()], ids=str)
@settings(max_examples=25, deadline=None)
@given(table=tables())
@pytest.mark.filterwarnings("ignore")  # training is cut short
def test_linear_models(model: Any, table: tuple[pd.DataFrame, Any]) -> None:
    frame, classes = table
    fitted = make_pipeline(
        ColumnTransformer([("colour", OneHotEncoder(), ["colour"])], remainder="passthrough"), model
    ).fit(frame, classes)
    _, outputs, exact = run(fitted, frame)
    weights = np.abs(fitted[-1].coef_).max() + np.abs(fitted[-1].intercept_).max()
    size = Fraction(weights) * Fraction(np.abs(frame[["x", "n"]].to_numpy()).max() + 1)
    # five products and the intercept: at most 2 * 6 roundings of terms of that size
    bound = 6 * size * 12 * UNIT / (1 - 12 * UNIT)
    for row, score in zip(exact, outputs["score"], strict=True):
        for meant, computed in zip(np.ravel(row["score"]), np.ravel(score), strict=True):
            assert abs(meant - Fraction(float(computed))) <= bound


@settings(max_examples=15, deadline=None)
@given(table=tables(), activation=st.sampled_from(["relu", "identity", "tanh", "logistic"]))
@pytest.mark.filterwarnings("ignore")  # training is cut short
def test_networks(table: tuple[pd.DataFrame, Any], activation: str) -> None:
    frame, classes = table
    columns = ColumnTransformer(
        [("colour", OneHotEncoder(), ["colour"]), ("range", MinMaxScaler(), ["x", "n"])]
    )
    network = MLPClassifier((4, 3), activation=activation, max_iter=5, random_state=0)
    model = make_pipeline(columns, network).fit(frame, classes)
    program, outputs, exact = run(model, frame)
    np.testing.assert_allclose(
        outputs["probability"], model.predict_proba(frame), rtol=1e-12, atol=1e-15
    )
    for row, shares in zip(exact, outputs["probability"], strict=True):
        np.testing.assert_allclose(row["probability"].astype(float), shares, rtol=1e-12, atol=1e-15)
        first = program.output_sorts["label"].index(row["label"])
        assert row["probability"][first] >= max(row["probability"]) - Fraction(1, 10**50)

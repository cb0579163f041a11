"""Pipelines and column transformers send the right columns the right way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from cfxc.frontends.predictor import Predictor
from cfxc.frontends.sklearn import SklearnPredictor, lower
from cfxc.ir import Program, ops
from cfxc.space import FeatureSpace

Agree = Callable[..., Program]
COLUMNS = ["age", "income", "sector", "member", "code", "rate"]


def regress(people: pd.DataFrame, *steps: Any) -> Pipeline:
    """A regression whose value depends on every column it is given, each in its own way."""
    value = people["age"] + 2 * people["income"] + np.arange(len(people)) / 7
    return make_pipeline(*steps, Ridge(alpha=1e-3)).fit(people, value)


@pytest.mark.parametrize(
    "chosen",
    [
        ["income", "age"],
        [1, 0],
        [-1, 1],
        slice(0, 2),
        slice("age", "income"),
        [True, True, False, False, False, True],
        np.array([True, True, False, False, False, True]),
        pd.Index(["rate", "age"], dtype=object),
        make_column_selector(dtype_include="float"),
        lambda frame: ["rate", "age"],
    ],
    ids=[
        "names", "positions", "from the end", "slice", "slice of names", "list mask", "array mask",
        "index", "selector", "callable",
    ],
)  # fmt: skip
@pytest.mark.parametrize("remainder", ["drop", "passthrough"])
def test_columns_are_chosen_as_in_training(
    chosen: Any, remainder: str, agree: Agree, people: pd.DataFrame, space: FeatureSpace
) -> None:
    columns = ColumnTransformer(
        [("scale", StandardScaler(), chosen), ("sector", OneHotEncoder(), ["sector"])],
        remainder=remainder,
    )
    agree(regress(people, columns), space, people)


@pytest.mark.parametrize("chosen", [[1, 0], slice(0, 2), [True, True, False, False], [-1]], ids=str)
def test_columns_of_arrays(chosen: Any, agree: Agree, people: pd.DataFrame) -> None:
    table = people[["age", "income", "sector", "rate"]]
    columns = ColumnTransformer(
        [("sector", OneHotEncoder(), [2]), ("scale", StandardScaler(), chosen)],
        remainder="passthrough",
    )
    model = make_pipeline(columns, Ridge()).fit(table.to_numpy(), people["age"])
    agree(model, FeatureSpace.infer(table), table)


@pytest.mark.parametrize(
    "remainder", [StandardScaler(), make_pipeline(MinMaxScaler(), StandardScaler())], ids=str
)
def test_remainder_may_be_an_estimator(
    remainder: Any, agree: Agree, people: pd.DataFrame, space: FeatureSpace
) -> None:
    columns = ColumnTransformer(
        [("sector", OneHotEncoder(), ["sector"]), ("gone", "drop", ["rate"])], remainder=remainder
    )
    agree(regress(people, columns), space, people)


def test_columns_used_twice_and_parts_that_select_nothing(
    agree: Agree, people: pd.DataFrame, space: FeatureSpace
) -> None:
    columns = ColumnTransformer(
        [
            ("nothing", StandardScaler(), []),
            ("scale", StandardScaler(), ["age", "rate"]),
            ("range", MinMaxScaler(), ["age"]),
            ("no column", OneHotEncoder(), make_column_selector(pattern="^zzz$")),
            ("as it is", "passthrough", ["age"]),
        ]
    )
    agree(regress(people, columns), space, people)


def test_transformer_weights(agree: Agree, people: pd.DataFrame, space: FeatureSpace) -> None:
    columns = ColumnTransformer(
        [
            ("scale", StandardScaler(), ["age", "rate"]),
            ("sector", OneHotEncoder(), ["sector"]),
            ("rest", "passthrough", ["income", "member"]),
        ],
        transformer_weights={"scale": 0.1, "sector": 3, "rest": 0.7},
    )
    agree(regress(people, columns), space, people)


def nested() -> ColumnTransformer:
    numbers = Pipeline([("range", MinMaxScaler()), ("off", "passthrough"), ("z", StandardScaler())])
    inner = ColumnTransformer(
        [("numbers", numbers, ["rate", "age"]), ("code", OrdinalEncoder(), ["code"])],
        remainder="passthrough",
    )
    outer = Pipeline([("inner", inner), ("nothing", None), ("last", MinMaxScaler())])
    return ColumnTransformer(
        [
            ("sector", Pipeline([("one hot", OneHotEncoder(drop="first"))]), ["sector"]),
            ("deep", outer, ["code", "age", "rate", "income"]),
        ]
    )


def test_nesting(agree: Agree, people: pd.DataFrame, space: FeatureSpace) -> None:
    program = agree(regress(people, nested()), space, people)
    origins = {let.origin for let in program.lets()}
    prefix = "pipeline step 'columntransformer' (ColumnTransformer) > 'deep' (Pipeline) > "
    step = "pipeline step 'inner' (ColumnTransformer) > 'numbers' (Pipeline) > pipeline step 'z'"
    assert f"{prefix}{step} (StandardScaler)" in origins
    assert "pipeline step 'ridge' (Ridge)" in origins


def test_pipeline_in_a_pipeline(agree: Agree, people: pd.DataFrame, space: FeatureSpace) -> None:
    inner = make_pipeline(StandardScaler(), LinearRegression())
    model = Pipeline([("columns", nested()), ("off", "passthrough"), ("inner", inner)])
    model.fit(people, people["income"] + people["age"])
    program = agree(model, space, people)
    assert any(
        let.origin == "pipeline step 'inner' > pipeline step 'linearregression' (LinearRegression)"
        for let in program.lets()
    )


def test_column_names_given_by_earlier_steps(
    agree: Agree, people: pd.DataFrame, space: FeatureSpace
) -> None:
    first = ColumnTransformer(
        [
            ("n", StandardScaler(), ["age", "rate"]),
            ("s", OneHotEncoder(sparse_output=False), ["sector"]),
        ]
    ).set_output(transform="pandas")
    second = ColumnTransformer(
        [("again", MinMaxScaler(), ["s__sector_self", "n__rate"])], remainder="passthrough"
    )
    agree(regress(people, first, second), space, people)


def test_identity_functions(agree: Agree, people: pd.DataFrame, space: FeatureSpace) -> None:
    numbers = ["age", "income", "rate"]
    model = regress(people[numbers], FunctionTransformer(), StandardScaler())
    agree(model, space.subset(numbers), people[numbers])


def test_passthrough_alone(agree: Agree, people: pd.DataFrame, space: FeatureSpace) -> None:
    numbers = ["age", "income", "rate"]
    model = Pipeline([("nothing", "passthrough"), ("tree", DecisionTreeRegressor(max_depth=3))])
    agree(model.fit(people[numbers], people["age"]), space.subset(numbers), people[numbers])


def test_numeric_codes_and_booleans_are_numbers_to_a_model(
    agree: Agree, people: pd.DataFrame, space: FeatureSpace
) -> None:
    numbers = ["member", "code", "rate"]
    tree = DecisionTreeClassifier(max_depth=5, random_state=0)
    tree.fit(people[numbers], people["income"] + 9 * people["member"] + people["code"] > 38)
    assert [feature.is_symbolic for feature in space.subset(numbers)] == [True, True, False]
    agree(tree, space.subset(numbers), people[numbers])


def test_order_of_the_space_does_not_matter_for_frames(
    agree: Agree, people: pd.DataFrame, space: FeatureSpace
) -> None:
    turned = people[COLUMNS[::-1]]
    model = regress(people, nested())
    agree(model, FeatureSpace.infer(turned, kinds={"code": "categorical"}), turned)


def test_a_dropped_column_may_be_absent(
    agree: Agree, people: pd.DataFrame, space: FeatureSpace
) -> None:
    columns = ColumnTransformer([("scale", StandardScaler(), ["age", "rate"])])
    model = regress(people, columns)
    agree(model, space.subset(["age", "rate"]), people[["age", "rate"]])


def test_groups_of_the_table_are_one_feature(agree: Agree, people: pd.DataFrame) -> None:
    steps = pd.DataFrame({f"edu_{i}": (people["age"] > 20 + 15 * i).astype(int) for i in range(3)})
    table = pd.concat([people[["age"]], pd.get_dummies(people[["sector"]]), steps], axis=1)
    space = FeatureSpace.infer(table, one_hot=["sector_"], thermometer=["edu_"])
    assert space.names == ("age", "sector", "edu")
    target = people["income"] > people["income"].median()
    program = agree(LogisticRegression(max_iter=500).fit(table, target), space, table)
    assert sum(isinstance(let.op, ops.Lookup) for let in program.lets()) == 1
    shuffled = table[["sector_self", "edu_1", "age", "sector_none", "sector_public", "edu_0"]]
    shuffled = shuffled.assign(edu_2=table["edu_2"], sector_private=table["sector_private"])
    agree(DecisionTreeClassifier(max_depth=6).fit(shuffled, target), space, table)


def test_constant_columns_and_one_column(agree: Agree) -> None:
    table = pd.DataFrame({"x": [1.5, 1.5, 1.5, 1.5]})
    agree(
        make_pipeline(StandardScaler(), Ridge()).fit(table, range(4)),
        FeatureSpace.infer(table),
        table,
    )


def test_program_is_named_after_the_model(people: pd.DataFrame, space: FeatureSpace) -> None:
    model = regress(people, nested())
    assert lower(model, space).name == "Ridge"
    assert lower(model, space, name="pension").name == "pension"


@pytest.mark.filterwarnings("error")  # the library warns of names that it did not see in fit
def test_predictor_runs_the_model_itself(people: pd.DataFrame, space: FeatureSpace) -> None:
    model = regress(people, nested())
    predictor = SklearnPredictor(model, space)
    assert isinstance(predictor, Predictor)
    assert (predictor.task, predictor.classes) == ("regressor", None)
    wider = people.assign(name="someone")[["name", *COLUMNS[::-1]]]
    assert np.array_equal(predictor.predict(wider), model.predict(people))
    target = people["age"] > 40
    by_array = DecisionTreeClassifier(max_depth=3).fit(people[["age", "rate"]].to_numpy(), target)
    classifier = SklearnPredictor(by_array, space.subset(["age", "rate"]))
    assert (classifier.task, classifier.classes) == ("classifier", (False, True))
    assert np.array_equal(classifier.predict(wider), target)

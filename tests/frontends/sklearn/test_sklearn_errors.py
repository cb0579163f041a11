"""What is not supported is refused before any work, all of it at once, with the remedy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

from cfxc.errors import (
    CfxcError,
    DataTypeError,
    InvalidInputError,
    MissingColumnError,
    UnsupportedError,
)
from cfxc.frontends.sklearn import SklearnPredictor, lower
from cfxc.space import FeatureSpace

NUMBERS = ["age", "income", "rate"]


def message(error: type[CfxcError], model: Any, space: FeatureSpace) -> str:
    """The text of the error that both ``lower`` and the predictor raise."""
    with pytest.raises(error) as caught:
        lower(model, space)
    assert type(caught.value) is error
    text = str(caught.value)
    assert len(text.splitlines()) <= 10
    return text


class Doubled(TransformerMixin, BaseEstimator):
    """A step of the user's own."""

    def fit(self, X: Any, y: Any = None) -> Doubled:
        return self

    def transform(self, X: Any) -> Any:
        return X * 2


class ShyForest(RandomForestClassifier):
    """Answers something else than its trees say."""


def test_all_unknown_steps_are_listed(people: pd.DataFrame, space: FeatureSpace) -> None:
    numbers = Pipeline([("rbf", RBFSampler()), ("scale", StandardScaler())])
    columns = ColumnTransformer(
        [("numbers", numbers, NUMBERS), ("sector", OneHotEncoder(), ["sector"])], sparse_threshold=0
    )
    model = Pipeline(
        [
            ("columns", columns),
            ("own", Doubled()),
            ("log", FunctionTransformer(np.sin)),
            ("bayes", GaussianNB()),
        ]
    ).fit(people, people["member"])
    text = message(UnsupportedError, model, space)
    prefix = "pipeline step 'columns' (ColumnTransformer) > 'numbers' > pipeline step 'rbf'"
    assert f"{prefix} (RBFSampler): computes cosines" in text
    assert "pipeline step 'own' (Doubled): no transformer that can be lowered" in text
    assert "pipeline step 'log' (FunctionTransformer): calls the Python function 'sin'" in text
    assert "pipeline step 'bayes' (GaussianNB): no predictor" in text
    assert "scale" not in text
    with pytest.raises(UnsupportedError):
        SklearnPredictor(model, space)


def test_unfitted_pipelines_list_unknown_steps_too(space: FeatureSpace) -> None:
    columns = ColumnTransformer([("rbf", RBFSampler(), NUMBERS), ("no", "drop", ["code"])])
    text = message(UnsupportedError, make_pipeline(columns, Ridge()), space)
    assert "'rbf' (RBFSampler)" in text
    assert "Ridge" not in text.splitlines()[1]
    text = message(InvalidInputError, make_pipeline(StandardScaler(), Ridge()), space)
    assert (
        "not fitted: pipeline step 'standardscaler' (StandardScaler); pipeline step 'ridge'" in text
    )
    assert "call fit" in text
    assert "not fitted: Ridge" in message(InvalidInputError, Ridge(), space)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ShyForest(2), "is a subclass of RandomForestClassifier"),
        (lambda: KNeighborsClassifier(n_neighbors=2), "no predictor that can be lowered"),
        (lambda: GridSearchCV(Ridge(), {"alpha": [1, 2]}, cv=2), "give its best_estimator_"),
    ],
    ids=["subclass", "neighbours", "search"],
)
def test_unknown_models(make: Any, words: str, people: pd.DataFrame, space: FeatureSpace) -> None:
    model = make().fit(people[NUMBERS], people["member"].astype(int))
    assert words in message(UnsupportedError, model, space.subset(NUMBERS))


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (Ridge, "is a class; give a fitted Ridge()"),
        (None, "NoneType"),
        ({"model": 1}, "dict: no predictor"),
        (StandardScaler(), "stands where a predictor is needed"),
        (Pipeline([("z", StandardScaler()), ("end", "passthrough")]), "stands where a predictor"),
        (make_pipeline(Ridge(), StandardScaler()), "stands where a predictor"),
    ],
    ids=str,
)
def test_things_that_are_no_predictors(model: Any, words: str, space: FeatureSpace) -> None:
    assert words in message(UnsupportedError, model, space)


@pytest.mark.parametrize(
    "model", [DecisionTreeClassifier(), RandomForestClassifier(2)], ids=lambda m: type(m).__name__
)
def test_several_outputs(model: Any, people: pd.DataFrame, space: FeatureSpace) -> None:
    model.fit(people[NUMBERS], people[["member", "code"]].astype(int))
    assert "multi-output" in message(UnsupportedError, model, space.subset(NUMBERS))


@pytest.mark.parametrize(
    "model",
    [RidgeClassifier(), MLPClassifier((2,), max_iter=2)],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore")  # training is cut short
def test_several_labels(model: Any, people: pd.DataFrame, space: FeatureSpace) -> None:
    labels = np.column_stack([people["member"], people["code"] > 4]).astype(int)
    model.fit(people[NUMBERS], labels)
    assert "multi-label" in message(UnsupportedError, model, space.subset(NUMBERS))


def test_text_in_a_scaler(people: pd.DataFrame, space: FeatureSpace) -> None:
    texts = people.assign(age=people["age"].astype(str), code=people["code"].astype(str))
    columns = ColumnTransformer([("scale", StandardScaler(), ["age"])], remainder="passthrough")
    wanted = people[["age", "code", "rate"]]
    model = make_pipeline(columns, LogisticRegression()).fit(wanted, people["member"])
    text = message(UnsupportedError, model, FeatureSpace.infer(texts[["age", "code", "rate"]]))
    assert "'scale' (StandardScaler): column 'age' holds text such as '" in text
    assert "'logisticregression' (LogisticRegression): column 'code' holds text such as '3'" in text
    assert "encode text inside the model's pipeline" in text


def test_missing_values_in_a_number(people: pd.DataFrame) -> None:
    holes = people[["age", "rate"]].assign(rate=people["rate"].where(people["rate"] > 0))
    model = DecisionTreeClassifier(max_depth=2).fit(holes, people["member"])
    text = message(UnsupportedError, model, FeatureSpace.infer(holes))
    assert "DecisionTreeClassifier: column 'rate' may be missing" in text
    assert "missing = false in the feature space answers for the rows that have the value" in text
    assert "fill them in before training" in text


def test_columns_of_the_space_and_the_model_differ(
    people: pd.DataFrame, space: FeatureSpace
) -> None:
    model = Ridge().fit(people[NUMBERS], people["age"])
    renamed = FeatureSpace.infer(people[NUMBERS].rename(columns={"income": "incomes"}))
    text = message(MissingColumnError, model, renamed)
    assert "lacks columns that the model was trained on: 'income' (nearest: 'incomes')" in text
    text = message(InvalidInputError, model, space.subset([*NUMBERS, "code", "member"]))
    assert "has columns that the model was not trained on: 'member', 'code'" in text
    by_array = Ridge().fit(people[NUMBERS].to_numpy(), people["age"])
    text = message(InvalidInputError, by_array, space.subset(["age", "rate"]))
    assert "an array of 3 columns, and the feature space has 2: 'age', 'rate'" in text
    with pytest.raises(MissingColumnError, match="'income', 'rate'"):
        SklearnPredictor(model, space.subset(NUMBERS)).predict(people[["age"]])
    with pytest.raises(DataTypeError, match="FeatureSpace, not DataFrame"):
        lower(model, people)


def test_steps_that_were_not_fitted_together(people: pd.DataFrame, space: FeatureSpace) -> None:
    model = make_pipeline(StandardScaler(), Ridge()).fit(people[NUMBERS], people["age"])
    model.steps[1] = ("ridge", Ridge().fit(people[["age", "rate"]].to_numpy(), people["age"]))
    text = message(InvalidInputError, model, space.subset(NUMBERS))
    assert "(Ridge): fitted on 2 columns, but gets 3" in text


def test_single_precision_arithmetic_is_refused(people: pd.DataFrame) -> None:
    """Scalers keep float32 if all columns are float32: errors of 1e-7, not 1e-16."""
    single = people[NUMBERS].astype(np.float32)
    space = FeatureSpace.infer(single)
    scaled = make_pipeline(MinMaxScaler(), Ridge()).fit(single, people["age"])
    text = message(UnsupportedError, scaled, space)
    assert "'minmaxscaler' (MinMaxScaler): computes in float32" in text
    assert "X.astype('float64')" in text
    linear = Ridge().fit(single, people["rate"].astype(np.float32))
    assert "Ridge: computes in float32" in message(UnsupportedError, linear, space)
    assert lower(linear, FeatureSpace.infer(people[NUMBERS])).outputs
    tree = DecisionTreeClassifier(max_depth=2).fit(single, people["member"])
    assert lower(tree, space).outputs  # trees round to float32 anyway


def test_precision_is_that_of_all_columns_together(people: pd.DataFrame) -> None:
    """One array has one dtype; parts of a DataFrame have their own."""
    mixed = people[["age", "rate"]].assign(rate=people["rate"].astype(np.float32))
    space = FeatureSpace.infer(mixed)
    columns = ColumnTransformer([("scale", StandardScaler(), [1])], remainder="passthrough")
    by_array = make_pipeline(columns, Ridge()).fit(mixed.to_numpy(), people["income"])
    assert lower(by_array, space).outputs
    by_frame = make_pipeline(columns, Ridge()).fit(mixed, people["income"])
    assert "'scale' (StandardScaler): computes in" in message(UnsupportedError, by_frame, space)


def test_classes_that_are_no_labels(people: pd.DataFrame, space: FeatureSpace) -> None:
    days = pd.to_datetime(people["code"].astype(str) + ".1.2020", dayfirst=True).to_numpy()
    model = DecisionTreeClassifier(max_depth=2).fit(people[NUMBERS], people["member"])
    model.classes_ = np.unique(days)[:2]
    assert "classes must be text" in message(UnsupportedError, model, space.subset(NUMBERS))

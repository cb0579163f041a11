"""What is not supported is refused before any work, all of it at once, with the remedy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier, StackingClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.isotonic import IsotonicRegression
from sklearn.kernel_approximation import RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    PowerTransformer,
    StandardScaler,
)
from sklearn.svm import SVC
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
            ("process", GaussianProcessClassifier(max_iter_predict=2)),
        ]
    ).fit(people, people["member"])
    text = message(UnsupportedError, model, space)
    prefix = "pipeline step 'columns' (ColumnTransformer) > 'numbers' > pipeline step 'rbf'"
    assert f"{prefix} (RBFSampler): computes cosines" in text
    assert "pipeline step 'own' (Doubled): no transformer that can be compiled" in text
    assert "pipeline step 'log' (FunctionTransformer): calls the Python function 'sin'" in text
    assert "pipeline step 'process' (GaussianProcessClassifier): it sums a smooth kernel" in text
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
        (
            lambda: KNeighborsClassifier(n_neighbors=2),
            "at equal distance count is left to rounding",
        ),
        (lambda: KNeighborsClassifier(n_neighbors=2), "Train a NearestCentroid, a tree"),
        (
            lambda: GridSearchCV(Ridge(), {"alpha": [1, 2]}, cv=2, refit=False),
            "holds no fitted estimator; train it with refit=True",
        ),
        (
            lambda: GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [2]}, cv=2),
            "GridSearchCV > its estimator (KNeighborsClassifier): which of several",
        ),
    ],
    ids=["subclass", "neighbours", "remedy", "no refit", "search"],
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


def test_several_outputs_of_one_model_each(people: pd.DataFrame, space: FeatureSpace) -> None:
    targets = people[["member", "code"]].astype(int)
    model = MultiOutputClassifier(LogisticRegression()).fit(people[NUMBERS], targets)
    text = message(UnsupportedError, model, space.subset(NUMBERS))
    assert "gives several labels at once" in text
    assert "Compile the model of one output: model.estimators_[i]." in text
    assert lower(model.estimators_[1], space.subset(NUMBERS)).outputs


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
    model = LogisticRegression().fit(holes.dropna(), people["member"][holes["rate"].notna()])
    text = message(UnsupportedError, model, FeatureSpace.infer(holes))
    assert "LogisticRegression: column 'rate' may be missing" in text
    assert "missing = false in the feature space, which answers for instances that have it" in text
    assert "Put a SimpleImputer before it" in text


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


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (SVC(kernel=lambda x, y: x @ y.T), "kernel <function"),
        (KernelRidge(kernel="laplacian"), "kernel 'laplacian' is not supported; supported are"),
        (KernelRidge(kernel="poly", degree=1.5), "degree 1.5 of its kernel is no whole number"),
        (BernoulliNB(alpha=0, binarize=20.0), "train it with alpha > 0"),
        (DummyClassifier(strategy="uniform"), "strategy 'uniform' answers at random"),
        (
            TransformedTargetRegressor(Ridge(), func=np.cbrt, inverse_func=lambda y: y**3),
            "its inverse_func '<lambda>' is not supported; supported are exp, expm1",
        ),
        (
            TransformedTargetRegressor(Ridge(), transformer=PowerTransformer()),
            "its transformer is a PowerTransformer",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
@pytest.mark.filterwarnings("ignore")
def test_options_that_are_not_supported(
    model: Any, words: str, people: pd.DataFrame, space: FeatureSpace
) -> None:
    model.fit(people[NUMBERS], people["member"].astype(int))
    assert words in message(UnsupportedError, model, space.subset(NUMBERS))


def test_calibrated_classifiers_of_three_classes_have_one_member(
    people: pd.DataFrame, space: FeatureSpace
) -> None:
    model = CalibratedClassifierCV(GaussianNB(), cv=2).fit(people[NUMBERS], people["code"])
    text = message(UnsupportedError, model, space.subset(NUMBERS))
    assert "train it with ensemble=False" in text


@pytest.mark.skipif(
    "priors" not in NearestCentroid().get_params(), reason="scikit-learn >= 1.6 has priors"
)
def test_corners_and_priors(people: pd.DataFrame, space: FeatureSpace) -> None:
    model = NearestCentroid(metric="manhattan", priors=[0.3, 0.7])
    model.fit(people[NUMBERS], people["member"])
    text = message(UnsupportedError, model, space.subset(NUMBERS))
    assert "metric 'manhattan' is not supported with priors that are not uniform" in text


def test_isotonic_regression_has_an_answer_everywhere(people: pd.DataFrame) -> None:
    model = IsotonicRegression().fit(people[["rate"]], people["age"])
    text = message(UnsupportedError, model, FeatureSpace.infer(people[["rate"]]))
    assert "train it with out_of_bounds='clip'" in text
    model = IsotonicRegression(out_of_bounds="clip").fit(people[["rate"]], people["age"])
    text = message(UnsupportedError, model, FeatureSpace.infer(people[["rate", "income"]]))
    assert "takes one column, and gets 2" in text


def test_codes_that_a_model_of_categories_does_not_know(people: pd.DataFrame) -> None:
    table = people[["age", "code"]].assign(age=people["age"] // 20)
    model = CategoricalNB().fit(table, people["member"])
    wide = FeatureSpace.infer(
        pd.concat([table, pd.DataFrame({"age": [9], "code": [12]})]), kinds={"code": "categorical"}
    )
    text = message(UnsupportedError, model, wide)
    assert "column 'age' can hold 0 … 9, and the model knows the codes 0 … 3" in text
    assert "column 'code' can hold 12, and the model knows the codes 0 … 9" in text
    assert "narrow the column in the feature space" in text


def test_probabilities_that_are_not_lowered(people: pd.DataFrame, space: FeatureSpace) -> None:
    model = StackingClassifier([("machine", SVC(probability=True))], cv=2)
    model.fit(people[NUMBERS], people["member"])
    text = message(UnsupportedError, model, space.subset(NUMBERS))
    assert "the probabilities of SVC are not compiled" in text


@pytest.mark.filterwarnings("ignore")
def test_scalers_whose_numbers_overflowed_name_the_column() -> None:
    """Near -1e300 a variance is infinite."""
    rng = np.random.default_rng(0)
    huge = -1e300 * (1 + rng.random(60) / 1000)
    table = pd.DataFrame({"usual": rng.normal(size=60), "huge": huge})
    model = make_pipeline(StandardScaler(), DecisionTreeClassifier())
    model.fit(table, table["usual"] > 0)
    space = FeatureSpace.infer(table, kinds=dict.fromkeys(table, "real"))
    with pytest.raises(UnsupportedError) as caught:
        lower(model, space)
    assert "what it took from column 'huge' in training is no finite number" in str(caught.value)
    assert "divide the column by" in str(caught.value)

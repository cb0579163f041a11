"""Every model, binary and multi-class, behind every preprocessing, agrees with the library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import linear_model as linear
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.isotonic import IsotonicRegression
from sklearn.naive_bayes import CategoricalNB
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import LinearSVC, LinearSVR
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from cfxc.frontends.sklearn import MODELS, WRAPPERS, lower
from cfxc.ir import Program, evaluate, ops
from cfxc.space import FeatureSpace
from tests.frontends.sklearn import ensembles, predictors

Agree = Callable[..., Program]
NUMBERS = ["age", "income", "rate"]


def mlp(**options: Any) -> MLPClassifier:
    return MLPClassifier((6, 5), max_iter=40, random_state=0, **options)


CLASSIFIERS: dict[str, Any] = {
    "logistic": linear.LogisticRegression(),
    "logistic without intercept": linear.LogisticRegression(fit_intercept=False),
    "logistic cv": linear.LogisticRegressionCV(Cs=2, cv=2, use_legacy_attributes=False)
    if "use_legacy_attributes" in linear.LogisticRegressionCV().get_params()
    else linear.LogisticRegressionCV(Cs=2, cv=2),
    "svc": LinearSVC(random_state=0),
    "svc without intercept": LinearSVC(fit_intercept=False, random_state=0),
    "svc crammer-singer": LinearSVC(multi_class="crammer_singer", random_state=0),
    "ridge": linear.RidgeClassifier(),
    "ridge cv": linear.RidgeClassifierCV(),
    "sgd hinge": linear.SGDClassifier(random_state=0),
    "sgd log": linear.SGDClassifier(loss="log_loss", random_state=0),
    "sgd huber": linear.SGDClassifier(loss="modified_huber", random_state=0),
    "tree": DecisionTreeClassifier(max_depth=6, random_state=0),
    "tree by leaves": DecisionTreeClassifier(max_leaf_nodes=9, random_state=0),
    "extra tree": ExtraTreeClassifier(max_depth=6, random_state=0),
    "forest": RandomForestClassifier(12, max_depth=5, random_state=0),
    "full forest": RandomForestClassifier(10, random_state=0),
    "weighted forest": RandomForestClassifier(
        9, max_depth=4, class_weight="balanced", random_state=0
    ),
    "extra trees": ExtraTreesClassifier(8, max_depth=6, random_state=0),
    "mlp relu": mlp(),
    "mlp identity": mlp(activation="identity"),
    "mlp logistic": mlp(activation="logistic"),
    "mlp tanh": mlp(activation="tanh"),
}
REGRESSORS: dict[str, Any] = {
    "least squares": linear.LinearRegression(),
    "ridge": linear.Ridge(),
    "ridge cv": linear.RidgeCV(),
    "lasso": linear.Lasso(alpha=0.05),
    "lasso cv": linear.LassoCV(alphas=[0.05, 0.1], cv=2),
    "elastic net": linear.ElasticNet(alpha=0.05),
    "elastic net cv": linear.ElasticNetCV(alphas=[0.05, 0.1], cv=2),
    "sgd": linear.SGDRegressor(random_state=0),
    "svr": LinearSVR(random_state=0),
    "tree": DecisionTreeRegressor(max_depth=6, random_state=0),
    "median tree": DecisionTreeRegressor(
        criterion="absolute_error", max_leaf_nodes=9, random_state=0
    ),
    "extra tree": ExtraTreeRegressor(max_depth=6, random_state=0),
    "forest": RandomForestRegressor(12, max_depth=5, random_state=0),
    "extra trees": ExtraTreesRegressor(8, max_depth=6, random_state=0),
    "mlp": MLPRegressor(hidden_layer_sizes=(6, 5), max_iter=40, random_state=0),
    "mlp tanh": MLPRegressor(
        hidden_layer_sizes=(6,), activation="tanh", max_iter=40, random_state=0
    ),
}
SINGLE_TARGET = {"lasso cv", "elastic net cv", "sgd", "svr"}
DIVERGES = {"sgd", "svr", "sgd log", "sgd huber"}  # on columns of different scales


def mixed(model: Any) -> Pipeline:
    columns = ColumnTransformer(
        [
            ("scale", StandardScaler(), ["age", "income"]),
            ("range", MinMaxScaler(), ["rate"]),
            ("one_hot", OneHotEncoder(), ["sector"]),
            ("order", OrdinalEncoder(), ["code"]),
        ],
        remainder="passthrough",
    )
    return make_pipeline(columns, model)


BEHIND: dict[str, Callable[[Any], Any]] = {
    "frame": lambda model: model,
    "scaler": lambda model: make_pipeline(StandardScaler(), model),
    "columns": mixed,
}


def trained(
    behind: str, model: Any, people: pd.DataFrame, space: FeatureSpace, target: Any
) -> tuple[Any, FeatureSpace, pd.DataFrame]:
    """The fitted model with the part of the table and the space that it sees."""
    if behind != "columns":
        people, space = people[NUMBERS], space.subset(NUMBERS)
    return BEHIND[behind](clone(model)).fit(people, target), space, people


@pytest.mark.parametrize(
    ("name", "kind", "behind"),
    [
        (name, kind, behind)
        for name in CLASSIFIERS
        for kind in ("binary", "multi")
        for behind in BEHIND
        if not (behind == "frame" and name in DIVERGES)
    ],
)
@pytest.mark.filterwarnings("ignore")  # training is cut short
def test_classifiers(
    name: str,
    kind: str,
    behind: str,
    agree: Agree,
    people: pd.DataFrame,
    space: FeatureSpace,
    targets: dict[str, Any],
) -> None:
    target = targets[kind]
    model, space, people = trained(behind, CLASSIFIERS[name], people, space, target)
    program = agree(model, space, people)
    final = model[-1] if isinstance(model, Pipeline) else model
    has_score = not hasattr(final, "tree_") and not hasattr(final, "estimators_")
    assert ("score" in dict(program.outputs)) == has_score
    classes = program.output_sorts["label"].labels
    assert list(classes) == (["deny", "grant"] if kind == "binary" else [0, 10, 20])


@pytest.mark.parametrize(
    ("name", "kind", "behind"),
    [
        (name, kind, behind)
        for name in REGRESSORS
        for kind in ("value", "values")
        for behind in BEHIND
        if not (kind == "values" and name in SINGLE_TARGET)
        and not (behind == "frame" and name in DIVERGES)
    ],
)
@pytest.mark.filterwarnings("ignore")  # training is cut short
def test_regressors(
    name: str,
    kind: str,
    behind: str,
    agree: Agree,
    people: pd.DataFrame,
    space: FeatureSpace,
    targets: dict[str, Any],
) -> None:
    model, space, people = trained(behind, REGRESSORS[name], people, space, targets[kind])
    program = agree(model, space, people)
    assert program.output_sorts["value"].shape == (() if kind == "value" else (2,))


def test_every_registered_model_is_tested() -> None:
    frozen = [each for each in WRAPPERS if each.__name__ == "FrozenEstimator"]
    own = (CLASSIFIERS, REGRESSORS, ensembles.CLASSIFIERS, ensembles.REGRESSORS, ensembles.OTHERS)
    others = (held for name, held in vars(predictors).items() if name.isupper())
    tables = [table for table in (*own, *others) if isinstance(table, dict)]
    models = [model for table in tables for model in table.values()]
    tested = {type(model[-1] if isinstance(model, Pipeline) else model) for model in models}
    tested |= {IsotonicRegression, CategoricalNB, *frozen}  # with columns of their own
    known = {*MODELS, *WRAPPERS}  # boosters join them
    assert tested == {each for each in known if each.__module__.startswith("sklearn")}


@pytest.mark.skipif(
    "multi_class" not in linear.LogisticRegression().get_params(),
    reason="scikit-learn >= 1.8 has no multi_class",
)
@pytest.mark.parametrize("kind", ["binary", "multi"])
@pytest.mark.parametrize(
    "options",
    [{"multi_class": "ovr"}, {"multi_class": "multinomial"}, {"solver": "liblinear"}],
    ids=str,
)
@pytest.mark.filterwarnings("ignore")  # multi_class is deprecated
def test_one_versus_rest(
    options: dict[str, str],
    kind: str,
    agree: Agree,
    people: pd.DataFrame,
    space: FeatureSpace,
    targets: dict[str, Any],
) -> None:
    model = make_pipeline(StandardScaler(), linear.LogisticRegression(**options))
    agree(model.fit(people[NUMBERS], targets[kind]), space.subset(NUMBERS), people[NUMBERS])


@pytest.mark.parametrize("name", ["tree", "forest", "logistic", "ridge"])
def test_models_trained_on_arrays_take_the_columns_in_order(
    name: str,
    agree: Agree,
    people: pd.DataFrame,
    space: FeatureSpace,
    targets: dict[str, Any],
) -> None:
    table = people[["rate", "age", "income"]]
    own = FeatureSpace.infer(table)
    agree(clone(CLASSIFIERS[name]).fit(table.to_numpy(), targets["binary"]), own, table)


@pytest.mark.parametrize(
    "classes",
    [(False, True), (1, 2), ("1", "2"), (-1.0, 1.0)],
    ids=lambda classes: type(classes[0]).__name__ + str(classes),
)
def test_classes_keep_their_type(
    classes: tuple[Any, Any],
    agree: Agree,
    people: pd.DataFrame,
    space: FeatureSpace,
    targets: dict[str, Any],
) -> None:
    target = np.where(targets["binary"] == "grant", classes[1], classes[0])
    model = DecisionTreeClassifier(max_depth=3).fit(people[NUMBERS], target)
    program = agree(model, space.subset(NUMBERS), people[NUMBERS])
    labels = program.output_sorts["label"].labels
    assert [type(label) for label in labels] == [type(one) for one in classes]
    assert tuple(labels) == classes


def test_float32_parameters_are_upcast_exactly(
    agree: Agree, people: pd.DataFrame, space: FeatureSpace, targets: dict[str, Any]
) -> None:
    single = people[NUMBERS].astype(np.float32).to_numpy()
    model = linear.Ridge().fit(single, targets["value"].astype(np.float32))
    assert model.coef_.dtype == np.float32
    agree(model, space.subset(NUMBERS), people[NUMBERS])


def test_sparse_coefficients(
    agree: Agree, people: pd.DataFrame, space: FeatureSpace, targets: dict[str, Any]
) -> None:
    model = linear.LogisticRegression(max_iter=500).fit(people[NUMBERS], targets["multi"])
    dense = lower(model, space.subset(NUMBERS))
    model.sparsify()
    assert lower(model, space.subset(NUMBERS)) == dense


@pytest.mark.filterwarnings("ignore")  # training is cut short
def test_labels_need_no_transcendental_functions(
    people: pd.DataFrame, space: FeatureSpace, targets: dict[str, Any]
) -> None:
    smooth = (ops.Exp, ops.Sigmoid, ops.Tanh, ops.Softmax)
    for name in ("logistic", "sgd log", "mlp relu"):
        for kind in ("binary", "multi"):
            model = make_pipeline(StandardScaler(), clone(CLASSIFIERS[name]))
            model.fit(people[NUMBERS], targets[kind])
            program = lower(model, space.subset(NUMBERS))
            defined = {let.name: let.op for let in program.lets()}
            pending, needed = [program.output("label")], []
            while pending:
                op = defined.get(str(pending.pop()))
                if op is not None:
                    needed.append(op)
                    pending.extend(op.operands())
            assert needed
            assert not any(isinstance(op, smooth) for op in needed)
            assert any(isinstance(let.op, smooth) for let in program.lets())


@pytest.mark.skipif(
    "loss" not in MLPRegressor().get_params(), reason="scikit-learn >= 1.7 has the Poisson loss"
)
@pytest.mark.filterwarnings("ignore")  # training is cut short
def test_poisson_network_ends_in_exp(
    agree: Agree, people: pd.DataFrame, space: FeatureSpace, targets: dict[str, Any]
) -> None:
    network = MLPRegressor(
        loss="poisson", hidden_layer_sizes=(4,), max_iter=40, random_state=0, solver="adam"
    )
    model = make_pipeline(StandardScaler(), network).fit(people[NUMBERS], targets["value"] / 50)
    program = agree(model, space.subset(NUMBERS), people[NUMBERS])
    assert isinstance(list(program.lets())[-2].op, ops.Exp)


def test_a_tree_of_one_leaf(agree: Agree, people: pd.DataFrame, space: FeatureSpace) -> None:
    target = np.array(["grant"] * len(people))
    forest = RandomForestClassifier(3).fit(people[NUMBERS], target)
    agree(forest, space.subset(NUMBERS), people[NUMBERS])


def tie_of(model: Any, classes: int) -> Any:
    """The fitted model with scores 0 (binary) or three equal ones for x = 1/2."""
    rows = np.zeros((6, 1))
    model.fit(rows, np.arange(6) % classes)
    width = 1 if classes == 2 else classes
    if hasattr(model, "coefs_"):
        model.coefs_[-1][:], model.intercepts_[-1][:] = 0.0, 0.0
    else:
        model.coef_, model.intercept_ = np.full((width, 1), 2.0), np.full(width, -1.0)
    return model


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "model",
    [
        linear.LogisticRegression(),
        LinearSVC(),
        linear.RidgeClassifier(),
        linear.SGDClassifier(),
        MLPClassifier((2,), max_iter=2),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore")  # training is cut short
def test_ties_go_to_the_first_class(model: Any, classes: int, agree: Agree) -> None:
    table = pd.DataFrame({"x": [0.5]})
    program = agree(tie_of(clone(model), classes), FeatureSpace.infer(table), table)
    inputs = {"x": 0.5}
    assert evaluate(program, inputs)["label"] == 0
    assert len(set(np.ravel(evaluate(program, inputs)["score"]))) == 1
    if classes == 2 and not isinstance(model, MLPClassifier):
        above = table + 2**-20
        program = agree(tie_of(clone(model), classes), FeatureSpace.infer(above), above)
        assert evaluate(program, {"x": above["x"][0]})["label"] == 1

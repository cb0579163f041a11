"""Models as skl2onnx writes them: the program answers as onnxruntime does."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pandas as pd
import pytest
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from cfxc.frontends.onnx import OnnxPredictor, lower
from cfxc.frontends.predictor import Predictor
from cfxc.ir import REAL, evaluate, ops, real
from cfxc.space import FeatureSpace

from .support import agree, export, loadable, numbers, people, target

FRAME = numbers()
SPACE = FeatureSpace.infer(FRAME)
SMOOTH = (ops.Sigmoid, ops.Softmax, ops.Tanh, ops.Exp)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Networks here need not converge."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def network(kind: Any, activation: str, *layers: int) -> Any:
    return make_pipeline(
        StandardScaler(),
        kind(hidden_layer_sizes=layers, activation=activation, max_iter=80, random_state=0),
    )


CLASSIFIERS: dict[str, Any] = {
    "logistic": LogisticRegression(),
    "svc": LinearSVC(),
    "tree": DecisionTreeClassifier(max_depth=5, random_state=0),
    "forest": RandomForestClassifier(8, max_depth=6, random_state=0),
    "extra": ExtraTreesClassifier(8, max_depth=6, random_state=0),
    "mlp relu": network(MLPClassifier, "relu", 6, 5),
    "mlp identity": network(MLPClassifier, "identity", 5),
    "mlp logistic": network(MLPClassifier, "logistic", 5),
    "mlp tanh": network(MLPClassifier, "tanh", 5),
    "min-max": make_pipeline(MinMaxScaler(clip=True), LogisticRegression(C=1000)),
}
MACHINES: dict[str, Any] = {
    kernel: make_pipeline(StandardScaler(), SVC(kernel=kernel, degree=degree, coef0=0.5))
    for kernel, degree in (("linear", 1), ("poly", 3), ("rbf", 1), ("sigmoid", 1))
}
MACHINES_OF_VALUES: dict[str, Any] = {
    kernel: make_pipeline(StandardScaler(), SVR(kernel=kernel))
    for kernel in ("linear", "poly", "rbf", "sigmoid")
}
REGRESSORS: dict[str, Any] = {
    "linear": LinearRegression(),
    "ridge": Ridge(),
    "lasso": Lasso(0.01),
    "tree": DecisionTreeRegressor(max_depth=5, random_state=0),
    "forest": RandomForestRegressor(8, max_depth=6, random_state=0),
    "extra": ExtraTreesRegressor(8, max_depth=6, random_state=0),
    "mlp relu": network(MLPRegressor, "relu", 6),
    "mlp identity": network(MLPRegressor, "identity", 5),
    "mlp logistic": network(MLPRegressor, "logistic", 5),
    "mlp tanh": network(MLPRegressor, "tanh", 5),
}


def exported(estimator: Any, labels: Any, dtype: str, **options: Any) -> onnx.ModelProto:
    return loadable(export(estimator.fit(FRAME.to_numpy(), labels), FRAME, dtype, **options))


# skl2onnx writes no LinearSVC on doubles, and networks with one target only
CLASSIFIER_CASES = [
    (name, count, dtype)
    for name in CLASSIFIERS
    for count in (2, 3)
    for dtype in ("float", "double")
    if (name, dtype) != ("svc", "double")
]
REGRESSOR_CASES = [
    (name, targets, dtype)
    for name in REGRESSORS
    for targets in (1, 2)
    for dtype in ("float", "double")
    if targets == 1 or not name.startswith("mlp")
]


@pytest.mark.parametrize(("name", "count", "dtype"), CLASSIFIER_CASES)
def test_classifiers(name: str, count: int, dtype: str) -> None:
    estimator, labels = CLASSIFIERS[name], target(FRAME, count)
    if name != "svc":
        model = exported(estimator, labels, dtype, zipmap=False)
    else:
        model = exported(estimator, labels, dtype)
    predictor = agree(model, SPACE, FRAME)
    assert isinstance(predictor, Predictor)
    assert predictor.classes == tuple(range(count))
    sorts = predictor.program.output_sorts
    votes = name in ("tree", "forest", "extra")
    assert ("score" in sorts) == (not votes)
    assert ("probability" in sorts) == (name != "svc")
    if not votes:
        assert sorts["score"] == (REAL if count == 2 else real(count))


@pytest.mark.parametrize(("name", "targets", "dtype"), REGRESSOR_CASES)
def test_regressors(name: str, targets: int, dtype: str) -> None:
    scaled = (FRAME - FRAME.mean()) / FRAME.std()
    numbers_ = np.stack([scaled.x0 + scaled.x1, scaled.x2 - scaled.x3], axis=1)
    model = exported(REGRESSORS[name], numbers_[:, 0] if targets == 1 else numbers_, dtype)
    predictor = agree(model, SPACE, FRAME)
    value = predictor.program.output_sorts["value"]
    assert value == (REAL if targets == 1 else real(2))


@pytest.mark.parametrize("zipmap", [True, False, "columns"])
@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("name", ["logistic", "forest", "mlp relu"])
def test_zipmaps_and_text_labels(name: str, count: int, zipmap: Any) -> None:
    labels = np.array(["no", "yes", "maybe"])[target(FRAME, count)]
    model = exported(CLASSIFIERS[name], labels, "float", zipmap=zipmap)
    predictor = agree(model, SPACE, FRAME)
    assert predictor.classes == tuple(sorted(set(labels.tolist())))
    assert "probability" in predictor.program.output_sorts


def test_other_exports_of_the_same_model() -> None:
    """Raw scores, class labels as an output, ops forbidden, division instead of scaling."""
    labels = target(FRAME, 3)
    plain = CLASSIFIERS["logistic"]
    raw = agree(exported(plain, labels, "float", zipmap=False, raw_scores=True), SPACE, FRAME)
    assert "probability" not in raw.program.output_sorts
    agree(exported(plain, labels, "float", zipmap=False, output_class_labels=True), SPACE, FRAME)
    estimator = make_pipeline(StandardScaler(), plain).fit(FRAME.to_numpy(), labels)
    inputs = [("X", FloatTensorType([None, 4]))]
    final, scaler = id(estimator[-1]), id(estimator[0])
    forbidden = {"LinearClassifier", "Scaler", "Normalizer"}
    agree(
        to_onnx(estimator, initial_types=inputs, options={final: {"zipmap": False}},
                black_op=forbidden),
        SPACE, FRAME,
    )  # fmt: skip
    for div in ("div", "div_cast"):
        options = {final: {"zipmap": False}, scaler: {"div": div}}
        agree(to_onnx(estimator, initial_types=inputs, options=options), SPACE, FRAME)


def test_old_and_new_opsets() -> None:
    estimator = make_pipeline(StandardScaler(), MLPClassifier((4,), max_iter=50, random_state=0))
    estimator.fit(FRAME.to_numpy(), target(FRAME, 3))
    inputs = [("X", FloatTensorType([None, 4]))]
    for opset in (9, 11, 13, 15, 18, 21):
        agree(to_onnx(estimator, initial_types=inputs, target_opset=opset), SPACE, FRAME, exact=2)


PEOPLE = people()
PEOPLE_SPACE = FeatureSpace.infer(PEOPLE)


def preprocessing(scale: Any, **one_hot: Any) -> ColumnTransformer:
    return ColumnTransformer(
        [
            ("scale", scale, ["age", "pay"]),
            ("squeeze", MinMaxScaler(clip=True), ["kids"]),
            ("sector", OneHotEncoder(**one_hot), ["sector"]),
            ("school", OrdinalEncoder(categories=[["low", "mid", "high"]]), ["school"]),
        ],
        remainder="passthrough",
    )


FINAL: dict[str, Any] = {
    "logistic": LogisticRegression(max_iter=1000),
    "forest": RandomForestClassifier(7, max_depth=6, random_state=0),  # odd: no ties of votes
    "mlp": MLPClassifier((6,), max_iter=80, random_state=0),
}


@pytest.mark.parametrize("one_hot", [{}, {"drop": "first"}, {"handle_unknown": "ignore"}], ids=str)
@pytest.mark.parametrize("name", FINAL)
def test_pipelines_with_one_input_per_column(name: str, one_hot: Any) -> None:
    # scaled integers meet the thresholds of trees exactly, where float32 arithmetic decides
    scale = "passthrough" if name == "forest" else StandardScaler()
    estimator = make_pipeline(preprocessing(scale, **one_hot), FINAL[name])
    labels = np.array(["deny", "grant"])[target(PEOPLE)]
    model = export(estimator.fit(PEOPLE, labels), PEOPLE, one=False, zipmap=False)
    predictor = agree(model, PEOPLE_SPACE, PEOPLE)
    assert [name for name, _ in predictor.program.inputs] == list(PEOPLE)
    encodings = [op for op in map(_op, predictor.program.lets()) if isinstance(op, ops.Lookup)]
    assert len(encodings) == 3, "text and bits become numbers by lookup"


def _op(statement: Any) -> Any:
    return statement.op


def test_numeric_categories() -> None:
    """Integer codes through OneHotEncoder and OrdinalEncoder, as categories and as numbers."""
    frame = PEOPLE[["age", "pay", "kids", "member"]]
    encode = ColumnTransformer(
        [("bits", OneHotEncoder(), ["kids", "member"]), ("codes", OrdinalEncoder(), ["age"])],
        remainder="passthrough",
    )
    estimator = make_pipeline(encode, LogisticRegression(max_iter=2000))
    ages = np.arange(18, 80)
    encode.set_params(codes__categories=[ages])
    model = export(estimator.fit(frame, target(frame)), frame, one=False, zipmap=False)
    for kinds in ({}, {"kids": "categorical"}):
        agree(model, FeatureSpace.infer(frame, kinds=kinds), frame)


def test_integer_tensors() -> None:
    frame = PEOPLE[["age", "kids", "member"]]
    space = FeatureSpace.infer(frame)
    scaled = [make_pipeline(StandardScaler(), FINAL[name]) for name in ("logistic", "mlp")]
    for estimator in (FINAL["forest"], LinearSVC(), *scaled):
        agree(export(estimator.fit(frame.to_numpy(), target(frame, 3)), frame, "int"), space, frame)
    regressor = Lasso(0.01).fit(frame.to_numpy(), frame.age - frame.kids)
    agree(export(regressor, frame, "int"), space, frame)


def test_columns_of_encoded_groups() -> None:
    """A model trained on one-hot columns sees one category per group."""
    frame = pd.get_dummies(PEOPLE[["age", "pay", "sector"]], dtype=int)
    space = FeatureSpace.infer(frame, one_hot=["sector_"])
    labels = (PEOPLE.sector == "law") ^ (PEOPLE.age > 50)
    estimator = RandomForestClassifier(5, max_depth=6, random_state=0)
    model = export(estimator.fit(frame.to_numpy(), labels.astype(int)), frame)
    predictor = agree(model, space, frame)
    assert [name for name, _ in predictor.program.inputs] == ["age", "pay", "sector"]


def test_inputs_that_group_columns() -> None:
    """Several columns to an input, in table order."""
    frame = PEOPLE[["sector", "school", "kids"]]
    steps = [("text", OneHotEncoder(), [0, 1]), ("rest", "passthrough", [2])]
    estimator = make_pipeline(ColumnTransformer(steps), LogisticRegression())
    estimator.fit(frame.to_numpy(dtype=object), target(PEOPLE))
    types = [("text", StringTensorType([None, 2])), ("rest", FloatTensorType([None, 1]))]
    model = to_onnx(estimator, initial_types=types, options={id(estimator[-1]): {"zipmap": False}})
    agree(model, FeatureSpace.infer(frame), frame)


def test_names_that_onnx_tools_change() -> None:
    """``hours-per-week`` may come out as ``hours_per_week``; other inputs may be unused."""
    frame = PEOPLE.rename(columns={"age": "age in years"})
    written = PEOPLE.rename(columns={"age": "age_in_years"})[["pay", "age_in_years"]]
    both = ColumnTransformer([("both", "passthrough", list(written))])
    estimator = make_pipeline(both, LogisticRegression()).fit(written, target(PEOPLE))
    predictor = agree(export(estimator, written, one=False), FeatureSpace.infer(frame), frame)
    assert [name for name, _ in predictor.program.inputs] == list(frame)


def test_paths_bytes_and_models_are_the_same(tmp_path: Path) -> None:
    model = exported(CLASSIFIERS["forest"], target(FRAME), "float")
    path = tmp_path / "forest.onnx"
    path.write_bytes(model.SerializeToString())
    program = lower(path, SPACE)
    for same in (str(path), model, path.read_bytes()):
        assert lower(same, SPACE) == program
    assert program.name == "forest.onnx"
    origins = {statement.origin for statement in program.lets()}
    assert "forest.onnx: node 'TreeEnsembleClassifier'" in origins
    assert "forest.onnx: input 'X'" in origins
    assert lower(path, SPACE, "mine").name == "mine"


def test_weights_kept_in_another_file(tmp_path: Path) -> None:
    model = exported(CLASSIFIERS["mlp relu"], target(FRAME), "float")
    path = tmp_path / "net.onnx"
    expected = lower(model, SPACE)
    onnx.save_model(model, str(path), save_as_external_data=True, size_threshold=0, location="w")
    assert lower(path, SPACE) == expected


def test_decisions_use_no_smooth_function() -> None:
    """Labels of networks with a sigmoid or softmax at their end depend on the logits alone."""
    for name, count in (("mlp relu", 2), ("mlp relu", 3), ("logistic", 2), ("logistic", 3)):
        program = lower(exported(CLASSIFIERS[name], target(FRAME, count), "double"), SPACE)
        wanted = {program.output("label")}
        for statement in reversed(list(program.lets())):
            if statement.name in wanted:
                assert not isinstance(statement.op, SMOOTH)
                wanted.update(statement.op.operands())


def test_parameters_are_exact() -> None:
    """The score at a point is the rational that the stored numbers give, not a rounding of it."""
    estimator = LogisticRegression().fit(FRAME.to_numpy(), target(FRAME))
    program = lower(export(estimator, FRAME, "double"), SPACE)
    point = {f"x{j}": Fraction(1, 3 + j) for j in range(4)}
    exact = sum(
        (Fraction(float(w)) * x for w, x in zip(estimator.coef_[0], point.values(), strict=True)),
        Fraction(float(estimator.intercept_[0])),
    )
    assert evaluate(program, point)["score"] == exact


def test_prediction_keeps_rows_and_refuses_foreign_tables() -> None:
    predictor = OnnxPredictor(exported(CLASSIFIERS["tree"], target(FRAME), "float"), SPACE)
    assert predictor.predict(FRAME.iloc[:0]).shape == (0,)
    assert predictor.predict(FRAME.iloc[:1]).shape == (1,)
    shuffled = FRAME[FRAME.columns[::-1]]
    assert predictor.predict(shuffled).tolist() == predictor.predict(FRAME).tolist()

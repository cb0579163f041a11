"""Predictors and wrappers agree with the library, and their ties are the library's."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import naive_bayes
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler
from sklearn.svm import LinearSVC

from cfxc import Probability, compile, retrained
from cfxc.errors import DataTypeError, UnsupportedError
from cfxc.frontends.sklearn import SklearnPredictor, lower
from cfxc.ir import BatchEvaluator, Program, evaluate
from cfxc.space import FeatureSpace
from tests.frontends.sklearn import predictors
from tests.frontends.sklearn.conftest import batch_labels, close

Agree = Callable[..., Program]
NUMBERS = ["age", "income", "rate"]
pytestmark = pytest.mark.filterwarnings("ignore")  # training is cut short


def check(
    model: Any, target: Any, agree: Agree, people: pd.DataFrame, space: FeatureSpace
) -> Program:
    """Train a model on scaled columns, and assert that its program agrees with it."""
    whole = make_pipeline(StandardScaler(), clone(model)).fit(people[NUMBERS], target)
    return agree(whole, space.subset(NUMBERS), people[NUMBERS])


@pytest.mark.parametrize("kind", ["binary", "multi"])
@pytest.mark.parametrize("name", predictors.CLASSIFIERS)
def test_classifiers(
    name: str, kind: str, agree: Agree, people: pd.DataFrame, space: FeatureSpace, targets: Any
) -> None:
    target = targets[kind].astype(object) if name == "self training" else targets[kind]
    if target.dtype == object and kind == "multi":
        target = target.astype(int)
    check(predictors.CLASSIFIERS[name], target, agree, people, space)


@pytest.mark.parametrize("name", predictors.BINARY)
def test_classifiers_of_two_classes(
    name: str, agree: Agree, people: pd.DataFrame, space: FeatureSpace, targets: Any
) -> None:
    target = targets["binary"]
    if name.startswith("tuned"):  # its scorer needs to know which label is positive
        target = (target == "grant").astype(int)
    check(predictors.BINARY[name], target, agree, people, space)


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        pytest.param(model, kind, id=f"{name}-{kind}")
        for kind, tables in (
            ("value", (predictors.REGRESSORS, predictors.SEVERAL)),
            ("values", (predictors.SEVERAL, predictors.TARGETS)),
        )
        for table in tables
        for name, model in table.items()
    ],
)
def test_regressors(
    model: Any, kind: str, agree: Agree, people: pd.DataFrame, space: FeatureSpace, targets: Any
) -> None:
    program = check(model, targets[kind], agree, people, space)
    assert program.output_sorts["value"].shape == (() if kind == "value" else (2,))


@pytest.mark.parametrize("name", predictors.DETECTORS)
def test_detectors_of_outliers(name: str, people: pd.DataFrame, space: FeatureSpace) -> None:
    table, space = people[NUMBERS], space.subset(NUMBERS)
    model = make_pipeline(StandardScaler(), clone(predictors.DETECTORS[name])).fit(table)
    program = lower(model, space)
    outputs = BatchEvaluator(program)(space.encode_frame(table))
    assert batch_labels(program, outputs).tolist() == model.predict(table).tolist()
    close(outputs["score"], model.decision_function(table))
    assert SklearnPredictor(model, space).classes == (-1, 1)
    for row in range(5):
        exact = evaluate(program, space.encode_row(table.iloc[[row]]))
        assert exact["label"] == model.predict(table.iloc[[row]])[0]


def test_targets_through_a_sigmoid(
    agree: Agree, people: pd.DataFrame, space: FeatureSpace, targets: Any
) -> None:
    share = targets["value"] / targets["value"].max() * 0.9
    check(predictors.SIGMOID, share, agree, people, space)


def test_frozen_models(
    agree: Agree, people: pd.DataFrame, space: FeatureSpace, targets: Any
) -> None:
    frozen = pytest.importorskip("sklearn.frozen").FrozenEstimator
    table, space, target = people[NUMBERS], space.subset(NUMBERS), targets["binary"]
    inner = make_pipeline(StandardScaler(), LogisticRegression()).fit(table, target)
    agree(frozen(inner), space, table)
    agree(make_pipeline(frozen(StandardScaler().fit(table)), Ridge()).fit(table, people["code"]),
          space, table)  # fmt: skip
    cut = FixedThresholdClassifier(frozen(inner), threshold=0.8, pos_label="deny")
    agree(cut.fit(table, target), space, table)
    agree(CalibratedClassifierCV(frozen(inner), method="isotonic").fit(table, target), space, table)


def test_stacks_of_models_that_are_fitted_already(
    agree: Agree, people: pd.DataFrame, space: FeatureSpace, targets: Any
) -> None:
    table, target = people[NUMBERS], targets["multi"]
    members = [(name, clone(model).fit(table, target)) for name, model in predictors.members()]
    stack = StackingClassifier(members, cv="prefit", stack_method="predict").fit(table, target)
    agree(stack, space.subset(NUMBERS), table)


@pytest.mark.parametrize("kind", ["binary", "multi"])
def test_logarithms_instead_of_scores(
    kind: str, agree: Agree, people: pd.DataFrame, space: FeatureSpace, targets: Any
) -> None:
    known = CalibratedClassifierCV._parameter_constraints["method"][0].options
    if "temperature" not in known:
        pytest.skip("scikit-learn >= 1.8 has temperatures")
    model = CalibratedClassifierCV(
        LinearSVC(random_state=0), method="temperature", ensemble=False, cv=2
    )
    # scikit-learn 1.9.1 takes labels for positions, and of 0, 10, 20 reads beyond its scores: the
    # temperature then is whatever lies there, and so large now and then that floats are off by more
    _, target = np.unique(targets[kind], return_inverse=True)
    check(model, target, agree, people, space)
    of_shares = clone(model).set_params(estimator=predictors.tree())
    of_shares.fit(people[NUMBERS], target)
    with pytest.raises(UnsupportedError, match="takes logarithms of probabilities"):
        lower(of_shares, space.subset(NUMBERS))


# --- ties ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("positive", ["deny", "grant"])
@pytest.mark.parametrize("threshold", [0.1, 0.2, 0.3, 0.6, 0.7, 0.9])
def test_shares_of_votes_are_divided_before_they_are_compared(
    threshold: float, positive: str, agree: Agree, people: pd.DataFrame, space: FeatureSpace,
    targets: Any,
) -> None:  # fmt: skip
    """1/10 and 0.1 are the same double, and 0.1 is more than one tenth."""
    table = people[["age", "code"]]
    model = FixedThresholdClassifier(
        predictors.forest(), threshold=threshold, pos_label=positive
    ).fit(table, targets["binary"])
    place = list(model.classes_).index(positive)
    assert (model.predict_proba(table)[:, place] == threshold).any()
    agree(model, space.subset(["age", "code"]), table)


def test_one_against_the_rest_at_ties(agree: Agree) -> None:
    """Three trees that are equally sure: as the installed version says."""
    table = pd.DataFrame({"x": [0.0, 1.0, 2.0] * 4})
    model = OneVsRestClassifier(predictors.tree(1)).fit(table, [0, 1, 2] * 4)
    assert len(np.unique(model.predict_proba(table)[1])) < 3
    grid = pd.DataFrame({"x": np.arange(0, 2.25, 0.25)})
    agree(model, FeatureSpace.infer(grid, kinds={"x": "real"}), grid)


@pytest.mark.parametrize("name", ["pairs by trees", "codes by trees", "centroids"])
def test_ties_on_a_grid(name: str, agree: Agree) -> None:
    """Models of few rows on a grid that meets all their borders."""
    rows = np.array(list(product([0.0, 1.0, 2.0], repeat=2)))
    table = pd.DataFrame(rows, columns=["a", "b"])
    target = [0, 1, 2, 1, 2, 0, 2, 0, 1]
    model = clone(predictors.CLASSIFIERS[name]).fit(table, target)
    fine = np.array(list(product(np.arange(0, 2.25, 0.25), repeat=2)))
    space = FeatureSpace.infer(table, kinds={"a": "real", "b": "real"})
    frame = pd.DataFrame(fine, columns=["a", "b"])
    agree(model, space, frame, exact_rows=len(frame))


def test_isotonic_at_its_thresholds(agree: Agree) -> None:
    x = pd.DataFrame({"x": [0.0, 1.0, 1.5, 2.0, 4.0, 4.5, 6.0]})
    model = IsotonicRegression(out_of_bounds="clip").fit(x, [0, 1, 0.5, 1, 3, 2, 5])
    ends = model.X_thresholds_
    beside = [np.nextafter(ends, -9), ends, np.nextafter(ends, 9), [-1.0, 7.0, 3.3]]
    frame = pd.DataFrame({"x": np.concatenate(beside)})
    space = FeatureSpace.infer(pd.DataFrame({"x": [-2.0, 8.0]}), kinds={"x": "real"})
    agree(model, space, frame, exact_rows=len(frame))
    falling = IsotonicRegression(out_of_bounds="clip", increasing=False).fit(
        x, [5, 3, 4, 2, 1, 1, 0]
    )
    agree(falling, space, frame)
    constant = IsotonicRegression(out_of_bounds="clip").fit(x, [5, 4, 3, 2, 1, 1, 0])
    agree(constant, space, frame)


@pytest.mark.parametrize("cut", [0.0, 0.3, 0.7])
def test_bernoulli_at_its_cut(cut: float, agree: Agree) -> None:
    model = clone(predictors.CLASSIFIERS["bernoulli"]).set_params(binarize=cut)
    table = pd.DataFrame({"x": [cut, np.nextafter(cut, 9), np.nextafter(cut, -9), 2.0]})
    agree(model.fit(table, [0, 1, 0, 1]), FeatureSpace.infer(table), table)


# --- naive Bayes of categories ------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["binary", "multi"])
def test_categories(
    kind: str, agree: Agree, people: pd.DataFrame, space: FeatureSpace, targets: Any
) -> None:
    names = ["sector", "member", "code"]
    table = people[names].assign(size=people["age"] // 20, part=people["age"] / 40)
    columns = ColumnTransformer([("order", OrdinalEncoder(), ["sector"])], remainder="passthrough")
    model = make_pipeline(columns, CategoricalNB()).fit(table, targets[kind])
    agree(model, FeatureSpace.infer(table, kinds={"code": "categorical"}), table)
    plain = CategoricalNB(min_categories=6).fit(table[["size", "part"]], targets[kind])
    agree(plain, FeatureSpace.infer(table[["size", "part"]]), table[["size", "part"]])


# --- questions ----------------------------------------------------------------------------------


GRID = pd.DataFrame(list(product(range(5), range(4))), columns=["a", "b"])
SCORE = GRID["a"] * 2 + GRID["b"] * 3 + GRID["a"] * GRID["b"] % 2
LABELS = np.where(SCORE > 9, "yes", "no")


@pytest.mark.parametrize(
    "model",
    [
        GaussianNB(),
        NearestCentroid(),
        predictors.CLASSIFIERS["quadratic discriminant"],
        predictors.CLASSIFIERS["square machine"],
        predictors.BINARY["sigmoids"],
        predictors.BINARY["staircases"],
        predictors.CLASSIFIERS["stack"],
        predictors.CLASSIFIERS["pairs by trees"],
        FixedThresholdClassifier(LogisticRegression(), threshold=0.8, pos_label="yes"),
        GridSearchCV(predictors.tree(), {"max_depth": [1, 2]}, cv=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_the_nearest_change_is_the_nearest_of_all(model: Any) -> None:
    """Against every point of a small grid."""
    space = FeatureSpace.infer(GRID)
    compiled = compile(clone(model).fit(GRID, LABELS), space)
    said = compiled.predictor.predict(GRID)
    factual = int(np.flatnonzero(said == "no")[0])
    answer = compiled.explain(GRID.iloc[[factual]], target="yes", distance="l1")
    away = (GRID - GRID.iloc[factual]).abs() / (GRID.max() - GRID.min())
    nearest = away.mean(axis=1)[said == "yes"].min()
    assert answer.status == "optimal"
    assert answer.distance == pytest.approx(nearest)


@pytest.mark.parametrize("least", [6.0, 1.0])
def test_ranges_of_exponentials(least: float) -> None:
    """A range of exp(z) is one of z, also where its end is exp(0)."""
    model = PoissonRegressor(alpha=0.1).fit(GRID, SCORE / SCORE.mean() * (least / 2))
    compiled = compile(model, FeatureSpace.infer(GRID))
    said = model.predict(GRID)
    factual = int(np.argmin(said))
    answer = compiled.explain(GRID.iloc[[factual]], target=(said[factual] * 1.3, None))
    assert answer.status == "optimal"
    away = (GRID - GRID.iloc[factual]).abs() / (GRID.max() - GRID.min())
    nearest = away.mean(axis=1)[said >= said[factual] * 1.3].min()
    assert answer.distance == pytest.approx(nearest)


@pytest.mark.parametrize("chance", [0.55, 0.7])
def test_a_likely_label_is_also_above_its_threshold(chance: float) -> None:
    """A label that is likelier than not need not be the answer of a model with a threshold."""
    inner = LogisticRegression()
    model = FixedThresholdClassifier(inner, threshold=0.65, pos_label="yes").fit(GRID, LABELS)
    said, likely = model.predict(GRID), model.predict_proba(GRID)[:, 1] >= chance
    assert ((said == "no") & (model.predict_proba(GRID)[:, 1] >= 0.55)).any()
    factual = int(np.flatnonzero(said == "no")[0])
    answer = compile(model, FeatureSpace.infer(GRID)).explain(
        GRID.iloc[[factual]], target="yes", subject_to=[Probability(chance)]
    )
    away = (GRID - GRID.iloc[factual]).abs() / (GRID.max() - GRID.min())
    assert answer.status == "optimal"
    assert answer.distance == pytest.approx(away.mean(axis=1)[(said == "yes") & likely].min())


def test_single_floats_inside_of_frozen_models(people: pd.DataFrame, space: FeatureSpace) -> None:
    frozen = pytest.importorskip("sklearn.frozen").FrozenEstimator
    boosted = pytest.importorskip("xgboost").XGBClassifier(n_estimators=2)
    inner = make_pipeline(StandardScaler(), boosted).fit(people[NUMBERS], people["member"])
    predictor = SklearnPredictor(frozen(inner), space.subset(NUMBERS))
    assert predictor.adds_singles
    assert predictor.unit_roundoff == Fraction(1, 2**24)


@pytest.mark.parametrize("cut", [0.0, 0.33])
def test_bernoulli_behind_a_scaler_compares_what_is_rounded(
    cut: float, people: pd.DataFrame, targets: Any
) -> None:
    """A scaled number lies above the cut where the library's rounded quotient does."""
    table = people[["income", "rate"]]
    model = make_pipeline(StandardScaler(), naive_bayes.BernoulliNB(binarize=cut))
    model.fit(table, targets["binary"])
    space = FeatureSpace.infer(table, kinds=dict.fromkeys(table, "real"))
    program, scaler = lower(model, space), model[0]
    parts = []
    for place, name in enumerate(table):
        near = [cut * scaler.scale_[place] + scaler.mean_[place]]
        for side in (-np.inf, np.inf):
            number = near[0]
            for _ in range(6):
                number = np.nextafter(number, side)
                near.append(number)
        rows = table.iloc[: len(near)].reset_index(drop=True)
        parts.append(rows.assign(**{name: near}))
    frame = pd.concat(parts, ignore_index=True)
    said = model.predict(frame)
    for row in range(len(frame)):
        inputs = space.encode_row(frame.iloc[[row]], check_range=False)
        assert evaluate(program, inputs)["label"] == said[row]


@pytest.mark.parametrize(
    "model",
    [
        OneVsOneClassifier(GaussianNB()),
        VotingClassifier([("b", GaussianNB()), ("l", LogisticRegression())], voting="soft"),
        StackingClassifier([("b", GaussianNB())], cv=2),
        AdaBoostClassifier(n_estimators=3, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_questions_of_two_classes_whose_chances_are_added_up(model: Any) -> None:
    """Shares of two classes are sigmoids, which are enclosed."""
    space = FeatureSpace.infer(GRID)
    compiled = compile(clone(model).fit(GRID, LABELS), space)
    factual = int(np.flatnonzero(compiled.predictor.predict(GRID) == "no")[0])
    answer = compiled.explain(GRID.iloc[[factual]], target="yes", time_limit=60)
    assert answer.status == "optimal"


THIRDS = np.digitize(SCORE, [6, 12])


@pytest.mark.parametrize(
    "model",
    [
        StackingClassifier([("l", LogisticRegression()), ("t", predictors.tree(2))], cv=2),
        StackingClassifier([("g", GaussianNB())], final_estimator=predictors.tree(3), cv=2),
        VotingClassifier([("b", GaussianNB()), ("t", predictors.tree(2))], voting="soft"),
        BaggingClassifier(LogisticRegression(), n_estimators=2, random_state=0),
        CalibratedClassifierCV(GaussianNB(), ensemble=False, cv=2),
        CalibratedClassifierCV(GaussianNB(), ensemble=False, cv=2, method="isotonic"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_questions_of_three_classes_whose_chances_are_computed_with(model: Any) -> None:
    """A softmax is sigmoids of logarithms of sums, which are enclosed: against all of a grid."""
    space = FeatureSpace.infer(GRID)
    compiled = compile(clone(model).fit(GRID, THIRDS), space)
    said = compiled.predictor.predict(GRID)
    found = BatchEvaluator(compiled.program)(space.encode_frame(GRID))["label"]
    assert found.tolist() == said.tolist()
    target = next(each for each in (1, 2, 0) if (said == each).any() and said[0] != each)
    answer = compiled.explain(GRID.iloc[[0]], target=target, distance="l1", time_limit=60)
    away = (GRID - GRID.iloc[0]).abs() / (GRID.max() - GRID.min())
    assert answer.status == "optimal"
    assert answer.distance == pytest.approx(away.mean(axis=1)[said == target].min())


def test_questions_of_logistic_shares_over_their_sum(people: pd.DataFrame, targets: Any) -> None:
    """They are a softmax of logarithms; shares of trees are divided, which no formula holds."""
    table, target = people[["income", "rate"]], targets["multi"]
    space = FeatureSpace.infer(table)
    for inner in (LogisticRegression(), predictors.tree(2)):
        votes = VotingClassifier(
            [("rest", OneVsRestClassifier(inner)), ("tree", predictors.tree(2))], voting="soft"
        ).fit(table, target)
        compiled, row = compile(votes, space), table.iloc[[0]]
        other = next(label for label in (0, 10, 20) if label != votes.predict(row)[0])
        if isinstance(inner, LogisticRegression):
            result = compiled.explain(row, target=other, time_limit=20)
            assert result.status == "optimal"
            assert votes.predict(result.counterfactual)[0] == other
        else:
            with pytest.raises(UnsupportedError, match="voting='hard'"):
                compiled.explain(row, target=other)


def test_parameters_that_came_after_the_model_was_pickled(
    people: pd.DataFrame, space: FeatureSpace, targets: Any
) -> None:
    model = make_pipeline(StandardScaler(), LogisticRegression())
    model.fit(people[NUMBERS], targets["binary"])
    vars(model).pop("transform_input")  # of scikit-learn 1.6
    vars(model[1]).pop("l1_ratio")
    compiled = compile(model, space.subset(NUMBERS))
    assert compiled.explain(people[NUMBERS].iloc[[0]]).counterfactual is not None
    with pytest.raises(DataTypeError, match=r"this Pipeline cannot be cloned: .*transform_input"):
        retrained(model, people[NUMBERS], targets["binary"], 2, space=space.subset(NUMBERS))

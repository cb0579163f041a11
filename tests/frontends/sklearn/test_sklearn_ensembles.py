"""Boosting, bagging, voting and their like agree with the library, ties included."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import ensemble
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from cfxc.errors import InvalidInputError, UnsupportedError
from cfxc.frontends.sklearn import SklearnPredictor, lower
from cfxc.frontends.sklearn.tracing import first_true
from cfxc.ir import BatchEvaluator, Program, evaluate, ops
from cfxc.question.target import Target, target_program
from cfxc.space import FeatureSpace
from tests.frontends.sklearn.ensembles import (
    CLASSIFIERS,
    FIXED,
    OTHERS,
    REGRESSORS,
    Boosting,
    ada_boost,
)

Agree = Callable[..., Program]
NUMBERS = ["age", "income", "rate"]
BEHIND = ("frame", "columns")


def mixed(model: Any) -> Any:
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


def trained(
    behind: str, model: Any, people: pd.DataFrame, space: FeatureSpace, target: Any
) -> tuple[Any, FeatureSpace, pd.DataFrame]:
    """The fitted model with the part of the table and the space that it sees."""
    # fewer rows than bins: a histogram's thresholds are then midpoints, and no scaled value is on
    # the other side of one than its double (see test_scaled_values_on_a_threshold)
    people, target = people[:240], target[:240]
    if behind == "columns":
        return mixed(clone(model)).fit(people, target), space, people
    people, space = people[NUMBERS], space.subset(NUMBERS)
    return clone(model).fit(people, target), space, people


@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("kind", ["binary", "multi"])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers(
    name: str,
    kind: str,
    behind: str,
    agree: Agree,
    people: pd.DataFrame,
    space: FeatureSpace,
    targets: dict[str, Any],
) -> None:
    model, space, people = trained(behind, CLASSIFIERS[name], people, space, targets[kind])
    program = agree(model, space, people, exact_rows=4)
    classes = program.output_sorts["label"].labels
    assert list(classes) == (["deny", "grant"] if kind == "binary" else [0, 10, 20])


@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors(
    name: str,
    behind: str,
    agree: Agree,
    people: pd.DataFrame,
    space: FeatureSpace,
    targets: dict[str, Any],
) -> None:
    model, space, people = trained(behind, REGRESSORS[name], people, space, targets["value"])
    program = agree(model, space, people, exact_rows=4)
    assert program.output_sorts["value"].shape == ()


@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("kind", ["binary", "multi"])
@pytest.mark.parametrize("name", OTHERS)
def test_other_labels(
    name: str,
    kind: str,
    behind: str,
    people: pd.DataFrame,
    space: FeatureSpace,
    targets: dict[str, Any],
) -> None:
    model, space, people = trained(behind, OTHERS[name], people, space, targets[kind])
    program = lower(model, space)
    labels = program.output_sorts["label"].labels
    predictor = SklearnPredictor(model, space)
    assert tuple(labels) == predictor.classes
    answers = predictor.predict(people).tolist()
    codes = BatchEvaluator(program)(space.encode_frame(people))["label"]
    assert [labels[code] for code in codes] == answers
    assert len(set(answers)) > 1
    for row in range(4):
        exact = evaluate(program, space.encode_row(people.iloc[[row]]))
        assert exact["label"] == answers[row]


def test_several_targets(
    agree: Agree, people: pd.DataFrame, space: FeatureSpace, targets: dict[str, Any]
) -> None:
    for member in (DecisionTreeRegressor(max_depth=4), LinearRegression()):
        model = ensemble.BaggingRegressor(member, n_estimators=3, **FIXED)
        model.fit(people[NUMBERS], targets["values"])
        program = agree(model, space.subset(NUMBERS), people[NUMBERS])
        assert program.output_sorts["value"].shape == (2,)


def test_members_that_saw_few_classes(people: pd.DataFrame) -> None:
    """A member's columns are then some of the ensemble's."""
    table, target = people[NUMBERS][:60], np.arange(60) % 3
    space, some = FeatureSpace.infer(table), target != 1
    for member in (
        DecisionTreeClassifier(),
        ensemble.RandomForestClassifier(2, **FIXED),
        make_pipeline(StandardScaler(), RidgeClassifier()),
    ):
        model = ensemble.BaggingClassifier(member, n_estimators=3, **FIXED).fit(table, target)
        model.estimators_[0] = clone(member).fit(table.to_numpy()[some], target[some])
        model.estimators_features_[0] = np.arange(3)
        assert [len(one.classes_) for one in model.estimators_] == [2, 3, 3]
        made = BatchEvaluator(lower(model, space))(space.encode_frame(table))
        assert np.array_equal(made["probability"], model.predict_proba(table))


def test_columns_chosen_twice(agree: Agree, people: pd.DataFrame, targets: dict[str, Any]) -> None:
    table = people[NUMBERS]
    model = ensemble.BaggingClassifier(
        n_estimators=6, max_features=3, bootstrap_features=True, **FIXED
    ).fit(table, targets["multi"])
    chosen = [columns.tolist() for columns in model.estimators_features_]
    assert any(len(set(columns)) < 3 for columns in chosen)
    agree(model, FeatureSpace.infer(table), table)


def test_bagging_of_pipelines_on_text(
    agree: Agree, people: pd.DataFrame, space: FeatureSpace, targets: dict[str, Any]
) -> None:
    """Members get an array of objects, and choose its columns by position."""
    columns = ColumnTransformer(
        [("hot", OneHotEncoder(), [1, 3]), ("scale", StandardScaler(), [0, 2])]
    )
    table = people[["age", "sector", "rate", "code"]]
    model = ensemble.BaggingClassifier(
        make_pipeline(columns, LogisticRegression()), n_estimators=3, **FIXED
    ).fit(table, targets["multi"])
    agree(model, space.subset(list(table)), table)


def test_exponential_loss(agree: Agree, people: pd.DataFrame, targets: dict[str, Any]) -> None:
    table = people[NUMBERS]
    model = Boosting(loss="exponential", n_estimators=6, **FIXED).fit(table, targets["binary"])
    agree(model, FeatureSpace.infer(table), table)


def test_early_stopping(agree: Agree, people: pd.DataFrame, targets: dict[str, Any]) -> None:
    table = people[NUMBERS]
    model = Boosting(n_estimators=400, n_iter_no_change=2, learning_rate=0.5, **FIXED)
    model.fit(table, targets["binary"])
    assert len(model.estimators_) < 400
    agree(model, FeatureSpace.infer(table), table)


# --- ties ---------------------------------------------------------------------------------------


def point(x: float) -> tuple[pd.DataFrame, FeatureSpace]:
    table = pd.DataFrame({"x": [x]})
    return table, FeatureSpace.infer(table, kinds={"x": "real"})


def answers(model: Any, x: float) -> tuple[Any, Any, Any]:
    """The label at one point: of the library, of doubles, and of exact arithmetic."""
    table, space = point(x)
    program = lower(model, space)
    code = BatchEvaluator(program)(space.encode_frame(table))["label"][0]
    exact = evaluate(program, space.encode_row(table))["label"]
    return model.predict(table.to_numpy())[0], program.output_sorts["label"].labels[code], exact


def fixed_tree(label: int) -> DecisionTreeClassifier:
    """A tree of labels 0 and 1 that answers one of them everywhere, and is sure of it."""
    tree = DecisionTreeClassifier(max_depth=1).fit([[0.0], [1.0]], [0, 1])
    tree.tree_.value[:, 0, :] = np.eye(2)[label]
    return tree


def test_a_boosted_zero_is_the_second_class() -> None:
    """``raw >= 0``: scikit-learn's two kinds of boosting differ at zero."""
    model = Boosting(n_estimators=2).fit(np.zeros((4, 1)), [0, 1, 0, 1])
    assert model.decision_function([[0.0]])[0] == 0
    assert answers(model, 0.0) == (1, 1, 1)


def test_a_histogram_zero_is_the_first_class() -> None:
    model = ensemble.HistGradientBoostingClassifier(max_iter=2).fit(np.zeros((4, 1)), [0, 1, 0, 1])
    assert model.decision_function([[0.0]])[0] == 0
    assert answers(model, 0.0) == (0, 0, 0)


def test_equal_weights_that_contradict_each_other() -> None:
    model = ada_boost(n_estimators=2).fit([[0.0], [1.0]], [0, 1])
    for order in ([0, 1], [1, 0]):
        model.estimators_ = [fixed_tree(label) for label in order]
        model.estimator_weights_ = np.array([0.3, 0.3])
        assert answers(model, 0.0) == (0, 0, 0)
        model.estimator_weights_ = np.array([0.3, np.nextafter(0.3, 1)])
        assert answers(model, 0.0) == (order[1],) * 3


@pytest.mark.parametrize("voting", ["hard", "soft"])
@pytest.mark.parametrize("weights", [None, [0.7, 0.7]], ids=str)
def test_tied_votes_are_the_first_class(voting: str, weights: Any) -> None:
    panel = [("a", DecisionTreeClassifier()), ("b", DecisionTreeClassifier())]
    model = ensemble.VotingClassifier(panel, voting=voting, weights=weights)
    model.fit([[0.0], [1.0]], ["no", "yes"])
    for order in ([0, 1], [1, 0]):
        model.estimators_ = [fixed_tree(label) for label in order]
        assert answers(model, 0.0) == ("no",) * 3
    model.weights = [1.0, 1.0 + 2.0**-40]
    assert answers(model, 0.0) == ("no",) * 3
    model.estimators_ = [fixed_tree(0), fixed_tree(1)]
    assert answers(model, 0.0) == ("yes",) * 3


def test_tied_members_of_a_bag() -> None:
    model = ensemble.BaggingClassifier(n_estimators=2).fit([[0.0], [1.0]], [5, 7])
    model.estimators_ = [fixed_tree(1), fixed_tree(0)]
    assert answers(model, 0.0) == (5, 5, 5)


def test_between_two_support_vectors() -> None:
    model = SVC(kernel="linear").fit([[-1.0], [1.0]], [3, 4])
    assert model.decision_function([[0.0]])[0] == 0
    assert answers(model, 0.0) == (4, 4, 4)
    assert answers(model, -(2.0**-50)) == (3, 3, 3)


def test_margins_of_a_tie_that_the_second_class_wins() -> None:
    model = Boosting(n_estimators=2).fit(np.zeros((4, 1)), [0, 1, 0, 1])
    program = lower(model, point(0.0)[1])
    at_zero = {
        (label, margin): evaluate(
            target_program(program, Target(label), Fraction(margin)), {"x": Fraction(0)}
        )["in_target"]
        for label in (0, 1)
        for margin in (0, Fraction(1, 10**9))
    }
    assert [at_zero[key] for key in sorted(at_zero)] == [False, False, True, False]
    op = list(target_program(program, Target(1), Fraction(0)).lets())[-1].op
    assert isinstance(op, ops.Ge)  # of the score, not of the label


def test_median_of_equal_values_and_weights() -> None:
    """Half of the weight is enough, and equal predictions count together."""
    model = ensemble.AdaBoostRegressor(n_estimators=4).fit([[0.0], [1.0]], [0.0, 1.0])
    trees = [DecisionTreeRegressor().fit([[0.0]], [value]) for value in (4.0, 1.0, 3.0, 1.0)]
    model.estimators_ = trees
    space = point(0.0)[1]
    for weights, median in [
        ((0.5, 0.25, 0.5, 0.25), 3.0),  # at most 1: 0.5 of 1.5
        ((0.5, 0.25, 0.25, 0.5), 1.0),  # exactly one half
        ((1.0, 0.25, 0.25, 0.25), 4.0),
    ]:
        model.estimator_weights_ = np.array(weights)
        assert model.predict([[0.0]])[0] == median
        assert evaluate(lower(model, space), {"x": Fraction(0)})["value"] == median


def test_isolation_at_its_offset(people: pd.DataFrame) -> None:
    """A depth of exactly the bound is an inlier; one unit in the last place less is none."""
    table = people[NUMBERS]
    model = ensemble.IsolationForest(n_estimators=10, **FIXED).fit(table)
    space = FeatureSpace.infer(table)
    scores = np.unique(model.score_samples(table))
    codes: list[list[int]] = []
    for offset in (scores[40], np.nextafter(scores[40], 0)):
        model.offset_ = offset
        made = BatchEvaluator(lower(model, space))(space.encode_frame(table))["label"]
        assert (2 * made - 1).tolist() == model.predict(table).tolist()
        codes.append(made.tolist())
    assert codes[0] != codes[1]


@pytest.mark.parametrize("bound", [0.0, 5e-324, 0.1, 1.0, 7.25, 10.0])
def test_first_true(bound: float) -> None:
    assert first_true(lambda x: x >= bound, 0.0, 10.0) == bound
    assert first_true(lambda x: False, 0.0, 10.0) == 10.0
    most = float(np.finfo(np.float64).max)
    for value in (bound, -bound, np.nextafter(-bound, 1), most, -most):
        assert first_true(lambda x, value=value: x >= value, -most, most) == value


# --- what is refused ----------------------------------------------------------------------------


class MyTree(DecisionTreeClassifier):
    """A tree that may do anything."""


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (Boosting(init=LogisticRegression()), "starts from a LogisticRegression (init)"),
        (Boosting(init=DummyClassifier(strategy="stratified")), "starts from random numbers"),
        (
            ensemble.BaggingClassifier(KNeighborsClassifier()),
            "BaggingClassifier > its estimators (KNeighborsClassifier): which of several",
        ),
        (
            ada_boost(MyTree()),
            "AdaBoostClassifier > its estimators (MyTree): is a subclass of DecisionTreeClassifier",
        ),
        (
            ensemble.VotingClassifier([("a", GaussianNB()), ("b", make_pipeline(MyTree()))]),
            "VotingClassifier > 'b' > pipeline step 'mytree' (MyTree): is a subclass",
        ),
        (
            ensemble.VotingClassifier([("a", DecisionTreeClassifier())], weights=[-1]),
            "votes with negative weights [-1.0]",
        ),
        (
            ensemble.VotingClassifier(
                [("a", DecisionTreeClassifier()), ("b", GaussianNB())], weights=[1, np.inf]
            ),
            "its weights [1.0, inf] are not all numbers",
        ),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else "",
)
def test_refused(model: Any, words: str, people: pd.DataFrame, targets: dict[str, Any]) -> None:
    target = targets["multi"]
    model.fit(people[NUMBERS], target)
    with pytest.raises(UnsupportedError) as caught:
        lower(model, FeatureSpace.infer(people[NUMBERS]))
    text = str(caught.value)
    assert words in text
    assert len(text.splitlines()) <= 10


def test_many_equal_members_are_one_complaint(people: pd.DataFrame) -> None:
    model = ensemble.BaggingClassifier(KNeighborsClassifier(), n_estimators=30)
    model.fit(people[NUMBERS], people["member"])
    with pytest.raises(UnsupportedError) as caught:
        lower(model, FeatureSpace.infer(people[NUMBERS]))
    assert str(caught.value).count("which of several training rows") == 1


def test_an_unfitted_ensemble(people: pd.DataFrame) -> None:
    space = FeatureSpace.infer(people[NUMBERS])
    for model in (*CLASSIFIERS.values(), *OTHERS.values(), *REGRESSORS.values()):
        with pytest.raises(InvalidInputError, match="not fitted"):
            lower(clone(model), space)


def test_probabilities_that_are_not_lowered(people: pd.DataFrame, targets: dict[str, Any]) -> None:
    table = people[NUMBERS]
    forest = ensemble.IsolationForest(n_estimators=3, **FIXED).fit(table)
    panel = [("tree", DecisionTreeClassifier()), ("odd", DecisionTreeClassifier())]
    model = ensemble.VotingClassifier(panel, voting="soft").fit(table, targets["binary"])
    model.estimators_[1] = forest
    with pytest.raises(UnsupportedError, match="probabilities of IsolationForest are not compiled"):
        lower(model, FeatureSpace.infer(table))

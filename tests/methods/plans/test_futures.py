"""Moments of future parameters, and the encoding that they are over."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

import cfxc
from cfxc import stopping
from cfxc.errors import CfxcError, InvalidInputError, UnsupportedError
from cfxc.methods.plans import (
    Encoding,
    Moments,
    empirical_validity,
    moments_of_models,
    retrained_moments,
)

LEVELS = ["low", "mid", "high"]


def people(n=160, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "income": rng.normal(50, 10, n).round(2),
            "job": rng.choice(list("abc"), n),
            "own": rng.choice(["no", "yes"], n),
            "grade": rng.choice(LEVELS, n),
            "unread": rng.normal(size=n).round(3),
        }
    )
    worth = X["income"] + 0.2 * X["age"] + 5 * (X["job"] == "a") + 4 * X["grade"].map(LEVELS.index)
    y = np.where(worth + rng.normal(0, 5, n) > worth.median(), "good", "bad")
    return X, y


def pipeline(scaler, last, ordinal=True):
    grade = OrdinalEncoder(categories=[LEVELS]) if ordinal else OneHotEncoder()
    return make_pipeline(
        make_column_transformer(
            (scaler, ["age", "income"]), (OneHotEncoder(), ["job", "own"]), (grade, ["grade"])
        ),
        last,
    )


def space_of(X):
    return cfxc.FeatureSpace.infer(X, ordinal={"grade": LEVELS})


@pytest.fixture(scope="module")
def compiled():
    X, y = people()
    return cfxc.compile(pipeline(MinMaxScaler(), LogisticRegression()).fit(X, y), space_of(X))


@pytest.mark.parametrize("scaler", [MinMaxScaler(), StandardScaler()])
@pytest.mark.parametrize("last", [LogisticRegression(), RidgeClassifier()])
@pytest.mark.parametrize("ordinal", [True, False])
def test_scores_are_products_with_the_encoded_row(scaler, last, ordinal):
    X, y = people()
    estimator = pipeline(scaler, last, ordinal).fit(X, y)
    model = cfxc.compile(estimator, space_of(X))
    encoding = Encoding.of(model.program, model.space)
    theta = encoding.parameters(model.program)
    rows = np.array([encoding.vector(model.space.encode_row(X.iloc[[i]])) for i in range(40)])
    assert np.allclose(rows @ theta, estimator.decision_function(X.iloc[:40]), atol=1e-9)
    assert encoding.names[-1] == "1"
    assert "unread" not in encoding.names
    assert (rows[:, -1] == 1).all()
    assert rows.min() >= 0
    assert rows.max() <= 1
    assert ("grade" in encoding.names) == ordinal
    assert encoding.size == len(theta) == (7 if ordinal else 8)


def test_a_model_with_other_scalers_has_its_parameters_over_the_same_vectors(compiled):
    X, y = people(seed=1)
    encoding = Encoding.of(compiled.program, compiled.space)
    X = X[X["age"].between(*map(float, compiled.space["age"].bounds))]
    y = y[X.index]
    later = pipeline(StandardScaler(), LogisticRegression(C=0.1)).fit(X, y)
    theta = encoding.parameters(cfxc.compile(later, compiled.space).program)
    rows = [encoding.vector(compiled.space.encode_row(X.iloc[[i]], check_range=False))
            for i in range(30)]  # fmt: skip
    assert np.allclose(np.array(rows) @ theta, later.decision_function(X.iloc[:30]), atol=1e-9)


def test_retraining_is_reproducible_and_ignores_the_number_of_processes(compiled):
    X, y = people()
    first = retrained_moments(compiled, X, y, n=40)
    again = retrained_moments(compiled, X, y, n=40, n_jobs=2)
    assert (first.samples == again.samples).all()
    assert not (
        first.samples == retrained_moments(compiled, X, y, n=40, random_state=1).samples
    ).all()
    assert np.allclose(first.mean, first.samples.mean(axis=0))
    assert np.allclose(first.covariance, np.cov(first.samples, rowvar=False))
    assert first.positive == "good"
    assert first.names == Encoding.of(compiled.program, compiled.space).names


def test_a_sample_is_what_its_part_of_the_data_gives():
    """All of the data: every classifier is the same, and so has no covariance to speak of."""
    X, y = people()
    bare = LogisticRegression().fit(X[["age", "income"]], y)
    with pytest.raises(InvalidInputError, match="not positive definite: its least eigenvalue"):
        retrained_moments(bare, X[["age", "income"]], y, n=5, share=1.0)
    made = retrained_moments(bare, X[["age", "income"]], y, n=30, test=(X[["age", "income"]], y))
    assert made.names == ("age", "income", "1")
    assert made.samples.shape == (30, 3)
    assert made.accuracy.shape == (30,)
    assert made.accuracy.mean() > 0.6


def test_dated_models_and_what_few_of_them_lack(compiled):
    models = [compiled]
    for seed in range(1, 9):
        X, y = people(seed=seed)
        models.append(
            cfxc.compile(pipeline(MinMaxScaler(), LogisticRegression()).fit(X, y), compiled.space)
        )
    made = moments_of_models(models)
    assert made.samples.shape == (9, 7)
    with pytest.raises(InvalidInputError, match=r"covariance of 3 models is not positive definite"):
        moments_of_models(models[:3])
    shrunk = moments_of_models(models[:3], shrinkage="ledoit-wolf")
    assert 0 < shrunk.shrinkage <= 1
    assert np.linalg.eigvalsh(shrunk.covariance)[0] > 0
    with pytest.raises(InvalidInputError, match="at least two models"):
        moments_of_models(models[:1])
    X, y = people()
    other = cfxc.FeatureSpace.infer(X[["age", "income"]])
    narrow = cfxc.compile(LogisticRegression().fit(X[["age", "income"]], y), other)
    with pytest.raises(InvalidInputError, match="another feature space"):
        moments_of_models([compiled, narrow])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(2, 8))
def test_the_shrinkage_that_is_offered_is_enough(seed, d, n):
    rng = np.random.default_rng(seed)
    S = np.atleast_2d(np.cov(rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 3), rowvar=False))
    try:
        Moments.given(np.zeros(d), S)
    except InvalidInputError as error:
        share = float(str(error).split("shrinkage=")[1].split(" ")[0])
        made = Moments.given(np.zeros(d), S, shrinkage=share)
        assert np.linalg.eigvalsh(made.covariance)[0] > 0
        assert np.trace(made.covariance) == pytest.approx(np.trace(S))


def test_towards_a_label_and_validity():
    made = Moments.given([1.0, 2.0], np.eye(2), positive="good")
    assert made.towards("good") is made
    assert (made.towards("bad").mean == [-1, -2]).all()
    samples = np.array([[1.0, 0.0], [-1.0, 0.0], [1.0, 1.0], [0.0, -1.0]])
    assert empirical_validity(np.array([[1.0, 0.0]]), samples) == 0.75  # at 0 it is valid
    with pytest.raises(InvalidInputError, match="moments were given"):
        made.validity([[1.0, 0.0]])


def test_moments_in_json_come_back():
    made = Moments.given([1.0, 2.0], np.eye(2), ["a", "1"], positive="good")
    again = Moments.from_dict(made.to_dict())
    assert again.to_dict() == made.to_dict()
    for wrong in ([], {}, {"mean": [1.0]}, {**made.to_dict(), "more": 1}):
        with pytest.raises(InvalidInputError, match="an object with mean and covariance"):
            Moments.from_dict(wrong)


@pytest.mark.parametrize(
    ("mean", "covariance", "options", "words"),
    [
        ([1.0], [[-1.0]], {}, "not positive semidefinite"),
        ([1.0, 2.0], [[1.0, 1.0], [1.0, 1.0]], {}, r"least eigenvalue is .*shrinkage="),
        ([1.0, 2.0], np.zeros((2, 2)), {}, "nothing varies"),
        ([1.0, np.nan], np.eye(2), {}, "holds nan"),
        ([1.0], np.eye(2), {}, "must be 1 × 1"),
        ([[1.0]], np.eye(1), {}, "must be a vector"),
        ([1.0], [[1.0]], {"shrinkage": 2}, "shrinkage is a share from 0 to 1"),
        ([1.0], [[1.0]], {"shrinkage": -1}, "shrinkage"),
        ([1.0], [[1.0]], {"shrinkage": "much"}, "shrinkage is a share"),
        ([1.0], [[1.0]], {"names": ["a", "b"]}, "2 names for 1"),
    ],
)
def test_moments_that_are_none(mean, covariance, options, words):
    with pytest.raises(CfxcError, match=words):
        Moments.given(mean, covariance, **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n": 1}, "n must be"), ({"share": 0}, "share"), ({"share": 1.5}, "share"),
        ({"n_jobs": 0}, "n_jobs"), ({"random_state": -1}, "random_state"),
        ({"shrinkage": "lots"}, "shrinkage"), ({"share": 0.001}, "two rows at least"),
    ],
)  # fmt: skip
def test_options_of_retraining(compiled, options, words):
    X, y = people()
    with pytest.raises(CfxcError, match=words):
        retrained_moments(compiled, X, y, **{"n": 4, **options})


def test_what_cannot_be_retrained(compiled):
    X, y = people()
    holes = X.assign(income=X["income"].where(X.index > 5))
    with pytest.raises(InvalidInputError, match="could not be trained on a part"):
        retrained_moments(compiled, holes, y, n=8)
    with pytest.raises(InvalidInputError, match="outcomes are missing"):
        retrained_moments(compiled, X, np.where(np.arange(len(y)) < 3, None, y), n=4)
    with pytest.raises(InvalidInputError, match="rows with outcomes of shape"):
        retrained_moments(compiled, X, y[:-1], n=4)
    with pytest.raises(InvalidInputError, match="outcomes of two kinds"):
        retrained_moments(compiled, X, np.full(len(X), "good"), n=4)
    with pytest.raises(CfxcError, match="DataFrame of raw rows"):
        retrained_moments(compiled, X.to_numpy(), y, n=4)
    with pytest.raises(InvalidInputError, match="no fitted linear classifier"):
        retrained_moments(RandomForestClassifier(), X, y, n=4)


@pytest.mark.parametrize("last", [RandomForestClassifier(3), MLPClassifier((3,), max_iter=20)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_models_that_are_not_linear_are_pointed_elsewhere(last):
    X, y = people()
    model = cfxc.compile(pipeline(MinMaxScaler(), last).fit(X, y), space_of(X))
    with pytest.raises(UnsupportedError, match=r"linear classifier[\s\S]*surrogate"):
        Encoding.of(model.program, model.space)


def test_three_outcomes_are_refused():
    X, _ = people()
    model = pipeline(MinMaxScaler(), LogisticRegression()).fit(X, X["job"])
    with pytest.raises(UnsupportedError, match="3 outcomes"):
        Encoding.of(cfxc.compile(model, space_of(X)).program, space_of(X))


def test_retraining_ends_when_the_time_is_up():
    """Between two of them, however many are left."""
    X, y = people()
    model = cfxc.compile(pipeline(StandardScaler(), LogisticRegression()).fit(X, y), space_of(X))
    started = time.process_time()
    with stopping.until(stopping.now() + 0.2), pytest.raises(stopping.TimeUp):
        retrained_moments(model, X, y, n=100_000)
    assert time.process_time() - started < 10

"""``model.plan``: rows of the feature space, re-run through the original model; and refusals."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

import cfxc
from cfxc.errors import CfxcError, InvalidInputError, UnsupportedError
from cfxc.methods.plans import (
    Encoding,
    Moments,
    empirical_validity,
    planning,
    retrained_moments,
    validity_bounds,
    validity_radii,
)
from cfxc.methods.plans.planning import _admissible, _moments_for, check_plan_options
from cfxc.stopping import TimeUp, now, until

FAST = {"steps": 150, "starts": 1}


def data(n=150):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.integers(20, 27, n),
            "pay": rng.integers(0, 6, n) / 2,
            "job": rng.choice(list("abc"), n),
            "sex": rng.choice(["f", "m"], n),
            "unread": rng.normal(size=n),
        }
    )
    worth = X["pay"] + 0.3 * (X["age"] - 20) + (X["job"] == "a") + rng.normal(0, 0.5, n)
    return X, (worth > worth.median()).astype(int)


@pytest.fixture(scope="module")
def model():
    X, y = data()
    encode = make_column_transformer(
        (MinMaxScaler(), ["age", "pay"]), (OneHotEncoder(), ["job", "sex"])
    )
    estimator = make_pipeline(encode, LogisticRegression()).fit(X, y)
    space = cfxc.FeatureSpace.infer(X, fixed=["sex"], increase=["age"], resolution={"pay": 0.5})
    return cfxc.compile(estimator, space)


@pytest.fixture(scope="module")
def moments(model):
    return retrained_moments(model, *data(), n=60)


@pytest.fixture(scope="module")
def person(model):
    X, _ = data()
    refused = X[model.predict(X) == 0]
    return refused[refused["job"] == "b"].iloc[[0]]


def all_rows(model, person):
    """Every row that this person could have."""
    age, pay = range(int(person["age"].iloc[0]), 27), np.arange(6) / 2
    rows = pd.concat([person] * (len(age) * 18), ignore_index=True)
    cells = list(itertools.product(age, pay, "abc"))
    rows["age"], rows["pay"], rows["job"] = (list(column) for column in zip(*cells, strict=True))
    return rows


def check(result, model, person, moments):
    """What must hold of every plan."""
    plan = result.plan
    assert list(plan.columns) == list(person.columns)
    assert (plan.dtypes == person.dtypes).all()
    assert (model.predict(plan) == 1).all()
    assert all(result.valid)
    assert set(result.outcomes) == {1}
    assert not plan.duplicated().any()
    assert (plan["sex"] == person["sex"].iloc[0]).all()
    assert (plan["unread"] == person["unread"].iloc[0]).all()
    assert (plan["age"] >= person["age"].iloc[0]).all()
    assert ((plan["pay"] * 2) % 1 == 0).all()
    encoding = Encoding.of(model.program, model.space)
    points = [model.space.encode_row(plan.iloc[[i]]) for i in range(len(plan))]
    assert (np.array([encoding.vector(point) for point in points]) == result.vectors).all()
    assert (result.vectors @ moments.mean >= result.epsilon - 1e-12).all()
    bounds = validity_bounds(result.vectors, moments.mean, moments.covariance, result.radius)
    assert (result.lower, result.upper) == bounds
    assert result.lower <= moments.validity(result.vectors) <= result.upper


@pytest.mark.parametrize(
    "options", [{}, {"corrections": 2}, {"subject_to": cfxc.MaxChanges(2), "size": 2}]
)
def test_every_row_is_valid_now(model, person, moments, options):
    result = model.plan(person, moments=moments, **{"size": 3, **FAST, **options})
    check(result, model, person, moments)
    assert len(result.plan) == options.get("size", 3)
    assert [step.name for step in result.trace][:2] == ["gradient", "rows"]
    assert all(len(changes) <= (2 if "subject_to" in options else 9) for changes in result.changes)


def test_constraints_hold_of_every_row(model, person, moments):
    result = model.plan(person, moments=moments, size=2, subject_to=["job == factual.job"], **FAST)
    check(result, model, person, moments)
    assert (result.plan["job"] == person["job"].iloc[0]).all()


def engine(model, person, moments, **options):
    known = {"size": 2, "method": "copa", "plan": None, "radius": 0.01, "corrections": 0,
             "limit": 0.1, "time_limit": 60.0, "apart": 0.0, **options}  # fmt: skip
    encoding = Encoding.of(model.program, model.space)
    rows, signed = _admissible(
        model, person, encoding, _moments_for(moments, encoding), check_plan_options(**known),
        None, (), time.monotonic() + 60,
    )  # fmt: skip
    return rows, signed


def admissible_vectors(model, person, moments, rows, epsilon=0.1):
    table = all_rows(model, person)
    table = table[model.predict(table) == 1]
    points = [model.space.encode_row(table.iloc[[i]]) for i in range(len(table))]
    vectors = np.array([rows.encoding.vector(point) for point in points])
    return vectors[vectors @ moments.mean >= epsilon]


@pytest.mark.parametrize("seed", range(4))
def test_the_nearest_row_is_that_of_brute_force(model, person, moments, seed):
    rows, signed = engine(model, person, moments)
    anchor = np.random.default_rng(seed).uniform(size=rows.encoding.size)
    anchor[-1] = 1
    vectors = admissible_vectors(model, person, signed, rows)
    away = np.sort(((vectors - anchor) ** 2).sum(axis=1))
    found = []
    for k in range(3):  # the nearest, the next, and so on
        found.append(rows.nearest(anchor, [one.point for one in found]))
        assert ((found[-1].vector - anchor) ** 2).sum() == pytest.approx(away[k], abs=5e-5)


@pytest.mark.parametrize("limit", [0.2, 0.5, 1.2])
def test_the_improved_row_is_that_of_brute_force(model, person, moments, limit):
    rows, signed = engine(model, person, moments)
    start = rows.nearest(rows.encoding.vector(model.space.encode_row(person)), [])
    vectors = admissible_vectors(model, person, signed, rows)
    near = vectors[((vectors - start.vector) ** 2).sum(axis=1) <= limit**2]
    best = validity_radii(near, signed.mean, signed.covariance).max()
    found = rows.steepest(start, signed.mean, signed.covariance, limit, [])
    (radius,) = validity_radii([found.vector], signed.mean, signed.covariance)
    assert radius == pytest.approx(best, rel=1e-3)
    assert np.linalg.norm(found.vector - start.vector) <= limit


def test_correcting_a_plan_keeps_what_qualifies_and_mends_the_rest(model, person, moments):
    good = model.plan(person, moments=moments, size=1, **FAST).plan
    bad = person.assign(pay=0.0)
    given = pd.concat([good, bad], ignore_index=True)
    result = model.plan(person, moments=moments, method="correct", plan=given, corrections=0)
    check(result, model, person, moments)
    assert (result.plan.iloc[0] == good.iloc[0]).all()
    assert result.trace[0].name == "given"
    assert result.trace[0].lower == 0
    assert result.trace[1].moved == (1,)
    better = model.plan(
        person, moments=moments, method="correct", plan=given, corrections=2, limit=0.6
    )
    check(better, model, person, moments)
    assert better.lower >= result.lower


def test_given_rows_that_are_close_together_stay(model, person, moments):
    """Apart by more than they are: neither can move, nor is anything refused."""
    best = model.plan(person, moments=moments, size=1, **FAST).plan
    other = best.assign(pay=best["pay"] - 0.5)
    options = {"method": "correct", "plan": pd.concat([best, other], ignore_index=True)}
    result = model.plan(person, moments=moments, **options, corrections=2, limit=0.01, apart=0.9)
    check(result, model, person, moments)
    assert (result.plan == options["plan"]).all(axis=None)


def test_a_result_tells_everything(model, person, moments, tmp_path):
    result = model.plan(person, moments=moments, size=2, radius=0.05, **FAST)
    table = result.to_frame()
    assert list(table.index) == ["factual", "plan 1", "plan 2"]
    values = result.to_dict()
    assert values["lower"] == result.lower
    assert values["models"] == 60
    assert values["share_of_models"] == empirical_validity(result.vectors, moments.samples)
    assert "proved, for moments within 0.05" in result.summary()
    assert result.summary().endswith(f"; {result.asked}")
    assert result.asked == "from 0 to 1, as no target was named"
    assert result.summary() in result._repr_html_()
    named = model.plan(person, target=1, moments=moments, size=1, **FAST)
    assert named.asked == "from 0 to 1"
    assert named.summary().endswith(f"; {named.asked}")
    assert result.bounds(0.05) == (result.lower, result.upper)
    pytest.importorskip("matplotlib")
    result.plot(tmp_path / "bounds.svg", largest=0.1)
    assert (tmp_path / "bounds.svg").stat().st_size > 0


def test_the_other_label_turns_the_parameters_around(model, moments):
    X, _ = data()
    accepted = X[model.predict(X) == 1].iloc[[0]]
    accepted = accepted.assign(age=20)
    if model.predict(accepted)[0] != 1:
        accepted = accepted.assign(pay=2.5, job="a")
    result = model.plan(accepted, moments=moments, target=0, size=2, **FAST)
    assert (model.predict(result.plan) == 0).all()
    assert (result.vectors @ moments.mean <= -0.1 + 1e-12).all()


def test_nothing_qualifies_is_an_answer(model, person, moments):
    result = model.plan(person, moments=moments, epsilon=1e3, size=2, **FAST)
    assert result.status == "infeasible"
    assert result.plan is None
    assert "proved" in result.summary()
    assert result.to_dict()["plan"] == []
    with pytest.raises(InvalidInputError, match="no plan"):
        result.plot()


def test_no_time_is_no_plan_and_no_proof(model, person, moments):
    result = model.plan(person, moments=moments, size=2, time_limit=1e-9, **FAST)
    assert (result.status, result.reason) == ("unknown", "time limit")
    assert result.plan is None
    assert (result.lower, result.upper) == (0.0, 1.0)


def test_what_is_not_proved_in_time_is_said_to_be_0_and_1(model, person, moments, monkeypatch):
    """The rows are there, and bounds that hold whatever they are."""
    full = model.plan(person, moments=moments, size=3, **FAST)

    def late(*args):
        raise TimeUp

    monkeypatch.setattr(planning, "validity_bounds", late)
    result = model.plan(person, moments=moments, size=3, **FAST)
    assert result.plan.equals(full.plan)
    assert full.lower > 0
    assert (result.lower, result.upper) == (0.0, 1.0)


def test_bounds_end_with_the_time():
    rng = np.random.default_rng(0)
    plan, mean = rng.normal(size=(12, 12)), rng.normal(size=12)
    plan *= np.sign(plan @ mean)[:, None]
    with pytest.raises(TimeUp), until(now() + 0.01):
        validity_bounds(plan, mean, np.eye(12), 0.01)


def test_more_rows_than_there_are_is_refused(model, person, moments):
    rows, signed = engine(model, person, moments)
    known = admissible_vectors(model, person, signed, rows)
    count = int((known[:, 2] == 1).sum())  # job b
    assert count > 1
    options = {"moments": moments, "subject_to": "job == factual.job", "apart": 0, **FAST}
    check(model.plan(person, size=count, **options), model, person, moments)
    with pytest.raises(InvalidInputError, match=f"only {count} distinct admissible rows"):
        model.plan(person, size=count + 1, **options)
    with pytest.raises(InvalidInputError, match=r"none is apart by 0.9 from the first \d"):
        model.plan(person, size=count, **{**options, "apart": 0.9})


def test_more_rows_than_can_be_weighed_are_refused(model, person, moments):
    with pytest.raises(InvalidInputError, match="at most 250 rows"):
        model.plan(person, moments=moments, size=1_000_000)


def test_rows_are_apart(model, person, moments):
    result = model.plan(person, moments=moments, size=4, apart=0.3, **FAST)
    check(result, model, person, moments)
    for a, b in itertools.combinations(result.vectors, 2):
        assert np.abs(a - b).max() >= 0.3 - 1e-12


GIVEN = Moments.given(np.zeros(3), np.eye(3))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"moments": None}, "needs moments"),
        ({"moments": 3}, "moments is what retrained_moments"),
        ({"moments": GIVEN}, "of 3 parameters.*this model has 6.*from what cfxc.compile gave"),
        ({"moments": (np.zeros(6), np.zeros((6, 6)))}, "not positive definite"),
        ({"moments": (np.zeros(6), np.diag([1, 1, 1, 1, 1, -1e-3]))}, "from -0.001"),
        ({"moments": (np.full(6, np.nan), np.eye(6))}, "holds nan"),
        ({"moments": Moments.given(np.zeros(6), np.eye(6), positive="?")}, "tells .* apart"),
        ({"radius": -0.1}, "radius must be finite and >= 0"),
        ({"size": 0}, "size"),
        ({"epsilon": -1}, "epsilon"),
        ({"validity_weight": -1}, "validity_weight"),
        ({"diversity_weight": -1}, "diversity_weight"),
        ({"method": "magic"}, "unknown method 'magic': copa, correct"),
        ({"method": "correct"}, "give plan=rows"),
        ({"plan": data()[0]}, "takes no plan"),
        ({"method": "correct", "plan": [1]}, "plan takes a DataFrame"),
        ({"method": "correct", "plan": data()[0].iloc[:0]}, "plan: the table has no rows"),
        ({"method": "correct", "plan": data()[0].iloc[:2], "size": 3}, "has 2 rows"),
        ({"corrections": 9}, "corrections is 9, and the plan has 5 rows"),
        ({"limit": -1}, "limit"),
        ({"apart": -1}, "apart"),
        ({"time_limit": 0}, "time_limit"),
        ({"subject_to": 3}, "no criterion: give a condition"),
        ({"subject_to": "nope > 1"}, "nope"),
        ({"subject_to": cfxc.Margin(1)}, "and no Margin"),
        ({"target": 7}, "target 7"),
    ],
)
def test_bad_input(model, person, moments, options, words):
    with pytest.raises(CfxcError, match=words):
        model.plan(person, **{"moments": moments, **FAST, **options})


def test_unknown_options_are_refused(model, person, moments):
    with pytest.raises(TypeError, match="sise"):
        model.plan(person, moments=moments, sise=3)


def test_somebody_who_is_accepted_needs_no_plan(model, moments):
    X, _ = data()
    accepted = X[model.predict(X) == 1].iloc[[0]]
    with pytest.raises(InvalidInputError, match="already has the outcome that is asked for"):
        model.plan(accepted, moments=moments, target=1)


def test_other_models_are_pointed_elsewhere(person):
    from sklearn.tree import DecisionTreeClassifier

    X, y = data()
    X = X[["age", "pay"]]
    tree = cfxc.compile(DecisionTreeClassifier(max_depth=2).fit(X, y), cfxc.FeatureSpace.infer(X))
    with pytest.raises(UnsupportedError, match=r"plans\.robust[\s\S]*surrogate"):
        tree.plan(person[["age", "pay"]], moments=GIVEN)

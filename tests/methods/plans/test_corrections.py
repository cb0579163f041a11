"""Requirement and Mahalanobis corrections, beside independent solvers."""

from __future__ import annotations

from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from cfxc.errors import CfxcError, InvalidInputError
from cfxc.methods.plans import (
    mahalanobis_correction,
    requirement_correction,
    validity_bounds,
    validity_radii,
    worst_masses,
)


def moments(rng, d):
    A = rng.normal(size=(d, d))
    return rng.normal(size=d), A @ A.T * 0.05 + 0.01 * np.eye(d)


def plan_of(rng, rows, d):
    X = rng.normal(size=(rows, d))
    X[:, -1] = 1
    return X


def exact_margin(row, mean):
    return sum(Fraction(float(x)) * Fraction(float(m)) for x, m in zip(row, mean, strict=True))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.sampled_from([0.0, 0.1, 3.0, 1e6]))
def test_requirement_is_exact_and_moves_no_valid_row(seed, d, epsilon):
    rng = np.random.default_rng(seed)
    mean, plan = rng.normal(size=d), rng.normal(size=(4, d)) * 10.0 ** rng.integers(-3, 4)
    made = requirement_correction(plan, mean, epsilon)
    for j, (before, after) in enumerate(zip(plan, made.plan, strict=True)):
        assert exact_margin(after, mean) >= epsilon
        if exact_margin(before, mean) >= epsilon:
            assert j not in made.moved
            assert (before == after).all()
        else:  # along the mean, and no further than needed
            gap = epsilon - float(exact_margin(before, mean))
            expected = before + gap / (mean @ mean) * mean
            size = np.abs(before).max() + np.abs(expected).max()
            assert np.allclose(after, expected, rtol=1e-6, atol=1e-9 * size)


@pytest.mark.parametrize("seed", range(5))
def test_requirement_is_the_projection(seed):
    rng = np.random.default_rng(seed)
    (mean, _), plan = moments(rng, 4), plan_of(rng, 3, 4)
    made = requirement_correction(plan, mean, 0.7, fixed=[-1]).plan
    assert (made[:, -1] == 1).all()
    for before, after in zip(plan, made, strict=True):
        x = cp.Variable(4)
        near = cp.Problem(cp.Minimize(cp.sum_squares(x - before)), [x @ mean >= 0.7, x[3] == 1])
        near.solve(solver="CLARABEL")
        assert np.allclose(after, x.value, atol=1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_improvement_is_the_optimum_of_a_general_solver(seed):
    rng = np.random.default_rng(seed)
    d, limit = 5, 0.3
    mean, covariance = moments(rng, d)
    plan = requirement_correction(plan_of(rng, 3, d), mean, 0.5, fixed=[-1]).plan
    made = mahalanobis_correction(plan, mean, covariance, 0.01, count=3, limit=limit, fixed=[-1])
    radii = validity_radii(made.plan, mean, covariance)
    assert (radii >= validity_radii(plan, mean, covariance)).all()
    for j, row in enumerate(plan):
        assert np.linalg.norm(made.plan[j] - row) <= limit
        assert made.plan[j, -1] == 1

        def lost(u):
            x = np.append(u, 1.0)
            return -(x @ mean) / np.sqrt(x @ covariance @ x)

        ball = {"type": "ineq", "fun": lambda u, row=row: limit**2 - ((u - row[:-1]) ** 2).sum()}
        best = max(
            -minimize(lost, row[:-1] + start, constraints=[ball], options={"ftol": 1e-13}).fun
            for start in rng.normal(size=(4, d - 1)) * 0.05
        )
        assert radii[j] == pytest.approx(best, abs=1e-5)


@pytest.mark.parametrize("radius", [0.0, 0.05])
def test_masses_make_up_what_is_missing_of_the_bound(radius):
    rng = np.random.default_rng(3)
    mean, covariance = moments(rng, 4)
    plan = requirement_correction(plan_of(rng, 4, 4), mean, 2.0, fixed=[-1]).plan
    lower, _ = validity_bounds(plan, mean, covariance, radius)
    masses = worst_masses(plan, mean, covariance, radius)
    assert lower > 0
    assert masses.sum() == pytest.approx(1 - lower, abs=1e-5)


def test_the_rows_that_fail_most_often_are_moved():
    mean, covariance = np.array([1.0, 1.0]), 0.01 * np.eye(2)
    plan = np.array([[1.0, 1.0], [1.0, -0.5], [1.0, -0.8]])
    made = mahalanobis_correction(plan, mean, covariance, 0.0, count=1, limit=0.1)
    assert made.moved == (2,)
    before = validity_bounds(plan, mean, covariance, 0.0)[0]
    assert validity_bounds(made.plan, mean, covariance, 0.0)[0] > before
    none = mahalanobis_correction(plan, mean, covariance, 0.0, count=0, limit=0.1)
    still = mahalanobis_correction(plan, mean, covariance, 0.0, count=3, limit=0.0)
    assert none.moved == still.moved == ()


def test_the_radius_is_that_of_an_ellipsoid_of_valid_parameters():
    rng = np.random.default_rng(0)
    mean, covariance = moments(rng, 3)
    x = requirement_correction(plan_of(rng, 1, 3), mean, 0.5).plan[0]
    (radius,) = validity_radii([x], mean, covariance)
    root = np.linalg.cholesky(covariance)
    u = rng.normal(size=(3, 20_000))
    u *= radius / np.linalg.norm(u, axis=0)
    least = (x @ (mean[:, None] + root @ u)).min()
    assert least + 1e-12 >= 0
    assert least == pytest.approx(0, abs=0.02 * (x @ mean))


GOOD = {"plan": [[1.0, 1.0]], "mean": [1.0, 1.0], "covariance": np.eye(2), "radius": 0.1}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"plan": [[1.0, -2.0], [1, 1]]}, r"not valid for the mean.*row 0 \(-1\).*requirement_cor"),
        ({"count": 2}, "count is 2, and the plan has 1 rows"),
        ({"count": -1}, "count"),
        ({"limit": -0.1}, "limit must be finite and >= 0"),
        ({"limit": float("nan")}, "limit"),
        ({"radius": -1.0}, "radius"),
        ({"covariance": -np.eye(2)}, "not positive semidefinite"),
        ({"plan": [[1.0, 1.0, 1.0]]}, "3 columns and mean has 2"),
        ({"plan": [[1.0, float("nan")]]}, "holds nan"),
        ({"fixed": [2]}, "no entry of a vector of 2"),
        ({"fixed": ["a"]}, "no entry"),
    ],
)
def test_bad_input(changes, words):
    with pytest.raises(CfxcError, match=words):
        mahalanobis_correction(**{**GOOD, "count": 1, "limit": 0.1, **changes})


def test_requirement_refuses_what_nothing_can_mend():
    with pytest.raises(InvalidInputError, match="no entry that may move"):
        requirement_correction([[1.0, 1.0]], [0.0, -1.0], 0.1, fixed=[1])
    with pytest.raises(InvalidInputError, match="epsilon"):
        requirement_correction([[1.0, 1.0]], [0.0, -1.0], -0.1)

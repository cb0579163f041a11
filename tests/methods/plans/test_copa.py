"""COPA: its projection, its objective, and what it finds, beside independent solvers."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import minimize

from cfxc.errors import CfxcError, InvalidInputError
from cfxc.methods.plans import Copa, copa_plan, diversity, proximity, validity_radii
from cfxc.methods.plans.copa import _Box
from cfxc.methods.plans.copa import objective as objective_of_many


def objective(plan, factual, mean, covariance, of):
    """What COPA minimises (eq. 6), from its definition."""
    validity = validity_radii(plan, mean, covariance).min()
    return (
        proximity(plan, factual)
        - of.validity_weight * validity
        - of.diversity_weight * diversity(plan)
    )


def problem(seed, d=4):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(d, d))
    home = rng.uniform(size=d)
    home[-1] = 1
    return home, rng.normal(size=d), A @ A.T * 0.05 + 0.02 * np.eye(d)


@pytest.mark.parametrize("seed", range(8))
def test_the_projection_is_the_nearest_point(seed):
    rng = np.random.default_rng(seed)
    mean = rng.normal(size=5)
    mean[rng.integers(5)] *= seed % 2  # also a parameter that is 0
    low, high = np.zeros(5), np.ones(5)
    most = np.maximum(mean, 0).sum()
    box = _Box(mean, 0.7 * most, low[None, None], high[None, None])
    points = rng.normal(size=(1, 6, 5))
    made = box.project(points)
    assert (made >= low).all()
    assert (made <= high).all()
    assert (made @ mean >= 0.7 * most - 1e-12).all()
    for before, after in zip(points[0], made[0], strict=True):
        x = cp.Variable(5)
        limits = [x >= 0, x <= 1, x @ mean >= 0.7 * most]
        near = cp.Problem(cp.Minimize(cp.sum_squares(x - before)), limits)
        near.solve(solver="CLARABEL", tol_gap_abs=1e-13, tol_gap_rel=1e-13, tol_feas=1e-13)
        assert np.allclose(after, x.value, atol=1e-5)


def test_the_projection_without_bounds_is_the_closed_form():
    mean = np.array([1.0, 2.0])
    box = _Box(mean, 1.0, np.full((1, 1, 2), -np.inf), np.full((1, 1, 2), np.inf))
    x = np.array([[[0.0, 0.0], [3.0, 0.0]]])
    assert np.allclose(box.project(x), [[[0.2, 0.4], [3.0, 0.0]]])


def test_measures_are_those_of_the_paper():
    plan, home = np.array([[0.0, 0.0], [3.0, 4.0]]), np.zeros(2)
    assert proximity(plan, home) == 2.5
    assert diversity(plan) == pytest.approx(1 - (1 / 6) ** 2)
    assert diversity(plan[[0, 0]]) == 0
    covariance, of = np.diag([4.0, 4.0]), Copa(2, 0.5, 2.0)
    rows = np.array([[1.0, 0.0], [0.0, 2.0]])
    mean = np.array([2.0, 1.0])
    radii = validity_radii(rows, mean, covariance)
    assert radii.tolist() == [1.0, 0.5]
    expected = 1.5 - 0.5 * 0.5 - 2.0 * diversity(rows)
    assert objective(rows, home, mean, covariance, of) == pytest.approx(expected)


def test_one_row_is_the_optimum():
    """Of one row det K is 1: proximity against validity, in two dimensions, on a fine grid."""
    home, mean, covariance = problem(1, 3)
    mean = np.abs(mean)
    of = Copa(1, 0.3, 0.0, 0.1, steps=2000, starts=6)
    made = copa_plan(home, mean, covariance, of, lower=np.zeros(3), upper=np.ones(3), fixed=[-1])
    grid = np.linspace(0, 1, 201)
    best = min(
        objective(np.array([[a, b, 1.0]]), home, mean, covariance, of)
        for a in grid
        for b in grid
        if np.array([a, b, 1.0]) @ mean >= 0.1
    )
    assert objective(made, home, mean, covariance, of) <= best + 1e-3


@pytest.mark.parametrize("seed", range(3))
def test_no_local_solver_improves_much_on_a_plan(seed):
    home, mean, covariance = problem(seed)
    of = Copa(3, 0.5, 4.0, 0.1, steps=1500, starts=6)
    made = copa_plan(home, mean, covariance, of, lower=np.zeros(4), upper=np.ones(4), fixed=[-1])
    assert (made[:, -1] == 1).all()
    assert (made @ mean >= 0.1 - 1e-12).all()

    def value(u):
        rows = np.column_stack([u.reshape(3, 3), np.ones(3)])
        return objective(rows, home, mean, covariance, of)

    def margins(u):
        return u.reshape(3, 3) @ mean[:-1] + mean[-1] - 0.1

    found = minimize(
        value, made[:, :-1].ravel(), bounds=[(0, 1)] * 9, method="SLSQP",
        constraints=[{"type": "ineq", "fun": margins}],
    )  # fmt: skip
    assert value(made[:, :-1].ravel()) <= found.fun + 0.02


def test_many_people_at_once():
    home, mean, covariance = problem(2)
    of = Copa(2, steps=50, starts=2)
    people = np.array([home, 0.5 * home + [0, 0, 0, 0.5]])
    made = copa_plan(people, mean, covariance, of, fixed=[-1])
    assert made.shape == (2, 2, 4)
    again = copa_plan(people, mean, covariance, of, fixed=[-1])
    assert (made == again).all()
    assert (made[..., -1] == 1).all()


def test_more_weight_on_validity_gives_a_larger_radius():
    home, mean, covariance = problem(0)
    box = {"lower": np.zeros(4), "upper": np.ones(4), "fixed": [-1]}
    radii = [
        validity_radii(
            copa_plan(home, mean, covariance, Copa(2, w, 1.0), **box), mean, covariance
        ).min()
        for w in (0.0, 5.0)
    ]
    assert radii[0] < radii[1]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"size": 0}, "size"), ({"size": 1.5}, "size"), ({"validity_weight": -1}, "validity"),
        ({"diversity_weight": float("nan")}, "diversity_weight"), ({"epsilon": -1}, "epsilon"),
        ({"steps": 0}, "steps"), ({"rate": 0}, "rate"), ({"starts": 0}, "starts"),
        ({"random_state": -1}, "random_state"),
    ],
)  # fmt: skip
def test_options_are_checked(changes, words):
    with pytest.raises(CfxcError, match=words):
        Copa(**changes)


def test_bad_input():
    home, mean, covariance = problem(0)
    with pytest.raises(InvalidInputError, match="factual has 4 entries, mean has 3"):
        copa_plan(home, mean[:3], covariance[:3, :3])
    with pytest.raises(InvalidInputError, match="lower must be 4 numbers"):
        copa_plan(home, mean, covariance, lower=[0.0])
    with pytest.raises(InvalidInputError, match="lower exceeds upper"):
        copa_plan(home, mean, covariance, lower=np.ones(4), upper=np.zeros(4))
    with pytest.raises(InvalidInputError, match="no plan is valid"):
        copa_plan(home, mean, covariance, Copa(epsilon=1e3), lower=home, upper=home)
    with pytest.raises(InvalidInputError, match="at most 250 rows in one plan, not 251"):
        copa_plan(home, mean, covariance, Copa(251))
    with pytest.raises(InvalidInputError, match="nan"):
        copa_plan(home * np.nan, mean, covariance)


@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_values_and_slopes_of_many_plans(size):
    """Values by the definition, slopes by differences of them."""
    home, mean, covariance = problem(size)
    of = Copa(size, 0.7, 3.0)
    plans = np.random.default_rng(size).uniform(size=(2, size, 4))
    values, slopes = objective_of_many(plans, home[None, None], mean, covariance, of)
    for plan, value, slope in zip(plans, values, slopes, strict=True):
        assert value == pytest.approx(objective(plan, home, mean, covariance, of), abs=1e-12)
        for place in np.ndindex(plan.shape):
            step = np.zeros(plan.shape)
            step[place] = 1e-6
            near = [objective(plan + by, home, mean, covariance, of) for by in (step, -step)]
            assert slope[place] == pytest.approx((near[0] - near[1]) / 2e-6, abs=1e-5)


def test_weights_beyond_doubles_end_with_what_there_is():
    home, mean, covariance = problem(1)
    for of in (Copa(3, 1e160, 1.0), Copa(3, 1.0, 1e160), Copa(3, 1e300, 1e300)):
        made = copa_plan(home, np.abs(mean), covariance, of, lower=np.zeros(4), upper=np.ones(4))
        assert np.isfinite(made).all()


def test_slopes_where_rows_meet():
    """No number is lost where rows are the same, or the factual itself: det K is 0 there."""
    home, mean, covariance = problem(3)
    for plans in (np.repeat(home[None, None], 3, axis=1), np.zeros((1, 2, 4))):
        values, slopes = objective_of_many(plans, home[None, None], mean, covariance, Copa(3))
        assert np.isfinite(values).all()
        assert np.isfinite(slopes).all()

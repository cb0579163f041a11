"""Bounds on the validity of plans: closed forms, the paper's programs, and laws inside the ball."""

from __future__ import annotations

import time
from fractions import Fraction
from itertools import pairwise
from math import asin, atan2, hypot, pi, sin

import numpy as np
import pytest

from cfxc.errors import DataTypeError, InvalidInputError, SolverError
from cfxc.methods.plans import bounds, gelbrich_distance, validity_bounds
from cfxc.methods.plans import certificate as rationals
from cfxc.methods.plans.certificate import Certificate

cp = pytest.importorskip("cvxpy")

from cfxc.methods.plans import programs  # noqa: E402

CLOSE = 1e-6
RADII = [0.0, 0.02, 0.2]


def example(seed: int, d: int, J: int, side: str, spread: float = 0.3, far: float = 2.0):
    """A plan whose rows are all valid for the mean (lower), or some row is not (upper)."""
    rng = np.random.default_rng(seed)
    mean, A = rng.normal(size=d), rng.normal(size=(d, 2 * d))
    covariance = spread**2 * A @ A.T / (2 * d)
    plan = rng.normal(size=(J, d))
    margins = rng.uniform(0.5, 1.5, J) * np.sqrt(d) * spread * far
    if side == "upper":
        margins[0] *= -1
    plan += np.outer(margins - plan @ mean, mean) / (mean @ mean)
    return plan, mean, covariance


def single(x, mean, covariance, radius):
    """The bounds of one row: Cantelli's bound, over a disk of means and deviations."""
    m, s, r = x @ mean, np.sqrt(x @ covariance @ x), radius * np.linalg.norm(x)
    angle = min(pi / 2, atan2(s, abs(m)) + asin(min(1.0, r / hypot(m, s))))
    return (1 - sin(angle) ** 2, 1.0) if m >= 0 else (0.0, sin(angle) ** 2)


@pytest.mark.parametrize("seed", range(20))
def test_one_row_has_a_closed_form(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 7))
    plan, mean, covariance = example(seed, d, 1, ("lower", "upper")[seed % 2])
    for radius in [0.0, 1e-9, 0.05, 0.3, 2.0]:
        expected = single(plan[0], mean, covariance, radius)
        found = validity_bounds(plan, mean, covariance, radius)
        assert found == pytest.approx(expected, abs=1e-12)
        # by a program: the same row twice
        twice = validity_bounds([plan[0], 3 * plan[0]], mean, covariance, radius)
        assert twice == pytest.approx(expected, abs=CLOSE)


@pytest.mark.parametrize("radius", [0.1, 0.3])
@pytest.mark.parametrize("side", ["lower", "upper"])
def test_the_programs_of_the_paper(side, radius):
    """Theorems 2.2 and 2.3 in all d dimensions give the same values."""
    plan, mean, covariance = example(3, 4, 3, side)
    lower, upper = validity_bounds(plan, mean, covariance, radius)
    d, J = 4, 3
    if side == "lower":
        pieces = [cp.Variable((d + 1, d + 1), PSD=True) for _ in range(J)]
        moments = cp.Variable((d + 1, d + 1), PSD=True)
        S, C, m = cp.Variable((d, d), PSD=True), cp.Variable((d, d)), moments[:d, d]
        program = cp.Problem(
            cp.Minimize(1 - sum(piece[d, d] for piece in pieces)),
            [
                *(x @ piece[:d, d] <= 0 for x, piece in zip(plan, pieces, strict=True)),
                moments - sum(pieces) >> 0,
                moments[d, d] == 1,
                moments - cp.bmat([[S, np.zeros((d, 1))], [np.zeros((1, d + 1))]]) >> 0,
                cp.bmat([[S, C], [C.T, covariance]]) >> 0,
                mean @ mean - 2 * mean @ m + cp.trace(moments[:d, :d] + covariance - 2 * C)
                <= radius**2,
            ],
        )
        expected = lower
    else:
        z0, z, Z = cp.Variable(), cp.Variable((d, 1)), cp.Variable((d, d), PSD=True)
        price, q, Q = cp.Variable(nonneg=True), cp.Variable((1, 1)), cp.Variable((d, d), PSD=True)
        λ = cp.Variable(J, nonneg=True)
        values, vectors = np.linalg.eigh(covariance)
        root, unit, column = (vectors * np.sqrt(values)) @ vectors.T, np.eye(d), mean[:, None]
        forms = [np.block([[0 * unit, x[:, None] / 2], [x[None] / 2, 0]]) for x in plan]
        z_ = cp.reshape(z0, (1, 1), order="C")
        program = cp.Problem(
            cp.Minimize(
                z0
                + price * (radius**2 - mean @ mean - np.trace(covariance))
                + q[0, 0]
                + cp.trace(Q)
            ),
            [
                cp.bmat([[price * unit - Z, price * root], [price * root, Q]]) >> 0,
                cp.bmat([[price * unit - Z, price * column + z], [(price * column + z).T, q]]) >> 0,
                cp.bmat([[Z, z], [z.T, z_]]) >> 0,
                cp.bmat([[Z, z], [z.T, z_ - 1]]) - sum(λ[j] * form for j, form in enumerate(forms))
                >> 0,
            ],
        )
        expected = upper
    program.solve(solver="SCS", eps_abs=1e-8, eps_rel=1e-8, max_iters=50_000)
    assert program.value == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_upper_bounds_are_those_of_the_best_half_space(seed):
    """A convex event lies in the half-spaces Σ λ_j x_jᵀθ ≥ 0; the best one gives the bound."""
    from scipy.optimize import minimize

    plan, mean, covariance = example(seed, 5, 2 + seed % 3, "upper")
    for radius in RADII:

        def value(λ, radius=radius, plan=plan, mean=mean, covariance=covariance):
            x = np.exp(λ) @ plan
            return single(x, mean, covariance, radius)[1]

        best = min(
            minimize(value, start, method="Nelder-Mead", options={"maxiter": 4000}).fun
            for start in np.random.default_rng(0).normal(size=(3, len(plan)))
            + 2 * np.eye(1, len(plan))
        )
        assert validity_bounds(plan, mean, covariance, radius)[1] == pytest.approx(best, abs=1e-4)


def laws_inside(rng, mean, covariance, radius, count):
    """Discrete laws with moments in the ball: atoms (count × n × d) and weights (count × n)."""
    d = len(mean)
    for _ in range(count):
        n = int(rng.integers(d + 2, 4 * d + 4))
        weights = rng.dirichlet(np.full(n, 10.0 ** rng.uniform(-1, 1)))
        atoms = rng.normal(size=(n, d)) * np.exp(rng.normal(size=(n, 1)))
        weights = 0.999 * weights + 0.001 / n
        atoms = atoms - weights @ atoms
        spread = np.linalg.cholesky(atoms.T @ (weights[:, None] * atoms))
        shift, turn = rng.normal(size=d), rng.normal(size=(d, d)) * rng.uniform(0, 1)
        root = np.linalg.cholesky(covariance)
        scale = 1.0
        while True:
            new_mean, new_root = mean + scale * shift, (np.eye(d) + scale * turn) @ root
            moved = new_root @ new_root.T
            if gelbrich_distance(new_mean, moved, mean, covariance) <= radius * (1 - 1e-9) + 1e-13:
                break
            scale = 0.0 if scale < 1e-9 else scale * 0.7
        yield new_mean + np.linalg.solve(spread, atoms.T).T @ new_root.T, weights


@pytest.mark.parametrize("side", ["lower", "upper"])
@pytest.mark.parametrize("radius", RADII)
def test_laws_inside_the_ball_are_within_the_bounds(radius, side):
    rng = np.random.default_rng(7)
    seen = set()
    for seed in range(8):
        plan, mean, covariance = example(seed, 2 + seed % 3, 1 + seed % 4, side)
        lower, upper = validity_bounds(plan, mean, covariance, radius)
        for atoms, weights in laws_inside(rng, mean, covariance, radius, 25):
            valid = weights @ (atoms @ plan.T >= 0).all(axis=1)
            assert lower - 1e-9 <= valid <= upper + 1e-9
            seen.add(round(float(valid), 2))
    assert len(seen) > 10


@pytest.mark.parametrize("side", ["lower", "upper"])
@pytest.mark.parametrize("radius", RADII)
@pytest.mark.parametrize("seed", range(4))
def test_a_law_inside_the_ball_attains_the_bound(seed, radius, side):
    """Its atoms are the means of the primal's pieces; what is left of the second moments goes far
    away with a vanishing probability."""
    d = 2 + seed % 2
    plan, mean, covariance = example(seed, d, d + seed % 3, side)
    problem = bounds.read(plan, mean, covariance, radius)
    assert problem.size == d
    solution = programs.solve_bound(problem, side, "CLARABEL")
    _, value = bounds.prove(problem, side)
    rest, atoms, weights = np.zeros((d, d)), [], []
    for index, piece in enumerate(solution.pieces):
        weight = piece[d, d]
        if weight < 1e-9:
            rest += piece[:d, :d]
            continue
        centre = piece[:d, d] / weight
        rest += piece[:d, :d] - weight * np.outer(centre, centre)
        atoms.append((index, centre))
        weights.append(weight)
    lift = rationals.doubles(problem.lift)
    points = np.array([mean + np.linalg.solve(lift, centre) for _, centre in atoms])
    for place, (index, _) in enumerate(atoms):  # solver's noise at the border
        rows = plan / np.linalg.norm(plan, axis=1)[:, None]
        if index and side == "lower":
            points[place] -= 1e-5 * rows[index - 1]
        elif index:
            points[place] += 1e-5 * np.linalg.pinv(rows).sum(axis=1) * 2
    inverse = np.linalg.inv(lift)
    values, vectors = np.linalg.eigh(inverse @ rest @ inverse.T)
    far = 1e-5
    weights = (1 - far) * np.array(weights) / sum(weights)
    steps = vectors.T * np.sqrt(np.maximum(values, 0) * d / far)[:, None]
    points = np.vstack([points, mean + steps, mean - steps])
    weights = np.append(weights, np.full(2 * d, far / (2 * d)))
    centre = weights @ points
    spread = (points - centre).T @ (weights[:, None] * (points - centre))
    assert gelbrich_distance(centre, spread, mean, covariance) <= radius + 2e-3
    valid = float(weights @ (points @ plan.T >= 0).all(axis=1))
    attained = 1 - valid if side == "lower" else valid
    assert attained == pytest.approx(float(value), abs=1e-3)


@pytest.mark.parametrize("side", ["lower", "upper"])
def test_bounds_widen_with_the_radius_and_fall_with_more_rows(side):
    plan, mean, covariance = example(5, 6, 5, side)
    found = [validity_bounds(plan, mean, covariance, r) for r in np.linspace(0, 0.6, 7)]
    assert all(a[0] >= b[0] - CLOSE and a[1] <= b[1] + CLOSE for a, b in pairwise(found))
    assert found[0] != found[-1]
    found = [validity_bounds(plan[:J], mean, covariance, 0.05) for J in range(1, 6)]
    assert all(a[0] >= b[0] - CLOSE and a[1] >= b[1] - CLOSE for a, b in pairwise(found))
    assert found[0] != found[-1] or side == "upper"


@pytest.mark.parametrize("side", ["lower", "upper"])
@pytest.mark.parametrize("radius", RADII)
def test_invariances(radius, side):
    rng = np.random.default_rng(0)
    plan, mean, covariance = example(2, 5, 4, side)
    expected = pytest.approx(validity_bounds(plan, mean, covariance, radius), abs=CLOSE)
    turn, _ = np.linalg.qr(rng.normal(size=(5, 5)))
    assert (
        validity_bounds(plan @ turn.T, turn @ mean, turn @ covariance @ turn.T, radius) == expected
    )
    scales = 10.0 ** rng.uniform(-6, 6, size=(4, 1))
    assert validity_bounds(scales * plan, mean, covariance, radius) == expected
    assert validity_bounds(plan[::-1], mean, covariance, radius) == expected
    for unit in (1e-30, 1e30):
        assert validity_bounds(plan, unit * mean, unit**2 * covariance, unit * radius) == expected
    # rows that the others imply, and a parameter that no row uses
    more = np.vstack([plan, plan[0] + plan[1]])
    assert validity_bounds(more, mean, covariance, radius) == expected
    wide = np.hstack([plan, np.zeros((4, 1))])
    block = np.pad(covariance, (0, 1)) + np.diag([0] * 5 + [9])
    assert validity_bounds(wide, np.append(mean, 3), block, radius) == expected


def semidefinite(A) -> bool:
    """By symmetric elimination in rationals, with pivots; nothing of the package is used."""
    A = [list(row) for row in A]
    while A:
        pivot = max(range(len(A)), key=lambda i: A[i][i])
        p = A[pivot][pivot]
        if p <= 0:
            return p == 0 and all(entry == 0 for row in A for entry in row)
        keep = [i for i in range(len(A)) if i != pivot]
        A = [[A[i][j] - A[i][pivot] * A[pivot][j] / p for j in keep] for i in keep]
    return True


def inverse(A):
    n = len(A)
    T = [list(row) + [Fraction(i == j) for j in range(n)] for i, row in enumerate(A)]
    for k in range(n):
        T[k] = [entry / T[k][k] for entry in T[k]]  # positive definite: no pivot is zero
        for i in range(n):
            if i != k:
                T[i] = [a - T[i][k] * b for a, b in zip(T[i], T[k], strict=True)]
    return np.array([row[n:] for row in T], dtype=object)


@pytest.mark.parametrize("side", ["lower", "upper"])
@pytest.mark.parametrize("seed", range(3))
def test_the_repaired_point_is_feasible_in_the_parameters_themselves(seed, side):
    """In θ, with the d × d matrices and the objective of Theorem 2.3, all in rationals."""
    d, radius = 4, 0.1
    plan, mean, covariance = example(seed, d, 3, side)
    problem = bounds.read(plan, mean, covariance, radius)
    certificate, value = bounds.prove(problem, side)
    X, μ, Σ = rationals.exact(plan), rationals.exact(mean), rationals.exact(covariance)
    Σ = (Σ + Σ.T) / 2
    H, k, Q = problem.lift, problem.size, certificate.Q
    Z = H.T @ Q[:k, :k] @ H
    z = H.T @ Q[:k, k] - Z @ μ
    z0 = Q[k, k] - 2 * Q[:k, k] @ H @ μ + μ @ Z @ μ
    whole = np.block([[Z, z[:, None]], [z[None], np.array([[z0]])]])
    assert semidefinite(whole)
    whole[d, d] -= 1
    forms = []
    for j, x in enumerate(X):  # their rows are x_j times powers of 2
        assert problem.rows[j, -1] != 0
        λ = certificate.multipliers[j] * problem.rows[j, -1] / (x @ μ)
        assert λ >= 0
        form = np.zeros((d + 1, d + 1), dtype=object) + Fraction(0)
        form[d, :d] = form[:d, d] = λ * x / 2
        forms.append(form)
    if side == "lower":
        assert all(semidefinite(whole + form) for form in forms)
    else:
        assert semidefinite(whole - sum(forms))
    γ = certificate.price / Fraction(radius) ** 2
    left = γ * rationals.exact(np.eye(d)) - Z
    assert semidefinite(left)
    W = inverse(left)
    total = z0 + γ * (Fraction(radius) ** 2 - μ @ μ - np.trace(Σ))
    total += (γ * μ + z) @ W @ (γ * μ + z) + γ**2 * np.trace(Σ @ W)
    assert total == value
    lower, upper = validity_bounds(plan, mean, covariance, radius)
    proved = 1 - Fraction(lower) if side == "lower" else Fraction(upper)
    assert value <= proved <= value + Fraction(1, 10**15)


@pytest.mark.parametrize("side", ["lower", "upper"])
def test_points_that_are_not_feasible_prove_nothing(side):
    problem = bounds.read(*example(1, 4, 3, side), 0.1)
    good, _ = bounds.prove(problem, side)
    lowered = good.Q - rationals.exact(1e-6 * np.eye(len(good.Q)))
    skew = good.Q.copy()
    skew[0, 1] += Fraction(1, 10**6)
    for Q, multipliers, price in [
        (lowered, good.multipliers, good.price),
        (skew, good.multipliers, good.price),
        (good.Q, -good.multipliers, good.price),
        (good.Q, good.multipliers * 0, good.price),
        (good.Q, good.multipliers, Fraction(0)),
        (good.Q, good.multipliers, -good.price),
    ]:
        assert Certificate(problem, side, Q, multipliers, price).value() is None
    assert good.value() is not None


def test_definiteness_at_the_tie():
    rng = np.random.default_rng(0)
    for n in (1, 2, 5):
        A = rationals.exact(rng.integers(-3, 4, size=(n, n + 2)).astype(float))
        A = A @ A.T
        assert rationals.positive_definite(A + rationals.exact(np.eye(n)) / 2**100)
        singular = np.block([[A, A], [A, A]])
        assert not rationals.positive_definite(singular)
        assert not rationals.positive_definite(singular - rationals.exact(np.eye(2 * n)) / 2**90)


def test_solvers_are_replaced_and_their_word_is_not_trusted(monkeypatch):
    plan, mean, covariance = example(1, 4, 3, "lower")
    expected = validity_bounds(plan, mean, covariance, 0.1)
    solve = programs.solve_bound

    def failing(problem, side, name):
        return "infeasible" if name == "CLARABEL" else solve(problem, side, name)

    monkeypatch.setattr(programs, "solve_bound", failing)
    found = validity_bounds(plan, mean, covariance, 0.1)
    assert found == pytest.approx(expected, abs=1e-4)
    assert found[0] <= expected[0] + CLOSE

    def lying(problem, side, name):
        told = solve(problem, side, name)
        wrong = told.Q - 1e-4 * np.eye(len(told.Q))
        return programs.Solution("optimal", told.value - 0.1, wrong, told.multipliers, ())

    monkeypatch.setattr(programs, "solve_bound", lying)
    assert (
        expected[0] - 0.01 <= validity_bounds(plan, mean, covariance, 0.1)[0] <= expected[0] + CLOSE
    )
    monkeypatch.setattr(programs, "solve_bound", lambda *_: "it broke")
    with pytest.raises(SolverError, match="CLARABEL: it broke; SCS: it broke"):
        validity_bounds(plan, mean, covariance, 0.1)


I2 = np.eye(2)


@pytest.mark.parametrize(
    ("plan", "mean", "covariance", "radius", "expected"),
    [
        ([[1, 0], [0, 1]], [0, 1], I2, 0.1, (0, 1)),  # Proposition 2.4 at the border
        ([[1, 0], [0, 1]], [0, 1], I2, 0, (0, 1)),
        ([[0, 0]], [1, 1], I2, 1, (1, 1)),  # 0 ≥ 0
        ([[1, 0]], [1, 1], I2, 1, (0, 1)),  # the ball touches the border
        ([[1, 0]], [1, 1], 0 * I2, 0, (1, 1)),  # a law at one point
        ([[1, 0]], [0, 1], 0 * I2, 0, (1, 1)),
        ([[-1, 0], [0, 1]], [1, 1], 0 * I2, 0, (0, 0)),
        ([[1, 0], [0, 1]], [1, 2], np.diag([0, 1]), 0, (0.8, 1)),  # only one row moves
        ([[-1, 0], [0, 1]], [1, 2], np.diag([0, 1]), 0, (0, 0)),
        ([[1, 0], [-1, 1]], [1, -5], np.diag([1, 0]), 0, (0, 0)),  # never both
        ([[1, 0]], [1e-200, 1], I2 * 1e-300, 0, (1 / (1 + 1e100), 1)),
        ([[1, 1]], [1, 1], [[1, -1], [-1, 1]], 0, (1, 1)),  # singular
    ],
)
def test_degenerate_cases(plan, mean, covariance, radius, expected):
    assert validity_bounds(plan, mean, covariance, radius) == pytest.approx(expected, abs=1e-8)


def test_a_covariance_estimated_from_few_models_is_taken():
    rng = np.random.default_rng(0)
    plan, mean, _ = example(0, 12, 3, "lower")
    covariance = np.cov(rng.normal(size=(5, 12)).T) * 0.05
    assert np.linalg.eigvalsh(covariance)[0] < 1e-12
    lower, upper = validity_bounds(plan, mean, covariance, 0.01)
    assert 0 < lower < 1
    assert upper == 1


def test_sixty_parameters_and_five_rows(capsys):
    for side in ("lower", "upper"):
        for radius in (0.0, 0.01, 0.05):
            plan, mean, covariance = example(11, 60, 5, side, spread=0.1, far=6.0)
            start = time.perf_counter()
            lower, upper = validity_bounds(plan, mean, covariance, radius)
            with capsys.disabled():
                print(
                    f"\nd=60, J=5, {side}, ρ={radius}: {time.perf_counter() - start:.3f} s", end=""
                )
            problem = bounds.read(plan, mean, covariance, radius)
            claimed = programs.solve_bound(problem, side, "CLARABEL").value
            assert (1 - lower if side == "lower" else upper) == pytest.approx(claimed, abs=CLOSE)
            assert 0 < (lower if side == "lower" else upper) < 1


NAN = float("nan")


@pytest.mark.parametrize(
    ("plan", "mean", "covariance", "radius", "error", "words"),
    [
        (
            [[1, 0]],
            [1, 1],
            [[1, 2], [2, 1]],
            0,
            InvalidInputError,
            "-1 to 3.*a >= 0.5000.*LedoitWolf",
        ),
        ([[1, 0]], [1, 1], -I2, 0, InvalidInputError, "no covariance is near"),
        (
            [[1, 0]],
            [1, 1],
            [[1, 0.5], [0, 1]],
            0,
            InvalidInputError,
            r"not symmetric: 0.5 at \[0, 1\]",
        ),
        ([[1, 0]], [1, 1], I2, -1, InvalidInputError, "radius must be finite and >= 0, not -1.0"),
        ([[1, 0]], [1, 1], I2, NAN, InvalidInputError, "radius must be finite"),
        ([[1, 0]], [1, 1], I2, "1", DataTypeError, "radius must be a number"),
        ([[1, 0]], [1, 1], I2, True, DataTypeError, "radius must be a number"),
        ([1, 0], [1, 1], I2, 0, InvalidInputError, r"must be a matrix.*one row: write \[x\]"),
        ([[1, 0, 1]], [1, 1], I2, 0, InvalidInputError, "3 columns and mean has 2 entries.*bias"),
        ([[1, 0]], [[1, 1]], I2, 0, InvalidInputError, "mean must be a vector"),
        ([[1, 0]], [1, 1], np.eye(3), 0, InvalidInputError, "2 × 2"),
        ([[1, NAN]], [1, 1], I2, 0, InvalidInputError, r"plan holds nan at \[0, 1\]"),
        ([[1, 0]], [1, np.inf], I2, 0, InvalidInputError, r"mean holds inf at \[1\]"),
        ([[1, 0]], [1, 1], I2 * NAN, 0, InvalidInputError, "covariance holds nan"),
        (np.zeros((0, 2)), [1, 1], I2, 0, InvalidInputError, "plan is empty"),
        ([["a", "b"]], [1, 1], I2, 0, DataTypeError, "plan must be an array of real numbers"),
        ([[1, 2], [3]], [1, 1], I2, 0, DataTypeError, "plan must be an array of real numbers"),
        ([[1j, 0]], [1, 1], I2, 0, DataTypeError, "plan must be an array of real numbers"),
        ([[True, False]], [1, 1], I2, 0, DataTypeError, "plan must be an array of real numbers"),
    ],
)
def test_bad_input(plan, mean, covariance, radius, error, words):
    with pytest.raises(error, match=words):
        validity_bounds(plan, mean, covariance, radius)


def test_shrinkage_as_advised_is_enough():
    A = np.array([[1, 2], [2, 1.0]])
    validity_bounds([[1, 0]], [1, 1], 0.5 * A + 0.5 * np.eye(2), 0)


class TestGelbrichDistance:
    def test_closed_forms(self):
        assert gelbrich_distance([0, 0], np.eye(2), [3, 4], np.eye(2)) == pytest.approx(5)
        first, second = np.diag([4.0, 9]), np.diag([1.0, 1])
        assert gelbrich_distance([0, 0], first, [0, 0], second) == pytest.approx(np.sqrt(5))

    def test_the_formula(self):
        from scipy.linalg import sqrtm

        rng = np.random.default_rng(0)
        A, B = (M @ M.T for M in rng.normal(size=(2, 4, 6)))
        m, n = rng.normal(size=(2, 4))
        root = sqrtm(B)
        cross = np.trace(np.real(sqrtm(root @ A @ root)))
        expected = np.sqrt((m - n) @ (m - n) + np.trace(A) + np.trace(B) - 2 * cross)
        assert gelbrich_distance(m, A, n, B) == pytest.approx(expected)
        assert gelbrich_distance(n, B, m, A) == pytest.approx(expected)
        assert gelbrich_distance(m, A, m, A) < 1e-13 * np.trace(A)

    def test_nearby_moments_have_no_cancellation(self):
        A = np.diag([1.0, 2.0])
        found = gelbrich_distance([0, 0], A, [0, 0], A * (1 + 1e-10) ** 2)
        assert found == pytest.approx(np.sqrt(3) * 1e-10, rel=1e-4)

    def test_lengths_must_agree(self):
        with pytest.raises(InvalidInputError, match="2 entries and mean2 has 1"):
            gelbrich_distance([0, 0], I2, [0], [[1]])

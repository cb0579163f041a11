"""Figures 4 and 5 of Bui, Nguyen & Nguyen (2022): plans while the law of the parameters moves."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable

import numpy as np
from sklearn.linear_model import LogisticRegression

from cfxc.methods.plans import Copa, Moments, copa_plan, empirical_validity
from cfxc.methods.plans.copa import objective

from .dice import dice_plans
from .portable import Array
from .report import Table

J, EPSILON, VARIANCE = 5, 0.1, 0.5
PENALTIES = (1.0, 1000.0)
"""C of the logistic regression: scikit-learn's, and what the authors' weight decay amounts to."""
WEIGHTS = ((2.0, 200.0), (2.0, 2.0))
MOVED = np.array([-1.0, 0.0, 0.0])
"""A feature's weight falls: (0, -1, 0) in the authors' code, where the bias comes first; the sign
is lost in print, and with the other one every plan gains."""
CORRELATED = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, -0.5], [0.0, -0.5, 1.0]])
"""Of Figure 5: positive and negative correlations.  The matrix as printed is not definite."""
KINDS = {
    "4a: α to 1": (1, 0, np.eye(3)), "4b: β to 3": (0, 3, np.eye(3)), "4c: both": (1, 3, np.eye(3)),
    "5a: β to 3, A": (0, 3, CORRELATED), "5b: both, A": (1, 3, CORRELATED),
}  # fmt: skip


def synthetic(penalty: float) -> tuple[Array, Array]:
    """Two Gaussians and the logistic regression between them: vectors of the refused, θ₀.

    Scaled to [0, 1] as all data of the paper (appendix B.1); plans keep to that box.
    """
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 500)
    X = rng.normal(scale=np.sqrt(0.5), size=(1000, 2)) + np.where(y[:, None] == 1, [2, 2], [-2, -2])
    X = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    model = LogisticRegression(C=penalty, max_iter=10_000).fit(X, y)
    theta = np.append(model.coef_, model.intercept_)
    rows = np.column_stack([X, np.ones(1000)])
    return rows[rows @ theta < 0], theta


def shift_curves(
    penalty: float, options: Namespace, correct: Callable[[Array, Moments], Array]
) -> tuple[Table, dict[str, Array], list[str]]:
    """Mean validity of each plan against how far the law moved; what eq. 6 says of COPA's plans."""
    people, theta = synthetic(penalty)
    chosen = people[np.random.default_rng(2).choice(len(people), options.people, replace=False)]
    plans, lines = _plans(chosen, theta, people, options, correct)
    ticks = np.linspace(0, 1, 6)
    table = Table(
        f"Figures 4 and 5: mean empirical validity of {len(chosen)} plans; C = {penalty:g}, "
        f"θ₀ = ({', '.join(f'{value:.1f}' for value in theta)}); μ = μ̂ - α(1, 0, 0), "
        "covariance (1 + β)I, or (1 + β)A in Figure 5",
        ("shift", "plan", *(f"{t:.1f}" for t in ticks)),
    )
    z = np.random.default_rng(3).normal(size=(10_000, 3))
    curves = {}
    for kind, (alpha, beta, A) in KINDS.items():
        for name, made in plans.items():
            means = [
                _validity(made, theta + alpha * t * MOVED, (1 + beta * t) * A, z) for t in ticks
            ]
            curves[f"{kind}|{name}"] = np.array(means)
            table.rows.append((kind, name, *(f"{value:.3f}" for value in means)))
    return table, curves, lines


def _plans(
    people: Array, theta: Array, data: Array, options: Namespace,
    correct: Callable[[Array, Moments], Array],
) -> tuple[dict[str, Array], list[str]]:  # fmt: skip
    spread = VARIANCE * np.eye(3)
    moments = Moments.given(theta, spread)
    dice = dice_plans(people, theta, data, J, 0)
    plans = {"DiCE": dice, "Mahalanobis": np.array([correct(plan, moments) for plan in dice])}
    weighed = [Copa(J, near, apart, EPSILON, starts=options.starts) for near, apart in WEIGHTS]
    for each in weighed:
        plans[f"COPA ({each.validity_weight:g}, {each.diversity_weight:g})"] = copa_plan(
            people, theta, spread, each, lower=np.zeros(3), upper=np.ones(3), fixed=[-1]
        )
    first = weighed[0]
    values = {
        name: objective(made, people[:, None], theta, spread, first)[0].mean()
        for name, made in plans.items()
    }
    said = ", ".join(f"{name} {value:.2f}" for name, value in values.items())
    weights = f"({first.validity_weight:g}, {first.diversity_weight:g})"
    return plans, [f"- Mean of eq. 6 with the weights {weights}: {said}."]


def _validity(plans: Array, mean: Array, covariance: Array, z: Array) -> float:
    thetas = mean + z @ np.linalg.cholesky(covariance).T
    return float(np.mean([empirical_validity(plan, thetas) for plan in plans]))

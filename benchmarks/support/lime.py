"""Table 4: networks seen through a local linear surrogate in the manner of LIME.

Appendix C.2: 5,000 samples, a ridge regression of the network's probability p weighted by nearness
to the person, (μ̂, Σ̂) = (θ, 0.05 I).  Samples are of normal laws with the data's means and
deviations, and features are standardised, as LIME does it where nothing else is said.  The score is
2p - 1, the mean of labels of -1 and 1: 0.05 I says something of parameters only in some unit, and
others can be tried (``--unit``, of which p - 1/2 is multiplied).
The surrogate may be unfaithful, and then rows that it accepts are not valid for the network itself:
*current validity* is the share of plans that are.

*retrained*: Σ̂ is not 0.05 I but what retraining does to the surrogate.  Networks are trained on
halves of the present data, and (μ̂, Σ̂) are the moments of their surrogates of the person.  Both have
one unit, whichever it is, and the score is p - 1/2.
"""

from __future__ import annotations

import warnings
from argparse import Namespace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

from cfxc.methods.plans import (
    Copa,
    copa_plan,
    diversity,
    mahalanobis_correction,
    proximity,
    requirement_correction,
    validity_bounds,
)

from .dice import dice_plans
from .portable import Array
from .report import Table, verdict
from .shifts import Shift, correction, geospatial, temporal

J, K, LIMIT, RADIUS, EPSILON = 5, 3, 0.1, 0.01, 0.1
WEIGHTS = ((0.1, 1.0), (0.1, 2.0), (0.2, 2.0))
SAMPLES, VARIANCE, WIDTH = 5000, 0.05, 0.75
MOST_EPOCHS = 1000
SHRUNK = 0.1  # of the covariance of few surrogates, towards a multiple of the identity
RETRAINED = ", retrained"
OTHERS = 1_000_000  # seeds of networks on the present data begin there

PAPER = {
    "Correction": {
        "DiCE": (0.515, 0.043, 0.005, 0.414, 0.990),
        "Mahalanobis": (0.595, 0.035, 0.021, 0.409, 0.670),
        "COPA (0.1, 1)": (0.219, 0.001, 0.065, 0.556, 0.560),
        "COPA (0.1, 2)": (0.432, 0.100, 0.049, 0.301, 0.270),
        "COPA (0.2, 2)": (0.673, 0.162, 0.038, 0.125, 0.040),
    },
    "Temporal": {
        "DiCE": (1.573, 0.107, 0.637, 0.852, 1.000),
        "Mahalanobis": (1.567, 0.099, 0.868, 0.987, 1.000),
        "COPA (0.1, 1)": (1.388, 0.002, 0.981, 1.000, 1.000),
        "COPA (0.1, 2)": (1.534, 0.247, 0.976, 1.000, 1.000),
        "COPA (0.2, 2)": (1.447, 0.118, 0.990, 1.000, 1.000),
    },
    "Geospatial": {
        "DiCE": (1.576, 0.175, 0.022, 0.328, 1.000),
        "Mahalanobis": (1.594, 0.169, 0.113, 0.689, 1.000),
        "COPA (0.1, 1)": (1.342, 0.000, 0.011, 0.384, 0.710),
        "COPA (0.1, 2)": (1.552, 0.243, 0.010, 0.168, 0.750),
        "COPA (0.2, 2)": (1.637, 0.287, 0.164, 0.679, 1.000),
    },
}  # fmt: skip
"""Proximity, diversity, L*, empirical and current validity."""


def network(X: Array, y: Array, seed: int) -> Any:
    """20, 50 and 20 units, trained until the loss no longer falls."""
    made = MLPClassifier((20, 50, 20), max_iter=MOST_EPOCHS, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a few of a thousand are not done
        return made.fit(X, y)


def _half(X: Array, y: Array, seed: int) -> Any:
    chosen = np.random.default_rng(seed).choice(len(X), len(X) // 2, replace=False)
    return network(X[chosen, :-1], y[chosen], seed)


def surrogate(model: Any, x: Array, data: Array, seed: int) -> Array:
    """θ of the local linear model of ``p - 1/2``, the intercept last."""
    center, spread = data[:, :-1].mean(axis=0), np.maximum(data[:, :-1].std(axis=0), 1e-3)
    z = np.random.default_rng(seed).normal(size=(SAMPLES, len(center)))
    z[0] = (x[:-1] - center) / spread
    target = model.predict_proba(center + z * spread)[:, 1] - 0.5
    away = ((z - z[0]) ** 2).sum(axis=1)
    weights = np.exp(-away / (2 * WIDTH**2 * len(center)))
    fitted = Ridge(alpha=1.0).fit(z, target, sample_weight=weights)
    slope = fitted.coef_ / spread
    return np.append(slope, fitted.intercept_ - slope @ center)


def _person(
    model: Any, others: list[Any], x: Array, data: Array, seed: int, unit: float
) -> dict[str, tuple[Array, float]] | None:
    """Every method's plan and its L*; ``None`` if no x of the box satisfies a surrogate."""
    again = np.array([surrogate(each, x, data, seed) for each in (model, *others)])
    theta = unit * again[0]
    spread, drift = VARIANCE * np.eye(len(theta)), _shrunk(np.cov(again.T))
    laws = {"": (theta, spread), RETRAINED: (again.mean(axis=0), drift)}
    if any(np.maximum(m[:-1], 0).sum() + m[-1] < EPSILON for m, _ in laws.values()):
        return None
    dice = _dice(model, x, data, seed)
    first = requirement_correction(dice, theta, EPSILON, fixed=[-1]).plan
    corrected = mahalanobis_correction(
        first, theta, spread, RADIUS, count=K, limit=LIMIT, fixed=[-1]
    ).plan
    plans = {"DiCE": (dice, theta, spread), "Mahalanobis": (corrected, theta, spread)}
    for what, (mean, covariance) in laws.items():
        for near, apart in WEIGHTS:
            made = copa_plan(
                x, mean, covariance, Copa(J, near, apart, EPSILON, steps=500, starts=1),
                lower=np.zeros(len(x)), upper=np.ones(len(x)), fixed=[-1],
            )  # fmt: skip
            plans[f"COPA ({near:g}, {apart:g}){what}"] = made, mean, covariance
    return {
        name: (plan, validity_bounds(plan, mean, covariance, RADIUS)[0])
        for name, (plan, mean, covariance) in plans.items()
    }


def _shrunk(covariance: Array) -> Array:
    size = len(covariance)
    return (1 - SHRUNK) * covariance + SHRUNK * np.trace(covariance) / size * np.eye(size)


def _dice(model: Any, x: Array, data: Array, seed: int) -> Array:
    """DiCE-style on the network's own gradient."""
    return dice_plans(x[None], model, data, J, seed)[0]


def run_networks(options: Namespace) -> tuple[list[Table], list[str]]:
    """Table 4."""
    table = Table(
        f"Table 4: networks through surrogates; {options.networks} networks retrained on the "
        "shifted data; in brackets the paper's",
        ("data", "plan", "proximity", "diversity", "L*", "empirical validity", "current validity"),
    )
    lines = []
    for load in (correction, temporal, geospatial):
        shift = load()
        if shift is None:
            lines.append("- A data set is not in the directory that CFXC_DATA names: skipped.")
            continue
        lines += _rows(shift, options, table)
    return [table], lines


def _rows(shift: Shift, options: Namespace, table: Table) -> list[str]:
    X, later = shift.encoded()
    train, _ = train_test_split(
        np.arange(len(X)), train_size=0.8, random_state=0, stratify=shift.labels
    )
    model = network(X[train, :-1], shift.labels[train], 0)
    futures = Parallel(n_jobs=options.jobs)(
        delayed(_half)(later, shift.later_labels, seed) for seed in range(options.networks)
    )
    others = Parallel(n_jobs=options.jobs)(
        delayed(_half)(X, shift.labels, seed) for seed in range(OTHERS, OTHERS + options.present)
    )
    refused = X[model.predict(X[:, :-1]) == 0][: options.people]
    made = Parallel(n_jobs=options.jobs)(
        delayed(_person)(model, others, x, X, i, options.unit) for i, x in enumerate(refused)
    )
    kept = [(x, plans) for x, plans in zip(refused, made, strict=True) if plans is not None]
    willing = np.array([each.predict(later[:, :-1]).any() for each in futures])
    among_willing, verdicts = list[str](), list[str]()
    for name in kept[0][1] if kept else {}:
        values = []
        for x, plans in kept:
            plan, lower = plans[name]
            rows = plan[:, :-1]
            held = np.array([each.predict(rows).all() for each in futures])
            now = float(model.predict(rows).all())
            values.append(
                (proximity(plan, x), diversity(plan), lower, held.mean(), now, held[willing].mean())
            )
        *means, last = np.mean(values, axis=0)
        among_willing.append(f"{last:.3f}")
        paper = PAPER[shift.name][name.removesuffix(RETRAINED)]
        if name.startswith("COPA"):
            verdicts += verdict(f"{shift.name}, {name}", means[2:4], paper[2:4])
        cells = [f"{m:.3f} [{p:.3f}]" for m, p in zip(means, paper, strict=True)]
        table.rows.append((shift.name, name, *cells))
    agree = float(np.mean(model.predict(X[:, :-1]) == shift.labels))
    return [
        *verdicts,
        f"- {shift.name}: {len(refused)} people; for {len(refused) - len(kept)} of them no vector "
        f"in [0, 1] has a score of at least {EPSILON} under the surrogate, and they are left out; "
        f"today's network agrees with {agree:.3f} of the present labels; later networks "
        f"that accept none of the later people: {np.sum(~willing)}, and without these empirical "
        f"validity is, in the order of the table, {', '.join(among_willing)}.",
    ]

"""Counterfactuals for any regression model: potentials and Bayesian optimisation (EI-CFX)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import late
from .potentials import AEP, SEP, CustomPotential, ExponentialPolynomial, Potential

if TYPE_CHECKING:
    from .acquisition import (
        ExpectedCounterfactualImprovement,
        ei_cfx,
        log_ei_cfx,
        monte_carlo_ei,
        quadrature_ei,
    )
    from .black_box import BlackBox, PotentialResult
    from .evaluations import Evaluations

_LAZY = {
    "BlackBox": ".black_box",
    "Evaluations": ".evaluations",
    "PotentialResult": ".black_box",
    "ExpectedCounterfactualImprovement": ".acquisition",
    "ei_cfx": ".acquisition",
    "log_ei_cfx": ".acquisition",
    "monte_carlo_ei": ".acquisition",
    "quadrature_ei": ".acquisition",
}

__getattr__ = late(
    __name__, _LAZY, "bayes", ("torch", "botorch", "gpytorch"), "Bayesian optimisation"
)

__all__ = [
    "AEP",
    "SEP",
    "BlackBox",
    "CustomPotential",
    "Evaluations",
    "ExpectedCounterfactualImprovement",
    "ExponentialPolynomial",
    "Potential",
    "PotentialResult",
    "ei_cfx",
    "log_ei_cfx",
    "monte_carlo_ei",
    "quadrature_ei",
]

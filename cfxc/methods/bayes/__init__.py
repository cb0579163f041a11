"""Counterfactuals for any regression model: potentials and Bayesian optimisation (EI-CFX)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ...errors import MissingExtraError
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


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(_LAZY[name], __name__)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("torch", "botorch", "gpytorch"):
            raise
        raise MissingExtraError("bayes", str(error.name), "Bayesian optimisation") from error
    value = getattr(module, name)
    globals()[name] = value
    return value


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

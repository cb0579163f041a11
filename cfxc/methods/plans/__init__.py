"""Plans of several counterfactuals, and how far they survive that the model is retrained."""

from __future__ import annotations

from .answer import Member, PlanResult, RobustPlan, Step
from .bounds import validity_bounds
from .copa import Copa, copa_plan, diversity, proximity
from .corrections import (
    Corrected,
    mahalanobis_correction,
    requirement_correction,
    validity_radii,
    worst_masses,
)
from .encoding import Encoding
from .futures import Moments, empirical_validity, moments_of_models, retrained_moments
from .local import LocalLinear, LocalMoments, local_linear, local_moments, mapped, plan_matrix
from .moments import gelbrich_distance
from .multiplicity import robust
from .surrogate import Surrogate, surrogate

__all__ = [
    "Copa",
    "Corrected",
    "Encoding",
    "LocalLinear",
    "LocalMoments",
    "Member",
    "Moments",
    "PlanResult",
    "RobustPlan",
    "Step",
    "Surrogate",
    "copa_plan",
    "diversity",
    "empirical_validity",
    "gelbrich_distance",
    "local_linear",
    "local_moments",
    "mahalanobis_correction",
    "mapped",
    "moments_of_models",
    "plan_matrix",
    "proximity",
    "requirement_correction",
    "retrained_moments",
    "robust",
    "surrogate",
    "validity_bounds",
    "validity_radii",
    "worst_masses",
]

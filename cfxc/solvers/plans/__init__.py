"""Plans of several counterfactuals, and how far they survive that the model is retrained."""

from __future__ import annotations

from .bounds import validity_bounds
from .local import LocalLinear, LocalMoments, local_linear, local_moments, mapped, plan_matrix
from .moments import gelbrich_distance
from .multiplicity import robust
from .retraining import retrained
from .robust_plan import Member, RobustPlan
from .surrogate import Surrogate, surrogate

__all__ = [
    "LocalLinear",
    "LocalMoments",
    "Member",
    "RobustPlan",
    "Surrogate",
    "gelbrich_distance",
    "local_linear",
    "local_moments",
    "mapped",
    "plan_matrix",
    "retrained",
    "robust",
    "surrogate",
    "validity_bounds",
]

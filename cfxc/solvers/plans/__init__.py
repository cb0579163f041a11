"""Plans of several counterfactuals, and how far they survive that the model is retrained."""

from __future__ import annotations

from .bounds import validity_bounds
from .moments import gelbrich_distance
from .multiplicity import robust
from .retraining import retrained
from .robust_plan import Member, RobustPlan

__all__ = [
    "Member",
    "RobustPlan",
    "gelbrich_distance",
    "retrained",
    "robust",
    "validity_bounds",
]

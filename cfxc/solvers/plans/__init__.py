"""Plans of several counterfactuals, and how far they survive that the model is retrained."""

from __future__ import annotations

from .bounds import validity_bounds
from .moments import gelbrich_distance

__all__ = ["gelbrich_distance", "validity_bounds"]

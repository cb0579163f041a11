"""Exact search over boxes for tree ensembles: branch and bound with replayable bounds."""

from __future__ import annotations

from .engine import search
from .problem import refuses

__all__ = ["refuses", "search"]

"""Exact search over boxes for tree ensembles: branch and bound with replayable bounds."""

from __future__ import annotations

from .engine import refute, search
from .problem import refuses
from .proof import SplitTree

__all__ = ["SplitTree", "refuses", "refute", "search"]

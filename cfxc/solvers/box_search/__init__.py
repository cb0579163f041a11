"""Exact search over boxes for tree ensembles: branch and bound with replayable bounds."""

from __future__ import annotations

from .engine import refute, search
from .problem import only_trees, refuses
from .proof import SplitTree

__all__ = ["SplitTree", "only_trees", "refuses", "refute", "search"]

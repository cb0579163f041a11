"""Exact search over boxes for tree ensembles: branch and bound with replayable bounds."""

from __future__ import annotations

from .apart import Farthest, farthest, moved, suits
from .engine import refute, search
from .problem import only_trees, refuses
from .proof import SplitTree

__all__ = [
    "Farthest", "SplitTree", "farthest", "moved", "only_trees", "refuses", "refute", "search",
    "suits",
]  # fmt: skip

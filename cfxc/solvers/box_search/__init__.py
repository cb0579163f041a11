"""Exact search over boxes for tree ensembles: branch and bound with replayable bounds."""

from __future__ import annotations

from .engine import refuses, search

__all__ = ["refuses", "search"]

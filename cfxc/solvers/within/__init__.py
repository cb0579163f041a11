"""Searching within a hull where trees decide."""

from __future__ import annotations

from .branching import branching_of

__all__ = ["branching_of"]

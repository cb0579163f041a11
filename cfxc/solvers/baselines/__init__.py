"""Baselines and cheap heuristics: they give candidates, never proofs."""

from __future__ import annotations

from .local_search import LocalSearch

__all__ = ["LocalSearch"]

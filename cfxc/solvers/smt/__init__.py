"""Satisfiability-based search: Algorithm 1 of Karimi et al. (2020) on any SMT solver."""

from __future__ import annotations

from ..encoding.formula import Encoder, Encoding
from .backends import Answer, Backend, backend
from .oracle import search
from .refusals import refuse_contradiction, refuse_negative_distance

__all__ = [
    "Answer", "Backend", "Encoder", "Encoding", "backend",
    "refuse_contradiction", "refuse_negative_distance", "search",
]  # fmt: skip

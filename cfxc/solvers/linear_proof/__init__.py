"""Proofs that nothing is nearer, for programs of linear forms and units: splits and multipliers."""

from __future__ import annotations

from .parts import Ball, Branch, Lemma, LinearTree, Multipliers, Part, Spans
from .prover import OnDemand, everywhere, prove

__all__ = [
    "Ball",
    "Branch",
    "Lemma",
    "LinearTree",
    "Multipliers",
    "OnDemand",
    "Part",
    "Spans",
    "everywhere",
    "prove",
]

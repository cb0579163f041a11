"""Mixed-integer optimisation: networks and norms, exactly, by MIP solvers and by regions."""

from __future__ import annotations

from .backends import BACKENDS, Answer, Backend, backend
from .engine import search
from .formulation import Formulation, Formulator
from .refusals import refuses
from .search import NARROW

__all__ = [
    "BACKENDS",
    "NARROW",
    "Answer",
    "Backend",
    "Formulation",
    "Formulator",
    "backend",
    "refuses",
    "search",
]

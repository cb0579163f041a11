"""The exact engines, what each takes, and which one answers a question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..errors import InvalidInputError, UnsupportedError
from ..frontends.query import Query
from . import box_search, smt
from .candidates import Deployed, Point
from .outcome import Outcome


@dataclass(frozen=True)
class Limits:
    """What a search may use: accuracy on the distance, seconds, points to start from, chance."""

    epsilon: Fraction
    seconds: float
    seeds: Sequence[Point]
    rng: np.random.Generator


Search = Callable[[Query, Deployed, Limits], Outcome]


@dataclass(frozen=True)
class Engine:
    """One way to answer: ``method`` names it, ``solver`` what it runs on."""

    method: str
    solver: str
    search: Search


def engine_for(query: Query, method: str, solver: str) -> Engine:
    """The engine that a user named, or the fastest one that takes the question.

    A named ``solver`` other than ``auto`` settles the method too: it is an SMT solver.

    Raises:
        InvalidInputError: the solver does not go with the method, or is unknown.
        UnsupportedError: the method named does not take this question.
    """
    if method == "smt" or solver != "auto":
        if method == "box":
            raise InvalidInputError(f"method 'box' needs no solver, and takes no {solver!r}")
        return _smt(solver)
    reason = box_search.refuses(query)
    if not reason:
        return Engine("box", "box search", _box)
    if method == "box":
        raise UnsupportedError(f"method 'box' does not take this question: {reason}")
    return _smt(solver)


def _box(query: Query, deployed: Deployed, limits: Limits) -> Outcome:
    return box_search.search(
        query, deployed, epsilon=limits.epsilon, seconds=limits.seconds, seeds=limits.seeds,
        rng=limits.rng,
    )  # fmt: skip


def _smt(solver: str) -> Engine:
    chosen = smt.backend(solver)

    def search(query: Query, deployed: Deployed, limits: Limits) -> Outcome:
        return smt.search(
            query, chosen, deployed, epsilon=limits.epsilon, seconds=limits.seconds,
            seeds=limits.seeds, rng=limits.rng,
        )  # fmt: skip

    return Engine("smt", chosen.name, search)


__all__ = ["Engine", "Limits", "engine_for"]

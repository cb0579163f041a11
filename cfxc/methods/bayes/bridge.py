"""From candidates to proof: what exact engines say of potentials, where the model compiles.

A potential of at least ρ is an output in one of a few intervals, so an exact engine decides
whether any admissible row has it.  Bisection over ρ brackets the best possible potential.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from .potentials import Interval, Potential

CLOSE = 0.01  # of the largest potential: a bracket that is narrow enough
LEAST = 1e-3  # of it: lower potentials are not told from none
SLACK = 1e-9  # widths, and shares of an end, by which intervals are widened for rounding


@dataclass(frozen=True)
class Existence:
    """Whether some row's output lies in an interval: such a row, or who proved that none does."""

    row: pd.DataFrame | None
    refuted: bool
    provers: tuple[str, ...] = ()


Exists = Callable[[Interval, float, pd.DataFrame | None], Existence]
"""Decides it, in so many seconds, given the best row so far."""


@dataclass
class Bracket:
    """The best possible potential lies in [``best``, ``bound``]."""

    best: float
    row: pd.DataFrame | None
    bound: float
    provers: tuple[str, ...] = ()


def bracket(
    exists: Exists,
    judge: Callable[[pd.DataFrame], float],
    potential: Potential,
    center: float,
    goal: float,
    best: float,
    row: pd.DataFrame | None,
    seconds: float,
) -> Bracket:
    """Improve on a row, or prove that it cannot be, as far as the time goes.

    Args:
        exists: The exact engine.
        judge: The potential of a row, as the original model has it.
        goal: The potential asked for: the first level that is decided.
        best, row: The potential that was found, and its row.
    """
    deadline = time.monotonic() + seconds
    peak = potential.peak(center)
    found = Bracket(best, row, peak)
    level = goal
    while found.best < goal and (left := deadline - time.monotonic()) > 0:
        higher, provers, refuted = None, found.provers, True
        intervals = potential.superlevel(level, center)
        for interval in intervals:
            wider = _widened(interval, potential.width)
            answer = exists(wider, left / len(intervals), found.row)
            refuted = refuted and answer.refuted and potential.known
            provers = tuple(sorted({*provers, *answer.provers}))
            if answer.row is not None:
                higher = answer.row
                break
        if higher is not None:
            value = judge(higher)
            if value <= found.best:
                break  # exact program and original model differ there: nothing to gain
            found.best, found.row = value, higher
        elif refuted:
            found.bound, found.provers = level, provers
        else:
            break
        low = max(found.best, LEAST * peak)
        if found.bound - low <= CLOSE * peak:
            break
        level = (low + found.bound) / 2
    return found


def _widened(interval: Interval, width: float) -> Interval:
    """An interval that holds the true one, whose ends were rounded when they were computed."""
    low, high = interval
    return low - SLACK * (width + abs(low)), high + SLACK * (width + abs(high))


__all__ = ["Bracket", "Existence", "Exists", "bracket"]

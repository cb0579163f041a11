"""Where sampling finds nothing for a person, or little: greedy ascent, and rows around those found.

Coverage should not hang on luck: a person whose only valid rows change several rare levels together
is hardly ever hit by features that are drawn independently of each other.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .judging import Judge
from .levels import Codes, Levels, Mask
from .people import People

Floats = npt.NDArray[np.float64]
MUTATED = 1.5
"""How many features of a found row are drawn anew, on average."""


def climbed(
    people: People, levels: Levels, judge: Judge, reach: Mask, person: int, most: tuple[int, ...],
    is_number: Mask,
) -> Codes:  # fmt: skip
    """The rows (m, J) that greedy single changes lead through, from the person's own.

    Each step takes the change that makes the wanted label likeliest, while it becomes likelier.

    Args:
        reach: Where the person may go in each free feature (K, L).
        most: How many numbers, and how many features, may change.
    """
    here, seen = people.own[person], list[Codes]()
    best = _chances(people, levels, judge, person, here[None])[0]
    for _ in range(2 * levels.free.size):
        moves = _moves(here, people.own[person], levels, reach, most, is_number)
        if not len(moves):
            break
        chances = _chances(people, levels, judge, person, moves)
        top = int(chances.argmax())
        if chances[top] <= best:
            break
        here, best = moves[top], chances[top]
        seen.append(here)
    return np.array(seen, np.int64).reshape(len(seen), people.own.shape[1])


def _moves(
    here: Codes, own: Codes, levels: Levels, reach: Mask, most: tuple[int, ...], is_number: Mask
) -> Codes:
    """All rows that differ in one free feature and keep to the limits."""
    k, level = np.nonzero(reach)
    other = level != here[levels.free[k]]
    rows = np.repeat(here[None], int(other.sum()), axis=0)
    rows[np.arange(len(rows)), levels.free[k[other]]] = level[other]
    moved = rows[:, levels.free] != own[levels.free]
    numbers = (moved & is_number).sum(axis=1)
    fits: Mask = (numbers <= most[0]) & (moved.sum(axis=1) <= most[1])
    return rows[fits]


def _chances(people: People, levels: Levels, judge: Judge, person: int, rows: Codes) -> Floats:
    """log P(wanted label) of rows."""
    who = np.full(len(rows), person)
    logs = judge.log_chances(levels.columns(people.raw, who, people.own, rows))
    chances: Floats = logs[:, people.wanted[person]]
    return chances


def mutated(rows: Codes, reach: Mask, free: Codes, rng: np.random.Generator) -> Codes:
    """Rows (m, J) with some free features drawn anew, uniformly from their reach (m, K, L)."""
    noise = rng.random(reach.shape, dtype=np.float32)
    drawn = np.where(reach, noise, -1).argmax(axis=2)
    anew = rng.random(drawn.shape) < MUTATED / free.size
    found = rows.copy()
    found[:, free] = np.where(anew, drawn, rows[:, free])
    return found


__all__ = ["climbed", "mutated"]

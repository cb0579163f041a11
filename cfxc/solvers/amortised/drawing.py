"""Rounds of samples until everybody has enough that seem valid."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ...ir import Program
from .laws import Laws
from .levels import Codes, Levels, Mask
from .people import People
from .verifying import Columns, Conditions, Goal

DRAWS = 6
"""Samples in a round, for each counterfactual that is asked for."""
FEWEST = 64
"""Samples in a round, at least."""
TEMPERATURES = (16.0, 8.0, 4.0, 2.0, 1.0)
"""Of the rounds in turn: varied rows first, then what the networks know to be valid."""
ROUNDS = 15
"""After so many nobody is drawn for any more."""
DRY = 3
"""After so many rounds in a row that brought a person next to nothing new, nor are they."""
NEW = 0.02
"""Share of what is asked for that counts as next to nothing."""


Done = Callable[[int, int], None]
"""Is told for how many people drawing has ended, and of how many."""


@dataclass(frozen=True)
class Limits:
    """What a row may change, beyond what its features allow.

    Attributes:
        numbers: How many numbers at most; ``None`` for any.
        changes: How many features at most; ``None`` for any.
    """

    numbers: int | None
    changes: int | None


@dataclass
class Pool:
    """Distinct rows found so far: row i, levels ``codes[i]``, is of person ``people[i]``.

    ``drawn``: samples of each person; ``rounds``: in how many rounds.
    """

    people: Codes
    codes: Codes
    drawn: Codes
    rounds: Codes = field(default_factory=lambda: np.zeros(0, np.int64))

    def counts(self) -> Codes:
        """Rows of each person."""
        return np.bincount(self.people, minlength=self.drawn.size).astype(np.int64)

    def add(self, people: Codes, codes: Codes) -> None:
        """Rows that are not there yet, sorted by person."""
        people = np.concatenate([self.people, people])
        codes = np.concatenate([self.codes, codes])
        first = distinct(people, codes)
        self.people, self.codes = people[first], codes[first]


class Drawing:
    """Draws for people from their laws, and keeps what seems to be a counterfactual."""

    def __init__(
        self, program: Program, people: People, levels: Levels, laws: Laws, goals: dict[int, Goal],
        conditions: Conditions, limits: Limits,
    ) -> None:  # fmt: skip
        self.program, self.people, self.levels, self.laws = program, people, levels, laws
        self.goals, self.conditions, self.limits = goals, conditions, limits
        numbers = [not levels.features[j].feature.is_symbolic for j in levels.free.tolist()]
        self.is_number = np.array(numbers)

    def run(
        self, asked: int, rng: np.random.Generator, deadline: float, done: Done | None = None
    ) -> Pool:
        """Rounds of rising temperature, for those who do not have enough yet."""
        n, width = self.people.own.shape
        none = np.zeros(0, np.int64)
        pool = Pool(none, np.zeros((0, width), np.int64), np.zeros(n, np.int64))
        pool.rounds, dry = np.zeros(n, np.int64), np.zeros(n, np.int64)
        draws = max(DRAWS * asked, FEWEST)
        lacking = np.flatnonzero(self.people.before != self.people.wanted)
        for number in range(ROUNDS):
            if not lacking.size or time.monotonic() > deadline:
                break
            before = pool.counts()
            pool.add(*self._round(lacking, draws, TEMPERATURES[number % len(TEMPERATURES)], rng))
            pool.drawn[lacking] += draws
            pool.rounds[lacking] += 1
            counts = pool.counts()
            few = counts - before <= NEW * asked
            again = number >= len(TEMPERATURES)
            dry = np.where(few & (counts > 0) & again, dry + 1, 0)
            lacking = lacking[(counts[lacking] < asked) & (dry[lacking] < DRY)]
            if done is not None:
                done(n - lacking.size, n)
        return pool

    def _round(
        self, who: Codes, draws: int, temperature: float, rng: np.random.Generator
    ) -> tuple[Codes, Codes]:
        """People and levels of samples that seem valid, each once."""
        chosen = self.laws.of(who).draw(temperature, draws, rng).astype(np.int64)
        self._within_limits(chosen, self.laws.own[who], rng)
        people = np.repeat(who, draws)
        codes = self.people.own[people]
        codes[:, self.levels.free] = chosen.reshape(-1, chosen.shape[2])
        first = distinct(people, codes)
        people, codes = people[first], codes[first]
        good = self.seem_valid(people, codes)
        return people[good], codes[good]

    def _within_limits(self, chosen: Codes, own: Codes, rng: np.random.Generator) -> None:
        """Take back changes picked at random where there are too many, in place."""
        most = {"numbers": self.limits.numbers, "changes": self.limits.changes}
        for what, limit in most.items():
            if limit is None:
                continue
            moved = chosen != own[:, None]
            if what == "numbers":
                moved &= self.is_number
            if (moved.sum(axis=2) > limit).any():
                noise = np.where(moved, rng.random(moved.shape), 2.0)
                rank = noise.argsort(axis=2).argsort(axis=2)
                back = moved & (rank >= limit)
                np.copyto(chosen, own[:, None], where=back)

    def seem_valid(self, people: Codes, codes: Codes) -> Mask:
        """What the batch evaluator says of rows: target and constraints, in doubles."""
        columns = self.columns(people, codes)
        good = np.ones(people.size, dtype=bool)
        if self.conditions:
            good = self.conditions.seem_kept(self.scope(people, columns), people.size)
        for position, goal in self.goals.items():
            at = np.flatnonzero(good & (self.people.wanted[people] == position))
            if at.size:
                good[at] = goal.reached({name: column[at] for name, column in columns.items()})
        return good

    def columns(self, people: Codes, codes: Codes) -> dict[str, npt.NDArray[np.float64]]:
        """Rows as the batch evaluator takes them."""
        return self.levels.columns(self.people.raw, people, self.people.own, codes)

    def scope(self, people: Codes, columns: Columns) -> Columns:
        """Rows, and the people they are of as ``factual.…``."""
        before = {f"factual.{name}": c[people] for name, c in self.people.raw.items()}
        return {**before, **columns}


def distinct(people: Codes, codes: Codes) -> Codes:
    """The first place of each distinct pair of a person and a row, sorted by person."""
    words: list[Codes] = []
    sizes: Sequence[int] = (codes.max(axis=0, initial=0) + 1).tolist()
    word, room = np.zeros(people.size, np.int64), 1
    for column, size in zip(codes.T, sizes, strict=True):
        if room * size >= 2**62:
            words.append(word)
            word, room = np.zeros(people.size, np.int64), 1
        word, room = word * size + column, room * size
    keys = [*words, word, people]
    order = np.lexsort(keys)
    new = np.ones(order.size, dtype=bool)
    if order.size:
        new[1:] = np.any([key[order][1:] != key[order][:-1] for key in keys], axis=0)
    return order[new]


__all__ = ["Drawing", "Limits", "Pool", "distinct"]

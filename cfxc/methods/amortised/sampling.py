"""Samples of rows: the laws that networks give, compiled loops, rounds until there are enough."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax

from ...arrays import Bools, Floats
from ...ir import Program
from ...kernels import draw_levels
from .instances import Instances
from .levels import Bands, Codes, Levels
from .verifying import Columns, Conditions, Goal, Judge

Singles = npt.NDArray[np.float32]
Weights = Mapping[str, Singles]


@dataclass(frozen=True)
class Laws:
    """What G and S say of instances.

    Attributes:
        logits: G's (n, K, L), -inf where a level is not admissible.
        select: S's (n, K); inf without a selector.
        own: Own levels of the free features (n, K).
    """

    logits: Floats
    select: Floats
    own: Codes

    def of(self, instances: Codes) -> Laws:
        """Those of some instances."""
        return Laws(self.logits[instances], self.select[instances], self.own[instances])

    def even(self) -> Laws:
        """All admissible levels alike, as without networks."""
        logits = np.where(np.isfinite(self.logits), 0.0, -np.inf)
        return Laws(logits, np.full(self.select.shape, ALWAYS), self.own)

    def tempered(self, temperature: float) -> Floats:
        """q = (1 - π) z + π p (n, K, L), logits divided by a temperature: above 1, more varied."""
        p = softmax(self.logits / temperature, axis=2)
        share = expit(self.select / temperature)[..., None]
        own = self.own[..., None] == np.arange(p.shape[2])
        law: Floats = (1 - share) * own + share * p
        return law

    def draw(self, temperature: float, draws: int, rng: np.random.Generator) -> Small:
        """Levels (n, draws, K).

        In each sample π is scaled by a share of its own, uniform in [0, 1]: once sampled, a row
        need not change all that S would, since only what is valid is kept.
        """
        n, k, _ = self.logits.shape
        noise = rng.random((n, draws, k), dtype=np.float32).astype(np.float64)
        found = draw_levels(self.tempered(temperature), noise)
        if np.isfinite(self.select).all():
            share = rng.random((n, draws, 1), dtype=np.float32)
            undone = rng.random(found.shape, dtype=np.float32) > share
            np.copyto(found, self.own[:, None], where=undone, casting="same_kind")
        return found


def laws_of(weights: Weights, levels: Levels, inputs: Singles, reach: Bools, codes: Codes) -> Laws:
    """What networks with these weights say of instances, as :class:`.networks.Networks` computes
    it.

    Args:
        inputs: z and the target class (n, D + T).
        reach: Where each may go (n, K, L).
        codes: Own levels (n, J).
    """
    logits = forward(weights, "generator", inputs)[:, levels.places].astype(np.float64)
    logits[~reach] = -np.inf
    own = codes[:, levels.free]
    if any(name.startswith("selector.") for name in weights):
        select = forward(weights, "selector", inputs).astype(np.float64)
    else:
        select = np.full(own.shape, np.inf)
    return Laws(logits, select, own)


def forward(weights: Weights, name: str, inputs: Singles) -> Singles:
    """Linear layers 0, 2, 4, … of a torch Sequential, with ReLU between them."""
    found, layer = inputs, 0
    while f"{name}.{layer}.weight" in weights:
        found = np.maximum(found, 0) if layer else found
        found = found @ weights[f"{name}.{layer}.weight"].T + weights[f"{name}.{layer}.bias"]
        layer += 2
    return found


Small = npt.NDArray[np.int16]

ALWAYS = 1e3
"""What S says of a feature that may always change, at any temperature."""
MUTATED = 1.5
"""How many features of a found row are drawn anew, on average."""


def mutated(rows: Codes, who: Codes, reach: Bools, free: Codes, rng: np.random.Generator) -> Codes:
    """Rows (m, J) with some free features drawn anew, uniformly from where ``who`` may go.

    Args:
        who: Of each row the place of its instance in ``reach`` (n, K, L).
    """
    row, k = np.nonzero(rng.random((len(rows), free.size), np.float32) < MUTATED / free.size)
    within = np.argsort(~reach, axis=2, kind="stable")  # its levels come first
    count = reach.sum(axis=2)[who[row], k]
    found = rows.copy()
    found[row, free[k]] = within[who[row], k, (rng.random(row.size) * count).astype(np.int64)]
    return found


DRAWS, EVEN = 6, 54
"""Samples in a round, for each counterfactual that is asked for; and where a choice among many is
what makes them good, so many more that are drawn evenly after the first.
"""
ENOUGH = 0.75
"""Rows found, a share of those samples, of which a choice among them gains little."""
FEWEST = 64
"""Samples in a round, at least."""
TEMPERATURES = (16.0, 8.0, 4.0, 2.0, 1.0)
"""Of the first rounds: varied rows first, then what the networks know to be valid."""
AROUND = 8
"""So many rounds, at most, then look around the rows found."""
NEW = 0.02
"""Share of what is asked for that a round around an instance's rows must bring for there to be
more.
"""
PIECE = 1 << 16
"""Samples that are made at once."""
Done = Callable[[int, int], None]
"""Is told for how many instances drawing has ended, and of how many."""


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
    """Distinct rows found so far: row i, levels ``codes[i]``, is of instance ``instances[i]``.

    ``drawn``: samples of each instance; ``rounds``: in how many rounds.
    """

    instances: Codes
    codes: Codes
    drawn: Codes
    rounds: Codes

    def counts(self) -> Codes:
        """Rows of each instance."""
        return np.bincount(self.instances, minlength=self.drawn.size).astype(np.int64)

    def add(self, instances: Codes, codes: Codes) -> None:
        """Rows that are not there yet, sorted by instance."""
        instances = np.concatenate([self.instances, instances])
        codes = np.concatenate([self.codes, codes])
        first = distinct(instances, codes)
        self.instances, self.codes = instances[first], codes[first]


class Drawing:
    """Draws for instances from their laws, and keeps what seems to be a counterfactual."""

    def __init__(
        self, program: Program, instances: Instances, levels: Levels, laws: Laws,
        goals: dict[int, Goal], conditions: Conditions, limits: Limits,
    ) -> None:  # fmt: skip
        self.program, self.instances, self.levels, self.laws = program, instances, levels, laws
        self.goals, self.conditions = goals, conditions
        symbolic = np.array([levels.features[j].feature.is_symbolic for j in levels.free.tolist()])
        caps = ((limits.numbers, ~symbolic), (limits.changes, np.ones_like(symbolic)))
        self.caps = [(most, counted) for most, counted in caps if most is not None]
        self.judge = Judge(program, instances.raw)

    def run(
        self, asked: int, rng: np.random.Generator, deadline: float, done: Done | None = None,
        even: int = 0,
    ) -> Pool:  # fmt: skip
        """Rounds for those who do not have enough yet: from their laws, then around their rows.

        Args:
            even: Samples for each counterfactual that is asked for, drawn evenly after the first.
        """
        n, width = self.instances.own.shape
        none = np.zeros(0, np.int64)
        pool = Pool(
            none, np.zeros((0, width), np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
        )
        lacking = np.flatnonzero(self.instances.before != self.instances.targets)
        for number in range(len(TEMPERATURES) + AROUND):
            if not lacking.size or (number and time.monotonic() > deadline):
                break
            if number == len(TEMPERATURES):
                self._climb(lacking, pool, deadline)
            before = pool.counts()
            self._round(lacking, number, max(DRAWS * asked, FEWEST), pool, rng, deadline)
            if even and not number and time.monotonic() <= deadline:
                self._many(lacking, even * asked, pool, rng, deadline)
            counts = pool.counts()
            going = counts < asked
            if number >= len(TEMPERATURES):
                going &= counts - before > NEW * asked
            lacking = lacking[going[lacking]]
            if done is not None:
                done(n - lacking.size, n)
        return pool

    def _many(
        self, who: Codes, draws: int, pool: Pool, rng: np.random.Generator, deadline: float
    ) -> None:
        """Rows to choose among: drawn evenly, then around those found of whom there are few."""
        self._round(who, 0, draws, pool, rng, deadline, self.laws.even())
        few = who
        for _ in range(AROUND):
            before = pool.counts()
            few = few[(before[few] > 0) & (before[few] < ENOUGH * draws)]
            if not few.size or time.monotonic() > deadline:
                break
            self._round(few, len(TEMPERATURES), draws, pool, rng, deadline)
            few = few[pool.counts()[few] - before[few] > NEW * draws]

    def _round(
        self, who: Codes, number: int, draws: int, pool: Pool, rng: np.random.Generator,
        deadline: float, laws: Laws | None = None,
    ) -> None:  # fmt: skip
        """So many samples for each of some instances, as far as the time goes.

        Those that seem valid go into the pool.
        """
        known = self.laws if laws is None else laws
        size = max(PIECE // draws, 1)
        found = []
        for start in range(0, who.size, size):
            if start and time.monotonic() > deadline:
                break
            part = who[start : start + size]
            pool.rounds[part] += 1
            if number >= len(TEMPERATURES):
                part = part[pool.counts()[part] > 0]
            for begun in range(0, draws, PIECE):
                if begun and time.monotonic() > deadline:
                    break
                count = min(PIECE, draws - begun)
                if number < len(TEMPERATURES):
                    law = known.of(part)
                    chosen = law.draw(TEMPERATURES[number], count, rng).astype(np.int64)
                else:
                    chosen = self._near(part, count, pool, rng)
                pool.drawn[part] += count
                self._within_limits(chosen, self.laws.own[part], rng)
                instances = np.repeat(part, count)
                codes = self.instances.own[instances]
                codes[:, self.levels.free] = chosen.reshape(instances.size, chosen.shape[2])
                found.append(self._valid(instances, codes))
        pool.add(np.concatenate([f[0] for f in found]), np.concatenate([f[1] for f in found]))

    def _near(self, who: Codes, draws: int, pool: Pool, rng: np.random.Generator) -> Codes:
        """Levels (n, draws, K) around rows of the pool picked at random."""
        counts = pool.counts()
        first = np.cumsum(counts) - counts
        picked = first[who, None] + rng.integers(0, counts[who, None], (who.size, draws))
        rows = pool.codes[picked.ravel()]
        free, places = self.levels.free, np.repeat(np.arange(who.size), draws)
        found = mutated(rows, places, self._reach(who), free, rng)[:, free]
        return found.reshape(who.size, draws, free.size)

    def _reach(self, who: Codes) -> Bools:
        """Where each of some instances may go in each free feature (n, K, L)."""
        raw = {name: column[who] for name, column in self.instances.raw.items()}
        return self.levels.reach(raw, self.instances.own[who])

    def _climb(self, who: Codes, pool: Pool, deadline: float) -> None:
        """Ascend for those of whom nothing was found."""
        for instance in who[pool.counts()[who] == 0].tolist():
            if time.monotonic() > deadline:
                return
            rows = self._climbed(instance)
            pool.add(*self._valid(np.full(len(rows), instance), rows))

    def _climbed(self, instance: int) -> Codes:
        """The rows (m, J) that greedy single changes lead through, from the instance's own.

        Each step takes the change that makes the target label likeliest, while it becomes likelier.
        """
        reach = self._reach(np.array([instance]))[0]
        here, seen = self.instances.own[instance], list[Codes]()
        best = self._chances(instance, here[None])[0]
        for _ in range(2 * self.levels.free.size):
            moves = self._moves(instance, here, reach)
            if not len(moves):
                break
            chances = self._chances(instance, moves)
            top = int(chances.argmax())
            if chances[top] <= best:
                break
            here, best = moves[top], chances[top]
            seen.append(here)
        return np.array(seen, np.int64).reshape(len(seen), here.size)

    def _moves(self, instance: int, here: Codes, reach: Bools) -> Codes:
        """All rows that differ from one in one free feature and keep to the limits."""
        free = self.levels.free
        k, level = np.nonzero(reach)
        other = level != here[free[k]]
        rows = np.repeat(here[None], int(other.sum()), axis=0)
        rows[np.arange(len(rows)), free[k[other]]] = level[other]
        moved = rows[:, free] != self.instances.own[instance][free]
        fits = np.ones(len(rows), dtype=bool)
        for most, counted in self.caps:
            fits &= (moved & counted).sum(axis=1) <= most
        return rows[fits]

    def _chances(self, instance: int, rows: Codes) -> Floats:
        """log P(target label) of rows of one instance."""
        logs = self.judge.log_chances(self.columns(np.full(len(rows), instance), rows))
        chances: Floats = logs[:, self.instances.targets[instance]]
        return chances

    def _valid(self, instances: Codes, codes: Codes) -> tuple[Codes, Codes]:
        """Rows that seem valid, each once."""
        first = distinct(instances, codes)
        instances, codes = instances[first], codes[first]
        good = self.seem_valid(instances, codes)
        return instances[good], codes[good]

    def _within_limits(self, chosen: Codes, own: Codes, rng: np.random.Generator) -> None:
        """Take back changes picked at random where there are too many, in place."""
        for most, counted in self.caps:
            moved = (chosen != own[:, None]) & counted
            over = moved.sum(axis=2) > most
            if over.any():
                noise = np.where(moved, rng.random(moved.shape), 2.0)[over]
                first = np.partition(noise, most, axis=1)[:, most : most + 1]
                where, k = np.nonzero(moved[over] & (noise >= first))
                at, draw = (place[where] for place in np.nonzero(over))
                chosen[at, draw, k] = own[at, k]

    def seem_valid(self, instances: Codes, codes: Codes) -> Bools:
        """What the batch evaluator says of rows: target and constraints, in doubles."""
        columns = self.columns(instances, codes)
        good = np.ones(instances.size, dtype=bool)
        if self.conditions:
            good = self.conditions.seem_kept(self.scope(instances, columns), instances.size)
        for position, goal in self.goals.items():
            at = np.flatnonzero(good & (self.instances.targets[instances] == position))
            if at.size:
                good[at] = goal.reached({name: column[at] for name, column in columns.items()})
        return good

    def columns(self, instances: Codes, codes: Codes) -> dict[str, Floats]:
        """Rows as the batch evaluator takes them."""
        return self.levels.columns(self.instances.raw, instances, self.instances.own, codes)

    def banded(self, instances: Codes, codes: Codes, bands: Bands) -> Codes:
        """The band of each number that has bands, and else the level."""
        columns, found = self.columns(instances, codes), codes.copy()
        for j, each in enumerate(self.levels.features):
            if (edges := bands.get(each.feature.name)) is not None:
                found[:, j] = np.searchsorted(edges, columns[each.feature.name], side="left")
        return found

    def scope(self, instances: Codes, columns: Columns) -> Columns:
        """Rows, and the instances they are of as ``factual.…``."""
        before = {f"factual.{name}": c[instances] for name, c in self.instances.raw.items()}
        return {**before, **columns}


def distinct(instances: Codes, codes: Codes) -> Codes:
    """A place of each distinct pair of an instance and a row, sorted by instance."""
    words = list[Codes]()
    word, room = np.zeros(instances.size, np.int64), 1
    for column in (*codes.T[::-1], instances):
        size = int(column.max(initial=0)) + 1
        if room * size >= 2**62:
            words.append(word)
            word, room = np.zeros(instances.size, np.int64), 1
        word, room = word + room * column, room * size
    keys = [*words, word]
    order = np.lexsort(keys) if words else word.argsort()
    new = np.ones(order.size, dtype=bool)
    if order.size:
        new[1:] = np.any([key[order][1:] != key[order][:-1] for key in keys], axis=0)
    return order[new]

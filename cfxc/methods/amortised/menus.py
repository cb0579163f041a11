"""Menus: of the rows found for each instance those that differ most, verified before they count."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
import pandas as pd

from ...arrays import Bools
from ...errors import DataTypeError, InvalidInputError, brief
from ...frontends.predictor import plain_item
from ...ir.sorts import label_key
from ...kernels import determinantal, harmonic, max_min
from ...question.checks import closed_share, positive_number, whole_number
from ...question.criteria import Condition, MaxChanges, criteria_of
from ...space.names import meant, shown
from .instances import Decoder, target_at
from .levels import Bands, Codes, Levels
from .sampling import Drawing, Limits, Pool

DIVERSITY = ("maxmin", "dpp", "harmonic", None)
"""How the rows returned are chosen from those found."""
UNKNOWN, GOOD, BAD = 0, 1, 2
MOST_EDGES = 10_000
"""Of the bands of a number."""
BLOCK = 10_000
"""About how many rows are verified at once."""
CHOOSING = 0.6
"""Of the time that is left, the share in which rows are chosen; those chosen are verified, too."""


@dataclass(frozen=True)
class Menus:
    """Rows that were verified: row i is for instance ``instances[i]``, and has levels ``codes[i]``.

    Attributes:
        frame: The rows themselves, as the instances' table has them.
        refused: How many rows of each instance exact program or original model did not accept.
    """

    instances: Codes
    codes: Codes
    frame: pd.DataFrame
    refused: Codes


class Choosing:
    """Chooses and verifies: what was chosen and did not verify gives way to the next best.

    Args:
        predict: The original model.
        bands: Inner edges of what counts as one number, by feature; else a level is.
        deadline: Until when (of ``time.monotonic``) instances are taken up, one block after the
            other.  Rows that there is no time to choose are taken as they come.
    """

    def __init__(
        self, drawing: Drawing, pool: Pool, decoder: Decoder, predict: Any, diversity: str | None,
        bands: Bands, rng: np.random.Generator, deadline: float,
    ) -> None:  # fmt: skip
        self.deadline, begun = deadline, time.monotonic()
        self.choosing = begun + CHOOSING * (deadline - begun)
        self.drawing, self.pool, self.decoder, self.predict = drawing, pool, decoder, predict
        self.diversity = diversity
        self.state = np.zeros(pool.instances.size, np.int8)
        self.order = rng.permutation(pool.instances.size)
        free = drawing.levels.free
        own = drawing.instances.own[pool.instances]
        self.changes = (pool.codes[:, free] != own[:, free]).sum(axis=1)
        banded = drawing.banded(pool.instances, pool.codes, bands)
        self.rows = np.ascontiguousarray(banded[:, free].astype(np.int16))
        self.ends = np.concatenate([[0], np.cumsum(pool.counts())])
        self.frames: list[pd.DataFrame] = []
        self.places = np.full(pool.instances.size, -1, np.int64)

    def run(self, asked: int) -> Menus:
        """At most so many rows for every instance, as far as the time goes."""
        chosen: dict[int, Codes] = {}
        rows = np.cumsum(np.minimum(np.diff(self.ends), asked))
        blocks = np.split(np.arange(rows.size), np.flatnonzero(np.diff(rows // BLOCK)) + 1)
        took = 0.0
        for number, block in enumerate(blocks):
            started = time.monotonic()
            if number and started + took > self.deadline:
                break
            self._settle(block, asked, chosen)
            took = time.monotonic() - started
        return self._menus(np.concatenate([*chosen.values()]))

    def _settle(self, waiting: Codes, asked: int, chosen: dict[int, Codes]) -> None:
        """Choose for some instances, and again what did not verify, until all does."""
        while waiting.size:
            for instance in waiting.tolist():
                chosen[instance] = self._choose(instance, asked)
            new = np.concatenate([chosen[instance] for instance in waiting.tolist()])
            new = new[self.state[new] == UNKNOWN]
            bad = new[~self._verify(new)]
            waiting = np.unique(self.pool.instances[bad])

    def _choose(self, instance: int, asked: int) -> Codes:
        """The places in the pool of the rows that differ most, of one instance."""
        places: Codes = np.arange(self.ends[instance], self.ends[instance + 1])
        places = places[self.state[places] != BAD]
        if not places.size or (places.size <= asked and self.diversity is None):
            return places
        rows, seconds = self.rows[places], self.choosing - time.monotonic()
        picked: Codes = np.empty(0, np.int64)
        if self.diversity is None or seconds <= 0:
            pass
        elif self.diversity == "dpp":
            picked = determinantal(rows, asked, seconds)
        elif self.diversity == "harmonic":
            columns = self.pool.codes.shape[1]
            picked = harmonic(rows, self.changes[places], columns, asked, seconds)
        else:
            picked = max_min(rows, int(self.changes[places].argmin()), asked, seconds)
        others = np.argsort(self.order[places])
        others = others[~np.isin(others, picked)]
        chosen: Codes = places[np.concatenate([picked, others])[:asked]]
        return chosen

    def _verify(self, places: Codes) -> Bools:
        """Whether rows hold exactly and flip the original model; kept as their state."""
        instances, codes = self.pool.instances[places], self.pool.codes[places]
        good = self._holds(instances, codes)
        kept = np.flatnonzero(good)
        if kept.size:
            frame = self.decoder.rows(instances[kept], codes[kept])
            flips = self._flips(frame, instances[kept])
            good[kept] = flips
            self.places[places[kept]] = np.arange(kept.size) + sum(map(len, self.frames))
            self.frames.append(frame)
        self.state[places] = np.where(good, GOOD, BAD)
        return good

    def _holds(self, instances: Codes, codes: Codes) -> Bools:
        """Whether the exact program has the target outcome, and all constraints hold, exactly."""
        drawing = self.drawing
        columns = drawing.columns(instances, codes)
        good = np.zeros(instances.size, dtype=bool)
        for position, goal in drawing.goals.items():
            at = np.flatnonzero(drawing.instances.targets[instances] == position)
            if at.size:
                good[at] = goal.proved({name: column[at] for name, column in columns.items()})
        if drawing.conditions:
            good &= drawing.conditions.kept(drawing.scope(instances, columns), instances.size)
        return good

    def _flips(self, frame: pd.DataFrame, instances: Codes) -> Bools:
        """Whether the original model gives the target label, asked once about all rows."""
        answers = np.asarray(self.predict(frame))
        distinct, which = np.unique(answers, return_inverse=True)
        keys = [label_key(plain_item(answer)) for answer in distinct]
        targets, program = self.drawing.instances.targets[instances], self.drawing.program
        found = np.zeros(instances.size, dtype=bool)
        for position in self.drawing.goals:
            label = label_key(target_at(program, position).label)
            matches = np.array([key == label for key in keys])
            found |= (targets == position) & matches[which.ravel()]
        return found

    def _menus(self, places: Codes) -> Menus:
        refused = np.bincount(
            self.pool.instances[self.state == BAD], minlength=len(self.drawing.instances)
        )
        instances, codes = self.pool.instances[places], self.pool.codes[places]
        if not self.frames:
            frame = self.drawing.instances.frame.iloc[:0].reset_index(drop=True)
        else:
            whole = self.frames[0]
            if len(self.frames) > 1:
                whole = pd.concat(self.frames, ignore_index=True)
            frame = whole.iloc[self.places[places]].reset_index(drop=True)
        return Menus(instances, codes, frame, refused.astype(np.int64))


@dataclass(frozen=True)
class Asked:
    """Checked options of :meth:`Generator.generate`."""

    n: int
    limits: Limits
    diversity: str | None
    bands: Bands
    polish: bool
    exact: bool
    conditions: tuple[Condition, ...]
    seed: int
    time_limit: float


def check_asked(
    levels: Levels,
    *,
    n: Any,
    sparsity: Any,
    diversity: Any,
    bands: Any,
    polish: Any,
    exact: Any,
    subject_to: Any,
    random_state: Any,
    time_limit: Any,
) -> Asked:
    """Check what does not depend on the instances.

    Raises:
        DataTypeError, InvalidInputError: naming the option and what it may be.
    """
    count = whole_number(n, "n", 1)
    if not (diversity is None or isinstance(diversity, str)):
        raise DataTypeError(f"diversity is a name or None, not {diversity!r}")
    if diversity not in DIVERSITY:
        close = meant(diversity, [name for name in DIVERSITY if name])
        raise InvalidInputError(
            f"unknown diversity {diversity!r}: 'maxmin', 'dpp', 'harmonic' or None{close}"
        )
    for name, given in (("polish", polish), ("exact", exact)):
        if not isinstance(given, bool):
            raise DataTypeError(f"{name} is True or False, not {given!r}")
    criteria = criteria_of(subject_to, (Condition, MaxChanges))
    most = next((each.most for each in criteria if isinstance(each, MaxChanges)), None)
    limits = Limits(_most(sparsity, len(levels.numbers)), most)
    return Asked(
        count, limits, diversity, _bands(bands, levels), polish, exact,
        tuple(each for each in criteria if isinstance(each, Condition)),
        whole_number(random_state, "random_state", 0), positive_number(time_limit, "time_limit"),
    )  # fmt: skip


def _bands(bands: Any, levels: Levels) -> Bands:
    """Inner edges of numbers, as arrays."""
    known = [feature.name for feature in levels.numbers]
    if not isinstance(bands, Mapping | None):
        raise DataTypeError(
            f"bands are the inner edges of numbers by name, such as {{'age': [25, 40]}}, not "
            f"{brief(bands)}"
        )
    found = {}
    for name, edges in (bands or {}).items():
        if name not in known:
            raise InvalidInputError(
                f"bands: {brief(name)} is no number of the space{meant(str(name), known)}; its "
                f"numbers are {shown(known)}"
            )
        try:
            found[name] = np.asarray(edges, np.float64)
        except (TypeError, ValueError, OverflowError):
            found[name] = np.array([np.nan])
        rising = found[name].ndim == 1 and (np.diff(found[name], prepend=-np.inf) > 0).all()
        if not rising or found[name].size > MOST_EDGES:
            raise InvalidInputError(
                f"bands: the inner edges of {name!r} must rise, at most {MOST_EDGES} of them, "
                f"such as [25, 40], not {brief(edges)}"
            )
    return found


def _most(sparsity: Any, numbers: int) -> int | None:
    """How many of so many numbers may change under the threshold."""
    if sparsity is None:
        return None
    return floor(Fraction(str(closed_share(sparsity, "sparsity"))) * numbers)

"""From trained networks to verified menus, whose rows differ most."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...errors import InvalidInputError
from ...frontends.compiled import Compiled
from ...frontends.predictor import plain_item
from ...ir.sorts import label_key, preview
from ...question.rules import make_rules
from .instances import Decoder, People, people_of, target_at
from .levels import Codes, Mask
from .reaching import Reached, polished, reached
from .sampling import Done, Drawing, Laws, Pool, determinantal, laws_of, max_min
from .settings import Asked
from .storage import Stored
from .training import network_input
from .verifying import Conditions, Goal

DIVERSITY = ("maxmin", "dpp", None)
"""How the rows returned are chosen from those found."""
UNKNOWN, GOOD, BAD = 0, 1, 2


@dataclass(frozen=True)
class Menus:
    """Rows that were verified: row i is for person ``people[i]``, and has levels ``codes[i]``.

    Attributes:
        frame: The rows themselves, as the people's table has them.
        refused: How many rows of each person exact program or original model did not accept.
    """

    people: Codes
    codes: Codes
    frame: pd.DataFrame
    refused: Codes


def check_diversity(diversity: Any) -> None:
    """Refuse what is no way to choose.

    Raises:
        InvalidInputError: naming those that are.
    """
    if diversity is not None and diversity not in DIVERSITY:
        raise InvalidInputError(f"unknown diversity {diversity!r}: 'maxmin', 'dpp' or None")


class Choosing:
    """Chooses and verifies: what was chosen and did not verify gives way to the next best.

    Args:
        predict: The original model.
    """

    def __init__(
        self, drawing: Drawing, pool: Pool, decoder: Decoder, predict: Any, diversity: str | None,
        rng: np.random.Generator,
    ) -> None:  # fmt: skip
        self.drawing, self.pool, self.decoder, self.predict = drawing, pool, decoder, predict
        self.diversity = diversity
        self.state = np.zeros(pool.people.size, np.int8)
        self.order = rng.permutation(pool.people.size)
        free = drawing.levels.free
        self.rows = np.ascontiguousarray(pool.codes[:, free].astype(np.int16))
        own = drawing.people.own[pool.people][:, free]
        self.changes = (self.rows != own).sum(axis=1)
        self.ends = np.concatenate([[0], np.cumsum(pool.counts())])
        self.frames: list[pd.DataFrame] = []
        self.places = np.full(pool.people.size, -1, np.int64)

    def run(self, asked: int) -> Menus:
        """At most so many rows for everybody."""
        waiting = np.arange(len(self.drawing.people))
        chosen: dict[int, Codes] = {}
        while waiting.size:
            for person in waiting.tolist():
                chosen[person] = self._choose(person, asked)
            new = np.concatenate([chosen[person] for person in waiting.tolist()])
            new = new[self.state[new] == UNKNOWN]
            bad = new[~self._verify(new)]
            waiting = np.unique(self.pool.people[bad])
        everything = [chosen[person] for person in range(len(self.drawing.people))]
        return self._menus(np.concatenate(everything))

    def _choose(self, person: int, asked: int) -> Codes:
        """The places in the pool of the rows that differ most, of one person."""
        places: Codes = np.arange(self.ends[person], self.ends[person + 1])
        places = places[self.state[places] != BAD]
        if not places.size or (places.size <= asked and self.diversity is None):
            return places
        rows = self.rows[places]
        if self.diversity is None:
            picked = np.argsort(self.order[places])[:asked]
        elif self.diversity == "dpp":
            picked = determinantal(rows, asked)
        else:
            picked = max_min(rows, int(self.changes[places].argmin()), asked)
        chosen: Codes = places[picked]
        return chosen

    def _verify(self, places: Codes) -> Mask:
        """Whether rows hold exactly and flip the original model; kept as their state."""
        people, codes = self.pool.people[places], self.pool.codes[places]
        good = self._holds(people, codes)
        kept = np.flatnonzero(good)
        if kept.size:
            frame = self.decoder.rows(people[kept], codes[kept])
            flips = self._flips(frame, people[kept])
            good[kept] = flips
            self.places[places[kept]] = np.arange(kept.size) + sum(map(len, self.frames))
            self.frames.append(frame)
        self.state[places] = np.where(good, GOOD, BAD)
        return good

    def _holds(self, people: Codes, codes: Codes) -> Mask:
        """Whether the exact program has the wanted outcome, and all constraints hold, exactly."""
        drawing = self.drawing
        columns = drawing.columns(people, codes)
        good = np.zeros(people.size, dtype=bool)
        for position, goal in drawing.goals.items():
            at = np.flatnonzero(drawing.people.wanted[people] == position)
            if at.size:
                good[at] = goal.proved({name: column[at] for name, column in columns.items()})
        if drawing.conditions:
            good &= drawing.conditions.kept(drawing.scope(people, columns), people.size)
        return good

    def _flips(self, frame: pd.DataFrame, people: Codes) -> Mask:
        """Whether the original model gives the wanted label, asked once about all rows."""
        answers = np.asarray(self.predict(frame))
        distinct, which = np.unique(answers, return_inverse=True)
        keys = [label_key(plain_item(answer)) for answer in distinct]
        wanted, program = self.drawing.people.wanted[people], self.drawing.program
        found = np.zeros(people.size, dtype=bool)
        for position in self.drawing.goals:
            label = label_key(target_at(program, position).label)
            matches = np.array([key == label for key in keys])
            found |= (wanted == position) & matches[which.ravel()]
        return found

    def _menus(self, places: Codes) -> Menus:
        refused = np.bincount(
            self.pool.people[self.state == BAD], minlength=len(self.drawing.people)
        )
        people, codes = self.pool.people[places], self.pool.codes[places]
        if not self.frames:
            frame = self.drawing.people.frame.iloc[:0].reset_index(drop=True)
        else:
            whole = self.frames[0]
            if len(self.frames) > 1:
                whole = pd.concat(self.frames, ignore_index=True)
            frame = whole.iloc[self.places[places]].reset_index(drop=True)
        return Menus(people, codes, frame, refused.astype(np.int64))


COUNTERFACTUAL = "k"
"""Name of the second level of the index, and of the person's if theirs has none: ``row``."""


def generate(
    model: Compiled, stored: Stored, frame: pd.DataFrame, target: int | None, asked: Asked,
    distance: Any, done: Done | None,
) -> tuple[pd.DataFrame, pd.DataFrame]:  # fmt: skip
    """Counterfactuals of everybody, and the report; see :meth:`Generator.generate`."""
    deadline = time.monotonic() + asked.time_limit
    people = people_of(model.program, stored.space, stored.levels, frame, stored.targets, target)
    _refuse_content(model, people)
    rng = np.random.default_rng(asked.seed)
    drawing = drawing_of(model, stored, people, asked)
    pool = drawing.run(asked.n, rng, deadline, done)
    decoder = Decoder(stored.space, stored.levels, frame, people.own)
    menus = Choosing(drawing, pool, decoder, model.predict, asked.diversity, rng).run(asked.n)
    moved = None
    if asked.polish:
        menus, moved = polished(
            model, people, menus, distance=distance, conditions=asked.conditions,
            deadline=deadline,
        )  # fmt: skip
    exact = None
    if asked.exact:
        exact = reached(model, people, stored.levels, menus, asked, deadline)
        menus = exact.menus
    return _labelled(menus, frame), _report(people, pool, menus, asked.n, moved, exact)


def drawing_of(model: Compiled, stored: Stored, people: People, asked: Asked) -> Drawing:
    """The laws of everybody, and what their rows must keep to.

    Raises:
        CfxcError: constraints that do not compile.
    """
    space, levels = stored.space, stored.levels
    first = space.encode_row(people.frame.iloc[[0]])
    rules = make_rules(space, first, asked.conditions)  # constraints know nobody by name
    goals = {
        position: Goal(model.program, space, target_at(model.program, position), people.raw)
        for position in np.unique(people.wanted).tolist()
    }
    conditions = Conditions(rules.constraints, space)
    laws = laws_for(model, stored, people)
    return Drawing(model.program, people, levels, laws, goals, conditions, asked.limits)


def laws_for(model: Compiled, stored: Stored, people: People) -> Laws:
    """What the networks say of people."""
    classes = len(model.program.output_sorts["label"].labels)
    inputs = network_input(stored.levels, people.own, people.wanted, classes)
    reach = stored.levels.reach(people.raw, people.own)
    return laws_of(stored.weights, stored.levels, inputs, reach, people.own)


def _refuse_content(model: Compiled, people: People) -> None:
    """Where nobody needs a change, there is nothing to do.

    Raises:
        InvalidInputError: saying what everybody already has.
    """
    if (people.before == people.wanted).all():
        labels = model.program.output_sorts["label"].labels
        names = preview([labels[i] for i in np.unique(people.wanted).tolist()])
        raise InvalidInputError(f"everybody already has the wanted outcome {names}")


def _labelled(menus: Menus, frame: pd.DataFrame) -> pd.DataFrame:
    """The rows under (row label, k)."""
    counts = np.bincount(menus.people, minlength=len(frame))
    numbers = np.arange(menus.people.size) - np.repeat(np.cumsum(counts) - counts, counts)
    name = frame.index.name or "row"
    index = pd.MultiIndex.from_arrays(
        [frame.index.take(menus.people), numbers], names=[name, COUNTERFACTUAL]
    )
    return menus.frame.set_axis(index)


def _report(
    people: People, pool: Pool, menus: Menus, asked: int, moved: np.ndarray[Any, Any] | None,
    exact: Reached | None,
) -> pd.DataFrame:  # fmt: skip
    """Counts of each person, with the index of their table."""
    found, returned = pool.counts(), np.bincount(menus.people, minlength=len(people))
    status = np.where(returned >= asked, "full", np.where(returned > 0, "fewer", "none"))
    if exact is not None:
        status = np.where(exact.none, "impossible", status)
    status = np.where(people.before == people.wanted, "in target", status)
    report = pd.DataFrame(
        {
            "status": status,
            "returned": returned,
            "found": found,
            "refused": menus.refused,
            "drawn": pool.drawn,
            "rounds": pool.rounds,
            "exact": 0 if exact is None else exact.rows,
        },
        index=people.frame.index,
    )
    return report if moved is None else report.assign(polished=moved)


__all__ = ["Choosing", "Menus", "check_diversity", "generate"]

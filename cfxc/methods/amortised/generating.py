"""From trained networks to verified menus for many people."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd

from ...errors import InvalidInputError
from ...frontends.compiled import Compiled
from ...ir.sorts import preview
from ...question.rules import make_rules
from .instances import Decoder, People, people_of, target_at
from .material import network_input
from .menus import Asked, Choosing, Menus
from .reaching import Reached, polished, reached
from .sampling import Done, Drawing, Laws, Pool, laws_of
from .storage import Stored
from .verifying import Conditions, Goal

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


__all__ = ["generate"]

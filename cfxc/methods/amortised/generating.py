"""From trained networks to verified menus for many instances."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd

from ...errors import InvalidInputError
from ...frontends.compiled import Compiled
from ...ir.sorts import preview
from ...question.rules import make_rules
from .instances import Decoder, Instances, instances_of, target_at
from .material import network_input
from .menus import Asked, Choosing, Menus
from .reaching import Reached, polished, reached
from .sampling import EVEN, Done, Drawing, Laws, Pool, laws_of
from .storage import Stored
from .verifying import Conditions, Goal

COUNTERFACTUAL = "k"
"""Name of the second level of the index, and of theirs if it has none: ``row``."""


def generate(
    model: Compiled, stored: Stored, frame: pd.DataFrame, target: int | None, asked: Asked,
    distance: Any, done: Done | None,
) -> tuple[pd.DataFrame, pd.DataFrame]:  # fmt: skip
    """All counterfactuals, and the report; see :meth:`Generator.generate`."""
    started = time.monotonic()
    deadline, half = started + asked.time_limit, started + asked.time_limit / 2
    instances = instances_of(
        model.program, stored.space, stored.levels, frame, stored.targets, target
    )
    _refuse_content(model, instances)
    rng = np.random.default_rng(asked.seed)
    drawing = drawing_of(model, stored, instances, asked)
    pool = drawing.run(asked.n, rng, half, done, EVEN if asked.diversity == "harmonic" else 0)
    decoder = Decoder(stored.space, stored.levels, frame, instances.own)
    choosing = Choosing(
        drawing, pool, decoder, model.predict, asked.diversity, asked.bands, rng, deadline
    )
    menus = choosing.run(asked.n)
    moved = None
    if asked.polish:
        menus, moved = polished(
            model, instances, menus, distance=distance, conditions=asked.conditions,
            deadline=deadline,
        )  # fmt: skip
    exact = None
    if asked.exact:
        exact = reached(model, instances, stored.levels, menus, pool.counts(), asked, deadline)
        menus = exact.menus
    return _labelled(menus, frame), _report(instances, pool, menus, asked.n, moved, exact)


def drawing_of(model: Compiled, stored: Stored, instances: Instances, asked: Asked) -> Drawing:
    """The laws of every instance, and what their rows must keep to.

    Raises:
        CfxcError: constraints that do not compile.
    """
    space, levels = stored.space, stored.levels
    first = space.encode_row(instances.frame.iloc[[0]])
    rules = make_rules(space, first, asked.conditions)  # constraints do not depend on the instance
    goals = {
        position: Goal(model.program, space, target_at(model.program, position), instances.raw)
        for position in np.unique(instances.targets).tolist()
    }
    conditions = Conditions(rules.constraints, space)
    laws = laws_for(model, stored, instances)
    return Drawing(model.program, instances, levels, laws, goals, conditions, asked.limits)


def laws_for(model: Compiled, stored: Stored, instances: Instances) -> Laws:
    """What the networks say of instances."""
    classes = len(model.program.output_sorts["label"].labels)
    inputs = network_input(stored.levels, instances.own, instances.targets, classes)
    reach = stored.levels.reach(instances.raw, instances.own)
    return laws_of(stored.weights, stored.levels, inputs, reach, instances.own)


def _refuse_content(model: Compiled, instances: Instances) -> None:
    """Where no instance needs a change, there is nothing to do."""
    if (instances.before == instances.targets).all():
        labels = model.program.output_sorts["label"].labels
        names = preview([labels[i] for i in np.unique(instances.targets).tolist()])
        raise InvalidInputError(f"every instance already has the target outcome {names}")


def _labelled(menus: Menus, frame: pd.DataFrame) -> pd.DataFrame:
    """The rows under (row label, k)."""
    counts = np.bincount(menus.instances, minlength=len(frame))
    numbers = np.arange(menus.instances.size) - np.repeat(np.cumsum(counts) - counts, counts)
    name = frame.index.name or "row"
    index = pd.MultiIndex.from_arrays(
        [frame.index.take(menus.instances), numbers], names=[name, COUNTERFACTUAL]
    )
    return menus.frame.set_axis(index)


def _report(
    instances: Instances, pool: Pool, menus: Menus, asked: int, moved: np.ndarray[Any, Any] | None,
    exact: Reached | None,
) -> pd.DataFrame:  # fmt: skip
    """Counts of each instance, with the index of their table."""
    found, returned = pool.counts(), np.bincount(menus.instances, minlength=len(instances))
    status = np.where(returned >= asked, "full", np.where(returned > 0, "fewer", "none"))
    if exact is not None:
        status = np.where(exact.none, "impossible", status)
    status = np.where(instances.before == instances.targets, "in target", status)
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
        index=instances.frame.index,
    )
    return report if moved is None else report.assign(polished=moved)

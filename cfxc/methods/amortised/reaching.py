"""People whom no sample reaches: the exact engines are asked about them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...answers.explaining import explainer_of
from ...errors import InvalidInputError, UnsupportedError
from ...frontends.compiled import Compiled
from ...question.criteria import MaxChanges
from ...question.question import Question
from ...space import Feature
from .asking import Asked
from .levels import Codes, Levels, Mask
from .menus import Menus
from .people import People, columns_of, target_at
from .polishing import quoted

if TYPE_CHECKING:
    from ...answers.result import Result

ROWS = 5
"""Rows that are asked for, at most; no two change the same feature."""
SECONDS = 2.0
"""For each of them, at most."""


@dataclass(frozen=True)
class Reached:
    """Menus with rows of exact engines: how many of each person, and who is proved to have none."""

    menus: Menus
    rows: Codes
    none: Mask


def reached(
    model: Compiled, people: People, levels: Levels, menus: Menus, asked: Asked,
    deadline: float,
) -> Reached:  # fmt: skip
    """The nearest counterfactuals of people who have no row yet, in the time that is left.

    Levels miss what lies between their midpoints; the exact engines do not.
    """
    counts = np.bincount(menus.people, minlength=len(people))
    rows, none = np.zeros(len(people), np.int64), np.zeros(len(people), dtype=bool)
    new, frames = list[int](), [menus.frame] if len(menus.frame) else []
    for person in np.flatnonzero((counts == 0) & (people.before != people.wanted)).tolist():
        left = deadline - time.monotonic()
        if left <= 0:
            break
        found, none[person] = _asked_about(model, people, person, levels, asked, left)
        frames += found
        new += [person] * len(found)
        rows[person] = len(found)
    if not new:
        return Reached(menus, rows, none)
    frame = pd.concat(frames, ignore_index=True)
    codes = levels.codes(columns_of(model.space, frame.iloc[len(menus.frame) :]))
    who = np.concatenate([menus.people, np.array(new, np.int64)])
    order = np.argsort(who, kind="stable")
    whole = np.concatenate([menus.codes, codes])[order]
    frame = frame.iloc[order].reset_index(drop=True)
    return Reached(Menus(who[order], whole, frame, menus.refused), rows, none)


def _asked_about(
    model: Compiled, people: People, person: int, levels: Levels, asked: Asked, left: float
) -> tuple[list[pd.DataFrame], bool]:
    """Rows for one person, and whether it is proved that there are none.

    How many numbers change is a condition that makes searches slower: it is only put where the
    nearest rows change too many.
    """
    deadline = time.monotonic() + left
    numbers = [each.feature for each in levels.features if not each.feature.is_symbolic]
    rounds: list[tuple[str, ...]] = [()]
    if asked.limits.numbers is not None and asked.limits.numbers < len(numbers):
        rounds.append(_at_most(numbers, asked.limits.numbers))
    for further in rounds:
        seconds = min(deadline - time.monotonic(), SECONDS)
        result = _explained(model, people, person, asked, further, seconds) if seconds > 0 else None
        if result is None:
            continue
        if result.status == "infeasible":
            return [], True
        rows = [one.counterfactual for one in (result, *result.alternatives)]
        kept = [r for r in rows if r is not None and _keeps(people, levels, person, r, asked)]
        if kept:
            return kept, False
    return [], False


def _at_most(numbers: Sequence[Feature], most: int) -> tuple[str, ...]:
    """So many of the numbers may change."""
    pairs = [(f"x.{quoted(each)}", f"factual.{quoted(each)}") for each in numbers]
    if not most:
        return tuple(f"{new} == {own}" for new, own in pairs)
    return (" + ".join(f"ite({new} == {own}, 0, 1)" for new, own in pairs) + f" <= {most}",)


def _explained(
    model: Compiled, people: People, person: int, asked: Asked, further: tuple[str, ...],
    seconds: float,
) -> Result | None:  # fmt: skip
    """What the engines say; ``None`` if no engine takes the model, or the constraints."""
    few = [] if asked.limits.changes is None else [MaxChanges(asked.limits.changes)]
    try:
        label = target_at(model.program, int(people.wanted[person])).label
        question = Question(
            target=label, subject_to=[*asked.conditions, *further, *few], time_limit=seconds,
            random_state=asked.seed, count=min(asked.n, ROWS), diversity="features",
        )  # fmt: skip
        return replace(explainer_of(model, question), conflicts=False).answer(
            people.frame.iloc[[person]]
        )
    except (UnsupportedError, InvalidInputError):  # rows or rules that no engine takes
        return None


def _keeps(people: People, levels: Levels, person: int, row: pd.DataFrame, asked: Asked) -> bool:
    """Whether a row changes few enough numbers."""
    if asked.limits.numbers is None:
        return True
    before = people.frame.iloc[person]
    numbers = [each.feature for each in levels.features if not each.feature.is_symbolic]
    changed = sum(
        any(row[name].iloc[0] != before[name] for name in feature.columns) for feature in numbers
    )
    return changed <= asked.limits.numbers


__all__ = ["Reached", "reached"]

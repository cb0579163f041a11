"""Instances that sampling does not reach: the exact engines are asked; and polishing."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...answers.explaining import Explainer
from ...arrays import Bools
from ...errors import InvalidInputError, UnsupportedError
from ...frontends.compiled import Compiled
from ...lang.literals import quote
from ...question.criteria import Condition, MaxChanges
from ...question.question import Question
from ...space import Feature, FeatureSpace
from .instances import Instances, columns_of, target_at
from .levels import Codes, Levels
from .menus import Asked, Menus

if TYPE_CHECKING:
    from ...answers.result import Result


LEAST_SECONDS = 0.05
"""What a search gets, at least, once there is time for one."""


def polished(
    model: Compiled,
    instances: Instances,
    menus: Menus,
    *,
    distance: Any,
    conditions: Sequence[Condition],
    deadline: float,
) -> tuple[Menus, Codes]:
    """Each row moved as near as its changed features allow; and of each instance how many were.

    All other features stay, and those changed still change.  Rows that come to be the same as an
    earlier one are dropped.  What the time does not reach, or no engine takes, stays as it is.
    """
    found, kept, moved = dict[int, pd.DataFrame](), list[int](), np.zeros(len(instances), np.int64)
    seen: set[tuple[Any, ...]] = set()
    cells = menus.frame.itertuples(index=False, name=None)
    for i, (instance, values) in enumerate(zip(menus.instances.tolist(), cells, strict=True)):
        if time.monotonic() < deadline:
            row = menus.frame.iloc[[i]]
            changed = menus.codes[i] != instances.own[instance]
            factual = instances.frame.iloc[[instance]]
            target = target_at(model.program, int(instances.targets[instance])).label
            near = _nearest(
                model, factual, row, changed, target, distance, conditions,
                max(deadline - time.monotonic(), LEAST_SECONDS),
            )  # fmt: skip
            if near is not None:
                moved[instance] += 1
                found[i], values = near, tuple(near.iloc[0].tolist())
        if (key := (instance, *values)) not in seen:
            seen.add(key)
            kept.append(i)
    at = np.array(kept, np.int64)
    frame = _replaced(menus.frame, kept, found)
    return Menus(menus.instances[at], menus.codes[at], frame, menus.refused), moved


def _replaced(
    frame: pd.DataFrame, kept: Sequence[int], found: Mapping[int, pd.DataFrame]
) -> pd.DataFrame:
    """The rows of a table that are kept, in their order, some of them other ones."""
    same, other = [i for i in kept if i not in found], [i for i in kept if i in found]
    rows = pd.concat([frame.iloc[same], *map(found.__getitem__, other)], ignore_index=True)
    return rows.iloc[np.argsort([*same, *other])].reset_index(drop=True)


def _nearest(
    model: Compiled, factual: pd.DataFrame, row: pd.DataFrame, changed: np.ndarray[Any, Any],
    target: Any, distance: Any, conditions: Sequence[Condition], seconds: float,
) -> pd.DataFrame | None:  # fmt: skip
    """The nearest one that changes exactly these features, or ``None`` if none was found."""
    named = [f for f, is_changed in zip(model.space, changed, strict=True) if is_changed]
    alone = replace(model, space=holding(model.space, [feature.name for feature in named]))
    differ = [" != ".join(_now_and_before(feature)) for feature in named]
    try:
        question = Question(
            target=target, distance=distance, seeds=row, time_limit=seconds,
            subject_to=[*conditions, *differ],
        )  # fmt: skip
        found = Explainer.of(alone, question).answer(factual)
    except UnsupportedError:
        return None
    return found.counterfactual


def holding(space: FeatureSpace, free: Sequence[str]) -> FeatureSpace:
    """The space with all other features fixed."""
    features = [
        feature if feature.name in free else replace(feature, action="fixed", condition="")
        for feature in space
    ]
    return FeatureSpace(tuple(features), space.columns, tables=space.tables)


ROWS = 5
"""Rows that are asked for, at most; no two change the same feature."""
SECONDS = 2.0
"""For each of them, at most."""


@dataclass(frozen=True)
class Reached:
    """Menus with rows of exact engines: how many each, and which instances provably have none."""

    menus: Menus
    rows: Codes
    none: Bools


def reached(
    model: Compiled, instances: Instances, levels: Levels, menus: Menus, found: Codes, asked: Asked,
    deadline: float,
) -> Reached:  # fmt: skip
    """The nearest counterfactuals of instances that have no row, in the time that is left.

    Those of which rows were ``found`` that nobody had the time to choose are left out.  Levels
    miss what lies between their midpoints; the exact engines do not.
    """
    counts = np.bincount(menus.instances, minlength=len(instances))
    rows, none = np.zeros(len(instances), np.int64), np.zeros(len(instances), dtype=bool)
    new, frames = list[int](), [menus.frame] if len(menus.frame) else []
    engines = _Engines(model, instances, levels, asked)
    lacking = (counts == 0) & (found <= menus.refused) & (instances.before != instances.targets)
    for instance in np.flatnonzero(lacking).tolist():
        if time.monotonic() >= deadline:
            break
        reach, none[instance] = engines.asked_about(instance, deadline)
        frames += reach
        new += [instance] * len(reach)
        rows[instance] = len(reach)
    if not new:
        return Reached(menus, rows, none)
    frame = pd.concat(frames, ignore_index=True)
    codes = levels.codes(columns_of(model.space, frame.iloc[len(menus.frame) :]))
    who = np.concatenate([menus.instances, np.array(new, np.int64)])
    order = np.argsort(who, kind="stable")
    whole = np.concatenate([menus.codes, codes])[order]
    frame = frame.iloc[order].reset_index(drop=True)
    return Reached(Menus(who[order], whole, frame, menus.refused), rows, none)


@dataclass(frozen=True)
class _Engines:
    """The exact engines, asked about single instances."""

    model: Compiled
    instances: Instances
    levels: Levels
    asked: Asked

    def asked_about(self, instance: int, deadline: float) -> tuple[list[pd.DataFrame], bool]:
        """Rows for one instance, and whether it is proved that there are none.

        How many numbers change is a condition that makes searches slower: it is only put where the
        nearest rows change too many.
        """
        most, rounds = self.asked.limits.numbers, list[tuple[str, ...]]([()])
        if most is not None and most < len(self.levels.numbers):
            rounds.append(_at_most(self.levels.numbers, most))
        for further in rounds:
            seconds = min(deadline - time.monotonic(), SECONDS)
            result = self._explained(instance, further, seconds) if seconds > 0 else None
            if result is None:
                continue
            if result.status == "infeasible":
                return [], True
            rows = [one.counterfactual for one in (result, *result.alternatives)]
            kept = [row for row in rows if row is not None and self._keeps(instance, row)]
            if kept:
                return kept, False
        return [], False

    def _explained(self, instance: int, further: tuple[str, ...], seconds: float) -> Result | None:
        """What the engines say; ``None`` if no engine takes the model, or the constraints."""
        model, instances, asked = self.model, self.instances, self.asked
        few = [] if asked.limits.changes is None else [MaxChanges(asked.limits.changes)]
        try:
            label = target_at(model.program, int(instances.targets[instance])).label
            question = Question(
                target=label, subject_to=[*asked.conditions, *further, *few], time_limit=seconds,
                random_state=asked.seed, count=min(asked.n, ROWS), diversity="features",
            )  # fmt: skip
            return replace(Explainer.of(model, question), conflicts=False).answer(
                instances.frame.iloc[[instance]]
            )
        except (UnsupportedError, InvalidInputError):  # rows or rules that no engine takes
            return None

    def _keeps(self, instance: int, row: pd.DataFrame) -> bool:
        """Whether a row changes few enough numbers."""
        most, before = self.asked.limits.numbers, self.instances.frame.iloc[instance]
        changed = sum(
            any(row[name].iloc[0] != before[name] for name in feature.columns)
            for feature in self.levels.numbers
        )
        return most is None or changed <= most


def _at_most(numbers: Sequence[Feature], most: int) -> tuple[str, ...]:
    """So many of the numbers may change."""
    pairs = [_now_and_before(each) for each in numbers]
    if not most:
        return tuple(f"{new} == {own}" for new, own in pairs)
    return (" + ".join(f"ite({new} == {own}, 0, 1)" for new, own in pairs) + f" <= {most}",)


def _now_and_before(feature: Feature) -> tuple[str, str]:
    """A feature of the row and of the instance, as conditions write them."""
    name = quote(feature.name, "`")
    return f"x.{name}", f"factual.{name}"

"""Polishing: the nearest counterfactual that changes the same features, by the exact engines."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ...answers.explaining import explainer_of
from ...errors import UnsupportedError
from ...frontends.compiled import Compiled
from ...question.criteria import Condition
from ...question.question import Question
from ...space import Feature, FeatureSpace
from .levels import Codes
from .menus import Menus
from .people import People, target_at

LEAST_SECONDS = 0.05
"""What a search gets, at least, once there is time for one."""


def polished(
    model: Compiled,
    people: People,
    menus: Menus,
    *,
    distance: Any,
    conditions: Sequence[Condition],
    deadline: float,
) -> tuple[Menus, Codes]:
    """Each row moved as near as its changed features allow; and of each person how many were.

    All other features stay, and those changed still change.  Rows that come to be the same as an
    earlier one are dropped.  What the time does not reach, or no engine takes, stays as it is.
    """
    frames, kept, moved = list[pd.DataFrame](), list[int](), np.zeros(len(people), np.int64)
    seen: set[tuple[Any, ...]] = set()
    for i, person in enumerate(menus.people.tolist()):
        row = menus.frame.iloc[[i]]
        if time.monotonic() < deadline:
            changed = menus.codes[i] != people.own[person]
            factual = people.frame.iloc[[person]]
            target = target_at(model.program, int(people.wanted[person])).label
            near = _nearest(
                model, factual, row, changed, target, distance, conditions,
                max(deadline - time.monotonic(), LEAST_SECONDS),
            )  # fmt: skip
            moved[person] += near is not None
            row = row if near is None else near
        key = (person, *row.iloc[0].tolist())
        if key not in seen:
            seen.add(key)
            frames.append(row)
            kept.append(i)
    frame = pd.concat(frames, ignore_index=True) if frames else menus.frame
    at = np.array(kept, np.int64)
    return Menus(menus.people[at], menus.codes[at], frame, menus.refused), moved


def _nearest(
    model: Compiled, factual: pd.DataFrame, row: pd.DataFrame, changed: np.ndarray[Any, Any],
    target: Any, distance: Any, conditions: Sequence[Condition], seconds: float,
) -> pd.DataFrame | None:  # fmt: skip
    """The nearest one that changes exactly these features, or ``None`` if none was found."""
    named = [f for f, is_changed in zip(model.space, changed, strict=True) if is_changed]
    alone = replace(model, space=holding(model.space, [feature.name for feature in named]))
    differ = [f"x.{quoted(f)} != factual.{quoted(f)}" for f in named]
    try:
        question = Question(
            target=target, distance=distance, seeds=row, time_limit=seconds,
            subject_to=[*conditions, *differ],
        )  # fmt: skip
        found = explainer_of(alone, question).answer(factual)
    except UnsupportedError:
        return None
    return found.counterfactual


def holding(space: FeatureSpace, free: Sequence[str]) -> FeatureSpace:
    """The space with all other features fixed."""
    features = [
        feature if feature.name in free else replace(feature, action="fixed", condition="")
        for feature in space
    ]
    return FeatureSpace(tuple(features), space.columns)


def quoted(feature: Feature) -> str:
    """The feature's name as constraints write it."""
    return "`" + feature.name.replace("\\", "\\\\").replace("`", "\\`") + "`"


__all__ = ["polished"]

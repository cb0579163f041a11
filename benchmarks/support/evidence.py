"""What an answer must be, checked on the answer itself and on the original model."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pandas as pd

from cfxc import FeatureSpace, Result
from cfxc.errors import CfxcError
from cfxc.question.query import Query, make_query

from .cases import EPSILON, Case
from .observable import minimum_observable


@dataclass(frozen=True)
class Finding:
    """One person's answer, its exact distance, that of the minimum observable, and what is wrong.

    Both distances are ``None`` where there is no answer, or no training row that qualifies.
    """

    answer: Result
    distance: Fraction | None
    observable: Fraction | None
    faults: tuple[str, ...]
    seconds: float

    @property
    def improvement(self) -> float | None:
        """1 - δ / δ_MO, as in the paper's Table 3."""
        if self.distance is None or not self.observable:
            return None
        return float(1 - self.distance / self.observable)


def favourable_rows(case: Case) -> list[bool]:
    """Which training rows the original model finds favourable."""
    found: list[bool] = (case.pipeline.predict(case.train) == case.data.favourable).tolist()
    return found


def examine(
    case: Case,
    person: pd.DataFrame,
    distance: str,
    favourable: Sequence[bool],
    *,
    solver: str = "z3",
    limit: float = 60.0,
) -> Finding:
    """Explain one person, and check the answer.

    Args:
        favourable: Which training rows the original model finds favourable.
        limit: Seconds for the search.
    """
    started = time.perf_counter()
    answer = case.compiled.explain(
        person, target=case.data.favourable, distance=distance, epsilon=EPSILON,
        solver=solver, time_limit=limit,
    )  # fmt: skip
    return check(case, answer, distance, favourable, time.perf_counter() - started)


def check(
    case: Case,
    answer: Result,
    distance: str,
    favourable: Sequence[bool],
    seconds: float = 0.0,
) -> Finding:
    """Check an answer against the original model, the feature space and the training rows."""
    query = query_of(case, answer.factual, distance)
    nearest = minimum_observable(query, case.train, case.deployed(answer.factual), favourable)
    return checked(case, query, answer, None if nearest is None else nearest.distance, seconds)


def checked(
    case: Case, query: Query, answer: Result, observable: Fraction | None, seconds: float = 0.0
) -> Finding:
    """Check an answer where the distance of the minimum observable is known."""
    row = answer.counterfactual
    if row is None:
        return Finding(answer, None, observable, (f"no answer: {answer.summary()}",), seconds)
    reached, faults = verified(case, query, answer.factual, row)
    if reached is not None:
        faults += _distance_faults(answer, reached, observable)
    return Finding(answer, reached, observable, tuple(faults), seconds)


def query_of(case: Case, person: pd.DataFrame, distance: str) -> Query:
    """What is asked about a person whom the model refuses, if by rounding: what is nearest."""
    space = case.data.space
    return make_query(
        case.compiled.program, space, space.encode_row(person),
        target=case.data.favourable, distance=distance, may_hold=True,
    )  # fmt: skip


def verified(
    case: Case, query: Query, person: pd.DataFrame, row: pd.DataFrame
) -> tuple[Fraction | None, list[str]]:
    """The exact distance of a row, and what is wrong with it, whoever found it.

    There is no distance where the row is none of the space.
    """
    space = case.data.space
    try:
        values = space.encode_row(row)
    except CfxcError as error:
        return None, [f"implausible: {error}"]
    reached = norm(query.distance.name, deltas(space, space.encode_row(person), values))
    faults = [] if case.flips(row) else ["the original model does not flip"]
    faults += [f"implausible: {what}" for what in query.violated(values)]
    return reached, faults + _table_faults(person, row)


def deltas(
    space: FeatureSpace, factual: Mapping[str, Any], values: Mapping[str, Any]
) -> list[Fraction]:
    """δ_1 … δ_J of two people, exactly, straight from the definition in section 4.2."""
    found = []
    for feature in space:
        here, there = factual[feature.name], values[feature.name]
        if feature.kind == "ordinal" and feature.labels:
            here, there = feature.labels.index(here), feature.labels.index(there)
            found.append(Fraction(abs(here - there), len(feature.labels) - 1))
        elif feature.is_symbolic:
            found.append(Fraction(here != there))
        else:
            low, high = feature.bounds
            found.append(abs(Fraction(here) - Fraction(there)) / ((high - low) or 1))
    return found


def norm(name: str, changes: Sequence[Fraction]) -> Fraction:
    """The l0 or l1 norm of δ, averaged over the J features, or its largest entry (linf)."""
    if name == "linf":
        return max(changes)
    parts = changes if name == "l1" else [Fraction(change > 0) for change in changes]
    return sum(parts, Fraction(0)) / len(changes)


def _table_faults(person: pd.DataFrame, row: pd.DataFrame) -> list[str]:
    if list(row.columns) != list(person.columns) or len(row) != 1:
        return ["implausible: not one row with the person's columns"]
    changed = [name for name in row.columns if row[name].dtype != person[name].dtype]
    return [f"implausible: {name} has another dtype" for name in changed]


def _distance_faults(answer: Result, reached: Fraction, observable: Fraction | None) -> list[str]:
    assert answer.distance is not None
    faults = []
    if not 0 <= Fraction(answer.distance) - reached <= Fraction(1, 10**12):  # rounded up
        faults.append(f"says distance {answer.distance}, and it is {float(reached)}")
    if answer.lower_bound > reached:
        faults.append(f"lower bound {answer.lower_bound} above the distance {float(reached)}")
    if observable is not None and reached > observable:
        faults.append(f"{float(reached)} is farther than a training row: {float(observable)}")
    return faults

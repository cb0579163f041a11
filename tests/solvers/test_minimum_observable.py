"""The minimum observable: the nearest row of a table that is admissible and flips."""

from __future__ import annotations

from fractions import Fraction

import pandas as pd
import pytest

from benchmarks.support.observable import minimum_observable
from cfxc.question.query import Query, make_query
from tests.solvers.grids import NORMS, all_values, distance_of, exactly, norm, root, sampled
from tests.solvers.kinds import Task, outcome_of, task, trained

F = Fraction


def asked_of(kind: str, distance: str = "l1") -> tuple[Query, Task, pd.DataFrame]:
    model, space, compiled = trained(kind)
    asked = task(model, space, outcome_of(kind), seed=6)
    _, table = sampled(space, 80, seed=77)
    query = make_query(compiled.program, space, asked.own, target=asked.target, distance=distance)
    return query, asked, table


def by_definition(kind: str, distance: str, table: pd.DataFrame, asked: Task) -> list[Fraction]:
    model, space, _ = trained(kind)
    metric = norm(space, *NORMS[distance])
    outcomes = model.predict(table)
    return sorted(
        distance_of(space, table.iloc[[i]], asked.own, metric)
        for i in range(len(table))
        if asked.wanted(outcomes[i])
    )


@pytest.mark.parametrize("distance", NORMS)
@pytest.mark.parametrize("kind", ["logistic", "tree plain", "forest of 3", "relu for numbers"])
def test_the_nearest_row_that_flips(kind: str, distance: str) -> None:
    query, asked, table = asked_of(kind, distance)
    expected = by_definition(kind, distance, table, asked)
    found = minimum_observable(query, table, lambda point: True)
    assert found is not None
    assert (root(found.distance) if distance == "l2" else found.distance) == expected[0]
    assert query.in_target(found.point)
    own = [exactly(query.space, table.iloc[[i]]) for i in range(len(table))]
    assert dict(found.point) in own


def test_what_is_known_to_flip_is_not_asked_again() -> None:
    query, asked, table = asked_of("tree plain")
    model, _, _ = trained("tree plain")
    hits = [asked.wanted(outcome) for outcome in model.predict(table)]
    free = minimum_observable(query, table, lambda point: True)
    assert minimum_observable(query, table, lambda point: True, hits) == free
    assert minimum_observable(query, table, lambda point: True, [False] * len(table)) is None


def test_the_deployed_model_has_the_last_word() -> None:
    query, asked, table = asked_of("logistic")
    expected = by_definition("logistic", "l1", table, asked)
    refused: list[Fraction] = []

    def deployed(point: object) -> bool:
        refused.append(query.distance_to(dict(point)))  # type: ignore[call-overload]
        return len(refused) > 2

    found = minimum_observable(query, table, deployed)
    assert found is not None
    assert found.distance == expected[2]
    assert refused == expected[:3]
    assert minimum_observable(query, table, lambda point: False) is None


def test_rows_that_no_action_reaches() -> None:
    model, space, compiled = trained("tree plain")
    asked = task(model, space, "two", seed=6)
    _, table = sampled(space, 80, seed=77)
    bound = space.replace("kids", action="decrease").replace("rate", action="increase")
    query = make_query(compiled.program, bound, asked.own, target=asked.target)
    found = minimum_observable(query, table, lambda point: True)
    outcomes = model.predict(table)
    own = [exactly(space, table.iloc[[i]]) for i in range(len(table))]
    reached = [
        distance_of(space, table.iloc[[i]], asked.own, norm(space, 0, 1, 0))
        for i, point in enumerate(own)
        if asked.wanted(outcomes[i])
        and point["kids"] <= asked.own["kids"]
        and point["rate"] >= asked.own["rate"]
    ]
    assert (found is None) == (not reached)
    if found is not None:
        assert found.distance == min(reached)


def test_rows_outside_of_the_range() -> None:
    """People of other ranges are no plausible answers."""
    query, asked, table = asked_of("tree plain")
    beyond = table.assign(kids=9)
    assert minimum_observable(query, beyond, lambda point: True) is None
    assert 9 not in all_values(query.space["kids"], 0)
    assert asked.own["kids"] in all_values(query.space["kids"], 0)


def test_no_row_at_all() -> None:
    query, _, table = asked_of("logistic")
    assert minimum_observable(query, table, lambda point: True, [False] * len(table)) is None

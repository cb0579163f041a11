"""First counterfactuals: what greedy moves find lies in the target, also beside ties."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import cfxc
from cfxc.question.query import Query, make_query
from cfxc.solvers.base import verify
from cfxc.solvers.box_search.climb import Forest, climb, make_forest, reclimbed
from cfxc.solvers.box_search.problem import make_problem


def queries(trees: int, people: int) -> list[Query]:
    """Forests of unrestricted depth, whose leaves are votes: as many for as against is a tie."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = RandomForestClassifier(trees, random_state=0).fit(X, y)
    space = cfxc.FeatureSpace.infer(X, resolution=None)
    program = cfxc.compile(model, space).program
    refused: pd.DataFrame = X[model.predict(X) == 0].iloc[:people]
    rows = (space.encode_row(refused.iloc[[i]]) for i in range(people))
    return [make_query(program, space, row, target=1) for row in rows]


def climbing(query: Query) -> tuple[Forest, list[np.ndarray], list[float]]:
    """The points of a climb from the factual, and their distances if the exact program agrees."""
    decision, cells = make_problem(query).sketch()
    forest = make_forest(decision, cells)
    points = climb(forest, linf=False)
    return forest, points, verified(query, points)


def verified(query: Query, points: list[np.ndarray]) -> list[float]:
    _, cells = make_problem(query).sketch()
    candidates = [verify(query, cells.values(query, point), lambda _: True) for point in points]
    return [float(each.distance) for each in candidates if each is not None]


@pytest.mark.parametrize("trees", [10, 30])
def test_ties_are_no_targets(trees: int) -> None:
    for query in queries(trees, 10):
        _, points, distances = climbing(query)
        assert points
        assert len(points) == len(distances)  # the exact program agrees with every one


def test_climbing_again_comes_nearer() -> None:
    rng, nearer = np.random.default_rng(0), 0
    for query in queries(30, 10):
        forest, points, distances = climbing(query)
        found = reclimbed(forest, points[0], rng)
        again = verified(query, found)
        assert len(found) == len(again)
        nearer += min([*again, 9.0]) < distances[0]
    assert nearer

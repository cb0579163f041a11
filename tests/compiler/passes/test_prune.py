"""Pruned ensembles equal the original on the ball, and are small when it is."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

import cfxc
from cfxc.compiler.passes import prune_trees
from cfxc.compiler.pipeline import simplified
from cfxc.ir import Program, evaluate, ops
from cfxc.question.query import Query, make_query
from cfxc.solvers.encoding.ball import make_ball

F = Fraction
DISTANCES: dict[str, Any] = {
    "l0": "l0",
    "l1": "l1",
    "linf": "linf",
    "mix": {"l0": "1/4", "l1": "1/2", "linf": "1/4"},
}


def people(rng: np.random.Generator) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": rng.integers(18, 30, 150),
            "pay": rng.normal(0, 3, 150).round(1),
            "small": rng.normal(0, 1, 150).round(1).astype(np.float32),
            "sector": rng.choice(["it", "law", "art", "med"], 150),
            "city": rng.choice(["a", "b"], 150),
        }
    )


def question(seed: int, distance: Any, **actions: Any) -> tuple[Query, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    table = people(rng)
    codes = {"it": 0, "law": 3, "art": -2, "med": 1}
    worth = table["pay"] + table["small"] * (table["city"] == "a") + table["sector"].map(codes)
    encode = make_column_transformer(
        (OneHotEncoder(), ["sector"]), (OrdinalEncoder(), ["city"]), remainder="passthrough"
    )
    forest = make_pipeline(encode, RandomForestClassifier(6, max_depth=6, random_state=seed))
    model = cfxc.compile(
        forest.fit(table, worth + rng.normal(0, 1, 150) > 0),
        cfxc.FeatureSpace.infer(table, resolution={"pay": 0.1, "small": 0.1}, **actions),
    )
    row = table[model.predict(table) == np.False_].iloc[[seed % 5]]
    factual = model.space.encode_row(row)
    return make_query(model.program, model.space, factual, distance=distance), table


def nodes(program: Program) -> int:
    return sum(
        statement.op.feature.shape[0]
        for statement in program.lets()
        if isinstance(statement.op, ops.TreeEnsemble)
    )


def neighbours(query: Query, table: pd.DataFrame, count: int) -> list[dict[str, Any]]:
    """Points that keep most of the factual's values and take the others from rows."""
    rng = np.random.default_rng(1)
    found = []
    for _ in range(count):
        point = query.space.encode_row(table.iloc[[rng.integers(len(table))]])
        kept = {n: query.factual[n] for n in point if rng.random() < 0.6}
        found.append({**point, **kept})
    return [point for point in found if not query.violated(point)]


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("seed", range(3))
def test_on_the_ball_nothing_changes(distance: str, seed: int) -> None:
    query, table = question(seed, DISTANCES[distance], fixed=["city"], increase=["age"])
    program = simplified(query.target_program)
    norms = query.distance.norms
    assert norms is not None
    points = neighbours(query, table, 150)
    distances = sorted({query.distance_to(point) for point in points})
    sizes, compared = [], 0
    for radius in [F(0), *distances[:: max(1, len(distances) // 6)]]:
        pruned = prune_trees(program, make_ball(query, norms, radius))
        sizes.append(nodes(pruned))
        for point in points:
            if query.distance_to(point) <= radius:
                compared += 1
                assert evaluate(pruned, point) == evaluate(program, point)
    assert compared > 50
    assert sizes[0] == 6  # one leaf per tree: the factual's
    assert sizes == sorted(sizes)
    assert sizes[-1] <= nodes(program)


def test_a_radius_at_the_distance_of_a_point_keeps_it() -> None:
    """The edge itself: balls are closed."""
    query, table = question(0, "l1")
    program = simplified(query.target_program)
    norms = query.distance.norms
    assert norms is not None
    for point in neighbours(query, table, 60):
        pruned = prune_trees(program, make_ball(query, norms, query.distance_to(point)))
        assert evaluate(pruned, point) == evaluate(program, point)

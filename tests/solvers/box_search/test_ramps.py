"""Trees beside linear terms, tables of categories and numbers rounded to float32."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestRegressor, VotingRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import cfxc
from cfxc.errors import UnsupportedError
from cfxc.ir import INT, REAL, Builder, Program, Tensor, category, evaluate, ops
from cfxc.question.query import make_query
from cfxc.solvers import smt
from cfxc.solvers.base import Limits
from cfxc.space import Feature
from tests.solvers import kinds
from tests.solvers.box_search.test_proof import proved
from tests.solvers.grids import NORMS, brute_force, norm, sampled

F = Fraction
DISTANCES: dict[str, Any] = {**{name: name for name in NORMS}, "mix": {"l0": 0.3, "l1": 0.7}}


def mixed_regressor(seed: int) -> tuple[Any, pd.DataFrame]:
    """A forest and a regression over the mixed columns, each behind its own encoder."""
    rng = np.random.default_rng(seed)
    _, table = sampled(kinds.MIXED, 200, seed)
    names = ["sector", "member", "level"]
    worth = table["age"] * rng.normal() + 9 * table["pay"] * rng.normal()
    worth += 3.0 * (table["sector"] == "law") + rng.normal(size=len(table))

    def encoded(model: Any) -> Any:
        numbers = ("numbers", StandardScaler(), ["age", "pay"])
        columns = [("names", OneHotEncoder(), names), numbers]
        return make_pipeline(ColumnTransformer(columns, sparse_threshold=0), model)

    forest = RandomForestRegressor(8, max_depth=3, random_state=seed)
    both = [("forest", encoded(forest)), ("line", encoded(Ridge()))]
    return VotingRegressor(both, weights=[1, 2]).fit(table, worth), table


@pytest.mark.sampled(4)
@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("seed", range(4))
def test_a_regression_beside_a_forest(seed: int, distance: str) -> None:
    """Enumeration of the grid, for open and for narrow ranges."""
    model, _ = mixed_regressor(seed)
    space, compiled = kinds.MIXED, cfxc.compile(model, kinds.MIXED)
    metric = norm(space, F(3, 10), F(7, 10), F(0)) if distance == "mix" else None
    metric = metric or norm(space, *NORMS[distance])
    for other in range(2):
        asked = kinds.task(model, space, "value", 2 * seed + other)
        best = brute_force(space, asked.own, model.predict, asked.wanted, metric)
        answer = compiled.explain(
            asked.row, target=asked.target, distance=DISTANCES[distance], epsilon=kinds.EPSILON,
            method="box",
        )  # fmt: skip
        kinds.check(answer, model, space, asked, best, metric)


def stacked(seed: int, features: int, *, rounded: bool) -> tuple[Program, Any]:
    """Stumps and deeper trees, and a linear term, over numbers, whole numbers and a category."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        rng.normal(size=(200, features)), columns=[f"x{i}" for i in range(features)]
    )
    target = table.to_numpy() @ rng.normal(size=features) + 2 * (table["x0"] > 0)
    forest = RandomForestRegressor(6, max_depth=4, random_state=seed).fit(table, target)
    space = cfxc.FeatureSpace.infer(table)
    builder = Builder("stacked")
    names = [builder.input(name, REAL) for name in table.columns]
    whole = builder.input("n", INT)
    kind = builder.input("kind", category("a", "b", "c"))
    row = builder.let(ops.Concat(tuple(names)))
    inner = cfxc.compile(forest, space).program
    ensemble = next(let.op for let in inner.lets() if isinstance(let.op, ops.TreeEnsemble))
    read = builder.let(ops.RoundFloat32(row))
    trees = builder.let(dataclasses.replace(ensemble, x=read))
    counted = builder.let(ops.ToReal(whole))
    known = builder.let(
        ops.Lookup(kind, category("a", "b", "c").labels, Tensor(np.array([0.0, 0.7, -0.4])))
    )
    everything = builder.let(ops.Concat((read if rounded else row, counted, known, trees)))
    weights = np.concatenate([np.round(rng.normal(size=features), 3), [0.25, 1.0, 0.5]])
    total = builder.let(ops.Affine(everything, Tensor(weights[None, :]), Tensor(np.zeros(1))))
    program = builder.build(value=builder.let(ops.Item(total, 0)))
    more = (
        Feature("n", "integer", lower=F(0), upper=F(9)),
        Feature("kind", "categorical", labels=("a", "b", "c")),
    )
    return program, cfxc.FeatureSpace((*space, *more))


ASKED = {
    "above": lambda now: (now + F(1, 2), None),
    "between": lambda now: (now + F(1, 3), now + F(1, 2)),
    "below": lambda now: (None, now - 1),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("seed", range(2))
def test_continuous_ramps_are_proved(seed: int, asked: str, rounded: bool, distance: str) -> None:
    """Every box is closed in exact arithmetic with ramps as linear functions, and SMT agrees."""
    program, space = stacked(seed, 3, rounded=rounded)
    rng = np.random.default_rng(seed)
    factual = {f"x{i}": F(float(rng.normal() / 2)) for i in range(3)} | {"n": 3, "kind": "a"}
    target = ASKED[asked](evaluate(program, factual)["value"])
    query = make_query(program, space, factual, target=target, distance=DISTANCES[distance])
    outcome, _ = proved(query, F(1, 10**4))
    assert outcome.best is not None
    assert evaluate(query.target_program, outcome.best.point)["in_target"]
    other = smt.search(query, lambda _: True, Limits(F(1, 10**4), 4), smt.backend("auto"))
    assert other.best is not None
    assert outcome.lower <= other.best.distance
    assert other.lower <= outcome.best.distance


def test_a_linear_model_alone_is_left_to_others() -> None:
    table = pd.DataFrame({"a": [0.0, 1.0, 2.0], "b": [1.0, 0.0, 2.0]})
    model = LinearRegression().fit(table, [0.0, 1.0, 2.0])
    compiled = cfxc.compile(model, cfxc.FeatureSpace.infer(table))
    with pytest.raises(UnsupportedError, match="no tree decides"):
        compiled.explain(table.iloc[[0]], target=(1.5, None), method="box")
    assert compiled.explain(table.iloc[[0]], target=(1.5, None)).status == "optimal"

"""Labels that are floats, columns without a grid, roundings, conditions, nothing to prove."""

from __future__ import annotations

import runpy
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

import cfxc
from cfxc.errors import UnsupportedError
from cfxc.ir import REAL, Builder, Literal, Tensor, evaluate, ops
from cfxc.question.query import make_query
from cfxc.solvers import box_search, mio
from cfxc.solvers.base import Limits
from cfxc.solvers.certification import Certificate
from cfxc.solvers.certification.writer import certify
from cfxc.space import Feature
from tests.certificates.samples import SAMPLES, SPACE, answered, fitted, grid
from tests.solvers.box_search.test_ramps import stacked

F = Fraction


def test_labels_that_are_floats() -> None:
    labels = (0.5, 1.5, 2.5)
    table = pd.DataFrame({"size": np.tile(labels, 20), "n": np.repeat(range(20), 3)})
    outcome = ((table["size"] > 1) & (table["n"] > 9)).astype(int)
    model = make_pipeline(OrdinalEncoder(), DecisionTreeClassifier(random_state=0))
    space = cfxc.FeatureSpace(
        (
            Feature("size", "categorical", labels=labels),
            Feature("n", "integer", lower=F(0), upper=F(19)),
        )
    )
    model.set_params(ordinalencoder=_first_column())
    compiled = cfxc.compile(model.fit(table, outcome), space)
    result = compiled.explain(table.iloc[[0]], target=1)
    found = cfxc.check(result.certificate)
    assert found.ok, found.reason
    assert {"float": "0x1.0000000000000p-1"} in found.content["features"][0]["labels"]
    assert found.facts["features"][0]["range"] == "0.5, 1.5, 2.5"
    assert r"| size | 0\.5 | " in found.to_markdown()


def _first_column() -> Any:
    from sklearn.compose import ColumnTransformer

    return ColumnTransformer([("size", OrdinalEncoder(), ["size"])], remainder="passthrough")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("distance", ["l1", "l2", "linf"])
def test_columns_without_a_grid(distance: str, dtype: str) -> None:
    """Splits lie between neighbouring floats."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(200, 4)).astype(dtype), columns=list("abcd"))
    outcome = (table.sum(axis=1) + rng.normal(size=200) > 0).astype(int)
    for model in (
        RandomForestClassifier(12, max_depth=4, random_state=0),
        GradientBoostingClassifier(n_estimators=15, max_depth=3, random_state=0),
    ):
        compiled = cfxc.compile(model.fit(table, outcome), cfxc.FeatureSpace.infer(table))
        for row in np.flatnonzero(model.predict(table) == 0)[:3]:
            result = compiled.explain(table.iloc[[int(row)]], target=1, distance=distance)
            found = cfxc.check(result.certificate)
            assert found.ok, (model, row, found.reason)
            assert found.shown is not None
            assert found.shown.bound >= found.shown.distance * F(9, 10)


def written(query: Any, engine: Any) -> Certificate:
    outcome = engine.search(query, lambda _: True, Limits(F(1, 1000), 30))
    best = None if outcome.best is None else outcome.best.point
    return certify(
        query, status="optimal", point=best, lower=outcome.lower, epsilon=1e-3,
        proof=outcome.proof, made={},
    )  # fmt: skip


def test_numbers_rounded_to_float32_in_a_network() -> None:
    builder = Builder("rounded")
    x, y = (builder.let(ops.RoundFloat32(builder.input(name, REAL))) for name in "xy")
    row = builder.let(ops.Concat((x, y)))
    weight, bias = np.array([[0.7, -0.3], [-0.2, 0.9]]), np.array([0.1, -0.2])
    hidden = builder.let(ops.Relu(builder.let(ops.Affine(row, Tensor(weight), Tensor(bias)))))
    total = builder.let(ops.Affine(hidden, Tensor(np.array([[1.0, 0.5]])), Tensor(np.zeros(1))))
    program = builder.build(value=builder.let(ops.Item(total, 0)))
    space = cfxc.FeatureSpace(tuple(Feature(n, "real", lower=-1.0, upper=1.0) for n in "xy"))
    query = make_query(program, space, {"x": F(0), "y": F(1, 8)}, target=(F(1, 2), None))
    found = cfxc.check(written(query, mio))
    assert found.ok, found.reason
    assert "single" in str(found.content["program"]["made"])


@pytest.mark.parametrize("always", [-1.0, 2.0])
def test_nodes_that_send_everything_the_same_way(always: float) -> None:
    """A truth value as a number is never below 0 nor above 1; as a root and further down."""
    builder = Builder("steps")
    x = builder.input("x", REAL)
    step = builder.let(ops.ToReal(builder.let(ops.Ge(x, Literal(F(1, 2))))))
    row = builder.let(ops.Concat((step, x)))
    feature, threshold = np.array([0, 1, -1, 0, -1, -1, -1]), np.zeros(7)
    threshold[[0, 1, 3]] = always, 0.75, always
    left, right = np.array([1, 2, 0, 4, 0, 0, 0]), np.array([1, 3, 0, 5, 0, 0, 0])
    value = np.array([[0.0], [0.0], [1.0], [0.0], [2.0], [3.0], [0.0]])
    trees = ops.TreeEnsemble(
        row, Tensor(np.array([0])), Tensor(feature), Tensor(threshold), Tensor(left),
        Tensor(right), Tensor(value), Tensor(np.zeros(1)),
    )  # fmt: skip
    program = builder.build(value=builder.let(ops.Item(builder.let(trees), 0)))
    space = cfxc.FeatureSpace((Feature("x", "real", lower=0.0, upper=1.0),))
    query = make_query(program, space, {"x": F(0)}, target=(F(2), None))
    found = cfxc.check(written(query, box_search))
    assert found.ok, found.reason
    (ensemble,) = found.content["program"]["trees"]
    assert len(ensemble["nodes"]) == 3


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("distance", ["l1", "l2", "linf"])
def test_linear_terms_beside_trees(rounded: bool, distance: str) -> None:
    made = 0
    for seed in range(4):
        program, space = stacked(seed, 2, rounded=rounded)
        factual = {"x0": F(1, 8), "x1": F(-1, 4), "n": 3, "kind": "a"}
        goal = evaluate(program, factual)["value"] + F(1, 2)
        query = make_query(program, space, factual, target=(goal, None), distance=distance)
        try:
            found = cfxc.check(written(query, box_search))
        except UnsupportedError:  # a solver closed a part
            continue
        made += 1
        assert found.ok, (seed, found.reason)
    assert made


@pytest.mark.parametrize(
    "rule",
    [
        "x.kids >= 1 && !(x.rate > 0.5)",
        "!(x.kids < 1)",
        "x.kids == 2 || x.kids == 4",
        "!(x.code == factual.code || x.level == factual.level)",
        "x.kids != 3",
    ],
)
def test_conditions_of_every_form(rule: str) -> None:
    table, model = grid(), fitted(SAMPLES["forest"][0])
    compiled = cfxc.compile(model, SPACE)
    rows = table[(np.asarray(model.predict(table)) == 0) & (table["level"] == "low")]
    for place in (0, 7):
        result = compiled.explain(rows.iloc[[place]], target=1, subject_to=rule)
        found = cfxc.check(result.certificate)
        assert found.ok, found.reason


def test_a_bound_of_nothing_needs_a_proof_of_nothing() -> None:
    table, model = grid(), fitted(SAMPLES["forest"][0])
    rows = table[np.asarray(model.predict(table)) == 0]
    result = cfxc.compile(model, SPACE).explain(rows.iloc[[0]], target=1, epsilon=0.9)
    content = result.certificate.to_dict()
    content["claim"] = {**content["claim"], "status": "feasible", "lower_bound": "0"}
    for nodes, held in (([["distance"]], True), ([], False), ([["constraint"]], True)):
        proof = {"radius": "0", "lemmas": [], "nodes": nodes}
        assert cfxc.check(signed({**content, "proof": proof})).ok == held
    assert not cfxc.check(signed({**content, "proof": None})).ok


def signed(content: dict[str, Any]) -> Certificate:
    return Certificate({k: v for k, v in content.items() if k != "hash"})


def test_run_as_a_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = answered("forest").certificate.save(tmp_path / "c.json")
    monkeypatch.setattr(sys, "argv", ["cfxc-check", str(path)])
    monkeypatch.delitem(sys.modules, "cfxc.certificates.auditing.__main__", raising=False)
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("cfxc.certificates.auditing", run_name="__main__")
    assert ended.value.code == 0

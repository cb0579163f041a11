"""Votes of equal weight: what all orders of adding them in single floats have in common."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import cfxc
from cfxc.frontends.onnx.forest import Forest, from_tables
from cfxc.frontends.onnx.graph import read_graph
from cfxc.frontends.onnx.rules.trees import HALF, cut_of_votes, extremes
from cfxc.ir import evaluate
from cfxc.space import FeatureSpace
from tests.frontends.onnx.support import agree, export, numbers, target

SINGLE = np.float32


def tenth(count: int) -> float:
    return float(SINGLE(1) / SINGLE(count))


@cache
def sums(weight: float, count: int) -> frozenset[float]:
    """All that ``count`` numbers can add up to, however they are put into brackets."""
    if count < 2:
        return frozenset([weight * count])
    pairs = ((a, b) for i in range(1, count // 2 + 1) for a in sums(weight, i)
             for b in sums(weight, count - i))  # fmt: skip
    return frozenset(float(SINGLE(a) + SINGLE(b)) for a, b in pairs)


@pytest.mark.parametrize("count", [3, 7, 10, 12, 14])
def test_extremes_are_those_of_all_orders(count: int) -> None:
    weight = tenth(count)
    least, most = extremes(weight, count)
    for k in range(count + 1):
        assert (least[k], most[k]) == (min(sums(weight, k)), max(sums(weight, k)))
    assert len(sums(tenth(14), 14)) > 1  # orders differ at all


def stumps(count: int, weight: float) -> Forest:
    """``count`` trees of two leaves, one of which votes."""
    rows, leaf = np.arange(3 * count), np.tile([False, True, True], count)
    value = np.where(np.tile([False, False, True], count), weight, 0.0)[:, None]
    return Forest(
        rows[::3], np.where(leaf, -1, 0), np.zeros(3 * count), np.zeros(3 * count, bool),
        np.where(leaf, rows, rows + 1), np.where(leaf, rows, rows + 2), np.zeros(3 * count, bool),
        value,
        np.tile([[False], [True], [True]], (count, 1)), np.ones(2, np.int64), np.zeros(2),
    )  # fmt: skip


def test_cuts_lie_between_what_is_refused_and_what_is_accepted() -> None:
    vote = Fraction(tenth(10))
    assert float(5 * vote) > 0.5  # over the reals 5 of 10 votes win; as floats they do not
    assert 5 * vote < cut_of_votes(stumps(10, tenth(10))) < 6 * vote
    assert cut_of_votes(stumps(11, tenth(11))) == HALF  # nothing is near
    assert cut_of_votes(stumps(30, tenth(30))) == HALF  # the order decides
    mixed = replace(stumps(10, tenth(10)), value=np.linspace(0, 0.1, 30)[:, None])
    assert cut_of_votes(mixed) == HALF  # no votes of equal weight
    assert cut_of_votes(stumps(10, 0.0)) == HALF
    assert cut_of_votes(stumps(2, 1e-3)) == HALF  # never reached


def test_ten_trees_whose_votes_tie_are_as_deployed() -> None:
    table = numbers(300)
    y = target(table) ^ (np.random.default_rng(0).random(300) < 0.2)  # noise, so that votes differ
    forest = RandomForestClassifier(10, random_state=0).fit(table.to_numpy(np.float32), y)
    model, space = export(forest, table, zipmap=False), FeatureSpace.infer(table.astype("float32"))
    rows = numbers(2000, seed=1).astype("float32")
    votes = sum(tree.predict(rows.to_numpy()) for tree in forest.estimators_)
    assert (votes == 5).sum() > 50
    inside = np.logical_and.reduce([
        rows[f.name].between(*map(float, f.bounds)) for f in space
    ])  # fmt: skip
    agree(model, space, rows[inside])


def trees_of(model: object) -> Iterator[Forest]:
    for node in read_graph(model, "m.onnx").nodes:
        if node.op == "TreeEnsembleClassifier":
            yield from_tables(node.attributes, "class", 2)


def test_reported_scores_are_not_moved() -> None:
    """Only the comparison is: probabilities and scores are the votes' shares."""
    table = numbers(100)
    forest = RandomForestClassifier(10, random_state=0).fit(
        table.to_numpy(np.float32), target(table)
    )
    model, space = export(forest, table, zipmap=False), FeatureSpace.infer(table.astype("float32"))
    (found,) = trees_of(model)
    assert cut_of_votes(found.only(int(found.ids[0]))) > HALF
    row = table.astype("float32").iloc[[0]]
    program = agree(model, space, table.astype("float32")).program
    share = evaluate(program, space.encode_row(row))["probability"]
    np.testing.assert_allclose(
        np.array(share, float), forest.predict_proba(row.to_numpy())[0], atol=1e-6
    )


def test_in_other_processes() -> None:
    """The session is made anew there."""
    table = numbers(100).astype("float32")
    forest = RandomForestClassifier(5, random_state=0).fit(table.to_numpy(), target(table))
    made = cfxc.compile(export(forest, table, zipmap=False), FeatureSpace.infer(table))
    again = copy.deepcopy(made)
    assert again.predict(table).tolist() == made.predict(table).tolist()
    one, two = (made.explain_batch(table[:4], target=1, n_jobs=jobs) for jobs in (1, 2))
    assert one.distance.tolist() == two.distance.tolist()

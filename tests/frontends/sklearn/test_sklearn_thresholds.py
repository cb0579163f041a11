"""Trees and forests exactly at, just below and just above every threshold.

The deployed forest rounds: the sum of T leaf values and its division by T are T roundings, so
each computed probability is ``p (1 + e)`` with ``|e| <= g = T u / (1 - T u)``, ``u = 2**-53``
(leaf values are not negative, in any order of summation).  Exact arithmetic can therefore name
another class only if another exact probability q has ``p - q <= g (p + q)``, p being the largest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from cfxc.frontends.sklearn import lower
from cfxc.frontends.sklearn.trees import thresholds_on_doubles
from cfxc.ir import BatchEvaluator, Program, evaluate, ops
from cfxc.space import FeatureSpace
from tests.frontends.sklearn.ensembles import ada_boost

Table = pd.DataFrame
UNIT = Fraction(1, 2**53)


@pytest.fixture(scope="module")
def table() -> Table:
    """Columns where rounding to float32 matters in different ways."""
    rng = np.random.default_rng(3)
    count = 160
    return pd.DataFrame(
        {
            "normal": rng.normal(size=count),
            "large": rng.integers(30_000_000, 30_000_060, count).astype(float),  # float32: even
            "tenths": rng.choice([0.1, 0.2, 0.3, 0.7], count),  # no float32 is a tenth
            "sign": rng.choice([-1.0, 1.0], count),  # threshold 0: float32 underflows there
            "half": rng.integers(0, 9, count).astype(float),
        }
    )


@pytest.fixture(scope="module")
def target(table: Table) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(4)
    worth = table["normal"] + table["large"] % 7 + 5 * table["tenths"] + 2 * table["sign"]
    return np.asarray(
        pd.qcut(worth + table["half"] / 2 + rng.normal(size=len(table)), 3, labels=False)
    )


def reals(table: Table) -> FeatureSpace:
    numbers = table.select_dtypes("number").columns
    return FeatureSpace.infer(table, kinds=dict.fromkeys(numbers, "real"))


def around(threshold: float) -> tuple[list[float], list[float]]:
    """Float32 and float64 values at, below and above ``threshold`` and the tie beside it."""
    single = np.float32(threshold)
    at_or_below = (
        single if float(single) <= threshold else np.nextafter(single, np.float32(-np.inf))
    )
    above = np.nextafter(at_or_below, np.float32(np.inf))
    below = np.nextafter(at_or_below, np.float32(-np.inf))
    doubles = []
    for centre in (
        threshold,
        float(at_or_below),
        float(above),
        (float(at_or_below) + float(above)) / 2,
        (float(at_or_below) + float(below)) / 2,
    ):
        doubles += [np.nextafter(centre, -np.inf), centre, np.nextafter(centre, np.inf)]
    return [float(below), float(at_or_below), float(above)], [float(one) for one in doubles]


def walk(
    trees: Sequence[Any], table: Table, single: bool, columns: Any = None
) -> tuple[Table, list[tuple[int, int, int]]]:
    """Rows that reach each inner node with values around its threshold; (tree, node, count) each.

    A row is a training row that passes the node, with the node's column replaced.  ``columns[t]``
    are those that tree t knows, if it does not know all.
    """
    rows, groups = [], []
    values = table.to_numpy(dtype=np.float64)
    for which, tree in enumerate(trees):
        places = np.arange(values.shape[1]) if columns is None else np.asarray(columns[which])
        passes = tree.decision_path(values[:, places].astype(np.float32)).tocsc()
        for node in np.flatnonzero(tree.feature >= 0):
            row = values[passes.indices[passes.indptr[node]]]
            moved = around(float(tree.threshold[node]))[0 if single else 1]
            block = np.tile(row, (len(moved), 1))
            block[:, places[tree.feature[node]]] = moved
            rows.append(block)
            groups.append((which, int(node), len(moved)))
    walked = pd.DataFrame(np.concatenate(rows), columns=table.columns)
    return (walked.astype(np.float32) if single else walked), groups


def assert_reaches_both_sides(
    trees: Sequence[Any], walked: Table, groups: Sequence[tuple[int, int, int]]
) -> None:
    """The walk is not idle: at every node some of its rows go left and some right."""
    values = walked.to_numpy().astype(np.float32)
    paths = [tree.decision_path(values).tocsr() for tree in trees]
    start, idle = 0, 0
    for which, node, size in groups:
        passes = np.asarray(paths[which][start : start + size].sum(axis=0)).ravel()
        tree = trees[which]
        idle += not (passes[tree.children_left[node]] and passes[tree.children_right[node]])
        start += size
    assert start == len(walked)
    assert idle == 0


def may_round_apart(probability: Sequence[Fraction], trees: int) -> bool:
    """Whether rounding in a forest of that many trees can change the largest ``probability``."""
    gamma = trees * UNIT / (1 - trees * UNIT)
    first = probability.index(max(probability))
    top = probability[first]
    return any(
        top - other <= gamma * (top + other)
        for place, other in enumerate(probability)
        if place != first
    )


def compare(model: Any, program: Program, space: FeatureSpace, walked: Table, trees: int) -> int:
    """Assert agreement on every row; returns on how many the bound left the class open."""
    answers, shares = model.predict(walked), model.predict_proba(walked)
    outputs = BatchEvaluator(program)(space.encode_frame(walked, check_range=False))
    labels = program.output_sorts["label"].labels
    assert [labels[code] for code in outputs["label"]] == answers.tolist()
    assert np.array_equal(outputs["probability"], shares)  # the same doubles, bit for bit
    undecided = 0
    for row, answer in zip(walked.to_dict("records"), answers.tolist(), strict=True):
        exact = evaluate(program, space.encode_row(row, check_range=False))
        if may_round_apart(exact["probability"].tolist(), trees):
            undecided += 1
        else:
            assert exact["label"] == answer
    return undecided


MODELS: dict[str, Callable[[], Any]] = {
    "tree": lambda: DecisionTreeClassifier(max_depth=5, random_state=0),
    "impure forest": lambda: RandomForestClassifier(10, max_depth=4, random_state=0),
    "pure forest": lambda: RandomForestClassifier(8, random_state=0),
    "extra trees": lambda: ExtraTreesClassifier(6, max_depth=5, random_state=0),
}


@pytest.mark.parametrize("single", [True, False], ids=["float32", "float64"])
@pytest.mark.parametrize("name", MODELS)
def test_every_threshold(
    name: str, single: bool, table: Table, target: np.ndarray[Any, Any]
) -> None:
    model = MODELS[name]().fit(table, target)
    space = reals(table)
    trees = [one.tree_ for one in getattr(model, "estimators_", [model])]
    walked, groups = walk(trees, table, single)
    assert_reaches_both_sides(trees, walked, groups)
    undecided = compare(model, lower(model, space), space, walked, len(trees))
    assert undecided < len(walked) / 4


@pytest.mark.parametrize("single", [True, False], ids=["float32", "float64"])
def test_ties_of_pure_forests_go_to_the_first_class(
    single: bool, table: Table, target: np.ndarray[Any, Any]
) -> None:
    """Sums of zeros and ones do not round: exact and deployed agree even on ties."""
    model = RandomForestClassifier(8, random_state=0).fit(table, target)
    space = reals(table)
    walked, _ = walk([one.tree_ for one in model.estimators_], table, single)
    program, ties = lower(model, space), 0
    for row, answer in zip(walked.to_dict("records"), model.predict(walked), strict=True):
        exact = evaluate(program, space.encode_row(row, check_range=False))
        assert exact["label"] == answer
        votes = sorted(exact["probability"].tolist())
        ties += votes[-1] == votes[-2]
    assert ties > 0


@pytest.mark.parametrize("single", [True, False], ids=["float32", "float64"])
@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeRegressor(max_depth=5, random_state=0),
        RandomForestRegressor(7, max_depth=4, random_state=0),
        ExtraTreesRegressor(5, max_depth=4, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_threshold_of_regressors(
    model: Any, single: bool, table: Table, target: np.ndarray[Any, Any]
) -> None:
    worth = target + table["normal"].to_numpy()
    model.fit(table, worth)
    space = reals(table)
    trees = [one.tree_ for one in getattr(model, "estimators_", [model])]
    walked, groups = walk(trees, table, single)
    assert_reaches_both_sides(trees, walked, groups)
    program, answers = lower(model, space), model.predict(walked)
    outputs = BatchEvaluator(program)(space.encode_frame(walked, check_range=False))
    assert np.array_equal(outputs["value"], answers)
    for row, answer in list(zip(walked.to_dict("records"), answers.tolist(), strict=True))[::7]:
        exact = evaluate(program, space.encode_row(row, check_range=False))["value"]
        # |leaf| <= 5: the sum and the division are as many roundings as trees, each below 8 u
        assert abs(exact - Fraction(answer)) <= len(trees) * 8 * UNIT * len(trees)


def test_every_threshold_behind_columns(table: Table, target: np.ndarray[Any, Any]) -> None:
    table = table.assign(sector=np.random.default_rng(5).choice(["a", "b", "c"], len(table)))
    numbers = ["tenths", "large", "normal"]
    columns = ColumnTransformer(
        [("sector", OneHotEncoder(), ["sector"]), ("rest", "passthrough", numbers)]
    )
    forest = RandomForestClassifier(9, max_depth=5, random_state=1)
    model = Pipeline([("columns", columns), ("forest", forest)]).fit(table, target)
    space = reals(table)
    trees = [one.tree_ for one in forest.estimators_]
    encoded = pd.DataFrame(columns.transform(table))
    walked, groups = walk(trees, encoded, single=False)
    # back to tables: rows whose indicators still name a sector
    valid = (np.sort(walked.iloc[:, :3].to_numpy(), axis=1) == [0, 0, 1]).all(axis=1)
    walked = walked[valid]
    frame = pd.DataFrame(walked.iloc[:, 3:].to_numpy(), columns=numbers)
    frame["sector"] = np.array(["a", "b", "c"])[walked.iloc[:, :3].to_numpy().argmax(axis=1)]
    frame = frame.assign(sign=1.0, half=0.0)[list(table.columns)]
    assert len(frame) > sum(size for *_, size in groups) / 2
    compare(model, lower(model, space), space, frame, len(trees))


def test_rounding_can_hide_a_difference_and_the_bound_knows(table: Table) -> None:
    """Two trees vote (1, 1) and (0, 2**-60): exactly the second class, in doubles a tie."""
    forest = RandomForestClassifier(2, max_depth=1, random_state=0)
    forest.fit(np.zeros((4, 1)), [0, 1, 0, 1])
    votes = [(1.0, 1.0), (0.0, 2.0**-60)]
    for tree, vote in zip(forest.estimators_, votes, strict=True):
        assert tree.tree_.node_count == 1
        tree.tree_.value[0, 0, :] = vote
    row = pd.DataFrame({"x": [0.0]})
    space = reals(row)
    program = lower(forest, space)
    exact = evaluate(program, space.encode_row(row))
    assert (exact["label"], forest.predict(row.to_numpy())[0]) == (1, 0)
    assert may_round_apart(exact["probability"].tolist(), 2)
    assert BatchEvaluator(program)(space.encode_frame(row))["label"].tolist() == [0]


@pytest.mark.parametrize("seed", range(8))
def test_near_ties_of_many_shallow_trees(seed: int) -> None:
    """On a grid of nine points sums of a dozen fractions often tie almost."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.integers(0, 3, (24, 2)).astype(float), columns=["a", "b"])
    forest = RandomForestClassifier(
        12, max_depth=2, max_features=1, bootstrap=False, random_state=seed
    ).fit(table, rng.integers(0, 2, 24))
    grid = np.array(np.meshgrid(range(3), range(3)), dtype=float).reshape(2, -1).T
    space = reals(table)
    compare(forest, lower(forest, space), space, pd.DataFrame(grid, columns=["a", "b"]), 12)


def test_integers_around_every_threshold(table: Table, target: np.ndarray[Any, Any]) -> None:
    """Near 3e7 float32 holds the even integers only; ties between them are integers."""
    whole = table[["large", "half"]].astype(np.int64)
    model = DecisionTreeClassifier(max_depth=7, random_state=0).fit(whole, target)
    space = FeatureSpace.infer(whole)
    tree = model.tree_
    walked = pd.DataFrame(
        [
            {"large": int(threshold) + step, "half": half}
            for threshold in tree.threshold[tree.feature == 0]
            for step in range(-3, 4)
            for half in range(9)
        ]
    )
    assert [str(feature.kind) for feature in space] == ["integer", "integer"]
    assert compare(model, lower(model, space), space, walked, 1) < len(walked)


def test_thresholds_beyond_float32_pass_all_numbers() -> None:
    largest = float(np.finfo(np.float32).max)
    given = np.array([0.5, largest, np.inf, np.nextafter(largest, 0), -2.0])
    inner = np.array([True, True, True, True, False])
    moved = thresholds_on_doubles(given, inner)
    assert moved[0] == 0.5 + 2.0**-25  # the tie above 1/2 rounds to 1/2, which is even
    assert (moved[[1, 2]] > 2 * largest).all()
    assert largest / 2 < moved[3] < largest


def test_inner_nodes_carry_no_value(table: Table, target: np.ndarray[Any, Any]) -> None:
    forest = RandomForestClassifier(3, max_depth=3, random_state=0).fit(table, target)
    lets = lower(forest, reals(table)).lets()
    (op,) = [let.op for let in lets if isinstance(let.op, ops.TreeEnsemble)]
    inner = op.feature.array >= 0
    assert inner.any()
    assert not op.value.array[inner].any()
    assert np.allclose(op.value.array[~inner].sum(axis=1), 1)


def test_nodes_that_separated_missing_values_pass_all_numbers() -> None:
    """Trained with NaN, a split may put every number on one side: its threshold is infinite."""
    values = np.array([1.0, 2.0, 3.0, np.nan, np.nan, np.nan])[:, None]
    train = pd.DataFrame(values, columns=["x"])
    model = DecisionTreeClassifier(random_state=0).fit(train, [0, 0, 0, 1, 1, 1])
    assert np.isinf(model.tree_.threshold).any()
    table = pd.DataFrame({"x": [-1e30, 1.0, 1e30]})
    space = reals(table)
    compare(model, lower(model, space), space, table, 1)


FIXED: dict[str, Any] = {"random_state": 0}
ENSEMBLES: dict[str, Callable[[], Any]] = {
    "boosting": lambda: GradientBoostingClassifier(n_estimators=6, learning_rate=0.3, **FIXED),
    "stumps": lambda: ada_boost(n_estimators=30, **FIXED),
    "boosted trees": lambda: ada_boost(
        DecisionTreeClassifier(max_depth=3), n_estimators=8, **FIXED
    ),
    "bagging": lambda: BaggingClassifier(
        DecisionTreeClassifier(max_depth=4), n_estimators=8, max_features=3, **FIXED
    ),
    "isolation": lambda: IsolationForest(
        n_estimators=8, max_samples=60, contamination=0.2, **FIXED
    ),
    "boosting for numbers": lambda: GradientBoostingRegressor(n_estimators=12, **FIXED),
    "median": lambda: AdaBoostRegressor(n_estimators=6, **FIXED),
    "bagging for numbers": lambda: BaggingRegressor(
        DecisionTreeRegressor(max_depth=4), n_estimators=6, max_features=3, **FIXED
    ),
}
#: |score| or lead in exact arithmetic within which the rounding of sums may decide: these sum at
#: most 31 terms of at most 8, so the error is below 31 * 31 * 8 units.
MAY_ROUND = 31 * 31 * 8 * UNIT


def parts(model: Any) -> tuple[list[Any], Any]:
    """The trees of an ensemble, and the columns of each; none given if it knows all."""
    trees = [one.tree_ for one in np.ravel(model.estimators_)]
    some = getattr(model, "max_features", None) == 3
    return trees, model.estimators_features_ if some else None


def lead(exact: dict[str, Any]) -> Fraction:
    """By how much the label was decided."""
    scores = np.ravel(exact.get("score", exact.get("probability"))).tolist()
    if len(scores) == 1:
        return abs(scores[0])
    first, second = sorted(scores)[:-3:-1]
    return Fraction(first - second)


@pytest.mark.parametrize("single", [True, False], ids=["float32", "float64"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", ENSEMBLES)
def test_every_threshold_of_ensembles(
    name: str, classes: int, single: bool, table: Table, target: np.ndarray[Any, Any]
) -> None:
    model = ENSEMBLES[name]().fit(table, np.minimum(target, classes - 1))
    space = reals(table)
    trees, columns = parts(model)
    walked, groups = walk(trees, table, single, columns)
    if columns is None:
        assert_reaches_both_sides(trees, walked, groups)
    program, answers = lower(model, space), model.predict(walked)
    made = BatchEvaluator(program)(space.encode_frame(walked, check_range=False))
    if "value" in made:
        assert np.array_equal(made["value"], answers)  # the same doubles, bit for bit
    else:
        labels = program.output_sorts["label"].labels
        assert [labels[code] for code in made["label"]] == answers.tolist()
    if "score" in made:
        assert np.array_equal(made["score"], model.decision_function(walked))
    for place in range(0, len(walked), 1 + len(walked) // 150):
        exact = evaluate(program, space.encode_row(walked.iloc[[place]], check_range=False))
        if "value" in exact:
            assert abs(exact["value"] - Fraction(float(answers[place]))) <= MAY_ROUND
        elif set(exact) == {"label"} or lead(exact) > MAY_ROUND:
            assert exact["label"] == answers[place]

"""Within hulls where trees decide: beside enumeration by cells, and the kernel beside its rules."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import cfxc
from cfxc import Feature, FeatureSpace, TrustRegion
from cfxc.errors import SolverError
from cfxc.kernels import cut_leaves, look_at_leaves
from cfxc.question.hull import Hull, coordinates_of
from cfxc.question.query import make_query
from cfxc.solvers.hulls import HullProgram, nearest
from cfxc.solvers.incumbent import settled
from cfxc.solvers.mio import engine
from cfxc.solvers.mio.branching import DEEP, Branching, OpenNodes
from cfxc.solvers.mio.regions import Ending
from cfxc.solvers.within.boxes import Box, Leaves
from cfxc.solvers.within.branching import TreeBranching

WIDE = 10**6
MODELS = {
    "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    "forest": RandomForestClassifier(4, max_depth=2, random_state=0),  # votes that tie
    "boosting": GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0),
}


def table(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """A number of few values, one of very many, one without a grid, and labels."""
    return pd.DataFrame(
        {
            "a": rng.integers(0, 7, n),
            "w": rng.integers(0, WIDE, n),
            "r": rng.random(n),
            "c": rng.choice(["u", "v", "x"], n),
        }
    )


def worth(X: pd.DataFrame) -> pd.Series:
    return X.a / 6 + X.w / WIDE + X.r + 0.7 * (X.c == "v")


def space_of(*, grid: bool, weight: float) -> FeatureSpace:
    return FeatureSpace(
        (
            Feature("a", "integer", lower=0, upper=6),
            Feature("w", "integer", lower=0, upper=WIDE, weight=weight),
            Feature("r", "real", lower=0, upper=1, resolution="0.25" if grid else None),
            Feature("c", "categorical", labels=("u", "v", "x")),
        )
    )


def truth(
    model: cfxc.CompiledModel, row: pd.DataFrame, points: np.ndarray, epsilon: float, weight: float
) -> float | None:
    """The least l1 of all points in the hull: of each a, c and cell of the trees, a small program.

    Of a cell only whole ``w`` count: where it is not whole, both neighbours are asked.
    """
    cuts = {"w": {-1.0, float(WIDE)}, "r": {-1.0, 1.0}}
    forest = model.predictor.estimator[-1]
    columns = list(model.predictor.estimator[0].get_feature_names_out())
    for tree in np.ravel(getattr(forest, "estimators_", [forest])):
        for j, cut in zip(tree.tree_.feature, tree.tree_.threshold, strict=True):
            if j >= 0 and (name := columns[j].split("__")[-1]) in cuts:
                cuts[name].add(math.floor(cut) if name == "w" else float(cut))
    own, total, best = row.iloc[0], 3 + weight, None
    steps = {name: sorted(found) for name, found in cuts.items()}
    for a, c, (w0, w1), (r0, r1) in product(
        range(7), "uvx", zip(steps["w"], steps["w"][1:], strict=False),
        zip(steps["r"], steps["r"][1:], strict=False),
    ):  # fmt: skip
        middle = (max(r0, 0.0) + r1) / 2
        inside = pd.DataFrame({"a": [a], "w": [int(w1)], "r": [middle], "c": [c]})
        if model.predict(inside)[0] != 1:
            continue
        base = abs(a - own.a) / 6 + (c != own.c)
        ends = [(max(w0 + 1, 0) / WIDE, w1 / WIDE), (max(np.nextafter(r0, 2), 0.0), r1)]
        best = least(own, base, a, c, ends, points, epsilon, weight, total, best)
    return best


def least(
    own: pd.Series, base: float, a: int, c: str, ends: list[tuple[float, float]],
    points: np.ndarray, epsilon: float, weight: float, total: float, best: float | None,
) -> float | None:  # fmt: skip
    """The better of what is known and the nearest point of a cell, w whole by branching."""
    found = program(own, a, c, ends, points, epsilon, weight)
    if found is None or (best is not None and (base + found[0]) / total >= best - 1e-12):
        return best
    w = found[1] * WIDE
    if abs(w - round(w)) < 1e-4:
        return (base + found[0]) / total
    for low, high in ((ends[0][0], math.floor(w) / WIDE), (math.ceil(w) / WIDE, ends[0][1])):
        if low <= high:
            split = [(low, high), ends[1]]
            best = least(own, base, a, c, split, points, epsilon, weight, total, best)
    return best


def program(
    own: pd.Series, a: int, c: str, ends: list[tuple[float, float]], points: np.ndarray,
    epsilon: float, weight: float,
) -> tuple[float, float] | None:  # fmt: skip
    """min weight |w - ŵ| + |r - r̂| over a box and the ε-hull under l1; the cost, and w."""
    n, fixed = len(points), np.array([a / 6, *(c == one for one in "uvx")], dtype=float)
    # columns: w, r, their moves, shares, slack up and down of six coordinates
    cost = np.zeros(4 + n + 12)
    cost[2:4] = weight, 1.0
    rows, sides = [], []
    for k in range(6):  # a, labels, then w and r
        row = np.zeros(cost.size)
        row[4 : 4 + n] = points[:, k]
        row[4 + n + k], row[4 + n + 6 + k] = -1, 1
        rows.append(row)
        sides.append(fixed[k] if k < 4 else 0.0)
        if k >= 4:
            row[k - 4] = -1
    total = np.zeros(cost.size)
    total[4 : 4 + n] = 1
    upper, tops = [], []
    for i, value in enumerate((own.w / WIDE, own.r)):
        for sign in (1, -1):
            row = np.zeros(cost.size)
            row[i], row[2 + i] = sign, -1
            upper.append(row)
            tops.append(sign * value)
    slack = np.zeros(cost.size)
    slack[4 + n :] = 1
    solved = linprog(
        cost, A_ub=np.array([*upper, slack]), b_ub=[*tops, epsilon + 1e-6],
        A_eq=np.array([*rows, total]), b_eq=[*sides, 1.0],
        bounds=[*ends, *[(0, None)] * (2 + n + 12)],
    )  # fmt: skip
    return None if solved.status == 2 else (float(solved.fun), float(solved.x[0]))


def vectors(X: pd.DataFrame) -> np.ndarray:
    labels = [(X.c == one).astype(float) for one in "uvx"]
    return np.column_stack([X.a / 6, *labels, X.w / WIDE, X.r])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weight", [1.0, 1e-5])
def test_the_nearest_row_of_a_wide_space(name: str, seed: int, weight: float) -> None:
    rng = np.random.default_rng(seed)
    X = table(rng, 60)
    y = (worth(X) > 1.8).astype(int)
    encoder = make_column_transformer((OneHotEncoder(), ["c"]), remainder="passthrough")
    fitted = make_pipeline(encoder, MODELS[name]).fit(X, y)
    model = cfxc.compile(fitted, space_of(grid=False, weight=weight))
    rows = X[y == 1].sample(8, random_state=seed)
    points, epsilon = vectors(rows), (0.0, 0.03, 0.2)[seed]
    for i in range(2):
        row = X[model.predict(X) == 0].iloc[[i]]
        region = TrustRegion(rows, np.ones(len(rows)), epsilon=epsilon)
        result = model.explain(row, target=1, distance="l1", subject_to=[region])
        expected = truth(model, row, points, epsilon, weight)
        if expected is None:
            assert result.status == "infeasible"
            continue
        assert result.status == "optimal", result.reason
        assert result.lower_bound <= expected + 1e-6
        assert abs(result.distance - expected) <= 1e-3 * expected + 2e-6


def boosted(*, grid: bool) -> tuple[cfxc.CompiledModel, pd.DataFrame, pd.DataFrame]:
    """A model, the rows that it accepts by their labels, and those that it refuses."""
    X = table(np.random.default_rng(5), 60)
    y = (worth(X) > 1.8).astype(int)
    encoder = make_column_transformer((OneHotEncoder(), ["c"]), remainder="passthrough")
    fitted = make_pipeline(encoder, MODELS["boosting"]).fit(X, y)
    model = cfxc.compile(fitted, space_of(grid=grid, weight=1.0))
    return model, X[y == 1], X[model.predict(X) == 0]


def region_of(rows: pd.DataFrame) -> TrustRegion:
    return TrustRegion(rows, np.ones(len(rows)), epsilon=0.2)


def small_question() -> tuple[cfxc.CompiledModel, pd.DataFrame, TrustRegion]:
    model, accepted, refused = boosted(grid=True)
    return model, refused.iloc[[0]].assign(r=0.25), region_of(accepted.head(8))


def test_a_solver_that_gives_up_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a node's program fails, it is made again, without the rows that it had."""
    model, row, region = small_question()
    asked = {"target": 1, "distance": "l1", "subject_to": [region]}
    expected = model.explain(row, **asked)
    solve, failed = HullProgram.solve, list[int]()

    def fails_now_and_then(self: HullProgram, *given: Any) -> Any:
        failed.extend([0] * (len(given) == 4))  # by a node
        if len(given) == 4 and len(failed) in (1, 4):
            raise SolverError("HiGHS ended with 'Not Set'")
        return solve(self, *given)

    monkeypatch.setattr(HullProgram, "solve", fails_now_and_then)
    result = model.explain(row, **asked)
    assert len(failed) >= 2
    assert result.status == expected.status == "optimal"
    assert result.distance == expected.distance


@pytest.mark.parametrize("norm", ["l1", "linf"])
def test_the_nearest_point_where_the_solver_finds_none(
    norm: Literal["l1", "linf"], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within 1e-10 of a corner HiGHS may find no optimum; shares and a face are there still."""
    X = pd.DataFrame({"a": [0, 4], "b": [0.0, 1.0]})
    coordinates = tuple(
        coordinate
        for feature in FeatureSpace.infer(X, kinds={"a": "integer", "b": "real"}, resolution=None)
        for _, coordinate in coordinates_of(feature)
    )
    corners = np.array([[0.0, 0.0], [1.0, 1.0]])
    hull = Hull(coordinates, corners, Fraction(0), norm, Fraction(0), X)
    monkeypatch.setattr(HullProgram, "solve", lambda *_: None)
    found = nearest(hull, np.array([1.0, 1.0]) + 1e-10)
    assert hull.points[list(found.rows)].T @ found.shares == pytest.approx([1.0, 1.0], abs=1e-6)
    assert (hull.points @ found.face.normal <= found.face.support).all()


def test_a_change_that_tolerances_make_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """A number 10^-10 away from its own, as programs may have it, does not count as changed."""
    model, accepted, refused = boosted(grid=False)
    nearest, moved = Branching._nearest, list[Fraction]()

    def nudged(self: Branching, *given: Any) -> Any:
        point, own = nearest(self, *given), self.formulator.query.factual["r"]
        if point is not None and abs(point["r"] - own) < 1e-9:
            point["r"] = own - Fraction(1, 10**10)
            moved.append(point["r"])
        return point

    monkeypatch.setattr(Branching, "_nearest", nudged)
    rules = [region_of(accepted.head(20)), cfxc.MaxChanges(2)]
    for i in range(8):
        row = refused.iloc[[i]]
        result = model.explain(row, target=1, distance="l1", subject_to=rules)
        assert result.status in ("optimal", "infeasible")
        before, after = result.changes.get("r", (0.0, 1.0))
        assert abs(before - after) > 1e-9
    assert moved


def test_what_tolerances_moved_is_put_back_and_nothing_else() -> None:
    model, _, refused = boosted(grid=False)
    own = model.space.encode_row(refused.iloc[[1]])
    query = make_query(model.program, model.space, own, target=1)
    near = {**own, "r": own["r"] + Fraction(1, 10**10), "w": own["w"] + 1, "c": "x"}
    assert settled(query, near, own) == {**near, "r": own["r"]}
    far = {**own, "r": own["r"] + Fraction(1, 10**8)}
    assert settled(query, far, own) == far


def test_neighbours_on_a_grid_are_not_put_back() -> None:
    rows = pd.DataFrame({"n": [0, 10**12], "u": [0.0, 1.0]})
    line = DecisionTreeClassifier().fit(rows, [0, 1])
    whole = Feature("n", "integer", lower=0, upper=10**12)
    space = FeatureSpace((whole, Feature("u", "real", lower=0, upper=1)))
    model = cfxc.compile(line, space)
    own = model.space.encode_row(pd.DataFrame({"n": [10**11], "u": [0.25]}))
    query = make_query(model.program, model.space, own, target=1, may_hold=True)
    near = {**own, "n": own["n"] + 1}
    assert settled(query, near, own) == near


@pytest.mark.parametrize("used", [(), (1,), (0, 2), (0, 1, 2, 3)])
def test_a_direction_along_all_rows(used: tuple[int, ...]) -> None:
    rng = np.random.default_rng(len(used))
    normal = np.zeros(4)
    normal[list(used)] = rng.normal(size=len(used))
    coordinates = (
        tuple(
            coordinate for _, coordinate in coordinates_of(Feature("a", "real", lower=0, upper=1))
        )
        * 4
    )
    hull = Hull(
        coordinates, np.asfortranarray(rng.random((50, 4))), None, "l1", Fraction(0), pd.DataFrame()
    )
    assert hull.along(normal) == pytest.approx(hull.points @ normal, abs=1e-15)
    assert hull.support(normal) >= (hull.points @ normal).max()


def test_what_is_left_open_the_whole_program_closes(monkeypatch: pytest.MonkeyPatch) -> None:
    model, row, region = small_question()
    asked = {"target": 1, "distance": "l1", "subject_to": [region]}
    expected = model.explain(row, **asked)
    monkeypatch.setattr(TreeBranching, "run", lambda *_: Ending("limit", Fraction(0), 1))
    result = model.explain(row, **asked)
    assert result.status == expected.status == "optimal"
    assert abs(result.distance - expected.distance) <= 1e-3 * expected.distance


def random_leaves(rng: np.random.Generator) -> Leaves:
    """Trees over two numbers and a category of three labels, each cut at one or two places."""
    first, start, feature = [0], [0], list[int]()
    least, most, labels, value = list[float](), list[float](), list[int](), list[float]()
    for _ in range(4):
        j, cut = int(rng.integers(0, 3)), int(rng.integers(0, 5))
        sides = [(-np.inf, cut), (cut + 1, np.inf)] if j < 2 else [(-np.inf, np.inf)] * 2
        own = int(rng.integers(1, 7))
        for side, (low, high) in enumerate(sides):
            feature.append(j)
            least.append(low)
            most.append(high)
            labels.append((own if side == 0 else 7 - own) if j == 2 else 0)
            value.append(float(rng.integers(-3, 4)))
            start.append(len(feature))
        first.append(len(value))
    lows, highs = np.array(least), np.array(most)
    return Leaves(
        np.array([False, False, True]), np.array(first), np.array(start), np.array(feature),
        np.where(np.isinf(lows), lows, lows - 0.5), highs, lows, highs,
        np.array(labels, dtype=np.uint64)[:, None], np.array([value]), np.array([2.0]),
        np.array([2.0]),
    )  # fmt: skip


def total_at(leaves: Leaves, point: tuple[int, int, int]) -> float:
    total = 0.0
    for tree in range(leaves.first.size - 1):
        for leaf in range(leaves.first[tree], leaves.first[tree + 1]):
            c = leaves.start[leaf]
            j = int(leaves.feature[c])
            bit = int(leaves.labels[c, 0]) >> point[j] & 1
            if bit if j == 2 else leaves.least[c] <= point[j] <= leaves.most[c]:
                total += leaves.value[0, leaf]
    return total


@pytest.mark.parametrize("seed", range(60))
def test_no_point_that_suffices_is_cut_off(seed: int) -> None:
    """All points within the budget that reach the sum stay in the box; sums are those of trees."""
    rng = np.random.default_rng(seed)
    leaves = random_leaves(rng)
    point = np.array([rng.integers(0, 6), rng.integers(0, 6), rng.integers(0, 3)], dtype=float)
    up, down = rng.random(3), rng.random(3)
    worths = np.zeros((3, 64))
    worths[2, :3] = rng.random(3)
    worths[2, int(point[2])] = 0.0
    box = Box(
        np.zeros(3), np.array([5.0, 5.0, 0.0]), np.array([[0], [0], [7]], dtype=np.uint64),
        point, up, down, worths, float(rng.random() * 2),
    )  # fmt: skip
    sums, *_ = look_at_leaves(leaves, box)
    assert sums[0] == total_at(leaves, tuple(int(one) for one in point))
    left = cut_leaves(leaves, box)
    for a, b, c in product(range(6), range(6), range(3)):
        cost = worths[2, c]
        for j, value in enumerate((a, b)):
            away = value - point[j]
            cost += up[j] * away if away > 0 else -down[j] * away
        if cost <= box.budget and total_at(leaves, (a, b, c)) >= 2:
            assert left
            assert box.low[0] <= a <= box.high[0]
            assert box.low[1] <= b <= box.high[1]
            assert int(box.allowed[2, 0]) >> c & 1


def test_nodes_take_turns() -> None:
    """The least bound, then what is near the target; without lags always the least bound."""
    nodes = OpenNodes()
    for bound, lag in ((1.0, 1.0), (1.1, 0.0), (1.2, 0.5)):
        nodes.push(bound, (np.array([bound]), np.array([bound])), lag)
    assert [nodes.pop()[0] for _ in range(3)] == [1.1, 1.0, 1.2]
    assert nodes.least == np.inf
    plain = OpenNodes()
    for bound in (2.0, 1.0, 3.0):
        plain.push(bound, (np.array([bound]), np.array([bound])))
    assert [plain.pop()[0] for _ in range(3)] == [1.0, 2.0, 3.0]


def test_children_are_gone_down_to() -> None:
    """A way down ends where a node has no children; then others have as many turns."""
    nodes, ends = OpenNodes(), (np.zeros(1), np.zeros(1))
    for bound in (1.0, 2.0, 2.5, 2.7, 3.0):
        nodes.push(bound, ends, 1.0)
    taken = list[float]()
    for below in (7.0, 8.0, None, None, None, None):
        taken.append(nodes.pop()[0])
        if below is not None:
            nodes.push(below, ends, 1.0)
    assert taken == [1.0, 7.0, 8.0, 2.0, 2.5, 2.7]


@pytest.mark.parametrize("grid", [True, False])
def test_fewer_changes_by_l1_first(grid: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an exact hull that is not closed at once; the fewest are what they were."""
    model, accepted, refused = boosted(grid=grid)
    region = TrustRegion(accepted, np.ones(len(accepted)), epsilon=0)
    rows = [refused.iloc[[i]].assign(r=0.25) for i in range(6)]
    known = [model.explain(row, target=1, distance="l0", subject_to=[region]) for row in rows]
    found = list[tuple[float, float]]()
    sparser = engine._InHulls._sparser

    def seen(self: Any, part: Any, end: float, outcome: Any) -> None:
        before = outcome.best
        sparser(self, part, end, outcome)
        ends = (math.inf if one is None else float(one.distance) for one in (before, outcome.best))
        found.append((next(ends), next(ends)))

    monkeypatch.setattr(engine._InHulls, "_sparser", seen)
    monkeypatch.setattr(engine, "BRIEF", 0.0)
    for row, before in zip(rows, known, strict=True):
        result = model.explain(row, target=1, distance="l0", subject_to=[region])
        assert (result.status, result.distance) == ("optimal", before.distance)
    assert len(found) == len(rows)
    assert all(after <= before for before, after in found)
    assert any(after < before for before, after in found)


def test_broken_off_under_l1_all_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the search before proved, and the point that is met under l1."""
    model, accepted, refused = boosted(grid=True)
    region = TrustRegion(accepted, np.ones(len(accepted)), epsilon=0)
    row = refused.iloc[[0]].assign(r=0.25)
    known = model.explain(row, target=1, distance="l0", subject_to=[region])
    search = engine._InHulls._search

    def brief(self: Any, part: Any, end: float, outcome: Any, seeds: Any) -> None:
        search(self, part, end, outcome, seeds)
        outcome.best, outcome.reason = None, engine.LIMIT

    def broken(self: Any, seeds: Any) -> None:
        run(self, seeds)
        self.outcome.reason = engine.INTERRUPTED

    run = engine.ProgramSearch.run
    monkeypatch.setattr(engine._InHulls, "_search", brief)
    monkeypatch.setattr(engine.ProgramSearch, "run", broken)
    result = model.explain(row, target=1, distance="l0", subject_to=[region])
    assert (result.distance, result.lower_bound) == (known.distance, known.lower_bound)

    def stopped(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(engine, "_asked_by", stopped)
    result = model.explain(row, target=1, distance="l0", subject_to=[region])
    assert result.lower_bound == known.lower_bound


def test_ways_down_end_where_others_have_waited_long() -> None:
    nodes, ends = OpenNodes(), (np.zeros(1), np.zeros(1))
    nodes.push(1.0, ends, 1.0)
    nodes.push(2.0, ends, 1.0)
    taken = list[float]()
    for _ in range(2 * DEEP):
        taken.append(nodes.pop()[0])
        nodes.push(9.0, ends, 1.0)
    assert taken.index(2.0) <= DEEP + 3

"""Counterfactuals within hulls of rows, beside enumeration and an oracle that sees all rows."""

from __future__ import annotations

import pickle
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import DBSCAN, AgglomerativeClustering
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import cfxc
from cfxc import Feature, FeatureSpace, TrustRegion
from cfxc.question.query import Query
from cfxc.solvers.base import Candidate, Deployed, Point, verify
from cfxc.solvers.hulls import slack_of
from cfxc.solvers.mio import cutting_planes
from tests.solvers.mio.hull_oracle import away

LEVELS = ("low", "mid", "high")
SPACE = FeatureSpace(
    (
        Feature("a", "integer", lower=0, upper=8),
        Feature("b", "real", lower=-2, upper=2, resolution="0.5"),
        Feature("c", "categorical", labels=("u", "v", "w")),
        Feature("d", "ordinal", labels=LEVELS),
        Feature("e", "binary", labels=("no", "yes")),
    )
)
GRID = pd.DataFrame(
    product(range(9), np.arange(-2, 2.5, 0.5), "uvw", LEVELS, ("no", "yes")), columns=list("abcde")
)
RNG = np.random.default_rng(0)
X = GRID.sample(500, random_state=0, replace=True).reset_index(drop=True)
X = X[np.abs(X.a / 8 - 0.25 * X.b - 0.5) < 0.45].reset_index(drop=True)  # a band, no box


def worth(table: pd.DataFrame) -> pd.Series:
    own = table.a * 0.35 + table.b + 1.2 * (table.c == "v") + 0.5 * (table.e == "yes")
    return own + 0.4 * table.d.map(LEVELS.index)


Y = (worth(X) + RNG.normal(0, 0.3, len(X)) > 2.4).astype(int)
MODELS = {
    "logistic": LogisticRegression(),
    "svm": LinearSVC(random_state=0),
    "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    "forest": RandomForestClassifier(7, max_depth=4, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=5, max_depth=3, random_state=0),
    "network": MLPClassifier((6,), max_iter=400, random_state=0),
}


def fitted(name: str) -> cfxc.CompiledModel:
    encoder = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["c", "e"]),
        (OneHotEncoder(categories=[list(LEVELS)], sparse_output=False), ["d"]),
        remainder="passthrough",
    )
    return cfxc.compile(make_pipeline(encoder, MODELS[name]).fit(X, Y), SPACE)


COMPILED = {name: fitted(name) for name in MODELS}


def vectors(table: pd.DataFrame) -> np.ndarray:
    """Coordinates by definition: shares of ranges, places of orders, indicators."""
    parts = [table.a / 8, table.b / 4, *((table.c == one).astype(float) for one in "uvw")]
    parts += [table.d.map(LEVELS.index) / 2, (table.e == "yes").astype(float)]
    return np.column_stack(parts)


def distances(name: str, row: pd.DataFrame, table: pd.DataFrame) -> np.ndarray:
    """Of all rows of a table, by definition."""
    own = row.iloc[0]
    delta = np.column_stack(
        [
            np.abs(table.a - own.a) / 8, np.abs(table.b - own.b) / 4, table.c != own.c,
            np.abs(table.d.map(LEVELS.index) - LEVELS.index(own.d)) / 2, table.e != own.e,
        ]
    ).astype(float)  # fmt: skip
    return {
        "l0": (delta > 0).mean(axis=1),
        "l1": delta.mean(axis=1),
        "l2": np.sqrt((delta**2).mean(axis=1)),
        "linf": delta.max(axis=1),
    }[name]


def person(model: cfxc.CompiledModel, number: int) -> pd.DataFrame:
    return X[model.predict(X) == 0].iloc[[number]]


def nearest(
    model: cfxc.CompiledModel, row: pd.DataFrame, points: np.ndarray, region: TrustRegion,
    distance: str, allowed: np.ndarray | None = None,
) -> float | None:  # fmt: skip
    """The least d + β ||s|| of the grid's points in the target and in the region."""
    fits = model.predict(GRID) == 1
    if allowed is not None:
        fits &= allowed
    table = GRID[fits]
    own, z = distances(distance, row, table), vectors(table)
    limit = np.inf if region.epsilon is None else float(region.epsilon) + 1e-6
    best = None
    for i in np.argsort(own, kind="stable"):
        if best is not None and own[i] >= best:
            break
        slack = away(points, z[i], region.norm)
        if slack <= limit + 1e-7:
            value = own[i] + float(region.weight) * slack
            best = value if best is None else min(best, value)
    return best


def agrees(result: cfxc.Result, truth: float | None) -> None:
    if truth is None:
        assert result.status == "infeasible"
        return
    assert result.status == "optimal", (result, result.reason)
    assert result.lower_bound <= truth + 1e-6
    assert truth - 1e-6 <= result.distance <= truth + 1e-3 + 1e-6


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    ("norm", "epsilon"), [("l1", 0.0), ("linf", 0.05), ("l1", 0.2), ("l2", 0.1)]
)
def test_the_nearest_point_of_a_hull(name: str, norm: str, epsilon: float) -> None:
    model = COMPILED[name]
    rows = X.sample(40, random_state=1)
    region = TrustRegion(rows, epsilon=epsilon, norm=norm)
    points = vectors(rows[model.predict(rows) == 1])
    for number, distance in enumerate(("l0", "l1", "l2", "linf")):
        row = person(model, 3 * number)
        result = model.explain(row, target=1, distance=distance, subject_to=[region])
        agrees(result, nearest(model, row, points, region, distance))
        assert result.lower_bound_proof == "solver"
        assert result.counterfactual is not None
        assert away(points, vectors(result.counterfactual)[0], norm) <= epsilon + 1e-5


@pytest.mark.parametrize("name", ["logistic", "tree", "network"])
@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_the_slack_may_cost(name: str, norm: str) -> None:
    """β ||s||, with no other limit: the distance is that of both."""
    model, rows = COMPILED[name], X.sample(30, random_state=2)
    region = TrustRegion(rows, epsilon=float("inf"), norm=norm, weight=0.4)
    points, row = vectors(rows[model.predict(rows) == 1]), person(model, 2)
    for distance in ("l1", "l0"):
        result = model.explain(row, target=1, distance=distance, subject_to=[region])
        agrees(result, nearest(model, row, points, region, distance))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("clusters", [3, AgglomerativeClustering(4), DBSCAN(0.6, min_samples=3)])
@pytest.mark.parametrize("number", range(3))
def test_unions_of_clusters(number: int, clusters: object) -> None:
    """In one hull of a cluster at least; noise belongs to none."""
    model, rows = COMPILED["boosting"], X.sample(50, random_state=3)
    region = TrustRegion(rows, clusters=clusters)
    inside = vectors(rows[model.predict(rows) == 1])
    row = person(model, number)
    result = model.explain(row, target=1, subject_to=[region])
    hulls = result.evidence.query.hulls
    assert 1 < len(hulls) <= 8
    own = [vectors(hull.table) for hull in hulls]
    assert all(any((z == one).all() for one in inside) for points in own for z in points)
    found = [nearest(model, row, points, region, "l1") for points in own]
    agrees(result, min((one for one in found if one is not None), default=None))


def test_with_everything_else() -> None:
    """Constraints, caps, causes, actions, and several answers."""
    space = FeatureSpace(
        tuple(
            Feature(**{**vars_of(f), "action": "increase"}) if f.name == "a" else f for f in SPACE
        )
    )
    model = cfxc.compile(COMPILED["svm"].predictor.estimator, space)
    rows = X.sample(60, random_state=4)
    region = TrustRegion(rows, epsilon=0.1)
    points, row = vectors(rows[model.predict(rows) == 1]), person(model, 1)
    own = row.iloc[0]
    changed = np.column_stack([GRID[name] != own[name] for name in GRID]).sum(axis=1)
    allowed = (GRID.a >= own.a) & (GRID.b <= 1) & (changed <= 3)
    asked = {"target": 1, "subject_to": [region, "x.b <= 1", cfxc.MaxChanges(3)]}
    first = model.explain(row, **asked, count=3)
    agrees(first, nearest(model, row, points, region, "l1", allowed.to_numpy()))
    every = [first, *first.alternatives]
    assert len({tuple(one.counterfactual.iloc[0]) for one in every}) == 3
    for one in every:
        assert away(points, vectors(one.counterfactual)[0], "l1") <= 0.1 + 1e-5
    moved = cfxc.Causal({"b": (LinearRegression().fit(X[["a"]], X.b), ["a"])})
    found = model.explain(row, target=1, subject_to=[moved, region])
    assert found.status in ("optimal", "infeasible")


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("name", ["logistic", "forest"])
def test_rows_that_constraints_leave(name: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = list[str]()

    def asked(query: Query, point: Point, deployed: Deployed) -> Candidate | None:
        broken.extend(query.rules.violated(point))
        return verify(query, point, deployed)

    monkeypatch.setattr(cutting_planes, "verify", asked)
    model, rows = COMPILED[name], X.sample(60, random_state=5)
    region, rows = TrustRegion(rows, epsilon=0.1), rows[model.predict(rows) == 1]
    for number in range(3):
        row = person(model, number)
        changes = GRID.ne(row.iloc[0]).sum(axis=1).to_numpy()
        result = model.explain(row, target=1, subject_to=[region, cfxc.MaxChanges(most)])
        agrees(result, nearest(model, row, vectors(rows), region, "l1", changes <= most))
    assert not broken  # what a look at all rows has left out is not asked about again


def vars_of(feature: Feature) -> dict[str, object]:
    return {name: getattr(feature, name) for name in feature.__dataclass_fields__}


def test_infeasible_and_what_to_give_up() -> None:
    model = COMPILED["tree"]
    row = person(model, 0)
    far = TrustRegion(GRID[(GRID.a == 8) & (GRID.b == 2) & (GRID.c == "v")])
    none = model.explain(row, target=1, subject_to=['x.c != "v"', far])
    assert none.status == "infeasible"
    assert any("TrustRegion" in rule for rule in none.conflict)
    assert none.relaxed is not None


def test_other_engines_are_refused() -> None:
    model = COMPILED["tree"]
    region, row = TrustRegion(X), person(model, 0)
    for method in ("box", "smt"):
        with pytest.raises(cfxc.UnsupportedError, match="trust region"):
            model.explain(row, target=1, subject_to=[region], method=method)


@pytest.mark.parametrize("bad", [
    {"epsilon": -1}, {"epsilon": float("nan")}, {"epsilon": "much"}, {"norm": "l3"},
    {"clusters": 0}, {"clusters": True}, {"clusters": "many"}, {"weight": -0.1}, {"y": [1, 2]},
])  # fmt: skip
def test_bad_arguments(bad: dict[str, object]) -> None:
    with pytest.raises(cfxc.CfxcError):
        TrustRegion(X, **bad)


def test_bad_rows() -> None:
    model = COMPILED["tree"]
    row = person(model, 0)
    asked = {"target": 1}
    with pytest.raises(cfxc.DataTypeError):
        TrustRegion(X.to_numpy())
    with pytest.raises(cfxc.DataTypeError):
        TrustRegion(X.iloc[:0])
    with pytest.raises(cfxc.DataTypeError):
        model.explain(row, subject_to=[X], **asked)
    with pytest.raises(cfxc.MissingColumnError):
        model.explain(row, subject_to=[TrustRegion(X.drop(columns="a"))], **asked)
    with pytest.raises(cfxc.InvalidInputError, match="no row"):
        model.explain(row, subject_to=[TrustRegion(X[model.predict(X) == 0])], **asked)
    with pytest.raises(cfxc.InvalidInputError, match="no row"):
        model.explain(row, subject_to=[TrustRegion(X, y=np.zeros(len(X), int))], **asked)


def test_rows_of_one_model_are_not_those_of_another() -> None:
    """A region asked about two models takes the rows that each of them accepts."""
    region = TrustRegion(X)
    for name in ("tree", "network", "tree"):
        model = COMPILED[name]
        row = person(model, 0)
        hulls = model.explain(row, target=1, subject_to=[region]).evidence.query.hulls
        accepted = X[model.predict(X) == 1].drop_duplicates()
        assert len(hulls[0].table) == len(accepted)
    again = pickle.loads(pickle.dumps(region))
    assert repr(again) == repr(region) == f"TrustRegion({len(X)} rows)"


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_slack_of_points(norm: str) -> None:
    """How far points are, beside the oracle; corners are inside."""
    model, rows = COMPILED["tree"], X.sample(30, random_state=5)
    region = TrustRegion(rows, epsilon=float("inf"), norm=norm)
    query = model.explain(person(model, 0), target=1, subject_to=[region]).evidence.query
    points = vectors(query.hulls[0].table)
    for i in RNG.integers(0, len(GRID), 20):
        row = GRID.iloc[[i]]
        found = float(slack_of(query, SPACE.encode_row(row)))
        assert found == pytest.approx(away(points, vectors(row)[0], norm), abs=2e-6)
    for i in range(len(points)):
        point = SPACE.encode_row(query.hulls[0].table.iloc[[i]])
        assert slack_of(query, point) < 1e-12


def test_batches() -> None:
    """Everybody gets the answer that they get alone, in other processes too."""
    model, region = COMPILED["logistic"], TrustRegion(X, epsilon=0.05)
    people = X[model.predict(X) == 0].iloc[:4]
    table = model.explain_batch(people, target=1, subject_to=[region], n_jobs=2)
    for i in range(len(people)):
        alone = model.explain(people.iloc[[i]], target=1, subject_to=[region])
        assert table.status.iloc[i] == alone.status == "optimal"
        assert abs(table.distance.iloc[i] - alone.distance) <= 1e-3


@pytest.mark.parametrize("far", [0, 2**29, 2**33, 2**45])
def test_numbers_far_from_zero_beside_their_range(far: int) -> None:
    """Doubles tell few of them apart where coordinates begin at 0, not at the least."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.integers(0, 9, (60, 3)), columns=list("tuv"))
    y = (rows.t + rows.u - rows.v + rng.normal(size=60) > 5).astype(int)
    moved = rows.assign(t=rows.t + far)
    model = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=4, random_state=0))
    accepted = model.fit(moved, y).predict(moved)
    whole = [
        Feature(name, "integer", lower=low, upper=low + 8)
        for name, low in (("t", far), ("u", 0), ("v", 0))
    ]
    compiled = cfxc.compile(model, FeatureSpace(tuple(whole)))
    for i in range(3):
        row = moved[accepted == 0].iloc[[i]]
        result = compiled.explain(row, target=1, subject_to=[TrustRegion(moved, accepted)])
        nearest = (np.abs(moved - row.iloc[0]) / 8).mean(axis=1)[accepted == 1].min()
        assert result.status == "optimal"
        assert result.distance <= nearest * (1 + 1e-9)
        assert (result.counterfactual.t >= far).all()

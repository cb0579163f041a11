"""Numbers that an answer may fill in or lose: every row of small spaces, asked of the model."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier

import cfxc
from cfxc.errors import InvalidInputError, UnsupportedError

NORMS = ("l0", "l1", "linf", "l2")


def people(count: int = 400, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    """Three numbers, of which two have gaps; ``c`` has two values, and both may be missing."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": rng.integers(0, 4, count).astype(float),
            "b": (rng.integers(0, 5, count) / 10).round(1),
            "c": rng.integers(2, 5, count),
        }
    )
    worth = X["a"] + 10 * X["b"] - 2 * X["c"] + rng.normal(0, 1, count)
    y = (worth > -2).astype(int)
    for name, share in (("a", 0.25), ("b", 0.25)):
        gone = rng.random(count) < share
        X.loc[gone, name] = np.nan
        y[gone & (rng.random(count) < 0.7)] = int(name == "b")  # so that gaps tell something
    return X, y


X, Y = people()
BASE = cfxc.FeatureSpace.infer(X, kinds={"a": "integer", "b": "real", "c": "integer"})
STEPS = {"a": range(4), "b": [k / 10 for k in range(5)], "c": range(2, 5)}

TREES: dict[str, Callable[[], Any]] = {
    "histograms": lambda: HistGradientBoostingClassifier(max_iter=12, min_samples_leaf=4),
    "xgboost": lambda: XGBClassifier(n_estimators=8, max_depth=3),
    "lightgbm": lambda: LGBMClassifier(n_estimators=8, min_child_samples=4, verbose=-1),
    "forest": lambda: RandomForestClassifier(8, max_depth=4, random_state=0),
    "filled, forest": lambda: make_pipeline(
        SimpleImputer(add_indicator=True), RandomForestClassifier(8, max_depth=4, random_state=0)
    ),
}
OTHERS: dict[str, Callable[[], Any]] = {
    "filled, linear": lambda: make_pipeline(
        SimpleImputer(strategy="median", add_indicator=True), StandardScaler(), LogisticRegression()
    ),
    "network": lambda: make_pipeline(
        SimpleImputer(),
        StandardScaler(),
        MLPClassifier((4,), max_iter=400, random_state=0),
    ),
}


def space_of(missing: str, **changes: Any) -> cfxc.FeatureSpace:
    space = BASE
    for name in ("a", "b"):
        space = space.replace(name, missing=missing)
    for name, change in changes.items():
        space = space.replace(name, **change)
    return space


def grid() -> pd.DataFrame:
    values = [[*STEPS["a"], math.nan], [*STEPS["b"], math.nan], [*STEPS["c"]]]
    rows = pd.DataFrame(list(itertools.product(*values)), columns=list(STEPS))
    return rows.astype(X.dtypes.to_dict())


GRID = grid()


def may_be(feature: cfxc.Feature, own: float, there: pd.Series[Any]) -> Any:
    """Which of some values a feature may take, by the words of its documentation."""
    gone, missing = there.isna(), math.isnan(own)
    if feature.action == "fixed":
        return gone if missing else there == own
    if missing:
        return gone | (feature.missing in ("may fill", "free"))
    numbers = ~gone
    if feature.action == "increase":
        numbers &= there >= own
    if feature.action == "decrease":
        numbers &= there <= own
    return numbers | (gone & (feature.missing == "free"))


def share(feature: cfxc.Feature, own: float, there: pd.Series[Any]) -> Any:
    """δ_j: 1 of a gap that is filled or made."""
    gone, missing = there.isna().to_numpy(), math.isnan(own)
    size = float(feature.range)
    away = (there - own).abs().fillna(0).to_numpy() / size if size else np.zeros(len(there))
    return np.where(gone != missing, 1.0, away)


def distances(space: cfxc.FeatureSpace, own: pd.Series[Any], norm: str) -> Any:
    deltas = np.array([share(f, float(own[f.name]), GRID[f.name]) for f in space])
    weights = np.array([float(feature.weight) for feature in space])[:, None]
    shares = weights / weights.sum()
    if norm == "l0":
        return ((deltas > 1e-12) * shares).sum(axis=0)
    if norm == "l1":
        return (deltas * shares).sum(axis=0)
    if norm == "l2":
        return np.sqrt((deltas**2 * shares).sum(axis=0))
    return (deltas * weights / weights.max()).max(axis=0)


def nearest(
    model: Any,
    space: cfxc.FeatureSpace,
    own: pd.Series[Any],
    norm: str,
    holds: Callable[[pd.DataFrame, pd.Series[Any]], Any] | None = None,
) -> float | None:
    """The distance of the nearest row of the grid that the deployed model puts in the target."""
    inside = model.predict(GRID) == 1
    for feature in space:
        inside &= may_be(feature, float(own[feature.name]), GRID[feature.name]).to_numpy()
    if holds is not None:
        inside &= np.asarray(holds(GRID, own), dtype=bool)
    return float(distances(space, own, norm)[inside].min()) if inside.any() else None


def agree(
    compiled: cfxc.CompiledModel,
    model: Any,
    rows: pd.DataFrame,
    methods: Sequence[str],
    norm: str = "l1",
    subject_to: Sequence[Any] = (),
    holds: Any = None,
    certified: bool = True,
) -> int:
    """Every engine gives the distance of brute force; how many answers fill in or lose numbers."""
    changed = 0
    for place in range(len(rows)):
        row = rows.iloc[[place]]
        best = nearest(model, compiled.space, rows.iloc[place], norm, holds)
        for method in methods:
            found = compiled.explain(
                row, target=1, method=method, distance=norm, epsilon=1e-9, subject_to=subject_to
            )
            where = (row.to_dict("records"), method, norm)
            if best is None:
                assert found.status == "infeasible", where
            else:
                assert found.status == "optimal", where
                assert found.distance == pytest.approx(best, abs=1e-9), where
                answer = found.counterfactual
                assert answer is not None
                assert model.predict(answer)[0] == 1
                assert answer.dtypes.equals(row.dtypes)
                changed += bool((answer.isna() != row.isna()).to_numpy().any())
            if certified and method == "box":
                checked = cfxc.check(found.certificate)
                assert checked.ok, (where, checked)
    return changed


def refused(model: Any, count: int) -> pd.DataFrame:
    """Rows that lack the outcome, those with gaps first."""
    rows = X[model.predict(X) == 0].drop_duplicates()
    gaps = rows[["a", "b"]].isna().any(axis=1)
    half = count - count // 3
    return pd.concat([rows[gaps].iloc[:half], rows[~gaps].iloc[: count - half]])


@pytest.fixture(scope="module", params=list(TREES))
def tree(request: pytest.FixtureRequest) -> Any:
    return TREES[request.param]().fit(X, Y)


@pytest.mark.parametrize("missing", ["may fill", "free"])
def test_trees_by_brute_force(tree: Any, missing: str) -> None:
    compiled = cfxc.compile(tree, space_of(missing))
    rows = refused(tree, 9)
    changed = 0
    for norm in NORMS:
        changed += agree(compiled, tree, rows, ["box"], norm)
    assert changed or missing == "may fill"
    agree(compiled, tree, rows.iloc[[0, -1]], ["smt", "mio"], "l1")


@pytest.mark.parametrize("method", ["smt", "mio"])
@pytest.mark.parametrize("norm", NORMS)
def test_engines_agree(method: str, norm: str) -> None:
    model = TREES["xgboost"]().fit(X, Y)
    compiled = cfxc.compile(model, space_of("free", a={"weight": 2}))
    agree(compiled, model, refused(model, 6), [method], norm)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", list(OTHERS))
def test_what_computes_with_numbers(name: str, norm: str) -> None:
    model = OTHERS[name]().fit(X, Y)
    for missing in ("may fill", "free"):
        compiled = cfxc.compile(model, space_of(missing))
        agree(compiled, model, refused(model, 4), ["mio", "smt"], norm)


@pytest.mark.parametrize("action", ["increase", "decrease", "fixed"])
def test_one_way_and_fixed(tree: Any, action: str) -> None:
    compiled = cfxc.compile(tree, space_of("free", a={"action": action}, c={"action": "fixed"}))
    agree(compiled, tree, refused(tree, 9), ["box"], "l1")


CONDITIONS: dict[str, Any] = {
    "a >= 2": lambda x, own: x["a"] >= 2,
    "a <= 3 && c >= factual.c": lambda x, own: (x["a"] <= 3) & (x["c"] >= own["c"]),
    "c > 3 -> b >= 0.2": lambda x, own: x["b"].notna() & ((x["c"] <= 3) | (x["b"] >= 0.2)),
    "!(a > 1)": lambda x, own: x["a"] <= 1,
}


@pytest.mark.parametrize("text", list(CONDITIONS))
def test_conditions_hold_where_their_numbers_are_there(text: str) -> None:
    model = TREES["histograms"]().fit(X, Y)
    compiled = cfxc.compile(model, space_of("free"))
    rows = refused(model, 6)
    agree(compiled, model, rows, ["box"], "l1", [text], CONDITIONS[text])
    agree(compiled, model, rows.iloc[:2], ["smt"], "l1", [text], CONDITIONS[text])


def test_conditional_features() -> None:
    """They change, fill in or lose a number only where the condition is known to hold."""
    model = TREES["histograms"]().fit(X, Y)
    space = space_of("free", c={"action": "conditional", "condition": "a >= 2"})
    space = space.replace("b", action="conditional", condition="c >= 3")

    def holds(x: pd.DataFrame, own: pd.Series[Any]) -> Any:
        same = (x["b"] == own["b"]) | (x["b"].isna() & pd.isna(own["b"]))
        return ((x["a"] >= 2) | (x["c"] == own["c"])) & ((x["c"] >= 3) | same)

    agree(cfxc.compile(model, space), model, refused(model, 9), ["box"], "l1", (), holds)


def test_at_most_so_many_changes() -> None:
    model = TREES["lightgbm"]().fit(X, Y)
    compiled = cfxc.compile(model, space_of("free"))

    def few(x: pd.DataFrame, own: pd.Series[Any]) -> Any:
        moved = np.array([share(f, float(own[f.name]), x[f.name]) > 0 for f in BASE])
        return moved.sum(axis=0) <= 1

    agree(compiled, model, refused(model, 9), ["box"], "l1", [cfxc.MaxChanges(1)], few)


def test_a_number_with_one_value() -> None:
    """Its range is 0, and filling it in is a change all the same."""
    rng = np.random.default_rng(3)
    table = pd.DataFrame(
        {"a": np.where(rng.random(200) < 0.5, 1.0, np.nan), "c": rng.integers(2, 5, 200)}
    )
    wanted = (table["a"].isna() ^ (table["c"] > 3)).astype(int)
    model = HistGradientBoostingClassifier(max_iter=20, min_samples_leaf=4).fit(table, wanted)
    space = cfxc.FeatureSpace.infer(table, kinds={"a": "integer", "c": "integer"})
    compiled = cfxc.compile(model, space.replace("a", missing="free").replace("c", action="fixed"))
    for place in (0, 1):
        row = table[model.predict(table) == 0].iloc[[place]]
        for method in ("box", "smt", "mio"):
            found = compiled.explain(row, target=1, method=method, distance="l1")
            assert found.distance == 0.5
            assert found.status == "optimal"
        assert cfxc.check(found.certificate).ok


def test_a_condition_on_a_missing_factual_has_no_meaning() -> None:
    model = TREES["histograms"]().fit(X, Y)
    compiled = cfxc.compile(model, space_of("may fill"))
    rows = refused(model, 6)
    lacking = rows[rows["a"].isna()].iloc[[0]]
    with pytest.raises(InvalidInputError, match="'a', which is missing in this instance"):
        compiled.explain(lacking, target=1, subject_to=["a >= factual.a"])
    with pytest.raises(InvalidInputError, match="'a', which is missing in this instance"):
        compiled.explain(lacking, target=1, subject_to=[cfxc.Causal({"c": "a + 1"})])
    whole = rows[rows["a"].notna()].iloc[[0]]
    open_ = cfxc.compile(model, space_of("free"))
    with pytest.raises(InvalidInputError, match=r"an answer may lose.*missing = true"):
        open_.explain(whole, target=1, subject_to=[cfxc.Causal({"c": "a + 1"})])


def test_a_distance_of_ones_own() -> None:
    """δ is 1 of what is filled in; the number itself has no value where it is missing."""
    model = TREES["histograms"]().fit(X, Y)
    compiled = cfxc.compile(model, space_of("free"))
    rows = refused(model, 3)
    plain = "program d(delta: Real[J]) { return (delta[1] + delta[2] + delta[3]) / J }"
    del plain
    for place in range(len(rows)):
        row = rows.iloc[[place]]
        best = nearest(model, compiled.space, rows.iloc[place], "l1")
        found = compiled.explain(row, target=1, distance=OWN, epsilon=1e-9)
        assert found.distance == pytest.approx(best, abs=1e-9)
    with pytest.raises(InvalidInputError, match="the distance reads 'a'"):
        compiled.explain(rows.iloc[[0]], target=1, distance=READS)


OWN = "return delta[1] / 3 + max(delta[2], 0) / 3 + delta[3] / 3"
READS = "return delta[1] + x.a"


def test_ramps_beside_trees_are_refused_by_box_search() -> None:
    """A linear function of what may be filled in is for other engines, which agree."""
    model = OTHERS["filled, linear"]().fit(X, Y)
    compiled = cfxc.compile(model, space_of("free"))
    with pytest.raises(UnsupportedError, match="method 'box'"):
        compiled.explain(refused(model, 1), target=1, method="box")


def test_several_answers_and_batches() -> None:
    """Answers differ where one has a number that another lacks; batches answer as rows do."""
    model = TREES["histograms"]().fit(X, Y)
    compiled = cfxc.compile(model, space_of("free"))
    rows = refused(model, 3)
    for diversity in ("points", "features"):
        several = compiled.explain(rows.iloc[[0]], target=1, count=3, diversity=diversity).all()
        found = [each.counterfactual for each in several]
        texts = {each.to_csv(index=False) for each in found}
        assert len(texts) == len(found) > 1
        assert all(model.predict(each)[0] == 1 for each in found)
    batch = compiled.explain_batch(rows, target=1)
    alone = [compiled.explain(rows.iloc[[i]], target=1).distance for i in range(len(rows))]
    assert batch["distance"].tolist() == alone


def test_what_takes_no_gaps_says_so(tmp_path: Any) -> None:
    model = TREES["histograms"]().fit(X, Y)
    compiled = cfxc.compile(model, space_of("free"))
    row = refused(model, 1)
    answer = compiled.explain(row, target=1)
    with pytest.raises(UnsupportedError, match="VIPR: feature 'a' may be filled in or lost"):
        answer.export("vipr", tmp_path / "out")
    assert len(answer.export("smt2", tmp_path / "out")) == 3
    with pytest.raises(UnsupportedError, match="trust region"):
        compiled.explain(row, target=1, subject_to=[cfxc.TrustRegion(X, Y)])


def test_rules_that_are_given_up_leave_gaps_closed() -> None:
    model = TREES["histograms"]().fit(X, Y)
    fixed = {name: {"action": "fixed"} for name in ("a", "b", "c")}
    compiled = cfxc.compile(model, space_of("free", **fixed))
    row = refused(model, 9).iloc[[-1]]
    found = compiled.explain(row, target=1)
    assert found.status == "infeasible"
    if found.relaxed is not None:
        assert found.relaxed.counterfactual.isna().equals(row.isna())

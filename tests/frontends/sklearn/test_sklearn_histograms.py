"""Histogram boosting: splits of categories, missing values, and doubles as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

import cfxc
from cfxc.errors import UnsupportedError
from cfxc.frontends.sklearn import lower
from cfxc.ir import BatchEvaluator, Program, evaluate, ops
from cfxc.space import Feature, FeatureSpace

Agree = Callable[..., Program]
CLASSES = {"binary": 2, "multi": 3}
SECTORS = ["art", "law", "it", "farm", "rare"]


def booster(**options: Any) -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(
        max_iter=12, min_samples_leaf=5, random_state=0, **options
    )


@pytest.fixture(scope="module")
def workers() -> pd.DataFrame:
    """Text as pandas categories, some missing and one rare; numbers, some of them codes."""
    rng = np.random.default_rng(1)
    count = 300
    sector = rng.choice([*SECTORS, None], count, p=[0.3, 0.25, 0.2, 0.14, 0.01, 0.1])
    return pd.DataFrame(
        {
            "pay": rng.normal(30, 9, count).round(1),
            "sector": pd.Categorical(sector, categories=[*SECTORS, "never seen"]),
            "code": rng.choice([2, 3, 7, 11], count),
            "rate": rng.normal(size=count),
            "town": pd.Categorical(rng.choice(["x", "y", "z"], count)),
        }
    )


@pytest.fixture(scope="module")
def target(workers: pd.DataFrame) -> dict[str, Any]:
    sector = workers["sector"].astype(object)
    worth = workers["pay"] / 3 + 6 * sector.isin(["law", "rare"]) + 4 * sector.isna()
    worth += 5 * workers["code"].isin([3, 11]) + 3 * (workers["town"] == "y") * workers["rate"]
    return {
        "binary": (worth > worth.median()).to_numpy(),
        "multi": pd.qcut(worth, 3, labels=False).to_numpy(),
        "value": worth.to_numpy(),
    }


def everyone(workers: pd.DataFrame, space: FeatureSpace) -> pd.DataFrame:
    """All labels against each other, also those that training never saw."""
    rng = np.random.default_rng(2)
    table = workers.iloc[rng.integers(0, len(workers), 400)].reset_index(drop=True)
    for name in ("sector", "town"):
        labels = np.array(space[name].labels, dtype=object)
        drawn = labels[rng.integers(0, len(labels), len(table))]
        table[name] = pd.Categorical(drawn, categories=workers[name].cat.categories)
    return table


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize(
    "chosen", ["from_dtype", ["sector", "town", "code"], [4, 1]], ids=["dtype", "names", "places"]
)
def test_categories(
    chosen: Any, kind: str, agree: Agree, workers: pd.DataFrame, target: dict[str, Any]
) -> None:
    space = FeatureSpace.infer(workers)
    assert None in space["sector"].labels
    space = space.replace("sector", labels=(*space["sector"].labels, "never seen"))
    model = booster(categorical_features=chosen).fit(workers, target[kind])
    nodes = np.concatenate([tree.nodes for stage in model._predictors for tree in stage])
    assert nodes["is_categorical"].any()
    agree(model, space, everyone(workers, space), exact_rows=25)


@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
def test_regression(loss: str, agree: Agree, workers: pd.DataFrame, target: dict[str, Any]) -> None:
    model = HistGradientBoostingRegressor(loss=loss, max_iter=10, categorical_features="from_dtype")
    model.fit(workers, target["value"] - target["value"].min())
    space = FeatureSpace.infer(workers)
    agree(model, space, everyone(workers, space), exact_rows=10)


@pytest.mark.parametrize("kind", ["integer", "real", "categorical"])
def test_codes_are_compared_one_by_one(
    kind: str, agree: Agree, workers: pd.DataFrame, target: dict[str, Any]
) -> None:
    """A number that training never saw goes where missing values go, like 2.5 and -1."""
    table = workers[["code", "pay"]].assign(code=workers["code"].astype(float))
    model = booster(categorical_features=["code"]).fit(table, target["binary"])
    if kind != "categorical":
        table = pd.concat([table, table.assign(code=np.resize([5, -1, 12, 1000], len(table)))])
        if kind == "real":
            table = pd.concat([table, table.assign(code=table["code"] + 2.0**-40)])
    else:
        table["code"] = table["code"].replace(11, 12)
    space = FeatureSpace.infer(table, kinds={"code": kind})
    program = agree(model, space, table.sample(300, random_state=1), exact_rows=25)
    lookups = [let for let in program.lets() if isinstance(let.op, ops.Lookup)]
    assert bool(lookups) == (kind == "categorical")


def test_arrays_with_categories(agree: Agree, workers: pd.DataFrame, target: Any) -> None:
    table = workers[["pay", "code", "rate"]]
    model = booster(categorical_features=[False, True, False])
    model.fit(table.to_numpy(), target["multi"])
    agree(model, FeatureSpace.infer(table, kinds={"code": "categorical"}), table)


def test_every_column_is_a_category(agree: Agree, workers: pd.DataFrame, target: Any) -> None:
    table = workers[["sector", "town"]]
    space = FeatureSpace.infer(table)
    for depth in (None, 1):
        model = booster(categorical_features="from_dtype", max_depth=depth)
        agree(model.fit(table, target["binary"]), space, everyone(workers, space)[list(table)])
    leaf = booster(categorical_features="from_dtype").fit(table, np.arange(len(table)) % 2)
    leaf._predictors = [[_without_splits(tree) for tree in stage] for stage in leaf._predictors]
    agree(leaf, space, table)


def _without_splits(tree: Any) -> Any:
    tree.nodes = tree.nodes[:1].copy()
    tree.nodes["is_leaf"] = 1
    return tree


def test_categories_made_by_an_encoder(agree: Agree, workers: pd.DataFrame, target: Any) -> None:
    """The usual pipeline: ordinal codes, of which the booster is told that they are categories."""
    table = workers.assign(sector=workers["sector"].astype(object).fillna("none"))
    table["sector"] = table["sector"].astype(object)
    encoder = ColumnTransformer(
        [("order", OrdinalEncoder(), ["sector", "town"]), ("hot", OneHotEncoder(), ["code"])],
        remainder="passthrough",
    )
    chosen = [True, True] + [False] * 6
    model = make_pipeline(encoder, booster(categorical_features=chosen))
    space = FeatureSpace.infer(table, kinds={"code": "categorical"})
    program = agree(model.fit(table, target["multi"]), space, table)
    lets = {let.name: let.op for let in program.lets()}
    (trees,) = [op for op in lets.values() if isinstance(op, ops.TreeEnsemble)]
    parts = list(lets[str(trees.x)].operands())
    assert all(isinstance(lets.get(str(part)), ops.Lookup) for part in parts[-2:])


def test_missing_labels_of_a_column_of_numbers(agree: Agree, target: Any) -> None:
    """Numbers that may be missing lower where the space lists them one by one."""
    rng = np.random.default_rng(4)
    table = pd.DataFrame({"level": rng.choice([1.0, 2.0, 5.0, np.nan], 300), "x": rng.random(300)})
    wanted = (table["level"].fillna(3) * table["x"] > 1).to_numpy()
    model = booster().fit(table, wanted)
    space = FeatureSpace.infer(table, kinds={"level": "categorical"})
    assert None in space["level"].labels
    agree(model, space, table, exact_rows=40)


def test_missing_numbers_go_where_training_sent_them(workers: pd.DataFrame, target: Any) -> None:
    table = workers.assign(pay=workers["pay"].where(workers["pay"] > 20))
    model = booster(categorical_features="from_dtype").fit(table, target["binary"])
    space = FeatureSpace.infer(table)
    assert space["pay"].missing
    codes = BatchEvaluator(lower(model, space))(space.encode_frame(table))["label"]
    assert codes.astype(bool).tolist() == model.predict(table).tolist()
    known = table[table["pay"].notna()]
    present = space.replace("pay", missing=False)
    codes = BatchEvaluator(lower(model, present))(present.encode_frame(known))["label"]
    assert codes.astype(bool).tolist() == model.predict(known).tolist()


def test_text_that_is_no_category_is_refused(workers: pd.DataFrame, target: Any) -> None:
    model = booster().fit(workers[["pay", "rate"]], target["binary"])
    words = FeatureSpace(
        (
            Feature("pay", "categorical", labels=("low", None)),
            Feature("rate", "real", lower=0, upper=1),
        )
    )
    with pytest.raises(UnsupportedError, match="column 'pay' holds text such as 'low'"):
        lower(model, words)


def test_thresholds_are_doubles() -> None:
    """No rounding to float32: at, just below and just above every threshold."""
    rng = np.random.default_rng(5)
    table = pd.DataFrame(
        {
            "tenths": rng.choice([0.1, 0.2, 0.3, 0.7], 400),
            "large": rng.integers(30_000_000, 30_000_900, 400).astype(float),
            "normal": rng.normal(size=400),
        }
    )
    target = (table["tenths"] * 9 + table["large"] % 7 + 2 * table["normal"]).to_numpy()
    model = booster(learning_rate=0.3).fit(table, pd.qcut(target, 3, labels=False))
    space = FeatureSpace.infer(table, kinds=dict.fromkeys(table, "real"))
    program = lower(model, space)
    rows, sides = [], 0
    values = table.to_numpy()
    for stage in model._predictors:
        for tree in stage:
            for node, row in reaching(tree.nodes, values):
                cut = node["num_threshold"]
                for value in (np.nextafter(cut, -np.inf), cut, np.nextafter(cut, np.inf)):
                    moved = row.copy()
                    moved[node["feature_idx"]] = value
                    rows.append(moved)
                sides += 1
    assert sides > 200
    for single in (False, True):
        moved = pd.DataFrame(np.array(rows), columns=table.columns)
        moved = moved.astype(np.float32) if single else moved
        made = BatchEvaluator(program)(space.encode_frame(moved, check_range=False))
        assert np.array_equal(made["score"], model.decision_function(moved))
        assert np.array_equal(made["label"], model.predict(moved))
        for place in range(0, len(moved), 41):
            inputs = space.encode_row(moved.iloc[[place]], check_range=False)
            assert evaluate(program, inputs)["label"] == model.predict(moved.iloc[[place]])[0]


def reaching(nodes: Any, values: Any) -> list[tuple[Any, Any]]:
    """Every inner node of numbers, with a training row that reaches it."""
    found, pending = [], [(0, np.arange(len(values)))]
    while pending:
        place, rows = pending.pop()
        node = nodes[place]
        if node["is_leaf"] or not len(rows):
            continue
        found.append((node, values[rows[0]]))
        left = values[rows, node["feature_idx"]] <= node["num_threshold"]
        pending += [(int(node["left"]), rows[left]), (int(node["right"]), rows[~left])]
    return found


def test_a_split_of_missing_values_lets_all_numbers_pass() -> None:
    values = np.array([1.0, 2.0, 3.0, np.nan, np.nan, np.nan] * 9)
    train = pd.DataFrame({"x": values})
    model = booster().fit(train, np.isnan(values))
    thresholds = np.concatenate([stage[0].nodes["num_threshold"] for stage in model._predictors])
    assert np.isinf(thresholds).any()
    table = pd.DataFrame({"x": [-1e30, 2.0, 1e30]})
    space = FeatureSpace.infer(table, kinds={"x": "real"})
    made = BatchEvaluator(lower(model, space))(space.encode_frame(table))
    assert np.array_equal(made["score"], model.decision_function(table))


@pytest.mark.parametrize("chosen", [None, [0]], ids=["numbers", "categories"])
@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize("filled", [False, True])
def test_encoders_that_leave_gaps(
    unknown: bool, chosen: Any, filled: bool, agree: Agree, workers: pd.DataFrame, target: Any
) -> None:
    """Labels without a code are missing numbers to what comes next."""
    table = workers[["sector", "pay"]].astype({"sector": object})
    options = {"handle_unknown": "use_encoded_value", "unknown_value": np.nan} if unknown else {}
    if not unknown:
        table = table.assign(sector=table["sector"].mask(np.arange(len(table)) % 5 == 0))
    known = (table["sector"] != "art") | (not unknown)
    steps = [OrdinalEncoder(**options)] + [SimpleImputer(strategy="most_frequent")] * filled
    columns = ColumnTransformer([("codes", make_pipeline(*steps), ["sector"])],
                                remainder="passthrough")  # fmt: skip
    model = make_pipeline(columns, booster(categorical_features=chosen))
    model.fit(table[known], target["binary"][known])
    space = FeatureSpace.infer(table)
    agree(model, space, table)
    compiled = cfxc.compile(model, space)
    row = table.iloc[[0]]
    other = next(label for label in compiled.predictor.classes if label != compiled.predict(row)[0])
    result = compiled.explain(row, target=other)
    assert result.status == "optimal"
    assert model.predict(result.counterfactual)[0] == other


def test_what_computes_with_codes_refuses_gaps(workers: pd.DataFrame, target: Any) -> None:
    table = workers[["sector", "pay"]].astype({"sector": object})
    known = table["sector"].notna() & (table["sector"] != "art")
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    columns = ColumnTransformer([("codes", encoder, ["sector"])], remainder="passthrough")
    model = make_pipeline(columns, LogisticRegression()).fit(table[known], target["binary"][known])
    with pytest.raises(UnsupportedError, match="of which an earlier step turns"):
        lower(model, FeatureSpace.infer(table))

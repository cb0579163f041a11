"""CatBoost: every sum and label that the library gives, also beside every border."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

import cfxc
from cfxc import FeatureSpace
from cfxc.errors import UnsupportedError
from cfxc.frontends.boosters.catboost import expansion
from cfxc.frontends.boosters.catboost.ctr import CtrSplit, FloatSplit
from cfxc.ir import ops
from tests.frontends.boosters.agreement import (
    NUMBERS,
    agree,
    people,
    space_of,
    target,
    value_of,
    walked,
)

cat = pytest.importorskip("catboost")

SMALL: dict[str, Any] = {
    "iterations": 8, "depth": 4, "verbose": 0, "allow_writing_files": False, "random_seed": 1,
    "thread_count": 1,
}  # fmt: skip
COLUMNS = ["sector", "level", "code", "flag"]
CLASSES: dict[str, tuple[dict[str, Any], str, list[str]]] = {
    "numbers": ({}, "two", []),
    "statistics": ({"one_hot_max_size": 1}, "two", COLUMNS),
    "one-hot": ({"one_hot_max_size": 20}, "two", COLUMNS),
    "three classes": ({"max_ctr_complexity": 2}, "three", COLUMNS),
    "one against the rest": ({"loss_function": "MultiClassOneVsAll"}, "three", COLUMNS),
    "depthwise": ({"grow_policy": "Depthwise", "one_hot_max_size": 3}, "two", COLUMNS),
    "lossguide": ({"grow_policy": "Lossguide", "max_leaves": 9}, "three", COLUMNS),
    "counters": ({"simple_ctr": ["Counter", "Buckets:Prior=2/1"]}, "two", COLUMNS),
}
VALUES: dict[str, tuple[dict[str, Any], str]] = {
    "squares": ({}, "value"),
    "absolute": ({"loss_function": "MAE"}, "value"),
    "counts": ({"loss_function": "Poisson"}, "amount"),
    "compound": ({"loss_function": "Tweedie:variance_power=1.5"}, "amount"),
    "buckets": ({"simple_ctr": ["Buckets:TargetBorderCount=3:Prior=0.3"]}, "value"),
    "means": ({"simple_ctr": ["BinarizedTargetMeanValue:TargetBorderCount=3"]}, "value"),
}


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return people(600)


def stored(model: Any) -> Any:
    from cfxc.frontends.boosters.catboost.native import stored

    return stored(model)


def cat_space(table: pd.DataFrame) -> FeatureSpace:
    return space_of(table, **{name: "categorical" for name in COLUMNS if name in table})


def rows_of(model: Any, used: pd.DataFrame, count: int = 3000) -> pd.DataFrame:
    """Columns shuffled on their own, and rows at and beside every border."""
    rng = np.random.default_rng(5)
    mixed = {
        name: used[name].iloc[rng.integers(0, len(used), count)].reset_index(drop=True)
        for name in used
    }
    cuts: dict[str, list[float]] = {}
    for split in stored(model).splits:
        if isinstance(split, FloatSplit) and used.iloc[:, split.column].dtype == float:
            cuts.setdefault(used.columns[split.column], []).append(split.bound)
    return walked(pd.DataFrame(mixed), {name: np.array(held) for name, held in cuts.items()})


def check_sums(model: Any, compiled: Any, columns: Any, frame: pd.DataFrame) -> None:
    sums = model.predict(frame, prediction_type="RawFormulaVal").reshape(len(frame), -1)
    (name,) = [let.name for let in compiled.program.lets() if isinstance(let.op, ops.TreeEnsemble)]
    affine = [
        let.name
        for let in compiled.program.lets()
        if isinstance(let.op, ops.Affine) and let.op.x == name
    ]
    own = value_of(compiled.program, (affine or [name])[0], columns)
    np.testing.assert_allclose(own, sums, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("kind", CLASSES)
def test_classifiers(kind: str, table: pd.DataFrame) -> None:
    options, outcome, categories = CLASSES[kind]
    used = table if categories else table[NUMBERS]
    names = np.array(["no", "perhaps", "yes"])[target(table, outcome)]
    model = cat.CatBoostClassifier(**SMALL, cat_features=categories, **options).fit(used, names)
    frame = rows_of(model, used)
    expected = np.ravel(model.predict(frame))
    compiled, columns = agree(model, cat_space(used), frame, expected)
    check_sums(model, compiled, columns, frame)
    shares = value_of(compiled.program, dict(compiled.program.outputs)["probability"], columns)
    np.testing.assert_allclose(shares, model.predict_proba(frame), rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", VALUES)
def test_regressors(kind: str, table: pd.DataFrame) -> None:
    options, outcome = VALUES[kind]
    model = cat.CatBoostRegressor(**SMALL, cat_features=COLUMNS, max_ctr_complexity=1, **options)
    model.fit(table, target(table, outcome))
    frame = rows_of(model, table)
    compiled, columns = agree(model, cat_space(table), frame, model.predict(frame))
    check_sums(model, compiled, columns, frame)


@pytest.fixture(scope="module")
def tangled() -> tuple[pd.DataFrame, Any]:
    """A target that hangs on combinations of categories, of numbers, and of both."""
    rng, count = np.random.default_rng(0), 1500
    table = pd.DataFrame(
        {
            "a": rng.choice(list("abcdef"), count),
            "b": rng.choice([f"place {i} " * (1 + 4 * (i % 4)) for i in range(9)], count),
            "c": rng.integers(0, 2, count).astype(str),
            "x": rng.normal(size=count),
        }
    )
    mixed = table["a"].map(ord) * 7 + table["b"].str.len() * 3
    return table, ((mixed % 5 < 2) ^ (table["x"] > 0.3) ^ (table["c"] == "1")).astype(int)


@pytest.mark.parametrize("one_hot", [1, 2])
def test_combinations(one_hot: int, tangled: Any) -> None:
    table, two = tangled
    model = cat.CatBoostClassifier(
        **SMALL | {"iterations": 20, "depth": 5}, cat_features=["a", "b", "c"],
        max_ctr_complexity=4, one_hot_max_size=one_hot,
    ).fit(table, two)  # fmt: skip
    ctrs = [split.ctr for split in stored(model).splits if isinstance(split, CtrSplit)]
    assert any(len(ctr.columns) > 1 for ctr in ctrs)
    frame = rows_of(model, table)
    compiled, columns = agree(model, space_of(table), frame, model.predict(frame))
    check_sums(model, compiled, columns, frame)


def test_too_many_combinations(tangled: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table, two = tangled
    model = cat.CatBoostClassifier(
        **SMALL, cat_features=["a", "b", "c"], max_ctr_complexity=4, one_hot_max_size=1
    ).fit(table, two)
    monkeypatch.setattr(expansion, "MOST_CELLS", 3)
    with pytest.raises(UnsupportedError, match=r"too many cases[\s\S]*max_ctr_complexity=1"):
        cfxc.compile(model, space_of(table))


def test_categories_that_training_never_saw(table: pd.DataFrame) -> None:
    used = table[["normal", "sector", "code"]].assign(sector=table["sector"].astype(str))
    known = used[(used["sector"] != "sea") & (used["code"] != 5)]
    two = target(table, "two")[known.index]
    for size in (1, 20):
        model = cat.CatBoostClassifier(
            **SMALL, cat_features=["sector", "code"], one_hot_max_size=size
        ).fit(known, two)
        agree(model, cat_space(used), used, model.predict(used))


def test_probability_threshold(table: pd.DataFrame) -> None:
    used = table[NUMBERS]
    model = cat.CatBoostClassifier(**SMALL).fit(used, target(table, "two"))
    plain = model.predict(used)
    model.set_probability_threshold(0.27)
    assert (model.predict(used) != plain).any()
    agree(model, space_of(used), used, model.predict(used))


@pytest.mark.parametrize("labels", [[False, True], [0.5, 2.0], [3, 7]])
def test_labels(labels: list[Any], table: pd.DataFrame) -> None:
    used = table[NUMBERS]
    model = cat.CatBoostClassifier(**SMALL).fit(used, np.array(labels)[target(table, "two")])
    agree(model, space_of(used), used, model.predict(used))


@pytest.mark.parametrize("mode", ["Min", "Max"])
def test_trained_with_missing_values(mode: str, table: pd.DataFrame) -> None:
    used = table[["normal", "tenths"]]
    holes = used.assign(normal=used["normal"].where(used["tenths"] > -1))
    model = cat.CatBoostClassifier(**SMALL, nan_mode=mode).fit(holes, target(table, "two"))
    frame = rows_of(model, used)
    agree(model, space_of(used), frame, model.predict(frame))


@pytest.mark.parametrize("mode", ["Min", "Max"])
def test_missing_values_among_a_few(mode: str, table: pd.DataFrame) -> None:
    used = table[["normal", "tenths"]].assign(
        flag=np.where(table["flag"], 1.0, np.nan), count=table["count"].clip(0, 3)
    )
    used["count"] = used["count"].where(used["count"] < 3)
    model = cat.CatBoostClassifier(**SMALL, nan_mode=mode).fit(used, target(table, "two"))
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({name: rng.choice(used[name], 3000) for name in used})
    space = space_of(used, flag="categorical", count="categorical")
    agree(model, space, frame, model.predict(frame))


def test_arrays_pipelines_and_votes(table: pd.DataFrame) -> None:
    numbers, two = table[NUMBERS], target(table, "two")
    model = cat.CatBoostClassifier(**SMALL).fit(numbers.to_numpy(dtype=float), two)
    agree(model, space_of(numbers), numbers, model.predict(numbers))
    encoder = make_column_transformer(
        (OrdinalEncoder(), ["sector"]), remainder="passthrough", sparse_threshold=0
    )
    used = table[["normal", "sector", "tenths"]]
    piped = make_pipeline(encoder, cat.CatBoostClassifier(**SMALL)).fit(used, two)
    agree(piped, space_of(used), used, piped.predict(used))
    votes = VotingClassifier(
        [("cat", cat.CatBoostClassifier(**SMALL)), ("line", LogisticRegression())], voting="soft"
    ).fit(numbers.astype(float), two)
    frame = numbers.astype(float)
    agree(votes, space_of(frame), frame, votes.predict(frame))


def test_explanations_are_proved(table: pd.DataFrame) -> None:
    used = table[["normal", "tenths", "code", "sector"]]
    model = cat.CatBoostClassifier(
        **SMALL, cat_features=["code", "sector"], one_hot_max_size=1, max_ctr_complexity=2
    ).fit(used, target(table, "two"))
    compiled = cfxc.compile(model, cat_space(used))
    for place in range(5):
        row = used.iloc[[place]]
        wanted = 1 - int(model.predict(row)[0])
        result = compiled.explain(row, target=wanted, time_limit=60)
        assert result.status == "optimal"
        assert model.predict(result.counterfactual)[0] == wanted
        assert result.certificate is not None
        assert cfxc.check(result.certificate).ok


REFUSED: dict[str, tuple[Any, dict[str, Any], str]] = {
    "several labels": ("labels", {"loss_function": "MultiLogloss"}, "'MultiLogloss' is not sup"),
    "uncertainty": ("value", {"loss_function": "RMSEWithUncertainty"}, "'RMSEWithUncertainty'"),
    "borders": (
        "value",
        {"simple_ctr": ["Borders:TargetBorderCount=2"], "combinations_ctr": ["Borders"]},
        "train it with one TargetBorderCount",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refusals(kind: str, table: pd.DataFrame) -> None:
    outcome, options, said = REFUSED[kind]
    if outcome == "labels":
        wanted: Any = np.column_stack([target(table, "two"), table["flag"].astype(int)])
        model = cat.CatBoostClassifier(**SMALL, **options).fit(table[NUMBERS], wanted)
    else:
        model = cat.CatBoostRegressor(
            **SMALL, cat_features=COLUMNS, max_ctr_complexity=2, **options
        ).fit(table, target(table, outcome))
    used = table[NUMBERS] if outcome == "labels" else table
    with pytest.raises(UnsupportedError, match=said):
        cfxc.compile(model, cat_space(used))


def test_columns_that_must_be_categories(table: pd.DataFrame) -> None:
    used = table[["normal", "code"]]
    model = cat.CatBoostClassifier(**SMALL, cat_features=["code"]).fit(used, target(table, "two"))
    space = FeatureSpace.infer(used, kinds={"code": "integer"})
    with pytest.raises(UnsupportedError, match="'code' holds categories of the model, and numbers"):
        cfxc.compile(model, space)
    with pytest.raises(UnsupportedError, match="no predictor that can be compiled"):
        cfxc.compile(cat.CatBoostRanker(**SMALL), space)

"""XGBoost: every sum and label that the library gives, also beside every threshold."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import cfxc
from cfxc.compiler.splits import raw_splits
from cfxc.errors import InvalidInputError, MissingColumnError, UnsupportedError
from cfxc.frontends.boosters.xgboost.document import parse_document, read_model
from cfxc.ir import evaluate, ops
from tests.frontends.boosters.agreement import (
    NUMBERS,
    agree,
    ensemble,
    people,
    singly_summed,
    space_of,
    target,
    value_of,
    walked,
)

xgb = pytest.importorskip("xgboost")

SMALL: dict[str, Any] = {"n_estimators": 9, "max_depth": 4, "random_state": 0}
CLASSES: dict[str, tuple[Any, str]] = {
    "binary": ({}, "two"),
    "three classes": ({}, "three"),
    "softmax": ({"objective": "multi:softmax"}, "three"),
    "base score": ({"base_score": 0.2}, "two"),
    "logitraw": ({"objective": "binary:logitraw"}, "two"),
    "hinge": ({"objective": "binary:hinge"}, "two"),
    "categories": ({"enable_categorical": True}, "two"),
    "one-hot categories": ({"enable_categorical": True, "max_cat_to_onehot": 50}, "three"),
    "dart": ({"booster": "dart", "rate_drop": 0.4, "one_drop": True}, "two"),
    "leaf by leaf": ({"grow_policy": "lossguide", "max_leaves": 7, "max_depth": 0}, "two"),
    "exact and pruned": ({"tree_method": "exact", "gamma": 3.0, "max_depth": 5}, "three"),
    "parallel trees": ({"num_parallel_tree": 3, "subsample": 0.5}, "two"),
    "missing is 0": ({"missing": 0.0}, "two"),
}
VALUES: dict[str, tuple[Any, str]] = {
    "squares": ({}, "value"),
    "medians": ({"objective": "reg:absoluteerror"}, "value"),
    "huber": ({"objective": "reg:pseudohubererror"}, "value"),
    "quantiles": ({"objective": "reg:quantileerror", "quantile_alpha": [0.2, 0.7]}, "value"),
    "shares": ({"objective": "reg:logistic"}, "share"),
    "counts": ({"objective": "count:poisson"}, "amount"),
    "gamma": ({"objective": "reg:gamma"}, "amount"),
    "tweedie": ({"objective": "reg:tweedie"}, "amount"),
}


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return people()


def document_of(booster: Any) -> Any:
    return parse_document(bytes(booster.save_raw("json")), binary=False)


def cuts_of(model: Any, frame: pd.DataFrame) -> dict[str, Any]:
    """The thresholds of a model as the library prints them, by column of floats."""
    cuts: dict[str, set[float]] = {name: set() for name in frame if frame[name].dtype == float}
    pending = [json.loads(tree) for tree in model.get_booster().get_dump(dump_format="json")]
    while pending:
        node = pending.pop()
        pending += node.get("children", [])
        if node.get("split") in cuts:
            cuts[node["split"]].add(node["split_condition"])
    return {name: np.array(sorted(values)) for name, values in cuts.items() if values}


@pytest.mark.parametrize("kind", CLASSES)
def test_classifiers(kind: str, table: pd.DataFrame) -> None:
    options, outcome = CLASSES[kind]
    used = table if "categories" in kind else table[NUMBERS]
    if kind == "missing is 0":
        used = used.assign(tenths=used["tenths"].where(used["normal"] > 0, 0.0))
    model = xgb.XGBClassifier(**(SMALL | options)).fit(used, target(table, outcome))
    frame = walked(used, cuts_of(model, used))
    compiled, columns = agree(model, space_of(used), frame, model.predict(frame))
    margins = model.predict(frame, output_margin=True).reshape(len(frame), -1)
    assert np.array_equal(singly_summed(compiled.program, columns), margins)
    outputs = dict(compiled.program.outputs)
    assert ("probability" in outputs) == (kind not in ("logitraw", "hinge"))
    if "probability" in outputs:
        shares = value_of(compiled.program, outputs["probability"], columns)
        np.testing.assert_allclose(shares, model.predict_proba(frame), rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", VALUES)
def test_regressors(kind: str, table: pd.DataFrame) -> None:
    options, outcome = VALUES[kind]
    used = table[NUMBERS]
    model = xgb.XGBRegressor(**(SMALL | options)).fit(used, target(table, outcome))
    frame = walked(used, cuts_of(model, used))
    compiled, columns = agree(model, space_of(used), frame, model.predict(frame))
    margins = model.predict(frame, output_margin=True).reshape(len(frame), -1)
    assert np.array_equal(singly_summed(compiled.program, columns), margins)


def test_many_targets_and_forests(table: pd.DataFrame) -> None:
    used, value = table[NUMBERS], target(table, "value")
    pairs = xgb.XGBRegressor(**SMALL).fit(used, np.column_stack([value, -2 * value]))
    compiled, _ = agree(pairs, space_of(used), used, pairs.predict(used))
    assert compiled.program.output_sorts["value"].shape == (2,)
    for cls, outcome in ((xgb.XGBRFClassifier, "three"), (xgb.XGBRFRegressor, "value")):
        forest = cls(n_estimators=6, max_depth=4, random_state=0).fit(used, target(table, outcome))
        agree(forest, space_of(used), used, forest.predict(used))


def test_a_linear_booster(table: pd.DataFrame) -> None:
    used = table[["normal", "tenths", "count"]]
    for outcome in ("two", "three"):
        model = xgb.XGBClassifier(booster="gblinear", n_estimators=20)
        model.fit(used, target(table, outcome))
        agree(model, space_of(used), used, model.predict(used))
    number = xgb.XGBRegressor(booster="gblinear", n_estimators=20, missing=0.0)
    with pytest.raises(UnsupportedError, match=r"linear booster takes 0\.0 for a missing value"):
        cfxc.compile(number.fit(used, target(table, "value")), space_of(used))


def test_early_stopping(table: pd.DataFrame) -> None:
    """The estimator stops at its best round, the native booster inside does not."""
    used, two = table[NUMBERS], target(table, "two")
    model = xgb.XGBClassifier(early_stopping_rounds=3, learning_rate=0.9, n_estimators=99)
    model.fit(used[:150], two[:150], eval_set=[(used[150:], two[150:])], verbose=False)
    booster = model.get_booster()
    assert model.best_iteration + 1 < booster.num_boosted_rounds()
    space = space_of(used)
    own, _ = agree(model, space, used, model.predict(used))
    everything = booster.predict(xgb.DMatrix(used))
    native, _ = agree(booster, space, used, (everything > 0.5).astype(int))
    sizes = [ensemble(one.program).roots.array.size for one in (own, native)]
    assert sizes == [model.best_iteration + 1, booster.num_boosted_rounds()]


def test_arrays(table: pd.DataFrame) -> None:
    used, two = table[NUMBERS], target(table, "two")
    model = xgb.XGBClassifier(**SMALL).fit(used.to_numpy(float), two)
    space = space_of(used)
    agree(model, space, used, model.predict(used.to_numpy(float)))
    agree(model.get_booster(), space, used, model.predict(used.to_numpy(float)))


def test_columns_go_by_name(table: pd.DataFrame) -> None:
    used = table[NUMBERS]
    model = xgb.XGBClassifier(**SMALL).fit(used, target(table, "two"))
    turned = used[NUMBERS[::-1]]
    for given in (model, model.get_booster()):
        agree(given, space_of(turned), turned, model.predict(used))
        with pytest.raises(MissingColumnError, match=r"lacks columns .*'flag'"):
            cfxc.compile(given, space_of(used.drop(columns="flag")))
        with pytest.raises(InvalidInputError, match="not trained on: 'extra'"):
            cfxc.compile(given, space_of(used.assign(extra=used["count"])))


@pytest.mark.parametrize("kind", ["categorical", "integer", "real"])
def test_codes(kind: str, table: pd.DataFrame) -> None:
    """Codes are cut down to whole numbers; what training never saw goes with the others."""
    used = table[["normal", "code", "count"]]
    if kind == "real":
        used = used.assign(code=used["code"].astype(float))
    model = xgb.XGBClassifier(
        enable_categorical=True, feature_types=["float", "c", "int"], **SMALL
    ).fit(used, target(table, "two"))
    space = space_of(used, code=kind)
    frame = used
    if kind == "integer":
        frame = pd.concat([used, used.assign(code=np.resize([-1, 3, 6, 1000], len(used)))])
    if kind == "real":
        odd = [-1.0, -0.5, -1e-46, 0.5, 0.99999999, 4.9999, 5.0001, 5.99999999, 31.5, 32.5]
        frame = pd.concat([used, used.assign(code=np.resize(odd, len(used)))])
    for given in (model, model.get_booster()):
        compiled, _ = agree(given, space, frame, model.predict(frame))
        found = [let.op for let in compiled.program.lets() if isinstance(let.op, ops.Gt)]
        assert bool(found) == (kind != "categorical")


def test_missing_categories(table: pd.DataFrame) -> None:
    used = table.assign(
        sector=table["sector"].where(table["tenths"] > -1),
        level=table["level"].where(table["normal"] > -1),
    )
    model = xgb.XGBClassifier(enable_categorical=True, **SMALL).fit(used, target(table, "three"))
    space = space_of(used)
    assert None in space["sector"].labels
    agree(model, space, used, model.predict(used))
    one = used.iloc[[0]].astype({"sector": object})
    one["sector"] = None
    assert cfxc.compile(model, space).predictor.predict(one).shape == (1,)


def test_missing_numbers(table: pd.DataFrame) -> None:
    """Listed one by one, or as numbers that may be missing, or where all are there."""
    used = table[NUMBERS].assign(tenths=table["tenths"].where(table["normal"].abs() < 1))
    model = xgb.XGBClassifier(**SMALL).fit(used, target(table, "two"))
    listed = space_of(used, tenths="categorical")
    agree(model, listed, used, model.predict(used))
    open_ = space_of(used)
    agree(model, open_, used, model.predict(used))
    known = used[used["tenths"].notna()]
    agree(model, open_.replace("tenths", missing=False), known, model.predict(known))


def test_categories_that_the_model_does_not_know(table: pd.DataFrame) -> None:
    model = xgb.XGBClassifier(enable_categorical=True, **SMALL).fit(table, target(table, "two"))
    space = space_of(table)
    wider = space.replace("sector", labels=(*space["sector"].labels, "moon"))
    for given in (model, model.get_booster()):
        with pytest.raises(UnsupportedError, match="column 'sector' can hold 'moon'"):
            cfxc.compile(given, wider)
    number = space_of(table.assign(level=table["level"].astype(int)))
    with pytest.raises(UnsupportedError, match="'level' holds categories of the model"):
        cfxc.compile(model, number)


def test_categories_in_another_order(table: pd.DataFrame) -> None:
    """Codes are the model's own: those of the table at hand do not matter."""
    model = xgb.XGBClassifier(enable_categorical=True, **SMALL).fit(table, target(table, "two"))
    frame = table.assign(
        sector=table["sector"].cat.reorder_categories(["sea", "it", "law", "art", "farm"])
    )
    agree(model, space_of(frame), frame, model.predict(table))
    text = table.assign(sector=table["sector"].astype(object))
    agree(model.get_booster(), space_of(text), text, model.predict(table))


def test_pipelines(table: pd.DataFrame) -> None:
    scaled = ["normal", "tenths", "large"]
    columns = ColumnTransformer(
        [
            ("scale", StandardScaler(), scaled),
            ("hot", OneHotEncoder(), ["sector"]),
            ("order", OrdinalEncoder(), ["level"]),
        ],
        remainder="passthrough",
    )
    model = make_pipeline(columns, xgb.XGBClassifier(**SMALL)).fit(table, target(table, "three"))
    compiled, _ = agree(model, space_of(table), table, model.predict(table))
    splits = raw_splits(compiled.program, ensemble(compiled.program))
    assert splits is not None
    names = [name for name, _ in compiled.program.inputs]
    cuts = {
        name: np.unique(splits.cut[(splits.input == names.index(name)) & np.isfinite(splits.cut)])
        for name in scaled
    }
    assert min(map(len, cuts.values())) > 0
    frame = walked(table, cuts)
    agree(model, space_of(table), frame, model.predict(frame))


def test_votes(table: pd.DataFrame) -> None:
    used, three = table[["normal", "tenths", "count"]], target(table, "three")
    panel = [
        ("boosted", xgb.XGBClassifier(**SMALL)),
        ("tree", DecisionTreeClassifier(max_depth=3, random_state=0)),
        ("line", LogisticRegression(max_iter=500)),
    ]
    for voting in ("hard", "soft"):
        model = VotingClassifier(panel, voting=voting).fit(used, three)
        compiled = cfxc.compile(model, space_of(used))
        for row in range(30):
            inputs = compiled.space.encode_row(used.iloc[[row]])
            label = evaluate(compiled.program, inputs)["label"]
            assert label == model.predict(used.iloc[[row]])[0]


def test_the_label_changes_where_the_library_changes_it() -> None:
    """In float32 ``sigmoid(x) > 0.5`` begins some way above zero."""
    from cfxc.frontends.boosters.xgboost.lowering import label_cut  # it imports the library

    table = pd.DataFrame({"x": [0.0, 1.0] * 20})
    learned = xgb.DMatrix(table, [0, 1] * 20)
    cuts = {}
    for objective in ("binary:logistic", "binary:logitraw", "binary:hinge", "count:poisson"):
        still = xgb.train({"objective": objective, "eta": 0}, learned, 1)
        cut = cuts[objective] = np.float32(label_cut(read_model(document_of(still))))
        around = [np.nextafter(cut, np.float32(side)) for side in (-np.inf, np.inf)]
        margins = np.array([around[0], cut, around[1], cut - 1, cut + 1], dtype=np.float32)
        rows = xgb.DMatrix(table[:5], base_margin=margins)
        assert (still.predict(rows) > 0.5).tolist() == [False, True, True, False, True]
    assert 0 < cuts["binary:logistic"] < 1e-6
    assert cuts["binary:logitraw"] == np.nextafter(np.float32(0.5), np.float32(1))
    assert cuts["binary:hinge"] == np.nextafter(np.float32(0), np.float32(1))


REFUSED: dict[str, tuple[Any, str]] = {
    "vectors": (
        lambda X, y: xgb.XGBRegressor(multi_strategy="multi_output_tree", **SMALL).fit(
            X, np.column_stack([y, y])
        ),
        "its leaves are vectors",
    ),
    "ranks": (
        lambda X, y: xgb.XGBRanker(**SMALL).fit(X, (y > 0) * 1, qid=np.zeros(len(y), int)),
        "XGBRanker",
    ),
    "survival": (
        lambda X, y: xgb.XGBRegressor(objective="survival:cox", **SMALL).fit(X, np.exp(y)),
        "its objective 'survival:cox' is not supported",
    ),
    "classes as numbers": (
        lambda X, y: xgb.XGBRegressor(objective="binary:hinge", **SMALL).fit(X, (y > 0) * 1),
        "predicts classes, not numbers",
    ),
    "many labels": (
        lambda X, y: xgb.XGBClassifier(**SMALL).fit(X, np.column_stack([y > 0, y > 1]) * 1),
        "predicts 2 numbers at once",
    ),
    "names": (
        lambda X, y: xgb.XGBRegressor(enable_categorical=True, **SMALL).fit(
            X.assign(flag=pd.Categorical(np.resize(["ä", "ö", "b"], len(X)))), y
        ),
        "other than ASCII names",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_refused(kind: str, table: pd.DataFrame) -> None:
    fit, text = REFUSED[kind]
    model = fit(table[NUMBERS], target(table, "value"))
    if kind == "names" and tuple(map(int, xgb.__version__.split(".")[:2])) >= (3, 4):
        pytest.skip("this XGBoost stores other than ASCII names soundly")
    with pytest.raises(UnsupportedError, match=text):
        cfxc.compile(model, space_of(table[NUMBERS]))


def test_unfitted_and_subclasses(table: pd.DataFrame) -> None:
    space = space_of(table[NUMBERS])
    with pytest.raises(InvalidInputError, match="not fitted: XGBClassifier"):
        cfxc.compile(xgb.XGBClassifier(), space)

    class Mine(xgb.XGBClassifier):  # type: ignore[misc]  # its bases are untyped
        pass

    with pytest.raises(UnsupportedError, match="is a subclass of XGBClassifier"):
        cfxc.compile(Mine(**SMALL).fit(table[NUMBERS], target(table, "two")), space)


def test_nothing_is_imported_for_others() -> None:
    code = (
        "import sys, cfxc, pandas as pd, numpy as np\n"
        "from sklearn.tree import DecisionTreeClassifier\n"
        "X = pd.DataFrame({'a': np.arange(9.0)})\n"
        "cfxc.compile(DecisionTreeClassifier().fit(X, X['a'] > 3), cfxc.FeatureSpace.infer(X))\n"
        "assert not {'xgboost', 'lightgbm'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

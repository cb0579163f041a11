"""LightGBM: every sum and label that the library gives, also beside every threshold."""

from __future__ import annotations

import re
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
from cfxc.frontends.boosters.lightgbm.lowering import label_cut
from cfxc.frontends.boosters.lightgbm.text import read_text
from cfxc.ir import evaluate, ops
from tests.frontends.boosters.agreement import (
    NUMBERS,
    agree,
    ensemble,
    people,
    space_of,
    target,
    value_of,
    walked,
)

lgb = pytest.importorskip("lightgbm")

SMALL: dict[str, Any] = {
    "n_estimators": 9, "num_leaves": 9, "min_child_samples": 5, "random_state": 0, "verbosity": -1,
    "cat_smooth": 1, "min_data_per_group": 5, "n_jobs": 1,
}  # fmt: skip
ZERO = float(np.float32(1e-35))
CLASSES: dict[str, tuple[Any, str]] = {
    "binary": ({}, "two"),
    "three classes": ({}, "three"),
    "one against the rest": ({"objective": "multiclassova", "sigmoid": 0.5}, "three"),
    "two by softmax": ({"objective": "multiclass", "num_class": 2}, "two"),
    "sigmoid": ({"sigmoid": 2.5}, "two"),
    "cross entropy": ({"objective": "cross_entropy"}, "two"),
    "categories": ({}, "two"),
    "categories of three": ({}, "three"),
    "dart": ({"boosting_type": "dart", "drop_rate": 0.4}, "two"),
    "random forest": ({"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.6}, "two"),
    "zero is missing": ({"zero_as_missing": True}, "two"),
    "nothing is missing": ({"use_missing": False}, "three"),
}
VALUES: dict[str, tuple[Any, str]] = {
    **{
        objective: ({"objective": objective}, "value")
        for objective in ("regression", "regression_l1", "huber", "fair", "quantile", "mape")
    },
    **{
        objective: ({"objective": objective}, "amount")
        for objective in ("poisson", "gamma", "tweedie")
    },
    "cross entropy": ({"objective": "cross_entropy"}, "share"),
    "roots": ({"reg_sqrt": True}, "value"),
    "forest": ({"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.6}, "value"),
}


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return people()


def cuts_of(booster: Any, frame: pd.DataFrame) -> dict[str, Any]:
    """The thresholds of a model as the library dumps them, by column of floats."""
    cuts: dict[str, set[float]] = {name: set() for name in frame if frame[name].dtype == float}
    pending = [tree["tree_structure"] for tree in booster.dump_model()["tree_info"]]
    while pending:
        node = pending.pop()
        if "split_feature" in node:
            pending += [node["left_child"], node["right_child"]]
            if frame.columns[node["split_feature"]] in cuts and node["decision_type"] == "<=":
                cuts[frame.columns[node["split_feature"]]].add(float(node["threshold"]))
    return {name: np.array(sorted(values)) for name, values in cuts.items() if values}


def raw_sums(compiled: cfxc.CompiledModel, columns: Any) -> Any:
    """The sums of the trees: (n, K)."""
    (trees,) = [let for let in compiled.program.lets() if isinstance(let.op, ops.TreeEnsemble)]
    return value_of(compiled.program, trees.name, columns)


@pytest.mark.parametrize("kind", CLASSES)
def test_classifiers(kind: str, table: pd.DataFrame) -> None:
    options, outcome = CLASSES[kind]
    used = table if "categories" in kind else table[NUMBERS]
    if kind == "zero is missing":
        used = used.assign(tenths=used["tenths"].where(used["normal"] > 0, 0.0))
    names = np.array(["no", "perhaps", "yes"])
    model = lgb.LGBMClassifier(**(SMALL | options)).fit(used, names[target(table, outcome)])
    cuts = cuts_of(model.booster_, used)
    if kind == "zero is missing":
        cuts["tenths"] = np.concatenate([cuts["tenths"], [ZERO, -ZERO, 0.0, 1e-40]])
    frame = walked(used, cuts)
    compiled, columns = agree(model, space_of(used), frame, model.predict(frame))
    sums = model.predict(frame, raw_score=True).reshape(len(frame), -1)
    assert np.array_equal(raw_sums(compiled, columns), sums)
    shares = value_of(compiled.program, dict(compiled.program.outputs)["probability"], columns)
    np.testing.assert_allclose(shares, model.predict_proba(frame), rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", VALUES)
def test_regressors(kind: str, table: pd.DataFrame) -> None:
    options, outcome = VALUES[kind]
    used = table[NUMBERS]
    model = lgb.LGBMRegressor(**(SMALL | options)).fit(used, target(table, outcome))
    frame = walked(used, cuts_of(model.booster_, used))
    compiled, columns = agree(model, space_of(used), frame, model.predict(frame))
    sums = model.predict(frame, raw_score=True).reshape(len(frame), -1)
    assert np.array_equal(raw_sums(compiled, columns), sums)


def test_tiny_numbers_are_zero() -> None:
    """The library drops what is up to 1e-35 from a row, whatever the thresholds."""
    rng = np.random.default_rng(0)
    used = pd.DataFrame({"x": rng.choice([-1e-36, 0.0, 1e-36, 5e-34, -5e-34, 1.0, -1.0], 300)})
    model = lgb.LGBMClassifier(**SMALL).fit(used, (used["x"] > 0).to_numpy() * 1)
    around = [np.nextafter(sign * ZERO, side) for sign in (-1, 1) for side in (-1, 1)]
    odd = [0.0, -0.0, ZERO, -ZERO, 1e-36, -1e-36, 1e-300, -1e-300, *around, 5e-34, -5e-34]
    frame = pd.DataFrame({"x": odd})
    compiled, columns = agree(model, space_of(used), frame, model.predict(frame))
    sums = model.predict(frame, raw_score=True)[:, None]
    assert np.array_equal(raw_sums(compiled, columns), sums)


def test_early_stopping(table: pd.DataFrame) -> None:
    used, two = table[NUMBERS], target(table, "two")
    train, other = (
        lgb.Dataset(used[part], two[part]) for part in (slice(0, 150), slice(150, None))
    )
    booster = lgb.train(
        {"objective": "binary", "learning_rate": 0.6, "verbosity": -1},
        train, 99, [other], callbacks=[lgb.early_stopping(3, verbose=False)],
        keep_training_booster=True,
    )  # fmt: skip
    assert booster.best_iteration < booster.current_iteration()
    expected = (booster.predict(used) > 0.5).astype(int)
    compiled, _ = agree(booster, space_of(used), used, expected)
    assert ensemble(compiled.program).roots.array.size == booster.best_iteration


def test_own_gradients(table: pd.DataFrame) -> None:
    """Without an objective, a model predicts its sum; a classifier of it has no labels."""

    def squares(wanted: Any, found: Any) -> Any:
        return found - wanted, np.ones_like(found)

    used = table[NUMBERS]
    model = lgb.LGBMRegressor(**SMALL, objective=squares).fit(used, target(table, "value"))
    agree(model, space_of(used), used, model.predict(used))
    agree(model.booster_, space_of(used), used, model.predict(used))
    labels = lgb.LGBMClassifier(**SMALL, objective=squares).fit(used, target(table, "two"))
    with pytest.raises(UnsupportedError, match="gives sums instead of labels"):
        cfxc.compile(labels, space_of(used))


def test_arrays(table: pd.DataFrame) -> None:
    used = table[NUMBERS]
    model = lgb.LGBMClassifier(**SMALL).fit(used.to_numpy(float), target(table, "two"))
    agree(model, space_of(used), used, model.predict(used.to_numpy(float)))
    agree(model.booster_, space_of(used), used, model.predict(used.to_numpy(float)))


def test_arrays_of_whole_numbers_become_float32(table: pd.DataFrame) -> None:
    """Beyond 2**24 they are rounded; those of a DataFrame are not."""
    rng = np.random.default_rng(2)
    used = pd.DataFrame({"id": rng.integers(2**24, 2**24 + 60, 400), "b": rng.integers(0, 3, 400)})
    odd = (used["id"] % 8 > 3).to_numpy().astype(int)
    space = space_of(used)
    single = lgb.LGBMClassifier(**SMALL).fit(used.to_numpy(), odd)
    own, columns = agree(single, space, used, single.predict(used.to_numpy()))
    sums = single.predict(used.to_numpy(), raw_score=True)[:, None]
    assert np.array_equal(raw_sums(own, columns), sums)
    exact = lgb.LGBMClassifier(**SMALL).fit(used, odd)
    agree(exact, space, used, exact.predict(used))


def test_columns_go_by_name(table: pd.DataFrame) -> None:
    """The library writes underscores for the spaces in names."""
    used = table[NUMBERS].rename(columns={"flag": "has a flag", "count": "how many"})
    model = lgb.LGBMClassifier(**SMALL).fit(used, target(table, "two"))
    turned = used[list(used)[::-1]]
    for given in (model, model.booster_):
        agree(given, space_of(turned), turned, model.predict(used))
        with pytest.raises(MissingColumnError, match=r"lacks columns .*'has_a_flag'"):
            cfxc.compile(given, space_of(used.drop(columns="has a flag")))
        with pytest.raises(InvalidInputError, match="not trained on: 'extra'"):
            cfxc.compile(given, space_of(used.assign(extra=used["tenths"])))


@pytest.mark.parametrize("kind", ["categorical", "integer", "real"])
def test_codes(kind: str, table: pd.DataFrame) -> None:
    """Codes are cut down to whole numbers; what training never saw goes with the others."""
    used = table[["normal", "code", "count"]]
    if kind == "real":
        used = used.assign(code=used["code"].astype(float))
    model = lgb.LGBMClassifier(**SMALL)
    model.fit(used, target(table, "two"), categorical_feature=["code"])
    assert "num_cat=1" in model.booster_.model_to_string()
    space, frame = space_of(used, code=kind), used
    if kind == "integer":
        frame = pd.concat([used, used.assign(code=np.resize([-1, 3, 6, 1000], len(used)))])
    if kind == "real":
        odd = [-1.0, -0.99, -0.5, -1e-46, 0.5, 0.99999999, 4.9999, 5.99999999, 31.5, 32.5, 1e12]
        frame = pd.concat([used, used.assign(code=np.resize(odd, len(used)))])
    for given in (model, model.booster_):
        compiled, columns = agree(given, space, frame, model.predict(frame))
        sums = model.predict(frame, raw_score=True)[:, None]
        assert np.array_equal(raw_sums(compiled, columns), sums)
        found = [let.op for let in compiled.program.lets() if isinstance(let.op, ops.Gt)]
        assert bool(found) == (kind != "categorical")


@pytest.mark.parametrize("kind", [{}, {"zero_as_missing": True}, {"use_missing": False}], ids=str)
def test_missing_values(kind: dict[str, Any], table: pd.DataFrame) -> None:
    used = table.assign(
        sector=table["sector"].where(table["tenths"] > -1),
        tenths=table["tenths"].where(table["normal"].abs() < 1),
    )
    model = lgb.LGBMClassifier(**SMALL, **kind).fit(used, target(table, "two"))
    listed = space_of(used, tenths="categorical")
    compiled, columns = agree(model, listed, used, model.predict(used))
    sums = model.predict(used, raw_score=True)[:, None]
    assert np.array_equal(raw_sums(compiled, columns), sums)
    agree(model, space_of(used), used, model.predict(used))
    known = used[used["tenths"].notna()]
    agree(model, space_of(used).replace("tenths", missing=False), known, model.predict(known))


def test_categories_that_the_model_does_not_know(table: pd.DataFrame) -> None:
    """They count as missing, as in the library; a feature of numbers has none."""
    model = lgb.LGBMClassifier(**SMALL).fit(table, target(table, "two"))
    space = space_of(table)
    wider = space.replace("sector", labels=(*space["sector"].labels, "moon"))
    text = table["sector"].astype(object).where(table["normal"] > -1, "moon")
    frame = table.assign(sector=pd.Categorical(text))
    agree(model, wider, frame, model.predict(frame))
    agree(model.booster_, wider, frame, model.predict(frame))
    unclear = table.assign(
        sector=table["sector"].astype(object), flag=pd.Categorical(table["flag"])
    )
    assert cfxc.compile(model, space_of(table.astype({"sector": object}))).program
    fewer = lgb.LGBMClassifier(**SMALL).fit(
        table.assign(level=pd.Categorical(np.zeros(len(table)))), target(table, "two")
    )
    with pytest.raises(UnsupportedError, match="2 of its columns were pandas categories"):
        cfxc.compile(fewer, space_of(unclear.astype({"level": int, "flag": bool})))


def test_ordered_categories_are_codes(table: pd.DataFrame) -> None:
    order = pd.CategoricalDtype(["law", "it", "sea", "art", "farm"], ordered=True)
    used = table.assign(sector=table["sector"].astype(order))
    model = lgb.LGBMClassifier(**SMALL).fit(used, target(table, "two"))
    agree(model, space_of(used), used, model.predict(used))


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
    model = make_pipeline(columns, lgb.LGBMClassifier(**SMALL)).fit(table, target(table, "three"))
    compiled, _ = agree(model, space_of(table), table, model.predict(table))
    splits = raw_splits(compiled.program, ensemble(compiled.program))
    assert splits is not None
    names = [name for name, _ in compiled.program.inputs]
    cuts = {
        name: np.unique(splits.cut[(splits.input == names.index(name)) & np.isfinite(splits.cut)])
        for name in scaled
    }
    frame = walked(table, cuts)
    agree(model, space_of(table), frame, model.predict(frame))


def test_votes(table: pd.DataFrame) -> None:
    used, three = table[["normal", "tenths", "count"]], target(table, "three")
    panel = [
        ("boosted", lgb.LGBMClassifier(**SMALL)),
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


def test_trees_without_splits(table: pd.DataFrame) -> None:
    used = table[["normal"]]
    model = lgb.LGBMRegressor(**SMALL | {"min_child_samples": 300}).fit(
        used, target(table, "value")
    )
    compiled, _ = agree(model, space_of(used), used, model.predict(used))
    assert (ensemble(compiled.program).feature.array < 0).all()


@pytest.mark.parametrize("objective", ["binary", "poisson", "regression"])
@pytest.mark.parametrize("sigmoid", [1.0, 0.3])
def test_the_label_changes_where_the_library_changes_it(objective: str, sigmoid: float) -> None:
    """``p > 1 - p`` in doubles begins some way above zero; the library itself is asked here."""
    table = pd.DataFrame({"x": [0.0, 1.0] * 20})
    options = {"objective": objective, "sigmoid": sigmoid, "min_data_in_leaf": 40, "verbosity": -1}
    text = lgb.train(options, lgb.Dataset(table, [0, 1] * 20), 1).model_to_string()
    cut = label_cut(read_text(text.encode()))
    labels = []
    for raw in (np.nextafter(cut, -np.inf), cut, np.nextafter(cut, np.inf)):
        told = re.sub("tree_sizes=.*", "", text)  # one leaf, whose value is the sum
        told = re.sub("leaf_value=.*", f"leaf_value={raw:.17g}", told)
        share = lgb.Booster(model_str=told).predict(table[:1])
        labels.append(int(np.argmax(np.vstack([1.0 - share, share]).T, axis=1)[0]))
    assert labels == [0, 1, 1]


REFUSED: dict[str, tuple[Any, str]] = {
    "lambda": (
        lambda X, y: lgb.LGBMRegressor(**SMALL, objective="cross_entropy_lambda").fit(X, y > 0),
        "its objective 'cross_entropy_lambda' is not supported",
    ),
    "classes as numbers": (
        lambda X, y: lgb.LGBMRegressor(**SMALL, objective="multiclass", num_class=3).fit(
            X, np.digitize(y, [-1, 1])
        ),
        "predicts classes, not numbers",
    ),
    "stops early": (
        lambda X, y: lgb.LGBMClassifier(**SMALL, pred_early_stop=True).fit(X, y > 0),
        "part of its trees",
    ),
    "ranks": (
        lambda X, y: lgb.LGBMRanker(**SMALL).fit(X, (y > 0) * 1, group=[len(y)]),
        "LGBMRanker",
    ),
    "one class": (
        lambda X, y: lgb.LGBMClassifier(**SMALL).fit(X, np.zeros(len(y), int)),
        "trained on one class only",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_refused(kind: str, table: pd.DataFrame) -> None:
    fit, text = REFUSED[kind]
    used = table[["normal", "tenths", "large"]]
    model = fit(used, target(table, "value"))
    with pytest.raises(UnsupportedError, match=text):
        cfxc.compile(model, space_of(used))


def test_unfitted(table: pd.DataFrame) -> None:
    with pytest.raises(InvalidInputError, match="not fitted: LGBMClassifier"):
        cfxc.compile(lgb.LGBMClassifier(), space_of(table))


@pytest.mark.parametrize("kind", ["rf", "gbdt"])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_unit_of_a_margin(kind: str, classes: int) -> None:
    """Of boosting the lead in ``raw_score``, of random forests that by the number of trees."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.integers(0, 9, (300, 2)), columns=["a", "b"])
    outcome = np.digitize(rows.a + rows.b, [6, 10][: classes - 1])
    model = lgb.LGBMClassifier(
        boosting_type=kind, n_estimators=5, max_depth=3, subsample=0.7, subsample_freq=1, verbose=-1
    ).fit(rows, outcome)
    grid = pd.DataFrame(np.stack(np.meshgrid(range(9), range(9)), -1).reshape(-1, 2))
    grid = grid.set_axis(["a", "b"], axis=1)
    scores = model.predict(grid, raw_score=True) / (5 if kind == "rf" else 1)
    scores = np.stack([0 * scores, scores], axis=1) if classes == 2 else scores
    lead = scores[:, -1] - scores[:, :-1].max(axis=1)
    compiled = cfxc.compile(model, cfxc.FeatureSpace.infer(rows))
    row = grid[model.predict(grid) == 0].iloc[[0]]
    for share in (0.3, 0.9):
        answer = compiled.explain(
            row, target=classes - 1, subject_to=[cfxc.Margin(round(share * lead.max(), 6))]
        )
        apart = (grid - row.to_numpy()[0]).abs().sum(axis=1) / 16
        assert answer.distance == pytest.approx(apart[lead >= share * lead.max()].min(), abs=1e-3)
    beyond = compiled.explain(
        row, target=classes - 1, subject_to=[cfxc.Margin(round(1.01 * lead.max(), 6))]
    )
    assert beyond.status == "infeasible"


LINEAR: dict[str, tuple[dict[str, Any], str]] = {
    "two": ({}, "two"),
    "three": ({}, "three"),
    "categories": ({}, "two"),
    "value": ({"objective": "regression"}, "value"),
    "counts": ({"objective": "poisson"}, "amount"),
}


@pytest.mark.parametrize("kind", LINEAR)
def test_linear_trees(kind: str, table: pd.DataFrame, tmp_path: Any) -> None:
    """Each leaf holds a linear model; they open from files, too."""
    options, outcome = LINEAR[kind]
    used = table if kind == "categories" else table[NUMBERS]
    cls = lgb.LGBMRegressor if options else lgb.LGBMClassifier
    model = cls(**SMALL | options, linear_tree=True).fit(used, target(table, outcome))
    frame = walked(used, cuts_of(model.booster_, used))
    frame = frame[np.abs(frame["normal"]) < 100].reset_index(drop=True)
    compiled, columns = agree(model, space_of(used), frame, model.predict(frame))
    if not options:
        score = value_of(compiled.program, dict(compiled.program.outputs)["score"], columns)
        sums = model.predict(frame, raw_score=True)
        np.testing.assert_allclose(score, sums, rtol=1e-12, atol=1e-12)
    path = tmp_path / "model.txt"
    model.booster_.save_model(path)
    opened = cfxc.compile(path, space_of(used))
    assert np.array_equal(opened.predictor.predict(frame), _native_answers(model, frame))
    assert opened.program == cfxc.compile(model.booster_, space_of(used)).program


def _native_answers(model: Any, frame: pd.DataFrame) -> Any:
    numbers = model.booster_.predict(frame)
    if isinstance(model, lgb.LGBMRegressor):
        return numbers
    return numbers.argmax(axis=1) if numbers.ndim == 2 else (numbers > 0.5).astype(int)


def test_linear_trees_are_explained(table: pd.DataFrame) -> None:
    used = table[["normal", "tenths"]]
    model = lgb.LGBMClassifier(**SMALL | {"n_estimators": 4, "num_leaves": 4}, linear_tree=True)
    compiled = cfxc.compile(model.fit(used, target(table, "two")), space_of(used))
    for place in range(5):
        row = used.iloc[[place]]
        wanted = 1 - int(model.predict(row)[0])
        result = compiled.explain(row, target=wanted, time_limit=60)
        assert result.status == "optimal"
        assert model.predict(result.counterfactual)[0] == wanted


def test_linear_leaves_need_numbers(table: pd.DataFrame) -> None:
    used = table[["normal", "tenths"]].assign(flag=np.where(table["flag"], 1.0, np.nan))
    used["flag"] = used["flag"].where(np.arange(len(used)) % 3 > 0, 0.0)
    model = lgb.LGBMClassifier(**SMALL, linear_tree=True).fit(used, target(table, "two"))
    with pytest.raises(UnsupportedError, match=r"'flag'"):
        cfxc.compile(model, space_of(used))


def test_splits_that_separate_missing_values(table: pd.DataFrame) -> None:
    """Such a threshold is infinite."""
    used = table[["normal", "tenths"]].assign(flag=np.where(table["flag"], 1.0, np.nan))
    model = lgb.LGBMClassifier(**SMALL).fit(used, target(table, "two"))
    assert "inf" in model.booster_.model_to_string()
    frame = pd.concat([used] * 3, ignore_index=True)
    space = space_of(used, flag="categorical")
    agree(model, space, frame, model.predict(frame))

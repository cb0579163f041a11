"""Missing numbers: filled in, told apart, sent to a side by trees, as the deployed models do."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
)
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from xgboost import XGBClassifier

import cfxc
from cfxc.certificates.auditing.__main__ import main as alone
from cfxc.cli import main
from cfxc.errors import InvalidInputError, UnsupportedError
from cfxc.ir import evaluate
from cfxc.ir.batch import BatchEvaluator

NUMBERS = ["age", "income", "debt"]


def people(count: int, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    """A table with gaps in two numbers and a category."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, count).astype(float),
            "income": rng.normal(30, 8, count).round(1),
            "debt": rng.integers(0, 9, count),
            "sector": rng.choice(["a", "b", "c"], count).astype(object),
        }
    )
    worth = X["income"] + X["age"] / 4 - 2 * X["debt"] + 5 * (X["sector"] == "a")
    y = (worth + rng.normal(0, 3, count) > 36).astype(int)
    for name, share in (("income", 0.2), ("age", 0.1), ("sector", 0.1)):
        X.loc[rng.random(count) < share, name] = np.nan
    return X, y


X, Y = people(500)
SPACE = cfxc.FeatureSpace.infer(X)


def table(*steps: Any) -> Any:
    """The numbers after some steps, and the categories filled in and encoded."""
    labels = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    return make_column_transformer(
        (make_pipeline(*steps) if steps else "passthrough", NUMBERS),
        (labels, ["sector"]),
        sparse_threshold=0,
    )


def logistic(*steps: Any) -> Any:
    return make_pipeline(table(*steps), LogisticRegression(max_iter=1000))


def forest(*steps: Any) -> Any:
    return make_pipeline(table(*steps), RandomForestClassifier(12, max_depth=5, random_state=0))


def filled() -> Any:
    return SimpleImputer()


MODELS = {
    "filled, linear": lambda: logistic(filled(), StandardScaler()),
    "median and indicators": lambda: logistic(SimpleImputer(strategy="median", add_indicator=True)),
    "constant": lambda: logistic(SimpleImputer(strategy="constant", fill_value=-7)),
    "scaled, then filled": lambda: logistic(StandardScaler(), filled()),
    "a union with indicators": lambda: logistic(
        make_union(filled(), MissingIndicator(features="all"))
    ),
    "bins": lambda: logistic(filled(), KBinsDiscretizer(4, encode="onehot-dense")),
    "filled, forest": lambda: forest(filled()),
    "filled, scaled, forest": lambda: forest(filled(), StandardScaler()),
    "filled, powers, forest": lambda: forest(filled(), PowerTransformer()),
    "forest": forest,
    "scaled, forest": lambda: forest(RobustScaler(), MinMaxScaler()),
    "absolute, forest": lambda: forest(filled(), FunctionTransformer(np.abs)),
    "tree": lambda: make_pipeline(table(), DecisionTreeClassifier(max_depth=6, random_state=0)),
    "extra trees": lambda: make_pipeline(table(), ExtraTreesClassifier(12, random_state=0)),
    "histograms": lambda: make_pipeline(table(), HistGradientBoostingClassifier(max_iter=20)),
    "xgboost": lambda: make_pipeline(table(), XGBClassifier(n_estimators=20, max_depth=4)),
    "lightgbm": lambda: make_pipeline(table(), LGBMClassifier(n_estimators=20, verbose=-1)),
    "network": lambda: make_pipeline(
        table(filled(), StandardScaler()), MLPClassifier((6, 6), max_iter=300, random_state=0)
    ),
}  # fmt: skip


@pytest.fixture(scope="module", params=list(MODELS))
def case(request: pytest.FixtureRequest) -> tuple[Any, cfxc.CompiledModel]:
    model = MODELS[request.param]().fit(X, Y)
    return model, cfxc.compile(model, SPACE)


def labels_of(compiled: cfxc.CompiledModel, rows: pd.DataFrame) -> list[Any]:
    """The exact program's labels, one row after the other."""
    points = [
        compiled.space.encode_row(rows.iloc[[i]], check_range=False) for i in range(len(rows))
    ]
    return [evaluate(compiled.program, point)["label"] for point in points]


def test_labels_are_the_deployed_models(case: Any) -> None:
    model, compiled = case
    rows = people(4000, seed=1)[0]
    known = compiled.space.encode_frame(rows, check_range=False)
    codes = np.asarray(BatchEvaluator(compiled.program)(known)["label"])
    assert np.array_equal(codes, model.predict(rows))
    assert labels_of(compiled, rows.iloc[:200]) == model.predict(rows.iloc[:200]).tolist()


def test_labels_beside_what_trees_and_bins_compare(case: Any) -> None:
    """Whole numbers and tenths of one row at a time, the doubles beside them, and nothing."""
    model, compiled = case
    rows = []
    for place in range(3):
        base = X.iloc[[place]]
        for name, ends in (("age", (18, 80)), ("income", (10, 50))):
            numbers = np.arange(ends[0], ends[1], 1.5)
            around = [np.nextafter(numbers, -np.inf), numbers, np.nextafter(numbers, np.inf)]
            for cell in [np.nan, *np.concatenate(around).tolist()]:
                rows.append(base.assign(**{name: cell}))
    frame = pd.concat(rows, ignore_index=True)
    free = compiled.space.replace("age", kind="real", resolution=None)
    again = cfxc.compile(model, free)
    assert labels_of(again, frame) == model.predict(frame).tolist()


def test_answers_keep_what_is_missing_and_what_is_there(case: Any) -> None:
    model, compiled = case
    refused = X[model.predict(X) == 0]
    chosen = pd.concat([refused[refused[NUMBERS].isna().any(axis=1)].iloc[:3], refused.iloc[:2]])
    for i in range(len(chosen)):
        person = chosen.iloc[[i]]
        found = compiled.explain(person, target=1, time_limit=20)
        assert found.status == "optimal"
        row = found.counterfactual
        assert row is not None
        assert model.predict(row)[0] == 1
        assert row[NUMBERS].isna().equals(person[NUMBERS].isna())
        assert row.dtypes.equals(person.dtypes)


@pytest.mark.parametrize("name", ["filled, linear", "forest", "xgboost", "scaled, then filled"])
def test_nothing_nearer_exists_on_a_grid(name: str) -> None:
    """Every row of a small space, asked of the deployed model."""
    small = X.assign(age=(X["age"] // 20), income=(X["income"] // 10), debt=X["debt"] // 4)
    model = MODELS[name]().fit(small, Y)
    space = cfxc.FeatureSpace.infer(small, kinds=dict.fromkeys(NUMBERS, "integer"))
    compiled = cfxc.compile(model, space)
    choices = {f.name: list(f.labels) if f.is_symbolic else
               [*range(int(f.bounds[0]), int(f.bounds[1]) + 1), *[np.nan] * f.missing]
               for f in space}  # fmt: skip
    grid = pd.DataFrame(list(itertools.product(*choices.values())), columns=list(choices))
    grid = grid.astype(small.dtypes.to_dict())
    outcomes = model.predict(grid)
    refused = small[model.predict(small) == 0].drop_duplicates().iloc[:25]
    for i in range(len(refused)):
        person = refused.iloc[[i]]
        own = person.iloc[0]
        same = np.ones(len(grid), dtype=bool)
        total = np.zeros(len(grid))
        for feature in space:
            there, here = grid[feature.name], own[feature.name]
            if feature.is_symbolic:
                equal = there.isna() if pd.isna(here) else there == here
                total += np.where(equal, 0.0, 1.0)
            else:
                same &= (there.isna() == pd.isna(here)).to_numpy()
                away = (there - here).abs() / float(feature.range)
                total += 0.0 if pd.isna(here) else away.fillna(0.0)
        inside = (outcomes == 1) & same
        found = compiled.explain(person, target=1, epsilon=1e-9)
        if not inside.any():
            assert found.status == "infeasible"
            continue
        best = total[inside].min() / len(space)
        assert found.distance == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("name", ["forest", "filled, linear", "histograms", "network", "xgboost"])
def test_certificates_say_what_is_missing(name: str, tmp_path: Path) -> None:
    model = MODELS[name]().fit(X, Y)
    file = tmp_path / "model.joblib"
    joblib.dump(model, file)
    compiled = cfxc.compile(file, SPACE, trust_pickle=True)
    refused = X[model.predict(X) == 0]
    for person in (refused[refused.notna().all(axis=1)], refused[refused["income"].isna()]):
        answer = compiled.explain(person.iloc[[0]], target=1)
        checked = cfxc.check(answer.certificate)
        assert checked.ok, checked
        answer.certificate.save(tmp_path / "certificate.json")
        given = [str(tmp_path / "certificate.json"), "--model", str(file), "--trust-pickle"]
        assert main(["check", *given]) == 0
        assert alone(given) == 0
    text = (tmp_path / "certificate.json").read_text()
    lying = json.loads(text)
    (income,) = [f for f in lying["features"] if f["name"] == "income"]
    assert income.pop("missing") is True
    assert not cfxc.check(lying).ok


def test_an_outlier_detector_and_a_regressor() -> None:
    numbers = X[NUMBERS]
    space = cfxc.FeatureSpace.infer(numbers)
    rows = people(1000, seed=2)[0][NUMBERS]
    detector = IsolationForest(n_estimators=20, random_state=0).fit(numbers)
    compiled = cfxc.compile(detector, space)
    assert labels_of(compiled, rows) == detector.predict(rows).tolist()
    tree = DecisionTreeRegressor(max_depth=5).fit(numbers, numbers["debt"])
    program = cfxc.compile(tree, space).program
    points = [space.encode_row(rows.iloc[[i]], check_range=False) for i in range(300)]
    values = [float(evaluate(program, point)["value"]) for point in points]
    assert values == tree.predict(rows.iloc[:300]).tolist()


def test_a_number_that_stands_for_missing() -> None:
    marked = X[NUMBERS].fillna(-9.0)
    space = cfxc.FeatureSpace.infer(marked)
    steps = SimpleImputer(missing_values=-9, add_indicator=True), StandardScaler()
    model = make_pipeline(*steps, LogisticRegression()).fit(marked, Y)
    compiled = cfxc.compile(model, space)
    assert labels_of(compiled, marked.iloc[:300]) == model.predict(marked.iloc[:300]).tolist()
    person = marked[(model.predict(marked) == 0) & (marked["income"] == -9)].iloc[[0]]
    assert compiled.explain(person, target=1).status == "optimal"


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(table(), GradientBoostingClassifier(n_estimators=2)),
        logistic(StandardScaler()),
    ],
    ids=["gradient boosting", "logistic regression"],
)
def test_models_that_take_no_missing_numbers_say_so(model: Any) -> None:
    whole = X.dropna()
    model.fit(whole, Y[whole.index])
    with pytest.raises(UnsupportedError) as caught:
        cfxc.compile(model, SPACE)
    assert "column 'income' may be missing" in str(caught.value)
    assert "SimpleImputer" in str(caught.value)
    assert "missing = false" in str(caught.value)


def test_conditions_that_read_what_is_missing() -> None:
    model = forest().fit(X, Y)
    compiled = cfxc.compile(model, SPACE)
    refused = X[model.predict(X) == 0]
    lacking = refused[refused["income"].isna()].iloc[[0]]
    with pytest.raises(InvalidInputError, match="'income', which is missing in this instance"):
        compiled.explain(lacking, target=1, subject_to=["income >= factual.income"])
    answer = compiled.explain(lacking, target=1, subject_to=["debt <= factual.debt"])
    assert answer.status in ("optimal", "infeasible")
    table_ = compiled.explain_batch(refused.iloc[:20], target=1, subject_to=["income >= 10"])
    gaps = refused.iloc[:20]["income"].isna().to_numpy()
    assert (table_["status"] == "error").to_numpy().tolist() == gaps.tolist()


def test_what_computes_with_numbers_of_a_table_refuses_gaps() -> None:
    model = forest().fit(X, Y)
    compiled = cfxc.compile(model, SPACE)
    person = X[model.predict(X) == 0].iloc[[0]]
    with pytest.raises(UnsupportedError, match="trust region"):
        compiled.explain(person, target=1, subject_to=[cfxc.TrustRegion(X, Y)])


def test_what_stands_for_a_missing_number_lies_below_its_range() -> None:
    for lower in (0, -3, Fraction(1, 3), Fraction(float(2**60)), Fraction(-1e300), 5):
        feature = cfxc.Feature("x", "real", lower, lower + 1, missing=True)
        assert feature.absent is not None
        assert feature.absent < feature.bounds[0]
        assert Fraction(float(feature.absent)) == feature.absent
        assert feature.absent.denominator == 1


def test_what_is_filled_in_is_the_fill_in_doubles_too() -> None:
    """Quantiles repeat at the mean that fills a fifth of the column: the function jumps there."""
    steps = SimpleImputer(), QuantileTransformer(n_quantiles=20)
    model = make_pipeline(*steps, LogisticRegression()).fit(X[NUMBERS], Y)
    compiled = cfxc.compile(model, cfxc.FeatureSpace.infer(X[NUMBERS]))
    rows = people(500, seed=3)[0][NUMBERS]
    known = compiled.space.encode_frame(rows, check_range=False)
    shares = np.asarray(BatchEvaluator(compiled.program)(known)["probability"], dtype=float)
    np.testing.assert_allclose(shares, model.predict_proba(rows), atol=1e-9)


@pytest.mark.parametrize("marker", [np.nan, None])
def test_none_among_objects_is_no_nan(marker: Any) -> None:
    """The library fills in, and tells apart, what it was told is missing, and leaves the other."""
    rng = np.random.default_rng(4)
    cells = rng.choice(np.array(["a", "b", None], dtype=object), 300)
    sectors = pd.Series(cells, dtype=object)
    frame = pd.DataFrame({"sector": sectors, "size": rng.integers(0, 9, 300)})
    wanted = np.where(frame["sector"].isna(), frame["size"] > 2, frame["size"] > 6)
    labels = make_union(
        make_pipeline(
            SimpleImputer(missing_values=marker, strategy="most_frequent"), OneHotEncoder()
        ),
        MissingIndicator(missing_values=marker, features="all"),
    )
    columns = make_column_transformer(
        (labels, ["sector"]), remainder="passthrough", sparse_threshold=0
    )
    model = make_pipeline(columns, DecisionTreeClassifier(random_state=0)).fit(frame, wanted)
    space = cfxc.FeatureSpace.infer(frame)
    assert space["sector"].missing_as == "none"
    compiled = cfxc.compile(model, space)
    assert labels_of(compiled, frame) == model.predict(frame).tolist()

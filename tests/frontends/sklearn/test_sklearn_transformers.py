"""Programs of transformers agree with the deployed ones, before linear models and before trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.cluster import FeatureAgglomeration
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import (
    PCA,
    FactorAnalysis,
    FastICA,
    IncrementalPCA,
    KernelPCA,
    MiniBatchSparsePCA,
    SparsePCA,
    TruncatedSVD,
)
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomTreesEmbedding,
)
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.feature_selection import (
    RFE,
    RFECV,
    GenericUnivariateSelect,
    SelectFdr,
    SelectFpr,
    SelectFromModel,
    SelectFwe,
    SelectKBest,
    SelectPercentile,
    SequentialFeatureSelector,
    VarianceThreshold,
)
from sklearn.impute import IterativeImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.neural_network import BernoulliRBM
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection
from sklearn.tree import DecisionTreeRegressor

import cfxc
from cfxc.frontends.sklearn import lower
from cfxc.ir import BatchEvaluator, Program, evaluate, ops
from cfxc.space import FeatureSpace
from tests.frontends.sklearn.transformers import (
    REALS,
    beside,
    make_space,
    make_table,
    make_target,
    spread,
)

Agree = Callable[..., Program]

ALL_COLUMNS: dict[str, Any] = {
    "pca": PCA(2),
    "whitened pca": PCA(3, whiten=True),
    "incremental pca": IncrementalPCA(2),
    "svd": TruncatedSVD(2),
    "factors": FactorAnalysis(2),
    "ica": FastICA(3, random_state=0),
    "ica, not whitened": FastICA(whiten=False, random_state=0),
    "discriminants": LinearDiscriminantAnalysis(),
    "eigen discriminants": LinearDiscriminantAnalysis(solver="eigen"),
    "neighbourhood": NeighborhoodComponentsAnalysis(2, random_state=0, max_iter=10),
    "gaussian": GaussianRandomProjection(2, random_state=0),
    "sparse": SparseRandomProjection(3, random_state=0, density=0.5),
    "means": FeatureAgglomeration(2),
    "largest": FeatureAgglomeration(2, pooling_func=np.max),
    "sums": FeatureAgglomeration(2, pooling_func=np.sum),
    "machine": BernoulliRBM(2, random_state=0),
    "sparse pca": make_pipeline(StandardScaler(), SparsePCA(2, random_state=0)),
    "sparse pca by batches": make_pipeline(
        StandardScaler(), MiniBatchSparsePCA(3, random_state=0, max_iter=20)
    ),
    "bumps": make_pipeline(StandardScaler(), Nystroem(n_components=15, random_state=0)),
    "cubes": make_pipeline(
        MinMaxScaler(), Nystroem(kernel="poly", gamma=0.5, n_components=8, random_state=0)
    ),
    "wave": make_pipeline(
        StandardScaler(),
        Nystroem(kernel="sigmoid", kernel_params={"gamma": 0.1}, n_components=6, random_state=0),
    ),
    "kernel pca": KernelPCA(2),
    "kernel pca of squares": make_pipeline(MinMaxScaler(), KernelPCA(2, kernel="poly", degree=2)),
    "kernel pca of bumps": make_pipeline(StandardScaler(), KernelPCA(2, kernel="rbf", gamma=0.2)),
    "in turn": IterativeImputer(random_state=0, max_iter=3),
    "in turn by trees": IterativeImputer(
        DecisionTreeRegressor(max_depth=3, random_state=0),
        max_iter=2,
        n_nearest_features=2,
        add_indicator=True,
        min_value=0,
        random_state=0,
    ),
    "l1": Normalizer("l1"),
    "terms": make_pipeline(MinMaxScaler(), TfidfTransformer(norm=None)),
    "shares of terms": make_pipeline(MinMaxScaler(), TfidfTransformer(norm="l1")),
    "max": Normalizer("max"),
    "products": PolynomialFeatures(2),
    "interactions": PolynomialFeatures(3, interaction_only=True, include_bias=False),
    "no columns themselves": PolynomialFeatures((2, 3)),
    "union": FeatureUnion(
        [("p", PCA(2)), ("s", StandardScaler()), ("k", "passthrough"), ("x", "drop")],
        transformer_weights={"p": 2.0, "s": -0.5},
    ),
}
ONE_COLUMN: dict[str, Any] = {
    "robust": RobustScaler(),
    "robust, not centred": RobustScaler(with_centering=False),
    "largest": MaxAbsScaler(),
    "one-hot bins": KBinsDiscretizer(4, encode="onehot-dense"),
    "bins": KBinsDiscretizer(5, encode="ordinal", strategy="uniform"),
    "single bins": KBinsDiscretizer(5, encode="ordinal", dtype=np.float32),
    "binary": Binarizer(threshold=2.5),
    "power": PowerTransformer(),
    "quantiles": QuantileTransformer(n_quantiles=20),
    "normal quantiles": QuantileTransformer(n_quantiles=20, output_distribution="normal"),
    "splines": SplineTransformer(degree=1, n_knots=4),
    "continued splines": SplineTransformer(
        degree=1, knots="quantile", extrapolation="continue", include_bias=False
    ),
    "scaled bins": make_pipeline(StandardScaler(), KBinsDiscretizer(4, encode="ordinal")),
    "folded": make_pipeline(StandardScaler(), FunctionTransformer(np.abs), StandardScaler()),
    "squared": make_pipeline(StandardScaler(), FunctionTransformer(np.square), MinMaxScaler()),
    "scaled quantiles": make_pipeline(QuantileTransformer(n_quantiles=20), StandardScaler()),
} | {
    function.__name__: FunctionTransformer(function)
    for function in (
        np.abs, np.fabs, np.square, np.negative, np.sign, np.floor, np.ceil, np.rint, np.trunc,
        np.cbrt, np.arcsinh, np.arctan, np.exp, np.expm1, np.tanh, expit,
    )
}  # fmt: skip
ONLY_TREES = {"power", "normal quantiles", "cbrt", "arcsinh", "arctan", "single bins"}


def linear() -> Any:
    return LogisticRegression(max_iter=300)


def forest() -> Any:
    return RandomForestClassifier(6, max_depth=4, random_state=0)


def boosting() -> Any:
    return HistGradientBoostingClassifier(max_iter=10, random_state=0)


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return make_table()


@pytest.mark.parametrize("make", [linear, forest], ids=["linear", "forest"])
@pytest.mark.parametrize("name", ALL_COLUMNS)
def test_transformers_of_all_columns(
    name: str, make: Callable[[], Any], table: pd.DataFrame, agree: Agree
) -> None:
    model = make_pipeline(ALL_COLUMNS[name], make()).fit(table, make_target(table))
    agree(model, make_space(table), spread(table), exact_rows=10)


@pytest.mark.parametrize("make", [linear, forest, boosting], ids=["linear", "forest", "boosting"])
@pytest.mark.parametrize("name", ONE_COLUMN)
def test_transformers_of_one_column(
    name: str, make: Callable[[], Any], table: pd.DataFrame, agree: Agree
) -> None:
    """Training rows too, which lie on the thresholds of boosting."""
    if make is linear and name in ONLY_TREES:
        pytest.skip("refused: see test_sklearn_refusals")
    model = make_pipeline(ONE_COLUMN[name], make()).fit(table, make_target(table))
    rows = pd.concat([table, spread(table)], ignore_index=True)
    agree(model, make_space(table), rows, exact_rows=40)


def thresholds_of(program: Program) -> dict[str, list[float]]:
    """By column, the doubles that trees, and the steps before them, compare it with."""
    lets = {let.name: let.op for let in program.lets()}
    found: dict[str, list[float]] = {}
    for op in lets.values():
        if isinstance(op, ops.TreeEnsemble):
            parts = columns_of(lets, op.x)
            inner = op.feature.array >= 0
            pairs = zip(op.feature.array[inner], op.threshold.array[inner], strict=True)
            for feature, threshold in pairs:
                if isinstance(parts[feature], str):
                    found.setdefault(parts[feature], []).append(float(threshold))
        if isinstance(op, ops.Gt) and isinstance(lets.get(str(op.y)), ops.Constant):
            (name,) = columns_of(lets, op.x)
            if isinstance(name, str):
                found.setdefault(name, []).extend(lets[str(op.y)].value.array.tolist())
    return found


def columns_of(lets: dict[str, Any], x: Any) -> list[str | None]:
    """Which column of the table each entry of a vector is; ``None`` if it is none."""
    op = lets.get(str(x))
    if op is None:
        return [str(x)]
    if isinstance(op, ops.Concat):
        return [name for part in op.parts for name in columns_of(lets, part)]
    if isinstance(op, ops.Take):
        inner = columns_of(lets, op.x)
        return [inner[i] for i in op.indices]
    if isinstance(op, ops.Lookup):
        return [None] * op.table.shape[1]
    if isinstance(op, ops.Sub | ops.Div):
        return [None] * len(columns_of(lets, op.x))
    return [None] * (op.bias.shape[0] if isinstance(op, ops.Affine) else 1)


@pytest.mark.parametrize("name", [name for name in ONE_COLUMN if name != "one-hot bins"])
def test_every_threshold_behind_a_function_of_a_column(name: str, table: pd.DataFrame) -> None:
    """At the doubles where a tree changes sides, and beside them, it goes where deployed."""
    target = make_target(table)
    model = make_pipeline(ONE_COLUMN[name], boosting()).fit(table[REALS], target)
    space = make_space(table[REALS])
    program = lower(model, space)
    found = thresholds_of(program)
    assert found
    for column, cuts in found.items():
        low, high = table[column].min(), table[column].max()
        rows = beside(table[REALS], column, [cut for cut in cuts if low < cut < high])
        if rows.empty:
            continue
        scores = BatchEvaluator(program)(space.encode_frame(rows, check_range=False))["score"]
        np.testing.assert_allclose(scores, model.decision_function(rows), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("function", [np.log, np.log1p, np.log2, np.log10, np.sqrt, np.reciprocal])
def test_functions_of_positive_numbers(function: Any, table: pd.DataFrame, agree: Agree) -> None:
    """Whole numbers are a table; reals can be compared; so can what scalers make of either."""
    table = table.assign(visits=table["visits"] + 1.0)[["visits", "spent"]]
    target = make_target(table.assign(change=0.0))
    space = make_space(table)
    parts = make_pipeline(FunctionTransformer(function), StandardScaler())
    for model in (forest(), boosting()):
        trees = make_pipeline(parts, model).fit(table, target)
        agree(trees, space, pd.concat([table, spread(table)], ignore_index=True), exact_rows=40)
    columns = ColumnTransformer([("f", parts, ["visits"])], remainder="passthrough")
    agree(make_pipeline(columns, linear()).fit(table, target), space, spread(table))


@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("extrapolation", ["constant", "linear", "continue"])
def test_splines_of_whole_numbers_are_tables(
    degree: int, extrapolation: Any, table: pd.DataFrame, agree: Agree
) -> None:
    table = table[["visits"]].assign(half=(table["half"] * 2).astype(int))
    target = (table["visits"] + 3 * table["half"] > 45).astype(int)
    splines = SplineTransformer(degree=degree, n_knots=4, extrapolation=extrapolation)
    model = make_pipeline(splines, linear()).fit(table, target)
    space = FeatureSpace.infer(table, kinds=dict.fromkeys(table, "integer"))
    program = agree(model, space, table)
    (affine, *_) = [let.op for let in program.lets() if isinstance(let.op, ops.Affine)]
    first = evaluate(program, {"visits": 7, "half": 4})
    score = model.decision_function(pd.DataFrame({"visits": [7], "half": [4]}))[0]
    assert abs(first["score"] - Fraction(score)) < Fraction(1, 10**12)
    assert affine.bias.shape == (degree + 3,)


def test_repeated_quantiles_jump(agree: Agree) -> None:
    """Where quantiles repeat, the number itself lies half way up, except at the ends."""
    values = np.repeat([1.0, 1.5, 2.0, 2.25, 4.0], [30, 20, 45, 10, 15])
    table = pd.DataFrame({"x": values, "y": np.random.default_rng(0).normal(size=values.size)})
    space = FeatureSpace.infer(table, kinds={"x": "real", "y": "real"})
    target = (table["x"] + table["y"] > 2).astype(int)
    for output, make in (("uniform", linear), ("uniform", boosting), ("normal", boosting)):
        quantiles = QuantileTransformer(n_quantiles=25, output_distribution=output)
        model = make_pipeline(quantiles, make()).fit(table, target)
        rows = [beside(table, "x", [1.0, 1.5, 1.7, 2.0, 2.25, 3.0, 4.0]), table]
        agree(model, space, pd.concat(rows, ignore_index=True), exact_rows=21)


def test_bins_at_every_edge(table: pd.DataFrame) -> None:
    """A number on an edge is in the bin above it, also after a scaler."""
    target = make_target(table)
    space = make_space(table[REALS])
    for bins in (ONE_COLUMN["bins"], ONE_COLUMN["one-hot bins"], ONE_COLUMN["scaled bins"]):
        model = make_pipeline(bins, linear()).fit(table[REALS], target)
        program = lower(model, space)
        for column, cuts in thresholds_of(program).items():
            rows = beside(table[REALS], column, cuts)
            score = BatchEvaluator(program)(space.encode_frame(rows, check_range=False))["score"]
            np.testing.assert_allclose(score, model.decision_function(rows), rtol=1e-12, atol=1e-12)


SELECTORS: Sequence[Any] = (
    GenericUnivariateSelect(mode="k_best", param=2),
    RFE(LogisticRegression(), n_features_to_select=2),
    RFECV(LogisticRegression()),
    SelectFdr(),
    SelectFpr(),
    SelectFromModel(RandomForestClassifier(5, random_state=0)),
    SelectFwe(),
    SelectKBest(k=2),
    SelectPercentile(percentile=50),
    SequentialFeatureSelector(LogisticRegression(), n_features_to_select=2),
    VarianceThreshold(1.0),
)


@pytest.mark.parametrize("selector", SELECTORS, ids=lambda one: type(one).__name__)
def test_selectors_keep_columns(selector: Any, table: pd.DataFrame, agree: Agree) -> None:
    model = make_pipeline(selector, StandardScaler(), forest()).fit(table, make_target(table))
    assert not model[0].get_support().all()
    program = agree(model, make_space(table), spread(table))
    kept = model[0].get_feature_names_out().tolist()
    lets = {let.name: let.op for let in program.lets()}
    (trees,) = [op for op in lets.values() if isinstance(op, ops.TreeEnsemble)]
    assert columns_of(lets, trees.x) == kept


def test_selectors_and_pandas_output(table: pd.DataFrame, agree: Agree) -> None:
    """Names and order change with ``set_output``, numbers do not."""
    columns = ColumnTransformer(
        [("bins", KBinsDiscretizer(3, encode="ordinal"), ["half"]), ("rest", RobustScaler(), REALS)]
    )
    model = make_pipeline(columns, SelectKBest(k=3), linear()).set_output(transform="pandas")
    agree(model.fit(table, make_target(table)), make_space(table), spread(table))


@pytest.mark.parametrize("classes", ["binary", "multi", "value"])
def test_target_encoders(
    classes: str, people: pd.DataFrame, space: FeatureSpace, targets: dict[str, Any], agree: Agree
) -> None:
    """Text, booleans and codes; numbers that training has not seen get the mean."""
    encoded = ["sector", "member", "code", "age"]
    columns = ColumnTransformer(
        [("target", TargetEncoder(random_state=0), encoded)], remainder="passthrough"
    )
    rows = people[people["age"] != 40]
    target = targets[classes][people["age"] != 40]
    model = make_pipeline(columns, Ridge() if classes == "value" else linear()).fit(rows, target)
    agree(model, space, people)
    inputs = space.encode_row(people[people["age"] == 40].iloc[[0]])
    evaluate(lower(model, space), inputs)


def test_products_with_categories(
    people: pd.DataFrame, space: FeatureSpace, targets: dict[str, Any], agree: Agree
) -> None:
    """Products of indicators of one feature are tables, and so are powers of them."""
    columns = ColumnTransformer(
        [("hot", OneHotEncoder(), ["sector"]), ("age", StandardScaler(), ["age"])],
        sparse_threshold=0,
    )
    model = make_pipeline(columns, PolynomialFeatures(2), linear())
    program = agree(model.fit(people, targets["binary"]), space, people)
    products = [let.op for let in program.lets() if isinstance(let.op, ops.Mul)]
    assert len(products) == 1  # of age with each indicator


@pytest.mark.parametrize("make", [linear, forest], ids=["linear", "forest"])
def test_leaves_as_columns(make: Callable[[], Any], table: pd.DataFrame, agree: Agree) -> None:
    embedding = RandomTreesEmbedding(5, max_depth=3, random_state=0)
    model = make_pipeline(embedding, make()).fit(table, make_target(table))
    agree(model, make_space(table), spread(table))


def test_sparse_scalers_multiply_by_rounded_reciprocals() -> None:
    """Of a sparse matrix, ``x / scale`` is ``x * (1 / scale)`` in the library: other doubles."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.gamma(2, 3, 400), "word": rng.choice(list("abcdefgh"), 400)})
    columns = ColumnTransformer(
        [("hot", OneHotEncoder(), ["word"])], remainder="passthrough", sparse_threshold=1.0
    )
    target = (frame["x"] + (frame["word"] < "d") * 4 > 8).astype(int)
    space = FeatureSpace.infer(frame, kinds={"x": "real"})
    for scaler in (MaxAbsScaler(), StandardScaler(with_mean=False)):
        model = Pipeline([("c", columns), ("s", scaler), ("t", forest())]).fit(frame, target)
        assert model[0].sparse_output_
        program = lower(model, space)
        cuts = thresholds_of(program)["x"]
        rows = beside(frame, "x", cuts)
        made = BatchEvaluator(program)(space.encode_frame(rows, check_range=False))["probability"]
        assert np.array_equal(made, model.predict_proba(rows))


@pytest.mark.parametrize("name", ["power", "normal quantiles", "folded", "negative", "bins"])
def test_boosters_ask_of_the_table_too(name: str, table: pd.DataFrame, agree: Agree) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    booster = lightgbm.LGBMClassifier(n_estimators=10, verbose=-1)
    model = make_pipeline(ONE_COLUMN[name], booster).fit(table, make_target(table))
    rows = pd.concat([table, spread(table)], ignore_index=True)
    agree(model, make_space(table), rows, exact_rows=30)


def test_a_single_row_of_sparse_pca(table: pd.DataFrame) -> None:
    """Which scikit-learn's own transform makes a vector of: the deployed model is given two."""
    step = make_pipeline(StandardScaler(), SparsePCA(2, random_state=0))
    model = make_pipeline(step, linear()).fit(table, make_target(table))
    compiled, row = cfxc.compile(model, make_space(table)), table.iloc[[0]]
    other = 1 - compiled.predict(row)[0]
    result = compiled.explain(row, target=other)
    assert result.status == "optimal"
    assert model.predict(pd.concat([result.counterfactual] * 2)).tolist() == [other, other]
    chances = compiled.predictor.probabilities(row)
    assert chances is not None
    assert chances.shape == (1, 2)

"""Transformers without a program are refused by name, with the reason and what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import FeatureAgglomeration, KMeans
from sklearn.decomposition import NMF, KernelPCA, SparsePCA
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import IterativeImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsRegressor, RadiusNeighborsClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    KernelCenterer,
    MinMaxScaler,
    Normalizer,
    PowerTransformer,
    QuantileTransformer,
    SplineTransformer,
)
from sklearn.semi_supervised import LabelPropagation

import cfxc
from cfxc.errors import UnsupportedError
from cfxc.frontends.sklearn import MODELS, REFUSED, TRANSFORMERS, lower
from tests.frontends.sklearn.transformers import REALS, make_space, make_table, make_target


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return make_table()


def refusal(step: Any, table: pd.DataFrame, *more: Any) -> str:
    model = make_pipeline(step, *more, LogisticRegression()).fit(table, make_target(table))
    with pytest.raises(UnsupportedError) as caught:
        lower(model, make_space(table))
    text = str(caught.value)
    assert len(text.splitlines()) <= 10
    assert len(text) < 900  # and so no list of all that is supported
    return text


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (RBFSampler(random_state=0), ("RBFSampler): computes cosines", "SplineTransformer")),
        (Nystroem("laplacian"), ("kernel 'laplacian' is not supported; supported are linear",)),
        (Nystroem("poly", degree=2.5), ("degree 2.5 of its kernel is no whole number",)),
        (KernelPCA(2, kernel="cosine"), ("kernel 'cosine' is not supported",)),
        (SparsePCA(2, ridge_alpha=0), ("ridge_alpha=0 leaves equations", "0.01")),
        (IterativeImputer(sample_posterior=True), ("draws what is missing at random",)),
        (IterativeImputer(missing_values=-1), ("takes -1 for missing", "np.nan")),
        (IterativeImputer(KNeighborsRegressor()), ("its estimators (KNeighborsRegressor)",)),
        (KMeans(2, n_init=1), ("KMeans): gives distances", "KBinsDiscretizer")),
        (Normalizer(), ("Normalizer): norm='l2' divides by a square root", "norm='l1'")),
        (make_pipeline(MinMaxScaler(), TfidfTransformer()), ("norm='l2' divides", "or None")),
        (
            make_pipeline(MinMaxScaler((1, 2)), TfidfTransformer(norm=None, sublinear_tf=True)),
            ("takes logarithms of counts",),
        ),
        (FeatureAgglomeration(2, pooling_func=np.median), ("pools by 'median'", "np.mean")),
        (SplineTransformer(extrapolation="periodic"), ("'periodic' is not", "'constant'")),
        (SplineTransformer(degree=1, extrapolation="linear"), ("wrong knots", "'continue'")),
        (SplineTransformer(degree=3), ("no hat functions", "degree=1")),
        (PowerTransformer(), ("(PowerTransformer) gives; a power of a real", "ONNX")),
        (QuantileTransformer(n_quantiles=9, output_distribution="normal"), ("normal quantiles",)),
        (FunctionTransformer(np.cbrt), ("'cbrt' of a real column", "integer in the space")),
        (FunctionTransformer(np.sin), ("Python function 'sin'", "np.log1p")),
        (FunctionTransformer(lambda x: x), ("Python function '<lambda>'", "func=None")),
        (FunctionTransformer(np.round, kw_args={"decimals": 1}), ("kw_args",)),
        (VarianceThreshold(0.0), ()),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, tuple) else "",
)
def test_reasons_and_remedies(step: Any, words: tuple[str, ...], table: pd.DataFrame) -> None:
    if not words:  # supported: the list is not of refusals alone by accident
        lower(
            make_pipeline(step, LogisticRegression()).fit(table, make_target(table)),
            make_space(table),
        )
        return
    text = refusal(step, table)
    assert all(word in text for word in words), text


def test_refused_classes_have_reasons_and_no_rule() -> None:
    for cls, refusal in REFUSED.items():
        assert refusal.reason
        assert cls not in TRANSFORMERS or cls in MODELS
    assert KernelCenterer in REFUSED
    assert NMF in REFUSED


def test_domains_are_checked(table: pd.DataFrame) -> None:
    model = make_pipeline(FunctionTransformer(np.log1p), LogisticRegression())
    model.fit(table[["visits"]], make_target(table))
    space = make_space(table[["visits"]])
    lower(model, space)
    with pytest.raises(UnsupportedError, match="the column can hold -1") as caught:
        lower(model, space.replace("visits", lower=-1))
    assert "Raise the feature's lower bound above -1" in str(caught.value)


def test_small_floats_are_refused(table: pd.DataFrame) -> None:
    single = table.astype({"visits": "int16"})
    model = make_pipeline(FunctionTransformer(np.log1p), LogisticRegression())
    model.fit(single[["visits"]], make_target(table))
    with pytest.raises(UnsupportedError, match="of dtype int16"):
        lower(model, make_space(single[["visits"]]))


def test_parts_of_unions_are_checked(table: pd.DataFrame) -> None:
    union = FeatureUnion([("bins", KBinsDiscretizer(3)), ("rbf", RBFSampler(random_state=0))])
    text = refusal(union, table)
    assert "(FeatureUnion) > 'rbf' (RBFSampler): computes cosines" in text
    assert "bins" not in text


def test_selectors_of_nothing(table: pd.DataFrame) -> None:
    selector = SelectKBest(k=0).fit(table, make_target(table))
    model = make_pipeline(SelectKBest(k=2), LogisticRegression()).fit(table, make_target(table))
    model.steps[0] = ("selectkbest", selector)
    with pytest.raises(UnsupportedError, match="keeps no column"):
        lower(model, make_space(table))


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (RadiusNeighborsClassifier(9.0), "outlier_label='most_frequent'"),
        (RadiusNeighborsClassifier(0.5, outlier_label=7), "answers 7 where no training row"),
        (
            RadiusNeighborsClassifier(9.0, weights="distance", outlier_label="most_frequent"),
            "use weights='uniform'",
        ),
        (
            RadiusNeighborsClassifier(9.0, metric="chebyshev", outlier_label="most_frequent"),
            "metric 'chebyshev'",
        ),
        (LabelPropagation("knn"), "kernel 'knn'"),
        (LabelPropagation(gamma=20), "underflow to 0"),
    ],
    ids=lambda value: "" if isinstance(value, str) else type(value).__name__,
)
@pytest.mark.filterwarnings("ignore")  # it need not converge
def test_neighbours_that_are_refused(model: Any, words: str, table: pd.DataFrame) -> None:
    model.fit(table, make_target(table))
    with pytest.raises(UnsupportedError, match=words):
        lower(model, make_space(table))


def test_rows_that_are_missing_altogether(table: pd.DataFrame) -> None:
    """Alone such a row gets the first values; beside others what the models make of them."""
    gaps = table.assign(spent=table["spent"].mask(table.index % 3 == 0))[["spent"]]
    gaps["change"] = table["change"].mask(table.index % 4 == 0)
    model = make_pipeline(IterativeImputer(), LogisticRegression()).fit(gaps, make_target(table))
    with pytest.raises(UnsupportedError, match="depends on the other rows"):
        lower(model, make_space(gaps))


@pytest.mark.parametrize("options", [{}, {"p": 1}, {"algorithm": "brute"}])
def test_where_no_training_row_is_near(options: dict[str, Any], table: pd.DataFrame) -> None:
    model = RadiusNeighborsClassifier(0.5, outlier_label=1, **options)
    model.fit(table[REALS].iloc[:40], make_target(table)[:40])
    space = make_space(table[REALS])
    compiled = cfxc.compile(model, space)
    row = table[REALS][model.predict(table[REALS]) == 0].iloc[[0]]
    result = compiled.explain(row, target=1, time_limit=10)
    assert result.counterfactual is not None
    assert model.predict(result.counterfactual)[0] == 1

"""Transformers without a program are refused by name, with the reason and what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import FeatureAgglomeration, KMeans
from sklearn.decomposition import NMF
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    KernelCenterer,
    Normalizer,
    PowerTransformer,
    QuantileTransformer,
    SplineTransformer,
)

from cfxc.errors import UnsupportedError
from cfxc.frontends.sklearn import MODELS, REFUSED, TRANSFORMERS, lower
from tests.frontends.sklearn.transformers import make_space, make_table, make_target


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
        (Nystroem(n_components=3), ("Nystroem): computes a kernel", "Use PCA")),
        (KMeans(2, n_init=1), ("KMeans): gives distances", "KBinsDiscretizer")),
        (Normalizer(), ("Normalizer): norm='l2' divides by a square root", "norm='l1'")),
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

"""XGBoost takes what a sparse matrix does not store, its zeros, as missing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import cfxc
from cfxc.errors import UnsupportedError
from cfxc.ir import evaluate

xgboost = pytest.importorskip("xgboost")


def people(count: int = 400) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(3)
    table = pd.DataFrame(
        {
            "job": rng.choice(list("abcdefghij"), count),
            "gain": rng.choice([0, 0, 0, 5, 9], count),
            "age": rng.integers(-3, 4, count),
        }
    )
    worth = (table.gain > 4) + (table.age > 0) + table.job.isin(["a", "b"]) * (table.age < 2)
    return table, (worth + rng.random(count) * 0.6 > 1.3).astype(int).to_numpy()


def pipeline(threshold: float, **options: float) -> object:
    columns = make_column_transformer(
        (OneHotEncoder(), ["job"]), ("passthrough", ["gain", "age"]), sparse_threshold=threshold
    )
    model = xgboost.XGBClassifier(n_estimators=12, max_depth=4, n_jobs=1, **options)
    return make_pipeline(columns, model)


@pytest.mark.parametrize("threshold", [0.0, 0.9], ids=["dense", "sparse"])
def test_the_program_reads_zeros_as_the_library_does(threshold: float) -> None:
    table, target = people()
    model = pipeline(threshold).fit(table, target)
    assert model[0].sparse_output_ == (threshold > 0)
    space = cfxc.FeatureSpace.infer(table)
    program = cfxc.compile(model, space).program
    found = [
        evaluate(program, space.encode_row(table.iloc[[i]]))["label"] for i in range(len(table))
    ]
    assert found == model.predict(table).tolist()


def test_the_two_differ() -> None:
    """Or the test above would show little: the same trees, on a dense matrix."""
    table, target = people()
    model = pipeline(0.9).fit(table, target)
    dense = model[0].transform(table).toarray()
    assert (model[1].predict(dense) != model.predict(table)).any()


def test_scalers_keep_a_matrix_sparse() -> None:
    table, target = people()
    columns = make_column_transformer((OneHotEncoder(), ["job"]), ("passthrough", ["gain", "age"]))
    columns.set_params(sparse_threshold=0.9)
    scaler, booster = StandardScaler(with_mean=False), xgboost.XGBClassifier(n_jobs=1)
    model = make_pipeline(columns, scaler, booster).fit(table, target)
    space = cfxc.FeatureSpace.infer(table)
    program = cfxc.compile(model, space).program
    rows = range(100)
    found = [evaluate(program, space.encode_row(table.iloc[[i]]))["label"] for i in rows]
    assert found == model.predict(table.iloc[:100]).tolist()


def test_another_missing_number_is_refused() -> None:
    table, target = people()
    model = pipeline(0.9, missing=5.0)
    try:
        model.fit(table, target)
    except ValueError:  # the library itself refuses it on sparse matrices
        return
    with pytest.raises(UnsupportedError, match="sparse"):
        cfxc.compile(model, cfxc.FeatureSpace.infer(table))

"""Pandas' dtypes of pyarrow, nullable ones and codes: read exactly, and given back as they came."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import cfxc
from cfxc.errors import DataTypeError, UnsupportedError
from cfxc.ir.batch import BatchEvaluator

N = 300
RNG = np.random.default_rng(0)
CELLS: dict[str, list[Any]] = {
    "age": RNG.integers(18, 60, N).tolist(),
    "pay": (RNG.integers(0, 400, N) / 64).tolist(),
    "town": [["x", "y", "z"][k] for k in RNG.integers(0, 3, N)],
    "member": (RNG.integers(0, 2, N) == 1).tolist(),
}
SCORE = np.array(CELLS["age"]) + 8 * np.array(CELLS["pay"]) + 12 * np.array(CELLS["member"])
Y = (SCORE > 70).astype(int)


def _arrow(name: str) -> Any:
    pa = pytest.importorskip("pyarrow")
    types = {"dictionary": pa.dictionary(pa.int32(), pa.string()), "large": pa.large_string()}
    return pd.ArrowDtype(types[name]) if name in types else name


BACKED = {
    "pyarrow": ("int64[pyarrow]", "double[pyarrow]", "string[pyarrow]", "bool[pyarrow]"),
    "narrow pyarrow": ("uint8[pyarrow]", "float[pyarrow]", "dictionary", "bool[pyarrow]"),
    "large texts": ("int32[pyarrow]", "double[pyarrow]", "large", "bool[pyarrow]"),
    "nullable": ("Int64", "Float64", "string", "boolean"),
    "narrow nullable": ("UInt8", "Float32", "category", "boolean"),
}


def _backed(dtypes: tuple[str, ...], *, gaps: bool) -> pd.DataFrame:
    cells = {name: list(CELLS[name]) for name in ("age", "pay", "town", "member")}
    if gaps:
        holes = np.random.default_rng(1).random((N, 2)) < 0.1
        for j, name in enumerate(("age", "pay")):
            cells[name] = [None if holes[i, j] else cell for i, cell in enumerate(cells[name])]
    pairs = zip(cells.items(), dtypes, strict=True)
    return pd.DataFrame({n: pd.Series(values, dtype=_arrow(d)) for (n, values), d in pairs})


@pytest.mark.parametrize("dtypes", BACKED.values(), ids=list(BACKED))
def test_dtypes_of_pyarrow_and_nullable_ones(dtypes: tuple[str, ...]) -> None:
    frame = _backed(dtypes, gaps=False)
    encode = make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough")
    forest = make_pipeline(encode, RandomForestClassifier(9, max_depth=5, random_state=0))
    forest.fit(frame, Y)
    space = cfxc.FeatureSpace.infer(frame)
    assert cfxc.FeatureSpace.from_toml(space.to_toml()) == space
    model = cfxc.compile(forest, space, favourable=1)
    expected = forest.predict(frame)
    np.testing.assert_array_equal(model.predict(frame), expected)
    labels = BatchEvaluator(model.program)(space.encode_frame(frame))["label"]
    np.testing.assert_array_equal(np.asarray(labels), expected)
    rows = frame[expected == 0].iloc[:4]
    for i in range(len(rows)):
        found = model.explain(rows.iloc[[i]]).counterfactual
        assert found.dtypes.equals(frame.dtypes)
        assert forest.predict(found).tolist() == [1]
    answers = model.explain_batch(rows)
    assert [answers[f"counterfactual.{name}"].dtype for name in frame] == list(frame.dtypes)


@pytest.mark.parametrize("dtypes", BACKED.values(), ids=list(BACKED))
@pytest.mark.parametrize(
    "estimator", [DecisionTreeClassifier(max_depth=5), HistGradientBoostingClassifier(max_iter=8)]
)
def test_missing_values_come_back_as_they_came(dtypes: tuple[str, ...], estimator: Any) -> None:
    frame = _backed(dtypes, gaps=True)[["age", "pay"]]
    estimator.fit(frame, Y)
    model = cfxc.compile(estimator, cfxc.FeatureSpace.infer(frame), favourable=1)
    expected = estimator.predict(frame)
    labels = BatchEvaluator(model.program)(model.space.encode_frame(frame))["label"]
    np.testing.assert_array_equal(np.asarray(labels), expected)
    rows = frame[(expected == 0) & frame.isna().any(axis=1).to_numpy()].iloc[:3]
    assert len(rows)
    for i in range(len(rows)):
        found = model.explain(rows.iloc[[i]]).counterfactual
        assert found.dtypes.equals(frame.dtypes)
        assert [cell is pd.NA for cell in found.iloc[0]] == [cell is pd.NA for cell in rows.iloc[i]]


def test_cells_of_pyarrow_that_are_no_features_are_refused() -> None:
    pa = pytest.importorskip("pyarrow")
    for cells, kind in (
        ([Decimal("1.25")], pa.decimal128(5, 2)),
        ([[1]], pa.list_(pa.int64())),
        ([datetime.timedelta(1)], pa.duration("s")),
        ([b"a"], pa.binary()),
    ):
        frame = pd.DataFrame({"x": pd.Series(cells, dtype=pd.ArrowDtype(kind))})
        with pytest.raises(DataTypeError, match=r"'x' has dtype .*turn it into a number"):
            cfxc.FeatureSpace.infer(frame)


CODED = ["int64", "uint8", "float32", "Int16", "int8[pyarrow]", "category", "category of int32"]


@pytest.mark.parametrize("dtype", CODED)
def test_categories_coded_by_numbers_come_back_in_their_dtype(dtype: str) -> None:
    rng = np.random.default_rng(1)
    codes, size = rng.integers(1, 5, N), rng.integers(0, 30, N)
    column = pd.Series(codes)
    if dtype == "category of int32":
        column = column.astype("int32").astype("category")
    else:
        column = column.astype(dtype)
    frame, y = pd.DataFrame({"size": size, "code": column}), (size + 9 * (codes == 3) > 16)
    encode = make_column_transformer((OneHotEncoder(), ["code"]), remainder="passthrough")
    tree = make_pipeline(encode, DecisionTreeClassifier(max_depth=6, random_state=0)).fit(frame, y)
    kinds: dict[str, Any] = {} if "category" in dtype else {"code": "categorical"}
    space = cfxc.FeatureSpace.infer(frame, fixed=["size"], kinds=kinds)
    assert space["code"].labels == (1, 2, 3, 4)
    assert cfxc.FeatureSpace.from_toml(space.to_toml()) == space
    model = cfxc.compile(tree, space)
    row = frame[(size > 9) & (tree.predict(frame) == 0)].iloc[[0]]
    found = model.explain(row, target=True)
    assert found.counterfactual["code"].dtype == column.dtype
    assert found.changes["code"][1] == 3
    other = model.explain(row.iloc[0].to_dict(), target=True).counterfactual
    assert str(other["code"].dtype) == str(column.dtype)


def test_single_precision_is_refused_and_doubles_need_no_training() -> None:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({name: rng.normal(size=2000).astype(np.float32) for name in "ab"})
    y = (frame["a"] + frame["b"] > 0.3).to_numpy()
    linear = make_pipeline(StandardScaler(), LogisticRegression()).fit(frame, y)
    with pytest.raises(UnsupportedError, match=r"X\.cast\(\{pl\.Float32.*not be trained again"):
        cfxc.compile(linear, cfxc.FeatureSpace.infer(frame))
    wide = frame.astype("float64")
    model = cfxc.compile(linear, cfxc.FeatureSpace.infer(wide))
    labels = BatchEvaluator(model.program)(model.space.encode_frame(wide))["label"]
    np.testing.assert_array_equal(np.asarray(labels), linear.predict(wide))

"""One-hot groups: orders in them, and single rows read as tables are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import cfxc
from cfxc.errors import CfxcError
from cfxc.space.groups import encode_group, encode_group_frame

LEVELS = ("low", "middle", "high", "top")
COLUMNS = tuple(f"level={label}" for label in LEVELS)
ORDERED = cfxc.Feature("level", "ordinal", labels=LEVELS, encoding="one_hot", columns=COLUMNS)
CELLS: Any = st.sampled_from(
    [
        *(0, 1, 0.0, 1.0, -0.0, True, False, np.int8(1), np.float32(1), np.bool_(True)),
        *(2, 0.5, -1, float("nan"), float("inf"), None, "1", 1j),
    ]
)


@given(st.lists(CELLS, min_size=4, max_size=4))
def test_a_row_reads_as_a_table_does(cells: list[Any]) -> None:
    def read(as_row: bool) -> Any:
        try:
            if as_row:
                return encode_group(ORDERED, dict(zip(ORDERED.columns, cells, strict=True)))
            frame = pd.DataFrame([cells], columns=list(ORDERED.columns), dtype=object)
            return ORDERED.labels[int(encode_group_frame(ORDERED, frame)[0])]
        except CfxcError as error:
            return type(error)

    assert read(True) == read(False)


@pytest.mark.parametrize("distance", ["l1", "l0"])
def test_the_model_alone_has_the_pipelines_optimum(distance: str) -> None:
    rng = np.random.default_rng(5)
    X = pd.DataFrame({"level": rng.choice(LEVELS, 300), "age": rng.integers(18, 70, 300)})
    y = (X["level"].map(LEVELS.index) * 12 + X["age"] + rng.normal(0, 6, 300) > 62).astype(int)
    encoder = OneHotEncoder(categories=[list(LEVELS)], sparse_output=False)
    whole = make_pipeline(
        make_column_transformer((encoder, ["level"]), ("passthrough", ["age"])),
        RandomForestClassifier(15, max_depth=4, random_state=0),
    ).fit(X, y)
    level = replace(ORDERED, encoding="plain", columns=("level",), dtypes=())
    age = cfxc.Feature("age", "integer", lower=18, upper=69)
    wide = pd.DataFrame(whole[0].transform(X), columns=[*ORDERED.columns, "age"])
    pipeline = cfxc.compile(whole, cfxc.FeatureSpace([level, age]))
    narrow = cfxc.FeatureSpace([replace(ORDERED, action="increase"), age])
    assert cfxc.FeatureSpace.from_toml(narrow.to_toml()) == narrow
    alone = cfxc.compile(whole[-1], narrow.replace("level", action="free"))
    rising = cfxc.compile(whole[-1], narrow)
    refused = np.flatnonzero(whole.predict(X) == 0)[:8]
    for i in refused:
        ours = pipeline.explain(X.iloc[[i]], target=1, distance=distance)
        other = alone.explain(wide.iloc[[i]], target=1, distance=distance)
        assert ours.exact_distance == other.exact_distance
        assert whole[-1].predict(other.counterfactual.to_numpy())[0] == 1
        assert cfxc.check(other.certificate).ok
        only_up = rising.explain(wide.iloc[[i]], target=1, distance=distance)
        before, after = (row[list(ORDERED.columns)].to_numpy().argmax() for row in
                         (wide.iloc[[i]], only_up.counterfactual))  # fmt: skip
        assert after >= before

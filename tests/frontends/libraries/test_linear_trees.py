"""linear-tree: leaves with linear models, on columns rounded to float32."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cfxc
from cfxc import FeatureSpace
from cfxc.errors import UnsupportedError
from cfxc.frontends.predictor import SINGLE
from cfxc.ir import BatchEvaluator
from cfxc.ir.float32 import double_threshold

lineartree = pytest.importorskip("lineartree")
if tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 7):
    pytest.skip("linear-tree 0.3.5 needs scikit-learn < 1.7", allow_module_level=True)
pytestmark = pytest.mark.filterwarnings("ignore")

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "a": RNG.normal(size=200),
        "b": RNG.normal(size=200).round(2),
        "c": RNG.integers(0, 9, 200),
    }
)
WORTH = TABLE["a"] * (TABLE["b"] > 0) + TABLE["c"] / 5 * (TABLE["a"] < 0) - TABLE["b"]
TWO = np.where(WORTH.median() < WORTH, "yes", "no")
THREE = np.digitize(WORTH, np.quantile(WORTH, [0.3, 0.6]))
SPACE = FeatureSpace.infer(TABLE, kinds={"a": "real", "b": "real"})
SMALL: dict[str, Any] = {"max_depth": 2, "max_bins": 10}


def rows(tree: Any) -> pd.DataFrame:
    """Columns shuffled on their own, and rows at and beside every threshold."""
    parts = [pd.DataFrame({name: RNG.choice(TABLE[name], 5000) for name in TABLE})]
    for leaf in tree._leaves.values():
        for column, _, split in leaf.threshold:
            if column == 2:
                continue
            single = np.array([split], dtype=np.float32)
            ends = [np.nextafter(single, np.float32(side)) for side in (-np.inf, np.inf)]
            near = np.concatenate([single, *ends]).astype(float)
            near = np.concatenate([near, double_threshold(near), [float(split)]])
            near = np.concatenate([np.nextafter(near, -np.inf), near, np.nextafter(near, np.inf)])
            base = TABLE.iloc[RNG.integers(0, len(TABLE), near.size)].reset_index(drop=True)
            parts.append(base.assign(**{TABLE.columns[column]: near}))
    return pd.concat(parts, ignore_index=True)


def compared(model: Any, tree: Any) -> None:
    compiled = cfxc.compile(model, SPACE)
    frame = rows(tree)
    found = BatchEvaluator(compiled.program)(SPACE.encode_frame(frame, check_range=False))
    said = compiled.predict(frame)
    assert compiled.predictor.unit_roundoff == SINGLE
    if compiled.predictor.task == "regressor":
        np.testing.assert_allclose(found["value"], said, rtol=1e-5, atol=1e-5)
    else:
        labels = np.array(compiled.program.output_sorts["label"].labels, dtype=object)
        assert labels[found["label"]].tolist() == said.tolist()


@pytest.mark.parametrize("target", ["two", "three"])
@pytest.mark.parametrize("base", [LogisticRegression(), RidgeClassifier()])
def test_classifiers(base: Any, target: str) -> None:
    tree = lineartree.LinearTreeClassifier(base, **SMALL)
    tree.fit(TABLE, TWO if target == "two" else THREE)
    assert len(tree._leaves) > 2
    compared(tree, tree)


def test_regressors_and_pipelines() -> None:
    tree = lineartree.LinearTreeRegressor(Ridge(), linear_features=[0, 2], **SMALL)
    compared(tree.fit(TABLE, WORTH), tree)
    piped = make_pipeline(StandardScaler(), lineartree.LinearTreeRegressor(Ridge(), **SMALL))
    compiled = cfxc.compile(piped.fit(TABLE, WORTH), SPACE)
    answer = compiled.explain(TABLE.iloc[[0]], target=(float(WORTH.max()), None), time_limit=60)
    assert answer.status in ("optimal", "infeasible")


def test_several_targets_are_refused() -> None:
    tree = lineartree.LinearTreeRegressor(Ridge(), **SMALL)
    tree.fit(TABLE, np.column_stack([WORTH, -WORTH]))
    with pytest.raises(UnsupportedError, match="predicts several numbers"):
        cfxc.compile(tree, SPACE)

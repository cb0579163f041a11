"""Instances whom levels cannot help: the exact engines do, or prove that nothing can."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import cfxc

from .loans import compiled, fitted, refused


@lru_cache
def narrow() -> tuple[cfxc.Generator, pd.DataFrame]:
    """Only 45 to 55 is accepted, and no bucket has its midpoint there."""
    X = pd.DataFrame({"x": np.arange(400) % 100, "z": np.arange(400) % 7})
    tree = DecisionTreeClassifier().fit(X, X["x"].between(45, 55))
    model = cfxc.compile(tree, cfxc.FeatureSpace.infer(X))
    return cfxc.Generator(model, epochs=1, bucket_rows=50).fit(X), X.iloc[[3, 90]]


def test_what_lies_between_midpoints_is_reached() -> None:
    made, instances = narrow()
    assert made.generate(instances, n=10, target=True, exact=False).empty
    assert made.last_report is not None
    assert list(made.last_report["status"]) == ["none", "none"]
    rows = made.generate(instances, n=10, target=True)
    assert list(rows["x"]) == [45, 55]  # the nearest; none that keeps x is another
    assert list(rows["z"]) == list(instances["z"])
    assert list(rows.index) == [(3, 0), (90, 0)]
    assert (rows.dtypes == instances.dtypes).all()
    assert list(made.last_report["status"]) == ["fewer", "fewer"]
    assert list(made.last_report["exact"]) == [1, 1]
    assert list(made.last_report["returned"]) == [1, 1]


def test_that_there_are_none_is_proved() -> None:
    made, instances = narrow()
    rows = made.generate(instances, n=10, target=True, subject_to=["abs(x - factual.x) <= 40"])
    assert made.last_report is not None
    assert list(made.last_report["status"]) == ["impossible", "fewer"]
    assert list(rows["x"]) == [55]


def test_too_many_changed_numbers_are_not_returned() -> None:
    made, instances = narrow()
    assert made.generate(instances, n=10, target=True, sparsity=0.4).empty
    assert len(made.generate(instances, n=10, target=True, sparsity=0.5)) == 2


def test_farther_rows_that_change_fewer_numbers_are_found() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x y": rng.integers(0, 100, 2000), "z": rng.integers(0, 100, 2000)})
    near, far = X["x y"].between(50, 52) & (X["z"] > 9), X["x y"].between(97, 98)
    tree = DecisionTreeClassifier().fit(X, near | far)
    model = cfxc.compile(tree, cfxc.FeatureSpace.infer(X))
    made = cfxc.Generator(model, epochs=1).fit(X)
    instance = pd.DataFrame({"x y": [40], "z": [0]})
    assert made.generate(instance, n=1, target=True)["x y"].tolist() == [50]
    assert made.generate(instance, n=1, target=True, sparsity=0.5)["x y"].tolist() == [97]
    assert made.generate(instance, n=1, target=True, sparsity=0.4).empty
    assert made.last_report is not None
    assert list(made.last_report["status"]) == ["impossible"]


def test_those_who_have_rows_are_left_alone() -> None:
    made, instances = fitted("forest"), refused(compiled("forest"), 5)
    with_, without = (made.generate(instances, n=5, target=1, exact=e) for e in (True, False))
    pd.testing.assert_frame_equal(with_, without)
    assert made.last_report is not None
    assert (made.last_report["exact"] == 0).all()


def test_exact_is_a_truth_value() -> None:
    made, instances = narrow()
    with pytest.raises(cfxc.DataTypeError, match="exact is True or False"):
        made.generate(instances, exact=1)

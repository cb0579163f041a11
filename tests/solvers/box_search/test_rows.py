"""Rows of leaves for every so many cells: the search is the same, box by box, however many."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import cfxc
from cfxc.kernels import cell_rows
from cfxc.solvers.box_search import tables


@pytest.mark.parametrize("distance", ["l0", "l1", "linf", "l2"])
def test_the_stride_changes_nothing(distance: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(400, 5)).round(2), columns=list("abcde"))
    X["f"] = rng.choice(["u", "v", "w"], 400)
    y = np.sin(2 * X.a) + X.b * X.c + (X.f == "v") > 0.5
    data = pd.get_dummies(X, columns=["f"], dtype=int)
    fitted = RandomForestClassifier(20, random_state=0).fit(data, y)
    model = cfxc.compile(fitted, cfxc.FeatureSpace.infer(data))
    people = data[~fitted.predict(data)]
    found = []
    for room in (1 << 30, 1000, 1):
        monkeypatch.setattr(tables, "ROOM", room)
        answers = [model.explain(people.iloc[[i]], distance=distance) for i in range(3)]
        found.append([(a.status, a.distance, a.lower_bound, a.nodes) for a in answers])
    assert found[0] == found[1] == found[2]


def test_rows_by_hand() -> None:
    """Leaf 0 in cells 0 to 1 of five, leaf 1 in 2 to 2, leaf 2 in 3 to 4."""
    first, last = np.array([0, 2, 3]), np.array([1, 2, 4])
    none = np.zeros((3, 1), np.uint64)
    start, slots = np.array([0, 5]), np.arange(3)
    arguments = (
        start, np.array([False]), slots, np.arange(4), np.zeros(3, np.int64), first, last, none,
        np.array([0b111], np.uint64),
    )  # fmt: skip
    stride, block, begins, beginning, ends, ending, upto, since = cell_rows(*arguments, 1 << 20)
    assert (stride, block.tolist()) == (1, [0, 5])
    assert upto[:, 0].tolist() == [0b001, 0b001, 0b011, 0b111, 0b111]
    assert since[:, 0].tolist() == [0b111, 0b111, 0b110, 0b100, 0b100]
    assert (begins.tolist(), beginning.tolist()) == ([0, 0, 0, 1, 2, 2], [1, 2])
    assert (ends.tolist(), ending.tolist()) == ([0, 0, 1, 2, 2, 2], [0, 1])
    stride, block, *_, upto, since = cell_rows(*arguments, 10)
    assert (stride, block.tolist()) == (2, [0, 3])  # of the cells 0, 2 and 4
    assert upto[:, 0].tolist() == [0b001, 0b011, 0b111]
    assert since[:, 0].tolist() == [0b111, 0b110, 0b100]
    stride, block, *_, upto, since = cell_rows(*arguments, 3)
    assert (stride, block.tolist()) == (4, [0, 2])
    assert upto[:, 0].tolist() == [0b001, 0b111]
    assert since[:, 0].tolist() == [0b111, 0b100]

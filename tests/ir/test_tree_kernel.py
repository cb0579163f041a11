"""The kernel of tree ensembles beside a walk of one row at a time, at every edge."""

from __future__ import annotations

import gc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfxc.ir import batch, ops
from cfxc.ir.tensor import Tensor
from cfxc.ir.tree_kernel import MOST, TreeTables


def forest(rng: np.random.Generator, trees: int, width: int, depth: int, outputs: int) -> ops.Op:
    """Trees of random shapes whose thresholds are small whole numbers, which rows meet exactly."""
    feature, left, right, roots = [], [], [], []

    def grow(levels: int) -> int:
        node = len(feature)
        inner = bool(width) and levels > 0 and rng.random() < 0.8
        feature.append(int(rng.integers(width)) if inner else -1)
        left.append(0)
        right.append(0)
        if inner:
            left[node], right[node] = grow(levels - 1), grow(levels - 1)
        return node

    for _ in range(trees):
        roots.append(grow(depth))
    inner = np.array(feature) >= 0
    threshold = np.where(inner, rng.integers(-2, 3, inner.size), 0).astype(float)
    value = np.where(inner[:, None], 0.0, rng.normal(size=(inner.size, outputs)))
    arrays = (np.array(roots), np.array(feature), threshold, np.array(left), np.array(right))
    return ops.TreeEnsemble("x", *map(Tensor, (*arrays, value, rng.normal(size=outputs))))


def walked(op: ops.TreeEnsemble, rows: np.ndarray) -> np.ndarray:
    total = np.tile(op.base.array, (len(rows), 1))
    for row, sums in zip(rows, total, strict=True):
        for node in op.roots.array:
            while op.feature.array[node] >= 0:
                below = row[op.feature.array[node]] <= op.threshold.array[node]
                node = op.left.array[node] if below else op.right.array[node]
            sums += op.value.array[node]
    return total


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    trees=st.integers(1, 6),
    width=st.integers(0, 4),
    depth=st.integers(0, 5),
    outputs=st.integers(1, 3),
    count=st.sampled_from([0, 1, 7, MOST - 1, MOST, MOST + 1]),
)
def test_it_is_the_walk_to_the_last_bit(
    seed: int, trees: int, width: int, depth: int, outputs: int, count: int
) -> None:
    rng = np.random.default_rng(seed)
    op = forest(rng, trees, width, depth, outputs)
    rows = rng.integers(-3, 4, (count, width)).astype(float)
    rows += rng.choice([0.0, 1e-12, -1e-12, np.inf, -np.inf, np.nan], rows.shape)
    found = TreeTables.of(op)(rows)
    assert found.shape == (count, outputs)
    assert np.array_equal(found, walked(op, rows))


@pytest.mark.parametrize("layout", ["F", "strided", "float32", "read-only"])
def test_rows_of_any_layout(layout: str) -> None:
    rng = np.random.default_rng(0)
    op, rows = forest(rng, 5, 3, 4, 2), rng.integers(-3, 4, (300, 3)).astype(float)
    given_ = {
        "F": np.asfortranarray(rows),
        "strided": np.repeat(rows, 2, axis=0)[::2],
        "float32": rows.astype(np.float32),
        "read-only": rows.copy(),
    }[layout]
    given_.flags.writeable = layout != "read-only"
    assert np.array_equal(TreeTables.of(op)(given_), walked(op, rows))


def test_wide_rows_go_in_blocks_of_one() -> None:
    rng = np.random.default_rng(1)
    op, rows = forest(rng, 3, 20_000, 4, 1), rng.integers(-3, 4, (3, 20_000)).astype(float)
    assert np.array_equal(TreeTables.of(op)(rows), walked(op, rows))


def test_a_threshold_between_two_doubles_is_rounded_down() -> None:
    third = Fraction(1, 3)
    op = ops.TreeEnsemble(
        "x",
        *map(Tensor, ([0], [0, -1, -1])),
        Tensor([third, Fraction(0), Fraction(0)], "rat"),
        *map(Tensor, ([1, 0, 0], [2, 0, 0], [[0.0], [1.0], [2.0]], [0.0])),
    )
    below = np.nextafter(1 / 3, -1) if Fraction(1 / 3) > third else 1 / 3
    found = TreeTables.of(op)(np.array([[below], [np.nextafter(below, 1)]]))
    assert found[:, 0].tolist() == [1.0, 2.0]


def test_tables_live_as_long_as_their_op() -> None:
    op = forest(np.random.default_rng(2), 2, 2, 2, 1)
    batch.RULES[ops.TreeEnsemble](op, [], np.zeros((1, 2)))
    before = len(batch._TABLES)
    assert op in batch._TABLES
    del op
    gc.collect()
    assert len(batch._TABLES) == before - 1

"""Questions of tree nodes, and the indicators that stand for them: as the libraries define them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfxc import FeatureSpace
from cfxc.errors import UnsupportedError
from cfxc.frontends.boosters.columns import Coding, summed
from cfxc.frontends.boosters.forest import (
    DamagedModelError,
    Forest,
    Question,
    Raw,
    Tree,
    always,
    at_most,
    below,
    checked,
    in_codes,
    walked,
)
from cfxc.frontends.sklearn.lowering import Lowering
from cfxc.frontends.sklearn.lowering import Raw as Column
from cfxc.ir import BatchEvaluator, Program, ops
from cfxc.space import Feature

LEVELS = [-3.0, -1.5, -1.0, -0.0, 0.0, 0.5, 1.0, 2.0, 2.5, 4.0]
number = st.sampled_from(LEVELS)
AROUND = sorted({*LEVELS, *(float(np.nextafter(x, s)) for x in LEVELS for s in (-9, 9)), -99, 99})


@st.composite
def questions(draw: Any) -> Question:
    asked = at_most(draw(number), draw(st.booleans()))
    if draw(st.booleans()):
        asked = always(draw(st.booleans()), draw(st.booleans()))
    for _ in range(draw(st.integers(0, 3))):
        after, last = sorted((draw(number), draw(number)))
        asked = asked.but(after, last, draw(st.booleans())) if after < last else asked
    return asked


@given(questions(), number, number, st.booleans())
def test_all_but_an_interval(asked: Question, one: float, other: float, right: bool) -> None:
    after, last = sorted((one, other))
    if after == last:
        return
    changed = asked.but(after, last, right)
    assert list(changed.bounds) == sorted(set(changed.bounds))
    assert len(changed.right) == len(changed.bounds) + 1
    assert all(a != b for a, b in zip(changed.right, changed.right[1:], strict=False))
    for value in AROUND:
        expected = right if after < value <= last else asked.sends_right(value)
        assert changed.sends_right(value) == expected
    assert changed.sends_right(np.nan) == asked.missing


@given(
    st.frozensets(st.integers(0, 70), max_size=12),
    st.booleans(),
    st.sampled_from([(np.float32, below(0.0, np.float32)), (np.float64, -1.0)]),
)
def test_sets_of_codes(codes: frozenset[int], right: bool, kind: Any) -> None:
    """Numbers are cut down to whole ones; XGBoost takes -0.5 for none, LightGBM for 0."""
    dtype, zero = kind
    asked = in_codes(sorted(codes), right=right, missing_right=True, zero_after=zero, dtype=dtype)
    values = [k + d for k in range(-3, 73) for d in (0.0, 0.25, 0.75)]
    values += [float(np.nextafter(dtype(k), dtype(s))) for k in range(-2, 73) for s in (-99, 99)]
    for value in values:
        known = value > zero and int(value) in codes
        assert asked.sends_right(value) == (right if known else not right)
    assert asked.sends_right(np.nan)


def one_node(asked: Question) -> Tree:
    """A tree of one split, 1 on its left and 2 on its right."""
    raw = Raw(
        *(np.zeros(3, dtype=int) for _ in range(3)),
        np.array([1, -1, -1]), np.array([2, -1, -1]), np.array([0.0, 1.0, 2.0]),
        np.array([False, True, True]),
    )  # fmt: skip
    return checked(raw, {0: asked}, 0, 1)


def lowered(space: FeatureSpace, trees: tuple[Tree, ...], single: bool, codes: Any) -> Program:
    lowering = Lowering("trees", space)
    forest = Forest(trees, np.zeros(1), 1, single)
    (feature,) = space
    total = summed(lowering, (Column(feature.name, np.dtype(float)),), forest, codes)
    lowering.finish()
    return lowering.builder.build(total=total)


@given(st.lists(questions(), min_size=1, max_size=4), st.booleans())
@settings(max_examples=60)
def test_indicators_of_numbers(asked: list[Question], single: bool) -> None:
    space = FeatureSpace((Feature("x", "real", lower=-100, upper=100),))
    program = lowered(space, tuple(map(one_node, asked)), single, {})
    values = np.array(AROUND)
    seen = values.astype(np.float32).astype(float) if single else values
    expected = [sum(1 + one.sends_right(value) for one in asked) for value in seen.tolist()]
    found = BatchEvaluator(program)({"x": values})["total"]
    assert found[:, 0].tolist() == expected
    if all(one.is_plain for one in asked):  # they ask about the column itself
        assert not any(isinstance(let.op, ops.Gt) for let in program.lets())


@given(
    st.lists(questions(), min_size=1, max_size=4),
    st.lists(st.sampled_from([None, 1, 2, 2.5, -1, 0.1, 3]), min_size=2, unique=True),
    st.booleans(),
)
@settings(max_examples=60)
def test_indicators_of_categories(asked: list[Question], labels: list[Any], single: bool) -> None:
    """Numbers listed one by one, perhaps missing; or codes of labels, perhaps unknown."""
    space = FeatureSpace((Feature("x", "categorical", labels=tuple(labels)),))
    trees = tuple(map(one_node, asked))
    held = [np.nan if label is None else float(label) for label in labels]
    known: dict[Any, float] = {label: float(code) for code, label in enumerate(labels[1:])}
    known.pop(None, None)
    codes = [known.get(label, np.nan) for label in labels]
    for cells, coding in ((held, {}), (codes, {0: Coding(known, strict=False)})):
        seen = np.float32(cells).astype(float) if single else np.array(cells)
        expected = [sum(1 + one.sends_right(value) for one in asked) for value in seen.tolist()]
        program = lowered(space, trees, single, coding)
        found = BatchEvaluator(program)({"x": np.arange(len(labels))})["total"]
        assert found[:, 0].tolist() == expected


def test_codes_that_the_library_refuses() -> None:
    space = FeatureSpace((Feature("x", "categorical", labels=("a", "b", None)),))
    strict = {0: Coding({"a": 0.0}, strict=True)}
    with pytest.raises(UnsupportedError, match="column 'x' can hold 'b', which the model does not"):
        lowered(space, (one_node(at_most(0.5, True)),), True, strict)


@given(st.data(), st.integers(1, 9))
def test_only_trees_are_walked(data: Any, count: int) -> None:
    """Any indices: a tree in order, from which every walk leads to a leaf; or refused."""
    index = st.lists(st.integers(-2, count + 1), min_size=count, max_size=count)
    left, right = (np.array(data.draw(index)) for _ in range(2))
    leaf = np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)))
    value = np.arange(count, dtype=float)
    raw = Raw(np.zeros(count, int), value, leaf, left, right, value, leaf)
    try:
        tree = checked(raw, {}, 0, 1)
    except DamagedModelError:
        with pytest.raises(DamagedModelError):
            walked(left, right, leaf)
        return
    inner, own = tree.feature >= 0, np.arange(tree.feature.size)
    for side in (tree.left, tree.right):
        assert ((side > own) & (side < own.size))[inner].all()
    children = np.concatenate([tree.left[inner], tree.right[inner]])
    assert sorted(children.tolist()) == list(range(1, own.size))
    nodes = walked(left, right, leaf)
    assert tree.value.tolist() == np.where(leaf[nodes], nodes, 0).tolist()


def test_no_trees_at_all() -> None:
    space = FeatureSpace.infer(pd.DataFrame({"x": [0.5, 1.5, 2.5]}))
    program = lowered(space, (), True, {})
    assert BatchEvaluator(program)({"x": np.zeros(1)})["total"].tolist() == [[0.0]]


@pytest.mark.parametrize("bad", ["bound", "value", "feature", "size"])
def test_trees_without_sense(bad: str) -> None:
    parts: dict[str, Any] = {
        "feature": np.array([0, 0, 0]), "bound": np.zeros(3), "missing_right": np.zeros(3, bool),
        "left": np.array([1, 0, 0]), "right": np.array([2, 0, 0]), "value": np.zeros(3),
        "leaf": np.array([False, True, True]),
    }  # fmt: skip
    checked(Raw(**parts), {}, 0, 1)
    if bad == "size":
        parts["left"] = parts["left"][:2]
    else:
        parts[bad] = np.where(parts["leaf"] == (bad == "value"), {"feature": 1}.get(bad, np.nan), 0)
    with pytest.raises(DamagedModelError):
        checked(Raw(**parts), {}, 0, 1)

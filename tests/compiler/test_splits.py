"""Thresholds pulled back to raw features decide every double as the ensemble does."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cfxc.compiler.splits import (
    RawSplits,
    Unary,
    _cuts_of,
    last_double,
    raw_splits,
    resolve_columns,
)
from cfxc.ir import Program, evaluate, ops, parse_program
from cfxc.ir.float32 import FLOAT32_MAX, round_to_float32

F = Fraction
LIMIT = 2.0**100
doubles = st.floats(-LIMIT, LIMIT)
singles = st.floats(-LIMIT, LIMIT, width=32)
bounds = st.one_of(
    singles.map(Fraction), doubles.map(Fraction), st.fractions(-10, 10, max_denominator=99)
)


@given(bounds, st.booleans(), st.booleans())
@example(F(0), True, True)
@example(F(0), True, False)
@example(F(1, 10), True, False)
@example(F(2) ** -150, True, False)
@example(F(2) ** -149, True, True)
@example(F(1) + F(1, 2**24), True, False)
@example(F(1) + F(1, 2**24), True, True)
def test_the_last_double(bound: Fraction, rounded: bool, strict: bool) -> None:
    """It satisfies the comparison, and the double after it does not."""

    def holds(x: float) -> bool:
        value = round_to_float32(F(x)) if rounded else F(x)
        return value < bound if strict else value <= bound

    last = last_double(bound, rounded, strict)
    assert holds(last)
    assert not holds(float(np.nextafter(last, np.inf)))


@pytest.mark.parametrize("strict", [False, True])
def test_bounds_that_no_float32_exceeds(strict: bool) -> None:
    assert last_double(F(10) ** 40, rounded=True, strict=strict) == np.inf
    assert last_double(-(F(10) ** 40), rounded=True, strict=strict) == -np.inf
    assert last_double(F(FLOAT32_MAX), rounded=True, strict=False) == np.inf


COLUMNS = """program p(x: Real, n: Int, c: Category{"u", "v", "w"}) {
  m: Real = to_real(n)
  raw: Real[2] = concat(x, m)
  narrow: Real[2] = round_float32(raw)
  factors: Real[2] = constant(value=rat[2](-2, 1/3))
  shifts: Real[2] = constant(value=rat[2](1/2, 0))
  scaled: Real[2] = mul(raw, factors)
  moved: Real[2] = sub(scaled, shifts)
  codes: Real[2] = lookup(c, labels={"u", "v", "w"}, table=rat[3, 2](0, 1, 1, 1, 2, 0))
  both: Real = add(x, m)
  thrice: Real[3] = concat(x, x, x)
  marks: Real[3] = constant(value=rat[3](-1, 1/10, 3/2))
  above: Bool[3] = gt(thrice, marks)
  bits: Real[3] = to_real(above)
  bands: Real[2] = affine(bits, weight=rat[2, 3](2, -3, 1, -1, 1, 0), bias=rat[2](0, 1))
  small: Real = item(narrow, index=0)
  twice: Real[2] = concat(small, small)
  points: Real[2] = constant(value=rat[2](1/2, 1/3))
  same: Bool[2] = eq(twice, points)
  hits: Real[2] = to_real(same)
  peaks: Real[1] = affine(hits, weight=rat[1, 2](3, 1), bias=rat[1](-1))
  groups: Real[1] = affine(codes, weight=rat[1, 2](1, -1), bias=rat[1](1/2))
  bit: Real = item(bits, index=0)
  code: Real = item(codes, index=0)
  mixed: Real[2] = concat(bit, code)
  blend: Real[1] = affine(mixed, weight=rat[1, 2](1, 1), bias=rat[1](0))
  all: Real[12] = concat(narrow, moved, codes, bands, peaks, groups, both, blend)
  return out = all
}"""


def columns() -> Program:
    return parse_program(COLUMNS)


def test_what_columns_depend_on() -> None:
    near = last_double(F(1, 10), rounded=False, strict=False)
    half = tuple(last_double(F(1, 2), rounded=True, strict=each) for each in (True, False))
    found = resolve_columns(columns())["all"]
    assert found == [
        Unary("x", rounded=True),
        Unary("n", rounded=True),
        Unary("x", F(-2), F(-1, 2)),
        Unary("n", F(1, 3)),
        Unary("c", table=(F(0), F(1), F(2))),
        Unary("c", table=(F(1), F(1), F(0))),
        Unary("x", table=(F(0), F(2), F(-1), F(0)), steps=(-1.0, near, 1.5)),
        Unary("x", table=(F(1), F(0), F(1)), steps=(-1.0, near)),
        Unary("x", table=(F(-1), F(2), F(-1)), steps=half),
        Unary("c", table=(F(-1, 2), F(1, 2), F(5, 2))),
        None,
        None,
    ]


def stumps(thresholds: dict[int, list[Fraction]]) -> Program:
    """One stump per column and threshold, on the columns of ``COLUMNS``; leaf values 0 and 1."""
    nodes = [(column, t) for column, many in thresholds.items() for t in many]
    count = len(nodes)
    feature = ", ".join(f"{column}, -1, -1" for column, _ in nodes)
    threshold = ", ".join(f"{t}, 0, 0" for _, t in nodes)
    left = ", ".join(f"{3 * i + 1}, 0, 0" for i in range(count))
    right = ", ".join(f"{3 * i + 2}, 0, 0" for i in range(count))
    value = ", ".join(["0, 0, 1"] * count)
    roots = ", ".join(str(3 * i) for i in range(count))
    return parse_program(
        COLUMNS.replace(
            "return out = all",
            f"""y: Real[1] = tree_ensemble(all, roots=i64[{count}]({roots}),
              feature=i64[{3 * count}]({feature}), threshold=rat[{3 * count}]({threshold}),
              left=i64[{3 * count}]({left}), right=i64[{3 * count}]({right}),
              value=rat[{3 * count}, 1]({value}), base=rat[1](0))
            return y = y""",
        )
    )


def count_right(splits: RawSplits, roots: Any, row: list[Any]) -> int:
    """How many stumps send a row (codes for categories) to the right, by the raw splits."""
    total = 0
    for root in roots.tolist():
        node, right = root, splits.right[root]
        while splits.input[node] >= 0:
            value = row[splits.input[node]]
            if np.isnan(splits.cut[node]):
                left = bool(int(splits.mask[node, 0]) >> value & 1)
            else:
                left = (value <= splits.cut[node]) == bool(splits.below[node])
            node = splits.left[node] if left else splits.right[node]
        total += node == root + 2
        assert right in (root + 2, node) or splits.input[right] >= 0
    return total


tenths = st.integers(-25, 25).map(lambda n: F(n, 10))
near_floats = st.tuples(tenths, st.integers(-2, 2)).map(
    lambda pair: F(float(np.float32(float(pair[0])))) + pair[1] * F(1, 2**40)
)


@settings(derandomize=True, max_examples=80)
@given(
    st.dictionaries(
        st.integers(0, 9), st.lists(st.one_of(tenths, near_floats), min_size=1, max_size=3),
        min_size=1,
    ),
    st.lists(
        st.tuples(
            st.one_of(tenths, near_floats).map(float), st.integers(-3, 3), st.integers(0, 2)
        ),
        min_size=1, max_size=5,
    ),
)  # fmt: skip
def test_raw_splits_decide_as_the_ensemble(
    thresholds: dict[int, list[Fraction]], rows: list[tuple[float, int, int]]
) -> None:
    program = stumps(thresholds)
    (op,) = [s.op for s in program.lets() if isinstance(s.op, ops.TreeEnsemble)]
    splits = raw_splits(program, op)
    assert splits is not None
    for x, n, code in rows:
        exact = evaluate(program, {"x": F(x), "n": n, "c": "uvw"[code]})["y"]
        assert count_right(splits, op.roots.array, [x, n, code]) == exact[0]


def test_columns_that_mix_inputs_have_none() -> None:
    for column in (10, 11):
        none_for(stumps({column: [F(1)]}))


def none_for(program: Program) -> None:
    (op,) = [s.op for s in program.lets() if isinstance(s.op, ops.TreeEnsemble)]
    assert raw_splits(program, op) is None


@given(st.lists(st.one_of(singles, doubles), min_size=1, max_size=9), st.booleans())
@example([0.0, -0.0, FLOAT32_MAX, -FLOAT32_MAX, 1e300, -1e300, 2.0**-150], True)
def test_thresholds_are_pulled_back_together(values: list[float], rounded: bool) -> None:
    """Those of a whole column give what each gives alone."""
    thresholds = np.unique(np.array(values))
    found = _cuts_of(Unary("x", rounded=rounded), thresholds)
    alone = [last_double(F(value), rounded, strict=False) for value in thresholds.tolist()]
    assert found.tolist() == alone


PIECES = """program p(x: Real) {
  low: Bool = le(x, -1/2)
  bit: Real = to_real(low)
  height: Real = mul(bit, 7/3)
  filled: Real = add(x, height)
  scaled: Real = div(filled, -3)
  first: Real = select(low, -100, x)
  last: Real = select(low, 100, scaled)
  turned: Real = select(low, scaled, 2)
  above: Bool = gt(1/4, filled)
  step: Real = to_real(above)
  same: Bool = eq(scaled, 1/6)
  hit: Real = to_real(same)
  rest: Real = sub(1/5, step)
  all: Real[7] = concat(filled, scaled, first, last, turned, rest, hit)
  return out = all
}"""


@given(st.fractions(-4, 4, max_denominator=24), st.sampled_from(range(7)), st.data())
def test_columns_in_two_pieces(threshold: Fraction, column: int, data: st.DataObject) -> None:
    """Affine in one way up to a number, and in another beyond: as the exact evaluator decides."""
    program = parse_program(PIECES)
    source = resolve_columns(program)["all"][column]
    assert isinstance(source, Unary)
    stump = parse_program(
        PIECES.replace(
            "return out = all",
            f"""y: Real[1] = tree_ensemble(all, roots=i64[1](0), feature=i64[3]({column}, -1, -1),
              threshold=rat[3]({threshold}, 0, 0), left=i64[3](1, 0, 0), right=i64[3](2, 0, 0),
              value=rat[3, 1](0, 0, 1), base=rat[1](0))
            return y = y""",
        )
    )
    op = next(let.op for let in stump.lets() if isinstance(let.op, ops.TreeEnsemble))
    splits = raw_splits(stump, op)
    assert splits is not None
    near = [float(cut) for cut in splits.cut if np.isfinite(cut)]
    beside = [float(np.nextafter(cut, side)) for cut in near for side in (-np.inf, np.inf)]
    x = data.draw(st.sampled_from([*near, *beside, -0.5]) | st.floats(-9, 9))
    exact = evaluate(stump, {"x": F(x)})["y"][0]
    assert count_right(splits, op.roots.array, [x]) == exact

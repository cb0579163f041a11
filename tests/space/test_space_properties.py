"""Properties of feature spaces on generated tables of all kinds of columns."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfxc.space import ACTIONS, Feature, FeatureSpace
from cfxc.space.values import decimal_text, exact

quick = settings(max_examples=60, deadline=None)

WORDS = st.sampled_from(["", "a", "b", "N/A", "yes", "é ü", 'quo"te', "back\\slash", "new\nline"])


@st.composite
def filled(draw: st.DrawFn, cells: st.SearchStrategy[Any], n: int, gap: Any = ...) -> list[Any]:
    """n cells, some of them ``gap`` but not all."""
    values = draw(st.lists(cells, min_size=n, max_size=n))
    if gap is not ...:
        holes = draw(st.lists(st.booleans(), min_size=n - 1, max_size=n - 1))
        values = values[:1] + [
            gap if hole else value for hole, value in zip(holes, values[1:], strict=True)
        ]
    return values


small = st.integers(-9, 9)
money = st.integers(-9999, 9999).map(lambda cents: cents / 100)
real = st.floats(-1e300, 1e300, allow_subnormal=True)

COLUMNS: dict[str, tuple[st.SearchStrategy[Any], Any, Any]] = {
    "int": (small, ..., "int64"),
    "int8": (small, ..., "int8"),
    "nullable_int": (small, pd.NA, "Int64"),
    "big": (st.integers(-(2**53), 2**53), ..., "int64"),
    "real": (real, np.nan, "float64"),
    "nullable_real": (real, pd.NA, "Float64"),
    "single": (st.floats(-(2.0**100), 2.0**100, width=32), np.nan, "float32"),
    "money": (money, ..., "float64"),
    "single_money": (money, ..., "float32"),
    "whole": (small.map(float), np.nan, "float64"),
    "bool": (st.booleans(), ..., "bool"),
    "nullable_bool": (st.booleans(), pd.NA, "boolean"),
    "text": (WORDS, None, "str"),
    "string": (WORDS, pd.NA, "string"),
    "object": (WORDS | small, np.nan, "object"),
    "category": (WORDS, np.nan, "category"),
    "ordered": (st.sampled_from("abc"), ..., pd.CategoricalDtype(list("cba"), ordered=True)),
    "constant": (st.just(7), ..., "int64"),
}


@st.composite
def tables(draw: st.DrawFn) -> tuple[pd.DataFrame, FeatureSpace]:
    n = draw(st.integers(1, 5))
    columns: dict[str, pd.Series[Any]] = {}
    for name in draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, unique=True)):
        cells, gap, dtype = COLUMNS[name]
        columns[name] = pd.Series(draw(filled(cells, n, gap)), dtype=dtype)
    one_hot = draw(filled(st.integers(0, 2), n))
    levels = draw(filled(st.integers(0, 3), n))
    for i in range(3):
        columns[f"sector_{'xyz'[i]}"] = pd.Series([int(x == i) for x in one_hot], dtype="int8")
        columns[f"edu_{i}"] = pd.Series([x > i for x in levels], dtype=draw(BIT_TYPES))
    frame = pd.DataFrame({name: columns[name] for name in draw(st.permutations(list(columns)))})
    order = sorted(name for name in frame if name.startswith("edu_"))
    steps = iter(order)  # thermometer columns must stand in rising order
    frame = frame[[next(steps) if name.startswith("edu_") else name for name in frame]]
    frame.index = pd.Index(draw(st.permutations(range(10, 10 + n))), name="person")
    return frame, FeatureSpace.infer(frame, one_hot=["sector_"], thermometer=["edu_"])


BIT_TYPES = st.sampled_from(["int64", "bool", "float64", "uint8"])


@quick
@given(tables())
def test_decode_inverts_encode(table: tuple[pd.DataFrame, FeatureSpace]) -> None:
    frame, space = table
    for i in range(len(frame)):
        row = frame.iloc[[i]]
        values = space.encode_row(row)
        assert tuple(values) == space.names
        pd.testing.assert_frame_equal(space.decode(values, like=row), row)
        fresh = space.decode(values)
        assert space.encode_row(fresh) == values
        assert list(fresh.columns) == list(frame.columns)
        kept = [name for name in frame if not isinstance(frame[name].dtype, pd.CategoricalDtype)]
        assert fresh[kept].dtypes.to_dict() == frame[kept].dtypes.to_dict()


@quick
@given(tables())
def test_one_person_written_over_another_keeps_the_table(
    table: tuple[pd.DataFrame, FeatureSpace],
) -> None:
    frame, space = table
    values = space.encode_row(frame.iloc[[0]])
    for i in range(len(frame)):
        moved = space.decode(values, like=frame.iloc[[i]])
        assert space.encode_row(moved) == values
        assert moved.dtypes.to_dict() == frame.dtypes.to_dict()
        assert list(moved.index) == [frame.index[i]]


@quick
@given(tables())
def test_frame_and_rows_agree(table: tuple[pd.DataFrame, FeatureSpace]) -> None:
    frame, space = table
    arrays = space.encode_frame(frame)
    for i in range(len(frame)):
        for feature in space:
            value = space.encode_row(frame.iloc[[i]])[feature.name]
            cell = arrays[feature.name][i]
            if feature.is_symbolic:
                assert arrays[feature.name].dtype == np.int64
                assert feature.labels[cell] is value or feature.labels[cell] == value
            elif value is None:
                assert np.isnan(cell)
            else:
                assert exact(cell) == value


@quick
@given(tables())
def test_mapping_and_series_rows_mean_the_same(table: tuple[pd.DataFrame, FeatureSpace]) -> None:
    frame, space = table
    values = space.encode_row(frame.iloc[[0]])
    mapping = {name: frame[name].iloc[0] for name in frame}
    assert space.encode_row(mapping) == values
    assert space.encode_row(pd.Series(mapping, dtype=object)) == values


@quick
@given(tables())
def test_observed_rows_are_in_the_space(table: tuple[pd.DataFrame, FeatureSpace]) -> None:
    frame, space = table
    for feature in space:
        if feature.resolution is not None and feature.steps is not None:
            first, last = feature.steps
            for cell in frame[feature.name].dropna():
                k = round(exact(cell) / feature.resolution)
                assert first <= k <= last
                assert feature.held(k * feature.resolution) == exact(cell)


@quick
@given(tables())
def test_toml_round_trip(table: tuple[pd.DataFrame, FeatureSpace]) -> None:
    _, space = table
    again = FeatureSpace.from_toml(space.to_toml())
    assert again == space
    for feature in space:
        assert [*map(type, again[feature.name].labels)] == [*map(type, feature.labels)]


@quick
@given(tables())
def test_groups_are_valid_at_every_level(table: tuple[pd.DataFrame, FeatureSpace]) -> None:
    frame, space = table
    base = space.encode_row(frame.iloc[[0]])
    for name in ("sector", "edu"):
        feature = space[name]
        for position, level in enumerate(feature.levels):
            row = space.decode({**base, name: level}, like=frame.iloc[[0]])
            bits = [int(row[column].iloc[0]) for column in feature.columns]
            if name == "sector":
                assert sum(bits) == 1
            else:
                assert bits == sorted(bits, reverse=True)
            for column, bit in zip(feature.columns, bits, strict=True):
                source, values = space.column_source(column)
                assert source is feature
                assert values is not None
                assert values[position] == bit


fractions = st.fractions(max_denominator=10**6)
texts = st.text(min_size=1, max_size=6)
conditions = st.sampled_from(["true", " 1 <= 2", "true ||\n\t!false", "2 > 1 # \u201cwhy\u201d \\"])
labels = st.lists(
    st.none() | texts | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    min_size=1,
    max_size=5,
    unique_by=lambda label: ("text", label) if isinstance(label, str) else label,
)


@st.composite
def features(draw: st.DrawFn, name: str) -> Feature:
    weight = abs(draw(fractions))
    if draw(st.booleans()):
        values = draw(labels)
        return Feature(name, "categorical", labels=tuple(values), weight=weight, dtypes=("object",))
    far = real.filter(lambda end: abs(end) < 1e290).map(Fraction)  # beyond, there are no grids
    lower, upper = sorted([draw(fractions), draw(fractions | far)])
    action = draw(st.sampled_from(ACTIONS))
    return Feature(
        name,
        "real",
        lower=lower,
        upper=upper,
        resolution=draw(st.none() | st.sampled_from([Fraction(1, 3), Fraction(1, 100)])),
        missing=draw(st.booleans()),
        action=action,
        condition=draw(conditions) if action == "conditional" else "",
        weight=weight,
    )


@quick
@given(st.data())
def test_toml_round_trip_of_arbitrary_features(data: st.DataObject) -> None:
    names = data.draw(st.lists(texts, min_size=1, max_size=4, unique=True))
    space = FeatureSpace(tuple(data.draw(features(name)) for name in names))
    assert FeatureSpace.from_toml(space.to_toml()) == space


@quick
@given(st.fractions())
def test_decimal_text_is_exact(value: Fraction) -> None:
    assert Fraction(decimal_text(value)) == value


@quick
@given(
    st.integers(-300, 300),
    st.integers(0, 200),
    st.sampled_from([Fraction(1, 100), Fraction(1, 3), Fraction(3, 7)]),
    st.sampled_from(["float64", "float32"]),
    st.sampled_from([-1, 0, 1]),
)
def test_steps_are_those_whose_cells_lie_in_the_range(
    start: int, width: int, step: Fraction, dtype: str, nudge: int
) -> None:
    """Bounds at, just below and just above a cell that holds a multiple."""
    cell = np.dtype(dtype).type
    edges = [cell(float(k * step)) for k in (start, start + width)]
    moved = [np.nextafter(edge, cell(nudge * np.inf)) if nudge else edge for edge in edges]
    lower, upper = (exact(float(edge)) for edge in moved)
    feature = Feature("x", "real", lower, upper, resolution=step, dtypes=(dtype,))
    inside = [
        k
        for k in range(start - 3, start + width + 4)
        if lower <= exact(float(cell(float(k * step)))) <= upper
    ]
    assert feature.steps is not None
    first, last = feature.steps
    assert list(range(first, last + 1)) == inside


def test_steps_with_a_resolution_far_below_the_floats_spacing() -> None:
    at, step = Fraction(10**6), Fraction(1, 10**30)
    feature = Feature("x", "real", at, at, resolution=step)
    assert feature.steps is not None
    first, last = feature.steps
    for k, inside in ((first - 1, False), (first, True), (last, True), (last + 1, False)):
        assert (feature.held(k * step) == at) is inside


@pytest.mark.parametrize("value", [0.1, 1 / 3, -2.5e-8, 5e-324])
def test_a_float_is_the_rational_it_is(value: float) -> None:
    space = FeatureSpace.infer(pd.DataFrame({"x": [value, 0.75, -0.3]}))
    assert space.encode_row({"x": value}) == {"x": Fraction(*value.as_integer_ratio())}

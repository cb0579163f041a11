"""Rows to exact values and back: what is accepted, what is refused, and with which words."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cfxc.errors import CfxcError, DataTypeError, InvalidInputError, MissingColumnError
from cfxc.space import Feature, FeatureSpace, Value, codec

FRAME = pd.DataFrame(
    {
        "age": [30, 40, 57],
        "income": [10.5, 20.0, 0.25],
        "sex": ["female", "male", "female"],
        "sector_a": [1, 0, 0],
        "sector_b": [0, 1, 1],
        "member": [True, False, True],
    }
)
SPACE = FeatureSpace.infer(FRAME, one_hot=["sector_"])
ROW: dict[str, object] = {
    "age": 40,
    "income": 0.5,
    "sex": "male",
    "sector_a": 1,
    "sector_b": 0,
    "member": False,
}
VALUES: dict[str, Value] = {
    "age": 40,
    "income": Fraction(1, 2),
    "sex": "male",
    "sector": "a",
    "member": False,
}


@pytest.mark.parametrize(
    "row",
    [
        ROW,
        dict(reversed(ROW.items())),
        pd.Series(ROW),
        pd.DataFrame([ROW]),
        {**ROW, "age": 40.0, "income": np.float32(0.5), "sector_a": True, "sector_b": False},
        {**ROW, "age": np.int8(40), "sex": np.str_("male"), "member": np.False_},
    ],
)
def test_rows_that_mean_the_same(row: Any) -> None:
    values = SPACE.encode_row(row)
    assert values == VALUES
    assert [type(value) for value in values.values()] == [int, Fraction, str, str, bool]


ROWS_REFUSED: list[tuple[str, Any, type[CfxcError], list[str]]] = [
    (
        "missing columns",
        {"age": 1, "incme": 2},
        MissingColumnError,
        ["'income'", "'sex'", "'incme'"],
    ),
    (
        "unknown column",
        ROW | {"incme": 1},
        InvalidInputError,
        ["'incme'", "'income'", "leave it out"],
    ),
    ("two rows", FRAME, InvalidInputError, ["one row", "3"]),
    ("a list", [1, 2], DataTypeError, ["list"]),
    ("text in a number", ROW | {"age": "40"}, DataTypeError, ["age", "'40'", "text"]),
    ("boolean in a number", ROW | {"age": True}, DataTypeError, ["age", "boolean"]),
    ("a date", ROW | {"age": pd.Timestamp(0)}, DataTypeError, ["age", "Timestamp"]),
    ("fraction", ROW | {"age": 40.5}, InvalidInputError, ["age", "40.5", "whole", "real"]),
    ("missing value", ROW | {"age": None}, InvalidInputError, ["age", "missing = true"]),
    ("NaN", ROW | {"income": np.nan}, InvalidInputError, ["income", "missing = true"]),
    ("NA", ROW | {"income": pd.NA}, InvalidInputError, ["income", "missing = true"]),
    ("infinite", ROW | {"income": np.inf}, InvalidInputError, ["income", "finite"]),
    ("minus infinite", ROW | {"age": -np.inf}, InvalidInputError, ["age", "finite"]),
    ("above", ROW | {"age": 58}, InvalidInputError, ["30 to 57", "set upper to 58"]),
    ("just above", ROW | {"income": 20.000000000000004}, InvalidInputError, ["income", "upper"]),
    ("below", ROW | {"income": 0}, InvalidInputError, ["income", "set lower to 0"]),
    ("unseen", ROW | {"sex": "femal"}, InvalidInputError, ["'femal'", "'female'", "'male'"]),
    ("missing category", ROW | {"sex": None}, InvalidInputError, ["sex", "missing value"]),
    ("number as category", ROW | {"member": 1}, InvalidInputError, ["member", "1", "True"]),
    ("two sectors", ROW | {"sector_b": 1}, InvalidInputError, ["sector", "2 ones"]),
    ("no sector", ROW | {"sector_a": 0}, InvalidInputError, ["sector", "0 ones"]),
    ("half a sector", ROW | {"sector_a": 0.5}, InvalidInputError, ["sector_a", "0.5"]),
    ("missing sector", ROW | {"sector_a": np.nan}, InvalidInputError, ["sector_a", "nan"]),
]


@pytest.mark.parametrize(
    ("row", "error", "words"), [pytest.param(*c[1:], id=c[0]) for c in ROWS_REFUSED]
)
def test_row_refused(row: Any, error: type[CfxcError], words: list[str]) -> None:
    with pytest.raises(error) as caught:
        SPACE.encode_row(row)
    message = str(caught.value)
    assert [word for word in words if word not in message] == []
    assert message.count("\n") < 10
    assert caught.value.exit_code == 2


FRAMES_REFUSED: list[tuple[str, dict[str, list[Any]], type[CfxcError], list[str]]] = [
    ("numbers as objects", {"age": [40, "x", None]}, DataTypeError, ["age, row 1", "'x'"]),
    ("text", {"age": ["40", "41", "42"]}, DataTypeError, ["age", "'40'"]),
    ("boolean", {"age": [True, False, True]}, DataTypeError, ["age", "boolean"]),
    ("fraction", {"age": [40, 41.5, 40.5]}, InvalidInputError, ["41.5", "row 1", "1 more"]),
    ("missing", {"income": [1.0, np.nan, 1.0]}, InvalidInputError, ["income", "row 1"]),
    ("infinite", {"income": [1.0, 1.0, np.inf]}, InvalidInputError, ["income", "row 2"]),
    ("range", {"age": [40, 29, 40]}, InvalidInputError, ["29", "30 to 57", "lower to 29"]),
    ("unseen", {"sex": ["male", "other", "male"]}, InvalidInputError, ["'other'", "'female'"]),
    ("missing category", {"sex": ["male", None, "male"]}, InvalidInputError, ["missing value"]),
    ("group", {"sector_a": [1, 1, 1]}, InvalidInputError, ["2 ones", "row 1"]),
    ("dates", {"age": list(pd.date_range("2020", periods=3))}, DataTypeError, ["age"]),
]


@pytest.mark.parametrize(
    ("change", "error", "words"), [pytest.param(*c[1:], id=c[0]) for c in FRAMES_REFUSED]
)
def test_frame_refused(
    change: dict[str, list[Any]], error: type[CfxcError], words: list[str]
) -> None:
    with pytest.raises(error) as caught:
        SPACE.encode_frame(FRAME.assign(**change))
    assert [word for word in words if word not in str(caught.value)] == []


def test_ranges_and_extra_columns_can_be_let_pass() -> None:
    row = ROW | {"age": 99, "id": "7"}
    assert SPACE.encode_row(row, extra="ignore", check_range=False)["age"] == 99
    arrays = SPACE.encode_frame(pd.DataFrame([row]), extra="ignore", check_range=False)
    assert arrays["age"].tolist() == [99.0]
    assert arrays["age"].dtype == np.float64
    assert arrays["sector"].tolist() == [0]
    assert arrays["sector"].dtype == np.int64


@pytest.mark.parametrize(
    ("lower", "upper", "inside", "outside"),
    [
        ("1/10", "3/10", [0.1, 0.3], [np.nextafter(0.1, 0), np.nextafter(0.3, 1)]),
        ("3/10", "11/10", [np.nextafter(0.3, 1), np.nextafter(1.1, 0)], [0.3, 1.1]),
    ],
)
def test_bounds_that_are_no_double_are_compared_exactly(
    lower: str, upper: str, inside: list[float], outside: list[float]
) -> None:
    """The doubles 0.1 and 1.1 lie above the decimals, and 0.3 below."""
    space = FeatureSpace((Feature("x", "real", Fraction(lower), Fraction(upper)),))
    for cell in outside:
        with pytest.raises(InvalidInputError, match="outside of the range"):
            space.encode_row({"x": cell})
        with pytest.raises(InvalidInputError, match=r"outside of the range .*\(row 1\)"):
            space.encode_frame(pd.DataFrame({"x": [inside[0], cell]}))
    assert space.encode_frame(pd.DataFrame({"x": inside}))["x"].tolist() == inside
    for cell in inside:
        assert space.encode_row({"x": cell}) == {"x": Fraction(float(cell))}


def test_a_decimal_whose_double_is_in_the_range_can_be_written() -> None:
    """Observed 0.07 is above 7/100, and 0.29 below 29/100: both decimals are still admissible."""
    frame = pd.DataFrame({"x": [0.07, 0.29, 0.1]})
    space = FeatureSpace.infer(frame)
    assert space["x"].steps == (7, 29)
    for k, cell in ((7, 0.07), (29, 0.29)):
        assert space.decode({"x": Fraction(k, 100)}, like=frame.iloc[[2]])["x"].tolist() == [cell]
    assert Fraction(0.07) > Fraction(7, 100)
    assert Fraction(0.29) < Fraction(29, 100)


def test_columns_given_twice_are_refused() -> None:
    twice = pd.concat([FRAME.iloc[[0]], FRAME[["age"]].iloc[[0]]], axis=1)
    with pytest.raises(InvalidInputError, match="'age'"):
        SPACE.encode_row(twice)
    with pytest.raises(InvalidInputError, match="'age'"):
        SPACE.encode_frame(twice)


def test_a_level_never_seen_is_refused() -> None:
    frame = pd.DataFrame({"edu_0": [1, 1], "edu_1": [0, 1]})
    space = FeatureSpace.infer(frame, thermometer="edu_")
    with pytest.raises(InvalidInputError, match=r"level 0 .* 1 to 2"):
        space.encode_row({"edu_0": 0, "edu_1": 0})
    with pytest.raises(InvalidInputError, match="0 is outside of the range 1 to 2"):
        space.decode({"edu": 0})


def test_numbers_in_an_object_column() -> None:
    space = SPACE.replace("age", missing=True, dtypes=("object",))
    frame = FRAME.assign(age=pd.Series([40, None, 41.0], dtype=object))
    np.testing.assert_array_equal(space.encode_frame(frame)["age"], [40.0, 29.0, 41.0])
    assert space.encode_row(frame.iloc[[1]])["age"] == space["age"].absent == 29
    again = space.decode(space.encode_row(frame.iloc[[1]]), like=frame.iloc[[1]])
    assert again["age"].tolist() == [None]
    frame["age"] = pd.Series([40, 2**53 + 1, 41], dtype=object)
    with pytest.raises(InvalidInputError, match=r"2\*\*53, such as 9007199254740993"):
        space.encode_frame(frame)


def test_a_value_that_no_column_can_hold_is_refused() -> None:
    space = FeatureSpace.infer(pd.DataFrame({"x": [1, 2, 5]}), kinds={"x": "real"})
    with pytest.raises(InvalidInputError, match=r"int64 cannot hold 1\.5"):
        space.decode({"x": Fraction(3, 2)})


def test_true_is_not_one_in_an_object_column() -> None:
    space = FeatureSpace((Feature("x", "categorical", labels=(1, "a"), dtypes=("object",)),))
    frame = pd.DataFrame({"x": pd.Series([1, True], dtype=object)})
    with pytest.raises(InvalidInputError, match="True"):
        space.encode_frame(frame)


LIKE = pd.DataFrame({"note": ["hi"], **{name: [cell] for name, cell in ROW.items()}}, index=["p7"])


def test_decode_keeps_the_table_of_the_factual() -> None:
    like = LIKE[["note", *reversed(FRAME.columns)]]
    row = SPACE.decode({**VALUES, "sector": "b", "age": 41}, like=like)
    expected = like.copy()
    expected[["age", "sector_a", "sector_b"]] = [[41, 0, 1]]
    pd.testing.assert_frame_equal(row, expected)


def test_a_dtype_that_cannot_hold_the_value_gives_way() -> None:
    like = LIKE.astype({"income": "object"}).assign(income=1)  # JSON's 1 is an integer
    row = SPACE.decode({**VALUES, "income": Fraction(5, 4)}, like=like)
    assert row["income"].tolist() == [1.25]
    assert row["income"].dtype == np.float64


def test_new_category_of_a_narrow_categorical() -> None:
    frame = pd.DataFrame({"x": pd.Series(["a", "b", "c"], dtype="category")})
    space = FeatureSpace.infer(frame)
    narrow = pd.DataFrame({"x": pd.Series(["a"], dtype="category")})
    assert space.decode({"x": "c"}, like=narrow)["x"].tolist() == ["c"]


def test_a_missing_marker_of_the_factual_is_kept() -> None:
    frame = pd.DataFrame({"x": pd.Series(["a", None, "b"], dtype=object), "y": [1, 2, 3]})
    space = FeatureSpace.infer(frame)
    row = space.decode({"x": None, "y": 2}, like=frame.iloc[[1]])
    assert row["x"].iloc[0] is None


def test_values_without_a_cell_become_the_nearest_float() -> None:
    space = FeatureSpace((Feature("x", "real", Fraction(0), Fraction(1)),))
    assert space.decode({"x": Fraction(1, 3)})["x"].tolist() == [1 / 3]
    narrow = space.replace("x", dtypes=("float32",))
    assert narrow.decode({"x": Fraction(1, 3)})["x"].tolist() == [float(np.float32(1 / 3))]


def test_resolution_holds_except_for_the_factuals_own_value() -> None:
    space = SPACE.replace("income", resolution="0.1")
    like = pd.DataFrame([ROW | {"income": 0.25}])
    values = space.encode_row(like)
    assert space.decode(values, like=like)["income"].tolist() == [0.25]
    for value in (Fraction(7, 10), Fraction(0.7)):  # the decimal, and the double that holds it
        assert space.decode({**values, "income": value}, like=like)["income"].tolist() == [0.7]
    with pytest.raises(InvalidInputError, match=r"income: 0\.75 is no multiple.* 0\.1"):
        space.decode({**values, "income": Fraction(3, 4)}, like=like)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"age": 58}, InvalidInputError, "30 to 57"),
        ({"age": Fraction(81, 2)}, InvalidInputError, "whole"),
        ({"age": None}, InvalidInputError, "missing"),
        ({"age": "40"}, DataTypeError, "text"),
        ({"sex": "x"}, InvalidInputError, "'x'"),
        ({"sector": "c"}, InvalidInputError, "'c'"),
        ({"sexx": "male"}, InvalidInputError, "'sexx'.*'sex'"),
    ],
)
def test_values_refused(change: dict[str, Any], error: type[CfxcError], words: str) -> None:
    for like in (None, LIKE):
        with pytest.raises(error, match=words):
            SPACE.decode({**VALUES, **change}, like=like)


def test_values_missing_are_all_listed() -> None:
    with pytest.raises(MissingColumnError, match="'income', 'sex', 'sector', 'member'"):
        SPACE.decode({"age": 40})


MARKS = {"none": None, "nan": np.nan, "na": pd.NA}


def is_same(cell: object, marker: object) -> bool:
    """The same missing value, not just a missing one."""
    return cell is marker or (isinstance(cell, float) and isinstance(marker, float))


@pytest.mark.parametrize("name", list(MARKS))
def test_a_missing_category_is_written_as_the_table_writes_it(name: str) -> None:
    marker = MARKS[name]
    frame = pd.DataFrame({"c": pd.Series(["law", marker, "it"], dtype=object), "n": [1, 2, 3]})
    space = FeatureSpace.infer(frame)
    assert space["c"].missing_as == name
    again = FeatureSpace.from_toml(space.to_toml())
    assert again == space
    assert ("missing_as" in space.to_toml()) == (name != "nan")
    for made in (space, again):
        for like in (None, frame.iloc[[0]], frame.iloc[[1]]):
            row = made.decode({"c": None, "n": 1}, like=like)
            assert is_same(row["c"].iloc[0], marker)
            assert made.encode_row(row)["c"] is None
    assert is_same(space.decode(space.encode_row({"c": None, "n": 1}))["c"].iloc[0], marker)


@pytest.mark.parametrize("dtype", ["string", "boolean", "category"])
def test_dtypes_with_a_missing_value_of_their_own_keep_it(dtype: str) -> None:
    cells = [True, None, False] if dtype == "boolean" else ["law", None, "it"]
    frame = pd.DataFrame({"c": pd.Series(cells, dtype=dtype)})
    space = FeatureSpace.infer(frame)
    assert space["c"].missing_as == "nan"
    row = space.decode({"c": None}, like=frame.iloc[[0]])
    assert row["c"].dtype == frame["c"].dtype
    assert row["c"].isna().all()


def test_unknown_ways_to_write_a_missing_value() -> None:
    with pytest.raises(InvalidInputError, match="missing_as"):
        Feature("c", "categorical", labels=("a", None), missing_as="null")


def test_all_rows_at_once_have_the_cells_that_each_has_alone() -> None:
    mixed = FRAME.assign(
        text=pd.array(["x", None, "y"], dtype="string"),
        kind=pd.Categorical(["p", "q", "p"]),
        gap=pd.array([1, None, 3], dtype="Int64"),
    )
    for frame in (FRAME, mixed, FRAME[["age"]], FRAME.astype({"age": "float32"})):
        together = codec.frame_cells(frame)
        for i, cells in enumerate(together):
            alone = codec.row_cells(frame.iloc[[i]], list(frame.columns), "error")
            assert list(cells) == list(alone)
            assert [*map(repr, cells.values())] == [*map(repr, alone.values())]
    with pytest.raises(InvalidInputError, match="several columns"):
        codec.frame_cells(FRAME.iloc[:, [0, 0]])


@pytest.mark.parametrize("count", [1, 4, 5, 7])
def test_rows_keep_dtypes_index_and_order_however_many_columns_change(count: int) -> None:
    table = pd.DataFrame(
        {
            "small": np.array([1, 2, 3], dtype="int16"), "real": [0.5, 1.5, 2.5],
            "text": ["x", "y", "z"], "flag": [True, False, True],
            "kind": pd.Categorical(["u", "v", "u"]), "low": np.array([1.5, 2.5, 3.5], "float32"),
            "whole": pd.array([1, 2, 3], dtype="Int64"),
        },
        index=[7, 8, 9],
    )  # fmt: skip
    space = FeatureSpace.infer(table)
    like = table.iloc[[0]].assign(beside=[object()])  # what is no feature stays
    like.attrs = {"source": "a form"}
    point, changed = space.encode_row(like, extra="ignore"), list(table)[-count:]
    point = {**point, **{name: space.encode_row(table.iloc[[1]])[name] for name in changed}}
    expected = like.copy()
    for name in changed:
        expected[name] = table[name].iloc[[1]].set_axis([7])
    made = space.rows_like(like).decode(point)
    pd.testing.assert_frame_equal(made, expected)
    assert made.attrs == like.attrs

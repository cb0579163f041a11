"""Inference of feature spaces: which kind, range, resolution, labels and action a column gets."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cfxc.errors import CfxcError, DataTypeError, InvalidInputError, MissingColumnError
from cfxc.space import Feature, FeatureSpace

ORDERED = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)

# column, expected fields
KINDS: list[tuple[str, pd.Series[Any], dict[str, object]]] = [
    ("bool", pd.Series([True, False, True]), {"kind": "binary", "labels": (False, True)}),
    ("two ints", pd.Series([1, 2, 1]), {"kind": "binary", "labels": (1, 2), "dtypes": ("int64",)}),
    ("two floats", pd.Series([1.0, 0.0, 1.0]), {"kind": "binary", "labels": (0, 1)}),
    ("two texts", pd.Series(["no", "yes", "no"]), {"kind": "binary", "labels": ("no", "yes")}),
    (
        "two and missing",
        pd.Series([0.0, 1.0, np.nan]),
        {"kind": "categorical", "labels": (0, 1, None), "dtypes": ("float64",)},
    ),
    (
        "nullable bool",
        pd.Series([True, False, pd.NA], dtype="boolean"),
        {"kind": "categorical", "labels": (False, True, None)},
    ),
    ("one text", pd.Series(["a", "a"]), {"kind": "categorical", "labels": ("a",), "range": 0}),
    (
        "text and missing",
        pd.Series(["b", None, "a"]),
        {"kind": "categorical", "labels": ("a", "b", None), "missing": False},
    ),
    (
        "objects",
        pd.Series(["b", 3, 1.0, None], dtype=object),
        {"kind": "categorical", "labels": (1, 3, "b", None)},
    ),
    (
        "category",
        pd.Series(["b", "a", "c"], dtype="category"),
        {"kind": "categorical", "labels": ("a", "b", "c"), "dtypes": ("category",)},
    ),
    (
        "ordered",
        pd.Series(["low", "high"], dtype=ORDERED),
        {"kind": "ordinal", "labels": ("low", "mid", "high"), "range": 2},
    ),
    (
        "ints",
        pd.Series([3, 9, 4]),
        {"kind": "integer", "lower": 3, "upper": 9, "missing": False, "range": 6},
    ),
    (
        "nullable ints",
        pd.Series([3, pd.NA, 4, 5], dtype="Int64"),
        {"kind": "integer", "lower": 3, "upper": 5, "missing": True, "dtypes": ("Int64",)},
    ),
    (
        "whole floats",
        pd.Series([3.0, np.nan, 9.0, 4.0]),
        {"kind": "integer", "lower": 3, "upper": 9, "missing": True, "dtypes": ("float64",)},
    ),
    (
        "one decimal",
        pd.Series([0.1, 2.5, 0.3]),
        {"kind": "real", "lower": Fraction(0.1), "resolution": Fraction(1, 10)},
    ),
    ("cents", pd.Series([0.07, 1.29, 5.0]), {"kind": "real", "resolution": Fraction(1, 100)}),
    (
        "cents in float32",
        pd.Series([0.07, 1.29, 5.0], dtype="float32"),
        {
            "kind": "real",
            "resolution": Fraction(1, 100),
            "lower": Fraction(float(np.float32(0.07))),
        },
    ),
    ("six decimals", pd.Series([1e-6, 0.5, 1.0]), {"resolution": Fraction(1, 10**6)}),
    ("seven decimals", pd.Series([1e-7, 0.5, 1.0]), {"kind": "real", "resolution": None}),
    ("thirds", pd.Series([1 / 3, 2 / 3, 1.0]), {"kind": "real", "resolution": None}),
    ("an ulp off", pd.Series([0.1, 0.3, 0.1 + 0.2]), {"kind": "real", "resolution": None}),
    (
        "readings, some of them means",
        pd.Series([*range(60, 100), 84.33, 90.67]),
        {"kind": "real", "resolution": Fraction(1), "upper": 99},
    ),
    (
        "means as often as one in eight",
        pd.Series([*range(60, 74), 84.33, 90.67]),
        {"kind": "real", "resolution": Fraction(1, 100)},
    ),
    ("halves", pd.Series([1.5, 2.0, 7.5, 9.0]), {"resolution": Fraction(1, 2)}),
    ("twentieths", pd.Series([0.05, 2.15, 7.35]), {"resolution": Fraction(1, 20)}),
    (
        "zeros beside cents",
        pd.Series([0.0] * 99 + [1.37, 2.02]),
        {"kind": "real", "resolution": Fraction(1, 100)},
    ),
    (
        "readings in seven decimals",
        pd.Series([*range(60, 100), 84.3333333]),
        {"kind": "real", "resolution": None},
    ),
    (
        "constant",
        pd.Series([7, 7, 7]),
        {"kind": "integer", "lower": 7, "upper": 7, "range": 0},
    ),
]


@pytest.mark.parametrize(("column", "expected"), [pytest.param(*c[1:], id=c[0]) for c in KINDS])
def test_kind_of_a_column(column: pd.Series[Any], expected: dict[str, object]) -> None:
    feature = FeatureSpace.infer(pd.DataFrame({"x": column}))["x"]
    found = {field: getattr(feature, field) for field in expected}
    assert found == expected
    labels = expected.get("labels", ())
    assert isinstance(labels, tuple)
    assert [type(label) for label in feature.labels] == [type(label) for label in labels]


FRAME = pd.DataFrame(
    {
        "age": [30, 40, 50],
        "income": [10.5, 20.0, 0.25],
        "grade": ["B", "A", "C"],
        "score": [1, 2, 5],
        "flag": [True, False, True],
        "sex": ["f", "m", "f"],
    }
)


def fields(feature: Feature, *names: str) -> list[object]:
    return [getattr(feature, name) for name in names]


def test_statements_override_inference() -> None:
    space = FeatureSpace.infer(
        FRAME,
        fixed=["sex"],
        increase=["age"],
        decrease="income",
        kinds={"score": "ordinal", "age": "real"},
        resolution={"income": 0.25},
        ordinal={"grade": ["C", "B", "A"]},
    )
    assert space.names == tuple(FRAME)
    assert [feature.action for feature in space] == [
        *("increase", "decrease", "free", "free", "free", "fixed")
    ]
    assert space["grade"].labels == ("C", "B", "A")
    assert space["score"].labels == (1, 2, 5)
    assert fields(space["age"], "kind", "resolution") == ["real", 1]
    assert space["income"].resolution == Fraction(1, 4)


def test_consecutive_levels_are_not_listed() -> None:
    space = FeatureSpace.infer(FRAME, ordinal={"score": [1, 2, 3, 4, 5]})
    assert space["score"] == Feature("score", "ordinal", Fraction(1), Fraction(5))
    assert space["score"].levels == (1, 2, 3, 4, 5)


def test_a_direction_makes_two_values_ordered() -> None:
    two = pd.DataFrame({"phd": [0, 1, 0], "flag": [True, False, True]})
    assert FeatureSpace.infer(two)["phd"].kind == "binary"
    space = FeatureSpace.infer(two, increase=["phd", "flag"])
    assert fields(space["phd"], "kind", "range") == ["integer", 1]
    assert (space["flag"].kind, space["flag"].labels) == ("ordinal", (False, True))


def test_no_resolution_leaves_real_numbers_free() -> None:
    """But for columns that hold nothing but whole numbers, and those taken for integers."""
    frame = pd.DataFrame({"half": [0.5, 1.0], "whole": [1.0, 2.0], "count": [1, 2], "n": [1, 5]})
    frame = pd.concat([frame, frame * 3], ignore_index=True)
    kinds = {"whole": "real", "count": "real"}
    known = {
        name: [feature.resolution for feature in FeatureSpace.infer(frame, kinds=kinds, **given)]
        for name, given in (
            ("auto", {}),
            ("none", {"resolution": None}),
            ("one", {"resolution": {"half": None, "count": None}}),
        )
    }
    assert known["auto"] == [Fraction(1, 2), 1, 1, None]
    assert known["none"] == [None, None, 1, None]
    assert known["one"] == [None, 1, 1, None]


def test_groups_become_one_feature_each() -> None:
    frame = pd.DataFrame(
        {
            "sector_a": [1, 0, 0],
            "edu_0": [1, 1, 0],
            "age": [30, 40, 50],
            "edu_1": [1, 0, 0],
            "sector_b": [0, 1, 1],
        }
    )
    space = FeatureSpace.infer(frame, one_hot=["sector_"], thermometer=["edu_"], fixed="sector")
    assert space.names == ("sector", "edu", "age")
    assert space.columns == tuple(frame)
    sector, edu = space["sector"], space["edu"]
    assert (sector.kind, sector.labels, sector.action) == ("categorical", ("a", "b"), "fixed")
    assert sector.columns == ("sector_a", "sector_b")
    assert fields(edu, "kind", "lower", "upper") == ["ordinal", 0, 2]
    assert space.column_source("sector_b") == (sector, (0, 1))
    assert space.column_source("edu_1") == (edu, (0, 0, 1))
    assert space.column_source("age") == (space["age"], None)
    rows = [space.encode_row(frame.iloc[[i]]) for i in range(3)]
    assert [(row["sector"], row["edu"]) for row in rows] == [("a", 2), ("b", 1), ("b", 0)]


def test_thermometer_with_a_constant_first_step_starts_at_one() -> None:
    frame = pd.DataFrame({"edu_0": [1, 1], "edu_1": [1, 0], "edu_2": [0, 0]})
    space = FeatureSpace.infer(frame, thermometer="edu_")
    assert fields(space["edu"], "lower", "upper") == [1, 3]
    assert space.column_source("edu_0") == (space["edu"], (1, 1, 1))
    assert space.column_source("edu_2") == (space["edu"], (0, 0, 1))


ONE = {"x": [1, 2, 3]}
REFUSED: list[tuple[str, Any, dict[str, Any], type[CfxcError], list[str]]] = [
    ("array", np.eye(2), {}, DataTypeError, ["DataFrame", "ndarray"]),
    ("no rows", pd.DataFrame({"x": []}), {}, InvalidInputError, ["empty"]),
    ("no columns", pd.DataFrame(index=[0]), {}, InvalidInputError, ["empty"]),
    (
        "same name twice",
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        {},
        InvalidInputError,
        ["'a'", "rename"],
    ),
    ("number as name", pd.DataFrame([[1]]), {}, DataTypeError, ["0", "text"]),
    ("dates", {"x": pd.to_datetime(["2020-01-01"])}, {}, DataTypeError, ["'x'", "days since"]),
    ("durations", {"x": pd.to_timedelta([1])}, {}, DataTypeError, ["'x'"]),
    ("complex", {"x": [1j]}, {}, DataTypeError, ["'x'", "complex"]),
    ("lists", {"x": [[1], [2]]}, {}, DataTypeError, ["'x'", "row 0", "list"]),
    ("dates as objects", {"x": [pd.Timestamp(0), "a"]}, {}, DataTypeError, ["'x'", "Timestamp"]),
    ("infinite", {"x": [1.0, np.inf]}, {}, InvalidInputError, ["'x'", "infinite", "row 1"]),
    ("nothing", {"x": [np.nan, np.nan]}, {}, InvalidInputError, ["'x'", "no values"]),
    ("identifiers", {"x": [2**53 + 1, 0, 1]}, {}, InvalidInputError, ["x", "2**53"]),
    ("True and 1", {"x": pd.Series([True, 2, "a"], dtype=object)}, {}, InvalidInputError, ["True"]),
    ("unknown fixed", FRAME, {"fixed": ["agee"]}, MissingColumnError, ["'agee'", "'age'"]),
    ("unknown increase", FRAME, {"increase": "Age"}, MissingColumnError, ["'Age'", "'age'"]),
    ("unknown kinds", FRAME, {"kinds": {"incom": "real"}}, MissingColumnError, ["'income'"]),
    ("unknown kind", FRAME, {"kinds": {"age": "reel"}}, InvalidInputError, ["'reel'", "'real'"]),
    ("unknown resolution", FRAME, {"resolution": "fine"}, InvalidInputError, ["'fine'", "'auto'"]),
    ("resolution of text", FRAME, {"resolution": {"sex": 1}}, InvalidInputError, ["'sex'", "real"]),
    ("half of an int", FRAME, {"resolution": {"age": 0.5}}, InvalidInputError, ["int64", "whole"]),
    ("resolution zero", FRAME, {"resolution": {"income": 0}}, InvalidInputError, ["above 0"]),
    (
        "ordinal and real",
        FRAME,
        {"kinds": {"age": "real"}, "ordinal": {"age": [30, 40, 50]}},
        InvalidInputError,
        ["both"],
    ),
    (
        "kind of a part",
        {"a_b": [1, 0], "a_c": [0, 1]},
        {"one_hot": ["a_"], "kinds": {"a_b": "binary"}},
        InvalidInputError,
        ["'a_b'", "'a_'"],
    ),
    ("both", FRAME, {"fixed": ["age"], "increase": ["age"]}, InvalidInputError, ["both"]),
    ("no order", FRAME, {"increase": ["grade"]}, InvalidInputError, ["'grade'", "ordinal"]),
    ("ordinal text", FRAME, {"kinds": {"grade": "ordinal"}}, InvalidInputError, ["levels", "'A'"]),
    ("level unlisted", FRAME, {"ordinal": {"grade": ["A", "B"]}}, InvalidInputError, ["'C'"]),
    ("level twice", FRAME, {"ordinal": {"grade": [*"ABCA"]}}, InvalidInputError, ["twice"]),
    ("not whole", FRAME, {"kinds": {"income": "integer"}}, InvalidInputError, ["10.5"]),
    ("three values", FRAME, {"kinds": {"age": "binary"}}, InvalidInputError, ["at most two"]),
    ("text as real", FRAME, {"kinds": {"sex": "real"}}, DataTypeError, ["sex", "'f'"]),
    (
        "missing in an order",
        {"x": pd.Series(["low", None], dtype=ORDERED)},
        {},
        InvalidInputError,
        ["missing", "categorical"],
    ),
    ("no group", FRAME, {"one_hot": ["sector_"]}, MissingColumnError, ["'sector_'"]),
    ("group of one", FRAME, {"one_hot": ["incom"]}, InvalidInputError, ["at least two"]),
    (
        "two groups",
        {"a_b_0": [1], "a_b_1": [0], "a_c": [0]},
        {"one_hot": ["a_", "a_b_"]},
        InvalidInputError,
        ["'a_b_0'", "two groups"],
    ),
    (
        "part of a group",
        {"a_b": [1, 0], "a_c": [0, 1]},
        {"one_hot": ["a_"], "fixed": ["a_b"]},
        MissingColumnError,
        ["'a_b'", "group"],
    ),
    (
        "name taken",
        {"a_b": [1, 0], "a_c": [0, 1], "a": [1, 2]},
        {"one_hot": ["a_"]},
        InvalidInputError,
        ["'a'", "twice"],
    ),
    (
        "two ones",
        {"a_b": [1, 1], "a_c": [0, 1]},
        {"one_hot": ["a_"]},
        InvalidInputError,
        ["2 ones", "row 1"],
    ),
    (
        "no one",
        {"a_b": [1, 0], "a_c": [0, 0]},
        {"one_hot": ["a_"]},
        InvalidInputError,
        ["0 ones", "drop='first'"],
    ),
    (
        "not a bit",
        {"a_b": [1, 2], "a_c": [0, 0]},
        {"one_hot": ["a_"]},
        InvalidInputError,
        ["'a_b'", "2"],
    ),
    (
        "missing bit",
        {"a_b": [1, np.nan], "a_c": [0, 0]},
        {"one_hot": ["a_"]},
        InvalidInputError,
        ["'a_b'", "nan"],
    ),
    (
        "hole in a thermometer",
        {"a_0": [1, 0], "a_1": [0, 1]},
        {"thermometer": ["a_"]},
        InvalidInputError,
        ["1 after a 0", "row 1"],
    ),
]


@pytest.mark.parametrize(
    ("data", "options", "error", "words"), [pytest.param(*c[1:], id=c[0]) for c in REFUSED]
)
def test_refused(
    data: Any, options: dict[str, Any], error: type[CfxcError], words: list[str]
) -> None:
    frame = pd.DataFrame(data) if isinstance(data, dict) else data
    with pytest.raises(error) as caught:
        FeatureSpace.infer(frame, **options)
    message = str(caught.value)
    assert [word for word in words if word not in message] == []
    assert message.count("\n") < 10
    assert caught.value.exit_code == 2

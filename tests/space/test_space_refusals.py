"""Feature spaces from wrong types, impossible dtypes and broken conditions: refused by name."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cfxc.errors import CfxcError, InvalidInputError
from cfxc.space import Feature, FeatureSpace

# -- dtypes --------------------------------------------------------------------------------------

NUMBER: dict[str, Any] = {"kind": "integer", "lower": 0, "upper": 9}
REAL = {"kind": "real", "lower": 0, "upper": 9}
LEVELS = {"kind": "ordinal", "lower": 1, "upper": 3}
TEXT = {"kind": "categorical", "labels": ("a", "b")}
CODES = {"kind": "categorical", "labels": (1, 2.5, None)}
TRUTH = {"kind": "binary", "labels": (False, True)}
MIXED = {"kind": "categorical", "labels": ("a", 1)}
GROUP = {"kind": "categorical", "labels": ("a", "b"), "encoding": "one_hot", "columns": ("p", "q")}

DTYPES: list[tuple[dict[str, Any], str, str]] = [
    (NUMBER, "int64 int8 uint8 Int16 float32 Float64 object", "bool category str string"),
    (REAL, "float64 float32 Float64 object", "bool boolean category str datetime64[ns]"),
    (LEVELS, "int64 float64 category object", "bool str timedelta64[ns] complex128"),
    (TEXT, "str string category object", "int64 float64 bool datetime64[ns] period[D]"),
    (CODES, "float64 Float64 category object", "bool boolean str"),
    (TRUTH, "bool boolean category object", "int64 float64 str"),
    (MIXED, "category object", "int64 str bool"),
    (GROUP, "int64 int8 float64 bool boolean object", "str datetime64[ns] complex64"),
]


@pytest.mark.parametrize(("fields", "fine", "wrong"), DTYPES)
def test_a_dtype_holds_what_the_feature_is(fields: dict[str, Any], fine: str, wrong: str) -> None:
    count = len(fields.get("columns", "x"))
    for dtype in fine.split():
        feature = Feature("x", **fields, dtypes=(dtype,) * count)
        space = FeatureSpace((feature,))
        for value in [*feature.labels] or [Fraction(1), Fraction(3)]:
            row = space.decode({"x": value if feature.is_symbolic else int(value)})
            assert space.encode_row(row) == {"x": value}
    for dtype in [*wrong.split(), "interval", "float65"]:
        with pytest.raises(InvalidInputError, match=r"'x'.*(cannot hold|knows no dtype)"):
            Feature("x", **fields, dtypes=(dtype,) * count)


@pytest.mark.parametrize(
    "written",
    [
        "1e-999999999",
        "1E+999999999 ",
        "1e" + "9" * 5000,
        "1e-0_0_0_0_0_9999999",
        "1e٠٠٠٠٠٠٠٠٠٠٩٩٩٩٩٩٩",
    ],
)
def test_numbers_of_endless_digits_are_refused_at_once(written: str) -> None:
    for value in (written, Decimal("1e-999999999")):
        with pytest.raises(InvalidInputError, match=r"^.{0,150} is beyond 350$"):
            Feature("x", "real", 0, 1, resolution=value)
    with pytest.raises(InvalidInputError, match=r"weight: '1{59} … has too many digits"):
        Feature("x", "real", 0, 1, weight="1" * 5000)


@pytest.mark.parametrize("resolution", ["1e-308", "0", Fraction(1, 10**380), 10**31])
def test_grids_that_doubles_do_not_hold_are_refused(resolution: Any) -> None:
    with pytest.raises(InvalidInputError, match="resolution must be above 0, and from 1e-300"):
        Feature("x", "real", 0, 1, resolution=resolution)
    assert Feature("x", "real", 0, 1, resolution="1e-300").resolution == Fraction(1, 10**300)


@pytest.mark.parametrize("number", ["9" * 5000, "1e" + "9" * 40])
def test_numbers_in_files_that_nothing_reads_are_refused(number: str) -> None:
    space = f'version = 1\n[[feature]]\nname = "x"\nkind = "real"\nlower = 0\nupper = {number}\n'
    with pytest.raises(InvalidInputError) as raised:
        FeatureSpace.from_toml(space)
    assert len(str(raised.value)) < 250


def test_a_range_is_a_double() -> None:
    with pytest.raises(InvalidInputError, match="'x': its range is wider than the largest double"):
        Feature("x", "real", -1.7e308, 1.7e308)


# -- what Python lets pass -----------------------------------------------------------------------

TABLE = pd.DataFrame({"a": [1.5, 2.5, 3.0], "b": ["p", "q", "r"], "c": [1, 2, 3]})
SPACE = FeatureSpace.infer(TABLE)

WRONG_TYPES: list[tuple[Any, str]] = [
    (lambda: FeatureSpace.infer(TABLE, fixed=None), "fixed: expected a list such as"),
    (lambda: FeatureSpace.infer(TABLE, increase=5), "increase: expected a list"),
    (lambda: FeatureSpace.infer(TABLE, fixed=[5]), "fixed: expected texts"),
    (lambda: FeatureSpace.infer(TABLE, one_hot=5), "one_hot: expected a list"),
    (lambda: FeatureSpace.infer(TABLE, thermometer=[None]), "thermometer: expected texts"),
    (lambda: FeatureSpace.infer(TABLE, kinds=["real"]), "kinds: expected a mapping"),
    (lambda: FeatureSpace.infer(TABLE, kinds={"a": 5}), "5 is unknown"),
    (lambda: FeatureSpace.infer(TABLE, resolution=0.1), "resolution: expected a mapping"),
    (lambda: FeatureSpace.infer(TABLE, resolution={"a": []}), "not a number"),
    (lambda: FeatureSpace.infer(TABLE, ordinal={"c": 5}), "ordinal['c']: expected a list"),
    (lambda: FeatureSpace.infer(TABLE, ordinal=["c"]), "ordinal: expected a mapping"),
    (lambda: FeatureSpace.from_toml(5), "from_toml: expected the path"),
    (lambda: FeatureSpace.from_toml(None), "from_toml: expected the path"),
    (lambda: SPACE.to_toml(5), "expected the path of a file"),
    (lambda: SPACE.replace("b", labels=5), "'b': labels: expected a list"),
    (lambda: SPACE.replace("b", condition=5), "'b': condition is a text"),
    (lambda: SPACE.replace("a", missing="yes"), "'a': missing is True or False"),
    (lambda: SPACE.replace("a", dtypes=5), "'a': dtypes: expected a list"),
    (lambda: SPACE.replace("a", kind=5), "kind 5 is unknown"),
    (lambda: SPACE.replace("a", action=[]), "action [] is unknown"),
    (lambda: SPACE.replace("a", weight="x"), "'a': weight"),
    (lambda: SPACE.subset(5), "names: expected a list"),
    (lambda: FeatureSpace(5), "features: expected a list"),
    (lambda: FeatureSpace(("a",)), "expected a Feature, not 'a'"),
    (lambda: FeatureSpace(SPACE.features, 5), "columns: expected a list"),
]


@pytest.mark.parametrize(("call", "words"), WRONG_TYPES)
def test_wrong_types_are_refused_with_what_is_expected(call: Any, words: str) -> None:
    with pytest.raises(CfxcError) as caught:
        call()
    assert words in str(caught.value)


def test_single_names_are_no_letters() -> None:
    assert FeatureSpace.infer(TABLE, fixed="c")["c"].action == "fixed"
    assert SPACE.replace("a", dtypes="float32")["a"].dtypes == ("float32",)


# -- conditions ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "condition", ["a > 2", 'b == "p" && x.c >= factual.c', "true # why not", "x.a < factual.a"]
)
def test_conditions_over_the_features(condition: str) -> None:
    space = SPACE.replace("b", action="conditional", condition=condition)
    assert FeatureSpace.from_toml(space.to_toml()) == space


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("a >", "condition:1"),
        (")(", "condition:1:1"),
        ("aa > 2", "'aa' is unknown"),
        ("a + 1", "truth value"),
        ('b == "s"', 'no label equals "s"'),
        ("b > 1", "condition:1"),
    ],
)
def test_conditions_are_checked_at_once(condition: str, words: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        SPACE.replace("c", action="conditional", condition=condition)
    assert str(caught.value).startswith("feature 'c': condition:1")
    assert words in str(caught.value)


def test_messages_name_the_file_and_the_feature_once(tmp_path: Path) -> None:
    path = tmp_path / "space.toml"
    text = SPACE.to_toml()
    for before, after, words in (
        ("version = 1", "", f"{path}: no version"),
        ('name = "b"', 'name = "a"', f"{path}: feature 'a' occurs twice"),
        ("lower = 1.5", "lower = 15", f"{path}: feature 1 ('a'): lower 15 is above"),
        (text[text.index("[[") :], "", f"{path}: a feature space has at least one feature"),
    ):
        path.write_text(text.replace(before, after, 1))
        with pytest.raises(InvalidInputError) as caught:
            FeatureSpace.from_toml(path)
        assert str(caught.value).startswith(words)


def test_toml_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "space.toml").write_text("\ufeff" + SPACE.to_toml(), encoding="utf-8")
    assert FeatureSpace.from_toml(tmp_path / "space.toml") == SPACE

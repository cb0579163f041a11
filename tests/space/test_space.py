"""Features and spaces as objects: consistency, replacement, and the TOML form."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cfxc.errors import CfxcError, DataTypeError, InvalidInputError, MissingColumnError
from cfxc.space import Feature, FeatureSpace

ONE, TWO = Fraction(1), Fraction(2)

INCONSISTENT: list[tuple[dict[str, Any], str]] = [
    ({"kind": "number"}, "kind 'number'"),
    ({"kind": "real"}, "lower and upper"),
    ({"kind": "real", "lower": 2, "upper": 1}, "lower 2 is above upper 1"),
    ({"kind": "real", "lower": float("nan"), "upper": 1}, "finite"),
    ({"kind": "real", "lower": 0, "upper": 1, "labels": ("a",)}, "no labels"),
    ({"kind": "real", "lower": 0, "upper": 1, "resolution": -1}, "above 0"),
    ({"kind": "real", "lower": 0, "upper": 1, "weight": -1}, "weight"),
    ({"kind": "real", "lower": 0, "upper": 1, "action": "rise"}, "action 'rise'"),
    ({"kind": "real", "lower": 0, "upper": 1, "action": "conditional"}, "condition"),
    ({"kind": "real", "lower": 0, "upper": 1, "condition": "a > 1"}, "condition"),
    ({"kind": "real", "lower": 0, "upper": 1, "encoding": "one-hot"}, "'one_hot'"),
    ({"kind": "real", "lower": 0, "upper": 1, "columns": ("a", "b")}, "one column"),
    ({"kind": "real", "lower": 0, "upper": 1, "dtypes": ("float65",)}, "float65"),
    ({"kind": "real", "lower": 0, "upper": 1, "dtypes": ("int64",)}, "whole"),
    ({"kind": "real", "lower": 0, "upper": 1, "missing": "yes"}, "missing is True or False"),
    ({"kind": "real", "lower": 0, "upper": 1, "condition": 5}, "condition is a text"),
    ({"kind": "real", "lower": 0, "upper": 1, "columns": 5}, "columns: expected a list"),
    ({"kind": "real", "lower": 0, "upper": 1, "dtypes": (5,)}, "dtypes: expected texts"),
    ({"kind": "categorical", "labels": 5}, "labels: expected a list"),
    ({"kind": "categorical", "labels": "ab"}, "labels: expected a list"),
    ({"kind": "categorical", "labels": {"a": 1}}, "labels: expected a list"),
    (
        {"kind": "real", "lower": 0, "upper": 1, "action": "conditional", "condition": ")("},
        "condition:1:1",
    ),
    ({"kind": "integer", "lower": 0.5, "upper": 1}, "0.5 is not whole"),
    ({"kind": "integer", "lower": 0, "upper": 1, "resolution": 1}, "only real"),
    ({"kind": "integer", "lower": 0, "upper": 300, "dtypes": ("int8",)}, "int8"),
    ({"kind": "integer", "lower": 0, "upper": 9, "missing": True, "dtypes": ("int64",)}, "missing"),
    ({"kind": "categorical"}, "no categories"),
    ({"kind": "categorical", "labels": ("a", "a")}, "twice"),
    ({"kind": "categorical", "labels": (1, 1.0)}, "twice"),
    ({"kind": "categorical", "labels": (True, 2)}, "booleans and numbers"),
    ({"kind": "categorical", "labels": (float("nan"),)}, "not finite"),
    ({"kind": "categorical", "labels": ((1,),)}, "neither text"),
    ({"kind": "categorical", "labels": ("a",), "missing": True}, "missing"),
    ({"kind": "categorical", "labels": ("a",), "upper": 1}, "upper"),
    ({"kind": "categorical", "labels": ("a",), "columns": ("a", "a")}, "different"),
    ({"kind": "categorical", "labels": ("a",), "columns": ("",)}, "non-empty"),
    ({"kind": "categorical", "labels": ("a",), "action": "increase"}, "no order"),
    ({"kind": "binary", "labels": ("a", "b", "c")}, "at most two"),
    ({"kind": "ordinal", "labels": ("a", None)}, "order"),
    ({"kind": "ordinal"}, "lower and upper"),
    (
        {"kind": "categorical", "labels": ("a", "b"), "encoding": "one_hot", "columns": ("a",)},
        "one label per column",
    ),
    (
        {"kind": "ordinal", "lower": 0, "upper": 3, "encoding": "thermometer", "columns": ("a",)},
        "between 0 and 1",
    ),
]


@pytest.mark.parametrize(("fields", "words"), INCONSISTENT)
def test_inconsistent_features_are_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(CfxcError) as caught:
        Feature("x", **fields)
    assert words in str(caught.value)
    assert "'x'" in str(caught.value)


def test_numbers_become_exact() -> None:
    feature = Feature("x", "real", 0.1, "1/3", resolution=0.01, weight=0.5)  # type: ignore[arg-type]
    assert (feature.lower, feature.upper) == (Fraction(0.1), Fraction(1, 3))
    assert (feature.resolution, feature.weight) == (Fraction(1, 100), Fraction(1, 2))
    assert feature.range == Fraction(1, 3) - Fraction(0.1)


@pytest.mark.parametrize(
    ("feature", "width", "symbolic"),
    [
        (Feature("x", "integer", ONE, Fraction(9)), 8, False),
        (Feature("x", "ordinal", ONE, Fraction(4)), 3, False),
        (Feature("x", "ordinal", labels=("a", "b", "c")), 2, True),
        (Feature("x", "categorical", labels=("a", "b", "c")), 1, True),
        (Feature("x", "binary", labels=(0, 1)), 1, True),
        (Feature("x", "binary", labels=(1,)), 0, True),
        (Feature("x", "real", TWO, TWO), 0, False),
    ],
)
def test_range(feature: Feature, width: int, symbolic: bool) -> None:
    assert feature.range == width
    assert feature.is_symbolic is symbolic


SPACE = FeatureSpace(
    (
        Feature("age", "integer", Fraction(18), Fraction(90), action="increase"),
        Feature("pay", "real", Fraction(0.1), Fraction(1, 3), resolution=Fraction(1, 100)),
        Feature("phd", "binary", labels=(False, True), dtypes=("bool",), weight=Fraction(1, 3)),
        Feature(
            "job",
            "categorical",
            labels=('a "b"\n', 1, 2.5, -(2**70), 1e300, None),
            dtypes=("object",),
            action="conditional",
            condition="phd && age >= 25",
        ),
        Feature(
            "sector",
            "categorical",
            labels=("a", "b"),
            encoding="one_hot",
            columns=("sector_a", "sector_b"),
            dtypes=("int8", "bool"),
        ),
        Feature("kids", "integer", Fraction(0), Fraction(9), missing=True, dtypes=("Int64",)),
    ),
    ("sector_b", "age", "pay", "phd", "job", "kids", "sector_a"),
)


def test_mapping_like_access() -> None:
    assert len(SPACE) == 6
    assert list(SPACE) == list(SPACE.features)
    assert SPACE.names == ("age", "pay", "phd", "job", "sector", "kids")
    assert "age" in SPACE
    assert "sector_a" not in SPACE
    assert repr(SPACE).startswith("FeatureSpace of 6 features\n  age: ")
    with pytest.raises(MissingColumnError, match=r"'agee'.*'age'"):
        SPACE["agee"]
    with pytest.raises(MissingColumnError, match=r"'sector_c'.*'sector_"):
        SPACE.column_source("sector_c")


def test_replace_makes_another_space() -> None:
    wider = SPACE.replace("pay", upper=2, weight=0.1, action="fixed")
    assert wider["pay"].upper == 2
    assert wider["pay"].weight == Fraction(1, 10)
    assert SPACE["pay"].upper == Fraction(1, 3)
    assert wider.columns == SPACE.columns
    assert wider.replace("pay", upper="1/3") != SPACE
    assert SPACE.replace("age") == SPACE
    assert hash(SPACE.replace("age")) == hash(SPACE)
    with pytest.raises(InvalidInputError, match=r"'uper'.*'upper'"):
        SPACE.replace("pay", uper=2)
    with pytest.raises(MissingColumnError, match="'pax'"):
        SPACE.replace("pax", upper=2)


def test_levels_and_bounds() -> None:
    assert SPACE["sector"].levels == ("a", "b")
    assert SPACE["sector"].code("b") == 1
    assert SPACE["age"].bounds == (Fraction(18), Fraction(90))
    with pytest.raises(InvalidInputError, match="'age' is a number"):
        _ = SPACE["age"].levels
    with pytest.raises(InvalidInputError, match="'sector' has categories"):
        _ = SPACE["sector"].bounds
    assert SPACE["pay"].held(Fraction(10**400)) == float("inf")
    assert SPACE["pay"].held(Fraction(-(10**400))) == -float("inf")


def test_subset_keeps_order() -> None:
    part = SPACE.subset(["sector", "age"])
    assert part.names == ("age", "sector")
    assert part.columns == ("sector_b", "age", "sector_a")
    with pytest.raises(MissingColumnError, match="'agee'"):
        SPACE.subset(["agee"])


@pytest.mark.parametrize(
    ("features", "columns", "words"),
    [
        ((), (), "at least one"),
        ((Feature("x", "real", ONE, TWO), Feature("x", "real", ONE, TWO)), (), "twice"),
        (
            (Feature("x", "real", ONE, TWO), Feature("y", "real", ONE, TWO, columns=("x",))),
            (),
            "column 'x'",
        ),
        ((Feature("x", "real", ONE, TWO),), ("x", "z"), "'z'"),
        ((Feature("x", "real", ONE, TWO),), ("x", "x"), "differ"),
    ],
)
def test_inconsistent_spaces_are_refused(
    features: tuple[Feature, ...], columns: tuple[str, ...], words: str
) -> None:
    with pytest.raises(InvalidInputError, match=words):
        FeatureSpace(features, columns)


TEXT = """\
# Feature space of cfxc. Numbers in lower and upper are doubles, as in the table; a number in
# resolution or weight is the decimal as written; text such as "1/3" is an exact fraction.
version = 1
columns = ["sector_b", "age", "pay", "phd", "job", "kids", "sector_a"]

[[feature]]
name = "age"
kind = "integer"
lower = 18
upper = 90
action = "increase"
dtype = "int64"

[[feature]]
name = "pay"
kind = "real"
lower = 0.1
upper = "1/3"
resolution = "0.01"
action = "free"
dtype = "float64"

[[feature]]
name = "phd"
kind = "binary"
labels = [false, true]
action = "free"
weight = "1/3"
dtype = "bool"

[[feature]]
name = "job"
kind = "categorical"
labels = ["a \\"b\\"\\n", 1, 2.5, -1180591620717411303424, {whole}, {missing = true}]
action = "conditional"
condition = "phd && age >= 25"
dtype = "object"

[[feature]]
name = "sector"
kind = "categorical"
labels = ["a", "b"]
action = "free"
encoding = "one_hot"
columns = ["sector_a", "sector_b"]
dtype = ["int8", "bool"]

[[feature]]
name = "kids"
kind = "integer"
lower = 0
upper = 9
missing = true
action = "free"
dtype = "Int64"
""".replace("{whole}", str(int(1e300)))


def test_toml_text(tmp_path: Path) -> None:
    assert SPACE.to_toml() == TEXT
    path = tmp_path / "space.toml"
    assert SPACE.to_toml(path) == path.read_text(encoding="utf-8")
    path.write_bytes(TEXT.replace("\n", "\r\n").encode())
    for source in (TEXT, path, str(path)):
        assert FeatureSpace.from_toml(source) == SPACE


def test_unquoted_decimals() -> None:
    """A bound is a double, like a cell; a resolution is the decimal that a person wrote."""
    text = "version = 1\n[[feature]]\nname = 'x'\nkind = 'real'\nlower = 0.1\nupper = 1e3\n"
    feature = FeatureSpace.from_toml(text + "resolution = 0.01\nweight = 0.1\n")["x"]
    assert feature.lower == Fraction(0.1)
    assert feature.upper == 1000
    assert (feature.resolution, feature.weight) == (Fraction(1, 100), Fraction(1, 10))
    assert feature.dtypes == ("float64",)


HEAD = "version = 1\n[[feature]]\nname = 'x'\n"
REAL = HEAD + "kind = 'real'\nlower = 0\nupper = 1\n"


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("version = 1\n[[feature\n", InvalidInputError, "not valid TOML"),
        ("\n", InvalidInputError, "write version = 1 at its top"),
        ("version = 2\n", InvalidInputError, "version 2"),
        ("version = 1\n", InvalidInputError, "at least one feature"),
        ("version = 1\nfeature = 3\n", InvalidInputError, r"\[\[feature\]\]"),
        ("version = 1\nfeatures = 3\n", InvalidInputError, "'features'.*'feature'"),
        (HEAD, MissingColumnError, "feature 1 .'x'.: lacks kind"),
        (REAL + "resolutoin = 1\n", InvalidInputError, "'resolutoin'.*'resolution'"),
        (REAL + "resolution = 0\n", InvalidInputError, "above 0"),
        (REAL + "weight = 'much'\n", InvalidInputError, "weight.*'much'"),
        (REAL + "weight = true\n", DataTypeError, "weight.*True"),
        (REAL + "weight = nan\n", InvalidInputError, "finite"),
        (REAL + "missing = 1\n", DataTypeError, "missing.*true or false"),
        (REAL + "action = 3\n", DataTypeError, "action.*text"),
        (REAL + "columns = [3]\n", DataTypeError, "columns.*text"),
        (HEAD + "kind = 'binary'\nlabels = 'ab'\n", DataTypeError, "labels.*list"),
        (HEAD + "kind = 'binary'\nlabels = [{missing = false}]\n", DataTypeError, "category"),
        (HEAD + "kind = 'binary'\nlabels = [1979-05-27]\n", DataTypeError, "category"),
        (HEAD + "kind = 'binary'\nlabels = [inf]\n", DataTypeError, "category"),
        ("nowhere.toml", InvalidInputError, "nowhere.toml: cannot read"),
    ],
)
def test_toml_refused(text: str, error: type[CfxcError], words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        FeatureSpace.from_toml(text)
    assert str(caught.value).count("\n") < 10
    assert caught.value.exit_code == 2


def test_files_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    binary = tmp_path / "space.toml"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInputError, match="UTF-8"):
        FeatureSpace.from_toml(binary)
    with pytest.raises(InvalidInputError, match="cannot write"):
        SPACE.to_toml(tmp_path / "nowhere" / "space.toml")
    broken = FeatureSpace.infer(pd.DataFrame({"x": pd.Series(["\ud800", "a"], dtype=object)}))
    with pytest.raises(InvalidInputError, match="Unicode"):
        broken.to_toml(tmp_path / "broken.toml")
    assert not (tmp_path / "broken.toml").exists()

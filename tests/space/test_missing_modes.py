"""What an answer may make of a missing number: how it is said, written, read and written back."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import cfxc
from cfxc.errors import DataTypeError, InvalidInputError
from cfxc.question.domain import domain_of, is_admissible

NUMBER = {"kind": "integer", "lower": 0, "upper": 4}
MODES = (False, True, "may fill", "free")


def space_of(**entries: Any) -> cfxc.FeatureSpace:
    return cfxc.FeatureSpace((cfxc.Feature("a", **{**NUMBER, **entries}),))


@pytest.mark.parametrize("missing", MODES)
def test_files_say_it(missing: Any) -> None:
    space = space_of(missing=missing)
    text = space.to_toml()
    assert cfxc.FeatureSpace.from_toml(text) == space
    line = {False: "", True: "missing = true", "may fill": 'missing = "may fill"'}.get(missing)
    assert (line if line is not None else 'missing = "free"') in text


def test_keep_is_true() -> None:
    assert space_of(missing="keep") == space_of(missing=True)
    text = space_of(missing=True).to_toml()
    assert cfxc.FeatureSpace.from_toml(text.replace("true", '"keep"')) == space_of(missing=True)


@pytest.mark.parametrize("missing", ["fill", "", "Free", "keep "])
def test_no_such_word(missing: str) -> None:
    with pytest.raises(InvalidInputError, match=r"feature 'a': missing.*may fill"):
        space_of(missing=missing)
    text = space_of(missing=True).to_toml().replace("missing = true", f'missing = "{missing}"')
    with pytest.raises(InvalidInputError, match="missing"):
        cfxc.FeatureSpace.from_toml(text)


@pytest.mark.parametrize("missing", [1, None, ("free",)])
def test_no_word_at_all(missing: Any) -> None:
    with pytest.raises(DataTypeError, match="missing is True or False, 'may fill' or 'free'"):
        space_of(missing=missing)


def test_files_of_another_type() -> None:
    text = space_of(missing=True).to_toml()
    with pytest.raises(DataTypeError, match="true or false"):
        cfxc.FeatureSpace.from_toml(text.replace("true", "1"))


def test_categories_have_no_missing_numbers() -> None:
    with pytest.raises(InvalidInputError, match="put None among the labels"):
        cfxc.Feature("a", "categorical", labels=("x", "y"), missing="free")  # type: ignore[arg-type]


# -- domains --------------------------------------------------------------------------------------


def cases() -> Iterator[tuple[Any, str, Any, set[Any]]]:
    """Mode, action, the factual's value, and what is admissible, by the words of the page."""
    numbers = set(range(5))
    for missing in ("may fill", "free"):
        lost = {None} if missing == "free" else set()
        for action in ("free", "increase", "decrease"):
            yield missing, action, None, {None, *numbers}
        yield missing, "fixed", None, {None}
        yield missing, "fixed", 2, {2}
        yield missing, "free", 2, numbers | lost
        yield missing, "increase", 2, {2, 3, 4} | lost
        yield missing, "decrease", 2, {0, 1, 2} | lost
    yield True, "free", None, {None}
    yield True, "free", 2, numbers


@pytest.mark.parametrize(("missing", "action", "own", "admissible"), list(cases()))
def test_what_is_admissible(missing: Any, action: str, own: Any, admissible: set[Any]) -> None:
    feature = cfxc.Feature("a", **NUMBER, missing=missing, action=action)  # type: ignore[arg-type]
    absent = feature.absent
    assert absent == -1
    values = sorted(-1 if value is None else value for value in admissible)
    domain = domain_of(feature, -1 if own is None else own)
    halves = [Fraction(k, 2) for k in range(-6, 14)]
    for place in halves:
        assert is_admissible(domain, place) == (place in values)
        below = max((value for value in values if value <= place), default=None)
        above = min((value for value in values if value >= place), default=None)
        assert domain.floor(place) == below
        assert domain.ceil(place) == above
    places = np.array([float(place) for place in halves])
    for side, exact in ((-1, domain.floor), (1, domain.ceil)):
        found = domain.nearest(places, side)
        wanted = [np.nan if (one := exact(place)) is None else float(one) for place in halves]
        np.testing.assert_array_equal(found, wanted)
    rounded = domain.rounded(places)
    assert set(rounded.tolist()) <= set(map(float, values))
    for value in values:
        gone = (value == -1) != (own is None)
        away = 1 if gone else Fraction(abs(value - (-1 if own is None else own)), 4)
        assert domain.delta(value) == away
        assert domain.away(np.array([float(value)]))[0] == float(away)


def test_grids_that_start_elsewhere() -> None:
    """Tenths from 0.25 on: 0.3 is the first, and beside them the factual's own 0.26."""
    feature = cfxc.Feature("a", "real", 0.25, 1, resolution=0.1, missing="free")  # type: ignore[arg-type]
    absent = feature.absent
    assert absent is not None
    for own in (Fraction(0.26), absent):
        domain = domain_of(feature, own)
        first = Fraction(0.26) if own != absent else Fraction(0.3)
        assert domain.ceil(Fraction(-1, 2)) == domain.ceil(Fraction(1, 4)) == first
        assert domain.floor(Fraction(1, 4)) == absent
        assert domain.floor(absent - 1) is None
        assert domain.ceil(absent - 1) == absent
        assert domain.nearest(np.array([0.27]), -1)[0] == float(first if own != absent else absent)


# -- cells ----------------------------------------------------------------------------------------


def columns() -> Iterator[tuple[str, Any]]:
    values = [0, 2, None, 4]
    numbers = [np.nan if value is None else float(value) for value in values]
    yield "float64", pd.Series(numbers)
    yield "float32", pd.Series(numbers, dtype="float32")
    yield "Int64", pd.Series(values, dtype="Int64")
    yield "Float64", pd.Series(values, dtype="Float64")
    yield "None", pd.Series(values, dtype=object)
    yield "NaN", pd.Series([np.nan if value is None else value for value in values], dtype=object)
    yield "NA", pd.Series([pd.NA if value is None else value for value in values], dtype=object)


@pytest.mark.parametrize(("name", "column"), list(columns()))
def test_gaps_come_back_as_the_column_writes_them(name: str, column: pd.Series[Any]) -> None:
    frame = pd.DataFrame({"a": column})
    space = cfxc.FeatureSpace.infer(frame, kinds={"a": "integer"}).replace("a", missing="free")
    assert cfxc.FeatureSpace.from_toml(space.to_toml()) == space
    absent = space["a"].absent
    assert absent is not None
    lost = space.decode({"a": absent}, frame.iloc[[1]])
    filled = space.decode({"a": 4}, frame.iloc[[2]])
    assert lost["a"].dtype == filled["a"].dtype == column.dtype
    gap = lost["a"].iloc[0]
    assert (gap is frame["a"].iloc[2]) or (gap != gap and frame["a"].iloc[2] != frame["a"].iloc[2])
    assert filled["a"].iloc[0] == 4
    assert space.encode_row(lost) == {"a": absent}
    assert space.encode_row(filled) == {"a": 4}


@pytest.mark.parametrize("dtype", ["Int64", "Float64"])
def test_polars_has_null(dtype: str) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": polars.Series([0, 2, None, 4], dtype=getattr(polars, dtype))})
    space = cfxc.FeatureSpace.infer(frame, kinds={"a": "integer"}).replace("a", missing="free")
    absent = space["a"].absent
    assert absent is not None
    lost, filled = space.decode({"a": absent}, frame[1]), space.decode({"a": 4}, frame[2])
    assert lost.schema == filled.schema == frame.schema
    assert lost["a"].to_list() == [None]
    assert filled["a"].to_list() == [4]


def test_a_column_that_holds_no_gap_gives_way() -> None:
    frame = pd.DataFrame({"a": [0.0, np.nan, 4.0]})
    space = cfxc.FeatureSpace.infer(frame, kinds={"a": "integer"}).replace("a", missing="free")
    lost = space.decode({"a": -1}, pd.DataFrame({"a": [2]}))
    assert lost["a"].isna().all()


@pytest.mark.parametrize("kind", ["integer", "real"])
def test_a_number_where_a_missing_one_stands_is_refused(kind: str) -> None:
    """Programs read what lies there as missing, whether or not ranges are checked."""
    space = space_of(missing=True, kind=kind)
    for given in (-1.0, -7.0):
        frame = pd.DataFrame({"a": [2.0, np.nan, given]})
        for check_range in (True, False):
            with pytest.raises(InvalidInputError, match=f"a: {given:g} is outside.*set lower to"):
                space.encode_row(frame.iloc[[2]], check_range=check_range)
            with pytest.raises(InvalidInputError, match=f"{given:g} is outside.*row 2"):
                space.encode_frame(frame, check_range=check_range)
        known = space_of(kind=kind)
        assert known.encode_row(frame.iloc[[2]], check_range=False)["a"] == given
    assert space.encode_row({"a": 7.0}, check_range=False)["a"] == 7
    assert space.encode_frame(frame.iloc[:2], check_range=False)["a"].tolist() == [2.0, -1.0]

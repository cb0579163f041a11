"""Columns that are hardly features, and names that constraints cannot tell apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cfxc.cli import main
from cfxc.cli.tables import advice, doubts, notes
from cfxc.frontends.csv_files import read_csv
from cfxc.space import FeatureSpace

ODD: list[tuple[str, list[Any], str]] = [
    ("Unnamed: 0", [5, 3, 9], "has no name"),
    ("n", list(range(10)), "counts the rows"),
    ("n", list(range(100, 140)), "counts the rows"),
    ("when", ["2020-01-31", "2021-2-3", None], "holds dates"),
    ("when", ["31.01.2020", "3.2.21"], "holds dates"),
    ("when", ["2020-01-31T10:00:00Z", "2020-01-31 11:00"], "holds dates"),
    ("big", ["1", "99999999999999999999999", None], "whole numbers beyond 64 bits"),
    ("pay", ["6500,5", "1200,0", None], "decimal commas"),
    ("who", [f"u{i}" for i in range(51)], "51 different texts in 51 rows"),
    ("who", [f"u{i}" for i in range(90)] + ["u0"] * 10, "90 different texts in 100 rows"),
]
FINE: list[list[Any]] = [
    list(range(9)),
    list(range(9, -1, -1)),
    [0.5 + i for i in range(20)],
    [f"u{i}" for i in range(50)],
    [f"u{i}" for i in range(89)] + ["u0"] * 11,
    ["2020-01-31", "soon"],
    ["1.5 kg", "2-3"],
    ["99999999999999999999999", "unknown"],
    ["007", "12"],
    [True, False] * 9,
]


@pytest.mark.parametrize(("name", "cells", "words"), ODD)
def test_odd_columns(name: str, cells: list[Any], words: str) -> None:
    frame = pd.DataFrame({name: cells})
    (line,) = advice(frame, FeatureSpace.infer(frame))
    assert line.startswith(f"column {name!r} ")
    assert words in line
    quoted = f"'{name}'" if " " in name else name
    assert f"--drop {quoted} leaves" in line


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("39,State-gov,x\n50,Private,y\n38,State-gov,x\n", "(39, State-gov, x)"),
        ("39,State-gov,x,z\n50,Private,y,u\n38,State-gov,v,u\n", "(39, State-gov)"),
        ("1.5,2.5\n1.5,3\n", "(1.5, 2.5)"),
        ("A11 6 A34\nA12 48 A32\n", "separated by blanks"),
        ("age size\n12 48\n9 1\n", "separated by blanks"),
        ("age,male\n12,male\n9,female\n14,male\n", "(male)"),
        ("age,sex,size\n12,sex,3\n9,female,4\n", ""),
        ("0,1,2\n1,0,2\n0,1,5\n", ""),
        ("1,2\n5,8\n", ""),
        ("what\na b\nc d\n", ""),
        ("what is\na b\nc d e\n", ""),
    ],
)
def test_tables_without_a_header_or_without_commas(text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text(text)
    lines = list(doubts(read_csv(path).frame()))
    assert len(lines) == bool(told)
    assert all(told in line for line in lines)


def test_a_table_that_is_odd_as_a_whole_is_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "data.csv"
    path.write_text("39,State-gov\n50,Private\n39,State-gov\n")
    assert main(["space", "infer", str(path)]) == 0
    assert f"warning: {path}: names of columns look like values" in capsys.readouterr().err


@pytest.mark.parametrize("cells", FINE)
def test_ordinary_columns(cells: list[Any]) -> None:
    frame = pd.DataFrame({"x": cells})
    assert list(advice(frame, FeatureSpace.infer(frame))) == []


@pytest.mark.parametrize(
    ("names", "odd"),
    [
        (["y", "factual.y"], ["factual.y"]),
        (["y", "x.y", "factual.y"], ["x.y", "factual.y"]),
        (["x.y", "factual.y", "x", "factual"], []),
    ],
)
def test_names_that_clash(names: list[str], odd: list[str]) -> None:
    frame = pd.DataFrame({name: [1.5, 2.5, 9] for name in names})
    lines = list(advice(frame, FeatureSpace.infer(frame)))
    assert [line.split("'")[1] for line in lines] == odd


def test_numbers_that_may_be_codes_and_ranges_of_few_rows() -> None:
    n = 400
    frame = pd.DataFrame(
        {
            "school": [i % 4 for i in range(n)],
            "flag": [i % 2 for i in range(n)],
            "age": [18 + i % 60 for i in range(n)],
            "income": [float(i) for i in range(n - 1)] + [1e6],
        }
    )
    codes, tails = notes(frame, FeatureSpace.infer(frame))
    assert codes == (
        "taken as amounts, though few whole numbers occur: school; where they are codes, say so: "
        "--categorical school"
    )
    assert tails.startswith("one row in a hundred has 95% of the range of income; the range is")
    (tails,) = notes(frame, FeatureSpace.infer(frame, kinds={"school": "categorical"}))


def test_answers_that_leave_a_category_out() -> None:
    frame = pd.DataFrame({"own home": ["yes", None, "no"] * 5, "pay": range(15)})
    (blank,) = notes(frame, FeatureSpace.infer(frame))
    assert blank.endswith("may change; the constraint '`own home` != none' forbids it")
    assert not list(notes(frame, FeatureSpace.infer(frame, fixed=["own home"])))

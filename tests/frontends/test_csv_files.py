"""Tables in CSV: what a cell is, what a column is, and which files are no table."""

from __future__ import annotations

import math
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfxc.errors import InvalidInputError
from cfxc.frontends import csv_files
from cfxc.frontends.csv_files import number, read_csv, read_csv_row, sample_csv, truth

COLUMNS: list[tuple[list[str], str, list[Any]]] = [
    (["1", "+2", "-3"], "int64", [1, 2, -3]),
    (["1", " 2", "3 "], "int64", [1, 2, 3]),
    (["1", "", "3"], "float64", [1, None, 3]),
    (["1", "NA", "NaN", "null", "None", "n/a"], "float64", [1, None, None, None, None, None]),
    (["1.5", "2", ".5", "1e3", "2.", "-1E-2"], "float64", [1.5, 2, 0.5, 1000, 2, -0.01]),
    (["0.1", "-0", "0"], "float64", [0.1, 0, 0]),
    (["0", "10", "-0"], "int64", [0, 10, 0]),
    (["9223372036854775807", "0"], "int64", [2**63 - 1, 0]),
    (["1", "inf"], "float64", [1, math.inf]),
    (["True", "FALSE", "true"], "bool", [True, False, True]),
    (["True", "", "false"], "object", [True, None, False]),
    (["True", "NA"], "object", [True, None]),
    (["007", "12"], "text", ["007", "12"]),
    (["00", "1"], "text", ["00", "1"]),
    (["-01", "1"], "text", ["-01", "1"]),
    (["9223372036854775808", "0"], "text", ["9223372036854775808", "0"]),
    (["1", "2", "x"], "text", ["1", "2", "x"]),
    (["True", "1"], "text", ["True", "1"]),
    (["a", "NA", "None", "null", "nan"], "text", ["a", "NA", "None", "null", "nan"]),
    (["a", "", " "], "text", ["a", None, " "]),
    (["NA", "NA"], "text", ["NA", "NA"]),
    (["NA", ""], "text", ["NA", None]),
    (["inf", "inf"], "text", ["inf", "inf"]),
    (["1_000", "1"], "text", ["1_000", "1"]),
    (["0x10", "1"], "text", ["0x10", "1"]),
    (["\u0661", "1"], "text", ["\u0661", "1"]),
]


@pytest.mark.parametrize(("texts", "dtype", "cells"), COLUMNS)
def test_what_a_column_holds(
    tmp_path: Path, texts: list[str], dtype: str, cells: list[Any]
) -> None:
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["x,n", *(f"{text},1" for text in texts)]), encoding="utf-8")
    column = read_csv(path).frame()["x"]
    assert str(column.dtype) == dtype or dtype == "text"
    found = [None if pd.isna(cell) else cell for cell in column]
    assert found == cells
    if dtype in ("text", "bool", "object"):
        assert [type(cell).__name__.removesuffix("_") for cell in found] == [
            type(cell).__name__ for cell in cells
        ]


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), (" 1.0 ", 1.0), ("1e400", math.inf), ("-5", -5), ("", None), ("1 2", None)],
)
def test_numbers(text: str, value: float | None) -> None:
    assert number(text) == value
    assert type(number(text)) is type(value)


def test_numbers_of_very_many_digits_are_read_as_doubles() -> None:
    assert number("9" * 9999) == math.inf
    assert number("0." + "9" * 9999) == 1.0


def test_truth() -> None:
    assert [truth(text) for text in ("true", "False", "1", "yes", "")] == [
        True, False, None, None, None,
    ]  # fmt: skip


ODD_BUT_FINE: list[tuple[bytes, tuple[str, ...], list[tuple[str, ...]]]] = [
    (b"a,b\n1,2\n", ("a", "b"), [("1", "2")]),
    (b"\xef\xbb\xbfa,b\r\n1,2\r\n", ("a", "b"), [("1", "2")]),
    (b"a,b\r1,2\r", ("a", "b"), [("1", "2")]),
    (b"\n\na,b\n\n1,2\n\n3,4", ("a", "b"), [("1", "2"), ("3", "4")]),
    (b'"a,1","b\n"\n"x ""y""","1\n2"\n', ("a,1", "b\n"), [('x "y"', "1\n2")]),
    (b",a,\n0,1,2\n", ("Unnamed: 0", "a", "Unnamed: 2"), [("0", "1", "2")]),
    (b'a\n1\n""\n', ("a",), [("1",), ("",)]),
    (b"a;b,c\n1,2\n", ("a;b", "c"), [("1", "2")]),
    ("é,日\nü,ß\n".encode(), ("é", "日"), [("ü", "ß")]),
]


@pytest.mark.parametrize(("content", "header", "rows"), ODD_BUT_FINE)
def test_odd_files_that_are_tables(
    tmp_path: Path, content: bytes, header: tuple[str, ...], rows: list[tuple[str, ...]]
) -> None:
    (tmp_path / "table.csv").write_bytes(content)
    table = read_csv(tmp_path / "table.csv")
    assert table.header == header
    assert list(table.rows) == rows


NO_TABLES: list[tuple[bytes, str]] = [
    (b"", "table.csv: the table is empty"),
    (b"\n\n", "table.csv: the table is empty"),
    (b"a,b,c\n1,2,3\n30,60,10,5\n", "table.csv, line 3: the row has 4 cells, and the header 3"),
    (
        b"a,b\n1,2,\n",
        "table.csv, line 2: the row has 3 cells, and the header 2; remove the comma at",
    ),
    (b'a,b\n"1\n",2\n3\n', "table.csv, line 4: the row has 1 cell, and the header 2"),
    (b"a,b,a\n1,2,3\n", "several columns are called 'a'"),
    (b"39,x,39\n40,y,41\n", "several columns are called '39'; if the table has no header, put a"),
    (b"Unnamed: 1,\n1,2\n", "several columns are called 'Unnamed: 1'"),
    (b"a;b\n1,5;2\n", "separated by ';'"),
    (b"a|b\n1|2\n", r"separated by '|'"),
    (b"a\tb\n1\t2\n", "separated by a tab"),
    (b'a,b\n"1,2\n', "not a table in CSV"),
    (b'a,b\n"1"x,2\n', "table.csv, line 2: not a table in CSV"),
    (
        b"a\n\xff\n",
        "not text in UTF-8; save it as that, or convert it, such as from Latin-1:",
    ),
    ("a,b\n1,2\n".encode("utf-16"), "convert it, from UTF-16: iconv -f UTF-16 -t UTF-8 "),
    ("a,b\n1,2\n".encode("utf-16-le"), "iconv -f UTF-16LE -t UTF-8 "),
    ("a,b\n1,2\n".encode("utf-16-be"), "iconv -f UTF-16BE -t UTF-8 "),
    (b"a\n" + b"x" * 200_000 + b"\n", "table.csv, line 2: not a table in CSV"),
]


@pytest.mark.parametrize(("content", "words"), NO_TABLES)
def test_files_that_are_no_table(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "table.csv").write_bytes(content)
    with pytest.raises(InvalidInputError) as caught:
        read_csv(tmp_path / "table.csv")
    assert words in str(caught.value)


def test_a_folder_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="cannot read the table"):
        read_csv(tmp_path)


texts = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0\r"), max_size=5)
# A column of one text is a line by itself, which might be blank.
tables = st.lists(texts.filter(bool), min_size=2, max_size=4, unique=True).flatmap(
    lambda names: st.tuples(
        st.just(names), st.lists(st.tuples(*[texts] * len(names)), min_size=1, max_size=5)
    )
)


@settings(max_examples=100)
@given(tables)
def test_what_pandas_writes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, table: tuple[list[str], list[tuple[str, ...]]]
) -> None:
    names, rows = table
    path = tmp_path_factory.mktemp("csv") / "table.csv"
    pd.DataFrame(rows, columns=names, dtype=object).to_csv(path, index=False, encoding="utf-8")
    found = read_csv(path)
    assert found.header == tuple(names)
    assert list(found.rows) == rows
    assert found.frame().shape == (len(rows), len(names))


@settings(max_examples=100)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_floats_are_read_back_exactly(
    tmp_path_factory: pytest.TempPathFactory, values: list[float]
) -> None:
    path = tmp_path_factory.mktemp("csv") / "table.csv"
    pd.DataFrame({"x": values}).to_csv(path, index=False)
    assert read_csv(path).frame()["x"].tolist() == values


ENDS = {"unix": b"\n", "windows": b"\r\n"}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
@pytest.mark.parametrize("odd", [b"", b'"x, y",2', b"\n", b"5,6\n\n7,8"], ids=range(4))
@pytest.mark.parametrize("last", [True, False])
def test_rows_behind_lines_that_are_only_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: bytes, odd: bytes, last: bool
) -> None:
    """Every row is the one of the whole table, whatever is before it, and at ends of blocks."""
    monkeypatch.setattr(csv_files, "BLOCK", 10)
    lines = [b"a,b", *(b"%d,%d" % (i, i * i) for i in range(40)), *([odd] if odd else []), b"1,2"]
    lines += [b"%d,7" % i for i in range(20)]
    path = tmp_path / "table.csv"
    path.write_bytes(end.join(lines).replace(b"\n\n", end + end) + end * last)
    table = read_csv(path)
    for place, row in enumerate(table.rows):
        assert read_csv_row(path, place) == dict(zip("ab", row, strict=True))
    with pytest.raises(InvalidInputError, match=f"rows count from 0 to {len(table.rows) - 1}"):
        read_csv_row(path, len(table.rows))


def test_a_row_of_a_large_table_takes_little(tmp_path: Path) -> None:
    """Of a million rows, the last: within a second and few megabytes on a free machine."""
    path = tmp_path / "table.csv"
    block = b"".join(b"%d,%d.25,it,x%d\n" % (i, i, i) for i in range(1000))
    with path.open("wb") as file:
        file.write(b"a,b,c,d\n")
        for _ in range(1000):
            file.write(block)
    tracemalloc.start()
    before = time.process_time()
    assert read_csv_row(path, 999_999)["a"] == "999"
    table = sample_csv(path)
    seconds, (_, peak) = time.process_time() - before, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 500 < len(table.rows) < 50_000
    assert all(row[1] == f"{row[0]}.25" for row in table.rows)
    assert seconds < 2
    assert peak < 20e6


def test_a_broken_row_behind_counted_lines_has_its_line(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(b"a,b\n" + b"1,2\n" * 30 + b"1\n")
    with pytest.raises(InvalidInputError, match="line 32: the row has 1 cell"):
        read_csv_row(path, 30)

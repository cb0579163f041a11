"""The person, the target and the distance that options name."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from cfxc import Mahalanobis
from cfxc.cli.tables import (
    read_distance,
)
from cfxc.errors import CfxcError, InvalidInputError
from cfxc.frontends import row_files
from cfxc.frontends.row_files import read_factual, read_instances, read_known
from cfxc.question.criteria import TrustRegion
from cfxc.question.outcomes import read_target
from cfxc.question.target import Target
from cfxc.space import Feature, FeatureSpace

SPACE = FeatureSpace.infer(
    pd.DataFrame(
        {
            "age": [30, 40, 57],
            "code": ["1", "2", "007"],
            "grade": ["A", "NA", "null"],
            "level": [1.5, 2.5, 1.5],
            "member": [True, False, None],
            "gap": [1.5, 2.0, 5.5],
            "sector_a": [1, 0, 1],
            "sector_b": [0, 1, 0],
        }
    ),
    one_hot="sector_",
).replace("gap", missing=True)
HEADER = "age,code,grade,level,member,gap,sector_a,sector_b"
ROW = {
    "age": 40, "code": "2", "grade": "NA", "level": 2.5, "member": True, "gap": 2,
    "sector_a": 1, "sector_b": 0,
}  # fmt: skip


def row_of(tmp_path: Path, name: str, content: str) -> Any:
    (tmp_path / name).write_text(content, encoding="utf-8")
    return read_factual(str(tmp_path / name), SPACE)


CELLS: list[tuple[str, str, Any]] = [
    ("age", "40", 40),
    ("age", " 40.0 ", 40.0),
    ("age", "040", 40),
    ("age", "forty", "forty"),
    ("age", "", None),
    ("age", "NA", None),
    ("age", "True", "True"),
    ("code", "2", "2"),
    ("code", "007", "007"),
    ("code", "7", "7"),
    ("grade", "NA", "NA"),
    ("grade", "null", "null"),
    ("grade", "", None),
    ("level", "2.50", 2.5),
    ("level", "NA", None),
    ("level", "x", "x"),
    ("member", "true", True),
    ("member", "FALSE", False),
    ("member", "0", False),
    ("member", "None", None),
    ("member", "yes", "yes"),
    ("gap", "nan", None),
    ("gap", "1e0", 1.0),
    ("sector_a", "0", 0),
    ("sector_a", "True", True),
]


@pytest.mark.parametrize(("column", "text", "cell"), CELLS)
def test_the_space_says_what_a_cell_is(
    tmp_path: Path, column: str, text: str, cell: object
) -> None:
    cells = {name: str(value) for name, value in ROW.items()} | {column: text}
    row = row_of(tmp_path, "row.csv", f"{HEADER}\n{','.join(cells.values())}\n")
    assert row == ROW | {column: cell}
    assert type(row[column]) is type(cell)


def test_csv_and_json_mean_the_same(tmp_path: Path) -> None:
    more = ROW | {"outcome": "no", "": 3}
    header, cells = f"{HEADER},outcome,", ",".join(map(str, more.values()))
    rows = [
        row_of(tmp_path, "row.json", json.dumps(more)),
        row_of(tmp_path, "row.csv", f"{header}\n{cells}\n"),
        row_of(tmp_path, "bom.json", "\ufeff" + json.dumps(ROW)),
    ]
    (tmp_path / "data.csv").write_text(f"{header}\n{cells.replace('40', '57')}\n\n{cells}\n")
    rows.append(read_factual(f"{tmp_path / 'data.csv'}:1", SPACE))
    for row in rows:
        assert row == ROW
        assert SPACE.encode_row(row)["sector"] == "a"


@pytest.mark.parametrize("name", ["row.json", "row.csv"])
def test_names_that_are_missing_are_shown_next_to_unknown_ones(tmp_path: Path, name: str) -> None:
    row = {("agee" if column == "age" else column): cell for column, cell in ROW.items()}
    csv = f"{','.join(row)}\n{','.join(map(str, row.values()))}\n"
    with pytest.raises(CfxcError, match=r"missing column: 'age'.*'agee'"):
        SPACE.encode_row(row_of(tmp_path, name, json.dumps(row) if name.endswith("json") else csv))


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        (
            "row.csv",
            f"{HEADER}\n40,2,NA,2.5,True,2,1,0,5\n",
            "row.csv, line 2: the row has 9 cells",
        ),
        ("row.csv", f"{HEADER}\n40,2,NA\n", "row.csv, line 2: the row has 3 cells"),
        ("row.csv", f"{HEADER},age\n40,2,NA,2.5,True,2,1,0,5\n", "columns are called 'age'"),
        ("row.json", '{"age": 1, "age": 2, "code": 3, "code": 3}', "twice: 'age', 'code'"),
        ("row.json", '{"age": {"a": 1, "a": 1}}', "row.json: given twice: 'a'"),
        ("row.json", '{"age": ' + "9" * 9999 + "}", "row.json: .*thousands of digits"),
        ("row.json", "[" * 99999, "row.json: .*nested too deeply"),
    ],
)
def test_rows_that_nobody_can_mean(tmp_path: Path, name: str, content: str, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        row_of(tmp_path, name, content)


# classes, --target, label (or the text itself: refused later)
TARGETS: list[tuple[tuple[Any, ...], str, Any]] = [
    ((False, True), "1", True),
    ((False, True), "0", False),
    ((False, True), "true", True),
    ((False, True), "TRUE", True),
    ((False, True), "yes", "yes"),
    ((0, 1), "1", 1),
    ((0, 1), "1.0", 1),
    ((0, 1), "true", "true"),
    ((0.0, 1.0), "1", 1.0),
    ((0.5, 1.5), "0.50", 0.5),
    (("0", "1"), "1", "1"),
    (("0", "1"), "1.0", "1.0"),
    (("no", "yes"), "YES", "YES"),
    ((1, "1"), "1", "1"),
    ((None, "a"), "none", None),
]


@pytest.mark.parametrize(("classes", "text", "label"), TARGETS)
def test_labels_as_people_write_them(classes: tuple[Any, ...], text: str, label: Any) -> None:
    model: Any = SimpleNamespace(predictor=SimpleNamespace(classes=classes))
    found = read_target(model, text, None)
    assert (type(found), found) == (type(label), label)


@pytest.mark.parametrize("text", ["l0=0.3, l1 = 0.7", "a=b.cfl", "mahalanobis"])
def test_other_distances_stay_as_they_are_written(text: str) -> None:
    assert read_distance(text, SPACE) == text


def test_a_table_for_the_mahalanobis_distance(tmp_path: Path) -> None:
    table = pd.DataFrame({"age": [20, 30, 41], "kind": ["a", "b", "a"], "y": [0, 1, 1]})
    path = tmp_path / "data.csv"
    table.to_csv(path, index=False)
    space = FeatureSpace.infer(table.drop(columns="y"))
    spec = read_distance(f"mahalanobis={path}", space)
    assert isinstance(spec, Mahalanobis)
    found, expected = spec.whitening(space), Mahalanobis(table).whitening(space)
    assert (found.factor == expected.factor).all()
    with pytest.raises(InvalidInputError, match="cannot read"):
        read_distance(f"mahalanobis={tmp_path / 'none.csv'}", space)


def test_a_missing_label_is_an_empty_cell(tmp_path: Path) -> None:
    space = FeatureSpace((Feature("x", "categorical", labels=("NA", "a", None)),))
    for text, cell in (("NA", "NA"), ("", None), ("a", "a")):
        (tmp_path / "row.csv").write_text(f"x,n\n{text},1\n")
        assert read_factual(str(tmp_path / "row.csv"), space) == {"x": cell}


def test_a_trust_region(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,x\n3,y\n4,x\n", encoding="utf-8")
    space = FeatureSpace.infer(pd.DataFrame({"a": [1, 3, 5], "b": ["x", "y", "x"]}))
    given = f"{path}, epsilon=0.1, norm=linf, clusters=2, weight=0.5"
    (region,) = TrustRegion.from_flags([given])
    assert (float(region.epsilon or 0), region.norm, region.clusters) == (0.1, "linf", 2)
    assert str(TrustRegion.from_toml(region.to_toml())) == str(region)
    hulls = region.hulls(space, Target("yes"), lambda rows: ["yes"] * len(rows), None)
    assert sum(len(hull.table) for hull in hulls) == 3
    for bad in ("reach=1", "epsilon=far", "clusters=1.5", "norm=l9"):
        with pytest.raises(CfxcError):
            TrustRegion.from_flags([f"{path},{bad}"])


def test_rows_count_from_0_as_in_a_data_frame(tmp_path: Path) -> None:
    table = pd.DataFrame({"a": [5, 6, 7]})
    table.to_csv(tmp_path / "t.csv", index=False)
    space = FeatureSpace.infer(table)
    rows = [read_factual(f"{tmp_path / 't.csv'}:{i}", space)["a"] for i in range(3)]
    assert rows == table["a"].tolist()
    assert [row["a"] for row in read_instances(tmp_path / "t.csv", space)] == rows


def test_a_row_is_read_without_the_table(tmp_path: Path) -> None:
    """What stands behind it is not even looked at, and nothing before it is kept."""
    path = tmp_path / "t.csv"
    with path.open("w") as file:
        file.write("a\n" + "1\n" * 400_000 + "7\n" + "1,2\n")
    space = FeatureSpace.infer(pd.DataFrame({"a": [1, 7]}))
    tracemalloc.start()
    assert read_factual(f"{path}:400000", space) == {"a": 7}
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**20
    with pytest.raises(CfxcError, match=r"t.csv, line 400003: the row has 2 cells"):
        read_factual(f"{path}:400001", space)


def test_rows_beside_the_one_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that do not fit are passed over; a row that stands alone has none."""
    table = tmp_path / "people.csv"
    rows = ["40,2,NA,2.5,true,2,1,0", "30,1,A,1.5,false,,0,1", "31,oops,A,1.5,true,2,0,1"]
    table.write_text("\n".join([f"{HEADER},outcome", *(f"{row},good" for row in rows)]))
    known = read_known(f"{table}:1", SPACE)
    assert known is not None
    codes = SPACE.with_examples(known).example_codes
    assert codes[:, 0].tolist() == [40, 30]
    assert read_known(str(tmp_path / "row.json"), SPACE) is None
    monkeypatch.setattr(row_files, "LARGEST", 10)
    table.write_text("\n".join([HEADER, *rows[:2] * 2000]))
    known = read_known(f"{table}:1", SPACE)
    assert known is not None
    assert 100 < len(known) < 4000
    assert set(SPACE.with_examples(known).example_codes[:, 0]) == {40, 30}

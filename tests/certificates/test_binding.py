"""Whose certificate it is: of all rows of a table, the checker takes those that are the factual."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

import cfxc
from cfxc.certificates.auditing.binding import is_label
from cfxc.errors import DataTypeError, InvalidInputError

RNG = np.random.default_rng(3)
SIZE = 60


def people() -> pd.DataFrame:
    """Doubles with gaps, single floats, wholes, truth values, codes, words with gaps, groups."""
    level = RNG.integers(0, 3, SIZE)
    return pd.DataFrame(
        {
            "gap": np.where(RNG.random(SIZE) < 0.3, np.nan, RNG.normal(size=SIZE)),
            "single": RNG.choice([0.1, 0.2, 0.3], SIZE).astype("float32"),
            "whole": RNG.integers(0, 4, SIZE),
            "truth": RNG.random(SIZE) < 0.5,
            "code": pd.Categorical(RNG.choice([10, 20, 30], SIZE)),
            "word": pd.Series(RNG.choice(["a", "b", None], SIZE), dtype=object),
            "in_x": RNG.random(SIZE) < 0.5,
            "level_1": (level > 0).astype(int),
            "level_2": (level > 1).astype(int),
        }
    ).assign(in_y=lambda table: ~table["in_x"])


@pytest.fixture(scope="module")
def asked() -> tuple[pd.DataFrame, cfxc.CompiledModel]:
    table = people()
    columns = make_column_transformer(
        (OrdinalEncoder(encoded_missing_value=7), ["code", "word"]), remainder="passthrough"
    )
    trees = HistGradientBoostingClassifier(max_iter=3, max_depth=3, min_samples_leaf=5)
    goal = table["single"] + table["gap"].fillna(0.3) + table["level_1"] + table["truth"] > 1
    model = make_pipeline(columns, trees).fit(table, goal)
    space = cfxc.FeatureSpace.infer(table, one_hot="in_", thermometer="level_")
    return table, cfxc.compile(model, space)


@pytest.mark.parametrize("kind", ["csv", "json"])
@pytest.mark.parametrize("place", [0, 3, 8])
def test_it_is_about_its_row_and_no_other(
    asked: tuple[pd.DataFrame, cfxc.CompiledModel], place: int, kind: str, tmp_path: Path
) -> None:
    table, model = asked
    row = table.iloc[[place]]
    certificate = model.explain(row, target=not model.predict(row)[0]).certificate
    table.to_csv(tmp_path / "people.csv", index=False)
    same = [other for other in range(SIZE) if table.iloc[[other]].reset_index(drop=True)
            .equals(row.reset_index(drop=True))]  # fmt: skip
    found = []
    for other in range(SIZE):
        name = tmp_path / f"people.csv:{other}"
        if kind == "json":
            name = tmp_path / "row.json"
            cells = {c: table[c].iloc[other] for c in table}
            plain = {c: v.item() if hasattr(v, "item") else v for c, v in cells.items()}
            cells = {c: None if pd.isna(v) else v for c, v in plain.items()}
            name.write_text(json.dumps(cells), "utf-8")
        held = cfxc.check(certificate, factual=str(name))
        assert held.ok or held.reason.startswith("factual: ")
        found += [other] if held.ok else []
    assert found == same
    assert place in found


def test_a_row_of_a_table_is_one(asked: tuple[pd.DataFrame, cfxc.CompiledModel]) -> None:
    """As ``explain`` takes it; its missing cells are none, however a library writes them."""
    rows, model = asked
    place = int(np.flatnonzero(rows["gap"].isna() & rows["word"].isna())[0])
    row = rows.iloc[[place]]
    outcome = model.predict(row)[0]
    made = model.explain(row, target=not outcome).certificate
    cells = row.iloc[0].to_dict()
    for given in (row, row.iloc[0], cells, row.convert_dtypes(), {**cells, "more": 1}):
        assert cfxc.check(made, factual=given).ok
    for name, cell in cells.items():
        other = "x" if cell is None or cell != cell else not cell
        assert not cfxc.check(made, factual={**cells, name: other}).ok, name
        with pytest.raises(InvalidInputError, match=name):
            cfxc.check(made, factual={key: one for key, one in cells.items() if key != name})
    with pytest.raises(InvalidInputError, match="factual has 2 rows"):
        cfxc.check(made, factual=rows.iloc[:2])
    for odd in (3, [1, 2], np.zeros(3)):
        with pytest.raises(DataTypeError, match="a table of one row"):
            cfxc.check(made, factual=odd)


def test_decimals_and_fractions_are_numbers() -> None:
    """As the column holds them: 0.1 is the double, or the single float, nearest to a tenth."""
    table = pd.DataFrame({"n": RNG.integers(0, 9, SIZE), "x": RNG.integers(0, 30, SIZE) / 10})
    table["single"] = table["x"].astype("float32")
    table["label"] = pd.Categorical(RNG.integers(0, 3, SIZE))
    model = DecisionTreeClassifier(max_depth=3).fit(table, table["n"] + table["x"] > 4)
    row = table[model.predict(table) == 0].iloc[[0]]
    space = cfxc.FeatureSpace.infer(table)
    made = cfxc.compile(model, space).explain(row, target=True).certificate
    whole, tenths = int(row["n"].iloc[0]), round(10 * row["x"].iloc[0])
    for kind in (Decimal, Fraction):
        tenth = kind(tenths) / 10
        label = kind(int(row["label"].iloc[0]))
        cells = {"n": kind(whole), "x": tenth, "single": tenth, "label": label}
        assert cfxc.check(made, factual=cells).ok
        for name, cell in cells.items():
            assert not cfxc.check(made, factual={**cells, name: cell + kind("0.001")}).ok
        odd = {**cells, "label": label + kind("1e-25")}  # the nearest double is the label
        assert not cfxc.check(made, factual=odd).ok
    for zero in ("0E-999999", "-0", "0E+999999"):
        assert cfxc.check(made, factual={**cells, "n": Decimal(zero)}).ok == (not whole)
    for huge in (Fraction(10**5000, 3), whole + Fraction(1, 10**5000), 10**5000):
        assert not cfxc.check(made, factual={**cells, "n": huge}).ok
    for odd in ("1e999999", "Infinity", "-1e99", "NaN", "sNaN"):
        assert not cfxc.check(made, factual={**cells, "n": Decimal(odd)}).ok


def test_names_that_are_not_the_model_s(tmp_path: Path) -> None:
    """A space may call a column by another label; and a model without names takes its order."""
    table = pd.DataFrame({"n": RNG.integers(0, 9, 60), "in_x": RNG.integers(0, 2, 60)})
    table = table.assign(in_y=1 - table["in_x"])
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    tree.fit(table.to_numpy(), table["n"] + 3 * table["in_x"] > 6)
    space = cfxc.FeatureSpace.infer(table, one_hot="in_")
    file, row = tmp_path / "space.toml", table[["n", "in_x", "in_y"]].iloc[[0]]
    row.to_csv(tmp_path / "own.csv", index=False)
    row[["in_y", "n", "in_x"]].to_csv(tmp_path / "other.csv", index=False)

    def notes(text: str, name: str) -> list[str]:
        file.write_text(text, "utf-8")
        model = cfxc.compile(tree, cfxc.FeatureSpace.from_toml(file))
        made = model.explain(row, target=not tree.predict(row.to_numpy())[0]).certificate
        return [
            one for one in cfxc.check(made, factual=str(tmp_path / name)).facts["warnings"]
            if "column" in one
        ]  # fmt: skip

    plain = space.to_toml()
    assert notes(plain, "own.csv") == []
    (said,) = notes(plain, "other.csv")
    assert said.startswith("The row has its columns in another order than the certificate")
    swapped = plain.replace('labels = ["x", "y"]', 'labels = ["y", "x"]')
    assert swapped != plain
    columns = [f'in = "{a}" is the model\'s column "in_{b}".' for a, b in ("yx", "xy")]
    assert notes(swapped, "own.csv") == columns


def test_labels_that_floats_cannot_tell_apart() -> None:
    """Whole numbers are compared as written; a double is what its digits are read as."""
    assert is_label(2**53, str(2**53))
    assert not is_label(2**53, str(2**53 + 1))
    assert not is_label(2**53, 2**53 + 1)
    assert is_label(Fraction(0.1), "0.1")


def test_rows_of_single_floats_are_read_as_such(tmp_path: Path) -> None:
    table = pd.DataFrame({"x": (np.arange(60) / 10).astype("float32")})
    tree = DecisionTreeClassifier(max_depth=2).fit(table, table["x"] > 3)
    model = cfxc.compile(tree, cfxc.FeatureSpace.infer(table))
    made = model.explain(table.iloc[[0]], target=True).certificate
    table.to_csv(tmp_path / "rows.csv", index=False)
    found = cfxc.check(made, model=tree, rows=tmp_path / "rows.csv")
    assert "and 60 rows of 'rows.csv'; 0 differ" in str(found.facts), found.facts

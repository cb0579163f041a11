"""Whose certificate it is: of all rows of a table, the checker takes those that are the factual."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

import cfxc

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

"""A folder with models, tables and spaces; the page over them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from cfxc import FeatureSpace
from cfxc.web.site import Site
from tests.web.pages import FORMULA, SCRIPT, Client, Opened, Served, files, opened


def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, 200),
            "pay gap": rng.normal(30, 9, 200).round(2),
            "sector": rng.choice(["it", "law", "art"], 200),
        }
    )


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models ``tree``, ``hard``, ``hostile`` and ``number``, each with its space and table."""
    made = tmp_path_factory.mktemp("web")
    table = people()
    worth = table["age"] + table["pay gap"] + 5 * (table["sector"] == "it")
    outcome = np.where(worth > 80, "yes", "no")
    encode = make_column_transformer((OneHotEncoder(), ["sector"]), remainder="passthrough")
    space = FeatureSpace.infer(table).replace("pay gap", label="gap in pay", unit="%")
    tree = make_pipeline(encode, DecisionTreeClassifier(max_depth=3)).fit(table, outcome)
    space.to_toml(made / "tree.toml")
    table.assign(outcome=outcome).to_csv(made / "tree.csv", index=False)
    (made / "tree.onnx").write_bytes(_onnx(tree))
    encode = make_column_transformer((OneHotEncoder(), ["sector"]), remainder="passthrough")
    _write(made, "number", make_pipeline(encode, LinearRegression()), worth, space)
    odd = table.rename(columns={"age": SCRIPT}).replace({"art": SCRIPT, "law": FORMULA})
    encode = make_column_transformer((OneHotEncoder(), ["sector"]), remainder="passthrough")
    model = make_pipeline(encode, DecisionTreeClassifier(max_depth=3))
    _write(made, "hostile", model, np.where(outcome == "yes", SCRIPT, "no"), None, odd)
    rng = np.random.default_rng(1)
    noise = pd.DataFrame(rng.normal(size=(400, 12)), columns=[f"x{i}" for i in range(12)])
    far = noise.sum(axis=1).abs().sort_values(ascending=False).index  # from the other outcome
    noise = noise.loc[far].reset_index(drop=True)
    smooth = MLPClassifier((64, 64), activation="tanh", max_iter=60, random_state=0)
    _write(made, "hard", smooth, np.where(noise.sum(axis=1) > 0, "yes", "no"), None, noise)
    return made


def _onnx(pipeline: Any) -> bytes:
    types = [
        ("age", Int64TensorType([None, 1])),
        ("pay gap", FloatTensorType([None, 1])),
        ("sector", StringTensorType([None, 1])),
    ]
    options = {id(pipeline[-1]): {"zipmap": False}}
    made: bytes = to_onnx(pipeline, initial_types=types, options=options).SerializeToString()
    return made


def _write(
    folder: Path, name: str, model: Any, outcome: Any, space: FeatureSpace | None,
    table: pd.DataFrame | None = None,
) -> None:  # fmt: skip
    table = people() if table is None else table
    skops.io.dump(model.fit(table, outcome), folder / f"{name}.skops")
    (FeatureSpace.infer(table) if space is None else space).to_toml(folder / f"{name}.toml")
    table.assign(outcome=outcome).to_csv(folder / f"{name}.csv", index=False)


@pytest.fixture(scope="session")
def site(folder: Path) -> Site:
    return files(folder, "tree").load()


@pytest.fixture(scope="module")
def server(site: Site) -> Iterator[Opened]:
    with opened(site) as found:
        yield found


@pytest.fixture
def client(server: Opened) -> Client:
    return server.client()


@pytest.fixture(scope="session")
def served(folder: Path) -> Iterator[Served]:
    server = Served(folder, "tree")
    yield server
    code, said = server.end()
    assert code == 0
    assert "Traceback" not in said

"""A folder with models, a table, a feature space and a person; and the command line on it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from cfxc import FeatureSpace
from cfxc.cli import main

WORKING = ("compiling", "reading", "searching")
"""How lines begin that say what takes long, on a slow machine."""
PERSON = {"age": 30, "pay gap": 20.5, "sector": "art"}


def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, 200),
            "pay gap": rng.normal(30, 9, 200).round(2),
            "sector": rng.choice(["it", "law", "art"], 200),
        }
    )


def onnx_bytes(pipeline: Any) -> bytes:
    types = [
        ("age", Int64TensorType([None, 1])),
        ("pay gap", FloatTensorType([None, 1])),
        ("sector", StringTensorType([None, 1])),
    ]
    options = {id(pipeline[-1]): {"zipmap": False}}
    content: bytes = to_onnx(pipeline, initial_types=types, options=options).SerializeToString()
    return content


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What every test gets a copy of."""
    folder = tmp_path_factory.mktemp("models")
    table = people()
    worth = table["age"] + table["pay gap"] + 5 * (table["sector"] == "it")
    outcome = np.where(worth > 80, "yes", "no")
    table.assign(outcome=outcome).to_csv(folder / "data.csv", index=False)
    models = {
        "tree": DecisionTreeClassifier(max_depth=2, random_state=0),
        "lr": LogisticRegression(),
        "mlp": MLPClassifier((3,), activation="tanh", solver="lbfgs", random_state=0),
    }
    for name, model in models.items():
        encode = (OneHotEncoder(), ["sector"])
        scale = (StandardScaler(), ["age", "pay gap"])
        pipeline = make_pipeline(make_column_transformer(encode, scale), model)
        pipeline.fit(table, outcome)
        skops.io.dump(pipeline, folder / f"{name}.skops")
        if name != "mlp":
            (folder / f"{name}.onnx").write_bytes(onnx_bytes(pipeline))
    joblib.dump(pipeline, folder / "mlp.joblib")
    regression = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["sector"]), remainder="passthrough"),
        LinearRegression(),
    )
    skops.io.dump(regression.fit(table, worth), folder / "regression.skops")
    FeatureSpace.infer(table).to_toml(folder / "space.toml")
    (folder / "person.json").write_text(json.dumps(PERSON))
    return folder


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Shell:
    """Runs commands in ``folder``, a fresh copy of the templates."""

    folder: Path
    run: Callable[..., Ended]

    def __call__(self, *arguments: str) -> Ended:
        return self.run(*arguments)

    def refuses(self, *arguments: str, code: int = 2) -> str:
        """The message of a command that fails cleanly: short, no traceback, nothing written."""
        before = self.files()
        ended = self.run(*arguments)
        assert ended.code == code, ended
        assert ended.out == ""
        assert "Traceback" not in ended.err
        lines = [line for line in ended.err.splitlines() if not line.startswith(WORKING)]
        assert 1 <= len(lines) <= 10
        assert lines[0].startswith("cfxc: ")
        assert self.files() == before
        return "\n".join(lines)

    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.folder.iterdir()}


@pytest.fixture
def shell(
    templates: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Shell:
    folder = tmp_path / "work"
    shutil.copytree(templates, folder)
    monkeypatch.chdir(folder)
    monkeypatch.delenv("CFXC_DEBUG", raising=False)

    def run(*arguments: str) -> Ended:
        capsys.readouterr()
        code = main(list(arguments))
        text = capsys.readouterr()
        return Ended(code, text.out, text.err)

    return Shell(folder, run)


@pytest.fixture
def two_logits(shell: Shell) -> Path:
    """A network whose only output is a pair of numbers, beside its feature space."""
    from onnx import TensorProto, helper, numpy_helper

    weights = np.float32([[0.5, -0.5], [-0.25, 0.25]])
    made = helper.make_graph(
        [helper.make_node("Gemm", ["X", "w", "b"], ["Y"])],
        "net",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, 2])],
        [helper.make_tensor_value_info("Y", TensorProto.FLOAT, [None, 2])],
        [
            numpy_helper.from_array(weights, "w"),
            numpy_helper.from_array(np.float32([0.25, -0.25]), "b"),
        ],
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    path = shell.folder / "net.onnx"
    path.write_bytes(model.SerializeToString())
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 9, (80, 2)), columns=["a", "b"])
    table.to_csv(shell.folder / "net.csv", index=False)
    FeatureSpace.infer(table).to_toml(shell.folder / "net.toml")
    (shell.folder / "one.json").write_text(json.dumps({"a": 6, "b": 2}))
    return path

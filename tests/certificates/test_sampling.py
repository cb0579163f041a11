"""The checker's file alone, with the model file: whose program is it?"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import lightgbm
import numpy as np
import pandas as pd
import pytest
import skops.io
import xgboost
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeRegressor

import cfxc
from cfxc import FeatureSpace
from cfxc.certificates import checker as check
from tests.certificates.mutants import rehashed

RNG = np.random.default_rng(0)
TEXTS = pd.DataFrame(
    {
        "kids at home": RNG.integers(0, 5, 240),
        "rate": RNG.integers(-4, 5, 240) / 4,
        "code": RNG.choice(["a", "b", "c"], 240),
    }
)
NUMBERS = pd.get_dummies(TEXTS, columns=["code"], dtype=int).assign(
    level_1=RNG.integers(0, 2, 240), level_2=0
)
NUMBERS["level_2"] = NUMBERS.level_1 * RNG.integers(0, 2, 240)
GROUPS = FeatureSpace.infer(NUMBERS, one_hot="code_", thermometer="level_")
CODES = TEXTS.assign(code=TEXTS.code.astype("category"))
SCORE = TEXTS["kids at home"] * 0.4 + TEXTS.rate + (TEXTS.code == "b")


def noisy(seed: int) -> Any:
    return SCORE + np.random.default_rng(seed).normal(scale=0.6, size=len(SCORE))


def wanted(seed: int) -> Any:
    return (noisy(seed) > 1).astype(int)


def pipeline(model: Any) -> Any:
    encoder = ColumnTransformer([("code", OneHotEncoder(), ["code"])], remainder="passthrough")
    return make_pipeline(encoder, model)


def pickled(path: Path, seed: int) -> FeatureSpace:
    model = pipeline(RandomForestClassifier(4, max_depth=3, random_state=seed))
    joblib.dump(model.fit(TEXTS, wanted(seed)), path)
    return FeatureSpace.infer(TEXTS)


def skopsed(path: Path, seed: int) -> FeatureSpace:
    model = HistGradientBoostingClassifier(max_iter=4, max_depth=3)
    codes = CODES.assign(code=CODES.code.cat.codes)
    skops.io.dump(model.fit(codes, np.where(wanted(seed), "yes", "no")), path)
    return FeatureSpace.infer(codes)


def regressor(path: Path, seed: int) -> FeatureSpace:
    skops.io.dump(DecisionTreeRegressor(max_depth=4).fit(NUMBERS.to_numpy(), noisy(seed)), path)
    return GROUPS


def onnx_in_one(path: Path, seed: int) -> FeatureSpace:
    model = RandomForestClassifier(4, max_depth=3, random_state=seed)
    model.fit(NUMBERS.to_numpy(), wanted(seed))
    types = [("X", FloatTensorType([None, NUMBERS.shape[1]]))]
    path.write_bytes(to_onnx(model, initial_types=types).SerializeToString())
    return GROUPS


def onnx_by_name(path: Path, seed: int) -> FeatureSpace:
    table = TEXTS.rename(columns={"kids at home": "kids_at_home"})
    model = pipeline(LogisticRegression()).fit(table, wanted(seed))
    types = [
        (name, StringTensorType([None, 1]) if name == "code" else FloatTensorType([None, 1]))
        for name in table
    ]
    options = {id(model[-1]): {"zipmap": False}}
    model = to_onnx(model, initial_types=types, options=options)
    path.write_bytes(model.SerializeToString())
    return FeatureSpace.infer(TEXTS)


def onnx_regressor(path: Path, seed: int) -> FeatureSpace:
    model = DecisionTreeRegressor(max_depth=4).fit(NUMBERS.to_numpy(), noisy(seed))
    types = [("X", FloatTensorType([None, NUMBERS.shape[1]]))]
    path.write_bytes(to_onnx(model, initial_types=types).SerializeToString())
    return GROUPS


def xgb_estimator(path: Path, seed: int) -> FeatureSpace:
    model = xgboost.XGBClassifier(n_estimators=4, max_depth=3, enable_categorical=True)
    model.fit(CODES, wanted(seed)).save_model(path)
    return FeatureSpace.infer(CODES)


def xgb_native(path: Path, seed: int, objective: str = "binary:logistic") -> FeatureSpace:
    labels = wanted(seed) if objective != "reg:squarederror" else noisy(seed)
    data = xgboost.DMatrix(NUMBERS, label=labels)
    settings = {"objective": objective, "max_depth": 3}
    if objective.startswith("multi"):
        settings["num_class"] = 2
    xgboost.train(settings, data, 4).save_model(path)
    return GROUPS


def lgb(path: Path, seed: int, objective: str = "binary") -> FeatureSpace:
    labels = wanted(seed) if objective == "binary" else noisy(seed)
    settings = {"objective": objective, "num_leaves": 5, "verbose": -1}
    lightgbm.train(settings, lightgbm.Dataset(TEXTS[["rate", "kids at home"]], labels), 4) \
        .save_model(path)  # fmt: skip
    return FeatureSpace.infer(TEXTS[["rate", "kids at home"]])


KINDS: dict[str, tuple[str, Callable[[Path, int], FeatureSpace]]] = {
    "pickle": ("joblib", pickled),
    "skops": ("skops", skopsed),
    "skops of numbers": ("skops", regressor),
    "onnx, one input": ("onnx", onnx_in_one),
    "onnx, an input a column": ("onnx", onnx_by_name),
    "onnx, a regressor": ("onnx", onnx_regressor),
    "xgboost, an estimator": ("json", xgb_estimator),
    "xgboost, native": ("ubj", xgb_native),
    "xgboost, labels": ("json", partial(xgb_native, objective="multi:softmax")),
    "xgboost, numbers": ("json", partial(xgb_native, objective="reg:squarederror")),
    "lightgbm": ("txt", lgb),
    "lightgbm, numbers": ("txt", partial(lgb, objective="regression")),
}


def certified(path: Path, space: FeatureSpace) -> dict[str, Any]:
    """A certificate of the model in a file."""
    model = cfxc.compile(path, space, trust_pickle=True)
    table = next(t for t in (NUMBERS, TEXTS, CODES.assign(code=CODES.code.cat.codes), CODES)
                 if set(space.columns) <= set(t) and _reads(space, t))  # fmt: skip
    said = np.asarray(model.predict(table[list(space.columns)])).tolist()
    if isinstance(said[0], float):
        place, target = int(np.argmin(said)), (float(np.median(said)), None)
    else:
        wished = "yes" if isinstance(said[0], str) else 1
        place, target = next(i for i, one in enumerate(said) if one != wished), wished
    row = table[list(space.columns)].iloc[[place]]
    content: dict[str, Any] = model.explain(row, target=target).certificate.to_dict()
    return content


def _reads(space: FeatureSpace, table: pd.DataFrame) -> bool:
    try:
        space.encode_row(table[list(space.columns)].iloc[[0]])
    except cfxc.CfxcError:
        return False
    return True


@pytest.mark.parametrize("kind", KINDS)
def test_a_program_that_is_not_the_model_s_is_rejected(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where the certificate claims the hash of the model file, and is hashed anew."""
    suffix, make = KINDS[kind]
    own, other = tmp_path / f"own.{suffix}", tmp_path / f"other.{suffix}"
    space = make(own, 0)
    make(other, 1)
    content, foreign = certified(own, space), certified(other, space)
    true, false, forged = (tmp_path / name for name in ("true.json", "false.json", "forged.json"))
    true.write_text(json.dumps(content), encoding="utf-8")
    false.write_text(json.dumps(foreign), encoding="utf-8")
    lie = rehashed({**foreign, "model": content["model"]})
    forged.write_text(json.dumps(lie), encoding="utf-8")
    asked = ["--model", str(own), "--trust-pickle"]
    assert check.main([str(true), *asked]) == 0, capsys.readouterr().out
    assert check.main([str(false), *asked]) == 1
    assert "made for another model file" in capsys.readouterr().out
    assert check.main([str(forged)]) == 0
    assert check.main([str(forged), *asked]) == 1
    assert "the program is not the model's" in capsys.readouterr().out


def test_alone_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two files beside each other; without the second, and without libraries, it says so."""
    model, saved = tmp_path / "model.onnx", tmp_path / "c.json"
    content = certified(model, onnx_in_one(model, 0))
    saved.write_text(json.dumps(content), encoding="utf-8")
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(check.__file__, alone)

    def asked(*options: str) -> subprocess.CompletedProcess[str]:
        order = [sys.executable, *options, str(alone / "check.py"), str(saved), "--model", model]
        return subprocess.run(order, capture_output=True, text=True, cwd=alone, check=False)

    found = asked()
    assert found.returncode == 3
    assert "ONLY THE HASH of the model was compared; it was not run: there is no" in found.stdout
    monkeypatch.setattr(check, "__file__", str(alone / "check.py"))
    assert check.main([str(saved), "--model", str(model)]) == 3
    shutil.copy(sampling.__file__, alone)
    assert asked("-S").returncode == 3  # no packages at all
    assert "is not installed" in asked("-S").stdout
    found = asked()
    assert found.returncode == 0, found.stdout + found.stderr
    assert "ONLY" not in found.stdout


UNREADABLE = {
    "model.json": "XGBoostError",
    "model.txt": "LightGBMError",
    "model.onnx": "InvalidProtobuf",
    "model.skops": "not a zip",
    "model.pkl": "trust-pickle",
    "model.doc": "not known",
}


@pytest.mark.parametrize(("name", "why"), UNREADABLE.items())
def test_files_that_cannot_be_run(name: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "own.onnx"
    content = certified(path, onnx_in_one(path, 0))
    (tmp_path / name).write_text("{nothing", encoding="utf-8")
    asked = check.Question(content["features"], content["program"], content["question"])
    differs, unrun = sampling.run(asked, content, tmp_path / name, False)
    assert not differs
    assert why in unrun

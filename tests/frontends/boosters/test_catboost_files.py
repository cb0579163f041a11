"""CatBoost files: what opens, and what is refused before the library sees it."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import cfxc
from cfxc import FeatureSpace
from cfxc.errors import CfxcError, MissingExtraError, ModelFileError, UnsupportedError
from cfxc.frontends.boosters.catboost.binary import parse_binary
from cfxc.frontends.boosters.catboost.document import read_model
from cfxc.frontends.boosters.files import open_booster
from cfxc.frontends.boosters.forest import DamagedModelError
from cfxc.frontends.files import load_model
from tests.frontends.boosters.agreement import people, space_of, target

cat = pytest.importorskip("catboost")

SMALL: dict[str, Any] = {
    "iterations": 6, "depth": 4, "verbose": 0, "allow_writing_files": False, "random_seed": 1,
    "thread_count": 1, "cat_features": ["code", "sector"], "max_ctr_complexity": 2,
}  # fmt: skip
USED = ["normal", "tenths", "code", "sector"]
KINDS: dict[str, tuple[Any, dict[str, Any], str]] = {
    "two": (cat.CatBoostClassifier, {}, "two"),
    "three": (cat.CatBoostClassifier, {"one_hot_max_size": 5}, "three"),
    "depthwise": (cat.CatBoostClassifier, {"grow_policy": "Depthwise"}, "three"),
    "lossguide": (cat.CatBoostClassifier, {"grow_policy": "Lossguide"}, "two"),
    "value": (cat.CatBoostRegressor, {}, "value"),
    "counts": (cat.CatBoostRegressor, {"loss_function": "Poisson"}, "amount"),
}


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return people(500)[USED]


@pytest.fixture(scope="module")
def space(table: pd.DataFrame) -> FeatureSpace:
    return space_of(table, code="categorical")


def trained(kind: str) -> Any:
    cls, options, outcome = KINDS[kind]
    whole = people(500)
    labels = target(whole, outcome)
    if cls is cat.CatBoostClassifier:
        labels = np.array(["no", "perhaps", "yes"])[labels]
    return cls(**SMALL | options).fit(whole[USED], labels)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", [".json", ".cbm"])
def test_files(
    kind: str, suffix: str, table: pd.DataFrame, space: FeatureSpace, tmp_path: Path
) -> None:
    """They mean what the library reads in them: of JSON, doubles that it rounds a little."""
    model, path = trained(kind), tmp_path / f"model{suffix}"
    if kind == "two":
        model.set_probability_threshold(0.37)
    model.save_model(str(path), format=suffix[1:])
    expected = type(model)().load_model(str(path), format=suffix[1:])
    program, predictor = load_model(str(path), space)
    assert program == load_model(expected, space)[0]
    assert np.array_equal(predictor.predict(table), np.ravel(expected.predict(table)))
    assert predictor.classes == cfxc.compile(model, space).predictor.classes
    if suffix == ".cbm":
        assert program == load_model(model, space)[0]


@pytest.fixture(scope="module")
def content(tmp_path_factory: Any) -> dict[str, bytes]:
    """A model as it is saved in both formats, with CTRs and splits on categories."""
    folder, made = tmp_path_factory.mktemp("saved"), {}
    for suffix in ("json", "cbm"):
        trained("three").save_model(str(folder / "model"), format=suffix)
        made[f".{suffix}"] = (folder / "model").read_bytes()
    return made


@pytest.mark.parametrize("suffix", [".json", ".cbm"])
def test_truncated_files(
    suffix: str, content: dict[str, bytes], space: FeatureSpace, tmp_path: Path
) -> None:
    path, whole = tmp_path / f"model{suffix}", content[suffix]
    for part in (0.001, 0.02, 0.3, 0.6, 0.9, 0.99):
        path.write_bytes(whole[: int(part * (len(whole) - 20))])
        with pytest.raises(ModelFileError, match=r"model\.(json|cbm): "):
            load_model(path, space)


@pytest.mark.parametrize("suffix", [".json", ".cbm"])
def test_changed_files(
    suffix: str, content: dict[str, bytes], space: FeatureSpace, tmp_path: Path,
    table: pd.DataFrame,
) -> None:  # fmt: skip
    """Whatever one byte says, a file opens or is refused with an error of this package."""
    path, rng = tmp_path / f"model{suffix}", random.Random(3)
    refused = 0
    for _ in range(80):
        changed = bytearray(content[suffix])
        for _ in range(rng.choice([1, 2, 8])):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        path.write_bytes(changed)
        try:
            load_model(path, space)[1].predict(table[:20])
        except CfxcError:
            refused += 1
    assert refused > 20


def put(*path: Any, value: Any) -> Callable[[Any], None]:
    def apply(document: Any) -> None:
        for step in path[:-1]:
            document = document[step]
        document[path[-1]] = value

    return apply


def first_table(**changes: Any) -> Callable[[Any], None]:
    return lambda document: next(iter(document["ctr_data"].values())).update(changes)


FLOATS, CATEGORIES, CTRS = (
    ("features_info", key) for key in ("float_features", "categorical_features", "ctrs")
)
TREE = ("oblivious_trees", 0)
HOSTILE: dict[str, Callable[[Any], None]] = {
    "split beyond": put(*TREE, "splits", 0, "split_index", value=10**6),
    "negative split": put(*TREE, "splits", 0, "split_index", value=-1),
    "split that is none": put(*TREE, "splits", 0, "split_index", value=0.5),
    "too few leaves": lambda d: d["oblivious_trees"][0]["leaf_values"].pop(),
    "no leaves": put(*TREE, "leaf_values", value=[]),
    "leaf that is none": put(*TREE, "leaf_values", 0, value=float("inf")),
    "leaf that is text": put(*TREE, "leaf_values", 0, value="1"),
    "column beyond": put(*FLOATS, 0, "flat_feature_index", value=77),
    "column twice": put(*FLOATS, 0, "flat_feature_index", value=1),
    "column out of order": put(*CATEGORIES, 0, "feature_index", value=1),
    "falling borders": put(*FLOATS, 0, "borders", value=[2.0, 1.0]),
    "border that is none": put(*FLOATS, 0, "borders", value=[float("nan")]),
    "treatment of missing values": put(*FLOATS, 0, "nan_value_treatment", value="AsYouLike"),
    "one name": put(*FLOATS, 0, "feature_id", value="tenths"),
    "a CTR without a table": put("ctr_data", value={}),
    "a CTR of a column beyond": put(*CTRS, 0, "elements", 0, "cat_feature_index", value=9),
    "a CTR of no column": put(*CTRS, 0, "elements", value=[]),
    "a CTR of no kind": put(*CTRS, 0, "ctr_type", value="Other"),
    "a class beyond": put(*CTRS, 0, "target_border_idx", value=100),
    "a stride": first_table(hash_stride=0),
    "another stride": first_table(hash_stride=7),
    "counts that are none": first_table(hash_map=["5", "a", "b", "c"]),
    "bias": put("scale_and_bias", value=[1, [0, 0]]),
    "scale": put("scale_and_bias", 0, value=None),
    "classes": put("model_info", "class_params", "class_names", value=["no"]),
    "no classes": lambda document: document["model_info"].pop("class_params"),
    "no parameters": put("model_info", "params", value={}),
    "threshold": put("model_info", "binclass_probability_threshold", value="7"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_files_that_lead_nowhere(
    kind: str, content: dict[str, bytes], space: FeatureSpace, tmp_path: Path, monkeypatch: Any
) -> None:
    changed = json.loads(content[".json"])
    HOSTILE[kind](changed)
    path = tmp_path / "model.json"
    path.write_text(json.dumps(changed))
    monkeypatch.setattr(cat.CatBoostClassifier, "load_model", None)
    with pytest.raises(ModelFileError, match=r"model\.json: cannot be opened: "):
        load_model(path, space)


OTHERS: dict[str, tuple[str, bytes, str]] = {
    "no json": (".json", b'{"features_info": ', "it is no JSON"),
    "a list": (".json", b'["features_info"]', "it has no 'features_info'"),
    "no model": (".json", b'{"features_info": {}}', "missing or malformed"),
    "another file": (".cbm", b"hello", "does not begin with 'CBM1'"),
    "half a length": (".cbm", b"CBM1\x01", "missing or malformed"),
    "no core": (".cbm", b"CBM1\x00\x00\x00\x00", "ends in the middle"),
    "too short": (".cbm", b"CBM1\xff\x00\x00\x00", "ends in the middle"),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_files_of_other_kinds(kind: str, space: FeatureSpace, tmp_path: Path) -> None:
    suffix, held, said = OTHERS[kind]
    path = tmp_path / f"model{suffix}"
    path.write_bytes(held)
    with pytest.raises(ModelFileError, match=said):
        load_model(path, space)


def test_buffers_that_overlap_are_not_read_for_ever(content: dict[str, bytes]) -> None:
    for place in range(8, 400, 4):
        changed = bytearray(content[".cbm"])
        changed[place : place + 4] = b"\x00\x00\x00\x00"
        try:
            read_model(parse_binary(bytes(changed)))
        except DamagedModelError as error:
            assert str(error)  # noqa: PT017  most are refused, not all


def test_means_that_the_library_rounds(table: pd.DataFrame, tmp_path: Path) -> None:
    path = str(tmp_path / "model.cbm")
    options = SMALL | {
        "simple_ctr": ["BinarizedTargetMeanValue:TargetBorderCount=4"], "max_ctr_complexity": 1,
    }  # fmt: skip
    model = cat.CatBoostRegressor(**options).fit(table, target(people(500), "value"))
    model.save_model(path)
    with pytest.raises(UnsupportedError, match="compile the estimator itself"):
        load_model(path, space_of(table, code="categorical"))


def test_models_on_text(tmp_path: Path) -> None:
    words = pd.DataFrame({"text": [f"word {i % 7} and {i % 3}" for i in range(200)]})
    words["x"] = np.arange(200.0)
    options = {"iterations": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
    model = cat.CatBoostClassifier(**options, text_features=["text"])
    model.fit(words, np.arange(200) % 2)
    with pytest.raises(UnsupportedError, match="has text features; turn them into numbers"):
        load_model(model, FeatureSpace.infer(words))
    model.save_model(str(tmp_path / "model.cbm"))
    with pytest.raises(ModelFileError, match="turn such columns into numbers"):
        load_model(tmp_path / "model.cbm", FeatureSpace.infer(words))


def test_flaws(content: dict[str, bytes], space: FeatureSpace, tmp_path: Path) -> None:
    changed = json.loads(content[".json"])
    changed["model_info"]["params"]["loss_function"]["type"] = "YetiRank"
    path = tmp_path / "model.json"
    path.write_text(json.dumps(changed))
    with pytest.raises(UnsupportedError, match="its loss function 'YetiRank' is not supported"):
        load_model(path, space)


def test_without_the_library(
    content: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.cbm"
    path.write_bytes(content[".cbm"])
    monkeypatch.setitem(sys.modules, "catboost", None)
    with pytest.raises(MissingExtraError, match=r"needs the package 'catboost'.*cfxc\[catboost\]"):
        open_booster(path)

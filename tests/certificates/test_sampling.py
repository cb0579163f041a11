"""A model file beside a certificate's program: whose program is it?"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
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
from cfxc.certificates import checker, write_checker
from cfxc.certificates.auditing import sampling
from cfxc.certificates.auditing.__main__ import main
from cfxc.certificates.auditing.inputs import WrongInput
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


def catboost_model(path: Path, seed: int, loss: str = "Logloss") -> FeatureSpace:
    import catboost

    used = TEXTS[["rate", "kids at home"]]
    cls = catboost.CatBoostRegressor if loss == "RMSE" else catboost.CatBoostClassifier
    options = {"iterations": 5, "depth": 3, "verbose": 0, "allow_writing_files": False}
    model = cls(loss_function=loss, **options)
    model.fit(used, noisy(seed) if loss == "RMSE" else wanted(seed))
    model.save_model(str(path), format=path.suffix[1:])
    return FeatureSpace.infer(used)


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
if find_spec("catboost"):
    KINDS["catboost"] = ("cbm", catboost_model)
    KINDS["catboost, json"] = ("json", catboost_model)
    KINDS["catboost, numbers"] = ("json", partial(catboost_model, loss="RMSE"))


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
    assert main([str(true), *asked]) == 0, capsys.readouterr().out
    assert main([str(false), *asked]) == 1
    said = capsys.readouterr().out
    theirs, ours = (hashlib.sha256(file.read_bytes()).hexdigest() for file in (other, own))
    assert f"model: made for another file than {own}: SHA-256 {theirs}, and not {ours}" in said
    assert main([str(forged)]) == 0
    assert main([str(forged), *asked]) == 1
    assert "the program is not the model's" in capsys.readouterr().out


def test_alone_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file; without libraries, or without what runs models, it says so."""
    model, saved = tmp_path / "model.onnx", tmp_path / "c.json"
    content = certified(model, onnx_in_one(model, 0))
    saved.write_text(json.dumps(content), encoding="utf-8")
    alone = write_checker(tmp_path / "alone.pyz")

    def asked(*options: str) -> subprocess.CompletedProcess[str]:
        order = [sys.executable, *options, str(alone), str(saved), "--model", str(model)]
        return subprocess.run(order, capture_output=True, text=True, cwd=tmp_path, check=False)

    bare = asked("-S")  # no packages at all
    assert bare.returncode == 3
    assert "ONLY ITS HASH was compared; it was not run: " in bare.stdout
    assert "onnxruntime is not installed" in bare.stdout
    found = asked("-I")
    assert found.returncode == 0, found.stdout + found.stderr
    assert "ONLY" not in found.stdout
    assert "run beside the program: sampled on 402 rows drawn with seed " in found.stdout


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
    shown = checker.check(content)
    differs, unrun, sampled = sampling.run(shown, content["space"], tmp_path / name, 0, None, False)
    assert not differs
    assert not sampled
    assert why in unrun


def test_a_margin_is_of_scores_that_are_not_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Scores ten times as large say the same labels, and a lead of 1 is a tenth of what it was."""
    model = LogisticRegression(max_iter=1000).fit(NUMBERS, wanted(0))
    path, saved = tmp_path / "m.skops", tmp_path / "c.json"
    skops.io.dump(model, path)
    own = path.read_bytes()
    model.coef_, model.intercept_ = model.coef_ * 10, model.intercept_ * 10
    row = NUMBERS[model.predict(NUMBERS) == 0].iloc[[0]]
    compiled = cfxc.compile(model, GROUPS)
    for criteria, alone in (([cfxc.Margin(1)], True), ([], False)):
        made = compiled.explain(row, target=1, subject_to=criteria).certificate
        made.save(saved)
        assert main([str(saved), "--model", str(path)]) == 0
        assert ("LABELS ALONE were compared" in capsys.readouterr().out) == alone
        with pytest.raises(AssertionError):
            assert cfxc.check(saved, model=path).ok
    assert path.read_bytes() == own


# -- rows ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def forest(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A pickled pipeline and a certificate of it."""
    path = tmp_path_factory.mktemp("forest") / "forest.joblib"
    return path, certified(path, pickled(path, 0))


def sampled(forest: tuple[Path, dict[str, Any]], seed: int, rows: Path | None = None,
            **changes: Any) -> tuple[str, str, str]:  # fmt: skip
    path, content = forest
    space = changes.get("space", content["space"])
    found = sampling.run(checker.check(content), space, path, seed, rows, True)
    return *found[:2], found[2].text if found[2] else ""


def test_the_seed_is_random_and_printed(
    forest: tuple[Path, dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, saved = forest[0], tmp_path / "c.json"
    saved.write_text(json.dumps(forest[1]), encoding="utf-8")
    asked, seeds = [str(saved), "--model", str(path), "--trust-pickle"], set()
    for more in ([], [], ["--seed", "5"]):
        assert main([*asked, *more]) == 0
        seeds.add(capsys.readouterr().out.split("drawn with seed ")[1].split(";")[0])
    assert len(seeds) == 3
    assert "5" in seeds


def test_other_seeds_draw_other_rows(forest: tuple[Path, dict[str, Any]]) -> None:
    drawn: list[Any] = []
    shown = checker.check(forest[1])
    predict = joblib.load(forest[0]).predict

    def seen(frame: pd.DataFrame) -> Any:
        drawn.append(frame)
        return predict(frame)

    for seed in (1, 1, 2):
        sampling.compare(shown, forest[1]["space"], seen, seed)
    assert drawn[0].equals(drawn[1])
    assert not drawn[0].equals(drawn[2])
    assert len(drawn[0]) == sampling.ROWS + 2


def test_rows_of_a_file(forest: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    """All are run whose values the program knows; else it says so."""
    rows = tmp_path / "rows.csv"
    TEXTS.assign(more=1).to_csv(rows, index=False)
    assert f"and {len(TEXTS)} rows of 'rows.csv'; " in sampled(forest, 3, rows)[2]
    odd = pd.concat([TEXTS, TEXTS.head(5).assign(code="z"), TEXTS.head(5).assign(rate=0.1)])
    odd.loc[len(odd)] = [None, 0.5, "a"]
    odd.loc[len(odd)] = [1, np.inf, "a"]
    odd.to_csv(rows, index=False)
    known = f"and {len(TEXTS) + 5} rows of 'rows.csv'; 7 others are left out, as 'code' in row "
    assert f"{known}{len(TEXTS)} holds what the certificate lacks" in sampled(forest, 3, rows)[2]
    TEXTS.drop(columns="rate").to_csv(rows, index=False)
    with pytest.raises(WrongInput, match=r"rows.csv: no column 'rate'"):
        sampled(forest, 3, rows)
    TEXTS.assign(code="z").to_csv(rows, index=False)
    with pytest.raises(WrongInput, match=r"rows.csv: no row that the program knows all values of"):
        sampled(forest, 3, rows)
    rows.write_bytes(b"\xff\xfe")
    for path in (rows, tmp_path / "none.csv"):
        with pytest.raises(WrongInput, match="no CSV file of rows"):
            sampled(forest, 3, path)


def test_many_rows_have_time_of_their_own(
    forest: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    """Loading, predicting and reading take none of the program's; more rows have more of it."""
    rows, shown = tmp_path / "rows.csv", checker.check(forest[1], checker.Clock(1))
    pd.concat([TEXTS] * 20).to_csv(rows, index=False)
    predict = joblib.load(forest[0]).predict

    def slow(frame: pd.DataFrame) -> Any:
        end = time.process_time() + 1.1
        while time.process_time() < end:
            pass
        return predict(frame)

    found = sampling.compare(shown, forest[1]["space"], slow, 0, rows)
    assert found.rows == 402 + 20 * len(TEXTS)
    shown.question.clock.seconds = 0.0
    with pytest.raises(checker.Undecided, match="it takes more than 0 seconds; give it --seconds"):
        sampling.run(shown, forest[1]["space"], forest[0], 0, rows, True)


def test_rows_of_groups_of_columns(tmp_path: Path) -> None:
    path, rows = tmp_path / "own.onnx", tmp_path / "rows.csv"
    content = certified(path, onnx_in_one(path, 0))
    NUMBERS.to_csv(rows, index=False)
    found = sampling.run(checker.check(content), content["space"], path, 0, rows, False)
    assert found[2] is not None, found
    assert f"and {len(NUMBERS)} rows" in found[2].text


def test_a_program_that_differs_where_only_given_rows_look(
    forest: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    shown, rows = checker.check(forest[1]), tmp_path / "rows.csv"
    predict = joblib.load(forest[0]).predict
    one = TEXTS.iloc[[0]].assign(**{"kids at home": 3, "rate": 0.75})
    one.to_csv(rows, index=False)

    def other(frame: pd.DataFrame) -> Any:
        found = np.array(predict(frame))
        if len(frame) == 1:  # the rows of the file
            found = 1 - found
        return found

    assert sampling.compare(shown, forest[1]["space"], other)
    with pytest.raises(sampling.Differs, match="of row 402 the model says"):
        sampling.compare(shown, forest[1]["space"], other, 0, rows)


@pytest.mark.parametrize("dtype", ["bool", "int8", "str"])
def test_types_that_change_values(forest: tuple[Path, dict[str, Any]], dtype: str) -> None:
    """A space whose columns are all ones would let any model pass."""
    space = forest[1]["space"].replace('dtype = "float64"', f'dtype = "{dtype}"')
    assert space != forest[1]["space"]
    differs, unrun, _ = sampled(forest, 0, space=space)
    assert f"as {dtype}, the column 'rate' has other values" in differs or unrun


def test_a_space_that_states_no_type(forest: tuple[Path, dict[str, Any]]) -> None:
    space = forest[1]["space"].replace('dtype = "float64"\n', "")
    assert sampled(forest, 0, space=space)[0] == "the space states no dtype of 'rate'"


def test_tiny_scores_do_not_pass_beside_any_model(forest: tuple[Path, dict[str, Any]]) -> None:
    """What is near is measured by the scores' own size."""
    content = json.loads(json.dumps(forest[1]))
    for trees in content["program"]["trees"]:
        for node in trees["nodes"]:
            if isinstance(node[0], str):
                node[:] = [str(checker.number(value) / 10**12) for value in node]
    content["claim"].update(status="feasible", lower_bound="0")
    content["proof"] = {"radius": "0", "lemmas": [], "nodes": [["distance"]]}
    shown = checker.check(rehashed(content))
    model = joblib.load(forest[0])
    assert sampling.compare(shown, content["space"], model.predict)
    with pytest.raises(sampling.Differs, match="of the factual"):
        sampling.compare(shown, content["space"], lambda frame: 1 - model.predict(frame))


def test_too_many_labels_that_differ_within_rounding(
    forest: tuple[Path, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sampling.NEAR, 53, 10**6)
    monkeypatch.setattr(sampling, "FEW", 10**12)
    model, shown = joblib.load(forest[0]), checker.check(forest[1])
    one = shown._replace(witness=None)
    with pytest.raises(sampling.Differs, match="402 of 402 labels differ within rounding"):
        sampling.compare(one, forest[1]["space"], lambda frame: 1 - model.predict(frame))


def test_labels_that_the_program_does_not_know(forest: tuple[Path, dict[str, Any]]) -> None:
    shown = checker.check(forest[1])
    for label in ("1", 7, None):
        with pytest.raises(sampling.Differs, match="of the factual the model says"):
            sampling.compare(shown, forest[1]["space"], lambda f, label=label: [label] * len(f))


def test_models_of_single_floats_with_the_slack_of_doubles(tmp_path: Path) -> None:
    path = tmp_path / "own.onnx"
    content = certified(path, onnx_in_one(path, 0))
    shown = checker.check(content)
    assert sampling.run(shown, content["space"], path, 0, None, False)[0] == ""
    doubles = shown._replace(semantics="float")
    differs, *_ = sampling.run(doubles, content["space"], path, 0, None, False)
    assert differs == "it computes in single floats, and the slack allows for doubles"
    single = shown._replace(semantics="float32")
    assert sampling.run(single, content["space"], path, 0, None, False)[0] == ""


def test_a_pickled_booster(tmp_path: Path) -> None:
    """Native boosters in pickles are run as such."""
    for make, load in ((xgb_native, xgboost.Booster), (lgb, lightgbm.Booster)):
        own, path = tmp_path / "own.json", tmp_path / "b.joblib"
        space = make(own, 0)
        booster = load(model_file=str(own))
        joblib.dump(booster, path)
        content = certified(path, space)
        found = sampling.run(checker.check(content), content["space"], path, 0, None, True)
        assert found[2], found

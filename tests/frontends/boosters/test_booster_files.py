"""Booster files: what opens, as what, and what is refused before a library sees it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cfxc
from cfxc import FeatureSpace
from cfxc.errors import (
    InvalidInputError,
    MissingColumnError,
    MissingExtraError,
    ModelFileError,
    UnsupportedError,
)
from cfxc.frontends.boosters.files import open_booster
from cfxc.frontends.boosters.forest import DamagedModelError
from cfxc.frontends.boosters.lightgbm.text import read_text
from cfxc.frontends.boosters.xgboost.document import parse_document, read_model
from cfxc.frontends.boosters.xgboost.ubjson import parse_ubjson
from cfxc.frontends.files import load_model
from tests.frontends.boosters.agreement import NUMBERS, people, space_of, target

xgb = pytest.importorskip("xgboost")
lgb = pytest.importorskip("lightgbm")

XGB: dict[str, Any] = {"n_estimators": 3, "max_depth": 3, "enable_categorical": True}
LGB: dict[str, Any] = {
    "n_estimators": 3, "num_leaves": 6, "min_child_samples": 5, "cat_smooth": 1, "verbosity": -1,
    "min_data_per_group": 5,
}  # fmt: skip


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return people()


@pytest.fixture(scope="module")
def space(table: pd.DataFrame) -> FeatureSpace:
    return space_of(table)


@pytest.fixture(scope="module")
def trained(table: pd.DataFrame) -> Any:
    return xgb.XGBClassifier(**XGB).fit(table, target(table, "three"))


@pytest.fixture(scope="module")
def document(trained: Any) -> bytes:
    """An XGBoost model with categories, as JSON."""
    return bytes(trained.get_booster().save_raw("json"))


@pytest.fixture(scope="module")
def text(table: pd.DataFrame) -> str:
    """A LightGBM model with categories."""
    options = LGB | {"num_leaves": 20, "max_cat_to_onehot": 1, "cat_l2": 0}
    model = lgb.LGBMClassifier(**options).fit(table, target(table, "three"))
    made: str = model.booster_.model_to_string()
    assert re.search("num_cat=[2-9]", made)
    return made


@pytest.mark.parametrize("suffix", [".json", ".ubj", ".UBJ"])
@pytest.mark.parametrize("outcome", ["two", "three", "value"])
def test_xgboost_files(
    suffix: str, outcome: str, table: pd.DataFrame, space: FeatureSpace, tmp_path: Path
) -> None:
    cls = xgb.XGBRegressor if outcome == "value" else xgb.XGBClassifier
    model = cls(**XGB).fit(table, target(table, outcome))
    program, predictor = load_model(model, space)
    own, native = tmp_path / f"own{suffix.lower()}", tmp_path / f"native{suffix.lower()}"
    model.save_model(own)
    model.get_booster().save_model(native)
    for path in (own, native):
        path = path.rename(path.with_suffix(suffix))
        again, other = load_model(str(path), space)
        assert again == program
        assert (other.task, other.classes) == (predictor.task, predictor.classes)
        assert np.array_equal(other.predict(table), model.predict(table))


def test_what_an_estimator_saved_predicts_as_it_does(
    table: pd.DataFrame, space: FeatureSpace, tmp_path: Path
) -> None:
    """With the best round; a native booster's file, like the booster itself, with all."""
    two = target(table, "two")
    model = xgb.XGBClassifier(
        **XGB | {"n_estimators": 60}, learning_rate=1, early_stopping_rounds=2
    )
    model.fit(table[:150], two[:150], eval_set=[(table[150:], two[150:])], verbose=False)
    assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    model.save_model(tmp_path / "own.json")
    model.get_booster().save_model(tmp_path / "native.json")
    own = cfxc.compile(tmp_path / "own.json", space)
    native = cfxc.compile(tmp_path / "native.json", space)
    assert own.program == cfxc.compile(model, space).program
    assert native.program == cfxc.compile(model.get_booster(), space).program
    assert own.program != native.program
    assert np.array_equal(own.predictor.predict(table), model.predict(table))


@pytest.mark.parametrize("outcome", ["two", "three", "value"])
def test_lightgbm_files(
    outcome: str, table: pd.DataFrame, space: FeatureSpace, tmp_path: Path
) -> None:
    cls = lgb.LGBMRegressor if outcome == "value" else lgb.LGBMClassifier
    model = cls(**LGB).fit(table, target(table, outcome))
    model.booster_.save_model(tmp_path / "model.txt")
    program, predictor = load_model(tmp_path / "model.txt", space)
    assert program == load_model(model.booster_, space)[0]
    assert np.array_equal(predictor.predict(table), model.predict(table))
    assert predictor.classes == {"two": (0, 1), "three": (0, 1, 2)}.get(outcome)
    with pytest.raises(InvalidInputError, match="the model is a "):
        load_model(
            tmp_path / "model.txt", space,
            task="classifier" if outcome == "value" else "regressor",
        )  # fmt: skip


def test_printed_doubles_are_the_same_doubles(table: pd.DataFrame) -> None:
    model = lgb.LGBMRegressor(**LGB).fit(table[["normal"]], target(table, "value"))
    leaves = {value for tree in read_text(model.booster_.model_to_string().encode()).trees
              for value in tree.value[tree.feature < 0].tolist()}  # fmt: skip
    told = model.booster_.predict(table[["normal"]], pred_leaf=True)
    for tree in range(told.shape[1]):
        for leaf in set(told[:, tree].tolist()):
            assert model.booster_.get_leaf_output(tree, leaf) in leaves


def plain(value: Any) -> Any:
    """A document without NumPy's types, floats as float32."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list | np.ndarray):
        return [plain(part) for part in value]
    if isinstance(value, float | np.floating):
        return float(np.float32(value))
    return value.item() if isinstance(value, np.generic) else value


def test_both_formats_say_the_same(trained: Any, document: bytes) -> None:
    binary = parse_document(bytes(trained.get_booster().save_raw("ubj")), binary=True)
    assert plain(binary) == plain(parse_document(document, binary=False))


UBJSON: dict[str, tuple[bytes, Any]] = {
    "integers": (b"[iAUBIcclddddLeeeeeeee]", [65, 66, 0x6363, 0x64646464, 0x6565656565656565]),
    "text": (b"SU\x02ab", "ab"),
    "a character": (b"Cx", "x"),
    "constants": (b"[TFZ]", [True, False, None]),
    "floats": (b"[$d#U\x02\x3f\x80\x00\x00\xc0\x00\x00\x00", [1.0, -2.0]),
    "doubles": (b"D\x3f\xf0\x00\x00\x00\x00\x00\x00", 1.0),
    "counted": (b"[#U\x02TF", [True, False]),
    "an object": (b"{U\x01a[]U\x01b{}}", {"a": [], "b": {}}),
}


@pytest.mark.parametrize("kind", UBJSON)
def test_ubjson(kind: str) -> None:
    content, meaning = UBJSON[kind]
    assert plain(parse_ubjson(content)) == meaning
    for end in range(len(content)):
        with pytest.raises(DamagedModelError):
            parse_ubjson(content[:end])


@pytest.mark.parametrize(
    "content",
    [
        b"X", b"[$T#U\x01T", b"[#l\x7f\xff\xff\xff", b"[$d#L\x7f\xff\xff\xff\xff\xff\xff\xff",
        b"[$d#i\xff", b"SU\x01\xff", b"SZ", b"[" * 5000,
    ],
)  # fmt: skip
def test_ubjson_that_is_refused(content: bytes) -> None:
    with pytest.raises(DamagedModelError):
        parse_ubjson(content)


@given(st.binary(max_size=60))
@settings(max_examples=150)
def test_any_bytes_are_a_value_or_refused(content: bytes) -> None:
    for read in (
        parse_ubjson,
        lambda raw: read_model(parse_document(raw, binary=True)),
        lambda raw: read_model(parse_document(raw, binary=False)),
        lambda raw: read_text(b"tree\n" + raw),
    ):
        try:
            read(content)
        except DamagedModelError as error:
            assert str(error)  # noqa: PT017  most inputs are refused, not all


def test_truncated_files(
    document: bytes, trained: Any, text: str, space: FeatureSpace, tmp_path: Path
) -> None:
    binary = bytes(trained.get_booster().save_raw("ubj"))
    whole = {".json": document, ".ubj": binary, ".txt": text.partition("feature_imp")[0].encode()}
    for suffix, content in whole.items():
        path = tmp_path / f"model{suffix}"
        for part in (0.02, 0.3, 0.6, 0.99):
            path.write_bytes(content[: int(part * (len(content) - 20))])
            with pytest.raises(ModelFileError, match=re.escape(str(path))):
                load_model(path, space)


OTHERS: dict[str, tuple[str, bytes, str]] = {
    "json of another kind": (".json", b'{"a": 1}', "it is no XGBoost model"),
    "a list": (".json", b"[1]", "it is no XGBoost model"),
    "no json": (".json", b"learner", "it is no JSON"),
    "deep json": (".json", b"[" * 100_000, "it is no JSON"),
    "not text": (".json", b"\xff\xfe{}", "it is no JSON"),
    "no model": (".json", b'{"learner": {}, "version": [3, 0, 0]}', "missing or malformed"),
    "no version": (".json", b'{"learner": {}}', "missing or malformed"),
    "ubj of another kind": (".ubj", b"{U\x01aZ}", "it is no XGBoost model"),
    "no ubj": (".ubj", b'{"learner": {}}', "is no number"),
    "other text": (".txt", b"hello\n", "does not begin with 'tree'"),
    "half a text": (".txt", b"tree\nversion=v4\n", "it ends in the middle"),
    "no header": (".txt", b"tree\n\nend of trees\n", "missing or malformed"),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_files_of_other_kinds(kind: str, space: FeatureSpace, tmp_path: Path) -> None:
    suffix, content, said = OTHERS[kind]
    path = tmp_path / f"model{suffix}"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=said) as caught:
        load_model(path, space)
    assert str(path) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def tree(change: Callable[[Any], None]) -> Callable[[Any], None]:
    """Change the first tree of an XGBoost model that has a category split."""

    def apply(learner: Any) -> None:
        trees = learner["gradient_booster"]["model"]["trees"]
        change(next(one for one in trees if one["categories_nodes"]))

    return apply


def put(key: str, place: int, value: Any) -> Callable[[Any], None]:
    def apply(part: Any) -> None:
        part[key][place] = value

    return tree(apply)


def at(*path: Any, value: Any) -> Callable[[Any], None]:
    """Set one part of the learner."""

    def apply(learner: Any) -> None:
        for step in path[:-1]:
            learner = learner[step]
        learner[path[-1]] = value

    return apply


def exchange(one: Any, first: int, second: int) -> None:
    """Let the children of the root, of which the library reads one only, change places."""
    one["left_children"][0], one["right_children"][0] = second, first


MODEL = ("gradient_booster", "model")
HOSTILE: dict[str, Callable[[Any], None]] = {
    "child beyond": put("left_children", 0, 10**6),
    "negative child": put("right_children", 0, -7),
    "cycle": put("right_children", 0, 0),
    "two parents": put("right_children", 0, 1),
    "children that are no neighbours": tree(lambda one: exchange(one, 1, 2)),
    "column beyond": put("split_indices", 0, 10**6),
    "negative column": put("split_indices", 0, -1),
    "too few children": tree(lambda one: one["left_children"].pop()),
    "children that are text": tree(lambda one: one.update(left_children=["a"])),
    "threshold that is none": put("split_conditions", 0, float("nan")),
    "leaf that is none": tree(lambda one: one["split_conditions"].__setitem__(-1, float("inf"))),
    "categories beyond": put("categories_segments", 0, 10**6),
    "too many categories": put("categories_sizes", 0, 10**6),
    "negative category": put("categories", 0, -1),
    "category beyond all": put("categories", 0, 2**24),
    "category node beyond": put("categories_nodes", -1, 10**6),
    "number of nodes": tree(lambda one: one["tree_param"].update(num_nodes="10000")),
    "class beyond": at(*MODEL, "tree_info", 0, value=7),
    "too few classes": at(*MODEL, "tree_info", value=[0]),
    "rounds beyond": at(*MODEL, "iteration_indptr", -1, value=10**6),
    "falling rounds": at(*MODEL, "iteration_indptr", 1, value=-5),
    "best round beyond": at("attributes", "best_iteration", value="1000"),
    "best round that is none": at("attributes", "best_iteration", value="x"),
    "kind that is none": at("attributes", "scikit_learn", value="[]"),
    "number of columns": at("learner_model_param", "num_feature", value="3"),
    "number of classes": at("learner_model_param", "num_class", value="5"),
    "categories out of order": at(*MODEL, "cats", "sorted_idx", 0, value=10**6),
    "categories of other columns": at(*MODEL, "cats", "feature_segments", 1, value=4),
    "names of categories": at(*MODEL, "cats", "enc", 6, "offsets", 1, value=10**6),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_xgboost_files_that_lead_nowhere(
    kind: str, document: bytes, space: FeatureSpace, tmp_path: Path, monkeypatch: Any
) -> None:
    """The library would follow such indices out of its arrays, so it must not get them."""
    changed = json.loads(document)
    HOSTILE[kind](changed["learner"])
    path = tmp_path / "model.json"
    path.write_text(json.dumps(changed))
    for name in ("Booster", "XGBClassifier"):
        monkeypatch.setattr(xgb, name, None)
    with pytest.raises(ModelFileError, match=r"model\.json: cannot be opened"):
        load_model(path, space)


def test_what_no_walk_reads_may_be_anything(
    document: bytes, trained: Any, table: pd.DataFrame, tmp_path: Path
) -> None:
    changed = json.loads(document)
    tree = changed["learner"]["gradient_booster"]["model"]["trees"][0]
    leaf = tree["left_children"].index(-1)
    for key in ("right_children", "split_indices", "default_left", "parents", "split_type"):
        tree[key][leaf] = 10**6
    tree["loss_changes"] = ["?"]
    (tmp_path / "model.json").write_text(json.dumps(changed))
    opened = open_booster(tmp_path / "model.json")
    assert np.array_equal(opened.inplace_predict(table), trained.predict_proba(table))


def swap(field: str, change: Callable[[list[str]], None]) -> Callable[[str], str]:
    """Change the numbers of one field, the first of several that has two."""

    def apply(text: str) -> str:
        found = re.search(rf"^{field}=(\S+ \S.*)$", text, re.MULTILINE)
        assert found
        cells = found[1].split(" ")
        change(cells)
        return text[: found.start(1)] + " ".join(cells) + text[found.end(1) :]

    return apply


def cell(field: str, place: int, value: str) -> Callable[[str], str]:
    return swap(field, lambda cells: cells.__setitem__(place, value))


def line(field: str, value: str) -> Callable[[str], str]:
    return lambda text: re.sub(rf"(?m)^{field}=.*$", f"{field}={value}", text, count=1)


LEADING_NOWHERE: dict[str, Callable[[str], str]] = {
    "child beyond": cell("left_child", 0, "99"),
    "child at the edge": cell("left_child", 0, "19"),
    "leaf beyond": cell("right_child", 0, "-99"),
    "cycle": cell("right_child", 0, "0"),
    "column beyond": cell("split_feature", 0, "99"),
    "negative column": cell("split_feature", 0, "-2"),
    "too few children": swap("left_child", lambda cells: cells.pop()),
    "too many leaves": line("num_leaves", "99"),
    "no leaves": line("num_leaves", "0"),
    "threshold that is none": cell("threshold", 0, "nan"),
    "leaf that is none": cell("leaf_value", 0, "inf"),
    "leaf that is text": cell("leaf_value", 0, "one"),
    "too few counts": swap("leaf_count", lambda cells: cells.pop()),
    "categories beyond": cell("cat_boundaries", -1, "99"),
    "falling categories": cell("cat_boundaries", 1, "-1"),
    "category set beyond": lambda text: re.sub(
        r"(?m)^decision_type=.*$", lambda m: re.sub(r"\d+", "1", m[0]), text, count=1
    ).replace("threshold=", "threshold=9", 1),
    "word beyond": cell("cat_threshold", 0, str(2**32)),
    "number of classes": line("num_class", "2"),
    "sums per round": line("num_tree_per_iteration", "2"),
    "number of columns": line("max_feature_idx", "3"),
    "names of columns": line("feature_names", "a b"),
    "ranges of columns": line("feature_infos", "none"),
    "sizes of trees": cell("tree_sizes", 0, "99999"),
    "too few trees": swap("tree_sizes", lambda cells: cells.pop()),
    "a line without a value": lambda text: text.replace("num_cat=", "num_cat", 1),
    "classes of the objective": lambda text: text.replace("num_class:3", "num_class:300"),
    "linear models of nothing": lambda text: text.replace("is_linear=0", "is_linear=1", 1),
    "categories that are no list": lambda text: re.sub("(?<=categorical:).*", "{", text),
}


@pytest.mark.parametrize("kind", LEADING_NOWHERE)
def test_lightgbm_files_that_lead_nowhere(
    kind: str, text: str, space: FeatureSpace, tmp_path: Path, monkeypatch: Any
) -> None:
    changed = LEADING_NOWHERE[kind](text)
    assert changed != text
    if kind not in ("sizes of trees", "too few trees"):  # the sizes would give it away
        changed = re.sub("(?m)^tree_sizes=.*\n", "", changed)
    path = tmp_path / "model.txt"
    path.write_text(changed)
    monkeypatch.setattr(lgb, "Booster", None)
    with pytest.raises(ModelFileError, match=r"model\.txt: cannot be opened"):
        load_model(path, space)


def test_all_flaws_at_once(table: pd.DataFrame, space: FeatureSpace, tmp_path: Path) -> None:
    number = lgb.LGBMRegressor(**LGB, objective="cross_entropy_lambda")
    number.fit(table[NUMBERS], target(table, "share"))
    number.booster_.save_model(tmp_path / "model.txt")
    with pytest.raises(UnsupportedError) as caught:
        load_model(tmp_path / "model.txt", space_of(table[NUMBERS]))
    assert caught.value.offences == ("its objective 'cross_entropy_lambda' is not supported",)


def test_rankers_are_refused(table: pd.DataFrame, space: FeatureSpace, tmp_path: Path) -> None:
    one = np.zeros(len(table), int)
    ranker = xgb.XGBRanker(**XGB).fit(table, target(table, "two"), qid=one)
    ranker.save_model(tmp_path / "model.json")
    with pytest.raises(UnsupportedError, match="XGBoost ranker cannot be compiled"):
        load_model(tmp_path / "model.json", space)


@pytest.mark.parametrize(("library", "suffix"), [("xgboost", ".json"), ("lightgbm", ".txt")])
def test_files_without_the_library(
    library: str, suffix: str, document: bytes, text: str, space: FeatureSpace, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    path = tmp_path / f"model{suffix}"
    path.write_bytes(document if suffix == ".json" else text.encode())
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(
        MissingExtraError, match=rf"needs the package '{library}'.*cfxc\[boosters\]"
    ):
        load_model(path, space)


def test_what_the_library_refuses(
    document: bytes, text: str, space: FeatureSpace, tmp_path: Path, monkeypatch: Any
) -> None:
    def refuse(*arguments: Any, **options: Any) -> None:
        raise xgb.core.XGBoostError("no\nmore")

    (tmp_path / "model.json").write_bytes(document)
    (tmp_path / "model.txt").write_text(text)
    monkeypatch.setattr(xgb.Booster, "load_model", refuse)
    monkeypatch.setattr(lgb, "Booster", refuse)
    for name in ("model.json", "model.txt"):
        with pytest.raises(ModelFileError, match=r"cannot be opened; .*\(XGBoostError: no\)"):
            load_model(tmp_path / name, space)


REWRITTEN: dict[str, Any] = {
    "pruned": {"tree_method": "exact", "gamma": 4.0, "max_depth": 6},
    "dart": {"booster": "dart", "rate_drop": 0.5},
    "linear": {"booster": "gblinear"},
    "softmax": {"objective": "multi:softmax"},
    "forest": {"num_parallel_tree": 3, "subsample": 0.5},
}


@pytest.mark.parametrize("kind", REWRITTEN)
@pytest.mark.parametrize("suffix", [".json", ".ubj"])
def test_the_library_gets_the_same_model(
    kind: str, suffix: str, table: pd.DataFrame, tmp_path: Path
) -> None:
    """What it opens is written anew, from checked parts: it predicts the same to the last bit."""
    used = table[NUMBERS]
    model = xgb.XGBClassifier(n_estimators=4, **REWRITTEN[kind]).fit(used, target(table, "three"))
    model.save_model(tmp_path / f"model{suffix}")
    opened = open_booster(tmp_path / f"model{suffix}")
    assert np.array_equal(opened.predict_proba(used), model.predict_proba(used))
    assert load_model(opened, space_of(used))[0] == load_model(model, space_of(used))[0]


@pytest.mark.parametrize("kind", ["gbdt", "rf", "multiclassova", "reg_sqrt", "none", "arrays"])
def test_lightgbm_gets_the_same_model(kind: str, table: pd.DataFrame, tmp_path: Path) -> None:
    used, value = table.drop(columns="code"), target(table, "value")
    options: dict[str, Any] = {"sigmoid": 0.7}
    if kind == "rf":
        options = {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}
    elif kind == "multiclassova":
        options |= {"objective": "multiclassova"}
    elif kind == "none":
        options = {"objective": lambda wanted, found: (found - wanted, np.ones_like(found))}
    regression = kind in ("reg_sqrt", "none")
    if kind == "reg_sqrt":
        options = {"reg_sqrt": True}
    if kind == "arrays":
        used = table[["normal", "tenths"]].to_numpy()
    cls = lgb.LGBMRegressor if regression else lgb.LGBMClassifier
    outcome = value if regression else target(table, "three")
    model = cls(**LGB, **options).fit(used, outcome)
    model.booster_.save_model(tmp_path / "model.txt")
    opened = open_booster(tmp_path / "model.txt")
    assert np.array_equal(opened.predict(used), model.booster_.predict(used))
    assert read_text(opened.model_to_string().encode()).names == tuple(model.feature_name_)


def test_categories_that_nobody_wrote_down(
    document: bytes, table: pd.DataFrame, space: FeatureSpace, tmp_path: Path
) -> None:
    """Before 3.1 the codes were those of each table, so a table says nothing about them."""
    changed = json.loads(document)
    del changed["learner"]["gradient_booster"]["model"]["cats"]
    (tmp_path / "model.json").write_text(json.dumps(changed))
    with pytest.raises(UnsupportedError, match="'level' holds pandas categories, and the model"):
        load_model(tmp_path / "model.json", space)
    codes = table.assign(**{name: table[name].cat.codes for name in ("sector", "level")})
    _, predictor = load_model(tmp_path / "model.json", space_of(codes))
    expected = xgb.Booster()
    expected.load_model(bytearray(document))
    shares = expected.predict(xgb.DMatrix(table, enable_categorical=True))
    assert np.array_equal(predictor.predict(codes), shares.argmax(axis=1))


def test_native_boosters_say_what_is_wrong(table: pd.DataFrame) -> None:
    used, value = table[NUMBERS], target(table, "value")
    ranks = xgb.train({"objective": "rank:pairwise"}, xgb.DMatrix(used, value > 0), 2)
    with pytest.raises(UnsupportedError, match="objective 'rank:pairwise' is not supported"):
        load_model(ranks, space_of(used))
    booster = lgb.train({"verbosity": -1}, lgb.Dataset(used, value), 2)
    predictor = load_model(booster, space_of(used))[1]
    with pytest.raises(MissingColumnError, match="the table lacks columns of the model: 'flag'"):
        predictor.predict(used.drop(columns="flag"))
    softmax = {"objective": "multi:softmax", "num_class": 3}
    classes = xgb.train(softmax, xgb.DMatrix(used, target(table, "three")), 2)
    expected = classes.predict(xgb.DMatrix(used))
    assert load_model(classes, space_of(used))[1].predict(used).tolist() == expected.tolist()

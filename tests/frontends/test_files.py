"""Models from objects and files: what opens, what it gives, and what is refused."""

from __future__ import annotations

import pickle
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from skl2onnx import to_onnx
from sklearn.base import is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import (
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, SplineTransformer, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import cfxc
from cfxc.certificates.auditing import models
from cfxc.errors import (
    CfxcError,
    InvalidInputError,
    MissingExtraError,
    ModelFileError,
    UnsupportedError,
)
from cfxc.frontends import skops_file
from cfxc.frontends.files import load_model
from cfxc.frontends.predictor import Predictor
from cfxc.ir import Program
from cfxc.space import FeatureSpace


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    return pd.DataFrame({"a": rng.normal(size=80), "b": rng.integers(0, 9, 80).astype(float)})


@pytest.fixture(scope="module")
def space(table: pd.DataFrame) -> FeatureSpace:
    return FeatureSpace.infer(table)


@pytest.fixture(scope="module")
def forest(table: pd.DataFrame) -> RandomForestClassifier:
    return RandomForestClassifier(3, max_depth=3, random_state=0).fit(table, table["a"] > 0)


def fitted(model: Any, table: pd.DataFrame) -> Any:
    return model.fit(table, table["a"] * 2 + table["b"] if is_regressor(model) else table["a"] > 0)


MODELS = [
    LogisticRegression(),
    LinearSVC(),
    Ridge(),
    DecisionTreeClassifier(max_depth=3),
    ExtraTreesRegressor(3, max_depth=3),
    MLPClassifier((3,), max_iter=20),
    MLPClassifier((3,), max_iter=20, solver="sgd"),
    MLPRegressor(hidden_layer_sizes=(3,), solver="lbfgs"),
    make_pipeline(StandardScaler(), RandomForestClassifier(3, max_depth=3)),
    HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2),
    make_pipeline(
        KBinsDiscretizer(3, encode="onehot-dense", strategy="uniform"), LogisticRegression()
    ),
    VotingClassifier(
        [("tree", DecisionTreeClassifier(max_depth=2)), ("line", LogisticRegression())]
    ),
]


@pytest.mark.filterwarnings("ignore")  # too few iterations to converge: any network will do
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_one_model_in_every_form(
    model: Any, table: pd.DataFrame, space: FeatureSpace, tmp_path: Path
) -> None:
    model = fitted(model, table)
    program, predictor = load_model(model, space)
    assert isinstance(program, Program)
    assert isinstance(predictor, Predictor)
    skops.io.dump(model, tmp_path / "m.skops")
    joblib.dump(model, tmp_path / "m.joblib", compress=3)
    (tmp_path / "m.pkl").write_bytes(pickle.dumps(model))
    (tmp_path / "M.PICKLE").write_bytes(pickle.dumps(model))
    for path in tmp_path.iterdir():
        for given in (path, str(path)):
            again, other = load_model(given, space, trust_pickle=True)
            assert again == program
            assert other.predict(table).tolist() == predictor.predict(table).tolist()


def test_onnx_as_file_bytes_and_proto(
    table: pd.DataFrame, space: FeatureSpace, forest: Any, tmp_path: Path
) -> None:
    proto = to_onnx(forest, table.to_numpy(np.float32), options={"zipmap": False})
    content = proto.SerializeToString()
    (tmp_path / "m.onnx").write_bytes(content)
    loaded = [load_model(one, space) for one in (proto, content, tmp_path / "m.onnx")]
    assert len({program.digest for program, _ in loaded}) == 1
    expected = forest.predict(table).tolist()
    assert all(predictor.predict(table).tolist() == expected for _, predictor in loaded)


def test_the_task_of_a_graph_with_plain_numbers(
    table: pd.DataFrame, space: FeatureSpace, tmp_path: Path
) -> None:
    from onnx import TensorProto, helper, numpy_helper

    graph = helper.make_graph(
        [helper.make_node("MatMul", ["X", "W"], ["Y"])],
        "logits",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, 2])],
        [helper.make_tensor_value_info("Y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.ones((2, 3), np.float32), "W")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    assert load_model(model, space)[1].task == "regressor"
    assert load_model(model, space, task="classifier")[1].classes == (0, 1, 2)
    assert cfxc.compile(model, space, task="classifier").predictor.task == "classifier"


def test_an_estimator_has_the_task_it_has(space: FeatureSpace, forest: Any) -> None:
    assert load_model(forest, space, task="classifier")[1].task == "classifier"
    with pytest.raises(InvalidInputError, match="is a classifier, not a regressor"):
        load_model(forest, space, task="regressor")


@pytest.mark.parametrize("thing", [None, 3, {}, [LogisticRegression()], LogisticRegression])
def test_what_is_no_model(space: FeatureSpace, thing: Any) -> None:
    with pytest.raises(CfxcError):
        load_model(thing, space)


def test_pickles_of_other_things(space: FeatureSpace, tmp_path: Path) -> None:
    joblib.dump({"weights": [1, 2]}, tmp_path / "m.joblib")
    with pytest.raises(UnsupportedError, match="dict"):
        load_model(tmp_path / "m.joblib", space, trust_pickle=True)


def test_pickles_that_need_what_is_not_installed(space: FeatureSpace, tmp_path: Path) -> None:
    (tmp_path / "m.pkl").write_bytes(b"cno_such_package\nModel\n.")
    with pytest.raises(ModelFileError, match="is not installed: pip install"):
        load_model(tmp_path / "m.pkl", space, trust_pickle=True)


def test_skops_is_an_extra(
    space: FeatureSpace, forest: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skops.io.dump(forest, tmp_path / "m.skops")
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(MissingExtraError, match=r"cfxc\[skops\]"):
        load_model(tmp_path / "m.skops", space)


def test_skops_loads_no_library_of_tensors(
    space: FeatureSpace, forest: Any, tmp_path: Path
) -> None:
    """It takes seconds, and is of no use to a forest."""
    skops.io.dump(forest, tmp_path / "m.skops")
    space.to_toml(tmp_path / "s.toml")
    code = (
        "import cfxc, sys; from cfxc.frontends.files import load_model; "
        "load_model('m.skops', cfxc.FeatureSpace.from_toml('s.toml')); "
        "assert 'torch' not in sys.modules; import sklearn.externals.array_api_compat.torch"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)


def test_skops_runs_nothing_that_comes_with_the_file(
    space: FeatureSpace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Mine(LinearRegression):  # type: ignore[misc]  # scikit-learn ships without types
        pass

    monkeypatch.setattr(sys.modules[__name__], "Mine", Mine, raising=False)
    Mine.__qualname__ = "Mine"
    skops.io.dump(Mine(), tmp_path / "m.skops")
    with pytest.raises(ModelFileError, match=r"not trusted: .*Mine"):
        load_model(tmp_path / "m.skops", space)


TUNED = {
    "imputer": make_pipeline(SimpleImputer(), LogisticRegression()),
    "selector": make_pipeline(
        make_column_transformer((StandardScaler(), make_column_selector(dtype_include=float))),
        LogisticRegression(),
    ),
    "splines": make_pipeline(SplineTransformer(degree=1), LogisticRegression()),
    "calibrated": CalibratedClassifierCV(LogisticRegression()),
    "searched": GridSearchCV(LogisticRegression(), {"C": [0.1, 1]}, scoring=make_scorer(f1_score)),
    "cut": TunedThresholdClassifierCV(LogisticRegression()),
}


def test_the_checker_trusts_the_same_types() -> None:
    assert set(skops_file.TRUSTED) == models.TRUSTED
    assert models._of_tuning() == skops_file._of_tuning()


@pytest.mark.parametrize("name", TUNED)
def test_skops_of_pipelines_as_people_write_them(tmp_path: Path, name: str) -> None:
    """Opened by us and by the checker, which keeps a list of its own."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 2)).round(2), columns=["a", "b"])
    model = TUNED[name].fit(X, X["a"] > 0)
    skops.io.dump(model, tmp_path / "m.skops")
    compiled = cfxc.compile(tmp_path / "m.skops", FeatureSpace.infer(X))
    assert (compiled.predict(X) == model.predict(X)).all()
    assert (models._skops(tmp_path / "m.skops").predict(X) == model.predict(X)).all()


@pytest.mark.parametrize("change", ["child", "cycle", "feature", "leaf"])
def test_skops_with_trees_that_lead_nowhere(
    space: FeatureSpace, forest: Any, tmp_path: Path, change: str
) -> None:
    """Compiled code would follow such indices out of its arrays."""
    path = tmp_path / "m.skops"
    skops.io.dump(forest, path)
    _corrupt(path, change)
    with pytest.raises(ModelFileError, match="inconsistent"):
        load_model(path, space)


@pytest.mark.parametrize("change", ["left", "right", "feature_idx", "bitset_idx"])
def test_skops_with_histograms_that_lead_nowhere(
    table: pd.DataFrame, space: FeatureSpace, tmp_path: Path, change: str
) -> None:
    model = HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=2).fit(
        table, np.arange(len(table)) % 2
    )
    nodes = model._predictors[0][0].nodes
    nodes[change][0] = 10**6
    if change == "bitset_idx":
        nodes["is_categorical"][0] = 1
    skops.io.dump(model, tmp_path / "m.skops")
    with pytest.raises(ModelFileError, match="inconsistent"):
        load_model(tmp_path / "m.skops", space)


def _corrupt(path: Path, change: str) -> None:
    """Change one node of some tree inside the archive, leaving everything else as it was."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    for name, content in parts.items():
        if name.endswith(".npy") and b"left_child" in content[:200]:
            part = path.with_suffix(".npy")
            part.write_bytes(content)
            nodes = np.load(part)
            inner = int(np.argmax(nodes["left_child"] >= 0))
            leaf = int(np.argmax(nodes["left_child"] < 0))
            if change == "child":
                nodes["left_child"][inner] = 10**6
            elif change == "cycle":
                nodes["right_child"][inner] = inner
            elif change == "feature":
                nodes["feature"][inner] = 10**6
            else:
                nodes["left_child"][leaf] = 10**6
            with part.open("wb") as file:
                np.save(file, nodes)
            parts[name] = part.read_bytes()
            break
    else:
        raise AssertionError("no tree in the archive")
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


@pytest.mark.parametrize("suffix", [".onnx", ".skops", ".pkl", ".joblib"])
@pytest.mark.parametrize("content", [b"", b"\x80", b"garbage\n" * 40, b"PK\x03\x04" + b"\0" * 80])
def test_damaged_files(space: FeatureSpace, tmp_path: Path, suffix: str, content: bytes) -> None:
    path = tmp_path / f"m{suffix}"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=r"m\.") as caught:
        load_model(path, space, trust_pickle=True)
    assert len(str(caught.value).splitlines()) <= 10


@pytest.mark.parametrize("suffix", [".pkl", ".PICKLE", ".joblib"])
def test_pickles_are_refused_unread(space: FeatureSpace, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"m{suffix}"
    path.write_bytes(b"cos\nabort\n(tR.")
    with pytest.raises(ModelFileError, match="trust"):
        load_model(path, space)


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = (
        "import sys, cfxc; heavy = {'pandas', 'numpy', 'sklearn', 'onnx', 'onnxruntime', 'z3', "
        "'cvc5', 'skops'} & set(sys.modules); assert not heavy, heavy; "
        "cfxc.FeatureSpace; heavy = {'sklearn', 'onnx', 'onnxruntime', 'z3', 'cvc5', 'skops'} "
        "& set(sys.modules); assert not heavy, heavy"
    )
    root = str(Path(cfxc.__file__).parents[1])
    subprocess.run([sys.executable, "-c", code], check=True, cwd=root)


def test_public_names() -> None:
    assert set(cfxc.__all__) <= set(dir(cfxc))
    for name in cfxc.__all__:
        assert getattr(cfxc, name) is not None
    assert issubclass(cfxc.ModelFileError, cfxc.CfxcError)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        cfxc.nothing  # noqa: B018  # the access is the test


@pytest.mark.parametrize("path", ["", "  "])
def test_an_empty_path_is_no_folder(space: FeatureSpace, path: str) -> None:
    with pytest.raises(ModelFileError, match=r"path of a model file is empty; .*\.onnx"):
        load_model(path, space)

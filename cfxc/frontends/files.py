"""Models as they are deployed: a fitted estimator, or a file; to a program and its predictor."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import InvalidInputError, ModelFileError, needs
from ..ir import Program
from ..space import FeatureSpace
from ..space.names import unreadable
from ..suffixes import BOOSTERS, MODULES, PICKLES
from ..writing import path_of
from .boosters import library_of
from .predictor import Predictor, Task, Wanted
from .skops_file import damaged, load_skops

KINDS = (
    ".onnx, .skops, XGBoost's .json and .ubj, LightGBM's .txt, CatBoost's .json and .cbm, and "
    f"with trust_pickle (--trust-pickle) {', '.join([*PICKLES, *MODULES])}"
)

Loaded = tuple[Program, Predictor]


def load_model(
    model: Any, space: FeatureSpace, *, trust_pickle: bool = False, task: Task | None = None,
    output: str | int | None = None, cut: float | None = None,
) -> Loaded:  # fmt: skip
    """The program of a model over a feature space, and the model as deployed.

    Arguments and errors are those of :func:`cfxc.compile`.  The suffix of a path tells the kind of
    the file: ``.onnx``; ``.skops``; XGBoost's ``.json`` or ``.ubj``; LightGBM's ``.txt``;
    CatBoost's ``.json`` or ``.cbm``; ``.pkl``, ``.pickle`` or ``.joblib``; torch's ``.pt2``,
    ``.pt`` or ``.pth``.
    """
    wanted = Wanted(task, output, cut)
    if isinstance(model, str) and not model.strip():
        raise ModelFileError(f"the path of a model file is empty; a model file is {KINDS}")
    if isinstance(model, str | Path):
        return _from_file(path_of(model, "a model file"), space, trust_pickle, wanted)
    if _is_onnx(model):
        return _from_onnx(model, space, wanted)
    if _is_torch(model):
        return _from_torch(model, space, wanted)
    return _from_object(model, space, wanted)


def _from_file(path: Path, space: FeatureSpace, trust_pickle: bool, wanted: Wanted) -> Loaded:
    _check_readable(path)
    suffix = path.suffix.lower()
    if suffix == ".onnx":
        return _from_onnx(path, space, wanted)
    if suffix == ".skops":
        return _from_estimator(load_skops(path), space, wanted)
    if suffix in MODULES:
        return _from_torch(_load_module(path, suffix, trust_pickle), space, wanted)
    if suffix in PICKLES:
        return _from_object(_load_pickle(path, trust_pickle), space, wanted)
    if suffix in BOOSTERS:
        from .boosters.files import open_booster

        return _from_object(open_booster(path), space, wanted)
    kind = f"files of kind '{suffix}' are" if suffix else "a file without a suffix is"
    raise ModelFileError(f"{path}: {kind} not known; a model file is {KINDS}")


def _check_readable(path: Path) -> None:
    try:
        with path.open("rb") as file:
            start = file.read(1)
    except IsADirectoryError as error:
        raise ModelFileError(f"{path}: a directory is no model file, which is {KINDS}") from error
    except OSError as error:
        said = unreadable(path, "the model", error, "name the model's file")
        raise ModelFileError(said) from error
    if not start:
        raise ModelFileError(f"{path}: the model file is empty; save the model again")


def _is_onnx(model: Any) -> bool:
    if isinstance(model, bytes):
        return True
    onnx = sys.modules.get("onnx")  # a ModelProto comes from it
    return onnx is not None and isinstance(model, onnx.ModelProto)


def _is_torch(model: Any) -> bool:
    torch = sys.modules.get("torch")  # a module comes from it
    if torch is None:
        return False
    exported = getattr(torch, "export", None)
    kinds = (torch.nn.Module, *([exported.ExportedProgram] if exported else ()))
    return isinstance(model, kinds)


def _from_torch(model: Any, space: FeatureSpace, wanted: Wanted) -> Loaded:
    from .pytorch import TorchPredictor

    predictor = TorchPredictor(model, space, task=wanted.task, output=wanted.output, cut=wanted.cut)
    return predictor.program, predictor


def _load_module(path: Path, suffix: str, trusted: bool) -> Any:
    if not trusted:
        raise ModelFileError(
            f"{path}: torch may run code of a {suffix} file when it opens one (it falls back to "
            "pickle, and evaluates texts). If you trust its origin, say so (--trust-pickle; in "
            "Python trust_pickle=True); an .onnx file is safe to open"
        )
    with needs("torch", f"a {suffix} file", "torch"):
        from .pytorch import load_pt2, load_pth
    return load_pt2(path) if suffix == ".pt2" else load_pth(path)


def _from_onnx(model: Any, space: FeatureSpace, wanted: Wanted) -> Loaded:
    from .onnx import OnnxPredictor

    predictor = OnnxPredictor(model, space, task=wanted.task, output=wanted.output, cut=wanted.cut)
    return predictor.program, predictor


def _from_object(model: Any, space: FeatureSpace, wanted: Wanted) -> Loaded:
    if _is_result(model):
        return _from_result(model, space, wanted)
    if not library_of(model):
        return _from_estimator(model, space, wanted)
    from .boosters.native import native_predictor

    predictor = native_predictor(model, space)
    _check_wanted(predictor, wanted)
    return predictor.program, predictor


def _is_result(model: Any) -> bool:
    base = sys.modules.get("statsmodels.base.model")  # what fit of statsmodels gives comes from it
    wrapper = sys.modules.get("statsmodels.base.wrapper")
    if base is None or wrapper is None:
        return False
    return isinstance(model, base.Results | wrapper.ResultsWrapper)


def _from_result(result: Any, space: FeatureSpace, wanted: Wanted) -> Loaded:
    from .boosters.native import NativePredictor
    from .libraries.statistical import native

    predictor = NativePredictor(
        native(result, space, wanted.cut), space, type(result.model).__name__
    )
    _check_wanted(predictor, replace(wanted, cut=None))
    return predictor.program, predictor


def _from_estimator(estimator: Any, space: FeatureSpace, wanted: Wanted) -> Loaded:
    from .sklearn import SklearnPredictor, lower

    predictor = SklearnPredictor(estimator, space)
    _check_wanted(predictor, wanted)
    return lower(estimator, space), predictor


def _check_wanted(predictor: Predictor, wanted: Wanted) -> None:
    if wanted.task is not None and wanted.task != predictor.task:
        raise InvalidInputError(f"the model is a {predictor.task}, not a {wanted.task}")
    if wanted.output is not None or wanted.cut is not None:
        raise InvalidInputError(
            "output= and cut= are for networks (ONNX, PyTorch); this model says itself what it "
            "decides. Another cut is scikit-learn's FixedThresholdClassifier(model, threshold=…)"
        )


def _load_pickle(path: Path, trusted: bool) -> Any:
    if not trusted:
        raise ModelFileError(
            f"{path}: opening a {path.suffix} file runs the code in it. If you trust its origin, "
            "say so (--trust-pickle; in Python trust_pickle=True); .skops and .onnx files are safe "
            "to open"
        )
    import joblib

    try:
        return joblib.load(path)
    except Exception as error:  # unpickling runs arbitrary code, which raises anything
        raise damaged(path, error) from error

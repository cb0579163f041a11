"""Models in skops files: opened without running code that comes with them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from inspect import isfunction
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ModelFileError, needs

TRUSTED = (
    "sklearn.tree._tree.Tree",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.utils._bunch.Bunch",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.calibration._TemperatureScaling",
    "sklearn._loss.loss.HalfTweedieLossIdentity",
    "scipy.interpolate._bsplines.BSpline",
    "scipy._lib.array_api_compat.numpy._aliases.asarray",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.compose._column_transformer.make_column_selector",
    "sklearn.metrics._scorer._CurveScorer",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.metrics._scorer._Scorer",
    "sklearn.utils._metadata_requests.MetadataRequest",
    "sklearn.utils._metadata_requests.MethodMetadataRequest",
    "sklearn.feature_selection._univariate_selection.chi2",
    "sklearn.feature_selection._univariate_selection.f_classif",
    "sklearn.feature_selection._univariate_selection.f_regression",
    "sklearn.feature_selection._mutual_info.mutual_info_classif",
    "sklearn.feature_selection._mutual_info.mutual_info_regression",
    "numpy.dtype",
    "numpy.max",
    "numpy.mean",
    "numpy.min",
    "numpy.sum",
)
"""Types that skops leaves to its users to trust: parts of supported models, numbers only.

And functions of the libraries that selectors scored by in training, or that pool columns.

Opening them runs no code of the file.  Trees are walked by compiled code that takes their node
arrays as they are, so these are checked here.
"""
ADAPTERS = [f"sklearn.externals.array_api_compat.{name}" for name in ("torch", "cupy", "dask")]
_SHOWN = 6
_LEAF = -1
SET_WORDS = 8
"""Words of a set of categories in histogram boosting: one bit for each of 256."""
PREDICTOR_RECORD_DTYPE = np.dtype(
    [("value", "f8"), ("count", "u4"), ("feature_idx", "i8"), ("num_threshold", "f8"),
     ("missing_go_to_left", "u1"), ("left", "u4"), ("right", "u4"), ("gain", "f8"),
     ("depth", "u4"), ("is_leaf", "u1"), ("bin_threshold", "u1"), ("is_categorical", "u1"),
     ("bitset_idx", "u4")]
)  # fmt: skip
"""How scikit-learn lays out the nodes of histogram boosting."""


def load_skops(path: Path) -> Any:
    """The object in a skops file, if it is made of trusted types only.

    Raises:
        MissingExtraError: the package skops is not installed.
        ModelFileError: the file is damaged, or holds other types or inconsistent trees.
    """
    with needs("skops", f"{path.name}: reading a .skops file", "skops"), _without_adapters():
        import skops.io as sio
    try:
        unknown = set(sio.get_untrusted_types(file=path)).difference(TRUSTED)
        trusted = [*TRUSTED, *(_of_tuning() if unknown else ())]
        strangers = sorted(unknown.difference(trusted))
        loaded = None if strangers else sio.load(path, trusted=trusted)
    except Exception as error:  # a damaged archive fails in zip, JSON, NumPy or skops itself
        raise damaged(path, error) from error
    if strangers:
        more = f" and {len(strangers) - _SHOWN} more" if len(strangers) > _SHOWN else ""
        raise ModelFileError(
            f"{path}: holds types that are not trusted: {', '.join(strangers[:_SHOWN])}{more}; "
            "export it to ONNX; or save it with joblib and let the file run its code: "
            "--trust-pickle, trust_pickle=True"
        )
    sound = all(map(_is_sound, _trees(loaded))) and all(map(_leads_on, _predictors(loaded)))
    if not sound:
        raise ModelFileError(f"{path}: a tree in it is inconsistent; save the model again")
    return loaded


@contextmanager
def _without_adapters() -> Iterator[None]:
    """Keep skops, which imports all of scikit-learn once, from loading torch and its like too.

    scikit-learn's adapters for other libraries' arrays import these; what cannot be imported is
    passed over.
    """
    held = {name: sys.modules.get(name) for name in ADAPTERS}
    absent = [name for name, module in held.items() if module is None]
    sys.modules.update(dict.fromkeys(absent))  # type: ignore[arg-type]  # None: not to be found
    try:
        yield
    finally:
        for name in absent:
            sys.modules.pop(name, None)


def _of_tuning() -> set[str]:
    """What searches over settings and cut-offs keep: functions of arrays, and splitters."""
    import sklearn.metrics
    import sklearn.model_selection

    scores, splits = vars(sklearn.metrics).values(), vars(sklearn.model_selection).values()
    kept = [one for one in scores if isfunction(one)]
    kept += [
        one for one in splits if getattr(one, "__module__", "") == "sklearn.model_selection._split"
    ]
    return {f"{one.__module__}.{one.__name__}" for one in kept}


EXTRAS = {
    "catboost": "'cfxc[catboost]'",
    "imblearn": "imbalanced-learn",
    "lightgbm": "'cfxc[boosters]'",
    "lineartree": "linear-tree",
    "sklearn": "scikit-learn",
    "xgboost": "'cfxc[boosters]'",
}
"""What to install for a package that a model is made of, where its name differs."""


def damaged(path: Path, error: Exception) -> ModelFileError:
    """What to say about a file that cannot be opened, whatever went wrong inside."""
    package = str(getattr(error, "name", "")).partition(".")[0]
    if isinstance(error, ModuleNotFoundError) and package and find_spec(package) is None:
        return ModelFileError(
            f"{path}: the model is made of parts of {package}, which is not installed: pip install "
            f"{EXTRAS.get(package, package)} and try again"
        )
    lines = str(error).splitlines()
    reason = f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__
    return ModelFileError(
        f"{path}: cannot be opened; it is truncated, not a {path.suffix} file, or needs packages "
        f"that are not installed, or another version of scikit-learn ({reason}); save the model "
        "again with the versions that are installed here"
    )


def _parts(model: Any) -> Iterator[Any]:
    """A model, and what it is made of, however deep inside."""
    yield model
    for _, step in getattr(model, "steps", ()):
        yield from _parts(step)
    for member in np.ravel(getattr(model, "estimators_", ())):
        yield from _parts(member)


def _trees(model: Any) -> Iterator[tuple[Any, int]]:
    """The trees of a model, and how many columns each is given."""
    for part in _parts(model):
        if hasattr(part, "tree_"):
            yield part.tree_, part.n_features_in_


def _predictors(model: Any) -> Iterator[tuple[Any, int]]:
    """The trees of histogram boosting, and how many columns each is given."""
    for part in _parts(model):
        for stage in getattr(part, "_predictors", ()):
            yield from ((predictor, part.n_features_in_) for predictor in stage)


def _is_sound(found: tuple[Any, int]) -> bool:
    """Whether every walk down a tree ends in a leaf and reads existing nodes and columns."""
    tree, columns = found
    left, right, feature = tree.children_left, tree.children_right, tree.feature
    inner = left != _LEAF
    own, count = np.arange(tree.node_count), tree.node_count
    rising = all(((child > own) & (child < count))[inner].all() for child in (left, right))
    read = ((feature >= 0) & (feature < columns))[inner].all()
    return bool(count > 0 and rising and read and tree.n_features == columns)


def _leads_on(found: tuple[Any, int]) -> bool:
    """The same of a tree of histogram boosting, and whether its sets of categories exist."""
    predictor, columns = found
    nodes, sets = predictor.nodes, predictor.raw_left_cat_bitsets
    known = isinstance(nodes, np.ndarray) and nodes.dtype == PREDICTOR_RECORD_DTYPE
    if not known or nodes.ndim != 1 or not nodes.size:
        return False
    inner, own = nodes["is_leaf"] == 0, np.arange(nodes.size)
    rising = all(
        ((nodes[side] > own) & (nodes[side] < nodes.size))[inner].all()
        for side in ("left", "right")
    )
    read = ((nodes["feature_idx"] >= 0) & (nodes["feature_idx"] < columns))[inner].all()
    asks = inner & (nodes["is_categorical"] != 0)
    words = isinstance(sets, np.ndarray) and sets.ndim == 2 and sets.dtype == np.uint32
    held = words and sets.shape[1] == SET_WORDS and (nodes["bitset_idx"] < len(sets))[asks].all()
    return bool(rising and read and (held or not asks.any()))

"""Model files as functions of tables: what a certificate's program is run beside.

It needs what runs the model (onnxruntime; skops or joblib, and scikit-learn; xgboost; lightgbm;
catboost), and nothing else of cfxc.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from inspect import isfunction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .trusted import TRUSTED

if TYPE_CHECKING:
    import pandas as pd

CLASSIFY = ("binary:hinge", "binary:logistic", "multi:softmax", "multi:softprob")
SINGLE = (".onnx", ".json", ".ubj")  # files of models that compute in single floats
Predict = Callable[["pd.DataFrame"], Any]


class NotRun(Exception):
    """The model could not be run; says why."""


def computes_singles(path: Path) -> bool:
    """Whether the model of a file computes in single floats."""
    return path.suffix.lower() in SINGLE and not _is_catboost(path)


def opened(path: Path, question: Any, trust_pickle: bool) -> Predict:
    """What the model in a file says of the rows of a table.

    Raises:
        NotRun: its kind is not known, its library is missing, or it is not to be trusted.
    """
    suffix, has_labels = path.suffix.lower(), question.program.labels is not None
    try:
        if suffix == ".onnx":
            return _onnx(path, question)
        if suffix == ".skops":
            return _estimator(_skops(path))
        if suffix in (".pkl", ".pickle", ".joblib"):
            if not trust_pickle:
                raise NotRun(f"a {suffix} file runs code when it is opened; see --trust-pickle")
            import joblib

            return _estimator(joblib.load(path))
        if _is_catboost(path):
            return _catboost(path, has_labels)
        if suffix in (".json", ".ubj"):
            return _xgboost(path)
        if suffix == ".txt":
            import lightgbm

            return _lightgbm(lightgbm.Booster(model_file=str(path)), has_labels)
    except ImportError as error:
        raise NotRun(f"{error.name or error} is not installed") from None
    raise NotRun(f"a file of kind {suffix!r} is not known")


def _skops(path: Path) -> Any:
    import skops.io as sio

    unknown = set(sio.get_untrusted_types(file=path)) - TRUSTED
    trusted = TRUSTED | _of_tuning() if unknown else TRUSTED
    if strangers := sorted(unknown - trusted):
        raise NotRun(f"it holds types that are not trusted: {', '.join(strangers[:5])}")
    return sio.load(path, trusted=sorted(trusted))


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


def _estimator(model: Any) -> Predict:
    """A fitted estimator, or a native booster that was pickled."""
    library = type(model).__module__.split(".")[0]
    if type(model).__name__ == "Booster" and library in ("xgboost", "lightgbm"):
        return _native(model) if library == "xgboost" else _lightgbm(model, _classifies(model))

    def predict(frame: pd.DataFrame) -> Any:
        names = getattr(model, "feature_names_in_", None)
        chosen = frame.to_numpy() if names is None else frame[list(names)]
        return model.predict(chosen).reshape(len(frame)).tolist()

    return predict


def _xgboost(path: Path) -> Predict:
    import xgboost

    booster = xgboost.Booster(model_file=str(path))
    kind = json.loads(booster.attr("scikit_learn") or "{}").get("_estimator_type")
    if kind is None:
        return _native(booster)
    model = xgboost.XGBClassifier() if kind == "classifier" else xgboost.XGBRegressor()
    model.load_model(path)

    def predict(frame: pd.DataFrame) -> Any:
        return model.predict(_named(frame, booster.feature_names)).tolist()

    return predict


def _is_catboost(path: Path) -> bool:
    suffix = path.suffix.lower()
    return suffix == ".cbm" or (suffix == ".json" and b'"features_info"' in path.read_bytes())


def _catboost(path: Path, has_labels: bool) -> Predict:
    import catboost

    model = (catboost.CatBoostClassifier if has_labels else catboost.CatBoostRegressor)()
    model.load_model(str(path), format=path.suffix[1:].lower())

    def predict(frame: pd.DataFrame) -> Any:
        chosen = _named(frame, model.feature_names_)
        return model.predict(chosen).reshape(len(frame)).tolist()

    return predict


def _native(booster: Any) -> Predict:
    import xgboost

    objective = json.loads(booster.save_config())["learner"]["objective"]["name"]

    def predict(frame: pd.DataFrame) -> Any:
        chosen = _named(frame, booster.feature_names)
        numbers = booster.predict(xgboost.DMatrix(chosen, enable_categorical=True))
        return _labels(numbers, objective in CLASSIFY, given=objective == "multi:softmax")

    return predict


def _classifies(booster: Any) -> bool:
    text = booster.model_to_string(num_iteration=1)
    return "objective=binary" in text or "objective=multiclass" in text


def _lightgbm(booster: Any, has_labels: bool) -> Predict:
    def predict(frame: pd.DataFrame) -> Any:
        written = {name.replace(" ", "_"): name for name in frame.columns}
        names = [written.get(name, name) for name in booster.feature_name()]
        return _labels(booster.predict(_named(frame, names)), has_labels)

    return predict


def _named(frame: pd.DataFrame, names: Sequence[str] | None) -> pd.DataFrame:
    """The columns that a booster knows by name; all in order, if it knows none of these names."""
    if names is None or not set(names) <= set(frame.columns):
        return frame.set_axis(list(names or range(frame.shape[1])), axis=1)
    return frame[list(names)]


def _labels(numbers: Any, has_labels: bool, *, given: bool = False) -> list[Any]:
    """A booster's predictions; or the class above one half, the likeliest, or the one it gives."""
    if has_labels and not given:
        numbers = numbers > 1 / 2 if numbers.ndim == 1 else numbers.argmax(axis=1)
    found: list[Any] = (numbers.astype("int64") if has_labels else numbers).tolist()
    return found


def _onnx(path: Path, question: Any) -> Predict:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        path.read_bytes(), options, providers=["CPUExecutionProvider"]
    )
    outputs, labels = session.get_outputs(), question.program.labels
    decides = [o.name for o in outputs if o.type in ("tensor(string)", "tensor(int64)")]
    if (labels is not None and not decides) or (labels is None and len(outputs) != 1):
        raise NotRun("it gives numbers, and how they are read is not in the file")
    source = outputs[0].name if labels is None else sorted(decides, key=_known_name)[0]

    def predict(frame: pd.DataFrame) -> Any:
        feeds = dict(_feeds(session.get_inputs(), frame))
        rows = [
            session.run([source], {name: array[i : i + 1] for name, array in feeds.items()})[0]
            for i in range(len(frame))
        ]
        return [row.reshape(-1)[0] for row in rows]

    return predict


def _known_name(name: str) -> tuple[bool, str]:
    return name not in ("output_label", "label", "predicted_label", "class"), name


def _feeds(inputs: Sequence[Any], frame: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """The columns of a table as a graph's inputs: by name one by one, or in order."""
    names, widths = [item.name for item in inputs], [item.shape[-1:] for item in inputs]
    columns = {name if name in names else _sanitised(name): name for name in frame.columns}
    by_name, start = set(names) <= set(columns) and all(w in ([1], []) for w in widths), 0
    for item, width in zip(inputs, widths, strict=True):
        free = frame.shape[1] - start if len(inputs) == 1 or not width else width[0]
        if not by_name and not isinstance(free, int):
            raise NotRun(f"how many columns its input {item.name!r} takes is not in the file")
        chosen = [columns[item.name]] if by_name else list(frame.columns[start : start + free])
        start += len(chosen)
        names_of = {"float": "float32", "double": "float64", "string": object}
        kind = item.type.removeprefix("tensor(").removesuffix(")")  # else as NumPy calls it
        array = frame[chosen].to_numpy().astype(names_of.get(kind, kind))
        yield item.name, array.reshape(-1) if len(item.shape) == 1 else array


def _sanitised(name: str) -> str:
    return "".join(sign if sign.isalnum() or sign == "_" else "_" for sign in name)

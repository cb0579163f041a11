"""Run a model file beside a certificate's program: on the person, the witness, and rows at random.

``check.py --model`` calls this file where it lies beside it.  It needs pandas and what runs the
model (onnxruntime; skops or joblib, and scikit-learn; xgboost; lightgbm), and nothing of cfxc.
"""

from __future__ import annotations

import json
import math
import random
import tomllib
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

ROWS = 400
ROOM = Fraction(1, 10**5)  # of the scores: less may be rounding, in single floats too
TRUSTED = {
    "sklearn.tree._tree.Tree",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.utils._bunch.Bunch",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
}  # numbers of supported models, which skops leaves to its users to trust
CLASSIFY = ("binary:hinge", "binary:logistic", "multi:softmax", "multi:softprob")
Predict = Callable[["pd.DataFrame"], Any]


class NotRun(Exception):
    """The model could not be run; says why."""


def run(question: Any, certificate: Any, model: Path, trust_pickle: bool) -> tuple[str, str]:
    """How the model in a file differs from the program of a certificate, and why it was not run.

    Both are empty where it was run and says the same.

    Args:
        question: The checker's ``Question`` of this certificate.
        certificate: The values of its JSON.
        model: The file; of a pickle, ``trust_pickle`` says that the code in it may run.
    """
    try:
        predict = opened(model, question, trust_pickle)
        return difference(question, certificate["space"], certificate["witness"], predict), ""
    except NotRun as error:
        return "", str(error)
    except Exception as error:  # whatever a library raises of files and tables it does not take
        reason = str(error).splitlines() or [""]
        return "", f"{type(error).__name__}: {reason[0][:200]}"


def difference(question: Any, space: str, witness: Any, predict: Predict) -> str:
    """The first row of which model and program say different things; empty if there is none."""
    rows = list(_points(question, None if witness is None else question.point(witness)))
    outcomes = list(predict(table(question, space, rows)))
    for number, (row, outcome) in enumerate(zip(rows, outcomes, strict=True)):
        if not _says(question.program, row, outcome):
            which = ("the person", "the witness")[number] if number < 2 else "a row"
            return f"of {which} the model says {outcome!r}, and the program does not"
    return ""


def _points(question: Any, witness: list[Any] | None) -> Iterator[list[Any]]:
    """The person, the witness, rows like these, and rows from all over; at cuts where they may."""
    rng, own = random.Random(0), [feature.own for feature in question.features]
    cuts: list[list[Any]] = [[] for _ in own]
    for node in (node for _, nodes in question.program.trees for node in nodes):
        if isinstance(node, tuple):
            cuts[node[0]].append(node[1])
    known = [own, own if witness is None else witness]
    yield from known
    for number in range(ROWS):
        base, count = known[number % 2], 1 + number % 4 if number % 3 else len(own)
        point = list(base)
        for j in rng.sample(range(len(own)), min(count, len(own))):
            point[j] = _any_of(question.features[j], cuts[j], rng)
        yield point


def _any_of(feature: Any, cuts: list[Any], rng: random.Random) -> Any:
    """An admissible value of a feature; of a number, half of them right beside a cut."""
    if feature.labels:
        return rng.choice(sorted(feature.all))
    value = feature.lower + (feature.upper - feature.lower) * Fraction(rng.random())
    if cuts and rng.random() < 1 / 2:
        value = rng.choice(cuts)
    side = rng.choice((1, -1))
    if side > 0 and value in cuts:
        value = Fraction(math.nextafter(float(value), math.inf))
    near = feature.near(value, side)
    return feature.own if near is None else near


def table(question: Any, space: str, rows: Sequence[Sequence[Any]]) -> pd.DataFrame:
    """Points of the certificate's features as a table with the columns of its feature space."""
    import pandas as pd

    document = tomllib.loads(space)
    if [f["name"] for f in document["feature"]] != [f.name for f in question.features]:
        raise NotRun("the certificate's features are not those of its feature space")
    made: dict[str, Any] = {}
    for j, (given, feature) in enumerate(zip(document["feature"], question.features, strict=True)):
        names = given.get("columns", [given["name"]])
        dtypes = given["dtype"] if isinstance(given["dtype"], list) else [given["dtype"]]
        values, encoding = [row[j] for row in rows], given.get("encoding", "plain")
        for i, name in enumerate(names):
            dtype = dtypes[i % len(dtypes)]
            cells: list[Any] = [int(value > i) for value in values]
            if encoding == "one_hot":
                cells = [int(value == i) for value in values]
            elif encoding == "plain" and feature.labels:
                labels = [_cell(label) for _, label in feature.labels]
                cells = [labels[value] for value in values]
                if dtype == "category":
                    known = [label for label in labels if label is not None]
                    dtype = pd.CategoricalDtype(known, ordered=feature.ordered)
            elif encoding == "plain":
                cells = [int(v) if v.denominator == 1 else float(v) for v in values]
            empty = math.nan if dtype == "object" else None
            series = pd.Series([empty if c is None else c for c in cells], dtype=object)
            made[name] = series.astype(dtype)
    return pd.DataFrame({name: made[name] for name in document.get("columns", made)})


def _cell(label: Any) -> Any:
    return float(label) if isinstance(label, Fraction) else label


def _says(program: Any, point: list[Any], outcome: Any) -> bool:
    """Whether the program has an outcome too, but for rounding."""
    scores = [program.at(form, point) for form in program.outputs]
    room = ROOM * max([Fraction(1), *map(abs, scores)])
    if program.labels is None:
        return bool(abs(scores[0] - Fraction(float(outcome))) <= room)
    plain = outcome.item() if hasattr(outcome, "item") else outcome
    same = [i for i, (_, label) in enumerate(program.labels) if _is_same(label, plain)]
    return bool(same) and max(scores) - scores[same[0]] <= room


def _is_same(label: Any, outcome: Any) -> bool:
    """Labels that libraries write differently: 1, 1.0 and true are one, "1" is another."""
    return isinstance(label, str) == isinstance(outcome, str) and label == outcome


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

    if strangers := set(sio.get_untrusted_types(file=path)) - TRUSTED:
        raise NotRun(f"it holds types that are not trusted: {', '.join(sorted(strangers)[:5])}")
    return sio.load(path, trusted=sorted(TRUSTED))


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

"""Run a model file beside a certificate's program: on the factual, the witness, and other rows.

The checker calls this with ``--model``.  It needs pandas and what runs the model (onnxruntime;
skops or joblib, and scikit-learn; xgboost; lightgbm; catboost), and nothing else of cfxc.
"""

from __future__ import annotations

import json
import math
import random
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from importlib import import_module
from inspect import isfunction
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from ..checker import Clock, Undecided
from .inputs import WrongInput
from .trusted import TRUSTED

if TYPE_CHECKING:
    import pandas as pd

ROWS, MOST = 400, 20_000  # drawn, and read from a file
NEAR = {"real": Fraction(1, 10**5), "float": Fraction(1, 10**5), "float32": Fraction(1, 10**4)}
"""Of the median lead of the scores, by the arithmetic of the bound: less may be rounding."""
FEW = 1024  # times less than that is a tie, and is not counted
EXCUSED = 0.02  # the share of rows, at most, of which the labels may differ as near as that
CLASSIFY = ("binary:hinge", "binary:logistic", "multi:softmax", "multi:softprob")
SINGLE = (".onnx", ".json", ".ubj")  # files of models that compute in single floats
EMPTY: dict[str, Callable[[], Any]] = {
    "nan": lambda: math.nan,
    "none": lambda: None,
    "na": lambda: import_module("pandas").NA,
}
"""How a column of objects writes a missing cell, by what the space calls it."""
Predict = Callable[["pd.DataFrame"], Any]


class NotRun(Exception):
    """The model could not be run; says why."""


class Differs(Exception):
    """The model and the program say different things; says where."""


class Sampled(NamedTuple):
    """On how many rows a model and a program agree, and which these are."""

    rows: int
    text: str


def run(
    shown: Any, space: str, model: Path, seed: int, data: Path | None, trust_pickle: bool
) -> tuple[str, str, Sampled | None]:
    """How a model differs from a program, why it was not run, and on what it was.

    Args:
        shown: What the checker shows of the certificate.
        space: The certificate's feature space, by which rows are made.
        model: The file; of a pickle, ``trust_pickle`` says that the code in it may run.
        seed: Of the rows that are drawn.
        data: A CSV file of further rows.

    Raises:
        Undecided: running the program took longer than the checker's clock has for as many rows.
        WrongInput: the file of rows cannot be used.
    """
    try:
        single = model.suffix.lower() in SINGLE and not _is_catboost(model)
        if single and shown.semantics == "float":
            return "it computes in single floats, and the slack allows for doubles", "", None
        predict = opened(model, shown.question, trust_pickle)
        return "", "", compare(shown, space, predict, seed, data)
    except (Undecided, WrongInput):
        raise
    except Differs as error:
        return str(error), "", None
    except NotRun as error:
        return "", str(error), None
    except Exception as error:  # whatever a library raises of files and tables it does not take
        reason = str(error).splitlines() or [""]
        return "", f"{type(error).__name__}: {reason[0][:200]}", None


def compare(
    shown: Any, space: str, predict: Predict, seed: int = 0, data: Path | None = None
) -> Sampled:
    """Run both on rows; says on how many, and how many labels differ within rounding.

    Raises:
        Differs: they say different things.
        Undecided: the program takes longer than the checker's clock has for as many rows.
        WrongInput: the rows of the file cannot be read.
    """
    question, rng = shown.question, random.Random(seed)
    _wind(question.clock, ROWS)
    rows, read, left = list(_points(question, shown.witness, rng)), 0, 0
    outcomes = list(predict(table(question, space, rows)))
    if data is not None:
        more, frame, left = _given(question, space, data)
        rows, outcomes, read = rows + more, outcomes + list(predict(frame)), len(more)
    _wind(question.clock, len(rows))
    scores = [question.program.values(question.program.outputs, row) for row in rows]
    near, excused = NEAR[shown.semantics] * median(map(_lead, scores)), 0
    for number, (score, outcome) in enumerate(zip(scores, outcomes, strict=True)):
        miss = _miss(question.program, score, outcome)
        which = ("the factual", "the witness")[number] if number < 2 else f"row {number}"
        if miss is None or miss > near:
            raise Differs(f"of {which} the model says {outcome!r}, and the program does not")
        excused += miss * FEW > near
    if shown.witness is not None and not _reaches(question, outcomes[1]):
        raise Differs(f"of the witness the model says {outcomes[1]!r}, which is not the target")
    if question.program.labels is not None and excused > EXCUSED * len(rows):
        raise Differs(f"{excused} of {len(rows)} labels differ within rounding: too many")
    where = f"{len(rows) - read} rows drawn with seed {seed}"
    where += f" and {read} rows of {data.name!a}" if data is not None else ""
    where += f", where {left} have values that the program does not know" if left else ""
    return Sampled(len(rows), f"{where}; {excused} differ within {float(near):.3g} of a tie")


def _wind(clock: Clock, rows: int) -> None:
    """Give the program its time again, for each 400 rows: libraries and other steps took some."""
    clock.end = time.process_time() + clock.seconds * max(1, rows / ROWS)


def _reaches(question: Any, outcome: Any) -> bool:
    """Whether an outcome of the model is the target, as it says it: a label, or a number."""
    if question.program.labels is not None:
        plain = outcome.item() if hasattr(outcome, "item") else outcome
        return _is_same(question.program.labels[question.place][1], plain)
    value = Fraction(float(outcome))
    return all(factors[0] * value + constant >= 0 for factors, constant, _ in question.stated)


def _lead(scores: list[Fraction]) -> Fraction:
    """By how much the largest score leads, or how large the only one is."""
    ordered = sorted(scores, reverse=True)
    return ordered[0] - ordered[1] if len(ordered) > 1 else abs(ordered[0])


def _miss(program: Any, scores: list[Fraction], outcome: Any) -> Fraction | None:
    """By how much the program misses an outcome; ``None`` if it does not know it."""
    if program.labels is None:
        return abs(scores[0] - Fraction(float(outcome)))
    plain = outcome.item() if hasattr(outcome, "item") else outcome
    same = [i for i, (_, label) in enumerate(program.labels) if _is_same(label, plain)]
    if not same:
        return None
    return Fraction(0) if scores.index(max(scores)) == same[0] else max(scores) - scores[same[0]]


def _is_same(label: Any, outcome: Any) -> bool:
    """Labels that libraries write differently: 1, 1.0 and true are one, "1" is another."""
    return isinstance(label, str) == isinstance(outcome, str) and label == outcome


# -- rows -----------------------------------------------------------------------------------------


def _points(question: Any, witness: Any, rng: random.Random) -> Iterator[list[Any]]:
    """The factual, the witness, rows like these, and rows from all over; at cuts where they may."""
    own = [feature.own for feature in question.features]
    cuts: list[list[Any]] = [[] for _ in own]
    for node in (node for _, nodes in question.program.trees for node in nodes):
        if isinstance(node, tuple) and not isinstance(node[0], tuple):
            cuts[node[0]].append(node[1])
    known = [own, own if witness is None else list(witness)]
    yield from known
    for number in range(ROWS):
        base, count = known[number % 2], 1 + number % 4 if number % 3 else len(own)
        point = list(base)
        for j in rng.sample(range(len(own)), min(count, len(own))):
            point[j] = _any_of(question.features[j], cuts[j], rng)
        yield point


def _any_of(feature: Any, cuts: list[Any], rng: random.Random) -> Any:
    """A value of a feature's range, fixed or not; of a number, half of them right beside a cut."""
    if feature.gap:
        return feature.own
    if feature.labels:
        return rng.randrange(len(feature.labels))
    if feature.absent is not None and rng.random() < 1 / 4:
        return feature.absent
    value = feature.low + (feature.high - feature.low) * Fraction(rng.random())
    if cuts and rng.random() < 1 / 2:
        value = rng.choice(cuts)
    side = rng.choice((1, -1))
    if side > 0 and value in cuts:
        value = Fraction(math.nextafter(float(value), math.inf))
    near = feature.on_grid(value, side)
    return near if feature.low <= near <= feature.high else feature.own


def table(question: Any, space: str, rows: Sequence[Sequence[Any]]) -> pd.DataFrame:
    """Points of the certificate's features as a table with the columns of its feature space.

    Raises:
        Differs: the space's types change values.
    """
    import pandas as pd

    document = tomllib.loads(space)
    made: dict[str, Any] = {}
    for j, (given, feature) in enumerate(zip(document["feature"], question.features, strict=True)):
        values, encoding = [row[j] for row in rows], given.get("encoding", "plain")
        for i, (name, dtype) in enumerate(_columns(given)):
            cells: list[Any] = [int(value > i) for value in values]
            if encoding == "one_hot":
                cells = [int(value == i) for value in values]
            elif encoding == "plain" and feature.labels:
                labels = [_cell(label) for _, label in feature.labels]
                cells = [labels[value] for value in values]
                if dtype == "category":
                    known = [label for label in labels if label is not None]
                    dtype = pd.CategoricalDtype(known, ordered=feature.kind == "ordinal")
            elif encoding == "plain":
                cells = [int(v) if v.denominator == 1 else float(v) for v in values]
                gone = (feature.own if feature.gap else feature.absent,)
                cells = [None if v in gone else c for v, c in zip(values, cells, strict=True)]
            empty = EMPTY[given.get("missing_as", "nan")]() if dtype == "object" else None
            series = pd.Series([empty if c is None else c for c in cells], dtype=object)
            if dtype == "bool" and None in cells:
                raise Differs(f"the column {name!a} of truth values holds no missing one")
            made[name] = series.astype(dtype)
            if not all(c is None or _is_same(c, x) for c, x in zip(cells, made[name], strict=True)):
                raise Differs(f"as {dtype}, the column {name!a} has other values")
    return pd.DataFrame({name: made[name] for name in document.get("columns", made)})


def _columns(given: dict[str, Any]) -> list[tuple[str, Any]]:
    """Columns of a feature and their types."""
    names = given.get("columns", [given["name"]])
    dtypes = given["dtype"] if isinstance(given["dtype"], list) else [given["dtype"]]
    return [(name, dtypes[i % len(dtypes)]) for i, name in enumerate(names)]


def _cell(label: Any) -> Any:
    return float(label) if isinstance(label, Fraction) else label


def _given(question: Any, space: str, data: Path) -> tuple[list[list[Any]], pd.DataFrame, int]:
    """The rows of a CSV file that the program knows all values of, as points and as a table.

    And how many others there are.
    """
    import pandas as pd

    document = tomllib.loads(space)
    names = [name for given in document["feature"] for name, _ in _columns(given)]
    try:
        frame = pd.read_csv(data, nrows=MOST)
    except (OSError, ValueError) as error:
        raise WrongInput(f"{data}: no CSV file of rows: {str(error)[:100]}") from None
    if lacking := [name for name in names if name not in frame]:
        raise WrongInput(f"{data.name}: no column {lacking[0]!a}")
    _wind(question.clock, len(frame))
    points = []
    for cells in frame[names].itertuples(index=False, name=None):
        here, point = iter(cells), []
        for given, feature in zip(document["feature"], question.features, strict=True):
            own = [next(here) for _ in _columns(given)]
            point.append(_value(feature, own, given.get("encoding", "plain")))
        if None not in point:
            points.append(point)
    if not points:
        raise WrongInput(f"{data.name}: no row that the program knows all values of")
    return points, table(question, space, points), len(frame) - len(points)


def _value(feature: Any, cells: list[Any], encoding: str) -> Any:
    """The value of a feature in its columns; ``None`` if it is none of those known."""
    if encoding == "one_hot":
        return cells.index(1) if cells.count(1) == 1 else None
    if encoding == "thermometer":
        return int(sum(cells))
    (cell,) = cells
    cell = cell.item() if hasattr(cell, "item") else cell
    missing = cell is None or cell != cell
    if feature.labels:
        known = [i for i, (_, x) in enumerate(feature.labels) if _is_same(x, cell)]
        known = [i for i, (_, x) in enumerate(feature.labels) if x is None] if missing else known
        return known[0] if known else None
    if feature.gap:
        return feature.own if missing else None
    if missing and feature.absent is not None:
        return feature.absent
    held = None if missing or isinstance(cell, str) else Fraction(cell)
    return held if held is not None and feature.on_grid(held, 1) == held else None


# -- models ---------------------------------------------------------------------------------------


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

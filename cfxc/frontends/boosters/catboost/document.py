"""What a CatBoost model says, in JSON: read and checked without the library.

A split sends x right iff ``float32(x) > border``, iff the category is a given one, or iff a *CTR*
exceeds a border: a statistic of the target, in float32, stored for combinations of categories and
other splits.  Categories are known by 32-bit hashes of their text.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ....arrays import Floats, Ints
from ..forest import DamagedModelError, parsed, reading
from .ctr import COUNTS, HASHES, KINDS, MEANS, CategorySplit, Ctr, CtrSplit, FloatSplit, Split

Document = dict[str, Any]
BINARY = ("Logloss", "CrossEntropy", "Focal")
SEVERAL = {"MultiClass": "softmax", "MultiClassOneVsAll": "sigmoid"}
VALUES = (
    "Expectile", "Huber", "LogCosh", "LogLinQuantile", "Lq", "MAE", "MAPE", "MultiQuantile",
    "MultiRMSE", "Poisson", "Quantile", "RMSE", "RMSPE", "Tweedie",
)  # fmt: skip
DEEPEST = 16  # the library grows no deeper trees


@dataclass(frozen=True)
class CatTree:
    """One tree: node 0 is the root, and children come after their parent.

    Shapes: ``split`` (n,), an index of the model's splits, negative on leaves; ``left``, ``right``
    (n,); ``value`` (n, K), zero on inner nodes.
    """

    split: Ints
    left: Ints
    right: Ints
    value: Floats


@dataclass(frozen=True)
class CatModel:
    """A model as stored.

    Attributes:
        loss: The name of its loss function.
        columns: Number of columns; ``names`` are theirs where the file has them.
        categories: Columns that hold categories.
        splits: Everything that its trees ask.
        trees: Their sum, times ``scale`` plus ``bias`` (K,), is the raw prediction.
        threshold: The probability above which the second of two classes is predicted.
        flaws: What in it is not supported.
    """

    loss: str
    columns: int
    names: tuple[str, ...]
    categories: frozenset[int]
    splits: tuple[Split, ...]
    trees: tuple[CatTree, ...]
    scale: float
    bias: Floats
    threshold: float
    flaws: tuple[str, ...]

    @property
    def outputs(self) -> int:
        """K: how many sums there are."""
        return self.bias.size


def parse_json(content: bytes) -> Document:
    """The JSON of a model."""
    document = parsed(content)
    if not isinstance(document, dict):
        raise DamagedModelError("it is no CatBoost model (it has no 'features_info')")
    return document


def read_model(document: Document, *, with_trees: bool = True) -> CatModel:
    """A document as a model, with its trees or only with what is said of them all."""
    with reading():
        return _model(document, with_trees)


def _model(document: Document, with_trees: bool) -> CatModel:
    info = document["model_info"]
    loss = str(parameters_of(info)["loss_function"]["type"])
    features = document["features_info"]
    places: dict[int, tuple[str, str]] = {}
    floats = list(_floats(features.get("float_features") or (), places))
    categories = list(_categories(features.get("categorical_features") or (), places))
    if not places or sorted(places) != list(range(len(places))):
        raise DamagedModelError("its columns are not numbered from 0 on")
    names = tuple(name for _, (name, _) in sorted(places.items()))
    if len(set(names)) < len(names):
        raise DamagedModelError("two of its columns have one name")
    flaws = list(_flaws(document, loss))
    own = [at for at, _ in categories]
    splits: list[Split] = [split for one in floats for split in one]
    splits += [CategorySplit(at, value) for at, values in categories for value in values]
    tables = _tables(document.get("ctr_data") or {}, floats, own)
    for one in features.get("ctrs") or ():
        splits += _ctr_splits(one, tables, floats, own)
    scale, bias = _scale_and_bias(document)
    trees = tuple(_trees(document, len(splits), bias.size)) if with_trees else ()
    width = trees[0].value.shape[1] if trees else bias.size
    if bias.size not in (0, width):
        raise DamagedModelError("its bias does not fit its leaves")
    return CatModel(
        loss,
        len(places),
        names,
        frozenset(own),
        tuple(splits),
        trees,
        scale,
        bias if bias.size else np.zeros(width),
        _threshold(info),
        tuple(flaws),
    )


def parameters_of(info: Document) -> Document:
    """What the model was trained with."""
    found = info["params"]
    return dict(json.loads(found) if isinstance(found, str) else found)


def _threshold(info: Document) -> float:
    found = float(info.get("binclass_probability_threshold", 0.5))
    if not 0 < found < 1:
        raise DamagedModelError("the probability that it asks of a class is none")
    return found


def _flaws(document: Document, loss: str) -> Iterator[str]:
    if loss not in (*BINARY, *SEVERAL, *VALUES):
        yield f"its loss function {loss!r} is not supported; train it with another (loss_function)"
    features = document["features_info"]
    for kind in ("text", "embedding"):
        if features.get(f"{kind}_features"):
            yield f"has {kind} features; turn them into numbers before training"
    chosen = parameters_of(document["model_info"]).get("cat_feature_params") or {}
    described = [*chosen.get("simple_ctrs", ()), *chosen.get("combinations_ctrs", ())]
    described += [one for each in chosen.get("per_feature_ctrs", {}).values() for one in each]
    borders: dict[str, set[str]] = {}
    for one in described:
        if cut := one.get("target_binarization"):
            borders.setdefault(str(one["ctr_type"]), set()).add(json.dumps(cut, sort_keys=True))
    if any(len(cuts) > 1 for cuts in borders.values()) and features.get("ctrs"):
        # their tables have one name in the file
        yield "its CTRs cut the target at different borders; train it with one TargetBorderCount"


def whole(value: Any, low: int = -(2**63), high: int = 2**64) -> int:
    """A whole number in [low, high)."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value < high:
        raise DamagedModelError(f"holds {str(value)[:30]!r} where a whole number is needed")
    return value


def real(value: Any) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise DamagedModelError(f"holds {str(value)[:30]!r} where a number is needed")
    return float(value)


def single(value: Any) -> float:
    """A finite number that is a float32, or its nearest one."""
    with np.errstate(over="ignore"):
        return real(float(np.float32(real(value))))


def _placed(part: Document, at: int, places: dict[int, tuple[str, str]], kind: str) -> int:
    column = whole(part["flat_feature_index"], 0, 2**31)
    if whole(part["feature_index"]) != at or column in places:
        raise DamagedModelError("its columns are out of order")
    places[column] = str(part.get("feature_name") or part.get("feature_id") or column), kind
    return column


def borders_of(part: Document) -> list[float]:
    """The borders of a column or CTR, rising."""
    borders = [single(one) for one in part.get("borders") or ()]
    if any(a >= b for a, b in pairwise(borders)):
        raise DamagedModelError("its borders do not rise")
    return borders


TREATMENTS = {"AsIs": False, "AsFalse": False, "AsTrue": True}


def _floats(parts: Any, places: dict[int, tuple[str, str]]) -> Iterator[list[FloatSplit]]:
    for at, part in enumerate(parts):
        column = _placed(part, at, places, "float")
        missing = TREATMENTS[part.get("nan_value_treatment", "AsIs")]
        if not isinstance(part.get("has_nans", False), bool):
            raise DamagedModelError("a column neither has missing values nor has none")
        missing = missing and part.get("has_nans", False)
        yield [FloatSplit(column, bound, missing) for bound in borders_of(part)]


def _categories(parts: Any, places: dict[int, tuple[str, str]]) -> Iterator[tuple[int, list[int]]]:
    for at, part in enumerate(parts):
        column = _placed(part, at, places, "category")
        values = [whole(one, -(2**31), HASHES) % HASHES for one in part.get("values") or ()]
        if len(set(values)) < len(values):
            raise DamagedModelError("a category of it occurs twice")
        yield column, values


Key = tuple[str, tuple[int, ...], tuple[FloatSplit, ...], tuple[CategorySplit, ...]]
Table = tuple[Mapping[int, tuple[float, ...]], int]


def _key(
    kind: str, elements: Any, floats: Sequence[Sequence[FloatSplit]], own: Sequence[int]
) -> Key:
    """What a CTR is about: categories, and splits that it reads as well."""
    if kind not in KINDS:
        raise DamagedModelError(f"it has a CTR of an unknown kind {kind[:30]!r}")
    cells: list[int] = []
    above: list[FloatSplit] = []
    equal: list[CategorySplit] = []
    for one in elements:
        what = one["combination_element"]
        if what == "float_feature":
            known = floats[whole(one["float_feature_index"], 0, len(floats))]
            bound = single(one["border"])
            found = [split for split in known if split.bound == bound]
            if not found:
                raise DamagedModelError("it has a CTR of splits that it does not have")
            above += found
        elif what in ("cat_feature_value", "cat_feature_exact_value"):
            column = own[whole(one["cat_feature_index"], 0, len(own))]
            if what == "cat_feature_value":
                cells.append(column)
            else:
                value = whole(one["value"], -(2**31), HASHES) % HASHES
                equal.append(CategorySplit(column, value))
        else:
            raise DamagedModelError("it has a CTR of unknown elements")
    if not cells:
        raise DamagedModelError("it has a CTR of no category")
    return kind, tuple(cells), tuple(above), tuple(equal)


def _tables(
    data: Document, floats: Sequence[Sequence[FloatSplit]], own: Sequence[int]
) -> dict[Key, Table]:
    made: dict[Key, Table] = {}
    for name, part in data.items():
        said = json.loads(name)
        kind = said["type"]
        stride, cells = whole(part["hash_stride"], 2, 2**16), part["hash_map"]
        width = 3 if kind in MEANS else stride
        if len(cells) % stride or stride != width:
            raise DamagedModelError("a table of a CTR does not fit its width")
        number: Callable[[Any], float] = real if kind in MEANS else _count
        table = {
            whole(int(cells[at]), 0): tuple(number(one) for one in cells[at + 1 : at + stride])
            for at in range(0, len(cells), stride)
        }
        table.pop(2**64 - 1, None)  # an empty place
        denominator = whole(part.get("counter_denominator", 0), 0, 2**31)
        made[_key(kind, said["identifier"], floats, own)] = (table, denominator)
    return made


def _count(value: Any) -> float:
    return float(whole(value, 0, 2**31))


def _ctr_splits(
    part: Document,
    tables: Mapping[Key, Table],
    floats: Sequence[Sequence[FloatSplit]],
    own: Sequence[int],
) -> list[CtrSplit]:
    key = _key(part["ctr_type"], part["elements"], floats, own)
    table, denominator = tables[key]
    target = whole(part["target_border_idx"], 0, 2**16)
    widths = {len(row) for row in table.values()}
    if widths and key[0] not in (*MEANS, *COUNTS):
        (width,) = widths
        if width < 2 or target >= width - (key[0] == "Borders"):
            raise DamagedModelError("a CTR asks for a class that its table does not have")
    ctr = Ctr(
        *key, target, single(part["prior_numerator"]), single(part["prior_denomerator"]),
        single(part["shift"]), single(part["scale"]), table, denominator,
    )  # fmt: skip
    return [CtrSplit(ctr, bound) for bound in borders_of(part)]


def _scale_and_bias(document: Document) -> tuple[float, Floats]:
    scale, bias = document.get("scale_and_bias") or (1, [])
    parts = bias if isinstance(bias, list) else [bias]
    return real(scale), np.array([real(one) for one in parts], dtype=np.float64)


def _trees(document: Document, splits: int, width: int) -> Iterator[CatTree]:
    if "oblivious_trees" in document:
        made = (_oblivious(one, splits) for one in document["oblivious_trees"] or ())
    else:
        made = (_asymmetric(one, splits) for one in document["trees"] or ())
    outputs = width or None
    for tree in made:
        outputs = outputs or tree.value.shape[1]
        if tree.value.shape[1] != outputs:
            raise DamagedModelError("its trees have leaves of different lengths")
        yield tree


def _oblivious(part: Document, splits: int) -> CatTree:
    """All nodes of a level ask the same; leaf ``sum_i bit_i 2^i``."""
    asked = [whole(one["split_index"], 0, splits) for one in part.get("splits") or ()]
    leaves = np.array([real(one) for one in part["leaf_values"]], dtype=np.float64)
    depth = len(asked)
    if depth > DEEPEST or not leaves.size or leaves.size % 2**depth:
        raise DamagedModelError("a tree in it has another number of leaves than its depth asks")
    inner = 2**depth - 1
    node = np.arange(inner, dtype=np.int64)
    level = np.log2(node + 1).astype(np.int64)
    pad = np.zeros(2**depth, dtype=np.int64)
    value = leaves.reshape(2**depth, -1)
    order = np.array([int(f"{i:0{depth}b}"[::-1], 2) if depth else 0 for i in range(2**depth)])
    return CatTree(
        np.concatenate([np.array(asked, dtype=np.int64)[level], pad - 1]),
        np.concatenate([2 * node + 1, pad]),
        np.concatenate([2 * node + 2, pad]),
        np.vstack([np.zeros((inner, value.shape[1])), value[order]]),
    )


def _asymmetric(part: Document, splits: int) -> CatTree:
    split: list[int] = []
    child: list[list[int]] = [[], []]
    value: list[list[float]] = []
    pending: list[tuple[Any, int, int]] = [(part, -1, 0)]
    while pending:
        one, parent, side = pending.pop()
        if parent >= 0:
            child[side][parent] = len(split)
        for each in child:
            each.append(0)
        if "value" in one:
            held = one["value"] if isinstance(one["value"], list) else [one["value"]]
            value.append([real(cell) for cell in held])
            split.append(-1)
        else:
            pending += [(one["right"], len(split), 1), (one["left"], len(split), 0)]
            split.append(whole(one["split"]["split_index"], 0, splits))
            value.append([])
    width = max(map(len, value))
    if not width or any(len(one) not in (0, width) for one in value):
        raise DamagedModelError("a tree in it has leaves of different lengths")
    filled = np.array([one or [0.0] * width for one in value])
    return CatTree(np.array(split), np.array(child[0]), np.array(child[1]), filled)

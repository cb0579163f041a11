"""What a LightGBM model says, in its text format: read and checked without the library.

Numbers are written with 17 digits, which give back the same doubles.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ....arrays import Array, Floats, Ints
from ....space import Label
from ..forest import (
    DamagedModelError,
    Question,
    Raw,
    Tree,
    at_most,
    below,
    checked,
    in_codes,
    reading,
)

Fields = Mapping[str, str]
CATEGORICAL, DEFAULT_LEFT = 1, 2  # bits of a decision type
LARGEST_DECISION = 11
NO_MISSING, ZERO_IS_MISSING = 0, 1  # its kinds of missing values; the third is NaN
ZERO = float(np.float32(1e-35))
"""Numbers up to this size count as zero: the library drops them before it predicts."""
LINKS = {
    "": "identity",  # trained on gradients of one's own
    "binary": "sigmoid",
    "cross_entropy": "sigmoid",
    "custom": "identity",
    "fair": "identity",
    "gamma": "exp",
    "huber": "identity",
    "lambdarank": "identity",
    "mape": "identity",
    "multiclass": "softmax",
    "multiclassova": "sigmoid",
    "poisson": "exp",
    "quantile": "identity",
    "rank_xendcg": "identity",
    "regression": "identity",
    "regression_l1": "identity",
    "tweedie": "exp",
}
"""Objective → what its prediction makes of the sum of the trees."""
PER_LEAF = ("leaf_value", "leaf_weight", "leaf_count")
PER_SPLIT = (
    "split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child",
    "internal_value", "internal_weight", "internal_count",
)  # fmt: skip
END = b"end of trees"
PANDAS = b"pandas_categorical:"


@dataclass(frozen=True)
class LinearLeaves:
    """Leaf i of a tree says ``slopes[i] x + start[i]``; shapes (n, columns) and (n,)."""

    slopes: Floats
    start: Floats


@dataclass(frozen=True)
class LgbModel:
    """A model as stored.

    Attributes:
        objective: Its name, and ``sigmoid``, the factor of sums in its sigmoid.
        outputs: How many sums there are: one, or one per class.
        columns: Number of columns; ``names`` are theirs.
        numbered: Columns that training took for numbers, for categories, or (``None``) ignored.
        categories: Of the pandas categories it was trained on, column by column.
        trees: In order; ``averaged`` is the number of rounds to divide by, if any.
        linear: The leaves of those trees that hold linear models; they have an output per leaf,
            one where a row ends in it.
        flaws: What in it is not supported.
    """

    objective: str
    link: str
    sigmoid: float
    outputs: int
    names: tuple[str, ...]
    numbered: tuple[bool | None, ...]
    categories: tuple[tuple[Label, ...], ...]
    trees: tuple[Tree, ...]
    linear: Mapping[int, LinearLeaves]
    averaged: int | None
    flaws: tuple[str, ...]

    @property
    def columns(self) -> int:
        """Number of columns."""
        return len(self.names)


def read_text(content: bytes, *, with_trees: bool = True) -> LgbModel:
    """The model in the text format, complete up to its ``end of trees``.

    Args:
        content: The text.
        with_trees: Read the trees too, and not only what is said of them all.
    """
    if not content.startswith((b"tree\n", b"tree\r\n")):
        raise DamagedModelError("it is no LightGBM model (it does not begin with 'tree')")
    with reading():
        return _model(content, with_trees)


def _model(content: bytes, with_trees: bool) -> LgbModel:
    if (end := content.find(b"\n" + END)) < 0:
        raise DamagedModelError("it ends in the middle")
    header, blocks = parts_of(content[: end + 1])
    names = tuple(header["feature_names"].split(" "))
    outputs, classes = int(header["num_tree_per_iteration"]), int(header["num_class"])
    if len(names) != int(header["max_feature_idx"]) + 1 or outputs < 1:
        raise DamagedModelError("its feature names do not fit its number of features")
    infos = header["feature_infos"].split(" ")
    if len(infos) != len(names) or len(blocks) % outputs:
        raise DamagedModelError("its trees or features do not fit their number")
    if "monotone_constraints" in header:
        numbers(header, "monotone_constraints", len(names), int)
    objective, _, options = header.get("objective", "").strip().partition(" ")
    settings = dict(one.partition(":")[::2] for one in options.split())
    _check_outputs(objective, settings, outputs, classes)
    flaws = [] if objective in LINKS else [f"its objective {objective!r} is not supported"]
    read = blocks if with_trees else []
    linear = {
        place: _linear(one, len(names))
        for place, one in enumerate(read)
        if int(one.get("is_linear", "0"))
    }
    trees = tuple(_tree(one, place % outputs, len(names)) for place, one in enumerate(read))
    link = LINKS.get(objective, "")
    return LgbModel(
        objective,
        "square" if "sqrt" in settings and link == "identity" else link,
        float(settings.get("sigmoid", 1)),
        outputs,
        names,
        tuple(None if info == "none" else info.startswith("[") for info in infos),
        _pandas_categories(content),
        trees,
        linear,
        max(len(blocks) // outputs, 1) if "average_output" in header else None,
        tuple(flaws),
    )


def parts_of(content: bytes) -> tuple[Fields, list[Fields]]:
    """The fields of the header, and those of each tree, of a text up to its ``end of trees``."""
    starts = [0]
    while (start := content.find(b"\nTree=", starts[-1])) >= 0:
        starts.append(start + 1)
    parts = [content[a:b] for a, b in zip(starts, [*starts[1:], len(content)], strict=True)]
    header = _fields(parts[0], bare=True)
    sizes = [int(size) for size in header.get("tree_sizes", "").split()]
    if "tree_sizes" in header and sizes != list(map(len, parts[1:])):
        raise DamagedModelError("its trees do not have the sizes that it says")
    return header, [_fields(part, bare=False) for part in parts[1:]]


def _fields(part: bytes, *, bare: bool) -> Fields:
    fields: dict[str, str] = {}
    for line in part.decode("utf-8").replace("\r\n", "\n").split("\n"):
        if not line.isprintable():
            raise DamagedModelError("it holds other than text")
        key, equal, value = line.partition("=")
        if line and not equal and not bare:
            raise DamagedModelError("a tree in it has a line without a value")
        if key:
            fields[key] = value
    return fields


def _check_outputs(objective: str, settings: Fields, outputs: int, classes: int) -> None:
    """The library trusts these to agree."""
    several = objective in ("multiclass", "multiclassova")
    told = int(settings.get("num_class", outputs)) if several else outputs
    single = not several and objective not in ("", "custom")
    if not outputs == classes == told or (single and outputs > 1):
        raise DamagedModelError("its classes do not fit its objective")


def _pandas_categories(content: bytes) -> tuple[tuple[Label, ...], ...]:
    at = content.rfind(b"\n" + PANDAS)
    found = json.loads(content[at + 1 + len(PANDAS) :].decode("utf-8")) if at >= 0 else None
    made = tuple(tuple(one) for one in found or ())
    if any(not isinstance(label, str | int | float) for one in made for label in one):
        raise DamagedModelError("a pandas category in it is neither text nor a number")
    return made


def _tree(block: Fields, output: int, columns: int) -> Tree:
    leaves, sets = int(block["num_leaves"]), int(block["num_cat"])
    if leaves < 1:
        raise DamagedModelError("a tree in it has no leaves")
    for keys, count in ((PER_LEAF, leaves), (PER_SPLIT, leaves - 1)):
        for key in keys:
            if key in block and count:
                _cells(block, key, count)
    inner = leaves - 1
    bits = numbers(block, "decision_type", inner, int)
    limit = numbers(block, "threshold", inner, float)
    sound = limit > -np.inf  # infinite where training separated missing values
    if ((bits < 0) | (bits > LARGEST_DECISION)).any() or not sound.all():
        raise DamagedModelError("a split in it is of no kind")
    children = [numbers(block, key, inner, int) for key in ("left_child", "right_child")]
    for child in children:
        if ((child >= inner) | (child < -leaves)).any():
            raise DamagedModelError("a tree in it has a child that does not exist")
    left, right = (np.where(child < 0, inner - 1 - child, child) for child in children)
    feature = numbers(block, "split_feature", inner, int)
    bound = np.where(limit >= 0, np.maximum(limit, ZERO), np.minimum(limit, below(-ZERO, float)))
    missing_right = np.where((bits >> 2) & 3 == NO_MISSING, limit < 0, bits & DEFAULT_LEFT == 0)
    questions = dict(_zero_questions(bits, limit, bound))
    if sets or (bits & CATEGORICAL).any():
        questions |= _category_questions(block, sets, bits, limit)
    value = numbers(block, "leaf_value", leaves, float)

    def padded(splits: Array) -> Array:
        return np.concatenate([splits, np.zeros(leaves, dtype=splits.dtype)])

    is_linear = bool(int(block.get("is_linear", "0")))
    if is_linear:  # which leaf it is, for now
        value = np.arange(leaves, dtype=np.float64)
    raw = Raw(
        padded(feature), padded(bound), padded(missing_right), padded(left), padded(right),
        np.concatenate([np.zeros(inner), value]),
        np.arange(inner + leaves) >= inner,
    )  # fmt: skip
    tree = checked(raw, questions, output, columns)
    if not is_linear:
        return tree
    marked = np.eye(leaves)[tree.value.astype(np.int64)] * (tree.feature < 0)[:, None]
    return replace(tree, value=marked, output=slice(None))


def _linear(block: Fields, columns: int) -> LinearLeaves:
    leaves = int(block["num_leaves"])
    start, counts = numbers(block, "leaf_const", leaves, float), _counts(block, leaves)
    places = np.array(block["leaf_features"].split(), dtype=int)
    factors = np.array(block["leaf_coeff"].split(), dtype=float)
    if places.size != counts.sum() or factors.size != counts.sum():
        raise DamagedModelError("its linear models have too few or many factors")
    if ((places < 0) | (places >= columns)).any():
        raise DamagedModelError("a linear model in it reads a column that does not exist")
    slopes = np.zeros((leaves, columns))
    np.add.at(slopes, (np.repeat(np.arange(leaves), counts), places), factors)
    if not (np.isfinite(slopes).all() and np.isfinite(start).all()):
        raise DamagedModelError("a linear model in it has factors that are no numbers")
    return LinearLeaves(slopes, start)


def _counts(block: Fields, leaves: int) -> Ints:
    counts: Ints = numbers(block, "num_features", leaves, int)
    if (counts < 0).any():
        raise DamagedModelError("its linear models have too few or many factors")
    return counts


def _zero_questions(bits: Ints, limit: Floats, bound: Floats) -> list[tuple[int, Question]]:
    """Nodes that send zero, which is missing, to the side where it would not go as a number."""
    zero = ((bits >> 2) & 3 == ZERO_IS_MISSING) & (bits & CATEGORICAL == 0)
    right = bits & DEFAULT_LEFT == 0
    odd = np.flatnonzero(zero & (right != (limit < 0)))
    return [
        (node, at_most(float(bound[node]), side).but(below(-ZERO, float), ZERO, side))
        for node, side in zip(odd.tolist(), right[odd].tolist(), strict=True)
    ]


def _category_questions(block: Fields, sets: int, bits: Ints, limit: Floats) -> dict[int, Question]:
    """Nodes that send a set of category codes to the left, and everything else to the right."""
    ends = numbers(block, "cat_boundaries", sets + 1, int)
    words = numbers(block, "cat_threshold", int(ends[-1]), int)
    if ends[0] != 0 or (np.diff(ends) < 0).any() or ((words < 0) | (words >= 2**32)).any():
        raise DamagedModelError("its category sets are inconsistent")
    made = {}
    for node in np.flatnonzero(bits & CATEGORICAL).tolist():
        if not 0 <= limit[node] < sets:
            raise DamagedModelError("a split of it names a category set that does not exist")
        place = int(limit[node])
        held = words[ends[place] : ends[place + 1]].astype("<u4").view(np.uint8)
        codes = np.flatnonzero(np.unpackbits(held, bitorder="little")).tolist()
        made[node] = in_codes(
            codes, right=False, missing_right=True, zero_after=-1.0, dtype=np.float64
        )
    return made


def numbers(block: Fields, key: str, count: int, kind: type) -> Array:
    """A field of so many integers or doubles."""
    return np.array(_cells(block, key, count) if count else [], dtype=kind)


def _cells(block: Fields, key: str, count: int) -> Sequence[str]:
    cells = block[key].split(" ")
    if len(cells) != count:
        raise DamagedModelError(f"its {key!r} are too few or many")
    return cells


INTEGERS = ("split_feature", "decision_type", "left_child", "right_child")


def rewritten_text(content: bytes, model: LgbModel) -> str:
    """The text of the same model; ``model`` is the content as read, without flaws."""
    with reading():
        header, blocks = parts_of(content[: content.find(b"\n" + END) + 1])
        lines = [*_header(header, model), ""]
        for place, block in enumerate(blocks):
            lines += [f"Tree={place}", *_tree_lines(block), "", ""]
    known = json.dumps([list(one) for one in model.categories])
    return "\n".join([*lines, END.decode(), "", f"pandas_categorical:{known}", ""])


def _header(header: Fields, model: LgbModel) -> Iterator[str]:
    yield "tree"
    yield "version=v4"
    yield f"num_class={model.outputs}"
    yield f"num_tree_per_iteration={model.outputs}"
    yield "label_index=0"
    yield f"max_feature_idx={model.columns - 1}"
    if model.objective:
        options = {
            "binary": f" sigmoid:{model.sigmoid:.17g}",
            "multiclass": f" num_class:{model.outputs}",
            "multiclassova": f" num_class:{model.outputs} sigmoid:{model.sigmoid:.17g}",
        }
        root = " sqrt" if model.link == "square" else ""
        yield f"objective={model.objective}{options.get(model.objective, root)}"
    if model.averaged is not None:
        yield "average_output"
    yield f"feature_names={' '.join(model.names)}"
    yield f"feature_infos={header['feature_infos']}"


def _tree_lines(block: Fields) -> Iterator[str]:
    leaves, sets = int(block["num_leaves"]), int(block["num_cat"])
    yield f"num_leaves={leaves}"
    yield f"num_cat={sets}"
    if leaves > 1:
        for key in INTEGERS:
            yield _line(key, numbers(block, key, leaves - 1, int).tolist())
        yield _line("threshold", numbers(block, "threshold", leaves - 1, float).tolist())
    yield _line("leaf_value", numbers(block, "leaf_value", leaves, float).tolist())
    if sets and leaves > 1:
        ends = numbers(block, "cat_boundaries", sets + 1, int).tolist()
        yield _line("cat_boundaries", ends)
        yield _line("cat_threshold", numbers(block, "cat_threshold", ends[-1], int).tolist())
    if int(block.get("is_linear", "0")):
        yield from _linear_lines(block, leaves)
    else:
        yield "is_linear=0"
    yield "shrinkage=1"


def _linear_lines(block: Fields, leaves: int) -> Iterator[str]:
    counts = _counts(block, leaves).tolist()
    ends = np.cumsum([0, *counts]).tolist()
    yield "is_linear=1"
    yield _line("leaf_const", numbers(block, "leaf_const", leaves, float).tolist())
    yield _line("num_features", counts)
    for key, kind in (("leaf_features", int), ("leaf_coeff", float)):
        held = [kind(one) for one in block[key].split()]
        parts = [_line("", held[a:b])[1:] + " " if a < b else "" for a, b in pairwise(ends)]
        yield f"{key}={' '.join(parts)} "


def _line(key: str, values: list[int] | list[float]) -> str:
    cells = (str(one) if isinstance(one, int) else f"{one:.17g}" for one in values)
    return f"{key}={' '.join(cells)}"

"""Histogram gradient boosting: splits of doubles, and of sets of categories.

A split of numbers is ``x <= threshold`` in doubles, without rounding to float32.  A split of
categories asks whether the category's code is in a set; an unknown category goes where a missing
value goes.  Such a split becomes an indicator column, 0 for left and 1 for right, that the tree
compares with one half.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn._loss.link import IdentityLink, LogLink
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from ...arrays import Bools, Floats, Ints
from ...ir import Operand, ops
from .encoders import Codebook, has_gap, number, ordinal_codebooks, symbol
from .linear import binary_label, pair, several_outputs
from .lowering import Lowering, Refs, tensor
from .registry import Estimator, Outputs, model
from .tracing import Compared, compared
from .trees import Nodes, cuts, joined

Split = tuple[bool, ...]  # per value that a column can hold: whether it goes right
HALF = 0.5


def _codebooks(estimator: Estimator) -> list[Codebook]:
    """Of the categorical columns: what the booster's own encoder makes of their values."""
    if estimator.is_categorical_ is None or not estimator.is_categorical_.any():
        return []
    return ordinal_codebooks(estimator._preprocessor.named_transformers_["encoder"])


def _ambiguous_missing(estimator: Estimator) -> Iterator[str]:
    for place, book in enumerate(_codebooks(estimator)):
        if book.known.count(None) > 1:
            yield f"tells None from NaN in its categorical column {place}, and tables do not"


class _Columns:
    """The columns that the trees compare: numbers as they are, and one indicator per split.

    ``refs`` are the booster's columns in its own order, the categorical ones first.
    """

    def __init__(self, lowering: Lowering, estimator: Estimator, refs: Refs) -> None:
        self.lowering = lowering
        self.books = _codebooks(estimator)
        categorical = estimator.is_categorical_
        self.refs = refs if categorical is None else _categorical_first(refs, categorical)
        self.known: npt.NDArray[np.uint32]
        self.known, self.place = estimator._bin_mapper.make_known_categories_bitsets()
        self.symbols = [symbol(lowering, ref) for ref in self.refs]
        self.values = [self._values(feature) for feature in range(len(self.refs))]
        self.splits: list[dict[Split, int]] = [{} for _ in self.refs]

    def _values(self, feature: int) -> Floats | None:
        """What the trees see of each value that is split one by one, NaN if missing.

        Labels in turn; or of a column of numbers the known categories, then all other numbers.
        ``None`` if the column is compared with thresholds.
        """
        held = self.symbols[feature]
        if feature >= len(self.books):
            gap = held is not None and has_gap(held.cells)
            return np.array([number(cell) for cell in held.cells]) if held and gap else None
        book = self.books[feature]
        codes = dict(zip(book.known, book.rows[:, 0].tolist(), strict=True))
        if held is not None:
            return np.array([codes.get(cell, np.nan) for cell in held.cells])
        return np.array([codes[known] for known in _numbers(book)] + [np.nan])

    def node(self, node: Any, left_sets: npt.NDArray[np.uint32]) -> tuple[int, int]:
        """Column and place of a split: place -1 for the column itself."""
        feature = int(node["feature_idx"])
        values = self.values[feature]
        if values is None:
            return feature, -1
        known = self.known[self.place[feature]] if len(self.known) else self.known
        right = tuple(not _goes_left(node, value, left_sets, known) for value in values.tolist())
        return feature, self.splits[feature].setdefault(right, len(self.splits[feature]))

    def vector(self) -> tuple[Compared, list[int]]:
        """All columns as one vector, and where each of ``refs`` (or its indicators) starts."""
        plain = [place for place, values in enumerate(self.values) if values is None]
        parts: list[Operand] = []
        numbers = compared(self.lowering, [self.refs[place] for place in plain], gaps=True)
        start, width = [0] * len(self.refs), numbers.width
        for position, place in enumerate(plain):
            start[place] = position
        for place, splits in enumerate(self.splits):
            if splits:
                parts.append(self._indicators(place, list(splits)))
                start[place] = width
            width += len(splits)
        if not width:  # no tree splits, and all columns are categories
            parts, width = [self.lowering.constant(np.zeros(1))], 1
        return numbers.beside(parts, width - numbers.width), start

    def _indicators(self, feature: int, splits: list[Split]) -> Operand:
        table = np.array(splits, dtype=np.float64).T
        held = self.symbols[feature]
        if held is not None:
            return self.lowering.let(ops.Lookup(held.category, held.labels, tensor(table)))
        other, rows = table[-1], table[:-1]
        if not len(rows):
            return self.lowering.constant(other)
        known = self.lowering.constant([float(one) for one in _numbers(self.books[feature])])
        equal = self.lowering.let(ops.Eq(self.lowering.vector([self.refs[feature]]), known))
        hits = self.lowering.let(ops.ToReal(equal))
        return self.lowering.let(ops.Affine(hits, tensor((rows - other).T), tensor(other)))


def _categorical_first(refs: Refs, categorical: Bools) -> Refs:
    chosen = categorical.tolist()
    first = tuple(ref for ref, is_one in zip(refs, chosen, strict=True) if is_one)
    return first + tuple(ref for ref, is_one in zip(refs, chosen, strict=True) if not is_one)


def _numbers(book: Codebook) -> list[int | float]:
    return [known for known in book.known if isinstance(known, int | float)]


def _goes_left(
    node: Any, value: float, left_sets: npt.NDArray[np.uint32], known: npt.NDArray[np.uint32]
) -> bool:
    """The side of one value, as the library decides it."""
    if not np.isnan(value):
        if not node["is_categorical"]:
            return bool(value <= node["num_threshold"])
        code = int(value)
        if _contains(left_sets[node["bitset_idx"]], code):
            return True
        if _contains(known, code):
            return False
    return bool(node["missing_go_to_left"])


def _contains(bitset: npt.NDArray[np.uint32], code: int) -> bool:
    return bool(int(bitset[code // 32]) >> (code % 32) & 1)


def _raw(lowering: Lowering, estimator: Estimator, refs: Refs) -> tuple[str, int]:
    """The raw sums, a vector, and its length: one, or one per class."""
    base = np.ravel(estimator._baseline_prediction)
    columns = _Columns(lowering, estimator, refs)
    trees = [
        (place, predictor.nodes, _located(columns, predictor))
        for stage in estimator._predictors
        for place, predictor in enumerate(stage)
    ]
    whole, starts = columns.vector()
    start = np.array(starts, dtype=np.int64)
    made = []
    for place, nodes, located in trees:
        value = np.zeros((len(nodes), base.size))
        value[:, place] = nodes["value"]
        made.append(_nodes(whole, nodes, start[located[:, 0]], located[:, 1], value))
    return lowering.let(joined(whole.vector(), made, base)), base.size


def _located(columns: _Columns, predictor: Any) -> Ints:
    """Column and place (n, 2) that each node compares; zeros on leaves."""
    nodes, sets = predictor.nodes, predictor.raw_left_cat_bitsets
    return np.array(
        [(0, -1) if node["is_leaf"] else columns.node(node, sets) for node in nodes], dtype=np.int64
    ).reshape(-1, 2)


def _nodes(columns: Compared, nodes: Any, start: Ints, place: Ints, value: Floats) -> Nodes:
    feature = np.where(nodes["is_leaf"], -1, start + np.maximum(place, 0))
    # the bound is infinite where a node only splits off missing values
    bound = np.where(place >= 0, HALF, nodes["num_threshold"])
    right = nodes["missing_go_to_left"] == 0
    feature, threshold = cuts(columns, feature, bound, right, single=False)
    return Nodes(feature, threshold, nodes["left"], nodes["right"], value)


@model("classifier", HistGradientBoostingClassifier, flaws=_ambiguous_missing)
def lower_histogram_classifier(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
    """Label: the second class iff ``raw > 0``, or the class of the highest sum."""
    raw, width = _raw(lowering, estimator, refs)
    if width > 1:
        return several_outputs(lowering, estimator.classes_, raw)
    score = lowering.let(ops.Item(raw, 0))
    share = lowering.let(ops.Sigmoid(score))
    label = binary_label(lowering, estimator.classes_, score)
    return {"label": label, "score": score, "probability": pair(lowering, share)}


def _regressor_flaws(estimator: Estimator) -> Iterator[str]:
    yield from _ambiguous_missing(estimator)
    link = type(estimator._loss.link)
    if link not in (IdentityLink, LogLink):
        yield f"its loss has the link {link.__name__}, which is not supported"


@model("regressor", HistGradientBoostingRegressor, flaws=_regressor_flaws)
def lower_histogram_regressor(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
    """``value``: the raw sum, or its exponential (losses 'poisson' and 'gamma')."""
    raw, _ = _raw(lowering, estimator, refs)
    value = lowering.let(ops.Item(raw, 0))
    logarithmic = type(estimator._loss.link) is LogLink
    return {"value": lowering.let(ops.Exp(value)) if logarithmic else value}

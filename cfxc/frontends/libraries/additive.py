"""Explainable boosting machines of ``interpret``: sums of tables over bins, and pairs of bins.

A column of numbers has bin i where ``cut[i-1] <= x < cut[i]``, and bin 0 where it is missing; one
of categories, a bin for each.
A table becomes a tree that halves it until what is left is constant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor
from interpret.glassbox._ebm._bin import eval_terms
from interpret.utils._clean_x import preclean_X

from ...arrays import Floats
from ...ir import Operand, ops
from ...space import FeatureSpace, Label
from ..boosters.columns import Coding, summed
from ..boosters.forest import Forest, Question, Tree, at_most, below, in_codes, tree_of
from ..sklearn.encoders import symbol
from ..sklearn.linear import binary_label, pair, several_outputs
from ..sklearn.lowering import Lowering, Refs
from ..sklearn.registry import Estimator, Outputs, model
from ..sklearn.tracing import ALWAYS
from .cells import categories, series

UNNAMED = re.compile(r"feature_\d{4}")
LINKS = ("logit", "mlogit")
LEAST = float(np.nextafter(-ALWAYS, 0.0))  # no column holds a number below it


@dataclass(frozen=True)
class Axis:
    """One column of a table: its bins in order, and how to tell those before one from the rest.

    ``cuts[i]`` is the first number of bin i + 1; or ``codes[i]`` are the categories of bin i.
    """

    column: int
    bins: Sequence[int]
    cuts: Sequence[float] = ()
    codes: Sequence[Sequence[int]] = ()

    def question(self, start: int, middle: int, end: int) -> Question:
        """Of the bins in [start, end), right from ``middle`` on."""
        if not self.codes:
            bound = self.cuts[middle - 1]
            return at_most(below(bound, np.float64), False)
        chosen = sorted(code for held in self.codes[middle:end] for code in held)
        return in_codes(chosen, right=True, missing_right=False, zero_after=-1.0, dtype=np.float64)


class Halving:
    """A table over some axes as a tree."""

    def __init__(self, axes: Sequence[Axis], table: Floats) -> None:
        self.axes = axes
        self.table = table  # (bins of each axis …, outputs)
        self.asked: list[tuple[int, Question] | None] = []
        self.child: tuple[list[int], list[int]] = ([], [])
        self.values: list[Floats] = []

    def tree(self) -> Tree:
        """Nodes in order, children after their parent; it adds to all outputs."""
        whole = tuple((0, size) for size in self.table.shape[:-1])
        pending: list[tuple[tuple[tuple[int, int], ...], int, int]] = [(whole, -1, 0)]
        while pending:
            box, parent, side = pending.pop()
            here = len(self.asked)
            if parent >= 0:
                self.child[side][parent] = here
            split = self._split(box)
            self._append(None if split is None else self._question(box, *split), box)
            if split is not None:
                at, middle = split
                start, end = box[at]
                for right, part in ((1, (middle, end)), (0, (start, middle))):
                    pending.append(((*box[:at], part, *box[at + 1 :]), here, right))
        return tree_of(self.asked, self.child, np.array(self.values))

    def _split(self, box: tuple[tuple[int, int], ...]) -> tuple[int, int] | None:
        """The axis with most changes, and the middle one of them; ``None`` if there is none."""
        part = self.table[tuple(slice(start, end) for start, end in box)]
        changes = []
        for at in range(len(box)):
            moved = np.moveaxis(part, at, 0)
            others = tuple(range(1, moved.ndim))
            differs = (moved[1:] != moved[:-1]).any(axis=others)
            changes.append(np.flatnonzero(differs) + 1)
        at = int(np.argmax([found.size for found in changes]))
        found = changes[at]
        return (at, box[at][0] + int(found[found.size // 2])) if found.size else None

    def _question(
        self, box: tuple[tuple[int, int], ...], at: int, middle: int
    ) -> tuple[int, Question]:
        axis = self.axes[at]
        return axis.column, axis.question(box[at][0], middle, box[at][1])

    def _append(self, asked: tuple[int, Question] | None, box: tuple[tuple[int, int], ...]) -> None:
        corner = self.table[tuple(start for start, _ in box)]
        self.asked.append(asked)
        self.values.append(np.zeros_like(corner) if asked else corner)
        for each in self.child:
            each.append(0)


class _Machine:
    """A fitted machine on the columns ``refs``."""

    def __init__(self, lowering: Lowering, estimator: Estimator, refs: Refs) -> None:
        self.lowering, self.estimator, self.refs = lowering, estimator, refs
        self.cells: dict[int, Sequence[Label]] = {}
        for place in {place for term in estimator.term_features_ for place in term}:
            if estimator.feature_types_in_[place] == "continuous":
                held = symbol(lowering, refs[place])
                own = list(dict.fromkeys(held.cells)) if held and None in held.cells else None
            else:
                own = categories(lowering, refs[place])
            if own is not None:
                self.cells[place] = own

    def sums(self) -> str:
        """The intercept and all terms, a vector."""
        estimator = self.estimator
        base = np.ravel(estimator.intercept_).astype(np.float64)
        if self.lowering.problems:
            return self.lowering.constant(base)
        trees = tuple(
            self._tree(term, np.reshape(scores, (*scores.shape[: len(term)], base.size)))
            for term, scores in zip(estimator.term_features_, estimator.term_scores_, strict=True)
        )
        codings = {
            place: Coding({label: float(code) for code, label in enumerate(cells)}, strict=False)
            for place, cells in self.cells.items()
        }
        forest = Forest(trees, base, len(self.refs), single=False)
        return summed(self.lowering, self.refs, forest, codings)

    def _tree(self, term: Sequence[int], scores: Floats) -> Tree:
        axes = [self._axis(place, len(term)) for place in term]
        for at, axis in enumerate(axes):
            scores = np.take(scores, axis.bins, axis=at)
        return Halving(axes, scores).tree()

    def _axis(self, place: int, size: int) -> Axis:
        levels = self.estimator.bins_[place]
        level = levels[min(len(levels), size) - 1]
        if place not in self.cells:
            if not self.lowering.gap(self.refs[place]):
                return Axis(place, range(1, len(level) + 2), cuts=level.tolist())
            # Missing numbers have bin 0, and go left wherever a tree asks.
            return Axis(place, range(len(level) + 2), cuts=[LEAST, *level.tolist()])
        found = self._bins(place, level)
        bins = sorted(set(found))
        return Axis(
            place,
            bins,
            codes=[[code for code, one in enumerate(found) if one == each] for each in bins],
        )

    def _bins(self, place: int, level: Any) -> list[int]:
        """The bin of each category, as the library finds it; -1, the last one, if unknown."""
        estimator, cells, ref = self.estimator, self.cells[place], self.refs[place]
        names, types = estimator.feature_names_in_, estimator.feature_types_in_
        frame = pd.DataFrame({name: np.zeros(len(cells)) for name in names})
        frame[names[place]] = series(ref, cells)
        table, count = preclean_X(frame, names, types)
        bins = [*estimator.bins_]
        bins[place] = [level]
        ((made,),) = eval_terms(table, count, names, types, bins, [(place,)])
        return [int(one) for one in made]


def _names(estimator: Estimator, space: FeatureSpace) -> Sequence[Any] | None:
    names: list[str] = estimator.feature_names_in_
    unnamed = all(map(UNNAMED.fullmatch, names)) and not set(names) <= set(space.columns)
    return None if unnamed else names


def _flaws(estimator: Estimator) -> Iterator[str]:
    if not all(np.isfinite(scores).all() for scores in estimator.term_scores_):
        yield "has terms that are not finite"


def _classifier_flaws(estimator: Estimator) -> Iterator[str]:
    yield from _flaws(estimator)
    if len(estimator.classes_) < 2:
        yield "was trained on one class only"
    elif estimator.link_ not in LINKS:
        yield f"its link {estimator.link_!r} is not supported; train it with the default"


def _regressor_flaws(estimator: Estimator) -> Iterator[str]:
    yield from _flaws(estimator)
    if estimator.link_ not in ("identity", "log"):
        yield f"its link {estimator.link_!r} is not supported; train it with objective='rmse'"


@model("classifier", ExplainableBoostingClassifier, flaws=_classifier_flaws, names=_names)
def lower_additive_classifier(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
    """Label: the second class iff the sum is positive, or the highest sum."""
    sums: Operand = _Machine(lowering, estimator, refs).sums()
    classes = estimator.classes_
    if len(classes) > 2:
        return several_outputs(lowering, classes, sums)
    score = lowering.let(ops.Item(sums, 0))
    share = pair(lowering, lowering.let(ops.Sigmoid(score)))
    label = binary_label(lowering, classes, score)
    return {"label": label, "score": score, "probability": share}


@model("regressor", ExplainableBoostingRegressor, flaws=_regressor_flaws, names=_names)
def lower_additive_regressor(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
    """``value``: the sum, or under a logarithmic link its exponential."""
    value = lowering.let(ops.Item(_Machine(lowering, estimator, refs).sums(), 0))
    return {"value": lowering.let(ops.Exp(value)) if estimator.link_ == "log" else value}

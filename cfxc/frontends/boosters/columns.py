"""The columns that boosted trees split, and the sum of the trees on them.

Numbers are compared as they are.  Where a question has more than one bound, or a column holds
categories or may be missing, the tree compares an indicator with one half: 0 for left, 1 for right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from ...arrays import Floats, Ints
from ...ir import Literal, Operand, ops
from ...space import Label
from ...space.names import shown
from ..sklearn.encoders import Symbol, has_gap, number, symbol
from ..sklearn.linear import Classes, binary_label_from, pair, several_outputs, top_label, values
from ..sklearn.lowering import Lowering, Raw, Ref, Refs, tensor
from ..sklearn.registry import Outputs
from ..sklearn.tracing import Compared, compared
from ..sklearn.trees import Nodes, cuts, joined
from .forest import Forest, Question, Tree

HALF = 0.5
KNOWN = (
    "Drop from the space what the model does not know (labels), or train it with these categories."
)
DECLARE = "Declare the column categorical in the feature space (kinds)."


@dataclass(frozen=True)
class Coding:
    """What the trees see of a column of categories: their codes, as floats.

    ``strict``: the library refuses values without a code; else they count as missing.
    """

    codes: Mapping[Label, float]
    strict: bool


@dataclass
class _Column:
    """One used column: the values it can hold one by one, if so, and its indicators so far."""

    ref: Ref
    symbol: Symbol | None = None
    values: Floats | None = None
    plain: bool = False
    indicators: dict[tuple[bool, ...] | Question, int] = field(default_factory=dict)

    def place(self, question: Question) -> int:
        """Which of the indicators answers the question; -1 for the column itself."""
        if self.values is None and question.is_plain:
            self.plain = True
            return -1
        key: tuple[bool, ...] | Question = question
        if self.values is not None:
            key = tuple(map(question.sends_right, self.values.tolist()))
        return self.indicators.setdefault(key, len(self.indicators))


def summed(lowering: Lowering, refs: Refs, forest: Forest, codings: Mapping[int, Coding]) -> str:
    """The base plus the sum of the trees, a vector, on the columns ``refs``."""
    if not forest.trees:
        return lowering.constant(forest.base)
    columns = _Columns(lowering, refs, forest, codings)
    placed = [columns.placed(tree) for tree in forest.trees]
    whole, starts = columns.vector()
    made = [
        _nodes(whole, starts, tree, place, forest)
        for tree, place in zip(forest.trees, placed, strict=True)
    ]
    return lowering.let(joined(whole.vector(), made, forest.base))


def _nodes(whole: Compared, starts: Ints, tree: Tree, place: Ints, forest: Forest) -> Nodes:
    inner = tree.feature >= 0
    feature = np.where(inner, starts[tree.feature, np.minimum(place + 1, 1)], -1)
    feature = np.where(inner, feature + np.maximum(place, 0), feature)
    itself = np.where(inner & (place < 0), feature, -1)
    bounds = np.where(itself >= 0, tree.bound, 0.0)
    asked, threshold = cuts(whole, itself, bounds, tree.missing_right, single=forest.single)
    feature = np.where(itself >= 0, asked, feature)
    value = np.zeros((feature.size, forest.base.size))
    value[:, tree.output] = tree.value
    return Nodes(feature, np.where(place >= 0, HALF, threshold), tree.left, tree.right, value)


class _Columns:
    """What the nodes compare, collected tree by tree."""

    def __init__(
        self, lowering: Lowering, refs: Refs, forest: Forest, codings: Mapping[int, Coding]
    ) -> None:
        self.lowering, self.single, self.count = lowering, forest.single, len(refs)
        features = np.concatenate([tree.feature for tree in forest.trees])
        asked = {int(t.feature[node]) for t in forest.trees for node in t.questions}
        self.columns = {
            place: self._column(refs[place], codings.get(place), place in asked)
            for place in np.unique(features[features >= 0]).tolist()
        }

    def _column(self, ref: Ref, coding: Coding | None, asked: bool) -> _Column:
        held = symbol(self.lowering, ref)
        if coding is not None:
            return _Column(ref, held, self._codes(ref, held, coding))
        if held is None or not (asked or has_gap(held.cells)):
            return _Column(ref)
        if any(isinstance(cell, str) for cell in held.cells):
            return _Column(ref)  # a problem that the column itself reports
        return _Column(ref, held, self._seen([number(cell) for cell in held.cells]))

    def _codes(self, ref: Ref, held: Symbol | None, coding: Coding) -> Floats:
        name = repr(ref.column) if isinstance(ref, Raw) else "made by an earlier step"
        if held is None:
            self.lowering.problem(
                f"column {name} holds categories of the model, and numbers in the feature space",
                DECLARE,
            )
            return np.zeros(0)
        cells = held.cells
        strangers = [cell for cell in cells if cell is not None and cell not in coding.codes]
        if strangers and coding.strict:
            self.lowering.problem(
                f"column {name} can hold {shown(strangers)}, which the model does not know", KNOWN
            )
        return self._seen([coding.codes.get(cell, np.nan) for cell in cells])

    def _seen(self, values: list[float]) -> Floats:
        array = np.array(values, dtype=np.float64)
        return array.astype(np.float32).astype(np.float64) if self.single else array

    def placed(self, tree: Tree) -> Ints:
        """Per node, the place of its indicator among those of its column; -1 for the column."""
        place = np.full(tree.feature.size, -1, dtype=np.int64)
        for feature in np.unique(tree.feature[tree.feature >= 0]).tolist():
            column = self.columns[feature]
            nodes = np.flatnonzero(tree.feature == feature).tolist()
            if column.values is None:
                column.plain = column.plain or any(n not in tree.questions for n in nodes)
                nodes = [node for node in nodes if node in tree.questions]
            for node in nodes:
                place[node] = column.place(tree.question(node))
        return place

    def vector(self) -> tuple[Compared, Ints]:
        """All of it as one vector; and where each column starts: itself, its indicators."""
        starts = np.zeros((self.count, 2), dtype=np.int64)
        plain = [place for place, column in self.columns.items() if column.plain]
        parts: list[Operand] = []
        starts[plain, 0] = np.arange(len(plain))
        refs = [self.columns[place].ref for place in plain]
        numbers = compared(self.lowering, refs, gaps=True)
        width = numbers.width
        for place, column in self.columns.items():
            if column.indicators:
                starts[place, 1] = width
                parts.append(self._indicators(column))
                width += len(column.indicators)
        if not width:  # no tree splits
            parts, width = [self.lowering.constant(np.zeros(1))], 1
        return numbers.beside(parts, width - numbers.width), starts

    def _indicators(self, column: _Column) -> Operand:
        keys = list(column.indicators)
        held, let = column.symbol, self.lowering.let
        questions = [key for key in keys if isinstance(key, Question)]
        if len(questions) < len(keys):  # one by one
            if held is None:
                return self.lowering.constant(np.zeros(len(keys)))
            table = np.array(keys, dtype=np.float64).T
            return let(ops.Lookup(held.category, held.labels, tensor(table)))
        start = np.array([float(question.right[0]) for question in questions])
        bounds = sorted({bound for question in questions for bound in question.bounds})
        numbers = compared(self.lowering, [column.ref], gaps=True)
        if not bounds and not numbers.ends:
            return self.lowering.constant(start)
        here = np.zeros(len(bounds), dtype=np.int64)
        asked, moved = cuts(numbers, here, np.array(bounds), single=self.single)
        x = numbers.vector()
        compared_with = let(ops.Take(x, tuple(asked.tolist()))) if asked.any() else x
        above = let(ops.ToReal(let(ops.Gt(compared_with, self.lowering.constant(moved)))))
        steps = np.zeros((len(questions), len(bounds)))
        for row, question in enumerate(questions):
            for i, bound in enumerate(question.bounds):
                steps[row, bounds.index(bound)] = float(question.right[i + 1]) - question.right[i]
        if numbers.ends:  # a missing number lies above no bound
            above = let(ops.Concat((above, numbers.missing(0))))
            sides = [float(question.missing) for question in questions]
            steps = np.column_stack([steps, np.array(sides) - start])
        return let(ops.Affine(above, tensor(steps), tensor(start)))


SMOOTH = {"exp": ops.Exp, "sigmoid": ops.Sigmoid}


def value_outputs(
    lowering: Lowering, sums: Operand, width: int, link: str, factor: float = 1.0
) -> Outputs:
    """``value``: the link function of the sums, or of ``factor`` times them; one per target."""
    made = _scaled(lowering, sums, factor)
    if link in SMOOTH:
        made = lowering.let(SMOOTH[link](made))
    elif link == "square":  # with the sign of the sum
        made = lowering.let(ops.Mul(made, lowering.let(ops.Abs(made))))
    return {"value": values(lowering, made, width)}


def binary_outputs(
    lowering: Lowering, classes: Classes, sums: Operand, cut: float, link: str, factor: float = 1.0
) -> Outputs:
    """The second class iff the sum is at least ``cut``."""
    score = lowering.let(ops.Item(sums, 0))
    made: Outputs = {
        "label": binary_label_from(lowering, classes, score, Literal(Fraction(cut))),
        "score": score,
    }
    if link == "sigmoid":
        share = lowering.let(ops.Sigmoid(_scaled(lowering, score, factor)))
        made["probability"] = pair(lowering, share)
    return made


def class_outputs(
    lowering: Lowering, classes: Classes, sums: Operand, link: str, factor: float = 1.0
) -> Outputs:
    """The class of the highest sum, ties to the first: the link functions all rise."""
    if link == "softmax":
        return several_outputs(lowering, classes, sums)
    made: Outputs = {"label": top_label(lowering, classes, sums), "score": sums}
    if link == "sigmoid":  # one against the rest, not normalised
        made["probability"] = lowering.let(ops.Sigmoid(_scaled(lowering, sums, factor)))
    return made


def _scaled(lowering: Lowering, sums: Operand, factor: float) -> Operand:
    if factor == 1.0:
        return sums
    return lowering.let(ops.Mul(sums, Literal(Fraction(factor))))

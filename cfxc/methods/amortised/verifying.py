"""Whether rows are counterfactuals: the program's scores, the constraints, the original model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.special import softmax

from ...arrays import Array, Bools, Floats
from ...compiler.passes import multiply_out
from ...errors import UnsupportedError
from ...frontends.predictor import DOUBLE
from ...ir import BatchEvaluator, Program, evaluate
from ...ir.batch import all_hold
from ...ir.patterns import keep_outputs
from ...question.criteria import Constraint
from ...question.target import Target, target_program
from ...solvers.rounding import slack_within
from ...solvers.rows import exact_value
from ...space import FeatureSpace

LEAST = 1e-3
"""A probability below this counts as this, where samples are judged: forests give 0, whose
logarithm would drown what else there is to learn."""
CHUNK = 1 << 12
"""Rows evaluated at once, so that what lies between stays in cache."""


class Judge:
    """log P(class) of rows, by probabilities, else scores, else by the label alone.

    A score is divided by its spread over the training rows: nothing says what its unit is.

    Attributes:
        source: The output it reads: ``probability``, ``score`` or ``label``.
        spread: What scores are divided by.
    """

    def __init__(self, program: Program, columns: Mapping[str, Array]) -> None:
        names = dict(program.outputs)
        self.labels = program.output_sorts["label"].labels
        known = (name for name in ("probability", "score") if name in names)
        self.source = next(known, "label")
        self.program = multiply_out(keep_outputs(program, [self.source]))
        self.evaluator = BatchEvaluator(self.program)
        self.spread = 1.0
        if self.source == "score":
            self.spread = float(np.std(self._outputs(columns))) or 1.0

    def log_chances(self, columns: Mapping[str, Array]) -> Floats:
        """log P (n, classes), at least ``log(LEAST)``."""
        found = self._outputs(columns)
        if self.source == "label":
            chances = np.zeros((found.shape[0], len(self.labels)))
            np.put_along_axis(chances, found[:, None].astype(np.int64), 1.0, axis=1)
        elif self.source == "score":
            chances = softmax(pairs(found / self.spread), axis=1)
        else:
            chances = found
        logs: Floats = np.log(np.maximum(chances, LEAST))
        return logs

    def _outputs(self, columns: Mapping[str, Array]) -> Array:
        return in_chunks(self.evaluator, columns)[self.source]


def in_chunks(evaluator: BatchEvaluator, columns: Mapping[str, Array]) -> dict[str, Array]:
    """The evaluator's outputs on rows of any number."""
    names = [name for name, _ in evaluator.program.inputs]
    rows = max((columns[name].shape[0] for name in columns), default=0)
    starts = range(0, max(rows, 1), CHUNK)
    parts = [evaluator({n: columns[n][i : i + CHUNK] for n in names}) for i in starts]
    if not names:
        return {n: np.broadcast_to(a, (rows, *a.shape[1:])) for n, a in parts[0].items()}
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def pairs(score: Any) -> Any:
    """Scores of two classes (n, 2) from the one of the second; others as they are."""
    return score if score.ndim == 2 else np.stack([0 * score, score], axis=1)


Columns = Mapping[str, Array]


class Goal:
    """The rows that the exact program puts into a target.

    The batch evaluator decides where the deciding score is won, or lost, by more than its rounding
    can amount to (twice a sound bound: once for the scores, once for comparing them).  What lies
    between, or has no such bound, is evaluated in exact rationals.
    """

    def __init__(
        self, program: Program, space: FeatureSpace, target: Target, columns: Columns
    ) -> None:
        self.space, program = space, multiply_out(program)
        self.exact = target_program(program, target, Fraction(0))
        self.plain = BatchEvaluator(self.exact)
        self.clear: BatchEvaluator | None = None
        try:
            slack = slack_within(program, target, _box(space, columns), DOUBLE)
        except UnsupportedError:
            return
        clear = target_program(program, target, 2 * slack)
        if not slack:  # nothing rounds
            self.clear = self.plain
        elif clear != self.exact:
            self.clear = BatchEvaluator(clear)

    def reached(self, columns: Columns) -> Bools:
        """Which rows the batch evaluator puts into the target: to choose from, not to return."""
        found: Bools = in_chunks(self.plain, columns)["in_target"].astype(bool)
        return found

    def proved(self, columns: Columns) -> Bools:
        """Which rows the exact program puts into the target."""
        found = self.reached(columns)
        sure = np.zeros_like(found)
        if self.clear is not None:
            sure = in_chunks(self.clear, columns)["in_target"].astype(bool)
        near = np.flatnonzero(found & ~sure)
        found[near] = Exactly(self.exact, "in_target", self.space)(
            {name: column[near] for name, column in columns.items()}
        )
        return found


class Exactly:
    """A program's truth value on many rows in exact rationals, each distinct row once."""

    def __init__(self, program: Program, output: str, space: FeatureSpace) -> None:
        self.program, self.output = program, output
        self.names = [name for name, _ in program.inputs]
        known = [n if n in space else n.removeprefix("factual.") for n in self.names]
        self.features = [space[name] for name in known]
        self.known: dict[tuple[float, ...], bool] = {}

    def __call__(self, columns: Columns) -> Bools:
        """Which rows it holds for."""
        if not self.names:
            count = len(next(iter(columns.values())))
            return np.full(count, bool(evaluate(self.program, {})[self.output]))
        rows = np.column_stack([columns[name].astype(np.float64) for name in self.names])
        distinct, back = np.unique(rows, axis=0, return_inverse=True)
        held = np.array([self._one(tuple(row)) for row in distinct.tolist()], dtype=bool)
        found: Bools = held[back.ravel()]
        return found

    def _one(self, row: tuple[float, ...]) -> bool:
        if row not in self.known:
            cells = zip(self.names, self.features, row, strict=True)
            values = {name: exact_value(feature, value) for name, feature, value in cells}
            self.known[row] = bool(evaluate(self.program, values)[self.output])
        return self.known[row]


class Conditions:
    """Constraints over rows and the instances they are of, as ``Rules`` has them."""

    def __init__(self, constraints: Sequence[Constraint], space: FeatureSpace) -> None:
        self.texts = [each.text for each in constraints]
        self.quick = [BatchEvaluator(each.program) for each in constraints]
        self.exact = [Exactly(each.program, "holds", space) for each in constraints]

    def __bool__(self) -> bool:
        return bool(self.texts)

    def seem_kept(self, columns: Columns, rows: int) -> Bools:
        """Which rows keep all of them, in doubles; ``columns`` has ``factual.…`` too."""
        return all_hold(self.quick, columns, rows)

    def kept(self, columns: Columns, rows: int) -> Bools:
        """Which rows keep all of them, exactly."""
        found = np.ones(rows, dtype=bool)
        for exactly in self.exact:
            found &= exactly(columns)
        return found


def _box(
    space: FeatureSpace, columns: Columns
) -> tuple[tuple[str, tuple[Fraction, Fraction] | None], ...]:
    """The space's ranges, widened to the values that there are."""
    box: list[tuple[str, tuple[Fraction, Fraction] | None]] = []
    for feature in space:
        if feature.is_symbolic:
            box.append((feature.name, None))
            continue
        low, high = feature.bounds
        own = columns[feature.name]
        ends = min(low, Fraction(float(own.min()))), max(high, Fraction(float(own.max())))
        box.append((feature.name, ends))
    return tuple(box)

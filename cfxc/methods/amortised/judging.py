"""What the compiled program makes of rows: log-probabilities, from what it gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ...ir import BatchEvaluator, Program
from ...ir.unused import keep_outputs

Floats = npt.NDArray[np.float64]

LEAST = 1e-3
"""A probability below this counts as this, where samples are judged: forests give 0, whose
logarithm would drown what else there is to learn."""
CHUNK = 1 << 15
"""Rows evaluated at once, so that what lies between stays in cache."""


class Judge:
    """log P(class) of rows, by probabilities, else scores, else by the label alone.

    A score is divided by its spread over the training rows: nothing says what its unit is.

    Attributes:
        source: The output it reads: ``probability``, ``score`` or ``label``.
        spread: What scores are divided by.
    """

    def __init__(self, program: Program, columns: Mapping[str, npt.NDArray[Any]]) -> None:
        names = dict(program.outputs)
        self.labels = program.output_sorts["label"].labels
        known = (name for name in ("probability", "score") if name in names)
        self.source = next(known, "label")
        self.program = keep_outputs(program, [self.source])
        self.evaluator = BatchEvaluator(self.program)
        self.spread = 1.0
        if self.source == "score":
            self.spread = float(np.std(self._outputs(columns))) or 1.0

    def log_chances(self, columns: Mapping[str, npt.NDArray[Any]]) -> Floats:
        """log P (n, classes), at least ``log(LEAST)``."""
        found = self._outputs(columns)
        if self.source == "label":
            chances = np.zeros((found.shape[0], len(self.labels)))
            np.put_along_axis(chances, found[:, None].astype(np.int64), 1.0, axis=1)
        elif self.source == "score":
            chances = _softmax(pairs(found / self.spread))
        else:
            chances = found
        logs: Floats = np.log(np.maximum(chances, LEAST))
        return logs

    def _outputs(self, columns: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[Any]:
        return in_chunks(self.evaluator, columns)[self.source]


def in_chunks(
    evaluator: BatchEvaluator, columns: Mapping[str, npt.NDArray[Any]]
) -> dict[str, npt.NDArray[Any]]:
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


def _softmax(scores: Floats) -> Floats:
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: Floats = raised / raised.sum(axis=1, keepdims=True)
    return shares


__all__ = ["LEAST", "Judge", "in_chunks"]

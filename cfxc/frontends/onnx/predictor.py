"""ONNX models as deployed: onnxruntime, behind the protocol of all predictors."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pandas as pd

from ...arrays import Array
from ...errors import ModelFileError
from ...ir import Program
from ...space import FeatureSpace
from ..predictor import SINGLE, Task, Wanted
from .graph import Model, read_model
from .lowering import lower_model


class OnnxPredictor:
    """Runs an ONNX model in onnxruntime, on tables with the columns of ``space``.

    One thread, so that sums of votes are taken in the order of the trees and every call gives the
    same numbers: where the votes of a forest are tied but for rounding (5 of 10 trees, of weight
    float32(1/10) each), their order decides, and other numbers of threads may decide otherwise.
    Where the graph has no labels but numbers only, the label is what ``lower``
    states: the position of the largest (the first of equals), or 1 iff p > 1/2 or z > 0, or a cut.

    Attributes:
        program: The lowered program (see ``lower``).
        task, classes, unit_roundoff, adds_singles: As of every ``Predictor``: most operators
            compute in single floats, and add in an order that depends on the size of the batch.

    Raises:
        ModelFileError, InvalidInputError, UnsupportedError: as ``lower``; also if onnxruntime
            does not load the model.
    """

    unit_roundoff, adds_singles = SINGLE, True

    def __init__(
        self,
        model: Model,
        space: FeatureSpace,
        name: str | None = None,
        *,
        task: Task | None = None,
        output: str | int | None = None,
        cut: float | None = None,
    ) -> None:
        proto, name = read_model(model, name)
        lowered = lower_model(proto, space, name, Wanted(task, output, cut))
        self.program: Program = lowered.program
        self._feeds = lowered.feeds
        self._answer = lowered.answer
        self.task, self.classes = self._answer.task, self._answer.classes
        self._graph = proto.SerializeToString(), name
        self._session = _session(*self._graph)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_session": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _session=_session(*state["_graph"]))

    def predict(self, frame: pd.DataFrame) -> Array:
        """Labels (n,), or numbers of shape (n,) for one target and (n, k) for k.

        Raises:
            MissingColumnError, DataTypeError, InvalidInputError: columns that are missing or do
                not fit the model's inputs.
        """
        return self._answer.read(self._array(self.run(frame)[self._answer.source]))

    def probabilities(self, frame: pd.DataFrame) -> Array | None:
        """The output that has a probability for each class, (n, k); ``None`` if there is none."""
        classes, outputs = self.classes or (), self.run(frame)
        if self._answer.chances:
            return self._answer.shares(self._array(outputs[self._answer.source]))
        for name, output in outputs.items():
            if isinstance(output, list):
                return self._array(output)
            if name != self._answer.source and np.shape(output) == (len(frame), len(classes)):
                return np.asarray(output)
        return None

    def _array(self, output: Any) -> Array:
        """An output, which may be one mapping from labels to probabilities a row."""
        if isinstance(output, list) and all(isinstance(row, dict) for row in output):
            return np.array([[row[label] for label in self.classes or ()] for row in output])
        return np.asarray(output)

    def run(self, frame: pd.DataFrame) -> dict[str, Any]:
        """What the runtime gives for the rows of ``frame``: all outputs of the graph, by name."""
        feeds = {feed.name: feed.array(frame) for feed in self._feeds}
        names = [output.name for output in self._session.get_outputs()]
        if not any(feed.single for feed in self._feeds):
            return dict(zip(names, self._session.run(None, feeds), strict=True))
        rows = [
            self._session.run(None, {name: array[i : i + 1] for name, array in feeds.items()})
            for i in range(len(frame))
        ]
        joined = [_joined(parts) for parts in zip(*rows, strict=True)]
        return dict(zip(names, joined, strict=True))


def _joined(parts: tuple[Any, ...]) -> Any:
    if isinstance(parts[0], list):
        return [item for part in parts for item in part]
    return np.concatenate([np.asarray(part) for part in parts])


def _session(content: bytes, name: str) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own exceptions share no base but this one
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ModelFileError(f"{name}: onnxruntime does not load it: {reason}") from error

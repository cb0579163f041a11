"""PyTorch modules as deployed: in evaluation mode on the CPU, behind the protocol of predictors."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pandas as pd
import torch

from ...arrays import Array
from ...errors import UnsupportedError
from ...ir import Program
from ...space import FeatureSpace
from ..predictor import DOUBLE, SINGLE, Task, Wanted
from .exporting import exported, number_type
from .lowering import lower_exported


class TorchPredictor:
    """Runs a module, or an exported program, on tables with the columns of ``space``.

    The module is copied as it is, to the CPU and into evaluation mode: training it further changes
    nothing here.  Columns go in as one tensor (n, columns) in the space's order if ``forward``
    takes one argument; as tensors (n,) if its arguments are named as columns, or it takes a dict of
    them; whole numbers then as int64, other numbers in the module's own floats.  An exported
    program's inputs take the columns by name, or in order.

    Attributes:
        program: The lowered program.
        task, classes, unit_roundoff, adds_singles: As of every ``Predictor``; single floats, unless
            all numbers are doubles, are added in an order that depends on the size of the batch.

    Raises:
        UnsupportedError, InvalidInputError: as ``exported`` and ``lower_exported``.
    """

    def __init__(
        self, model: Any, space: FeatureSpace, *, task: Task | None = None,
        output: str | int | None = None, cut: float | None = None,
    ) -> None:  # fmt: skip
        if isinstance(model, torch.nn.Module):
            model = copy.deepcopy(model).cpu().eval()
        self._model = exported(model, space)
        self.adds_singles = number_type(self._model.call) != torch.float64
        self.unit_roundoff = SINGLE if self.adds_singles else DOUBLE
        self.program: Program
        self.program, self._answer = lower_exported(self._model, space, Wanted(task, output, cut))
        self.task, self.classes = self._answer.task, self._answer.classes

    def predict(self, frame: pd.DataFrame) -> Array:
        """Labels (n,), or numbers of shape (n,) for one target and (n, k) for k.

        Raises:
            MissingColumnError, DataTypeError, InvalidInputError: columns that are missing or do
                not fit the module's inputs.
        """
        return self._answer.read(self.run(frame)[self._answer.source])

    def probabilities(self, frame: pd.DataFrame) -> Array | None:
        """What the deciding output gives to each class, (n, k), if it holds probabilities."""
        if not self._answer.chances:
            return None
        return self._answer.shares(self.run(frame)[self._answer.source])

    def run(self, frame: pd.DataFrame) -> dict[str, Any]:
        """What the module gives for the rows of ``frame``: all its outputs, as arrays by name."""
        arrays = [torch.from_numpy(np.ascontiguousarray(f.array(frame))) for f in self._model.feeds]
        if not any(feed.single for feed in self._model.feeds):
            return _arrays(self._model.outputs(arrays))
        rows = [
            _arrays(self._model.outputs([array[i : i + 1] for array in arrays]))
            for i in range(len(frame))
        ]
        return {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}


def _arrays(outputs: dict[str, Any]) -> dict[str, Any]:
    odd = [name for name, value in outputs.items() if not isinstance(value, torch.Tensor)]
    if odd:
        raise UnsupportedError(f"output {odd[0]!r} of the module is no tensor")
    return {name: value.detach().numpy() for name, value in outputs.items()}

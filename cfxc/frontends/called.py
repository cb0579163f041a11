"""Models that are only called: functions of a table that give a number for each row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..errors import DataTypeError, UnsupportedError
from ..space.tables import Tables, as_tables
from .predictor import Predictor

Call = Callable[[pd.DataFrame], Any]
"""n rows → n numbers."""


def outputs_of(predictor: Predictor) -> Call:
    """The numbers of a compiled model.

    Raises:
        UnsupportedError: more than two classes, or no probabilities.
    """
    if predictor.task == "regressor":
        return predictor.predict
    if predictor.classes is None or len(predictor.classes) != 2:
        raise UnsupportedError(
            "a potential is of one number",
            [f"a classifier of {len(predictor.classes or ())} classes"],
            "give a function that returns the number meant: cfxc.BlackBox(function, space)",
        )

    def probability(rows: pd.DataFrame) -> Any:
        found = predictor.probabilities(rows)
        if found is None:
            raise UnsupportedError("a potential of a classifier is of its probability; it has none")
        return found[:, 1]

    return probability


def as_call(model: Any, tables: Tables = "pandas") -> Call:
    """A function, or a session of onnxruntime, as a function of a table in the space's columns.

    Raises:
        DataTypeError: it is neither.
    """
    if hasattr(model, "get_inputs") and hasattr(model, "run"):
        return _session_call(model)
    if not callable(model):
        hint = "; give model.predict" if hasattr(model, "predict") else ""
        raise DataTypeError(f"a model to call is a function, not {type(model).__name__}{hint}")
    call: Call = model
    return call if tables == "pandas" else OfTables(call, tables)


@dataclass(frozen=True)
class OfTables:
    """A function of tables of another library."""

    call: Callable[[Any], Any]
    tables: Tables

    def __call__(self, rows: pd.DataFrame) -> Any:
        """What the function says of the same rows in that library."""
        return self.call(as_tables(rows, self.tables))


def _session_call(session: Any) -> Call:
    """The first output of a session: of one matrix of the columns, or of an input for each."""
    kinds = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(int64)": np.int64,
             "tensor(int32)": np.int32, "tensor(bool)": np.bool_}  # fmt: skip
    inputs = session.get_inputs()

    def call(rows: pd.DataFrame) -> Any:
        if len(inputs) == 1 and inputs[0].name not in rows.columns:
            kind = kinds.get(inputs[0].type, np.float32)
            feeds = {inputs[0].name: rows.to_numpy().astype(kind)}
        else:
            feeds = {
                each.name: rows[each.name].to_numpy().astype(kinds.get(each.type, object))[:, None]
                for each in inputs
            }
        return session.run(None, feeds)[0]

    return call

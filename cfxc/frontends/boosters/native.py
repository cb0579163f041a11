"""Tables as the booster libraries take them: text as categories, everything else as numbers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd

from ...arrays import Array
from ...errors import MissingColumnError, UnsupportedError
from ...ir import Label, Program
from ...space import FeatureSpace
from ...space.names import shown
from ..predictor import DOUBLE, SINGLE, Task
from ..sklearn.lowering import Lowering, Refs
from ..sklearn.program import raw_columns
from ..sklearn.registry import Outputs
from . import library_of

Categories = Mapping[str, Sequence[Label]]


def fitting(
    categories: Categories, codes: Collection[str] = ()
) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """What gives the columns of a table the dtypes that the model was trained on.

    Args:
        categories: Categories of the columns that hold some, in the order of their codes.
        codes: Columns that hold the codes themselves, as numbers.
    """
    dtypes = {name: pd.CategoricalDtype(list(known)) for name, known in categories.items()}

    def fit(table: pd.DataFrame) -> pd.DataFrame:
        made: dict[str, Any] = {}
        for name in table.columns:
            column = table[name]
            if name in dtypes:
                if column.dtype != dtypes[name]:
                    made[name] = _coded(column, dtypes[name])
            elif name in codes or column.dtype.kind == "O":  # numbers, whatever their dtype
                made[name] = column.astype(np.float64)
        return table.assign(**made) if made else table

    return fit


def _coded(column: pd.Series[Any], dtype: Any) -> Any:
    """A column as categories; missing where it holds another value."""
    codes = dtype.categories.get_indexer(column.astype(object))
    return pd.Categorical.from_codes(codes, dtype=dtype)


HALF = 0.5


@dataclass(frozen=True)
class Native:
    """What a library's part knows of one model that is no estimator, as native boosters are.

    Attributes:
        library: Its name.
        columns: Of the table, in the model's order.
        classes: How many; none for a regressor.
        flaws: What is not supported.
        lower: Its outputs on these columns.
        run: Its predictions for n rows: numbers (n,) or (n, k), or with ``gives_labels`` classes.
        cut: What a single number must exceed for the second class.
    """

    library: str
    columns: tuple[str, ...]
    classes: int | None
    flaws: Iterable[str]
    lower: Callable[[Lowering, Refs], Outputs]
    run: Callable[[pd.DataFrame], Array]
    gives_labels: bool = False
    cut: float = HALF


class NativePredictor:
    """Runs such a model on tables with the columns of a space; a ``Predictor``.

    Attributes:
        program: The lowered program.
        task, classes, unit_roundoff, adds_singles: As of every ``Predictor``; labels are 0, 1, …,
            and the sums of XGBoost are in single floats.

    Raises:
        UnsupportedError: what cannot be lowered, all of it.
    """

    def __init__(self, native: Native, space: FeatureSpace, name: str) -> None:
        if flaws := list(native.flaws):
            raise UnsupportedError(f"this {native.library} model cannot be compiled", flaws)
        self._native, labels = native, native.classes
        self.task: Task = "regressor" if labels is None else "classifier"
        self.classes = None if labels is None else tuple(range(labels))
        self.adds_singles = native.library == "XGBoost"
        self.unit_roundoff = SINGLE if self.adds_singles else DOUBLE
        lowering = Lowering(name, space)
        with lowering.at(name):
            refs = tuple(raw_columns(space, native.columns, as_array=False))
            outputs = native.lower(lowering, refs)
        lowering.finish()
        self.program: Program = lowering.builder.build_with(outputs)

    def probabilities(self, frame: pd.DataFrame) -> Array | None:
        """The predictions of a classifier, (n, k); ``None`` if these are no probabilities."""
        if self._native.classes is None or self._native.gives_labels:
            return None
        numbers = self._run(frame)
        return np.column_stack([1 - numbers, numbers]) if numbers.ndim == 1 else numbers

    def _run(self, frame: pd.DataFrame) -> Array:
        columns = list(self._native.columns)
        if missing := [column for column in columns if column not in frame.columns]:
            raise MissingColumnError(f"the table lacks columns of the model: {shown(missing)}")
        return np.asarray(self._native.run(frame[columns]))

    def predict(self, frame: pd.DataFrame) -> Array:
        """Labels (n,), or numbers of shape (n,) for one target and (n, k) for k.

        Raises:
            MissingColumnError: ``frame`` lacks columns of the model.
        """
        numbers = self._run(frame)
        if self._native.classes is None:
            return numbers
        if self._native.gives_labels:
            return numbers.astype(np.int64)
        if numbers.ndim == 1:
            second: Array = (numbers > self._native.cut).astype(np.int64)
            return second
        largest: Array = numbers.argmax(axis=1)
        return largest


def native_predictor(model: Any, space: FeatureSpace) -> NativePredictor:
    """A native booster with its program, on the columns of a feature space.

    Raises:
        UnsupportedError, ModelFileError, InvalidInputError, MissingColumnError: it cannot be
            lowered, contradicts itself, or does not fit the space.
    """
    library = library_of(model)
    native = import_module(f".{library}.native", __package__).native(model, space)
    return NativePredictor(native, space, f"{native.library}Booster")

"""The instances asked about, what each is to become, and rows in their columns and dtypes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...answers.cells import one_row
from ...arrays import Array
from ...errors import DataTypeError, InvalidInputError, SolverError
from ...ir import Program
from ...ir.sorts import preview
from ...question.target import Target, resolve_target
from ...solvers.rows import exact_value
from ...space import FeatureSpace, Value
from ...space.codec import encode_frame, level_cells
from ...space.tables import as_pandas, rows_of
from .levels import Codes, FeatureLevels, Levels
from .material import labels_of


@dataclass(frozen=True)
class Instances:
    """Instances (n) as a table, columns and levels.

    Attributes:
        frame: Their rows as given.
        raw: Columns by feature, as the batch evaluator takes them.
        own: Levels (n, J).
        before: Positions of the labels that the program gives them (n,).
        targets: Positions of the labels that they are to get (n,).
    """

    frame: pd.DataFrame
    raw: Mapping[str, Array]
    own: Codes
    before: Codes
    targets: Codes

    def __len__(self) -> int:
        return len(self.frame)


def table(space: FeatureSpace, rows: Any, what: str) -> pd.DataFrame:
    """Rows of instances as a table: as they are, or one row made of a Series or a mapping.

    Raises:
        DataTypeError, InvalidInputError: no table, or one without rows.
    """
    rows = as_pandas(rows)
    one = isinstance(rows, pd.Series | Mapping)
    return one_row(space, rows) if one else rows_of(rows, what)


def columns_of(space: FeatureSpace, frame: pd.DataFrame) -> dict[str, Array]:
    """A table's columns by feature.

    Raises:
        CfxcError: missing columns or values, unseen categories, numbers out of range.
    """
    raw = dict(space.encode_frame(frame))
    for name, column in raw.items():
        gaps = np.isnan(column) if column.dtype.kind == "f" else np.zeros(1, bool)
        if gaps.any():
            row = frame.index[int(gaps.argmax())]
            raise InvalidInputError(
                f"{name}: missing value (row {row!r}); missing numbers are not supported yet: give "
                "the number that stands in for it, or leave these instances out"
            )
    return raw


def position_of(program: Program, target: Any) -> int:
    """The position of a label that a user named.

    Raises:
        InvalidInputError, DataTypeError: the model has no such outcome, or gives no labels.
    """
    if isinstance(target, np.ndarray) or hasattr(target, "iloc"):
        raise DataTypeError("target is a label, not a table or an array")
    refuse_regression(program)
    labels = program.output_sorts["label"].labels
    return int(labels.position(resolve_target(program, target, {}).label))


def refuse_regression(program: Program) -> None:
    """The generator learns towards labels.

    Raises:
        InvalidInputError: the model gives none.
    """
    if "label" not in dict(program.outputs):
        raise InvalidInputError(
            "the generator takes classifiers; for a number ask cfxc.BlackBox(model).explain, or "
            "model.explain with a range as target"
        )


def instances_of(
    program: Program,
    space: FeatureSpace,
    levels: Levels,
    frame: pd.DataFrame,
    trained: Sequence[int],
    target: int | None,
) -> Instances:
    """Instances, and what each is to become: ``target``, or the only other label trained for.

    Raises:
        CfxcError: bad rows; a target that was not trained for, or has to be named.
    """
    labels = program.output_sorts["label"].labels
    raw = columns_of(space, frame)
    before = labels_of(program, raw)
    names = preview([labels[i] for i in trained])
    if target is not None and target not in trained:
        raise InvalidInputError(
            f"the generator was not trained for target {labels[target]!r}, only for {names}; "
            "fit it again"
        )
    if target is None and len(trained) > 1 and len(labels) > 2:
        raise InvalidInputError(f"name the target: the generator was trained for {names}")
    if target is not None or len(trained) == 1:
        only = trained[0] if target is None else target
        targets = np.full(len(frame), only, np.int64)
    else:
        targets = np.where(before == trained[0], trained[1], trained[0]).astype(np.int64)
    return Instances(frame, raw, levels.codes(raw), before, targets)


def target_at(program: Program, position: int) -> Target:
    """The target that a position of a label stands for."""
    return Target(program.output_sorts["label"].labels[position])


class Decoder:
    """Makes rows like those of ``instances``, some features at other levels.

    A cell is copied from the instance where the level is its own; else it is one of a table that
    was read back when it was made.
    """

    def __init__(self, space: FeatureSpace, levels: Levels, instances: pd.DataFrame, own: Codes):
        self.instances, self.own = instances, own
        free = [levels.features[j] for j in levels.free.tolist()]
        features = [each.feature for each in free]
        values = {each.feature.name: level_values(each) for each in free}
        self.cells = level_cells(features, values, instances)
        _check(free, self.cells)
        self.place = {
            column: j
            for j, each in zip(levels.free.tolist(), free, strict=True)
            for column in each.feature.columns
        }

    def rows(self, instances: Codes, codes: Codes) -> pd.DataFrame:
        """Rows of codes (m, J): row i is of instance ``instances[i]``."""
        made = {}
        for column in self.instances.columns:
            cells = self.instances[column].array.take(instances)
            j = self.place.get(column)
            if j is not None:
                moved = np.flatnonzero(codes[:, j] != self.own[instances, j])
                if moved.size:
                    cells = _with(cells, moved, self.cells[column].array.take(codes[moved, j]))
            made[column] = cells
        return pd.DataFrame(made)


def level_values(each: FeatureLevels) -> list[Value]:
    """The exact value of each level."""
    return [exact_value(each.feature, value) for value in each.values.tolist()]


def _with(cells: Any, places: Codes, new: Any) -> Any:
    """An array with some cells replaced, in a dtype that holds them all."""
    if cells.dtype != new.dtype:
        cells = cells.astype(new.dtype)
    cells[places] = new
    return cells


def _check(free: Sequence[FeatureLevels], cells: dict[str, pd.Series[Any]]) -> None:
    """The cells of every level read back as its value."""
    for each in free:
        frame = pd.DataFrame({column: cells[column] for column in each.feature.columns})
        read = encode_frame([each.feature], frame, check_range=True)[each.feature.name]
        if not np.array_equal(read, each.values):
            raise SolverError(f"{each.feature.name}: a level does not read back as its value")

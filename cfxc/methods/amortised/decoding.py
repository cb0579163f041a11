"""From levels to the rows of a table, in the columns and dtypes of the people's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...errors import SolverError
from ...solvers.rows import exact_value
from ...space import FeatureSpace, Value
from ...space.codec import encode_frame, level_cells
from .levels import Codes, FeatureLevels, Levels


class Decoder:
    """Makes rows like those of ``people``, some features at other levels.

    A cell is copied from the person where the level is their own; else it is one of a table that
    was read back when it was made.
    """

    def __init__(self, space: FeatureSpace, levels: Levels, people: pd.DataFrame, own: Codes):
        self.people, self.own = people, own
        free = [levels.features[j] for j in levels.free.tolist()]
        features = [each.feature for each in free]
        values = {each.feature.name: level_values(each) for each in free}
        self.cells = level_cells(features, values, people)
        _check(free, self.cells)
        self.place = {
            column: j
            for j, each in zip(levels.free.tolist(), free, strict=True)
            for column in each.feature.columns
        }

    def rows(self, people: Codes, codes: Codes) -> pd.DataFrame:
        """Rows of codes (m, J): row i is of person ``people[i]``."""
        made = {}
        for column in self.people.columns:
            cells = self.people[column].array.take(people)
            j = self.place.get(column)
            if j is not None:
                moved = np.flatnonzero(codes[:, j] != self.own[people, j])
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
    """The cells of every level read back as its value.

    Raises:
        SolverError: one does not.
    """
    for each in free:
        frame = pd.DataFrame({column: cells[column] for column in each.feature.columns})
        read = encode_frame([each.feature], frame, check_range=True)[each.feature.name]
        if not np.array_equal(read, each.values):
            raise SolverError(f"{each.feature.name}: a level does not read back as its value")


__all__ = ["Decoder", "level_values"]

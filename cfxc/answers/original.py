"""The original model on one instance's row, asked as seldom as possible."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from ..frontends.compiled import Compiled
from ..frontends.predictor import chance_of, plain_item
from ..question.target import Target
from ..solvers.base import Point


class Original:
    """The original model on one instance's row and on points that stand for rows like it.

    ``by_row``: whether its answers do not depend on how many rows it is given.  ``trusted``:
    points flip it until it was told otherwise, so that many instances can be asked about at once.
    ``before``: what it says of the instance, where it was asked already.
    ``factual``: the instance's values, where they were read before.
    """

    def __init__(
        self,
        model: Compiled,
        target: Target,
        frame: pd.DataFrame,
        *,
        by_row: bool,
        trusted: bool = False,
        before: Any = None,
        factual: Point | None = None,
    ) -> None:
        self.model, self.target, self.frame, self.trusted = model, target, frame, trusted
        self._rows = model.space.rows_like(frame, factual)
        self._decoded: dict[tuple[Any, ...], pd.DataFrame] = {}
        self._known: dict[tuple[Any, ...], Any] = {}
        self._cells: dict[tuple[Any, ...], Mapping[str, object]] = {}
        self._before = before
        if before is None and not (by_row or trusted):
            self._before = self._ask(frame)

    def row(self, point: Point) -> pd.DataFrame:
        """The point as a row with the factual's columns and dtypes."""
        key = tuple(point.items())
        if key not in self._decoded:
            self._decoded[key] = self._rows.decode(point)
        return self._decoded[key]

    def outcome(self, point: Point) -> Any:
        """What the original model says, asked once per point."""
        key = tuple(point.items())
        if key not in self._known:
            row = self.row(point)
            if self._before is None and row.dtypes.equals(self.frame.dtypes):
                rows = pd.concat([self.frame, row], ignore_index=True)  # as fast as one row
                self._before, after = map(plain_item, self.model.predict(rows))
            else:
                after = self._ask(row)
            self._known[key] = after
        return self._known[key]

    @property
    def before(self) -> Any:
        """What it says of the instance."""
        if self._before is None:
            self._before = self._ask(self.frame)
        return self._before

    def tell(
        self, before: Any, point: Point, after: Any, cells: Mapping[str, object] | None = None
    ) -> None:
        """What it says of the instance and of a point, asked elsewhere; ends the trust.

        ``cells``: of the point's row, where they were read there too.
        """
        self._before, self.trusted = plain_item(before), False
        key = tuple(point.items())
        self._known[key] = plain_item(after)
        if cells is not None:
            self._cells[key] = cells

    def flips(self, point: Point) -> bool:
        """Whether the point's row is in the target, and reads back as the point."""
        if self.trusted:
            return True
        read = self._cells.get(tuple(point.items()), self.row(point))
        same = self.model.space.encode_row(read, extra="ignore") == dict(point)
        has = same and self.target.holds(self.outcome(point))
        return has and self._is_likely(self.row(point)) is not False

    def says(self) -> bool | None:
        """Whether the model itself has the instance in the target; ``None``: it cannot tell."""
        has = self.target.holds(self.before) and self._is_likely(self.frame)
        return None if has and self.target.margin else has

    def _is_likely(self, row: pd.DataFrame) -> bool | None:
        """Whether its own probability is what was asked for; ``None`` if it gives none."""
        if self.target.chance is None:
            return True
        chance = chance_of(self.model.predictor, row, self.target.label)
        return None if chance is None else chance >= self.target.chance

    def _ask(self, row: pd.DataFrame) -> Any:
        return plain_item(self.model.predict(row)[0])

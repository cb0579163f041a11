"""What answers with one counterfactual have in common: their rows, and how they are shown."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, Self

import pandas as pd

from ..show.answers import as_html, as_lines
from ..space.tables import as_given, as_pandas, indexed
from .cells import changes_between, plain_cell, plain_row, plain_texts


def from_to(before: Any, after: Any, by_default: bool) -> str:
    """Which outcome was had and which was asked for, and whether nobody named it."""
    return f"from {before!r} to {after!r}{', as no target was named' if by_default else ''}"


class Answer(ABC):
    """What answers with one counterfactual have in common: a factual, and what changes."""

    factual: Any
    counterfactual: Any
    outcome_before: Any
    outcome_after: Any

    @property
    def changes(self) -> dict[str, tuple[Any, Any]]:
        """Changed columns: name → (before, after)."""
        if self.counterfactual is None:
            return {}
        return changes_between(as_pandas(self.factual), as_pandas(self.counterfactual))[0]

    @abstractmethod
    def _table(self) -> pd.DataFrame:
        """Factual and counterfactual as rows."""

    def to_frame(self) -> Any:
        """Factual and counterfactuals as rows, indexed ``factual``, ``counterfactual`` …

        Tables without an index have these names in a first column, ``row``.
        """
        return indexed(self._table(), self.factual)

    def in_library_of(self, given: Any) -> Self:
        """The same with rows in the library and dtypes of a table that was given."""
        rows = {"factual": self.factual, "counterfactual": self.counterfactual}
        made = {name: row if row is None else as_given(row, given) for name, row in rows.items()}
        same: Any = self  # a dataclass, as all answers are
        answer: Self = replace(same, **made)
        return answer

    @abstractmethod
    def summary(self) -> str:
        """One line: what was found and what was proved."""

    def _plain_rows(self) -> dict[str, Any]:
        """The rows and their outcomes as plain values for JSON."""
        found = self.counterfactual
        return {
            "factual": plain_row(as_pandas(self.factual)),
            "counterfactual": None if found is None else plain_row(as_pandas(found)),
            "changes": {column: list(pair) for column, pair in self.changes.items()},
            "outcome_before": plain_cell(self.outcome_before),
            "outcome_after": plain_cell(self.outcome_after),
        }

    def _texts(self) -> tuple[list[str], list[str], list[list[str]]]:
        """What things are called, their values before, and in each row after; all as texts."""
        return plain_texts(self._table())

    def _words(self) -> tuple[str, list[str]]:
        """What was found, and what is proved of it, in plain words."""
        return self.summary(), []

    def to_html(self, *, show_only_changes: bool = True) -> str:
        """The answer for a notebook or a page: what changes, and what is proved.

        Args:
            show_only_changes: Whether features that stay are folded away.
        """
        found, proved = self._words()
        return as_html(found, proved, self.summary(), self._texts(), show_only_changes)

    def _repr_html_(self) -> str:
        return self.to_html()

    def __repr__(self) -> str:
        return as_lines(f"{type(self).__name__}({self.summary()})", self._texts())

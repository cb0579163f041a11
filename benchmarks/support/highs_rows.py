"""A mixed-integer program for HiGHS, written a column and a row at a time."""

from __future__ import annotations

from collections.abc import Sequence

import highspy
import numpy as np

from .portable import Array

INFINITE = highspy.kHighsInf


class Program:
    """Minimise Σ cost · column, one thread, HiGHS's own settings."""

    def __init__(self) -> None:
        self.highs = highspy.Highs()
        self.highs.silent()
        self.highs.setOptionValue("threads", 1)

    def variable(self, low: float, high: float, cost: float = 0.0, *, whole: bool = False) -> int:
        """A new column, and its number."""
        column = int(self.highs.getNumCol())
        self.highs.addVar(float(low), float(high))
        self.highs.changeColCost(column, float(cost))
        if whole:
            self.highs.changeColIntegrality(column, highspy.HighsVarType.kInteger)
        return column

    def row(self, low: float, high: float, columns: Sequence[int], weights: Array) -> None:
        """``low <= Σ weight · column <= high``."""
        self.highs.addRow(
            float(low), float(high), len(columns), np.array(columns, np.int32),
            np.asarray(weights, np.float64),
        )  # fmt: skip

    def solve(self, seconds: float) -> str:
        """HiGHS's verdict, in its words."""
        self.highs.setOptionValue("time_limit", float(seconds))
        self.highs.run()
        return str(self.highs.modelStatusToString(self.highs.getModelStatus()))

    @property
    def found(self) -> bool:
        return bool(self.highs.getInfo().primal_solution_status == 2)


__all__ = ["INFINITE", "Program"]

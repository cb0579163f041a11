"""What the trees of CatBoost ask of a row, and the statistics (CTRs) behind some of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

HASHES = 2**32
WORD = 2**64 - 1
FACTOR = 0x4906BA494954CB65  # of the library's hash of several parts
MEANS = ("BinarizedTargetMeanValue", "FloatTargetMeanValue")
COUNTS = ("Counter", "FeatureFreq")
KINDS = ("Borders", "Buckets", *MEANS, *COUNTS)


@dataclass(frozen=True)
class FloatSplit:
    """Right iff ``float32(x) > bound``; a missing value right iff ``missing_right``."""

    column: int
    bound: float
    missing_right: bool


@dataclass(frozen=True)
class CategorySplit:
    """Right iff the category has this hash, of 32 bits."""

    column: int
    value: int


@dataclass(frozen=True, eq=False)
class Ctr:
    """A statistic of the target over what ``categories``, ``above`` and ``equal`` are in a row.

    Attributes:
        table: Counts (for the means: sum and count) by the hash of these parts.
        target: The class, or the border between classes, that is counted.
    """

    kind: str
    categories: tuple[int, ...]
    above: tuple[FloatSplit, ...]
    equal: tuple[CategorySplit, ...]
    target: int
    prior: float
    prior_weight: float
    shift: float
    scale: float
    table: Mapping[int, tuple[float, ...]]
    denominator: int

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns of categories that it reads."""
        return tuple(dict.fromkeys([*self.categories, *(one.column for one in self.equal)]))

    def key(self, hashes: tuple[int, ...], answers: tuple[bool, ...]) -> int:
        """Where the table has a row: hashes of its categories, then what its splits answer."""
        made = 0
        for one in hashes:  # as signed numbers of 32 bits
            made = _mixed(made, one if one < HASHES // 2 else one - HASHES)
        for answer in answers:
            made = _mixed(made, int(answer))
        return made

    def value(self, key: int) -> np.float32:
        """``((good + prior) / (all + prior_weight) + shift) * scale``, each step in float32."""
        good, every = self._counts(self.table.get(key))
        f = np.float32
        with np.errstate(all="ignore"):
            share = (f(good) + f(self.prior)) / (f(every) + f(self.prior_weight))
            return f((share + f(self.shift)) * f(self.scale))

    def _counts(self, row: tuple[float, ...] | None) -> tuple[float, float]:
        if self.kind in COUNTS:
            return (row[0] if row else 0.0), float(self.denominator)
        if row is None:
            return 0.0, 0.0
        if self.kind in MEANS:
            return row[0], row[1]
        if self.kind == "Buckets":
            return row[self.target], sum(row)
        return sum(row[self.target + 1 :]), sum(row)


@dataclass(frozen=True, eq=False)
class CtrSplit:
    """Right iff the statistic exceeds ``bound``."""

    ctr: Ctr
    bound: float


Split = FloatSplit | CategorySplit | CtrSplit


def _mixed(before: int, part: int) -> int:
    return (FACTOR * (before + FACTOR * part)) & WORD

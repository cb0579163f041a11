"""A table whose columns differ in kind, and rows all over it, for transformers of every family."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from cfxc.space import FeatureSpace

REALS = ["spent", "change", "half"]


def make_table() -> pd.DataFrame:
    """300 rows: whole numbers, positive reals, reals of both signs, and multiples of a half."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "visits": rng.integers(0, 40, 300),
            "spent": rng.gamma(2, 3, 300),
            "change": rng.normal(size=300),
            "half": rng.integers(1, 9, 300) + 0.5,
        }
    )


def make_target(table: pd.DataFrame) -> Any:
    """Two classes that depend on all columns, with noise."""
    noise = np.random.default_rng(1).normal(size=len(table)) * 0.3
    worth = 2 * np.log1p(table["spent"]) + table["change"] + table["visits"] / 20 + noise
    return (worth > 5).astype(int).to_numpy()


def make_space(table: pd.DataFrame) -> FeatureSpace:
    """Whole numbers as integers, all others real."""
    kinds = {name: "real" if name in REALS else "integer" for name in table}
    return FeatureSpace.infer(table, kinds=kinds)


def spread(table: pd.DataFrame, count: int = 2000) -> pd.DataFrame:
    """Rows all over the ranges of the columns."""
    rng = np.random.default_rng(2)
    return pd.DataFrame(
        {
            name: rng.uniform(column.min(), column.max(), count)
            if name in REALS
            else rng.integers(column.min(), column.max() + 1, count)
            for name, column in table.items()
        }
    ).astype(table.dtypes)


def beside(table: pd.DataFrame, name: str, cuts: Any) -> pd.DataFrame:
    """Rows with a column at numbers and at the doubles on both sides of each."""
    cuts = np.asarray(cuts, dtype=np.float64)
    values = np.unique([np.nextafter(cuts, -np.inf), cuts, np.nextafter(cuts, np.inf)])
    rows = table.iloc[np.arange(values.size) % len(table)].reset_index(drop=True)
    return rows.assign(**{name: values})

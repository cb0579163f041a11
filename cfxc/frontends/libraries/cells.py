"""Columns of a table as a library is given them, to see what it makes of each category."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from ...space import Label
from ..boosters.columns import DECLARE
from ..sklearn.encoders import symbol
from ..sklearn.lowering import Lowering, Ref, named


def series(ref: Ref, cells: Sequence[Label]) -> pd.Series:
    """Values of a column, of the dtype that it has in tables."""
    kept = ref.dtype.kind == "f" or (ref.dtype.kind in "biu" and None not in cells)
    return pd.Series(list(cells), dtype=ref.dtype if kept else object)


def categories(lowering: Lowering, ref: Ref) -> list[Label] | None:
    """The values of a column of categories, each once; ``None`` if it is none, which is noted."""
    held = symbol(lowering, ref)
    if held is None:
        text = f"{named(ref)} holds categories of the model, and numbers in the feature space"
        lowering.problem(text, DECLARE)
        return None
    return list(dict.fromkeys(held.cells))

"""What a table's columns look like that a feature hardly ever is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from ..space import FeatureSpace

_UNNAMED = re.compile(r"Unnamed: \d+")
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?([ T].*)?|\d\d?[./-]\d\d?[./-](\d\d|\d{4})([ T].*)?")
FEW_ROWS = 10
"""Tables shorter than this are not searched for columns that count their rows."""
MANY_TEXTS, NEARLY_ALL = 50, 0.9
"""A column of more texts than this, different in this share of the rows, is taken for names."""


def advice(frame: pd.DataFrame, space: FeatureSpace) -> Iterator[str]:
    """One line per column that should probably not be a feature, or not under its name.

    Looks for row numbers, dates as texts, identifiers, and names that nobody can tell apart.
    """
    for name in frame.columns:
        if what := _looks_like(frame[name], name):
            yield f"column {name!r} {what}; --drop {_quoted(name)} leaves it out"
    for name in space.names:
        for odd in (f"x.{name}", f"factual.{name}"):
            if odd in space:
                yield (
                    f"a constraint cannot tell the feature {odd!r} from the value {odd} of the "
                    f"feature {name!r}; rename one of the two"
                )


def _looks_like(column: pd.Series[Any], name: str) -> str:
    from pandas.api.types import is_integer_dtype

    if _UNNAMED.fullmatch(name):
        return "has no name, as the index of a saved table"
    if is_integer_dtype(column.dtype):
        counts = len(column) >= FEW_ROWS and bool((column.diff().iloc[1:] == 1).all())
        return "counts the rows" if counts else ""
    present = column.dropna()
    texts = [cell for cell in present if isinstance(cell, str)]
    if not texts or len(texts) < len(present):
        return ""
    if all(_DATE.fullmatch(text.strip()) for text in texts):
        return "holds dates as texts, which become categories; days since a fixed day are numbers"
    different = len(set(texts))
    if different > MANY_TEXTS and different >= NEARLY_ALL * len(texts):
        return f"holds {different} different texts in {len(column)} rows, as an identifier does"
    return ""


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[\w.-]+", name) else f"'{name}'"

"""What the commands read besides models: tables, rows, distances."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..errors import InvalidInputError, MissingColumnError
from ..frontends.csv_files import is_too_large, number, truth
from ..frontends.row_files import once, read_rows

if TYPE_CHECKING:
    import pandas as pd

    from ..question.distances import Mahalanobis
    from ..space import FeatureSpace, Label


def read_distance(text: str, space: FeatureSpace) -> str | Mahalanobis:
    """A distance's text as it is; ``mahalanobis=data.csv``: by the covariance of a table's rows."""
    from ..question.distances import MAHALANOBIS, Mahalanobis

    name, equals, file = text.partition("=")
    if equals and name.strip() == MAHALANOBIS:
        return Mahalanobis(read_rows(Path(file.strip()), space))
    return text


def column_names(options: list[str] | None, known: list[str]) -> list[str]:
    """Names from a repeatable option, each one column or several between commas."""
    names: list[str] = []
    for option in options or []:
        names += [option] if option in known else [name.strip() for name in option.split(",")]
    return names


def read_levels(options: list[str] | None, table: pd.DataFrame) -> dict[str, list[Label]]:
    """``size=small,large`` for each ordinal column: its levels in rising order."""
    pairs = _by_column("ordinal", "size=small,large", options, list(table.columns))
    return {name: [_level(text, table[name]) for text in right.split(",")] for name, right in pairs}


def _level(text: str, column: pd.Series[Any]) -> Label:
    """The level that a text means in a column of texts, numbers or truth values."""
    known = column.dropna().tolist()
    if all(isinstance(one, bool) for one in known):
        return text.strip() if (held := truth(text)) is None else held
    if not any(isinstance(one, str) for one in known):
        return text.strip() if (value := number(text)) is None else value
    return text if text in known else text.strip()


def read_steps(options: list[str] | None, columns: list[str]) -> dict[str, str] | Literal["auto"]:
    """``pay=0.01`` for each column: its resolution, a decimal or a fraction as written."""
    pairs = _by_column("resolution", "pay=0.01", options, columns)
    for name, step in pairs:
        if "," in step and "=" in step:
            raise InvalidInputError(f"--resolution '{name}={step}': give one for each column")
    return {name: step.strip() for name, step in pairs} or "auto"


def _by_column(
    option: str, example: str, given: list[str] | None, columns: list[str]
) -> list[tuple[str, str]]:
    """Pairs of ``column=value``; a column's name may hold an equals sign itself."""
    from ..space.names import suggestion

    pairs = []
    for text in given or []:
        known = [name for name in columns if text.startswith(f"{name}=")]
        name = max(known, key=len) if known else text.partition("=")[0].strip()
        if not text.partition("=")[2].strip():
            raise InvalidInputError(f"--{option} {text!r}: write --{option} {example}")
        if name not in columns:
            raise MissingColumnError(f"--{option}: no column {name!r}{suggestion(name, columns)}")
        pairs.append((name, text[text.index("=", len(name)) + 1 :]))
    return list(once(pairs).items())


def without(table: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """The table without the columns ``names``."""
    from ..space.names import suggestion

    for name in names:
        if name not in table.columns:
            raise MissingColumnError(f"no column {name!r}{suggestion(name, table.columns)}")
    return table.drop(columns=list(names))


_UNNAMED = re.compile(r"Unnamed: \d+")
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?([ T].*)?|\d\d?[./-]\d\d?[./-](\d\d|\d{4})([ T].*)?")
FEW_ROWS = 10
"""Tables shorter than this are not searched for columns that count their rows."""
MANY_TEXTS, NEARLY_ALL = 50, 0.9
"""A column of more texts than this, different in this share of the rows, is taken for names."""
FEW_CODES = 10
"""Whole numbers of no more different values may be codes."""
TAIL, HEAVY = 0.99, 0.05
"""A tail is heavy where all rows but this share lie within that share of the range."""
SHOWN = 5
"""Columns that a note names."""


def doubts(frame: pd.DataFrame) -> Iterator[str]:
    """What is odd about a whole table: that it has no header, or is not separated by commas."""
    names = list(frame.columns)
    if len(names) == 1 and _has_blanks(names[0], frame[names[0]]):
        yield (
            f"one column, called {names[0]!r}: its cells seem to be separated by blanks; save the "
            "table with commas between cells"
        )
        return
    odd = [name for name in names if _is_value(name, frame[name])]
    counted = names in ([str(i + start) for i in range(len(names))] for start in (0, 1))
    if 2 * len(odd) >= len(names) and not counted:
        yield (
            f"names of columns look like values ({_listed(odd)}): the first row is taken for the "
            "header; if the table has none, put a line with the columns' names before it"
        )


def _has_blanks(name: str, column: pd.Series[Any]) -> bool:
    """Whether name and cells are as many words each, and more than one."""
    words = {len(cell.split()) if isinstance(cell, str) else 1 for cell in [name, *column]}
    return len(words) == 1 and words != {1}


def _is_value(name: str, column: pd.Series[Any]) -> bool:
    """Whether a column's name is a number, or a cell of it."""
    return number(name) is not None or bool((column == name).any())


def advice(frame: pd.DataFrame, space: FeatureSpace) -> Iterator[str]:
    """One line per column that should probably not be a feature, or not under its name.

    Looks for row numbers, dates as texts, identifiers, and names that cannot be told apart.
    """
    if next(doubts(frame), ""):  # then the columns are none
        return
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


def notes(frame: pd.DataFrame, space: FeatureSpace) -> Iterator[str]:
    """What numbers may be besides amounts in even measure, one line for all columns alike."""
    numbers = [f.name for f in space if f.kind in ("integer", "real") and f.name in frame]
    codes = [
        name
        for name in numbers
        if space[name].kind == "integer" and 2 < frame[name].nunique() <= FEW_CODES
    ]
    if codes:
        yield (
            f"taken as amounts, though few whole numbers occur: {_listed(codes)}; where they are "
            f"codes, say so: --categorical {shlex.quote(codes[0])}"
        )
    spans = ((name, frame[name].dropna().quantile([0, TAIL, 1]).tolist()) for name in numbers)
    tails = [n for n, (low, most, high) in spans if most - low < HEAVY * (high - low)]
    if tails:
        yield (
            f"one row in a hundred has {1 - HEAVY:.0%} of the range of {_listed(tails)}; the range "
            "is the unit of distances, so that changes of others count as small beside it"
        )
    blank = [f.name for f in space if f.labels and None in f.labels and f.action != "fixed"]
    if blank:
        called = [name for name in blank if "none" in (space[name].labels or ())]
        first = (called or blank)[0]
        name = first if first.isidentifier() else f"`{first}`"
        other = f', and the label called none is {name} == "none"' if called else ""
        yield (
            f"a missing value is a label of {_listed(blank)}, to which an answer may change; the "
            f"constraint '{name} != none' forbids it{other}"
        )


def _listed(names: Sequence[str]) -> str:
    return ", ".join([*names[:SHOWN], *(["…"] if len(names) > SHOWN else [])])


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
    points = [number(text.replace(",", ".", 1)) is not None for text in texts]
    if all(points) and any("," in text for text in texts):
        return (
            "holds numbers with decimal commas, which are texts here, and becomes categories; "
            "write points in them"
        )
    if any(map(is_too_large, texts)) and all(isinstance(number(text), int) for text in texts):
        return (
            "holds whole numbers beyond 64 bits, so that all of it is text, and becomes "
            "categories; written with a point (1.0 for 1) they are numbers"
        )
    different = len(set(texts))
    if different > MANY_TEXTS and different >= NEARLY_ALL * len(texts):
        return f"holds {different} different texts in {len(column)} rows, as an identifier does"
    return ""


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[\w.-]+", name) else f"'{name}'"

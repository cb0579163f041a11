"""Rows in files: JSON objects, and tables in CSV."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InvalidInputError
from .csv_files import is_missing, number, read_csv, read_csv_row, truth

if TYPE_CHECKING:
    import pandas as pd

    from ..space import FeatureSpace, Label

_NUMBERED = re.compile(r"(?P<path>.+\.csv):(?P<row>[^:/]*)", re.IGNORECASE)
MOST_DIGITS = 18
"""Of a row's number."""
LARGEST = 2 * 10**7
"""Bytes of a table that is read for rows to begin with."""


def read_factual(text: str, space: FeatureSpace) -> Mapping[str, Any]:
    """The row of one instance: ``row.json``, ``row.csv`` with one row, or ``table.csv:17``.

    JSON is one object, column → value (``null`` is a missing value).  Rows of a CSV count from 0,
    the header aside, as in ``DataFrame.iloc``; the space says which of its cells are numbers.
    Columns that the space does not know (the outcome, say) are passed over if none that it needs is
    missing.

    Raises:
        InvalidInputError, MissingColumnError: no such file or row, or not one row.
    """
    path, numbered = Path(text), _NUMBERED.fullmatch(text)
    if numbered and not path.exists():
        row = _csv_row(Path(numbered["path"]), _row_number(numbered["row"]), space)
    elif path.suffix.lower() == ".csv":
        row = _csv_row(path, None, space)
    else:
        row = _json_row(path)
    return _of_space(row, space)


def read_instances(path: Path, space: FeatureSpace) -> list[Mapping[str, Any]]:
    """Every row of a CSV file as :func:`read_factual` reads one.

    Raises:
        InvalidInputError: no such file, or no CSV.
    """
    table = read_csv(path)
    cells = (zip(table.header, row, strict=True) for row in table.rows)
    return [_of_space({name: _cell(t, name, space) for name, t in row}, space) for row in cells]


def _of_space(row: Mapping[str, Any], space: FeatureSpace) -> Mapping[str, Any]:
    """The columns of the space; all there are, to be refused by name, if one is missing."""
    if any(column not in row for column in space.columns):
        return row
    return {column: row[column] for column in space.columns}


def read_known(text: str, space: FeatureSpace) -> pd.DataFrame | None:
    """The rows beside the one of ``table.csv:17``, of which some may be where a search begins.

    ``None`` where the row stands alone, or the table is too large to be read for that.
    """
    path, numbered = Path(text), _NUMBERED.fullmatch(text)
    if not numbered or path.exists() or Path(numbered["path"]).stat().st_size > LARGEST:
        return None
    return read_rows(Path(numbered["path"]), space)


def _row_number(text: str) -> int:
    if not text.isdecimal() or len(text) > MOST_DIGITS:
        raise InvalidInputError(
            f"no row '{text}': after the colon stands a row's number, counted from 0: data.csv:17"
        )
    return int(text)


def _csv_row(path: Path, number: int | None, space: FeatureSpace) -> Mapping[str, Any]:
    row = read_csv_row(path, number)
    return {name: _cell(text, name, space) for name, text in row.items()}


def _cell(text: str, column: str, space: FeatureSpace) -> Any:
    """What a cell's text means in its column: the space says which are numbers, and which labels.

    A text that means nothing there stays a text, to be refused by name.
    """
    if column not in space.columns:
        return text
    feature, bits = space.column_source(column)
    if bits is None and feature.is_symbolic:
        return _label(text, feature.labels)
    if is_missing(text):
        return None
    value = number(text)
    if value is None and bits is not None:
        value = truth(text)
    return text if value is None else value


def _label(text: str, labels: Sequence[Label]) -> Label:
    texts = [label for label in labels if isinstance(label, str)]
    if not text or (is_missing(text) and not texts):
        return None
    found = [] if text in texts else [label for label in labels if reads(text, label)]
    return found[0] if len(found) == 1 else text


def _json_row(path: Path) -> Mapping[str, Any]:
    try:
        row = json.loads(path.read_bytes().decode("utf-8-sig"), object_pairs_hook=once)
    except OSError as error:
        raise InvalidInputError(f"{path}: cannot read the row: {error.strerror}") from error
    except json.JSONDecodeError as error:
        raise InvalidInputError(
            f"{path}:{error.lineno}:{error.colno}: not JSON, or truncated: {error.msg}"
        ) from error
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path}: not JSON that can be read: not text in UTF-8") from error
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from error
    except RecursionError as error:
        raise InvalidInputError(f"{path}: not JSON that can be read: nested too deeply") from error
    except ValueError as error:
        raise InvalidInputError(
            f"{path}: not JSON that can be read: a number of thousands of digits"
        ) from error
    if not isinstance(row, dict):
        raise InvalidInputError(
            f"{path}: expected one JSON object, column → value, not a {type(row).__name__}"
        )
    return row


def once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """The pairs of a JSON object, or of an option, as a mapping.

    Raises:
        InvalidInputError: a name occurs twice.
    """
    names = [name for name, _ in pairs]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InvalidInputError(f"given twice: {', '.join(map(repr, twice[:8]))}")
    return dict(pairs)


def read_rows(path: Path, space: FeatureSpace) -> pd.DataFrame:
    """The space's columns of a file, every cell in its column's type.

    Raises:
        InvalidInputError: no such file, no CSV, or no row in it.
    """
    import pandas as pd

    table = read_csv(path)
    if not table.rows:
        raise InvalidInputError(f"{path}: the table has no rows")
    cells = zip(table.header, zip(*table.rows, strict=True), strict=True)
    known = {n: [_cell(t, n, space) for t in texts] for n, texts in cells if n in space.columns}
    return pd.DataFrame(known)


def reads(text: str, label: Label) -> bool:
    """Whether ``text`` is how someone writes a label that is no text; ``1`` is also true."""
    if isinstance(label, int | float) and (value := number(text)) is not None:
        return value == label
    return not isinstance(label, str) and text.strip().casefold() == str(label).casefold()


__all__ = ["once", "read_factual", "read_instances", "read_known", "read_rows", "reads"]

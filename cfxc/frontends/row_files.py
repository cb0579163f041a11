"""Rows in files: JSON objects, and tables in CSV."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import CfxcError, InvalidInputError, MissingColumnError, MissingExtraError
from ..suffixes import PARQUET, TABLES
from .csv_files import Table, is_missing, number, read_csv, read_csv_row, sample_csv, truth

if TYPE_CHECKING:
    import pandas as pd

    from ..space import FeatureSpace, Label

_NUMBERED = re.compile(r"(?P<path>.+\.(csv|parquet|pq)|.+(?=:\d+$)):(?P<row>[^:/]*)", re.IGNORECASE)
MOST_DIGITS = 18
"""Of a row's number."""
MOST_ROWS = 10_000
"""Rows of a Parquet file that a search may begin with."""
LARGEST = 2 * 10**6
"""Bytes of a table that is read for rows to begin with; of a larger one, rows here and there."""


def read_factual(text: str, space: FeatureSpace) -> Mapping[str, Any]:
    """The row of one instance: ``row.json``, ``row.csv`` with one row, or ``table.csv:17``.

    Parquet is read like CSV: ``table.parquet:17``.

    JSON is one object, column → value (``null`` is a missing value).  Rows of a CSV count from 0,
    the header aside, as in ``DataFrame.iloc``; the space says which of its cells are numbers.
    Columns that the space does not know (the outcome, say) are passed over if none that it needs is
    missing.

    Raises:
        InvalidInputError, MissingColumnError: no such file or row, or not one row.
    """
    path, number = named_row(text)
    if text.isdecimal() and not path.exists():
        raise InvalidInputError(f"no row '{text}': name its table too, such as data.csv:{text}")
    if path.suffix.lower() not in TABLES:
        if number is not None and path.is_file():
            raise InvalidInputError(
                f"{path}: no row {number}: a table's name ends in .csv, .parquet or .pq; name one"
            )
        return _of_space(_json_row(path), space)
    read = _csv_row if path.suffix.lower() == ".csv" else _parquet_row
    row = read(path, number, space)
    _require_columns(path, space, list(row))
    return _of_space(row, space)


def named_row(text: str) -> tuple[Path, int | None]:
    """The file that ``table.csv:17`` names, and the row of it if it does."""
    path, numbered = Path(text), _NUMBERED.fullmatch(text)
    if not numbered or path.exists():
        return path, None
    return Path(numbered["path"]), _row_number(numbered["row"])


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

    ``None`` where the row stands alone.
    """
    path, number = named_row(text)
    if number is None:
        return None
    if path.suffix.lower() in PARQUET:
        return read_parquet(path)[list(space.columns)].head(MOST_ROWS)
    if path.stat().st_size <= LARGEST:
        return read_rows(path, space)
    table = sample_csv(path)
    return _of_table(table, space) if table.rows else None


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
        from ..space.names import unreadable

        said = unreadable(path, "the row", error, "name the row's file")
        raise InvalidInputError(said) from error
    except json.JSONDecodeError as error:
        raise InvalidInputError(
            f"{path}:{error.lineno}:{error.colno}: not JSON, or truncated: {error.msg}"
        ) from error
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"{path}: not JSON that can be read: not text in UTF-8; a row is a JSON object, "
            "column → value"
        ) from error
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
    table = read_csv(path)
    _require_columns(path, space, table.header)
    if not table.rows:
        raise InvalidInputError(f"{path}: the table has no rows")
    return _of_table(table, space)


def _of_table(table: Table, space: FeatureSpace) -> pd.DataFrame:
    import pandas as pd

    cells = zip(table.header, zip(*table.rows, strict=True), strict=True)
    known = {n: [_cell(t, n, space) for t in texts] for n, texts in cells if n in space.columns}
    return pd.DataFrame(known)


def read_frame(path: Path) -> pd.DataFrame:
    """All columns of a CSV or Parquet file, each in the type that all of its cells have.

    Raises:
        InvalidInputError, MissingExtraError: no such file, no table; no pyarrow for Parquet.
    """
    return read_parquet(path) if path.suffix.lower() in PARQUET else read_csv(path).frame()


def read_people(path: Path, space: FeatureSpace) -> tuple[pd.DataFrame, dict[int, str]]:
    """The space's columns of a CSV or Parquet file, indexed by the rows' numbers from 0.

    Columns of CSV have the space's dtypes where these can hold them.  Rows with a text where a
    number belongs are left out; the mapping says what is wrong with them.

    Raises:
        InvalidInputError, MissingColumnError, MissingExtraError: no such file, no table, no row;
            a column of the space is missing; no pyarrow for Parquet.
    """
    import pandas as pd

    if path.suffix.lower() in PARQUET:
        frame, wrong = read_parquet(path), dict[int, str]()
        _require_columns(path, space, list(frame.columns))
        frame = frame[list(space.columns)].reset_index(drop=True)
    else:
        table = read_csv(path)
        _require_columns(path, space, table.header)
        texts = dict(zip(table.header, zip(*table.rows, strict=True), strict=False))
        cells = {n: [_cell(t, n, space) for t in texts.get(n, ())] for n in space.columns}
        wrong = _misplaced(cells, space)
        kept = [i for i in range(len(table.rows)) if i not in wrong]
        columns = {n: _in_dtype([cells[n][i] for i in kept], n, space) for n in cells}
        frame = pd.DataFrame(columns).set_axis(pd.Index(kept, dtype="int64"))
    if frame.empty and not wrong:
        raise InvalidInputError(f"{path}: the table has no rows")
    return frame.rename_axis("row"), wrong


def _misplaced(cells: Mapping[str, Sequence[Any]], space: FeatureSpace) -> dict[int, str]:
    """What is wrong with rows that have a text where a column holds none, by their places."""
    places = set[int]()
    for name, column in cells.items():
        labels = space.column_source(name)[0].labels
        if not any(isinstance(label, str) for label in labels):
            places |= {i for i, cell in enumerate(column) if isinstance(cell, str)}
    found = dict[int, str]()
    for place in sorted(places):
        try:
            space.encode_row({name: column[place] for name, column in cells.items()})
            found[place] = "a text where a number belongs"
        except CfxcError as error:
            found[place] = str(error)
    return found


def _in_dtype(cells: Sequence[Any], name: str, space: FeatureSpace) -> pd.Series[Any]:
    """A column in the dtype that the space has for it, if that holds every cell."""
    import pandas as pd

    feature, _ = space.column_source(name)
    column = pd.Series(cells)
    try:
        cast = column.astype(feature.dtypes[feature.columns.index(name)])
        same = (cast == column) | (cast.isna() & column.isna())
    except (TypeError, ValueError, OverflowError):
        return column
    return cast if bool(same.all()) else column


def read_parquet(path: Path) -> pd.DataFrame:
    """The table of a Parquet file.

    Raises:
        InvalidInputError: it cannot be read.
        MissingExtraError: pyarrow is not installed.
    """
    import pandas as pd

    if find_spec("pyarrow") is None:
        raise MissingExtraError("parquet", "pyarrow", f"{path}: reading Parquet")
    import pyarrow

    try:
        return pd.read_parquet(path)
    except OSError as error:
        from ..space.names import unreadable

        why = "it is no Parquet, or truncated"
        if isinstance(error, FileNotFoundError):
            why = "No such file or directory"
        elif isinstance(error, PermissionError):
            why = "Permission denied"
        said = unreadable(path, "the table", why, "name the table's file")
        raise InvalidInputError(said) from error
    except (ValueError, pyarrow.ArrowException) as error:
        raise InvalidInputError(
            f"{path}: cannot read the table: it is no Parquet, or truncated"
        ) from error


def _parquet_row(path: Path, number: int | None, space: FeatureSpace) -> Mapping[str, Any]:
    frame = read_parquet(path)
    if number is None and len(frame) != 1:
        raise InvalidInputError(
            f"{path}: expected one row, found {len(frame)}; name one, counted from 0: {path}:0"
        )
    if (number or 0) >= len(frame):
        known = f"rows count from 0 to {len(frame) - 1}" if len(frame) else "the table has none"
        raise InvalidInputError(f"{path}: no row {number}; {known}")
    return {str(name): frame[name].iloc[number or 0] for name in frame.columns}


def _require_columns(path: Path, space: FeatureSpace, known: Sequence[str]) -> None:
    from ..space.names import renamed, shown, suggestion

    missing = [name for name in space.columns if name not in known]
    if missing:
        remedy = f"; {_headless(known) or 'add it, or correct the header'}"
        spelt = renamed(missing, [name for name in known if name not in space.columns])
        raise MissingColumnError(
            f"{path}: missing column{'s' * (len(missing) > 1)}: {shown(missing)}"
            f"{spelt or suggestion(missing[0], known) + remedy}"
        )


def _headless(header: Sequence[str]) -> str:
    """What to do where the names of columns are numbers; empty if none is."""
    if all(number(name) is None for name in header):
        return ""
    return "its first line seems to hold data: a CSV file begins with the names of its columns"


def reads(text: str, label: Label) -> bool:
    """Whether ``text`` is how someone writes a label that is no text; ``1`` is also true."""
    if isinstance(label, int | float) and (value := number(text)) is not None:
        return value == label
    return not isinstance(label, str) and text.strip().casefold() == str(label).casefold()

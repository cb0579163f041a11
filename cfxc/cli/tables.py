"""What the commands read besides models: tables, rows, targets, distances."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InvalidInputError, MissingColumnError

if TYPE_CHECKING:
    import pandas as pd

    from ..api import CompiledModel
    from ..frontends.space import FeatureSpace

_NUMBERED = re.compile(r"(?P<path>.+\.csv):(?P<row>\d+)", re.IGNORECASE)


def read_csv(path: Path) -> pd.DataFrame:
    """A table from a CSV file with a header; numbers are the doubles nearest to what is written.

    Raises:
        InvalidInputError: the file is missing, empty or not CSV.
    """
    import pandas as pd

    try:
        return pd.read_csv(path, **_exact_floats(pd.__version__))
    except OSError as error:
        raise InvalidInputError(f"{path}: cannot read the table: {error.strerror}") from error
    except pd.errors.EmptyDataError as error:
        raise InvalidInputError(f"{path}: the table is empty") from error
    except (pd.errors.ParserError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0]
        raise InvalidInputError(f"{path}: not a table in CSV: {reason}") from error


def _exact_floats(version: str) -> dict[str, Any]:
    """The option for correctly rounded decimals: pandas before 3.1 has it, later ones do so."""
    major, minor = (int(part) for part in version.split(".")[:2])
    return {"float_precision": "round_trip"} if (major, minor) < (3, 1) else {}


def read_factual(text: str, space: FeatureSpace) -> Mapping[str, Any]:
    """The row of one person: ``row.json``, ``row.csv`` with one row, or ``table.csv:17``.

    JSON is one object, column → value (``null`` is a missing value).  Rows of a CSV count from 1,
    the header aside; its columns that the space does not know are passed over.

    Raises:
        InvalidInputError, MissingColumnError: no such file or row, or not one row.
    """
    numbered = _NUMBERED.fullmatch(text)
    if numbered and not Path(text).exists():
        return _csv_row(Path(numbered["path"]), int(numbered["row"]), space)
    path = Path(text)
    if path.suffix.lower() == ".csv":
        return _csv_row(path, None, space)
    return _json_row(path)


def _csv_row(path: Path, number: int | None, space: FeatureSpace) -> Mapping[str, Any]:
    table = read_csv(path)
    if number is None and len(table) != 1:
        raise InvalidInputError(
            f"{path}: expected one row, found {len(table)}; name one, counted from 1: {path}:1"
        )
    if number is not None and not 1 <= number <= len(table):
        raise InvalidInputError(f"{path}: no row {number}; rows count from 1 to {len(table)}")
    row = table.iloc[(number or 1) - 1]
    return {str(column): row[column] for column in table.columns if column in space.columns}


def _json_row(path: Path) -> Mapping[str, Any]:
    try:
        row = json.loads(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise InvalidInputError(f"{path}: cannot read the row: {error.strerror}") from error
    except json.JSONDecodeError as error:
        raise InvalidInputError(
            f"{path}:{error.lineno}:{error.colno}: not JSON, or truncated: {error.msg}"
        ) from error
    except (ValueError, RecursionError) as error:  # not UTF-8, endless digits, nested too deeply
        raise InvalidInputError(f"{path}: not JSON that can be read: {error}") from error
    if not isinstance(row, dict):
        raise InvalidInputError(
            f"{path}: expected one JSON object, column → value, not a {type(row).__name__}"
        )
    return row


def read_target(model: CompiledModel, label: str | None, range_: str | None) -> Any:
    """The target that ``--target`` or ``--range`` names: a label, a range, or ``None``.

    Raises:
        InvalidInputError: both are given, or the one that the model has no use for.
    """
    classes = model.predictor.classes
    if label is not None and range_ is not None:
        raise InvalidInputError("give --target (a label) or --range (LO:HI), not both")
    if classes is None and range_ is None:
        raise InvalidInputError("the model predicts a number; say what is wanted: --range LO:HI")
    if classes is not None and range_ is not None:
        raise InvalidInputError("the model predicts a label; say which is wanted: --target LABEL")
    if range_ is not None:
        return _range(range_)
    if label is None or classes is None or label in classes:
        return label
    found = [one for one in classes if not isinstance(one, str) and _reads(label, one)]
    return found[0] if found else label


def _reads(text: str, label: Any) -> bool:
    """Whether ``text`` is how someone writes a label that is a number, a boolean or missing."""
    if isinstance(label, int | float) and not isinstance(label, bool):
        try:
            return float(text) == label
        except ValueError:
            return False
    return text.casefold() == str(label).casefold()


def _range(text: str) -> tuple[str | None, str | None]:
    ends = [end.strip() for end in text.split(":")]
    if len(ends) != 2:
        raise InvalidInputError(f"--range {text!r}: write LO:HI, :HI or LO:, such as 100:150")
    low, high = ends
    return low or None, high or None


def read_distance(text: str) -> str | dict[str, str]:
    """A distance's name or file as it is; ``l0=0.3,l1=0.7`` as a mapping of coefficients."""
    if "=" not in text or text.endswith(".cfl"):
        return text
    parts = [part.partition("=") for part in text.split(",")]
    return {name.strip(): factor.strip() for name, _, factor in parts}


def column_names(options: list[str] | None, known: list[str]) -> list[str]:
    """Names from a repeatable option, each one column or several between commas."""
    names: list[str] = []
    for option in options or []:
        names += [option] if option in known else [name.strip() for name in option.split(",")]
    return names


def without_target(table: pd.DataFrame, target: str | None, path: Path) -> pd.DataFrame:
    """The table without its target column.

    Raises:
        MissingColumnError: there is no such column.
    """
    from ..frontends.space.names import suggestion

    if target is None:
        return table
    if target not in table.columns:
        columns = map(str, table.columns)
        raise MissingColumnError(f"{path}: no column {target!r}{suggestion(target, columns)}")
    return table.drop(columns=[target])

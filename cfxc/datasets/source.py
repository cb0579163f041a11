"""Where the published files are: the directory in ``CFXC_DATA``, else OpenML."""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import InvalidInputError
from ..space import FeatureSpace

VARIABLE = "CFXC_DATA"


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set ready for explanations.

    Attributes:
        name: ``credit``, ``compas`` or ``adult``.
        X: n rows, one per instance, d raw columns.
        y: Target of each row, 0 or 1.
        space: The features of ``X``; all of them free, as in the paper.
        favourable: The value of ``y`` that a recourse aims for.
        description: Source and variant.
    """

    name: str
    X: pd.DataFrame
    y: pd.Series[Any]
    space: FeatureSpace
    favourable: int
    description: str


def local_file(*relative: str) -> Path | None:
    """The first of the ``relative`` paths that exists below ``CFXC_DATA``; ``None`` if none."""
    root = os.environ.get(VARIABLE)
    if not root:
        return None
    files = (Path(root) / path for path in relative)
    return next((file for file in files if file.is_file()), None)


def read_csv(path: Path, **options: Any) -> pd.DataFrame:
    """``pandas.read_csv`` with errors that name the file.

    Raises:
        InvalidInputError: the file is truncated, no CSV, or lacks columns.
    """
    try:
        return pd.read_csv(path, **options)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise InvalidInputError(
            f"{path}: cannot be read ({str(error).splitlines()[0]}); fetch the file again"
        ) from error


def fetch(name: str, data_id: int, required: str, publisher: str) -> pd.DataFrame:
    """The table ``data_id`` of OpenML, cached in scikit-learn's data home.

    Raises:
        InvalidInputError: OpenML cannot be reached; says which file to put where.
    """
    from sklearn.datasets import fetch_openml

    try:
        frame = fetch_openml(data_id=data_id, as_frame=True, parser="auto", n_retries=1).frame
    except (OSError, HTTPException, ValueError) as error:
        reason = f"and OpenML (data set {data_id}) cannot be read ({error})"
        raise not_found(name, required, publisher, reason) from error
    return frame.rename(columns=lambda column: str(column).replace("-", "_"))


def not_found(name: str, required: str, publisher: str, reason: str = "") -> InvalidInputError:
    """The error that tells which file belongs where."""
    root = os.environ.get(VARIABLE)
    place = f"{VARIABLE} is {root!r} and has no such file" if root else f"{VARIABLE} is not set"
    return InvalidInputError(
        f"data set {name!r}: {required} is not there: {place}{', ' * bool(reason)}{reason}.\n"
        f"Get it from {publisher}, put it at $CFXC_DATA/{required} (gzip-compressed), and set "
        f"{VARIABLE} to that directory."
    )


def require(frame: pd.DataFrame, columns: list[str], rows: int | None, where: str) -> None:
    """Refuse a table that is not the published one: other columns, or another number of rows.

    Raises:
        InvalidInputError: what is missing, or how many rows there are.
    """
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise InvalidInputError(f"{where}: lacks the columns {missing}; is it the published file?")
    if rows is not None and len(frame) != rows:
        raise InvalidInputError(
            f"{where}: {len(frame)} rows instead of {rows}; is the published file complete?"
        )

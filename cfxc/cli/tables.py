"""What the commands read besides models: tables, rows, targets, distances."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..errors import InvalidInputError, MissingColumnError
from .csv_files import is_missing, number, read_csv, read_csv_row, truth

if TYPE_CHECKING:
    import pandas as pd

    from ..api import CompiledModel
    from ..frontends.causal import CausalModel
    from ..frontends.distances import Mahalanobis
    from ..frontends.space import FeatureSpace, Label
    from ..frontends.trust_region import TrustRegion

_NUMBERED = re.compile(r"(?P<path>.+\.csv):(?P<row>[^:/]*)", re.IGNORECASE)
MOST_DIGITS = 18
"""Of a row's number."""
LARGEST = 2 * 10**7
"""Bytes of a table that is read for rows to begin with."""


def read_factual(text: str, space: FeatureSpace) -> Mapping[str, Any]:
    """The row of one person: ``row.json``, ``row.csv`` with one row, or ``table.csv:17``.

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


def read_people(path: Path, space: FeatureSpace) -> list[Mapping[str, Any]]:
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
    found = [] if text in texts else [label for label in labels if _reads(text, label)]
    return found[0] if len(found) == 1 else text


def _json_row(path: Path) -> Mapping[str, Any]:
    try:
        row = json.loads(path.read_bytes().decode("utf-8-sig"), object_pairs_hook=_once)
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


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """The pairs of a JSON object, or of an option, as a mapping.

    Raises:
        InvalidInputError: a name occurs twice.
    """
    names = [name for name, _ in pairs]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InvalidInputError(f"given twice: {', '.join(map(repr, twice[:8]))}")
    return dict(pairs)


def read_target(model: CompiledModel, label: str | None, range_: str | None) -> Any:
    """The target that ``--target`` or ``--range`` names: a label, a range, or ``None``.

    Raises:
        InvalidInputError: both are given, or the one that the model has no use for.
    """
    classes = model.predictor.classes
    if label is not None and range_ is not None:
        raise InvalidInputError("give --target (a label) or --range (LO:HI), not both")
    if label is None and range_ is None and model.favourable is not None:
        return None
    if classes is None and model.program.output_sorts["value"].shape:
        raise InvalidInputError(
            "the model predicts several numbers; if they are scores of classes, say --task "
            "classifier"
        )
    if classes is None and range_ is None:
        raise InvalidInputError("the model predicts a number; say what is wanted: --range LO:HI")
    if classes is not None and range_ is not None:
        raise InvalidInputError("the model predicts a label; say which is wanted: --target LABEL")
    if range_ is not None:
        return _range(range_)
    if label is None or classes is None or label in classes:
        return label
    found = [one for one in classes if _reads(label, one)]
    return found[0] if len(found) == 1 else label


def read_favourable(model: CompiledModel, text: str) -> CompiledModel:
    """The model with the outcome that ``--favourable`` names: a label, or a range.

    Raises:
        InvalidInputError: the model has no such outcome.
    """
    from ..frontends.target import check_favourable

    is_label = model.predictor.classes is not None
    named = read_target(model, text, None) if is_label else _range(text, "--favourable")
    return replace(model, favourable=check_favourable(model.program, named))


def _reads(text: str, label: Label) -> bool:
    """Whether ``text`` is how someone writes a label that is no text; ``1`` is also true."""
    if isinstance(label, int | float) and (value := number(text)) is not None:
        return value == label
    return not isinstance(label, str) and text.strip().casefold() == str(label).casefold()


def _range(text: str, option: str = "--range") -> tuple[str | None, str | None]:
    ends = [end.strip() for end in text.split(":")]
    if len(ends) != 2:
        raise InvalidInputError(f"{option} {text!r}: write LO:HI, :HI or LO:, such as 100:150")
    low, high = ends
    return low or None, high or None


def read_distance(text: str, space: FeatureSpace) -> str | dict[str, str] | Mahalanobis:
    """A distance's name or file as it is; ``l0=0.3,l1=0.7`` as a mapping of coefficients.

    ``mahalanobis=data.csv``: by the covariance of the rows of a table.

    Raises:
        InvalidInputError: a coefficient is given twice; no such table.
    """
    if "=" not in text or text.endswith(".cfl"):
        return text

    from ..frontends.distances import MAHALANOBIS, Mahalanobis

    name, _, file = text.partition("=")
    if name.strip() == MAHALANOBIS:
        return Mahalanobis(read_rows(Path(file.strip()), space))
    parts = [part.partition("=") for part in text.split(",")]
    return _once([(name.strip(), factor.strip()) for name, _, factor in parts])


def read_trust_region(text: str | None, space: FeatureSpace) -> TrustRegion | None:
    """``data.csv``, or with epsilon, norm, clusters, weight: ``data.csv,epsilon=0.1,clusters=3``.

    Raises:
        CfxcError: there is no such file, or an option is none of these.
    """
    if text is None:
        return None
    from ..frontends.trust_region import TrustRegion

    file, *parts = text.split(",")
    options: dict[str, Any] = {}
    for part in parts:
        name, _, value = (piece.strip() for piece in part.partition("="))
        if name not in ("epsilon", "norm", "clusters", "weight"):
            raise InvalidInputError(
                f"--trust-region: '{part}' is none of epsilon=…, norm=…, clusters=…, weight=…"
            )
        options[name] = value if name == "norm" else _figure(name, value)
    return TrustRegion(read_rows(Path(file.strip()), space), **options)


def _figure(name: str, text: str) -> int | float:
    try:
        return int(text) if name == "clusters" else float(text)
    except ValueError:
        raise InvalidInputError(f"--trust-region: {name}={text} is no number") from None


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


def read_causal(equations: Sequence[str]) -> CausalModel | None:
    """``amount = 90 * duration``, one for each feature that follows from others.

    Raises:
        InvalidInputError: no equation, or a feature has two.
    """
    if not equations:
        return None
    from ..frontends.causal import CausalModel

    parts = [equation.partition("=") for equation in equations]
    for equation, (name, _, mechanism) in zip(equations, parts, strict=True):
        if not name.strip() or not mechanism.strip():
            raise InvalidInputError(f"--causal '{equation}' is no 'feature = equation'")
    return CausalModel(_once([(name.strip(" `"), right.strip()) for name, _, right in parts]))


def column_names(options: list[str] | None, known: list[str]) -> list[str]:
    """Names from a repeatable option, each one column or several between commas."""
    names: list[str] = []
    for option in options or []:
        names += [option] if option in known else [name.strip() for name in option.split(",")]
    return names


def read_levels(options: list[str] | None, table: pd.DataFrame) -> dict[str, list[Label]]:
    """``size=small,large`` for each ordinal column: its levels in rising order.

    Raises:
        InvalidInputError, MissingColumnError: no such option; no such column.
    """
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
    """``pay=0.01`` for each column: its resolution, a decimal or a fraction as written.

    Raises:
        InvalidInputError, MissingColumnError: no such option; no such column.
    """
    pairs = _by_column("resolution", "pay=0.01", options, columns)
    return {name: step.strip() for name, step in pairs} or "auto"


def _by_column(
    option: str, example: str, given: list[str] | None, columns: list[str]
) -> list[tuple[str, str]]:
    """Pairs of ``column=value``; a column's name may hold an equals sign itself."""
    from ..frontends.space.names import suggestion

    pairs = []
    for text in given or []:
        known = [name for name in columns if text.startswith(f"{name}=")]
        name = max(known, key=len) if known else text.partition("=")[0].strip()
        if not text.partition("=")[2].strip():
            raise InvalidInputError(f"--{option} {text!r}: write --{option} {example}")
        if name not in columns:
            raise MissingColumnError(f"--{option}: no column {name!r}{suggestion(name, columns)}")
        pairs.append((name, text[text.index("=", len(name)) + 1 :]))
    return list(_once(pairs).items())


def without(table: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """The table without the columns ``names``.

    Raises:
        MissingColumnError: there is no such column.
    """
    from ..frontends.space.names import suggestion

    for name in names:
        if name not in table.columns:
            raise MissingColumnError(f"no column {name!r}{suggestion(name, table.columns)}")
    return table.drop(columns=list(names))

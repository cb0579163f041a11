"""Feature spaces as TOML, to read and edit by hand; reading back gives the same space."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

from ..errors import DataTypeError, InvalidInputError, MissingColumnError
from ..writing import path_of
from .feature import WORDING, Feature
from .names import one_of, read_text, suggestion
from .tables import Tables
from .values import Label, decimal_text, exact, is_double

VERSION = 1
REMEDY = "name its file, or write one: cfxc space infer DATA.csv -o space.toml"

_HEADER = f"""\
# Feature space of cfxc. Numbers in lower and upper are doubles, as in the table; a number in
# resolution or weight is the decimal as written; text such as "1/3" is an exact fraction.
version = {VERSION}
"""
_ALWAYS = ("action", "dtypes")  # written even at their default: readers look for them
_KEYS = {"dtypes": "dtype"}  # field → its name in the file
_SHORT = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_MISSING = "{missing = true}"  # TOML has no null: a missing value among labels


def dumps(features: Sequence[Feature], columns: Sequence[str], tables: Tables) -> str:
    """TOML text of a space: one ``[[feature]]`` each, fields at their default left out."""
    parts = [_HEADER]
    in_turn = [column for feature in features for column in feature.columns]
    if list(columns) != in_turn:
        parts[0] += f"columns = {_array(map(_text, columns))}\n"
    if tables != "pandas":
        parts[0] += f"tables = {_text(tables)}\n"
    return "\n".join([*parts, *map(_feature_text, features)])


def loads(text: str, source: str) -> tuple[tuple[Feature, ...], tuple[str, ...] | None, Tables]:
    """Features, the column order if stated, and whose tables a model takes, of a TOML text.

    Raises:
        InvalidInputError: not TOML, unknown or missing fields, another version, or values that
            make no feature; the message starts with ``source``.
    """
    try:
        document = tomllib.loads(text, parse_float=Decimal)
    except ValueError as error:  # also whole numbers of thousands of digits
        raise InvalidInputError(f"{source}: not valid TOML: {error}; {REMEDY}") from error
    except ArithmeticError as error:
        raise InvalidInputError(f"{source}: a number with too large an exponent") from error
    _refuse_unknown(document, ("version", "columns", "tables", "feature"), source)
    if "version" not in document:
        raise InvalidInputError(
            f"{source}: no version, so this is no feature space; infer one, or write version = "
            f"{VERSION} at its top"
        )
    if document["version"] != VERSION:
        raise InvalidInputError(
            f"{source}: version {document['version']!r} is not known; this cfxc reads "
            f"version = {VERSION}"
        )
    tables = document.get("feature", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise InvalidInputError(f"{source}: features are written as [[feature]] tables")
    features = tuple(_feature(table, f"{source}: feature {i}") for i, table in enumerate(tables, 1))
    columns = document.get("columns")
    order = None if columns is None else _texts(columns, f"{source}: columns")
    library: Any = document.get("tables", "pandas")
    one_of(library, get_args(Tables), f"{source}: tables")
    return features, order, library


def read(
    source: str | Path,
    what: str = "feature space",
    remedy: str = REMEDY,
) -> tuple[str, str]:
    """Text and name of a TOML source: a path, or the text itself if it has several lines.

    Raises:
        DataTypeError, InvalidInputError: no path and no text; no such file, or not UTF-8.
    """
    if isinstance(source, str) and "\n" in source:
        return source, what
    if not isinstance(source, str | Path):
        raise DataTypeError(
            f"from_toml: expected the path of a TOML file or its text, not {source!r}"
        )
    path = path_of(source, f"a {what}")
    return read_text(path, f"the {what}", remedy), str(path)


def _feature_text(feature: Feature) -> str:
    lines = ["[[feature]]"]
    for spec in fields(Feature):
        value = getattr(feature, spec.name)
        default = (feature.name,) if spec.name == "columns" else spec.default
        if value != default or spec.name in _ALWAYS:
            lines.append(f"{_KEYS.get(spec.name, spec.name)} = {_WRITERS[spec.name](value)}")
    return "\n".join(lines) + "\n"


def _text(value: str) -> str:
    if any(0xD800 <= ord(letter) <= 0xDFFF for letter in value):
        raise InvalidInputError(f"{value!r} holds a broken Unicode character, which no file can")
    return '"' + "".join(map(_escaped, value)) + '"'


def _escaped(letter: str) -> str:
    if letter in _SHORT:
        return _SHORT[letter]
    return f"\\u{ord(letter):04x}" if ord(letter) < 0x20 or ord(letter) == 0x7F else letter


def _array(items: Any) -> str:
    return "[" + ", ".join(items) + "]"


def _boolean(value: bool) -> str:
    return "true" if value else "false"


def _missing(value: bool | str) -> str:
    return _text(value) if isinstance(value, str) else _boolean(value)


def _bound(value: Fraction) -> str:
    if value.denominator == 1:
        return str(value.numerator)
    return _float(float(value)) if is_double(value) else f'"{decimal_text(value)}"'


def _decimal(value: Fraction) -> str:
    return str(value) if value.denominator == 1 else f'"{decimal_text(value)}"'


def _float(value: float) -> str:
    text = repr(value)
    return text if "." in text or "e" in text else text + ".0"


def _label(label: Label) -> str:
    if label is None:
        return _MISSING
    if isinstance(label, bool):
        return _boolean(label)
    if isinstance(label, str):
        return _text(label)
    return str(label) if isinstance(label, int) else _float(label)


def _labels(labels: Sequence[Label]) -> str:
    return _array(map(_label, labels))


def _names(names: Sequence[str]) -> str:
    return _array(map(_text, names))


def _dtypes(names: Sequence[str]) -> str:
    """One name if all columns agree."""
    return _text(names[0]) if len(set(names)) == 1 else _names(names)


_WRITERS: Mapping[str, Callable[[Any], str]] = {
    "name": _text,
    "kind": _text,
    "lower": _bound,
    "upper": _bound,
    "resolution": _decimal,
    "labels": _labels,
    "missing": _missing,
    "action": _text,
    "condition": _text,
    "weight": _decimal,
    "encoding": _text,
    "columns": _names,
    "dtypes": _dtypes,
    "missing_as": _text,
    **dict.fromkeys(WORDING, _text),
}


def _feature(table: Mapping[str, Any], where: str) -> Feature:
    if isinstance(table.get("name"), str):
        where += f" ({table['name']!r})"
    _refuse_unknown(table, tuple(_READERS), where)
    lacking = [name for name in ("name", "kind") if name not in table]
    if lacking:
        raise MissingColumnError(f"{where}: lacks {' and '.join(lacking)}")
    given = {name: _READERS[name](value, f"{where}: {name}") for name, value in table.items()}
    dtypes = given.pop("dtype", ())
    if len(dtypes) == 1:
        dtypes *= len(given.get("columns", (given["name"],)))
    try:
        return Feature(**given, dtypes=dtypes)
    except (InvalidInputError, DataTypeError) as error:
        said = str(error).removeprefix(f"feature {given['name']!r}: ")
        raise type(error)(f"{where}: {said}") from error


def _refuse_unknown(table: Mapping[str, object], known: Sequence[str], where: str) -> None:
    for name in table:
        if name not in known:
            raise InvalidInputError(f"{where}: unknown field {name!r}{suggestion(name, known)}")


def _read_text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise DataTypeError(f"{where}: expected text in quotes, got {value!r}")
    return value


def _read_missing(value: object, where: str) -> bool | str:
    if not isinstance(value, bool | str):
        raise DataTypeError(
            f'{where}: expected true or false, or "may fill", "free"; got {value!r}'
        )
    return value


def _read_bound(value: object, where: str) -> Fraction:
    """A bound; an unquoted decimal is the double it denotes, as in the table."""
    return exact(float(value) if isinstance(value, Decimal) else value, where)


def _texts(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        return (_read_text(value, where),)
    return tuple(_read_text(item, where) for item in value)


def _read_labels(value: object, where: str) -> tuple[Label, ...]:
    if not isinstance(value, list):
        raise DataTypeError(f"{where}: expected a list in brackets, got {value!r}")
    return tuple(_read_label(item, where) for item in value)


def _read_label(value: object, where: str) -> Label:
    if value == {"missing": True}:
        return None
    if isinstance(value, Decimal) and math.isfinite(value):
        return float(value)
    if isinstance(value, str | int):  # bool is an int
        return value
    raise DataTypeError(
        f"{where}: {value!r} is no category; write text, a number, true, false or {_MISSING}"
    )


_READERS: Mapping[str, Callable[[object, str], Any]] = {
    "name": _read_text,
    "kind": _read_text,
    "lower": _read_bound,
    "upper": _read_bound,
    "resolution": exact,
    "labels": _read_labels,
    "missing": _read_missing,
    "action": _read_text,
    "condition": _read_text,
    "weight": exact,
    "encoding": _read_text,
    "columns": _texts,
    "dtype": _texts,
    "missing_as": _read_text,
    **dict.fromkeys(WORDING, _read_text),
}

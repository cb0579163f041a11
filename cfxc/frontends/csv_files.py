"""Tables in CSV as they are written: texts first, numbers only where a whole column holds them.

Rules, the same for every command: cells are separated by commas, the first row is the header, every
row has as many cells as the header, blank lines are passed over.  An empty cell is a missing value.
A column is of numbers if each of its cells is one; then ``NA``, ``NaN``, ``null`` and ``None`` are
missing values too, which in a column of text are texts.  Codes with leading zeros (``007``) and
whole numbers beyond 64 bits are text.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ..errors import CfxcError, InvalidInputError
from ..suffixes import BINARY

if TYPE_CHECKING:
    import pandas as pd

NO_NUMBER = frozenset({"na", "n/a", "#n/a", "<na>", "nan", "-nan", "null", "none"})
"""What stands for a missing value in a column of numbers or booleans, in small letters."""

_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
_CODE = re.compile(r"[+-]?0\d+", re.ASCII)
_BOOLEANS = {text: text[0] in "tT" for text in ["true", "True", "TRUE", "false", "False", "FALSE"]}
_OTHER_SEPARATORS = {";": "';'", "\t": "a tab", "|": "'|'"}
_INT64 = range(-(2**63), 2**63)


@dataclass(frozen=True)
class Table:
    """The cells of a CSV file as texts.

    Attributes:
        path: The file, for messages.
        header: Names of the columns, all different; an empty one is ``Unnamed: <place from 0>``.
        rows: As many texts as ``header`` each.
    """

    path: Path
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def frame(self) -> pd.DataFrame:
        """The table with each column in the type that all of its cells have."""
        import pandas as pd

        columns = zip(*self.rows, strict=True) if self.rows else ((),) * len(self.header)
        return pd.DataFrame(dict(zip(self.header, map(_typed, columns), strict=True)))


def read_csv(path: Path) -> Table:
    """The table in a CSV file, in UTF-8.

    Raises:
        InvalidInputError: the file is missing, empty or no CSV; a row is longer or shorter than the
            header; two columns have one name; the cells are separated by something else.
    """
    with _lines(path) as (header, rows, _):
        return Table(path, header, tuple(rows))


def sample_csv(path: Path, places: int = 20, size: int = 20_000) -> Table:
    """Rows of a large table, read at some places of the file; lines with quotes are left out.

    Raises:
        InvalidInputError: as :func:`read_csv`, of the header.
    """
    with _lines(path) as (header, _, _):
        pass
    found = list[tuple[str, ...]]()
    with path.open("rb") as file:
        length = path.stat().st_size
        for place in range(places):
            file.seek(length * place // places)
            file.readline()
            lines = file.read(min(size, length // places)).splitlines()[:-1]
            texts = [one.decode("utf-8", "replace") for one in lines if b'"' not in one]
            found += [tuple(row) for row in csv.reader(texts) if len(row) == len(header)]
    return Table(path, header, tuple(found))


def read_csv_row(path: Path, number: int | None) -> dict[str, str]:
    """The cells of one row by column; rows count from 0, the header aside.

    Nothing behind the row is read, and of what is before it, lines are counted.  ``None``: of the
    only row.

    Raises:
        InvalidInputError: as :func:`read_csv`; there is no such row, or not one row.
    """
    with _lines(path, number or 0) as (header, rows, skipped):
        count, found = skipped, None
        for count, row in enumerate(rows, start=skipped + 1):
            if number is None or count == number + 1:
                found = row
            if count - 1 == number:
                break
    if number is None and count != 1:
        raise InvalidInputError(
            f"{path}: expected one row, found {count}; name one, counted from 0: {path}:0"
        )
    if found is None:
        known = f"rows count from 0 to {count - 1}" if count else "the table has none"
        raise InvalidInputError(f"{path}: no row {number}; {known}")
    return dict(zip(header, found, strict=True))


Lines = tuple[tuple[str, ...], Iterator[tuple[str, ...]], int]


@contextmanager
def _lines(path: Path, skip: int = 0) -> Iterator[Lines]:
    """The header and the rows of a CSV file, which are read as they are asked for.

    Of the first ``skip`` rows, as many are passed over as can be counted as lines: how many.
    """
    try:
        with path.open("rb") as raw, io.TextIOWrapper(raw, "utf-8-sig", newline="") as file:
            _refuse_wide(path, raw.peek(BLOCK)[:BLOCK])
            reader, passed = csv.reader(file, strict=True), 0
            try:
                header = next((row for row in reader if row), None)
                if header is None:
                    raise InvalidInputError(f"{path}: the table is empty")
                names = _header(path, header)
                if skip and (passed := _pass_over(raw, skip)):
                    file = io.TextIOWrapper(raw, "utf-8", newline="")
                    reader = csv.reader(file, strict=True)
                yield names, _rows(path, reader, names, passed), passed
            except csv.Error as error:
                line = reader.line_num + passed + (passed > 0)
                raise InvalidInputError(
                    f"{path}, line {line}: not a table in CSV: {error}"
                ) from error
    except CfxcError:
        raise
    except OSError as error:
        from ..space.names import unreadable

        said = unreadable(path, "the table", error, "name the table's file")
        raise InvalidInputError(said) from error
    except UnicodeDecodeError as error:
        raise _not_in_utf8(path, "such as from Latin-1", "LATIN1") from error


def _not_in_utf8(path: Path, known: str, name: str) -> InvalidInputError:
    if path.suffix.lower() in BINARY:
        return InvalidInputError(f"{path}: not a table in CSV: not text; name the table's file")
    return InvalidInputError(
        f"{path}: not a table in CSV: not text in UTF-8; save it as that, or convert it, {known}: "
        f"iconv -f {name} -t UTF-8 {shlex.quote(str(path))} > "
        f"{shlex.quote(str(path.with_name(f'{path.stem}-utf8{path.suffix}')))}"
    )


def _refuse_wide(path: Path, head: bytes) -> None:
    """Refuse a file in UTF-16, with a mark or without: of Latin letters every other byte is 0."""
    if head.count(0) * 4 > len(head):
        marked = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        end = "" if marked else "BE" if head[0] == 0 else "LE"
        raise _not_in_utf8(path, "from UTF-16", f"UTF-16{end}")


BLOCK = 2**15
"""Bytes that are searched for ends of lines at once."""


def _pass_over(file: BinaryIO, skip: int) -> int:
    """Go to the start of a row below a header of one line; how many rows are before it.

    Lines are rows as long as there are no quotes, no empty lines, and one kind of line ends.
    """
    here = file.tell()
    file.seek(0)
    plain = _are_rows(file.readline())
    passed, start = 0, file.tell()
    while plain and passed < skip:
        block = file.read(BLOCK) + file.readline()
        block = block[: block.rfind(b"\n") + 1]  # the last line may have no end
        if not block or not _are_rows(block):
            break
        count = block.count(b"\n")
        if passed + count > skip:
            block = b"\n".join(block.split(b"\n", skip - passed)[:-1]) + b"\n"
            count = skip - passed
        passed, start = passed + count, start + len(block)
        file.seek(start)
    file.seek(start if passed else here)
    return passed


def _are_rows(block: bytes) -> bool:
    """Whether each line is a row of a table, whatever its cells are."""
    ends = block.count(b"\r") == block.count(b"\r\n")
    empty = block.startswith((b"\n", b"\r\n")) or b"\n\n" in block or b"\n\r\n" in block
    return ends and not empty and b'"' not in block


def _rows(path: Path, reader: Any, names: Sequence[str], passed: int) -> Iterator[tuple[str, ...]]:
    for row in reader:
        if len(row) == len(names):
            yield tuple(row)
        elif row:
            _refuse_row(path, reader.line_num + passed + (passed > 0), row, names)


def _header(path: Path, header: Sequence[str]) -> tuple[str, ...]:
    for separator, what in _OTHER_SEPARATORS.items():
        if len(header) == 1 and separator in header[0]:
            raise InvalidInputError(
                f"{path}: one column, called {header[0]!r}: its cells seem to be separated by "
                f"{what}; save the table with commas between cells, and with points in numbers"
            )
    names = tuple(name or f"Unnamed: {place}" for place, name in enumerate(header))
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        listed = ", ".join(map(repr, twice[:8]))
        hint = "rename or drop them"
        if any(number(name) is not None for name in twice):
            hint = "if the table has no header, put a line with the columns' names before it"
        raise InvalidInputError(f"{path}: several columns are called {listed}; {hint}")
    return names


def _refuse_row(path: Path, line: int, row: Sequence[str], names: Sequence[str]) -> None:
    cells, columns = len(row), len(names)
    hint = "a value is missing, or a comma"
    if cells > columns:
        hint = "remove what is too much, or put a text that holds a comma in double quotes"
        if row[-1] == "":
            hint = "remove the comma at its end"
    raise InvalidInputError(
        f"{path}, line {line}: the row has {cells} cell{'s' * (cells != 1)}, and the header "
        f"{columns}; {hint}"
    )


def number(text: str) -> int | float | None:
    """The number that a cell is, rounded to a double unless it is whole; ``None`` for a text."""
    text = text.strip()
    if _WHOLE.fullmatch(text) and len(text) < _LONGEST:
        return int(text)
    if _DECIMAL.fullmatch(text) or _INFINITE.fullmatch(text):
        return float(text)
    return None


_LONGEST = 400
"""Digits from which on a number is beyond the largest double, and read as such."""


def is_too_large(text: str) -> bool:
    """Whether a cell is a whole number that no column of whole numbers can hold."""
    value = number(text)
    return isinstance(value, int) and value not in _INT64


def truth(text: str) -> bool | None:
    """The boolean that a cell is, or ``None``."""
    return _BOOLEANS.get(text.strip())


def is_missing(text: str) -> bool:
    """Whether a cell of a column of numbers or booleans holds none."""
    return not text or text.strip().casefold() in NO_NUMBER


def _typed(cells: Sequence[str]) -> pd.Series[Any]:
    """A column in the dtype that a table of its values has: bool, int64, float64, or of texts."""
    import numpy as np
    import pandas as pd

    different = set(cells)
    known = {cell for cell in different if not is_missing(cell)}
    gaps = different - known
    if known and all(truth(cell) is not None for cell in known):
        truths = {cell: truth(cell) for cell in known} | dict.fromkeys(gaps)
        return pd.Series([truths[cell] for cell in cells], dtype=object if gaps else bool)
    if not any(different):
        return pd.Series([np.nan] * len(cells), dtype=np.float64)
    numbers = _numbers(known)
    if numbers is None:
        return pd.Series([cell or None for cell in cells])
    whole = not gaps and all(isinstance(value, int) for value in numbers.values())
    numbers |= dict.fromkeys(gaps, np.nan)
    return pd.Series([numbers[cell] for cell in cells], dtype=np.int64 if whole else np.float64)


def _numbers(known: Iterable[str]) -> dict[str, float] | None:
    """The numbers that the different cells of a column are; ``None`` if it is a column of texts."""
    found: dict[str, float] = {}
    for cell in known:
        value = number(cell)
        if value is None or _CODE.fullmatch(cell.strip()):
            return None
        found[cell] = value
    whole = all(isinstance(value, int) for value in found.values())
    if whole and any(map(is_too_large, found)):
        return None
    return found if any(map(_DECIMAL.fullmatch, map(str.strip, found))) else None

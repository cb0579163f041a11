"""What a batch of answers says of a population, for those who answer for a model."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from os.path import exists
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..arrays import Ints
from ..errors import DataTypeError, InvalidInputError, MissingColumnError
from ..frontends.csv_files import read_csv
from ..frontends.row_files import read_parquet
from ..show.numbers import cell_text, shown
from ..show.overview import page
from ..space.names import names_arguments, names_in, suggestion, unreadable
from ..space.tables import as_pandas
from ..suffixes import TABLES
from ..writing import check_writable, path_of, write_whole
from .cells import changes_between, changes_text, plain_cell
from .pairing import Checked, asked_of, checked_certificates
from .parts import HEAD, PREFIX, part_start

STATUSES = ("optimal", "feasible", "infeasible", "unknown", "unchanged", "error")
"""In the order of a report."""
NEEDED = ("status", "distance", "changes", "reason", "lower_bound_proof")
"""Columns that answers have."""
NUMBERS = ("distance", "lower_bound")
"""Columns of numbers, where they are there."""
GROUPS = 8
"""Different values of a column that are groups; numbers of more are cut into quarters."""
LISTED = 1000
"""Answers in the table of a report."""
OUTCOMES = ("outcome_before", "outcome_after")
CERTIFIED, UNCHECKED = "certificate", "a certificate elsewhere"
FAILED = "a missing or failed certificate"
FAULT = "are missing, do not hold, or are not those of their answers"


@dataclass(frozen=True)
class Answers:
    """Answers of a batch.

    Attributes:
        table: As ``explain_batch`` gives it.
        places: The place of each among the rows that were asked about.
        asked: How many these are.
        name: What messages call it.
        identity: The hash of question and rows, of answers that were kept.
        texts: Of a CSV file, its cells by column: reading makes True of the label ``true``.
    """

    table: pd.DataFrame
    places: Ints
    asked: int
    name: str
    identity: str = ""
    texts: Mapping[str, Sequence[str]] = field(default_factory=dict)


@names_arguments
def report(
    answers: Any,
    path: str | Path,
    *,
    rows: Any = None,
    group: str | Sequence[str] = (),
    certificates: str | Path | None = None,
    policy: str | Path | None = None,
    title: str = "",
) -> Path:
    """Write a report about a batch of answers: one page of HTML that needs nothing else.

    How many were answered and proved, the distribution of distances, which features change how
    often, distances by group, the answers, and the certificates with their hashes.

    Args:
        answers: What :meth:`cfxc.CompiledModel.explain_batch` gave, or the directory that it wrote;
            or the file of ``cfxc batch``, ``.csv`` or ``.parquet``.
        path: Of the page, ``.html``.  It is returned.
        rows: The rows that were asked about, in their order, or the table that they were chosen
            from, whose index the answers have; needed for groups and certificates.
        group: Columns of ``rows`` by which distances are compared; a number of many values is cut
            into quarters.
        certificates: A folder of certificates, each of which is checked and compared with the
            answer that names it.
        policy: A file of what each certificate must ask; without one, it is as most of them do.
        title: Of the page.

    Warns:
        UserWarning: certificates are missing, do not hold, or are not those of their answers; or
            an answer has none.

    Raises:
        InvalidInputError, DataTypeError, MissingColumnError: there are no answers; the rows are
            others; there is no such column; the file cannot be written.
        MissingExtraError: the extra ``report`` (or, for a directory, ``parquet``) is missing.
    """
    if path_of(path).suffix.lower() not in (".html", ".htm"):
        raise InvalidInputError(f"{path}: a report is .html")
    check_writable(path)
    found = _given(answers)
    own = None if rows is None else _same_rows(found, as_pandas(rows))
    names = names_in(group, "group", "'age'")
    if not isinstance(title, str | None):
        raise DataTypeError(f"title is a text, not {title!r}")
    if names and own is None:
        raise InvalidInputError(
            "groups are columns of the rows that were asked about: give rows (--rows)"
        )
    changed = changed_of(found) if own is None else _compared(found, own)
    checked = list[Checked]()
    if policy is not None and certificates is None:
        raise InvalidInputError("a policy is what certificates are compared with: give these too")
    if certificates is not None:
        if own is None:
            raise InvalidInputError(
                "certificates are of the rows that were asked about: give rows (--rows)"
            )
        written = {name: found.texts[name] for name in OUTCOMES if name in found.texts}
        said = {name: [text or None for text in texts] for name, texts in written.items()}
        table = found.table.assign(**said)
        checked = checked_certificates(path_of(certificates, "a folder"), table, own, policy)
    lacking = _uncertified(found.table, checked) if certificates is not None else 0
    content = {
        "title": title or "Counterfactual answers",
        "identity": found.identity,
        "counts": _counts(found),
        "proofs": _proofs(found.table, checked),
        "distances": found.table["distance"][_found(found.table)].astype(float).tolist(),
        "measures": _names(found.table, "distance_name"),
        "targets": _names(found.table, "target"),
        "changes": _changes(found.table, changed),
        "sizes": sorted(Counter(len(names) for names in changed if names).items()),
        "groups": [] if own is None else [_group(found, own, name) for name in names],
        "answers": list(_listed(found.table, checked)),
        "source": "" if isinstance(answers, pd.DataFrame) else found.name,
        "left_out": max(len(found.table) - LISTED, 0),
        "certificates": checked,
        "asked": asked_of(checked),
        "policy": "" if policy is None else str(policy),
        "given": 0 if rows is None else len(rows),
        "uncertified": lacking,
    }
    write_whole(path, page(content))
    if wrong := sum(not one.holds for one in checked):
        warnings.warn(f"{wrong} of {len(checked)} certificates {FAULT}: see {path}", stacklevel=2)
    elif lacking:
        warnings.warn(f"{lacking} answers have no certificate that holds: see {path}", stacklevel=2)
    return Path(path)


def _names(table: pd.DataFrame, column: str) -> list[str]:
    """What a column of texts holds, each once; nothing where older answers lack it."""
    return sorted({str(x) for x in table.get(column, pd.Series()).dropna()} - {""})


def _given(answers: Any) -> Answers:
    """Answers of a table, or of a directory."""
    if isinstance(answers, str | Path):
        path = path_of(answers, "a folder or file of answers")
        if path.suffix.lower() in TABLES:
            return _read_file(path)
        return read_answers(path)
    table = as_pandas(answers)
    if not isinstance(table, pd.DataFrame):
        raise DataTypeError(
            "a report is about a directory or a file of answers, or the table that explain_batch "
            f"gave, not {type(answers).__name__}"
        )
    return _answers_in(table, "the table")


def _answers_in(table: pd.DataFrame, name: str) -> Answers:
    if lacking := [column for column in NEEDED if column not in table]:
        raise MissingColumnError(
            f"{name} has no column {lacking[0]!r}: it holds no answers; name what "
            "cfxc batch -o wrote"
        )
    for column in NUMBERS:
        try:
            pd.to_numeric(table.get(column, 0.0))
        except (ValueError, TypeError):
            raise InvalidInputError(
                f"{name}: the column {column!r} holds something else than numbers"
            ) from None
    return Answers(table, np.arange(len(table)), len(table), name)


def _read_file(path: Path) -> Answers:
    """What ``cfxc batch`` wrote; the table's index is the number of the row."""
    if path.suffix.lower() != ".csv":
        return _answers_in(read_parquet(path), str(path))
    read = read_csv(path)
    table, cells = read.frame(), dict(zip(read.header, zip(*read.rows, strict=True), strict=True))
    texts = [name for name in ("changes", "reason") if name in table]
    table[texts] = table[texts].astype(object).fillna("")
    if "row" in table:
        table = table.set_index("row")
        _require_once(table.index, str(path))
    return replace(_answers_in(table, str(path)), texts=cells)


def _require_once(index: pd.Index[Any], name: str) -> None:
    if not index.is_unique:
        twice = index[index.duplicated()][0]
        raise InvalidInputError(f"{name}: row {twice} is answered twice")


def read_answers(path: Path) -> Answers:
    """The answers that ``explain_batch(out=…)`` wrote, as far as they are there.

    Raises:
        InvalidInputError: there are none, or one is damaged.
        MissingExtraError: Parquet cannot be read.
    """
    from importlib.util import find_spec

    from ..errors import MissingExtraError

    if not exists(path):
        remedy = "name what cfxc batch -o or explain_batch(out=…) wrote"
        raise InvalidInputError(unreadable(path, "the answers", "no such file or folder", remedy))
    if find_spec("pyarrow") is None:
        raise MissingExtraError("parquet", "pyarrow", "a report about a directory of answers")
    try:
        head = json.loads((path / HEAD).read_text("utf-8"))
        asked, identity = int(head["rows"]), str(head["sha256"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidInputError(
            f"{path}: no answers of a batch; name the folder or file (.csv, .parquet) of "
            "cfxc batch -o, or of explain_batch(out=…)"
        ) from error
    tables, places = [], []
    for file in sorted(path.glob("part-*")):
        start = part_start(file)
        try:
            tables.append(pd.read_parquet(file))
        except Exception as error:  # of several kinds, by what is damaged
            raise InvalidInputError(f"{file}: damaged, or no Parquet: delete it") from error
        places.append(np.arange(len(tables[-1])) + start)
        if isinstance(tables[-1].index, pd.RangeIndex):  # which begins anew in each file
            tables[-1].index = pd.Index(places[-1])
    if not tables:
        raise InvalidInputError(f"{path}: nothing is answered yet")
    found = np.concatenate(places)
    if (np.diff(found) <= 0).any() or found[-1] >= asked:
        raise InvalidInputError(
            f"{path}: its parts hold an instance twice, or more than the {asked} that were asked "
            "about: delete those that are not of this batch"
        )
    return Answers(pd.concat(tables), found, asked, str(path), identity)


def _same_rows(answers: Answers, rows: Any) -> pd.DataFrame:
    """The rows of the answers."""
    if not isinstance(rows, pd.DataFrame):
        raise DataTypeError(f"rows are a table, not {type(rows).__name__}")
    index = answers.table.index
    if len(rows) == answers.asked:
        own = rows.iloc[answers.places]
    elif rows.index.is_unique and index.isin(rows.index).all():
        _require_once(index, answers.name)
        own = rows.loc[index]
    else:
        lacking = index[~index.isin(rows.index)]
        told = len(lacking) and rows.index.is_unique
        which = f" such as {plain_cell(lacking[0])!r}," if told else ""
        raise InvalidInputError(
            f"rows: of the {answers.asked} that were asked about in {answers.name} some,{which} "
            f"are not among these {len(rows)}; give the table that was asked about"
        )
    columns = [name for name in answers.table if str(name).startswith(PREFIX)]
    if lacking := [c.removeprefix(PREFIX) for c in columns if c.removeprefix(PREFIX) not in own]:
        raise InvalidInputError(f"rows: there is no column {lacking[0]!r}, which the answers have")
    return own


def _found(table: pd.DataFrame) -> np.ndarray[Any, Any]:
    """Which rows have a counterfactual that is another row."""
    has: np.ndarray[Any, Any] = table["status"].isin(["optimal", "feasible"]).to_numpy()
    return has


def _compared(answers: Answers, rows: pd.DataFrame) -> list[list[str]]:
    """The columns that change, row by row."""
    table, has = answers.table, _found(answers.table)
    after = table.loc[:, [c for c in table if str(c).startswith(PREFIX)]]
    after = after.set_axis([str(c).removeprefix(PREFIX) for c in after], axis=1)
    for name in after:
        if (cells := answers.texts.get(f"{PREFIX}{name}")) and _is_text(rows[name]):
            after[name] = pd.Series([cell or None for cell in cells], after.index, dtype=object)
    changed: list[list[str]] = [[] for _ in range(len(table))]
    before, after = rows.loc[has, list(after.columns)], after.loc[has]
    with suppress(ValueError, TypeError):  # then they are told apart below
        after = after.astype(before.dtypes.to_dict())
    pairs = changes_between(before, after)
    for place, pair in zip(np.flatnonzero(has), pairs, strict=True):
        text = changes_text(pair)
        if text != table["changes"].iloc[place]:
            raise InvalidInputError(
                f"rows: row {answers.places[place]} is not the one that was asked about: the "
                f"answer changes {table['changes'].iloc[place]!r}, and it would be {text!r}"
            )
        changed[place] = list(pair)
    return changed


def _is_text(column: pd.Series[Any]) -> bool:
    return all(isinstance(cell, str) for cell in column.dropna())


def changed_of(answers: Answers) -> list[list[str]]:
    """The columns that change, row by row, from the texts of the answers.

    Raises:
        InvalidInputError: names and values do not tell where one change ends.
    """
    table, has = answers.table, _found(answers.table)
    columns = [str(name) for name in table if str(name).startswith(PREFIX)]
    changed = list[list[str]]()
    for place, text in enumerate(table["changes"]):
        if not has[place] or not text:
            changed.append([])
            continue
        after = {
            name.removeprefix(PREFIX): cell_text(plain_cell(table[name].iloc[place]))
            for name in columns
        }
        ways = list(_ways(str(text), list(after.items())))
        if len(ways) != 1:
            raise InvalidInputError(
                f"{answers.name}: what changes cannot be told from {text!r}; give the rows that "
                "were asked about"
            )
        changed.append(ways[0])
    return changed


def _ways(text: str, columns: list[tuple[str, str]]) -> Iterator[list[str]]:
    """All ways to read ``a: 1 → 2; b: 3 → 4``, whose names and new values are known."""
    for place, (name, after) in enumerate(columns):
        end = f" → {after}"
        if not text.startswith(f"{name}: "):
            continue
        start = len(name) + 2
        while (start := text.find(end, start)) >= 0:
            start += len(end)
            if start == len(text):
                yield [name]
            elif text.startswith("; ", start):
                for others in _ways(text[start + 2 :], columns[place + 1 :]):
                    yield [name, *others]


def _counts(answers: Answers) -> list[tuple[str, int]]:
    status = answers.table["status"]
    counts = [(name, int((status == name).sum())) for name in STATUSES]
    left = answers.asked - len(status)
    return [*counts, *([("not asked yet", left)] if left else [])]


def _shown_by(table: pd.DataFrame, checked: list[Checked]) -> pd.Series[str]:
    """Who showed each bound; a certificate where it was checked for the report."""
    found = table["lower_bound_proof"].fillna("none").reset_index(drop=True)
    held = [one.place for one in checked if one.holds]
    failed = found.index.isin([one.place for one in checked if not one.holds])
    found = found.replace(CERTIFIED, UNCHECKED).mask(failed, FAILED)
    return found.mask(found.index.isin(held), CERTIFIED)


def _uncertified(table: pd.DataFrame, checked: list[Checked]) -> int:
    """How many answers of a search no certificate that holds is of."""
    answered = np.flatnonzero(table["status"].isin(STATUSES[:3]))
    return len({*answered.tolist()} - {one.place for one in checked if one.holds})


def _proofs(table: pd.DataFrame, checked: list[Checked]) -> list[tuple[str, int]]:
    """Who showed the bounds of those that were searched for."""
    searched = table["status"].isin(STATUSES[:4]).to_numpy()
    found = _shown_by(table, checked)[searched].value_counts()
    return [(str(name), int(count)) for name, count in sorted(found.items())]


def _changes(table: pd.DataFrame, changed: list[list[str]]) -> list[tuple[str, int]]:
    columns = [str(name).removeprefix(PREFIX) for name in table if str(name).startswith(PREFIX)]
    counts = [(name, sum(name in names for names in changed)) for name in columns]
    return sorted((pair for pair in counts if pair[1]), key=lambda pair: -pair[1])


def _group(answers: Answers, rows: pd.DataFrame, name: str) -> dict[str, Any]:
    """Statuses and distances by the values of a column."""
    if name not in rows:
        raise MissingColumnError(f"group: no column {name!r}{suggestion(name, list(rows))}")
    table, made = answers.table.reset_index(drop=True), []
    for label, members in _parts(rows[name].reset_index(drop=True)):
        part = table[members]
        distances = part["distance"][_found(part)].astype(float)
        quarters = np.quantile(distances, [0.25, 0.5, 0.75]).tolist() if len(distances) else []
        counts = [int((part["status"] == status).sum()) for status in STATUSES]
        made.append({"label": label, "rows": len(part), "counts": counts, "quarters": quarters})
    return {"name": name, "statuses": STATUSES, "groups": made}


def _parts(column: pd.Series[Any]) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """The groups that a column makes: their names, and who is in them."""
    codes, values = pd.factorize(column, sort=not pd.api.types.is_object_dtype(column))
    labels = [str(value) for value in values]
    is_number = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    if is_number and len(values) > GROUPS:
        quarter = pd.qcut(column.astype(float), 4, duplicates="drop").cat.codes
        codes, ends = quarter.to_numpy(), column.groupby(quarter).agg(["min", "max"])
        labels = [f"{low:.6g} to {high:.6g}" for low, high in ends[ends.index >= 0].to_numpy()]
    for code, label in enumerate(labels):
        yield label, codes == code
    if (codes < 0).any():
        yield "missing", codes < 0


def _listed(table: pd.DataFrame, checked: list[Checked]) -> Iterator[list[str]]:
    """The first answers, as texts."""
    head = table.assign(lower_bound_proof=_shown_by(table, checked).to_numpy()).head(LISTED)
    for place, (index, record) in enumerate(zip(head.index, head.to_dict("records"), strict=True)):
        cells = [
            "" if pd.isna(record.get(name)) else text(record[name]) for name, text in CELLS.items()
        ]
        why = str(record["reason"] or "") if record["status"] != "unchanged" else ""
        if record["status"] in ("unchanged", "error"):
            cells[PROOF] = NOT_SEARCHED
        yield [str(index), str(head["status"].iloc[place]), *cells, str(record["changes"]), why]


NOT_SEARCHED = "not searched"
CELLS: dict[str, Callable[[Any], str]] = {
    "outcome_before": str,
    "outcome_after": str,
    "distance": lambda value: shown(Fraction(value), 1),
    "lower_bound": lambda value: shown(Fraction(value), -1),
    "lower_bound_proof": str,
}
"""How the cells of an answer are written; distances to the safe side."""
PROOF = list(CELLS).index("lower_bound_proof")

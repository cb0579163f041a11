"""One-hot, ordinal and target encoders: every output is a function of one column."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, TargetEncoder

from ...arrays import Array, Floats
from ...ir import LabelTuple, Operand, Tensor, ops
from ...space import Label, missing_as
from ...space.inputs import NOT_A_NUMBER, Column
from ...space.names import shown
from ..quadratics import exact
from .lowering import Cell, Lowering, Raw, Ref, Refs, cells, tensor
from .registry import Estimator, dense, transformer


@dataclass(frozen=True)
class Symbol:
    """A column that is a function of one category: what it holds at each of the labels."""

    category: Operand
    labels: LabelTuple
    cells: tuple[Label, ...]


def symbol(lowering: Lowering, ref: Ref) -> Symbol | None:
    """The column as a table over a category; ``None`` if it is a number of another kind."""
    if isinstance(ref, Raw):
        source = lowering.source(ref)
        if source.cells is None:
            return None
        return Symbol(source.feature.name, LabelTuple(source.feature.labels), source.cells)
    if not isinstance(ref, Cell):
        return None
    op = lowering.definitions.get(ref.vector)
    if not isinstance(op, ops.Lookup) or op.table.dtype != "f64":
        return None
    held = op.table.array.reshape(len(op.labels), -1)[:, ref.index]
    return Symbol(op.x, op.labels, tuple(held.tolist()))


def has_gap(cells: Sequence[Label]) -> bool:
    """Whether numbers may be missing; text is no gap, but a problem of its own."""
    return None in cells and not any(isinstance(cell, str) for cell in cells)


Rows = Floats


@dataclass(frozen=True)
class Codebook:
    """What an encoder makes of one column: ``rows[i]`` (of length k) for ``known[i]``.

    ``unknown`` is the row of every other value; ``None`` if the encoder refuses those.
    ``missing_as``: how the missing value that it knows was written, if it knows one.
    """

    known: tuple[Label, ...]
    rows: Rows
    unknown: Rows | None
    missing_as: str | None = None

    def positions(self) -> dict[Label, int]:
        """Category to its place; numbers are looked up by value, as the encoder does."""
        return {label: place for place, label in enumerate(self.known)}


@transformer(OneHotEncoder, flaws=lambda encoder: _ambiguous_missing(encoder))
def lower_one_hot(lowering: Lowering, encoder: Estimator, refs: Refs) -> Refs:
    """One indicator per category that is neither dropped nor grouped, of all columns in turn."""
    return _lower(lowering, encoder, refs, one_hot_codebooks(encoder))


@transformer(OrdinalEncoder, flaws=lambda encoder: _ambiguous_missing(encoder))
def lower_ordinal(lowering: Lowering, encoder: Estimator, refs: Refs) -> Refs:
    """One code per column."""
    return _lower(lowering, encoder, refs, ordinal_codebooks(encoder))


@transformer(TargetEncoder, flaws=lambda encoder: _ambiguous_missing(encoder), sparse=dense)
def lower_target(lowering: Lowering, encoder: Estimator, refs: Refs) -> Refs:
    """One number per column, or one per column and class; unknown values have the mean's."""
    return _lower(lowering, encoder, refs, target_codebooks(encoder))


def target_codebooks(encoder: Estimator) -> list[Codebook]:
    """The codebook of each column of a fitted ``TargetEncoder``."""
    output = _run(encoder)
    width = output.shape[1] // len(encoder.categories_)
    mean = np.broadcast_to(np.asarray(encoder.target_mean_, dtype=np.float64), (width,))
    return [
        Codebook(
            _labels(known),
            output[: len(known), place * width : (place + 1) * width],
            np.array(mean),
            _marker(known),
        )
        for place, known in enumerate(encoder.categories_)
    ]


def one_hot_codebooks(encoder: Estimator) -> list[Codebook]:
    """The codebook of each column of a fitted ``OneHotEncoder``."""
    output = _run(encoder)
    grouped = _infrequent(encoder)
    dropped = [None] * len(grouped) if encoder.drop_idx_ is None else list(encoder.drop_idx_)
    books, start = [], 0
    for known, rare, drop in zip(encoder.categories_, grouped, dropped, strict=True):
        width = len(known) - max(0, len(rare) - 1) - (drop is not None)
        rows = output[: len(known), start : start + width]
        unknown = _unknown_one_hot(encoder, known, rare, rows)
        books.append(Codebook(_labels(known), rows, unknown, _marker(known)))
        start += width
    if start != output.shape[1]:
        raise AssertionError(f"{start} one-hot columns expected, {output.shape[1]} made")
    return books


def _unknown_one_hot(
    encoder: Estimator, known: Sequence[Any], rare: Sequence[Any], rows: Rows
) -> Rows | None:
    if encoder.handle_unknown == "error":
        return None
    if encoder.handle_unknown != "ignore" and len(rare):  # 'infrequent_if_exist', 'warn'
        place: Rows = rows[_labels(known).index(_labels(rare[:1])[0])]
        return place
    return np.zeros(rows.shape[1])


def ordinal_codebooks(encoder: Estimator) -> list[Codebook]:
    """The codebook of each column of a fitted ``OrdinalEncoder``; NaN where it makes NaN."""
    output = _run(encoder)
    unknown = None
    if encoder.handle_unknown == "use_encoded_value":
        unknown = np.array([float(encoder.unknown_value)])
    return [
        Codebook(_labels(known), output[: len(known), [place]], unknown, _marker(known))
        for place, known in enumerate(encoder.categories_)
    ]


def _run(encoder: Estimator) -> Rows:
    """The encoder's output for its own categories: row i holds the i-th category of each column.

    Shorter columns are filled up with their first category.
    """
    size = max(map(len, encoder.categories_))
    names = getattr(encoder, "feature_names_in_", range(len(encoder.categories_)))
    columns = zip(names, encoder.categories_, strict=True)
    made = encoder.transform(pd.DataFrame({name: _filled(known, size) for name, known in columns}))
    dense = made.toarray() if hasattr(made, "toarray") else made
    return np.asarray(dense, dtype=np.float64)


def _filled(known: Array, size: int) -> pd.Series[Any]:
    places = np.where(np.arange(size) < len(known), np.arange(size), 0)
    values = known[places]
    return pd.Series(values, dtype=object if values.dtype.kind in "OUS" else values.dtype)


def _infrequent(encoder: Estimator) -> list[Sequence[Any]]:
    grouped = getattr(encoder, "infrequent_categories_", None)
    if grouped is None:
        return [()] * len(encoder.categories_)
    return [() if rare is None else rare for rare in grouped]


def _labels(known: Sequence[Any]) -> tuple[Label, ...]:
    """Categories as plain values; every missing-value marker is ``None``."""
    return tuple(_label(value) for value in known)


def _label(value: Any) -> Label:
    if isinstance(value, np.generic):
        value = value.item()
    missing = value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))
    label: Label = None if missing else value
    return label


def _marker(known: Sequence[Any]) -> str | None:
    """How the missing value among the categories is written."""
    return next((missing_as(value) for value in known if _label(value) is None), None)


def _ambiguous_missing(encoder: Estimator) -> Iterator[str]:
    for place, known in enumerate(encoder.categories_):
        if _labels(known).count(None) > 1:
            yield (
                f"tells None from NaN in its column {place}, and tables do not; train it with one "
                "of the two"
            )


def _lower(lowering: Lowering, encoder: Estimator, refs: Refs, books: Sequence[Codebook]) -> Refs:
    made: list[Ref] = []
    dtype = np.dtype(getattr(encoder, "dtype", np.float64))
    for ref, book in zip(refs, books, strict=True):
        width = book.rows.shape[1]
        if isinstance(ref, Raw) and (codes := _with_gaps(lowering, ref, book)):
            made.append(Raw(ref.column, dtype, codes))
        elif width:
            made.extend(cells(_encode(lowering, ref, book), width, dtype))
    return tuple(made)


def _with_gaps(lowering: Lowering, ref: Raw, book: Codebook) -> tuple[Label, ...] | None:
    """The codes of a column's labels, if an encoder of one code makes some of them missing."""
    source = lowering.source(ref)
    held, place = source.cells, book.positions()
    if held is None or book.rows.shape[1] != 1:
        return None
    if book.unknown is None and any(cell not in place for cell in held):
        return None
    codes = [book.rows[place[c]] if c in place else book.unknown for c in held]
    numbers = [float(code[0]) for code in codes if code is not None]
    if np.isfinite(numbers).all():
        return None
    _check_marker(lowering, source, held, book)
    return tuple(number if np.isfinite(number) else None for number in numbers)


def _encode(lowering: Lowering, ref: Ref, book: Codebook) -> str:
    if not isinstance(ref, Raw):
        what = "a column made by an earlier step"
        return _encode_number(lowering, lowering.vector([ref]), book, None, what)
    source = lowering.source(ref)
    if source.cells is not None:
        return _encode_label(lowering, source, source.cells, book)
    return _encode_number(
        lowering, lowering.vector([ref]), book, source.integers, f"column {ref.column!r}"
    )


def _encode_label(lowering: Lowering, source: Column, held: Sequence[Label], book: Codebook) -> str:
    """One lookup: the row of what the column holds at each label."""
    place = book.positions()
    _check_marker(lowering, source, held, book)
    strangers = [cell for cell in held if cell not in place]
    if strangers and book.unknown is None:
        _refuse_unknown(lowering, source, strangers)
    spare = np.zeros(book.rows.shape[1]) if book.unknown is None else book.unknown
    table = np.array([book.rows[place[cell]] if cell in place else spare for cell in held])
    labels = LabelTuple(source.feature.labels)
    return lowering.let(ops.Lookup(source.feature.name, labels, tensor(table)))


def _check_marker(
    lowering: Lowering, source: Column, held: Sequence[Label], book: Codebook
) -> None:
    """The table writes a missing value as the encoder was trained on it."""
    feature, known = source.feature, book.missing_as
    if None not in held or known is None or "object" not in feature.dtypes:
        return
    if feature.missing_as != known:
        lowering.problem(
            f"knows a missing value of column {source.name!r} as {known!r}, and the space writes "
            f"{feature.missing_as!r}",
            f"Infer the space from the training table, or say so: space.replace("
            f'{feature.name!r}, missing_as={known!r}); missing_as = "{known}" in its file.',
        )


def _refuse_unknown(lowering: Lowering, source: Column, strangers: Sequence[Label]) -> None:
    feature = source.feature
    kept = tuple(
        label
        for label, cell in zip(feature.labels, source.cells or (), strict=True)
        if cell not in strangers
    )
    text = f"column {source.name!r} can hold {shown(strangers)}, which the encoder does not know"
    if len(kept) <= SHORT:
        text += f"; labels {list(kept)!r} of feature {feature.name!r} in the space drop it"
    lowering.problem(text, DROP_UNKNOWN)


SHORT = 6  # labels that a message can list in full
DROP_UNKNOWN = (
    "Drop from the space what an encoder does not know (labels, lower, upper), or "
    "train the encoder with handle_unknown='ignore'."
)


def _encode_number(
    lowering: Lowering, vector: str, book: Codebook, domain: range | None, what: str
) -> str:
    """``spare + sum_c [x = c] (row_c - spare)`` over the known numbers c."""
    numbers = {
        label: row
        for label, row in zip(book.known, book.rows, strict=True)
        if isinstance(label, int | float)
    }
    if book.unknown is None:
        _check_domain(lowering, numbers, domain, what)
    spare = np.zeros(book.rows.shape[1]) if book.unknown is None else book.unknown
    rows = np.array(list(numbers.values())).reshape(-1, book.rows.shape[1])
    few = domain is not None and domain.stop - domain.start <= len(numbers)  # len() may overflow
    if domain is not None and few and all(n in numbers for n in domain):
        spare = np.zeros(book.rows.shape[1])  # nothing is unknown
    if not (np.isfinite(spare).all() and np.isfinite(rows).all()):
        lowering.problem(f"turns unknown values of {what} into a missing value", NOT_A_NUMBER)
        spare, rows = np.nan_to_num(spare), np.nan_to_num(rows)
    if not numbers:
        return lowering.constant(spare)
    known = lowering.constant(np.array(list(numbers), dtype=np.float64))
    hits = lowering.let(ops.ToReal(lowering.let(ops.Eq(vector, known))))
    if not spare.any() and np.array_equal(rows, np.eye(len(numbers))):
        return hits
    weight = Tensor.of((exact(rows) - exact(spare)).T)
    return lowering.let(ops.Affine(hits, weight, tensor(spare)))


def _check_domain(
    lowering: Lowering, numbers: dict[int | float, Rows], domain: range | None, what: str
) -> None:
    if domain is None:
        text = f"{what} can hold any number, and the encoder knows {shown(numbers)} only"
        lowering.problem(f"{text}; declare it categorical", DROP_UNKNOWN)
    elif strangers := [n for n in domain[: len(numbers) + SHORT] if n not in numbers]:
        text = f"{what} can hold {shown(strangers)}, which the encoder does not know"
        lowering.problem(f"{text}; narrow it, or declare it categorical", DROP_UNKNOWN)


def number(cell: Label) -> float:
    """A cell of numbers; NaN where it is missing."""
    return np.nan if cell is None else float(cell)

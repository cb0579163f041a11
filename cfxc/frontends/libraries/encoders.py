"""Encoders of ``category_encoders``: once fitted, each is a table over the values of a column.

The fitted encoder itself is run on the values that the feature space admits, column by column.
Its class is known to encode every column on its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np
import pandas as pd
from category_encoders import (
    BackwardDifferenceEncoder,
    BaseNEncoder,
    BinaryEncoder,
    CatBoostEncoder,
    CountEncoder,
    HelmertEncoder,
    JamesSteinEncoder,
    LeaveOneOutEncoder,
    MEstimateEncoder,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialEncoder,
    QuantileEncoder,
    SumEncoder,
    SummaryEncoder,
    TargetEncoder,
    WOEEncoder,
)

from ...arrays import Floats
from ...ir import ops
from ...space import Label
from ...space.inputs import NOT_A_NUMBER
from ...space.names import shown
from ..sklearn.encoders import DROP_UNKNOWN, symbol
from ..sklearn.lowering import Cell, Lowering, Ref, Refs, named, tensor
from ..sklearn.registry import Estimator, transformer
from .cells import categories, series

ENCODERS: tuple[type, ...] = (
    BackwardDifferenceEncoder, BaseNEncoder, BinaryEncoder, CatBoostEncoder, CountEncoder,
    HelmertEncoder, JamesSteinEncoder, LeaveOneOutEncoder, MEstimateEncoder, OneHotEncoder,
    OrdinalEncoder, PolynomialEncoder, QuantileEncoder, SumEncoder, SummaryEncoder, TargetEncoder,
    WOEEncoder,
)  # fmt: skip
with suppress(ImportError):  # it needs statsmodels, which not everybody has
    from category_encoders import GLMMEncoder

    ENCODERS = (*ENCODERS, GLMMEncoder)


def _flaws(encoder: Estimator) -> Iterator[str]:
    if getattr(encoder, "hierarchy", None) is not None:
        yield "encodes by a hierarchy of columns; train it without hierarchy"


@transformer(*ENCODERS, flaws=_flaws)
def lower_encoder(lowering: Lowering, encoder: Estimator, refs: Refs) -> Refs:
    """Columns that are not encoded pass; the others are tables over their values."""
    names = [str(name) for name in encoder.feature_names_in_]
    encoded = [names.index(str(column)) for column in encoder.cols]
    found = {at: categories(lowering, refs[at]) for at in encoded}
    held = {at: own for at, own in found.items() if own is not None}
    made = [str(name) for name in encoder.get_feature_names_out()]
    passed = {name: refs[at] for at, name in enumerate(names) if at not in found}
    columns: dict[int, Ref] = {
        place: passed[name] for place, name in enumerate(made) if name in passed
    }
    base = _base(encoder, refs, held)
    if base is None and held:
        lowering.problem("the encoder refuses values that its columns can hold", DROP_UNKNOWN)
    usual = base or {}
    odd = [at for at in usual if not _takes_all(lowering, encoder, refs, usual, at, held[at])]
    if odd or len(usual) < len(found):  # problems that are noted
        nothing = lowering.constant(np.zeros(len(made)))
        return tuple(Cell(nothing, place, len(made)) for place in range(len(made)))
    tables = {at: _run(encoder, refs, {**usual, at: cells}) for at, cells in held.items()}
    for at, table in tables.items():
        varies = [p for p in range(len(made)) if p not in columns and _differs(table[:, p])]
        if varies:
            columns |= _looked_up(lowering, refs[at], held[at], table[:, varies], varies)
    rest = [place for place in range(len(made)) if place not in columns]
    if rest:
        row = next(iter(tables.values()))[0] if tables else _run(encoder, refs, {})[0]
        constant = lowering.constant(row[rest])
        columns |= {place: Cell(constant, i, len(rest)) for i, place in enumerate(rest)}
    return tuple(columns[place] for place in range(len(made)))


def _differs(values: Floats) -> bool:
    return not np.array_equal(values, np.full(values.shape, values[0]))


def _run(encoder: Estimator, refs: Refs, held: dict[int, list[Label]]) -> Floats:
    """The encoder's output for these values; columns with one are filled with it, others with 0."""
    size = max((len(cells) for cells in held.values()), default=1)
    parts = {}
    for at, name in enumerate(encoder.feature_names_in_):
        cells: Sequence[Label] = held.get(at, [0])
        parts[name] = series(refs[at], [*cells] * size if len(cells) == 1 else cells)
    return np.asarray(encoder.transform(pd.DataFrame(parts)), dtype=np.float64)


def _base(
    encoder: Estimator, refs: Refs, held: dict[int, list[Label]]
) -> dict[int, list[Label]] | None:
    """A value for each column that the encoder takes; ``None`` if none was found."""
    for place in range(max(map(len, held.values()), default=0)):
        tried = {at: [cells[place % len(cells)]] for at, cells in held.items()}
        if _takes(encoder, refs, tried):
            return tried
    return None


def _takes_all(
    lowering: Lowering,
    encoder: Estimator,
    refs: Refs,
    base: dict[int, list[Label]],
    at: int,
    cells: list[Label],
) -> bool:
    """Whether the encoder takes all values of a column; what it refuses is noted."""
    if _takes(encoder, refs, {**base, at: cells}):
        return True
    odd = [cell for cell in cells if not _takes(encoder, refs, {**base, at: [cell]})]
    text = f"{named(refs[at])} can hold {shown(odd)}, which the encoder does not know"
    lowering.problem(text, DROP_UNKNOWN)
    return False


def _takes(encoder: Estimator, refs: Refs, held: dict[int, list[Label]]) -> bool:
    try:
        _run(encoder, refs, held)
    except ValueError:
        return False
    return True


def _looked_up(
    lowering: Lowering, ref: Ref, cells: list[Label], table: Floats, places: list[int]
) -> dict[int, Ref]:
    held = symbol(lowering, ref)
    assert held is not None
    rows = np.array([table[cells.index(cell)] for cell in held.cells])
    lost = [cell for cell, row in zip(held.cells, rows, strict=True) if not np.isfinite(row).all()]
    if lost:
        text = f"turns {shown(list(dict.fromkeys(lost)))} of {named(ref)} into a missing value"
        lowering.problem(text, NOT_A_NUMBER)
    made = lowering.let(ops.Lookup(held.category, held.labels, tensor(np.nan_to_num(rows))))
    return {place: Cell(made, i, len(places)) for i, place in enumerate(places)}

"""From the features of a space to what a model's columns hold: the inputs of a lowered program.

A program has one input per feature.  A model sees the columns of a table; each is a function of
one feature, stated here once for all frontends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

import numpy as np

from ..errors import UnsupportedError
from ..ir import Builder, Literal, Operand, Tensor, ops
from . import Feature, FeatureSpace, Label
from .feature import sort_of

Number = int | float


def declare_inputs(builder: Builder, space: FeatureSpace) -> None:
    """Declare one input per feature of ``space``, under its name and in its order."""
    for feature in space:
        builder.input(feature.name, sort_of(feature))


@dataclass(frozen=True)
class Column:
    """A column of the table as a function of its ``feature``.

    Attributes:
        name: The column.
        feature: The feature it comes from.
        cells: What the column holds at each label of a symbolic feature (the label itself, or 0
            and 1 in a one-hot column); ``None`` for columns of numeric features.
        step: In a thermometer column, the level from which on it is 1 (else 0).
    """

    name: str
    feature: Feature
    cells: tuple[Label, ...] | None = None
    step: int | None = None

    @property
    def flaw(self) -> str:
        """Why the column cannot be used as a number; empty if it can."""
        return self.gap or self.misfit

    @property
    def gap(self) -> str:
        """That its number may be missing; empty if it may not."""
        if not self.feature.missing:
            return ""
        return f"column {self.name!r} may be missing, and the model computes with it"

    @property
    def misfit(self) -> str:
        """Why what it holds is no number, where it is not missing; empty if it is one."""
        where = f"column {self.name!r}"
        cells = self.cells or ()
        if texts := [cell for cell in cells if isinstance(cell, str)]:
            return f"{where} holds text such as {texts[0]!r}, and the model computes with it"
        if None in cells:
            return f"{where} has the category 'missing', and the model computes with it"
        return ""

    @property
    def numbers(self) -> tuple[Number, ...]:
        """``cells`` as numbers; False is 0 and True is 1."""
        return tuple(_number(cell) for cell in self.cells or ())

    @property
    def integers(self) -> range | None:
        """The numbers that the column of a numeric feature can hold; ``None`` if it is real."""
        if self.step is not None:
            return range(2)
        if self.feature.kind == "real":
            return None
        lower, upper = self.feature.bounds
        return range(int(lower), int(upper) + 1)


def column(space: FeatureSpace, name: str) -> Column:
    """The column called ``name`` as a function of its feature.

    Raises:
        MissingColumnError: the space has no such column; the nearest names are listed.
    """
    feature, table = space.column_source(name)
    if table is None:
        return Column(name, feature, feature.labels if feature.is_symbolic else None)
    if feature.is_symbolic:
        return Column(name, feature, table)
    # indicators of rising steps: 0 … 0 1 … 1 over consecutive levels
    lower, _ = feature.bounds
    return Column(name, feature, None, int(lower) + table.count(0))


def column_value(builder: Builder, space: FeatureSpace, name: str) -> Operand:
    """The number that the model sees in column ``name``, as a scalar (Int or Real).

    A plain numeric column is the input itself; labels that are numbers or booleans become their
    numbers; columns of one-hot groups and thermometers become 0 or 1.

    Raises:
        MissingColumnError: the space has no such column.
        UnsupportedError: the column holds text, or may be missing.
    """
    return _scalar(builder, _usable(space, [name])[0])


def column_vector(builder: Builder, space: FeatureSpace, names: Sequence[str]) -> Operand:
    """The numbers that the model sees in the columns ``names``, as one vector of their length.

    Element i is ``column_value(names[i])``; adjacent columns of one group share one lookup.

    Raises:
        MissingColumnError: the space has no such column.
        UnsupportedError: columns that hold text or may be missing; all are listed.
    """
    parts = column_parts(builder, space, names)
    if len(parts) == 1 and parts[0] not in space:  # one lookup: a vector already
        return parts[0]
    return builder.let(ops.Concat(tuple(parts)))


def column_parts(builder: Builder, space: FeatureSpace, names: Sequence[str]) -> list[Operand]:
    """Scalars and vectors whose concatenation is ``column_vector``.

    Raises:
        MissingColumnError, UnsupportedError: as ``column_vector``.
    """
    return parts_of(builder, _usable(space, names))


def parts_of(builder: Builder, numbers: Sequence[Column]) -> list[Operand]:
    """The same of columns that hold numbers; one that is missing is the feature's ``absent``."""
    parts: list[Operand] = []
    for name, group in groupby(numbers, lambda one: one.feature.name):
        columns = list(group)
        if columns[0].cells is not None:
            parts.append(_lookup(builder, columns))
        elif columns[0].step is not None:
            parts.append(_steps(builder, columns))
        else:
            parts.extend(name for _ in columns)
    return parts


def _usable(space: FeatureSpace, names: Sequence[str]) -> list[Column]:
    columns = [column(space, name) for name in names]
    if flaws := [one.flaw for one in columns if one.flaw]:
        raise UnsupportedError(
            "the model computes with columns that are not numbers", flaws, NOT_A_NUMBER
        )
    return columns


NOT_A_NUMBER = (
    "encode text inside the model's pipeline (OneHotEncoder, OrdinalEncoder), and fill in what "
    "may be missing there (SimpleImputer); or set missing = false in the feature space, which "
    "answers for instances that have the number"
)
"""What to do about a column whose ``flaw`` is not empty."""


def _scalar(builder: Builder, source: Column) -> Operand:
    name = source.feature.name
    if source.step is not None:
        return builder.let(ops.ToReal(builder.let(ops.Ge(name, Literal(source.step)))))
    if source.cells is None:
        return name
    return builder.let(ops.Lookup(name, source.feature.label_tuple, _table([source], False)))


def _lookup(builder: Builder, columns: Sequence[Column]) -> Operand:
    feature = columns[0].feature
    return builder.let(ops.Lookup(feature.name, feature.label_tuple, _table(columns, True)))


def _steps(builder: Builder, columns: Sequence[Column]) -> Operand:
    levels = builder.let(ops.Constant(Tensor(np.array([one.step for one in columns]), "i64")))
    return builder.let(ops.ToReal(builder.let(ops.Ge(columns[0].feature.name, levels))))


def _table(columns: Sequence[Column], matrix: bool) -> Tensor:
    """What the columns hold, one row per label; a vector unless ``matrix``.  Always Real."""
    values = np.array([[Fraction(n) for n in one.numbers] for one in columns], dtype=object).T
    return Tensor.of(values if matrix else values[:, 0])


def _number(cell: Label) -> Number:
    if isinstance(cell, str) or cell is None:
        raise UnsupportedError(f"{cell!r} is not a number", remedy=NOT_A_NUMBER)
    return int(cell) if isinstance(cell, bool) else cell

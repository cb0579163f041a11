"""The feature space: what the columns of a table mean."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd

from ..arrays import Floats
from ..errors import (
    CfxcError,
    DataTypeError,
    InvalidInputError,
    LanguageError,
    MissingColumnError,
    UnsupportedError,
)
from ..lang import compile_constraint
from ..markup import card
from ..writing import write_whole
from . import codec, toml
from .cells import Codes, Value
from .feature import WORDING, Feature, Kind, sort_of
from .infer import Options, Resolution, actions_from, check_frame, infer_features
from .names import by_name, listed, names_arguments, names_in, one_of, shown, suggestion
from .page import feature_lines, features_table
from .tables import Tables, as_given, as_pandas, kind_of
from .values import Label

EXAMPLES = 500
"""Rows of a table that a space keeps."""


@names_arguments
@dataclasses.dataclass(frozen=True, repr=False)
class FeatureSpace:
    """An immutable, ordered set of features x_1 … x_J over the columns of a table.

    Attributes:
        features: In order.
        columns: The table's columns, in its order; by default those of the features in turn.
        examples: Some rows of the table, from which searches may start; part of no comparison,
            and of no file.
        tables: Whose tables a model of columns with names is given, ``pandas`` or ``polars``.

    Raises:
        InvalidInputError: no feature, two of one name, a column in two features, ``columns``
            that are not exactly those of the features, or a condition over something else.
        DataTypeError: features that are no :class:`Feature`.
    """

    features: tuple[Feature, ...]
    columns: tuple[str, ...] = ()
    examples: pd.DataFrame | None = dataclasses.field(default=None, compare=False)
    tables: Tables = dataclasses.field(default="pandas", compare=False)
    _by_name: dict[str, Feature] = dataclasses.field(init=False, compare=False)
    _by_column: dict[str, Feature] = dataclasses.field(init=False, compare=False)

    def __post_init__(self) -> None:
        features = _features(self.features)
        covered = [column for feature in features for column in feature.columns]
        columns = names_in(self.columns, "columns", "'age', 'sex'") or tuple(covered)
        if not features:
            raise InvalidInputError("a feature space has at least one feature")
        for what, names in (("feature", [f.name for f in features]), ("column", covered)):
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise InvalidInputError(f"{what} {shown(twice)} occurs twice in the feature space")
        if sorted(columns) != sorted(covered):
            odd = sorted(set(columns) ^ set(covered)) or sorted(columns)
            raise InvalidInputError(f"columns and the features' columns differ: {shown(odd)}")
        one_of(self.tables, get_args(Tables), "tables")
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "_by_name", {feature.name: feature for feature in features})
        by_column = {column: feature for feature in features for column in feature.columns}
        object.__setattr__(self, "_by_column", by_column)
        _check_conditions(features)

    @classmethod
    @names_arguments
    def infer(
        cls,
        X: Any,
        *,
        fixed: str | Iterable[str] = (),
        increase: str | Iterable[str] = (),
        decrease: str | Iterable[str] = (),
        one_hot: str | Iterable[str] = (),
        thermometer: str | Iterable[str] = (),
        kinds: Mapping[str, Kind] | None = None,
        resolution: Resolution = "auto",
        ordinal: Mapping[str, Sequence[Label]] | None = None,
    ) -> FeatureSpace:
        """The feature space of a table, from its dtypes and values.

        Two distinct values, or booleans: binary. Text, objects, pandas categories: categorical
        (ordered categories: ordinal). Whole numbers, also in float columns: integer. Other
        numbers: real; if d <= 6 decimals write every value, with the resolution 10**-d, or the
        coarsest of 1, 1/2, 1/10, 1/20, … of which nine in ten values are multiples. The range is
        the observed one; missing values are allowed where there are some.  Rows outside of
        the ranges are refused: ``space.replace("age", upper=90)`` widens one.  Up to 500 of the
        rows are kept as ``examples``.

        Args:
            X: Table of n >= 1 rows, of pandas, polars or pyarrow; one row per instance.
            fixed, increase, decrease: Features that may not change, only rise, only fall.
            one_hot: Column prefixes; ``"sector_"`` merges sector_a, sector_b, … into one
                categorical feature ``sector`` with labels a, b, ….
            thermometer: Column prefixes; ``"edu_"`` merges edu_0, edu_1, … (indicators of rising
                steps) into one ordinal feature ``edu``, whose level is the number of ones.
            kinds: Kind by column, where inference would choose another.
            resolution: ``"auto"``; resolution by real column, ``None`` for none (the others as in
                ``"auto"``); or ``None``: no real column has one, but those of whole-number types.
            ordinal: Levels in rising order, by column.

        Raises:
            MissingColumnError: a name that is no feature; the nearest ones are listed.
            InvalidInputError, DataTypeError: an empty table, repeated or unnamed columns, dates,
                infinite values, columns without values, invalid groups, impossible kinds.
        """
        options = Options(
            actions=actions_from(fixed=fixed, increase=increase, decrease=decrease),
            one_hot=names_in(one_hot, "one_hot", "'sector_'"),
            thermometer=names_in(thermometer, "thermometer", "'edu_'"),
            kinds=by_name(kinds, "kinds", "'age': 'integer'"),
            resolution=resolution
            if resolution is None or isinstance(resolution, str)
            else by_name(resolution, "resolution", "'income': 0.01"),
            ordinal=by_name(ordinal, "ordinal", "'size': ['small', 'large']"),
        )
        frame, tables = as_pandas(X), kind_of(X)
        features = infer_features(frame, options, tables)
        return cls(features, tuple(frame.columns), sample(frame), tables)

    @property
    def names(self) -> tuple[str, ...]:
        """Feature names, in order."""
        return tuple(feature.name for feature in self.features)

    def __getitem__(self, name: str) -> Feature:
        """The feature called ``name``.

        Raises:
            MissingColumnError: there is none; the nearest names are listed.
        """
        feature = self._by_name.get(name)
        if feature is None:
            raise MissingColumnError(f"no feature {name!r}{suggestion(name, self.names)}")
        return feature

    def __iter__(self) -> Iterator[Feature]:
        return iter(self.features)

    def __len__(self) -> int:
        return len(self.features)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __repr__(self) -> str:
        return feature_lines(self.features)

    def _repr_html_(self) -> str:
        return card(f"{len(self)} features", features_table(self.features))

    def replace(self, name: str, **changes: Any) -> FeatureSpace:
        """The same space with some fields of feature ``name`` changed.

        Raises:
            MissingColumnError, InvalidInputError, DataTypeError: no such feature or field, or
                fields that contradict each other.
        """
        old = self[name]
        fields = [field.name for field in dataclasses.fields(Feature)]
        for change in changes:
            if change not in fields:
                raise InvalidInputError(
                    f"a feature has no field {change!r}{suggestion(change, fields)}"
                )
        new = dataclasses.replace(old, **changes)
        features = tuple(new if feature is old else feature for feature in self.features)
        if new.columns != old.columns:
            return FeatureSpace(features, tables=self.tables)
        return dataclasses.replace(self, features=features)

    @cached_property
    def unworded(self) -> FeatureSpace:
        """The same space without what is for readers alone: all that answers depend on."""
        bare: dict[str, Any] = dict.fromkeys(WORDING, "")
        features = tuple(dataclasses.replace(feature, **bare) for feature in self.features)
        return dataclasses.replace(self, features=features)

    def with_mad_weights(self, X: Any) -> FeatureSpace:
        """The same space, its numbers weighted by ``range / MAD`` in the rows of ``X``.

        A distance l1 is then proportional to ``Σ |x_j - x̂_j| / MAD_j`` (Wachter et al. 2017), with
        the median absolute deviation from the median.  Where it is 0, and of categories, the weight
        is 1.

        Raises:
            As :meth:`encode_frame`.
        """
        codes = self.encode_frame(X, extra="ignore", check_range=False)
        made = self
        for feature in self:
            values = codes[feature.name]
            if feature.is_symbolic:
                continue
            spread = float(np.nanmedian(np.abs(values - np.nanmedian(values))))
            weight = float(feature.range) / spread if spread > 0 else 1.0
            made = made.replace(feature.name, weight=weight)
        return made

    def with_examples(self, X: Any) -> FeatureSpace:
        """The same space with up to 500 rows of ``X`` as ``examples``.

        Rows that do not fit the space are never used.

        Raises:
            MissingColumnError, InvalidInputError, DataTypeError: it is no table of rows, or lacks
                columns of the space.
        """
        X = as_pandas(X)
        check_frame(X)
        codec.check_columns(self.columns, list(X.columns), "ignore")
        return dataclasses.replace(self, examples=sample(X[list(self.columns)]))

    @cached_property
    def example_codes(self) -> Floats:
        """The examples as rows (n, J) of numbers and codes; those that do not fit are left out."""
        none = np.empty((0, len(self)))
        if self.examples is None:
            return none
        count = len(self.examples)
        return self._codes(self.examples) if count else none

    def _codes(self, rows: pd.DataFrame) -> Floats:
        try:
            columns = self.encode_frame(rows, extra="ignore", check_range=False)
        except CfxcError:
            if len(rows) == 1:
                return np.empty((0, len(self)))
            halves = rows.iloc[: len(rows) // 2], rows.iloc[len(rows) // 2 :]
            return np.concatenate([self._codes(half) for half in halves])
        return np.column_stack([columns[name] for name in self.names]).astype(np.float64)

    def subset(self, names: Iterable[str]) -> FeatureSpace:
        """The space of the features ``names`` alone, in this space's order.

        Raises:
            MissingColumnError: a name that is no feature.
            InvalidInputError: no name at all.
        """
        chosen = {self[name].name for name in names_in(names, "names", "'age', 'sex'")}
        features = tuple(feature for feature in self.features if feature.name in chosen)
        columns = tuple(c for c in self.columns if self._by_column[c].name in chosen)
        examples = None if self.examples is None else self.examples[list(columns)]
        return FeatureSpace(features, columns, examples, self.tables)

    def column_source(self, column: str) -> tuple[Feature, tuple[int, ...] | None]:
        """The feature that a column of the table comes from, and how.

        Returns:
            ``(feature, None)`` if the column holds the feature itself, else ``(feature, table)``:
            the column is ``table[i]`` (0 or 1) when the feature is ``feature.levels[i]``.

        Raises:
            MissingColumnError: no such column.
        """
        feature = self._by_column.get(column)
        if feature is None:
            raise MissingColumnError(f"no column {column!r}{suggestion(column, self.columns)}")
        return feature, feature.table(column)

    def refuse_missing(self, what: str) -> None:
        """Refuse what computes with the numbers of a table, where some may be missing.

        Raises:
            UnsupportedError: naming the features.
        """
        if names := [feature.name for feature in self.features if feature.missing]:
            raise UnsupportedError(
                f"{what} needs every number, and these may be missing: {shown(names)}",
                remedy="leave out rows that lack them, and infer the space from the others",
            )

    def encode_row(
        self, row: codec.Row | Any, *, extra: codec.Extra = "error", check_range: bool = True
    ) -> dict[str, Value]:
        """Exact values of one instance, by feature name.

        Real: ``Fraction`` (the rational that the float cell is); integer and unlabelled ordinal:
        ``int``; otherwise one of the feature's labels.  A missing number is ``feature.absent``.

        Args:
            row: One-row table, Series or mapping, by column.
            extra: ``"ignore"`` passes over columns that are not in the space.
            check_range: Refuse numbers outside of the features' ranges.  Those at or below
                ``feature.absent`` are refused in any case.

        Raises:
            MissingColumnError: listing all columns that are missing.
            DataTypeError: text or booleans in a number's column, dates, other objects.
            InvalidInputError: not one row; unknown columns; a fraction in an integer feature;
                an unseen category; a missing value where none is allowed; an infinite value; a
                value out of range; an encoded group that is not valid.
        """
        cells = codec.row_cells(as_pandas(row), self.columns, extra)
        return codec.encode_row(self.features, cells, check_range=check_range)

    def encode_frame(
        self, frame: Any, *, extra: codec.Extra = "error", check_range: bool = True
    ) -> dict[str, Floats | Codes]:
        """Values of n instances as arrays of shape (n,), by feature name.

        Numbers (real, integer, unlabelled ordinal) are float64, ``absent`` where missing; symbolic
        features are int64 codes into ``feature.labels``.

        Raises:
            As :meth:`encode_row`, naming the first offending row; also whole numbers beyond
            2**53, which are not exact in float64.
        """
        frame = as_pandas(frame)
        check_frame(frame)
        codec.check_columns(self.columns, list(frame.columns), extra)
        return codec.encode_frame(self.features, frame, check_range=check_range)

    def decode(self, values: Mapping[str, Value], like: Any = None) -> Any:
        """One-row table of exact ``values``: library, columns, order and dtypes of ``like``.

        A real value that no cell holds becomes the nearest float of its column
        (:meth:`Feature.held`), so what is deployed is ``encode_row(decode(values))``; all other
        values come back exactly. Cells of ``like`` whose feature keeps its value are copied. A
        dtype of ``like`` that cannot hold the new value gives way to the space's.

        Args:
            values: One value per feature.
            like: The factual, one row; its other columns and its index are kept. By default the
                space's columns and dtypes, in pandas.

        Raises:
            MissingColumnError, InvalidInputError, DataTypeError: values missing, unknown, not
                admissible (range, category, whole number, and, with ``like``, resolution).
        """
        if like is None:
            return codec.decode(self.features, self.columns, values)
        return as_given(self.rows_like(as_pandas(like)).decode(values), like)

    def rows_like(self, like: pd.DataFrame, known: Mapping[str, Value] | None = None) -> codec.Rows:
        """What makes many rows like one: its ``decode(values)`` is ``decode(values, like)``.

        ``known``: what :meth:`encode_row` made of ``like``.

        Raises:
            As :meth:`decode`.
        """
        return codec.Rows(self.features, self.columns, like, known)

    @names_arguments
    def to_toml(self, path: str | Path | None = None) -> str:
        """The space as TOML text, also written to ``path`` if given.

        Raises:
            InvalidInputError, DataTypeError: the file cannot be written; it is no path.
        """
        text = toml.dumps(self.features, self.columns, self.tables)
        if path is not None:
            write_whole(path, text)
        return text

    @classmethod
    @names_arguments
    def from_toml(cls, source: str | Path) -> FeatureSpace:
        """The space in a TOML file or text (a ``str`` of several lines is text, else a path).

        ``from_toml(space.to_toml()) == space``.

        Raises:
            InvalidInputError, DataTypeError, MissingColumnError: the file is missing, not TOML,
                of another version, or states something that is no feature space.
        """
        text, name = toml.read(source)
        features, columns, tables = toml.loads(text, name)
        try:
            return cls(features, columns or (), tables=tables)
        except InvalidInputError as error:
            raise InvalidInputError(f"{name}: {error}") from error


def sample(X: pd.DataFrame) -> pd.DataFrame:
    """Up to ``EXAMPLES`` rows of a table, evenly spread."""
    chosen = np.unique(np.linspace(0, len(X) - 1, min(len(X), EXAMPLES)).astype(np.int64))
    return X.iloc[chosen].reset_index(drop=True)


def _features(features: Iterable[Feature]) -> tuple[Feature, ...]:
    """The features of a list, and nothing else."""
    found = listed(features, "features", "Feature('age', …)")
    for feature in found:
        if not isinstance(feature, Feature):
            raise DataTypeError(f"features: expected a Feature, not {feature!r}")
    return found


def _check_conditions(features: Sequence[Feature]) -> None:
    """Every condition is a constraint over the features: of known names and fitting sorts."""
    conditional = [feature for feature in features if feature.action == "conditional"]
    if not conditional:
        return
    sorts = {feature.name: sort_of(feature) for feature in features}
    rising = [feature.name for feature in features if feature.kind == "ordinal" and feature.labels]
    for feature in conditional:
        try:
            compile_constraint(feature.condition, sorts, "condition", ordered=rising)
        except (LanguageError, InvalidInputError) as error:
            raise InvalidInputError(f"feature {feature.name!r}: {error}") from error

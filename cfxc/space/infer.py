"""What the features of a table are, from the table alone."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..arrays import Floats
from ..errors import DataTypeError, InvalidInputError, MissingColumnError
from .cells import float_column
from .feature import DIRECTED, KINDS, Action, Feature, Kind
from .groups import assign_groups, infer_one_hot, infer_thermometer
from .names import listed, names_in, one_of, shown, suggestion
from .tables import Tables
from .values import (
    Key,
    Label,
    as_written,
    canonical,
    distinct,
    dtype_name,
    exact,
    in_order,
    is_dictionary,
    is_whole,
    key,
    missing_as,
    scalar,
    storage_of,
)

Resolution = Literal["auto"] | Mapping[str, object] | None

_MAX_PLACES = 6  # decimals looked for by resolution="auto"; finer columns count as continuous
_MOST = 0.9  # of the values: as many multiples of a step make it the resolution


@dataclass(frozen=True)
class Options:
    """What a caller of ``FeatureSpace.infer`` states about columns, by name."""

    actions: Mapping[str, Action] = field(default_factory=dict)
    one_hot: tuple[str, ...] = ()
    thermometer: tuple[str, ...] = ()
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    resolution: Resolution = "auto"
    ordinal: Mapping[str, Sequence[Label]] = field(default_factory=dict)


def actions_from(**names: str | Iterable[str]) -> dict[str, Action]:
    """Action of each name, refusing a name with two of them.

    Raises:
        DataTypeError, InvalidInputError: what is no list of names; a name with two actions.
    """
    actions: dict[str, Action] = {}
    for action in ("fixed", "increase", "decrease"):
        for name in names_in(names.get(action, ()), action, "'age', 'sex'"):
            if actions.get(name, action) != action:
                raise InvalidInputError(f"{name!r} is both {actions[name]} and {action}")
            actions[name] = action
    return actions


def infer_features(
    frame: pd.DataFrame, options: Options, tables: Tables = "pandas"
) -> tuple[Feature, ...]:
    """Features of ``frame`` in the order of their first columns; see ``FeatureSpace.infer``."""
    check_frame(frame)
    _refuse_dates(frame, tables)
    columns = [str(column) for column in frame.columns]
    groups = assign_groups(columns, options.one_hot, options.thermometer)
    prefix_of = {member: prefix for prefix, members in groups.items() for member in members}
    _check_names(columns, prefix_of, options)
    features: list[Feature] = []
    done: set[str] = set()
    for column in columns:
        prefix = prefix_of.get(column)
        if prefix is None:
            features.append(_infer_column(frame[column], column, options))
        elif prefix not in done:
            done.add(prefix)
            infer_group = infer_one_hot if prefix in options.one_hot else infer_thermometer
            features.append(infer_group(prefix, frame[list(groups[prefix])]))
    known = {feature.name for feature in features}
    for name in options.actions:
        if name not in known:
            group = prefix_of.get(name)
            hint = f"; it is part of group {group!r}" if group else ""
            raise MissingColumnError(f"no feature {name!r}{suggestion(name, known)}{hint}")
    for feature in features:
        _refuse_direction(feature, options.actions.get(feature.name, "free"))
    return tuple(
        dataclasses.replace(feature, action=options.actions.get(feature.name, "free"))
        for feature in features
    )


def _refuse_direction(feature: Feature, action: Action) -> None:
    """Categories have no order to rise or fall in."""
    if action in DIRECTED and feature.kind in ("categorical", "binary"):
        if None in feature.labels:
            raise InvalidInputError(
                f"column {feature.name!r}: its categories have no order to {action} in, and "
                "missing values no place in one; fill these in, and give the others in rising order"
            )
        raise InvalidInputError(
            f"column {feature.name!r}: its categories have no order to {action} in; give them in "
            f"rising order: ordinal={{{feature.name!r}: [{shown(feature.labels)}]}}"
        )


def check_frame(frame: object) -> None:
    """Refuse what is no usable table.

    Raises:
        DataTypeError: not a DataFrame, or column names that are no text.
        InvalidInputError: no rows, no columns, or two columns of one name.
    """
    if not isinstance(frame, pd.DataFrame):
        remedy = "wrap an array as pd.DataFrame(array, columns=[...])"
        if isinstance(frame, str | Path):
            remedy = f"read the file first: pd.read_csv({str(frame)!r})"
        elif isinstance(frame, pd.Series):
            remedy = "one column is X[['age']], one row X.iloc[[0]]"
        raise DataTypeError(f"expected a DataFrame, got {type(frame).__name__}; {remedy}")
    if frame.shape[0] == 0 or frame.shape[1] == 0:
        raise InvalidInputError(
            f"the table is empty ({frame.shape[0]} rows, {frame.shape[1]} columns)"
        )
    unnamed = [column for column in frame.columns if not isinstance(column, str) or not column]
    if unnamed:
        raise DataTypeError(
            f"column names must be text, not {shown(unnamed)}; rename them, for example with "
            "X.columns = [f'x{i}' for i in X.columns]"
        )
    if not frame.columns.is_unique:
        twice = list(dict.fromkeys(frame.columns[frame.columns.duplicated()]))
        raise InvalidInputError(f"several columns are called {shown(twice)}; rename or drop them")


def _refuse_dates(frame: pd.DataFrame, tables: Tables) -> None:
    """No model that is compiled takes dates."""
    found = [name for name in frame.columns if _holds_dates(frame[name])]
    if not found:
        return
    column = f"X[{found[0]!r}]"
    zone = ".dt.tz_localize(None)" if _has_zone(frame[found[0]].dtype) else ""
    line = f"{column} = (pd.to_datetime({column}){zone} - pd.Timestamp('1970-01-01')).dt.days"
    if tables == "polars":
        line = f"X = X.with_columns(pl.col({found[0]!r}).dt.epoch('d'))"
    raise DataTypeError(
        f"column{'s' * (len(found) > 1)} {shown(found)}: dates, which are no feature; make each a "
        f"number before the model is trained, such as whole days since a fixed day:  {line}"
    )


def _check_names(columns: Sequence[str], prefix_of: Mapping[str, str], options: Options) -> None:
    resolution = options.resolution
    if isinstance(resolution, str):
        one_of(resolution, ["auto"], "resolution")
    if not isinstance(resolution, Mapping):
        resolution = {}
    for what, names in (
        ("kinds", options.kinds),
        ("ordinal", options.ordinal),
        ("resolution", resolution),
    ):
        for name in names:
            if name not in columns:
                raise MissingColumnError(f"{what}: no column {name!r}{suggestion(name, columns)}")
            if name in prefix_of:
                raise InvalidInputError(
                    f"{what}: column {name!r} is part of group {prefix_of[name]!r}, which has its "
                    "own kind"
                )
    for name, kind in options.kinds.items():
        one_of(kind, KINDS, f"kinds[{name!r}]")
        if name in options.ordinal and kind != "ordinal":
            raise InvalidInputError(f"column {name!r} is both ordinal and {kind}")


def _infer_column(series: pd.Series[Any], name: str, options: Options) -> Feature:
    dtype = series.dtype
    if (
        pd.api.types.is_timedelta64_dtype(dtype)
        or isinstance(dtype, pd.PeriodDtype | pd.IntervalDtype)
        or pd.api.types.is_complex_dtype(dtype)
        or (isinstance(dtype, pd.ArrowDtype) and not _is_plain_arrow(dtype))
    ):
        raise DataTypeError(
            f"column {name!r} has dtype {dtype}, which is no feature; turn it into a number (of a "
            "duration: .dt.total_seconds(), of a decimal: .astype('float64')) or a category, or "
            "drop it"
        )
    if series.isna().all():
        raise InvalidInputError(f"column {name!r} has no values at all; drop it")
    kind = options.kinds.get(name)
    directed = options.actions.get(name) in DIRECTED
    stated = options.resolution
    step = stated.get(name) if isinstance(stated, Mapping) else None
    if name in options.ordinal:
        levels = listed(options.ordinal[name], f"ordinal[{name!r}]", "'low', 'high'")
        feature = _ordinal(series, name, levels)
    elif kind == "ordinal" or (kind is None and _is_ordered(dtype)):
        feature = _ordinal(series, name, None)
    elif kind is None:
        feature = _undeclared(series, name, step, directed=directed)
    elif kind in ("categorical", "binary"):
        feature = _categorical(series, name, kind)
    else:
        feature = _numeric(series, name, kind, step)
    free = stated is None or (isinstance(stated, Mapping) and name in stated and step is None)
    if free and feature.kind == "real" and not _holds_whole(dtype):
        feature = dataclasses.replace(feature, resolution=None)
    if step is not None and feature.kind != "real":
        raise InvalidInputError(
            f"resolution: column {name!r} is {feature.kind}, and only real features have one; "
            f"declare it real (kinds={{{name!r}: 'real'}}) if it is meant"
        )
    return feature


def _holds_whole(dtype: object) -> bool:
    """Whether a column of this type can hold nothing but whole numbers."""
    held = storage_of(dtype)
    return held is not None and held.kind in "iu"


def _undeclared(series: pd.Series[Any], name: str, step: object, *, directed: bool) -> Feature:
    """A column with nothing said about it; ``directed``: it may only rise, or only fall.

    A direction needs an order, so such a column is not taken for two categories.
    """
    if pd.api.types.is_bool_dtype(series.dtype) and directed:
        return _ordinal(series, name, (False, True))
    if _is_number(series.dtype):
        values = _finite(series, name)
        present = np.unique(values[~np.isnan(values)])
        if len(present) == 2 and not directed and step is None:
            return _categorical(series, name, None)
        whole = step is None and bool((present == np.rint(present)).all())
        return _numeric(series, name, "integer" if whole else "real", step)
    return _categorical(series, name, None)


def _categorical(series: pd.Series[Any], name: str, kind: Kind | None) -> Feature:
    labels = in_order(_labels_in(series, name).values())
    if kind is None:
        kind = "binary" if len(labels) == 2 or _is_boolean(labels) else "categorical"
    return Feature(
        name, kind, labels=labels, dtypes=(dtype_name(series.dtype),), missing_as=_marker(series)
    )


def _marker(series: pd.Series[Any]) -> str:
    """How a column of objects writes a missing cell."""
    absent = series[series.isna()] if pd.api.types.is_object_dtype(series.dtype) else series[:0]
    return missing_as(absent.iloc[0]) if len(absent) else "nan"


def _ordinal(series: pd.Series[Any], name: str, levels: tuple[Label, ...] | None) -> Feature:
    found = _labels_in(series, name)
    missing = found.pop(key(None), 0) is None
    if levels is None:
        levels = _declared_levels(series, name, found)
    levels = tuple(canonical(scalar(level, f"ordinal[{name!r}]")) for level in levels)
    unlisted = [label for identity, label in found.items() if identity not in map(key, levels)]
    if unlisted:
        raise InvalidInputError(
            f"ordinal: column {name!r} holds {shown(unlisted)}, not among its levels "
            f"{shown(levels)}"
        )
    dtypes = (dtype_name(series.dtype),)
    if _are_consecutive(levels):
        lower, upper = exact(levels[0]), exact(levels[-1])
        return Feature(
            name, "ordinal", lower=lower, upper=upper, missing=missing, dtypes=dtypes,
            missing_as=_marker(series),
        )  # fmt: skip
    if missing:
        raise InvalidInputError(
            f"column {name!r} is ordered, and missing values have no place in an order; fill them "
            f"in, or add kinds={{{name!r}: 'categorical'}}"
        )
    return Feature(name, "ordinal", labels=levels, dtypes=dtypes)


def _declared_levels(
    series: pd.Series[Any], name: str, found: Mapping[Key, Label]
) -> tuple[Label, ...]:
    """Levels in order: the categories of an ordered categorical, or all numbers observed."""
    if isinstance(series.dtype, pd.CategoricalDtype) and series.dtype.ordered:
        return tuple(scalar(category, name) for category in series.dtype.categories)
    if any(isinstance(label, str) for label in found.values()):
        raise InvalidInputError(
            f"column {name!r} is declared ordinal but holds text; give the levels in order: "
            f"ordinal={{{name!r}: [{shown(in_order(found.values()))}]}}"
        )
    return in_order(found.values())


def _numeric(series: pd.Series[Any], name: str, kind: Kind, step: object) -> Feature:
    values = _finite(series, name)
    missing = np.isnan(values)
    present = values[~missing]
    lower, upper = Fraction(float(present.min())), Fraction(float(present.max()))
    resolution = None
    if kind == "real":
        resolution = (
            _step(present, series.dtype)
            if step is None
            else as_written(step, f"resolution[{name!r}]")
        )
    elif (present != np.rint(present)).any():
        odd = float(present[present != np.rint(present)][0])
        raise InvalidInputError(
            f"column {name!r} is declared {kind} but holds {odd}; declare it real, or round it"
        )
    return Feature(
        name,
        kind,
        lower=lower,
        upper=upper,
        resolution=resolution,
        missing=bool(missing.any()),
        dtypes=(dtype_name(series.dtype),),
        missing_as=_marker(series),
    )


def _step(present: Floats, dtype: object) -> Fraction | None:
    """The coarsest of 1, 1/2, 1/10, 1/20, … in which the column moves.

    10**-d, for the least d <= 6 such that every value is a decimal of d places; or a coarser one
    if nine in ten of the values other than 0 are multiples of it (readings on a scale, of which a
    few are means: 97, 101, 84.33).  ``None``: there is no such d.
    """
    held = storage_of(dtype)
    width = held if held is not None and held.kind == "f" else present.dtype
    used = present[present != 0]
    coarse = None
    for places in range(_MAX_PLACES + 1):
        if _on_steps(present, 10**places, width).all():
            return coarse or Fraction(1, 10**places)
        for count in (10**places, 2 * 10**places):
            if coarse is None and _on_steps(used, count, width).mean() >= _MOST:
                coarse = Fraction(1, count)
    return None


def _on_steps(values: Floats, count: int, width: np.dtype[Any]) -> NDArray[np.bool_]:
    """Which values are the floats that a user gets by typing a multiple of 1 / count.

    ``k / count`` is correctly rounded (both are exact up to 2**53), so the comparison is exact.
    """
    counts = np.rint(values * float(count))
    typed: Floats = (counts / count).astype(width)
    return np.asarray((np.abs(counts) < 2**53) & (typed == values))


def _labels_in(series: pd.Series[Any], name: str) -> dict[Key, Label]:
    if _is_number(series.dtype):
        _finite(series, name)
    cells: Iterable[tuple[object, object]] = series.items()
    if not pd.api.types.is_object_dtype(series.dtype):
        cells = series.drop_duplicates().items()
    return distinct(scalar(cell, f"column {name!r}, row {at!r}") for at, cell in cells)


def _finite(series: pd.Series[Any], name: str) -> Floats:
    values = float_column(series, name)
    infinite = np.isinf(values)
    if infinite.any():
        at = series.index[int(np.argmax(infinite))]
        raise InvalidInputError(
            f"column {name!r} holds {int(infinite.sum())} infinite values (first in row {at!r}); "
            "replace them by numbers or by missing values"
        )
    return values


def _holds_dates(column: pd.Series[Any]) -> bool:
    if pd.api.types.is_object_dtype(column.dtype):
        return pd.api.types.infer_dtype(column, skipna=True) in ("date", "datetime", "datetime64")
    return bool(pd.api.types.is_datetime64_any_dtype(column.dtype))


def _has_zone(dtype: object) -> bool:
    """Whether dates have a time zone, in pandas' or pyarrow's dtype."""
    arrow = getattr(dtype, "pyarrow_dtype", dtype)
    return getattr(arrow, "tz", None) is not None


def _is_number(dtype: object) -> bool:
    return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)


def _is_plain_arrow(dtype: Any) -> bool:
    """Whether cells of pyarrow's dtype are numbers, booleans, texts or categories."""
    return dtype.numpy_dtype.kind in "biufU" or is_dictionary(dtype)


def _is_ordered(dtype: object) -> bool:
    return isinstance(dtype, pd.CategoricalDtype) and bool(dtype.ordered)


def _is_boolean(labels: Sequence[Label]) -> bool:
    return all(isinstance(label, bool) for label in labels)


def _are_consecutive(levels: Sequence[Label]) -> bool:
    """Whether levels are integers lower, lower+1, …, upper, which need no listing."""
    if not levels or any(isinstance(level, bool | str) or level is None for level in levels):
        return False
    numbers = [float(level) for level in levels if level is not None]
    return all(map(is_whole, numbers)) and all(
        after - before == 1 for before, after in itertools.pairwise(numbers)
    )

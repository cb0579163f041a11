"""One feature as a user sees it: its kind, admissible values, and how it may change."""

from __future__ import annotations

import dataclasses
import math
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from ..errors import DataTypeError, InvalidInputError, LanguageError
from ..ir import INT, REAL, LabelTuple, Sort
from ..ir.interval import floor_float
from ..lang.parser import parse_expression
from .names import listed, names_arguments, names_in, nearest, one_of, shown
from .values import (
    MISSING,
    Key,
    Label,
    as_written,
    canonical,
    check_labels,
    exact,
    first_true,
    key,
    number_text,
    storage_of,
)

Kind = Literal["real", "integer", "ordinal", "categorical", "binary"]
Action = Literal["free", "fixed", "increase", "decrease", "conditional"]
Encoding = Literal["plain", "one_hot", "thermometer"]
Missing = bool | Literal["keep", "may fill", "free"]

KINDS: tuple[Kind, ...] = get_args(Kind)
ACTIONS: tuple[Action, ...] = get_args(Action)
ENCODINGS: tuple[Encoding, ...] = get_args(Encoding)
FILLED = ("may fill", "free")
DIRECTED: tuple[Action, ...] = ("increase", "decrease")
FINEST, COARSEST = Fraction(1, 10**300), Fraction(10**30)  # resolutions: 1 over one is a double
GRIDS = "above 0, and from 1e-300 of its largest value to 1e30"
LARGEST = Fraction(math.nextafter(math.inf, 0))  # of doubles
WORDING = ("label", "unit", "format")
"""The fields that are for readers alone."""
PATTERN = re.compile(r"[^#0-9.,;%‰¤E'@*+\-]*[#,]*0[0,]*(\.0*#*)?(\s*%|[^#0-9.,;%‰¤E'@*+\-]*)")
"""Number patterns of Unicode's locale data that show all of a number, as it is or in percent."""


@names_arguments
@dataclass(frozen=True)
class Feature:
    """A feature x_j: kind, observed range or categories, action, weight, and its columns.

    Values are rationals (``real``), integers (``integer`` and ``ordinal`` without labels) or
    labels. Numbers given to the constructor become exact: in ``lower`` and ``upper`` a float is
    the double it is, because columns hold doubles; in ``resolution`` and ``weight`` it is the
    decimal as written (0.01 is 1/100); text such as ``"1/3"`` is read exactly.

    Attributes:
        name: Its name in tables, constraints and programs.
        kind: ``real``, ``integer``, ``ordinal``, ``categorical`` or ``binary``.
        lower, upper: Observed range, inclusive; ``None`` exactly for symbolic features.
        resolution: Real features only: admissible values are the multiples of it and the
            factual's own value; ``None`` admits every value of the range.
        labels: The categories; of an ordinal its levels in rising order, and empty if the
            levels are the integers ``lower..upper``. ``None`` is the category *missing*.
        missing: Numeric features only: whether the number may be missing, and what becomes of
            that.  ``False``: never missing.  ``True``, which ``"keep"`` becomes: an instance
            without the number keeps it missing, and one that has it keeps having one.
            ``"may fill"``: an instance without it may get one, of any size.  ``"free"``: besides,
            an instance that has it may lose it.  Getting or losing the number changes the feature
            by δ_j = 1, as another category does.  ``fixed`` features do neither.
        action: Whether and in which direction a counterfactual may change it.
        condition: For ``conditional``: the predicate, in the core language, under which it may.
        weight: Factor >= 0 on its share of a distance.
        encoding: How the table holds it; ``one_hot`` and ``thermometer`` take several columns.
        columns: The table's columns, one per label (one-hot) or step (thermometer).
        dtypes: Name of the pandas dtype of each column.
        missing_as: How a column of objects writes a missing cell: ``nan``, ``none`` or ``na``
            (``pandas.NA``).  Models trained on one of them do not know the others.
        label, unit, format: What letters call it, what they write behind its numbers, and how:
            a pattern such as ``#,##0.00``.  They are part of no program, distance, proof or
            comparison.

    Raises:
        InvalidInputError, DataTypeError: the fields contradict each other; says which feature's.
    """

    name: str
    kind: Kind
    lower: Fraction | None = None
    upper: Fraction | None = None
    resolution: Fraction | None = None
    labels: tuple[Label, ...] = ()
    missing: Missing = False
    action: Action = "free"
    condition: str = ""
    weight: Fraction = Fraction(1)
    encoding: Encoding = "plain"
    columns: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    missing_as: str = "nan"
    label: str = dataclasses.field(default="", compare=False)
    unit: str = dataclasses.field(default="", compare=False)
    format: str = dataclasses.field(default="", compare=False)

    def __post_init__(self) -> None:
        where = f"feature {self.name!r}"
        if not isinstance(self.name, str) or not self.name:
            raise InvalidInputError(f"{where}: a feature's name is a text of at least one letter")
        one_of(self.kind, KINDS, f"{where}: kind")
        one_of(self.action, ACTIONS, f"{where}: action")
        one_of(self.encoding, ENCODINGS, f"{where}: encoding")
        one_of(self.missing_as, tuple(MISSING), f"{where}: missing_as")
        self._check_types(where)
        self._set("labels", tuple(canonical(label) for label in self.labels))
        for bound in ("lower", "upper"):
            if getattr(self, bound) is not None:
                self._set(bound, exact(getattr(self, bound), f"{where}: {bound}"))
        if self.resolution is not None:
            self._set("resolution", as_written(self.resolution, f"{where}: resolution"))
        self._set("weight", as_written(self.weight, f"{where}: weight"))
        self._set("columns", tuple(self.columns) or (self.name,))
        self._set("dtypes", tuple(self.dtypes) or self._default_dtypes())
        if self.is_symbolic:
            self._check_symbolic(where)
        else:
            self._check_numeric(where)
        self._check_action(where)
        self._check_columns(where)
        self._check_wording(where)

    def __str__(self) -> str:
        from .page import feature_line

        return feature_line(self)

    def _set(self, field: str, value: object) -> None:
        object.__setattr__(self, field, value)

    def _check_types(self, where: str) -> None:
        """What Python lets pass: fields of another type than they are declared with."""
        if not isinstance(self.missing, bool) and self.missing not in ("keep", *FILLED):
            raise (InvalidInputError if isinstance(self.missing, str) else DataTypeError)(
                f"{where}: missing is True or False, 'may fill' or 'free', not {self.missing!r}"
            )
        self._set("missing", self.missing == "keep" or self.missing)
        if not isinstance(self.condition, str):
            raise DataTypeError(
                f"{where}: condition is a text such as 'age >= 25', not {self.condition!r}"
            )
        self._set("labels", listed(self.labels, f"{where}: labels", "'no', 'yes'"))
        for field, example in (("columns", "'age'"), ("dtypes", "'int64'")):
            self._set(field, names_in(getattr(self, field), f"{where}: {field}", example))

    def _default_dtypes(self) -> tuple[str, ...]:
        if self.encoding != "plain":
            return ("int64",) * len(self.columns)
        if not self.is_symbolic:
            whole = self.kind != "real" and not self.missing
            return ("int64" if whole else "float64",)
        return (str(pd.Series(list(self.labels)).dtype),)

    def _check_symbolic(self, where: str) -> None:
        check_labels(self.labels, where)
        numeric_only = [
            field for field in ("lower", "upper", "resolution") if getattr(self, field) is not None
        ]
        if numeric_only or self.missing:
            given = [*numeric_only, *(["missing"] if self.missing else [])]
            raise InvalidInputError(
                f"{where}: {shown(given)} belongs to "
                f"numbers, and this feature has categories (put None among the labels to allow "
                "a missing value)"
            )
        if self.kind == "binary" and len(self.labels) > 2:
            raise InvalidInputError(
                f"{where}: a binary feature has at most two labels, not {len(self.labels)}; "
                "make it categorical"
            )
        if self.kind == "ordinal" and None in self.labels:
            raise InvalidInputError(
                f"{where}: a missing value has no place in an order; make the feature "
                "categorical, or fill the missing values"
            )

    def _check_numeric(self, where: str) -> None:
        if self.labels:
            raise InvalidInputError(f"{where}: a feature of kind {self.kind} has no labels")
        if self.lower is None or self.upper is None:
            raise InvalidInputError(f"{where}: a feature of kind {self.kind} needs lower and upper")
        if self.lower > self.upper:
            ends = f"lower {number_text(self.lower)} is above upper {number_text(self.upper)}"
            raise InvalidInputError(f"{where}: {ends}; swap them")
        if self.upper - self.lower > LARGEST:
            raise InvalidInputError(f"{where}: its range is wider than the largest double")
        if self.kind != "real":
            if self.resolution is not None:
                raise InvalidInputError(f"{where}: only real features have a resolution")
            for bound in (self.lower, self.upper):
                if bound.denominator != 1:
                    end = f"bound {number_text(bound)}"
                    raise InvalidInputError(f"{where}: {end} is not whole; use kind 'real'")
        elif self.resolution is not None:
            largest = max(Fraction(1), abs(self.lower), abs(self.upper))
            if not FINEST * largest <= self.resolution <= COARSEST:
                raise InvalidInputError(f"{where}: resolution must be {GRIDS}")

    def _check_action(self, where: str) -> None:
        if self.weight < 0:
            raise InvalidInputError(f"{where}: weight must be at least 0")
        if (self.action == "conditional") != bool(self.condition.strip()):
            raise InvalidInputError(
                f"{where}: action 'conditional' and a condition (such as 'age >= 25') go together"
            )
        if self.condition.strip():
            try:
                parse_expression(self.condition, "condition")
            except LanguageError as error:
                raise InvalidInputError(f"{where}: {error}") from error
        if self.action in DIRECTED and self.kind in ("categorical", "binary"):
            raise InvalidInputError(
                f"{where}: the categories {shown(self.labels)} have no order to {self.action} in; "
                "make the feature ordinal, with its levels in order, or use action 'conditional'"
            )

    def _check_wording(self, where: str) -> None:
        for field in WORDING:
            value = getattr(self, field)
            if not isinstance(value, str):
                raise DataTypeError(f"{where}: {field} is a text, not {value!r}")
            if value and field != "label" and self.is_symbolic:
                raise InvalidInputError(
                    f"{where}: {field} is for numbers, and this feature has categories; letters "
                    "have words for these in [wording.NAME.values]"
                )
        if self.format and not PATTERN.fullmatch(self.format):
            raise InvalidInputError(
                f"{where}: format {self.format!r} is no pattern of a number; write e.g. '0', "
                "'#,##0.00', '$#,##0.00' or, of shares, '0%'"
            )

    def _check_columns(self, where: str) -> None:
        if len(set(self.columns)) < len(self.columns) or not all(self.columns):
            raise InvalidInputError(f"{where}: columns must be different, non-empty names")
        if self.encoding == "plain" and len(self.columns) != 1:
            raise InvalidInputError(f"{where}: encoding 'plain' means one column")
        if len(self.dtypes) != len(self.columns):
            raise InvalidInputError(
                f"{where}: {len(self.dtypes)} dtypes for {len(self.columns)} columns"
            )
        for dtype in self.dtypes:
            self._check_dtype(dtype, where)
        if self.encoding == "one_hot" and (
            not self.is_symbolic or len(self.labels) != len(self.columns)
        ):
            raise InvalidInputError(f"{where}: a one-hot group has labels, one label per column")
        if self.encoding == "thermometer" and (
            self.kind != "ordinal"
            or self.is_symbolic
            or not 0 <= self.bounds[0] <= self.bounds[1] <= len(self.columns)
        ):
            raise InvalidInputError(
                f"{where}: a thermometer of {len(self.columns)} columns is ordinal, with integer "
                f"levels between 0 and {len(self.columns)}"
            )

    def _check_dtype(self, name: str, where: str) -> None:
        try:
            dtype = pd.api.types.pandas_dtype(name)
        except (TypeError, ValueError, ImportError) as error:
            raise InvalidInputError(f"{where}: pandas knows no dtype {name!r}") from error
        if not self._fits(dtype):
            held = shown(self.labels) if self.is_symbolic else "numbers"
            raise InvalidInputError(
                f"{where}: a column of dtype {name} cannot hold {held}; correct dtype, which is "
                f"{self._default_dtypes()[0]} if nothing is said"
            )
        plain = storage_of(dtype)
        if self.encoding != "plain" or plain is None:
            return
        if plain.kind in "iub" and plain is dtype and (self.missing or None in self.labels):
            raise InvalidInputError(f"{where}: a column of dtype {name} cannot hold missing values")
        if plain.kind in "iu" and not self.is_symbolic:
            limits, (lower, upper) = np.iinfo(plain), self.bounds
            if lower < int(limits.min) or upper > int(limits.max):
                raise InvalidInputError(f"{where}: dtype {name} cannot hold the whole range")
            if self.kind == "real" and (not self.resolution or self.resolution.denominator != 1):
                raise InvalidInputError(
                    f"{where}: a column of dtype {name} holds whole numbers only; give a whole "
                    "resolution (1), or convert the column to float64"
                )

    def _fits(self, dtype: Any) -> bool:
        """Whether columns of ``dtype`` hold values of this kind: numbers, labels, or 0 and 1."""
        types = pd.api.types
        labels = self.labels if self.encoding == "plain" else (0, 1)
        held = {key(label)[0] for label in labels if label is not None}
        symbolic = self.is_symbolic and self.encoding == "plain"
        if isinstance(dtype, pd.CategoricalDtype):
            return symbolic or self.kind == "ordinal" or self.encoding != "plain"
        if types.is_bool_dtype(dtype):
            return self.encoding != "plain" or (symbolic and held <= {"boolean"})
        if types.is_numeric_dtype(dtype):
            return not types.is_complex_dtype(dtype) and (not symbolic or held <= {"number"})
        if isinstance(dtype, pd.StringDtype) or getattr(dtype, "type", None) is str:
            return symbolic and held <= {"text"}
        return bool(types.is_object_dtype(dtype))

    @property
    def dtype(self) -> str:
        """Pandas dtype of the only column, or of the first one of a group."""
        return self.dtypes[0]

    @property
    def is_symbolic(self) -> bool:
        """Whether values are labels (else they are numbers)."""
        return self.kind in ("categorical", "binary") or (
            self.kind == "ordinal" and bool(self.labels)
        )

    @cached_property
    def range(self) -> Fraction:
        """R_j of the paper's distances (§4.2): ``upper - lower``; K-1 for K ordered labels.

        For unordered categories 1 (they differ or they do not). 0 if the feature is constant: it
        cannot change, and contributes no distance.
        """
        if not self.is_symbolic:
            lower, upper = self.bounds
            return upper - lower
        steps = len(self.labels) - 1
        return Fraction(steps if self.kind == "ordinal" else min(1, steps))

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        """``(lower, upper)`` of a numeric feature.

        Raises:
            InvalidInputError: the feature is symbolic.
        """
        if self.lower is None or self.upper is None:
            raise InvalidInputError(f"feature {self.name!r} has categories, and no bounds")
        return self.lower, self.upper

    @cached_property
    def absent(self) -> Fraction | None:
        """What stands for a missing number in programs: a whole double below the range.

        ``None`` unless the number may be missing.
        """
        if not self.missing:
            return None
        return Fraction(floor_float(math.floor(self.bounds[0]) - 1))

    def is_absent(self, value: object) -> bool:
        """Whether an exact value of this feature stands for a missing number."""
        return bool(self.missing) and value == self.absent

    def may_change_gap(self, value: object) -> bool:
        """Whether an answer may miss the number where the instance has it, or the reverse."""
        open_ = ("free",) if not self.is_absent(value) else FILLED
        return self.missing in open_ and self.action != "fixed"

    @property
    def extent(self) -> tuple[Fraction, Fraction]:
        """The least and the largest number that programs see: ``bounds``, and ``absent``."""
        lower, upper = self.bounds
        return (lower if self.absent is None else self.absent), upper

    @property
    def levels(self) -> tuple[Label, ...]:
        """All values of a feature that has finitely many by nature: labels, or ordinal levels.

        Raises:
            InvalidInputError: the feature is a number.
        """
        if self.is_symbolic:
            return self.labels
        if self.kind != "ordinal":
            raise InvalidInputError(f"feature {self.name!r} is a number: it has no levels")
        lower, upper = self.bounds
        return tuple(range(int(lower), int(upper) + 1))

    def held(self, value: Fraction) -> int | float:
        """The number that a cell of the feature's column holds for ``value``.

        The nearest float of the column's width, infinite beyond the largest; a whole number is
        itself unless the column is of floats.
        """
        if value.denominator == 1 and self.storage.kind != "f":
            return int(value)
        try:
            number = float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
        if self.storage.kind == "f" and self.storage.itemsize < 8:
            with np.errstate(over="ignore"):
                return float(self.storage.type(number))
        return number

    def typed(self, value: Fraction | float) -> Fraction | int:
        """A number as programs have it: exact, and whole unless the feature is real."""
        return Fraction(value) if self.kind == "real" else int(value)

    @cached_property
    def steps(self) -> tuple[int, int] | None:
        """First and last k such that a cell holding ``k * resolution`` is in the range.

        A column holds 0.07 as the double nearest to 7/100, which may lie just outside of exact
        bounds that 7/100 satisfies, or the reverse; what a user can type in is the double.
        ``None`` without a resolution; the first exceeds the last if no multiple is in range.
        """
        if self.resolution is None:
            return None
        step, (lower, upper) = self.resolution, self.bounds
        # Rounding to the column's floats is monotone in k, so both conditions change once.
        first = first_true(lambda k: self.held(k * step) >= lower, math.ceil(lower / step))
        after = first_true(lambda k: self.held(k * step) > upper, math.floor(upper / step))
        return first, after - 1

    def code(self, label: Label) -> int:
        """Position of ``label`` among ``labels``.

        Raises:
            InvalidInputError: the category was never seen; names the nearest ones.
        """
        code = self.codes.get(key(label))
        if code is None:
            if label is None and self.kind == "ordinal":
                raise InvalidInputError(
                    f"{self.name}: a value is missing, which has no place in an order; fill it in, "
                    "or make the feature categorical, with a label for what is missing"
                )
            text = "a missing value" if label is None else repr(label)
            close = nearest(label, self.labels) if isinstance(label, str) else []
            raise InvalidInputError(
                f"{self.name}: {text} is not a category seen before"
                + (f" (nearest: {shown(close)})" if close else "")
                + f"; known are {shown(self.labels)}. If it is right, add it to the feature's "
                "labels and train the model with it"
            )
        return code

    @cached_property
    def label_tuple(self) -> LabelTuple:
        """``labels`` as programs have them; they know their places."""
        return LabelTuple(self.labels)

    @cached_property
    def codes(self) -> dict[Key, int]:
        """Label identity to position among ``labels``."""
        return {key(label): code for code, label in enumerate(self.labels)}

    def table(self, column: str) -> tuple[int, ...] | None:
        """Value that ``column`` of an encoded group has at each of ``levels``; ``None`` if plain.

        One-hot: 1 at the column's own label. Thermometer: column i (from 0) is 1 iff level > i.
        """
        if self.encoding == "plain":
            return None
        at = self.columns.index(column)
        if self.encoding == "one_hot":
            return tuple(int(code == at) for code in range(len(self.labels)))
        return tuple(int(isinstance(level, int) and level > at) for level in self.levels)

    @cached_property
    def storage(self) -> np.dtype[Any]:
        """NumPy dtype behind the first column's pandas dtype; ``object`` if there is none."""
        plain = storage_of(pd.api.types.pandas_dtype(self.dtype))
        return np.dtype(object) if plain is None else plain


def sort_of(feature: Feature) -> Sort:
    """Sort of a feature's value in programs and constraints.

    Real for ``real``; Int for ``integer`` and ordinals without labels; else the Category of the
    feature's labels, in their order.
    """
    if feature.is_symbolic:
        return Sort("category", (), feature.label_tuple)
    return REAL if feature.kind == "real" else INT

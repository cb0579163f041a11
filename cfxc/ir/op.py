"""The base of all ops: operands, attributes, and what every op must define.

An op is a frozen dataclass.  Fields annotated ``Operand`` or ``tuple[Operand, ...]`` are operands
(value names, or scalar literals); all other fields are attributes.  Printing, parsing, hashing and
verification derive from the fields; a subclass adds

* ``sort(*operand_sorts)``: the sort of the result, or ``VerificationError``;
* ``evaluate(*values)``: the *meaning*, in exact rationals;
* ``interval(*bounds)``: a sound enclosure of the result over enclosures of the operands.

Exact values are ``Fraction``/``int`` (numeric scalars), ``bool``, labels, or numpy object arrays
of these.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, TypeVar, dataclass_transform

import numpy as np

from ..errors import VerificationError
from .interval import Bounds
from .sorts import (
    BOOL,
    INT,
    REAL,
    LabelTuple,
    Sort,
    format_label,
    format_labels,
    format_name,
    format_rational,
    is_label,
)
from .tensor import Tensor

Value = Any  # Fraction | int | bool | Label | object array of these


@dataclass(frozen=True, slots=True)
class Literal:
    """A scalar constant in operand position; ``Fraction`` is Real, ``int`` Int, ``bool`` Bool."""

    value: Fraction | int | bool

    def __post_init__(self) -> None:
        if type(self.value) not in (Fraction, int, bool):
            raise VerificationError(
                f"a literal is a Fraction, int or bool, not {type(self.value).__name__}"
            )

    @property
    def sort(self) -> Sort:
        if isinstance(self.value, bool):
            return BOOL
        return INT if isinstance(self.value, int) else REAL

    def __str__(self) -> str:
        if isinstance(self.value, Fraction):
            text = format_rational(self.value)
            return text if any(mark in text for mark in "/x") else f"{text}."
        return format_label(self.value)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Literal)
            and type(self.value) is type(other.value)
            and self.value == other.value
        )

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


Operand = str | Literal


@dataclass(frozen=True)
class Op:
    """Base class of every op."""

    name: ClassVar[str] = ""

    def sort(self, *operands: Sort) -> Sort:
        raise TypeError(f"{type(self).__name__} defines no sort rule")

    def evaluate(self, *values: Value) -> Value:
        raise TypeError(f"{type(self).__name__} defines no meaning")

    def interval(self, *bounds: Bounds) -> Bounds:
        raise TypeError(f"{type(self).__name__} defines no interval transformer")

    def operands(self) -> Iterator[Operand]:
        """Operands in order, variadic ones flattened."""
        for field in layout(type(self)).operands:
            value = getattr(self, field)
            if isinstance(value, tuple):
                yield from value
            else:
                yield value

    def attributes(self) -> Iterator[tuple[str, Any]]:
        """``(field, value)`` of every attribute, in field order."""
        for field in layout(type(self)).attributes:
            yield field, getattr(self, field)

    def check_attributes(self) -> None:
        """Raise ``VerificationError`` unless every attribute has exactly its declared type."""
        types = layout(type(self)).types
        for field, value in self.attributes():
            if not ATTRIBUTE_TYPES[types[field]](value):
                found = type(value).__name__
                raise VerificationError(f"{field} must be a {types[field]}, not {found}")

    def map_operands(self, function: Callable[[Operand], Operand]) -> Op:
        """The same op with every operand replaced by ``function(operand)``."""
        changes: dict[str, Any] = {}
        for field in layout(type(self)).operands:
            value = getattr(self, field)
            changes[field] = (
                tuple(map(function, value)) if isinstance(value, tuple) else function(value)
            )
        return dataclasses.replace(self, **changes)

    def digest(self) -> bytes:
        """SHA-256 over name, operands and attributes."""
        parts = [self.name, *map(format_operand, self.operands())]
        for field, value in self.attributes():
            body = value.digest().hex() if isinstance(value, Tensor) else format_attribute(value)
            parts.append(f"{field}={body}")
        return hashlib.sha256("\x00".join(parts).encode()).digest()

    def __str__(self) -> str:
        parts = [*map(format_operand, self.operands())]
        parts += [f"{field}={format_attribute(value)}" for field, value in self.attributes()]
        return f"{self.name}({', '.join(parts)})"


@dataclass(frozen=True, slots=True)
class Layout:
    """Which fields of an op class are operands and which are attributes, with their types."""

    operands: tuple[str, ...]
    attributes: tuple[str, ...]
    types: dict[str, str]
    variadic: bool


def _is_sizes(value: Any) -> bool:
    return type(value) is tuple and all(type(item) is int for item in value)


ATTRIBUTE_TYPES: dict[str, Callable[[Any], bool]] = {
    "Fraction": lambda value: type(value) is Fraction,
    "Label": is_label,
    "LabelTuple": lambda value: type(value) is LabelTuple,
    "Tensor": lambda value: type(value) is Tensor,
    "int": lambda value: type(value) is int,
    "tuple[int, ...]": _is_sizes,
}
_LAYOUTS: dict[type[Op], Layout] = {}


def layout(cls: type[Op]) -> Layout:
    """The operand/attribute split of an op class, read off its annotations."""
    if cls not in _LAYOUTS:
        _LAYOUTS[cls] = _split_fields(cls)
    return _LAYOUTS[cls]


def _split_fields(cls: type[Op]) -> Layout:
    types = {field.name: str(field.type) for field in dataclasses.fields(cls)}
    operands = tuple(name for name, kind in types.items() if "Operand" in kind)
    variadic = [name for name in operands if types[name].startswith("tuple")]
    if variadic and variadic != [operands[-1]]:
        raise TypeError(f"{cls.__name__}: only the last operand may be variadic")
    attributes = tuple(name for name in types if name not in operands)
    if odd := {types[name] for name in attributes} - ATTRIBUTE_TYPES.keys():
        raise TypeError(f"{cls.__name__}: no attribute may be a {odd}")
    return Layout(operands, attributes, types, bool(variadic))


REGISTRY: dict[str, type[Op]] = {}
OpClass = TypeVar("OpClass", bound=type[Op])
Rule = TypeVar("Rule")


@dataclass_transform(frozen_default=True)
def register(name: str) -> Callable[[OpClass], OpClass]:
    """Class decorator: makes a frozen dataclass of an op and enters it under ``name``."""

    def enter(cls: OpClass) -> OpClass:
        if name in REGISTRY:
            raise TypeError(f"op '{name}' is registered twice")
        dataclass(frozen=True)(cls)  # which changes the class itself
        cls.name = name
        REGISTRY[name] = cls
        layout(cls)
        return cls

    return enter


def entering(rules: dict[Any, Rule]) -> Callable[..., Callable[[Rule], Rule]]:
    """Decorators that enter a function into a table of rules, for the ops that they name."""

    def rule(*classes: Any) -> Callable[[Rule], Rule]:
        def enter(function: Rule) -> Rule:
            rules.update(dict.fromkeys(classes, function))
            return function

        return enter

    return rule


def rule_of(rules: Mapping[type[Op], Rule], op: Op) -> Rule | None:
    """The entry of an op's class, or of the nearest class that it derives from, if there is one."""
    return next((rules[cls] for cls in type(op).__mro__ if cls in rules), None)


def format_operand(operand: Operand) -> str:
    """Text of an operand: a name or a literal."""
    return str(operand) if isinstance(operand, Literal) else format_name(operand)


def format_attribute(value: Any) -> str:
    """Text of an attribute value: tensor, rational, integer, Boolean, string, labels or sizes."""
    if isinstance(value, Tensor):
        return str(value)
    if isinstance(value, Fraction):
        return str(Literal(value))
    if isinstance(value, LabelTuple):
        return format_labels(value)
    if isinstance(value, tuple):
        return "(" + ", ".join(map(str, value)) + ")"
    return format_label(value)


def require(condition: bool, message: str) -> None:
    """Raise ``VerificationError(message)`` unless ``condition``."""
    if not condition:
        raise VerificationError(message)


def require_numeric(*sorts: Sort) -> None:
    """Raise ``VerificationError`` unless every sort is ``Int`` or ``Real``."""
    for sort in sorts:
        require(sort.is_numeric, f"a number is needed, not {sort}")


def require_vector(sort: Sort, name: str) -> None:
    """Raise ``VerificationError`` unless the operand of op ``name`` is a vector of numbers."""
    require_numeric(sort)
    require(len(sort.shape) == 1 and sort.shape[0] > 0, f"{name} needs a vector, not {sort}")


def broadcast_shape(*sorts: Sort) -> tuple[int, ...]:
    """The numpy broadcast of the operands' shapes."""
    try:
        return tuple(np.broadcast_shapes(*(sort.shape for sort in sorts)))
    except ValueError as error:
        shapes = ", ".join(str(list(sort.shape)) for sort in sorts)
        raise VerificationError(f"shapes do not broadcast: {shapes}") from error


def join_kinds(*sorts: Sort) -> Sort:
    """Real if any operand is real, else Int; shape is the broadcast."""
    require_numeric(*sorts)
    kind = REAL if any(sort.kind == "real" for sort in sorts) else INT
    return kind.with_shape(broadcast_shape(*sorts))


def elementwise(function: Callable[..., Any], *values: Value) -> Value:
    """Apply a scalar function over scalars or broadcast object arrays, exactly."""
    if not any(isinstance(value, np.ndarray) for value in values):
        return function(*values)
    return np.frompyfunc(function, len(values), 1)(*values)

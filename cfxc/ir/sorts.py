"""Sorts: the types of IR values.

A sort is an element kind (``Bool``, ``Int``, ``Real`` or a finite ``Category``) and a shape;
the empty shape is a scalar.  Categories are scalar and carry their labels in order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Literal as Choice

from ..errors import VerificationError

Label = str | int | float | bool | None
Kind = Choice["bool", "int", "real", "category"]

KEYWORDS = frozenset({"program", "if", "else", "return", "true", "false", "none"})
_ODD = re.compile(r"[\\`\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_ESCAPED = re.compile(r"\\(u[0-9a-f]{4}|.)", re.DOTALL)
_BARE_NAME = re.compile(r"[%A-Za-z_][A-Za-z0-9_.]*\Z")


class LabelTuple(tuple[Label, ...]):
    """The labels of a category, in order; ``1``, ``1.0`` and ``True`` are three labels."""

    def has(self, label: object) -> bool:
        """Whether ``label`` is among them, type and value."""
        return is_label(label) and (type(label).__name__, label) in self._positions()

    def position(self, label: Label) -> int:
        """Index of ``label``; ``VerificationError`` if it is not among them."""
        try:
            return self._positions()[label_key(label)]
        except KeyError:
            raise VerificationError(f"{label!r} is not among {preview(self)}") from None

    def _positions(self) -> dict[tuple[str, object], int]:
        positions: dict[tuple[str, object], int] | None = self.__dict__.get("positions")
        if positions is None:
            positions = {label_key(known): index for index, known in enumerate(self)}
            self.__dict__["positions"] = positions
        return positions

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LabelTuple) and format_labels(self) == format_labels(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(format_labels(self))


NO_LABELS = LabelTuple()


@dataclass(frozen=True, slots=True)
class Sort:
    """The type of a value: element ``kind``, ``shape`` and, for categories, ``labels``."""

    kind: Kind
    shape: tuple[int, ...] = ()
    labels: LabelTuple = NO_LABELS

    def __post_init__(self) -> None:
        if (self.kind == "category") != bool(self.labels) or (self.labels and self.shape):
            raise VerificationError("a category is a scalar with at least one label")
        if odd := [label for label in self.labels if not is_label(label)]:
            kind = type(odd[0]).__name__
            raise VerificationError(
                f"{odd[0]!r} ({kind}) is no label: str, int, finite float, bool or None"
            )
        if len({label_key(label) for label in self.labels}) != len(self.labels):
            raise VerificationError(f"category labels repeat: {format_labels(self.labels)}")
        if any(size < 0 for size in self.shape):
            raise VerificationError(f"negative size in shape {self.shape}")

    @property
    def is_numeric(self) -> bool:
        """Whether elements are ``Int`` or ``Real``."""
        return self.kind in ("int", "real")

    @property
    def is_scalar(self) -> bool:
        return not self.shape

    def with_shape(self, shape: Sequence[int]) -> Sort:
        return Sort(self.kind, tuple(shape), self.labels)

    def index(self, label: Label) -> int:
        """Position of ``label`` among the labels of a category."""
        return self.labels.position(label)

    def __str__(self) -> str:
        if self.kind == "category":
            return f"Category{format_labels(self.labels)}"
        name = self.kind.capitalize()
        return f"{name}[{', '.join(map(str, self.shape))}]" if self.shape else name


BOOL, INT, REAL = Sort("bool"), Sort("int"), Sort("real")


def category(*labels: Label) -> Sort:
    """The scalar sort of the given labels, in this order."""
    return Sort("category", (), LabelTuple(labels))


def real(*shape: int) -> Sort:
    """``Real`` of the given shape."""
    return Sort("real", shape)


def label_key(label: Label) -> tuple[str, Label]:
    """Labels are equal when both type and value are (``1`` is not ``True``)."""
    return type(label).__name__, label


def is_label(value: object) -> bool:
    """Whether ``value`` has exactly one of the types of :data:`Label`; floats must be finite."""
    if type(value) is float:
        return isfinite(value)
    return type(value) in (str, int, bool, type(None))


def quote(text: str) -> str:
    """``text`` in double quotes, escaped as in JSON; lone surrogates too, for UTF-8's sake."""
    quoted = json.dumps(text, ensure_ascii=False)
    return quoted if quoted.isascii() or _is_unicode(quoted) else json.dumps(text)


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def format_label(label: Label) -> str:
    """Text of a label; the parser reads it back to the same label."""
    if label is None:
        return "none"
    if isinstance(label, bool):
        return "true" if label else "false"
    if isinstance(label, int):
        return str(label)
    if isinstance(label, float):
        return (label + 0.0).hex()  # -0.0 and 0.0 are one label
    return quote(label)


def format_labels(labels: Sequence[Label]) -> str:
    """The labels in braces, in order."""
    return "{" + ", ".join(map(format_label, labels)) + "}"


def preview(labels: Sequence[Label], limit: int = 5) -> str:
    """The first few labels, for a message: floats as decimals."""
    shown = [repr(one) if isinstance(one, float) else format_label(one) for one in labels[:limit]]
    return "{" + ", ".join([*shown, "…"] if len(labels) > limit else shown) + "}"


def format_name(name: str) -> str:
    """A value name as the textual form writes it: bare, or in back quotes."""
    if _BARE_NAME.match(name) and name not in KEYWORDS:
        return name
    return "`" + _ODD.sub(_escape, name) + "`"


def parse_name(text: str) -> str:
    """The name between two back quotes; inverse of ``format_name`` on quoted names."""
    return _ESCAPED.sub(lambda match: _unescape(match[1]), text)


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    if character in "\\`":
        return "\\" + character
    return "\\n" if character == "\n" else f"\\u{ord(character):04x}"


def _unescape(escape: str) -> str:
    return chr(int(escape[1:], 16)) if len(escape) == 5 else "\n" if escape == "n" else escape


def format_rational(value: Fraction) -> str:
    """Integers plainly, doubles in hex, other rationals as ``p/q``; always exact."""
    if value.denominator == 1:
        return str(value.numerator)
    if (as_float := exact_float(value)) is not None:
        return as_float.hex()
    return f"{value.numerator}/{value.denominator}"


def exact_float(value: Fraction) -> float | None:
    """The double equal to ``value``, or ``None`` when there is none."""
    try:
        nearest = value.numerator / value.denominator
    except OverflowError:
        return None
    return nearest if Fraction(nearest) == value else None

"""Sparse linear forms in exact rationals, and inequalities of them: one class for every part.

A form is ``constant + Σ factor · source``.  What a source is, each user says: a column of a
mixed-integer program, a feature, a sum over trees, a unit of a network.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any, Generic, TypeVar

Number = Fraction | int
Source = TypeVar("Source", bound=Hashable)
ZERO, ONE = Fraction(0), Fraction(1)


def dot(pairs: Iterable[tuple[Number, Number]], constant: Number = ZERO) -> Fraction:
    """``constant + Σ x·y``, exactly; brought to lowest terms once, not for every sum."""
    return _summed([_ratio(ONE, constant), *(_ratio(x, y) for x, y in pairs)])


def power_near(value: Fraction) -> Fraction:
    """A power of 2 within a factor of 2 of value > 0."""
    return Fraction(2) ** (value.numerator.bit_length() - value.denominator.bit_length())


Parts = list[tuple[Fraction, Fraction | None]]
"""Factors, and an end of what each is multiplied by: ``None`` if there is none."""


def bounded(parts: Parts, constant: Fraction) -> Fraction | None:
    """``constant + Σ factor · end``, if every end is known."""
    known = [(factor, end) for factor, end in parts if end is not None]
    return dot(known, constant) if len(known) == len(parts) else None


def _ratio(x: Number, y: Number) -> tuple[int, int]:
    """A product as a fraction, not in lowest terms."""
    (a, b), (c, d) = x.as_integer_ratio(), y.as_integer_ratio()
    return a * c, b * d


def _summed(ratios: Sequence[tuple[int, int]]) -> Fraction:
    if len(ratios) == 1:
        return Fraction(*ratios[0])
    common = lcm(*(bottom for _, bottom in ratios))
    return Fraction(sum(top * (common // bottom) for top, bottom in ratios), common)


@dataclass(frozen=True)
class LinearForm(Generic[Source]):
    """``constant + Σ factor · source``; factors of 0 are left out.

    Forms add to forms and numbers, and are multiplied and divided by numbers.
    """

    terms: Mapping[Source, Fraction]
    constant: Fraction = ZERO

    @staticmethod
    def of(value: Number | float) -> LinearForm[Any]:
        """A number as a form."""
        return LinearForm({}, Fraction(value))

    @staticmethod
    def one(source: Source) -> LinearForm[Source]:
        """A source, once."""
        return LinearForm({source: ONE})

    @staticmethod
    def sum(
        parts: Iterable[tuple[Number, LinearForm[Source]]], constant: Number = ZERO
    ) -> LinearForm[Source]:
        """``constant + Σ factor · part``."""
        ratios: dict[Source, list[tuple[int, int]]] = {}
        shifts = [_ratio(ONE, constant)]
        for factor, part in parts:
            if factor:
                shifts.append(_ratio(factor, part.constant))
                for source, own in part.terms.items():
                    ratios.setdefault(source, []).append(_ratio(factor, own))
        terms = {source: _summed(each) for source, each in ratios.items()}
        return LinearForm({k: factor for k, factor in terms.items() if factor}, _summed(shifts))

    def __add__(self, other: LinearForm[Source] | Number) -> LinearForm[Source]:
        if not isinstance(other, LinearForm):
            return LinearForm(self.terms, self.constant + other)
        terms = dict(self.terms)
        for source, factor in other.terms.items():
            total = terms[source] + factor if source in terms else factor
            if total:
                terms[source] = total
            else:
                del terms[source]
        return LinearForm(terms, self.constant + other.constant)

    __radd__ = __add__

    def __neg__(self) -> LinearForm[Source]:
        return LinearForm({source: -f for source, f in self.terms.items()}, -self.constant)

    def __sub__(self, other: LinearForm[Source] | Number) -> LinearForm[Source]:
        return self + -other

    def __rsub__(self, other: Number) -> LinearForm[Source]:
        return -self + other

    def __mul__(self, factor: Number) -> LinearForm[Source]:
        if not factor:
            return LinearForm({})
        terms = {source: factor * own for source, own in self.terms.items()}
        return LinearForm(terms, factor * self.constant)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Number) -> LinearForm[Source]:
        return self * (ONE / divisor)

    @property
    def key(self) -> tuple[Any, ...]:
        """The same for equal forms; hashable."""
        return self.constant, frozenset(self.terms.items())

    def at(self, values: Mapping[Source, Fraction] | Sequence[Fraction]) -> Fraction:
        """The exact value at a point."""
        held: Any = values
        return dot(((f, held[source]) for source, f in self.terms.items()), self.constant)


@dataclass(frozen=True)
class Inequality:
    """``form >= 0``, or ``form > 0`` if ``strict``."""

    form: LinearForm[Any]
    strict: bool = False

    def holds(self, values: Mapping[Any, Fraction] | Sequence[Fraction]) -> bool:
        """Whether a point meets it."""
        value = self.form.at(values)
        return value > 0 if self.strict else value >= 0

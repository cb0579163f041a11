"""Comparisons, Boolean connectives, selection and argmax."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, ClassVar

import numpy as np

from ..interval import Bounds, Choice, Interval, truth
from ..op import (
    Op,
    Operand,
    Value,
    broadcast_shape,
    elementwise,
    join_kinds,
    register,
    require,
    require_numeric,
    require_vector,
)
from ..sorts import BOOL, INT, Label, Sort, label_key
from .structure import choice_of, interval_of


@dataclass(frozen=True)
class Comparison(Op):
    """A relation between two numbers, elementwise."""

    x: Operand
    y: Operand
    function: ClassVar[staticmethod[[Any, Any], Any]]

    def sort(self, *operands: Sort) -> Sort:
        require_numeric(*operands)
        return BOOL.with_shape(broadcast_shape(*operands))

    def evaluate(self, *values: Value) -> Value:
        return elementwise(lambda x, y: bool(type(self).function(x, y)), *values)

    def interval(self, *bounds: Bounds) -> Bounds:
        # an order holds surely if it does at both pairs of opposite ends, and maybe if at one
        x, y = map(interval_of, bounds)
        low, high = self.function(x.lower, y.upper), self.function(x.upper, y.lower)
        return truth(low & high, low | high)


@register("le")
class Le(Comparison):
    """``x <= y``."""

    function = staticmethod(operator.le)


@register("lt")
class Lt(Comparison):
    """``x < y``."""

    function = staticmethod(operator.lt)


@register("ge")
class Ge(Comparison):
    """``x >= y``."""

    function = staticmethod(operator.ge)


@register("gt")
class Gt(Comparison):
    """``x > y``."""

    function = staticmethod(operator.gt)


def _surely_equal(x: Interval, y: Interval) -> Any:
    return (x.lower == x.upper) & (y.lower == y.upper) & (x.lower == y.lower)


def _maybe_equal(x: Interval, y: Interval) -> Any:
    return (x.lower <= y.upper) & (y.lower <= x.upper)


@register("eq")
class Eq(Comparison):
    """``x == y`` of numbers."""

    function = staticmethod(operator.eq)

    def interval(self, *bounds: Bounds) -> Bounds:
        x, y = map(interval_of, bounds)
        return truth(_surely_equal(x, y), _maybe_equal(x, y))


@register("ne")
class Ne(Comparison):
    """``x != y`` of numbers."""

    function = staticmethod(operator.ne)

    def interval(self, *bounds: Bounds) -> Bounds:
        x, y = map(interval_of, bounds)
        return truth(~_maybe_equal(x, y), ~_surely_equal(x, y))


@register("is_label")
class IsLabel(Op):
    """Whether a category has the given label."""

    x: Operand
    label: Label

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IsLabel) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Operand, tuple[str, Label]]:
        return self.x, label_key(self.label)  # 1, 1.0 and True are three labels

    def sort(self, *operands: Sort) -> Sort:
        require(operands[0].kind == "category", f"is_label needs a category, not {operands[0]}")
        operands[0].index(self.label)
        return BOOL

    def evaluate(self, *values: Value) -> Value:
        return label_key(values[0]) == label_key(self.label)

    def interval(self, *bounds: Bounds) -> Bounds:
        choice = choice_of(bounds[0])
        possible = bool(choice.possible[choice.labels.position(self.label)])
        return truth(possible and choice.possible.sum() == 1, possible)


@dataclass(frozen=True)
class Connective(Op):
    """A Boolean function of any number of Booleans, elementwise."""

    parts: tuple[Operand, ...]
    function: ClassVar[staticmethod[[bool, bool], bool]]
    bounds_function: ClassVar[staticmethod[[Interval, Interval], Interval]]

    def sort(self, *operands: Sort) -> Sort:
        require(bool(operands), f"{self.name} needs at least one part")
        require(all(sort.kind == "bool" for sort in operands), f"{self.name} joins Booleans")
        return BOOL.with_shape(broadcast_shape(*operands))

    def evaluate(self, *values: Value) -> Value:
        return reduce(partial(elementwise, type(self).function), values)

    def interval(self, *bounds: Bounds) -> Bounds:
        return reduce(type(self).bounds_function, map(interval_of, bounds))


@register("and")
class And(Connective):
    """All of the parts."""

    function = staticmethod(operator.and_)
    bounds_function = staticmethod(Interval.minimum)


@register("or")
class Or(Connective):
    """At least one of the parts."""

    function = staticmethod(operator.or_)
    bounds_function = staticmethod(Interval.maximum)


@register("not")
class Not(Op):
    """Negation, elementwise."""

    x: Operand

    def sort(self, *operands: Sort) -> Sort:
        require(operands[0].kind == "bool", f"not needs a Boolean, not {operands[0]}")
        return operands[0]

    def evaluate(self, *values: Value) -> Value:
        return elementwise(operator.not_, values[0])

    def interval(self, *bounds: Bounds) -> Bounds:
        x = interval_of(bounds[0])
        return Interval(1.0 - x.upper, 1.0 - x.lower)


@register("select")
class Select(Op):
    """``x`` where ``condition`` holds, else ``y``; elementwise, or of two equal categories."""

    condition: Operand
    x: Operand
    y: Operand

    def sort(self, *operands: Sort) -> Sort:
        condition, x, y = operands
        require(condition.kind == "bool", f"select needs a Boolean condition, not {condition}")
        if x.is_numeric and y.is_numeric:
            return join_kinds(x, y).with_shape(broadcast_shape(*operands))
        require(x.kind == y.kind and x.labels == y.labels, f"select between {x} and {y}")
        require(not x.labels or condition.is_scalar, "a category is selected by one Boolean")
        return x.with_shape(broadcast_shape(*operands))

    def evaluate(self, *values: Value) -> Value:
        return elementwise(lambda c, x, y: x if c else y, *values)

    def interval(self, *bounds: Bounds) -> Bounds:
        condition, x, y = interval_of(bounds[0]), bounds[1], bounds[2]
        if isinstance(x, Choice):
            x_only, y_only = bool(condition.lower == 1), bool(condition.upper == 0)
            other = choice_of(y).possible
            mask = x.possible if x_only else other if y_only else x.possible | other
            return Choice(x.labels, mask)
        left, right = x, interval_of(y)
        both = left.hull(right)
        sure, never = condition.lower == 1, condition.upper == 0
        return Interval(
            np.where(sure, left.lower, np.where(never, right.lower, both.lower)),
            np.where(sure, left.upper, np.where(never, right.upper, both.upper)),
        )


@register("argmax")
class Argmax(Op):
    """Index (from 0) of the largest entry of a vector; ties go to the lowest index."""

    x: Operand

    def sort(self, *operands: Sort) -> Sort:
        require_vector(operands[0], self.name)
        return INT

    def evaluate(self, *values: Value) -> Value:
        entries = values[0].tolist()
        return entries.index(max(entries))

    def interval(self, *bounds: Bounds) -> Bounds:
        # entry i wins only if it exceeds all entries before it and reaches all others
        x = interval_of(bounds[0])
        before = np.maximum.accumulate(np.append(-np.inf, x.lower[:-1]))
        first = np.arange(x.lower.size) == 0
        wins = (first | (x.upper > before)) & (x.upper >= x.lower.max())
        possible = np.flatnonzero(wins)
        return Interval.of(possible[0], possible[-1])

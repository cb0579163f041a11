"""Targets that are conjunctions of sums over trees: ``constant + Σ factor · source >= 0``.

Averages, boosted sums, votes of single trees, differences of classes and ranges all end up here
once ``simplified``; engines that know trees alone need nothing else of a program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from ..errors import UnsupportedError
from ..ir import Let, Literal, Op, Operand, Program, ops

Source = Any  # hashable: of sums over trees, an ensemble's value and one of its columns


@dataclass(frozen=True)
class Additive:
    """``constant + Σ factor · source`` in exact rationals."""

    constant: Fraction
    terms: Mapping[Source, Fraction]

    def scaled(self, factor: Fraction) -> Additive:
        if not factor:
            return Additive(Fraction(0), {})
        return Additive(factor * self.constant, {s: factor * f for s, f in self.terms.items()})

    def plus(self, other: Additive) -> Additive:
        return mixed([(Fraction(1), self), (Fraction(1), other)])


def mixed(parts: Iterable[tuple[Fraction, Additive]], shift: Fraction = Fraction(0)) -> Additive:
    """``shift + Σ factor · part``."""
    terms: dict[Source, Fraction] = {}
    for factor, part in parts:
        if factor:
            shift += factor * part.constant
            for source, own in part.terms.items():
                terms[source] = terms.get(source, 0) + factor * own
    return Additive(shift, {source: factor for source, factor in terms.items() if factor})


@dataclass(frozen=True)
class Requirement:
    """``form >= 0``, or ``form > 0`` if ``strict``."""

    form: Additive
    strict: bool


Entries = list[Additive]
Rule = Callable[["Reader", str, Any], Entries]


def constant(value: Any) -> Additive:
    """A number as a form."""
    return Additive(Fraction(value), {})


class Reader:
    """Looks values up by name, each once.

    ``rules`` say which ops are read, and as what; ``given`` are inputs that are known.
    """

    rules: ClassVar[Mapping[type, Rule]]
    given: Mapping[str, Entries] = {}

    def __init__(self, program: Program) -> None:
        self.definitions: dict[str, Op] = {}
        self.program = program
        for statement in program.body:
            if not isinstance(statement, Let):
                raise UnsupportedError("the outcome branches outside of its trees")
            self.definitions[statement.name] = statement.op
        self.known: dict[str, Entries] = {}

    def conjunction(self, operand: Operand) -> list[Requirement]:
        """What a Boolean stands for, as comparisons that all must hold."""
        if isinstance(operand, Literal):
            return [Requirement(constant(0 if operand.value else -1), strict=False)]
        op = self.definitions.get(operand)
        if isinstance(op, ops.And):
            return [one for part in op.operands() for one in self.conjunction(part)]
        if isinstance(op, ops.Le | ops.Lt | ops.Ge | ops.Gt):
            (x,), (y,) = self.entries(op.x), self.entries(op.y)
            low, high = (x, y) if isinstance(op, ops.Le | ops.Lt) else (y, x)
            difference = high.plus(low.scaled(Fraction(-1)))
            return [Requirement(difference, isinstance(op, ops.Lt | ops.Gt))]
        raise UnsupportedError(f"'{_kind(op)}' decides, which is no comparison of sums over trees")

    def entries(self, operand: Operand) -> Entries:
        """A number or vector as one form per entry."""
        if isinstance(operand, Literal):
            return [constant(operand.value)]
        if operand in self.given:
            return self.given[operand]
        if operand not in self.known:
            op = self.definitions.get(operand)
            rule = self.rules.get(type(op)) if op is not None else None
            if rule is None:
                raise UnsupportedError(f"'{_kind(op)}' enters the outcome, which is no linear form")
            self.known[operand] = rule(self, operand, op)
        return self.known[operand]


def _kind(op: Op | None) -> str:
    return "a feature" if op is None else type(op).__name__.lower()


def _ensemble(reader: Reader, name: str, op: ops.TreeEnsemble) -> Entries:
    base = op.base.exact()
    return [Additive(Fraction(base[k]), {(name, k): Fraction(1)}) for k in range(op.base.shape[0])]


def _affine(reader: Reader, name: str, op: ops.Affine) -> Entries:
    x, weight, bias = reader.entries(op.x), op.weight.exact(), op.bias.exact()
    return [
        mixed(zip(map(Fraction, row), x, strict=True), Fraction(shift))
        for row, shift in zip(weight, bias, strict=True)
    ]


def _sum(sign: int) -> Rule:
    def rule(reader: Reader, name: str, op: Any) -> Entries:
        x, y = _spread(reader.entries(op.x), reader.entries(op.y))
        return [a.plus(b.scaled(Fraction(sign))) for a, b in zip(x, y, strict=True)]

    return rule


def _spread(x: Entries, y: Entries) -> tuple[Entries, Entries]:
    size = max(len(x), len(y))
    return (x * size if len(x) == 1 else x), (y * size if len(y) == 1 else y)


def _product(reader: Reader, name: str, op: ops.Mul | ops.Div) -> Entries:
    x, y = _spread(reader.entries(op.x), reader.entries(op.y))
    if isinstance(op, ops.Mul) and any(b.terms for b in y):
        x, y = y, x
    factors = [b.constant for b in y]
    if any(b.terms for b in y) or (isinstance(op, ops.Div) and not all(factors)):
        raise UnsupportedError("sums over trees are multiplied or divided by each other")
    if isinstance(op, ops.Div):
        factors = [1 / factor for factor in factors]
    return [a.scaled(factor) for a, factor in zip(x, factors, strict=True)]


def _total(reader: Reader, name: str, op: ops.ReduceSum) -> Entries:
    return [mixed((Fraction(1), entry) for entry in reader.entries(op.x))]


LINEAR: Mapping[type, Rule] = {
    ops.Affine: _affine,
    ops.Add: _sum(1),
    ops.Sub: _sum(-1),
    ops.Mul: _product,
    ops.Div: _product,
    ops.ReduceSum: _total,
    ops.Neg: lambda r, _, op: [entry.scaled(Fraction(-1)) for entry in r.entries(op.x)],
    ops.Identity: lambda r, _, op: r.entries(op.x),
    ops.Reshape: lambda r, _, op: r.entries(op.x),
    ops.Item: lambda r, _, op: [r.entries(op.x)[op.index]],
    ops.Take: lambda r, _, op: [r.entries(op.x)[i] for i in op.indices],
    ops.Concat: lambda r, _, op: [entry for part in op.operands() for entry in r.entries(part)],
    ops.Constant: lambda r, _, op: [
        constant(value) for value in np.ravel(op.value.exact()).tolist()
    ],
}
"""How ops are read that keep forms linear."""
Reader.rules = {**LINEAR, ops.TreeEnsemble: _ensemble}

__all__ = [
    "LINEAR",
    "Additive",
    "Entries",
    "Reader",
    "Requirement",
    "constant",
    "mixed",
]

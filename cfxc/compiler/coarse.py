"""Terms with short coefficients and a proved error: small numbers make arithmetic solvers fast.

Weights are doubles; composed with scalers their exact rationals have hundreds of bits.  This
algebra rounds the coefficients of every affine row to a binary grid and carries, with each scalar,
a bound on its distance from the exact value over the ranges of the variables:

    |c t - (c' t + (c - c') m)| <= |c - c'| r      for t in [m - r, m + r].

A comparison of inexact numbers is weakened by their errors, so every point of the exact formula
satisfies the coarse one, and refutations carry over.  Where a weakened truth value would be
negated or branched on, the algebra refuses (:class:`NotCoarse`) and the exact one is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..ir import Label, LabelTuple, Program, ops
from ..ir.linear import ZERO, Number
from .functional import Interpreter, TermAlgebra
from .scalarise import Algebra, vector
from .terms import Linear, Pool, Term


class NotCoarse(Exception):
    """The program uses an inexact value where weakening is not monotone."""


@dataclass(frozen=True, slots=True)
class Coarse:
    """A term (or guards of a category); a number is within ``error`` of the exact value.

    A Boolean with ``weak`` set is implied by the exact one, and may hold where that does not.
    """

    term: Any
    error: Fraction = ZERO
    weak: bool = False


class CoarseAlgebra(Algebra[Coarse]):
    """Scalars are :class:`Coarse`; coefficients keep about ``bits`` bits of the row's scale."""

    def __init__(self, pool: Pool, bits: int) -> None:
        self.inner, self.pool, self.bits = TermAlgebra(pool), pool, bits

    def constant(self, value: Number | bool) -> Coarse:
        return Coarse(self.inner.constant(value))

    def linear(
        self, coefficients: Sequence[Number], terms: Sequence[Coarse], constant: Number
    ) -> Coarse:
        pairs = zip(coefficients, terms, strict=True)
        error = sum((abs(Fraction(c)) * t.error for c, t in pairs), ZERO)
        total = self.inner.linear(coefficients, [t.term for t in terms], constant)
        return Coarse(total, Fraction(error))

    def product(self, x: Coarse, y: Coarse) -> Coarse:
        for a, b in ((x, y), (y, x)):
            if a.term.value is not None and not a.error:
                return Coarse(self.inner.product(a.term, b.term), abs(a.term.value) * b.error)
        return Coarse(self.inner.product(self._exact(x), self._exact(y)))

    def quotient(self, x: Coarse, y: Coarse) -> Coarse:
        divisor = self._exact(y)
        quotient = self.inner.quotient(x.term, divisor)
        return Coarse(quotient, x.error / abs(divisor.value or 1))

    def compare(self, relation: str, x: Coarse, y: Coarse) -> Coarse:
        slack = x.error + y.error
        if not slack:
            return Coarse(self.inner.compare(relation, x.term, y.term))
        if relation in ("ge", "gt"):
            relation, x, y = {"ge": "le", "gt": "lt"}[relation], y, x
        if relation not in ("le", "lt"):
            raise NotCoarse
        wider = self.inner.linear((1,), (y.term,), slack)
        return Coarse(self.inner.compare(relation, x.term, wider), weak=True)

    def conjunction(self, parts: Sequence[Coarse]) -> Coarse:
        joined = self.inner.conjunction([part.term for part in parts])
        return Coarse(joined, weak=any(part.weak for part in parts))

    def disjunction(self, parts: Sequence[Coarse]) -> Coarse:
        joined = self.inner.disjunction([part.term for part in parts])
        return Coarse(joined, weak=any(part.weak for part in parts))

    def negation(self, x: Coarse) -> Coarse:
        return Coarse(self.inner.negation(self._exact(x)))

    def choose(
        self,
        condition: Coarse,
        then: Callable[[], list[Coarse]],
        orelse: Callable[[], list[Coarse]],
        hint: str,
    ) -> list[Coarse]:
        self._exact(condition)
        return [self.merge(condition, x, y) for x, y in zip(then(), orelse(), strict=True)]

    def merge(self, condition: Coarse, x: Any, y: Any) -> Any:
        """``x`` if ``condition`` else ``y``, for scalars and arrays."""
        if isinstance(x, np.ndarray):
            pairs = zip(x.ravel(), y.ravel(), strict=True)
            merged = [self.merge(condition, p, q) for p, q in pairs]
            return vector(merged).reshape(x.shape)
        term = self.inner.merge(self._exact(condition), x.term, y.term)
        return Coarse(term, max(x.error, y.error), x.weak or y.weak)

    def maximum(self, terms: Sequence[Coarse], hint: str) -> Coarse:
        largest = self.inner.maximum([t.term for t in terms], hint)
        return Coarse(largest, max(t.error for t in terms))

    def function(self, name: str, x: Coarse) -> Coarse:
        return Coarse(self.inner.function(name, self._exact(x)))

    def to_real(self, x: Coarse, kind: str) -> Coarse:
        if x.weak:
            raise NotCoarse
        return Coarse(self.inner.to_real(x.term, kind), x.error)

    def is_label(self, x: Coarse, label: Label) -> Coarse:
        return Coarse(self.inner.is_label(self._exact(x), label))

    def lookup(self, x: Coarse, labels: LabelTuple, values: Sequence[Number | bool]) -> Coarse:
        return Coarse(self.inner.lookup(self._exact(x), labels, values))

    def category(self, index: Coarse, labels: LabelTuple) -> Coarse:
        return Coarse(self.inner.category(self._exact(index), labels))

    def name(self, x: Coarse, hint: str) -> Coarse:
        """Round the coefficients of an affine row; the midpoint terms go into the constant."""
        term: Term = x.term
        if term.kind != "linear":
            return x
        data: Linear = term.data
        error, constant = x.error, data.constant
        coefficients: list[Fraction] = []
        for factor, arg in zip(data.coefficients, term.args, strict=True):
            if arg.lower is None or arg.upper is None:
                raise NotCoarse
            middle, reach = (arg.lower + arg.upper) / 2, (arg.upper - arg.lower) / 2
            rounded = _rounded(factor, self._grid(reach))
            coefficients.append(rounded)
            constant += (factor - rounded) * middle
            error += abs(factor - rounded) * reach
        short = _rounded(constant, self._grid(Fraction(1)))
        error += abs(constant - short)
        return Coarse(self.pool.linear(zip(coefficients, term.args, strict=True), short), error)

    def _grid(self, reach: Fraction) -> Fraction:
        """A power of two g with ``g * reach`` about ``2**-bits``."""
        size = max(reach, Fraction(1, 2**64))
        exponent = size.numerator.bit_length() - size.denominator.bit_length()
        return Fraction(1, 2**self.bits) / Fraction(2) ** exponent

    def tree(self, op: ops.TreeEnsemble, root: int, x: Sequence[Coarse]) -> list[Coarse]:
        return [Coarse(t) for t in self.inner.tree(op, root, [self._exact(t) for t in x])]

    def _exact(self, x: Coarse) -> Any:
        if x.error or x.weak:
            raise NotCoarse
        return x.term


def _rounded(value: Fraction, grid: Fraction) -> Fraction:
    return round(value / grid) * grid


def coarse_truth(
    program: Program, output: str, inputs: Mapping[str, Any], pool: Pool, bits: int
) -> Term:
    """A Boolean output, weakened to short coefficients; ``NotCoarse`` where that is unsound."""
    wrapped = {name: Coarse(value) for name, value in inputs.items()}
    result: Coarse = Interpreter(program, CoarseAlgebra(pool, bits)).run(wrapped)[output]
    truth: Term = result.term
    return truth

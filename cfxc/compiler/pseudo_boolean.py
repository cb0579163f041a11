"""Linear atoms over finite choices as pseudo-Boolean constraints.

A tree is a nest of ``ite`` with constant leaves.  With its distinct values v_0 < … < v_m it equals
``v_0 + sum_i (v_i - v_{i-1}) [tree >= v_i]``, each bracket a Boolean nest; with many values the
leaves themselves are counted instead.  A sum of such terms compared with a constant becomes
``sum w_i b_i <= c`` with w_i > 0.

Weights are scaled to integers exactly, however large; nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import floor, lcm

from .terms import Pool, Term, postorder

MAX_LEVELS = 8
LIMIT = 2**30
BIG = 2**33  # z3 misreads coefficients in [2**31, 2**32); beyond, they are exact again


@dataclass(frozen=True, slots=True)
class AtMost:
    """``sum weight * [literal] <= bound`` with positive integer weights."""

    weights: tuple[int, ...]
    literals: tuple[Term, ...]
    bound: int


def is_pseudo_boolean(atom: Term) -> bool:
    """Whether an atom compares a sum of finite choices (two or more) with a constant."""
    body = atom.args[0]
    return body.kind == "linear" and all(arg.finite and arg.kind == "ite" for arg in body.args)


class Counter:
    """Rewrites finite terms to weighted Booleans, remembering each."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self._parts: dict[Term, tuple[Fraction, list[tuple[Fraction, Term]]]] = {}

    def at_most(self, atom: Term) -> AtMost | bool:
        """The atom as a weighted sum bounded from above, or its truth value if that is fixed."""
        weights, constant = self._sum(atom.args[0])
        return _scaled(self.pool, weights, atom.data - constant, atom.kind == "lt")

    def _sum(self, body: Term) -> tuple[dict[Term, Fraction], Fraction]:
        total: dict[Term, Fraction] = {}
        constant = body.data.constant
        for factor, arg in zip(body.data.coefficients, body.args, strict=True):
            base, parts = self.parts(arg)
            constant += factor * base
            for weight, literal in parts:
                total[literal] = total.get(literal, Fraction(0)) + factor * weight
        return total, constant

    def parts(self, term: Term) -> tuple[Fraction, list[tuple[Fraction, Term]]]:
        """``(base, [(weight, Boolean)])`` with ``term = base + sum weight * [Boolean]``."""
        found = self._parts.get(term)
        if found is None:
            values = sorted({leaf.data for leaf in _leaves(term)})
            by_level = len(values) <= MAX_LEVELS
            found = self._levels(term, values) if by_level else self._reached(term, values[0])
            self._parts[term] = found
        return found

    def _levels(
        self, term: Term, values: Sequence[Fraction]
    ) -> tuple[Fraction, list[tuple[Fraction, Term]]]:
        pool, parts = self.pool, []
        for below, value in pairwise(values):
            reached = pool.not_(pool.at_most(term, value, strict=True))
            parts.append((value - below, reached))
        return values[0], parts

    def _reached(self, term: Term, base: Fraction) -> tuple[Fraction, list[tuple[Fraction, Term]]]:
        pool = self.pool
        guards: dict[Term, list[Term]] = {term: [pool.true]}
        leaves: dict[Fraction, list[Term]] = {}
        for node in reversed(list(postorder([term]))):
            if node not in guards:
                continue
            reached = pool.or_(*guards[node])
            if node.kind != "ite":
                leaves.setdefault(node.data, []).append(reached)
                continue
            condition, *branches = node.args
            for branch, test in zip(branches, (condition, pool.not_(condition)), strict=True):
                guards.setdefault(branch, []).append(pool.and_(reached, test))
        parts = [
            (value - base, pool.or_(*reached)) for value, reached in leaves.items() if value != base
        ]
        return base, parts


def _leaves(term: Term) -> list[Term]:
    seen: set[Term] = set()
    stack, found = [term], []
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.kind == "ite":
            stack.extend(node.args[1:])
        else:
            found.append(node)
    return found


def _scaled(
    pool: Pool, weights: dict[Term, Fraction], bound: Fraction, strict: bool
) -> AtMost | bool:
    """Positive integer weights; literals with negative weight are replaced by their negation."""
    literals: list[Term] = []
    positive: list[Fraction] = []
    for literal, weight in weights.items():
        if weight:
            bound -= min(weight, Fraction(0))
            literals.append(literal if weight > 0 else pool.not_(literal))
            positive.append(abs(weight))
    total = sum(positive, Fraction(0))
    if total < bound or (total == bound and not strict):
        return True
    if bound < 0 or (bound == 0 and strict):
        return False
    scale = Fraction(lcm(*(w.denominator for w in positive), bound.denominator))
    scaled_bound = scale * bound
    limit = floor(scaled_bound)
    if strict and limit == scaled_bound:
        limit -= 1
    integers = [int(scale * weight) for weight in positive]
    factor = 1 if max(*integers, limit, sum(integers)) < LIMIT else BIG
    return AtMost(tuple(factor * w for w in integers), tuple(literals), factor * limit)

"""Exact multipliers from the basis that a linear program ended with.

Rounded multipliers miss a bound by a little; where that matters (two values that tie, or differ by
less than doubles tell), the linear equations of the basis are solved in rational numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction as Q

from .problem import ZERO, Problem

LARGEST = 300  # equations; more are left to doubles
Equation = dict[int, Q]  # factors by unknown, and the right side under -1
SIDE = -1


def duals(
    problem: Problem, basics: tuple[list[int], list[int]], cost: dict[int, Q], given: dict[int, Q]
) -> dict[int, Q] | None:
    """Multipliers y of rows with ``Σ y_i a_ij = cost_j`` for all basic columns j.

    ``basics`` are basic columns and the rows that are not basic; ``given`` are known multipliers.
    None if the equations are too many, or have no single solution; refuses at the deadline.
    """
    columns, rows = basics
    if len(columns) > LARGEST:
        return None
    equations: dict[int, Equation] = {j: {SIDE: cost.get(j, ZERO)} for j in columns}
    for i in rows:
        for j, f in problem.rows[i].terms.items():
            if j in equations:
                equations[j][i] = f
    for i, y in given.items():
        for j, f in problem.rows[i].terms.items():
            if j in equations:
                equations[j][SIDE] -= y * f
    found = _solved(problem, list(equations.values()))
    return None if found is None else {**found, **given}


def _solved(problem: Problem, equations: list[Equation]) -> dict[int, Q] | None:
    """Eliminate the unknowns, the shortest equation first, and put in what they are."""
    order: list[tuple[int, Equation]] = []
    while equations:
        equations.sort(key=len, reverse=True)
        one = equations.pop()
        uses = [i for i in one if i != SIDE]
        if not uses:
            if one.get(SIDE, ZERO):
                return None
            continue
        counts = {i: sum(i in other for other in equations) for i in uses}
        pivot = min(uses, key=lambda i: counts[i])
        for other in equations:
            if pivot in other:
                problem.left()
                _reduce(other, one, pivot)
        order.append((pivot, one))
    values: dict[int, Q] = {}
    for pivot, one in reversed(order):
        rest = sum(
            (f * values.get(i, ZERO) for i, f in one.items() if i not in (pivot, SIDE)), ZERO
        )
        values[pivot] = (one.get(SIDE, ZERO) - rest) / one[pivot]
    return {i: y for i, y in values.items() if y}


def _reduce(other: Equation, one: Equation, pivot: int) -> None:
    """Take the pivot out of an equation."""
    factor = other[pivot] / one[pivot]
    for i, f in one.items():
        value = other.get(i, ZERO) - factor * f
        if value:
            other[i] = value
        else:
            other.pop(i, None)


def leaving(problem: Problem, basics: tuple[list[int], list[int]], ray: Sequence[Q]) -> tuple[
    dict[int, Q], dict[int, Q]
]:  # fmt: skip
    """What sets a ray of a basis apart: the product with one basic column, or a basic row."""
    columns, rows = basics
    apart = set(range(len(problem.rows))) - set(rows)
    largest = max(apart, key=lambda i: abs(ray[i]), default=-1)
    if largest >= 0 and abs(ray[largest]) > Q(1, 10**9):
        return {}, {largest: Q(1 if ray[largest] > 0 else -1)}
    products = dict.fromkeys(columns, ZERO)
    for i, row in enumerate(problem.rows):
        for j, f in row.terms.items():
            if ray[i] and j in products:
                products[j] += ray[i] * f
    best = max(products, key=lambda j: abs(products[j]), default=-1)
    return ({best: Q(1 if products[best] > 0 else -1)} if best >= 0 else {}), {}


__all__ = ["duals", "leaving"]

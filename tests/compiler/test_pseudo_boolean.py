"""Weighted Booleans say exactly what the sum of finite choices says, however long the weights."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfxc.compiler.pseudo_boolean import (
    BIG,
    LIMIT,
    MAX_LEVELS,
    AtMost,
    Counter,
    is_pseudo_boolean,
)
from cfxc.compiler.terms import Pool, Term, evaluate_term

F = Fraction
BITS = [f"b{i}" for i in range(5)]
weights = st.one_of(
    st.sampled_from([F(0), F(1), F(-1), F(1, 2), F(1, 3), F(-3, 4)]),
    st.floats(-1, 1).map(F),  # 53 bits, that do not scale to machine integers
    st.floats(-1e9, 1e9).map(F),
)


def tree(draw: st.DrawFn, pool: Pool, depth: int) -> Term:
    """A nest of choices with constant leaves."""
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        return pool.const(draw(weights))
    guard = pool.var(draw(st.sampled_from(BITS)), "bool")
    return pool.ite(guard, tree(draw, pool, depth - 1), tree(draw, pool, depth - 1))


def holds(constraint: AtMost | bool, values: dict[str, bool]) -> bool:
    if isinstance(constraint, bool):
        return constraint
    pairs = zip(constraint.weights, constraint.literals, strict=True)
    return sum(w for w, literal in pairs if evaluate_term(literal, values)) <= constraint.bound


def assignments() -> list[dict[str, bool]]:
    return [dict(zip(BITS, bits, strict=True)) for bits in product([False, True], repeat=5)]


@settings(derandomize=True, max_examples=120)
@given(st.data())
def test_a_comparison_of_sums_is_counted_exactly(data: st.DataObject) -> None:
    """At every assignment; bounds are drawn among the sums, so that they are hit exactly."""
    pool = Pool()
    trees = [tree(data.draw, pool, data.draw(st.integers(1, 4))) for _ in range(3)]
    total = pool.linear([(data.draw(weights), term) for term in trees])
    sums = sorted({evaluate_term(total, values) for values in assignments()})
    strict = data.draw(st.booleans())
    shift = data.draw(st.sampled_from([F(0), F(0), F(1, 2**70), F(-1, 2**70)]))
    atom = pool.at_most(total, data.draw(st.sampled_from(sums)) + shift, strict)
    negated = atom.kind == "not"
    atom = atom.args[0] if negated else atom
    if atom.kind not in ("le", "lt") or not is_pseudo_boolean(atom):
        return  # decided, or a single choice, whose leaves were compared
    constraint = Counter(pool).at_most(atom)
    for values in assignments():
        assert holds(constraint, values) == evaluate_term(atom, values)
    if isinstance(constraint, AtMost):
        numbers = [*constraint.weights, constraint.bound, sum(constraint.weights)]
        assert all(weight > 0 for weight in constraint.weights)
        assert max(numbers) < LIMIT or all(number % BIG == 0 for number in numbers)


@pytest.mark.parametrize("leaves", [2, MAX_LEVELS, MAX_LEVELS + 1, 2**4, 2**5])
def test_parts_add_up_to_the_tree(leaves: int) -> None:
    """By levels while there are few values, by leaves beyond; leaves may be shared."""
    pool, rng = Pool(), random.Random(leaves)
    values = [F(rng.uniform(-1, 1)) for _ in range(leaves)]

    def grow(own: list[Fraction], depth: int) -> Term:
        if len(own) == 1:
            return pool.const(own[0])
        middle = len(own) // 2
        guard = pool.var(BITS[depth], "bool")
        return pool.ite(guard, grow(own[:middle], depth + 1), grow(own[middle:], depth + 1))

    term = grow(values, 0)
    base, parts = Counter(pool).parts(term)
    assert len(parts) == leaves - 1
    for chosen in assignments():
        counted = sum((w for w, literal in parts if evaluate_term(literal, chosen)), base)
        assert counted == evaluate_term(term, chosen)


@pytest.mark.parametrize(("strict", "reached"), [(False, True), (True, False)])
def test_ties(strict: bool, reached: bool) -> None:
    """0.1 + 0.2 against the exact sum of the two doubles: only ``<=`` holds."""
    pool = Pool()
    bits = [pool.var(name, "bool") for name in BITS[:2]]
    terms = [
        pool.ite(bit, pool.const(F(w)), pool.const(0))
        for bit, w in zip(bits, (0.1, 0.2), strict=True)
    ]
    total = pool.add(*terms, pool.scale(F(0.3), pool.indicator(pool.var("b2", "bool"))))
    atom = pool.at_most(total, F(0.1) + F(0.2), strict)
    values = {"b0": True, "b1": True, "b2": False}
    assert evaluate_term(atom, values) is reached
    assert holds(Counter(pool).at_most(atom), values) is reached

"""Every constructor of the pool simplifies to an equivalent term, with sound bounds."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfxc.compiler.terms import Pool, Term, evaluate_term, free_variables, postorder
from tests.compiler.formulas import (
    GROUP,
    Tree,
    assignments,
    build,
    choices_of_constants,
    constants,
    declare,
    direct,
    numbers,
    truths,
)

F = Fraction
QUICK = settings(derandomize=True, max_examples=150)


def check_bounds(root: Term, values: dict[str, Any]) -> None:
    """Every numeric term below lies in its bounds; Int terms are whole."""
    for term in postorder([root]):
        if term.sort == "bool":
            continue
        value = evaluate_term(term, values)
        assert term.lower is None or term.lower <= value, term
        assert term.upper is None or value <= term.upper, term
        assert term.sort != "int" or value.denominator == 1, term


@QUICK
@given(st.one_of(numbers(2), truths(2)), st.lists(assignments(), min_size=3, max_size=6))
def test_a_built_term_means_what_it_was_built_from(tree: Tree, rows: list[dict[str, Any]]) -> None:
    pool = Pool()
    term = build(pool, declare(pool), tree)
    for values in rows:
        assert evaluate_term(term, values) == direct(tree, values)
        check_bounds(term, values)


@QUICK
@given(choices_of_constants(3), constants, st.sampled_from(["le", "lt", "ge", "gt", "eq"]),
       st.lists(assignments(), min_size=3, max_size=6))  # fmt: skip
def test_comparisons_of_finite_choices_go_into_the_leaves(
    tree: Tree, bound: Fraction, relation: str, rows: list[dict[str, Any]]
) -> None:
    pool = Pool()
    atom = build(pool, declare(pool), (relation, tree, ("const", bound)))
    assert not any(term.kind == "ite" and term.sort != "bool" for term in postorder([atom]))
    for values in rows:
        assert evaluate_term(atom, values) == direct((relation, tree, ("const", bound)), values)


@QUICK
@given(st.lists(st.tuples(constants, st.sampled_from(GROUP), constants, constants), max_size=4),
       constants, assignments())  # fmt: skip
def test_sums_over_an_exclusive_group_have_tight_and_sound_bounds(
    parts: list[tuple[Fraction, str, Fraction, Fraction]], shift: Fraction, values: dict[str, Any]
) -> None:
    pool = Pool()
    guards = declare(pool)
    total = pool.linear(
        [(c, pool.ite(guards[g], pool.const(a), pool.const(b))) for c, g, a, b in parts], shift
    )
    outcomes = [
        sum((c * (a if g == chosen else b) for c, g, a, b in parts), shift) for chosen in GROUP
    ]
    assert total.lower == min(outcomes)
    assert total.upper == max(outcomes)
    assert evaluate_term(total, values) in outcomes


def test_a_group_that_does_not_cover_the_sum_may_contribute_nothing() -> None:
    pool = Pool()
    guards = declare(pool)
    total = pool.add(pool.indicator(guards["g0"]), pool.indicator(guards["g1"]))
    assert (total.lower, total.upper) == (0, 1)
    everything = pool.add(*(pool.indicator(guards[name]) for name in GROUP))
    assert (everything.lower, everything.upper) == (1, 1)


@pytest.mark.parametrize(
    ("relation", "bound", "decided"),
    [
        ("le", F(2), True), ("lt", F(2), None), ("le", F(-2), None), ("lt", F(-2), False),
        ("ge", F(-2), True), ("gt", F(-2), None), ("gt", F(2), False), ("ge", F(2), None),
        ("lt", F(5, 2), True), ("le", F(-5, 2), False), ("eq", F(3), False),
        ("eq", F(1, 2), False),  # no whole number
    ],
)  # fmt: skip
def test_atoms_at_the_ends_of_a_range(relation: str, bound: Fraction, decided: bool | None) -> None:
    pool = Pool()
    n = pool.var("n", "int", -2, 2)
    atom = getattr(pool, relation)(n, pool.const(bound))
    assert (True if atom.is_true else False if atom.is_false else None) is decided


def test_one_comparison_is_one_term() -> None:
    pool = Pool()
    x, y = pool.var("x", "real", -9, 9), pool.var("y", "real", -9, 9)
    atom = pool.le(pool.linear([(2, x), (-4, y)], 3), pool.const(1))
    assert pool.ge(pool.linear([(-1, x), (2, y)]), pool.const(1)) is atom
    assert pool.gt(x, pool.scale(2, y)) is not pool.lt(x, pool.scale(2, y))
    assert pool.not_(pool.gt(x, pool.linear([(2, y)], -1))) is atom
    n = pool.var("n", "int", -9, 9)
    assert pool.lt(n, pool.const(3)) is pool.le(n, pool.const(2))
    assert pool.gt(n, pool.const(F(5, 2))) is pool.not_(pool.le(n, pool.const(2)))


def test_a_variable_is_declared_once() -> None:
    pool = Pool()
    x = pool.var("x", "real", 0, 1)
    assert pool.var("x", "real", 0, 1) is x
    with pytest.raises(ValueError, match="declared twice"):
        pool.var("x", "real", 0, 2)
    with pytest.raises(ValueError, match="declared twice"):
        pool.var("x", "int", 0, 1)


def test_variables_of_one_name_and_two_keys_differ() -> None:
    pool = Pool()
    first, second = pool.var("a=0", "bool"), pool.var("a=0", "bool", key=("a", 0))
    third, fourth = pool.unique("a=0", "bool"), pool.fresh("a", "bool")
    found = [first, second, third, fourth]
    assert len(set(found)) == len({term.data for term in found}) == 4
    assert pool.var("a=0", "bool", key=("a", 0)) is second
    assert {name: term.data for name, term in pool.variables.items()} == {
        term.data: term.data for term in found
    }


def test_deep_terms_do_not_recurse() -> None:
    pool = Pool()
    x, term = pool.var("x", "int", 0, 10**6), pool.const(0)
    for i in range(3_000):
        term = pool.ite(pool.at_most(x, i), pool.const(i), term)
    atom = pool.at_most(term, 7)
    assert evaluate_term(term, {"x": 5}) == 2_999
    assert evaluate_term(atom, {"x": 5}) is False
    assert free_variables([atom]) == [x]

"""Substitution rebuilds a formula with the same meaning."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from cfxc.compiler.rewriting import rebuild, substitute
from cfxc.compiler.terms import Pool, evaluate_term, free_variables, postorder
from tests.compiler.formulas import (
    NUMBERS,
    Tree,
    assignments,
    build,
    declare,
    direct,
    numbers,
    truths,
)

QUICK = settings(derandomize=True, max_examples=100)


@QUICK
@given(st.one_of(numbers(2), truths(2)), numbers(1), truths(1), assignments())
def test_variables_are_replaced_everywhere(
    tree: Tree, number: Tree, truth: Tree, values: dict[str, Any]
) -> None:
    pool = Pool()
    names = declare(pool)
    root = build(pool, names, tree)
    images = {names["free"]: build(pool, names, number), names["p"]: build(pool, names, truth)}
    (found,) = substitute(pool, [root], images)
    # "free" is an Int without a range: whatever takes its place, the rules still hold
    replaced = values | {"free": direct(number, values), "p": direct(truth, values)}
    if replaced["free"].denominator == 1:
        assert evaluate_term(found, values) == direct(tree, replaced)


@QUICK
@given(st.one_of(numbers(2), truths(2)))
def test_nothing_to_replace_keeps_the_term(tree: Tree) -> None:
    pool = Pool()
    root = build(pool, declare(pool), tree)
    assert substitute(pool, [root], {}) == [root]


@QUICK
@given(st.one_of(numbers(2), truths(2)), assignments())
def test_rebuilding_in_another_pool_keeps_the_meaning(tree: Tree, values: dict[str, Any]) -> None:
    """Every kind of node is rebuilt by its own constructor."""
    pool, other = Pool(), Pool()
    root = build(pool, declare(pool), tree)
    copies = declare(other)
    images = {variable: copies[variable.data] for variable in free_variables([root])}
    for term in postorder([root]):
        if term.kind == "const":
            images[term] = other.truth(term.data) if term.sort == "bool" else other.const(term.data)
        elif term.kind != "var":
            images[term] = rebuild(other, term, [images[arg] for arg in term.args])
    assert evaluate_term(images[root], values) == direct(tree, values)
    assert set(NUMBERS) <= set(copies)


def test_atoms_and_functions_can_be_replaced() -> None:
    pool = Pool()
    x, flag = pool.var("x", "real", 0, 1), pool.var("flag", "bool")
    atom = pool.at_most(x, 0)
    smooth = pool.apply("exp", x, 1, 3)
    formula = pool.or_(atom, pool.at_most(smooth, 2))
    (found,) = substitute(pool, [formula], {atom: flag})
    assert evaluate_term(substitute(pool, [found], {smooth: x})[0], {"flag": False, "x": 1}) is True
    (constant,) = substitute(pool, [smooth], {x: pool.const(0)})
    assert (constant.kind, constant.args[0].value) == ("apply", 0)

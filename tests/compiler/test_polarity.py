"""A number that the polarity calls one-sided may be replaced by anything larger."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from cfxc.compiler.rewriting import substitute, two_sided
from cfxc.compiler.terms import Pool, evaluate_term, postorder
from tests.compiler.formulas import Tree, assignments, build, declare, truths

F = Fraction


@settings(derandomize=True, max_examples=300)
@given(truths(3, linear=True), st.lists(assignments(), min_size=1, max_size=4),
       st.sampled_from([F(0), F(1, 7), F(5)]))  # fmt: skip
def test_one_sided_terms_may_grow(tree: Tree, rows: list[dict[str, Any]], extra: Fraction) -> None:
    """If the formula holds with m in place of max(…), m being larger, it holds."""
    pool = Pool()
    root = build(pool, declare(pool), tree)
    both = two_sided(root)
    tops = [term for term in postorder([root]) if term.kind == "max" and term not in both]
    for values in rows:
        scope, mapping = dict(values), {}
        for i, term in enumerate(tops):  # inner maxima first, as they are replaced
            variable = pool.var(f"m{i}", "real")
            arguments = substitute(pool, term.args, mapping)
            scope[f"m{i}"] = max(evaluate_term(a, scope) for a in arguments) + extra
            mapping[term] = variable
        (relaxed,) = substitute(pool, [root], mapping)
        if evaluate_term(relaxed, scope):
            assert evaluate_term(root, values)


def test_which_maxima_are_two_sided() -> None:
    pool = Pool()
    x, y = pool.var("x", "real"), pool.var("y", "real")
    top = pool.max(x, y)
    total = pool.add(top, x)
    assert top not in two_sided(pool.at_most(total, 1))
    assert top in two_sided(pool.not_(pool.at_most(total, 1)))
    assert top in two_sided(pool.at_most(pool.sub(x, top), 1))
    assert top not in two_sided(pool.not_(pool.at_most(pool.sub(x, top), 1)))
    assert top in two_sided(pool.at_most(pool.mul(pool.add(top, x), y), 1))
    choice = pool.ite(pool.at_most(total, 1), x, y)
    assert top in two_sided(pool.at_most(pool.add(choice, x), 1))
    assert top not in two_sided(
        pool.at_most(pool.add(pool.ite(pool.var("p", "bool"), top, y), x), 1)
    )
    iff = pool.eq(pool.at_most(total, 1), pool.var("p", "bool"))
    assert top in two_sided(iff)

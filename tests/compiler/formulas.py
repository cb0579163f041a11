"""Random formulae as plain syntax trees: built into a pool, or evaluated directly.

A tree is a tuple ``(operator, *parts)``.  ``build`` goes through the pool's constructors, which
simplify; ``direct`` says what the tree means.  Constants are few, so that ties are common.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from cfxc.compiler.terms import Pool, Term, _evaluate, postorder
from cfxc.ir.float32 import round_to_float32
from cfxc.ir.ops.smooth import smooth_kinds

Tree = tuple[Any, ...]
F = Fraction

#: Numeric variables: sort and range.  The last ones are unbounded on one side or both.
NUMBERS: Mapping[str, tuple[str, Fraction | None, Fraction | None]] = {
    "n": ("int", F(-2), F(2)),
    "m": ("int", F(0), F(3)),
    "x": ("real", F(-1), F(3, 2)),
    "y": ("real", F(0), F(1, 3)),
    "up": ("real", F(1, 2), None),
    "free": ("int", None, None),
}
BOOLS = ("p", "q")
GROUP = ("g0", "g1", "g2")  # exactly one of them holds

constants = st.sampled_from([F(-2), F(-1), F(-1, 2), F(0), F(1, 3), F(1, 2), F(1), F(3, 2), F(2)])


def assignments() -> st.SearchStrategy[dict[str, Any]]:
    """Values of all variables within their ranges, ends included."""
    values: dict[str, st.SearchStrategy[Any]] = {}
    for name, (sort, lower, upper) in NUMBERS.items():
        low, high = lower if lower is not None else F(-3), upper if upper is not None else F(3)
        if sort == "int":
            values[name] = st.integers(int(low), int(high)).map(F)
        else:
            steps = st.sampled_from([F(0), F(1, 4), F(1, 3), F(1, 2), F(1)])
            values[name] = steps.map(lambda t, low=low, high=high: low + t * (high - low))
    values |= {name: st.booleans() for name in BOOLS}
    chosen = st.sampled_from(GROUP).map(lambda name: {each: each == name for each in GROUP})
    return st.tuples(st.fixed_dictionaries(values), chosen).map(lambda two: two[0] | two[1])


def declare(pool: Pool) -> dict[str, Term]:
    """All variables in a pool."""
    found = {
        name: pool.var(name, sort, lower, upper)  # type: ignore[arg-type]  # texts of a table
        for name, (sort, lower, upper) in NUMBERS.items()
    }
    found |= {name: pool.var(name, "bool") for name in (*BOOLS, *GROUP)}
    pool.group([found[name] for name in GROUP])
    return found


def numbers(depth: int, *, linear: bool = False) -> st.SearchStrategy[Tree]:
    """Numeric trees; ``linear`` leaves out products of terms."""
    leaf = st.one_of(
        st.tuples(st.just("const"), constants),
        st.tuples(st.just("var"), st.sampled_from(list(NUMBERS))),
        st.tuples(st.just("indicator"), st.tuples(st.just("var"), st.sampled_from(GROUP))),
    )
    if depth == 0:
        return leaf
    inner, truth = numbers(depth - 1, linear=linear), truths(depth - 1, linear=linear)
    parts = st.lists(st.tuples(constants, inner), min_size=1, max_size=3).map(tuple)
    choices = [
        leaf,
        st.tuples(st.just("linear"), parts, constants),
        st.tuples(st.sampled_from(["max", "min"]), inner, inner),
        st.tuples(st.sampled_from(["abs", "neg"]), inner),
        st.tuples(st.just("ite"), truth, inner, inner),
        st.tuples(st.just("indicator"), truth),
        choices_of_constants(depth),
    ]
    if not linear:
        choices.append(st.tuples(st.just("mul"), inner, inner))
    return st.one_of(choices)


def choices_of_constants(depth: int) -> st.SearchStrategy[Tree]:
    """Nested ``ite`` with constant leaves: what a decision tree is."""
    leaf = st.tuples(st.just("const"), constants)
    if depth == 0:
        return leaf
    inner = choices_of_constants(depth - 1)
    return st.one_of(
        leaf, st.tuples(st.just("ite"), truths(0), inner, inner),
    )  # fmt: skip


def truths(depth: int, *, linear: bool = False) -> st.SearchStrategy[Tree]:
    """Boolean trees."""
    leaf = st.one_of(
        st.tuples(st.just("var"), st.sampled_from([*BOOLS, *GROUP])),
        st.tuples(
            st.sampled_from(["le", "lt", "ge", "gt", "eq"]),
            st.tuples(st.just("var"), st.sampled_from(list(NUMBERS))),
            st.tuples(st.just("const"), constants),
        ),
    )
    if depth == 0:
        return leaf
    inner, number = truths(depth - 1, linear=linear), numbers(depth - 1, linear=linear)
    return st.one_of(
        leaf,
        st.tuples(st.sampled_from(["le", "lt", "ge", "gt", "eq"]), number, number),
        st.tuples(st.sampled_from(["and", "or"]), inner, inner, inner),
        st.tuples(st.just("not"), inner),
        st.tuples(st.sampled_from(["implies", "iff"]), inner, inner),
        st.tuples(st.just("choose"), inner, inner, inner),
    )


def build(pool: Pool, variables: Mapping[str, Term], tree: Tree) -> Term:
    """The tree as a term of the pool."""
    kind, *parts = tree
    if kind == "const":
        return pool.const(parts[0])
    if kind == "var":
        return variables[parts[0]]
    if kind == "linear":
        pairs = [(factor, build(pool, variables, part)) for factor, part in parts[0]]
        return pool.linear(pairs, parts[1])
    terms = [build(pool, variables, part) for part in parts]
    makers: dict[str, Callable[..., Term]] = {
        "max": pool.max, "min": pool.min, "abs": pool.abs, "neg": pool.neg, "mul": pool.mul,
        "ite": pool.ite, "choose": pool.ite, "indicator": pool.indicator, "le": pool.le,
        "lt": pool.lt, "ge": pool.ge, "gt": pool.gt, "eq": pool.eq, "iff": pool.eq,
        "and": pool.and_, "or": pool.or_, "not": pool.not_, "implies": pool.implies,
    }  # fmt: skip
    return makers[kind](*terms)


def direct(tree: Tree, values: Mapping[str, Any]) -> Any:
    """What the tree means."""
    kind, *parts = tree
    if kind == "const":
        return parts[0]
    if kind == "var":
        return values[parts[0]]
    if kind == "linear":
        return sum((factor * direct(part, values) for factor, part in parts[0]), parts[1])
    found = [direct(part, values) for part in parts]
    meanings: dict[str, Callable[..., Any]] = {
        "max": max, "min": min, "abs": abs, "neg": operator.neg, "mul": operator.mul,
        "ite": lambda c, a, b: a if c else b, "choose": lambda c, a, b: a if c else b,
        "indicator": lambda c: F(int(c)), "le": operator.le, "lt": operator.lt,
        "ge": operator.ge, "gt": operator.gt, "eq": operator.eq, "iff": operator.eq,
        "and": lambda *all_: all(all_), "or": lambda *any_: any(any_), "not": operator.not_,
        "implies": lambda a, b: b or not a,
    }  # fmt: skip
    return meanings[kind](*found)


FUNCTIONS = {
    **{name: kind.function for name, kind in smooth_kinds().items()},
    "round_float32": round_to_float32,
}


def value_of(root: Term, values: Mapping[str, Any]) -> Any:
    """The value of a term, functions included; every number on the way lies in its bounds."""
    found: dict[Term, Any] = {}
    for term in postorder([root]):
        args = [found[arg] for arg in term.args]
        if term.kind == "apply":
            found[term] = FUNCTIONS[term.data](args[0])
        else:
            found[term] = _evaluate(term, args, dict(values))
        if term.sort != "bool":
            assert term.lower is None or term.lower <= found[term]
            assert term.upper is None or found[term] <= term.upper
    return found[root]

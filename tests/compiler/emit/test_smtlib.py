"""SMT-LIB texts: z3 and cvc5 read them, agree, and their models satisfy the formula."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfxc.compiler.emit.smtlib import emit, name_of, number, symbol
from cfxc.compiler.terms import Pool, Term, evaluate_term, free_variables
from cfxc.errors import UnsupportedError
from cfxc.ir.float32 import round_to_float32
from cfxc.ir.ops.smooth import smooth_kinds
from cfxc.solvers.smt.backends import Z3, backend
from tests.compiler.formulas import BOOLS, GROUP, NUMBERS, Tree, build, declare, truths
from tests.compiler.provers import answers, model_of, status

F = Fraction
NAMES = [
    "age", "loan/income", "a b", " ", "", "0", "naïve", "年齢", "a|b", "a∣b", "back\\slash", "a∖b",
    "and", "true", "not", "abs", "let", "ite", "t0", "t1", "x.1", "@at", ".dot", "=>", "-", "|",
    "line\nbreak", "tab\t", "nul\0", "\u2028", "\ud800", "∖5c;", "t0∖", "max!0", "a=0", "(x)", ";",
    '"quoted"', "to_real", "_", "!",
]  # fmt: skip


def exactly_one(variables: dict[str, Term], pool: Pool) -> Term:
    """What declaring a group promises."""
    guards = [variables[name] for name in GROUP]
    pairs = [pool.not_(pool.and_(p, q)) for i, p in enumerate(guards) for q in guards[:i]]
    return pool.and_(pool.or_(*guards), *pairs)


@settings(derandomize=True, max_examples=60)
@given(truths(3, linear=True))
def test_solvers_agree_and_models_hold(tree: Tree) -> None:
    pool = Pool()
    variables = declare(pool)
    formula = pool.and_(build(pool, variables, tree), exactly_one(variables, pool))
    defaults: dict[str, Any] = {
        name: lower or upper or 0 for name, (_, lower, upper) in NUMBERS.items()
    }
    defaults |= dict.fromkeys((*BOOLS, *GROUP), False)
    for answer in answers(pool, [formula]).values():
        if answer.status == "sat":
            assert evaluate_term(formula, defaults | model_of(answer))


@settings(derandomize=True, max_examples=15)
@given(truths(2), st.booleans())
def test_products(tree: Tree, negated: bool) -> None:
    """Nonlinear texts are read too; z3 and cvc5 may give up, but never contradict each other."""
    pool = Pool()
    variables = declare(pool)
    formula = build(pool, variables, tree)
    text = emit(pool, [pool.not_(formula) if negated else formula, exactly_one(variables, pool)])
    found = {backend(name).check_text(text, 2).status for name in ("z3", "cvc5")}
    assert len(found - {"unknown"}) <= 1


@pytest.mark.parametrize("seed", range(12))
def test_weighted_sums(seed: int) -> None:
    """53-bit weights and bounds at exact ties, against all assignments; on both sides."""
    rng = random.Random(seed)
    pool = Pool()
    bits = [pool.var(f"b{i}", "bool") for i in range(rng.randint(2, 6))]
    weights = [F(rng.choice([rng.uniform(-1, 1), rng.choice([1, -1, 0.5, 1 / 3])])) for _ in bits]
    sums = [pool.ite(b, pool.const(w), pool.const(0)) for b, w in zip(bits, weights, strict=True)]
    tie = sum(rng.sample(weights, len(weights) // 2), F(0))
    atom = pool.at_most(
        pool.add(*sums), tie + rng.choice([F(0), F(1, 2**70), F(-1, 2**70)]), rng.random() < 0.5
    )
    clause = pool.or_(*rng.sample([*bits, *map(pool.not_, bits)], 2))
    for side in (atom, pool.not_(atom)):
        formula = pool.and_(side, clause)
        rows = [
            dict(zip((b.data for b in bits), values, strict=True))
            for values in product([False, True], repeat=len(bits))
        ]
        possible = any(evaluate_term(formula, row) for row in rows)
        for answer in answers(pool, [formula]).values():
            assert answer.status == ("sat" if possible else "unsat")
            if possible:
                model = dict.fromkeys((b.data for b in bits), False) | model_of(answer)
                assert evaluate_term(formula, model)


@pytest.mark.parametrize("exponent", [29, 30, 31, 32, 33, 34, 62, 63, 64, 65, 200])
def test_weights_around_the_word_sizes_of_solvers(exponent: int) -> None:
    """Two weights that differ by one, near powers of two: no coefficient may be truncated."""
    for offset in (-1, 0, 1):
        big = 2**exponent + offset
        pool = Pool()
        a, b, c = (pool.var(name, "bool") for name in "abc")
        total = pool.add(
            pool.ite(a, pool.const(big), pool.const(0)),
            pool.ite(b, pool.const(big + 1), pool.const(0)),
            pool.ite(c, pool.const(-1), pool.const(0)),
        )
        assert status(pool, [pool.at_most(total, big), b, pool.not_(c)]) == "unsat"
        assert status(pool, [pool.at_most(total, big), b, c]) == "sat"
        assert status(pool, [pool.at_most(total, big + 1, strict=True), a]) == "sat"
        assert status(pool, [pool.not_(pool.at_most(total, 2 * big)), c]) == "unsat"
        assert status(pool, [pool.not_(pool.at_most(total, 2 * big))]) == "sat"


def test_names_are_symbols_and_come_back() -> None:
    pool = Pool()
    numbers = {name: pool.var(name, "int", 0, len(NAMES)) for name in NAMES}
    facts = [pool.eq(variable, pool.const(i)) for i, variable in enumerate(numbers.values())]
    # something that is written twice, and so gets a name of the writer's own
    shared = pool.or_(*facts[:2], *(pool.le(v, pool.const(1)) for v in numbers.values()))
    assert len({symbol(name) for name in NAMES}) == len(NAMES)
    for name in ("z3", "cvc5", "pysmt:z3"):
        answer = backend(name).check(pool, [*facts, pool.or_(shared, pool.not_(shared))], 20)
        assert answer.status == "sat"
        found = {each: answer.model[each] for each in NAMES}
        assert found == {each: i for i, each in enumerate(NAMES)}


@settings(derandomize=True, max_examples=200)
@given(st.text())
def test_symbols_are_read_back(name: str) -> None:
    quoted = symbol(name)
    assert name_of(quoted) == name
    assert quoted[1:-1].isprintable() or quoted == "||"
    assert not set(quoted[1:-1]) & set("|\\")


@pytest.mark.parametrize(
    ("value", "sort", "text"),
    [
        (F(3), "int", "3"), (F(-3), "int", "(- 3)"), (F(3), "real", "3.0"),
        (F(-1, 3), "real", "(- (/ 1.0 3.0))"), (F(0), "real", "0.0"),
        (F(0.1), "real", "(/ 3602879701896397.0 36028797018963968.0)"),
    ],
)  # fmt: skip
def test_numbers_are_exact(value: Fraction, sort: str, text: str) -> None:
    assert number(value, sort) == text


def test_shared_terms_are_written_once() -> None:
    pool = Pool()
    x = [pool.var(f"x{i}", "real", 0, 1) for i in range(3)]
    term = pool.add(*x)
    for _ in range(40):  # 2**40 paths from the root
        term = pool.max(pool.add(term, x[0]), pool.sub(term, x[1]))
    text = emit(pool, [pool.not_(pool.at_most(term, 1))])
    assert len(text) < 40_000
    assert status(pool, [pool.not_(pool.at_most(term, 1))]) == "sat"


def test_logics_are_the_smallest() -> None:
    pool = Pool()
    n, x, p = pool.var("n", "int"), pool.var("x", "real"), pool.var("p", "bool")

    def logic(formula: Term) -> str:
        return emit(pool, [formula]).split("(set-logic ")[1].split(")")[0]

    assert logic(p) == "QF_UF"
    assert logic(pool.at_most(n, 1)) == "QF_LIA"
    assert logic(pool.at_most(x, 1)) == "QF_LRA"
    assert logic(pool.at_most(pool.add(n, x), 1)) == "QF_LIRA"
    assert logic(pool.at_most(pool.mul(x, x), 1)) == "QF_NRA"
    assert "set-logic" not in emit(pool, [p], counting="pb")


FUNCTIONS = {
    **{name: kind.function for name, kind in smooth_kinds().items()},
    "round_float32": round_to_float32,
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(("low", "high"), [(-2, 3), (0, F(0.1)), (-1, -1), (F(-0.3), 0)])
def test_relaxed_functions_contain_the_truth(name: str, low: Fraction, high: Fraction) -> None:
    pool = Pool()
    x, y = pool.var("x", "real", low, high), pool.var("y", "real")
    equal = pool.eq(y, pool.apply(name, x))
    for i in range(5):
        value = low + (high - low) * F(i, 4)
        truth = FUNCTIONS[name](value)
        facts = [pool.eq(x, pool.const(value)), equal]
        assert status(pool, [*facts, pool.eq(y, pool.const(truth))]) == "sat"
        assert status(pool, [*facts, pool.at_most(y, truth - 1)]) == "unsat"  # and is no guess


def test_values_of_hundreds_of_thousands_of_places_are_written_as_doubles() -> None:
    pool = Pool()
    x = pool.var("x", "real", -600_000, -500_000)
    y = pool.apply("exp", x, *map(FUNCTIONS["exp"], (F(-600_000), F(-500_000))))
    assert len(emit(pool, [pool.at_most(y, 1)])) < 4000
    assert status(pool, [pool.not_(pool.at_most(y, F(1, 10**9)))]) == "unsat"


def test_functions_of_unbounded_arguments_are_refused() -> None:
    pool = Pool()
    x = pool.var("x", "real", 0)
    for name in FUNCTIONS:
        with pytest.raises(UnsupportedError, match=r"bounded"):
            emit(pool, [pool.at_most(pool.apply(name, x), 1)])


def test_one_sided_maxima_become_variables() -> None:
    """And only these: from below, a maximum is written as it is."""
    pool = Pool()
    x, y = pool.var("x", "real", -1, 1), pool.var("y", "real", -1, 1)
    top = pool.add(pool.max(x, y), x)
    assert "max!" in emit(pool, [pool.at_most(top, 1)])
    assert "max!" not in emit(pool, [pool.not_(pool.at_most(top, 1))])
    assert "max!" not in emit(pool, [pool.at_most(top, 1), pool.not_(pool.at_most(top, 0))])
    facts = [pool.at_most(x, 0), pool.at_most(y, 0)]
    assert status(pool, [*facts, pool.not_(pool.at_most(top, 0))]) == "unsat"
    assert status(pool, [*facts, pool.at_most(top, 0, strict=True)]) == "sat"


def test_constants_are_assertions_too() -> None:
    pool = Pool()
    assert status(pool, [pool.true]) == "sat"
    assert status(pool, [pool.false]) == "unsat"
    assert status(pool, []) == "sat"
    assert free_variables([pool.true]) == []
    assert Z3().check(pool, [pool.var("p", "bool")], 5).model == {"p": True}

"""Back ends on the same formulae: they agree, keep their time, and give names back."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfxc.compiler.terms import Pool, Term, evaluate_term, free_variables
from cfxc.errors import InvalidInputError, MissingExtraError, SolverError
from cfxc.solvers.smt import Answer, Backend, backend
from cfxc.solvers.smt.backends import Portfolio

F = Fraction
NAMES = ["z3", "cvc5", "pysmt:z3", "auto"]
ODD = ["a b", "let", "x'", "naïve|pipe", "", "1", "%0", "line\nbreak"]


@st.composite
def formulae(draw: Any) -> tuple[Pool, list[Term]]:
    """Conjunctions of clauses over linear atoms, Booleans and one choice."""
    pool = Pool()
    numbers = [
        pool.var("n", "int", F(0), F(4)),
        pool.var("x y", "real", F(-1), F(1)),
        pool.var("z", "real", F(0), F(1, 3)),
    ]
    bools = [pool.var("p", "bool"), pool.var("q|", "bool")]
    few = st.integers(-3, 3)

    def literal() -> Term:
        if draw(st.integers(0, 2)) == 0:
            atom = draw(st.sampled_from(bools))
        else:
            parts = [(F(draw(few), draw(st.sampled_from([1, 2, 7]))), t) for t in numbers]
            parts.append((F(draw(few)), pool.indicator(bools[0])))
            atom = pool.at_most(pool.linear(parts), F(draw(few), 2), strict=draw(st.booleans()))
        return pool.not_(atom) if draw(st.booleans()) else atom

    clauses = [
        pool.or_(*(literal() for _ in range(draw(st.integers(1, 3)))))
        for _ in range(draw(st.integers(1, 6)))
    ]
    return pool, clauses


def completed(answer: Answer, terms: Sequence[Term]) -> dict[str, Any]:
    """The model, with a value of the range for what the solver left out."""
    values = dict(answer.model)
    for variable in free_variables(terms):
        default = False if variable.sort == "bool" else variable.lower or F(0)
        values.setdefault(variable.data, default)
    return values


@settings(max_examples=40, derandomize=True)
@given(formulae())
def test_all_give_the_same(made: tuple[Pool, list[Term]]) -> None:
    pool, clauses = made
    answers = {name: backend(name).check(pool, clauses, 10) for name in NAMES}
    assert len({answer.status for answer in answers.values()}) == 1, answers
    for answer in answers.values():
        if answer.status == "sat":
            values = completed(answer, clauses)
            assert all(evaluate_term(clause, values) for clause in clauses), answer
        else:
            assert answer.status == "unsat"
            assert not answer.model


@pytest.mark.parametrize("name", NAMES)
def test_values_are_exact_and_names_come_back(name: str) -> None:
    pool = Pool()
    terms = [pool.var(odd, "real", F(0), F(1)) for odd in ODD]
    facts = [pool.eq(t, pool.const(F(1, 3 + i))) for i, t in enumerate(terms)]
    flag = pool.var("a flag", "bool")
    answer = backend(name).check(pool, [*facts, pool.or_(flag, pool.false)], 10)
    assert answer.status == "sat"
    assert {odd: answer.model[odd] for odd in ODD} == {o: F(1, 3 + i) for i, o in enumerate(ODD)}
    assert answer.model["a flag"] is True
    assert all(isinstance(value, F | bool) for value in answer.model.values())


@pytest.mark.parametrize("name", NAMES)
def test_constants(name: str) -> None:
    pool = Pool()
    assert backend(name).check(pool, [pool.true], 5).status == "sat"
    assert backend(name).check(pool, [pool.false], 5).status == "unsat"
    assert backend(name).check(pool, [], 5).status == "sat"


def pigeons(pool: Pool, count: int) -> list[Term]:
    """One more pigeon than holes: resolution proofs are exponential."""
    sits = [[pool.var(f"{i} in {j}", "bool") for j in range(count - 1)] for i in range(count)]
    facts = [pool.or_(*row) for row in sits]
    for j in range(count - 1):
        facts += [
            pool.or_(pool.not_(sits[i][j]), pool.not_(sits[k][j]))
            for i in range(count)
            for k in range(i)
        ]
    return facts


@pytest.mark.parametrize("name", ["z3", "cvc5", "auto"])
def test_out_of_time_is_unknown(name: str) -> None:
    pool = Pool()
    started = time.monotonic()
    answer = backend(name).check(pool, pigeons(pool, 14), 0.4)
    assert answer.status == "unknown"
    assert answer.reason
    assert not answer.model
    assert time.monotonic() - started < 60


def test_pysmt_gives_up_in_time() -> None:
    pool = Pool()
    solver = backend("pysmt:z3")
    started = time.monotonic()
    answer = solver.check(pool, pigeons(pool, 9), 0.001)
    assert (answer.status, answer.reason) == ("unknown", "timeout")
    assert time.monotonic() - started < 60
    assert solver.check(pool, [pool.false], 30).status == "unsat", "it waits for the call before"


class Fixed(Backend):
    """Gives the same answer each time, and notes the seconds it was given."""

    def __init__(self, name: str, status: str) -> None:
        self.name, self.status, self.given = name, status, list[float]()

    def check_text(self, text: str, seconds: float) -> Answer:
        self.given.append(seconds)
        time.sleep(min(seconds, 0.01))
        return Answer(self.status, reason=f"{self.name} gave up")


def test_a_portfolio_takes_turns() -> None:
    first, second = Fixed("one", "unknown"), Fixed("two", "unsat")
    both, pool = Portfolio((first, second)), Pool()
    assert both.name == "one+two"
    answer = both.check(pool, [pool.var("p", "bool")], 10)
    assert (answer.status, answer.by) == ("unsat", "two")
    assert first.given == [1.0]


def test_a_portfolio_doubles_its_shares_and_ends() -> None:
    first, second = Fixed("one", "unknown"), Fixed("two", "unknown")
    pool = Pool()
    both = Portfolio((first, second), first=0.02)
    started = time.monotonic()
    answer = both.check(pool, [pool.var("p", "bool")], 0.1)
    assert answer.status == "unknown"
    assert "gave up" in answer.reason
    assert 0.1 <= time.monotonic() - started < 60
    assert first.given[:2] == [0.02, 0.04]


def test_by_names_the_member_that_answered() -> None:
    pool = Pool()
    answer = backend("auto").check(pool, [pool.false], 5)
    assert answer.by in ("z3", "cvc5")
    assert backend("auto").name == "z3+cvc5"


@pytest.mark.parametrize("name", ["", "Z3", "yices", "pysmt", "pysmt:", "z3+cvc5"])
def test_unknown_names(name: str) -> None:
    with pytest.raises(InvalidInputError, match="unknown solver"):
        backend(name)


def test_without_pysmt_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pysmt.environment", None)
    with pytest.raises(MissingExtraError, match=r"cfxc\[pysmt\]"):
        backend("pysmt:z3")


def test_a_solver_that_pysmt_lacks() -> None:
    pool = Pool()
    with pytest.raises(InvalidInputError, match="pySMT has no solver 'nosuch' here"):
        backend("pysmt:nosuch").check(pool, [pool.var("p", "bool")], 5)


@pytest.mark.parametrize("name", ["z3", "cvc5"])
def test_text_that_is_no_formula(name: str) -> None:
    with pytest.raises(SolverError, match=name):
        backend(name).check_text("(assert (and p", 5)

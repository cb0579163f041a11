"""z3 and cvc5 on formulae of a pool; they read the same SMT-LIB text, and must agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cfxc.compiler.emit.smtlib import emit, name_of
from cfxc.compiler.terms import Pool, Term
from cfxc.solvers.smt.backends import Z3, Answer, Cvc5

SECONDS = 20.0


def answers(pool: Pool, assertions: Sequence[Term]) -> dict[str, Answer]:
    """What z3 (with and without pseudo-Boolean sums) and cvc5 say of a conjunction."""
    text = emit(pool, assertions)
    found = {
        "z3": Z3().check_text(text, SECONDS),
        "cvc5": Cvc5().check_text(text, SECONDS),
        "z3 counting": Z3().check_text(emit(pool, assertions, counting="pb"), SECONDS),
    }
    assert len({answer.status for answer in found.values()}) == 1, (found, text)
    return found


def status(pool: Pool, assertions: Sequence[Term]) -> str:
    """The status on which all agree."""
    return next(iter(answers(pool, assertions).values())).status


def proved_equivalent(pool: Pool, first: Term, second: Term, given: Sequence[Term] = ()) -> bool:
    """Whether both solvers refute every difference under the given facts."""
    return status(pool, [*given, pool.not_(pool.eq(first, second))]) == "unsat"


def model_of(answer: Answer) -> dict[str, Any]:
    """The model by variable."""
    return {name_of(name): value for name, value in answer.model.items()}

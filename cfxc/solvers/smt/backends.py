"""The satisfiability oracle SAT(φ): one protocol, three back ends.

A back end takes a pool and assertions, and answers within a time limit.  All of them read the
SMT-LIB text that ``--emit smt2`` shows: z3 and cvc5 through their own APIs, and through pySMT any
solver it knows.  Each call uses a fresh context: queries never share solver state.
"""

from __future__ import annotations

import io
import json
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from subprocess import PIPE, Popen
from threading import Lock, Thread
from typing import Any

from ...compiler.emit.smtlib import Counting, emit, name_of
from ...compiler.terms import Pool, Term
from ...environment import debug
from ...errors import DataTypeError, InvalidInputError, SolverError, needs
from ...stopping import attend, now, poll

Value = Fraction | bool

CHOICES = "auto, z3, cvc5, pysmt:<solver>; for mixed-integer search highs, scip, gurobi"
CHILD = Path(__file__).with_name("cvc5_child.py")
START = 0.2  # seconds that a process may take to start


@dataclass(frozen=True, slots=True)
class Answer:
    """``sat`` with values by variable name, ``unsat``, or ``unknown`` with the solver's reason.

    ``by`` names the solver that answered, where a back end has several.
    """

    status: str
    model: Mapping[str, Value] = field(default_factory=dict)
    reason: str = ""
    by: str = ""


class Backend(ABC):
    """A satisfiability solver."""

    name: str
    counts = False  # whether it reads pseudo-Boolean constraints

    @abstractmethod
    def check_text(self, text: str, seconds: float) -> Answer:
        """Satisfiability of an SMT-LIB script without ``check-sat``; models by symbol."""

    def check(self, pool: Pool, assertions: Sequence[Term], seconds: float) -> Answer:
        """Satisfiability of a conjunction, within a time limit."""
        counting: Counting = "pb" if self.counts else "arithmetic"
        text = emit(pool, assertions, counting=counting)
        debug(3, lambda: text)
        answer = self.check_text(text, seconds)
        return replace(answer, model={name_of(name): v for name, v in answer.model.items()})


class Z3(Backend):
    """z3 (``z3-solver``), with its native theory of pseudo-Boolean sums."""

    name = "z3"
    counts = True

    def check_text(self, text: str, seconds: float) -> Answer:
        import z3

        context = z3.Context()
        solver = z3.SimpleSolver(ctx=context)
        solver.set("auto_config", False)
        solver.set("relevancy", 0)
        solver.set("timeout", _milliseconds(seconds))
        solver.set("ctrl_c", False)  # its own handler would take the signal, and stay quiet

        def work() -> Any:
            solver.from_string(text)
            return solver.check()

        try:
            outcome = _in_thread(work, context.interrupt, seconds)
        except z3.Z3Exception as error:
            raise SolverError(f"z3 rejected the formula: {error}") from error
        if outcome is None:
            return Answer("unknown", reason="timeout")
        if outcome == z3.unsat:
            return Answer("unsat")
        if outcome == z3.unknown:
            return Answer("unknown", reason=solver.reason_unknown())
        try:
            model = solver.model()
        except z3.Z3Exception as error:  # its time was up between the answer and the model
            return Answer("unknown", reason=str(error))
        values = ((str(d.name()), _z3_value(model[d])) for d in model.decls())
        return Answer("sat", {name: value for name, value in values if value is not None})


def _in_thread(work: Callable[[], Any], cancel: Callable[[], object], seconds: float) -> Any:
    """What some work gives, done in a thread of its own; ``None`` if it does not end in time."""
    results: list[Any] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            results.append(error)

    thread = Thread(target=run, daemon=True)
    thread.start()
    if not attend(thread, cancel, seconds):
        return None
    (result,) = results
    if isinstance(result, BaseException):
        raise result
    return result


def _z3_value(value: Any) -> Value | None:
    import z3

    if z3.is_true(value) or z3.is_false(value):
        return bool(z3.is_true(value))
    if z3.is_algebraic_value(value):
        value = value.approx(60)
    if z3.is_rational_value(value):
        return Fraction(value.as_fraction())
    return Fraction(value.as_long()) if z3.is_int_value(value) else None


class Cvc5(Backend):
    """cvc5, in a process of its own: while it works, it lets no other thread of its process run."""

    name = "cvc5"

    def check_text(self, text: str, seconds: float) -> Answer:
        command = [sys.executable, "-P", str(CHILD), str(_milliseconds(seconds))]
        child = Popen(
            command, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True, encoding="utf-8",
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,  # Ctrl-C is for us alone
        )  # fmt: skip
        with child:
            answer = _in_thread(lambda: child.communicate(text), child.kill, seconds + START)
        if answer is None or child.returncode < 0:
            return Answer("unknown", reason="timeout")
        try:
            found = json.loads(answer[0])
        except ValueError:
            raise SolverError(f"cvc5 failed: {answer[1].strip()[-300:]}") from None
        if "error" in found:
            raise SolverError(f"cvc5 {found['error']}")
        return Answer(found["status"], _values(found["values"]), found["reason"])


def _values(texts: Mapping[str, str | bool]) -> dict[str, Value]:
    """Values by name; numbers are written as texts."""
    return {k: v if isinstance(v, bool) else Fraction(v) for k, v in texts.items()}


class PySmt(Backend):
    """Any solver that pySMT knows and has installed: ``pysmt:msat``, ``pysmt:z3``, …

    pySMT has no time limits: a call that overruns is abandoned, and counts as unknown.  Solvers
    behind it may share state, so the next call first waits for it to end.
    """

    _busy = Lock()

    def __init__(self, solver: str) -> None:
        with needs("pysmt", f"the solver pysmt:{solver}", "pysmt"):
            from pysmt.environment import Environment

        installed = Environment().factory.all_solvers()
        if solver not in installed:
            raise InvalidInputError(
                f"pySMT has no solver '{solver}' here; installed: {', '.join(installed) or 'none'}"
            )
        self.solver = solver
        self.name = f"pysmt:{solver}"

    def check_text(self, text: str, seconds: float) -> Answer:
        def work() -> Answer | None:
            if not self._busy.acquire(timeout=seconds):
                return None
            try:
                return self._check(text)
            finally:
                self._busy.release()

        answer = _in_thread(work, lambda: None, seconds)
        return Answer("unknown", reason="timeout") if answer is None else answer

    def _check(self, text: str) -> Answer:
        from pysmt.environment import Environment
        from pysmt.smtlib.parser import SmtLibParser

        environment = Environment()
        body = "\n".join(line for line in text.splitlines() if not line.startswith("(set-logic"))
        script = SmtLibParser(environment).get_script(io.StringIO(body))
        formula = script.get_last_formula(environment.formula_manager)
        with environment.factory.Solver(name=self.solver) as solver:
            solver.add_assertion(formula)
            if not solver.solve():
                return Answer("unsat")
            model = solver.get_model()
            names = formula.get_free_variables()
            return Answer("sat", {s.symbol_name(): _pysmt_value(model[s]) for s in names})


def _pysmt_value(value: Any) -> Value:
    constant = value.constant_value()
    return constant if isinstance(constant, bool) else Fraction(str(constant))


class Portfolio(Backend):
    """Several solvers in turn, each with twice the time of the round before, until one answers.

    Their running times on one formula are unrelated and heavy-tailed: what one cannot settle in
    minutes another often settles in a second.
    """

    def __init__(self, members: Sequence[Backend], first: float = 1.0) -> None:
        self.members, self.first = tuple(members), first
        self.name = "+".join(member.name for member in members)

    def check(self, pool: Pool, assertions: Sequence[Term], seconds: float) -> Answer:
        """The first definite answer of any member."""
        deadline, share = now() + seconds, self.first
        while True:
            for member in self.members:
                left = deadline - now()
                poll()
                answer = member.check(pool, assertions, max(min(share, left), 0.01))
                if answer.status != "unknown":
                    return replace(answer, by=member.name)
                if now() >= deadline:
                    return answer
            share *= 2

    def check_text(self, text: str, seconds: float) -> Answer:
        """The answer of the last member, which reads plain SMT-LIB."""
        return self.members[-1].check_text(text, seconds)


def _milliseconds(seconds: float) -> int:
    return max(1, int(min(seconds, 2_000_000.0) * 1000))


def backend(name: str) -> Backend:
    """The back end ``z3``, ``cvc5``, ``pysmt:<solver>``, or ``auto`` (z3 and cvc5 in turn)."""
    if not isinstance(name, str):
        raise DataTypeError(f"solver is a name, not {name!r}: {CHOICES}")
    if name == "auto":
        return Portfolio((Z3(), Cvc5()))
    if name == "z3":
        return Z3()
    if name == "cvc5":
        return Cvc5()
    if name.startswith("pysmt:") and len(name) > 6:
        return PySmt(name[6:])
    raise InvalidInputError(f"unknown solver '{name}': {CHOICES}")

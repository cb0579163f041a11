"""Algorithm 1 of Karimi et al. (2020) as printed: the yardstick for cfxc's search."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import z3

from cfxc.compiler.emit.smtlib import emit, number
from cfxc.compiler.expand import expand
from cfxc.compiler.rewriting import AbsorbingPool
from cfxc.compiler.terms import Pool, Term
from cfxc.compiler.transform import Characteristic, compact_formula
from cfxc.ir import Builder, Program
from cfxc.ir.patterns import keep_outputs
from cfxc.question.query import Query


@dataclass(frozen=True)
class ModelFormula:
    """φ_f of one model, over the pool that the distances of its people are built in."""

    core: Program
    pool: Pool
    characteristic: Characteristic

    @classmethod
    def of(cls, program: Program) -> ModelFormula:
        """The compact characteristic formula of the whole expanded model, its label as result."""
        core, pool = expand(keep_outputs(program, ["label"])), AbsorbingPool()
        return cls(core, pool, compact_formula(core, pool))


@dataclass(frozen=True)
class Bracket:
    """The optimum is in (lower, upper], after so many calls and seconds."""

    lower: Fraction
    upper: Fraction
    calls: int
    seconds: float
    finished: bool


def algorithm_1(model: ModelFormula, query: Query, epsilon: Fraction, limit: float) -> Bracket:
    """Bisect δ in [0, 1] with one satisfiability question, to a fresh solver, per step.

    ``φ_CF(x) ∧ φ_d(x, δ) ∧ φ_g(x)``: the compact characteristic formula of the whole expanded
    model and the target label; that of the distance's program; the features' types and ranges.
    Nothing is pruned, bounded or guessed.  z3 decides it in its default configuration.

    Args:
        model: Of ``query.program``.
        query: Factual, target and distance; constraints are not supported.
        epsilon: Accuracy, > 0.
        limit: Seconds for all calls together; what is running then is stopped.

    Returns:
        The bracket; its seconds are those of reading and deciding the formulae, not of building.
    """
    text, distance = formula_text(model, query)
    lower, upper = Fraction(0), Fraction(1)
    calls, started = 0, time.perf_counter()
    while upper - lower > epsilon:
        delta = (lower + upper) / 2
        within = f"(assert (<= {distance} {number(delta, 'real')}))\n"
        answer = satisfiable(text + within, limit - (time.perf_counter() - started))
        if answer == z3.unknown:
            return Bracket(lower, upper, calls, time.perf_counter() - started, False)
        calls += 1
        if answer == z3.unsat:
            lower = delta
        else:
            upper = delta
    return Bracket(lower, upper, calls, time.perf_counter() - started, True)


def satisfiable(text: str, seconds: float) -> z3.CheckSatResult:
    """The answer of a fresh z3 to an SMT-LIB script; ``z3.unknown`` if it takes too long."""
    context = z3.Context()
    started = time.perf_counter()
    solver = z3.Solver(ctx=context)
    if seconds > 0:
        solver.from_string(text)
    left = seconds - (time.perf_counter() - started)
    if left <= 0:
        return z3.unknown
    solver.set("timeout", max(1, int(left * 1000)))
    return solver.check()


def formula_text(model: ModelFormula, query: Query) -> tuple[str, str]:
    """All of the formula but δ as SMT-LIB, and the symbol of the distance in it."""
    assert not query.constraints
    pool, found = model.pool, model.characteristic
    label = found.outputs["label"]
    pairs = zip(label.guards, label.labels, strict=True)
    wanted = [guard for guard, value in pairs if query.target.holds(value)]
    distance = compact_formula(_distance(model, query), pool)
    facts = [*wanted, distance.formula, *_plausible(query, pool, found.inputs)]
    return emit(pool, [found.formula, *facts]), "|y.distance|"


def _distance(model: ModelFormula, query: Query) -> Program:
    """The program from the features to d(x, x̂); its variables are new to the model's pool."""
    builder = Builder("distance")
    builder.reserve(model.pool.variables)
    inputs = {name: builder.input(name, sort) for name, sort in model.core.inputs}
    deltas = builder.inline(expand(query.delta), inputs)
    return builder.build(distance=builder.inline(expand(query.distance.program), deltas)["result"])


def _plausible(query: Query, pool: Pool, inputs: Mapping[str, Any]) -> list[Term]:
    """Numbers lie in their range, and on their grid where the feature has a resolution.

    That a category has exactly one label is part of the characteristic formula.
    """
    facts: list[Term] = []
    for domain in query.domains:
        if domain.is_symbolic:
            continue
        x = inputs[domain.name]
        facts += [pool.ge(x, pool.const(domain.lower)), pool.le(x, pool.const(domain.upper))]
        if domain.sort.kind == "real" and domain.step is not None:
            multiple = pool.var(f"{domain.name}/step", "int")
            facts.append(pool.eq(x, pool.scale(domain.step, multiple)))
    return facts

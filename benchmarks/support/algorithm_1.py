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
from cfxc.compiler.passes import keep_outputs
from cfxc.compiler.rounding import AbsorbingPool
from cfxc.compiler.terms import Pool, Term
from cfxc.compiler.transform import compact_formula
from cfxc.frontends.query import Query
from cfxc.ir import Builder, Program

DISTANCE = "distance"  # name of the output that holds d(x, x̂)


@dataclass(frozen=True)
class Bracket:
    """The optimum is in (lower, upper].

    ``seconds`` are those of the solver calls, reading the formula included; building it is not
    counted.
    """

    lower: Fraction
    upper: Fraction
    calls: int
    seconds: float
    finished: bool


def algorithm_1(query: Query, epsilon: Fraction, limit: float) -> Bracket:
    """Bisect δ in [0, 1] with one satisfiability question, to a fresh solver, per step.

    The formula is the compact characteristic formula of the whole expanded program, with the
    distance's program and the features' types and ranges as formulae beside it; it differs from
    step to step in δ alone, and is built once.  z3 decides it in its default configuration.

    Args:
        query: Target and factual; its constraints must be empty.
        epsilon: Accuracy, > 0.
        limit: Seconds for all calls together; what is running then is stopped.
    """
    text, distance = characteristic_text(query)
    lower, upper = Fraction(0), Fraction(1)
    calls, started = 0, time.perf_counter()
    while upper - lower > epsilon:
        delta = (lower + upper) / 2
        left = limit - (time.perf_counter() - started)
        question = f"{text}(assert (<= {distance} {number(delta, 'real')}))\n"
        answer = satisfiable(question, left) if left > 0 else z3.unknown
        if answer == z3.unknown:
            return Bracket(lower, upper, calls, time.perf_counter() - started, False)
        calls += 1
        if answer == z3.unsat:
            lower = delta
        else:
            upper = delta
    return Bracket(lower, upper, calls, time.perf_counter() - started, True)


def satisfiable(text: str, seconds: float) -> z3.CheckSatResult:
    """The answer of a fresh z3 to an SMT-LIB script; ``z3.unknown`` if the time does not do."""
    context = z3.Context()
    started = time.perf_counter()
    solver = z3.Solver(ctx=context)
    solver.from_string(text)
    left = seconds - (time.perf_counter() - started)
    if left <= 0:
        return z3.unknown
    solver.set("timeout", max(1, int(left * 1000)))
    return solver.check()


def characteristic_text(query: Query) -> tuple[str, str]:
    """φ_CF ∧ φ_d ∧ φ_g as SMT-LIB, and the symbol of d in it."""
    pool = AbsorbingPool()
    found = compact_formula(question(query), pool)
    (wanted,) = (
        guard
        for guard, label in zip(found.outputs["label"].guards, found.outputs["label"].labels)
        if query.target.holds(label)
    )
    text = emit(pool, [found.formula, wanted, *plausible(query, pool, found.inputs)])
    return text, f"|y.{DISTANCE}|"


def question(query: Query) -> Program:
    """The core-level program from the features to the model's label and the distance."""
    builder = Builder("question")
    inputs = {name: builder.input(name, sort) for name, sort in query.program.inputs}
    model = expand(keep_outputs(query.program, ["label"]))
    label = builder.inline(model, inputs)["label"]
    deltas = builder.inline(expand(query.delta), inputs)
    distance = builder.inline(expand(query.distance.program), deltas)["result"]
    return builder.build_with({"label": label, DISTANCE: distance})


def plausible(query: Query, pool: Pool, inputs: Mapping[str, Any]) -> list[Term]:
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
            multiple = pool.var(f"{domain.name}/{domain.step}", "int")
            facts.append(pool.eq(x, pool.scale(domain.step, multiple)))
    return facts

"""Characteristic formulae of core-level programs: the two predicate transformers of the paper.

``path_formulae`` follows the definition in appendix A: one conjunction per execution path, and
their disjunction as the formula; exponential.  ``compact_formula`` keeps each command once
(Flanagan and Saxe): ``if b then c1 else c2`` becomes ``(b & F(c1)) | (!b & F(c2))``, and
sequences conjoin; linear.  Weak single assignment makes both exact: every variable is assigned
once on every path, so an assignment is an equation.

The formula's free variables are the inputs, the program's variables (names without ``%``), and
one ``y.<output>`` per output.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import InvalidInputError
from ..ir import Let, Literal, Operand, Program, Sort, walk
from ..ir.linear import Number
from .functional import Symbolic, TermAlgebra
from .scalarise import decompose
from .terms import Pool, Term

MAX_PATHS = 100_000

Ranges = Mapping[str, tuple[Number | None, Number | None]]
"""Bounds by input or variable, true of the variables; what is not named is unbounded."""

NO_RANGES: Ranges = {}


@dataclass(frozen=True, slots=True)
class Characteristic:
    """A formula that holds iff ``y.<output>`` is what the program returns on the inputs."""

    formula: Term
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]


def declare(
    pool: Pool,
    name: str,
    sort: Sort,
    bounds: tuple[Number | None, Number | None] = (None, None),
    role: str = "value",
) -> Any:
    """A free variable of the given scalar sort; a category is one Boolean per label.

    Names of different roles (``value``, ``result``) are different variables.
    """
    if sort.kind == "category":
        guards = [
            pool.var(f"{name}={i}", "bool", key=(role, name, i)) for i in range(len(sort.labels))
        ]
        return Symbolic(sort.labels, tuple(guards))
    return pool.var(name, sort.kind, *bounds, key=(role, name))


def declare_result(pool: Pool, name: str, sort: Sort) -> Any:
    """The variable ``y.<output>``."""
    return declare(pool, f"y.{name}", sort, role="result")


def declare_inputs(pool: Pool, program: Program, ranges: Ranges) -> dict[str, Any]:
    """The inputs of a program as free variables."""
    return {
        name: declare(pool, name, sort, ranges.get(name, (None, None)))
        for name, sort in program.inputs
    }


def well_sorted(pool: Pool, value: Any) -> Term:
    """A category has exactly one label; everything else is unconstrained."""
    if not isinstance(value, Symbolic):
        return pool.true
    pairs = [
        pool.or_(pool.not_(p), pool.not_(q))
        for i, p in enumerate(value.guards)
        for q in value.guards[:i]
    ]
    return pool.and_(pool.or_(*value.guards), *pairs)


def equation(pool: Pool, variable: Any, value: Any) -> Term:
    """``variable = value``, label by label for categories."""
    if isinstance(variable, Symbolic):
        pairs = zip(variable.guards, value.guards, strict=True)
        return pool.and_(*(pool.eq(p, q) for p, q in pairs))
    return pool.eq(variable, value)


def path_formulae(program: Program, pool: Pool, ranges: Ranges = NO_RANGES) -> list[Term]:
    """One conjunction per execution path of a core-level program (PF of appendix A)."""
    paths: list[list[Term]] = [[]]
    stack: list[tuple[list[list[Term]], Term, list[list[Term]]]] = []
    reader = _Reader(program, pool, ranges)
    for tag, statement in walk(program.body):
        if isinstance(statement, Let):
            fact = reader.let(statement)
            if not fact.is_true:
                paths = [[*path, fact] for path in paths]
        elif tag == "if":
            condition = reader.read(statement.condition)
            stack.append((paths, condition, []))
            paths = [[condition]]
        elif tag == "else":
            before, condition, _ = stack.pop()
            stack.append((before, condition, paths))
            paths = [[pool.not_(condition)]]
        else:
            before, _, then = stack.pop()
            branches = then + paths
            if len(before) * len(branches) > MAX_PATHS:
                raise InvalidInputError(
                    f"the program has more than {MAX_PATHS} execution paths; "
                    "use the compact formula (--formula compact), which is linear in its size"
                )
            paths = [head + tail for head in before for tail in branches]
    return [pool.and_(*path, *reader.results()) for path in paths]


def path_formula(program: Program, pool: Pool, ranges: Ranges = NO_RANGES) -> Characteristic:
    """The characteristic formula by paths: the disjunction of all path formulae."""
    formula = pool.or_(*path_formulae(program, pool, ranges))
    return _characteristic(program, pool, formula, ranges)


def compact_formula(program: Program, pool: Pool, ranges: Ranges = NO_RANGES) -> Characteristic:
    """The characteristic formula in size linear in the program."""
    reader = _Reader(program, pool, ranges)
    blocks: list[list[Term]] = [[]]
    conditions: list[Term] = []
    for tag, statement in walk(program.body):
        if isinstance(statement, Let):
            blocks[-1].append(reader.let(statement))
        elif tag == "if":
            conditions.append(reader.read(statement.condition))
            blocks.append([])
        elif tag == "else":
            blocks.append([])
        else:
            orelse, then = blocks.pop(), blocks.pop()
            condition = conditions.pop()
            blocks[-1].append(
                pool.or_(pool.and_(condition, *then), pool.and_(pool.not_(condition), *orelse))
            )
    formula = pool.and_(*blocks.pop(), *reader.results())
    return _characteristic(program, pool, formula, ranges)


def _characteristic(program: Program, pool: Pool, formula: Term, ranges: Ranges) -> Characteristic:
    inputs = declare_inputs(pool, program, ranges)
    outputs = {
        name: declare_result(pool, name, sort) for name, sort in program.output_sorts.items()
    }
    values = [*inputs.values(), *outputs.values()]
    sane = [well_sorted(pool, value) for value in values]
    return Characteristic(pool.and_(formula, *sane), inputs, outputs)


class _Reader:
    """Reads statements as equations; temporaries assigned once are substituted as expressions."""

    def __init__(self, program: Program, pool: Pool, ranges: Ranges) -> None:
        self.assigned = Counter(statement.name for statement in program.lets())
        self.program, self.pool, self.ranges = program, pool, ranges
        self.algebra = TermAlgebra(pool)
        self.values: dict[str, Any] = declare_inputs(pool, program, ranges)

    def let(self, statement: Let) -> Term:
        op, name = statement.op, statement.name
        operands = list(op.operands())
        kinds = [self.program.sort_of(operand).kind for operand in operands]
        value = decompose(self.algebra, op, kinds, [self.read(operand) for operand in operands])
        if name.startswith("%") and self.assigned[name] == 1:
            self.values[name] = value
            return self.pool.true
        bounds = self.ranges.get(name, (None, None))
        variable = declare(self.pool, name, self.program.sorts[name], bounds)
        self.values[name] = variable
        return equation(self.pool, variable, value)

    def read(self, operand: Operand) -> Any:
        if isinstance(operand, Literal):
            return self.algebra.constant(operand.value)
        return self.values[operand]

    def results(self) -> list[Term]:
        found = []
        for name, operand in self.program.outputs:
            output = declare_result(self.pool, name, self.program.output_sorts[name])
            found.append(equation(self.pool, output, self.read(operand)))
        return found

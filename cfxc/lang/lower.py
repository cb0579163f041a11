"""The core language to core-level IR: programs, expressions and constraints."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Mapping
from fractions import Fraction
from typing import Any

from ..errors import InvalidInputError
from ..ir import BOOL, INT, REAL, If, Literal, Operand, Program, Sort, category
from ..ir.patterns import without_unused
from . import ast
from .diagnostics import Fault, Violation, refuse
from .emit import Emitter
from .infer import infer_sorts
from .literals import write_name
from .parser import parse_expression, parse_program
from .single import RESULT, SingleAssignment, single_assignment
from .unroll import unroll_expression, unroll_program
from .values import Cells, as_cells, constant_of, nearest_names, new_label, write_label, write_path
from .walk import rewrite, run
from .wellformed import check_program

#: Name of the only output of a compiled constraint.
HOLDS = "holds"
_KINDS = {"Bool": BOOL, "Int": INT, "Real": REAL}


def lower_program(
    program: ast.Program,
    *,
    name: str = "",
    inputs: Mapping[str, Sort] | None = None,
    constants: Mapping[str, int | Fraction] | None = None,
    fixed: Mapping[str, Fraction] | None = None,
) -> Program:
    """Return the core-level IR of ``program``, in weak single assignment.

    Args:
        program: As parsed; loops are unrolled here.
        name: Name of the IR program; by default that of the header.
        inputs: Sorts of the inputs that the header does not declare.  A field ``factual.age`` and
            an array element ``delta[1]`` are the inputs ``factual.age`` and ``delta.1``; an array
            parameter ``delta: Real[J]`` declares ``delta.1`` … ``delta.J``.
        constants: Values of names such as ``J``.
        fixed: Numbers that take the place of inputs, such as ``weight.1``.

    Returns:
        A program with all other parameters and ``inputs`` as inputs, and one output per name that
        the returns give; the output of ``return e`` is called ``result``.

    Raises:
        LanguageError: the program is not well-formed, or values do not have the sorts they need;
            the message lists the first places.
    """
    values = dict(constants or {})
    given = dict(inputs or {})
    numbers = dict(fixed or {})
    roots = {each.split(".")[0] for each in (*given, *numbers)}
    check_program(program, inputs=roots, constants=values)
    flat = unroll_program(program, constants=values)
    sorts = {**_declared(flat), **given}
    for each in numbers:
        sorts.pop(each, None)
    scope = Scope(sorts, program.source, fixed=numbers)
    single = single_assignment(flat.body, scope.sorts, scope.read)
    scope.check()
    lowering = _Lowering(single, scope)
    body, outputs = lowering.run()
    title = name or program.name or "program"
    return without_unused(Program(title, tuple(scope.sorts.items()), body, outputs))


def lower_expression(
    expression: ast.Expr, inputs: Mapping[str, Sort], *, source: str = "expression"
) -> Program:
    """Return the IR program with the one output ``result``, the value of ``expression``.

    Its inputs are exactly those that the expression uses, in the order of ``inputs``.

    Raises:
        LanguageError: unknown names, or values without the sorts they need.
    """
    flat = unroll_expression(expression, source=source)
    return _lower_value(flat, Scope(inputs, source), RESULT)


def compile_program(
    text: str,
    *,
    name: str = "",
    inputs: Mapping[str, Sort] | None = None,
    constants: Mapping[str, int | Fraction] | None = None,
    source: str = "program",
) -> Program:
    """Return the IR of a program's text; see :func:`lower_program`.

    Raises:
        LanguageError: the text does not parse or cannot be lowered.
    """
    program = parse_program(text, source)
    return lower_program(program, name=name, inputs=inputs, constants=constants)


def compile_constraint(
    text: str,
    sorts: Mapping[str, Sort],
    source: str = "constraint",
    *,
    ordered: Collection[str] = (),
    cells: Cells | None = None,
) -> Program:
    """Return the IR of a constraint over a counterfactual x and the factual x̂.

    A feature is written ``age`` or ``x.age``, its factual value ``factual.age``; names that are no
    identifiers stand between back-quotes.

    Args:
        text: An expression with a truth value.
        sorts: Sort of every feature.
        source: What messages call the text.
        ordered: Features whose labels are in rising order, so that ``<``, ``<=``, ``>``, ``>=``
            compare their positions.
        cells: What a cell holds for a number, for columns of floats (see :func:`as_cells`).

    Returns:
        A program with the output ``holds: Bool``; its inputs are the features that the constraint
        uses, and ``factual.<feature>`` for the factual values that it uses.

    Raises:
        LanguageError: with line and column: no syntax, an unknown name, a wrong sort.
        InvalidInputError: it uses a name that two features lay claim to, such as ``factual.y``
            next to a feature ``y``.
    """
    expression = unroll_expression(parse_expression(text, source), source=source)
    expression = as_cells(expression, cells or {})
    scope = _feature_scope(sorts, source, ordered)
    return _lower_value(expression, scope, HOLDS)


def _feature_scope(sorts: Mapping[str, Sort], source: str, ordered: Collection[str]) -> Scope:
    """Return the names ``age``, ``x.age`` and ``factual.age`` for every feature."""
    old = {name: f"factual.{name}" for name in sorts}
    # A later spelling takes precedence: a feature `x.age` is itself, not the feature `age`.
    aliases = {f"x.{name}": name for name in sorts}
    aliases |= {each: each for each in old.values()}
    aliases |= {name: name for name in sorts}
    clashes = sorts.keys() & set(old.values())
    inputs = {**sorts, **{old[name]: sort for name, sort in sorts.items()}}
    rising = {each for name in ordered for each in (name, f"factual.{name}")}
    return Scope(inputs, source, aliases=aliases, ordered=rising, clashes=clashes)


class Scope:
    """The inputs of a text and how it writes them.

    Attributes:
        sorts: Sort of every input.
        used: The inputs read so far.
        spelling: How the text writes an input.
    """

    def __init__(
        self,
        sorts: Mapping[str, Sort],
        source: str,
        *,
        aliases: Mapping[str, str] | None = None,
        ordered: Collection[str] = (),
        fixed: Mapping[str, Fraction] | None = None,
        clashes: Collection[str] = (),
    ) -> None:
        self.clashes = clashes
        self.fixed = dict(fixed or {})
        self.sorts, self.source, self.ordered = dict(sorts), source, ordered
        self.aliases = dict(aliases) if aliases is not None else {name: name for name in sorts}
        self.used: set[str] = set()
        self.spelling: dict[str, tuple[str, ...]] = {}
        self.violations: list[Violation] = []

    def read(self, node: ast.Name | ast.Index) -> ast.Expr:
        """Return the input that ``node`` stands for as a name of one part; unknown ones are noted.

        An unknown name becomes the number 0, so that all of them are found.
        """
        base = node.base if isinstance(node, ast.Index) else node
        written = ".".join(base.parts)
        if isinstance(node, ast.Index):
            assert isinstance(node.index, ast.Number)
            written = f"{written}.{node.index.value}"
        if written in self.fixed:
            return ast.Number(self.fixed[written], **node.place)
        name = self.aliases.get(written)
        if name is None:
            shown = ".".join(map(write_name, base.parts))
            message = self._unknown(written, shown, isinstance(node, ast.Index))
            self.violations.append(Violation(node.line, node.column, message))
            return ast.Number(Fraction(0), **node.place)
        if name in self.clashes:
            raise InvalidInputError(
                f"{self.source}: '{written}' is the feature '{name}' as well as the factual value "
                "of another feature; rename one of them"
            )
        self.used.add(name)
        if isinstance(node, ast.Name):
            self.spelling.setdefault(name, node.parts)
        return ast.Name((name,), **node.place)

    def _unknown(self, written: str, shown: str, indexed: bool) -> str:
        if f"{written}.1" in self.aliases or f"{written}.1" in self.fixed:
            return f"'{shown}' is an array: write one of its elements, such as {shown}[1]"
        if indexed:
            return f"there is no array '{shown}' with an element {written.rpartition('.')[2]}"
        for name, sort in self.sorts.items():
            if sort.kind == "category" and sort.labels.has(written):
                feature = write_path(name.removeprefix("factual."))
                return f"'{shown}' is unknown; quote labels: {feature} == {write_label(written)}"
        return f"'{shown}' is unknown{nearest_names(written, self._spellings())}"

    def _spellings(self) -> Iterator[str]:
        """Yield the shortest way to write each input, ``delta[1]`` for an array's element."""
        for written in {name: each for each, name in self.aliases.items()}.values():
            base, _, index = written.rpartition(".")
            array = index.isdecimal() and f"{base}.1" in self.aliases
            yield f"{base}[{index}]" if array else written

    def check(self) -> None:
        """Refuse the unknown names, if there are any."""
        if self.violations:
            refuse(self.violations, self.source)

    def used_inputs(self) -> tuple[tuple[str, Sort], ...]:
        """Return the inputs read so far, in the order of ``sorts``."""
        return tuple((name, sort) for name, sort in self.sorts.items() if name in self.used)


def _declared(program: ast.Program) -> dict[str, Sort]:
    """Return the inputs that the header declares."""
    inputs: dict[str, Sort] = {}
    for parameter in program.parameters:
        sort = parameter.sort
        if isinstance(sort, ast.ArraySort):
            assert isinstance(sort.length, ast.Number)
            for index in range(1, int(sort.length.value) + 1):
                inputs[f"{parameter.name}.{index}"] = _KINDS[sort.element.kind]
        elif isinstance(sort, ast.CategorySort):
            inputs[parameter.name] = category(
                *(new_label(constant_of(label)) for label in sort.labels)
            )
        else:
            assert isinstance(sort, ast.ScalarSort)
            inputs[parameter.name] = _KINDS[sort.kind]
    return inputs


def _lower_value(expression: ast.Expr, scope: Scope, output: str) -> Program:
    renamed = rewrite(
        expression,
        lambda node: scope.read(node) if isinstance(node, ast.Name | ast.Index) else node,
    )
    scope.check()
    emitter = Emitter(scope.sorts, scope.source, ordered=scope.ordered, spelling=scope.spelling)
    try:
        if output == HOLDS:
            operand = emitter.guard(renamed, "a constraint")
        else:
            operand = emitter.free(renamed).operand
    except Fault as fault:
        refuse([fault.violation], scope.source)
    body, outputs = tuple(emitter.block), ((output, operand),)
    return without_unused(Program(scope.source, scope.used_inputs(), body, outputs))


class _Lowering:
    """Emits a body in single assignment, command by command."""

    def __init__(self, single: SingleAssignment, scope: Scope) -> None:
        self.single, self.source = single, scope.source
        self.emitter = Emitter(
            infer_sorts(single.body, scope.sorts, single.spelling),
            scope.source,
            ordered=scope.ordered,
            spelling={**single.spelling, **scope.spelling},
        )
        self.violations: list[Violation] = []

    def run(self) -> tuple[tuple[Any, ...], tuple[tuple[str, Operand], ...]]:
        """Return the statements and the outputs."""
        run(self._command(self.single.body))
        if self.violations:
            refuse(self.violations, self.source)
        constants = self.emitter.constants
        outputs = tuple(
            (name, constants.get(held, held)) for name, held in self.single.outputs.items()
        )
        return tuple(self.emitter.block), outputs

    def _command(self, command: ast.Command) -> Generator[Any, Any, None]:
        if isinstance(command, ast.Sequence):
            for each in command.commands:
                yield self._command(each)
        elif isinstance(command, ast.If):
            yield self._conditional(command)
        elif isinstance(command, ast.Assign):
            try:
                self._assign(command)
            except Fault as fault:
                self.violations.append(fault.violation)

    def _assign(self, command: ast.Assign) -> None:
        """Append the assignment; constants and copies need none."""
        emitter, name = self.emitter, command.target
        if self.single.assignments[name] > 1:
            emitter.assign(name, command.value, command)
            return
        operand = emitter.value(command.value, emitter.sorts[name])
        if isinstance(operand, Literal) or not operand.startswith("%"):
            emitter.constants[name] = operand
        else:
            emitter.bind(name, operand, command)

    def _conditional(self, command: ast.If) -> Generator[Any, Any, None]:
        emitter = self.emitter
        try:
            condition = emitter.guard(command.guard)
        except Fault as fault:
            self.violations.append(fault.violation)
            condition = Literal(True)
        before, emitter.block = emitter.block, []
        yield self._command(command.then)
        then, emitter.block = emitter.block, []
        yield self._command(command.otherwise)
        orelse, emitter.block = emitter.block, before
        if then or orelse:
            before.append(If(condition, tuple(then), tuple(orelse)))

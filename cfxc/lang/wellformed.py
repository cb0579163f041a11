"""The well-formedness condition of the core language (Karimi et al., 2020, appendix A)."""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping
from fractions import Fraction
from typing import Any

from .ast import Assign, Command, Expr, For, If, Index, Name, Program, Return, Sequence, Skip
from .diagnostics import Fault, Violation, refuse, suggestion
from .node import Node
from .unroll import array_lengths, check_constant, evaluate_integer
from .walk import expressions, names, run, subcommands, subexpressions


def check_program(
    program: Program,
    *,
    inputs: Collection[str] | None = None,
    constants: Mapping[str, int | Fraction] | None = None,
) -> None:
    """Check that every run of ``program`` is defined and returns exactly once, at its end.

    A ``return`` has no successor, every path ends in one, and all name the same outputs.  On every
    path a variable is assigned before it is used.  Inputs, constants and loop variables are never
    assigned; loop bounds, indices and array lengths are constant.  A loop is taken to run at least
    once only if its bounds say so without the variables of enclosing loops.

    The inputs are the parameters of the header together with ``inputs`` (for ``factual.age`` the
    name is ``factual``).  Without header and ``inputs``, every variable that is never assigned is
    one.  Sorts, fields and the existence of array elements are not checked here.

    Raises:
        LanguageError: with the first violations in the order of the text.
    """
    checker = _Checker(program, inputs, dict(constants or {}))
    violations = checker.violations()
    if violations:
        refuse(violations, program.source)


class _Checker:
    """Walks the commands in the order of execution; ``after`` is the command that runs next."""

    def __init__(
        self, program: Program, inputs: Collection[str] | None, constants: dict[str, int | Fraction]
    ) -> None:
        self.program, self.constants = program, constants
        self.found: list[Violation] = []
        self.assigned: dict[str, Node] = {}
        self.loop_variables: dict[str, Node] = {}
        for command in subcommands(program.body):
            if isinstance(command, Assign):
                self.assigned.setdefault(command.target, command)
            elif isinstance(command, For):
                self.loop_variables.setdefault(command.variable, command)
        self.inputs = {parameter.name for parameter in program.parameters} | set(inputs or ())
        if program.name is None and inputs is None:
            self.inputs |= self._never_assigned()
        self.defined: set[str] = set()
        self.trail: list[str] = []  # `defined` in the order of definition
        self.partly: dict[str, tuple[str, Node]] = {}
        self.loops: dict[str, For] = {}
        self.reported: set[str] = set()
        self.outputs: Return | None = None

    def _never_assigned(self) -> set[str]:
        read = {
            name.root
            for command in subcommands(self.program.body)
            for expression in expressions(command)
            for name in names(expression)
        }
        return read - self.assigned.keys() - self.loop_variables.keys() - self.constants.keys()

    def violations(self) -> list[Violation]:
        self._header()
        run(self._command(self.program.body, None))
        return self.found

    def _report(self, place: Node, message: str) -> None:
        self.found.append(Violation(place.line, place.column, message))

    def _header(self) -> None:
        seen: set[str] = set()
        for parameter in self.program.parameters:
            name = parameter.name
            if name in seen:
                self._report(parameter, f"parameter '{name}' is declared twice")
            if name in self.constants:
                self._report(parameter, f"'{name}' is both a parameter and a constant")
            seen.add(name)
        try:
            array_lengths(self.program, self.constants)
        except Fault as fault:
            self.found.append(fault.violation)

    # -- commands: each step returns whether every path through the command returns ---------------

    def _command(self, command: Command, after: Command | None) -> Generator[Any, Any, bool]:
        if isinstance(command, Sequence):
            returns: bool = yield self._sequence(command, after)
            return returns
        for expression in () if isinstance(command, For) else expressions(command):
            self._expression(expression)
        if isinstance(command, Return):
            self._return(command, after)
            return True
        if isinstance(command, If):
            returns = yield self._conditional(command, after)
            return returns
        if isinstance(command, For):
            yield self._loop(command)
        elif isinstance(command, Assign):
            self._assign(command)
        if after is None:
            what = {Assign: "an assignment", For: "a loop"}.get(type(command), "skip")
            self._report(command, f"this path ends in {what}: it must end in a return")
        return False

    def _sequence(self, command: Sequence, after: Command | None) -> Generator[Any, Any, bool]:
        returns = False
        following = (*command.commands[1:], after)
        for each, successor in zip(command.commands, following, strict=True):
            returns = yield self._command(each, successor)
        return returns

    def _return(self, command: Return, after: Command | None) -> None:
        if isinstance(after, For):
            self._report(command, "a return inside a loop: the next round would follow it")
        elif after is not None:
            remedy = "put what follows into the other branch, or assign here and return at the end"
            where = f"line {after.line}" if after.line else "another command"
            self._report(command, f"a return is followed by {where}: {remedy}")
        if self.outputs is None:
            self.outputs = command
        elif command.names != self.outputs.names:
            message = (
                f"returns {_listed(command)}, but line {self.outputs.line} returns "
                f"{_listed(self.outputs)}: all returns name the same outputs in the same order"
            )
            self._report(command, message)

    def _conditional(self, command: If, after: Command | None) -> Generator[Any, Any, bool]:
        mark = len(self.trail)
        then_returns = yield self._command(command.then, after)
        then = self._retract(mark)
        if after is None and isinstance(command.otherwise, Skip):
            message = "nothing is returned when this guard is false: add 'else return …'"
            self._report(command, message)
            else_returns = False
        else:
            else_returns = yield self._command(command.otherwise, after)
        otherwise = self._retract(mark)
        # A branch that returns is never followed by anything, so what follows knows the other one.
        kept = otherwise if then_returns else then if else_returns else then & otherwise
        for name in kept:
            self._define(name)
        for name in (then | otherwise) - kept:
            self.partly[name] = ("is assigned in only one branch of the 'if'", command)
        return then_returns and else_returns

    def _loop(self, command: For) -> Generator[Any, Any, bool]:
        self._loop_variable(command)
        runs = self._bounds(command)
        mark = len(self.trail)
        outer = self.loops.get(command.variable)
        self.loops[command.variable] = command
        yield self._command(command.body, command)
        del self.loops[command.variable]
        if outer is not None:
            self.loops[command.variable] = outer
        if not runs:
            for name in self._retract(mark):
                self.partly[name] = (
                    "is assigned only inside the loop, which may not run,",
                    command,
                )
        return False

    def _loop_variable(self, command: For) -> None:
        name = command.variable
        kinds: tuple[tuple[Collection[str], str], ...] = (
            (self.loops, "an enclosing loop variable"),
            (self.constants, "a constant"),
            (self.inputs, "an input"),
            (self.assigned, "an assigned variable"),
        )
        for known, what in kinds:
            if name in known:
                self._report(command, f"loop variable '{name}' is {what} too: rename one of them")
                return

    def _bounds(self, command: For) -> bool:
        """Check both bounds; return whether the loop is known to run."""
        values: list[int] = []
        for bound in (command.first, command.last):
            try:
                # The values of enclosing loop variables are not known here.
                check_constant(bound, self.constants.keys() | self.loops.keys())
                if not any(name.root in self.loops for name in names(bound)):
                    values.append(evaluate_integer(bound, self.constants, "a loop bound"))
            except Fault as fault:
                self._fault("a loop bound must be constant", fault)
        return len(values) == 2 and values[0] <= values[1]

    def _fault(self, rule: str, fault: Fault) -> None:
        found = fault.violation
        self.found.append(Violation(found.line, found.column, f"{rule}: {found.message}"))

    def _assign(self, command: Assign) -> None:
        name = command.target
        for known, what in ((self.inputs, "an input"), (self.constants, "a constant")):
            if name in known:
                self._report(command, f"'{name}' is {what} and cannot be assigned")
                return
        self._define(name)

    # -- expressions -------------------------------------------------------------------------------

    def _expression(self, expression: Expr) -> None:
        for node in subexpressions(expression):
            if isinstance(node, Name):
                self._read(node)
            elif isinstance(node, Index):
                self._read(node.base)
                try:
                    check_constant(node.index, self.constants.keys() | self.loops.keys())
                except Fault as fault:
                    self._fault("an index must be constant", fault)

    def _read(self, name: Name) -> None:
        root = name.root
        if root in self.constants or root in self.loops:
            if len(name.parts) > 1:
                self._report(name, f"'{root}' is a number and has no fields")
        elif root not in self.defined and root not in self.inputs and root not in self.reported:
            self.reported.add(root)
            self._report(name, self._why_undefined(name))

    def _why_undefined(self, name: Name) -> str:
        root = name.root
        if root in self.partly:
            how, where = self.partly[root]
            return f"'{root}' may be undefined here: it {how} on line {where.line}"
        if root in self.assigned:
            assigned = self.assigned[root]
            if assigned.line < name.line:
                return f"'{root}' is assigned on line {assigned.line}, but not on the path to here"
            return f"'{root}' is used before it is assigned on line {assigned.line}"
        if root in self.loop_variables:
            return f"loop variable '{root}' has no value outside its loop"
        known = self.inputs | self.assigned.keys() | self.constants.keys()
        return f"'{root}' is neither an input nor assigned anywhere{suggestion(root, known)}"

    # -- definite assignment -----------------------------------------------------------------------

    def _define(self, name: str) -> None:
        if name not in self.defined:
            self.defined.add(name)
            self.trail.append(name)

    def _retract(self, mark: int) -> set[str]:
        """Forget and return the names defined since the trail had length ``mark``."""
        names_since = set(self.trail[mark:])
        del self.trail[mark:]
        self.defined -= names_since
        return names_since


def _listed(command: Return) -> str:
    return ", ".join(f"'{name}'" for name in command.names if name) or "one unnamed value"

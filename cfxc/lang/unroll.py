"""Loops to sequences: loops of the core language are bounded, hence unrolled (appendix A).

Constant expressions are their bounds, indices and array lengths.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Generator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from ..errors import InvalidInputError
from .ast import (
    ArraySort,
    Assign,
    Binary,
    Call,
    Command,
    Expr,
    For,
    If,
    Index,
    Name,
    Number,
    Output,
    Parameter,
    Program,
    Return,
    Sequence,
    Unary,
    sequence,
)
from .diagnostics import Fault, refuse
from .walk import fold, rewrite, run, subexpressions

_ARITHMETIC: Final[dict[str, Callable[[Fraction, Fraction], Fraction]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
_FUNCTIONS: Final[dict[str, Callable[[tuple[Fraction, ...]], Fraction]]] = {
    "abs": lambda values: abs(values[0]),
    "max": max,
    "min": min,
}


def check_constant(expression: Expr, known: Collection[str]) -> None:
    """Check that ``expression`` uses numbers, ``known`` names, ``+ - * /``, abs, max and min only.

    Raises:
        Fault: it does not; the place is that of the first offending part.
    """
    for node in subexpressions(expression):
        if isinstance(node, Name):
            if len(node.parts) > 1 or node.root not in known:
                listed = ", ".join(sorted(known)[:5]) or "none"
                name = ".".join(node.parts)
                raise Fault(node, f"'{name}' is not a constant (constants here: {listed})")
        elif not (
            isinstance(node, Number)
            or (isinstance(node, Unary) and node.operator == "-")
            or (isinstance(node, Binary) and node.operator in _ARITHMETIC)
            or (isinstance(node, Call) and node.function in _FUNCTIONS)
        ):
            raise Fault(node, "not a constant: use numbers, constants, + - * /, abs, max and min")


def evaluate(expression: Expr, values: Mapping[str, int | Fraction]) -> Fraction:
    """Return the exact value of a constant expression over the named ``values``.

    Raises:
        Fault: it is not constant (:func:`check_constant`), or divides by zero.
    """
    check_constant(expression, values)

    def combine(node: Expr, operands: tuple[Fraction, ...]) -> Fraction:
        if isinstance(node, Number):
            return node.value
        if isinstance(node, Name):
            return Fraction(values[node.root])
        if isinstance(node, Call):
            return _FUNCTIONS[node.function](operands)
        if isinstance(node, Binary):
            if node.operator == "/" and not operands[1]:
                raise Fault(node, "division by zero in a constant expression")
            return _ARITHMETIC[node.operator](*operands)
        return -operands[0]

    return fold(expression, combine)


def evaluate_integer(expression: Expr, values: Mapping[str, int | Fraction], what: str) -> int:
    """Return the value of a constant expression that must be an integer (``what`` names it)."""
    value = evaluate(expression, values)
    if value.denominator != 1:
        raise Fault(expression, f"{what} must be an integer, not {value}")
    return value.numerator


def array_lengths(program: Program, constants: Mapping[str, int | Fraction]) -> dict[str, int]:
    """Return the length of every array among the parameters; Fault if one is not positive."""
    lengths = {}
    for parameter in program.parameters:
        if isinstance(parameter.sort, ArraySort):
            length = evaluate_integer(parameter.sort.length, constants, "an array length")
            if length < 1:
                raise Fault(
                    parameter.sort.length, f"an array has one element or more, not {length}"
                )
            lengths[parameter.name] = length
    return lengths


#: A program that unrolls to more commands than this is refused.
MAX_COMMANDS = 1_000_000


def unroll_program(
    program: Program,
    *,
    constants: Mapping[str, int | Fraction] | None = None,
    limit: int = MAX_COMMANDS,
) -> Program:
    """Return ``program`` without loops: constants and loop variables are replaced by their values.

    ``for i = m..n do c`` becomes ``c[m/i]; …; c[n/i]`` (``skip`` if n < m).  Indices and array
    lengths become numbers.  The program has passed :func:`~.wellformed.check_program`.

    Raises:
        LanguageError: a bound or index is not a constant integer, an index lies outside an array of
            known length, a division by zero arises, or there are more than ``limit`` commands.
    """
    try:
        return _Unroller(program, dict(constants or {}), limit).program_without_loops()
    except Fault as fault:
        refuse([fault.violation], program.source)


def unroll_expression(expression: Expr, *, source: str = "expression") -> Expr:
    """Return ``expression`` with its indices folded to numbers.

    Raises:
        LanguageError: as :func:`unroll_program`.
    """
    unroller = _Unroller(Program(None, (), sequence(())), {}, 0)
    try:
        return unroller.expression(expression)
    except Fault as fault:
        refuse([fault.violation], source)


class _Unroller:
    """``values`` holds the constants and the current values of enclosing loop variables."""

    def __init__(self, program: Program, values: dict[str, int | Fraction], limit: int) -> None:
        self.program, self.values, self.limit = program, values, limit
        self.lengths = array_lengths(program, values)
        self.left = limit

    def program_without_loops(self) -> Program:
        parameters = tuple(map(self._parameter, self.program.parameters))
        body = run(self._command(self.program.body))
        return replace(self.program, parameters=parameters, body=body)

    def _parameter(self, parameter: Parameter) -> Parameter:
        sort = parameter.sort
        if not isinstance(sort, ArraySort):
            return parameter
        length = Number(Fraction(self.lengths[parameter.name]), **sort.length.place)
        return replace(parameter, sort=replace(sort, length=length))

    def _count(self, place: Command, more: int) -> None:
        self.left -= more
        if self.left < 0:
            raise Fault(place, f"the program unrolls to more than {self.limit} commands")

    # -- commands ----------------------------------------------------------------------------------

    def _command(self, old: Command) -> Generator[Any, Any, Command]:
        if isinstance(old, Sequence):
            commands = []
            for each in old.commands:
                commands.append((yield self._command(each)))
            return sequence(commands, **old.place)
        if isinstance(old, For):
            unrolled: Command = yield self._loop(old)
            return unrolled
        self._count(old, 1)
        if isinstance(old, If):
            guard = self.expression(old.guard)
            then = yield self._command(old.then)
            otherwise = yield self._command(old.otherwise)
            return replace(old, guard=guard, then=then, otherwise=otherwise)
        if isinstance(old, Assign):
            if old.target in self.values:
                raise Fault(old, f"'{old.target}' is a constant and cannot be assigned")
            return replace(old, value=self.expression(old.value))
        if isinstance(old, Return):
            return replace(old, outputs=tuple(map(self._output, old.outputs)))
        return old

    def _output(self, output: Output) -> Output:
        return replace(output, value=self.expression(output.value))

    def _loop(self, old: For) -> Generator[Any, Any, Command]:
        first = evaluate_integer(old.first, self.values, "a loop bound")
        last = evaluate_integer(old.last, self.values, "a loop bound")
        if old.variable in self.values:
            raise Fault(old, f"loop variable '{old.variable}' already has a value here")
        self._count(old, max(0, last - first + 1))
        rounds = []
        for value in range(first, last + 1):
            self.values[old.variable] = value
            rounds.append((yield self._command(old.body)))
        self.values.pop(old.variable, None)
        return sequence(rounds, **old.place)

    # -- expressions -------------------------------------------------------------------------------

    def expression(self, old: Expr) -> Expr:
        try:
            return rewrite(old, self._rule)
        except InvalidInputError as error:
            raise Fault(old, error.message) from None

    def _rule(self, node: Expr) -> Expr:
        if isinstance(node, Name) and len(node.parts) == 1 and node.root in self.values:
            return Number(Fraction(self.values[node.root]), **node.place)
        if isinstance(node, Index):
            return self._index(node)
        return node

    def _index(self, node: Index) -> Index:
        position = evaluate_integer(node.index, self.values, "an index")
        base = ".".join(node.base.parts)
        length = self.lengths.get(base) if len(node.base.parts) == 1 else None
        if position < 1 or (length is not None and position > length):
            known = "1 and up" if length is None else f"1 to {length}"
            raise Fault(
                node.index, f"index {position} lies outside {base}, whose elements are {known}"
            )
        return replace(node, index=Number(Fraction(position), **node.index.place))

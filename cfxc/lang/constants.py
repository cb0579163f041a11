"""Constant expressions: loop bounds, indices and array lengths."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping
from fractions import Fraction
from typing import Final

from .ast import ArraySort, Binary, Call, Expr, Name, Number, Program, Unary
from .diagnostics import Fault
from .walk import fold, subexpressions

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

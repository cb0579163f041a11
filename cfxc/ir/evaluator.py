"""The reference evaluator: what a program means, in exact rationals.

Every back end is tested against this one.  Inputs and outputs are exact: ``Fraction`` or ``int``
for numbers, ``bool``, labels for categories; vectors are numpy object arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InvalidInputError, VerificationError
from .interval import Bounds, Choice, Interval
from .op import Literal, Operand, Value
from .program import Program
from .sorts import Sort, format_name, preview
from .statements import If, Let, Statement


def evaluate(program: Program, inputs: Mapping[str, Any]) -> dict[str, Value]:
    """Run ``program`` exactly; returns output name → value.

    Floats are taken for the rationals they are.  Raises ``InvalidInputError`` for a missing,
    superfluous or ill-sorted input.
    """
    program.sorts  # noqa: B018  # verifies on first use
    names = [name for name, _ in program.inputs]
    if set(names) != set(inputs):
        odd = sorted(map(format_name, set(names) ^ set(inputs)))
        raise InvalidInputError(f"program {program.name}: inputs missing or unknown: {odd[:7]}")
    values = {name: exact_value(inputs[name], sort, name) for name, sort in program.inputs}
    run(program.body, values)
    return {name: _read(values, operand) for name, operand in program.outputs}


def run(body: tuple[Statement, ...], values: dict[str, Value]) -> None:
    """Execute statements, extending ``values`` in place."""
    stack = [iter(body)]
    while stack:
        statement = next(stack[-1], None)
        if statement is None:
            stack.pop()
        elif isinstance(statement, Let):
            arguments = [_read(values, operand) for operand in statement.op.operands()]
            try:
                values[statement.name] = statement.op.evaluate(*arguments)
            except VerificationError as error:
                if not statement.origin:
                    raise
                raise VerificationError(f"{statement.origin}: {error}") from error
        elif isinstance(statement, If):
            chosen = statement.then if _read(values, statement.condition) else statement.orelse
            stack.append(iter(chosen))


def _read(values: Mapping[str, Value], operand: Operand) -> Value:
    return operand.value if isinstance(operand, Literal) else values[operand]


def _as_array(value: Any) -> Array:
    try:
        return np.asarray(value, dtype=object)
    except ValueError:  # a ragged list of arrays
        return np.empty((), dtype=object)


def exact_value(value: Any, sort: Sort, name: str = "value") -> Value:
    """``value`` as an exact value of ``sort``; ``InvalidInputError`` if it is not one."""
    if sort.shape:
        array = _as_array(value)
        if array.shape != sort.shape:
            raise InvalidInputError(f"{name}: shape {array.shape} where {sort} is expected")
        flat = np.empty(array.size, dtype=object)
        scalar = sort.with_shape(())
        flat[:] = [exact_value(item, scalar, name) for item in array.ravel().tolist()]
        return flat.reshape(sort.shape)
    if isinstance(value, np.generic):
        value = value.item()
    if sort.kind == "category":
        if not sort.labels.has(value):
            raise InvalidInputError(f"{name}: {value!r} is not among {preview(sort.labels)}")
        return value
    if sort.kind == "bool":
        if isinstance(value, bool):
            return value
    elif isinstance(value, int | float | Fraction) and not isinstance(value, bool):
        try:
            exact = Fraction(value)
        except (OverflowError, ValueError):
            raise InvalidInputError(f"{name}: {value} is not a finite number") from None
        if sort.kind == "real":
            return exact
        if exact.denominator == 1:
            return int(exact)
    raise InvalidInputError(f"{name}: {value!r} is not a value of {sort}")


def enclose(program: Program, inputs: Mapping[str, Bounds]) -> dict[str, Bounds]:
    """A sound enclosure of every value, by interval arithmetic, for inputs within theirs.

    Both branches of an ``if`` count: a name that both assign gets the hull.
    """
    found = dict(inputs)
    for statement in program.lets():
        operands = (_bounds_of(operand, found) for operand in statement.op.operands())
        bounds = statement.op.interval(*operands)
        before = found.get(statement.name)
        found[statement.name] = bounds if before is None else _hull(before, bounds)
    return found


def _bounds_of(operand: Operand, found: Mapping[str, Bounds]) -> Bounds:
    if not isinstance(operand, Literal):
        return found[operand]
    value = int(operand.value) if isinstance(operand.value, bool) else operand.value
    return Interval.exact(value, value)


def _hull(first: Bounds, second: Bounds) -> Bounds:
    if isinstance(first, Interval) and isinstance(second, Interval):
        return first.hull(second)
    assert isinstance(first, Choice)
    assert isinstance(second, Choice)
    return Choice(first.labels, first.possible | second.possible)

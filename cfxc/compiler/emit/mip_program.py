"""A program, from its inputs to its outputs, as a mixed-integer program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import UnsupportedError
from ...ir import Program, Sort
from ...ir.sorts import format_label
from ..functional import Symbolic, functional
from ..mixed_integer import Number
from ..terms import Pool, Term
from .mip import Emission, Emitter, least, refused


def emit_program(program: Program, ranges: Mapping[str, tuple[Number, Number]]) -> Emission:
    """Inputs and outputs of a program as columns, feasible where they belong together.

    A category is one binary per label, of inputs and outputs alike; ``ranges`` bound the numeric
    inputs.  Output columns are named after the outputs.

    Raises:
        UnsupportedError: listing every op that has no encoding, or a number without bounds.
    """
    if offences := refused(program):
        raise UnsupportedError("no mixed-integer program", offences)
    pool = Pool()
    inputs = {name: _declare(pool, name, sort, ranges.get(name)) for name, sort in program.inputs}
    emitter = Emitter(pool, Emission())
    for value in inputs.values():
        for guard in value.guards if isinstance(value, Symbolic) else (value,):
            emitter.variable(guard)
    outputs = functional(program, inputs, pool)
    terms = [pair for name, value in outputs.items() for pair in _named_terms(name, value)]
    for _, term in terms:  # outputs are defined exactly, whatever is asked of them later
        if term.sort == "bool":
            emitter.orient((term, pool.not_(term)))
        else:
            emitter.orient((least(pool, term), least(pool, pool.neg(term))))
    emitter.prepare([term for _, term in terms])
    for label, term in terms:
        if term.sort == "bool":
            column, form = emitter.model.binary(label), emitter.exact(term)
        else:
            form = emitter.number(term)
            column = emitter.model.column(label, *emitter.model.range(form), term.sort == "int")
        emitter.model.constrain(column - form, 0, 0, "output")
    return emitter.emission


def _declare(pool: Pool, name: str, sort: Sort, ends: tuple[Number, Number] | None) -> Any:
    """An input as a variable, or as one guard per label."""
    if sort.kind == "category":
        guards = [pool.unique(f"{name}={format_label(x)}", "bool") for x in sort.labels]
        pool.group(guards)
        return Symbolic(sort.labels, tuple(guards))
    if sort.kind == "bool":
        return pool.unique(name, "bool")
    low, high = ends or (None, None)
    return pool.unique(name, "int" if sort.kind == "int" else "real", low, high)


def _named_terms(name: str, value: Any) -> list[tuple[str, Term]]:
    """The terms of an output, each with the name of its column."""
    if isinstance(value, Symbolic):
        pairs = zip(value.labels, value.guards, strict=True)
        return [(f"{name}={format_label(label)}", guard) for label, guard in pairs]
    if isinstance(value, Term):
        return [(name, value)]
    return [(f"{name}[{i}]", term) for i, term in enumerate(value.ravel())]


__all__ = ["emit_program"]

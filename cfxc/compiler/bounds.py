"""Ranges of a program's variables, from the ranges of its inputs.

:func:`variable_ranges` is interval arithmetic; :func:`linear_bounds` relates values linearly, and
is tighter where they share inputs (see ``relaxation``, and ``linear_programs``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, isfinite
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InvalidInputError, UnsupportedError
from ..ir import If, Let, Program, Sort, Statement
from ..ir.evaluator import enclose
from ..ir.interval import Bounds as Enclosure
from ..ir.interval import Choice, Interval, ceil_float, floor_float
from ..ir.linear import Number
from .emit.mip import NUMBERS, Emitter
from .emit.rows import Emission
from .functional import Symbolic, functional
from .mixed_integer import Affine, Model
from .relaxation import CURVES, Bounds, Relaxation
from .terms import Pool, Term
from .transform import Ranges

Objects = Array
Box = Mapping[str, Any]
"""Per input ``(lower, upper)`` (of each entry alike), or the labels that a category may have."""


@dataclass(frozen=True)
class LinearBounds:
    """Bounds of numeric values, and what repeats them exactly.

    ``forms`` and ``bounds`` have, per value name, arrays of its shape.
    """

    relaxation: Relaxation
    forms: Mapping[str, Objects]
    bounds: Mapping[str, Objects]

    def lower(self, name: str) -> Objects:
        """Lower bounds of a value, exact rationals of its shape."""
        return _mapped(lambda found: found.lower, self.bounds[name])

    def upper(self, name: str) -> Objects:
        """Upper bounds of a value, exact rationals of its shape."""
        return _mapped(lambda found: found.upper, self.bounds[name])

    def replay(self, name: str) -> Objects:
        """``(lower, upper)`` of each entry again, in exact rationals, from multipliers alone."""

        def pair(form: Affine, found: Bounds) -> tuple[Fraction, Fraction]:
            below = found.below.replay(self.relaxation, -form)
            return -below, found.above.replay(self.relaxation, form)

        forms, bounds = self.forms[name], self.bounds[name]
        pairs = [pair(f, b) for f, b in zip(forms.ravel(), bounds.ravel(), strict=True)]
        return _filled(pairs, forms.shape)


def linear_bounds(program: Program, box: Box) -> LinearBounds:
    """Bounds of every numeric value that is visible at the end of a program (either level).

    Sound for all inputs in the box: numbers in [lower, upper], categories among the labels given,
    Booleans free.

    Raises:
        InvalidInputError: a number without bounds.
        UnsupportedError: a division by something that varies, or a product without bounds.
    """
    pool = Pool()
    inputs = {name: _input(pool, name, sort, box.get(name)) for name, sort in program.inputs}
    sorts = program.sorts
    names = [name for name in _visible(program.body) if sorts[name].is_numeric]
    names += [name for name, sort in program.inputs if sort.is_numeric]
    required = dict.fromkeys(names)
    if not required:
        return LinearBounds(Relaxation(Model()), {}, {})
    probe = Program(program.name, program.inputs, program.body, tuple((n, n) for n in required))
    terms = {
        name: np.asarray(t, dtype=object) for name, t in functional(probe, inputs, pool).items()
    }
    emitter = _Enclosing(pool, Emission())
    every = [term for array in terms.values() for term in array.ravel()]
    emitter.prepare(every)
    forms = {name: _mapped(emitter.number, array) for name, array in terms.items()}
    found = iter(emitter.relaxation.bounds([f for array in forms.values() for f in array.ravel()]))
    bounds = {name: _mapped(lambda _: next(found), array) for name, array in forms.items()}
    return LinearBounds(emitter.relaxation, forms, bounds)


class _Enclosing(Emitter):
    """Writes terms without rows where bounds are enough: products and smooth functions too."""

    curves = CURVES

    def _boxed(self, term: Term) -> Affine:
        if term.data in self.curves:
            return self._applied(term)
        if term.lower is None or term.upper is None:
            raise UnsupportedError(f"'{term.data or term.kind}' over an unbounded range")
        name = f"{term.kind}{len(self.model.columns)}"
        return self.model.column(name, term.lower, term.upper)

    numbers = {**NUMBERS, "apply": _boxed, "mul": _boxed}  # noqa: RUF012  # as in Emitter, never changed


def _input(pool: Pool, name: str, sort: Sort, given: Any) -> Any:
    if sort.kind == "category":
        possible = sort.labels if given is None else given
        open_ = {sort.index(label) for label in possible}
        guards = [
            pool.unique(f"{name}={i}", "bool") if i in open_ else pool.false
            for i in range(len(sort.labels))
        ]
        pool.group([guard for guard in guards if guard.kind == "var"])
        return Symbolic(sort.labels, tuple(guards))
    if sort.shape:
        count = int(np.prod(sort.shape))
        scalar = sort.with_shape(())
        return _filled(
            [_input(pool, f"{name}[{i}]", scalar, given) for i in range(count)], sort.shape
        )
    if sort.kind == "bool":
        return pool.unique(name, "bool")
    if given is None or None in tuple(given):
        raise InvalidInputError(f"linear bounds: input '{name}' needs a lower and an upper bound")
    low, high = map(Fraction, given)
    return pool.unique(name, "int" if sort.kind == "int" else "real", low, high)


def _visible(body: Iterable[Statement]) -> list[str]:
    """Names that are assigned whichever branches run."""
    found: dict[str, None] = {}
    for statement in body:
        if isinstance(statement, Let):
            found[statement.name] = None
        elif isinstance(statement, If):
            other = set(_visible(statement.orelse))
            found.update((name, None) for name in _visible(statement.then) if name in other)
    return list(found)


def _filled(items: Sequence[Any], shape: tuple[int, ...]) -> Objects:
    out = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        out[i] = item
    return out.reshape(shape)


def _mapped(function: Any, array: Objects) -> Objects:
    return _filled([function(item) for item in array.ravel()], array.shape)


def variable_ranges(program: Program, inputs: Ranges) -> Ranges:
    """Ranges of the inputs, and of every numeric variable of a core-level program; sound.

    Inputs that are not named are unbounded; ends that are not finite are ``None``.
    """
    box = {name: _box(sort, *inputs.get(name, (None, None))) for name, sort in program.inputs}
    ranges: dict[str, tuple[Number | None, Number | None]] = {}
    for name, bounds in enclose(program, box).items():
        sort = program.sorts[name]
        if isinstance(bounds, Interval) and sort.is_numeric and not sort.shape:
            low, high = float(bounds.lower), float(bounds.upper)
            exact = Fraction if sort.kind == "real" else None
            ranges[name] = (
                (exact or ceil)(low) if isfinite(low) else None,
                (exact or floor)(high) if isfinite(high) else None,
            )
    return {**ranges, **inputs}


def _box(sort: Sort, lower: Number | None, upper: Number | None) -> Enclosure:
    if sort.kind == "category":
        return Choice.among(sort.labels, sort.labels)
    if sort.kind == "bool":
        return Interval.of(0.0, 1.0)
    low = -float("inf") if lower is None else floor_float(lower)
    high = float("inf") if upper is None else ceil_float(upper)
    return Interval.of(low, high)

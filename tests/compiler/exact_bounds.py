"""Bounds in exact rationals, from multipliers alone; and those of every value of a program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from cfxc.arrays import Floats
from cfxc.compiler.emit.mip import NUMBERS, Emitter
from cfxc.compiler.emit.rows import Emission
from cfxc.compiler.functional import Symbolic, functional
from cfxc.compiler.linear_programs import rows, usable
from cfxc.compiler.mixed_integer import Affine, Model, Rounded
from cfxc.compiler.relaxation import CURVES, Bounds, Proof, Relaxation
from cfxc.compiler.terms import Pool, Term
from cfxc.errors import UnsupportedError
from cfxc.ir import If, Let, Program, Sort, Statement
from cfxc.ir.linear import ZERO, LinearForm

Objects = npt.NDArray[Any]
Box = Mapping[str, Any]
"""Per input ``(lower, upper)`` (of each entry alike), or the labels that a category may have."""


def replayed(proof: Proof, relaxation: Relaxation, form: Affine) -> Fraction:
    """The bound in exact rationals, from a proof's multipliers alone; at most its ``bound``."""
    parts: list[tuple[Fraction, Affine]] = [(Fraction(1), form)]
    for index, share in proof.above.items():
        unit, factor = relaxation.units[index], Fraction(share)
        chord = Fraction(unit.slope) * unit.z + Fraction(unit.offset)
        parts += [(factor, chord), (-factor, LinearForm({unit.column: Fraction(1)}))]
    for index, share in proof.below.items():
        unit, factor = relaxation.units[index], Fraction(share)
        line = Fraction(unit.tilt) * unit.z + Fraction(unit.base)
        parts += [(factor, LinearForm({unit.column: Fraction(1)})), (-factor, line)]
    if proof.budget:
        cost, radius = relaxation.budget or (LinearForm({}), ZERO)
        factor = Fraction(proof.budget)
        parts += [(factor, LinearForm.of(radius)), (-factor, cost)]
    return relaxation.most(LinearForm.sum(parts))


def replay(program: Rounded, form: Affine, multipliers: Floats) -> Fraction:
    """The lower bound that multipliers prove of a form, in exact rationals."""
    rest = dict(form.terms)
    total = form.constant
    y = usable(program, multipliers).tolist()
    for i, (entries, low, high) in enumerate(rows(program)):
        if not y[i]:
            continue
        factor = Fraction(y[i])
        total += factor * Fraction(low if factor > 0 else high)
        for j, value in entries:
            rest[j] = rest.get(j, Fraction(0)) - factor * Fraction(value)
    for j, factor in rest.items():
        total += factor * Fraction(float((program.lower if factor > 0 else program.upper)[j]))
    return total


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
            below = replayed(found.below, self.relaxation, -form)
            return -below, replayed(found.above, self.relaxation, form)

        forms, bounds = self.forms[name], self.bounds[name]
        pairs = [pair(f, b) for f, b in zip(forms.ravel(), bounds.ravel(), strict=True)]
        return _filled(pairs, forms.shape)


def linear_bounds(program: Program, box: Box) -> LinearBounds:
    """Bounds of every numeric value that is visible at the end of a program (either level).

    Sound for all inputs in the box: numbers in [lower, upper], categories among the labels given,
    Booleans free.
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

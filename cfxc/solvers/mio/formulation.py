"""A query within a radius as a mixed-integer program: minimise the distance over φ(x).

The formula is the oracle's (trees pruned to the ball, cells where numbers are only compared); what
differs is how numbers that enter arithmetic are written.  Under a distance made of norms,

    x = x̂ + p - n  with p, n >= 0,    δ_j = (p + n) / R_j,

on the grid of the feature's resolution if it has one; so the distance is linear, and the row
"distance <= radius" is the budget of every bound that the encoder derives.  Under l2, a column for
δ_j² lies above tangents of the parabola, and solutions tell where more of them are needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any, Self

from ...arrays import Floats
from ...compiler.emit.mip import Emitter, least
from ...compiler.emit.rows import Emission
from ...compiler.functional import Symbolic, functional
from ...compiler.linear_programs import Relaxed
from ...compiler.mixed_integer import Affine, Model, Rounded
from ...compiler.relaxation import CURVES
from ...compiler.rewriting import AbsorbingPool
from ...compiler.terms import Pool, Term, postorder
from ...ir.linear import ONE, ZERO, LinearForm
from ...question.distances import Norms, root_above
from ...question.domain import Domain
from ...question.query import Query
from ...stopping import now
from ..encoding.ball import weights_of
from ..encoding.cells import CellVariables, Window, between_values
from ..encoding.formula import Encoder, Encoding
from ..encoding.squares import coordinate_parts, whitened_forms, whitened_name
from ..hulls import Face

DISTANCE = "distance"  # why the row for the radius is there


@dataclass(frozen=True)
class Formulation:
    """A query as a program, and how to read a solution of it as a point."""

    emission: Emission
    encoding: Encoding
    writer: _Writer

    @property
    def model(self) -> Model:
        """The program for solvers; searches by regions do without the rows of its maxima."""
        return self.emission.complete()

    @property
    def is_curved(self) -> bool:
        """Whether it is but a relaxation, because of smooth functions."""
        return any(unit.curve >= 0 for unit in self.emission.relaxation.units)

    @property
    def is_refuted(self) -> bool:
        """Whether exact bounds alone show that no point qualifies."""
        return self.emission.model.refuted

    def rewritten(self) -> Formulation:
        """The same with the tangents known by now."""
        writer = self.writer.again(self.writer.known)
        writer.write()
        return Formulation(writer.emission, self.encoding, writer)

    def tightened(self, program: Rounded, deadline: float) -> Formulation:
        """The same with the open signs of its maxima bounded by linear programs.

        ``program`` is the model in doubles; every bound takes its target, constraints and distance
        into account.  Stops at the deadline with what it has.
        """
        relaxed, known = Relaxed(program), dict[Term, tuple[Fraction, Fraction]]()
        for term, (gap, (low, high)) in self.emission.gaps.items():
            if now() >= deadline:
                break
            least, most = relaxed.least(gap).bound, -relaxed.least(-gap).bound
            known[term] = max(low, Fraction(least)), min(high, Fraction(most))
        writer = self.writer.again(known)
        writer.write()
        return Formulation(writer.emission, self.encoding, writer)

    def lift(self, values: Floats) -> dict[str, Any]:
        """The point of a solution: integers rounded, numbers at the nearest admissible value.

        ``values``: of all columns, or of those before the phases.
        """
        columns = self.emission.model.columns[: len(values)]
        exact = [
            Fraction(round(value)) if column.whole else Fraction(value)
            for column, value in zip(columns, values.tolist(), strict=True)
        ]
        return self.encoding.lift(self.emission.read(exact))


class Formulator(Encoder):
    """Formulates one query at any radius.

    Attributes:
        faces: Of the query's hull, as many as are known; the program lies within them.
        targets: Whether the target is part of the program.
    """

    def __init__(self, query: Query, use_cells: bool = True, targets: bool = True) -> None:
        super().__init__(query, use_cells)
        self.faces: list[Face] = []
        self.targets = targets

    def without(self, point: Mapping[str, Any]) -> Self:
        """The same for the query that excludes a point."""
        other = super().without(point)
        other.faces = self.faces
        return other

    def formulate(self, radius: Fraction | None, margin: Fraction = ZERO) -> Formulation:
        """The program for the nearest admissible point in the target within ``radius``.

        ``radius`` may be ``None``, for no limit, under distances that are not made of norms.

        Raises:
            UnsupportedError: the program has no encoding (see :func:`refuses`).
        """
        query, pool = self.query, AbsorbingPool()
        windows = self.windows(radius)
        norms = query.distance.norms
        inputs, facts = self._facts(pool, windows, radius, margin)
        domains = {domain.name: domain for domain in query.domains}
        cells = None
        if norms is not None and radius is not None and not query.hulls:
            cells = CellVariables.of(pool, facts, inputs, query.domains, windows)
        if cells is not None:
            facts = cells.rewrite(facts)
        writer = _Writer(self, pool, inputs, facts, windows, cells, radius)
        if cells is None:
            facts = between_values(pool, facts, inputs, query.domains)
            facts += self._grids(pool, writer.ungridded(), windows)
            writer.facts = facts
        writer.write()
        encoding = Encoding(pool, facts, inputs, domains, cells)
        return Formulation(writer.emission, encoding, writer)

    def multiplies(self, radius: Fraction | None) -> bool:
        """Whether numbers that both vary are multiplied, once what is constant is folded.

        Raises:
            UnsupportedError: one is divided by another.
        """
        pool = AbsorbingPool()
        inputs, terms = self._facts(pool, self.windows(radius), radius)
        if self.query.distance.norms is None and not self.query.distance.has_squares:
            terms.append(self.distance(pool, inputs))
        return any(term.kind == "mul" for term in postorder(terms))

    def _facts(
        self, pool: Pool, windows: list[Window], radius: Fraction | None, margin: Fraction = ZERO
    ) -> tuple[dict[str, Any], list[Term]]:
        """The features as terms, and what holds of them within ``radius``: rules and target."""
        inputs, facts = self._admissible(pool, windows)
        if self.targets:
            program = self.target(margin)
            if radius is not None:
                program = self.pruned(program, radius, windows)
            facts.append(functional(program, inputs, pool)["in_target"])
        return inputs, facts


class _Curved(Emitter):
    """Smooth functions become columns between lines, for the search by regions."""

    curves = CURVES


@dataclass(frozen=True, slots=True)
class Square:
    """A column that stands for y², and lies above tangents of it; ``sides``: the signs of y."""

    name: str
    column: int
    y: Affine
    sides: Sequence[int]

    def tangent(self, place: Fraction, side: int) -> Affine:
        """``s - (2 t y - t²)`` for the tangent at t, which is at least 0."""
        form = LinearForm({self.column: Fraction(1)}, place * place)
        return form + -2 * side * place * self.y

    def root(self, values: Floats) -> float:
        """y at a point."""
        terms = ((j, float(factor)) for j, factor in self.y.terms.items())
        return sum((factor * float(values[j]) for j, factor in terms), float(self.y.constant))


@dataclass(frozen=True, slots=True)
class Move:
    """How one feature may change: δ_j, a form that is 1 where it changed, else 0, and δ_j²."""

    delta: Affine
    changed: Affine
    square: Affine


class _Writer:
    """Writes facts and the distance of one query into a program."""

    def __init__(
        self,
        formulator: Formulator,
        pool: Pool,
        inputs: Mapping[str, Any],
        facts: list[Term],
        windows: Sequence[Window],
        cells: CellVariables | None,
        radius: Fraction | None,
        known: Mapping[Term, tuple[Fraction, Fraction]] | None = None,
    ) -> None:
        self.formulator, self.query = formulator, formulator.query
        self.pool, self.inputs, self.facts, self.cells = pool, inputs, facts, cells
        self.radius, self.all_windows, self.known = radius, windows, known or {}
        self.emission = Emission(shifted=True)
        self.model = self.emission.model
        self.squares: list[Square] = []
        self.coordinates: list[Affine] = []  # of the hull, if there is one
        self.slack = -1
        self.pairs: list[tuple[int, ...]] = []  # columns p and n of one feature
        self.roundings: set[int] = set()  # columns of what a cell's float may be off
        self.flags: dict[int, int] = {}  # binaries that are 1 where another column is not 0
        self.windows = {d.name: w for d, w in zip(self.query.domains, windows, strict=True)}

    def again(self, known: Mapping[Term, tuple[Fraction, Fraction]]) -> _Writer:
        """A writer of the same, with better bounds."""
        return _Writer(
            self.formulator, self.pool, self.inputs, self.facts, self.all_windows, self.cells,
            self.radius, known,
        )  # fmt: skip

    def write(self) -> None:
        """The facts, and the distance as objective and row."""
        if any(fact.is_false for fact in self.facts):
            self.model.refuted = True
        elif self.query.distance.norms is not None:
            self._write_norms(self.query.distance.norms)
        elif self.query.distance.whitening is not None:
            self._write_whitened()
        else:
            self._write_own(self.formulator.distance(self.pool, self.inputs))

    def _write_norms(self, norms: Norms) -> None:
        """The facts, minimising a distance made of norms."""
        numeric = {
            domain.name: self._split(domain, norms)
            for domain in self.query.domains
            if self._is_arithmetic(domain)
        }
        emitter = _Curved(self.pool, self.emission, self.known)
        moves = [
            numeric[domain.name] if domain.name in numeric else self._move(emitter, domain)
            for domain in self.query.domains
        ]
        weights = weights_of(self.query)
        total, largest = sum(weights, ZERO), max(weights)
        parts = [
            pair
            for weight, move in zip(weights, moves, strict=True)
            for pair in (
                (norms.l0 * weight / total, move.changed),
                (norms.l1 * weight / total, move.delta),
                (norms.l2 * weight / total, move.square),
            )
        ]
        distance = LinearForm.sum(parts)
        if norms.linf:
            top = self.model.column("linf", 0, 1)
            for weight, move in zip(weights, moves, strict=True):
                self.model.constrain(top - weight / largest * move.delta, 0, None, "linf")
            distance = distance + norms.linf * top
        self._minimise(distance, emitter)
        emitter.orient(self.facts)
        self._require(emitter)

    def _write_whitened(self) -> None:
        """The facts, minimising the squares of W (z - ẑ)."""
        emitter = _Curved(self.pool, self.emission, self.known)
        squares: list[Affine] = []
        forms = whitened_forms(self.query, self.inputs, emitter.number, emitter.exact)
        for i, (parts, constant) in enumerate(forms):
            y = LinearForm.sum(parts) + constant
            squares.append(self._squared(y, whitened_name(i), (1, -1)))
        self._minimise(LinearForm.sum((1, square) for square in squares), emitter)
        emitter.orient(self.facts)
        self._require(emitter)

    def _write_own(self, distance: Term) -> None:
        """The facts, minimising a distance of the user's own."""
        emitter = _Curved(self.pool, self.emission, self.known)
        emitter.orient([*self.facts, least(self.pool, distance)])
        self._minimise(emitter.number(distance), emitter)
        self._require(emitter)

    def _minimise(self, distance: Affine, emitter: Emitter) -> None:
        if self.query.hulls:
            distance = distance + self.query.hulls[0].weight * self._within_hull(emitter)
        self.model.objective = distance
        if self.radius is not None:
            self.emission.relaxation.budget = (distance, self.radius)
            self.model.constrain(distance, None, self.radius, DISTANCE)

    def _within_hull(self, emitter: Emitter) -> Affine:
        """The slack of the hull: a column, within the faces that are known."""
        (hull,) = self.query.hulls
        parts = coordinate_parts(hull.coordinates, self.inputs, emitter.number, emitter.exact)
        self.coordinates = [
            LinearForm.sum(part) - each.scale * each.offset
            for part, each in zip(parts, hull.coordinates, strict=True)
        ]
        slack = self.model.column("slack of the hull", 0, hull.reach)
        (self.slack,) = slack.terms
        for face in self.formulator.faces:
            pairs = zip(face.normal.tolist(), self.coordinates, strict=True)
            body = LinearForm.sum((Fraction(factor), form) for factor, form in pairs if factor)
            body = body - Fraction(face.dual) * slack
            self.model.constrain(body, None, Fraction(face.support), "hull")
        return slack

    def _require(self, emitter: Emitter) -> None:
        emitter.prepare(self.facts)
        for fact in self.facts:
            if not self.model.refuted:
                emitter.require(fact)

    def ungridded(self) -> dict[str, Any]:
        """The inputs whose grid is not part of how they are written."""
        return {
            domain.name: self.pool.zero
            if self._is_arithmetic(domain) and (self._unit(domain) or domain.step is None)
            else self.inputs[domain.name]
            for domain in self.query.domains
        }

    # -- features ---------------------------------------------------------------------------------

    def _is_arithmetic(self, domain: Domain) -> bool:
        """Whether a feature is a number of its own, under a distance made of norms."""
        x = self.inputs[domain.name]
        plain = self.cells is None and self.query.distance.norms is not None
        return plain and isinstance(x, Term) and x.kind == "var" and not domain.is_symbolic

    def _unit(self, domain: Domain) -> Fraction | None:
        """The step of a grid that holds the factual's own value too, else ``None``."""
        if domain.step is None or domain.is_absent:
            return domain.step
        off = Fraction(domain.factual) % domain.step
        on_grid = min(off, domain.step - off) <= domain.rounding
        return domain.step if on_grid else None

    def _filled(self, domain: Domain) -> Move:
        """``x = x̂ + (b - x̂) f + p`` with p <= ⌊(h - b) / s⌋ s f: f is 1 where a number is there.

        b is the least number, or what the least on the grid may be off, and h the largest.
        """
        assert domain.first is not None
        high, own, error = self.windows[domain.name][1], Fraction(domain.factual), ZERO
        unit, low = domain.step, domain.first
        if unit is not None:
            error = domain.rounding
            low, high = ceil((low - error) / unit) * unit, high + error
        steps = unit or min(domain.feature.range, ONE) or ONE
        reach = (high - low) / steps
        most = Fraction(floor(reach)) if unit is not None else reach
        there = self.model.column(f"{domain.name} is there", 0, int(most >= 0), True)
        up = self.model.column(f"{domain.name} up", 0, max(most, ZERO), unit is not None)
        self.model.constrain(up - most * there, None, 0, "missing")
        moved = (low - own) * there + steps * up + own
        self._is(domain, moved, error)
        return Move(there, there, there)

    def _is(self, domain: Domain, value: Affine, error: Fraction) -> None:
        """Let the feature be ``value``, or what its cell holds of it, which may be off so much."""
        if error:
            rounding = self.model.column(f"{domain.name} rounding", -error, error)
            self.roundings.update(rounding.terms)
            value = value + rounding
        self.emission.variables[self.inputs[domain.name]] = value

    def _lost(self, domain: Domain, forms: Sequence[Affine], move: Move, counted: bool) -> Move:
        """The move of a number that may also be missing, in which p and n are 0 then."""
        gone = self.model.binary(f"{domain.name} is missing")
        for form in forms:
            most = self.model.range(form)[1]
            self.model.constrain(form + most * gone, None, most, "missing")
        if counted:
            self.model.constrain(move.changed + gone, None, 1, "l0")
        x = self.inputs[domain.name]
        away = domain.lower - Fraction(domain.factual)
        self.emission.variables[x] = self.emission.variables[x] + away * gone
        return Move(move.delta + gone, move.changed + gone, move.square + gone)

    def _split(self, domain: Domain, norms: Norms) -> Move:
        """``x = x̂ + p - n``; under l0, binaries say which of p and n is not 0."""
        low, high, _ = self.windows[domain.name]
        loses = domain.first is not None and low <= domain.lower
        if domain.first is not None and loses:
            if domain.is_absent:
                return self._filled(domain)
            low = domain.first
        unit, own, error = self._unit(domain), Fraction(domain.factual), ZERO
        if unit is not None:
            error = domain.rounding
            own = round(own / unit) * unit
            low, high = low - error, high + error
        steps = unit or min(domain.feature.range, ONE) or ONE
        forms = []
        for side, end in (("up", high - own), ("down", own - low)):
            reach = max(end / steps, ZERO)
            whole = unit is not None
            most = Fraction(floor(reach)) if whole else reach
            forms.append(self.model.column(f"{domain.name} {side}", 0, most, whole))
        self.pairs.append(tuple(j for form in forms for j in form.terms))
        moved = steps * (forms[0] - forms[1]) + own
        moved = self._within(moved, low, high, domain)
        self._is(domain, moved, error)
        move, size = Move(*[LinearForm({})] * 3), domain.feature.range
        if size:
            # both ends may be off by the rounding of a cell: δ_j is smaller by as much, at most
            delta = LinearForm.sum((steps / size, form) for form in forms) + -2 * error / size
            move = Move(
                delta,
                self._counted(forms, domain) if norms.l0 else LinearForm({}),
                self._squared(delta, domain.name) if norms.l2 else LinearForm({}),
            )
        return self._lost(domain, forms, move, bool(norms.l0)) if loses else move

    def _squared(self, y: Affine, name: str, sides: Sequence[int] = (1,)) -> Affine:
        """A column that is at least y² where tangents touch it, and nowhere above."""
        low, high = self.model.range(y)
        most = max(high, -low if -1 in sides else ZERO, ZERO)
        column = self.model.column(f"{name} squared", 0, most * most)
        square = Square(name, next(iter(column.terms)), y, sides)
        self.squares.append(square)
        if self.radius is not None and -1 in sides:
            most = min(most, Fraction(root_above(max(self.radius, ZERO))))
        for place in self.formulator.tangents.of(name, most):
            for side in sides:
                self.model.constrain(square.tangent(place, side), 0, None, "square")
        return column

    def _within(self, x: Affine, low: Fraction, high: Fraction, domain: Domain) -> Affine:
        """The range, where the factual itself lies outside of it."""
        if not low <= x.constant <= high:
            self.model.constrain(x, low, high, f"range of {domain.name}")
        return x

    def _counted(self, forms: Sequence[Affine], domain: Domain) -> Affine:
        """Binaries for going up and down, not both; 1 in all where x differs from x̂."""
        flags = []
        for form, side in zip(forms, ("up", "down"), strict=True):
            most = self.model.range(form)[1]
            if most > 0:
                flag = self.model.binary(f"{domain.name} goes {side}")
                self.model.constrain(form - most * flag, None, 0, "l0")
                self.flags.update(zip(flag.terms, form.terms, strict=True))
                flags.append(flag)
        changed = LinearForm.sum((1, flag) for flag in flags)
        self.model.constrain(changed, None, 1, "l0")
        return changed

    def _move(self, emitter: Emitter, domain: Domain) -> Move:
        """δ_j of a category, of cells, or of a feature with one value left."""
        value = self.inputs[domain.name]
        if isinstance(value, Symbolic):
            pairs = [
                (domain.delta(label), emitter.exact(guard))
                for label, guard in zip(value.labels, value.guards, strict=True)
                if not guard.is_false
            ]
            away = LinearForm.sum((1, form) for delta, form in pairs if delta)
            squares = LinearForm.sum((delta**2, form) for delta, form in pairs)
            return Move(LinearForm.sum(pairs), away, squares)
        cells = self.cells.cells.get(domain.name) if self.cells is not None else None
        if cells is None:
            moved = Fraction(value.value) != Fraction(domain.factual)
            delta = domain.delta(value.value)
            changed = LinearForm.of(int(moved and bool(delta)))
            return Move(LinearForm.of(delta), changed, LinearForm.of(delta**2))
        steps = [(size, emitter.exact(literal)) for literal, size in cells.steps(self.pool)]
        out = steps[max(cells.home - 1, 0) : cells.home + 1]
        squares = LinearForm.sum(
            (size, form)
            for (_, size), (_, form) in zip(cells.steps(self.pool, 2), steps, strict=True)
        )
        if cells.base:
            base = cells.base
            return Move(LinearForm.sum(steps) + base, LinearForm.of(1), squares + base * base)
        return Move(LinearForm.sum(steps), LinearForm.sum((1, form) for _, form in out), squares)

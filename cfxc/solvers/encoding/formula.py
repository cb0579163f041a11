"""A query within a radius, as a formula: φ(x) ∧ distance(x) <= δ, small because δ is known.

The radius is used three times: it narrows the features' ranges, it prunes tree ensembles to the
nodes that the ball can reach, and the exact bounds of terms then decide atoms before any solver
sees them.  Numeric features that the model only compares with constants become *cells*: Booleans
``x <= cut`` in order, with the distance as a sum of steps (see ``cells``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor
from typing import Any, Self

from ...compiler.coarse import NotCoarse, coarse_truth
from ...compiler.functional import Symbolic, functional
from ...compiler.passes import compare_features, prune_trees
from ...compiler.pipeline import simplified
from ...compiler.terms import Pool, Term, evaluate_term, free_variables
from ...environment import debug
from ...ir import LabelTuple, Program, ops
from ...question.distances import Norms, root_above
from ...question.domain import Domain
from ...question.query import Query
from .ball import make_ball, weights_of
from .cells import CellVariables, Window, between_values
from .squares import Tangents, whitened_forms, whitened_limits, whitened_name


@dataclass
class Encoding:
    """Assertions over a pool, and how to read a model of them as a point."""

    pool: Pool
    assertions: list[Term]
    inputs: Mapping[str, Any]
    domains: Mapping[str, Domain]
    cells: CellVariables | None = None
    coarse: bool = False  # whether the target was weakened to short coefficients

    @property
    def is_refuted(self) -> bool:
        """Whether the bounds alone show that no point qualifies."""
        return any(assertion.is_false for assertion in self.assertions)

    def lift(self, model: Mapping[str, Fraction | bool]) -> dict[str, Any]:
        """The point that a model (variable → value) stands for, feature → exact value.

        Real features without a resolution take the nearest double.
        """
        point: dict[str, Any] = {}
        for name, value in self.inputs.items():
            domain = self.domains[name]
            if isinstance(value, Symbolic):
                roots = [g for g in value.guards if g.kind != "const"]
                complete = _completed(model, free_variables(roots))
                held = [bool(evaluate_term(guard, complete)) for guard in value.guards]
                point[name] = domain.feature.labels[held.index(True)]
            elif self.cells is not None and name in self.cells.names:
                point[name] = self.cells.point(name, model)
            else:
                complete = _completed(model, free_variables([value]))
                point[name] = _snapped(domain, evaluate_term(value, complete))
            if domain.sort.kind == "int":
                point[name] = int(point[name])
        return point


def _completed(model: Mapping[str, Any], variables: list[Term]) -> dict[str, Any]:
    """The model, with variables the solver never saw at a value of their range."""
    return {v.data: model[v.data] if v.data in model else _any_value(v) for v in variables}


def _any_value(variable: Term) -> Fraction | bool:
    if variable.sort == "bool":
        return False
    return variable.lower if variable.lower is not None else Fraction(0)


def _snapped(domain: Domain, value: Fraction) -> Fraction:
    """The admissible value nearest to a model's value."""
    below, above = domain.floor(value), domain.ceil(value)
    options = [option for option in (below, above) if option is not None]
    return min(options, key=lambda option: abs(option - value))


class Encoder:
    """Encodes one query at any radius; what does not depend on the radius is done once."""

    def __init__(self, query: Query, use_cells: bool = True) -> None:
        self.query = query
        self.use_cells = use_cells
        self.tangents = Tangents()

    def without(self, point: Mapping[str, Any]) -> Self:
        """The same for the query that excludes a point."""
        other = type(self)(self.query.without(point), self.use_cells)
        other.tangents = self.tangents
        return other

    def encode(
        self, radius: Fraction | None, margin: Fraction = Fraction(0), bits: int | None = None
    ) -> Encoding:
        """The formula for "in the target, admissible, at distance at most ``radius``".

        ``radius`` may be ``None``, for no limit, under distances that are not made of norms.
        ``bits`` allows a weaker formula with coefficients of about so many bits, where the model
        adds and multiplies (see ``compiler.coarse``).
        """
        query, pool = self.query, Pool()
        windows = self.windows(radius)
        program = self.target(margin)
        norms = query.distance.norms
        if radius is not None:
            program = self.pruned(program, radius, windows)
        inputs, facts = self._admissible(pool, windows)
        domains = {domain.name: domain for domain in query.domains}
        if any(fact.is_false for fact in facts):
            return Encoding(pool, facts, inputs, domains)
        target, coarse = _target(program, inputs, pool, bits)
        facts.append(target)
        if norms is not None and radius is not None and self.use_cells:
            cells = CellVariables.of(pool, facts, inputs, query.domains, windows)
            if cells is not None:
                facts = cells.rewrite(facts)
                facts += cells.within(norms, query, inputs, radius)
                return Encoding(pool, facts, inputs, domains, cells, coarse)
        if radius is not None and query.distance.whitening is not None:
            facts += self._whitened_within(pool, inputs, radius)
        elif radius is not None and query.distance.has_squares:
            facts += self._squares_within(pool, inputs, windows, radius)
        elif radius is not None:
            facts.append(pool.at_most(self.distance(pool, inputs), radius))
        facts = between_values(pool, facts, inputs, query.domains)
        facts += self._grids(pool, inputs, windows)
        return Encoding(pool, facts, inputs, domains, coarse=coarse)

    def target(self, margin: Fraction) -> Program:
        """The target's program; where numbers may be filled in or lost, trees compare them."""
        program = simplified(self.query.target_with_margin(margin))
        if all(domain.first is None for domain in self.query.domains):
            return program
        return _comparing(program)

    def admissible(self, below: Fraction | None = None) -> Encoding:
        """The formula for "admissible" alone: types, ranges and constraints, whatever the model.

        With ``below``, also at a distance less than that.
        """
        pool, query = Pool(), self.query
        windows: list[Window] = [(domain.lower, domain.upper, None) for domain in query.domains]
        inputs, facts = self._admissible(pool, windows)
        if below is not None:
            facts.append(pool.at_most(self.distance(pool, inputs), below, strict=True))
        facts = between_values(pool, facts, inputs, query.domains)
        facts += self._grids(pool, inputs, windows)
        return Encoding(pool, facts, inputs, {domain.name: domain for domain in query.domains})

    def _admissible(self, pool: Pool, windows: list[Window]) -> tuple[dict[str, Any], list[Term]]:
        """The features as terms within their windows, and what must hold of them."""
        facts: list[Term] = []
        inputs = {
            domain.name: _declare(pool, domain, window, facts)
            for domain, window in zip(self.query.domains, windows, strict=True)
        }
        return inputs, facts + self._constraints(pool, inputs)

    def distance(self, pool: Pool, inputs: Mapping[str, Any]) -> Term:
        """The distance as a term, through the distance's own program."""
        query = self.query
        scope = functional(query.delta, inputs, pool)
        scope |= {f"x.{name}": value for name, value in inputs.items()}
        scope |= factual_terms(pool, query)
        program = query.distance.program
        result: Term = functional(program, program.arguments(scope), pool)["result"]
        return result

    def _squares_within(
        self, pool: Pool, inputs: Mapping[str, Any], windows: list[Window], radius: Fraction
    ) -> list[Term]:
        """``Σ_j w_j (c s_j + a [δ_j > 0]) <= radius``, with s_j above tangents of δ_j².

        The weights sum to 1; a and c are the norms' coefficients of l0 and of the square of l2.
        """
        facts: list[Term] = []
        parts: list[tuple[Fraction, Term]] = []
        weights = weights_of(self.query)
        norms = self.query.distance.norms
        assert norms is not None
        total = sum(weights, Fraction(0)) / norms.l2
        for domain, weight, window in zip(self.query.domains, weights, windows, strict=True):
            value, share = inputs[domain.name], weight / total
            if norms.l0:
                changed = pool.indicator(_changed(pool, domain, value))
                parts.append((norms.l0 / norms.l2 * share, changed))
            if isinstance(value, Symbolic):
                for label, guard in zip(value.labels, value.guards, strict=True):
                    parts.append((share * domain.delta(label) ** 2, pool.indicator(guard)))
                continue
            if value.kind == "const":
                parts.append((share * domain.delta(value.value) ** 2, pool.one))
                continue
            size, own, low = domain.feature.range, Fraction(domain.factual), window[0]
            if not weight:
                continue
            gap = pool.false
            if domain.first is not None and low <= domain.lower:
                gone, low = pool.at_most(value, low), domain.first
                gap = pool.not_(gone) if domain.is_absent else gone
                parts.append((share, pool.indicator(gap)))
            if not size or domain.is_absent:
                continue
            most = max(own - low, window[1] - own) / size
            delta = pool.linear([(1 / size, value)], -own / size)
            delta = pool.ite(gap, pool.zero, delta)
            parts.append((share, self._square(pool, domain.name, delta, most, facts)))
        return [*facts, pool.at_most(pool.linear(parts), radius)]

    def _whitened_within(
        self, pool: Pool, inputs: Mapping[str, Any], radius: Fraction
    ) -> list[Term]:
        """``Σ_i s_i <= radius`` with s_i above tangents of the squares of W (z - ẑ)."""
        facts: list[Term] = []
        parts: list[tuple[Fraction, Term]] = []
        limit = Fraction(root_above(max(radius, Fraction(0))))
        forms = whitened_forms(self.query, inputs, lambda term: term, pool.indicator)
        for i, (terms, constant) in enumerate(forms):
            y = pool.linear(terms, constant)
            square = self._square(pool, whitened_name(i), y, limit, facts)
            parts.append((Fraction(1), square))
        return [*facts, pool.at_most(pool.linear(parts), radius)]

    def _square(self, pool: Pool, name: str, y: Term, most: Fraction, facts: list[Term]) -> Term:
        """A variable that ``facts`` keep above tangents of y², where |y| is at most ``most``."""
        square = pool.unique(f"{name} squared", "real", Fraction(0), most * most)
        for place in self.tangents.of(name, most):
            for slope in (2 * place, -2 * place):
                line = pool.linear([(slope, y), (Fraction(-1), square)], -place * place)
                facts.append(pool.at_most(line, 0))
        return square

    def _constraints(self, pool: Pool, inputs: Mapping[str, Any]) -> list[Term]:
        scope = {**inputs, **factual_terms(pool, self.query)}
        requested: list[tuple[Program, Mapping[str, Any]]]
        requested = [(each.program, scope) for each in self.query.constraints]
        requested += [(program, inputs) for program in self.query.excluded]
        return [
            functional(program, program.arguments(values), pool)["holds"]
            for program, values in requested
        ]

    def _grids(self, pool: Pool, inputs: Mapping[str, Any], windows: list[Window]) -> list[Term]:
        """Real features with a resolution lie on their grid, or keep the factual's value; what may
        be filled in or lost lies in its range, or is missing.

        A cell holds the float nearest to a multiple of the step, so x may differ from the multiple
        by half an ulp: without that allowance an admissible point could be missed.
        """
        facts = []
        for domain, window in zip(self.query.domains, windows, strict=True):
            x = inputs[domain.name]
            if domain.is_symbolic or not isinstance(x, Term) or x.kind != "var":
                continue
            if domain.first is not None and window[0] <= domain.lower:  # nothing is in between
                there = pool.not_(pool.at_most(x, domain.first, strict=True))
                facts.append(pool.or_(pool.at_most(x, domain.lower), there))
            if domain.step is None or x.sort == "int":
                continue
            first, last = floor(window[0] / domain.step), ceil(window[1] / domain.step)
            multiple = pool.unique(f"{domain.name}/step", "int", first, last)
            off = pool.sub(x, pool.scale(domain.step, multiple))
            on_grid = pool.at_most(pool.abs(off), domain.rounding)
            kept = pool.eq(x, pool.const(Fraction(domain.factual)))
            gone = pool.false if domain.first is None else pool.at_most(x, domain.lower)
            facts.append(pool.or_(on_grid, kept, gone))
        return facts

    def pruned(self, program: Program, radius: Fraction, windows: Sequence[Window]) -> Program:
        """The program with its trees cut down to what lies within the radius."""
        query, distance = self.query, self.query.distance
        if distance.norms is not None:
            return prune_trees(program, make_ball(query, distance.norms, radius))
        if distance.whitening is None:
            return program
        domains = [
            replace(domain, lower=window[0], upper=window[1], first=None)
            for domain, window in zip(query.domains, windows, strict=True)
        ]
        box = replace(query, domains=tuple(domains))
        return prune_trees(program, make_ball(box, Norms(*[Fraction(0)] * 3), radius))

    def windows(self, radius: Fraction | None) -> list[Window]:
        """Per feature the range that the distance leaves."""
        query = self.query
        limits = _delta_limits(query, radius)
        windows = []
        for domain, limit in zip(query.domains, limits, strict=True):
            low, high = domain.lower, domain.upper
            whole = domain.first is not None and (limit is None or limit >= 1)
            if domain.first is not None and not whole:
                low, high = (low, low) if domain.is_absent else (domain.first, high)
            if limit is not None and not domain.is_symbolic and not whole:
                reach = limit * domain.feature.range
                low = max(low, Fraction(domain.factual) - reach)
                high = min(high, Fraction(domain.factual) + reach)
            windows.append((low, high, limit))
        return windows


@lru_cache(maxsize=8)
def _comparing(program: Program) -> Program:
    return compare_features(program)


def _target(
    program: Program, inputs: Mapping[str, Any], pool: Pool, bits: int | None
) -> tuple[Term, bool]:
    """The target as a term, and whether it is a weakened one."""
    affine = any(isinstance(statement.op, ops.Affine) for statement in program.lets())
    if bits is not None and affine:
        try:
            return coarse_truth(program, "in_target", inputs, pool, bits), True
        except NotCoarse:
            debug(1, lambda: "the target cannot be weakened: exact coefficients")
    return functional(program, inputs, pool)["in_target"], False


def _changed(pool: Pool, domain: Domain, value: Any) -> Term:
    """Whether a feature is not the factual's."""
    if isinstance(value, Symbolic):
        pairs = zip(value.labels, value.guards, strict=True)
        return pool.or_(*(guard for label, guard in pairs if domain.delta(label)))
    own = Fraction(domain.factual)
    if value.kind == "const" or (not domain.feature.range and domain.first is None):
        return pool.truth(value.kind == "const" and bool(domain.delta(value.value)))
    below = pool.linear([(Fraction(1), value)], -own)
    above = pool.linear([(Fraction(-1), value)], own)
    return pool.or_(pool.at_most(below, 0, strict=True), pool.at_most(above, 0, strict=True))


def _delta_limits(query: Query, radius: Fraction | None) -> list[Fraction | None]:
    """The largest δ_j that one feature may have at this distance, from the norms alone."""
    if query.distance.whitening is not None and radius is not None:
        return whitened_limits(query, radius)
    norms = query.distance.norms
    weights = weights_of(query)
    total, largest = sum(weights, Fraction(0)), max(weights)
    if norms is None or radius is None or not largest:
        return [None] * len(weights)
    alpha, beta, gamma, squares = norms
    limits: list[Fraction | None] = []
    for weight in weights:
        slope = beta * weight / total + gamma * weight / largest
        left = radius - alpha * weight / total
        if left < 0:
            limits.append(Fraction(0))
        elif squares:
            most = left * total / (weight * squares) if weight else None
            limits.append(None if most is None else Fraction(root_above(most)))
        else:
            limits.append(left / slope if slope else None)
    return limits


def _declare(pool: Pool, domain: Domain, window: Window, facts: list[Term]) -> Any:
    """The term (or guards) of one feature, within its window."""
    low, high, limit = window
    if domain.is_symbolic:
        labels = domain.labels
        allowed = [
            label for label in domain.allowed if limit is None or domain.delta(label) <= limit
        ]
        return _symbolic(pool, domain, labels, allowed, facts)
    if domain.sort.kind == "int" or (domain.step == 1 and domain.factual == int(domain.factual)):
        first, last = ceil(low), floor(high)
        if first >= last:
            return pool.const(first)
        return pool.unique(domain.name, "int", first, last)
    if low >= high:
        return pool.const(low)
    return pool.unique(domain.name, "real", low, high)


def _symbolic(
    pool: Pool, domain: Domain, labels: LabelTuple, allowed: list[Any], facts: list[Term]
) -> Symbolic:
    positions = [labels.position(label) for label in allowed]
    guards = [pool.false] * len(labels)
    if len(positions) == 1:
        guards[positions[0]] = pool.true
    elif len(positions) == 2:
        switch = pool.unique(f"{domain.name}={positions[0]}", "bool")
        guards[positions[0]], guards[positions[1]] = switch, pool.not_(switch)
    else:
        for position in positions:
            guards[position] = pool.unique(f"{domain.name}={position}", "bool")
        facts.append(pool.or_(*(guards[p] for p in positions)))
        facts += [
            pool.or_(pool.not_(guards[p]), pool.not_(guards[q]))
            for i, p in enumerate(positions)
            for q in positions[:i]
        ]
        pool.group([guards[p] for p in positions])
    return Symbolic(labels, tuple(guards))


def factual_terms(pool: Pool, query: Query) -> dict[str, Any]:
    """The factual's values as constants, under their names in constraints."""
    scope: dict[str, Any] = {}
    for domain in query.domains:
        name, value = f"factual.{domain.name}", domain.factual
        if domain.is_symbolic:
            labels = domain.labels
            here = labels.position(value)
            guards = tuple(pool.truth(i == here) for i in range(len(labels)))
            scope[name] = Symbolic(labels, guards)
        else:
            scope[name] = pool.const(Fraction(value))
    return scope

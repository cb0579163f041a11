"""Numeric features as ordered Booleans, where the formula only compares them with constants.

Between two neighbouring cuts nothing in the formula changes, so of each cell only the admissible
point nearest to the factual matters.  With ``o_k`` for ``x <= cut_k`` and cuts in order, the
distance δ_j is a sum of steps: going away from the factual, passing a cut adds the difference of
the two cells' nearest points.  This is exact for any distance that increases with each δ_j.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ...compiler.functional import Symbolic
from ...compiler.rewriting import substitute
from ...compiler.splits import last_double
from ...compiler.terms import Pool, Term, postorder
from ...question.distances import Norms
from ...question.domain import Domain
from ...question.query import Query
from ...stopping import polled

Window = tuple[Fraction, Fraction, Fraction | None]  # lower, upper, largest δ_j (None: any)


@dataclass(frozen=True)
class Cells:
    """One feature: ``cuts`` are admissible values in order; ``order[k]`` stands for x <= cuts[k].

    ``points`` has one more entry: the nearest admissible point of each cell, first to last.
    """

    domain: Domain
    cuts: tuple[Fraction, ...]
    order: tuple[Term, ...]
    points: tuple[Fraction, ...]

    @cached_property
    def home(self) -> int:
        """The cell that holds the factual, or lies nearest to it."""
        return bisect_left(self.cuts, Fraction(self.domain.factual))

    @property
    def base(self) -> Fraction:
        """δ_j of the home cell: not 0 where the factual lies outside of the window."""
        return self.domain.delta(self.points[self.home])

    def steps(self, pool: Pool, power: int = 1) -> list[tuple[Term, Fraction]]:
        """``(Boolean, increase of δ_j ** power if it holds)`` for every cut, in their order."""
        deltas = [self.domain.delta(point) ** power for point in self.points]
        return [
            (pool.not_(literal), deltas[k + 1] - deltas[k])
            if k >= self.home
            else (literal, deltas[k] - deltas[k + 1])
            for k, literal in enumerate(self.order)
        ]


class CellVariables:
    """All numeric features of a formula as cells."""

    def __init__(self, pool: Pool, cells: Mapping[str, Cells], mapping: Mapping[Term, Term]):
        self.pool, self.cells, self._mapping = pool, cells, mapping
        self.names = frozenset(cells)

    @classmethod
    def of(
        cls,
        pool: Pool,
        facts: Sequence[Term],
        inputs: Mapping[str, Any],
        domains: Sequence[Domain],
        windows: Sequence[Window],
    ) -> CellVariables | None:
        """Cells for every numeric variable, or ``None`` if some variable enters arithmetic."""
        variables = {
            x: domain
            for domain in domains
            if isinstance(x := inputs[domain.name], Term) and x.kind == "var"
        }
        atoms: dict[Term, list[Term]] = {x: [] for x in variables}
        for term in polled(postorder(facts)):
            for arg in term.args:
                source = _rounded_variable(arg)
                if source in variables and source is not term:
                    if term.kind not in ("le", "lt"):
                        if not (term.kind == "apply" and term.data == "round_float32"):
                            return None
                    else:
                        atoms[source].append(term)
        ranges = {d.name: w for d, w in zip(domains, windows, strict=True)}
        cells: dict[str, Cells] = {}
        mapping: dict[Term, Term] = {}
        for x, domain in variables.items():
            cells[domain.name] = _cells(pool, x, domain, ranges[domain.name], atoms[x], mapping)
        return cls(pool, cells, mapping)

    def rewrite(self, facts: Sequence[Term]) -> list[Term]:
        """The formula over order Booleans, with their chains."""
        rewritten = substitute(self.pool, facts, self._mapping)
        for cells in self.cells.values():
            for lower, higher in zip(cells.order, cells.order[1:], strict=False):
                rewritten.append(self.pool.implies(lower, higher))
        return rewritten

    def within(
        self, norms: Norms, query: Query, inputs: Mapping[str, Any], radius: Fraction
    ) -> list[Term]:
        """``distance <= radius`` over the cells; the linf part holds δ_j by δ_j."""
        pool = self.pool
        alpha, beta, gamma, squares = norms
        weights = [domain.feature.weight for domain in query.domains]
        total, largest = sum(weights, Fraction(0)), max(weights)
        parts: list[tuple[Fraction, Term]] = []
        tops: list[Term] = []
        for domain, weight in zip(query.domains, weights, strict=True):
            changed, delta = self._delta(domain, inputs[domain.name], 2 if squares else 1)
            parts += [(alpha * weight / total, pool.indicator(changed))] if alpha else []
            parts += [((beta + squares) * weight / total * f, t) for f, t in delta]
            if gamma:
                tops.append(pool.linear((weight / largest * f, t) for f, t in delta))
        if not gamma:
            return [pool.at_most(pool.linear(parts), radius)]
        if not alpha and not beta:
            return [pool.at_most(top, radius / gamma) for top in tops]
        return [pool.at_most(pool.linear([*parts, (gamma, top)]), radius) for top in tops]

    def _delta(
        self, domain: Domain, value: Any, power: int
    ) -> tuple[Term, list[tuple[Fraction, Term]]]:
        """Whether the feature changed, and δ_j ** power as weighted indicators."""
        pool = self.pool
        if isinstance(value, Symbolic):
            pairs = [
                (domain.delta(label) ** power, guard)
                for label, guard in zip(value.labels, value.guards, strict=True)
                if not guard.is_false
            ]
            away = [(delta, guard) for delta, guard in pairs if delta]
            changed = pool.or_(*(guard for _, guard in away))
            if len({delta for delta, _ in away}) == 1:
                return changed, [(away[0][0], pool.indicator(changed))]
            return changed, [(delta, pool.indicator(guard)) for delta, guard in away]
        cells = self.cells.get(domain.name)
        if cells is None:  # a constant
            moved = value.value != Fraction(domain.factual)
            delta = domain.delta(value.value) ** power
            return pool.truth(moved), [(delta, pool.one)] if delta else []
        steps = cells.steps(pool, power)
        if cells.base:
            own = [(cells.base**power, pool.one)]
            return pool.true, [*own, *((size, pool.indicator(literal)) for literal, size in steps)]
        first_out = steps[max(cells.home - 1, 0) : cells.home + 1]
        changed = pool.or_(*(literal for literal, _ in first_out))
        return changed, [(size, pool.indicator(literal)) for literal, size in steps]

    def point(self, name: str, model: Mapping[str, Fraction | bool]) -> Fraction:
        """The nearest admissible point of the cell that a model chose."""
        cells = self.cells[name]
        for k, literal in enumerate(cells.order):
            # a variable the solver never saw is free: it keeps the factual's side
            if model.get(literal.data, k >= cells.home):
                return cells.points[k]
        return cells.points[-1]


def _rounded_variable(term: Term) -> Term:
    """The variable under a float32 rounding, or the term itself."""
    if term.kind == "apply" and term.data == "round_float32":
        return term.args[0]
    return term


def _cells(
    pool: Pool,
    x: Term,
    domain: Domain,
    window: Window,
    atoms: Sequence[Term],
    mapping: dict[Term, Term],
) -> Cells:
    """Cuts, order Booleans and nearest points of one feature; fills the atoms' replacements."""
    low, high = domain.ceil(window[0]), domain.floor(window[1])
    assert low is not None
    assert high is not None
    cut_of: dict[Term, Fraction | None] = {}
    for atom in polled(atoms):
        cut_of[atom] = _last_at_most(domain, atom)
    values = {cut for cut in cut_of.values() if cut is not None and low <= cut < high}
    cuts = tuple(sorted(values))
    order = tuple(pool.unique(f"{domain.name}<={float(cut)!r}", "bool") for cut in cuts)
    literal = dict(zip(cuts, order, strict=True))
    for atom, cut in cut_of.items():
        if cut is None or cut < low:
            mapping[atom] = pool.false
        else:
            mapping[atom] = literal.get(cut, pool.true)
    return Cells(domain, cuts, order, _nearest_points(domain, cuts, low, high))


def between_values(
    pool: Pool, facts: Sequence[Term], inputs: Mapping[str, Any], domains: Sequence[Domain]
) -> list[Term]:
    """The facts with ``x <= c`` asked half-way between two admissible values of x.

    The same for admissible values of a feature with a step; and also right for anything closer to
    one of them than to its neighbours, so that it may be encoded with some slack.
    """
    stepped = {
        x: domain
        for domain in domains
        if domain.step is not None
        and isinstance(x := inputs[domain.name], Term)
        and x.sort == "real"
    }
    mapping: dict[Term, Term] = {}
    for atom in polled(postorder(facts)):
        domain = stepped.get(atom.args[0]) if atom.kind in ("le", "lt") else None
        if domain is None:
            continue
        last = _last_at_most(domain, atom)
        following = None if last is None else _following(domain, last)
        if last is None:
            mapping[atom] = pool.false
        elif following is None:
            mapping[atom] = pool.true
        else:
            mapping[atom] = pool.at_most(atom.args[0], (last + following) / 2)
    return substitute(pool, facts, mapping)


def _last_at_most(domain: Domain, atom: Term) -> Fraction | None:
    """The largest admissible value for which the atom ``x <= c`` or ``x < c`` holds."""
    bound: Fraction = atom.data
    strict = atom.kind == "lt"
    if atom.args[0].kind == "apply":
        last = last_double(bound, rounded=True, strict=strict)
        if np.isinf(last):
            return domain.floor(domain.upper) if last > 0 else None
        return domain.floor(last)
    value = domain.floor(bound)
    if strict and value is not None and value == bound:
        return _before(domain, value)
    return value


def _before(domain: Domain, value: Fraction) -> Fraction | None:
    """The admissible value before an admissible value (all are doubles)."""
    return domain.floor(float(np.nextafter(float(value), -np.inf)))


def _nearest_points(
    domain: Domain, cuts: tuple[Fraction, ...], low: Fraction, high: Fraction
) -> tuple[Fraction, ...]:
    factual = Fraction(domain.factual)
    points: list[Fraction] = []
    for k in polled(range(len(cuts) + 1)):
        first = low if k == 0 else _after(domain, cuts[k - 1])
        last = cuts[k] if k < len(cuts) else high
        points.append(min(max(factual, first), last))
    return tuple(points)


def _after(domain: Domain, value: Fraction) -> Fraction:
    """The admissible value after an admissible value that is not the last one."""
    found = _following(domain, value)
    assert found is not None
    return found


def _following(domain: Domain, value: Fraction) -> Fraction | None:
    """The admissible value after an admissible value (all are doubles), or ``None``."""
    return domain.ceil(float(np.nextafter(float(value), np.inf)))

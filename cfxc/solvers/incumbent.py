"""The best point of a search: where it comes from, when it counts, and how it is tidied."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import chain, product, takewhile

import numpy as np

from ..arrays import Floats
from ..ir import Literal, ops
from ..question.query import Query
from ..stopping import GRACE, STOPS, now, poll
from .base import Candidate, Deployed, Limits, Outcome, Point, Search, verify
from .baselines import LocalSearch
from .rounding import margins_of

AT = 1e-6  # of a feature's range: so near to a cut, it may be meant to lie on its other side
SIDES = 6  # numbers that are put on both sides of their cuts
STILL = 1e-9  # of its size: how far from its own a number is moved by tolerances alone
NUDGES = (1e-12, 1e-9, 1e-7, 1e-5)  # of the way already gone: how much farther to go


class PointSearch(Search):
    """A search whose points come from a local search and a solver, and count once verified.

    Attributes:
        local: The local search.
    """

    def __init__(
        self, query: Query, deployed: Deployed, limits: Limits, outcome: Outcome | None = None
    ) -> None:
        super().__init__(query, deployed, limits, outcome)
        self.local = LocalSearch(query, self.rng)

    def start(self, seeds: Sequence[Point]) -> None:
        """Take the nearest verified point of a local search, or of what is known otherwise."""
        if self.outcome.best is None:
            self.outcome.best = first_candidate(
                self.local, self.deployed, seeds, self.rng, self.deadline
            )
        if self.outcome.best is None:
            self.outcome.best = known_candidate(self.local, self.deployed, self.known())

    def accept(self, candidate: Candidate | None) -> bool:
        """Whether a candidate is nearer than the best so far, which it then is."""
        best = self.outcome.best
        if candidate is not None and self.limits.pool:
            self.outcome.pool.append(candidate)
        if candidate is None or (best is not None and candidate.distance >= best.distance):
            return False
        self.outcome.best = candidate
        return True

    def improves(self, point: Point) -> bool:
        """Whether a solution, or a point near it, verifies and is nearer than the best so far."""
        best = self.outcome.best
        for number, near in enumerate(around(self.local, point)):
            if number and now() > self.deadline:
                break  # each may take a linear program over a hull's rows
            farther = best and self.query.distance_to(near) >= best.distance
            if (farther and not self.limits.pool) or self.is_ruled_out(near):
                continue
            if self.accept(verify(self.query, near, self.deployed)):
                return True
        return False

    def is_ruled_out(self, point: Point) -> bool:
        """Whether an engine knows without verifying that a point is no counterfactual."""
        return False

    def ended(self) -> Outcome:
        """The same, with a best point that changes nothing without need."""
        if self.query.hulls and now() >= self.deadline:
            return self.outcome  # each point may take a linear program over a hull's rows
        self.outcome.best = tidied(
            self.query, self.outcome.best, self.deployed, self.deadline, self.local
        )
        return self.outcome


def first_candidate(
    local: LocalSearch,
    deployed: Deployed,
    seeds: Sequence[Point],
    rng: np.random.Generator,
    deadline: float,
) -> Candidate | None:
    """The nearest verified point of a local search; of clearer wins if no other verifies."""
    query = local.query
    exact = query.target_program
    for margin in chain([Fraction(0)], margins_of(query)):
        if margin and query.target_with_margin(margin) == exact:
            return None  # no score is known to decide
        points = (LocalSearch(query, rng, margin) if margin else local).candidates(seeds)
        tried = takewhile(lambda pair: not pair[0] or now() < deadline, enumerate(points))
        verified = (verify(query, point, deployed) for _, point in tried)
        found = next((candidate for candidate in verified if candidate is not None), None)
        if found is not None or not points or now() >= deadline:
            return found
    return None


def around(local: LocalSearch, point: Point) -> list[Point]:
    """The point, points slightly farther along its direction, and what shrinking makes of them.

    First comes the point without changes so small that solvers see none.  Solvers put solutions on
    borders, to within their tolerance; what lies slightly beyond is tried too, on numbers that are
    admissible and, where they are at the border of what is excluded, just apart from it.  In a hull
    nothing is gained by shrinking.
    """
    still = settled(local.query, point, local.query.factual)
    found = [point] if still == point else [still, point]
    own = len(found)
    if local.query.effects:
        found.append(local.point(local.followed(local.row(point)[None])[0]))
    row = local.row(point)
    apart = _apart(local, row)
    for base, power in product([local.row(each) for each in found[:own]], NUDGES):
        moved = base.copy()
        for j, domain in enumerate(local.domains):
            step = base[j] - local.start[j]
            if domain.is_symbolic or not step:
                continue
            away = np.clip(base[j] + step * power, float(domain.lower), float(domain.upper))
            landed = (domain.ceil if step > 0 else domain.floor)(Fraction(float(away)))
            moved[j] = apart.get(j, base[j] if landed is None else float(landed))
        found.append(local.point(moved))
    found += [local.point(sides) for sides in _both_sides(local, row)]
    rows = np.array([local.row(each) for each in found])
    hits = local.hits(rows)
    if local.query.hulls:
        return [*found[:own], *(found[i] for i in np.flatnonzero(hits[own:]) + own)]
    if hits.any():
        nearest = rows[int(np.where(hits, local.distances(rows), np.inf).argmin())]
        found.insert(0, local.point(local.shrink(nearest)))
    return found


def settled(query: Query, point: Point, home: Point) -> Point:
    """The point, numbers put back to where they are at home that tolerances alone have moved.

    Numbers of a grid are whole in programs, and left.
    """
    found = dict(point)
    for domain in query.domains:
        free = not domain.is_symbolic and domain.step is None
        if free and found[domain.name] != home[domain.name]:
            own = float(home[domain.name])
            most = min(STILL * (1 + abs(own)), AT * float(domain.feature.range))
            if abs(float(found[domain.name]) - own) <= most:
                found[domain.name] = home[domain.name]
    return found


def _apart(local: LocalSearch, row: Floats) -> dict[int, float]:
    """Of numbers at the border of what is excluded, the nearest that are just apart from it."""
    places = {domain.name: j for j, domain in enumerate(local.domains)}
    ends: list[tuple[float, int, float]] = []
    for let in chain.from_iterable(program.lets() for program in local.query.excluded):
        match let.op:
            case ops.Le(str(x), Literal(end)) | ops.Ge(str(x), Literal(end)) if x in places:
                j, domain = places[x], local.domains[places[x]]
                value = (domain.floor if isinstance(let.op, ops.Le) else domain.ceil)(end)
                if value is not None:
                    ends.append((abs(float(value) - row[j]), j, float(value)))
    return {
        j: value for away, j, value in sorted(ends, reverse=True) if away <= AT * local.sizes[j]
    }


def _both_sides(local: LocalSearch, row: Floats) -> list[Floats]:
    """The ways to put numbers that lie at cuts of trees on either side of them."""
    options: list[tuple[float, int, list[float]]] = []
    for j, domain in enumerate(local.domains):
        near = np.abs(local.cuts[j] - row[j]) <= AT * float(domain.feature.range)
        values = local.cuts[j][near]
        if values.size > 1:
            away = float(np.abs(values - row[j]).min())
            options.append((away, j, values[np.argsort(np.abs(values - row[j]))][:2].tolist()))
    chosen = sorted(options)[:SIDES]
    made = []
    for values in product(*(each for _, _, each in chosen)) if chosen else ():
        moved = row.copy()
        moved[[j for _, j, _ in chosen]] = values
        made.append(moved)
    return made


def known_candidate(
    local: LocalSearch, deployed: Deployed, points: Iterable[Point]
) -> Candidate | None:
    """The first of some points that is verified, moved towards the instance if that is too."""
    for point in points:
        poll()
        found = verify(local.query, point, deployed)
        if found is not None:
            return moved(local, found, deployed)
    return None


def moved(local: LocalSearch, found: Candidate, deployed: Deployed) -> Candidate:
    """A verified point, moved towards the instance if what that gives is verified too."""
    nearer = verify(local.query, local.point(local.shrink(local.row(found.point))), deployed)
    return found if nearer is None or nearer.distance > found.distance else nearer


def tidied(
    query: Query,
    best: Candidate | None,
    deployed: Deployed,
    deadline: float,
    local: LocalSearch | None = None,
) -> Candidate | None:
    """The best point without what it changes without need: under linf much of it costs nothing.

    Nothing more is tried after the deadline (of ``now``), but for half the grace.
    """
    norms = query.distance.norms
    all_cost = norms is not None and (norms.l0 or norms.l1 or norms.l2)
    if best is None or (all_cost and all(d.feature.weight for d in query.domains)):
        return best
    end = max(deadline, min(now() + GRACE / 2, deadline + GRACE))
    with suppress(*STOPS):
        local = local or LocalSearch(query, np.random.default_rng(0))
        for point in local.undone(best.point, end):
            candidate = verify(query, point, deployed)
            if candidate is not None and candidate.distance <= best.distance:
                return candidate
    return best

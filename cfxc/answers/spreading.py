"""Further answers that differ most, within a limit: found by search, under proved bounds.

Where trees decide, box search looks for the largest difference; else mixed-integer search makes
rows as little alike as it can.  What neither takes is asked bit by bit: whether some row within
the limit differs by δ is a question like any other, and bisection brings δ to its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from math import isqrt
from typing import Literal

import numpy as np

from ..arrays import Floats
from ..ir.interval import floor_float
from ..question.distances import Distance
from ..question.diversity import Diverse, Measured, parted
from ..question.query import Query
from ..question.question import Question
from ..solvers import box_search, mio
from ..solvers.base import (
    Candidate,
    Counting,
    Deployed,
    Limits,
    Outcome,
    Point,
    Progress,
    verify,
)
from ..solvers.baselines.local_search import LocalSearch
from ..solvers.box_search.apart import FINEST
from ..solvers.engines import Engine
from ..solvers.incumbent import settled
from ..space.values import as_written
from ..stopping import FINE, GRACE, INTERRUPTED, LIMIT, Span, TimeUp, now, poll, until
from .seeds import examples_of

DIGITS = 30
"""Bits of a difference that is asked for, rounded down: its arithmetic stays quick."""
CLOSE = Fraction(4, 2**DIGITS)
"""The share of a bound that is no reason to go on."""
SMALL = Fraction(1, 16)
"""Of what rows can differ by at most: if none differs by so much, any difference will do."""
ROUNDING = Fraction(1, 10**12)
"""Relative: a decimal of the factual, and the double that stands for it, differ by less."""
MORE = "the most different of the rows that were met; a larger effort= may find others"
"""Why a search ended that was given up."""
SAID = ("", MORE, LIMIT, INTERRUPTED)
"""Reasons that are told; others speak of distances that nobody asked about."""
BOXES = 500
"""Boxes that a search for one more row may take however easy the nearest was."""
MOVED, MOVING = 64, 0.2
"""Rows of the data that are moved towards the instance, and the share of the time for that, or for
rows that are drawn."""
FARTHEST = 2
"""Times the distance of rows that change everything as far as can be: more than any row has."""
DRAWN, FAILED, MUCH = 256, 4, 1.02
"""Rows that are drawn around one, and how often without one that differs much more, by a factor."""
OCTAVES = 20
"""How many times a number's range may be halved for how far it is drawn anew."""
ROUNDS = 3
"""Mixed-integer searches for one row, each finer than the one before."""


@dataclass(frozen=True)
class Chosen:
    """A row within the limit, its least difference ``apart`` from those before, and the proved
    bound of that; ``reason``: why the two are farther from one another than was asked for.
    """

    candidate: Candidate
    apart: Fraction
    bound: Fraction
    reason: str = ""


Asked = Callable[[], Limits]
"""What the next search for a row may use."""


class Spread:
    """Rows of a query as different from one another as they can be, near the nearest one.

    Attributes:
        stop_reason: Why there are fewer than asked for: no other one exists, or none was found.
    """

    def __init__(
        self, query: Query, engine: Engine, deployed: Deployed, question: Question,
        nearest: Outcome, limits: Callable[[float, int], Limits],
    ) -> None:  # fmt: skip
        self.query, self.engine, self.deployed = query, engine, deployed
        self.base = query  # without the rows chosen, where these may differ from others on average
        self.wanted: Diverse = question.diversity
        self.question, self.limits, self.nearest = question, limits, nearest
        self.tolerance = as_written(self.wanted.tolerance)
        self.chosen, self.known = list[Point](), list[Point]()
        self.limit, self.seconds = Fraction(0), 0.0
        self.boxes = max(1.0, self.wanted.effort * max(BOXES, nearest.nodes))
        self.stop_reason: Literal["", "infeasible", "unknown"] = ""

    def rows(self, given: Sequence[Point], seconds: float) -> Iterator[tuple[Chosen, Span]]:
        """Rows beside the nearest, as many as the question asks for, and the time for each.

        Args:
            given: Rows to begin with, the nearest first.
            seconds: What the nearest took.
        """
        best = self.nearest.best
        assert best is not None
        self.chosen, self.seconds, self.known = [best.point], seconds, [*given]
        self.limit = _times(self.query.distance, best.distance, as_written(self.wanted.within))
        if self.query.distance.norms is not None:  # beyond what any row has, engines overflow
            self.limit = min(self.limit, FARTHEST * sum(self.query.distance.norms, Fraction(1)))
        while len(self.chosen) < self.question.count:
            span = Span(self.question.time_limit)
            self._tell()
            found = self._next(partial(self._limits, span))
            if isinstance(found, Outcome):
                none = found.infeasible or found.lower > self.limit
                self.stop_reason = "infeasible" if none else "unknown"
                return
            point = found.candidate.point
            if any(settled(self.query, point, one) == one for one in self.chosen):
                self.stop_reason = "unknown"  # a copy, but for rounding, is no other answer
                return
            self.chosen.append(point)
            yield found, span

    def _as_asked(self, apart: Fraction, bound: Fraction) -> bool:
        """Whether a difference is as large as can be, up to the tolerance."""
        return apart >= (1 - self.tolerance) * (1 - CLOSE) * bound

    def _tell(self) -> None:
        """That another row is looked for, whose searches speak of other distances."""
        watch = self.limits(0.0, 0).watch
        if isinstance(watch, Counting):
            watch.begin()
            lower = floor_float(self.query.distance.root(self.nearest.lower, -1))
            watch(Progress(0.0, lower, None, 0))

    def _limits(self, span: Span) -> Limits:
        return replace(self.limits(span.left, len(self.chosen)), watch=None)

    @property
    def _is_boxed(self) -> bool:
        return self.engine.method == "box" and box_search.suits(self.query)

    @cached_property
    def _nearby(self) -> list[Point]:
        """Rows of the data moved towards the instance: they may be in the target, and near."""
        seconds = MOVING * self.question.time_limit
        with suppress(TimeUp), until(now() + seconds):
            return box_search.moved(self.query, examples_of(self.query, MOVED), seconds)
        return []

    def _next(self, limits: Asked) -> Chosen | Outcome:
        """One more row; what a search said where there is none, or none was found."""
        wanted = self.wanted
        measured = Measured(self.query.space, wanted.measure, tuple(self.chosen), wanted.aggregate)
        self.base = self.query if wanted.aggregate == "least" else self._other()
        found = self._farthest(measured, limits)
        if isinstance(found, Outcome):
            return found
        bound = max(found.apart, min(found.bound, self._most(measured)))
        reason = "" if self._as_asked(found.apart, bound) else found.reason or FINE
        return replace(found, bound=bound, reason=reason)

    def _farthest(self, measured: Measured, limits: Asked) -> Chosen | Outcome:
        """By what searches for difference the question takes."""
        best = self._best_of(self.known, measured, Fraction(0), limits().seconds)
        query = by_mio = None
        if not self.query.hulls:
            with suppress(TimeUp), until(now() + limits().seconds):
                query = parted(self.base, measured, self.limit)
                by_mio = None if self._is_boxed or mio.refuses(query) else query
        if self._is_boxed:
            found = self._by_boxes(measured, best, limits)
        elif by_mio is not None:
            found = self._by_mio(by_mio, measured, best, limits)
        else:
            found = self._by_bisection(measured, best, limits)
        if query is None or self._is_over(found, measured):
            return found
        start, least, bound = self.chosen[-1], Fraction(0), Fraction(1)
        if isinstance(found, Chosen):
            start, least, bound = found.candidate.point, found.apart, found.bound
        enough = float((1 - self.tolerance) * min(bound, self._most(measured)))
        drawn = self._drawn(query, start, (float(least), enough), limits().seconds)
        better = self._best_of(drawn, measured, least, limits().seconds)
        if better is None:
            return found
        return replace(better, bound=bound, reason=found.reason if found.reason in SAID else FINE)

    def _is_over(self, found: Chosen | Outcome, measured: Measured) -> bool:
        """Whether a search leaves no more to look for."""
        if found.reason == INTERRUPTED:
            return True
        if isinstance(found, Outcome):
            return found.infeasible or found.lower > self.limit
        return self._as_asked(found.apart, min(found.bound, self._most(measured)))

    def _drawn(
        self, query: Query, start: Point, ends: tuple[float, float], seconds: float
    ) -> list[Point]:
        """Rows that differ more and more, each drawn around the one before.

        Args:
            ends: The difference of the first one, and that which is enough.
        """
        rows, failed, (apart, enough) = list[Floats](), 0, ends
        with suppress(TimeUp), until(now() + MOVING * min(seconds, self._effort)):
            local = LocalSearch(query, np.random.default_rng(self.question.random_state))
            row = local.row(start)
            while failed < FAILED and apart < enough:
                poll()
                drawn = _redrawn(local, row)
                others = np.where(local.hits(drawn), 1 - local.distances(drawn), -np.inf)
                failed = 0 if others.max() > MUCH * apart else failed + 1
                if others.max() > apart:
                    apart, row = float(others.max()), drawn[others.argmax()]
                    rows.append(row)
        return [local.point(row) for row in rows[-MOVED:]]

    def _best_of(
        self, points: Sequence[Point], measured: Measured, least: Fraction, seconds: float
    ) -> Chosen | None:
        """Of some points that which differs most, and by more than some have.

        Of many, those that can be measured in a share of the time.
        """
        apart, end = list[tuple[Fraction, int]](), now() + max(MOVING * seconds, GRACE / 2)
        for i, point in enumerate(points):
            apart.append((measured.of(point), i))
            if now() > end:
                break
        for far, i in sorted(apart, reverse=True):
            if far <= least or now() > end + GRACE / 2:
                break
            if self.query.distance_to(points[i]) <= self.limit:
                one = verify(self.base, points[i], self.deployed)
                if one is not None and one.distance <= self.limit:
                    return Chosen(one, far, Fraction(1))
        return None

    def _by_boxes(self, measured: Measured, best: Chosen | None, limits: Asked) -> Chosen | Outcome:
        reached = Fraction(0) if best is None else best.apart
        own = replace(limits(), radius=self.limit)
        found = box_search.farthest(self.base, measured, reached, self.tolerance, self.boxes, own)
        for one, apart in reversed(found.found):
            if self.deployed(one.point):
                best = Chosen(one, apart, found.bound)
                break
        if found.is_closed:
            return self._by_bisection(measured, best, limits, found.bound)
        least = Fraction(0) if best is None else best.apart
        best = self._best_of(self._nearby, measured, least, limits().seconds) or best
        if best is None:
            outcome = (
                found.outcome if found.outcome.reason else self._search(self._other(), limits())
            )
            if outcome.best is None or outcome.best.distance > self.limit:
                return outcome
            best = Chosen(outcome.best, measured.of(outcome.best.point), Fraction(1))
        return replace(best, bound=Fraction(1), reason=found.outcome.reason or MORE)

    def _search(self, query: Query, limits: Limits) -> Outcome:
        """The nearest row of a query, of those within the limit."""
        return self.engine.search(query, self.deployed, replace(limits, radius=self.limit))

    def _by_mio(
        self, query: Query, measured: Measured, best: Chosen | None, limits: Asked
    ) -> Chosen | Outcome:  # fmt: skip
        bound, outcome = self._most(measured), Outcome()
        for _ in range(ROUNDS):
            near = bound * SMALL if best is None else max(best.apart, bound * SMALL)
            point = self.chosen[-1] if best is None else best.candidate.point
            begun: Candidate | None = Candidate(point, 1 - measured.of(point))
            if best is None and self.base is not self.query:  # which leaves that row out
                begun = None
            own = replace(limits(), epsilon=self.tolerance * near)
            is_short = self._effort < own.seconds
            own = replace(own, seconds=min(own.seconds, self._effort))
            outcome = mio.search(query, self.deployed, own, regions=False, best=begun)
            bound = min(bound, 1 - outcome.lower)
            if outcome.best is not None:
                point = outcome.best.point
                one, apart = Candidate(point, self.query.distance_to(point)), measured.of(point)
                if apart and (best is None or apart > best.apart):
                    best = Chosen(one, apart, bound)
            if outcome.reason or (best and self._as_asked(best.apart, bound)):
                break
        if best is None:
            return self._by_bisection(measured, best, limits, bound)
        reason = outcome.reason if outcome.reason in SAID else FINE
        return replace(best, bound=bound, reason=MORE if is_short and reason == LIMIT else reason)

    def _by_bisection(
        self,
        measured: Measured,
        best: Chosen | None,
        limits: Asked,
        bound: Fraction | None = None,
    ) -> Chosen | Outcome:
        most, reason, effort = self._most(measured), "", Span(self._effort)
        bound, least = most if bound is None else min(bound, most), max(most * SMALL, FINEST)
        while best is None or (bound > FINEST and not self._as_asked(best.apart, bound)):
            anything = best is None and bound <= least
            low = least / 2 if best is None else max(best.apart, bound * SMALL)
            delta = _between(low, bound)
            query = self._other() if anything else self.base.beside(measured.least(delta))
            own, left = limits(), effort.left
            if not own.seconds or (best is not None and not left):
                if best is None:
                    return Outcome(reason=LIMIT)
                reason = MORE if own.seconds else LIMIT
                break
            if best is not None:
                own = replace(own, seconds=min(own.seconds, left))
            outcome = self._search(query, own)
            found = outcome.best
            if found is not None and found.distance <= self.limit:
                best = Chosen(found, measured.of(found.point), bound)
            elif outcome.infeasible or outcome.lower > self.limit:
                if anything:
                    return outcome
                bound = delta
            elif best is None:
                return outcome
            else:
                reason = outcome.reason if effort.left else MORE
                break
        return replace(best, bound=bound, reason=reason)

    @property
    def _effort(self) -> float:
        """Seconds that searches which count no boxes may take once a row is known."""
        return self.wanted.effort * max(1.0, self.seconds)

    def _other(self) -> Query:
        """The query for any other row."""
        query = self.query
        for point in self.chosen:
            query = query.without(point)
        return query

    def _most(self, measured: Measured) -> Fraction:
        """What no row within the limit differs by: at most 1, by the triangle inequality."""
        alike = len({feature.weight for feature in self.query.space}) == 1
        reach = _reach(self.query.distance, self.wanted.measure, self.limit, alike)
        return min(Fraction(1), measured.of(self.query.factual) + reach)


def _redrawn(local: LocalSearch, row: Floats) -> Floats:
    """Rows with some features of one drawn anew: labels evenly, numbers near and far."""
    rng, rows = local.rng, np.repeat(row[None], DRAWN, axis=0)
    free = [j for j, domain in enumerate(local.domains) if not domain.is_fixed]
    share = rng.choice([1, 2, 4, len(free)], (DRAWN, 1)) / max(len(free), 1)
    anew = rng.random((DRAWN, len(free))) < share
    for own, j in zip(anew.T, free, strict=True):
        domain, size = local.domains[j], int(own.sum())
        if domain.is_symbolic:
            rows[own, j] = rng.choice(np.flatnonzero(np.isfinite(domain.deltas)), size)
            continue
        far = rng.choice([-1, 1], size) * 2.0 ** -rng.uniform(0, OCTAVES, size)
        low, high = float(domain.lower), float(domain.upper)
        moved = np.clip(np.nan_to_num(row[j], nan=low) + far * local.sizes[j], low, high)
        rows[own, j] = local.landed([j], moved[:, None])[:, 0]
    return local.followed(rows)


def _times(distance: Distance, value: Fraction, within: Fraction) -> Fraction:
    """``1 + within`` times a distance, in terms of its program; doubles' rounding is no reason."""
    return value * (1 + within) ** (2 if distance.is_squared else 1) * (1 + ROUNDING)


def _between(low: Fraction, high: Fraction) -> Fraction:
    """Half-way; nearer to the lower end where the other is far."""
    over = _over(high)
    if 2 * low < high:
        return Fraction(isqrt(int(low * high * over**2)), over)
    return Fraction(int((low + high) / 2 * over), over)


def _over(value: Fraction) -> int:
    """A power of 2: in fractions of that, a value up to 1 has ``DIGITS`` bits."""
    return 1 << DIGITS + max(value.denominator.bit_length() - value.numerator.bit_length(), 0)


def _reach(distance: Distance, measure: str, limit: Fraction, alike: bool) -> Fraction:
    """What a row within the limit has of a norm at most: l1 ≤ l2, l1 ≤ linf and l1 ≤ l0 ≤ 1."""
    norms = distance.norms
    if norms is None:
        return Fraction(1)
    largest = norms.linf if alike else Fraction(0)  # only then l1 is no more than linf
    share = {"l1": norms.l0 + norms.l1 + largest, "l0": norms.l0, "linf": norms.linf}[measure]
    if share:
        return limit / share
    if measure == "l1" and norms.l2:
        over = _over(limit)
        return Fraction(isqrt(int(limit / norms.l2 * over**2)) + 1, over)
    return Fraction(1)

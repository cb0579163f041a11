"""A quick upper bound: greedy single-feature moves, then shrinking.

Moves go to the values where something can change: the cuts of the model's trees, a few steps of
each numeric range, every admissible label.  All moves of a round are evaluated at once in double
precision; candidates are verified exactly before they are used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ...arrays import Array, Bools, Floats, Ints
from ...compiler.splits import splits_of
from ...ir import BatchEvaluator, Program, ops
from ...ir.batch import all_hold
from ...question.domain import Domain
from ...question.query import Query
from ...stopping import STOPS, is_over, now, poll
from ..base import Point
from ..encoding.ball import shares_of, weights_of
from ..rows import PointRows, leads

MAX_MOVES = 64  # per numeric feature and round
RESOLUTION = 1e-4  # of the radius that all features need to move at once
DRAWN = 0.93  # of the largest change: the next box that rows are drawn from
BOXES = 64  # one within the other, at most
DRAWS, KEPT = 240, 24  # rows in a draw; those whose surroundings are drawn next
SPREADS = (0.3, 0.15, 0.07, 0.03, 0.01)  # of the box: how far around them, in turn
GRID = 17  # values tried in a range that has no cuts


@dataclass(frozen=True)
class Moves:
    """Moves (n,): a feature's number, the value it takes (its code, for a category), the cost."""

    feature: Ints
    value: Floats
    delta: Floats

    @staticmethod
    def of(feature: int, values: npt.ArrayLike, deltas: npt.ArrayLike = 0.0) -> Moves:
        """Moves of one feature."""
        found = np.asarray(values, dtype=np.float64)
        costs = np.broadcast_to(np.asarray(deltas, dtype=np.float64), found.shape)
        return Moves(np.full(found.size, feature), found, costs)

    @staticmethod
    def all(parts: Iterable[Moves]) -> Moves:
        """One after the other."""
        columns = zip(*((part.feature, part.value, part.delta) for part in parts), strict=True)
        return Moves(*map(np.concatenate, columns))

    def __len__(self) -> int:
        return self.value.size

    def only(self, chosen: Array) -> Moves:
        """Those under a mask, or at places."""
        return Moves(self.feature[chosen], self.value[chosen], self.delta[chosen])


class LocalSearch(PointRows):
    """Greedy search for points in the target of one query, won by more than a margin."""

    def __init__(
        self, query: Query, rng: np.random.Generator, margin: Fraction = Fraction(0)
    ) -> None:
        super().__init__(query.rules)
        self.query, self.rng = query, rng
        self.target = BatchEvaluator(query.target_with_margin(margin))
        self.score = _score_evaluator(query)
        self.excluded = [BatchEvaluator(program) for program in query.excluded]
        self.steps = {
            j: np.array([float(domain.delta(label)) for label in domain.feature.labels])
            for j, domain in enumerate(self.domains)
            if domain.is_symbolic
        }
        self.gaps = [(j, d) for j, d in enumerate(self.domains) if d.first is not None]
        self.sizes = np.array([float(d.feature.range) or 1.0 for d in self.domains])
        self.shares = [np.array(s, np.float64) for s in shares_of(tuple(weights_of(query)))]

    @cached_property
    def distance(self) -> BatchEvaluator:
        """The distance's program, of those that are not made of norms."""
        return BatchEvaluator(self.query.distance.program)

    @cached_property
    def cuts(self) -> list[Floats]:
        """Of each feature, the admissible values on both sides of the model's cuts."""
        cuts = model_cuts(self.query.program)
        return [_landing(domain, cuts[domain.name]) for domain in self.query.domains]

    def candidates(self, seeds: Sequence[Point] = ()) -> list[Point]:
        """Points believed to be in the target, nearest first; when work has to end, those so far.

        Raises:
            BaseException: one of ``STOPS``, before there is any.
        """
        found: list[Floats] = []
        try:
            found.extend(self._reached(seeds))
        except STOPS:
            if not found:
                raise
        if not found:
            return []
        rows = np.array(found)
        order = np.argsort(self.distances(rows), kind="stable")
        unique = list(dict.fromkeys(tuple(rows[i]) for i in order))
        return [self.point(np.array(row)) for row in unique]

    def _reached(self, seeds: Sequence[Point]) -> Iterator[Floats]:
        """Rows believed to be in the target, one after the other."""
        found: list[Floats] = []
        for row in self._outlying(seeds):
            found.append(self.shrink(row))
            yield found[-1]
        if found and self._has_maximum:
            yield self.nearer(found[int(self.distances(np.array(found)).argmin())])

    def _outlying(self, seeds: Sequence[Point]) -> Iterator[Floats]:
        """Rows of the target that are farther away than they need be."""
        yield from map(self.row, seeds)
        for patience in (1.0, 0.0, 0.5):  # how much a move's cost counts against its gain
            reached = self._climb(patience)
            if reached is not None:
                yield reached
        if self._has_maximum:
            yield from self._inflate()

    @property
    def _has_maximum(self) -> bool:
        """Whether the distance counts the largest change."""
        norms = self.query.distance.norms
        return norms is not None and bool(norms.linf)

    def _climb(self, patience: float) -> Floats | None:
        row, changed = self.start.copy(), list[int]()
        best_score = self.scores(row[None])[0]
        for _ in range(len(self.domains) + 2):
            poll()
            moves = self._all_moves(row)
            moves = moves.only(~np.isin(moves.feature, changed))
            if not len(moves):
                return None
            rows = self._applied(row, moves)
            hits = self.hits(rows)
            if hits.any():
                distances = np.where(hits, self.distances(rows), np.inf)
                nearest: Floats = rows[int(distances.argmin())]
                return nearest
            poll()
            gains = self.scores(rows) - best_score
            costs = moves.delta + 1e-3
            usable = gains > 0
            if not usable.any():
                return None
            worth = np.where(usable, gains / costs**patience, -np.inf)
            chosen = int(worth.argmax())
            row, best_score = rows[chosen], best_score + gains[chosen]
            changed.append(int(moves.feature[chosen]))
        return None

    def _inflate(self) -> list[Floats]:
        """For linf: all features move at once; find the radius that the best corner needs.

        When work has to end, the best so far.  Regula falsi on the score (Illinois), as it is
        nearly linear in the radius.
        """
        row, above = self._best_within(1.0)
        if row is None:
            return []
        best, low, high = row, 0.0, float(self.distances(row[None])[0])
        below, last = float(self.scores(self.start[None])[0]), 0
        for _ in range(14):
            if high - low < RESOLUTION:
                break
            share = below / (below - above) if below < 0 < above else 0.5
            middle = low + (high - low) * min(max(share, 0.05), 0.95)
            try:
                row, score = self._best_within(middle)
            except STOPS:
                break
            side = -1 if row is None else 1
            if row is None:
                low, below = middle, score
                above = above / 2 if side == last else above
            else:
                best, above = row, score
                high = min(middle, float(self.distances(row[None])[0]))
                below = below / 2 if side == last else below
            last = side
        return [best]

    def _best_within(self, radius: float) -> tuple[Floats | None, float]:
        """Coordinate ascent of the score with every δ_j at most ``radius``; ``None``: no hit."""
        row, score = self.start.copy(), -np.inf
        for _ in range(2):
            for j, domain in enumerate(self.domains):
                poll()
                moves = self.moves(j, row)
                moves = Moves.all(
                    [moves.only(moves.delta <= radius), self._ends(j, domain, radius)]
                )
                if len(moves):
                    rows = np.vstack([row[None], self._applied(row, moves)])
                    scores = self.scores(rows)
                    best = int(scores.argmax())
                    row, score = rows[best], float(scores[best])
            if self.hits(row[None])[0]:
                return row, score
        return None, score

    def _ends(self, j: int, domain: Domain, radius: float) -> Moves:
        """The farthest admissible values of a numeric feature within the radius."""
        if domain.is_symbolic or domain.is_fixed:
            return Moves.of(j, [])
        reach = radius * (float(domain.feature.range) if radius < 1 else np.inf)
        low = domain.ceil(max(self.start[j] - reach, float(domain.lower)))
        high = domain.floor(min(self.start[j] + reach, float(domain.upper)))
        return Moves.of(j, [float(value) for value in (low, high) if value is not None], radius)

    def shrink(self, row: Floats) -> Floats:
        """Move features back towards the factual while the target still holds, and time is left."""
        best, here = row, self.distances(row[None])[0]
        for _ in range(50):
            if is_over():
                break
            home = Moves(np.arange(len(self.domains)), self.start, np.zeros(len(self.domains)))
            halfway = (self._halfway(j, best) for j in range(len(self.domains)))
            moves = Moves.all([self._all_moves(best), home, *halfway])
            rows = self._applied(best, moves)
            distances = self.distances(rows)
            nearer = distances < here - 1e-12
            if not nearer.any():
                break
            rows, distances = rows[nearer], distances[nearer]
            hits = self.hits(rows)
            if not hits.any():
                break
            pick = int(np.where(hits, distances, np.inf).argmin())
            best, here = rows[pick], distances[pick]
        return best

    def nearer(self, row: Floats) -> Floats:
        """A row of the target moved back; under linf also others, drawn within smaller boxes.

        There single moves end early: many features have to move at once.
        """
        best = self.shrink(row)
        for _ in range(BOXES if self._has_maximum else 0):
            drawn = self._drawn(best, DRAWN * float(self.distances(best[None])[0]))
            if drawn is None:
                break
            best = drawn
        return best

    def _drawn(self, row: Floats, radius: float) -> Floats | None:
        """A row of the target with every number within a radius; ``None`` if none is met.

        Rows are drawn evenly and in corners, then around those of the best scores.
        """
        j = [k for k, d in enumerate(self.domains) if not (d.is_symbolic or d.is_fixed)]
        limits = np.array([(float(self.domains[k].lower), float(self.domains[k].upper)) for k in j])
        if not j:
            return None
        low = np.maximum(self.start[j] - radius * self.sizes[j], limits[:, 0])
        high = np.minimum(self.start[j] + radius * self.sizes[j], limits[:, 1])
        drawn = self.rng.random((DRAWS, len(j)))
        drawn[::2] = np.round(drawn[::2])
        numbers = np.vstack([np.clip(row[j], low, high), low + drawn * (high - low)])
        for spread in SPREADS:
            poll()
            rows = np.repeat(row[None], len(numbers), axis=0)
            rows[:, j] = self.landed(j, numbers)
            rows = self.followed(rows)
            distances = np.where(self.hits(rows), self.distances(rows), np.inf)
            if distances.min() < self.distances(row[None])[0]:
                nearest: Floats = rows[int(distances.argmin())]
                return nearest
            best = numbers[np.argsort(-self.scores(rows), kind="stable")[:KEPT]]
            noise = self.rng.normal(size=(DRAWS, len(j))) * spread * (high - low)
            around = np.repeat(best, -(-DRAWS // len(best)), axis=0)[:DRAWS]
            numbers = np.vstack([best, np.clip(around + noise, low, high)])
        return None

    def landed(self, chosen: Sequence[int], numbers: Floats) -> Floats:
        """Numbers (n, chosen) as admissible ones, no farther from the factual."""
        landed = numbers.copy()
        for i, j in enumerate(chosen):
            up = numbers[:, i] < self.start[j]
            for side, own in ((1, up), (-1, ~up)):
                landed[own, i] = self.domains[j].nearest(numbers[own, i], side)
        return np.where(np.isnan(landed), self.start[list(chosen)], landed)

    def undone(self, point: Point, end: float) -> list[Point]:
        """The point without the changes that it can do without, and no farther; none if none can.

        First with what is left moved back as far as it goes too, then with whole changes undone
        alone.  Nothing more is tried after ``end`` (of ``now``).
        """
        row = self.row(point)
        limit = self.distances(row[None])[0]
        rounds: list[Point] = []
        for wholly in (True, False, True):
            for j in np.flatnonzero(row != self.start).tolist():
                if now() > end:
                    break
                rows = self._applied(row, self._back(j, row, wholly))
                good = self.hits(rows) & (self.distances(rows) <= limit)
                if good.any():
                    row = rows[int(good.argmax())]
            made = self.point(row)
            if made != (rounds[0] if rounds else dict(point)):
                rounds.insert(0, made)
        return rounds

    def _back(self, j: int, row: Floats, wholly: bool) -> Moves:
        """Moves of one changed feature towards the factual, the farthest first."""
        home = Moves.of(j, self.start[j : j + 1])
        if wholly or self.domains[j].is_symbolic:
            return home
        found = Moves.all([self.moves(j, row), self._halfway(j, row)])
        away = np.abs(found.value - self.start[j])
        order = np.argsort(away, kind="stable")
        nearer = order[away[order] < abs(row[j] - self.start[j])]
        return Moves.all([home, found.only(nearer)])

    def _halfway(self, j: int, row: Floats) -> Moves:
        """Steps of 1/2, 1/4, … of the way back, for a number."""
        domain, here, start = self.domains[j], row[j], self.start[j]
        if domain.is_symbolic or here == start:
            return Moves.of(j, [])
        values, before = list[float](), here
        for raw in (here + (start - here) / 2.0 ** np.arange(1, 21)).tolist():
            value = _between(domain, raw, -1 if start < here else 1)
            if value is None or value in (here, before):
                break  # on a grid: shorter steps end there too
            values.append(value)
            before = value
        return Moves.of(j, values)

    @cached_property
    def _tried(self) -> list[Moves]:
        """Of each feature, everything that may be worth trying."""
        found = []
        for j, (domain, cuts) in enumerate(zip(self.domains, self.cuts, strict=True)):
            if domain.is_fixed:
                found.append(Moves.of(j, []))
            elif domain.is_symbolic:
                codes = np.flatnonzero(np.isfinite(domain.deltas))
                found.append(Moves.of(j, codes, domain.deltas[codes]))
            else:
                found.append(Moves.of(j, cuts, domain.away(cuts)))
        return found

    @cached_property
    def _few(self) -> Moves | None:
        """All of them, if no feature has too many to try them all each time."""
        few = all(len(moves) <= MAX_MOVES for moves in self._tried)
        return Moves.all(self._tried) if few else None

    def _all_moves(self, row: Floats) -> Moves:
        if self._few is None:
            return Moves.all(self.moves(j, row) for j in range(len(self.domains)))
        return self._few.only(self._few.value != row[self._few.feature])

    def moves(self, j: int, row: Floats) -> Moves:
        """Single-feature changes of ``row`` worth trying."""
        found = self._tried[j]
        if len(found) > MAX_MOVES and not self.domains[j].is_symbolic:
            # the nearest cuts, and a sample of the others
            order = np.argsort(np.abs(found.value - row[j]), kind="stable")
            far = self.rng.choice(order[MAX_MOVES // 2 :], MAX_MOVES // 2, replace=False)
            found = found.only(np.concatenate([order[: MAX_MOVES // 2], far]))
        return found.only(found.value != row[j])

    def _applied(self, row: Floats, moves: Moves) -> Floats:
        """One row per move, with what follows from it."""
        rows = np.repeat(row[None], len(moves), axis=0)
        rows[np.arange(len(moves)), moves.feature] = moves.value
        return self.followed(rows)

    def hits(self, rows: Floats) -> Bools:
        """Which rows are in the target and satisfy the constraints."""
        columns = self.columns(rows)
        good: Bools = self.target(columns)["in_target"].astype(bool)
        return good & self.kept(rows) & all_hold(self.excluded, columns, rows.shape[0])

    def distances(self, rows: Floats) -> Floats:
        """The query's distance of each row."""
        norms = self.query.distance.norms
        if norms is not None:  # what the program says, faster
            l0, l1, linf, l2 = map(float, norms)
            (total, largest), deltas = self.shares, self._deltas(rows)
            added: Floats = (l0 * (deltas > 0) + deltas * (l1 + l2 * deltas)) @ total
            worst: Floats = linf * np.max(deltas * largest, axis=1)
            return np.asarray(added + worst, dtype=np.float64)
        columns = self.columns(rows)
        scope = {f"x.{name}": column for name, column in columns.items()}
        scope |= BatchEvaluator(self.query.delta)(columns) | self.factual(rows.shape[0])
        given = self.query.distance.program.arguments(scope)
        spread = {name: np.broadcast_to(each, (rows.shape[0],)) for name, each in given.items()}
        return np.asarray(self.distance(spread)["result"], dtype=np.float64)

    def _deltas(self, rows: Floats) -> Floats:
        """δ (n, J) of each row."""
        deltas: Floats = np.abs(rows - self.start) / self.sizes
        for j, steps in self.steps.items():
            deltas[:, j] = steps[rows[:, j].astype(np.int64)]
        for j, domain in self.gaps:
            deltas[:, j] = domain.away(rows[:, j])
        return deltas

    def scores(self, rows: Floats) -> Floats:
        """How far each row is from the target on its deciding score; larger is nearer."""
        scores: Floats = self.score(self.columns(rows))
        return scores


def _score_evaluator(query: Query) -> Any:
    """How far rows are from the target (larger is nearer): from score, probability or value."""
    program, target = query.program, query.target
    outputs = dict(program.outputs)
    evaluator = BatchEvaluator(program)
    if target.is_range:
        low = -np.inf if target.lower is None else float(target.lower)
        high = np.inf if target.upper is None else float(target.upper)

        def gap(columns: Any) -> Floats:
            value = evaluator(columns)["value"]
            inside: Floats = np.minimum(np.minimum(value - low, high - value), 0.0)
            return inside

        return gap
    position = program.output_sorts["label"].labels.position(target.label)
    name = "score" if "score" in outputs else "probability" if "probability" in outputs else ""

    def lead(columns: Any) -> Floats:
        result = evaluator(columns)
        if not name:
            hits: Floats = (result["label"] == position).astype(np.float64)
            return hits
        return leads(np.asarray(result[name], dtype=np.float64), position)

    return lead


@lru_cache(maxsize=32)
def model_cuts(program: Program) -> Mapping[str, Floats]:
    """Per input, the sorted distinct cuts of all tree ensembles of a program."""
    names = [name for name, _ in program.inputs]
    found: dict[str, list[Floats]] = {name: [np.empty(0)] for name in names}
    for let in program.lets():
        poll()
        splits = splits_of(program, let.name) if isinstance(let.op, ops.TreeEnsemble) else None
        if splits is not None:
            for j, name in enumerate(names):
                cuts = splits.cut[splits.input == j]
                found[name].append(cuts[np.isfinite(cuts)])
    return {name: np.unique(np.concatenate(parts)) for name, parts in found.items()}


def _landing(domain: Domain, cuts: Floats) -> Floats:
    """Admissible values on both sides of every cut, or a plain grid where there are no cuts."""
    if domain.is_symbolic or domain.is_fixed:
        return np.empty(0)
    low, high = float(domain.lower), float(domain.upper)
    inside = cuts[(low <= cuts) & (cuts < high)]
    if not inside.size:
        spread = np.linspace(low, high, GRID)
        powers = (high - low) / 2.0 ** np.arange(5, 21)
        own = float(domain.factual)
        inside = np.clip(np.concatenate([spread, own - powers, own + powers]), low, high)
    poll()
    below, above = domain.nearest(inside, -1), domain.nearest(np.nextafter(inside, np.inf), 1)
    values = np.concatenate([below, above, [low, high]])
    return np.unique(values[(low <= values) & (values <= high)])


def _between(domain: Domain, value: float, side: int) -> float | None:
    """The next admissible number below (``side`` -1) or above, up to rounding of the range."""
    if domain.is_plain and domain.step is None:
        low, high = domain.ends
        return value if low <= value <= high else None
    found = domain.floor(value) if side < 0 else domain.ceil(value)
    return None if found is None else float(found)

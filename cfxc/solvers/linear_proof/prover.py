"""Makes the proof that nothing lies within a radius: branch and bound by linear programs.

Each part of the ball gets the linear program that minimises the distance over its inequalities; its
duals are the multipliers that close the part, if exact arithmetic says so.  Else the part is split
where the program's solution is wrong by most: on the sign of a unit, a label, or a number.
"""

from __future__ import annotations

import time
from fractions import Fraction

from ...errors import UnsupportedError
from ...frontends.query import Query
from ...ir.interval import ceil_float
from .parts import Ball, Branch, Lemma, LinearTree, Multipliers, Part
from .program import WRONG, Program, Solution

ZERO = Fraction(0)
INSIDE = 1 - Fraction(1, 2**40)
Halves = tuple[Branch, tuple[Part, Part]]


def prove(query: Query, radius: Fraction, seconds: float) -> LinearTree | None:
    """A proof that no counterfactual lies within ``radius``; ``None`` if none is found in time.

    Raises:
        UnsupportedError: the program is not made of linear forms and units, or the distance not of
            norms.
    """
    if query.distance.norms is None:
        raise UnsupportedError("a proof by linear programs needs a distance made of norms")
    return _Prover(Ball(query, radius), time.monotonic() + seconds).run()


class _Prover:
    def __init__(self, ball: Ball, deadline: float) -> None:
        self.ball, self.deadline = ball, deadline
        self.lemmas: list[Lemma] = []
        self.known: dict[tuple[int, int], Fraction] = {}
        self.nodes: list[Branch | Multipliers] = []

    def run(self) -> LinearTree | None:
        """Lemmas at the root, then parts until none is open."""
        ball = self.ball
        if not self._bound_units():
            return None
        stack: list[tuple[Part, int]] = [(ball.root, 0)]
        self.nodes = [Multipliers({}, ZERO)]
        while stack:
            if time.monotonic() > self.deadline:
                return None
            part, place = stack.pop()
            closing, point = self._close(part)
            if closing is not None:
                self.nodes[place] = closing
                continue
            halves = self._split(part, point)
            if halves is None:
                return None
            branch, sides = halves
            for side in (1, 0):
                stack.append((sides[side], branch.children[side]))
            self.nodes[place] = branch
        return LinearTree(ball.query, ball.radius, tuple(self.lemmas), tuple(self.nodes))

    # -- closing ----------------------------------------------------------------------------------

    def _bound_units(self) -> bool:
        """Tighter ranges of units over the whole ball, each proved; whether time is left."""
        for k, form in enumerate(self.ball.units.forms):
            for side in (1, -1):
                spans = self.ball.spans(self.ball.root, self.known)
                if spans is None:
                    return True
                if time.monotonic() > self.deadline:
                    return False
                low, high = spans.units[k]
                if low >= 0 or high <= 0:
                    break
                program = Program(self.ball, self.ball.root, spans, k)
                by = program.largest(form.scaled(Fraction(side)))
                if by is None:
                    continue
                most = self.ball.most(form.scaled(Fraction(side)), by, self.ball.root, spans)
                bound = Fraction(ceil_float(most))
                if bound < (high if side > 0 else -low):
                    self.lemmas.append(Lemma(k, side, bound, by))
                    self.known[k, side] = bound
        return True

    def _close(self, part: Part) -> tuple[Multipliers | None, Solution | None]:
        """Multipliers that close a part; else a solution to split at."""
        spans = self.ball.spans(part, self.known)
        if spans is None:
            return Multipliers({}, ZERO), None
        program = Program(self.ball, part, spans, len(spans.units))
        by, solution = program.nearest()
        if by is not None and self.ball.closes(by, part, spans):
            return by, None
        return None, solution

    # -- splitting --------------------------------------------------------------------------------

    def _split(self, part: Part, at: Solution | None) -> Halves | None:
        """Two halves of a part, apart where the solution is wrong; ``None`` if it is right."""
        if at is None:
            return None
        unit, wrong = at.worst_unit()
        if wrong > WRONG:
            branch = Branch(unit, "", None, None, None, self._children())
            return branch, (part.signed(unit, -1), part.signed(unit, 1))
        step = at.wrong_step()
        if step is not None:
            return self._cut(part, *step)
        name, place, share = at.worst_label()
        if share > WRONG:
            (domain,) = (each for each in self.ball.query.domains if each.name == name)
            branch = Branch(None, name, None, None, domain.labels[place], self._children())
            rest = part.labels[name] - {place}
            return branch, (part.among(name, frozenset({place})), part.among(name, rest))
        found = at.cut()
        return None if found is None else self._cut(part, *found)

    def _cut(self, part: Part, name: str, cut: Fraction, after: Fraction) -> Halves:
        low, high = part.ranges[name]
        branch = Branch(None, name, cut, after, None, self._children())
        return branch, (part.within(name, low, cut), part.within(name, after, high))

    def _children(self) -> tuple[int, int]:
        """The places of two nodes to come."""
        self.nodes += [Multipliers({}, ZERO)] * 2
        return len(self.nodes) - 2, len(self.nodes) - 1


def everywhere(query: Query) -> Fraction:
    """A radius beyond every admissible point of a query whose distance is made of norms."""
    ends = [
        domain.delta(value)
        for domain in query.domains
        for value in (domain.allowed if domain.is_symbolic else (domain.lower, domain.upper))
    ]
    return (1 + max(ends, default=ZERO)) ** 2


class OnDemand:
    """A proof that nothing is nearer than ``radius``, made when it is asked for.

    ``query`` is what was asked; ``make`` takes about as long as the search did, or longer.
    """

    def __init__(self, query: Query, radius: Fraction) -> None:
        self.query, self.radius = query, radius
        self._made: LinearTree | None = None

    def make(self, seconds: float = 60.0) -> LinearTree | None:
        """The proof; ``None`` if none is found in so many seconds.

        Where points lie at the radius itself, linear programs may not tell them from nearer ones:
        then its ``radius`` is smaller by a share of 2⁻⁴⁰.

        Raises:
            UnsupportedError: as :func:`prove`.
        """
        if self._made is None:
            started = time.monotonic()
            self._made = prove(self.query, self.radius, seconds)
            left = seconds - (time.monotonic() - started)
            if self._made is None and left > 0:
                self._made = prove(self.query, self.radius * INSIDE, left)
        return self._made


__all__ = ["OnDemand", "everywhere", "prove"]

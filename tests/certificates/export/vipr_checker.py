"""A checker of VIPR 1.0 of its own: text and fractions, and nothing of cfxc."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction as Q
from itertools import dropwhile
from math import ceil, floor, gcd

SENSES = {"G": 1, "E": 0, "L": -1}


class RejectedError(Exception):
    """The file proves nothing; says why."""


def need(condition: object, why: str) -> None:
    if not condition:
        raise RejectedError(why)


def value(text: str) -> Q:
    """A whole number or a fraction, which must be in lowest terms."""
    top, _, bottom = text.partition("/")
    need(not bottom or (int(bottom) > 1 and gcd(int(top), int(bottom)) == 1), f"number {text}")
    return Q(int(top), int(bottom or 1))


@dataclass(frozen=True)
class Row:
    sense: int
    side: Q
    terms: dict[int, Q]
    under: frozenset[int] = frozenset()

    def falsehood(self) -> bool:
        wrong = (self.sense >= 0 and self.side > 0) or (self.sense <= 0 and self.side < 0)
        return not self.terms and wrong

    def dominates(self, other: Row) -> bool:
        if self.falsehood():
            return True
        if self.terms != other.terms or self.sense not in (0, other.sense):
            return False
        return (self.side - other.side) * other.sense >= 0 if other.sense else (
            self.side == other.side
        )  # fmt: skip


class Checker:
    """Reads a file from beginning to end; ``proved`` is what it shows."""

    def __init__(self, text: str) -> None:
        lines = dropwhile(lambda line: line.startswith("%"), text.splitlines())
        self.tokens: Iterator[str] = iter(" ".join(lines).split())
        self.rows: list[Row] = []
        self.last: dict[int, int] = {}
        self.section("VER")
        need(self.word() == "1.0", "version")
        self.section("VAR")
        self.names = [self.word() for _ in range(self.whole())]
        need(len(set(self.names)) == len(self.names), "a name twice")
        self.section("INT")
        self.integer = {self.place(len(self.names)) for _ in range(self.whole())}
        self.section("OBJ")
        need(self.word() == "min", "sense")
        self.objective = self.pairs(self.whole(), len(self.names))
        self.section("CON")
        count, bounds = self.whole(), self.whole()
        for i in range(count):
            self.rows.append(self.row()[0])
            need((len(self.rows[i].terms) == 1) >= (i < bounds), "a bound of more than one")
        self.proved = self.rest(count)
        need(next(self.tokens, None) is None, "text after the end")

    def word(self) -> str:
        found = next(self.tokens, None)
        need(found is not None, "the end is missing")
        return str(found)

    def section(self, name: str) -> None:
        need(self.word() == name, f"section {name}")

    def whole(self) -> int:
        return int(self.word())

    def place(self, end: int) -> int:
        found = self.whole()
        need(0 <= found < end, f"place {found}")
        return found

    def pairs(self, count: int, end: int) -> dict[int, Q]:
        found = {self.place(end): value(self.word()) for _ in range(count)}
        need(len(found) == count, "a place twice")
        return {place: factor for place, factor in found.items() if factor}

    def row(self) -> tuple[Row, bool]:
        """A row, and whether it names the objective."""
        self.word()
        sense, side, count = SENSES[self.word()], value(self.word()), self.word()
        if count == "OBJ":
            return Row(sense, side, self.objective), True
        return Row(sense, side, self.pairs(int(count), len(self.names))), False

    def rest(self, count: int) -> tuple[Q | None, Q | None]:
        self.section("RTP")
        lower, upper = None, None
        if (kind := self.word()) == "range":
            lower, upper = (None if "inf" in end else value(end) for end in self.two())
        else:
            need(kind == "infeas", "what is to be proved")
        self.section("SOL")
        values = [self.solution(count) for _ in range(self.whole())]
        need(upper is None or min(values, default=upper + 1) <= upper, "the upper bound")
        self.section("DER")
        for _ in range(self.whole()):
            self.derive()
        final = self.rows[-1]
        need(not final.under, "an assumption is left")
        goal = Row(1, Q(1), {}) if lower is None else Row(1, lower, self.objective)
        need(final.falsehood() if lower is None else final.dominates(goal), "the goal")
        return lower, upper

    def two(self) -> tuple[str, str]:
        return self.word(), self.word()

    def solution(self, count: int) -> Q:
        self.word()
        point = self.pairs(self.whole(), len(self.names))
        need(all(point.get(j, Q(0)).denominator == 1 for j in self.integer), "not whole")
        for row in self.rows[:count]:
            gap = sum((f * point.get(j, Q(0)) for j, f in row.terms.items()), -row.side)
            need(gap * row.sense >= 0 if row.sense else gap == 0, "the solution breaks a row")
        return sum((f * point.get(j, Q(0)) for j, f in self.objective.items()), Q(0))

    def used(self, place: int) -> Row:
        last = self.last.get(place, -1)
        need(last == -1 or last >= len(self.rows), "used after its last use")
        return self.rows[place]

    def derive(self) -> None:
        here = len(self.rows)
        row, _ = self.row()
        need(self.word() == "{", "a reason")
        kind = self.word()
        need(kind in ("asm", "lin", "rnd", "uns"), f"reason {kind}")
        under = frozenset({here})
        if kind in ("lin", "rnd"):
            found = self.combined(self.pairs(self.whole(), here), kind == "rnd")
            need(found.dominates(row), f"row {here} does not follow")
            under = found.under
        elif kind == "uns":
            under = self.unsplit(row, here)
        need(self.word() == "}", "the end of a reason")
        self.last[here] = self.whole()
        self.rows.append(Row(row.sense, row.side, row.terms, under))

    def combined(self, by: dict[int, Q], rounds: bool) -> Row:
        """A linear combination of rows, all of one direction."""
        terms: dict[int, Q] = {}
        side, under, directions = Q(0), frozenset[int](), set[int]()
        for place, y in by.items():
            row = self.used(place)
            directions.add(row.sense * (1 if y > 0 else -1))
            side, under = side + y * row.side, under | row.under
            for j, f in row.terms.items():
                terms[j] = terms.get(j, Q(0)) + y * f
        directions -= {0}
        need(len(directions) <= 1, "a multiplier has the wrong sign")
        kept, sense = {j: f for j, f in terms.items() if f}, sum(directions)
        if rounds:
            fits = all(j in self.integer and f.denominator == 1 for j, f in kept.items())
            need(fits and sense, "a row that is rounded")
            side = Q(ceil(side) if sense > 0 else floor(side))
        return Row(sense, side, kept, under)

    def unsplit(self, row: Row, here: int) -> frozenset[int]:
        below, one, above, other = (self.place(here) for _ in range(4))
        sides = self.used(one), self.used(other)
        need(self.used(below).dominates(row) and self.used(above).dominates(row), "both sides")
        fits = all(j in self.integer and f.denominator == 1 for j, f in sides[0].terms.items())
        need(fits and sides[0].terms == sides[1].terms, "what is split")
        low, high = sorted(sides, key=lambda each: each.sense)
        apart = (low.sense, high.sense) == (-1, 1) and low.side + 1 == high.side
        need(apart and low.side.denominator == 1, "the sides leave a gap")
        return (self.rows[below].under - {one}) | (self.rows[above].under - {other})


def proved(text: str) -> tuple[Q | None, Q | None]:
    """The range of the optimum that a file proves; two None if there is no point."""
    return Checker(text).proved


__all__ = ["RejectedError", "proved"]

"""What the names of a VIPR file stand for, so that a reader can rebuild and compare it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction as Q
from itertools import groupby
from typing import Any

from ...checker import number
from .problem import Problem
from .search import Node, Search

FORMAT = "cfxc VIPR manifest 2"
SHOWN = (
    "A VIPR checker proves the file: no point of its program costs less than the bound. That the "
    "program is the certificate's is shown by rebuilding its variables and rows and comparing."
)
NUMBER = "a number is the factual's plus up_j minus down_j, each over the columns of feature j"


def manifest(
    certificate: Mapping[str, Any], problem: Problem, search: Search, steps: int
) -> dict[str, Any]:
    """Names, reasons, bounds, and what is relaxed."""
    claim = certificate["claim"]
    first = 2 * len(problem.columns)
    return {
        "format": FORMAT,
        "vipr": "1.0",
        "certificate": certificate["hash"],
        "shown": SHOWN,
        "claimed": claimed(claim),
        "proved": bound(search.aim),
        "reaches_claim": not search.short,
        "numbers": NUMBER,
        "variables": {
            column.name: {
                "low": str(column.low),
                "high": str(column.high),
                "whole": column.whole,
                **column.about,
            }
            for column in problem.columns
        },
        "objective": "the distance",
        "rows": [
            {"group": "bounds", "first": 0, "last": first - 1, "why": "ranges of the variables"},
            *_groups(problem, first),
        ],
        "notes": [*_short(search, claim), *problem.notes],
        "parts": search.nodes,
        "derived": steps,
    }


def _groups(problem: Problem, first: int) -> list[dict[str, Any]]:
    """Runs of rows of one group."""
    found, start = [], first
    for group, rows in groupby(problem.rows, key=lambda row: row.group):
        end = start + len(list(rows))
        why = problem.groups[group]
        found.append({"group": group, "first": start, "last": end - 1, "why": why})
        start = end
    return found


def claimed(claim: Mapping[str, Any]) -> dict[str, Any]:
    """What a certificate claims, numbers exactly and as doubles."""
    if claim["status"] == "infeasible":
        return {"status": "infeasible"}
    return {
        "status": claim["status"],
        "lower_bound": bound(number(claim["lower_bound"])),
        "distance": bound(number(claim["distance"])),
    }


def bound(value: Q | None) -> dict[str, Any]:
    """A number exactly and as a double."""
    if value is None:
        return {"status": "infeasible"}
    return {"exact": str(value), "float": float(value)}


def _short(search: Search, claim: Mapping[str, Any]) -> list[str]:
    if not search.short:
        return []
    more = "infeasible" if claim["status"] == "infeasible" else "a larger bound"
    return [
        f"the certificate claims {more}; of this program, which allows more, only the bound "
        "under 'proved' is shown"
    ]


Terms = Iterable[tuple[int, Q]]


@dataclass(frozen=True)
class Step:
    """A derived row: its text up to the reason, the reason, and the rows that it uses."""

    row: str
    reason: str
    uses: tuple[tuple[int, Q | None], ...]  # rows and multipliers
    under: frozenset[int]  # the assumptions that it rests on


def terms(pairs: Terms) -> str:
    """``count index value …``."""
    found = [f"{index} {value}" for index, value in pairs]
    return " ".join([str(len(found)), *found])


class Derivation:
    """The rows that follow from a program's, from the leaves of a branch and bound to its root."""

    def __init__(self, problem: Problem, root: Node, aim: Q | None) -> None:
        self.problem, self.steps = problem, list[Step]()
        self.goal = "G 1 0" if aim is None else f"G {aim} OBJ"
        self.first = 2 * len(problem.columns)  # of the rows that are no bounds
        self.start = self.first + len(problem.rows)
        count = len(problem.columns)
        self.lows = [[2 * j] for j in range(count)]  # rows by which a column is bounded, by depth
        self.highs = [[2 * j + 1] for j in range(count)]
        self._walk(root)
        self._prune()

    def _add(self, step: Step) -> int:
        self.problem.left()
        self.steps.append(step)
        return self.start + len(self.steps) - 1

    def _assume(self, column: int, sense: str, at: int) -> int:
        place = self.start + len(self.steps)
        under = frozenset({place})
        return self._add(Step(f"{sense} {at} 1 {column} 1", "asm", (), under))

    def _walk(self, root: Node) -> None:
        """Rows of all nodes, below before above before what follows from both."""
        made: list[int] = []  # the row of each node that is done and whose parent is not
        stack: list[tuple[Node, int, int, int]] = [(root, 0, -1, -1)]
        while stack:
            node, stage, one, other = stack.pop()
            if node.below is None or node.above is None:
                made.append(self._leaf(node))
                continue
            if stage == 0:
                one = self._assume(node.column, "L", node.at)
                self.highs[node.column].append(one)
                stack += [(node, 1, one, -1), (node.below, 0, -1, -1)]
            elif stage == 1:
                self.highs[node.column].pop()
                if one not in self._under(made[-1]):
                    continue  # it holds on the other side, too
                other = self._assume(node.column, "G", node.at + 1)
                self.lows[node.column].append(other)
                stack += [(node, 2, one, other), (node.above, 0, -1, -1)]
            else:
                self.lows[node.column].pop()
                above, below = made.pop(), made.pop()
                made.append(above if other not in self._under(above) else -1)
                if made[-1] < 0:
                    made[-1] = self._join(below, one, above, other)
        self.last = made.pop()

    def _under(self, place: int) -> frozenset[int]:
        return self.steps[place - self.start].under

    def _join(self, below: int, one: int, above: int, other: int) -> int:
        uses = tuple((place, None) for place in (below, one, above, other))
        under = (self._under(below) - {one}) | (self._under(above) - {other})
        return self._add(Step(self.goal, "uns", uses, under))

    def _leaf(self, node: Node) -> int:
        """A row by the multipliers of a node."""
        shown = node.shown
        assert shown is not None
        uses: list[tuple[int, Q | None]] = [(self.first + i, y) for i, y in shown.rows.items()]
        for j, y in shown.bounds.items():
            uses.append(((self.lows if y > 0 else self.highs)[j][-1], y))
        under = frozenset(place for place, _ in uses if place >= self.start)
        return self._add(Step(self.goal, "lin", tuple(sorted(uses)), under))

    def _prune(self) -> None:
        """Leave out what the last row does not rest on."""
        needed, stack = {self.last}, [self.last]
        while stack:
            for place, _ in self.steps[stack.pop() - self.start].uses:
                if place >= self.start and place not in needed:
                    needed.add(place)
                    stack.append(place)
        self.places = {old: self.start + new for new, old in enumerate(sorted(needed))}

    def lines(self) -> Iterator[str]:
        """The section DER."""
        kept = [self.steps[old - self.start] for old in self.places]
        last: dict[int, int] = {}
        for new, step in enumerate(kept):
            for place, _ in step.uses:
                last[self.places.get(place, place)] = self.start + new
        yield f"DER {len(kept)}"
        for new, step in enumerate(kept):
            self.problem.left()
            uses = [(self.places.get(place, place), y) for place, y in step.uses]
            reason = step.reason
            if reason == "lin":
                reason += " " + terms((place, y) for place, y in uses if y is not None)
            elif reason == "uns":
                reason += "".join(f" {place}" for place, _ in uses)
            place = self.start + new
            yield f"D{place} {step.row} {{ {reason} }} {last.get(place, -1)}"


def head(problem: Problem, certificate: str) -> list[str]:
    """The lines that say what the program is: VAR, INT, OBJ and CON, and whose it is.

    ``certificate`` is its hash.
    """
    columns = problem.columns
    lines = [f"% cfxc certificate {certificate}", "VER 1.0"]
    lines += [f"VAR {len(columns)}", *(column.name for column in columns)]
    whole = [str(j) for j, column in enumerate(columns) if column.whole]
    lines += [f"INT {len(whole)}", " ".join(whole)]
    lines += ["OBJ min", terms(sorted(problem.objective.items()))]
    lines.append(f"CON {2 * len(columns) + len(problem.rows)} {2 * len(columns)}")
    for j, column in enumerate(columns):
        lines.append(f"lo_{column.name} G {column.low} 1 {j} 1")
        lines.append(f"hi_{column.name} L {column.high} 1 {j} 1")
    for row in problem.rows:
        lines.append(f"{row.name} {row.sense} {row.side} {terms(sorted(row.terms.items()))}")
    return lines


def goal(problem: Problem, aim: Q | None, point: list[Q] | None) -> list[str]:
    """The lines that say what is proved: RTP, and the witness by the values of its columns."""
    upper = "inf"
    if point is not None:
        upper = str(sum((f * point[j] for j, f in problem.objective.items()), Q(0)))
    lines = ["RTP infeas" if aim is None else f"RTP range {aim} {upper}"]
    lines.append(f"SOL {int(point is not None)}")
    if point is not None:
        lines.append("witness " + terms((j, value) for j, value in enumerate(point) if value))
    return lines

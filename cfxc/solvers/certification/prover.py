"""Makes the proof that nothing lies within a radius: branch and bound by linear programs.

It works on the certificate's own program, and every part is closed by the checker's own rules, so
what is made here is what the checker takes.  The linear program of a part minimises the distance
over its inequalities; its duals are the multipliers that close the part, if exact arithmetic says
so.  Else the part is split where the program's solution is wrong by most: on the sign of a unit, a
label, or a number.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from math import inf, nextafter
from typing import Any, NamedTuple

from ...certificates.checker import Clock, Proof
from ...certificates.checker.layers import Ladder
from ...certificates.checker.program import CONSTANT, Form, plus
from ...certificates.checker.rules import NONE, Multipliers
from ...certificates.checker.smooth import CURVES
from ...ir.interval import ceil_float
from ...ir.linear import ZERO
from ...stopping import TimeUp, now, poll, until
from .core import exact, written_label
from .curves import crossing
from .hull_columns import HullColumns
from .linear_program import READ, LinearProgram
from .solution import WRONG, Solution

Split = list[Any]  # a node of a proof without its children
Node = list[Any]


def undecided(problem: Proof, parts: list[Any], signs: dict[int, int]) -> list[Any] | None:
    """A split that decides a constraint on one of its sides; ``None`` if all is decided.

    On the sign of a unit that it reads, else on a label or where a number makes it true, else in
    the middle of a number.
    """
    near = problem.within(parts)
    spans = None if near is None else problem.spans(near, signs)
    if near is None or spans is None:
        return None

    def span(form: Form) -> tuple[Fraction, Fraction]:
        ends = [
            problem.most({s: f * sign for s, f in form.items()}, NONE, near, signs, spans)
            for sign in (-1, 1)
        ]
        return -ends[0], ends[1]

    for truth in problem.truths:
        for kind, form in _atoms(truth):
            if problem.verdict((kind, [form]), span) != (False, True):
                continue
            for split in _splits(problem, form, near, spans, signs):
                return split
    return None


def _atoms(truth: Any) -> Iterator[tuple[str, Form]]:
    """The comparisons that a constraint is made of."""
    kind, parts = truth
    if kind in ("ge", "gt"):
        yield kind, parts[0]
        return
    for part in parts:
        yield from _atoms(part)


def _splits(
    problem: Proof, form: Form, parts: list[Any], spans: Any, signs: dict[int, int]
) -> Iterator[list[Any]]:
    """Ways to split, the best first."""
    read = set(form)
    for k in reversed(range(len(spans))):
        if (problem.program.kinds[k], k) in read:
            factors = problem.program.factors.get(k, ())
            read |= {("form", i) for i in factors} or set(problem.program.made[k])
            low, high = spans[k]
            if problem.program.kinds[k] == "unit" and low < 0 < high and k not in signs:
                yield ["sign", k]
    for kind, j, *rest in sorted(read, key=str):
        if kind == "is" and len(parts[j]) > 1 and rest[0] in parts[j]:
            yield ["label", j, written_label(problem.features[j].labels[rest[0]])]
    numbers = [source[1] for source in sorted(read, key=str) if source[0] == "x"]
    edges = {}
    if len(form) <= 2 and len(numbers) == 1 and ("x", numbers[0]) in form:
        edges[numbers[0]] = -form.get(("one", 0), Fraction(0)) / form["x", numbers[0]]
    for j in sorted(numbers, key=lambda j: -_width(problem, j, parts[j])):
        feature, (low, high) = problem.features[j], parts[j]
        middle = edges.get(j, (low + high) / 2)
        beside = Fraction(nextafter(float(middle), -inf))
        for place in (beside, middle, low):
            cut = feature.near(place, -1)
            if cut is not None and low <= cut < high:
                yield ["cut", j, exact(cut)]


def _width(problem: Proof, j: int, part: Any) -> Fraction:
    return Fraction(part[1] - part[0]) / (problem.features[j].size or 1)


class Turn(NamedTuple):
    """Where a row that is of one smooth function alone, as a chance that is compared, begins to
    hold: beyond, what that is a function of is all that counts.

    Attributes:
        row: Its place.
        split: There, of the form that the function is of.
        rises: Whether the row holds where that form is large.
    """

    row: int
    split: Split
    rises: bool

    @property
    def closing(self) -> Node:
        """Of the side where it does not hold."""
        return ["bound", "0", [["row", self.row, "1"]], []]


def turns(problem: Proof, spans: Any) -> Iterator[Turn]:
    """The turns that lie within ranges of forms, one for each row that has one."""
    for i, (form, _) in enumerate(problem.rows):
        terms = [one for one in form.items() if one[0] != CONSTANT]
        if len(terms) != 1 or terms[0][0][0] not in CURVES:
            continue
        (kind, k), factor = terms[0]
        place = crossing(kind, factor, form.get(CONSTANT, ZERO), *spans[k])
        if place is not None:
            yield Turn(i, ["at", k, exact(place)], factor > 0)


MANY = 150  # forms and products, of which not all are bounded
INSIDE = 1 - Fraction(1, 2**40)
Given = tuple[list[Any], dict[str, Any], dict[str, Any]]  # features, program and question
Area = tuple[list[Any], dict[Any, Any]]  # parts of features, and signs of units


def prove(given: Given, radius: Fraction, seconds: float) -> dict[str, Any] | None:
    """A certificate's proof that no counterfactual lies within a radius, or within a share of 2⁻⁴⁰
    less, where points lie at the radius itself; ``None`` if none is found in time.

    Raises:
        UnsupportedError: trees decide.
    """
    with until(now() + seconds), suppress(TimeUp):
        for within in (radius, radius * INSIDE):
            found = _Prover(given, within, is_last=within != radius).run()
            if found is not None:
                return found
    poll()
    return None


class Watched(Clock):
    """The checker's clock, which also looks whether work has to end."""

    def tick(self) -> None:
        poll()
        if self.seconds < inf:  # to ask for the processor's time takes long on some machines
            super().tick()


class _Prover:
    """One attempt; the last goes on splitting where nothing says where, until the time is up."""

    def __init__(self, given: Given, radius: Fraction, *, is_last: bool) -> None:
        empty, self.is_last = unproved(given, radius), is_last
        self.problem = Proof(*given, empty, Watched(inf))
        self.content: dict[str, Any] = empty
        self.hulls = [HullColumns(self.problem, h) for h in range(self.problem.hulls)]
        self.nodes: list[Node] = []
        self.is_plain = all(truth[0] in ("ge", "gt", "and") for truth in self.problem.truths)

    def run(self) -> dict[str, Any] | None:
        """Lemmas at the root, then parts until none is open."""
        self._bound_units()
        stack: list[tuple[Area, int]] = [((self.problem.root, dict(self.problem.start)), 0)]
        self.nodes.append([])
        if len(self.hulls) > 1:
            areas = self.problem.halves("hull", [], *stack.pop()[0])
            self.nodes = [["hull", *range(1, len(areas) + 1)], *([] for _ in areas)]
            stack = [*zip(areas, self.nodes[0][1:], strict=True)]
        while stack:
            poll()
            area, place = stack.pop()
            closing, point = self._close(*area)
            if closing is None:
                spans = None if point is None else point.program.spans
                turn = None if spans is None else next(turns(self.problem, spans), None)
                split = self._split(area, point) if turn is None else turn.split
                if split is None:
                    return None
                children = [len(self.nodes), len(self.nodes) + 1]
                self.nodes += [[], []]
                halves = self.problem.halves(split[0], split[1:], *area)
                sides = [*zip(halves, children, strict=True)]
                if turn is not None:
                    _, empty = sides.pop(0 if turn.rises else 1)
                    self.nodes[empty] = turn.closing
                stack += sides[::-1]
                closing = [*split, *children]
            self.nodes[place] = closing
        return {**self.content, "nodes": self.nodes}

    # -- closing ----------------------------------------------------------------------------------

    def _bound_units(self) -> None:
        """Tighter ranges of units over the whole ball, each proved."""
        problem, root = self.problem, self.problem.root
        if problem.deltas(root) is None:
            return
        for k, kind in enumerate(problem.program.kinds):
            program: LinearProgram | None = None
            for side in (1, -1) if kind == "unit" or self._is_wide(k) else ():
                if (spans := problem.spans_upto(k)) is None:
                    return
                low, high = spans[k]
                if kind == "unit" and (low >= 0 or high <= 0):
                    break
                form = plus({}, problem.program.made[k], Fraction(side))
                program = program or LinearProgram(problem, root, {}, spans, k)
                if (by := program.largest(form)) is None:
                    continue
                bound = Fraction(ceil_float(problem.most(form, by, root, {}, spans)))
                if bound < (high if side > 0 else -low):
                    self.content["lemmas"].append([k, side, exact(bound), *written(by)])
                    problem.bounds[k, side] = bound

    def _is_wide(self, k: int) -> bool:
        """Whether a form is of several sources, or of what is made: its range may be too wide."""
        form = self.problem.program.made[k]
        made = any(kind not in READ for kind, *_ in form)
        if self.problem.program.kinds[k] != "form" or not (made or len(form) > 1):
            return False
        return k in self.problem.program.tested or len(self.problem.program.made) <= MANY

    def _close(self, parts: list[Any], signs: Any) -> tuple[Node | None, Solution | None]:
        """A node that closes a part; else a solution to split at."""
        problem = self.problem
        if (near := problem.within(parts)) is None:
            return ["distance"], None
        if self._gap(near) is not None:
            return None, None
        if (spans := problem.spans(near, signs)) is None:
            return ["bound", *written(NONE)], None
        if not self.is_plain and problem.contradicts(near, signs, spans):
            return ["constraint"], None
        program = LinearProgram(problem, near, signs, spans, len(spans))
        by, solution = program.nearest()
        if by is not None and problem.outweighs(by, near, signs, spans):
            return ["bound", *written(by)], None
        inside = next((hull for hull in self.hulls if ("hull", hull.h) in signs), None)
        if inside is None:
            return None, solution
        by, solution = program.nearest(inside)
        return None if by is None else self._faced(inside, by, near, signs, spans), solution

    def _faced(self, hull: HullColumns, by: Multipliers, *area: Any) -> Node | None:
        """A node that closes a part by one more face of a hull, which is kept if it does."""
        (normal, factor), problem = hull.face(), self.problem
        texts = [exact(one) for one in normal]
        assert problem.region is not None
        problem.faces.append((hull.h, problem.region.face(hull.h, texts)))
        face = ("face", len(problem.faces) - 1)
        by = by._replace(rows={**by.rows, face: Fraction(factor)})
        if problem.outweighs(by, *area):
            self.content["faces"].append([hull.h, texts])
            return ["bound", *written(by)]
        problem.faces.pop()
        return None

    def _gap(self, parts: list[Any]) -> int | None:
        """A feature whose number is missing in some of a part, and there in the rest."""
        features = enumerate(self.problem.features)
        mixed = (j for j, f in features if f.absent is not None and parts[j][0] == f.absent)
        return next((j for j in mixed if parts[j][1] > parts[j][0]), None)

    # -- splitting --------------------------------------------------------------------------------

    def _split(self, area: Area, at: Solution | None) -> Split | None:
        """Where a solution is wrong, or a condition undecided; ``None`` if neither is known."""
        near = self.problem.within(area[0])
        if near is not None and (j := self._gap(near)) is not None:
            return ["cut", j, exact(near[j][0])]
        if at is None:
            return undecided(self.problem, *area) or self._widest(area[0])
        unit, wrong = at.worst_unit()
        if wrong > WRONG:
            return ["sign", unit]
        if (step := at.wrong_step()) is not None:
            return ["cut", step[0], exact(step[1])]
        for off, (j, test) in at.halved():
            if off > WRONG and (split := self._test(area, at.program.spans, j, test)) is not None:
                return split
        if at.program.curves and (found := at.bending()) is not None:
            return ["cut", found[0], exact(found[1])]
        k, value, wrong = at.worst_factor()
        if wrong > WRONG and (split := self._at(area[0], k, value)) is not None:
            return split
        j, place, share = at.worst_label()
        if share > WRONG:
            return ["label", j, written_label(self.problem.features[j].labels[place])]
        if (found := at.cut()) is not None:
            return ["cut", found[0], exact(found[1])]
        return undecided(self.problem, *area) or (self._widest(area[0]) if self.is_last else None)

    def _widest(self, parts: list[Any]) -> Split | None:
        """The middle of the number whose range is widest, for the feature's; else any label."""
        numbers = [j for j, feature in enumerate(self.problem.features) if not feature.labels]
        for j in sorted(numbers, key=lambda j: -_width(self.problem, j, parts[j])):
            cut = self.problem.features[j].near(sum(parts[j]) / 2, -1)
            if cut is not None and parts[j][0] <= cut < parts[j][1]:
                return ["cut", j, exact(cut)]
        for j, feature in enumerate(self.problem.features):
            if feature.labels and len(parts[j]) > 1:
                return ["label", j, written_label(feature.labels[min(parts[j])])]
        return None

    def _test(self, area: Area, spans: Any, j: Any, test: Any) -> Split | None:
        """The split by a test of a tree, if it has two sides."""
        parts, signs = area
        if isinstance(j, tuple):
            (low, high), beyond = spans[j[1]], signs.get((j[1], 0))
            inside = low <= test < high and (beyond is None or beyond < test)
            return ["at", j[1], exact(test)] if inside else None
        feature = self.problem.features[j]
        if feature.labels:
            inside, others = sorted(parts[j] & test), parts[j] - test
            found = ["label", j, written_label(feature.labels[inside[0]])] if inside else None
            return found if others else None
        cut = feature.near(test, -1)
        return (
            ["cut", j, exact(test)]
            if cut is not None and parts[j][0] <= cut < parts[j][1]
            else None
        )

    def _at(self, parts: list[Any], k: int, value: Fraction) -> Split | None:
        """A split of a form at a value: of what it is made of, if that is one feature."""
        problem, form = self.problem, self.problem.program.made[k]
        source, factor = next((one for one in form.items() if one[0] != ("one", 0)), (None, ZERO))
        if source is None or len(form) > 2 or source[0] not in ("x", "is", "step", "form"):
            return ["at", k, exact(Fraction(float(value)))]
        kind, j = source[:2]
        value = (value - form.get(("one", 0), ZERO)) / factor
        if kind in ("step", "form"):
            return self._at(parts, j, value if kind == "form" else ZERO)
        feature = problem.features[j]
        if kind == "is":
            split = ["label", j, written_label(feature.labels[source[2]])]
            return split if source[2] in parts[j] and len(parts[j]) > 1 else None
        low, high = parts[j]
        for place in (value, (low + high) / 2):
            cut = feature.near(place, -1)
            if cut is not None and low <= cut < high:
                return ["cut", j, exact(cut)]
        return None


def unproved(given: Given, radius: Fraction = ZERO) -> dict[str, Any]:
    """A proof without nodes."""
    faced: dict[str, Any] = {"faces": [], "inside": None} if "region" in given[2] else {}
    return {"radius": exact(radius), "lemmas": [], "nodes": [], **faced}


def written(by: Multipliers) -> list[Any]:
    """Multipliers as certificates write them."""
    named = [
        [name, k, exact(y), *map(exact, slopes)] for (name, k, *slopes), y in by.rows.items() if y
    ]
    ladders = [(at, paid) for at, paid in by.paid.items() if isinstance(paid, Ladder)]
    shares = [[t, j, exact(paid.rates[0])] for (t, j, _), paid in ladders]
    return [exact(by.budget), named, shares]

"""Makes the proof that nothing lies within a radius: branch and bound by linear programs.

It works on the certificate's own program, and every part is closed by the checker's own rules, so
what is made here is what the checker takes.  The linear program of a part minimises the distance
over its inequalities; its duals are the multipliers that close the part, if exact arithmetic says
so.  Else the part is split where the program's solution is wrong by most: on the sign of a unit, a
label, or a number.
"""

from __future__ import annotations

import time
from fractions import Fraction
from math import inf
from typing import Any

from ...certificates.checker import Clock, Proof
from ...certificates.checker.program import plus
from ...certificates.checker.rules import NONE, Multipliers
from ...errors import UnsupportedError
from ...ir.interval import ceil_float
from .core import exact, written_label
from .linear_program import WRONG, LinearProgram, Solution
from .undecided import undecided

ZERO = Fraction(0)
INSIDE = 1 - Fraction(1, 2**40)
Given = tuple[list[Any], dict[str, Any], dict[str, Any]]  # features, program and question
Split = list[Any]  # a node of a proof without its children
Node = list[Any]
Area = tuple[list[Any], dict[int, int]]  # parts of features, and signs of units


def prove(given: Given, radius: Fraction, seconds: float) -> dict[str, Any] | None:
    """A certificate's proof that no counterfactual lies within a radius, or within a share of 2⁻⁴⁰
    less, where points lie at the radius itself; ``None`` if none is found in time.

    Raises:
        UnsupportedError: trees decide.
    """
    deadline = time.monotonic() + seconds
    for within in (radius, radius * INSIDE):
        found = _Prover(given, within, deadline).run()
        if found is not None or time.monotonic() > deadline:
            return found
    return None


class _Prover:
    def __init__(self, given: Given, radius: Fraction, deadline: float) -> None:
        empty = {"radius": exact(radius), "lemmas": [], "nodes": []}
        self.asked, self.deadline = Proof(*given, empty, Clock(inf)), deadline
        if self.asked.program.trees:
            raise UnsupportedError("a proof by linear programs needs a model without trees")
        self.content: dict[str, Any] = empty
        self.nodes: list[Node] = []
        self.is_plain = all(truth[0] in ("ge", "gt", "and") for truth in self.asked.truths)

    def run(self) -> dict[str, Any] | None:
        """Lemmas at the root, then parts until none is open."""
        if not self._bound_units():
            return None
        stack: list[tuple[Area, int]] = [((self.asked.root, {}), 0)]
        self.nodes.append([])
        while stack:
            if time.monotonic() > self.deadline:
                return None
            area, place = stack.pop()
            closing, point = self._close(*area)
            if closing is None and (split := self._split(area, point)):
                children = [len(self.nodes), len(self.nodes) + 1]
                self.nodes += [[], []]
                halves = self.asked.halves(split[0], split[1:], *area)
                stack += [*zip(halves, children, strict=True)][::-1]
                closing = [*split, *children]
            if closing is None:
                return None
            self.nodes[place] = closing
        return {**self.content, "nodes": self.nodes}

    # -- closing ----------------------------------------------------------------------------------

    def _bound_units(self) -> bool:
        """Tighter ranges of units over the whole ball, each proved; whether time is left."""
        asked, root = self.asked, self.asked.root
        if asked.deltas(root) is None:
            return True
        for k, kind in enumerate(asked.program.kinds):
            for side in (1, -1) if kind == "unit" else ():
                if (spans := asked.spans(root, {})) is None:
                    return True
                if time.monotonic() > self.deadline:
                    return False
                low, high = spans[k]
                if low >= 0 or high <= 0:
                    break
                form = plus({}, asked.program.made[k], Fraction(side))
                by = LinearProgram(asked, root, {}, spans, k).largest(form)
                if by is None:
                    continue
                bound = Fraction(ceil_float(asked.most(form, by, root, {}, spans)))
                if bound < (high if side > 0 else -low):
                    self.content["lemmas"].append([k, side, exact(bound), *written(by)])
                    asked.bounds[k, side] = bound
        return True

    def _close(self, parts: list[Any], signs: Any) -> tuple[Node | None, Solution | None]:
        """A node that closes a part; else a solution to split at."""
        asked = self.asked
        if (near := asked.within(parts)) is None:
            return ["distance"], None
        if (spans := asked.spans(near, signs)) is None:
            return ["bound", *written(NONE)], None
        if not self.is_plain and asked.contradicts(near, signs, spans):
            return ["constraint"], None
        by, solution = LinearProgram(asked, near, signs, spans, len(spans)).nearest()
        if by is not None and asked.outweighs(by, near, signs, spans):
            return ["bound", *written(by)], None
        return None, solution

    # -- splitting --------------------------------------------------------------------------------

    def _split(self, area: Area, at: Solution | None) -> Split | None:
        """Where a solution is wrong, or a condition undecided; ``None`` if neither is known."""
        if at is None:
            return undecided(self.asked, *area)
        unit, wrong = at.worst_unit()
        if wrong > WRONG:
            return ["sign", unit]
        if (step := at.wrong_step()) is not None:
            return ["cut", step[0], exact(step[1])]
        j, place, share = at.worst_label()
        if share > WRONG:
            return ["label", j, written_label(self.asked.features[j].labels[place])]
        if (found := at.cut()) is not None:
            return ["cut", found[0], exact(found[1])]
        return undecided(self.asked, *area)


def written(by: Multipliers) -> list[Any]:
    """Multipliers as certificates write them."""
    named = [[name, k, exact(y)] for (name, k), y in by.rows.items() if y]
    return [exact(by.budget), named, []]


__all__ = ["Given", "prove"]

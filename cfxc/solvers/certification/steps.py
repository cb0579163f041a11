"""Proofs of the engines as certificates hold them: splits, and multipliers of rows."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ...certificates.checker import Proof
from ...compiler.linear_reader import requirements
from ...compiler.pipeline import simplified
from ...errors import UnsupportedError
from ..base import Refuted
from ..box_search.cells import UNIT
from ..box_search.proof import Closing, Sharing, Split, SplitTree
from .core import exact, plain_label
from .linear_program import SHARES
from .prover import Given, Node, Watched, prove, turns, undecided, unproved

DEEP = 40  # splits of one part, until its constraints are decided
LONGEST = 300.0  # seconds of the processor to write a proof down, and to check it


def proof_of(
    proof: Any, given: Given, scales: Sequence[Fraction], seconds: float, beside: int = 0
) -> dict[str, Any]:
    """A proof as plain values; of what a solver refuted, made in so many seconds.

    ``scales``: by how much the search's requirements are larger than the certificate's rows; the
    last stands for those that follow.  ``beside``: how many constraints come first that the search
    has among its requirements.

    Raises:
        UnsupportedError: it leaves something to a solver's word, or is none.
    """
    if isinstance(proof, SplitTree):
        radius = proof.radius * (1 + Fraction(1, 2**60)) if proof.radius >= 1 else proof.radius
        return _Boxes(proof, radius, given, scales, beside).written()  # it covers the boundary too
    if not isinstance(proof, Refuted):
        raise UnsupportedError("no proof was kept that a certificate could hold")
    found = prove(given, proof.radius, seconds)
    if found is None:
        raise UnsupportedError(
            f"no proof that a certificate could hold was made in {seconds:g} s; a longer search "
            "may keep one"
        )
    return found


class _Boxes:
    """The split tree of a box search."""

    def __init__(
        self, proof: SplitTree, radius: Fraction, given: Given, scales: Sequence[Fraction],
        beside: int,
    ) -> None:  # fmt: skip
        self.proof, self.scales = proof, scales
        self.content = unproved(given, radius)
        self.problem = Proof(*given, self.content, Watched(LONGEST))
        self.last = len(self.problem.target_rows) - 1 + beside
        self.names = [domain.name for domain in proof.query.domains]
        program = simplified(proof.query.target_program)
        self.required = requirements(program, "in_target")
        self.nodes: list[Node] = []
        self.signs: dict[Any, Any] = {}
        self.turned: dict[int, list[Any]] = {}  # rows, and what stands for them beyond their turns

    def written(self) -> dict[str, Any]:
        self.turn()
        first = len(self.nodes)
        self.nodes += [[]] * len(self.proof)
        stack: list[Any] = [(0, self.problem.root)]
        while stack:
            number, parts = stack.pop()
            node, place = self.proof[number], first + number
            if isinstance(node, Closing):
                self.close(place, self.closed(node, parts), parts, self.signs, DEEP)
                continue
            split = self.split(node)
            pair = self.problem.halves(split[0], split[1:], parts, self.signs)
            stack += [(child, side) for child, (side, _) in zip(node.children, pair, strict=True)]
            self.nodes[place] = [*split, *(first + child for child in node.children)]
        return {**self.content, "nodes": self.nodes}

    def turn(self) -> None:
        """Split where a smooth function meets its requirement: the search knew no such function."""
        near = self.problem.within(self.problem.root)
        spans = None if near is None else self.problem.spans(near, {})
        for turn in () if spans is None else turns(self.problem, spans):
            (kind, *at), place = turn.split, len(self.nodes)
            children = [place + 1, place + 2] if turn.rises else [place + 2, place + 1]
            self.nodes += [[kind, *at, *children], turn.closing]
            halves = self.problem.halves(kind, at, self.problem.root, self.signs)
            self.signs = halves[turn.rises][1]
            self.turned[turn.row] = ["least" if turn.rises else "most", at[0], "1"]

    def close(self, place: int, node: Node, parts: list[Any], signs: Any, depth: int) -> None:
        """Write a node that closes a part; one by constraints only where all of them are decided,
        which the search knows of more functions than the checker.
        """
        self.nodes[place] = node
        if node[0] != "constraint" or self.problem.closes("constraint", [], parts, signs):
            return
        split = undecided(self.problem, parts, signs) if depth else None
        if split is None:
            raise UnsupportedError("a constraint that closes a part is beyond the checker's rules")
        children = [len(self.nodes), len(self.nodes) + 1]
        self.nodes[place] = [*split, *children]
        self.nodes += [[], []]
        halves = self.problem.halves(split[0], split[1:], parts, signs)
        for child, (side, given) in zip(children, halves, strict=True):
            self.close(child, node, side, given, depth - 1)

    def row(self, requirement: int) -> int:
        """The checker's row for one of the search's: one alone is what implies all others."""
        return self.last if len(self.required) == 1 else min(requirement, self.last)

    def scale(self, requirement: int) -> Fraction:
        """By how much one of the search's requirements is larger than the checker's row."""
        last = len(self.scales) - 1
        return self.scales[last if len(self.required) == 1 else min(requirement, last)]

    def split(self, node: Split) -> Node:
        j = self.names.index(node.feature)
        if node.cut is None:
            return ["label", j, plain_label(node.label)]
        return ["cut", j, exact(node.cut)]

    def closed(self, node: Closing, parts: list[Any]) -> Node:
        if node.reason == "solver":
            raise UnsupportedError("a solver closed a part of the proof, and left no record")
        if node.reason not in ("sum", "sharing"):
            return [node.reason]
        assert node.requirement is not None
        place = self.row(node.requirement)
        row = [self.turned.get(place, ["row", place, "1"])]
        if node.sharing is None:
            return ["bound", "0", row, []]
        multiplier = node.sharing.multiplier / UNIT / self.scale(node.requirement)
        deltas, linf = self.problem.deltas(parts), self.problem.norms[2]
        if linf and multiplier and deltas is not None:
            weighted = [
                peak * delta for peak, delta in zip(self.problem.peaks, deltas, strict=True)
            ]
            row.append(["peak", weighted.index(max(weighted)), exact(multiplier * linf)])
        return ["bound", exact(multiplier), row, self.shares(node.sharing)]

    def shares(self, sharing: Sharing) -> list[list[Any]]:
        totals: dict[str, Fraction] = {}
        for (_, name), share in sharing.shares.items():
            totals[name] = totals.get(name, Fraction(0)) + share
        found = []
        for (tree, name), share in sorted(sharing.shares.items()):
            part = share / max(totals[name], Fraction(1)) * SHARES // 1
            if part and tree < self.count:  # functions of one feature bear what is left
                found.append([tree, self.names.index(name), exact(Fraction(part, SHARES))])
        for (tree, name), weights in sorted(sharing.weights.items()):
            for cost, weight in weights.items():
                here = [tree, self.names.index(name), float(weight).hex(), float(cost).hex()]
                found += [here] if cost else []  # what costs nothing is borne by nobody
        return found

    @property
    def count(self) -> int:
        """How many trees are the program's own."""
        return sum(len(roots) for roots, _ in self.problem.program.trees)

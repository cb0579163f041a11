"""Proofs of the engines as certificates hold them: splits, and multipliers of rows."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from ...certificates import check
from ...compiler.additive import Additive
from ...compiler.pipeline import simplified
from ...compiler.separable import requirements
from ...errors import UnsupportedError
from ...ir import ops
from ..box_search.cells import UNIT
from ..box_search.proof import Closing, Sharing, Split, SplitTree
from ..linear_proof import Branch, LinearTree, Multipliers, OnDemand
from ..linear_proof.parts import Ball
from .core import Sources, exact, plain_label

SHARES = 2**40  # shares of costs are rounded down to so many parts
Node = list[Any]
Given = tuple[list[Any], dict[str, Any], dict[str, Any]]  # features, program and question


def proof_of(proof: Any, given: Given, sources: Sources) -> tuple[dict[str, Any], Fraction]:
    """A proof as plain values, and the radius within which it leaves nothing.

    Raises:
        UnsupportedError: it leaves something to a solver's word, or is none.
    """
    if isinstance(proof, SplitTree):
        radius = proof.radius * (1 + Fraction(1, 2**60)) if proof.radius >= 1 else proof.radius
        return _Boxes(proof, radius, given).written(), radius  # it covers the boundary too
    tree = proof.make() if isinstance(proof, OnDemand) else proof
    if isinstance(tree, LinearTree):
        return _Linear(tree, check.Question(*given), sources).written(), tree.radius
    raise UnsupportedError("no proof was kept that a certificate could hold")


class _Boxes:
    """The split tree of a box search."""

    def __init__(self, proof: SplitTree, radius: Fraction, given: Given) -> None:
        self.proof = proof
        self.content = {"radius": exact(radius), "lemmas": [], "nodes": [["distance"]]}
        self.asked = check.Proof(*given, self.content)
        self.names = [domain.name for domain in proof.query.domains]
        self.scales = self._scales()

    def written(self) -> dict[str, Any]:
        walker = self.asked
        nodes: list[Node] = [[]] * len(self.proof)
        stack: list[Any] = [(0, walker.root)]
        while stack:
            place, parts = stack.pop()
            node = self.proof[place]
            if isinstance(node, Closing):
                nodes[place] = self.closed(node, parts)
                continue
            nodes[place] = self.split(node)
            pair = walker.halves(nodes[place][0], nodes[place][1:], parts, {})
            stack += [(child, side) for child, (side, _) in zip(node.children, pair, strict=True)]
        return {**self.content, "nodes": nodes}

    def _scales(self) -> list[Fraction]:
        """By how much the search's requirements are larger than the checker's rows.

        The compiler multiplies by what averages divide by; spreads of leaves tell.
        """
        program, _ = simplified(self.proof.query.target_program)
        held = {s.name: s.op for s in program.lets() if isinstance(s.op, ops.TreeEnsemble)}
        found = []
        for required, (row, _) in zip(
            requirements(program, "in_target"), self.asked.wanted, strict=True
        ):
            theirs, ours = Fraction(0), Fraction(0)
            for name, op in held.items():
                factors = {
                    s[1]: f
                    for s, f in required.form.terms.items()
                    if isinstance(s, tuple) and s[0] == name
                }
                leaves = op.value.array[op.feature.array < 0].tolist()
                leaves = list(dict.fromkeys(map(tuple, leaves)))
                theirs += _spread(leaves, factors)
            for n, (_, nodes) in enumerate(self.asked.program.trees):
                factors = {s[2]: f for s, f in row.items() if s[:2] == ("tree", n)}
                held_leaves = {tuple(map(id, n)): n for n in nodes if isinstance(n, list)}
                ours += _spread(list(held_leaves.values()), factors)
            found.append(theirs / ours if ours else Fraction(1))
        return found

    def split(self, node: Split) -> Node:
        j = self.names.index(node.feature)
        if node.cut is None:
            return ["label", j, plain_label(node.label), *node.children]
        return ["cut", j, exact(node.cut), *node.children]

    def closed(self, node: Closing, parts: list[Any]) -> Node:
        if node.reason == "solver":
            raise UnsupportedError("a solver closed a part of the proof, and left no record")
        if node.reason not in ("sum", "sharing"):
            return [node.reason]
        row = [["row", node.requirement, "1"]]
        if node.sharing is None:
            return ["bound", "0", row, []]
        assert node.requirement is not None
        price = node.sharing.price / UNIT / self.scales[node.requirement]
        deltas, linf = self.asked.deltas(parts), self.asked.norms[2]
        if linf and price and deltas is not None:
            weighted = [peak * delta for peak, delta in zip(self.asked.peaks, deltas, strict=True)]
            row.append(["peak", weighted.index(max(weighted)), exact(price * linf)])
        return ["bound", exact(price), row, self.shares(node.sharing)]

    def shares(self, sharing: Sharing) -> list[list[Any]]:
        totals: dict[str, Fraction] = {}
        for (_, name), share in sharing.shares.items():
            totals[name] = totals.get(name, Fraction(0)) + share
        found = []
        for (tree, name), share in sorted(sharing.shares.items()):
            part = share / max(totals[name], Fraction(1)) * SHARES // 1
            if part and tree < self.count:  # functions of one feature pay with what is left
                found.append([tree, self.names.index(name), exact(Fraction(part, SHARES))])
        return found

    @property
    def count(self) -> int:
        """How many trees are the program's own."""
        return sum(len(roots) for roots, _ in self.asked.program.trees)


def _spread(leaves: list[Any], factors: dict[int, Fraction]) -> Fraction:
    """How far apart the values of an ensemble's leaves lie."""
    if not factors:
        return Fraction(0)
    values = [sum(f * Fraction(leaf[c]) for c, f in factors.items()) for leaf in leaves]
    return Fraction(max(values) - min(values))


class _Linear:
    """Splits and multipliers of a program of forms and units."""

    def __init__(self, tree: LinearTree, asked: check.Question, sources: Sources) -> None:
        self.tree, self.asked, self.sources = tree, asked, sources
        self.ball = Ball(tree.query, tree.radius)
        self.names = [domain.name for domain in tree.query.domains]
        self.units = [self._unit(k) for k in range(len(self.ball.units.forms))]
        self.rows: dict[int, tuple[int, Fraction]] = {}

    def _unit(self, k: int) -> int:
        form = self.sources.core(Additive(Fraction(0), {("unit", k): Fraction(1)}), self.ball.units)
        ((_, place),) = form.terms
        return int(place)

    def row(self, i: int) -> tuple[int, Fraction]:
        """The checker's row for one of the proof's, and the factor between them."""
        if i not in self.rows:
            form = self.sources.core(self.ball.rows[i].form, self.ball.units)
            for place, (other, _) in enumerate(self.asked.rows):
                terms = {source: f for source, f in other.items() if f and source != ("one", 0)}
                if set(terms) == set(form.terms):
                    pairs = [(form.terms[source], factor) for source, factor in terms.items()]
                    ratios = {mine / theirs for mine, theirs in pairs}
                    ratio = ratios.pop() if len(ratios) == 1 else Fraction(0)
                    if ratio > 0 and ratio * other.get(("one", 0), 0) == form.constant:
                        self.rows[i] = (place, ratio)
                        break
            else:
                raise UnsupportedError("a row of the proof is not one of the question")
        return self.rows[i]

    def written(self) -> dict[str, Any]:
        lemmas = [
            [self.units[each.unit], each.side, exact(each.bound), *self.by(each.by)]
            for each in self.tree.lemmas
        ]
        nodes = [
            ["bound", *self.by(node)] if isinstance(node, Multipliers) else self.split(node)
            for node in self.tree.nodes
        ]
        return {"radius": exact(self.tree.radius), "lemmas": lemmas, "nodes": nodes}

    def by(self, given: Multipliers) -> Node:
        found: dict[tuple[str, int], Fraction] = {}
        for (kind, k), y in given.y.items():
            place, factor = k, Fraction(1)
            if kind == "row":
                place, factor = self.row(k)
            elif kind != "peak":
                place = self.units[k]
            if y:
                found[kind, place] = found.get((kind, place), Fraction(0)) + y * factor
        named = [[kind, place, exact(y)] for (kind, place), y in found.items()]
        return [exact(given.budget), named, []]

    def split(self, node: Branch) -> Node:
        if node.unit is not None:
            return ["sign", self.units[node.unit], *node.children]
        j = self.names.index(node.feature)
        if node.cut is None:
            return ["label", j, plain_label(node.label), *node.children]
        return ["cut", j, exact(node.cut), *node.children]


__all__ = ["proof_of"]

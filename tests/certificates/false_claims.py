"""False claims, and a search for proofs of them that the checker takes; none should be found.

Whatever tree of splits a proof is, one of its leaves holds a given counterfactual; so beside whole
proofs, single leaves are tried: parts that hold a counterfactual nearer than the radius, with every
way to close them, multipliers drawn at random or climbing towards a worth below 0.
"""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from random import Random
from typing import Any, NamedTuple

from cfxc.certificates.checker import Clock, Proof, Rejected
from cfxc.certificates.checker.claim import ODD
from cfxc.certificates.checker.smooth import CURVES
from tests.certificates.false_questions import Content, Truth, cut_of, draw_question

F = Fraction
WRONG = (Rejected, *ODD)  # how a proof is turned down
YS = ("1", "1", "1/2", "2", "3", "0", "1/1000000", str(10**30), f"1/{2**80}", "-1", "5/7")
SLOPES = ("0", "1", "-1", "1/2", "-1/2", "2", "-3", "1/3", str(2**40), f"-1/{2**70}")
HAIR = F(1, 2**60)


class Claim(NamedTuple):
    """A question, all that is true of it, and a radius that a counterfactual is nearer than."""

    content: Content
    truth: Truth
    radius: Fraction
    proof: Proof
    kind: str

    @property
    def nearer(self) -> list[Any]:
        return [point for away, point in self.truth.counterfactuals if away < self.radius]


def asked(content: Content, radius: Fraction) -> Proof:
    """A question with no proof yet."""
    given = {"radius": str(radius), "lemmas": [], "nodes": []}
    parts = (content[name] for name in ("features", "program", "question"))
    return Proof(*parts, given, Clock(math.inf))


def false_claims(rng: Random) -> Iterator[Claim]:
    """Claims without end, about questions that have a counterfactual."""
    while True:
        content = draw_question(rng)
        truth = Truth(content)
        if truth.optimum is None or (truth.optimum == 0 and rng.random() < 0.9):
            continue
        farther = [away for away, _ in truth.all if away > truth.optimum]
        radii = {"by a hair": truth.optimum + HAIR, "infeasible": truth.farthest + 1}
        if farther:
            radii["the next distance"] = min(farther)
            radii["something between"] = rng.choice(farther)
        for kind, radius in radii.items():
            try:
                yield Claim(content, truth, radius, asked(content, radius), kind)
            except WRONG:
                break


def accepts(proof: Proof, lemmas: list[Any], nodes: list[Any]) -> bool:
    """Whether the checker takes a proof, as it does when it reads one."""
    proof.bounds.clear()
    proof.nodes = nodes
    try:
        for i, (k, side, bound, *by) in enumerate(lemmas):
            own = F(bound)
            proof.bound_unit(k, side, own, proof.multipliers(by, {}), f"lemma {i}")
        proof.walk()
    except WRONG:
        return False
    finally:
        proof.bounds.clear()
    return True


# -- random proofs --------------------------------------------------------------------------------


WEIGHTS = ("1", "1/3", "2", "0x1.8p-30")
UP_TO = ("1/8", "1/4", "-1/4", "1/3", "-1/3", "1/2", "-1/2", "1", "-1", "0x1.8p-3", "1/100", "2")


def random_bound(rng: Random, proof: Proof, signs: Any) -> list[Any]:
    """A bound from the grammar of the rule, now and then with what the rule does not know."""
    units = [k for k, kind in enumerate(proof.program.kinds) if kind == "unit"]
    sources = [("row", k) for k in range(len(proof.rows))] * 2
    sources += [(name, k) for name in ("above", "chord") for k in units]
    sources += [("sign", k) for k in signs if type(k) is int] * 2
    sources += [(name, k) for name in ("least", "most") for k in range(len(proof.program.made))]
    bent = [k for k, kind in enumerate(proof.program.kinds) if kind in CURVES]
    sources += [
        (name, k) for name in ("over", "under") for k in (*proof.program.factors, *bent)
    ] * 3
    if proof.norms[2]:
        sources += [("peak", j) for j in range(len(proof.features))]
    if rng.random() < 0.05:
        sources += [("sign", 0), ("row", -1), ("row", len(proof.rows)), ("cut", 0), ("peak", 99)]
    chosen = [
        rng.choice(sources) for _ in range(rng.choice((0, 1, 1, 1, 2, 3, 5)) if sources else 0)
    ]
    unique = list(dict.fromkeys(chosen)) if rng.random() < 0.95 else chosen
    rows = [[name, k, rng.choice(YS), *slopes(rng, name)] for name, k in unique]
    trees = sum(len(roots) for roots, _ in proof.program.trees)
    shares = []
    if trees and rng.random() < 0.5:
        places = {(rng.randrange(trees), rng.randrange(len(proof.features))) for _ in range(4)}
        shares = [[t, j, rng.choice(("1/2", "1/3", "1", "0", "1/4"))] for t, j in places]
        if rng.random() < 0.5:  # weights, most of features that have no shares
            layered = {j for _, j in places if rng.random() < 0.7}
            shares = [share for share in shares if share[1] not in layered or rng.random() < 0.02]
            shares += [
                [t, j, rng.choice(WEIGHTS), rng.choice(UP_TO)]
                for t, j in [*places, *places]
                if j in layered
            ]
    return ["bound", rng.choice(("0", "0", "1", "1/3", "40", "1/1000", "-1")), rows, shares]


def slopes(rng: Random, name: Any) -> list[str]:
    """Those of a plane beside a product; now and then what is none."""
    count = 2 * (name in ("over", "under")) if rng.random() < 0.98 else rng.randint(0, 3)
    return [rng.choice(SLOPES) for _ in range(count)]


def random_closing(rng: Random, proof: Proof, signs: Any) -> list[Any]:
    """Any way to close a part."""
    if rng.random() < 0.2:
        return [rng.choice(("distance", "constraint"))]
    return random_bound(rng, proof, signs)


def random_split(rng: Random, content: Content, proof: Proof) -> list[Any]:
    """A split without its children."""
    units = [k for k, kind in enumerate(proof.program.kinds) if kind == "unit"]
    if units and rng.random() < 0.3:
        return ["sign", rng.choice(units)]
    if proof.program.kinds and rng.random() < 0.3:
        tests = [
            (node[0][1], str(node[1])) for _, nodes in proof.program.trees for node in nodes
            if isinstance(node, tuple) and isinstance(node[0], tuple)
        ]  # fmt: skip
        if tests and rng.random() < 0.8:
            return ["at", *rng.choice(tests)]
        return ["at", rng.randrange(len(proof.program.kinds)), rng.choice(SLOPES)]
    j = rng.randrange(len(proof.features))
    labels = content["features"][j]["labels"]
    if labels:
        return ["label", j, rng.choice(labels)]
    return ["cut", j, str(cut_of(rng, content, j))]


def random_nodes(rng: Random, content: Content, proof: Proof) -> list[Any]:
    """A tree of splits, its leaves closed anyhow; sometimes none: shared nodes and circles."""
    nodes: list[Any] = [None]
    stack: list[tuple[int, int, tuple[int, ...]]] = [(0, rng.randint(0, 4), ())]
    while stack:
        place, depth, signs = stack.pop()
        if not depth:
            nodes[place] = random_closing(rng, proof, dict.fromkeys(signs, 1))
            continue
        split = random_split(rng, content, proof)
        children = [len(nodes), len(nodes) + 1]
        nodes += [None, None]
        below = (*signs, split[1]) if split[0] == "sign" else signs
        stack += [(child, rng.randint(0, depth - 1), below) for child in children]
        if rng.random() < 0.03:
            children[rng.randrange(2)] = rng.choice((0, place, children[0], len(nodes) + 5, True))
        nodes[place] = [*split, *children]
    return nodes


def random_lemmas(rng: Random, proof: Proof) -> list[Any]:
    """Bounds of what was made, true or not."""
    count = len(proof.program.made)
    if not count or rng.random() < 0.6:
        return []
    made = []
    for _ in range(rng.randint(1, 2)):
        by = random_bound(rng, proof, {})[1:]
        bound = str(rng.choice((F(0), F(-1), F(1, 2), F(3), F(10) ** 30, F(-1, 2**70))))
        made.append([rng.randrange(count), rng.choice((1, -1)), bound, *by])
    return made


# -- honest proofs, by splitting until every part is closed ---------------------------------------


def honest_nodes(rng: Random, claim: Content, proof: Proof, most: int = 400) -> list[Any] | None:
    """A tree of splits that closes all parts; ``None`` if some part is not closed."""
    nodes: list[Any] = [None]
    stack: list[tuple[int, Any, Any]] = [(0, proof.root, {})]
    while stack:
        place, parts, signs = stack.pop()
        closing = next(
            (c for c in plain_closings(proof, signs) if closes(proof, c, parts, signs)), None
        )
        closing = closing or climb(rng, proof, parts, signs, 6)[0]
        if closing is None:
            split = _telling(rng, claim, proof, parts, signs)
            if split is None or len(nodes) > most:
                return None
            children = [len(nodes), len(nodes) + 1]
            nodes += [None, None]
            halves = proof.halves(split[0], split[1:], parts, signs)
            stack += [(child, *half) for child, half in zip(children, halves, strict=True)]
            closing = [*split, *children]
        nodes[place] = closing
    return nodes


def plain_closings(proof: Proof, signs: Any) -> list[list[Any]]:
    """Every rule by itself, and every single row."""
    found: list[list[Any]] = [["distance"], ["constraint"], ["bound", "0", [], []]]
    found += [["bound", budget, [["row", k, "1"]], []]
              for k in range(len(proof.rows)) for budget in ("0", "1", "8")]  # fmt: skip
    found += [["bound", "1", [["peak", j, str(proof.norms[2])]], []]
              for j in range(len(proof.features)) if proof.norms[2]]  # fmt: skip
    return found + [["bound", "0", [["sign", k, "1"]], []] for k in signs if type(k) is int]


def closes(proof: Proof, closing: list[Any], parts: Any, signs: Any) -> bool:
    """Whether a rule closes a part; what is malformed closes nothing."""
    try:
        return proof.closes(closing[0], closing[1:], parts, signs)
    except WRONG:
        return False


def _telling(rng: Random, content: Content, proof: Proof, parts: Any, signs: Any) -> Any:
    """A split with something on both sides; signs last."""
    splits = []
    for j, part in enumerate(parts):
        labels = content["features"][j]["labels"]
        if labels and len(part) > 1:
            splits.append(["label", j, labels[min(part)]])
        elif not labels and part[0] != part[1]:
            feature = proof.features[j]
            middle = feature.near((part[0] + part[1]) / 2, -1)
            splits.append(["cut", j, str(middle)])
    tests = [
        ["at", node[0][1], str(node[1])] for _, nodes in proof.program.trees for node in nodes
        if isinstance(node, tuple) and isinstance(node[0], tuple)
    ]  # fmt: skip
    if tests and rng.random() < 0.3:
        return rng.choice(tests)
    units = [k for k, kind in enumerate(proof.program.kinds) if kind == "unit" and k not in signs]
    return rng.choice(splits) if splits else ["sign", units[0]] if units else None


def climb(
    rng: Random, proof: Proof, parts: Any, signs: Any, steps: int,
    tried: Callable[[list[Any]], object] = lambda _: None,
) -> tuple[list[Any] | None, Any]:  # fmt: skip
    """Multipliers that make a part's worth smaller step by step; those that close it, if any do."""
    try:
        if (near := proof.within(parts)) is None or (spans := proof.spans(near, signs)) is None:
            return None, None
    except WRONG:
        return None, None

    def worth(node: list[Any]) -> tuple[Any, bool]:
        tried(node)
        try:
            by = proof.multipliers(node[1:], signs)
            total = proof.most({}, by, near, signs, spans)
            size = by.budget + sum(by.rows.values())
            return (total / size if size else F(1)), proof.outweighs(by, near, signs, spans)
        except WRONG:
            return None, False

    best, value = None, None
    for _ in range(steps):
        node = _nudged(rng, best, proof, signs) if best and rng.random() < 0.8 else None
        node = node or random_bound(rng, proof, signs)
        found, is_closed = worth(node)
        if is_closed:
            return node, found
        if found is not None and (value is None or found < value):
            best, value = node, found
    return None, value


def _nudged(rng: Random, node: list[Any], proof: Proof, signs: Any) -> list[Any]:
    """Multipliers near others."""
    _, budget, rows, shares = copy.deepcopy(node)
    factor = rng.choice((F(1, 2), F(2), F(9, 10), F(11, 10), F(1, 8), F(8)))
    if rows and rng.random() < 0.7:
        row = rng.choice(rows)
        row[2] = str(F(row[2]) * factor)
    elif rng.random() < 0.5:
        budget = str(F(budget) * factor or F(1, 4))
    else:
        extra = random_bound(rng, proof, signs)[2]
        known = {(name, k, *rest) for name, k, _, *rest in rows}
        rows += [row for row in extra if (row[0], row[1], *row[3:]) not in known]
    return ["bound", budget, rows, shares]


# -- mutations ------------------------------------------------------------------------------------


def mutated(rng: Random, claim: Claim, lemmas: list[Any], nodes: list[Any]) -> tuple[Any, Any]:
    """A proof with one to three places changed."""
    lemmas, nodes = copy.deepcopy(lemmas), copy.deepcopy(nodes)
    for _ in range(rng.randint(1, 3)):
        place = rng.randrange(len(nodes))
        node = nodes[place]
        is_split = node[0] in ("cut", "label", "sign", "at")
        change = rng.randrange(8)
        if change == 0 and lemmas:
            _mutate_lemma(rng, rng.choice(lemmas))
        elif change == 1:
            lemmas += random_lemmas(rng, claim.proof)
        elif is_split and change < 5:
            _mutate_split(rng, claim, nodes, place)
        elif node[0] == "bound" and change < 6:
            _mutate_bound(rng, node, claim.proof)
        elif is_split:
            nodes[place] = random_closing(rng, claim.proof, {})
            _compact(nodes)
        else:
            nodes[place] = random_closing(rng, claim.proof, {})
    return lemmas, nodes


def _mutate_lemma(rng: Random, lemma: list[Any]) -> None:
    how = rng.randrange(3)
    if how == 0:
        lemma[1] = -lemma[1]
    elif how == 1:
        lemma[2] = str(F(lemma[2]) - rng.choice((HAIR, F(1), F(1, 3))))
    else:
        lemma[0] += 1


def _mutate_split(rng: Random, claim: Claim, nodes: list[Any], place: int) -> None:
    node, how = nodes[place], rng.randrange(4)
    if how == 0:
        nodes[place] = [*node[:-2], node[-1], node[-2]]
    elif how == 1:
        nodes[place] = [*random_split(rng, claim.content, claim.proof), *node[-2:]]
    elif how == 2:
        node[-1 - rng.randrange(2)] = rng.randrange(len(nodes))
    elif how == 3:  # one side is dropped: the other is to stand for both
        nodes[place] = copy.deepcopy(nodes[node[-1 - rng.randrange(2)]])
        _compact(nodes)


def _mutate_bound(rng: Random, node: list[Any], proof: Proof) -> None:
    rows, how = node[2], rng.randrange(6)
    if rows and how == 0:
        rng.choice(rows)[2] = rng.choice(YS)
    elif rows and how == 1:
        rows.append(list(rng.choice(rows)))
    elif rows and how == 2:
        del rows[rng.randrange(len(rows))]
    elif how == 3:
        node[1] = rng.choice(YS)
    elif how == 4:
        node[2] = random_bound(rng, proof, {})[2]
    else:
        node[3] = random_bound(rng, proof, {})[3]


def _compact(nodes: list[Any]) -> None:
    """Leave out nodes that nothing leads to."""
    order, stack = list[int](), [0]
    while stack:
        place = stack.pop()
        if place in order or not place < len(nodes):
            return  # no tree any more: left as it is
        order.append(place)
        if nodes[place][0] in ("cut", "label", "sign", "at"):
            stack += nodes[place][-2:]
    where = {old: new for new, old in enumerate(sorted(order))}
    kept = [copy.deepcopy(nodes[old]) for old in sorted(order)]
    for node in kept:
        if node[0] in ("cut", "label", "sign", "at"):
            node[-2:] = [where[child] for child in node[-2:]]
    nodes[:] = kept


# -- the search -----------------------------------------------------------------------------------


class Found(Exception):
    """A proof of a false claim that the checker takes."""


class Search:
    """Tries proofs of false claims, and counts them by kind."""

    def __init__(self, seed: int) -> None:
        self.rng, self.tried, self.claims = Random(seed), Counter[str](), Counter[str]()
        self.honest = 0

    def run(self, claim: Claim, count: int) -> None:
        """Try about so many proofs of one claim.

        Raises:
            Found: the checker takes one.
        """
        self.claims[claim.kind] += 1
        for _ in range(count // 4):
            nodes = random_nodes(self.rng, claim.content, claim.proof)
            self.whole("random proofs", claim, random_lemmas(self.rng, claim.proof), nodes)
        for lemmas, nodes in self.sound_proofs(claim):
            self.honest += 1
            self.whole("proofs of less", claim, lemmas, nodes)
            for _ in range(count // 4):
                self.whole("mutants", claim, *mutated(self.rng, claim, lemmas, nodes))
        for _ in range(max(1, count // 60)):
            self.leaf(claim, 30)

    def whole(self, kind: str, claim: Claim, lemmas: list[Any], nodes: list[Any]) -> None:
        self.tried[kind] += 1
        if accepts(claim.proof, lemmas, nodes):
            raise Found(f"{kind}: {claim.content} {claim.radius} {lemmas} {nodes}")

    def sound_proofs(self, claim: Claim) -> Iterator[tuple[list[Any], list[Any]]]:
        """A proof of what is true: that nothing is nearer than the nearest is."""
        optimum = claim.truth.optimum
        if optimum:
            proof = asked(claim.content, optimum)
            nodes = honest_nodes(self.rng, claim.content, proof)
            if nodes is not None:
                assert accepts(proof, [], nodes)
                yield [], nodes

    def leaf(self, claim: Claim, steps: int) -> None:
        """Close a part that holds a counterfactual nearer than the radius, by every rule."""
        rng, proof, point = self.rng, claim.proof, self.rng.choice(claim.nearer)
        parts, signs = proof.root, dict[int, int]()
        for _ in range(rng.randint(0, 5)):
            split = random_split(rng, claim.content, proof)
            halves = proof.halves(split[0], split[1:], parts, signs)
            half = next((half for half in halves if holds(claim, half, point)), None)
            if half is None:
                raise Found(f"a split that loses a point: {claim.content} {split} {point}")
            parts, signs = half
        for closing in plain_closings(proof, signs):
            self.tried["leaves: every rule"] += 1
            if closes(proof, closing, parts, signs):
                raise Found(f"leaf: {claim.content} {claim.radius} {parts} {signs} {closing}")
        tried: list[Any] = []
        closing, _ = climb(rng, proof, parts, signs, steps, tried.append)
        self.tried["leaves: climbing"] += len(tried)
        if closing:
            raise Found(f"leaf: {claim.content} {claim.radius} {parts} {signs} {closing}")


def holds(claim: Claim, area: Any, point: Any) -> bool:
    """Whether a point lies in a part, with the signs that it says."""
    parts, signs = area
    for feature, part, value in zip(claim.proof.features, parts, point, strict=True):
        inside = (
            value in part if feature.labels else None not in part and part[0] <= value <= part[1]
        )
        if not inside:
            return False
    return claim.truth.meaning.within(signs, point)


__all__ = ["Claim", "Found", "Search", "accepts", "asked", "closes", "false_claims", "holds"]

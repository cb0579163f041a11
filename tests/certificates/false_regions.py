"""Forged certificates within trust regions, and what is true of them by enumeration."""

from __future__ import annotations

import copy
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import product
from random import Random
from typing import Any

import numpy as np

from cfxc.certificates import checker
from cfxc.certificates.checker import number
from cfxc.solvers.certification.prover import prove
from tests.certificates.false_claims import Found
from tests.certificates.handmade import NEAREST, signed
from tests.solvers.mio.hull_oracle import away

F = Fraction
ROWS = [["1", "1/2", "a"], ["4", "1", "a"], ["1", "4", "b"]]
OTHERS = [["0", "4", "c"], ["4", "4", "c"]]
ANSWER = ["3", "1", "a"]  # without the region it is ["3", "1/2", "a"]
INSIDE = [0, [[0, "1"], [1, "2"]]]


@cache
def by_hand(norm: str = "l1", reach: str = "1/20", union: bool = False) -> dict[str, Any]:
    """The certificate written by hand, within a hull, or two."""
    content = copy.deepcopy(NEAREST)
    hulls = [ROWS, OTHERS] if union else [ROWS]
    content["question"]["region"] = {"norm": norm, "reach": reach, "hulls": hulls}
    content["program"]["outputs"][1][0] = [["one", 0], "-13/4"]  # no ties
    given = content["features"], content["program"], content["question"]
    proof = prove(given, F(5, 24), 20.0)
    assert proof is not None
    content |= {"witness": ANSWER, "proof": {**proof, "inside": INSIDE}}
    bound = str(min(F(5, 24), number(proof["radius"])))
    content["claim"] |= {"distance": "5/24", "lower_bound": bound, "epsilon": "1/1000000"}
    return signed(content)


def coordinates(row: list[str]) -> list[float]:
    n, x, code = row
    return [float(F(n) / 4), float(F(x) / 4), *(float(code == one) for one in "abc")]


POINTS = [[str(n), str(F(x, 2)), code] for n, x, code in product(range(5), range(9), "abc")]


def is_true(content: dict[str, Any]) -> bool:
    """Whether a claim is true, by definition and by linear programs of scipy's."""
    region, claim = content["question"]["region"], content["claim"]
    hulls = [np.array([coordinates(row) for row in rows]) for rows in region["hulls"]]
    reach = float(number(region["reach"]))

    def slack(row: list[str]) -> float:
        return min(away(rows, np.array(coordinates(row)), region["norm"]) for rows in hulls)

    def far(row: list[str]) -> F:
        n, x, code = row
        return (abs(F(n) - 1) / 4 + abs(F(x) - F(1, 2)) / 4 + (code != "a")) / 3

    bound = number(claim["lower_bound"])
    nearer = [p for p in POINTS if far(p) < bound and F(p[0]) + F(p[1]) + (p[2] == "b") > F(13, 4)]
    point = content["witness"]
    inside = slack(point) < reach + 1e-6 and far(point) == number(claim["distance"])
    return inside and all(slack(p) > reach - 1e-6 for p in nearer)


def _cell(rng: Random, content: dict[str, Any]) -> None:
    rows = rng.choice(content["question"]["region"]["hulls"])
    row = rng.choice(rows) if rows else ["0", "0", "a"]
    row[:] = rng.choice([*POINTS, [row[0], row[1], rng.choice("abc")]])


def _rows(rng: Random, content: dict[str, Any]) -> None:
    hulls = content["question"]["region"]["hulls"]
    rows = rng.choice(hulls)
    if rng.random() < 0.5 and rows:
        rows.pop(rng.randrange(len(rows)))
    else:
        rows.insert(rng.randrange(len(rows) + 1), list(rng.choice(POINTS)))


def _reach(rng: Random, content: dict[str, Any]) -> None:
    region = content["question"]["region"]
    region["reach"] = str(number(region["reach"]) * F(rng.choice((1, 9, 11, 15, 40)), 10))
    region["norm"] = rng.choice((region["norm"], "l1", "l2", "linf"))


def _face(rng: Random, content: dict[str, Any]) -> None:
    faces = content["proof"]["faces"]
    if faces:
        normal = rng.choice(faces)
        k = rng.randrange(5)
        factor = rng.choice((F(0), F(-1), F(1, 2), F(2), F(1001, 1000)))
        normal[1][k] = str(number(normal[1][k]) * factor + rng.choice((0, 0, F(1, 10))))
        normal[0] = rng.choice((normal[0], 0, 1))


def _inside(rng: Random, content: dict[str, Any]) -> None:
    inside = content["proof"]["inside"]
    inside[0] = rng.choice((inside[0], 0, 1))
    inside[1] = [[i, str(number(w) * F(rng.choice((9, 10, 11)), 10))] for i, w in inside[1]]
    content["witness"] = rng.choice((ANSWER, ["3", "1/2", "a"], ["2", "2", "a"], ["4", "1", "a"]))
    far = sum(
        abs(F(v) - F(own)) / 4 for v, own in zip(content["witness"][:2], ["1", "1/2"], strict=True)
    )
    content["claim"] |= {"distance": str(far / 3), "status": "feasible"}


def _bound(rng: Random, content: dict[str, Any]) -> None:
    own = number(content["claim"]["lower_bound"]) * F(rng.choice((5, 9, 10, 11, 15)), 10)
    content["claim"] |= {"lower_bound": str(own), "status": "feasible"}
    content["proof"]["radius"] = str(own)


def _nodes(rng: Random, content: dict[str, Any]) -> None:
    nodes = content["proof"]["nodes"]
    place = rng.randrange(len(nodes))
    if nodes[place][0] == "bound":
        _, budget, rows, shares = nodes[place]
        for row in rows:
            row[2] = str(number(row[2]) * F(rng.choice((0, 1, 1, 1, 2, 10)), 1))
        nodes[place] = ["bound", str(number(budget) * rng.choice((0, 1, 1, 2))), rows, shares]
    else:
        rng.shuffle(nodes[place][1:])


FORGERIES = (_cell, _rows, _reach, _face, _inside, _bound, _nodes)


def try_regions(rng: Random, counts: Counter[str], tries: int) -> None:
    """Forge certificates; raises ``Found`` if the checker takes one that is false."""
    honest = [by_hand(norm, union=bool(n)) for norm in ("l1", "l2", "linf") for n in (0, 1)]
    for _ in range(tries):
        content = copy.deepcopy(rng.choice(honest))
        for _ in range(rng.randint(1, 3)):
            rng.choice(FORGERIES)(rng, content)
        content = signed(content)
        counts["regions"] += 1
        try:
            checker.check(content)
        except checker.Rejected:
            continue
        counts["regions taken, and true"] += 1
        if not is_true(content):
            raise Found(f"a region: {content['question']['region']}, {content['claim']}")

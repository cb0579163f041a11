"""Files with trust regions, made to stop a checker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.certificates.mutants import rehashed
from tests.certificates.written import Content, certificate, number, question

CLOSED = ["bound", "0", [["row", 0, "1"]], []]
PRIMES = [str(10**998 + 2 * i + 1) for i in range(3000)]
FINE = f"1/{2**256}"


def asked(count: int, made: Any = ()) -> Content:
    """What no row reaches, of so many numbers."""
    features = [number(f"f{j}", 0, 0, 4, step=1, width=0) for j in range(count)]
    terms = [[["form", k], "-1"] for k in range(len(made))]
    return question(features, [[*terms, [["one", 0], "-1"]]], made=list(made))


def within(content: Content, hulls: Any, faces: Any = (), nodes: Any = (CLOSED,)) -> bytes:
    """A certificate of it within hulls."""
    content["question"]["region"] = {"norm": "l1", "reach": "1", "hulls": hulls}
    proof = {"radius": "2", "lemmas": [], "nodes": list(nodes), "faces": list(faces)}
    return json.dumps(rehashed(certificate(content, {**proof, "inside": None}))).encode()


def of_regions() -> Iterator[tuple[str, bytes]]:
    """Faces, rows and hulls that are larger than they look."""
    labels = list(range(60_000))
    feature = {"name": "l", "kind": "categorical", "labels": labels, "lower": None, "upper": None}
    feature |= {"step": None, "float": 0, "weight": "1", "action": "free"}
    wide = question([(feature, 0)], [[[["is", 0, 1], "1"], [["one", 0], "-2"]]])
    face = [0, [*(f"1/{p}" for p in PRIMES[:38]), *["1"] * (len(labels) - 38)]]
    yield "a face of 60,000 coordinates with long denominators", within(wide, [[[0]]], [face])
    long = [0, [f"1/{p}" for p in PRIMES]]
    yield "a face of 3,000 denominators", within(asked(3000), [[["1"] * 3000]], [long])
    rows = [[str(50 * i + j) for j in range(50)] for i in range(50_000)]
    rows[0][0] = FINE
    yield "2,500,000 cells", within(asked(50), [rows])
    splits, hulls = 2000, 60_000
    forms = [["form", [[["x", 0], "1"]]] for _ in range(splits)]
    nodes: list[Any] = []
    for k in range(splits):
        nodes += [["at", k, "1/2", 2 * k + 1, 2 * k + 2], CLOSED]
    nodes += [["hull", *range(2 * splits + 1, 2 * splits + 1 + hulls)], *[CLOSED] * hulls]
    many = within(asked(2, forms), [[["1", "1"]]] * hulls, nodes=nodes)
    yield "60,000 hulls behind 2,000 splits", many


__all__ = ["of_regions"]

"""Certificates written by hand: what a checker reads, without any model or search."""

from __future__ import annotations

import copy
from typing import Any

from cfxc.certificates import checker
from cfxc.certificates.auditing.policy import require_same
from cfxc.solvers.certification import Certificate

FREE = {"weight": "1", "action": "free"}
NUMBER = {"labels": [], "lower": "0", "upper": "4", "step": "1", "float": 0}
LABELS = {"lower": None, "upper": None, "step": None, "float": 0}
COUNT = {"name": "n", "kind": "integer", **NUMBER, **FREE}
REAL = {
    "name": "x", "kind": "real", "labels": [], "lower": "0", "upper": "4", "step": "1/2",
    "float": 8, **FREE,
}  # fmt: skip
CODE = {"name": "code", "kind": "categorical", "labels": ["a", "b", "c"], **LABELS, **FREE}
ONE = ["one", 0]
SPACE = """version = 1
[[feature]]
name = "n"
kind = "integer"
lower = 0
upper = 4
dtype = "int64"
[[feature]]
name = "x"
kind = "real"
lower = 0
upper = 4
resolution = "0.5"
dtype = "float64"
[[feature]]
name = "code"
kind = "categorical"
labels = ["a", "b", "c"]
dtype = "object"
"""
NEAREST = {
    "version": "cfxc certificate 1",
    "made": {},
    "semantics": "real",
    "claim": {"status": "optimal", "distance": "1/6", "lower_bound": "1/8", "epsilon": "1/4"},
    "model": None,
    "space": SPACE,
    "features": [COUNT, REAL, CODE],
    "program": {
        "made": [],
        "trees": [],
        "labels": ["no", "yes"],
        "outputs": [[], [[ONE, "-3"], [["x", 0], "1"], [["x", 1], "1"], [["is", 2, 1], "1"]]],
    },
    "question": {
        "factual": ["1", "1/2", "a"],
        "target": {"label": "yes"},
        "slack": "0",
        "norms": {"l0": "0", "l1": "1", "linf": "0", "l2": "0"},
        "constraints": [["ge", [[ONE, "4"], [["x", 1], "-1"]]]],
    },
    "witness": ["3", "1/2", "a"],
    "proof": {
        "radius": "1/8",
        "lemmas": [],
        "nodes": [
            ["label", 2, "b", 1, 2],
            ["distance"],
            ["bound", "12", [["row", 0, "1"]], []],
        ],
    },
}  # fmt: skip
"""Three features; yes where n + x + [code = b] is above 3; two steps of n, or four of x, away."""


def signed(content: dict[str, Any]) -> dict[str, Any]:
    """With the hash of the rest."""
    kept = {name: value for name, value in content.items() if name != "hash"}
    return Certificate(kept).to_dict()


def changed(*changes: tuple[tuple[Any, ...], Any], of: dict[str, Any] = NEAREST) -> dict[str, Any]:
    """A certificate with other values at places, hashed anew."""
    content: Any = copy.deepcopy(of)
    for path, value in changes:
        place = content
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
    return signed(content)


def reason(content: Any) -> str:
    """Why the checker, or its look at the space, rejects something; empty if neither does."""
    try:
        shown = checker.check(content)
        require_same(shown.space, shown.question.features)
    except checker.Rejected as error:
        return str(error)
    return ""


__all__ = ["CODE", "COUNT", "NEAREST", "ONE", "REAL", "SPACE", "changed", "reason", "signed"]

"""What the names of a VIPR file stand for, so that a reader can rebuild and compare it."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction as Q
from itertools import groupby
from typing import Any

from ...checker import number
from .problem import Problem
from .search import Search

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


__all__ = ["bound", "claimed", "manifest"]

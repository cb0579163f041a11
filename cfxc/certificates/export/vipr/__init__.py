"""Certificates as VIPR: a mixed-integer program, and a branch and bound that can be checked by
anyone.

The program is rebuilt from features, program and question alone; the proof is found anew.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from fractions import Fraction as Q
from typing import Any

from ....errors import SolverError
from ...checker import Question, number
from .problem import Problem
from .program import nearest
from .search import Search
from .text import Derivation, goal, head, manifest


def vipr(certificate: Mapping[str, Any], *, seconds: float = 60.0) -> tuple[str, dict[str, Any]]:
    """A certificate's claim as VIPR 1.0, and a manifest of what stands for what.

    The certificate must have been checked.  Strict rows are closed where their forms are on no
    grid, and numbers relaxed to ranges where they are on none; if the program then has a point
    below the claimed bound, the bound that is proved is smaller, and the manifest says so.

    Raises:
        UnsupportedError: the distance is l2, or no proof was found within ``seconds``.
    """
    problem, point, aim = rebuilt(certificate, time.monotonic() + seconds)
    search = Search(problem, aim)
    derivation = Derivation(problem, search.run(), search.aim)
    lines = head(problem, certificate["hash"]) + goal(problem, search.aim, point)
    text = "\n".join([*lines, *derivation.lines()]) + "\n"
    return text, manifest(certificate, problem, search, len(derivation.places))


def rebuilt(
    certificate: Mapping[str, Any], deadline: float = math.inf
) -> tuple[Problem, list[Q] | None, Q | None]:
    """The program of a certificate, its witness by the values of the columns, its claimed bound.

    Raises:
        UnsupportedError: VIPR has no room for the distance, or the ``deadline`` is over.
    """
    parts = (certificate["features"], certificate["program"], certificate["question"])
    question, claim = Question(*parts), certificate["claim"]
    problem = nearest(question, deadline)
    if number(certificate["question"].get("slack", "0")):
        problem.note("target: the slack that the certificate gives to rounding is given, too")
    point = None
    if certificate["witness"] is not None:
        point = problem.values(list(question.point(certificate["witness"])))
        _require_inside(problem, point)
    infeasible = claim["status"] == "infeasible"
    return problem, point, None if infeasible else number(claim["lower_bound"])


def _require_inside(problem: Problem, point: list[Q]) -> None:
    """The witness must be a point of the program, exactly."""
    for column, value in zip(problem.columns, point, strict=True):
        whole = not column.whole or value.denominator == 1
        if not (column.low <= value <= column.high and whole):
            raise SolverError(f"VIPR: the witness is outside of column {column.name}")
    for row in problem.rows:
        problem.left()
        if not row.holds(point):
            raise SolverError(f"VIPR: the witness breaks row {row.name}")


__all__ = ["rebuilt", "vipr"]

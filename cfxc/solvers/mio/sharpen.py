"""Tangents where linear programs need them: Kelley's cutting planes, before and after branching.

A mixed-integer program with few tangents of its squares lets points through that are too near, and
each solve would add one tangent of each.  Its linear relaxation asks for most of them in
milliseconds; and so does, once a solution is known, the program with the solution's whole numbers
held fixed, whose optimum is the nearest point that they leave.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import highspy
import numpy as np

from ...compiler.linear_programs import linear_solver, run_in_time
from ...compiler.mixed_integer import Rounded, rounded
from ...stopping import now
from ..tangents import Tangents
from .backends import Floats
from .formulation import Formulation, Square

ROUNDS = 40
CLOSE = 1e-7  # of the objective: squares may be off by as much, all together
GRID = 2**24  # places of tangents are multiples of 1 / GRID: any place will do


def sharpen(
    formulation: Formulation, tangents: Tangents, deadline: float, held: Floats | None = None
) -> Floats | None:
    """Add the tangents that the relaxation lacks; its last solution, if it has one.

    ``held``: a solution whose whole numbers are to stay.
    """
    squares = formulation.writer.squares
    solver, found = linear_solver(relaxation_of(formulation, held)), None
    for _ in range(ROUNDS):
        run_in_time(solver)
        if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        found = np.array(solver.getSolution().col_value, dtype=np.float64)
        if not extend(solver, found, squares, tangents) or now() >= deadline:
            break
    return found


def relaxation_of(formulation: Formulation, held: Floats | None) -> Rounded:
    """The program in doubles; with the whole numbers of a solution, if they are to stay."""
    program = rounded(formulation.model)
    if held is None:
        return program
    whole = np.where(program.whole, np.round(held), 0.0)
    return replace(
        program,
        lower=np.where(program.whole, whole, program.lower),
        upper=np.where(program.whole, whole, program.upper),
    )


def extend(solver: Any, found: Floats, squares: list[Square], tangents: Tangents) -> bool:
    """Add tangents at a solution; whether it lies below some of them by more than tolerances."""
    roots = np.array([square.root(found) for square in squares])
    short = roots**2 - np.array([found[square.column] for square in squares])
    if short.clip(0).sum() <= CLOSE * max(1.0, float((roots**2).sum())):
        return False
    new = False
    for square, y, missing in zip(squares, roots.tolist(), short.tolist(), strict=True):
        place = Fraction(round(abs(y) * GRID), GRID)
        if missing <= CLOSE / len(squares) or not tangents.add(square.name, place):
            continue
        new = True
        for side in square.sides:
            row = square.tangent(place, side)
            index = np.array(list(row.terms), dtype=np.int32)
            values = np.array([float(v) for v in row.terms.values()])
            solver.addRow(float(-row.constant), highspy.kHighsInf, index.size, index, values)
    return new


__all__ = ["extend", "relaxation_of", "sharpen"]

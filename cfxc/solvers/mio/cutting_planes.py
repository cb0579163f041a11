"""Cutting planes: tangents of squares, and faces of a hull."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import highspy
import numpy as np
import pandas as pd

from ...arrays import Bools, Floats
from ...compiler.linear_programs import linear_solver, run_in_time
from ...compiler.mixed_integer import Rounded, rounded
from ...errors import CfxcError, SolverError
from ...question.domain import Domain
from ...question.hull import Hull
from ...question.query import Query
from ...stopping import now
from ..base import Candidate, Deployed, verify
from ..encoding.squares import Tangents
from ..hulls import Face, HullProgram, nearest
from ..rows import PointRows
from .formulation import Formulation, Formulator, Square

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


ROUNDING = 1e-9  # of coordinates
CUT = 1e-8  # of a normal's size: by how much a face cuts a point off


def program_over(formulation: Formulation, held: Floats | None = None) -> HullProgram:
    """The relaxation with the hull's rows; ``held``: a solution whose whole numbers are to stay."""
    (hull,) = formulation.writer.query.hulls
    program, slack = relaxation_of(formulation, held), formulation.writer.slack
    if held is not None:
        program.upper[slack] = min(program.upper[slack], float(hull.inner))
    coordinates = formulation.writer.coordinates
    forms = np.zeros((len(coordinates), program.lower.size))
    for k, form in enumerate(coordinates):
        for j, factor in form.terms.items():
            forms[k, j] = float(factor)
    constants = np.array([float(form.constant) for form in coordinates])
    return HullProgram(hull, program, forms, constants, slack)


def enclose(
    formulation: Formulation, formulator: Formulator, deadline: float, held: Floats
) -> Floats | None:
    """Add the face that a solution's whole numbers leave; the nearest point they do, if any."""
    solver, near = program_over(formulation, held), formulation.lift(held)
    more = more_tangents(formulation, formulator)
    try:
        found = solver.solve(vector_of(formulator.query, near), deadline, more)
    except SolverError:
        return None
    if found is None:
        return None
    add_face(formulator, found.face)
    return found.values


def more_tangents(
    formulation: Formulation, formulator: Formulator
) -> Callable[[Any, Floats], bool] | None:
    """What adds the tangents that a solution lacks, where there are squares."""
    squares = formulation.writer.squares
    return partial(extend, squares=squares, tangents=formulator.tangents) if squares else None


def separate(formulator: Formulator, point: Mapping[str, Any]) -> bool:
    """Add the face between a point and the hull; whether it cuts the point off."""
    face = _face_between(formulator.query, point)
    return face is not None and add_face(formulator, face)


def is_beyond(query: Query, point: Mapping[str, Any]) -> bool:
    """Whether a face shows that a point lies outside of the hull."""
    return _face_between(query, point) is not None


def _face_between(query: Query, point: Mapping[str, Any]) -> Face | None:
    (hull,) = query.hulls
    z = vector_of(query, point)
    face = nearest(hull, z).face
    beyond = float(face.normal @ z) - face.support - face.dual * float(hull.reach)
    return face if beyond > CUT * face.dual else None


def is_cut_off(formulator: Formulator, point: Mapping[str, Any]) -> bool:
    """Whether a point lies beyond a face that is known."""
    (hull,) = formulator.query.hulls
    z, reach = vector_of(formulator.query, point), float(hull.reach)
    return any(
        float(face.normal @ z) > face.support + face.dual * reach for face in formulator.faces
    )


def first_row(query: Query, deployed: Deployed, deadline: float) -> Candidate | None:
    """The nearest of the hull's rows that is a counterfactual."""
    (hull,) = query.hulls
    fits = np.flatnonzero(_admissible(query, hull))
    fits = fits[_kept(query, hull.table.iloc[fits])]
    away = np.abs(hull.points[fits] - vector_of(query, query.factual)).sum(axis=1)
    for i in fits[np.argsort(away, kind="stable")].tolist():
        if now() >= deadline:
            break
        try:
            point = query.space.encode_row(hull.table.iloc[[i]], extra="ignore")
        except CfxcError:
            continue  # a row outside of the space's ranges still is a corner
        candidate = verify(query, point, deployed)
        if candidate is not None:
            return candidate
    return None


def simplified(
    query: Query, candidate: Candidate, deployed: Deployed, deadline: float
) -> Candidate:
    """A counterfactual without what it changes in vain: all the way back, or half of it."""
    best = candidate
    for share in (Fraction(1), Fraction(1, 2), Fraction(1, 4)):
        changed = [d for d in query.domains if best.point[d.name] != d.factual]
        for domain in sorted(changed, key=lambda d: -d.delta(best.point[d.name])):
            value = _back(domain, best.point[domain.name], share)
            trial = {**best.point, domain.name: value}
            if now() >= deadline:
                return best
            if query.distance_to(trial) < best.distance:
                nearer = verify(query, trial, deployed)
                best = best if nearer is None or nearer.distance >= best.distance else nearer
    return best


def _back(domain: Domain, value: Any, share: Fraction) -> Any:
    """A value that much nearer to the factual's, on the feature's grid."""
    if domain.is_symbolic or share == 1:
        return domain.factual
    own, away = Fraction(domain.factual), Fraction(value) - Fraction(domain.factual)
    goal = own + (1 - share) * away
    found = domain.ceil(goal) if away > 0 else domain.floor(goal)
    return value if found is None else domain.feature.typed(found)


def _admissible(query: Query, hull: Hull) -> Any:
    """Which rows have admissible values alone, to within rounding."""
    domains = {domain.name: domain for domain in query.domains}
    fits = np.ones(len(hull.points), dtype=np.bool_)
    for k, each in enumerate(hull.coordinates):
        column, domain = hull.points[:, k], domains[each.feature]
        low, high = each.ends(domain)
        fits &= (column >= low - ROUNDING) & (column <= high + ROUNDING)
    return fits


def _kept(query: Query, rows: pd.DataFrame) -> Bools:
    """Which rows keep to the constraints, to within rounding; all, where one cannot be read."""
    every = np.ones(len(rows), np.bool_)
    if not query.rules.constraints:
        return every
    try:
        columns = query.space.encode_frame(rows, extra="ignore", check_range=False)
        codes = np.column_stack([columns[domain.name] for domain in query.domains])
        return PointRows(query.rules).kept(codes.astype(np.float64))
    except CfxcError:
        return every


def add_face(formulator: Formulator, face: Face) -> bool:
    """Whether a face says anything, and nothing that is known."""
    size = float(np.abs(face.normal).max(initial=0.0))
    if not size:
        return False
    scaled = Face(face.normal / size, face.support / size, face.dual / size)
    known = any(np.allclose(scaled.normal, other.normal, atol=1e-12) for other in formulator.faces)
    if not known:
        formulator.faces.append(Face.of(formulator.query.hulls[0], scaled.normal))
    return not known


def vector_of(query: Query, point: Mapping[str, Any]) -> Floats:
    """The coordinates of a point."""
    (hull,) = query.hulls
    return np.array([float(one) for one in hull.vector(query.space, point)])

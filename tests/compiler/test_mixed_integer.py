"""Programs in doubles are relaxations, and bounds from any multipliers hold."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfxc.compiler.linear_programs import Relaxed, rows
from cfxc.compiler.mixed_integer import FEASIBILITY, ROW_SLACK, Affine, Model, Rounded, rounded
from cfxc.compiler.relaxation import Relaxation, System
from cfxc.ir.linear import LinearForm
from tests.compiler.exact_bounds import replay, replayed

F = Fraction
QUICK = settings(derandomize=True, max_examples=60)
numbers = st.one_of(st.fractions(-5, 5, max_denominator=97), st.floats(-1e3, 1e3).map(F))


def affine(columns: int) -> st.SearchStrategy[Affine]:
    terms = st.dictionaries(st.integers(0, columns - 1), numbers.filter(bool), max_size=columns)
    return st.builds(LinearForm, terms, numbers)


# -- exact programs --------------------------------------------------------------------------------


def test_rows_that_ranges_imply_are_left_out() -> None:
    model = Model()
    x, y = model.column("x", 0, 1), model.column("x", -1, 2, whole=True)
    assert [column.name for column in model.columns] == ["x", "x'"]
    model.constrain(x + y, None, 3, "implied")
    assert not model.rows
    model.constrain(x + y + 1, -5, 3, "one side")
    assert [(row.lower, row.upper) for row in model.rows] == [(None, F(2))]
    assert not model.refuted
    assert model.violated([F(1, 2), F(2)]) == ["one side"]
    assert model.violated([F(2), F(1, 2)]) == ["x", "x'", "one side"]
    model.constrain(x, 2, None)
    assert model.refuted


@QUICK
@given(st.lists(affine(4), min_size=1, max_size=4), st.data())
def test_what_is_feasible_stays_so_in_doubles(forms: list[Affine], data: st.DataObject) -> None:
    """With some room to spare in rows that are not exact."""
    model = Model()
    for j in range(4):
        model.column(f"c{j}", F(-7, 3), F(10, 3), whole=j % 2 == 0)
    point = [F(data.draw(st.integers(-2, 3))) for _ in range(4)]
    for form in forms:
        value = form.at(point)
        model.constrain(form, value, value, "tight")
    program = rounded(model)
    assert all(
        low <= float(p) <= high
        for low, p, high in zip(program.lower, point, program.upper, strict=True)
    )
    for (entries, low, high), row in zip(rows(program), model.rows, strict=True):
        exact = sum((F(value) * point[j] for j, value in entries), F(0))
        whole = all(factor.denominator == 1 for factor in row.terms.values())
        room = 0 if whole else F(ROW_SLACK) / 2
        assert F(low) + room <= exact <= F(high) - room or (whole and F(low) <= exact <= F(high))


def test_rows_of_small_integers_are_not_widened() -> None:
    """A presolver could round what a wider row leaves to an integer."""
    model = Model()
    x, y = model.column("x", 0, 1), model.column("y", 0, 1, whole=True)
    model.constrain(x - y, None, 0)
    model.constrain(x + F(-1, 3) * y, None, 0)
    program = rounded(model)
    assert program.row_upper[0] == 0
    assert ROW_SLACK <= program.row_upper[1] < FEASIBILITY


# -- multipliers -----------------------------------------------------------------------------------


def small_program(forms: list[Affine]) -> tuple[Model, Rounded]:
    model = Model()
    for j in range(3):
        model.column(f"c{j}", -1, 2)
    for form in forms:
        model.constrain(form, -1, 3)
    return model, rounded(model)


@QUICK
@given(st.lists(affine(3), min_size=1, max_size=3), affine(3), st.data())
def test_bounds_by_any_multipliers_hold(
    forms: list[Affine], goal: Affine, data: st.DataObject
) -> None:
    model, program = small_program(forms)
    relaxed = Relaxed(program)
    found = relaxed.least(goal)
    floats = st.floats(-1e3, 1e3)
    wild = np.array([data.draw(floats) for _ in model.rows], dtype=np.float64)
    cost = np.zeros(3)
    for j, factor in goal.terms.items():
        cost[j] = float(factor)
    bounds = [found.bound, relaxed.evaluate(cost, float(goal.constant), wild)]
    again = [replay(program, goal, found.multipliers), replay(program, goal, wild)]
    assert all(F(bound) <= exact for bound, exact in zip(bounds, again, strict=True))
    for corner in product((F(-1), F(1, 2), F(2)), repeat=3):
        if not model.violated(list(corner)):
            assert max(again) <= goal.at(corner)


def test_linear_programs_are_as_tight_as_they_can_be() -> None:
    model = Model()
    x, y = model.column("x", 0, 10), model.column("y", 0, 10)
    model.constrain(x + y, 4, None)
    model.constrain(x - 2 * y, None, 1)
    relaxed = Relaxed(rounded(model))
    assert relaxed.least(x + 2 * y).bound == pytest.approx(5, abs=1e-6)
    assert -relaxed.least(-x).bound == pytest.approx(10, abs=1e-6)


# -- units, groups, budget -------------------------------------------------------------------------


def relaxation() -> tuple[Relaxation, Affine, list[list[Fraction]]]:
    """Two units over a number, a category of three and a budget; all points of a grid."""
    model = Model()
    found = Relaxation(model)
    x = model.column("x", -1, 2)
    labels = [model.binary(f"c={i}") for i in range(3)]
    found.group(j for label in labels for j in label.terms)
    cost = LinearForm.sum([(F(1, 3), labels[1]), (F(2, 3), labels[2])]) + F(1, 4) * x
    found.budget = (cost, F(1, 2))
    z = LinearForm.sum([(1, x), (2, labels[1]), (F(-1, 3), labels[2])])
    h = model.column("h", 0, 5)
    found.define(3 + 1, z, F(-4, 3), F(4))
    z2 = h - 2 * x + F(-1, 7)
    model.column("k", 0, 9)
    found.define(5, z2, F(-5), F(7))
    points = []
    for value, label in product((F(i, 4) for i in range(-4, 9)), range(3)):
        columns = [value, *(F(i == label) for i in range(3))]
        columns.append(max(z.at(columns), F(0)))
        columns.append(max(z2.at(columns), F(0)))
        if cost.at(columns) <= F(1, 2):
            points.append(columns)
    return found, z2, points


@QUICK
@given(affine(6))
def test_back_substitution_holds_and_replays(form: Affine) -> None:
    found, _, points = relaxation()
    (bounds,) = found.bounds([form])
    values = [form.at(point) for point in points]
    assert bounds.lower <= min(values)
    assert max(values) <= bounds.upper
    assert replayed(bounds.above, found, form) <= bounds.upper
    assert -replayed(bounds.below, found, -form) >= bounds.lower
    assert max(values) <= replayed(bounds.above, found, form)


@QUICK
@given(affine(6), st.lists(st.floats(0, 100), min_size=5, max_size=5))
def test_any_nonnegative_multipliers_hold(form: Affine, wild: list[float]) -> None:
    found, _, points = relaxation()
    system = System(found, [form])
    units = len(system.units)
    above, below = np.array([wild[:units]]), np.array([wild[2 : 2 + units]])
    (proof,) = system.evaluate(above, below, np.array(wild[4:]))
    highest = max(form.at(point) for point in points)
    assert highest <= replayed(proof, found, form) <= proof.bound


def test_the_budget_and_the_category_tighten() -> None:
    found, z2, points = relaxation()
    (bounds,) = found.bounds([z2])
    assert bounds.upper < found.most(z2)
    assert float(bounds.lower) == pytest.approx(float(min(map(z2.at, points))), abs=1.5)


def test_tiny_coefficients_become_slack() -> None:
    model = Model()
    x, y = model.column("x", -1, 2), model.column("y", 0, 1)
    model.constrain(F(5e-324) * x, F(1e-324), None)
    model.constrain(y + F(1, 10**14) * x, None, F(1, 2))
    program = rounded(model)
    (first, low, _), (second, _, high) = rows(program)
    assert not first
    assert low <= 0
    assert [j for j, _ in second] == [1]
    assert F(high) >= F(1, 2) + F(2, 10**14)


def test_a_cost_far_below_the_others_does_not_inflate_them() -> None:
    """A step to the next double costs next to nothing; solvers call costs of 1e20 infinite."""
    model = Model()
    large, tiny = model.column("large", 0, 1), model.column("tiny", 0, 1)
    model.objective = large + Fraction(1, 10**40) * tiny
    program = rounded(model)
    assert program.cost.max() < 1e9
    assert program.scale == 2.0**20

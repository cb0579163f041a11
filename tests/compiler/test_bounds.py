"""Ranges of variables hold whatever the inputs are."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from cfxc.compiler.bounds import variable_ranges
from cfxc.compiler.terms import Pool, evaluate_term
from cfxc.compiler.transform import compact_formula
from cfxc.ir import Program, Sort, parse_program
from cfxc.ir.evaluator import run
from tests.strategies import inputs_of, programs

LOW, HIGH = Fraction(-8), Fraction(8)  # what ``inputs_of`` draws


def scalar_number(sort: Sort) -> bool:
    return sort.is_numeric and not sort.shape


def numeric(program: Program) -> dict[str, tuple[Any, Any]]:
    return {name: (LOW, HIGH) for name, sort in program.inputs if scalar_number(sort)}


@settings(max_examples=80)
@given(st.data())
def test_values_lie_in_their_ranges(data: st.DataObject) -> None:
    program = data.draw(programs(exact=True, core=True))
    values: dict[str, Any] = data.draw(inputs_of(program))
    run(program.body, values)
    ranges = variable_ranges(program, numeric(program))
    for name, (low, high) in ranges.items():
        if name in values:
            assert low is None or low <= values[name]
            assert high is None or values[name] <= high
            if program.sorts[name].kind == "int":
                assert all(end is None or end == int(end) for end in (low, high))
    sorts = program.sorts
    assert set(ranges) == {name for name, sort in sorts.items() if scalar_number(sort)}


def test_branches_join_and_open_ends_stay_open() -> None:
    program = parse_program(
        """program p(x: Real, n: Int) {
             b: Bool = gt(x, 1)
             if b { v: Real = identity(x) m: Int = identity(n) }
             else { v: Real = identity(-5.) m: Int = identity(3) }
             return v = v, m = m
           }"""
    )
    ranges = variable_ranges(program, {"x": (Fraction(0), Fraction(4)), "n": (None, 7)})
    assert ranges["v"] == (-5, 4)
    assert ranges["m"] == (None, 7)


def test_a_formula_with_ranges_is_the_same_within_them() -> None:
    program = parse_program(
        """program p(x: Real) {
             b: Bool = gt(x, 10)
             if b { v: Real = identity(1.) } else { v: Real = identity(2.) }
             return v = v
           }"""
    )
    pool = Pool()
    found = compact_formula(program, pool, variable_ranges(program, {"x": (0, 20)}))
    for x in (0, 10, 11, 20):
        v = 1 if x > 10 else 2
        values = {"x": x, "b": x > 10, "v": v, "y.v": v}
        assert evaluate_term(found.formula, values)
        assert not evaluate_term(found.formula, {**values, "y.v": 3 - v})

"""Programs read as linear forms and units have the same values."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfxc.compiler.linear_reader import UnitReader, Units
from cfxc.errors import UnsupportedError
from cfxc.ir import evaluate, parse_program
from cfxc.ir.linear import Inequality, LinearForm

F = Fraction
LABELS = ("u", "v", "w")
VALUES = """program p(x: Real, n: Int, c: Category{"u", "v", "w"}) {
  m: Real = to_real(n)
  both: Real[2] = concat(x, m)
  positive: Real[2] = relu(both)
  leaky: Real[2] = leaky_relu(both, alpha=1/4)
  cut: Real[2] = clip(both, lower=-1/2, upper=3/2)
  size: Real[2] = abs(both)
  larger: Real[2] = maximum(leaky, cut)
  smaller: Real = minimum(x, m)
  top: Real = reduce_max(larger)
  least: Real = reduce_min(size)
  codes: Real[2] = lookup(c, labels={"u", "v", "w"}, table=rat[3, 2](0, 1, 2, -1, 1/3, 0))
  test: Bool = gt(x, 1/2)
  step: Real = to_real(test)
  all: Real[9] = concat(positive, cut, smaller, top, least, codes)
  total: Real[2] = affine(all,
    weight=rat[2, 9](1, -2, 3, 1, 1/2, -1, 2, 1, 1, 0, 1, 0, -1, 1, 1, 1, 0, 2), bias=rat[2](1, -1))
  first: Real = item(total, index=0)
  second: Real = item(total, index=1)
  score: Real = sub(first, second)
  value: Real = add(score, step)
  high: Bool = ge(value, 1/3)
  other: Bool = is_label(c, label="v")
  not_v: Bool = not(other)
  wins: Bool = and(high, not_v)
  return holds = wins, value = value
}"""

numbers = st.fractions(-3, 3, max_denominator=8)


def atoms(units: Units, x: Fraction, n: int, c: str) -> dict[tuple[Any, ...], Fraction]:
    found: dict[tuple[Any, ...], Fraction] = {("x", "x"): x, ("x", "n"): F(n)}
    found |= {("is", "c", i): F(label == c) for i, label in enumerate(LABELS)}
    for k, step in enumerate(units.steps):
        found["step", k] = F(meets(step, found))
    for k, form in enumerate(units.forms):
        found["unit", k] = max(form.at(found), F(0))
    return found


def meets(required: Inequality, found: dict[tuple[Any, ...], Fraction]) -> bool:
    value = required.form.at(found)
    return value > 0 or (value == 0 and not required.strict)


def reader(text: str, units: Units) -> UnitReader:
    given = {name: [LinearForm.one(("x", name))] for name in ("x", "n")}
    return UnitReader(parse_program(text), given, {"c": "c"}, units)


@given(numbers, st.integers(-3, 3), st.sampled_from(LABELS))
def test_values_and_truth(x: Fraction, n: int, c: str) -> None:
    units = Units()
    read = reader(VALUES, units)
    (value,) = read.entries("value")
    rows = read.conjunction("wins")
    exact = evaluate(read.program, {"x": x, "n": n, "c": c})
    found = atoms(units, x, n, c)
    assert value.at(found) == exact["value"]
    assert all(meets(row, found) for row in rows) == exact["holds"]


def test_labels_that_are_known() -> None:
    """A factual's label is a constant."""
    units, program = Units(), parse_program(VALUES)
    given = {"x": [LinearForm.of(1)], "n": [LinearForm.of(2)]}
    (value,) = UnitReader(program, given, {"c": 1}, units).entries("value")
    assert not units.forms
    assert value == LinearForm.of(evaluate(program, {"x": F(1), "n": 2, "c": "v"})["value"])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("y: Real = mul(x, x)", "multiplied"),
        ("y: Real = exp(x)", "'exp'"),
        ("s: Real = add(x, x) t: Bool = gt(s, n) y: Real = to_real(t)", "several features"),
    ],
)
def test_what_is_neither(line: str, message: str) -> None:
    body = "\n  ".join(part for part in line.replace(") ", ")\n").split("\n"))
    text = f"program p(x: Real, n: Real) {{\n  {body}\n  return out = y\n}}"
    with pytest.raises(UnsupportedError, match=message):
        reader(text, Units()).entries("y")

"""An op that says nothing but its hinges is read by every back end, and the same by each."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cfxc.compiler.functional import functional
from cfxc.compiler.linear_reader import UnitReader, Units
from cfxc.compiler.rounding_error import RoundingError
from cfxc.compiler.terms import Pool, evaluate_term
from cfxc.ir import REAL, BatchEvaluator, Builder, Program, evaluate, ops
from cfxc.ir.interval import Interval
from cfxc.ir.linear import LinearForm
from cfxc.ir.ops.arithmetic import Hinges
from cfxc.lang import compile_program, to_text

F = Fraction


@dataclass(frozen=True)
class Zigzag(ops.PiecewiseLinear):
    """Falls, rises, is flat and falls again."""

    name = "zigzag"

    def hinges(self) -> Hinges:
        turns = ((F(-1), F(3)), (F(1, 2), F(-1)), (F(1, 2), F(-1, 4)), (F(2), F(-7, 4)))
        return Hinges(F(1, 4), F(-1), turns)


def program_of(op: ops.PiecewiseLinear) -> Program:
    builder = Builder("f")
    builder.input("x", REAL)
    return builder.build(value=builder.let(op))


OPS = [
    Zigzag("x"),
    ops.Relu("x"),
    ops.Abs("x"),
    ops.LeakyRelu("x", F(1, 3)),
    ops.Clip("x", F(-1, 3), F(1)),
]
each_op = pytest.mark.parametrize("op", OPS, ids=[op.name for op in OPS])
numbers = st.fractions(-4, 4, max_denominator=12)


@each_op
@given(x=numbers)
def test_hinges_are_the_meaning(op: ops.PiecewiseLinear, x: F) -> None:
    exact = op.evaluate(x)
    assert ops.PiecewiseLinear.evaluate(op, x) == exact
    places, slopes, intercepts = op.hinges().lines
    piece = sum(x > place for place in places)
    assert slopes[piece] * x + intercepts[piece] == exact


@each_op
@given(
    x=st.floats(-4, 4), width=st.sampled_from([0.0, 1e-9, 0.5, 3.0, np.inf]), share=st.floats(0, 1)
)
def test_the_enclosure_holds(op: Any, x: float, width: float, share: float) -> None:
    box = Interval.of(x, x + width)
    inside = min(x + share * min(width, 5.0), x + width)
    for found in (op.interval(box), ops.PiecewiseLinear.interval(op, box)):
        assert float(found.lower) <= op.evaluate(F(inside)) <= float(found.upper)
        assert width or float(found.upper - found.lower) < 1e-12


@each_op
@given(x=numbers)
def test_all_readers_agree(op: ops.PiecewiseLinear, x: F) -> None:
    program, exact = program_of(op), op.evaluate(x)
    pool = Pool()
    term = functional(program, {"x": pool.unique("x", "real", F(-4), F(4))}, pool)["value"]
    assert evaluate_term(term, {"x": x}) == exact
    units = Units()
    (form,) = UnitReader(program, {"x": [LinearForm.one(("x", "x"))]}, {}, units).entries(
        program.output("value")
    )
    values: dict[Any, F] = {("x", "x"): x}
    for k, unit in enumerate(units.forms):
        values["unit", k] = max(unit.at(values), F(0))
    assert form.at(values) == exact


@each_op
@given(x=numbers)
def test_the_language_says_the_same(op: ops.PiecewiseLinear, x: F) -> None:
    program = compile_program(to_text(program_of(op)))
    assert evaluate(program, {"x": x})["value"] == op.evaluate(x)


@each_op
@given(x=st.floats(-4, 4))
def test_gradients_are_slopes(op: ops.PiecewiseLinear, x: float) -> None:
    torch = pytest.importorskip("torch")
    places, slopes, _ = op.hinges().lines
    assume(all(abs(F(x) - place) > F(1, 10**6) for place in places))
    module = importlib.import_module("cfxc.compiler.emit.torch_module").TorchModule(program_of(op))
    at = torch.tensor([x], dtype=torch.float64, requires_grad=True)
    value = module({"x": at})["value"]
    value.sum().backward()
    assert float(value.detach()) == pytest.approx(float(op.evaluate(F(x))), abs=1e-12)
    assert float(at.grad) == pytest.approx(float(slopes[sum(F(x) > place for place in places)]))


@each_op
@given(x=st.floats(-4, 4))
def test_doubles_are_as_near_as_their_rounding_says(op: Any, x: float) -> None:
    program = program_of(op)
    found = BatchEvaluator(program)({"x": np.array([x])})["value"][0]
    at = RoundingError(program, {"x": Interval.of(-4.0, 4.0)}, F(1, 2**53))
    error = abs(F(float(found)) - op.evaluate(F(x)))
    assert error <= F(float(at.error(program.output("value"))))

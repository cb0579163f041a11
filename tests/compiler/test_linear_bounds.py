"""Linear bounds hold at every point of the box, and repeat in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfxc.errors import UnsupportedError
from cfxc.ir import Program, evaluate, parse_program
from cfxc.ir.evaluator import run
from tests.compiler.exact_bounds import linear_bounds
from tests.strategies import inputs_of, programs

F = Fraction
LOW, HIGH = F(-8), F(8)  # what ``inputs_of`` draws


def box_of(program: Program) -> dict[str, Any]:
    return {name: (LOW, HIGH) for name, sort in program.inputs if sort.is_numeric}


def flat(value: Any) -> list[Any]:
    return list(np.asarray(value, dtype=object).ravel())


@settings(max_examples=60, derandomize=True)
@given(st.data())
def test_values_lie_within_their_bounds(data: st.DataObject) -> None:
    program = data.draw(programs(exact=True))
    try:
        found = linear_bounds(program, box_of(program))
    except UnsupportedError:
        return
    values: dict[str, Any] = data.draw(inputs_of(program))
    run(program.body, values)
    for name in found.bounds:
        lows, highs = flat(found.lower(name)), flat(found.upper(name))
        again = flat(found.replay(name))
        for value, low, high, (least, most) in zip(
            flat(values[name]), lows, highs, again, strict=True
        ):
            assert low <= least <= value <= most <= high, name


NETWORK = parse_program(
    """program n(x: Real, y: Real, c: Category{"a", "b", "c"}) {
         hot: Real[3] = lookup(c, labels={"a", "b", "c"}, \
table=f64[3, 3](1., 0., 0., 0., 1., 0., 0., 0., 1.))
         v: Real[5] = concat(x, y, hot)
         z: Real[2] = affine(v, weight=f64[2, 5](1., 1., 1., 2., 3., 1., -1., 0., 1., 0.), \
bias=f64[2](0., 0.))
         h: Real[2] = relu(z)
         s: Real[1] = affine(h, weight=f64[1, 2](1., -1.), bias=f64[1](0.))
         score: Real = item(s, index=0)
         return score = score
       }"""
)


def test_a_category_is_one_choice() -> None:
    found = linear_bounds(NETWORK, {"x": (0, 1), "y": (0, 1)})
    assert float(found.upper("z")[0]) == pytest.approx(5, abs=1e-9)  # not 2 + 1 + 2 + 3
    assert float(found.lower("z")[0]) == pytest.approx(1, abs=1e-9)
    fewer = linear_bounds(NETWORK, {"x": (0, 1), "y": (0, 1), "c": ["a", "b"]})
    assert float(fewer.upper("z")[0]) == pytest.approx(4, abs=1e-9)


def test_relations_between_units_count() -> None:
    """h_1 - h_2 over shared inputs: intervals say [1 - 2, 5 - 0]."""
    found = linear_bounds(NETWORK, {"x": (0, 1), "y": (0, 1), "c": ["a"]})
    points = [
        evaluate(NETWORK, {"x": x, "y": y, "c": "a"})["score"]
        for x in (F(0), F(1, 2), F(1))
        for y in (F(0), F(1, 2), F(1))
    ]
    assert found.lower("score") <= min(points)
    assert max(points) <= found.upper("score")
    assert found.lower("score") > 0
    assert found.upper("score") < F(7, 2)


def test_what_has_no_line_is_boxed() -> None:
    program = parse_program(
        """program p(x: Real, y: Real) {
             p: Real = mul(x, y)
             e: Real = sigmoid(p)
             d: Real = sub(e, 1)
             return d = d
           }"""
    )
    found = linear_bounds(program, {"x": (-1, 2), "y": (-3, 1)})
    assert float(found.lower("p")) == pytest.approx(-6)
    assert float(found.upper("p")) == pytest.approx(3)
    assert -1 <= found.lower("d") <= found.upper("d") < 0

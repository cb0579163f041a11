"""Tensor level to core level: the expanded program computes the same."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfxc.compiler.expand import expand
from cfxc.compiler.scalarise import RULES
from cfxc.errors import UnsupportedError, VerificationError
from cfxc.ir import BOOL, Program, Tensor, evaluate, ops, parse_program, verify
from cfxc.ir.op import REGISTRY
from cfxc.ir.program import If, Let, walk
from tests.example_programs import EXAMPLES, Example
from tests.strategies import inputs_of, op_programs, programs

F = Fraction
QUICK = settings(derandomize=True, max_examples=60)
ALMOST = Fraction(1, 10**50)  # softmax is evaluated to 60 places, in another order


def test_every_op_has_a_rule() -> None:
    assert all(RULES.keys() & set(op.__mro__) for op in REGISTRY.values())


def flat(outputs: dict[str, Any]) -> dict[str, Any]:
    """Vector outputs by element, as ``expand`` names them."""
    found: dict[str, Any] = {}
    for name, value in outputs.items():
        if isinstance(value, np.ndarray):
            found |= {f"{name}.{i}": item for i, item in enumerate(value.ravel())}
        else:
            found[name] = value
    return found


def split(program: Program, row: dict[str, Any]) -> dict[str, Any]:
    """Vector inputs by element."""
    return flat({name: row[name] for name, _ in program.inputs})


def assert_same(program: Program, row: dict[str, Any]) -> None:
    if not flat(evaluate(program, row)):
        return  # only empty vectors
    core = expand(program)
    verify(core)
    assert all(sort.is_scalar for _, sort in core.inputs)
    assert all(core.sorts[let.name].is_scalar for let in core.lets())
    found, wanted = evaluate(core, split(program, row)), flat(evaluate(program, row))
    inexact = any(isinstance(let.op, ops.Softmax) for let in program.lets())
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        if inexact and isinstance(value, Fraction):
            assert abs(found[name] - value) < ALMOST
        else:
            assert (found[name], str(found[name])) == (value, str(value))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.name)
def test_examples(example: Example) -> None:
    program = parse_program(example.text)
    for row, _ in example.cases:
        assert_same(program, row)


@QUICK
@given(st.data())
def test_tensor_programs(data: st.DataObject) -> None:
    program = data.draw(programs(core=False))
    for _ in range(2):
        assert_same(program, data.draw(inputs_of(program)))


@pytest.mark.parametrize("name", sorted(REGISTRY))
@settings(derandomize=True, max_examples=8)
@given(data=st.data())
def test_single_ops_on_inputs(name: str, data: st.DataObject) -> None:
    program = data.draw(op_programs(name))
    row = data.draw(inputs_of(program))
    try:
        evaluate(program, row)
    except VerificationError:  # an index outside of its labels, a division by zero, an overflow
        return
    assert_same(program, row)


@QUICK
@given(st.data())
def test_core_programs_are_kept(data: st.DataObject) -> None:
    program = data.draw(programs(core=True))
    if not any(isinstance(statement, If) for statement in program.body):
        return
    if any(sort.shape for sort in program.sorts.values()):
        with pytest.raises(UnsupportedError, match="works on scalars"):
            expand(program)
    else:
        core = expand(program)
        assert core.body == program.body
        row = data.draw(inputs_of(program))
        assert evaluate(core, row) == evaluate(program, row)


def test_elements_get_names_of_their_own() -> None:
    program = parse_program("""program p(x: Real[2], `x.0`: Real) {
      s: Real = item(x, index=0)
      return v = x, `v.1` = s, w = `x.0`
    }""")
    core = expand(program)
    assert [name for name, _ in core.inputs] == ["x.0'", "x.1", "x.0"]
    row = {"x.0'": 1, "x.1": 2, "x.0": 3}
    assert evaluate(core, row) == {"v.0": 1, "v.1'": 2, "v.1": 1, "w": 3}


def test_shapes_of_the_paper() -> None:
    """A tree is nested ifs (Figure 2b), a ReLU one if, a matrix product sums (Figure 3b)."""
    tree = ops.TreeEnsemble(
        "x", *(Tensor(np.array(v, dtype=np.int64)) for v in ([0], [0, -1, 1, -1, -1])),
        Tensor([0.5, 0.0, 2.0, 0.0, 0.0]),
        *(Tensor(np.array(v, dtype=np.int64)) for v in ([1, 0, 3, 0, 0], [2, 0, 4, 0, 0])),
        Tensor([[0.0], [1.0], [0.0], [2.0], [3.0]]), Tensor([0.0]),
    )  # fmt: skip
    program = parse_program("""program p(a: Real, b: Real) {
      x: Real[2] = concat(a, b)
      z: Real[1] = affine(x, weight=f64[1, 2](1., -2.), bias=f64[1](3.))
      r: Real[1] = relu(z)
      s: Real = item(r, index=0)
      return s = s
    }""")
    tags = [tag for tag, _ in walk(expand(program).body)]
    assert tags.count("if") == 1
    grown = Program("t", program.inputs, (*program.body[:1], Let("y", tree)), (("y", "y"),))
    body = expand(grown).body
    assert [tag for tag, _ in walk(body)].count("if") == 2
    outer = next(s for s in body if isinstance(s, If))
    assert expand(grown).sorts[str(outer.condition)] == BOOL
    assert any(isinstance(s, If) for s in outer.orelse)
    assert not any(isinstance(s, If) for s in outer.then)

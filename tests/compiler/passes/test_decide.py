"""Rewrites of decisions keep every value, ties included."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfxc.compiler.passes import fold_into_trees, narrow_argmax
from cfxc.ir import Program, evaluate, ops, parse_program
from cfxc.ir.patterns import keep_outputs

F = Fraction
ENSEMBLE = """tree_ensemble(x, roots=i64[2](0, 3), feature=i64[6](0, -1, -1, 1, -1, -1),
  threshold=rat[6](1/2, 0, 0, 0, 0, 0), left=i64[6](1, 0, 0, 4, 0, 0),
  right=i64[6](2, 0, 0, 5, 0, 0),
  value=rat[6, 2](0, 0, 1/3, 2/3, 1, 0, 0, 0, 1/2, 1/2, 0, 1), base=rat[2](0, 1/7))"""
ARGMAX = f"""program p(a: Real, b: Real) {{
  x: Real[2] = concat(a, b)
  y: Real[2] = {ENSEMBLE}
  s: Real[2] = div(y, 3)
  k: Int = argmax(s)
  return k = k
}}"""
THREE = """program p(a: Real, b: Real) {
  x: Real[3] = concat(a, b, 1/2)
  s: Real[3] = mul(x, 2)
  k: Int = argmax(s)
  return k = k
}"""
FOLDED = f"""program p(a: Real, b: Real) {{
  x: Real[2] = concat(a, b)
  y: Real[2] = {ENSEMBLE}
  mean: Real[2] = div(y, 2)
  z: Real[1] = affine(mean, weight=rat[1, 2](-1, 1), bias=rat[1](1/7))
  return z = z
}}"""
SCALED = f"""program p(a: Real, b: Real) {{
  x: Real[2] = concat(a, b)
  y: Real[2] = {ENSEMBLE}
  k: Real[2] = constant(value=rat[2](3, -1/5))
  w: Real[2] = mul(y, k)
  return w = w
}}"""
SPREAD = SCALED.replace("mul(y, k)", "mul(y, a)")
PASSES = {"narrow_argmax": narrow_argmax, "fold_into_trees": fold_into_trees}
grid = st.integers(-3, 3).map(lambda n: F(n, 2))


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize(
    "text",
    [ARGMAX, THREE, FOLDED, SCALED, SPREAD],
    ids=["two", "three", "folded", "scaled", "by x"],
)
@settings(derandomize=True, max_examples=30)
@given(a=grid, b=grid)
def test_nothing_changes(text: str, name: str, a: Fraction, b: Fraction) -> None:
    program = parse_program(text)
    rewritten = PASSES[name](program)
    assert dict(rewritten.inputs) == dict(program.inputs)
    before, after = (evaluate(p, {"a": a, "b": b}) for p in (program, rewritten))
    assert before.keys() == after.keys()
    assert all(np.array_equal(before[output], after[output]) for output in before)


def kinds(program: Program) -> list[str]:
    return [type(statement.op).__name__ for statement in program.lets()]


def test_argmax_of_two_is_a_sign() -> None:
    narrow = kinds(narrow_argmax(parse_program(ARGMAX)))
    assert "Argmax" not in narrow
    assert "Div" not in narrow
    assert "Argmax" in kinds(narrow_argmax(parse_program(THREE)))


def test_linear_maps_go_into_the_leaves() -> None:
    folded = fold_into_trees(parse_program(FOLDED))
    assert kinds(folded) == ["Concat", "TreeEnsemble"]
    (ensemble,) = [s.op for s in folded.lets() if isinstance(s.op, ops.TreeEnsemble)]
    assert ensemble.value.shape == (6, 1)


def test_dead_code_goes() -> None:
    program = parse_program(
        """program p(a: Real, b: Real) {
          c: Bool = gt(a, 0)
          d: Real = add(b, 1)
          if c { y: Real = add(a, 1)  z: Real = add(d, 1) }
          else { y: Real = neg(a)  z: Real = neg(b) }
          return y = y, z = z
        }"""
    )
    kept = keep_outputs(program, ["y"])
    assert [name for name, _ in kept.outputs] == ["y"]
    assert [name for name, _ in kept.inputs] == ["a", "b"]
    assert {statement.name for statement in kept.lets()} == {"c", "y"}
    row = {"a": F(2), "b": F(1)}
    assert evaluate(kept, row)["y"] == evaluate(program, row)["y"]

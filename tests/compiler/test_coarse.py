"""Short coefficients: what the exact program accepts, the coarse formula accepts."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfxc.compiler.coarse import NotCoarse, coarse_truth
from cfxc.compiler.terms import Pool, Term, evaluate_term, postorder
from cfxc.ir import Builder, Program, evaluate, ops, parse_program
from cfxc.ir.sorts import REAL
from cfxc.ir.tensor import Tensor

F = Fraction


def network(rng: np.random.Generator, inputs: int, hidden: int) -> Program:
    """Affine, ReLU, affine: is the score above 0?"""
    builder = Builder("net")
    x = builder.let(ops.Concat(tuple(builder.input(f"x{j}", REAL) for j in range(inputs))))
    h = builder.let(
        ops.Affine(x, Tensor(rng.normal(size=(hidden, inputs))), Tensor(rng.normal(size=hidden)))
    )
    r = builder.let(ops.Relu(h))
    score = builder.let(
        ops.Affine(r, Tensor(rng.normal(size=(1, hidden))), Tensor(rng.normal(size=1)))
    )
    found = builder.let(ops.Item(score, 0))
    zero = builder.let(ops.Constant(Tensor(np.array(0.0))))
    return builder.build(in_target=builder.let(ops.Gt(found, zero)), score=found)


def variables(pool: Pool, count: int, reach: Fraction) -> dict[str, Term]:
    return {f"x{j}": pool.var(f"x{j}", "real", -reach, reach) for j in range(count)}


@settings(derandomize=True, max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 4), st.sampled_from([4, 8, 16]), st.data())
def test_the_coarse_formula_is_weaker(
    seed: int, inputs: int, bits: int, data: st.DataObject
) -> None:
    program = network(np.random.default_rng(seed), inputs, 3)
    pool, reach = Pool(), F(data.draw(st.sampled_from(["1/1000", "1", "30"])))
    coarse = coarse_truth(program, "in_target", variables(pool, inputs, reach), pool, bits)
    shares = st.fractions(-1, 1, max_denominator=200)
    for _ in range(5):
        row = {f"x{j}": reach * data.draw(shares) for j in range(inputs)}
        found = evaluate(program, row)
        if found["in_target"]:
            assert evaluate_term(coarse, row)


def test_only_a_little_weaker() -> None:
    """With 16 bits, what loses clearly still loses, and no coefficient is long."""
    refused = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        program, pool = network(rng, 3, 4), Pool()
        coarse = coarse_truth(program, "in_target", variables(pool, 3, F(1)), pool, 16)
        longest = max(bits_of(term) for term in postorder([coarse]))
        assert longest <= 40
        for _ in range(10):
            row = {f"x{j}": F(float(v)) for j, v in enumerate(rng.uniform(-1, 1, 3))}
            if evaluate(program, row)["score"] < F(-1, 100):
                refused += 1
                assert not evaluate_term(coarse, row)
    assert refused > 50


def bits_of(term: Term) -> int:
    if term.kind != "linear":
        return 0
    numbers = [*term.data.coefficients, term.data.constant]
    return max(n.numerator.bit_length() + n.denominator.bit_length() - 1 for n in numbers)


def values(pool: Pool, sorts: dict[str, str]) -> dict[str, Any]:
    return {name: pool.var(name, sort, -1, 1) for name, sort in sorts.items()}


@pytest.mark.parametrize(
    "body",
    [
        "c: Bool = gt(t, 0) \n d: Bool = not(c)",
        "d: Bool = eq(t, 0)",
        "c: Bool = gt(t, 0) \n s: Int = select(c, 1, 2) \n d: Bool = gt(s, 1)",
        "s: Real = round_float32(t) \n d: Bool = gt(s, 1/7)",
    ],
    ids=["negated", "equation", "chosen", "rounded"],
)
def test_where_weakening_is_not_monotone_it_refuses(body: str) -> None:
    program = parse_program(f"""program p(x: Real, y: Real) {{
      v: Real[2] = concat(x, y)
      w: Real[1] = affine(v, weight=rat[1, 2](12345678901/100000000000, 1/3), bias=rat[1](1/7))
      t: Real = item(w, index=0)
      {body}
      return in_target = d
    }}""")
    pool = Pool()
    with pytest.raises(NotCoarse):
        coarse_truth(program, "in_target", values(pool, {"x": "real", "y": "real"}), pool, 8)


def test_unbounded_variables_are_refused() -> None:
    program, pool = network(np.random.default_rng(0), 1, 1), Pool()
    with pytest.raises(NotCoarse):
        coarse_truth(program, "in_target", {"x0": pool.var("x0", "real")}, pool, 8)

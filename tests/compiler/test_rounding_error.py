"""Bounds of deployed rounding errors, beside what floats really lose."""

from __future__ import annotations

from fractions import Fraction as Q
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from cfxc.compiler.rounding_error import RULES, RoundingError, final
from cfxc.errors import UnsupportedError
from cfxc.ir import REAL, Builder, Literal, Tensor, evaluate, ops
from cfxc.ir.interval import Choice, Interval
from tests.solvers.grids import sampled
from tests.solvers.kinds import KINDS, SMOOTH, trained

DOUBLE, SINGLE = Q(1, 2**53), Q(1, 2**24)


def box_of(program: Any, space: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for feature in space:
        labels = dict(program.inputs)[feature.name].labels
        whole = Choice.among(labels, labels) if feature.is_symbolic else None
        found[feature.name] = whole or Interval.exact(*feature.bounds)
    return found


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - set(SMOOTH)))
def test_scores_of_models(kind: str) -> None:
    """What scikit-learn computes lies within the bound of the exact score."""
    model, space, compiled = trained(kind)
    program = compiled.program
    outputs = dict(program.outputs)
    name = next(each for each in ("score", "probability", "value") if each in outputs)
    at = RoundingError(program, box_of(program, space), DOUBLE)
    points, rows = sampled(space, 60, 1)
    if name == "value":
        deployed = model.predict(rows)
    elif hasattr(model, "decision_function"):
        deployed = model.decision_function(rows)
    elif name == "probability":
        deployed = model.predict_proba(rows)
    else:
        pytest.skip("its scores are not to be seen")
    for point, row in zip(points, deployed, strict=True):
        exact = np.ravel(np.array(evaluate(program, point)[name], dtype=object))
        error = np.broadcast_to(at.error(program.output(name)), exact.shape)
        for one, other, most in zip(exact, np.ravel(row), error, strict=True):
            assert abs(Q(one) - Q(float(other))) <= Q(float(most))


UNITS: dict[Any, Any] = {
    ops.Relu: functional.relu, ops.Sigmoid: torch.sigmoid, ops.Tanh: torch.tanh,
    ops.Softplus: functional.softplus, ops.Gelu: functional.gelu, ops.Silu: functional.silu,
    ops.Mish: functional.mish, ops.Elu: functional.elu,
}  # fmt: skip


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.lists(st.sampled_from([*UNITS]), min_size=3, max_size=3))
def test_networks_in_single_floats_in_any_order(seed: int, units: list[Any]) -> None:
    rng = np.random.default_rng(seed)
    sizes = [int(n) for n in rng.integers(1, 6, size=3)]
    builder = Builder("network")
    values = builder.let(ops.Concat(tuple(builder.input(f"x{i}", REAL) for i in range(sizes[0]))))
    layers = []
    for unit, wide, narrow in zip(units, sizes, [*sizes[1:], 1], strict=True):
        weight = rng.normal(size=(narrow, wide)).astype(np.float32)
        bias = rng.normal(size=narrow).astype(np.float32)
        layers.append((UNITS[unit], weight, bias))
        tensors = Tensor(weight.astype(np.float64)), Tensor(bias.astype(np.float64))
        values = builder.let(unit(builder.let(ops.Affine(values, *tensors))))
    program = builder.build(value=builder.let(ops.Item(values, 0)))
    box = {f"x{i}": Interval.of(-5.0, 5.0) for i in range(sizes[0])}
    at = RoundingError(program, box, SINGLE)
    x = rng.uniform(-5, 5, sizes[0]).astype(np.float32)
    exact = evaluate(program, {f"x{i}": Q(float(v)) for i, v in enumerate(x)})["value"]
    for _ in range(4):
        found = x
        for unit, weight, bias in layers:
            order = rng.permutation(weight.shape[1])
            total = np.zeros(weight.shape[0], dtype=np.float32)
            for j in order:
                total = (total + weight[:, j] * found[j]).astype(np.float32)
            found = unit(torch.from_numpy(total + bias)).numpy()
        assert abs(exact - Q(float(found[0]))) <= Q(float(at.error(program.output("value"))))
    assert final(at, program.output("value")) >= at.error(program.output("value"))


def test_what_decides_by_rounded_values_has_no_bound() -> None:
    builder = Builder("scaled")
    x = builder.input("x", REAL)
    scaled = builder.let(ops.Div(x, Literal(Q(3))))
    above = builder.let(ops.Gt(scaled, Literal(Q(1, 3))))
    jump = builder.let(ops.Select(above, Literal(Q(1)), Literal(Q(0))))
    inverse = builder.let(ops.Div(Literal(Q(1)), x))
    grown = builder.let(ops.Exp(x))
    program = builder.build(jump=jump, inverse=inverse, grown=grown, scaled=scaled)
    at = RoundingError(program, {"x": Interval.of(-1.0, 5.0)}, DOUBLE)
    assert 0 < at.error(scaled) < 1e-14
    for value, says in (
        (jump, "decides by a rounded value"),
        (inverse, "may be 0"),
        (grown, "exp"),
    ):
        with pytest.raises(UnsupportedError, match=says):
            at.error(value)
    wide = RoundingError(program, {"x": Interval.of(-np.inf, np.inf)}, DOUBLE)
    with pytest.raises(UnsupportedError, match="has no bound"):
        wide.error(scaled)


def test_comparisons_of_exact_values_are_exact() -> None:
    builder = Builder("step")
    x = builder.input("x", REAL)
    single = builder.let(ops.RoundFloat32(x))
    above = builder.let(ops.Gt(single, Literal(Q(1))))
    program = builder.build(jump=builder.let(ops.Select(above, Literal(Q(1)), Literal(Q(0)))))
    at = RoundingError(program, {"x": Interval.of(-1.0, 5.0)}, SINGLE)
    assert at.error(program.output("jump")) == 0
    assert ops.Exp not in RULES


def test_sums_of_truth_values_with_whole_weights_are_exact() -> None:
    """Counts and indicators of intervals; not sums with fractions, or beyond what floats hold."""
    builder = Builder("count")
    x = builder.input("x", REAL)
    cuts = builder.let(ops.Constant(Tensor(np.array([0.0, 1.0, 2.0]))))
    hits = builder.let(ops.ToReal(builder.let(ops.Gt(x, cuts))))

    def added(*row: float) -> str:
        return builder.let(ops.Affine(hits, Tensor(np.array([row])), Tensor(np.array([1.0]))))

    counted, halved, huge = added(1, -1, 2), added(0.5, 0, 0), added(2.0**25, 0, 0)
    jump = builder.let(ops.Gt(builder.let(ops.Item(counted, 0)), Literal(Q(1))))
    at = RoundingError(
        builder.build(counted=counted, halved=halved, huge=huge, jump=jump),
        {"x": Interval.of(-1.0, 5.0)},
        SINGLE,
    )
    assert at.error(counted) == 0
    assert at.error(jump) == 0
    assert at.error(halved) > 0
    assert at.error(huge) > 0

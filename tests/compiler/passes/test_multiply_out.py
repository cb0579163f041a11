"""Kernels multiplied out: the same functions, smaller; and rounding bounded before that."""

from __future__ import annotations

import warnings
from fractions import Fraction as Q
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC, SVR

import cfxc
from cfxc.cli.emission import Emit, emission
from cfxc.compiler.passes import multiply_out
from cfxc.frontends.kernel_functions import Kernel, kernel_values
from cfxc.frontends.predictor import DOUBLE
from cfxc.frontends.quadratics import dot, exact, exact_affine
from cfxc.ir import REAL, Builder, Program, evaluate, ops
from cfxc.question.query import make_query
from cfxc.question.target import Target
from cfxc.solvers.rounding import deployed_slack, multiplied_out, slack_within
from cfxc.stopping import TimeUp, until
from tests.certificates.mutants import rehashed

KERNELS = {
    "linear": Kernel("linear", Q(1), Q(0), 1),
    "constant": Kernel("poly", Q(1, 3), Q(-2), 0),
    "affine": Kernel("poly", Q(1, 3), Q(-2), 1),
    "square": Kernel("poly", Q(1, 3), Q(-2), 2),
    "centred": Kernel("poly", Q(2), Q(0), 2),
    "cube": Kernel("poly", Q(1), Q(1), 3),
}
COUNTS = st.integers(1, 4)


def machine(kernel: Kernel, vectors: Any, dual: Any, bias: Any) -> Program:
    builder = Builder("machine")
    names = tuple(builder.input(f"x{i}", REAL) for i in range(vectors.shape[1]))
    values = kernel_values(builder, builder.let(ops.Concat(names)), kernel, vectors)
    return builder.build(value=exact_affine(builder, values, dual, bias))


def kinds(program: Program) -> list[type]:
    return [type(let.op) for let in program.lets()]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(KERNELS)), COUNTS, COUNTS, COUNTS, st.integers(0, 10**6))
def test_the_same_function(kind: str, rows: int, many: int, columns: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = (many, columns), (rows, many), (rows,)
    parts = [exact(rng.integers(-3, 4, size) / rng.integers(1, 5, size)) for size in sizes]
    program = machine(KERNELS[kind], *parts)
    small = multiply_out(program)
    assert small.output_sorts == program.output_sorts
    for _ in range(3):
        point = {f"x{i}": Q(int(rng.integers(-9, 10)), 7) for i in range(columns)}
        same = [list(evaluate(each, point)["value"]) for each in (program, small)]
        assert same[0] == same[1]


@pytest.mark.parametrize("kind", KERNELS)
def test_vectors_are_gone_where_few_coefficients_are_left(kind: str) -> None:
    rng = np.random.default_rng(0)
    parts = [exact(rng.normal(size=size).round(2)) for size in ((50, 3), (1, 50), (1,))]
    program = machine(KERNELS[kind], *parts)
    small = multiply_out(program)
    sizes = [let.op.weight.array.size for let in small.lets() if isinstance(let.op, ops.Affine)]
    linear = kind in ("linear", "constant", "affine")
    assert sizes == ([3] if linear else [150, 50] if kind == "cube" else [9])
    assert (ops.Mul in kinds(small)) == (not linear)


def test_what_would_grow_or_is_read_twice_stays() -> None:
    rng = np.random.default_rng(0)

    def made(many: int, columns: int, kind: str) -> Program:
        parts = [exact(rng.normal(size=s).round(1)) for s in ((many, columns), (1, many), (1,))]
        return machine(KERNELS[kind], *parts)

    wide = made(3, 100, "square")  # three squares, or 5050 products
    assert multiply_out(wide) == wide
    builder = Builder("twice")
    x = builder.let(ops.Concat((builder.input("x", REAL),)))
    inner = exact_affine(builder, x, exact(np.ones((9, 1))), exact(np.zeros(9)))
    outer = exact_affine(builder, inner, exact(np.ones((1, 9))), exact(np.zeros(1)))
    program = builder.build(value=outer, inner=inner)
    assert multiply_out(program) == program


# -- rounding -------------------------------------------------------------------------------------

SPACE = cfxc.FeatureSpace([cfxc.Feature(f"x{i}", "real", -2, 2) for i in range(3)])
BOX = tuple((f"x{i}", (Q(-2), Q(2))) for i in range(3))
NAMES = [name for name, _ in BOX]


def cancelling(model: Any, scale: float, seed: int) -> Any:
    """A fitted model whose weights are large and opposite, of vectors that are nearly equal."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(20, 3))
    rows = pd.DataFrame(np.repeat(rows, 2, 0), columns=NAMES)
    rows.iloc[1::2] *= 1 + 1e-9
    opposite = np.tile([scale, -scale], 20) * np.repeat(rng.uniform(0.5, 1, 20), 2)
    if isinstance(model, KernelRidge):
        model.fit(rows, rng.normal(size=40))
        model.dual_coef_ = opposite
    else:
        model.fit(rows, np.tile([0, 1], 20))
        count = len(model.support_)
        model._dual_coef_ = model.dual_coef_ = opposite[None, :count].copy()
    return model


MODELS = {
    "SVR linear": lambda: SVR(kernel="linear", epsilon=0.0, C=1e6),
    "SVR square": lambda: SVR(kernel="poly", degree=2, coef0=1.0, epsilon=0.0, C=1e6),
    "ridge linear": lambda: KernelRidge(kernel="linear"),
    "ridge square": lambda: KernelRidge(kernel="poly", degree=2),
    "ridge cube": lambda: KernelRidge(kernel="poly", degree=3),
}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("scale", [1.0, 1e6, 1e12])
def test_weights_that_cancel_stay_within_the_slack(kind: str, scale: float) -> None:
    """The program as it is computed bounds what floats lose; the small one is no bound for it."""
    model = cancelling(MODELS[kind](), scale, 1)
    compiled = cfxc.compile(model, SPACE)
    target, rng = Target(is_range=True), np.random.default_rng(0)
    slack = slack_within(compiled.program, target, BOX, DOUBLE)
    rows = pd.DataFrame(rng.uniform(-2, 2, (300, 3)), columns=NAMES)
    worst = Q(0)
    small = multiply_out(compiled.program)
    for found, (_, row) in zip(model.predict(rows), rows.iterrows(), strict=True):
        point = {name: Q(value) for name, value in row.items()}
        worst = max(worst, abs(Q(float(found)) - Q(evaluate(small, point)["value"])))
    assert worst <= slack
    if scale > 1 and "cube" not in kind:
        assert worst > slack_within(small, target, BOX, DOUBLE), "too small, as it was before"


def test_a_question_bounds_the_rounding_of_what_is_computed() -> None:
    model = cfxc.compile(cancelling(MODELS["SVR linear"](), 1e6, 1), SPACE)
    query = make_query(model.program, SPACE, dict.fromkeys(NAMES, Q(0)), target=(100, None))
    small = multiplied_out(query)
    assert small.program == multiply_out(query.program) != query.program
    slack = deployed_slack(query, DOUBLE)
    assert deployed_slack(small, DOUBLE) == deployed_slack(multiplied_out(small), DOUBLE) == slack
    assert slack > 1000 * slack_within(small.program, query.target, BOX, DOUBLE)


# -- from end to end ------------------------------------------------------------------------------


def table() -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(3)
    rows = pd.DataFrame(rng.integers(0, 9, (60, 3)).astype(float), columns=["a", "b", "c"])
    rows.iloc[1::2] = rows.iloc[::2].to_numpy() + 1e-7
    return rows, (np.arange(60) % 2) ^ (rows.a + rows.b > 8)


def trained(**options: Any) -> SVC:
    rows, labels = table()
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        return SVC(C=1e6, max_iter=2000, **options).fit(rows, labels)


@pytest.mark.parametrize("options", [{"kernel": "linear"}, {"kernel": "poly", "degree": 2}])
@pytest.mark.parametrize("semantics", ["real", "float"])
def test_machines_with_huge_weights(options: dict[str, Any], semantics: Any) -> None:
    """Nearly equal rows of two classes: opposite weights of a million each."""
    rows, _ = table()
    model = trained(**options)
    assert np.abs(model.dual_coef_).max() == 1e6
    compiled = cfxc.compile(model, cfxc.FeatureSpace.infer(rows))
    row = rows[model.predict(rows) == 0].iloc[[0]]
    answer = compiled.explain(row, semantics=semantics, time_limit=20)
    assert answer.status in ("optimal", "feasible")
    assert model.predict(answer.counterfactual)[0] == 1
    made = answer.certificate
    report = cfxc.check(made, model=compiled)
    assert report.ok, report.reason
    forged = made.to_dict()
    forged["question"] = {**forged["question"], "slack": "1/1" + "0" * 30}
    assert not cfxc.check(rehashed(forged), model=compiled).ok


@pytest.mark.parametrize("kind", [Emit.smt2, Emit.formula, Emit.mip, Emit.program])
def test_exports_are_of_the_small_program(kind: Emit) -> None:
    rows, _ = table()
    model = trained(kernel="linear")
    compiled = cfxc.compile(model, cfxc.FeatureSpace.infer(rows))
    assert len(model.support_) > 30
    text = emission(compiled, "m", kind, None, ())
    assert len(text) < 6000
    after = emission(compiled, "m", Emit.ir, None, (), "multiply_out")
    assert len(after) < len(emission(compiled, "m", Emit.ir, None, ())) / 3


@settings(max_examples=30, deadline=None)
@given(COUNTS, COUNTS, COUNTS, st.integers(0, 10**6))
def test_products_leave_out_zeros_and_look_at_the_clock(
    rows: int, many: int, columns: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    left, right, vector = (
        exact(rng.integers(-1, 2, size) / 3) for size in [(rows, many), (many, columns), (many,)]
    )
    assert (dot(left, right) == left.dot(right)).all()
    assert (dot(left, vector) == left.dot(vector)).all()
    assert dot(vector, vector) == vector.dot(vector)
    with until(0), pytest.raises(TimeUp):
        dot(left, right)

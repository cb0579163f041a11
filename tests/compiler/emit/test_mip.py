"""Formulae as mixed-integer programs: what satisfies the one is feasible in the other."""

from __future__ import annotations

import operator
import tempfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import highspy
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cfxc import FeatureSpace, compile
from cfxc.compiler.emit.mip import NUMBERS as RULES
from cfxc.compiler.emit.mip import REFUSALS, Emitter, emit, refused
from cfxc.compiler.emit.rows import Emission
from cfxc.compiler.mixed_integer import Model, rounded
from cfxc.compiler.passes import narrow_argmax
from cfxc.compiler.scalarise import RULES as SCALAR_RULES
from cfxc.compiler.terms import Pool, Term, evaluate_term, postorder
from cfxc.errors import UnsupportedError
from cfxc.ir import evaluate, parse_program
from cfxc.ir.linear import LinearForm
from cfxc.ir.op import REGISTRY
from cfxc.ir.patterns import keep_outputs
from cfxc.ir.sorts import format_label
from cfxc.show.mip import emit_program, mip_text
from cfxc.solvers.mio.backends import Answer, Highs
from tests.compiler.formulas import (
    BOOLS,
    GROUP,
    NUMBERS,
    assignments,
    build,
    direct,
    numbers,
    truths,
)
from tests.solvers.grids import sampled
from tests.solvers.kinds import trained

F = Fraction
QUICK = settings(derandomize=True, max_examples=200)


def declare(pool: Pool) -> dict[str, Term]:
    """The variables of ``formulas``, all of them bounded."""
    ends = {"up": (F(1, 2), F(3)), "free": (F(-3), F(3))}
    found = {
        name: pool.var(name, sort, *ends.get(name, (low, high)))  # type: ignore[arg-type]  # texts of a table
        for name, (sort, low, high) in NUMBERS.items()
    }
    found |= {name: pool.var(name, "bool") for name in (*BOOLS, *GROUP)}
    pool.group([found[name] for name in GROUP])
    return found


def solved(emission: Emission, values: dict[str, Any]) -> Answer:
    """The program with its variables fixed at an assignment."""
    if emission.model.refuted:
        return Answer("infeasible")
    program = rounded(emission.model)
    lower, upper = program.lower.copy(), program.upper.copy()
    for variable, form in emission.variables.items():
        (column,) = form.terms
        lower[column] = upper[column] = float(values[variable.data])
    fixed = replace(program, lower=lower, upper=upper)
    return Highs().solve(fixed, seconds=10.0, gap=0.0)


def has_tie(formula: Term, values: dict[str, Any]) -> bool:
    """Whether some comparison of real numbers holds with equality: closed rows allow both sides."""
    return any(
        term.kind in ("le", "lt") and evaluate_term(term.args[0], values) == term.data
        for term in postorder([formula])
    )


@QUICK
@given(truths(2, linear=True), assignments())
def test_formulae(tree: Any, values: dict[str, Any]) -> None:
    pool = Pool()
    formula = build(pool, declare(pool), tree)
    try:
        answer = solved(emit(pool, [formula]), values)
    except UnsupportedError as error:
        assert "product" in str(error) or "smooth" in str(error)  # noqa: PT017  # only where it is refused
        return
    if direct(tree, values):
        assert answer.status == "optimal"
    elif answer.status == "optimal":
        assert has_tie(formula, values)


@QUICK
@given(numbers(2, linear=True), assignments())
def test_numbers(tree: Any, values: dict[str, Any]) -> None:
    pool = Pool()
    term = build(pool, declare(pool), tree)
    meaning = float(direct(tree, values))
    ends = []
    for side in (1, -1):
        try:
            answer = solved(emit(pool, [], pool.scale(side, term)), values)
        except UnsupportedError as error:
            assert "product" in str(error) or "smooth" in str(error)  # noqa: PT017  # only where it is refused
            return
        assert answer.status == "optimal"
        assert answer.values is not None
        ends.append(side * answer.bound)
    assert ends[0] - 1e-6 <= meaning <= ends[1] + 1e-6
    if not has_tie(term, values):
        assert ends[0] == pytest.approx(meaning, abs=1e-6)
        assert ends[1] == pytest.approx(meaning, abs=1e-6)


# -- completeness ----------------------------------------------------------------------------------


def test_every_op_has_a_rule_or_a_reason() -> None:
    """Scalar rules decompose all ops; of the terms they end in, these have forms of columns."""
    assert all(SCALAR_RULES.keys() & set(op.__mro__) for op in REGISTRY.values())
    assert all(SCALAR_RULES.keys() & set(op.__mro__) for op in REFUSALS)
    assert set(RULES) == {"const", "var", "linear", "max", "ite", "apply", "mul"}
    assert all(reason for reason in REFUSALS.values())


@pytest.mark.parametrize("name", [op.name for op in REFUSALS])
def test_refusals_say_what_and_where(name: str) -> None:
    shape = "[2]" if name == "softmax" else ""
    program = parse_program(
        f"program p(x: Real{shape}) {{ y: Real{shape} = {name}(x) @ \"m.onnx: 'Act_1'\" "
        "return y = y }"
    )
    (offence,) = refused(program)
    assert offence.startswith(f"m.onnx: 'Act_1': '{name}' is smooth")


def test_terms_without_a_form_are_refused() -> None:
    pool = Pool()
    x, y = pool.var("x", "real", 0, 1), pool.var("y", "real", 0, 1)
    free = pool.var("z", "real")
    cases = [
        (pool.at_most(pool.mul(x, y), F(1, 2)), "a product of two numbers that both vary"),
        (pool.at_most(pool.apply("tanh", x, -1, 1), F(1, 2)), "'tanh' is smooth"),
        (pool.at_most(free, F(1, 2)), "a number without bounds"),
    ]
    for fact, message in cases:
        with pytest.raises(UnsupportedError, match=message):
            emit(pool, [fact])


# -- what is left out ------------------------------------------------------------------------------


def network(pool: Pool, sign: int) -> tuple[Term, Term]:
    """``sign * (max(x - y, 0) + 2 max(y - x, -9))`` over x, y in [0, 2], and the first maximum."""
    x, y = pool.var("x", "real", 0, 2), pool.var("y", "real", 0, 2)
    open_ = pool.max(pool.sub(x, y), pool.zero)
    positive = pool.max(pool.linear(((1, y), (-1, x))), pool.const(-9))
    return pool.linear(((sign, open_), (2 * sign, positive))), open_


def test_known_signs_and_helpful_maxima_need_no_binaries() -> None:
    for sign, phases in ((1, 0), (-1, 1)):
        pool = Pool()
        total, _ = network(pool, sign)
        emission = emit(pool, [pool.at_most(total, F(sign))])
        assert len(emission.phases) == phases
        assert len(emission.gaps) == 1  # the other one has a known side
        assert sum(column.whole for column in emission.model.columns) == phases


def test_known_bounds_settle_signs() -> None:
    pool = Pool()
    total, open_ = network(pool, -1)
    fact = pool.at_most(total, F(-1))
    emitter = Emitter(pool, Emission(), {open_: (F(0), F(2))})
    emitter.orient([fact])
    emitter.prepare([fact])
    emitter.require(fact)
    assert not emitter.emission.phases
    assert not emitter.emission.gaps


def test_one_label_of_a_category_holds() -> None:
    pool = Pool()
    guards = [pool.var(f"c={i}", "bool") for i in range(3)]
    pool.group(guards)
    clauses = [pool.or_(*guards)]
    clauses += [pool.or_(pool.not_(p), pool.not_(q)) for p in guards for q in guards if p is not q]
    emission = emit(pool, clauses)
    assert [row.why for row in emission.model.rows] == ["one label"]


def test_a_tree_is_a_flow_with_the_tightest_relaxation() -> None:
    """Every vertex of a single tree's relaxation is a leaf: no gap without any branching."""
    pool = Pool()
    a, b = pool.var("a", "bool"), pool.var("b", "bool")
    tree = pool.ite(a, pool.ite(b, pool.const(5), pool.const(1)), pool.const(3))
    emission = emit(pool, [], tree)
    program = rounded(emission.model)
    relaxed = replace(program, whole=np.zeros_like(program.whole))
    assert Highs().solve(relaxed, seconds=5.0, gap=0.0).bound == pytest.approx(1)


def test_strict_rows_are_closed_and_integers_are_not() -> None:
    pool = Pool()
    n, x = pool.var("n", "int", 0, 9), pool.var("x", "real", 0, 9)
    emission = emit(pool, [pool.not_(pool.at_most(n, 4)), pool.not_(pool.at_most(x, 4))])
    ends = {emission.model.columns[next(iter(r.terms))].name: r.lower for r in emission.model.rows}
    assert ends == {"n": 5, "x": 4}


def test_small_numbers_are_written_exactly() -> None:
    pool = Pool()
    n, x = pool.var("a b", "int", 0, 9), pool.var("x", "real", F(1, 3), F(1, 4) * 3)
    fact = pool.at_most(pool.linear(((F(1, 4), n), (F(2, 3), x))), 1)
    text = mip_text(emit(pool, [fact], pool.linear(((F(-1, 2), n), (1, x)), F(1, 4))).model, ["t"])
    assert text.splitlines() == [
        "\\ t",
        "\\ x0: x",
        "\\ x1: a b",
        "\\ objective: times 2, plus 0.5",
        "Minimize",
        " obj: + 2 x0 - 1 x1",
        "Subject To",
        " r0u: + 8 x0 + 3 x1 <= 12",
        "Bounds",
        " 0.3333333333333333 <= x0 <= 0.75",
        " 0 <= x1 <= 9",
        "General",
        " x1",
        "End",
    ]
    assert F(0.3333333333333333) < F(1, 3)


def test_long_numbers_are_rounded_and_their_row_is_wider() -> None:
    model = Model()
    x, y = model.column("x", -1, 3), model.column("y", 0, 5)
    tiny = F(1, 10**40)
    model.constrain(F(1, 3) * 10**50 * x + tiny * y, F(10**50, 7), F(10**50, 7), "because")
    lines = mip_text(model).splitlines()
    assert "\\ r0: because; rounded, and wider by that" in lines
    below, above = (line.split() for line in lines if line.startswith(" r0"))
    factor, low, high = F(float(below[2])), F(float(below[-1])), F(float(above[-1]))
    scale = 2**20 * next(p for p in (F(2) ** -k for k in range(300)) if p * F(10**50, 3) < 2)
    assert 1 <= factor / 2**20 < 2
    assert factor == F(float(scale * F(10**50, 3))) != scale * F(10**50, 3)
    end, error = scale * F(10**50, 7), factor - scale * F(10**50, 3)
    assert low <= end + min(-error, 3 * error) - 5 * tiny * scale
    assert high >= end + max(-error, 3 * error)
    assert 0 < high - low < F(1, 10**8)


@settings(derandomize=True)
@given(
    st.lists(st.fractions(max_denominator=10**30), min_size=1, max_size=4),
    st.lists(st.fractions(-5, 5), min_size=4, max_size=4),
    st.integers(-90, 90),
)
def test_no_point_of_a_row_is_cut_off(
    factors: list[Fraction], point: list[Fraction], power: int
) -> None:
    model = Model()
    columns = [model.column(f"c{i}", -5, 5) for i in range(len(factors))]
    form = LinearForm.sum((c * F(2) ** power, x) for c, x in zip(factors, columns, strict=True))
    value = form.at(point)
    model.constrain(form, value, value)
    for line in mip_text(model).replace("\n  ", " ").splitlines():
        if line.startswith(" r0"):
            _, *parts, relation, end = line.split()
            signs, sizes, names = parts[0::3], parts[1::3], parts[2::3]
            found = sum(
                F(float(size)) * (-1 if sign == "-" else 1) * point[int(name[1:])]
                for sign, size, name in zip(signs, sizes, names, strict=True)
            )
            compare = {"=": operator.eq, "<=": operator.le, ">=": operator.ge}[relation]
            assert compare(found, F(float(end)))
            assert all(len(size) <= 24 and 2.0**-29 <= float(size) < 2**22 for size in sizes)


@settings(derandomize=True, max_examples=30)
@given(truths(2, linear=True), numbers(1, linear=True))
def test_text_reads_back_as_the_same_program(fact: Any, goal: Any) -> None:
    pool = Pool()
    variables = declare(pool)
    try:
        model = emit(pool, [build(pool, variables, fact)], build(pool, variables, goal)).model
    except UnsupportedError:
        return
    if model.refuted or not model.columns:
        return
    text = mip_text(model)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.lp"
        path.write_text(text)
        highs: Any = highspy.Highs()
        highs.silent()
        assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    highs.run()
    scale = float(text.split("\\ objective: times ")[1].split(",")[0])
    answer = Highs().solve(rounded(model), seconds=5.0, gap=0.0)
    infeasible = highs.getModelStatus() == highspy.HighsModelStatus.kInfeasible
    assert infeasible == (answer.status == "infeasible")
    if not infeasible:
        found = highs.getInfo().objective_function_value / scale + float(model.objective.constant)
        assert found == pytest.approx(answer.bound, abs=1e-6)


@pytest.mark.parametrize("kind", ["relu", "relu of 3", "tree of 3", "logistic"])
def test_a_program_relates_inputs_and_outputs(kind: str) -> None:
    """With the inputs fixed, the outputs are what the exact evaluator says."""
    _, space, compiled = trained(kind)
    program = narrow_argmax(keep_outputs(compiled.program, ["label"]))
    ranges = {one.name: one.bounds for one in space if not one.is_symbolic}
    emission = emit_program(program, ranges)
    rounded_program = rounded(emission.model)
    names = {column.name: j for j, column in enumerate(emission.model.columns)}
    points, _ = sampled(space, 12, seed=1)
    for point in points:
        lower, upper = rounded_program.lower.copy(), rounded_program.upper.copy()
        for name, sort in program.inputs:
            held = {names[f"{name}={format_label(x)}"]: x == point[name] for x in sort.labels}
            for column, number in (held or {names[name]: point[name]}).items():
                lower[column] = upper[column] = float(number)
        fixed = replace(rounded_program, lower=lower, upper=upper)
        answer = Highs().solve(fixed, seconds=5.0, gap=0.0)
        assert answer.values is not None
        label, sort = evaluate(program, point)["label"], program.output_sorts["label"]
        chosen = [answer.values[names[f"label={format_label(each)}"]] for each in sort.labels]
        assert sort.labels[int(np.argmax(chosen))] == label
        wrong = names[f"label={format_label(label)}"]
        upper = upper.copy()
        upper[wrong] = 0.0
        fixed = replace(rounded_program, lower=lower, upper=upper)
        assert Highs().solve(fixed, seconds=5.0, gap=0.0).status == "infeasible"


@pytest.mark.parametrize("layers", [(), (5,), (4, 4, 3)])
def test_scaled_models_are_read_by_solvers(layers: tuple[int, ...], tmp_path: Path) -> None:
    """Their exact rows take integers of hundreds of digits, which solvers refuse."""
    scip = pytest.importorskip("pyscipopt")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(18, 80, 99), "pay": rng.normal(3e4, 9e3, 99)})
    worth = table["age"] / 10 + table["pay"] / 9000 + (table["age"] > 40)
    model = LinearRegression()
    if layers:
        model = MLPRegressor(hidden_layer_sizes=layers, max_iter=20, random_state=0)
    space = FeatureSpace.infer(table)
    program = compile(make_pipeline(StandardScaler(), model).fit(table, worth), space).program
    made = emit_program(keep_outputs(program, ["value"]), {one.name: one.bounds for one in space})
    (value,) = (j for j, column in enumerate(made.model.columns) if column.name == "value")
    made.model.objective = LinearForm({value: F(1)})
    text = mip_text(made.model)
    assert max(map(len, text.split())) <= 24
    path = tmp_path / "model.lp"
    path.write_text(text)
    expected = Highs().solve(rounded(made.model), seconds=9.0, gap=0.0).bound
    highs: Any = highspy.Highs()
    highs.silent()
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    highs.run()
    assert highs.getInfo().objective_function_value == pytest.approx(expected, abs=1e-6)
    other = scip.Model()
    other.hideOutput()
    other.readProblem(str(path))
    other.optimize()
    assert other.getObjVal() == pytest.approx(expected, abs=1e-6)

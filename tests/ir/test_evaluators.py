"""The exact evaluator, and the batch evaluator against it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfxc.errors import InvalidInputError, VerificationError
from cfxc.ir import (
    BOOL,
    INT,
    REAL,
    BatchEvaluator,
    Let,
    Literal,
    Program,
    Sort,
    Tensor,
    category,
    evaluate,
    ops,
    parse_program,
    real,
)
from cfxc.ir.evaluator import exact_value
from cfxc.ir.ops.smooth import PLACES, exp, sigmoid, tanh
from tests.strategies import columns_of, encoded, inputs_of, op_programs, programs

INF, NAN = float("inf"), float("nan")


def assert_agree(program: Program, rows: list[dict[str, Any]], rtol: float) -> None:
    """The batch evaluator gives, row by row, the doubles nearest to the exact values."""
    found = BatchEvaluator(program)(columns_of(program, rows))
    for index, row in enumerate(rows):
        for name, value in evaluate(program, row).items():
            sort = program.output_sorts[name]
            assert found[name].shape == (len(rows) if program.inputs else 1, *sort.shape)
            got, wanted = found[name][index].astype(float), encoded(value, sort)
            np.testing.assert_allclose(
                got, np.asarray(wanted, float), rtol=rtol, atol=rtol, err_msg=name
            )


@settings(max_examples=250)
@given(programs(exact=True), st.data())
def test_batch_equals_exact_evaluation_where_doubles_are_exact(
    program: Program, data: st.DataObject
) -> None:
    count = data.draw(st.integers(1, 4)) if program.inputs else 1
    rows = [data.draw(inputs_of(program)) for _ in range(count)]
    assert_agree(program, rows, rtol=0.0)


@pytest.mark.parametrize("name", ["exp", "sigmoid", "tanh", "softmax", "div", "affine", "lookup"])
@given(data=st.data())
@settings(max_examples=40)
def test_batch_is_close_elsewhere(name: str, data: st.DataObject) -> None:
    program = data.draw(op_programs(name))
    row = data.draw(inputs_of(program, st.fractions(-20, 20, max_denominator=1000)))
    try:
        evaluate(program, row)
    except VerificationError:
        return  # division by zero
    assert_agree(program, [row], rtol=1e-12)


@given(programs(exact=True, core=False), st.data())
def test_vectors_may_be_lists_tuples_or_arrays(program: Program, data: st.DataObject) -> None:
    row = data.draw(inputs_of(program))
    listed = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in row.items()}
    one, two = evaluate(program, row), evaluate(program, listed)
    assert {k: np.asarray(v).tolist() for k, v in one.items()} == {
        k: np.asarray(v).tolist() for k, v in two.items()
    }


def test_a_branch_not_taken_may_fail() -> None:
    program = parse_program(
        """program p(x: Real, n: Int) {
             zero: Bool = eq(x, 0)
             if zero {
               c: Category{"a", "b"} = category(1, labels={"a", "b"})
               y: Real = identity(0.)
             } else {
               c: Category{"a", "b"} = category(n, labels={"a", "b"})
               y: Real = div(1, x)
             }
             z: Real = lookup(c, labels={"a", "b"}, table=f64[2](10., 20.))
             return y = y, z = z
           }"""
    )
    rows = [{"x": Fraction(0), "n": 7}, {"x": Fraction(4), "n": 0}, {"x": Fraction(0), "n": -1}]
    assert evaluate(program, rows[0]) == {"y": 0, "z": 20}
    assert evaluate(program, rows[1]) == {"y": Fraction(1, 4), "z": 10}
    assert_agree(program, rows, rtol=0.0)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("y: Real = div(x, 0)", "division by zero"),
        ('y: Category{"a"} = category(n, labels={"a"})', "category index 5 is outside 1 labels"),
        ("y: Real = round_float32(x)", "overflows float32"),
        ("y: Real = exp(x)", "exp overflows"),
    ],
)
def test_undefined_results_are_errors(body: str, words: str) -> None:
    program = parse_program(f"program p(x: Real, n: Int) {{ {body} return y = y }}")
    with pytest.raises(VerificationError, match=words):
        evaluate(program, {"x": Fraction(10) ** 39, "n": 5})


BAD_VALUES = [
    (REAL, NAN, "not a finite number"),
    (REAL, INF, "not a finite number"),
    (REAL, True, "not a value of Real"),
    (REAL, "1", "not a value of Real"),
    (REAL, None, "not a value of Real"),
    (INT, 1.5, "not a value of Int"),
    (INT, Fraction(1, 2), "not a value of Int"),
    (INT, False, "not a value of Int"),
    (BOOL, 1, "not a value of Bool"),
    (category("a", 1), "b", "'b' is not among"),
    (category("a", 1), 1.0, "1.0 is not among"),
    (category("a", 1), True, "True is not among"),
    (category("a", 1), Fraction(1), "is not among"),
    (category("a", 1), ["a"], "is not among"),
    (real(2), [1.0], r"shape \(1,\)"),
    (real(2), 1.0, r"shape \(\)"),
    (real(2), [[1.0], [2.0, 3.0]], "not a value of Real"),
    (real(2), [np.zeros((2, 3)), np.zeros((2, 4))], "shape"),
    (real(2), [1.0, NAN], "not a finite number"),
    (Sort("bool", (1,)), [1], "not a value of Bool"),
]


@pytest.mark.parametrize(("sort", "value", "words"), BAD_VALUES)
def test_ill_sorted_inputs(sort: Sort, value: Any, words: str) -> None:
    program = Program("p", (("x", sort),), (), (("y", "x"),))
    with pytest.raises(InvalidInputError, match=words):
        evaluate(program, {"x": value})


@pytest.mark.parametrize("inputs", [{}, {"x": 1, "z": 2}, {"z": 1}])
def test_missing_and_unknown_inputs(inputs: dict[str, Any]) -> None:
    program = Program("p", (("x", REAL),), (), (("y", "x"),))
    with pytest.raises(InvalidInputError, match="missing or unknown: "):
        evaluate(program, inputs)
    with pytest.raises(InvalidInputError, match="missing or unknown: "):
        BatchEvaluator(program)({name: np.array([1.0]) for name in inputs})


@pytest.mark.parametrize(
    ("sort", "value", "exact"),
    [
        (REAL, 0.1, Fraction(3602879701896397, 2**55)),
        (REAL, np.float32(0.1), Fraction(13421773, 2**27)),
        (REAL, np.int8(-3), Fraction(-3)),
        (REAL, -0.0, Fraction(0)),
        (INT, 3.0, 3),
        (INT, np.uint64(2**64 - 1), 2**64 - 1),
        (BOOL, np.True_, True),
        (category("a", None), np.str_("a"), "a"),
        (category("a", None), None, None),
    ],
)
def test_accepted_inputs_become_exact(sort: Sort, value: Any, exact: Any) -> None:
    found = exact_value(value, sort)
    assert found == exact
    assert type(found) is type(exact)


BAD_COLUMNS = [
    (REAL, [NAN], "a value is not of sort Real"),
    (REAL, [INF], "a value is not of sort Real"),
    (REAL, ["a"], "real values are expected"),
    (REAL, [True], "real values are expected"),
    (REAL, [[1.0]], "shape"),
    (REAL, 1.0, "shape"),
    (INT, [0.5], "a value is not of sort Int"),
    (BOOL, [1], "bool values are expected"),
    (category("a", "b"), ["a"], "integer codes"),
    (category("a", "b"), [2], r"outside 0\.\.1"),
    (category("a", "b"), [-1], r"outside 0\.\.1"),
    (real(2), [[1.0]], "shape"),
]


@pytest.mark.parametrize(("sort", "column", "words"), BAD_COLUMNS)
def test_ill_sorted_columns(sort: Sort, column: Any, words: str) -> None:
    program = Program("p", (("x", sort),), (), (("y", "x"),))
    with pytest.raises(InvalidInputError, match=words):
        BatchEvaluator(program)({"x": np.array(column)})


def test_columns_of_different_lengths() -> None:
    program = Program("p", (("x", REAL), ("y", REAL)), (), (("z", "x"),))
    with pytest.raises(InvalidInputError, match=r"differ in length: \[1, 2\]"):
        BatchEvaluator(program)({"x": np.array([1.0]), "y": np.array([1.0, 2.0])})


def test_constants_fill_all_rows_and_no_rows_are_fine() -> None:
    outputs = (("a", Literal(3)), ("b", "k"), ("c", Literal(True)))
    body = (Let("k", ops.Constant(Tensor([1.0, 2.0]))),)
    evaluator = BatchEvaluator(Program("p", (("x", REAL),), body, outputs))
    for rows in (0, 1, 3):
        found = evaluator({"x": np.zeros(rows)})
        assert [found[k].shape for k in "abc"] == [(rows,), (rows, 2), (rows,)]
    assert found["c"].dtype == bool
    assert found["b"].tolist() == [[1.0, 2.0]] * 3


def test_inputs_are_not_changed() -> None:
    program = parse_program(
        "program p(v: Real[3]) { w: Real[3] = relu(v) s: Real = reduce_sum(w) return w = w, s = s }"
    )
    column = np.array([[-1.0, 2.0, -3.0]])
    BatchEvaluator(program)({"v": column})
    assert column.tolist() == [[-1.0, 2.0, -3.0]]


def test_results_cannot_change_the_program() -> None:
    constant = ops.Constant(Tensor([1.0, 2.0]))
    program = Program("p", (), (Let("y", constant),), (("y", "y"),))
    found = evaluate(program, {})["y"]
    with pytest.raises(ValueError, match="read-only"):
        found[0] = Fraction(7)


@pytest.mark.parametrize("threshold", [Fraction(1, 3), Fraction(1, 10), Fraction(1, 8)])
def test_rational_thresholds_decide_exactly_in_the_batch_too(threshold: Fraction) -> None:
    """The double nearest to 1/3 lies below it, that nearest to 1/10 above, 1/8 is a double."""
    nearest = float(threshold)
    row = [float(np.nextafter(nearest, 0.0)), nearest, float(np.nextafter(nearest, 1.0))]
    expected = [1 if Fraction(x) <= threshold else 2 for x in row]
    assert set(expected) == {1, 2}
    op = ops.TreeEnsemble(
        "x",
        roots=Tensor([0]),
        feature=Tensor([0, -1, -1]),
        threshold=Tensor(np.array([threshold, Fraction(0), Fraction(0)], dtype=object)),
        left=Tensor([1, 0, 0]),
        right=Tensor([2, 0, 0]),
        value=Tensor([[0.0], [1.0], [2.0]]),
        base=Tensor([0.0]),
    )
    program = Program("p", (("x", real(1)),), (Let("y", op),), (("y", "y"),))
    found = BatchEvaluator(program)({"x": np.array(row)[:, None]})
    assert found["y"].ravel().tolist() == expected
    assert [evaluate(program, {"x": [x]})["y"][0] for x in row] == expected


# the smooth functions against identities that hold exactly, far beyond double precision

TOLERANCE = Fraction(1, 10 ** (PLACES - 5))
points = st.fractions(-50, 50, max_denominator=1000)


@given(points, points)
def test_exp_turns_sums_into_products(x: Fraction, y: Fraction) -> None:
    product = exp(x) * exp(y)
    assert abs(exp(x + y) - product) <= TOLERANCE * product


@given(points)
def test_sigmoid_and_tanh_follow_from_exp(x: Fraction) -> None:
    assert abs(sigmoid(x) + sigmoid(-x) - 1) <= TOLERANCE
    assert abs(sigmoid(x) * (1 + exp(-x)) - 1) <= TOLERANCE
    assert abs(tanh(x) * (exp(2 * x) + 1) - (exp(2 * x) - 1)) <= TOLERANCE * (exp(2 * x) + 1)


def test_e_has_its_known_digits() -> None:
    digits = "2.71828182845904523536028747135266249775724709369995957496696762772407663"
    assert abs(exp(1) - Fraction(digits)) < TOLERANCE
    assert exp(0) == 1


def test_smooth_functions_have_few_digits() -> None:
    """Sums of them, as in layers of saturated units, must not grow with what they are taken of."""
    total = sum(
        (tanh(Fraction(31 * k, 7) * 10**4) + sigmoid(Fraction(k, 3) * 10**5) for k in range(1, 20)),
        Fraction(0),
    )
    assert total.denominator.bit_length() < 300


def test_smooth_functions_far_out() -> None:
    assert 0 < exp(-(10**9)) < Fraction(1, 10**1000)
    assert 0 < sigmoid(-(10**9)) < Fraction(1, 10**1000)
    assert 1 - sigmoid(10**9) < Fraction(1, 10**1000)
    assert tanh(10**9) <= 1
    with pytest.raises(VerificationError, match="exp overflows"):
        exp(10**6 + 1)

"""What the verifier accepts and, rule by rule, what it rejects."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfxc.errors import CfxcError, VerificationError
from cfxc.ir import (
    BOOL,
    INT,
    REAL,
    If,
    LabelTuple,
    Let,
    Literal,
    Op,
    Program,
    Sort,
    Tensor,
    category,
    ops,
    parse_program,
    real,
    verify,
)
from cfxc.ir.program import Statement
from tests.strategies import programs


@given(programs())
def test_drawn_programs_are_valid(program: Program) -> None:
    verify(program)
    assert set(program.sorts) == {n for n, _ in program.inputs} | {x.name for x in program.lets()}
    assert set(program.output_sorts) == {name for name, _ in program.outputs}


INPUTS = "x: Real, n: Int, b: Bool, v: Real[3], w: Bool[3], m: Real[2, 2], c: Category{1, none}"


def checked(body: str, outputs: str = "out = x") -> Program:
    program = parse_program(f"program p({INPUTS}) {{ {body} return {outputs} }}")
    verify(program)
    return program


ACCEPTED = [
    "",
    "y: Real = add(x, n)",
    "if b { y: Real = neg(x) } else { y: Real = abs(x) } z: Real = neg(y)",
    "if b { y: Real = neg(x) } else { z: Real = neg(x) }",  # one-sided names, not used after
    "if b { y: Real = neg(x) } else { if b { y: Real = neg(x) } else { y: Real = abs(x) } } "
    "z: Real = neg(y)",
    "if b { if b { y: Real = neg(x) } else { } } else { y: Real = neg(x) }",
    "if b { if b { } else { y: Real = neg(x) } } else { if b { y: Real = abs(x) } else { } }",
    "if true { } else { }",
    "if b { d: Bool = not(b) if d { } else { } } else { d: Bool = identity(b) } if d { } else { }",
    "y: Real[3] = mul(v, x) z: Real[2, 2] = select(b, m, 0.)",
    "y: Category{1, none} = select(b, c, c)",
]


@pytest.mark.parametrize("body", ACCEPTED)
def test_accepts(body: str) -> None:
    checked(body)


TWICE = "assigned a second time"
UNDEFINED = "is not defined here"
REJECTED = [
    # single assignment
    ("y: Real = neg(x) y: Real = neg(x)", TWICE),
    ("x: Real = neg(x)", TWICE),
    ("y: Real = neg(x) if b { y: Real = neg(x) } else { }", TWICE),
    ("y: Real = neg(x) if b { } else { y: Real = neg(x) }", TWICE),
    ("if b { y: Real = neg(x) } else { } y: Real = neg(x)", TWICE),
    ("if b { } else { y: Real = neg(x) } y: Real = neg(x)", TWICE),
    ("if b { y: Real = neg(x) } else { y: Real = abs(x) } y: Real = neg(x)", TWICE),
    ("if b { if b { y: Real = neg(x) } else { } y: Real = neg(x) } else { }", TWICE),
    ("if b { } else { if b { } else { y: Real = neg(x) } y: Real = abs(x) }", TWICE),
    ("if b { if b {k: Int=neg(1)} else { } } else { } if b {k: Int=neg(1)} else { }", TWICE),
    ("if b { x: Real = neg(n) } else { }", TWICE),
    # definition before use on every path
    ("y: Real = neg(z)", UNDEFINED),
    ("y: Real = neg(y)", UNDEFINED),
    ("y: Real = neg(z) z: Real = neg(x)", UNDEFINED),
    ("if b { y: Real = neg(x) } else { } z: Real = neg(y)", UNDEFINED),
    ("if b { } else { y: Real = neg(x) } z: Real = neg(y)", UNDEFINED),
    ("if b { y: Real = neg(x) } else { z: Real = neg(y) }", UNDEFINED),
    ("if b { if b { y: Real = neg(x) } else { } z: Real = neg(y) } else { }", UNDEFINED),
    ("if b {if b {k: Int=neg(1)} else { }} else {k: Int=neg(1)} l: Int = neg(k)", UNDEFINED),
    ("if d { } else { }", UNDEFINED),
    ("if b { d: Bool = not(b) } else { } if d { } else { }", UNDEFINED),
    # conditions and branches
    ("if x { } else { }", "the condition is Real, not Bool"),
    ("if 1 { } else { }", "the condition is Int, not Bool"),
    ("if w { } else { }", r"the condition is Bool\[3\], not Bool"),
    ("if b { y: Real = neg(x) } else { y: Int = neg(n) }", "sort Int here but Real in another"),
    ("if b { y: Real[3] = neg(v) } else { y: Real = neg(x) }", "sort Real here but"),
    # sort rules
    ("y: Real = add(x, b)", "a number is needed, not Bool"),
    ("y: Real = add(x, c)", "a number is needed, not Category"),
    ("y: Real = add(v, m)", "do not broadcast"),
    ("y: Real = div(b, x)", "a number is needed"),
    ("y: Real = neg(b)", "a number is needed"),
    ("y: Real = leaky_relu(x, alpha=-1.)", r"alpha must lie in \[0, 1\]"),
    ("y: Real = leaky_relu(x, alpha=2.)", r"alpha must lie in \[0, 1\]"),
    ("y: Real = clip(x, lower=1., upper=0.)", "lower exceeds upper"),
    ("y: Real = round_float32(b)", "a number is needed"),
    ("y: Real = affine(x, weight=f64[1, 1](1.), bias=f64[1](0.))", "does not fit Real"),
    ("y: Real = affine(v, weight=f64[1, 2](1., 1.), bias=f64[1](0.))", "does not fit"),
    ("y: Real = affine(v, weight=f64[3](1., 1., 1.), bias=f64[3](0., 0., 0.))", "a matrix"),
    ("y: Real = affine(v, weight=f64[1, 3](1., 1., 1.), bias=f64[2](0., 0.))", "one bias per row"),
    ("y: Real = affine(v, weight=bool[1, 3](true, true, true), bias=f64[1](0.))", "are numbers"),
    ("y: Real = reduce_sum(x)", "needs a vector"),
    ("y: Real = reduce_max(m)", "needs a vector"),
    ("y: Real = reduce_min(w)", "a number is needed"),
    ("y: Bool = le(b, b)", "a number is needed"),
    ("y: Bool = eq(c, c)", "a number is needed"),
    ("y: Bool = is_label(x, label=1)", "needs a category"),
    ("y: Bool = is_label(c, label=2)", "2 is not among {1, none}"),
    ("y: Bool = is_label(c, label=true)", "True is not among"),
    ("y: Bool = and()", "at least one part"),
    ("y: Bool = or(b, x)", "joins Booleans"),
    ("y: Bool = not(x)", "needs a Boolean"),
    ("y: Real = select(x, x, x)", "needs a Boolean condition"),
    ("y: Real = select(b, x, b)", "select between Real and Bool"),
    ("y: Real = select(b, x, c)", "select between"),
    ("y: Category{1, none} = select(w, c, c)", "by one Boolean"),
    ('d: Category{"z"} = category(0, labels={"z"}) y: Bool = select(b, c, d)', "select between"),
    ("y: Int = argmax(x)", "argmax needs a vector"),
    ("y: Int = argmax(w)", "a number is needed"),
    ("y: Real = concat()", "at least one part"),
    ("y: Real = concat(m)", "scalars and vectors"),
    ("y: Real = concat(x, b)", "a number is needed"),
    ("y: Real = take(x, indices=(0))", "take needs a vector"),
    ("y: Real = take(v, indices=(0, 3))", "out of range"),
    ("y: Real = take(v, indices=(-1))", "out of range"),
    ("y: Real = item(x, index=0)", "item needs a vector"),
    ("y: Real = item(v, index=3)", "index 3 out of range"),
    ("y: Real = item(v, index=-1)", "index -1 out of range"),
    ("y: Real = reshape(v, shape=(2, 2))", "cannot reshape"),
    ("y: Real = reshape(v, shape=(-1, -3))", "negative size"),
    ("y: Real = reshape(c, shape=())", "no shape"),
    ("y: Real = lookup(x, labels={1, none}, table=f64[2](0., 1.))", "lookup in Real"),
    ("y: Real = lookup(c, labels={none, 1}, table=f64[2](0., 1.))", "by other labels"),
    ("y: Real = lookup(c, labels={1, none}, table=f64[1](0.))", "one row per label"),
    ("y: Real = lookup(c, labels={1, none}, table=f64[](0.))", "one row per label"),
    ("y: Category{1} = category(x, labels={1})", "needs an Int scalar"),
    ("y: Category{1} = category(n, labels={})", "at least one label"),
    ("y: Category{1} = category(n, labels={1, 1})", "labels repeat"),
    ("y: Real = to_real(c)", "takes no Category"),
    ("y: Real = exp(b)", "a number is needed"),
    ("y: Real = softmax(x)", "needs a vector"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "words"), REJECTED)
def test_rejects(body: str, words: str) -> None:
    with pytest.raises(VerificationError, match=words):
        checked(body)


@pytest.mark.parametrize(
    ("outputs", "words"),
    [
        ((), "needs outputs"),
        ((("y", "x"), ("y", "x")), "distinct names"),
        ((("y", "z"),), "output y: z is not defined here"),
    ],
)
def test_rejects_outputs(outputs: Any, words: str) -> None:
    with pytest.raises(VerificationError, match=words):
        verify(Program("p", (("x", REAL),), (), outputs))


def test_rejects_an_output_assigned_in_one_branch_only() -> None:
    with pytest.raises(VerificationError, match="output out: y is not defined"):
        checked("if b { y: Real = neg(x) } else { }", "out = y")


def test_rejects_inputs_of_one_name() -> None:
    with pytest.raises(VerificationError, match="input x is declared twice"):
        verify(Program("p", (("x", REAL), ("x", REAL)), (), (("y", "x"),)))


def test_names_statement_and_origin() -> None:
    op = ops.Neg("nowhere")
    program = Program("p", (), (Let("y", op, "f.onnx: node 'Neg_1'"),), (("y", "y"),))
    with pytest.raises(VerificationError, match=r"y = neg\(…\) \(f.onnx: node 'Neg_1'\): nowhere"):
        verify(program)


TREE: dict[str, Any] = {
    "roots": [0],
    "feature": [1, -1, -1],
    "threshold": [0.5, 0.0, 0.0],
    "left": [1, 0, 0],
    "right": [2, 0, 0],
    "value": [[0.0], [1.0], [2.0]],
    "base": [0.0],
}
BROKEN_TREES = [
    ({"feature": [3, -1, -1]}, "feature index out of range"),
    ({"left": [0, 0, 0]}, "a child must come after"),
    ({"right": [3, 0, 0]}, "a child must come after"),
    ({"left": [-1, 0, 0]}, "a child must come after"),
    ({"roots": [3]}, "root out of range"),
    ({"roots": [-1]}, "root out of range"),
    ({"left": [1, 0]}, "differ in length"),
    ({"threshold": [0.5]}, "differ in length"),
    ({"value": [[0.0], [1.0]]}, "one row of values per node"),
    ({"value": [0.0, 1.0, 2.0]}, "one row of values per node"),
    ({"base": [0.0, 1.0]}, "base does not fit"),
    ({"base": [True]}, "are numbers"),
    ({"feature": [1.0, -1.0, -1.0]}, "vectors of integers"),
    ({"roots": 0}, "vectors of integers"),
]


def tree(**changes: Any) -> Program:
    op = ops.TreeEnsemble("x", **{k: Tensor(v) for k, v in {**TREE, **changes}.items()})
    return Program("p", (("x", real(3)),), (Let("y", op),), (("y", "y"),))


def test_accepts_the_tree_and_ignores_children_of_leaves() -> None:
    verify(tree())
    verify(tree(left=[1, -1, 99]))


@pytest.mark.parametrize(("changes", "words"), BROKEN_TREES)
def test_rejects_broken_trees(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(VerificationError, match=words):
        verify(tree(**changes))


@pytest.mark.parametrize("sort", [REAL, real(3, 1), Sort("bool", (3,))])
def test_trees_need_a_numeric_vector(sort: Sort) -> None:
    program = tree()
    with pytest.raises(VerificationError, match="tree_ensemble needs a vector"):
        verify(Program("p", (("x", sort),), program.body, program.outputs))


ILL_TYPED: list[tuple[Op, str]] = [
    (ops.Clip("x", 0, 1), "lower must be a Fraction, not int"),
    (ops.LeakyRelu("x", 0.5), "alpha must be a Fraction, not float"),
    (ops.Item("v", np.int64(0)), "index must be a int, not int64"),
    (ops.Item("v", True), "index must be a int, not bool"),
    (ops.Take("v", [0]), r"indices must be a tuple\[int, ...\], not list"),
    (ops.Take("v", (np.int64(0),)), "indices must be a tuple"),
    (ops.Category("n", ("a", "b")), "labels must be a LabelTuple"),
    (ops.IsLabel("c", np.str_("a")), "label must be a Label, not str_"),
    (ops.IsLabel("c", float("nan")), "label must be a Label"),
    (ops.Constant([1.0]), "value must be a Tensor, not list"),
]


@pytest.mark.parametrize(("op", "words"), ILL_TYPED, ids=lambda item: getattr(item, "name", ""))
def test_rejects_ill_typed_attributes(op: Op, words: str) -> None:
    inputs = (("x", REAL), ("v", real(2)), ("n", INT), ("c", category("a")))
    with pytest.raises(VerificationError, match=words):
        verify(Program("p", inputs, (Let("y", op),), (("y", "y"),)))


@pytest.mark.parametrize("value", [0.5, np.int64(1), np.float64(1.0), np.bool_(True), "a", None])
def test_rejects_ill_typed_literals(value: Any) -> None:
    with pytest.raises(VerificationError, match="a literal is a Fraction, int or bool"):
        Literal(value)


BAD_SORTS = [
    lambda: Sort("category"),
    lambda: Sort("real", (), LabelTuple(["a"])),
    lambda: Sort("category", (2,), LabelTuple(["a"])),
    lambda: category(),
    lambda: category(1, 2, 1),
    lambda: category(0.0, -0.0),
    lambda: category(float("nan")),
    lambda: category(float("inf")),
    lambda: category(np.int64(1)),
    lambda: category(Fraction(1, 2)),
    lambda: real(-1),
]


@pytest.mark.parametrize("make", BAD_SORTS)
def test_rejects_bad_sorts(make: Any) -> None:
    with pytest.raises(VerificationError):
        make()


def test_labels_of_different_types_are_different() -> None:
    sort = category(1, 1.0, True, "1")
    assert [sort.index(label) for label in (1, 1.0, True, "1")] == [0, 1, 2, 3]
    assert category(1) != category(1.0)
    assert category(1) != category(True)
    with pytest.raises(VerificationError, match="False is not among"):
        sort.index(False)


def test_long_label_lists_are_cut_in_messages() -> None:
    sort = category(*range(1000))
    with pytest.raises(VerificationError, match=r"'x' is not among \{0, 1, 2, 3, 4, …\}"):
        sort.index("x")


# weak single assignment against its definition, path by path


def reference(body: Iterable[Statement], sure: set[str], maybe: set[str]) -> None:
    """Extends ``sure`` (assigned on every path) and ``maybe`` (on some); AssertionError if bad."""
    for statement in body:
        if isinstance(statement, Let):
            assert all(o in sure for o in statement.op.operands() if isinstance(o, str))
            assert statement.name not in maybe
            sure.add(statement.name)
            maybe.add(statement.name)
        else:
            assert isinstance(statement.condition, Literal) or statement.condition in sure
            arms = []
            for arm in (statement.then, statement.orelse):
                arms.append((set(sure), set(maybe)))
                reference(arm, *arms[-1])
            sure |= arms[0][0] & arms[1][0]
            maybe |= arms[0][1] | arms[1][1]


NAMES = st.sampled_from(["x", "a", "b", "c", "d"])
LETS = st.builds(
    lambda name, operand: Let(name, ops.Not(operand)),
    NAMES,
    st.one_of(st.just("x"), st.just(Literal(True)), NAMES),
)


def bodies(depth: int) -> st.SearchStrategy[tuple[Statement, ...]]:
    if depth == 0:
        return st.lists(LETS, max_size=2).map(tuple)
    arm = bodies(depth - 1)
    ifs = st.builds(If, st.one_of(st.just("x"), NAMES), arm, arm)
    return st.lists(st.one_of(LETS, ifs), max_size=3).map(tuple)


@settings(max_examples=600)
@given(bodies(3), NAMES)
def test_agrees_with_the_definition_on_paths(body: tuple[Statement, ...], output: str) -> None:
    program = Program("p", (("x", BOOL),), body, (("y", output),))
    sure, maybe = {"x"}, {"x"}
    try:
        reference(body, sure, maybe)
        valid = output in sure
    except AssertionError:
        valid = False
    if valid:
        verify(program)
    else:
        with pytest.raises(CfxcError):
            verify(program)


def test_both_verdicts_are_common_among_the_drawn_bodies() -> None:
    """The test above would be empty if nearly all bodies were invalid."""
    verdicts = set()

    @settings(max_examples=300, derandomize=True, database=None)
    @given(bodies(2))
    def collect(body: tuple[Statement, ...]) -> None:
        nested = any(isinstance(s, If) and (s.then or s.orelse) for s in body)
        try:
            reference(body, {"x"}, {"x"})
            verdicts.add((nested, True))
        except AssertionError:
            verdicts.add((nested, False))

    collect()
    assert verdicts == {(False, True), (False, False), (True, True), (True, False)}

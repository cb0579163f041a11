"""From the IR back to the core language: readable text that means the same."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cfxc.compiler.expand import expand
from cfxc.errors import UnsupportedError, VerificationError
from cfxc.ir import (
    BOOL,
    INT,
    REAL,
    Builder,
    If,
    LabelTuple,
    Let,
    Literal,
    Program,
    Tensor,
    category,
    evaluate,
    ops,
    real,
    verify,
)
from cfxc.ir import parse_program as parse_ir
from cfxc.lang import (
    ast,
    compile_program,
    lower_program,
    parse_program,
    print_program,
    to_ast,
    to_text,
)
from tests.example_programs import EXAMPLES
from tests.lang.core_programs import INPUTS, VALUES, J, core_programs
from tests.strategies import inputs_of, programs, tree_ensembles

F = Fraction


def exact(label: Any) -> Any:
    """Numbers that are labels come back as numbers: 0.1 is the decimal that it prints as."""
    if isinstance(label, float):
        return F(label) if label.is_integer() else F(repr(label))
    return label


def whole(label: Any) -> Any:
    """The label 1.0 of an input comes back as 1."""
    return int(label) if isinstance(label, float) and label.is_integer() else label


def agree(program: Program, raised: Program, row: dict[str, Any]) -> None:
    """Both programs have the same value, or the same number, at ``row``."""
    sorts = dict(program.inputs)
    assert list(sorts) == [name for name, _ in raised.inputs]
    try:
        expected = evaluate(program, row)
    except VerificationError:  # a float32 overflows, or a division by zero
        return
    labelled = {name: whole(v) if sorts[name].labels else v for name, v in row.items()}
    found = evaluate(raised, labelled)
    assert list(expected) == list(found)
    for name, value in expected.items():
        assert exact(value) == exact(found[name])
        assert isinstance(value, bool) is isinstance(found[name], bool)


def there_and_back(program: Program) -> Program:
    raised = compile_program(to_text(program))
    verify(raised)
    return raised


# -- round trips -----------------------------------------------------------------------------------


@settings(max_examples=60)
@given(core_programs(), st.lists(VALUES, min_size=1, max_size=3))
def test_programs_come_back(program: ast.Program, rows: list[dict[str, Any]]) -> None:
    lowered = lower_program(program, inputs=INPUTS, constants={"J": J})
    raised = there_and_back(lowered)
    for row in rows:
        agree(lowered, raised, row)


@settings(max_examples=150)
@given(st.data())
def test_any_core_level_program_comes_back(data: st.DataObject) -> None:
    program = data.draw(programs(core=data.draw(st.booleans())))
    assume(all(s.is_scalar for s in program.sorts.values()) or not has_if(program))
    core = expand(program)
    assume(core.outputs and len({name for name, _ in core.outputs}) == len(core.outputs))
    try:
        raised = there_and_back(core)
    except UnsupportedError as error:
        assume("labels" not in str(error))
        raise
    for _ in range(2):
        agree(core, raised, data.draw(inputs_of(core)))


def has_if(program: Program) -> bool:
    return any(isinstance(statement, If) for statement in program.body)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_examples_come_back(example: Any) -> None:
    program = parse_ir(example.text)
    core = expand(program)
    if example.name == "categories":
        with pytest.raises(UnsupportedError, match=r"'job': 1 and 1\.0"):
            to_text(core)
        return
    raised = there_and_back(core)
    for row, _ in example.cases:
        agree(core, raised, row)


def forest(op: ops.TreeEnsemble) -> Program:
    """The class with the largest sum of leaves, and all sums."""
    builder = Builder("forest")
    sorts = {"age": INT, "a b": REAL, "if": REAL}
    names = [builder.input(name, sort) for name, sort in sorts.items()]
    rows = builder.let(op.map_operands(lambda _: builder.let(ops.Concat(tuple(names)))))
    best = builder.let(ops.Argmax(rows))
    labels = category("no", "yes").labels if op.base.shape == (2,) else category(0).labels
    return builder.build(label=builder.let(ops.Category(best, labels)), scores=rows)


@settings(max_examples=40)
@given(tree_ensembles(3), st.data())
def test_forests_come_back(op: ops.TreeEnsemble, data: st.DataObject) -> None:
    core = expand(forest(op))
    raised = there_and_back(core)
    for _ in range(4):
        agree(core, raised, data.draw(inputs_of(core)))


def network(weights: list[Any], biases: list[Any], smooth: bool = False) -> Program:
    builder = Builder("network")
    layer = builder.let(ops.Concat((builder.input("x1", REAL), builder.input("x2", REAL))))
    for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
        layer = builder.let(ops.Relu(builder.let(ops.Affine(layer, Tensor(weight), Tensor(bias)))))
    last = builder.let(ops.Affine(layer, Tensor(weights[-1]), Tensor(biases[-1])))
    score = builder.let(ops.Item(last, 0))
    return builder.build(score=builder.let(ops.Sigmoid(score)) if smooth else score)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.booleans(), st.data())
def test_networks_come_back(seed: int, smooth: bool, data: st.DataObject) -> None:
    numbers = np.random.default_rng(seed)
    weights = [numbers.normal(size=shape) for shape in ((3, 2), (2, 3), (1, 2))]
    biases = [numbers.normal(size=size) for size in (3, 2, 1)]
    core = expand(network(weights, biases, smooth))
    raised = there_and_back(core)
    for _ in range(3):
        agree(core, raised, data.draw(inputs_of(core)))


# -- how it looks ----------------------------------------------------------------------------------


def test_a_tree_is_nested_ifs_with_returns() -> None:
    """Figure 2b."""
    builder = Builder("tree")
    x = builder.let(ops.Concat((builder.input("x1", REAL), builder.input("x2", REAL))))
    tree = ops.TreeEnsemble(
        x,
        roots=Tensor(np.array([0])),
        feature=Tensor(np.array([0, 1, -1, -1, -1])),
        threshold=Tensor(np.array([50.5, 0.25, 0, 0, 0])),
        left=Tensor(np.array([1, 2, 0, 0, 0])),
        right=Tensor(np.array([4, 3, 0, 0, 0])),
        value=Tensor(np.array([[0.0], [0], [1], [0], [-1]])),
        base=Tensor(np.array([0.0])),
    )
    program = builder.build(result=builder.let(ops.Item(builder.let(tree), 0)))
    assert to_text(expand(program)) == (
        "program tree(x1: Real, x2: Real) {\n"
        "  if x1 <= 50.5 then {\n"
        "    if x2 <= 0.25 then return 1 else return 0\n"
        "  } else {\n"
        "    return -1\n"
        "  }\n"
        "}\n"
    )


def test_a_network_is_assignments() -> None:
    """Figure 3b."""
    weights = [np.array([[1.0, -2], [0.5, 0]]), np.array([[1.0, 1]])]
    core = expand(network(weights, [np.array([0.0, 1]), np.array([-1.0])]))
    assert to_text(core) == (
        "program network(x1: Real, x2: Real) {\n"
        "  z_4 := x1 - 2 * x2;\n"
        "  z_5 := 0.5 * x1 + 1;\n"
        "  if z_4 >= 0 then h_7 := z_4 else h_7 := 0;\n"
        "  if z_5 >= 0 then h_9 := z_5 else h_9 := 0;\n"
        "  return score = h_7 + h_9 - 1\n"
        "}\n"
    )


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("a: Real = add(r, -2)\nreturn result = a", "return r - 2"),
        ("a: Real = sub(r, -2)\nreturn result = a", "return r + 2"),
        ("a: Real = neg(r)\nc: Real = mul(a, a)\nreturn result = c", "a := -r;\nreturn a * a"),
        ("%0: Real = neg(r)\nc: Real = mul(%0, %0)\nreturn result = c", "return -r * -r"),
        ("return result = 1.", "return 1"),
        ("return result = false", "return false"),
        ("return y = r, z = n", "return y = r, z = n"),
        ("return y = r", "return y = r"),
        ("%0: Bool = is_label(s, label=\"a\")\nreturn result = %0", 'return s == "a"'),
        (
            '%0: Bool = is_label(s, label="a")\n%1: Bool = not(%0)\nreturn result = %1',
            'return s != "a"',
        ),
        (
            '%0: Bool = is_label(s, label="a")\n%1: Bool = is_label(s, label=none)\n'
            "%2: Bool = or(%0, %1)\nreturn result = %2",
            'return s in {"a", none}',
        ),
        (
            "%0: Int = lookup(s, labels={\"a\", 1, 0x1.8p0, none}, table=i64[4](7, 8, 7, 9))\n"
            "return result = %0",
            'return ite(s == 1, 8, ite(s == none, 9, 7))',
        ),
        ("%0: Real = clip(r, lower=0., upper=1.)\nreturn result = %0", "return min(max(r, 0), 1)"),
        ("%0: Real = leaky_relu(r, alpha=0x1p-1)\nreturn result = %0", "return max(r, 0.5 * r)"),
        (
            "%0: Real = maximum(r, n)\n%1: Real = maximum(%0, 1)\nreturn result = %1",
            "return max(r, n, 1)",
        ),
        ("%0: Real = to_real(n)\nreturn result = %0", "return n"),
        ("%0: Real = to_real(b)\nreturn result = %0", "return real(b)"),
        (
            "v.1: Real = neg(r)\nv_1: Real = mul(v.1, v.1)\n`if`: Real = add(v_1, v_1)\n"
            "%9: Real = mul(`if`, `if`)\nreturn result = %9",
            "v_1 := -r;\nv_1_2 := v_1 * v_1;\nif_2 := v_1_2 + v_1_2;\nreturn if_2 * if_2",
        ),
        (
            "if b { x: Int = identity(1) } else { x: Int = identity(n) }\nreturn result = x",
            "if b then return 1 else return n",
        ),
        (
            "if b { x: Int = identity(1) } else { x: Int = identity(n) }\n"
            "y: Int = identity(x)\nreturn result = y",
            "if b then return 1 else return n",
        ),
        (
            "if b {\n if b { w: Int = identity(1) } else { w: Int = identity(2) }\n"
            " x: Int = identity(w)\n} else { x: Int = identity(n) }\nreturn result = x",
            "if b then {\n  if b then return 1 else return 2\n} else {\n  return n\n}",
        ),
        (
            "if b { x: Int = identity(1) } else { x: Int = identity(n) }\n"
            "return result = x, twice = x",
            "if b then x := 1 else x := n;\nreturn result = x, twice = x",
        ),
        (
            "w: Int = neg(n)\nif b { x: Int = identity(w) } else { x: Int = identity(1) }\n"
            "return y = x, z = 1",
            "w := -n;\nif b then x := w else x := 1;\nreturn y = x, z = 1",
        ),
        (
            "if b { w: Int = identity(1) x: Int = identity(w) } else\n"
            "{ w: Int = identity(2) x: Int = identity(3) }\nreturn y = x, z = 1",
            "if b then x := 1 else x := 3;\nreturn y = x, z = 1",
        ),
        (
            'if b { c: Category{"p", 1} = category(0, labels={"p", 1}) } else\n'
            '{ c: Category{"p", 1} = category(1, labels={"p", 1}) }\n'
            "%1: Bool = is_label(c, label=1)\nreturn result = %1",
            'if b then c := "p" else c := 1;\nreturn c == 1',
        ),
        (
            'c: Category{"p", "q"} = category(0, labels={"p", "q"})\n'
            '%1: Bool = is_label(c, label="q")\nreturn result = %1',
            'c := "p";\nreturn false',
        ),
    ],
)  # fmt: skip
def test_layout(body: str, text: str) -> None:
    head = 'program p(r: Real, n: Int, b: Bool, s: Category{"a", 1, 0x1.8p0, none})'
    program = parse_ir(f"{head} {{\n{body}\n}}")
    verify(program)
    raised = to_ast(program)
    assert print_program(ast.Program(None, (), raised.body)) == text + "\n"
    back = compile_program(print_program(raised))
    for b in (True, False):
        for s in ("a", 1, 1.5, None):
            agree(program, back, {"r": F(1, 2), "n": -3, "b": b, "s": s})


def test_the_header_keeps_names_and_labels() -> None:
    builder = Builder("my tree")
    builder.input("capital-gain", INT)
    builder.input("delta.1", BOOL)
    builder.input("s", category("a", None, -3, 0.1, True))
    text = to_text(builder.build(y="s"))
    assert " ".join(text.split()) == (
        "program `my tree`(`capital-gain`: Int, `delta.1`: Bool, "
        's: Category{"a", none, -3, 0.1, true}) { return y = s }'
    )
    assert compile_program(text).inputs == tuple(builder.inputs)


def test_the_only_output_keeps_its_name() -> None:
    program = compile_program("return label = x + 1", inputs={"x": REAL})
    assert to_text(program).splitlines()[1] == "  return label = x + 1"
    program = compile_program("return x + 1", inputs={"x": REAL})
    assert to_text(program).splitlines()[1] == "  return x + 1"


def test_large_shared_temporaries_become_variables() -> None:
    builder = Builder("shared")
    x = builder.input("x", REAL)
    for _ in range(30):
        x = builder.let(ops.Mul(x, x))
    raised = to_ast(builder.build(y=x))
    assert len(print_program(raised)) < 1000
    assert evaluate(lower_program(raised), {"x": -1}) == {"y": 1}


def test_what_no_output_needs_is_left_out() -> None:
    program = parse_ir(
        "program p(x: Real) {\n y: Real = mul(x, x)\n z: Real = add(x, 1)\n return z = z\n}"
    )
    assert "y" not in to_text(program)


def test_refusals_are_listed_together() -> None:
    builder = Builder("tensors")
    x = builder.input("x", real(2))
    with builder.at("net.onnx: node 'Relu_1'"):
        builder.let(ops.Relu(x))
    builder.let(ops.Argmax(x))
    with pytest.raises(UnsupportedError) as caught:
        to_text(builder.build(y=x))
    assert len(caught.value.offences) == 3
    assert "relu (net.onnx: node 'Relu_1')" in caught.value.message
    assert "expanded to core level" in caught.value.message


@pytest.mark.parametrize(
    ("labels", "message"), [((1, 1.0), "1 and 1.0"), ((True, 1), "both numbers and truth values")]
)
def test_labels_that_no_text_tells_apart(labels: tuple[Any, ...], message: str) -> None:
    builder = Builder("labels")
    label = builder.let(ops.Category(Literal(0), LabelTuple(labels)))
    with pytest.raises(UnsupportedError, match=message):
        to_text(builder.build(y=label))


def test_deep_trees() -> None:
    depth = 1500
    builder = Builder("deep")
    n = builder.input("n", INT)
    body: Any = (builder_let("y", Literal(depth)),)
    for level in reversed(range(depth)):
        name = f"%{level}"
        guard = builder_statement(name, ops.Le(n, Literal(level)))
        body = (guard, If(name, (builder_let("y", Literal(level)),), body))
    program = Program("deep", (("n", INT),), body, (("y", "y"),))
    raised = lower_program(parse_program(to_text(program)))
    assert evaluate(raised, {"n": 700}) == {"y": 700}
    assert evaluate(raised, {"n": depth + 7}) == {"y": depth}


def builder_let(name: str, operand: Literal) -> Any:
    return builder_statement(name, ops.Identity(operand))


def builder_statement(name: str, op: Any) -> Any:
    return Let(name, op)

"""The textual form: print and parse are inverse, and mistakes are reported where they are."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfxc.errors import LanguageError, VerificationError
from cfxc.ir import (
    REAL,
    If,
    Let,
    Literal,
    Program,
    Tensor,
    category,
    ops,
    parse_program,
    print_program,
    walk,
)
from cfxc.ir.sorts import format_label, format_name, parse_name
from tests.strategies import NAMES, labels, names, programs


def assert_identical(one: Program, two: Program) -> None:
    """Equal content, and what equality leaves out: the program's name and the origins."""
    assert one == two
    assert one.digest == two.digest
    assert (one.name, one.inputs, one.outputs) == (two.name, two.inputs, two.outputs)
    assert list(one.lets()) == list(two.lets())
    assert [let.origin for let in one.lets()] == [let.origin for let in two.lets()]
    assert [tag for tag, _ in walk(one.body)] == [tag for tag, _ in walk(two.body)]


@settings(max_examples=250)
@given(programs())
def test_parse_inverts_print(program: Program) -> None:
    text = print_program(program)
    again = parse_program(text)
    assert_identical(program, again)
    assert print_program(again) == text
    assert text.encode()  # UTF-8 holds it


@given(programs(max_statements=4), st.sampled_from(["\n\n", "\t", " // a remark: } @ \n"]))
def test_blanks_and_comments_do_not_matter(program: Program, filler: str) -> None:
    text = print_program(program)
    spaced = "\n".join(line + filler for line in text.split("\n"))
    assert_identical(program, parse_program(filler + spaced))


@given(names)
def test_names_survive(name: str) -> None:
    shown = format_name(name)
    assert shown == name or parse_name(shown[1:-1]) == name
    assert "\n" not in shown
    program = Program(name, ((name, REAL),), (), ((name, name),))
    assert_identical(program, parse_program(print_program(program)))


@pytest.mark.parametrize(
    "name", [*NAMES, "\ud800", "a\r\nb", "\x00", "\u2028", "\\u0041", "`", "\\"]
)
def test_odd_names_survive(name: str) -> None:
    program = Program(name, ((name, REAL),), (), ((name, name),))
    text = print_program(program)
    assert len(text.encode().splitlines()) == 3
    assert_identical(program, parse_program(text))


@given(labels)
def test_labels_survive(label: object) -> None:
    program = Program("p", (("x", category(label)),), (), (("y", "x"),))
    (found,) = parse_program(print_program(program)).inputs[0][1].labels
    assert type(found) is type(label)
    assert found == label


def test_minus_zero_is_the_label_zero() -> None:
    assert format_label(-0.0) == format_label(0.0)
    assert category(-0.0) == category(0.0)


@pytest.mark.parametrize(
    "literal",
    [0, -1, 10**30, True, False]
    + [Fraction(text) for text in ("0", "-3", "1/3", "1e400", "1e-400", "0.1", "-123e45")]
    + [Fraction(double) for double in (0.1, 5e-324, -1e308, 2.0**-1030)],
    ids=repr,
)
def test_literals_survive(literal: Fraction | int | bool) -> None:
    program = Program("p", (), (), (("y", Literal(literal)),))
    ((_, found),) = parse_program(print_program(program)).outputs
    assert isinstance(found, Literal)
    assert type(found.value) is type(literal)
    assert found.value == literal


def chain(depth: int, *, then: bool) -> Program:
    """``depth`` nested ifs, in the then or the else branches."""
    body: tuple[Let | If, ...] = (Let("y", ops.Identity(Literal(-1))),)
    for level in range(depth):
        leaf = (Let("y", ops.Identity(Literal(level))),)
        condition = Let(f"c{level}", ops.Le("x", Literal(Fraction(level))))
        arms = (body, leaf) if then else (leaf, body)
        body = (condition, If(f"c{level}", *arms))
    return Program("deep", (("x", REAL),), body, (("y", "y"),))


@pytest.mark.parametrize("then", [True, False])
def test_five_thousand_nested_ifs(then: bool) -> None:
    program = chain(5_000, then=then)
    text = print_program(program)
    assert len(text) < 5_000_000  # linear: indentation is capped
    assert_identical(program, parse_program(text))


P = "program p(x: Real) {\n"
MISTAKES = [
    ("", 1, 1, "end of text"),
    ("program p(x: Real) {\n  ", 1, 21, "end of text"),
    ("program p(x: Real)", 1, 19, "end of text"),
    ("programme p() { return y = 1 }", 1, 1, "programme"),
    (P + "  return y = x }}", 2, 17, "}"),
    (P + "  y: Real = ?\n  return y = y }", 2, 13, "?"),
    (P + "  y: Real = add(x x)\n  return y = y }", 2, 19, "x)"),
    (P + "  y: Real = foo(x)\n  return y = y }", 2, 13, "unknown op 'foo'"),
    (P + "  y: Real = add(x)\n  return y = y }", 2, 13, "2 operands, not 1"),
    (P + "  y: Real = add(x, x, x)\n  return y = y }", 2, 13, "2 operands, not 3"),
    (P + "  y: Real = add(x, x, z=1)\n  return y = y }", 2, 13, "attributes none"),
    (P + "  y: Real = clip(x, lower=1.)\n  return y = y }", 2, 13, "attributes lower, upper"),
    (P + "  y: Real = clip(x, lower=1., lower=1., upper=2.)\n  return y = y }", 2, 13, "each once"),
    (P + '  y: Real = clip(x, lower="a", upper=2.)\n  return y = y }', 2, 21, "'lower' of 'clip'"),
    (P + "  y: Real = item(x, index=1.)\n  return y = y }", 2, 21, "must be a int"),
    (P + "  y: Real = take(x, indices=(1.))\n  return y = y }", 2, 21, "tuple[int, ...]"),
    (P + "  y: Real = constant(value=3)\n  return y = y }", 2, 22, "must be a Tensor"),
    (P + "  y: Int = add(x, 1)\n  return y = y }", 2, 3, "y is Real, declared Int"),
    (P + "  y: Real = add(x, 1/0)\n  return y = y }", 2, 20, "1/0"),
    (P + "  y: Real = add(x, 0x1p9999)\n  return y = y }", 2, 20, "0x1p9999"),
    (P + '  y: Real = neg(x) @ "\\q"\n  return y = y }', 2, 22, "escape"),
    (P + "  y: Real[1] = constant(value=f64[1](10))\n  return y = y }", 2, 31, "a Real is"),
    (P + "  y: Real[1] = constant(value=f64[1](1.5))\n  return y = y }", 2, 31, "a Real is"),
    (P + "  y: Real[1] = constant(value=f64[1](nan))\n  return y = y }", 2, 31, "a Real is"),
    (P + "  y: Real[1] = constant(value=f64[1](1.,))\n  return y = y }", 2, 31, "2 values do not"),
    (P + "  y: Real[1] = constant(value=f64[2](1.))\n  return y = y }", 2, 31, "1 values do not"),
    (P + "  y: Int[1] = constant(value=i64[1](x))\n  return y = y }", 2, 30, "invalid literal"),
    (P + f"  y: Int[1] = constant(value=i64[1]({2**63}))\n  return y = y }}", 2, 30, "large"),
    (P + "  y: Real[1] = constant(value=rat[1](1/0))\n  return y = y }", 2, 31, "cannot read"),
    (P + "  y: Bool[1] = constant(value=bool[1](yes))\n  return y = y }", 2, 31, "true or false"),
    ("program p(x: Foo) { return y = x }", 1, 14, "unknown sort 'Foo'"),
    ("program p(x: Real{1}) { return y = x }", 1, 14, "takes no labels"),
    ("program p(x: Real[1/2]) { return y = x }", 1, 19, "1/2"),
    ("program p(x: Real[-1]) { return y = x }", 1, 14, "negative size"),
    ("program p(x: Category) { return y = x }", 1, 14, "unknown sort 'Category'"),
    ("program p(x: Category{}) { return y = x }", 1, 14, "at least one label"),
    ('program p(x: Category{"a", "a"}) { return y = x }', 1, 14, "labels repeat"),
    ("program p(x: Category{1/2}) { return y = x }", 1, 23, "1/2"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "column", "words"), MISTAKES)
def test_mistakes_are_located(text: str, line: int, column: int, words: str) -> None:
    with pytest.raises(LanguageError) as caught:
        parse_program(text, "model.ir")
    assert (caught.value.line, caught.value.column) == (line, column)
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"model.ir:{line}:{column}: ")
    assert len(str(caught.value)) < 300


@settings(max_examples=200)
@given(programs(max_statements=4), st.data())
def test_damaged_text_is_refused_politely(program: Program, data: st.DataObject) -> None:
    text = print_program(program)
    at = data.draw(st.integers(0, len(text) - 1))
    rubbish = data.draw(st.sampled_from(["", "}", "(", "0x", "1/0", '"', "`", "f64[1](", "\x07"]))
    damaged = text[:at] + rubbish + text[at + data.draw(st.integers(0, 9)) :]
    try:
        again = parse_program(damaged)
    except (LanguageError, VerificationError):
        return
    assert_identical(again, parse_program(print_program(again)))  # still a program, then


def test_declared_sorts_inside_branches_are_checked() -> None:
    text = (
        "program p(b: Bool) {\n  if b {\n    y: Int = identity(1)\n  } else {\n"
        "    y: Real = identity(2)\n  }\n  return y = y\n}"
    )
    with pytest.raises(LanguageError, match=r"5:5: y is Int, declared Real"):
        parse_program(text)


def test_a_long_tensor_is_not_echoed() -> None:
    body = ", ".join(["1."] * 10_000)
    with pytest.raises(LanguageError, match="10000 values do not fill") as caught:
        parse_program(P + f"  y: Real[9] = constant(value=f64[9]({body}))\n  return y = y }}")
    assert len(str(caught.value)) < 200


def test_the_parser_reads_what_tensor_prints() -> None:
    tensor = Tensor([[0.1, -3.0], [1e300, 5e-324]])
    program = Program("p", (), (Let("y", ops.Constant(tensor)),), (("y", "y"),))
    (let,) = parse_program(print_program(program)).lets()
    assert isinstance(let.op, ops.Constant)
    assert let.op.value == tensor

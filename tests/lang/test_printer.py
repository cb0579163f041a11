"""Syntax trees to text: the layout, and that parsing is the inverse of printing."""

from __future__ import annotations

import contextlib
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cfxc.errors import LanguageError
from cfxc.lang import (
    ast,
    parse_expression,
    parse_program,
    print_expression,
    print_program,
)
from cfxc.lang.literals import KEYWORDS, quote, unquote, write_number

# -- generated trees -------------------------------------------------------------------------------

NAMES = st.one_of(
    st.sampled_from(["x", "age", "_1", "max", "Real"]),
    st.sampled_from(sorted(KEYWORDS)),
    st.sampled_from(["capital-gain", "a`b", "a.b", "", " ", "Amount\n(€)", "\\", "1x", "é"]),
    st.text(max_size=4),
)
NUMBERS = st.one_of(
    st.integers(),
    st.fractions(),
    st.floats(allow_nan=False, allow_infinity=False).map(Fraction),
    st.decimals(allow_nan=False, allow_infinity=False, places=3).map(Fraction),
).map(lambda value: ast.Number(Fraction(value)))
LITERALS = st.one_of(
    NUMBERS,
    st.builds(ast.Label, st.text(max_size=4)),
    st.builds(ast.Boolean, st.booleans()),
    st.builds(ast.Missing),
)
REFERENCES = st.builds(ast.Name, st.lists(NAMES, min_size=1, max_size=3).map(tuple))
OPERATORS = st.sampled_from(
    ["+", "-", "*", "/", "&&", "||", "->", "<->", "<", "<=", ">", ">=", "==", "!="]
)


def _binary(operator: ast.BinaryOperator, left: ast.Expr, right: ast.Expr) -> ast.Expr:
    if isinstance(right, ast.Number) and not right.value and operator == "/":
        operator = "*"
    return ast.binary(operator, left, right)


def _larger(inner: st.SearchStrategy[ast.Expr]) -> st.SearchStrategy[ast.Expr]:
    unary_functions = st.sampled_from(["abs", "relu", "exp", "sigmoid", "tanh", "round32", "real"])
    return st.one_of(
        st.builds(_binary, OPERATORS, inner, inner),
        st.builds(_binary, OPERATORS, inner, inner),
        st.builds(ast.unary, st.sampled_from(["-", "!"]), inner),
        st.builds(ast.Index, REFERENCES, inner),
        st.builds(ast.Member, inner, st.lists(LITERALS, min_size=1, max_size=3).map(tuple)),
        st.builds(ast.Call, unary_functions, st.tuples(inner)),
        st.builds(
            ast.Call,
            st.sampled_from(["max", "min"]),
            st.lists(inner, min_size=1, max_size=3).map(tuple),
        ),
        st.builds(ast.Call, st.just("ite"), st.tuples(inner, inner, inner)),
    )


EXPRESSIONS = st.recursive(st.one_of(LITERALS, REFERENCES), _larger, max_leaves=12)
SMALL = st.recursive(st.one_of(LITERALS, REFERENCES), _larger, max_leaves=3)
RETURNS = st.one_of(
    st.builds(lambda value: ast.Return((ast.Output(None, value),)), SMALL),
    st.dictionaries(NAMES, SMALL, min_size=1, max_size=3).map(
        lambda outputs: ast.Return(tuple(ast.Output(*output) for output in outputs.items()))
    ),
)
SIMPLE = st.one_of(st.builds(ast.Skip), st.builds(ast.Assign, NAMES, SMALL), RETURNS)
COMMANDS = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(ast.sequence),
        st.builds(ast.If, SMALL, inner, inner),
        st.builds(ast.For, NAMES, SMALL, SMALL, inner),
    ),
    max_leaves=8,
)
SCALARS = st.builds(ast.ScalarSort, st.sampled_from(ast.SCALAR_KINDS))
SORTS = st.one_of(
    SCALARS,
    st.builds(ast.CategorySort, st.lists(LITERALS, min_size=1, unique=True).map(tuple)),
    st.builds(ast.ArraySort, SCALARS, SMALL),
)
PARAMETERS = st.lists(st.builds(ast.Parameter, NAMES, SORTS), max_size=4).map(tuple)
PROGRAMS = st.one_of(
    st.builds(ast.Program, st.none(), st.just(()), COMMANDS),
    st.builds(ast.Program, NAMES, PARAMETERS, COMMANDS),
)


@given(EXPRESSIONS)
@settings(max_examples=400, deadline=None)
def test_parsing_inverts_printing_of_expressions(tree: ast.Expr) -> None:
    assert parse_expression(print_expression(tree)) == tree


@given(PROGRAMS)
@settings(max_examples=300, deadline=None)
def test_parsing_inverts_printing_of_programs(tree: ast.Program) -> None:
    text = print_program(tree)
    assert parse_program(text) == tree
    assert print_program(parse_program(text)) == text


@given(EXPRESSIONS)
@settings(deadline=None)
def test_no_pair_of_parentheses_is_superfluous(tree: ast.Expr) -> None:
    text = print_expression(tree)
    quoted = _quoted_places(text)
    stack: list[int] = []
    for place, character in enumerate(text):
        if place in quoted or character not in "()":
            continue
        if character == "(":
            stack.append(place)
            continue
        start = stack.pop()
        inside = text[start + 1 : place]
        call = start > 0 and text[start - 1].isalnum()
        if not call and not _is_fraction(inside):
            without = text[:start] + " " + inside + " " + text[place + 1 :]
            with contextlib.suppress(LanguageError):  # needed to parse at all
                assert parse_expression(without) != tree


def _is_fraction(text: str) -> bool:
    tree = parse_expression(text)
    return isinstance(tree, ast.Number) and tree.value.denominator != 1


def _quoted_places(text: str) -> set[int]:
    places, mark, escaped = set(), "", False
    for place, character in enumerate(text):
        if mark:
            places.add(place)
            if character == mark and not escaped:
                mark = ""
            escaped = character == "\\" and not escaped
        elif character in '"`':
            mark = character
    return places


# -- literals --------------------------------------------------------------------------------------

NUMERALS = [
    (Fraction(0), "0"),
    (Fraction(-3), "-3"),
    (Fraction(1, 10), "0.1"),
    (Fraction(-1, 8), "-0.125"),
    (Fraction(123456789012), "123456789012"),
    (Fraction(1234567890123), "0x1.1f71fb04cbp+40"),
    (Fraction(10**15), "1000000000000000"),
    (Fraction(10**30), "1e+30"),
    (Fraction(15, 10**10), "1.5e-9"),
    (Fraction(12, 10**5), "0.00012"),
    (Fraction(1, 2**17), "7.62939453125e-6"),
    (Fraction(1, 2**18), "0x1p-18"),
    (Fraction(0.1), "0x1.999999999999ap-4"),
    (Fraction(-0.1), "-0x1.999999999999ap-4"),
    (Fraction(5e-324), "0x1p-1074"),
    (Fraction(1.7976931348623157e308), "0x1.fffffffffffffp+1023"),
    (Fraction(12345678901234, 10**4), "1234567890.1234"),
    (Fraction(1, 3), "(1/3)"),
    (Fraction(-22, 7), "(-22/7)"),
]


@pytest.mark.parametrize(("value", "text"), NUMERALS)
def test_numeral(value: Fraction, text: str) -> None:
    assert print_expression(ast.Number(value)) == text
    assert parse_expression(text) == ast.Number(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
@settings(deadline=None)
def test_a_hexadecimal_numeral_is_what_float_hex_says(value: float) -> None:
    text = write_number(Fraction(value))
    if "x" in text:
        assert float.fromhex(text) == value
    else:
        assert Fraction(text) == Fraction(value)
        assert len(text.replace("-", "").replace(".", "").split("e")[0].strip("0")) <= 12


@pytest.mark.parametrize(
    "value",
    [
        Fraction(10**5000),
        Fraction(10**5000 + 1),
        Fraction(1, 10**5000),
        Fraction(10**4500 + 1, 10**4600),
        Fraction(10**5000, 3),
        Fraction(1, 3 * 10**5000),
        Fraction(1, 10**10_001),
        Fraction(1 << 20_000),
        Fraction(-1, 1 << 20_000),
    ],
    ids=range(9),
)
def test_numbers_beyond_all_doubles_are_exact_too(value: Fraction) -> None:
    assert parse_expression(write_number(value)) == ast.Number(value)


@given(st.text(), st.sampled_from(['"', "`"]))
@example("\ud800", '"')
@example("\U000e0001\u2028\x85", "`")
@settings(deadline=None)
def test_quoted_texts_are_one_printable_line(text: str, mark: str) -> None:
    quoted = quote(text, mark)  # type: ignore[arg-type] # st.sampled_from widens literals
    assert unquote(quoted) == text
    assert quoted.isprintable()


# -- layout ----------------------------------------------------------------------------------------

TREE = """\
program tree(x1: Bool, x2: Bool, x3: Real) {
  if x1 then {
    if x3 > 0 then return 0 else return 1
  } else if x2 then {
    return 0
  } else if x3 > 0.5 then {
    z := x3 - 1;
    return z
  } else {
    return 1
  }
}
"""
NETWORK = """\
z1 := x1 - x2;
z2 := 2 * x1 + (x2 - 1) / 3 - -0.5 * x3;
if z1 >= 0 then r1 := z1 else r1 := 0;
r2 := relu(z2);
z3 := max(r1, r2);
if z3 >= 0 then return label = 1, score = z3 else return label = 0, score = z3
"""
DISTANCE = """\
program l1(delta: Real[J]) {
  s := 0;
  for i = 1..J do s := s + delta[i];
  for i = 1..J do {
    if delta[i] > 0 then n := 1;
    m := max(m, delta[i])
  };
  return s / J
}
"""
WIDE = """\
score := 0x1.999999999999ap-4 * `capital-gain` + 0x1.3333333333333p-2 * `capital-loss`
    - 12 * age - 3 * `hours per week`
"""


@pytest.mark.parametrize("text", [TREE, NETWORK, DISTANCE, WIDE])
def test_layout(text: str) -> None:
    assert print_program(parse_program(text)) == text


def test_long_branches_stand_on_their_own_lines() -> None:
    program = parse_program(f"if a then x := {'y + ' * 30} 1; return x")
    lines = print_program(program).splitlines()
    assert lines[0] == "if a then {"
    assert lines[-2:] == ["};", "return x"]
    assert max(map(len, lines)) <= 100

"""Unrolling, by examples and against direct execution of the loops."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfxc.errors import LanguageError
from cfxc.lang import (
    ast,
    parse_expression,
    parse_program,
    print_program,
    unroll_expression,
    unroll_program,
)
from cfxc.lang.walk import subcommands

UNROLLED = [
    ("for i = 1..3 do s := s + d[i]", "s := s + d[1]; s := s + d[2]; s := s + d[3]"),
    ("for i = 1..J do s := i", "s := 1; s := 2"),
    ("for i = 1..0 do s := i", "skip"),
    ("for i = J..1 do s := i; return s", "skip; return s"),
    ("for i = -1..1 do s := x * i", "s := x * -1; s := x * 0; s := x * 1"),
    ("for i = 2..3 do s := 1 / i", "s := 0.5; s := 1/3"),
    ("for i = 1..2 do s := -i", "s := -1; s := -2"),
    ("for i = 1..2 do for j = i..2 do s := d[2*i + j]", "s := d[3]; s := d[4]; s := d[6]"),
    (
        "for i = 1..2 do if x > i then { a := i; b := J } else skip",
        "if x > 1 then { a := 1; b := 2 }; if x > 2 then { a := 2; b := 2 }",
    ),
    ("return p = J, q = x.J + J", "return p = 2, q = x.J + 2"),
    ("for i = min(J, 5)..max(abs(-2), 1) * 3 / 2 do s := i", "s := 2; s := 3"),
    ("x := d[J] in {1}; y := d[4 / J]", "x := d[2] in {1}; y := d[2]"),
    ("program f(d: Real[J + 1]) { return d[J + 1] }", "program f(d: Real[3]) { return d[3] }"),
]

REFUSED = [
    ("for i = 1..n do skip", 1, 12, "'n' is not a constant"),
    ("for i = 1..1.5 do skip", 1, 12, "must be an integer, not 3/2"),
    ("x := d[k]", 1, 8, "'k' is not a constant"),
    ("x := d[J/4]", 1, 8, "an index must be an integer, not 1/2"),
    ("x := d[J - 2]", 1, 10, "index 0 lies outside d, whose elements are 1 and up"),
    ("program f(d: Real[J]) { for i = 1..3 do x := d[i] }", 1, 48, "index 3 lies outside d"),
    ("for i = 0..1 do x := y / i", 1, 24, "division by zero"),
    ("for i = 1..1000 do skip", 1, 1, "more than 100 commands"),
    ("for i = 1..1000 do for j = 1..0 do skip", 1, 1, "more than 100 commands"),
    ("for i = 1..20 do for j = 1..20 do x := 1", 1, 18, "more than 100 commands"),
    ("J := 3", 1, 1, "'J' is a constant"),
    ("for i = 1..2 do for i = 1..2 do skip", 1, 17, "'i' already has a value here"),
]


@pytest.mark.parametrize(("text", "unrolled"), UNROLLED)
def test_unrolled(text: str, unrolled: str) -> None:
    result = unroll_program(parse_program(text), constants={"J": 2})
    assert result == parse_program(unrolled), print_program(result)


@pytest.mark.parametrize(("text", "line", "column", "message"), REFUSED)
def test_refused(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(LanguageError) as caught:
        unroll_program(parse_program(text, "m.cfl"), constants={"J": 2}, limit=100)
    assert message in str(caught.value)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert str(caught.value).startswith("m.cfl:")


def test_indices_of_expressions_are_folded() -> None:
    tree = parse_expression("x.loan <= 5 * income + d[2 + 3]")
    assert unroll_expression(tree) == parse_expression("x.loan <= 5 * income + d[5]")
    with pytest.raises(LanguageError, match=r"^constraint 3:1:3: an index must be an integer"):
        unroll_expression(parse_expression("d[1 / 2]"), source="constraint 3")


def test_places_and_source_are_kept() -> None:
    result = unroll_program(parse_program("x := 1;\nfor i = 1..2 do\n  y := i", "m.cfl"))
    assert isinstance(result.body, ast.Sequence)
    assert [command.line for command in result.body.commands] == [1, 3, 3]
    assert result.source == "m.cfl"


# -- against execution -----------------------------------------------------------------------------

LEAVES = ["1", "2", "x", "y", "i", "j", "J"]


def execute(command: ast.Command, state: dict[str, Fraction]) -> None:
    if isinstance(command, ast.Sequence):
        for each in command.commands:
            execute(each, state)
    elif isinstance(command, ast.Assign):
        state[command.target] = value(command.value, state)
    elif isinstance(command, ast.If):
        chosen = value(command.guard, state) > 0
        execute(command.then if chosen else command.otherwise, state)
    elif isinstance(command, ast.For):
        first, last = value(command.first, state), value(command.last, state)
        while first <= last:
            _round(command, first, state)
            first += 1


def _round(command: ast.For, number: Fraction, state: dict[str, Fraction]) -> None:
    hidden = state.get(command.variable)
    state[command.variable] = number
    execute(command.body, state)
    del state[command.variable]
    if hidden is not None:
        state[command.variable] = hidden


def value(expression: ast.Expr, state: dict[str, Fraction]) -> Fraction:
    if isinstance(expression, ast.Number):
        return expression.value
    if isinstance(expression, ast.Name):
        return state[expression.root]
    assert isinstance(expression, ast.Binary)
    left, right = value(expression.left, state), value(expression.right, state)
    return left + right if expression.operator == "+" else left - right


@st.composite
def loops(draw: st.DrawFn, scope: tuple[str, ...] = (), depth: int = 3) -> ast.Command:
    def expression(leaves: tuple[str, ...]) -> ast.Expr:
        texts = draw(st.lists(st.sampled_from(["1", "2", *leaves]), min_size=1, max_size=3))
        return parse_expression(draw(st.sampled_from([" + ", " - "])).join(texts))

    kind = draw(st.sampled_from(["assign", "assign", "if", "for", "for", "two"]))
    if depth == 0 or kind == "assign":
        return ast.Assign(draw(st.sampled_from("xy")), expression(("x", "y", "J", *scope)))
    if kind == "two":
        return ast.sequence(draw(loops(scope, depth - 1)) for _ in range(2))
    if kind == "if":
        guard = expression(("x", "y", *scope))
        return ast.If(guard, draw(loops(scope, depth - 1)), draw(loops(scope, depth - 1)))
    variable = "ijk"[len(scope)]
    first, last = expression(("J", *scope)), expression(("J", *scope))
    return ast.For(variable, first, last, draw(loops((*scope, variable), depth - 1)))


@given(loops(), st.integers(-5, 5))
@settings(max_examples=200, deadline=None)
def test_an_unrolled_program_does_what_the_loops_do(body: ast.Command, x: int) -> None:
    unrolled = unroll_program(ast.Program(None, (), body), constants={"J": 3})
    assert not any(isinstance(command, ast.For) for command in subcommands(unrolled.body))
    start = {"x": Fraction(x), "y": Fraction(1), "J": Fraction(3)}
    one, other = dict(start), dict(start)
    execute(body, one)
    execute(unrolled.body, other)
    assert one == other

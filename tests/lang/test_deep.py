"""Trees as deep or long as programs get: nothing recurses, and nothing is quadratic."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from cfxc.errors import LanguageError
from cfxc.lang import (
    ast,
    check_program,
    parse_expression,
    parse_program,
    print_expression,
    print_program,
    unroll_expression,
    unroll_program,
)

DEPTH = 3_000
LENGTH = 100_000
TERMS = 20_000


@pytest.fixture(autouse=True)
def _small_stack() -> Iterator[None]:
    """Far below DEPTH, so that recursion anywhere fails the test."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(400)
    yield
    sys.setrecursionlimit(limit)


def all_steps(text: str) -> ast.Program:
    """Parse, check, unroll and print; the text is in canonical layout."""
    program = parse_program(text)
    check_program(program)
    unrolled = unroll_program(program)
    assert (unrolled == program) is True
    assert (print_program(unrolled) == text) is True
    return program


def test_many_commands() -> None:
    commands = (["if b then y := 1 else y := 2"] + ["x := 1"] * 9) * (LENGTH // 10)
    program = all_steps(";\n".join(commands) + ";\nreturn x + y\n")
    assert isinstance(program.body, ast.Sequence)
    assert len(program.body.commands) == LENGTH + 1


def test_ifs_nested_in_then_branches() -> None:
    opening = [f"{'  ' * depth}if x > {depth} then {{\n" for depth in range(DEPTH)]
    closing = [
        f"{'  ' * depth}}} else {{\n{'  ' * depth}  return {depth}\n{'  ' * depth}}}\n"
        for depth in reversed(range(DEPTH))
    ]
    innermost = "  " * DEPTH + "y := x;\n" + "  " * DEPTH + "return y\n"
    all_steps("".join([*opening, innermost, *closing]))


def test_else_if_chains_are_flat() -> None:
    links = [f"if x > {number} then {{\n  return {number}\n}} else " for number in range(DEPTH)]
    all_steps("".join(links) + "{\n  return x\n}\n")


def test_nested_loops_without_rounds() -> None:
    text = "".join(f"for i{depth} = 1..1 do " for depth in range(DEPTH)) + "x := 1; return x"
    program = parse_program(text)
    check_program(program)
    assert unroll_program(program) == parse_program("x := 1; return x")
    assert parse_program(print_program(program)) == program


@pytest.mark.parametrize(
    "text",
    [
        " + ".join(["x"] * TERMS),
        " && ".join(["x"] * TERMS),
        " -> ".join(["x"] * DEPTH),
        "x - (" * DEPTH + "y - x" + ")" * DEPTH,
        "-" * DEPTH + "x",
        "relu(" * DEPTH + "x" + ")" * DEPTH,
        "d[" * DEPTH + "1" + "]" * DEPTH,
    ],
    ids=["sum", "conjunction", "implication", "parentheses", "minus", "calls", "indices"],
)
def test_deep_expressions(text: str) -> None:
    tree = parse_expression(text)
    assert (print_expression(tree) == text) is True
    same = parse_expression(text)
    assert (same == tree) is True
    assert hash(same) == hash(tree)
    assert len(repr(tree)) > DEPTH
    if "[" not in text:
        assert (unroll_expression(tree) == tree) is True


def test_an_error_deep_inside_is_reported() -> None:
    with pytest.raises(LanguageError, match="found the end of the text, expected"):
        parse_program("if x then {" * DEPTH)
    with pytest.raises(LanguageError, match="expected '\\)'"):
        parse_expression("(" * DEPTH + "x")

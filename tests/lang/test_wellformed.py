"""The well-formedness condition, by examples and against an enumeration of all paths."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfxc.errors import LanguageError
from cfxc.lang import ast, check_program, parse_program, unroll_program
from cfxc.lang.walk import names

ACCEPTED = [
    "return x",
    "y := x; return y + x",
    "if b then return 1 else return 0",
    "if b then { y := 1; return y } else { skip; return x }",
    "if b then y := 1 else y := 2; return y",
    "if b then skip; return 1",
    "if b then if c then y := 1 else y := 2 else { y := 3; z := y }; return y",
    "y := 0; for i = 1..J do y := y + d[i] * i; return y / J",
    "for i = 1..J do y := i; return y",
    "for i = 1..2 do for j = 1..i do y := i * j; return 1",
    "for i = 1..2 do skip; for i = max(1, 2)..-J + 4 do skip; return 1",
    "return a = 1, b = 2",
    "if b then return p = 1 else return p = 2",
    "program f(x: Int, d: Real[J]) { return x + d[J - 1] }",
    "program f() { return 1 }",
    "return factual.age",
    "`if` := 1; return `if`",
]

REFUSED = [
    ("skip", 1, 1, "this path ends in skip: it must end in a return"),
    ("x := 1", 1, 1, "this path ends in an assignment"),
    ("if b then return 1", 1, 1, "nothing is returned when this guard is false"),
    ("if b then return 1 else y := 1", 1, 25, "this path ends in an assignment"),
    ("return 1; return 2", 1, 1, "a return is followed by line 1"),
    ("return 1; skip", 1, 1, "a return is followed"),
    ("if b then return 1;\nreturn 0", 1, 11, "put what follows into the other branch"),
    ("if b then { y := 1; return y } else y := 2; return y", 1, 21, "a return is followed"),
    ("for i = 1..1 do return i; return 1", 1, 17, "a return inside a loop"),
    ("if b then return p = 1 else return q = 1", 1, 29, "returns 'q', but line 1 returns 'p'"),
    ("if b then return p = 1 else return 1", 1, 29, "returns one unnamed value"),
    ("y := y + 1; return y", 1, 6, "'y' is used before it is assigned on line 1"),
    ("if b then y := 1; return y", 1, 26, "only one branch of the 'if' on line 1"),
    ("if b then\ny := 1 else z := 2;\nreturn y + z", 3, 8, "'y' may be undefined here"),
    ("if b then y := 1\nelse z := y; return 1", 2, 11, "assigned on line 1, but not on the path"),
    ("for i = 1..0 do y := 1; return y", 1, 32, "inside the loop, which may not run"),
    ("for i = 1..2 do for j = 1..i do y := 1; return y", 1, 48, "loop, which may not run"),
    ("for i = 1..2 do skip; return i", 1, 30, "loop variable 'i' has no value outside its loop"),
    ("for i = 1..2 do i := 3; return 1", 1, 1, "loop variable 'i' is an assigned variable too"),
    ("for J = 1..2 do skip; return 1", 1, 1, "loop variable 'J' is a constant too"),
    ("for i = 1..2 do for i = 1..2 do skip; return 1", 1, 17, "an enclosing loop variable"),
    ("for i = 1..x do skip; return 1", 1, 12, "'x' is not a constant (constants here: J)"),
    ("for i = 1..J/2 do skip; return 1", 1, 13, "must be an integer, not 3/2"),
    ("for i = 1..2/(J - 3) do skip; return 1", 1, 13, "division by zero"),
    ("for i = 1..relu(2) do skip; return 1", 1, 12, "use numbers, constants"),
    ("for i = 1..2 do for j = 1..i+x do skip; return 1", 1, 30, "'x' is not a constant"),
    ("return d[k]", 1, 10, "an index must be constant: 'k' is not a constant"),
    ("J := 3; return J", 1, 1, "'J' is a constant and cannot be assigned"),
    ("return J.x", 1, 8, "'J' is a number and has no fields"),
    ("program f(x: Int) { x := 1; return x }", 1, 21, "'x' is an input and cannot be assigned"),
    ("program f(age: Int) { return aeg }", 1, 30, "did you mean 'age'?"),
    ("program f(x: Int, x: Int) { return x }", 1, 19, "parameter 'x' is declared twice"),
    ("program f(J: Int) { return J }", 1, 11, "both a parameter and a constant"),
    ("program f(d: Real[x]) { return 1 }", 1, 19, "'x' is not a constant"),
    ("program f(d: Real[J - 3]) { return 1 }", 1, 21, "one element or more, not 0"),
    ("program f(i: Int) { for i = 1..2 do skip; return 1 }", 1, 21, "'i' is an input too"),
]


@pytest.mark.parametrize("text", ACCEPTED)
def test_accepted(text: str) -> None:
    check_program(parse_program(text), constants={"J": 3})


@pytest.mark.parametrize(("text", "line", "column", "message"), REFUSED)
def test_refused(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(LanguageError) as caught:
        check_program(parse_program(text, "m.cfl"), constants={"J": 3})
    assert message in str(caught.value)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_the_first_five_violations_are_listed_and_the_rest_counted() -> None:
    text = "program f() {\n" + "".join(f"  y{i} := x{i};\n" for i in range(8)) + "  return 1\n}"
    with pytest.raises(LanguageError) as caught:
        check_program(parse_program(text, "m.cfl"))
    lines = str(caught.value).splitlines()
    assert [line.split(" ")[0] for line in lines] == [
        *(f"m.cfl:{line}:9:" for line in range(2, 7)),
        "…",
    ]
    assert lines[-1] == "… and 3 more"


def test_an_undefined_variable_is_reported_once() -> None:
    with pytest.raises(LanguageError) as caught:
        check_program(parse_program("program f() { y := x; z := x; return x }"))
    assert len(str(caught.value).splitlines()) == 1


def test_given_inputs_are_all_there_is() -> None:
    program = parse_program("return factual.age + x")
    check_program(program, inputs=["factual", "x"])
    with pytest.raises(LanguageError, match="'x' is neither an input nor assigned"):
        check_program(program, inputs=["factual"])
    with pytest.raises(LanguageError, match="'x' is an input and cannot be assigned"):
        check_program(parse_program("x := 1; return x"), inputs=["x"])
    extended = parse_program("program f(x: Real) { return x - factual.x }")
    check_program(extended, inputs=["factual"])
    with pytest.raises(LanguageError, match="'factual' is neither"):
        check_program(extended)


# -- against all paths -----------------------------------------------------------------------------

VARIABLES = ("x", "y")
READS = st.sampled_from(["1", *VARIABLES, "b"]).map(
    lambda name: ast.Number(Fraction(1)) if name == "1" else ast.Name((name,))
)
SIMPLE = st.one_of(
    st.builds(ast.Skip),
    st.builds(ast.Assign, st.sampled_from(VARIABLES), READS),
    st.builds(ast.Assign, st.sampled_from(VARIABLES), READS),
    st.builds(lambda value: ast.Return((ast.Output(None, value),)), READS),
)


def _blocks(inner: st.SearchStrategy[ast.Command]) -> st.SearchStrategy[ast.Command]:
    returning = st.builds(
        lambda before, value: ast.sequence((before, ast.Return((ast.Output(None, value),)))),
        inner,
        READS,
    )
    return st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(ast.sequence),
        st.builds(ast.If, READS, inner, inner),
        st.builds(ast.If, READS, returning, returning),
        returning,
    )


LOOP_FREE = st.recursive(SIMPLE, _blocks, max_leaves=7)


def _loop(last: int, body: ast.Command) -> ast.Command:
    return ast.For("i", ast.Number(Fraction(1)), ast.Number(Fraction(last)), body)


WITH_LOOPS = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(_blocks(inner), st.builds(_loop, st.integers(0, 2), inner)),
    max_leaves=6,
)


def paths(commands: tuple[ast.Command, ...]) -> Iterator[tuple[ast.Node, ...]]:
    """Yield every path, whatever guards evaluate to: the guards and simple commands on it."""
    if not commands:
        yield ()
        return
    first, rest = commands[0], commands[1:]
    if isinstance(first, ast.Sequence):
        yield from paths(first.commands + rest)
    elif isinstance(first, ast.If):
        for branch in (first.then, first.otherwise):
            yield from ((first.guard, *path) for path in paths((branch, *rest)))
    else:
        yield from ((first, *path) for path in paths(rest))


def is_good(path: tuple[ast.Node, ...]) -> bool:
    """One return, at the end; every variable but the input b assigned before it is read."""
    defined = {"b"}
    for node in path:
        value: ast.Expr | None = None
        if isinstance(node, ast.Assign):
            value = node.value
        elif isinstance(node, ast.Return):
            value = node.outputs[0].value
        elif isinstance(node, ast.Expr):
            value = node
        if value is not None and any(name.root not in defined for name in names(value)):
            return False
        if isinstance(node, ast.Assign):
            defined.add(node.target)
    returns = [isinstance(node, ast.Return) for node in path]
    return returns.count(True) == 1 and returns[-1]


def accepts(program: ast.Program) -> bool:
    try:
        check_program(program, inputs=["b"])
    except LanguageError:
        return False
    return True


@given(LOOP_FREE)
@settings(max_examples=500, deadline=None)
def test_accepted_are_exactly_the_programs_whose_paths_are_all_good(body: ast.Command) -> None:
    good = all(is_good(path) for path in paths((body,)))
    assert accepts(ast.Program(None, (), body)) == good


@given(WITH_LOOPS)
@settings(max_examples=300, deadline=None)
def test_every_path_of_an_accepted_program_with_loops_is_good(body: ast.Command) -> None:
    program = ast.Program(None, (), body)
    if accepts(program):
        assert all(is_good(path) for path in paths((unroll_program(program).body,)))

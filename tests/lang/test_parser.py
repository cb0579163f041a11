"""Texts and their syntax trees; texts that do not parse and what is said about them."""

from __future__ import annotations

import logging
import pickle
from fractions import Fraction
from importlib.resources import files

import lark
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfxc.errors import CfxcError, DataTypeError, LanguageError
from cfxc.lang import ast, parse_expression, parse_program, print_program
from cfxc.lang.ast import (
    ArraySort,
    Assign,
    Binary,
    Boolean,
    Call,
    CategorySort,
    For,
    If,
    Index,
    Label,
    Member,
    Missing,
    Name,
    Number,
    Output,
    Parameter,
    Program,
    Return,
    ScalarSort,
    Sequence,
    Skip,
    Unary,
)
from cfxc.lang.literals import KEYWORDS

A, B, C, X = (Name((name,)) for name in "abcx")
ONE, TWO, THREE = (Number(Fraction(value)) for value in (1, 2, 3))
SKIP = Skip()


def grammar_text() -> str:
    return files("cfxc.lang").joinpath("grammar.lark").read_text(encoding="utf-8")


EXPRESSIONS = [
    # numbers are exact
    ("0.1", Number(Fraction(1, 10))),
    ("1e-3", Number(Fraction(1, 1000))),
    ("2.50E+2", Number(Fraction(250))),
    ("0x1.8p+1", THREE),
    ("0x1F", Number(Fraction(31))),
    (float.hex(0.1), Number(Fraction(0.1))),
    ("1/3", Number(Fraction(1, 3))),
    ("-1/3", Number(Fraction(-1, 3))),
    ("-(1/3)", Number(Fraction(-1, 3))),
    ("--3", THREE),
    ("6/2/3", ONE),
    ("x/2/3", Binary("/", Binary("/", X, TWO), THREE)),
    ("1/3*x", Binary("*", Number(Fraction(1, 3)), X)),
    # literals and names
    ('"a"', Label("a")),
    (r'"a\"b\\\n\u00e9\x41"', Label('a"b\\\néA')),
    ("true", Boolean(True)),
    ("false", Boolean(False)),
    ("none", Missing()),
    ("`capital-gain`", Name(("capital-gain",))),
    ("`age`", Name(("age",))),
    ("`if`", Name(("if",))),
    (r"`a\`b`", Name(("a`b",))),
    ("factual.age", Name(("factual", "age"))),
    ("x.`capital-gain`", Name(("x", "capital-gain"))),
    ("x . y", Name(("x", "y"))),
    ("iffy", Name(("iffy",))),
    ("max", Name(("max",))),
    ("delta[2*i]", Index(Name(("delta",)), Binary("*", TWO, Name(("i",))))),
    ("x.d[1]", Index(Name(("x", "d")), ONE)),
    # functions
    ("relu(x)", Call("relu", (X,))),
    ("max(x, 1, 2)", Call("max", (X, ONE, TWO))),
    ("ite(a, 1, 2)", Call("ite", (A, ONE, TWO))),
    # precedence
    ("a + b * c", Binary("+", A, Binary("*", B, C))),
    ("(a + b) * c", Binary("*", Binary("+", A, B), C)),
    ("a - b - c", Binary("-", Binary("-", A, B), C)),
    ("a - -3", Binary("-", A, Number(Fraction(-3)))),
    ("-a * b", Binary("*", Unary("-", A), B)),
    ("!a == b", Binary("==", Unary("!", A), B)),
    ("a<-1", Binary("<", A, Number(Fraction(-1)))),
    ("a || b && c", Binary("||", A, Binary("&&", B, C))),
    ("a & b", Binary("&&", A, B)),
    ("a -> b -> c", Binary("->", A, Binary("->", B, C))),
    ("a<->b<->c", Binary("<->", Binary("<->", A, B), C)),
    ("a -> (b <-> c)", Binary("->", A, Binary("<->", B, C))),
    ("a -> b >= 1", Binary("->", A, Binary(">=", B, ONE))),
    # chains and sets
    ("1 <= x < 2", Binary("&&", Binary("<=", ONE, X), Binary("<", X, TWO))),
    ("(a < b) == c", Binary("==", Binary("<", A, B), C)),
    (
        "a < b < c < x",
        Binary("&&", Binary("&&", Binary("<", A, B), Binary("<", B, C)), Binary("<", C, X)),
    ),
    ('x in {"a", none}', Member(X, (Label("a"), Missing()))),
    (
        "x + 1 in {1/3, -1, true}",
        Member(Binary("+", X, ONE), (Number(Fraction(1, 3)), Number(Fraction(-1)), Boolean(True))),
    ),
    ("!(x in {1})", Unary("!", Member(X, (ONE,)))),
]


@pytest.mark.parametrize(("text", "tree"), EXPRESSIONS, ids=[text for text, _ in EXPRESSIONS])
def test_expression(text: str, tree: ast.Expr) -> None:
    assert parse_expression(text) == tree


def assign(name: str, value: ast.Expr = ONE) -> Assign:
    return Assign(name, value)


COMMANDS = [
    ("skip", SKIP),
    ("x := 1", assign("x")),
    ("`if` := 1", assign("if")),
    ("x := 1; y := 1", Sequence((assign("x"), assign("y")))),
    ("x := 1;\n\n# note; note\ny := 1;\r\n", Sequence((assign("x"), assign("y")))),
    ("{ { x := 1; }; { y := 1; z := 1 } }", Sequence((assign("x"), assign("y"), assign("z")))),
    ("{ }", SKIP),
    ("if a then x := 1", If(A, assign("x"), SKIP)),
    ("if a then x := 1 else y := 1", If(A, assign("x"), assign("y"))),
    ("if a then x := 1; y := 1", Sequence((If(A, assign("x"), SKIP), assign("y")))),
    ("if a then if b then x := 1 else y := 1", If(A, If(B, assign("x"), assign("y")), SKIP)),
    ("if a then { if b then x := 1 } else y := 1", If(A, If(B, assign("x"), SKIP), assign("y"))),
    (
        "if a then for i = 1..2 do if b then skip else skip else skip",
        If(A, For("i", ONE, TWO, If(B, SKIP, SKIP)), SKIP),
    ),
    (
        "if a then x := 1 else if b then y := 1 else z := 1",
        If(A, assign("x"), If(B, assign("y"), assign("z"))),
    ),
    ("for i = 1..2 do x := i", For("i", ONE, TWO, assign("x", Name(("i",))))),
    ("for i = a..2*b do skip", For("i", A, Binary("*", TWO, B), SKIP)),
    ("return 1", Return((Output(None, ONE),))),
    ("return a", Return((Output(None, A),))),
    ("return a = 1", Return((Output("a", ONE),))),
    ("return label = a, score = b", Return((Output("label", A), Output("score", B)))),
]


@pytest.mark.parametrize(("text", "body"), COMMANDS, ids=[text for text, _ in COMMANDS])
def test_command(text: str, body: ast.Command) -> None:
    assert parse_program(text) == Program(None, (), body)


def test_program_with_header() -> None:
    text = 'program `my model`(x1: Bool, age: Int, s: Category{"a", none}, d: Real[2*J]) { skip }'
    parameters = (
        Parameter("x1", ScalarSort("Bool")),
        Parameter("age", ScalarSort("Int")),
        Parameter("s", CategorySort((Label("a"), Missing()))),
        Parameter("d", ArraySort(ScalarSort("Real"), Binary("*", TWO, Name(("J",))))),
    )
    assert parse_program(text) == Program("my model", parameters, SKIP)
    assert parse_program("program f() { }") == Program("f", (), SKIP)
    assert parse_program("\ufeffprogram f() { }") != parse_program("skip")


def test_positions() -> None:
    program = parse_program("x := 1;\n  if a <= b then\n    return -c * 2", "m.cfl")
    assert program.source == "m.cfl"
    assert isinstance(program.body, Sequence)
    first, second = program.body.commands
    assert isinstance(second, If)
    assert isinstance(second.then, Return)
    product = second.then.outputs[0].value
    assert isinstance(product, Binary)
    places = [first, second, second.guard, second.then, product, product.left]
    assert [(node.line, node.column) for node in places] == [
        *((1, 1), (2, 3), (2, 8), (3, 5), (3, 15), (3, 12)),
    ]


def test_positions_are_no_part_of_equality() -> None:
    one, other = parse_program("x:=1;return x"), parse_program("x := 1;\nreturn x", "other")
    assert one == other
    assert hash(one) == hash(other)
    assert one != parse_program("x := 2; return x")
    assert Name(("a", "b")) != Name(("a",))
    assert Number(Fraction(1)) != Boolean(True)
    assert parse_expression("max(max(a, b))") != parse_expression("max(max(a), b)")


def test_trees_have_a_repr_and_survive_pickling() -> None:
    program = parse_program("program f(x: Real) { if x < 1 then return a = 1 else return a = 2 }")
    assert eval(repr(program), {**vars(ast), "Fraction": Fraction}) == program
    assert pickle.loads(pickle.dumps(program)) == program


ERRORS = [
    ("x := ", 1, 5, "found the end of the text, expected an expression"),
    ("if x thn y := 1", 1, 6, "found 'thn', expected an operator or 'then'"),
    ("x = 3", 1, 3, "to assign, write ':='"),
    ("if x = 3 then skip", 1, 6, "to compare, write '=='"),
    ("if a then x:=1; y:=2 else z:=3", 1, 22, "group the commands of a branch with braces"),
    ("return a, b", 1, 9, "name the outputs: return label = e1, score = e2"),
    ("return a = 1, a = 2", 1, 1, "distinct names"),
    ("x := 1\ny := 2", 2, 1, "commands are separated by ';'"),
    ("x := a and b", 1, 8, "'and' is written '&&'"),
    ("x := a or b", 1, 8, "'or' is written '||'"),
    ("x := a | b", 1, 8, "'or' is written '||'"),
    ("if not x then skip", 1, 8, "'not' is written '!'"),
    ("if a then skip elif b then skip", 1, 16, "'else if' is two words"),
    ("x := a -> b <-> c", 1, 13, "not mixed without parentheses"),
    ("x := a <-> b -> c", 1, 14, "not mixed without parentheses"),
    ("x := foo(1)", 1, 6, "unknown function 'foo'; there are abs, max"),
    ("x := mxa(1)", 1, 6, "unknown function 'mxa'; did you mean 'max'?"),
    ("x := ite(a, b)", 1, 6, "ite takes 3 arguments, 2 given"),
    ("x := abs(a, b)", 1, 6, "abs takes 1 argument, 2 given"),
    ("x := if a then 1 else 2", 1, 6, "write ite(b, e1, e2)"),
    ("x := .5", 1, 6, "write a digit before and after a decimal point"),
    ("x := 1.", 1, 7, "write a digit before and after a decimal point"),
    ("x := 'a'", 1, 6, 'labels are written "a"'),
    ('x := "abc\ny := "d"', 1, 6, "this label is not closed on its line"),
    ("x := `abc", 1, 6, "this name is not closed on its line"),
    (r"x := `a\q`", 1, 6, r"unknown escape '\q'"),
    (r'x := "\u12"', 1, 6, r"unknown escape '\u'"),
    ("x := \u00a01", 1, 6, "found U+00A0, which is no part of the language"),
    ("x := café", 1, 9, "between back-quotes"),
    ("x := 1 / 0", 1, 8, "division by zero"),
    ("x := y / (0.0)", 1, 8, "division by zero"),
    ("x := 1e999999", 1, 6, "an exponent is at most 10000"),
    ("x := " + "1" * 5000, 1, 6, "a numeral has at most 4000 digits"),
    ("x := max()", 1, 10, "found ')', expected an expression"),
    ("x := (1 + 2", 1, 12, "found the end of the text, expected ')'"),
    ("x := y in {}", 1, 12, "found '}', expected an expression"),
    ("x := y in {z}", 1, 8, "a set holds one literal or more"),
    ("then := 3", 1, 1, "'then' is a reserved word; as a name it is written `then`"),
    ("x := y.if", 1, 8, "'if' is a reserved word"),
    ("for i in 1..3 do skip", 1, 7, "a loop is written: for i = 1..n do"),
    ("for i = 1 to 3 do skip", 1, 11, "a loop is written: for i = 1..n do"),
    ("{ x := 1", 1, 9, "found the end of the text, expected '}'"),
    ("x[1] := 2", 1, 2, "found '[', expected ':='"),
    ("x.y := 2", 1, 2, "found '.', expected ':='"),
    ("x := 3;; y := 1", 1, 8, "found ';', expected a command or the end of the text"),
    ("", 1, 1, "found the end of the text, expected a command"),
    ("program f(x: Reel) { skip }", 1, 14, "unknown sort 'Reel'; there are Bool, Int, Real"),
    ('program f(x: Sector{"a"}) { skip }', 1, 14, "only Category has labels"),
    ('program f(x: Category{"a", "a"}) { skip }', 1, 28, '"a" is listed twice'),
    ("program f(x: Category{1, none, 0.5, 1.0}) { skip }", 1, 37, "1 is listed twice"),
    ("program f(x: Category{a}) { skip }", 1, 14, "texts, none, numbers, Booleans"),
    ("program f(x) { skip }", 1, 12, "found ')', expected ':'"),
    ("program f() { skip } skip", 1, 22, "found 'skip', expected the end of the text"),
]


@pytest.mark.parametrize(("text", "line", "column", "message"), ERRORS)
def test_error(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(LanguageError) as caught:
        parse_program(text, "model.cfl")
    error = caught.value
    assert message in str(error)
    assert (error.line, error.column) == (line, column)
    assert str(error).startswith(f"model.cfl:{line}:{column}: ")
    assert len(str(error).splitlines()) <= 4


def test_error_shows_the_place() -> None:
    with pytest.raises(LanguageError) as caught:
        parse_program("x := 1;\n\ty := x thn 3;\nz := 1", "model.cfl")
    assert str(caught.value) == (
        "model.cfl:2:9: found 'thn', expected an operator, the end of the text or ';'\n"
        "   y := x thn 3;\n"
        "          ^\n"
        "  commands are separated by ';'"
    )


@pytest.mark.parametrize("ahead", [0, 10, 60, 500])
@pytest.mark.parametrize("behind", [0, 10, 60, 500])
def test_error_in_a_long_line_shows_a_window(ahead: int, behind: int) -> None:
    text = "x := " + "1 + " * ahead + "@" + " + 1" * behind
    with pytest.raises(LanguageError) as caught:
        parse_program(text)
    _, shown, caret, *_ = str(caught.value).split("\n")
    assert len(shown) <= 84
    assert shown[caret.index("^")] == "@"


def test_expression_errors_name_their_source() -> None:
    with pytest.raises(LanguageError, match=r"^constraint 2:1:5: found 'b', expected"):
        parse_expression("age b", "constraint 2")
    with pytest.raises(LanguageError, match="expected an expression"):
        parse_expression("")
    with pytest.raises(LanguageError, match="found ';', expected"):
        parse_expression("a; b")


def test_only_texts_are_parsed() -> None:
    with pytest.raises(DataTypeError, match="constraint 1: expected a text, got int"):
        parse_expression(3, "constraint 1")  # type: ignore[arg-type] # the point of the test


@pytest.mark.parametrize(
    "build",
    [
        lambda: Unary("-", ONE),
        lambda: Binary("/", ONE, TWO),
        lambda: Binary("/", X, Number(Fraction(0))),
        lambda: Sequence((SKIP,)),
        lambda: Sequence((SKIP, Sequence((SKIP, SKIP)))),
        lambda: Member(X, (A,)),
        lambda: Member(X, ()),
        lambda: Call("sin", (X,)),
        lambda: Call("max", ()),
        lambda: Return(()),
        lambda: Return((Output(None, A), Output("b", B))),
        lambda: Program(None, (Parameter("x", ScalarSort("Int")),), SKIP),
        lambda: Number(0.5),  # type: ignore[arg-type] # the point of the test
    ],
)
def test_trees_that_no_text_stands_for_cannot_be_built(build) -> None:  # type: ignore[no-untyped-def] # a lambda
    with pytest.raises(CfxcError):
        build()


def test_grammar_has_no_conflicts(caplog: pytest.LogCaptureFixture) -> None:
    def conflicts(grammar: str) -> list[str]:
        caplog.clear()
        starts = [name for name in ("program_text", "expression_text") if name in grammar]
        lark.Lark(grammar, start=starts, parser="lalr", lexer="basic", debug=True)
        return [record.message for record in caplog.records]

    lark.logger.addHandler(caplog.handler)
    level = lark.logger.level
    lark.logger.setLevel(logging.DEBUG)
    try:
        ambiguous = 'program_text: "a" | "i" program_text | "i" program_text "e" program_text'
        assert any("conflict" in message.lower() for message in conflicts(ambiguous))
        assert conflicts(grammar_text()) == []
    finally:
        lark.logger.setLevel(level)
        lark.logger.removeHandler(caplog.handler)


def test_keywords_are_those_of_the_grammar() -> None:
    parser = lark.Lark(grammar_text(), start="program_text", parser="lalr", lexer="basic")
    words = {terminal.pattern.value for terminal in parser.terminals}
    assert {word for word in words if word.isalpha()} == KEYWORDS


TOKENS = """
; := = .. . , -> <-> || && | & < == + - * / ! ( ) { } [ ] x y `ab` 1 0.5 0x1.8p+1 "a" " é @ # if
then else for do in return skip true none program max ite Real Int Category
"""


def outcome(text: str) -> Program | LanguageError:
    try:
        return parse_program(text)
    except LanguageError as error:
        return error


@given(st.lists(st.sampled_from([*TOKENS.split(), "\n", "\r\n\t"]), max_size=25).map(" ".join))
@settings(deadline=None)
def test_any_text_parses_or_is_refused_with_a_short_message(text: str) -> None:
    result = outcome(text)
    if isinstance(result, Program):
        assert parse_program(print_program(result)) == result
    else:
        assert len(str(result).splitlines()) <= 4
        assert 1 <= result.line <= text.count("\n") + 1
        assert result.column >= 1

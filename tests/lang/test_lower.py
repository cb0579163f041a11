"""Programs mean what an interpreter of their syntax trees says; errors have places."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfxc.errors import InvalidInputError, LanguageError
from cfxc.ir import BOOL, INT, REAL, If, Program, Sort, category, evaluate, verify, walk
from cfxc.lang import (
    ast,
    compile_constraint,
    compile_program,
    lower_expression,
    lower_program,
    parse_expression,
    parse_program,
    print_program,
)
from tests.lang.core_programs import HEADER, INPUTS, VALUES, J, core_programs, interpret

F = Fraction

# -- programs --------------------------------------------------------------------------------------


@settings(max_examples=100)
@given(core_programs(), st.lists(VALUES, min_size=1, max_size=4))
def test_programs_do_what_the_interpreter_does(
    program: ast.Program, rows: list[dict[str, Any]]
) -> None:
    lowered = lower_program(program, inputs=INPUTS, constants={"J": J})
    verify(lowered)
    for row in rows:
        assert evaluate(lowered, row) == interpret(program, row)


@settings(max_examples=25)
@given(core_programs())
def test_text_and_header_change_nothing(program: ast.Program) -> None:
    bare = lower_program(program, inputs=INPUTS, constants={"J": J})
    text = f"{HEADER} {{\n{print_program(program)}}}"
    assert compile_program(text, constants={"J": J}) == bare


def assigned(program: Program) -> list[str]:
    return [
        name
        for let in program.lets()
        if not (name := let.name).startswith("%")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "names", "value"),
    [
        ("x := n; x := x + 1; x := x * 2; return x", ["x.1", "x.2"], 8),
        ("x := 1; x := x + 1; return x", [], 2),
        ("x := n; return x", [], 3),
        ("if n > 0 then x := 1 else x := 2; return x", ["x", "x"], 1),
        ("if n > 0 then x := n + 1 else skip; return n", [], 3),
        ("x := n + 1; if n > 3 then x := x * 2; return x", ["x", "x.1", "x.1"], 4),
        ("if n > 2 then { x := n + 1; x := x * 2 } else x := 0; return x", ["x.1", "x", "x"], 8),
        ("if n > 2 then return n + 5 else return 0", ["result", "result"], 8),
        (
            "if n > 2 then if n > 3 then x := 1 else x := 2 else x := 3; return x",
            ["x", "x", "x"],
            2,
        ),
        ("result := n + 1; return result + 1", ["result", "result.1"], 5),
    ],
)
def test_single_assignment(text: str, names: list[str], value: int) -> None:
    program = compile_program(text, inputs={"n": INT})
    assert assigned(program) == names
    assert evaluate(program, {"n": 3}) == {"result": value}


def test_the_outermost_op_of_an_assignment_gets_the_name() -> None:
    program = compile_program("y := 2 * x + 1; return y * y", name="f", inputs={"x": REAL})
    assert str(program) == (
        "program f(x: Real) {\n"
        '  %0: Real = mul(2, x) @ "program:1"\n'
        '  y: Real = add(%0, 1) @ "program:1"\n'
        '  result: Real = mul(y, y) @ "program:1"\n'
        "  return result = result\n"
        "}\n"
    )


def test_inputs_outputs_and_names() -> None:
    text = "program f(d: Real[J], `a b`: Int) { return d = d[2] + `a b`, e = d[1] }"
    program = compile_program(text, constants={"J": 3})
    assert program.name == "f"
    assert program.inputs == (("d.1", REAL), ("d.2", REAL), ("d.3", REAL), ("a b", INT))
    row = {"d.1": F(1, 2), "d.2": 1, "d.3": 0, "a b": 4}
    assert evaluate(program, row) == {"d": 5, "e": F(1, 2)}
    assert compile_program(text, constants={"J": 3}, name="g").name == "g"


def test_inputs_without_a_header() -> None:
    inputs = {"x.age": INT, "factual.age": INT, "delta.1": REAL}
    program = compile_program("return x.age - factual.age + delta[1]", inputs=inputs)
    assert dict(program.inputs) == inputs
    row = {"x.age": 5, "factual.age": 2, "delta.1": F(1, 2)}
    assert evaluate(program, row) == {"result": F(7, 2)}


def test_fixed_inputs_are_numbers() -> None:
    program = lower_program(
        parse_program("program f(w: Real[2], x: Real) { return w[1] * x + w[2] * x }"),
        fixed={"w.1": F(1), "w.2": F(0)},
    )
    assert program.inputs == (("x", REAL),)
    assert list(program.lets()) == []
    assert evaluate(program, {"x": F(3)}) == {"result": 3}


def test_only_what_the_outputs_need_is_kept() -> None:
    text = "y := x * x; if x > 0 then z := y else z := 1; return x + 1"
    assert len(list(walk(compile_program(text, inputs={"x": REAL}).body))) == 1


@pytest.mark.parametrize(
    ("text", "sort"),
    [
        ("return 1", INT),
        ("return 2.0", INT),
        ("return 0.5", REAL),
        ("return n + 1", INT),
        ("return n * 0.5", REAL),
        ("return n / 2", REAL),
        ("return real(n)", REAL),
        ("return real(true)", REAL),
        ("return max(n, r, 1)", REAL),
        ("return abs(n)", INT),
        ("return round32(n)", REAL),
        ("return n < 2", BOOL),
        ("return ite(n < 2, n, 0.5)", REAL),
        ("return k + 1", REAL),
        ("return g + 1", INT),
        ("if n > 1 then return 1 else return 0.5", REAL),
        ("if n > 1 then { x := 1; y := x } else { x := 0.5; y := 2 }; return y + 0 * x", REAL),
        ('if n > 1 then return "a" else return "b"', category("a", "b")),
        ('if n > 1 then return none else return "b"', category(None, "b")),
        ('if n > 1 then return 1 else return "b"', category(1, "b")),
        ('if n > 1 then return "u" else return s', category("u", "v", "w")),
        ('return ite(n > 1, s, "w")', category("u", "v", "w")),
        ('return ite(n > 1, "x", ite(n > 2, "y", "x"))', category("x", "y")),
        ('x := 1; y := x; if n > 1 then y := "b"; return y', category("b", 1)),
        ("if n > 1 then return k else return 2", category(1, 2, 0.5)),
        ("if n > 1 then return k else return 0", REAL),
        ("if n > 1 then return g else return n", INT),
        ("if n > 1 then return g else return k", REAL),
        ("return ite(n > 1, g, k)", REAL),
        ("return ite(n > 1, ite(m == none, g, 3), g)", INT),
        ("return ite(n > 1, 2, k)", category(1, 2, 0.5)),
        ("return ite(n > 1, 0, g)", category(0, 1)),
        ("return ite(n > 1, 0.5, g)", REAL),
        ("return ite(n > 1, ite(n > 2, 3, 1), k)", REAL),
        ("x := 1; if n > 1 then x := k; return x", category(1, 2, 0.5)),
        ('c := s; c := "v"; return ite(c == "u", c, "w")', category("u", "v", "w")),
        ("return m", category(True, False, None)),
        ('c := "u"; if c == s then c := s; return c', category("u", "v", "w")),
    ],
)
def test_sorts_of_outputs(text: str, sort: Sort) -> None:
    program = compile_program(text, inputs=INPUTS)
    verify(program)
    assert program.output_sorts["result"] == sort


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("return agee + 1", 1, 8, "'agee' is neither an input nor assigned anywhere"),
        ("return x.n", 1, 8, "neither an input nor assigned"),
        ("return n + \nb", 2, 1, "neither an input nor assigned"),
        ("return n + s", 1, 12, "'+' needs a number, not s (Category{"),
        ('return n + "u"', 1, 12, "'+' needs a number, not the label \"u\""),
        ("return -m", 1, 9, "'-' needs a number, not m"),
        ("return abs(n > 1)", 1, 14, "abs needs a number, not n > 1 (Bool)"),
        ("return n && true", 1, 8, "'&&' needs a truth value, not n (Int)"),
        ("return !r", 1, 9, "'!' needs a truth value, not r (Real)"),
        ("return s || true", 1, 8, "compare it with a label"),
        ("if n then return 1 else return 2", 1, 4, "a guard needs a truth value, not n (Int)"),
        ("return ite(n, 1, 2)", 1, 12, "the first argument of ite needs a truth value"),
        ("return ite(n > 1, 1, true)", 1, 8, "ite chooses between 1 (Int) and true (Bool)"),
        ("return n == true", 1, 10, "n (Int) is compared with true (Bool)"),
        ('return n == "u"', 1, 10, 'n (Int) is compared with the label "u"'),
        ('return s == "x"', 1, 13, 'no label equals "x": the labels are "u", "v", "w"'),
        ('return s == "W"', 1, 13, 'did you mean "w"?'),
        ("return s == none", 1, 13, 'the value is never missing; its labels are "u", "v", "w"'),
        ("return s == 1", 1, 13, "no label equals 1"),
        ('return k == "1"', 1, 13, "did you mean 1?"),
        ("return m == 1", 1, 13, "no label equals 1: the labels are true, false, none"),
        ("return g == true", 1, 13, "no label equals true: the labels are 0, 1"),
        ("return s == m", 1, 10, "is compared with m (Category{"),
        ("return s < 2", 1, 8, "'<' needs a number, not s"),
        ('return s in {"u",\n "z"}', 2, 2, 'no label equals "z"'),
        ("return d + 1", 1, 8, "'d' is an array: write one of its elements, such as d[1]"),
        ("return d[4]", 1, 8, "there is no array 'd' with an element 4"),
        ("return n[1]", 1, 8, "there is no array 'n' with an element 1"),
        ("x := 1; x := true; return x + 1", 1, 27, "'+' needs a number, not x (Bool)"),
        ("if g then x := 1 else x := true; return x", 1, 28, "true (Bool) stands where Int"),
        ('if g then x := n else x := "u"; return x', 1, 28, 'the label "u" stands where Int'),
        ('if g then x := s else x := "q"; return x', 1, 28, 'no label equals "q"'),
        ('c := "u"; return c == "v"', 1, 23, 'no label equals "v": the labels are "u"'),
        ("return 1 / (n - n)", 0, 0, ""),
        ("return n / (2 - 2)", 1, 10, "division by zero"),
        ("return n / 0", 1, 10, "division by zero"),
        ("return round32(1e60)", 1, 8, "overflows float32"),
    ],
)
def test_errors_in_programs(text: str, line: int, column: int, message: str) -> None:
    if not line:
        verify(compile_program(text, inputs=INPUTS))
        return
    with pytest.raises(LanguageError) as caught:
        compile_program(text, inputs=INPUTS, source="p.cfl")
    assert message in caught.value.message
    assert (caught.value.line, caught.value.column) == (line, column)
    assert caught.value.message.startswith(f"p.cfl:{line}:{column}: ")


def test_several_errors_at_once() -> None:
    with pytest.raises(LanguageError) as caught:
        compile_program("x := n + s;\ny := !n;\nreturn x + y", inputs=INPUTS)
    lines = caught.value.message.splitlines()
    assert [line.split(": ")[0] for line in lines] == [
        "program:1:10",
        "program:2:7",
        "program:3:12",
    ]


# -- constraints -----------------------------------------------------------------------------------

FEATURES: dict[str, Sort] = {
    "age": INT,
    "loan": REAL,
    "income": REAL,
    "phd": category(0, 1),
    "married": category(False, True),
    "sector": category("a", "b", "1", None),
    "level": category("low", "mid", "high"),
    "grade": category(1, 2, 4),
    "capital-gain": INT,
    "capital.loss": INT,
    "x": INT,
}
FACTUAL: dict[str, Any] = {
    "age": 30, "loan": F(10), "income": F(4), "phd": 0, "married": True, "sector": "a",
    "level": "mid", "grade": 2, "capital-gain": 5, "capital.loss": 6, "x": 7,
}  # fmt: skip


def holds(text: str, **changes: Any) -> bool:
    """Whether the constraint holds where the counterfactual is the factual with ``changes``."""
    program = compile_constraint(text, FEATURES, ordered=["level"])
    verify(program)
    assert program.output_sorts == {"holds": BOOL}
    row = {**FACTUAL, **changes} | {f"factual.{name}": value for name, value in FACTUAL.items()}
    return bool(evaluate(program, {name: row[name] for name, _ in program.inputs})["holds"])


@pytest.mark.parametrize(
    ("text", "changes", "expected"),
    [
        ("age >= factual.age", {"age": 30}, True),
        ("age >= factual.age", {"age": 29}, False),
        ("x.age > 29 && x == 7", {}, True),
        ("x.x == 7 && x.x == factual.x", {"x": 8}, False),
        ("loan <= 5 * income", {"loan": F(20)}, True),
        ("loan <= 5 * income", {"loan": F(81, 4)}, False),
        ("phd -> age >= 25", {"phd": 1, "age": 24}, False),
        ("phd -> age >= 25", {"phd": 0, "age": 24}, True),
        ("phd <-> married", {"phd": 1}, True),
        ("phd <-> married", {}, False),
        ("phd == 1 || married == false", {"married": False}, True),
        ("!phd & married", {}, True),
        ("phd + married <= 1", {"phd": 1}, False),
        ("phd == married", {}, False),
        ("phd == (age > 29)", {"phd": 1}, True),
        ("(age > 29) == phd", {}, False),
        ("married == (age > 29) && true == (age > 29)", {}, True),
        ('sector == "a"', {}, True),
        ('"1" == sector', {"sector": "1"}, True),
        ('sector != "a"', {"sector": None}, True),
        ('sector in {"a", none}', {"sector": None}, True),
        ('sector in {"a", "1"}', {"sector": "b"}, False),
        ("sector == none", {}, False),
        ("sector == factual.sector", {}, True),
        ("sector != factual.sector", {"sector": "b"}, True),
        ('sector == ite(phd, "a", "b")', {}, False),
        ('ite(phd, "a", ite(married, "b", none)) == "b"', {}, True),
        ('ite(phd, sector, "b") == "b"', {}, True),
        ("level >= factual.level", {"level": "low"}, False),
        ("level >= factual.level", {"level": "high"}, True),
        ('"low" < level && level <= "mid"', {}, True),
        ("grade >= 3", {"grade": 4}, True),
        ("grade >= 3", {}, False),
        ("grade == 2 && grade <= factual.grade", {}, True),
        ("grade in {1, 4}", {"grade": 4}, True),
        ("grade * 2 == loan - 6", {}, True),
        ("1 <= grade < 4", {"grade": 4}, False),
        ("`capital-gain` < capital.loss", {}, True),
        ("x.`capital-gain` == factual.`capital-gain`", {}, True),
        ("factual.capital.loss == x.`capital.loss`", {"capital.loss": 5}, False),
        ("abs(age - factual.age) <= 3", {"age": 34}, False),
        ("max(age, 40) - min(age, 20, x) == relu(33)", {}, True),
        ("income != 0 -> loan / income <= 3", {"income": F(0)}, True),
        ("income != 0 -> loan / income <= 3", {}, True),
        ("income == 0 || loan / income > 2.5", {}, False),
        ("ite(income == 0, 0, loan / income) > 2 && age > 29", {}, True),
        ("age == 30.0", {}, True),
        ("loan == 0.1", {"loan": F(1, 10)}, True),
        ("sigmoid(age - 30) > 0.4", {}, True),
        ("true", {}, True),
        ("married", {}, True),
        ("age > 3 && false", {}, False),
    ],
)
def test_constraints(text: str, changes: dict[str, Any], expected: bool) -> None:
    assert holds(text, **changes) is expected


def test_inputs_of_a_constraint_are_what_it_uses() -> None:
    program = compile_constraint("x.loan < factual.loan || phd || age > x.age", FEATURES)
    assert [name for name, _ in program.inputs] == ["age", "loan", "phd", "factual.loan"]
    assert dict(program.inputs)["phd"] == category(0, 1)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("ag > 3", 1, "'ag' is unknown; did you mean age?"),
        ("loan > 1 && facutal.age > 3", 13, "'facutal.age' is unknown; did you mean factual.age"),
        ("factual.agee > 3", 1, "did you mean factual.age"),
        ("factual > 3", 1, "'factual' is unknown"),
        ("capital-gain > 3", 1, "`capital-gain`"),
        ("zzz > 3", 1, "'zzz' is unknown; there are age, loan, income, phd, married, sector,"),
        ("age[1] > 3", 1, "there is no array 'age' with an element 1"),
        ("age", 1, "a constraint needs a truth value, not age (Int)"),
        ("1", 1, "a constraint needs a truth value, not 1 (Int)"),
        ("sector", 1, "a constraint needs a truth value, not sector (Category{"),
        ('"a"', 1, 'a constraint needs a truth value, not the label "a"'),
        ('level < "middle"', 9, 'no label equals "middle": the labels are "low", "mid", "high"'),
        ("level < 2", 9, "no label equals 2"),
        ("level < sector", 9, "not sector"),
        ("sector < factual.sector", 1, "'<' needs a number, not sector"),
        ("grade == 3", 10, "no label equals 3: the labels are 1, 2, 4"),
        ("age >= 1 / (3 - 3)", 10, "division by zero"),
        ("age >=", 7, "found the end of the text"),
        ("ite(phd, ite(loan / income > 1, 1, true), 2) == 1", 10, "ite chooses between"),
    ],
)
def test_errors_in_constraints(text: str, column: int, message: str) -> None:
    with pytest.raises(LanguageError) as caught:
        compile_constraint(text, FEATURES, "loan rule", ordered=["level"])
    assert message in caught.value.message
    assert (caught.value.line, caught.value.column) == (1, column)
    assert caught.value.message.startswith(f"loan rule:1:{column}: ")


def test_all_unknown_names_are_listed() -> None:
    with pytest.raises(LanguageError) as caught:
        compile_constraint("aeg > 1 && laon > 2", FEATURES)
    assert "did you mean age?" in caught.value.message
    assert "constraint:1:12: 'laon' is unknown; did you mean loan?" in caught.value.message


@pytest.mark.parametrize("written", ["factual.age", "`factual.age`", "x.factual.age"])
def test_a_feature_that_looks_like_a_factual_value_cannot_be_named(written: str) -> None:
    features = {"age": INT, "factual.age": INT, "x.age": INT}
    with pytest.raises(InvalidInputError, match=r"'factual\.age' as well as the factual value"):
        compile_constraint(f"age > 1 && {written} > 2", features)


def test_features_with_dots_in_their_names_do_no_harm() -> None:
    features = {"age": INT, "factual.age": INT, "x.age": INT, "factual.n": INT}
    program = compile_constraint("age > 1", features)
    assert program.inputs == (("age", INT),)
    program = compile_constraint("x.age > factual.factual.n", features)
    assert dict(program.inputs) == {"x.age": INT, "factual.factual.n": INT}
    assert evaluate(program, {"x.age": 3, "factual.factual.n": 2}) == {"holds": True}
    assert compile_constraint("factual.n > 1", features).inputs == (("factual.n", INT),)


@pytest.mark.parametrize("names", [("%0", "%1"), ("%1", "%3"), ("%0", "factual.%0")])
def test_temporaries_keep_off_the_names_of_features(names: tuple[str, str]) -> None:
    a, b = names
    text = f"(`{a}` * 2 >= `{b}` - 1 || `{a}` == 7) && ite(`{a}` > 3, `{b}`, 5) / (`{b}` + 1) > 0"
    program = compile_constraint(text, {a: INT, "other": INT} | ({b: INT} if "." not in b else {}))
    verify(program)
    for x, y in ((1, 2), (1, 5), (7, 20), (4, -3)):
        wanted = (x * 2 >= y - 1 or x == 7) and Fraction(y if x > 3 else 5, y + 1) > 0
        assert evaluate(program, {a: x, b: y}) == {"holds": wanted}


def test_temporaries_of_programs_keep_off_the_names_of_inputs() -> None:
    text = "if `%0` * `%1` > 3 then y := `%0` + `%1` * 2 else y := `%1` - 4; return y * `%0`"
    program = compile_program(text, inputs={"%0": INT, "%1": INT})
    verify(program)
    for x, y in ((2, 3), (1, 1)):
        wanted = (x + 2 * y if x * y > 3 else y - 4) * x
        assert evaluate(program, {"%0": x, "%1": y}) == {"result": wanted}


def test_expressions_have_one_result_of_their_own_sort() -> None:
    inputs = {"unused": REAL, "n": INT, "s": category("u", "v")}
    program = lower_expression(parse_expression("n * 2 + 1"), inputs)
    assert program.inputs == (("n", INT),)
    assert evaluate(program, {"n": 3}) == {"result": 7}
    label = lower_expression(parse_expression('ite(n > 1, "p", none)'), inputs)
    assert label.output_sorts == {"result": category("p", None)}
    assert evaluate(label, {"n": 1}) == {"result": None}


# -- size ------------------------------------------------------------------------------------------


def test_deep_programs() -> None:
    depth = 1500
    tree: ast.Command = ast.Return((ast.Output(None, ast.Number(F(0))),))
    for level in range(depth):
        guard = ast.Binary(">", ast.Name(("n",)), ast.Number(F(level)))
        tree = ast.If(guard, ast.Return((ast.Output(None, ast.Number(F(level))),)), tree)
    program = lower_program(ast.Program(None, (), tree), inputs={"n": INT})
    assert evaluate(program, {"n": 1}) == {"result": 0}
    assert evaluate(program, {"n": depth}) == {"result": depth - 1}
    total: ast.Expr = ast.Name(("n",))
    for _ in range(depth):
        total = ast.binary("+", total, ast.Name(("n",)))
    assert evaluate(lower_expression(total, {"n": INT}), {"n": 2}) == {"result": 2 * (depth + 1)}


def test_divisions_stand_behind_their_guards() -> None:
    program = compile_constraint("loan != 0 && income / loan > 1 && age > 2", FEATURES)
    (division,) = (let for let in program.lets() if let.op.name == "div")
    assert not any(each is division for each in program.body)
    assert any(division in each.then for each in program.body if isinstance(each, If))

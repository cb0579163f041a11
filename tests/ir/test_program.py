"""Programs and their builder: walking, rewriting, fresh names, inlining."""

from __future__ import annotations

import pickle
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfxc.ir import (
    BOOL,
    REAL,
    Builder,
    If,
    Let,
    Literal,
    Operand,
    Program,
    evaluate,
    ops,
    parse_program,
    print_program,
    rewrite,
    walk,
)
from cfxc.ir.program import Statement
from tests.example_programs import BY_NAME
from tests.strategies import inputs_of, programs


@given(programs())
def test_rewriting_nothing_changes_nothing(program: Program) -> None:
    body = rewrite(program.body, lambda let: (let,))
    again = Program(program.name, program.inputs, body, program.outputs)
    assert again == program
    assert print_program(again) == print_program(program)


def test_walk_visits_arms_in_order() -> None:
    program = parse_program(BY_NAME["nested"].text)
    seen = [s.name if isinstance(s, Let) else tag for tag, s in walk(program.body)]
    inner = ["if", "y", "else", "y", "end"]
    assert seen == ["c", "if", "m", *inner, "else", "t", "d", *inner, "end"]


def test_rewriting_conditions_and_statements() -> None:
    program = parse_program(BY_NAME["nested"].text)

    def twice(let: Let) -> tuple[Let, ...]:
        return (let, Let(let.name + "_copy", ops.Identity(let.name)))

    body = rewrite(program.body, twice, lambda c: f"{c}_copy" if isinstance(c, str) else c)
    again = Program(program.name, program.inputs, body, (("y", "y_copy"),))
    for inputs, outputs in BY_NAME["nested"].cases:
        assert evaluate(again, inputs) == outputs


def test_outputs_and_sorts_by_name() -> None:
    program = parse_program(BY_NAME["constant"].text)
    assert program.output("n") == Literal(-7)
    assert program.sort_of(Literal(True)) == BOOL
    assert str(program.output_sorts["c"]) == 'Category{"no", "yes"}'
    with pytest.raises(KeyError):
        program.output("m")


@given(programs())
def test_programs_can_be_pickled(program: Program) -> None:
    again = pickle.loads(pickle.dumps(program))
    assert again == program
    assert print_program(again) == print_program(program)


def test_builder_makes_fresh_names() -> None:
    builder = Builder("p")
    builder.input("%0", REAL)
    builder.let(ops.Neg("%0"), "h.2")
    drawn = [builder.fresh(), builder.fresh("h"), builder.fresh("h"), builder.fresh()]
    assert len({*drawn, "%0", "h.2"}) == 6
    assert all(name.startswith("h.") for name in drawn[1:3])


def test_builder_marks_origins() -> None:
    builder = Builder("p")
    x = builder.input("x", REAL)
    with builder.at("outer"):
        y = builder.let(ops.Neg(x))
        with builder.at("inner"):
            z = builder.let(ops.Neg(y))
        w = builder.copy(z, "w")
    v = builder.let(ops.Neg(w))
    program = builder.build(v=v)
    assert [let.origin for let in program.lets()] == ["outer", "inner", "outer", ""]


def test_builder_restores_the_origin_after_an_error() -> None:
    builder = Builder("p")
    with pytest.raises(RuntimeError, match="oops"), builder.at("somewhere"):
        raise RuntimeError("oops")
    assert builder.origin == ""


def test_builder_branches() -> None:
    builder = Builder("p")
    b, x = builder.input("b", BOOL), builder.input("x", REAL)
    builder.branch(
        b,
        lambda: builder.branch(b, lambda: builder.copy(x, "y"), lambda: builder.copy(x, "y")),
        lambda: builder.copy(Literal(Fraction(1)), "y"),
    )
    program = builder.build(y="y")
    assert evaluate(program, {"b": True, "x": 5})["y"] == 5
    assert evaluate(program, {"b": False, "x": 5})["y"] == 1


def test_extending_takes_all_names() -> None:
    builder = Builder("p")
    x = builder.input("x", REAL)
    arm: tuple[Statement, ...] = (Let("%3", ops.Neg(x)),)
    statements = [Let("%0", ops.Neg(x)), If(Literal(True), arm, arm), Let("%1", ops.Neg("%0"))]
    builder.extend(iter(statements))
    assert [builder.fresh() for _ in range(2)] == ["%2", "%4"]


@given(programs(max_statements=5), st.data())
def test_inlining_computes_the_same(program: Program, data: st.DataObject) -> None:
    """Twice into one program, the second time inside a branch and with literal arguments."""
    row = data.draw(inputs_of(program))
    builder = Builder("outer")
    for name, sort in program.inputs:
        builder.input(name, sort)
    first = builder.inline(program, {name: name for name, _ in program.inputs})
    arguments: dict[str, Operand] = {
        name: Literal(row[name]) if sort.is_scalar and sort.kind != "category" else name
        for name, sort in program.inputs
    }
    found: list[dict[str, Operand]] = []
    names = [builder.fresh("out") for _ in first]

    def arm() -> None:
        found.append(builder.inline(program, arguments))
        for name, operand in zip(names, found[-1].values(), strict=True):
            builder.copy(operand, name)

    builder.branch(Literal(True), arm, arm)
    outer = builder.build_with(
        {f"a{i}": operand for i, operand in enumerate(first.values())}
        | {f"b{i}": name for i, name in enumerate(names)}
    )
    wanted = [_plain(value) for value in evaluate(program, row).values()]
    results = [_plain(value) for value in evaluate(outer, row).values()]
    assert results == wanted + wanted


def _plain(value: object) -> object:
    return value.tolist() if hasattr(value, "tolist") else value


def test_inlining_keeps_origins() -> None:
    program = parse_program(BY_NAME["forest"].text)
    builder = Builder("outer")
    inputs = {name: builder.input(name, sort) for name, sort in program.inputs}
    outer = builder.build_with(builder.inline(program, inputs))
    assert [let.origin for let in outer.lets()] == [let.origin for let in program.lets()]


def test_deep_programs_can_be_pickled() -> None:
    leaf: tuple[Statement, ...] = (Let("y", ops.Identity(Literal(1))),)
    body = leaf
    for _ in range(5_000):
        body = (If("b", body, leaf),)
    program = Program("deep", (("b", BOOL),), body, (("y", "y"),))
    assert pickle.loads(pickle.dumps(program)) == program

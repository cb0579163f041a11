"""Affine pieces of programs: exact wherever their region says so, kinks and ties included."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cfxc.errors import UnsupportedError, VerificationError
from cfxc.ir import INT, REAL, Builder, Literal, Program, Tensor, category, evaluate, ops
from cfxc.methods.plans.pieces import Coordinates, PieceReader, piece_at
from tests.strategies import inputs_of, programs, values

F = Fraction


class Space(dict[str, Any]):
    """What coordinates ask of a feature space, for any inputs."""

    def __iter__(self) -> Any:
        return iter(self.values())


def space_of(program: Program) -> Any:
    return Space(
        {
            name: SimpleNamespace(
                name=name,
                is_symbolic=sort.kind == "category",
                labels=sort.labels,
                label_tuple=sort.labels,
                range=F(3, 2),
            )
            for name, sort in program.inputs
        }
    )


def reader_at(program: Program, point: Any) -> PieceReader:
    return PieceReader(program, Coordinates.of(space_of(program)), point)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_every_op_is_read_as_it_evaluates(data: st.DataObject) -> None:
    """Forms equal exact values: at the point, and wherever the region reaches."""
    program = with_features_only(data, data.draw(programs(core=False)))
    outputs = [
        (name, operand)
        for name, operand in program.outputs
        if program.output_sorts[name].kind != "category"
    ]
    point = data.draw(inputs_of(program))
    try:
        here = evaluate(program, point)
        reader = reader_at(program, point)
    except VerificationError:  # a division by 0, or an index outside of the labels
        assume(False)
    forms = dict(read(reader, program, outputs))
    assert all(each.holds(reader.z) for each in reader.region)
    for name, entries in forms.items():
        assert [form.at(reader.z) for form in entries] == flat(here[name])
    if reader.tangents:
        return
    for _ in range(6):
        other = data.draw(inputs_of(program))
        for feature in point:  # near it, so that the region is met more often
            if data.draw(st.booleans()):
                other[feature] = point[feature]
        z = reader.coordinates.at(other)
        if all(each.holds(z) for each in reader.region):
            there = evaluate(program, other)
            for name, entries in forms.items():
                assert [form.at(z) for form in entries] == flat(there[name])


def read(reader: PieceReader, program: Program, outputs: Any) -> Any:
    """The forms of outputs; those that single precision enters have none."""
    for name, operand in outputs:
        try:
            yield name, reader.entries(operand)
        except UnsupportedError:
            assert any(isinstance(let.op, ops.RoundFloat32) for let in program.lets())


def with_features_only(data: st.DataObject, program: Program) -> Program:
    """Inputs as features are: vectors and Booleans become constants."""
    builder, given = Builder("features"), {}
    for name, sort in program.inputs:
        if sort.kind != "bool" and not sort.shape:
            given[name] = builder.input(name, sort)
    for name, sort in program.inputs:
        if name not in given:
            held = np.asarray(data.draw(values(sort)))
            kind = {"bool": "bool", "int": "i64", "real": "rat"}[sort.kind]
            given[name] = builder.let(ops.Constant(Tensor(held, kind)))
    found = builder.inline(program, given)
    bare = builder.build_with({f"o{i}": found[name] for i, name in enumerate(found)})
    every = {let.name: let.name for let in bare.lets()}  # all values, not only the outputs
    return Program(bare.name, bare.inputs, bare.body, tuple(every.items()))


def flat(value: Any) -> list[Fraction]:
    return [F(one) for one in np.ravel(np.asarray(value, dtype=object)).tolist()]


GRID = [F(k, 2) for k in range(-6, 7)]


def kinked(make: Any) -> tuple[Program, PieceReader]:
    builder = Builder("kink")
    x, y = builder.input("x", REAL), builder.input("y", REAL)
    program = builder.build(value=make(builder, x, y))
    return program, reader_at(program, {"x": F(0), "y": F(0)})


KINKS = {
    "relu": (lambda b, x, y: b.let(ops.Relu(x)), "the side <= 0"),
    "leaky": (lambda b, x, y: b.let(ops.LeakyRelu(x, F(1, 4))), "the side <= 0"),
    "abs": (lambda b, x, y: b.let(ops.Abs(x)), "the side <= 0"),
    "clip": (lambda b, x, y: b.let(ops.Clip(x, F(0), F(1))), "the side <= 0"),
    "max": (lambda b, x, y: b.let(ops.Maximum(x, y)), "the side <= 0"),
    "min": (lambda b, x, y: b.let(ops.Minimum(x, y)), "the side <= 0"),
    "largest": (
        lambda b, x, y: b.let(ops.ReduceMax(b.let(ops.Concat((x, y))))), "entry 1 less entry 0",
    ),
    "le": (lambda b, x, y: b.let(ops.Select(b.let(ops.Le(x, y)), x, Literal(F(3)))), "<= 0"),
    "lt": (lambda b, x, y: b.let(ops.Select(b.let(ops.Lt(x, y)), x, Literal(F(3)))), ">= 0"),
    "ge": (lambda b, x, y: b.let(ops.Select(b.let(ops.Ge(x, y)), x, Literal(F(3)))), ">= 0"),
    "gt": (lambda b, x, y: b.let(ops.Select(b.let(ops.Gt(x, y)), x, Literal(F(3)))), "<= 0"),
    "argmax": (
        lambda b, x, y: b.let(ops.ToReal(b.let(ops.Argmax(b.let(ops.Concat((x, y))))))),
        "entry 0 less entry 1",
    ),
}  # fmt: skip


def agreeing(program: Program, reader: PieceReader, form: Any) -> int:
    """How many points of the grid the region holds; at each, the form is the program's value."""
    met = 0
    for x in GRID:
        for y in GRID:
            z = reader.coordinates.at({"x": x, "y": y})
            if all(each.holds(z) for each in reader.region):
                met += 1
                assert form.at(z) == evaluate(program, {"x": x, "y": y})["value"]
    return met


@pytest.mark.parametrize("kind", list(KINKS))
def test_kinks_say_which_side_was_taken(kind: str) -> None:
    make, side = KINKS[kind]
    program, reader = kinked(make)
    (form,) = reader.entries(program.output("value"))
    assert len(reader.sides) == 1
    assert side in reader.sides[0]
    assert agreeing(program, reader, form) > len(GRID)  # a half-plane, or nearly


def test_what_does_not_matter_is_not_fixed() -> None:
    """One part settles a disjunction; the branch not taken fixes nothing."""
    builder = Builder("lazy")
    x, y = builder.input("x", REAL), builder.input("y", REAL)
    c = builder.input("c", category("a", "b", "c"))
    either = builder.let(
        ops.Or((builder.let(ops.Gt(x, Literal(F(0)))), builder.let(ops.Gt(y, Literal(F(0))))))
    )
    best = builder.let(ops.Select(either, x, builder.let(ops.Relu(y))))
    hot = builder.let(ops.ToReal(builder.let(ops.IsLabel(c, "b"))))
    program = builder.build(value=builder.let(ops.Add(best, hot)))
    reader = reader_at(program, {"x": F(1), "y": F(-1), "c": "a"})
    (form,) = reader.entries(program.output("value"))
    (only,) = reader.region  # x > 0
    assert only.strict
    assert set(only.form.terms) == {reader.coordinates.place["x"]}
    z = reader.coordinates.at({"x": F(2), "y": F(9), "c": "b"})
    assert form.at(z) == 3  # another label lies in the region too


def test_the_strictest_of_parallel_rows_is_kept() -> None:
    builder = Builder("trees")
    x = builder.input("x", INT)
    total = builder.let(
        ops.TreeEnsemble(
            builder.let(ops.Concat((x,))), Tensor(np.array([0, 3])),
            Tensor(np.array([0, -1, -1, 0, -1, -1])), Tensor(np.array([0.5, 0, 0, 2.5, 0, 0])),
            Tensor(np.array([1, 0, 0, 4, 0, 0])), Tensor(np.array([2, 0, 0, 5, 0, 0])),
            Tensor(np.array([[0.0], [1.0], [2.0], [0.0], [4.0], [8.0]])), Tensor(np.zeros(1)),
        )
    )  # fmt: skip
    program = builder.build(value=builder.let(ops.Item(total, 0)))
    low = reader_at(program, {"x": 0})
    (form,) = low.entries(program.output("value"))
    assert (form.terms, form.constant) == ({}, 5)
    assert len(low.region) == 1  # x <= 1/2 says more than x <= 5/2
    assert [all(r.holds((F(x) / F(3, 2),)) for r in low.region) for x in (0, 1)] == [True, False]
    middle = reader_at(program, {"x": 1})
    middle.entries(program.output("value"))
    assert len(middle.region) == 2


def test_a_target_is_the_requirement_that_fails_first() -> None:
    builder = Builder("range")
    x = builder.input("x", REAL)
    program = builder.build(
        in_target=builder.let(
            ops.And((builder.let(ops.Ge(x, Literal(F(1)))), builder.let(ops.Lt(x, Literal(F(4))))))
        )
    )
    for value, margin, strict in [(0, -1, False), (2, 1, False), (3, 1, True), (5, -1, True)]:
        piece = piece_at(program, space_of(program), {"x": F(value)})
        assert piece.form.at((F(value) / F(3, 2),)) == margin
        assert piece.strict == strict
    tie = piece_at(program, space_of(program), {"x": F(5, 2)})
    assert tie.strict  # of two that are met alike, the one that decides at 0
    assert "met alike" in tie.sides[0]
    for k in range(-4, 30):
        z = (F(k, 4) / F(3, 2),)
        if all(each.holds(z) for each in tie.region):
            assert (tie.form.at(z) > 0) == evaluate(program, {"x": F(k, 4)})["in_target"]


def test_what_has_no_piece_is_refused() -> None:
    builder = Builder("label")
    c = builder.input("c", category("a", "b"))
    program = builder.build(in_target=builder.let(ops.IsLabel(c, "a")))
    with pytest.raises(UnsupportedError, match="no score is known to decide"):
        piece_at(program, space_of(program), {"c": "a"})
    builder = Builder("single")
    x = builder.input("x", REAL)
    rounded = builder.let(ops.RoundFloat32(x))
    program = builder.build(in_target=builder.let(ops.Ge(rounded, Literal(F(1)))))
    with pytest.raises(UnsupportedError, match="float32"):
        piece_at(program, space_of(program), {"x": F(1)})


def test_vectors_are_selected_entry_by_entry() -> None:
    builder = Builder("entries")
    x, y = builder.input("x", REAL), builder.input("y", REAL)
    pair = builder.let(ops.Concat((x, y)))
    above = builder.let(ops.Gt(pair, Literal(F(0))))
    chosen = builder.let(ops.Select(above, pair, Literal(F(5))))
    program = builder.build(value=builder.let(ops.ReduceSum(chosen)))
    for x_sign, y_sign in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        reader = reader_at(program, {"x": F(x_sign), "y": F(y_sign)})
        (form,) = reader.entries(program.output("value"))
        assert agreeing(program, reader, form) >= 36  # a quadrant of 13 × 13 points

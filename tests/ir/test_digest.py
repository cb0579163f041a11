"""The digest is the address of a program: equal content, equal digest, and only then."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfxc.ir import (
    BOOL,
    INT,
    REAL,
    If,
    LabelTuple,
    Let,
    Literal,
    Op,
    Program,
    Tensor,
    category,
    ops,
    parse_program,
    print_program,
    real,
    rewrite,
)
from cfxc.ir.op import REGISTRY, layout
from tests.example_programs import EXAMPLES
from tests.strategies import op_programs, programs

NOT = Let("y", ops.Not("b"))
BASE = Program("p", (("b", BOOL), ("x", REAL)), (NOT,), (("out", "y"),))


def body(*statements: Let | If) -> Program:
    return dataclasses.replace(BASE, body=statements)


VARIANTS = [
    BASE,
    dataclasses.replace(BASE, inputs=(("b", BOOL), ("x", INT))),
    dataclasses.replace(BASE, inputs=(("b", BOOL), ("x", real(1)))),
    dataclasses.replace(BASE, inputs=(("x", REAL), ("b", BOOL))),
    dataclasses.replace(BASE, inputs=(("b", BOOL),)),
    dataclasses.replace(BASE, inputs=(("b", BOOL), ("z", REAL))),
    dataclasses.replace(BASE, inputs=(("b", BOOL), ("x", category(1)))),
    dataclasses.replace(BASE, inputs=(("b", BOOL), ("x", category(True)))),
    dataclasses.replace(BASE, inputs=(("b", BOOL), ("x", category("1")))),
    dataclasses.replace(BASE, inputs=(("b", BOOL), ("x", category(1.0)))),
    dataclasses.replace(BASE, outputs=(("out", "b"),)),
    dataclasses.replace(BASE, outputs=(("other", "y"),)),
    dataclasses.replace(BASE, outputs=(("out", "y"), ("x", "x"))),
    dataclasses.replace(BASE, outputs=(("x", "x"), ("out", "y"))),
    dataclasses.replace(BASE, outputs=(("out", Literal(True)),)),
    dataclasses.replace(BASE, outputs=(("out", Literal(1)),)),
    dataclasses.replace(BASE, outputs=(("out", Literal(Fraction(1))),)),
    body(Let("y", ops.Identity("b"))),
    body(Let("y", ops.Not(Literal(True)))),
    body(NOT, Let("z", ops.Not("b"))),
    body(Let("z", ops.Not("b")), NOT),
    body(Let("y", ops.And(("b", "b")))),
    body(Let("y", ops.And(("b",)))),
    body(Let("y", ops.Or(("b", "b")))),
    body(If("b", (NOT,), (NOT,))),
    body(If(Literal(True), (NOT,), (NOT,))),
    body(If("b", (NOT,), (Let("y", ops.Identity("b")),))),
    body(If("b", (Let("y", ops.Identity("b")),), (NOT,))),
    body(NOT, If("b", (), ())),
    body(NOT, If("b", (Let("z", ops.Not("b")),), ())),
    body(NOT, If("b", (), (Let("z", ops.Not("b")),))),
    body(NOT, If("b", (), ()), Let("z", ops.Not("b"))),
]


def test_variants_have_distinct_digests() -> None:
    assert len({variant.digest for variant in VARIANTS}) == len(VARIANTS)
    assert len(set(VARIANTS)) == len(VARIANTS)
    assert all((one == two) == (one is two) for one in VARIANTS for two in VARIANTS)


def test_the_name_and_the_origins_do_not_count() -> None:
    renamed = dataclasses.replace(BASE, name="q", body=(Let("y", ops.Not("b"), "somewhere"),))
    assert renamed == BASE
    assert hash(renamed) == hash(BASE)
    assert print_program(BASE) != BASE


def test_digests_stay_what_they_are(golden: Callable[[str, str], None]) -> None:
    """Certificates and caches hold them: a change here orphans what people have on disk."""
    lines = [f"{parse_program(example.text).digest} {example.name}\n" for example in EXAMPLES]
    golden("ir/digests.txt", "".join(lines))


def changed(kind: str, value: Any) -> list[Any]:
    """Other values of an attribute of the given type."""
    if kind == "Tensor":
        array = value.exact().copy()
        others = [Tensor(np.append(array.ravel(), np.zeros(1, array.dtype)), value.dtype)]
        others.append(Tensor(value.array.reshape(1, *value.shape), value.dtype))
        if array.size:
            last = array.flat[-1]
            array.flat[-1] = not last if value.dtype == "bool" else type(last)(0 if last else 1)
            others.append(Tensor(array, value.dtype))
        if value.dtype in ("f64", "i64"):
            others.append(Tensor(value.array, "rat"))
        return others
    if kind == "Fraction":
        return [value + Fraction(1, 10**30), 2 * abs(value) + 1]
    if kind == "int":
        return [value + 1]
    if kind == "tuple[int, ...]":
        return [(*value, 0), value[1:]] if value else [(0,)]
    if kind == "LabelTuple":
        return [LabelTuple([*value, "another"]), LabelTuple([*value[1:], "another"])]
    assert kind == "Label"
    others = [1, 1.0, True, "1", None, "true", "none", 0, False]
    return [other for other in others if (type(other), other) != (type(value), value)]


def variants(op: Op) -> list[Op]:
    """The op with one operand or one attribute changed."""
    shape, found = layout(type(op)), []
    for field in shape.operands:
        value = getattr(op, field)
        others = [(*value, "other"), value[1:]] if isinstance(value, tuple) else ["other"]
        found += [dataclasses.replace(op, **{field: other}) for other in others]
    for field in shape.attributes:
        for other in changed(shape.types[field], getattr(op, field)):
            found.append(dataclasses.replace(op, **{field: other}))
    return found


@pytest.mark.parametrize("name", sorted(REGISTRY))
@settings(max_examples=15)
@given(data=st.data())
def test_changing_any_field_changes_the_digest(name: str, data: st.DataObject) -> None:
    (let,) = data.draw(op_programs(name)).lets()
    others = variants(let.op)
    assert others
    for other in others:
        assert other.digest() != let.op.digest(), (str(let.op), str(other))
        assert other != let.op
    again = dataclasses.replace(let.op)
    assert (again.digest(), again, hash(again)) == (let.op.digest(), let.op, hash(let.op))


def test_ops_of_equal_fields_differ_by_name() -> None:
    binary = [ops.Add, ops.Sub, ops.Mul, ops.Div, ops.Le, ops.Lt, ops.Eq, ops.Minimum]
    assert len({cls("x", "y").digest() for cls in binary}) == len(binary)
    assert len({cls("x", "y") for cls in binary}) == len(binary)


def test_operands_cannot_run_together() -> None:
    one = [ops.And(("a", "b")), ops.And(("a\x00b",)), ops.And(("a, b",)), ops.And(("`a`", "b"))]
    assert len({op.digest() for op in one}) == 4


def unmarked(program: Program) -> str:
    """The text without what does not count."""
    body = rewrite(program.body, lambda let: (Let(let.name, let.op),))
    return print_program(dataclasses.replace(program, name="p", body=body))


@given(programs(max_statements=2), programs(max_statements=2))
def test_programs_are_equal_when_their_texts_are(one: Program, two: Program) -> None:
    for other in (two, parse_program(unmarked(one))):
        assert (one == other) == (unmarked(one) == unmarked(other))

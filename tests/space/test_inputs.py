"""What a model sees in each column, as a function of the features."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cfxc.errors import MissingColumnError, UnsupportedError
from cfxc.ir import INT, REAL, BatchEvaluator, Builder, Operand, category, evaluate, ops
from cfxc.space import Feature, FeatureSpace
from cfxc.space.feature import sort_of
from cfxc.space.inputs import (
    column,
    column_value,
    column_vector,
    declare_inputs,
)

FRAME = pd.DataFrame(
    {
        "age": [20, 30, 40],
        "dose": [0.1, 0.2, 0.35],
        "grade": [1, 3, 2],
        "code": [2.5, 7.0, 7.0],
        "member": [True, False, True],
        "sector": ["a", "b", "c"],
        "t_1": [1, 1, 1],
        "t_2": [0, 1, 1],
        "t_3": [0, 0, 1],
        "s_x": [1, 0, 0],
        "s_y": [0, 1, 0],
        "s_z": [0, 0, 1],
    }
)
SPACE = FeatureSpace.infer(
    FRAME,
    kinds={"grade": "ordinal", "code": "categorical"},
    one_hot=["s_"],
    thermometer=["t_"],
)
NUMBERS = [name for name in FRAME if name != "sector"]


def built(make: Callable[[Builder], Operand]) -> Any:
    builder = Builder("columns")
    declare_inputs(builder, SPACE)
    return builder.build(out=make(builder))


def test_sorts() -> None:
    builder = Builder("inputs")
    declare_inputs(builder, SPACE)
    assert builder.inputs == [
        ("age", INT),
        ("dose", REAL),
        ("grade", INT),
        ("code", category(2.5, 7)),
        ("member", category(False, True)),
        ("sector", category("a", "b", "c")),
        ("t", INT),
        ("s", category("x", "y", "z")),
    ]
    levels = Feature("size", "ordinal", labels=("S", "M", "L"))
    assert sort_of(levels) == category("S", "M", "L")
    assert sort_of(Feature("n", "integer", lower=0, upper=3)) == INT


@pytest.mark.parametrize("name", NUMBERS)
def test_value_is_what_the_cell_holds(name: str) -> None:
    program = built(lambda builder: column_value(builder, SPACE, name))
    assert program.output_sorts["out"].is_scalar
    outputs = BatchEvaluator(program)(SPACE.encode_frame(FRAME))["out"]
    assert outputs.tolist() == FRAME[name].astype(float).tolist()
    for row in range(len(FRAME)):
        exact = evaluate(program, SPACE.encode_row(FRAME.iloc[[row]]))["out"]
        assert exact == Fraction(float(FRAME[name].iloc[row]))


@pytest.mark.parametrize(
    ("names", "lookups"),
    [
        (NUMBERS, 3),
        (["s_y"], 1),
        (["age"], 0),
        (["member"], 1),
        (["s_z", "s_x", "age", "s_y"], 2),
        (["t_3", "t_1", "grade", "grade"], 0),
    ],
)
def test_vector_joins_columns_and_looks_groups_up_once(names: list[str], lookups: int) -> None:
    program = built(lambda builder: column_vector(builder, SPACE, names))
    assert program.output_sorts["out"].shape == (len(names),)
    outputs = BatchEvaluator(program)(SPACE.encode_frame(FRAME))["out"]
    assert np.array_equal(outputs, FRAME[names].astype(float).to_numpy())
    exact = evaluate(program, SPACE.encode_row(FRAME.iloc[[1]]))["out"]
    assert exact.tolist() == [Fraction(float(cell)) for cell in FRAME[names].iloc[1]]
    assert sum(isinstance(let.op, ops.Lookup) for let in program.lets()) == lookups


def test_thermometer_that_starts_above_its_first_step() -> None:
    """Levels 2..3 of three steps: the first two columns are always 1."""
    frame = FRAME.iloc[1:]
    space = FeatureSpace.infer(frame[["t_1", "t_2", "t_3"]], thermometer=["t_"])
    space = space.replace("t", lower=2)
    assert [column(space, f"t_{i}").step for i in (1, 2, 3)] == [2, 2, 3]
    assert column(space, "t_2").integers == range(2)


def test_text_and_missing_values_are_no_numbers() -> None:
    space = SPACE.replace("dose", missing=True).replace("code", labels=(2.5, None))
    with pytest.raises(UnsupportedError) as caught:
        column_vector(Builder("columns"), space, ["age", "sector", "dose", "code"])
    assert caught.value.offences == (
        "column 'sector' holds text such as 'a', and the model computes with it",
        "column 'dose' may be missing, and the model computes with it",
        "column 'code' has the category 'missing', and the model computes with it",
    )
    assert "SimpleImputer" in str(caught.value)
    with pytest.raises(UnsupportedError, match="'sector' holds text"):
        column_value(Builder("columns"), space, "sector")
    with pytest.raises(MissingColumnError, match="no column 'ages'"):
        column_value(Builder("columns"), space, "ages")

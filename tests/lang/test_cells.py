"""Numbers beside a column of floats mean the cell that holds them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from cfxc.ir import INT, REAL, evaluate
from cfxc.ir.interval import nearest_float
from cfxc.lang import compile_constraint

F = Fraction
SORTS = {"gap": REAL, "small": REAL, "pay gap": REAL, "n": INT}
CELLS: dict[str, Any] = {
    "gap": nearest_float,
    "pay gap": nearest_float,
    "small": lambda value: float(np.float32(float(value))),
}


def holds(text: str, **values: Any) -> bool:
    program = compile_constraint(text, SORTS, cells=CELLS)
    scope = {**{name.replace("_", " "): value for name, value in values.items()}}
    scope |= {f"factual.{name}": value for name, value in scope.items()}
    return bool(evaluate(program, {name: scope[name] for name, _ in program.inputs})["holds"])


@pytest.mark.parametrize(
    "text",
    [
        "gap >= 0.7", "gap <= 0.7", "gap == 0.7", "0.7 <= x.gap", "gap in {0.1, 0.7}",
        "!(gap != 0.7)", "0.7 <= gap < 0.8", "factual.gap == 0.7", "`pay gap` == -0.7",
        "x.`pay gap` >= -0.7", "small == 0.7", "small in {0.7}", "gap < 1e400", "gap > -1e400",
    ],
)  # fmt: skip
def test_a_typed_number_is_the_cell(text: str) -> None:
    cells = {"gap": F(0.7), "pay_gap": F(-0.7), "small": F(float(np.float32(0.7)))}
    assert holds(text, **cells)


def test_elsewhere_numbers_are_exact() -> None:
    assert not holds("gap * 1 >= 0.7", gap=F(0.7))
    assert holds("n / 10 == 0.7", n=7)
    assert not holds("n == 0.7", n=1)
    assert holds("gap + 0.7 >= 1.4 || gap < 0.7 || gap == 0.7", gap=F(0.7))

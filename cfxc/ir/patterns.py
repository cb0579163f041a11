"""Small recognisers over a straight-line program's definitions (value name → op)."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from . import ops
from .op import Literal, Op, Operand

Definitions = Mapping[str, Op]


def constant_values(operand: Operand, definitions: Definitions) -> npt.NDArray[Any] | None:
    """The exact values (flat) of a literal or constant operand, else ``None``."""
    if isinstance(operand, Literal):
        return np.array([Fraction(operand.value)], dtype=object)
    op = definitions.get(operand)
    return np.atleast_1d(op.value.exact()).ravel() if isinstance(op, ops.Constant) else None


def before_scaling(name: str, definitions: Definitions) -> str:
    """The vector that ``name`` is a positive multiple of, through divisions and products.

    Comparisons between its entries, and their signs, are those of ``name``.
    """
    while True:
        op = definitions.get(name)
        if isinstance(op, ops.Identity) and isinstance(op.x, str):
            name = op.x
            continue
        if not isinstance(op, ops.Div | ops.Mul) or not isinstance(op.x, str):
            return name
        factor = constant_values(op.y, definitions)
        if factor is None or len(set(factor.tolist())) != 1 or factor[0] <= 0:
            return name
        name = op.x

"""What boosters make of their sums: values, and labels with their probabilities."""

from __future__ import annotations

from fractions import Fraction

from ...ir import Literal, Operand, ops
from ..sklearn.lowering import Lowering
from ..sklearn.outputs import Classes, binary_label_from, pair, top_label, values
from ..sklearn.registry import Outputs

SMOOTH = {"exp": ops.Exp, "sigmoid": ops.Sigmoid}


def value_outputs(
    lowering: Lowering, sums: Operand, width: int, link: str, factor: float = 1.0
) -> Outputs:
    """``value``: the link function of the sums, or of ``factor`` times them; one per target."""
    made = _scaled(lowering, sums, factor)
    if link in SMOOTH:
        made = lowering.let(SMOOTH[link](made))
    elif link == "square":  # with the sign of the sum
        made = lowering.let(ops.Mul(made, lowering.let(ops.Abs(made))))
    return {"value": values(lowering, made, width)}


def binary_outputs(
    lowering: Lowering, classes: Classes, sums: Operand, cut: float, link: str, factor: float = 1.0
) -> Outputs:
    """The second class iff the sum is at least ``cut``."""
    score = lowering.let(ops.Item(sums, 0))
    made: Outputs = {
        "label": binary_label_from(lowering, classes, score, Literal(Fraction(cut))),
        "score": score,
    }
    if link == "sigmoid":
        share = lowering.let(ops.Sigmoid(_scaled(lowering, score, factor)))
        made["probability"] = pair(lowering, share)
    return made


def class_outputs(
    lowering: Lowering, classes: Classes, sums: Operand, link: str, factor: float = 1.0
) -> Outputs:
    """The class of the highest sum, ties to the first: the link functions all rise."""
    made: Outputs = {"label": top_label(lowering, classes, sums), "score": sums}
    if link == "softmax":
        made["probability"] = lowering.let(ops.Softmax(sums))
    elif link == "sigmoid":  # one against the rest, not normalised
        made["probability"] = lowering.let(ops.Sigmoid(_scaled(lowering, sums, factor)))
    return made


def _scaled(lowering: Lowering, sums: Operand, factor: float) -> Operand:
    if factor == 1.0:
        return sums
    return lowering.let(ops.Mul(sums, Literal(Fraction(factor))))

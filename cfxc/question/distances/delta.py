"""How far each feature is from its factual value (Karimi et al., 2020, §4.2)."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from ...errors import InvalidInputError, MissingColumnError
from ...ir import Builder, Literal, Operand, Program, Tensor, ops
from ...ir.tensor import fractions
from ...space import Feature, FeatureSpace, Value
from ...space.cells import absent_of
from ...space.inputs import declare_inputs


def delta_name(position: int) -> str:
    """Return the name of δ_j; the first feature has position 1."""
    return f"delta.{position}"


def delta_program(space: FeatureSpace, factual: Mapping[str, Value]) -> Program:
    """Return the program from the features x_1 … x_J to ``delta.1`` … ``delta.J``.

    δ_j = |x_j − x̂_j| / R_j for numbers, |k_j − k̂_j| / (K_j − 1) for the positions of ordered
    labels, 0 or 1 for equal or different categories; 0 if the feature is constant (R_j = 0).  A
    number that is filled in, or becomes missing, has δ_j = 1.  For every value in its range δ_j
    lies in [0, 1], if the factual does too.

    Args:
        space: The features; program inputs have their names and sorts.
        factual: Exact values, as :meth:`FeatureSpace.encode_row` gives them.

    Raises:
        MissingColumnError: a feature without a factual value.
        InvalidInputError: a factual label that the feature does not have, or a missing number.
    """
    builder = Builder("delta")
    declare_inputs(builder, space)
    outputs: dict[str, Operand] = {}
    for position, feature in enumerate(space, start=1):
        if feature.name not in factual:
            raise MissingColumnError(f"the factual has no value for feature {feature.name!r}")
        with builder.at(f"distance of {feature.name}"):
            outputs[delta_name(position)] = _delta(builder, feature, factual[feature.name])
    return builder.build_with(outputs)


def _delta(builder: Builder, feature: Feature, value: Value) -> Operand:
    if feature.is_symbolic:
        if not feature.range:
            return Literal(Fraction(0))
        if isinstance(value, Fraction):
            value = int(value) if value.denominator == 1 else float(value)
        return builder.let(_lookup(feature, feature.code(value)))
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        what = "is missing" if value is None else f"is {value!r}, not a number"
        raise InvalidInputError(
            f"feature {feature.name!r}: the factual value {what}, so no distance from it is defined"
        )
    if not feature.may_change_gap(value):
        return _difference(builder, feature, value)
    absent = absent_of(feature)
    if feature.is_absent(value):
        return builder.let(ops.ToReal(builder.let(ops.Gt(feature.name, Literal(absent)))))
    lost = builder.let(ops.Le(feature.name, Literal(absent)))
    there = _difference(builder, feature, value)
    return builder.let(ops.Select(lost, Literal(Fraction(1)), there))


def _difference(builder: Builder, feature: Feature, value: int | float | Fraction) -> Operand:
    """|x − x̂| / R."""
    if not feature.range:
        return Literal(Fraction(0))
    exact = Fraction(value)
    whole = feature.kind != "real" and exact.denominator == 1
    difference = builder.let(ops.Sub(feature.name, Literal(int(exact) if whole else exact)))
    return builder.let(ops.Div(builder.let(ops.Abs(difference)), Literal(feature.range)))


def _lookup(feature: Feature, factual: int) -> ops.Lookup:
    """Return the op from a label to its distance from the label at position ``factual``."""
    codes = range(len(feature.labels))
    if feature.kind == "ordinal":
        table = [abs(code - factual) / feature.range for code in codes]
    else:
        table = [Fraction(code != factual) for code in codes]
    return ops.Lookup(feature.name, feature.label_tuple, Tensor(fractions(table), "rat"))

"""Rows as vectors x, and linear models as vectors θ with xᵀθ their score.

A linear model of scikit-learn computes ``coef · encoded + intercept`` on columns that its own
scalers and encoders make.  Models retrained on other data scale differently, so their coefficients
cannot be compared; their *scores*, as functions of the instance's features, can.  So x is made from
the feature space alone:

- a number z = (v - lower)/(upper - lower), in [0, 1] over the feature's range;
- of a category an indicator of each label but the first (whose weight is the intercept's), of an
  order on which the score depends linearly its place over the last place;
- a trailing 1, for the intercept.

Then every linear model, whatever its scalers, is one θ, and no two of them share it: indicators of
*all* labels would leave directions without any variance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ...arrays import Floats
from ...compiler.linear_reader import SeparableReader
from ...compiler.splits import Unary
from ...errors import InvalidInputError, UnsupportedError
from ...ir import Label, Program
from ...ir.patterns import keep_outputs
from ...question.domain import Domain
from ...question.hull import Coordinate, coordinates_of, indicators_of, vector_of
from ...space import Feature, FeatureSpace

BIAS = "1"
"""The name of the trailing 1."""
STRAIGHT = Fraction(1, 10**9)  # of the largest step: by how much places of an order may be off


@dataclass(frozen=True)
class Encoding:
    """x of rows and θ of models over one feature space.

    Attributes:
        names: What the entries of x and θ stand for, the intercept last.
        entries: Those of x but for the trailing 1.
        classes: The two labels; xᵀθ > 0 is the second.
    """

    space: FeatureSpace
    names: tuple[str, ...]
    entries: tuple[Coordinate, ...]
    classes: tuple[Label, Label]

    @classmethod
    def of(cls, program: Program, space: FeatureSpace) -> Encoding:
        """The encoding for a linear classifier's program.

        Raises:
            UnsupportedError: it is not linear, or has not two outcomes; a number may be missing.
        """
        classes = _two_labels(program)
        space.refuse_missing("a plan")
        tables = _Score.of(program).tables
        used = _inputs_of(program)
        named = []
        for feature in space:
            if feature.name in used and feature.range:
                named += _entries(feature, tables.get(feature.name))
        names = (*(name for name, _ in named), BIAS)
        return cls(space, names, tuple(entry for _, entry in named), classes)

    @property
    def size(self) -> int:
        """d, with the trailing 1."""
        return len(self.entries) + 1

    def vector(self, point: Mapping[str, Any]) -> Floats:
        """x of exact values of the features, rounded to doubles; shape (d,)."""
        return np.array([*map(float, vector_of(self.entries, self.space, point)), 1.0])

    def box(self, domains: Sequence[Domain]) -> tuple[Floats, Floats]:
        """The least and the largest value of each entry over an instance's admissible values."""
        known = {domain.name: domain for domain in domains}
        ends = [entry.ends(known[entry.feature]) for entry in self.entries]
        low, high = np.array([*ends, (1.0, 1.0)]).T
        return low, high

    def parameters(self, program: Program) -> Floats:
        """θ with xᵀθ the score of a linear classifier, rounded to doubles; shape (d,).

        Raises:
            UnsupportedError: it is not linear, or its score is no function of x.
        """
        if _two_labels(program) != self.classes:
            raise InvalidInputError(
                f"a model with the outcomes {list(_two_labels(program))}, beside one with "
                f"{list(self.classes)}"
            )
        score = _Score.of(program)
        bias, theta = score.constant, []
        for feature in self.space:
            own = [entry for entry in self.entries if entry.feature == feature.name]
            slope, table = score.slopes.get(feature.name), score.tables.get(feature.name)
            if not own:
                if feature.range and (slope or (table and len(set(table)) > 1)):
                    raise UnsupportedError(
                        f"'{feature.name}' enters this model's score, but not that of the model "
                        "the plan is for"
                    )
                bias += _at_rest(feature, slope, table)
            elif not feature.is_symbolic:
                bias += (slope or 0) * own[0].offset
                theta.append((slope or Fraction(0)) / own[0].scale)
            else:
                weights, base = _weights(feature, own, table)
                bias += base
                theta += weights
        return np.array([*map(float, theta), float(bias)])


@dataclass(frozen=True)
class _Score:
    """A linear score: its constant, its slope by number, its value by label of each category."""

    constant: Fraction
    slopes: Mapping[str, Fraction]
    tables: Mapping[str, tuple[Fraction, ...]]

    @classmethod
    def of(cls, program: Program) -> _Score:
        try:
            (form,) = SeparableReader(program).entries(program.output("score"))
        except UnsupportedError as error:
            raise _not_linear(str(error).splitlines()[0]) from None
        slopes: dict[str, Fraction] = {}
        tables: dict[str, tuple[Fraction, ...]] = {}
        for source, factor in form.terms.items():
            if not isinstance(source, Unary):
                raise _not_linear("trees decide")
            if source.steps:
                raise _not_linear(f"'{source.input}' is cut into steps before it is weighed")
            if source.rounded:
                raise UnsupportedError(
                    "plans need scores that are linear in the features: this model rounds "
                    f"'{source.input}' to a single float first, as ONNX does",
                    remedy="compile the scikit-learn model itself (.skops): it computes in doubles",
                )
            if source.table is None:
                slopes[source.input] = slopes.get(source.input, Fraction(0)) + factor
            else:
                before = tables.get(source.input, (Fraction(0),) * len(source.table))
                tables[source.input] = tuple(
                    old + factor * new for old, new in zip(before, source.table, strict=True)
                )
        return cls(form.constant, slopes, tables)


def _not_linear(why: str) -> UnsupportedError:
    return UnsupportedError(
        f"plans need a linear classifier of two outcomes: {why}",
        remedy="for other models, ask for rows that retrained copies all accept "
        "(cfxc.methods.plans.robust), or bound a linear stand-in (local_linear, surrogate)",
    )


def _two_labels(program: Program) -> tuple[Label, Label]:
    outputs = dict(program.outputs)
    if "label" not in outputs or "score" not in outputs:
        raise _not_linear("the model gives no label with a score")
    labels = tuple(program.output_sorts["label"].labels)
    if len(labels) != 2 or program.output_sorts["score"].shape:
        raise _not_linear(f"this one has {len(labels)} outcomes")
    return labels[0], labels[1]


def _inputs_of(program: Program) -> set[str]:
    """The features from which the score is computed, be their weight 0."""
    needed = keep_outputs(program, ["score"])
    inputs = {name for name, _ in needed.inputs}
    read = {operand for let in needed.lets() for operand in let.op.operands()}
    return {name for name in inputs if name in read}


def _entries(feature: Feature, table: tuple[Fraction, ...] | None) -> list[tuple[str, Coordinate]]:
    if not feature.is_symbolic:
        scale, lower = 1 / feature.range, feature.bounds[0]
        return [(feature.name, Coordinate(feature.name, scale, offset=lower))]
    is_order = feature.kind == "ordinal" and len(feature.labels) > 2
    if is_order and table is not None and _is_straight(table):
        return coordinates_of(feature)
    return indicators_of(feature)


def _is_straight(table: Sequence[Fraction]) -> bool:
    """Whether a value rises by the same from label to label, up to rounding."""
    slope = (table[-1] - table[0]) / (len(table) - 1)
    size = max(abs(value) for value in table)
    return all(
        abs(table[0] + place * slope - value) <= STRAIGHT * size
        for place, value in enumerate(table)
    )


def _weights(
    feature: Feature, own: Sequence[Coordinate], table: tuple[Fraction, ...] | None
) -> tuple[list[Fraction], Fraction]:
    """θ of a category's entries, and what its first label adds to the intercept."""
    if table is None:
        return [Fraction(0)] * len(own), Fraction(0)
    if len(own) == len(table) - 1:
        return [value - table[0] for value in table[1:]], table[0]
    if not _is_straight(table):
        raise UnsupportedError(
            f"the score depends on the places of '{feature.name}' in another way than that of the "
            "model the plan is for"
        )
    return [table[-1] - table[0]], table[0]


def _at_rest(
    feature: Feature, slope: Fraction | None, table: tuple[Fraction, ...] | None
) -> Fraction:
    """What a feature that has one value adds."""
    if table:
        return table[0]
    return slope * feature.bounds[0] if slope else Fraction(0)

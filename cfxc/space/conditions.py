"""The conditions under which features may change, checked against the features of their space."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import InvalidInputError, LanguageError
from ..ir import INT, REAL, LabelTuple, Sort
from ..lang import compile_constraint
from .feature import Feature


def sort_of(feature: Feature) -> Sort:
    """Sort of a feature's value in programs and constraints.

    Real for ``real``; Int for ``integer`` and ordinals without labels; else the Category of the
    feature's labels, in their order.
    """
    if feature.is_symbolic:
        return Sort("category", (), LabelTuple(feature.labels))
    return REAL if feature.kind == "real" else INT


def check_conditions(features: Sequence[Feature]) -> None:
    """Every condition is a constraint over the features: of known names and fitting sorts.

    Raises:
        InvalidInputError: naming the feature, and the place in its condition.
    """
    conditional = [feature for feature in features if feature.action == "conditional"]
    if not conditional:
        return
    sorts = {feature.name: sort_of(feature) for feature in features}
    rising = [feature.name for feature in features if feature.kind == "ordinal" and feature.labels]
    for feature in conditional:
        try:
            compile_constraint(feature.condition, sorts, "condition", ordered=rising)
        except (LanguageError, InvalidInputError) as error:
            raise InvalidInputError(f"feature {feature.name!r}: {error}") from error

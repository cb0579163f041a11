"""Criteria: what a counterfactual must keep to beside the target, one class a kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import FunctionType
from typing import Any

from ...errors import DataTypeError, InvalidInputError
from .accepts import Accepts
from .causal import Causal
from .condition import Condition
from .criterion import Constraint, Criterion, Instance
from .max_changes import MaxChanges
from .sureness import Margin, Probability
from .trust_region import TrustRegion

CRITERIA: Mapping[str, type[Criterion]] = {
    kind.name: kind
    for kind in (Condition, Accepts, Causal, MaxChanges, TrustRegion, Probability, Margin)
}
"""Every kind by its name; a new one is listed here, and nowhere else."""


def criteria_of(given: Any, allowed: Iterable[type[Criterion]] | None = None) -> tuple[Any, ...]:
    """The criteria of a ``subject_to``: one or several, texts as conditions.

    ``allowed``: the kinds that make sense here; by default all.

    Raises:
        DataTypeError: something that is no criterion.
        InvalidInputError: two of a kind that there can be one of, or one that is not allowed.
    """
    if isinstance(given, str | Criterion | Mapping) or not isinstance(given, Iterable):
        given = [given]
    found = [Condition(each) if isinstance(each, str) else each for each in given]
    kinds = None if allowed is None else tuple(allowed)
    for each in found:
        if not isinstance(each, Criterion):
            what = "a function" if isinstance(each, FunctionType) else repr(each)
            raise DataTypeError(
                f"subject_to: {what} is no criterion: give a condition as text, such as "
                "'age >= factual.age', or a criterion, such as cfxc.MaxChanges(3)"
            )
        if kinds is not None and not isinstance(each, kinds):
            names = ", ".join(kind.__name__ for kind in kinds)
            raise InvalidInputError(f"subject_to takes {names} here, and no {each!r}")
        if each.once and sum(type(other) is type(each) for other in found) > 1:
            raise InvalidInputError(f"subject_to: {type(each).__name__} is there twice")
    return tuple(found)


__all__ = [
    "CRITERIA", "Accepts", "Causal", "Condition", "Constraint", "Criterion", "Instance", "Margin",
    "MaxChanges", "Probability", "TrustRegion", "criteria_of",
]  # fmt: skip

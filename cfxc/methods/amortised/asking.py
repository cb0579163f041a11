"""The options of one request for counterfactuals, checked before any work."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor
from numbers import Real
from typing import Any

from ...errors import DataTypeError, InvalidInputError
from ...question.checks import positive_number, whole_number
from ...question.criteria import Condition, MaxChanges, criteria_of
from .drawing import Limits
from .levels import Levels
from .menus import check_diversity


@dataclass(frozen=True)
class Asked:
    """Checked options of :meth:`Generator.generate`."""

    n: int
    limits: Limits
    diversity: str | None
    polish: bool
    exact: bool
    conditions: tuple[Condition, ...]
    seed: int
    time_limit: float


def check_asked(
    levels: Levels,
    *,
    n: Any,
    sparsity: Any,
    diversity: Any,
    polish: Any,
    exact: Any,
    subject_to: Any,
    random_state: Any,
    time_limit: Any,
) -> Asked:
    """Check what does not depend on the people.

    Raises:
        DataTypeError, InvalidInputError: naming the option and what it may be.
    """
    count = whole_number(n, "n", 1)
    check_diversity(diversity)
    for name, given in (("polish", polish), ("exact", exact)):
        if not isinstance(given, bool):
            raise DataTypeError(f"{name} is True or False, not {given!r}")
    criteria = criteria_of(subject_to, (Condition, MaxChanges))
    most = next((each.most for each in criteria if isinstance(each, MaxChanges)), None)
    numbers = sum(not each.feature.is_symbolic for each in levels.features)
    limits = Limits(_most(sparsity, numbers), most)
    return Asked(
        count, limits, diversity, polish, exact,
        tuple(each for each in criteria if isinstance(each, Condition)),
        whole_number(random_state, "random_state", 0), positive_number(time_limit, "time_limit"),
    )  # fmt: skip


def _most(sparsity: Any, numbers: int) -> int | None:
    """How many of so many numbers may change under the threshold."""
    if sparsity is None:
        return None
    if isinstance(sparsity, bool) or not isinstance(sparsity, Real):
        raise DataTypeError(f"sparsity is a share from 0 to 1, not {sparsity!r}")
    if not 0 <= float(sparsity) <= 1:
        raise InvalidInputError(f"sparsity is a share from 0 to 1, not {sparsity}")
    return floor(Fraction(str(float(sparsity))) * numbers)


__all__ = ["Asked", "check_asked"]

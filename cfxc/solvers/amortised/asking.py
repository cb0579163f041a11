"""The options of one request for counterfactuals, checked before any work."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor
from numbers import Real
from typing import Any

from ...errors import DataTypeError, InvalidInputError
from ..options import check_options, positive_number, whole_number
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
    constraints: tuple[str, ...]
    seed: int
    time_limit: float


def check_asked(
    levels: Levels,
    *,
    n: Any,
    sparsity: Any,
    max_changes: Any,
    diversity: Any,
    polish: Any,
    exact: Any,
    constraints: Any,
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
    usual = check_options(
        epsilon=1e-3, method="auto", time_limit=time_limit, constraints=constraints,
        random_state=random_state, n_jobs=1, max_changes=max_changes,
    )  # fmt: skip
    if usual.models:
        raise InvalidInputError(
            "generate takes constraints as texts; other models' words go to model.explain"
        )
    numbers = sum(not each.feature.is_symbolic for each in levels.features)
    limits = Limits(_most(sparsity, numbers), usual.max_changes)
    return Asked(
        count, limits, diversity, polish, exact, usual.constraints, usual.random_state,
        positive_number(time_limit, "time_limit"),
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

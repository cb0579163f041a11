"""The options of a question, checked before any work."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from numbers import Integral, Real
from typing import Any

from joblib import cpu_count

from ..errors import DataTypeError, InvalidInputError
from ..frontends.space.numbers import as_written

METHODS = ("auto", "box", "mio", "smt")
SEMANTICS = ("real", "float")
DIVERSITY = ("points", "features")


@dataclass(frozen=True)
class Options:
    """Checked values of ``explain``'s options, as plain Python numbers and texts."""

    epsilon: float
    time_limit: float
    count: int
    constraints: tuple[str, ...]
    random_state: int
    n_jobs: int
    semantics: str = "real"
    max_changes: int | None = None
    diversity: str = "points"
    change_penalty: Fraction = Fraction(0)


def check_options(
    epsilon: Any,
    method: Any,
    time_limit: Any,
    count: Any,
    constraints: Any,
    random_state: Any,
    n_jobs: Any,
    semantics: Any = "real",
    max_changes: Any = None,
    diversity: Any = "points",
    change_penalty: Any = 0,
) -> Options:
    """Check what does not depend on the model.

    Raises:
        DataTypeError, InvalidInputError: naming the option and what it may be.
    """
    if method not in METHODS:
        raise InvalidInputError(f"unknown method '{method}': {', '.join(METHODS)}")
    if semantics not in SEMANTICS:
        raise InvalidInputError(f"unknown semantics {semantics!r}: {', '.join(SEMANTICS)}")
    if diversity not in DIVERSITY:
        raise InvalidInputError(f"unknown diversity {diversity!r}: {', '.join(DIVERSITY)}")
    accuracy = _number(epsilon, "epsilon")
    if not isfinite(accuracy):
        raise InvalidInputError(f"epsilon must be a positive number, not {epsilon}")
    seed = _whole(random_state, "random_state", 0)
    limit = _number(time_limit, "time_limit")
    jobs = cpu_count() if n_jobs == -1 and not isinstance(n_jobs, bool) else n_jobs
    return Options(
        accuracy, limit, _whole(count, "count", 1), _texts(constraints), seed,
        _whole(jobs, "n_jobs", 1), semantics,
        None if max_changes is None else _whole(max_changes, "max_changes", 1), diversity,
        _penalty(change_penalty),
    )  # fmt: skip


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise DataTypeError(f"{name} must be a positive number, not {value!r}")
    if not float(value) > 0:
        raise InvalidInputError(f"{name} must be a positive number, not {value}")
    return float(value)


def _penalty(value: Any) -> Fraction:
    penalty = as_written(value, "change_penalty")
    if penalty < 0:
        raise InvalidInputError(f"change_penalty must be at least 0, not {value}")
    return penalty


def _whole(value: Any, name: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise DataTypeError(f"{name} must be a whole number from {least}, not {value!r}")
    if int(value) < least:
        raise InvalidInputError(f"{name} must be a whole number from {least}, not {value}")
    return int(value)


def _texts(constraints: Any) -> tuple[str, ...]:
    """One condition, or several."""
    if isinstance(constraints, str):
        return (constraints,)
    listed = tuple(constraints) if isinstance(constraints, Iterable) else (constraints,)
    for each in listed:
        if not isinstance(each, str):
            raise DataTypeError(f"constraints is a text or a list of texts; {each!r} is none")
    return listed


__all__ = ["METHODS", "Options", "check_options"]

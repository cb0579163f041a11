"""The options of a question, checked before any work."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

from joblib import cpu_count

from ..errors import DataTypeError, InvalidInputError
from ..frontends.model_constraint import ModelConstraint
from ..frontends.space.numbers import as_written

CRITERIA = ("constraints", "max_changes", "causal", "trust_region", "actions")
"""What may be given up: arguments of a question, and the actions of its features."""
METHODS = ("auto", "box", "mio", "smt")
SEMANTICS = ("auto", "real", "float")
DIVERSITY = ("points", "features", "pool", "clusters")


@dataclass(frozen=True)
class Options:
    """Checked values of ``explain``'s options, as plain Python numbers and texts."""

    epsilon: float
    time_limit: float
    count: int
    constraints: tuple[str, ...]
    random_state: int
    n_jobs: int
    semantics: str = "auto"
    max_changes: int | None = None
    diversity: str = "points"
    change_penalty: Fraction = Fraction(0)
    relax: tuple[str, ...] = ()
    probability: Any = None
    margin: Any = 0
    models: tuple[ModelConstraint, ...] = ()
    apart: Fraction = Fraction(0)


def check_options(
    *,
    epsilon: Any,
    method: Any,
    time_limit: Any,
    constraints: Any,
    random_state: Any,
    n_jobs: Any,
    semantics: Any = "auto",
    max_changes: Any = None,
    change_penalty: Any = 0,
    probability: Any = None,
    margin: Any = 0,
    count: Any = 1,
    diversity: Any = "points",
    apart: Any = 0,
    relax: Any = (),
) -> Options:
    """Check what does not depend on the model.

    Raises:
        DataTypeError, InvalidInputError: naming the option and what it may be.
    """
    if method == "bayes":
        raise InvalidInputError("method 'bayes' answers potentials: give target=cfxc.SEP(width=…)")
    if method not in METHODS:
        raise InvalidInputError(f"unknown method '{method}': {', '.join(METHODS)}")
    if semantics not in SEMANTICS:
        raise InvalidInputError(f"unknown semantics {semantics!r}: {', '.join(SEMANTICS)}")
    if diversity not in DIVERSITY:
        raise InvalidInputError(f"unknown diversity {diversity!r}: {', '.join(DIVERSITY)}")
    constraints, models = _parted(constraints)
    accuracy = proper_share(epsilon, "epsilon")
    seed = whole_number(random_state, "random_state", 0)
    limit = positive_number(time_limit, "time_limit")
    jobs = cpu_count() if n_jobs == -1 and not isinstance(n_jobs, bool) else n_jobs
    return Options(
        epsilon=accuracy,
        time_limit=limit,
        count=whole_number(count, "count", 1),
        constraints=_texts(constraints),
        random_state=seed,
        n_jobs=whole_number(jobs, "n_jobs", 1),
        semantics=semantics,
        max_changes=None if max_changes is None else whole_number(max_changes, "max_changes", 1),
        diversity=diversity,
        change_penalty=non_negative(change_penalty, "change_penalty"),
        relax=_criteria(relax, constraints),
        probability=probability,
        margin=margin,
        models=models,
        apart=non_negative(apart, "apart"),
    )


def positive_number(value: Any, name: str) -> float:
    """A number > 0.

    Raises:
        DataTypeError, InvalidInputError: naming the option.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise DataTypeError(f"{name} must be a positive number, not {value!r}")
    if not float(value) > 0:
        raise InvalidInputError(f"{name} must be a positive number, not {value}")
    return float(value)


def proper_share(value: Any, name: str) -> float:
    """A number between 0 and 1, both left out.

    Raises:
        DataTypeError, InvalidInputError: naming the option.
    """
    wanted = f"{name} must be a number between 0 and 1, such as 0.001 for a thousandth"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise DataTypeError(f"{wanted}, not {value!r}")
    if not 0 < float(value) < 1:
        raise InvalidInputError(f"{wanted}, not {value}")
    return float(value)


def _parted(constraints: Any) -> tuple[Any, tuple[ModelConstraint, ...]]:
    """Texts, and what other models say."""
    if isinstance(constraints, ModelConstraint):
        return (), (constraints,)
    if isinstance(constraints, str) or not isinstance(constraints, Iterable):
        return constraints, ()
    given = tuple(constraints)
    models = tuple(each for each in given if isinstance(each, ModelConstraint))
    return tuple(each for each in given if not isinstance(each, ModelConstraint)), models


def _criteria(relax: Any, constraints: Any) -> tuple[str, ...]:
    """Names of criteria, or texts of constraints."""
    found = _texts(relax, "relax")
    known = (*CRITERIA, *_texts(constraints))
    for each in found:
        if each not in known:
            raise InvalidInputError(f"relax: {each!r} is none of {', '.join(known)}")
    return found


def non_negative(value: Any, name: str) -> Fraction:
    """An exact number from 0 on.

    Raises:
        InvalidInputError: it is no number, or is less.
    """
    share = as_written(value, name)
    if share < 0:
        raise InvalidInputError(f"{name} must be at least 0, not {value}")
    return share


def whole_number(value: Any, name: str, least: int) -> int:
    """A whole number from ``least`` on.

    Raises:
        DataTypeError, InvalidInputError: naming the option.
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise DataTypeError(f"{name} must be a whole number from {least}, not {value!r}")
    if int(value) < least:
        raise InvalidInputError(f"{name} must be a whole number from {least}, not {value}")
    return int(value)


def _texts(constraints: Any, name: str = "constraints") -> tuple[str, ...]:
    """One text, or several."""
    if isinstance(constraints, str):
        return (constraints,)
    listed = tuple(constraints) if isinstance(constraints, Iterable) else (constraints,)
    for each in listed:
        if not isinstance(each, str):
            raise DataTypeError(f"{name} is a text or a list of texts; {each!r} is none")
    return listed


__all__ = ["METHODS", "Options", "check_options", "positive_number", "proper_share", "whole_number"]

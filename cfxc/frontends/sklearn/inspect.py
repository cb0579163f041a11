"""Whether a fitted estimator can be lowered at all: every offence, before any work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ...errors import InvalidInputError, UnsupportedError
from ..boosters import register_loaded
from .registry import MODELS, TRANSFORMERS, Estimator
from .structure import branches, steps, titled


@dataclass(frozen=True)
class Offence:
    """What is wrong with one step; ``unfitted`` means that ``fit`` would mend it."""

    text: str
    unfitted: bool = False


def check_supported(estimator: Estimator) -> None:
    """Refuse what cannot be lowered.

    Raises:
        UnsupportedError: steps of unknown classes or with unsupported options, all of them.
        InvalidInputError: not fitted, all such steps.
    """
    register_loaded()
    offences = list(dict.fromkeys(_in_predictor(estimator, "")))
    if unsupported := [offence.text for offence in offences if not offence.unfitted]:
        raise UnsupportedError("this model cannot be lowered", unsupported, _remedy())
    if unfitted := [offence.text for offence in offences]:
        raise InvalidInputError(
            f"not fitted: {'; '.join(unfitted[:SHOWN])}"
            + (f" and {len(unfitted) - SHOWN} more" if len(unfitted) > SHOWN else "")
            + "; call fit on the whole model first"
        )


SHOWN = 5


def _remedy() -> str:
    return (
        f"supported are {', '.join(_names(TRANSFORMERS))}; "
        f"and {', '.join(_names(MODELS))}. Replace the step, or apply it before training."
    )


def _names(table: Mapping[type, object]) -> list[str]:
    return sorted(cls.__name__ for cls in table if not cls.__name__.endswith("CV"))


def _in_predictor(estimator: Estimator, step: str) -> Iterator[Offence]:
    if type(estimator) is Pipeline:
        before, last = steps(estimator)[:-1], estimator.steps[-1]
        for name, part in before:
            yield from _in_transformer(part, _below(step, name))
        yield from _in_predictor(last[1], _below(step, f"pipeline step {last[0]!r}"))
    else:
        yield from _in_leaf(estimator, step, MODELS, "predictor")
        yield from _in_parts(estimator, step)


def _in_transformer(estimator: Estimator, step: str) -> Iterator[Offence]:
    if type(estimator) is Pipeline:
        for name, part in steps(estimator):
            yield from _in_transformer(part, _below(step, name))
    elif type(estimator) is ColumnTransformer:
        yield from _in_columns(estimator, titled(step, estimator))
    else:
        yield from _in_leaf(estimator, step, TRANSFORMERS, "transformer")


def _in_columns(columns: Estimator, step: str) -> Iterator[Offence]:
    fitted = hasattr(columns, "transformers_")
    if not fitted:
        yield Offence(step, unfitted=True)
    parts = branches(columns) if fitted else columns.transformers
    for name, part, _ in parts:
        if not (part is None or isinstance(part, str)):
            yield from _in_transformer(part, _below(step, repr(name)))


def _in_leaf(
    estimator: Estimator,
    step: str,
    table: Mapping[type, Any],
    role: Literal["predictor", "transformer"],
) -> Iterator[Offence]:
    where = titled(step, estimator)
    entry = table.get(type(estimator))
    if entry is None:
        yield Offence(f"{where}: {_stranger(estimator, table, role)}")
        return
    if not _is_fitted(estimator):
        yield Offence(where, unfitted=True)
        return
    for flaw in entry.flaws(estimator):
        yield Offence(f"{where}: {flaw}")


def _in_parts(estimator: Estimator, step: str) -> Iterator[Offence]:
    entry = MODELS.get(type(estimator))
    if entry is not None and _is_fitted(estimator):
        for name, part in entry.parts(estimator):
            yield from _in_predictor(part, _below(titled(step, estimator), name))


def _is_fitted(estimator: Estimator) -> bool:
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


def _stranger(estimator: Estimator, table: Mapping[type, Any], role: str) -> str:
    if isinstance(estimator, type) and issubclass(estimator, BaseEstimator):
        return f"is a class; give a fitted {estimator.__name__}()"
    if hasattr(estimator, "best_estimator_"):
        return "is a search; give its best_estimator_"
    known = [cls.__name__ for cls in type(estimator).__mro__ if cls in table]
    if known:
        return f"is a subclass of {known[0]}, which may change what it does; use {known[0]} itself"
    if type(estimator) in TRANSFORMERS or estimator is None or estimator == "passthrough":
        return f"stands where a {role} is needed"
    return f"no {role} that can be lowered"


def _below(step: str, name: str) -> str:
    return f"{step} > {name}" if step else name

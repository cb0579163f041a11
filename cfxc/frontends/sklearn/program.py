"""From a fitted scikit-learn estimator to a program over the features of a space."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ...errors import DataTypeError, InvalidInputError, MissingColumnError, UnsupportedError
from ...ir import Program
from ...space import FeatureSpace
from ...space.names import shown, suggestion
from ..loaded import register_loaded
from .lowering import Lowering, Raw, column_dtype, common_dtype
from .registry import (
    MODELS,
    REFUSED,
    TRANSFORMERS,
    WRAPPERS,
    Estimator,
    below,
    is_pipeline,
    own_names,
)
from .structure import INSIDE, branches, first_steps, last_step, predict, steps, titled


def lower(estimator: Estimator, space: FeatureSpace, name: str = "") -> Program:
    """The program that ``estimator.predict`` computes, over the reals, on rows of ``space``.

    Inputs are the features of ``space``.  Outputs of a classifier are ``label``, ``score`` where
    the model has a decision function that is rational, and ``probability`` where it has
    ``predict_proba``; of a regressor, ``value``.  Parameters are exact; comparisons and ties are
    those of the deployed model (DESIGN §6).

    Args:
        estimator: A fitted classifier or regressor, or a ``Pipeline`` that ends in one.
        space: The features behind the columns that the estimator was trained on; by name if it
            was trained on a DataFrame, else in the order of ``space.columns``.
        name: Of the program; by default the class of the model.

    Raises:
        UnsupportedError: what cannot be lowered, all steps listed; or values that the space
            admits and the model's encoders refuse.
        InvalidInputError: not fitted, or the space has other columns than the model.
        MissingColumnError: the space lacks columns of the model.
    """
    if not isinstance(space, FeatureSpace):
        raise DataTypeError(f"expected a FeatureSpace, not {type(space).__name__}")
    check_supported(estimator)
    lowering = Lowering(name or type(last_step(estimator)).__name__, space)
    refs = tuple(_inputs(estimator, space))
    outputs = predict(lowering, "", estimator, refs)
    lowering.finish()
    return lowering.builder.build_with(outputs)


def fitted_names(estimator: Estimator, space: FeatureSpace) -> tuple[str, ...] | None:
    """Columns of the DataFrame it was trained on; ``None`` if it was trained on an array.

    A wrapper that makes an array of its table remembers the columns itself.
    """
    for first in reversed(list(first_steps(estimator))):
        entry = MODELS.get(type(first))
        if (names := (entry.names if entry else own_names)(first, space)) is not None:
            return tuple(map(str, names))
    return None


def model_columns(estimator: Estimator, space: FeatureSpace) -> tuple[str, ...]:
    """The columns of the table that the fitted estimator is given, in its order.

    Raises:
        MissingColumnError, InvalidInputError: the space lacks some, or has others.
    """
    names, (*_, first) = fitted_names(estimator, space), first_steps(estimator)
    count = getattr(first, "n_features_in_", 0) or len(space.columns)
    return columns_of(space, names, count, _dropped(first, names or ()))


def columns_of(
    space: FeatureSpace, names: tuple[str, ...] | None, count: int, unneeded: Container[str] = ()
) -> tuple[str, ...]:
    """The columns of a model, by their names if it knows them, else all of the space in order.

    Args:
        space: The features behind them.
        names: Of the model's columns.
        count: Number of the model's columns, if it does not know their names.
        unneeded: Columns that the table need not have.

    Raises:
        MissingColumnError, InvalidInputError: the space lacks some, or has others.
    """
    if names is None:
        if count != len(space.columns):
            raise InvalidInputError(
                f"the model was trained on an array of {count} columns, and the feature space has "
                f"{len(space.columns)}: {shown(space.columns)}; use space.subset, or train on a "
                "DataFrame"
            )
        return space.columns
    missing = [name for name in names if name not in space.columns and name not in unneeded]
    extra = [column for column in space.columns if column not in names]
    if missing:
        raise MissingColumnError(
            f"the feature space lacks columns that the model was trained on: {shown(missing)}"
            f"{suggestion(missing[0], extra) if extra else ''}; infer it from the training table"
        )
    if extra:
        raise InvalidInputError(
            f"the feature space has columns that the model was not trained on: {shown(extra)}; "
            "leave them out with space.subset, or of the table before FeatureSpace.infer"
        )
    return names


def _dropped(first: Estimator, names: Sequence[str]) -> set[str]:
    """Columns that the first step drops unseen: the library does not ask for them either."""
    if type(first) is not ColumnTransformer:
        return set()
    used = {index for _, _, indices in branches(first) for index in indices}
    return {name for index, name in enumerate(names) if index not in used}


def _inputs(estimator: Estimator, space: FeatureSpace) -> list[Raw]:
    return raw_columns(
        space, model_columns(estimator, space), fitted_names(estimator, space) is None
    )


def raw_columns(space: FeatureSpace, columns: Sequence[str], as_array: bool) -> list[Raw]:
    """The columns as references; those of an array have one dtype."""
    dtypes = {
        column: column_dtype(dtype)
        for feature in space
        for column, dtype in zip(feature.columns, feature.dtypes, strict=True)
    }
    own = [dtypes.get(column, column_dtype("object")) for column in columns]
    if as_array:
        own = [common_dtype(own)] * len(own)
    return [Raw(column, dtype) for column, dtype in zip(columns, own, strict=True)]


@dataclass(frozen=True)
class Offence:
    """What is wrong with one step; ``unfitted`` means that ``fit`` would mend it."""

    text: str
    unfitted: bool = False
    remedy: str = ""


def check_supported(estimator: Estimator) -> None:
    """Refuse what cannot be compiled.

    Raises:
        UnsupportedError: steps of unknown classes or with unsupported options, all of them.
        InvalidInputError: not fitted, all such steps.
    """
    register_loaded()
    offences = list(dict.fromkeys(_in_predictor(estimator, "")))
    if unsupported := [offence.text for offence in offences if not offence.unfitted]:
        remedies = dict.fromkeys(one.remedy or ANOTHER for one in offences if not one.unfitted)
        raise UnsupportedError(
            "this model cannot be compiled", unsupported, " ".join(list(remedies)[:REMEDIES])
        )
    if unfitted := [offence.text for offence in offences]:
        raise InvalidInputError(
            f"not fitted: {'; '.join(unfitted[:SHOWN])}"
            + (f" and {len(unfitted) - SHOWN} more" if len(unfitted) > SHOWN else "")
            + "; call fit on the whole model first"
        )


SHOWN = 5
REMEDIES = 2  # that a message gives: it has ten lines at most
ANOTHER = "Replace the step, or apply it before training; 'cfxc models' lists what is supported."


def _in_predictor(estimator: Estimator, step: str) -> Iterator[Offence]:
    if is_pipeline(estimator):
        before, last = steps(estimator)[:-1], estimator.steps[-1]
        for name, part in before:
            yield from _in_transformer(part, below(step, name))
        yield from _in_predictor(last[1], below(step, f"pipeline step {last[0]!r}"))
    elif type(estimator) in WRAPPERS:
        yield from _in_wrapper(estimator, step, _in_predictor)
    else:
        yield from _in_leaf(estimator, step, MODELS, "predictor")
        yield from _in_parts(estimator, step)


def _in_transformer(estimator: Estimator, step: str) -> Iterator[Offence]:
    if is_pipeline(estimator):
        for name, part in steps(estimator):
            yield from _in_transformer(part, below(step, name))
    elif type(estimator) is ColumnTransformer:
        yield from _in_columns(estimator, titled(step, estimator))
    elif type(estimator) in WRAPPERS:
        yield from _in_wrapper(estimator, step, _in_transformer)
    else:
        yield from _in_leaf(estimator, step, TRANSFORMERS, "transformer")
        entry = TRANSFORMERS.get(type(estimator))
        for name, part in entry.parts(estimator) if entry else ():
            yield from _in_transformer(part, below(titled(step, estimator), name))
        for name, part in entry.models(estimator) if entry and _is_fitted(estimator) else ():
            yield from _in_predictor(part, below(titled(step, estimator), name))


def _in_wrapper(
    estimator: Estimator, step: str, within: Callable[[Estimator, str], Iterator[Offence]]
) -> Iterator[Offence]:
    where, inside = titled(step, estimator), WRAPPERS[type(estimator)].inside(estimator)
    if not _is_fitted(estimator):
        yield Offence(where, unfitted=True)
    elif inside is None:
        yield Offence(f"{where}: holds no fitted estimator; train it with refit=True")
    else:
        yield from within(inside, below(where, INSIDE))


def _in_columns(columns: Estimator, step: str) -> Iterator[Offence]:
    fitted = hasattr(columns, "transformers_")
    if not fitted:
        yield Offence(step, unfitted=True)
    parts = branches(columns) if fitted else columns.transformers
    for name, part, _ in parts:
        if not (part is None or isinstance(part, str)):
            yield from _in_transformer(part, below(step, repr(name)))


def _in_leaf(
    estimator: Estimator,
    step: str,
    table: Mapping[type, Any],
    role: Literal["predictor", "transformer"],
) -> Iterator[Offence]:
    where = titled(step, estimator)
    entry = table.get(type(estimator))
    if entry is None:
        refusal = REFUSED.get(type(estimator))
        if refusal is None:
            yield Offence(f"{where}: {_stranger(estimator, table, role)}")
        else:
            yield Offence(f"{where}: {refusal.reason}", remedy=refusal.remedy)
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
            yield from _in_predictor(part, below(titled(step, estimator), name))


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
    return f"no {role} that can be compiled"

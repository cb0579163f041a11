"""Pipelines and column transformers: which columns go where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline

from ...errors import InvalidInputError
from ...ir import Literal, ops
from .lowering import DOUBLE, Lowering, Ref, Refs, Stage, as_array, cells, scaled
from .registry import (
    MODELS,
    TRANSFORMERS,
    WRAPPERS,
    Estimator,
    Outputs,
    below,
    is_pipeline,
    transformer,
)

INSIDE = "its estimator"


def steps(pipeline: Estimator) -> list[tuple[str, Estimator]]:
    """Name and estimator of the steps that act on what is predicted, as messages call them."""
    return [
        (f"pipeline step {name!r}", step)
        for name, step in pipeline.steps
        if not (step is None or isinstance(step, str) or hasattr(step, "fit_resample"))
    ]


def last_step(estimator: Estimator) -> Estimator:
    """The predictor at the end of (nested) pipelines and wrappers."""
    while True:
        if is_pipeline(estimator):
            estimator = estimator.steps[-1][1]
        elif type(estimator) in WRAPPERS:
            estimator = WRAPPERS[type(estimator)].inside(estimator)
        else:
            return estimator


def first_steps(estimator: Estimator) -> Iterator[Estimator]:
    """What sees the table: pipelines and wrappers pass it on, and the last one uses it."""
    while True:
        if is_pipeline(estimator):
            estimator = steps(estimator)[0][1]
            continue
        yield estimator
        if type(estimator) not in WRAPPERS:
            return
        estimator = WRAPPERS[type(estimator)].inside(estimator)


def branches(columns: Estimator) -> Iterator[tuple[str, Estimator, list[int]]]:
    """Name, transformer and input columns of each part of a fitted column transformer.

    In the order of their outputs; parts that are dropped, or select nothing, are left out.
    """
    for name, part, _ in columns.transformers_:
        # the library's own record of what names, slices, masks and callables selected in fit
        indices = list(columns._transformer_to_input_indices[name])
        if indices and not (isinstance(part, str) and part == "drop"):
            yield name, part, indices


def titled(step: str, estimator: Estimator) -> str:
    """``pipeline step 'scale' (StandardScaler)``."""
    return f"{step} ({type(estimator).__name__})" if step else type(estimator).__name__


def transform(lowering: Lowering, step: str, estimator: Estimator, refs: Refs) -> Refs:
    """Lower one transformer on the columns ``refs``; gives its output columns."""
    with lowering.at(titled(step, estimator)):
        check_width(estimator, refs, lowering.where)
        if wrapper := WRAPPERS.get(type(estimator)):
            return transform(lowering, INSIDE, wrapper.inside(estimator), refs)
        return TRANSFORMERS[type(estimator)].lower(lowering, estimator, refs)


def predict(lowering: Lowering, step: str, estimator: Estimator, refs: Refs) -> Outputs:
    """Lower a predictor, or a pipeline that ends in one, on the columns ``refs``."""
    if not is_pipeline(estimator):
        with lowering.at(titled(step, estimator)):
            check_width(estimator, refs, lowering.where)
            if wrapper := WRAPPERS.get(type(estimator)):
                columns = as_array(refs) if wrapper.joins else refs
                return predict(lowering, INSIDE, wrapper.inside(estimator), columns)
            return MODELS[type(estimator)].lower(lowering, estimator, refs)
    *before, (last_name, last) = steps(estimator)
    for name, part in before:
        refs = transform(lowering, below(step, name), part, refs)
        lowering.sparse = gives_sparse(part, lowering.sparse)
    return predict(lowering, below(step, last_name), last, refs)


def gives_sparse(part: Estimator, sparse: bool) -> bool:
    """Whether a fitted transformer gives a sparse matrix; ``sparse``: whether it gets one.

    A column transformer decides in ``fit``, by the share of zeros; scalers keep what they get.
    """
    if is_pipeline(part):
        return _last_sparse(part, sparse)
    if wrapper := WRAPPERS.get(type(part)):
        return gives_sparse(wrapper.inside(part), sparse)
    return TRANSFORMERS[type(part)].sparse(part, sparse)


def _last_sparse(pipeline: Estimator, sparse: bool) -> bool:
    for _, step in steps(pipeline):
        sparse = gives_sparse(step, sparse)
    return sparse


def _any_sparse(union: Estimator, sparse: bool) -> bool:
    return any(gives_sparse(part, sparse) for _, part in _named(union)) or (
        sparse and any(part == "passthrough" for _, part in union.transformer_list)
    )


def _named(parts: Estimator) -> Iterator[tuple[str, Estimator]]:
    """Name and transformer of the parts of a union that are lowered."""
    for name, part in parts.transformer_list:
        if not isinstance(part, str):
            yield repr(name), part


@transformer(Pipeline, sparse=_last_sparse, parts=steps)
def lower_pipeline(lowering: Lowering, pipeline: Estimator, refs: Refs) -> Refs:
    """One step after another."""
    given = lowering.sparse
    for name, step in steps(pipeline):
        refs = transform(lowering, name, step, refs)
        lowering.sparse = gives_sparse(step, lowering.sparse)
    lowering.sparse = given
    return refs


@transformer(ColumnTransformer, sparse=lambda columns, _: bool(columns.sparse_output_))
def lower_columns(lowering: Lowering, columns: Estimator, refs: Refs) -> Refs:
    """Each part on its own columns; outputs side by side, times ``transformer_weights``."""
    weights = columns.transformer_weights or {}
    made: list[Ref] = []
    for name, part, indices in branches(columns):
        chosen = tuple(refs[index] for index in indices)
        if not (part is None or isinstance(part, str)):
            chosen = transform(lowering, repr(name), part, chosen)
        made.extend(_weighted(lowering, chosen, weights.get(name)))
    return tuple(made)


@transformer(FeatureUnion, sparse=_any_sparse, parts=_named)
def lower_union(lowering: Lowering, union: Estimator, refs: Refs) -> Refs:
    """All parts on the same columns; outputs side by side, times ``transformer_weights``."""
    weights = union.transformer_weights or {}
    made: list[Ref] = []
    for name, part in union.transformer_list:
        if isinstance(part, str) and part == "drop":
            continue
        chosen = refs if isinstance(part, str) else transform(lowering, repr(name), part, refs)
        made.extend(_weighted(lowering, chosen, weights.get(name)))
    return tuple(made)


def _weighted(lowering: Lowering, refs: Refs, weight: float | None) -> Refs:
    """The columns times a weight, if there is one."""
    if weight is None or not refs:
        return refs
    factor, dtype = float(weight), np.result_type(lowering.dtype(refs), 1.0)

    def build(x: str, _: list[int]) -> str:
        return lowering.let(ops.Mul(x, Literal(Fraction(factor))))

    if dtype != DOUBLE:
        return cells(build(lowering.vector(refs), []), len(refs), dtype)
    stage = Stage(lambda values: values * factor, falls=factor < 0)
    return scaled(lowering, refs, [stage] * len(refs), build)


def check_width(estimator: Estimator, refs: Sequence[Ref], where: str) -> None:
    """Refuse an estimator that was fitted on another number of columns than it gets.

    Raises:
        InvalidInputError: naming both numbers.
    """
    fitted = getattr(estimator, "n_features_in_", 0) or len(refs)  # files of CatBoost forget it
    if fitted != len(refs):
        raise InvalidInputError(
            f"{where}: fitted on {fitted} columns, but gets {len(refs)}; the steps of a pipeline "
            "must be fitted together"
        )

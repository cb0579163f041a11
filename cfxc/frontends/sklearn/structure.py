"""Pipelines and column transformers: which columns go where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from ...errors import InvalidInputError
from ...ir import Literal, ops
from .lowering import Lowering, Ref, cells
from .registry import MODELS, TRANSFORMERS, Estimator, Outputs, is_pipeline, transformer


def steps(pipeline: Estimator) -> list[tuple[str, Estimator]]:
    """Name and estimator of the steps that act on what is predicted, as messages call them."""
    return [
        (f"pipeline step {name!r}", step)
        for name, step in pipeline.steps
        if not (step is None or isinstance(step, str) or hasattr(step, "fit_resample"))
    ]


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


def transform(
    lowering: Lowering, step: str, estimator: Estimator, refs: tuple[Ref, ...]
) -> tuple[Ref, ...]:
    """Lower one transformer on the columns ``refs``; gives its output columns."""
    with lowering.at(titled(step, estimator)):
        check_width(estimator, refs, lowering.where)
        return TRANSFORMERS[type(estimator)].lower(lowering, estimator, refs)


def predict(lowering: Lowering, step: str, estimator: Estimator, refs: tuple[Ref, ...]) -> Outputs:
    """Lower a predictor, or a pipeline that ends in one, on the columns ``refs``."""
    if not is_pipeline(estimator):
        with lowering.at(titled(step, estimator)):
            check_width(estimator, refs, lowering.where)
            return MODELS[type(estimator)].lower(lowering, estimator, refs)
    *before, (last_name, last) = steps(estimator)
    for name, part in before:
        refs = transform(lowering, _joined(step, name), part, refs)
        lowering.sparse = gives_sparse(part, lowering.sparse)
    return predict(lowering, _joined(step, last_name), last, refs)


def gives_sparse(part: Estimator, sparse: bool) -> bool:
    """Whether a fitted transformer gives a sparse matrix; ``sparse``: whether it gets one.

    A column transformer decides in ``fit``, by the share of zeros; scalers keep what they get.
    """
    if is_pipeline(part):
        for _, step in steps(part):
            sparse = gives_sparse(step, sparse)
        return sparse
    if type(part) is ColumnTransformer:
        return bool(part.sparse_output_)
    return bool(getattr(part, "sparse_output", sparse))


def _joined(step: str, name: str) -> str:
    return f"{step} > {name}" if step else name


@transformer(Pipeline)
def lower_pipeline(
    lowering: Lowering, pipeline: Estimator, refs: tuple[Ref, ...]
) -> tuple[Ref, ...]:
    """One step after another."""
    for name, step in steps(pipeline):
        refs = transform(lowering, name, step, refs)
    return refs


@transformer(ColumnTransformer)
def lower_columns(lowering: Lowering, columns: Estimator, refs: tuple[Ref, ...]) -> tuple[Ref, ...]:
    """Each part on its own columns; outputs side by side, times ``transformer_weights``."""
    weights = columns.transformer_weights or {}
    made: list[Ref] = []
    for name, part, indices in branches(columns):
        chosen = tuple(refs[index] for index in indices)
        if not (part is None or isinstance(part, str)):
            chosen = transform(lowering, repr(name), part, chosen)
        if weights.get(name) is not None and chosen:
            factor = Literal(Fraction(float(weights[name])))
            dtype = lowering.dtype(chosen)
            product = lowering.let(ops.Mul(lowering.vector(chosen), factor))
            chosen = cells(product, len(chosen), dtype)
        made.extend(chosen)
    return tuple(made)


def _calls_python(estimator: Estimator) -> Iterator[str]:
    if estimator.func is not None:
        called = getattr(estimator.func, "__name__", type(estimator.func).__name__)
        yield f"calls the Python function {called!r}; only func=None (the identity) is supported"


@transformer(FunctionTransformer, flaws=_calls_python)
def lower_identity(
    lowering: Lowering, function: Estimator, refs: tuple[Ref, ...]
) -> tuple[Ref, ...]:
    """``func=None``: nothing happens."""
    return refs


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

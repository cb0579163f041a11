"""Functions of one column: as tables where it holds few values, as steps, or as real functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ...arrays import Floats
from ...ir import Tensor, ops
from ..quadratics import exact
from .encoders import symbol
from .lowering import (
    DOUBLE,
    Cell,
    Image,
    Lowering,
    Raw,
    Ref,
    Stage,
    Traced,
    cells,
    tensor,
)
from .tracing import image_of, regions

LARGEST_TABLE = 1000  # values of a column that a function of it is tabulated at
Rows = Callable[[Floats], Floats]  # numbers (n,) to rows (n, k)
Real = Callable[[Lowering, str], str]  # from a vector of one number to another


def tabulated(
    lowering: Lowering, ref: Ref, rows: Rows, thresholds: Floats | None = None
) -> str | None:
    """A vector that holds exactly what the library makes of a column's number, by ``rows``.

    ``None`` if the column may hold too many values.  Between ``thresholds``, of ``x <= t`` and
    above, ``rows`` is constant; without them only a column of few values has a table.
    """
    image = image_of(lowering, ref)
    held = symbol(lowering, ref if image is None else image.source)
    if held is not None:
        numbers = np.array([np.nan if isinstance(c, str) or c is None else c for c in held.cells])
        numbers = numbers.astype(np.float64)
        if np.isnan(numbers).any():  # which the column itself reports
            lowering.vector([ref])
            numbers = np.nan_to_num(numbers)
        made = _finite(lowering, rows(image.function(numbers) if image else numbers))
        return lowering.let(ops.Lookup(held.category, held.labels, Tensor.of(exact(made))))
    if image is None:
        if thresholds is None:
            return None
        cuts = np.unique(thresholds)
        return _steps(lowering, lowering.vector([ref]), _ends(cuts), rows)
    ends = _ends_of(lowering, image, thresholds)
    if ends is None:
        return None
    x = lowering.vector([image.source], gaps=image.fill is not None)
    stepped = _steps(lowering, x, ends, lambda numbers: rows(image.function(numbers)))
    return stepped if image.fill is None else _filled(lowering, stepped, image, rows, ends)


def _filled(lowering: Lowering, made: str, image: Image, rows: Rows, ends: Floats) -> str:
    """The same where the number may be missing: it then lies below all steps."""
    name = lowering.source(image.source).feature.name
    first, fill = (_finite(lowering, rows(each)) for each in (
        image.function(ends[:1]), np.array([image.fill])
    ))  # fmt: skip
    missing = lowering.let(ops.ToReal(lowering.is_missing(name)))
    both = lowering.let(ops.Concat((made, missing)))
    width = first.shape[1]
    weight = np.column_stack([exact(np.eye(width)), (exact(fill) - exact(first))[0]])
    return lowering.let(ops.Affine(both, Tensor.of(weight), tensor(np.zeros(width))))


def _ends_of(lowering: Lowering, image: Image, thresholds: Floats | None) -> Floats | None:
    """Numbers of the table's column of which a function is all that it can be, rising.

    Up to the first, from there to the next, and so on, and above the last but one.
    """
    if thresholds is not None:
        found = regions(image, thresholds) if thresholds.size else []
        return _ends(np.unique(np.array([cut for region in found for cut in region.cuts])))
    whole = lowering.source(image.source).integers
    if whole is None or whole.stop - whole.start > LARGEST_TABLE:
        return None
    return np.arange(whole.start, whole.stop, dtype=np.float64)


def _ends(cuts: Floats) -> Floats:
    return np.append(cuts, np.nextafter(cuts[-1], np.inf) if cuts.size else 0.0)


def _steps(lowering: Lowering, x: str, ends: Floats, rows: Rows) -> str:
    """``rows`` of the number at the end of each step; x is above all but the last in the last."""
    made = _finite(lowering, rows(ends))
    changed = (made[1:] != made[:-1]).any(axis=1)
    kept = made[np.append(True, changed)]
    if not changed.any():
        return lowering.constant(kept[0])
    above = lowering.let(ops.Gt(x, lowering.constant(ends[:-1][changed])))
    reached = exact(kept)
    weight, base = Tensor.of((reached[1:] - reached[:-1]).T), Tensor.of(reached[0])
    return lowering.let(ops.Affine(lowering.let(ops.ToReal(above)), weight, base))


def _finite(lowering: Lowering, made: Floats) -> Floats:
    if not np.isfinite(made).all():
        lowering.problem(
            "gives no number for some of the values that the column can hold",
            "Narrow the feature in the space (lower, upper, labels) to where the function exists.",
        )
        return np.nan_to_num(made, posinf=0.0, neginf=0.0)
    return made


def column_function(
    lowering: Lowering,
    ref: Ref,
    stages: Sequence[Stage],
    real: Real | None = None,
    *,
    table: bool = True,
    flaw: str = "",
    remedy: str = "",
) -> Ref:
    """One column after ``stages``: a table, a real function, or what trees alone can compare.

    ``real``: the stages over the reals, if the program has them, else ``flaw`` says why not and
    ``remedy`` what to do; ``table``: whether a table of a column of few values is better.
    """
    image = image_of(lowering, ref)
    after = image and image.then(*stages)
    if table or real is None:
        own = Image(Raw("", DOUBLE), tuple(stages))
        made = tabulated(lowering, ref, lambda numbers: own.function(numbers)[:, None])
        if made is not None:
            return Cell(made, 0, 1, image=after)
    if isinstance(ref, Traced):
        return replace(ref, image=ref.image.then(*stages))
    if real is not None:
        return Cell(real(lowering, lowering.vector([ref])), 0, 1, image=after)
    if after is not None:
        return Traced(after, f"computes with what {lowering.where} gives; {flaw}", remedy)
    lowering.vector([ref])
    lowering.problem(flaw, remedy)
    return Cell(lowering.constant(np.zeros(1)), 0, 1)


def range_of(lowering: Lowering, ref: Ref) -> tuple[float, float]:
    """Ends of what the column can hold, as the library computes it; infinite if not known."""
    image = image_of(lowering, ref)
    held = symbol(lowering, ref if image is None else image.source)
    if held is not None:
        numbers = [float(c) for c in held.cells if not (isinstance(c, str) or c is None)]
        made = image.function(np.array(numbers)) if image else np.array(numbers)
        return (float(made.min()), float(made.max())) if made.size else (0.0, 0.0)
    if image is None:
        return -np.inf, np.inf
    source = lowering.source(image.source)
    low, high = (0.0, 1.0) if source.step is not None else map(float, source.feature.bounds)
    for stage in image.stages:
        inside = [b for b in stage.breaks if low < b <= high]
        ends = [low, high, *inside, *np.nextafter(np.array(inside), -np.inf).tolist()]
        with np.errstate(all="ignore"):
            made = stage.function(np.array(ends))
        low, high = float(made.min()), float(made.max())
    if image.fill is not None:
        low, high = min(low, image.fill), max(high, image.fill)
    return low, high


def stepwise(
    lowering: Lowering, refs: Sequence[Ref], thresholds: Sequence[Floats], rows: Sequence[Rows]
) -> list[tuple[Cell, ...]]:
    """Of each column the cells of a step function of it."""
    made = []
    for ref, bounds, function in zip(refs, thresholds, rows, strict=True):
        width = function(np.zeros(1)).shape[1]
        vector = tabulated(lowering, ref, function, bounds)
        assert vector is not None  # steps are always known
        made.append(cells(vector, width) if width else ())
    return made


def imaged(lowering: Lowering, cell: Cell, ref: Ref, stage: Stage) -> Cell:
    """The cell, known as a function of the column of the table behind ``ref``."""
    image = image_of(lowering, ref)
    return replace(cell, image=image and image.then(stage))

"""Where trees split the columns that people see.

A tree behind a scaler compares ``g(x) <= t``, with g rising and computed in rounded doubles.  On
doubles x that is ``x <= t'`` for one double t'.  Trees are therefore asked about x itself: over
the reals ``g(x) <= t`` would put values that round onto a threshold on its other side, and
histogram boosting takes its thresholds from the training values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...ir.float32 import double_threshold
from .lowering import Lowering
from .table import Cell, Function, Image, Ref

Floats = npt.NDArray[np.float64]
LARGEST = float(np.finfo(np.float32).max)
ALWAYS = float(np.finfo(np.float64).max)


@dataclass(frozen=True)
class Compared:
    """A vector that trees compare, and what they see of each of its columns.

    ``functions[i]`` is ``None`` where a tree sees column i as it is.
    """

    x: str
    functions: tuple[Function | None, ...]


def compared(lowering: Lowering, refs: Sequence[Ref]) -> Compared:
    """The columns ``refs`` of trees, each traced back to the table where a scaler made it."""
    images = [_image(lowering, ref) for ref in refs]
    sources = [
        ref if image is None else image.source for ref, image in zip(refs, images, strict=True)
    ]
    functions = tuple(None if image is None else image.function for image in images)
    return Compared(lowering.vector(sources), functions)


def _image(lowering: Lowering, ref: Ref) -> Image | None:
    image = ref.image if isinstance(ref, Cell) else None
    if image is None or lowering.source(image.source).flaw:  # which the scaler has reported
        return None
    return image


def cuts(
    columns: Compared, feature: npt.NDArray[np.int64], threshold: Floats, *, single: bool
) -> Floats:
    """The doubles t' with ``x[feature] <= t'`` iff a tree sees at most ``threshold`` there.

    With ``single`` the tree rounds what it sees to float32.  Any number where ``feature < 0``.
    """
    inner = feature >= 0
    moved = thresholds_on_doubles(threshold, inner) if single else np.minimum(threshold, ALWAYS)
    for place in np.unique(feature[inner]).tolist():
        function = columns.functions[place]
        if function is not None:
            nodes = np.flatnonzero(feature == place)
            moved[nodes] = last_below(function, moved[nodes])
    return moved


def thresholds_on_doubles(threshold: Floats, inner: npt.NDArray[np.bool_]) -> Floats:
    """The doubles t' with ``x <= t'`` iff ``float32(x) <= t``, where ``inner``.

    A threshold from the largest float32 on (infinite where training separated missing values)
    lets every number pass: the library refuses values that overflow float32.
    """
    moved = np.full(threshold.shape, ALWAYS)
    usual = inner & (threshold < LARGEST)
    moved[usual] = double_threshold(threshold[usual])
    return moved


def last_below(function: Function, threshold: Floats) -> Floats:
    """The largest doubles x with ``function(x) <= threshold``, elementwise, by bisection.

    ``function`` is rising.  The lowest double where there is none.
    """
    with np.errstate(all="ignore"):
        low, high = (np.full(threshold.shape, sign * _order(ALWAYS)) for sign in (-1, 1))
        low[function(_doubles(high)) <= threshold] = _order(ALWAYS)
        while (open_ := high - 1 > low).any():
            middle = (low >> 1) + (high >> 1) + (low & high & 1)
            below = function(_doubles(middle)) <= threshold
            low = np.where(open_ & below, middle, low)
            high = np.where(open_ & ~below, middle, high)
    return _doubles(low)


def _order(value: float) -> np.int64:
    """The place of a double >= 0 among all of them; the negative ones mirror it."""
    return np.int64(np.float64(value).view(np.int64))


def _doubles(order: npt.NDArray[np.int64]) -> Floats:
    made: Floats = np.copysign(np.abs(order).view(np.float64), order)
    return made

"""Ranges of a core-level program's variables, from the ranges of its inputs."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor, isfinite

from ..ir import Program, Sort
from ..ir.evaluator import enclose
from ..ir.interval import Bounds as Enclosure
from ..ir.interval import Choice, Interval, ceil_float, floor_float
from ..ir.linear import Number
from .transform import Ranges


def variable_ranges(program: Program, inputs: Ranges) -> Ranges:
    """Ranges of the inputs, and of every numeric variable of a core-level program; sound.

    Inputs that are not named are unbounded; ends that are not finite are ``None``.
    """
    box = {name: _box(sort, *inputs.get(name, (None, None))) for name, sort in program.inputs}
    ranges: dict[str, tuple[Number | None, Number | None]] = {}
    for name, bounds in enclose(program, box).items():
        sort = program.sorts[name]
        if isinstance(bounds, Interval) and sort.is_numeric and not sort.shape:
            low, high = float(bounds.lower), float(bounds.upper)
            exact = Fraction if sort.kind == "real" else None
            ranges[name] = (
                (exact or ceil)(low) if isfinite(low) else None,
                (exact or floor)(high) if isfinite(high) else None,
            )
    return {**ranges, **inputs}


def _box(sort: Sort, lower: Number | None, upper: Number | None) -> Enclosure:
    if sort.kind == "category":
        return Choice.among(sort.labels, sort.labels)
    if sort.kind == "bool":
        return Interval.of(0.0, 1.0)
    low = -float("inf") if lower is None else floor_float(lower)
    high = float("inf") if upper is None else ceil_float(upper)
    return Interval.of(low, high)

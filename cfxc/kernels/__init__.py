"""The inner loops of the engines, in C++: what a function of doubles and bits can do by itself.

Whatever takes arrays takes them as they are: contiguous, of the type that ``_kernels.pyi`` says,
often as the fields of a named tuple.  ``run``, ``climb_step``, ``shrink_step``, ``ascend``,
``region_step``, ``collect_leaves`` and ``add_values`` let go of the interpreter's lock.  Every
operation is rounded by itself, as the error bounds assume: no fused multiplication, no reordering.
``CMakeLists.txt`` at the root builds them.
"""

from __future__ import annotations

from ._kernels import (
    add_values,
    ascend,
    cell_rows,
    climb_step,
    collect_leaves,
    curve_lines,
    cut_leaves,
    determinantal,
    draw_levels,
    hand_over,
    harmonic,
    ladders,
    look_at_leaves,
    max_min,
    prune,
    region_bound,
    region_narrow,
    region_step,
    retrace,
    run,
    shrink_step,
)

__all__ = [
    "add_values",
    "ascend",
    "cell_rows",
    "climb_step",
    "collect_leaves",
    "curve_lines",
    "cut_leaves",
    "determinantal",
    "draw_levels",
    "hand_over",
    "harmonic",
    "ladders",
    "look_at_leaves",
    "max_min",
    "prune",
    "region_bound",
    "region_narrow",
    "region_step",
    "retrace",
    "run",
    "shrink_step",
]

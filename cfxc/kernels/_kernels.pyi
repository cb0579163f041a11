"""The inner loops; arrays have to be contiguous and of the types said."""

from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import Floats, Ints

Fields = tuple[Any, ...]  # a named tuple of arrays
Signs = npt.NDArray[np.int8]
Mask = npt.NDArray[np.bool_]
Words = npt.NDArray[np.uint64]
Levels = npt.NDArray[np.int16]

# box search: box_search
def cell_rows(
    start: Ints,
    symbolic: Mask,
    slot: Ints,
    condition: Ints,
    feature: Ints,
    first: Ints,
    last: Ints,
    labels: Words,
    full: Words,
    room: int,
) -> tuple[int, Ints, Ints, Ints, Ints, Ints, Words, Words]: ...
def ladders(
    start: Ints,
    whole: Mask,
    home: Ints,
    first_word: Ints,
    condition: Ints,
    feature: Ints,
    first: Ints,
    last: Ints,
) -> tuple[Ints, Ints, Ints, Ints, Ints]: ...
def run(tables: Fields, logic: Fields, state: Fields, log: Fields) -> int: ...
def retrace(
    tables: Fields, logic: Fields, state: Fields, cuts: Ints, sides: Signs, radii: Ints
) -> None: ...
def hand_over(tables: Fields, state: Fields, level: int, other: Fields) -> bool: ...

# greedy moves: climbing.cpp
def climb_step(forest: Fields, point: Ints, moved: Mask, patience: float, small: float) -> int: ...
def shrink_step(forest: Fields, point: Ints) -> bool: ...
def ascend(forest: Fields, point: Ints, limit: int) -> bool: ...

# trees within a ball: walks.cpp
def collect_leaves(
    walk: Fields, value: Floats, floors: Floats, largest: Floats, reached: Ints, room: int
) -> tuple[Ints, Ints, Ints, Ints, Floats, Floats, Words]: ...
def prune(walk: Fields) -> tuple[Ints, Ints, Ints, Ints]: ...

# leaves within a box, and what they add up to: leaves.cpp
def cut_leaves(leaves: Fields, node: Fields) -> bool: ...
def look_at_leaves(leaves: Fields, node: Fields) -> tuple[Floats, Floats, Floats, int, float]: ...

# trees over batches of rows: trees.cpp
def add_values(
    rows: Floats,
    block: int,
    roots: npt.NDArray[Any],
    feature: npt.NDArray[Any],
    threshold: Floats,
    child: npt.NDArray[Any],
    value: Floats,
    total: Floats,
) -> None: ...

# boxes of columns: regions.cpp
def curve_lines(code: int, low: float, high: float) -> tuple[float, float, float, float]: ...
def region_narrow(problem: Fields, radius: float, low: Floats, high: Floats) -> float: ...
def region_bound(
    problem: Fields, radius: float, low: Floats, high: Floats, spread: Floats, corner: Floats
) -> bool: ...
def region_step(
    problem: Fields, radius: float, lows: Floats, highs: Floats
) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats]: ...

# the generator: generator.cpp
def draw_levels(law: Floats, uniform: Floats) -> Levels: ...
def max_min(rows: Levels, first: int, count: int, seconds: float = ...) -> Ints: ...
def harmonic(
    rows: Levels, changes: Ints, columns: int, count: int, seconds: float = ...
) -> Ints: ...
def determinantal(rows: Levels, count: int, seconds: float = ...) -> Ints: ...

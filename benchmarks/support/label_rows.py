"""Rows that try a compiled model where it changes: at its thresholds and one float beside them.

A threshold of a feature is where, along a line through a row, a comparison of the program, a sum of
its trees or its label changes; bisection ends at two neighbouring floats, or whole numbers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

import cfxc
from cfxc.arrays import Floats
from cfxc.ir import BatchEvaluator, ops

LINES, STEPS, FEW = 16, 60, 12  # rows that lines go through, and points of a line
WHOLE = ("integer", "binary", "ordinal")
HALVINGS = 90  # of the interval between two floats, at most
MOST = 1500  # changes of a feature that are bisected
SHARE = 0.5  # of the numbers are thresholds or beside one
GAPS = 0.1  # of the numbers that may be missing, are
CHANGES = (ops.Le, ops.Lt, ops.Ge, ops.Gt, ops.Eq, ops.Ne, ops.Argmax, ops.TreeEnsemble)

Columns = Mapping[str, npt.NDArray[Any]]
Sides = Callable[["Lines", Any, Any, Floats], Any]
"""Lines, and of each point its line, its feature and its number → on what side of all thresholds
it is."""


@dataclass(frozen=True)
class Lines:
    """Rows through which lines of single features go, as a table and as a program's inputs."""

    rows: pd.DataFrame
    features: Sequence[cfxc.Feature]
    columns: Columns

    def table(self, place: Any, which: Any, numbers: Floats) -> pd.DataFrame:
        """Points of the lines: the number stands in the feature that is meant."""
        made = self.rows.iloc[place].reset_index(drop=True)
        for at, feature in enumerate(self.features):
            name, chosen = feature.columns[0], which == at
            held = made[name].to_numpy(float, na_value=np.nan, copy=True)
            held[chosen] = numbers[chosen]
            made[name] = pd.Series(held).astype(made[name].dtype)
        return made

    def inputs(self, place: Any, which: Any, numbers: Floats) -> Columns:
        """The same for a program."""
        made = {name: held[place] for name, held in self.columns.items()}
        for at, feature in enumerate(self.features):
            chosen = which == at
            made[feature.name][chosen] = numbers[chosen]
        return made


def lines_of(compiled: cfxc.CompiledModel, table: pd.DataFrame, rng: np.random.Generator) -> Lines:
    """Some lines through rows of a table, of each feature that is a column of numbers."""
    features = [each for each in compiled.space if not each.is_symbolic and len(each.columns) == 1]
    rows = table.iloc[rng.integers(0, len(table), LINES)].reset_index(drop=True)
    columns = compiled.space.encode_frame(rows, check_range=False)
    return Lines(rows, features, {name: np.array(held) for name, held in columns.items()})


def sides_of(compiled: cfxc.CompiledModel) -> Sides | None:
    """By the program: all it compares, the sums of its trees, its label; ``None`` if nothing."""
    program = compiled.program
    names = [let.name for let in program.lets() if isinstance(let.op, CHANGES)]
    asked: list[tuple[str, Any]] = [(f"at {place}", name) for place, name in enumerate(names)]
    return _sides(compiled, asked + [each for each in program.outputs if each[0] == "label"])


def label_of(compiled: cfxc.CompiledModel) -> Sides | None:
    """By the program's label."""
    return _sides(compiled, [each for each in compiled.program.outputs if each[0] == "label"])


def _sides(compiled: cfxc.CompiledModel, asked: list[tuple[str, Any]]) -> Sides | None:
    if not asked:
        return None
    run = BatchEvaluator(dataclasses.replace(compiled.program, outputs=tuple(asked)))

    def sides(lines: Lines, place: Any, which: Any, numbers: Floats) -> Any:
        total = np.zeros(len(place), dtype=np.uint64)
        for at, values in enumerate(run(lines.inputs(place, which, numbers)).values()):
            held = np.ascontiguousarray(values).reshape(len(place), -1)
            held = held.view(np.uint64) if held.dtype.itemsize == 8 else held.astype(np.uint64)
            mixed = np.random.default_rng(at).integers(1, 2**63, held.shape[1], dtype=np.uint64)
            total = total * np.uint64(6364136223846793005) + (held * (mixed | np.uint64(1))).sum(1)
        return total

    return sides


def labels_of(compiled: cfxc.CompiledModel) -> Sides | None:
    """By the deployed model: its labels; ``None`` where it gives numbers."""
    if compiled.predictor.task == "regressor":
        return None

    def sides(lines: Lines, place: Any, which: Any, numbers: Floats) -> Any:
        said = compiled.predict(lines.table(place, which, numbers))
        return pd.factorize(np.asarray(said, dtype=object))[0]

    return sides


@dataclass(frozen=True)
class Changes:
    """Lines, their features, and two neighbouring numbers between which sides change."""

    place: npt.NDArray[np.int64]
    which: npt.NDArray[np.int64]
    low: Floats
    high: Floats


def _grid(table: pd.DataFrame, feature: cfxc.Feature, steps: int, rng: Any) -> Floats:
    numbers = pd.to_numeric(table[feature.columns[0]], errors="coerce").dropna().to_numpy(float)
    grid = np.linspace(numbers.min(), numbers.max(), steps)
    if str(feature.kind) in WHOLE:
        return np.unique(np.rint(grid))
    grid = np.unique(np.concatenate([grid, rng.choice(numbers, 20)]))
    single = str(table[feature.columns[0]].dtype) == "float32"
    return np.unique(grid.astype(np.float32).astype(float)) if single else grid


def changes(
    sides: Sides, table: pd.DataFrame, lines: Lines, rng: np.random.Generator, steps: int
) -> Changes:
    """Where sides change along the lines."""
    features, count = lines.features, len(lines.rows)
    grids = [_grid(table, feature, steps, rng) for feature in features]
    place = np.concatenate([np.repeat(np.arange(count), grid.size) for grid in grids])
    which = np.repeat(np.arange(len(features)), [count * grid.size for grid in grids])
    at = np.concatenate([np.tile(grid, count) for grid in grids])
    found = sides(lines, place, which, at)
    same_line = (place[1:] == place[:-1]) & (which[1:] == which[:-1])
    turns = rng.permutation(np.flatnonzero(same_line & (found[1:] != found[:-1])))
    turns = turns[: MOST * len(features)]
    place, which, low, high = place[turns], which[turns], at[turns], at[turns + 1]
    whole = np.array([str(feature.kind) in WHOLE for feature in features])[which]
    single = np.array([str(table[one.columns[0]].dtype) == "float32" for one in features])[which]
    for _ in range(HALVINGS):
        middle = low + (high - low) / 2
        middle = np.where(whole, np.floor(middle), middle)
        middle = np.where(single, middle.astype(np.float32).astype(float), middle)
        (between,) = np.nonzero((middle > low) & (middle < high))
        if not between.size:
            break
        both = np.tile(between, 2)
        numbers = np.concatenate([low[between], middle[between]])
        asked = sides(lines, place[both], which[both], numbers)
        same = asked[: between.size] == asked[between.size :]
        low[between[same]] = middle[between[same]]
        high[between[~same]] = middle[between[~same]]
    return Changes(place, which, low, high)


def beside(numbers: Floats, feature: cfxc.Feature, dtype: Any) -> Floats:
    """Numbers, and the next double, float32 or whole number on either side of each."""
    if str(feature.kind) in WHOLE:
        near = np.rint(np.concatenate([numbers - 1, numbers, numbers + 1]))
        return np.unique(np.clip(near, float(feature.bounds[0]), float(feature.bounds[1])))
    single = numbers.astype(np.float32)
    singles = [np.nextafter(single, np.float32(side)) for side in (-np.inf, np.inf)]
    near = [single, *singles]
    if str(dtype) != "float32":
        near += [numbers, *(np.nextafter(numbers, side) for side in (-np.inf, np.inf))]
    every = np.unique(np.concatenate([each.astype(float) for each in near]))
    low, high = (float(end) for end in feature.bounds)
    return every[(low <= every) & (every <= high)]  # below the range a number stands for none


def cuts_of(
    compiled: cfxc.CompiledModel, table: pd.DataFrame, rng: np.random.Generator, ask: bool
) -> tuple[dict[str, Floats], pd.DataFrame]:
    """By column of numbers: thresholds, and beside; and rows where the label changes.

    ``ask``: whether the deployed model is asked too where it changes.
    """
    lines, label = lines_of(compiled, table, rng), label_of(compiled)
    found: dict[str, list[Floats]] = {each.columns[0]: [np.zeros(0)] for each in lines.features}
    borders = [table.iloc[:0]]
    searches = [(sides_of(compiled), STEPS)]
    if ask:
        searches.append((labels_of(compiled), FEW))
    for sides, steps in searches:
        if sides is None or not lines.features:
            continue
        at = changes(sides, table, lines, rng, steps)
        for place, feature in enumerate(lines.features):
            chosen = at.which == place
            found[feature.columns[0]] += [at.low[chosen], at.high[chosen]]
        if label is not None and len(at.which):
            low, high = (label(lines, at.place, at.which, end) for end in (at.low, at.high))
            turns = low != high
            for end in (at.low, at.high):
                borders.append(lines.table(at.place[turns], at.which[turns], end[turns]))
    cuts = {
        each.columns[0]: beside(
            np.unique(np.concatenate(found[each.columns[0]])), each, table[each.columns[0]].dtype
        )
        for each in lines.features
    }
    return cuts, pd.concat(borders, ignore_index=True)


def drawn(
    compiled: cfxc.CompiledModel, table: pd.DataFrame, count: int, rng: np.random.Generator,
    ask: bool = False,
) -> pd.DataFrame:  # fmt: skip
    """Rows whose columns are drawn on their own, half of the numbers at thresholds or beside.

    A tenth are rows where the deployed label changes, and those beside them.
    """
    cuts, borders = cuts_of(compiled, table, rng, ask)
    gaps = {name for each in compiled.space if each.missing for name in each.columns}
    columns = {}
    for name in compiled.space.columns:
        own = table[name].iloc[rng.integers(0, len(table), count)].reset_index(drop=True)
        near = cuts.get(name, np.zeros(0))
        if near.size:
            moved = rng.random(count) < SHARE
            numbers = own.to_numpy(float, na_value=np.nan, copy=True)
            numbers[moved] = near[rng.integers(0, near.size, int(moved.sum()))]
            if name in gaps:
                numbers[rng.random(count) < GAPS] = np.nan
            own = pd.Series(numbers).astype(own.dtype)
        columns[name] = own
    rows = pd.DataFrame(columns)
    if len(borders):
        at = rng.permutation(len(borders))[: count // 10]
        rows = pd.concat([borders.iloc[at][rows.columns], rows.iloc[at.size :]], ignore_index=True)
    return rows


__all__ = ["drawn"]

"""Rows that searches start from: a table's, or what a generator gives for a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..errors import DataTypeError, InvalidInputError
from ..frontends.query import Query
from ..frontends.space import FeatureSpace
from .baselines.local_search import LocalSearch
from .candidates import Point
from .options import Options
from .rows import exact_value

if TYPE_CHECKING:
    from ..api import CompiledModel
    from .amortised import Generator

NEAREST = 3
"""Valid rows that are moved towards the person before the search begins."""
ASKED = 100
"""Rows that a generator is asked for."""


class Seeds:
    """Where the rows for each person come from.

    Raises:
        DataTypeError, InvalidInputError: neither rows nor a generator for this model.
        MissingColumnError, …: rows that are not of the space.
    """

    def __init__(self, model: CompiledModel, source: Any, options: Options, target: Any) -> None:
        self.space, self.options, self.target = model.space, options, target
        self.points: list[Point] = []
        self.generator: Generator | None = None
        if isinstance(source, pd.DataFrame):
            self.points = _points_of(model.space, source)
        elif source is not None:
            self.generator = _generator(model, source)

    def of(self, frame: pd.DataFrame) -> list[Point]:
        """The rows for one person, as points."""
        if self.generator is None:
            return self.points
        rows = self.generator.generate(
            frame, n=ASKED, target=self.target, max_changes=self.options.max_changes,
            constraints=self.options.constraints, random_state=self.options.random_state,
            time_limit=self.options.time_limit, exact=False,
        )  # fmt: skip
        return _points_of(self.space, rows)


def nearest_of(
    query: Query, points: Sequence[Point], seed: int, *, moved: bool = True
) -> tuple[list[Point], int]:
    """The nearest valid points, also ``moved`` towards the person, and how many points are valid.

    Without that, all valid points: box search moves them by itself, faster.
    Validity is the batch evaluator's word: whoever uses a point verifies it exactly.
    """
    kept = [point for point in points if not query.violated(point)]
    if not kept:
        return [], 0
    local = LocalSearch(query, np.random.default_rng(seed))
    rows = np.array([local.row(point) for point in kept])
    rows = rows[local.hits(rows)]
    if not len(rows):
        return [], 0
    if not moved:
        order = np.argsort(local.distances(rows), kind="stable")
        return [local.point(rows[i]) for i in order], len(rows)
    near = rows[np.argsort(local.distances(rows), kind="stable")[:NEAREST]]
    both = np.array([*map(local.shrink, near), *near])  # what was moved may have left a hull
    closest = np.argsort(local.distances(both), kind="stable")
    return [local.point(both[i]) for i in closest], len(rows)


def _points_of(space: FeatureSpace, rows: pd.DataFrame) -> list[Point]:
    """Rows as exact values."""
    try:
        columns = space.encode_frame(rows, check_range=False)
    except InvalidInputError:  # whole numbers that doubles do not hold; or what is wrong is told
        return [space.encode_row(rows.iloc[[i]], check_range=False) for i in range(len(rows))]
    values = [[exact_value(f, code) for code in columns[f.name].tolist()] for f in space]
    return [dict(zip(space.names, each, strict=True)) for each in zip(*values, strict=True)]


def _generator(model: CompiledModel, source: Any) -> Generator:
    """A fitted generator for the same program."""
    from importlib.util import find_spec

    if find_spec("torch") is not None and find_spec("safetensors") is not None:
        from .amortised import Generator

        if isinstance(source, Generator):
            if source.model.program != model.program:
                raise InvalidInputError("seeds: the generator was made for another model")
            return source
    raise DataTypeError(
        f"seeds is a DataFrame of rows or a cfxc.Generator, not {type(source).__name__}"
    )


__all__ = ["Seeds", "nearest_of"]

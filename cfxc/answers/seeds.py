"""Rows that searches start from: a table's, or what a generator gives for an instance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import Any, Protocol

import numpy as np
import pandas as pd

from ..arrays import Floats
from ..errors import DataTypeError, InvalidInputError
from ..frontends.compiled import Compiled
from ..question.criteria import Condition, MaxChanges
from ..question.query import Query
from ..question.question import Question
from ..solvers.base import Candidate, Point, verify
from ..solvers.baselines.local_search import LocalSearch
from ..solvers.incumbent import moved, tidied
from ..solvers.rows import exact_value
from ..space import FeatureSpace
from ..space.tables import as_pandas
from ..stopping import GRACE, STOPS, now, until
from .original import Original

NEAREST = 3
"""Valid rows that are moved towards the instance before the search begins."""
EXAMPLES = 10
"""Valid examples that are tried."""
ASKED = 100
"""Rows that a generator is asked for."""


class Seeds:
    """Where the rows for each instance come from.

    Raises:
        DataTypeError, InvalidInputError: neither rows nor a generator for this model.
        MissingColumnError, …: rows that are not of the space.
    """

    def __init__(self, model: Compiled, question: Question, target: Any) -> None:
        self.space, self.question, self.target = model.space, question, target
        source = as_pandas(question.seeds)
        self.points: list[Point] = []
        self.generator: Source | None = None
        if isinstance(source, pd.DataFrame):
            self.points = _points_of(model.space, source)
        elif source is not None:
            self.generator = _generator(model, source)

    def of(self, frame: pd.DataFrame) -> list[Point]:
        """The rows for one instance, as points."""
        if self.generator is None:
            return self.points
        rows = self.generator.generate(
            frame, n=ASKED, target=self.target,
            subject_to=self.question.of(Condition) + self.question.of(MaxChanges),
            random_state=self.question.random_state, time_limit=self.question.time_limit,
            exact=False,
        )  # fmt: skip
        return _points_of(self.space, rows)


def nearest_of(
    query: Query, points: Sequence[Point], seed: int, seconds: float | None = None
) -> tuple[list[Point], int]:
    """The nearest valid points, also moved towards the instance, and how many points are valid.

    No more are moved after so many seconds; without, all valid points are given as they are: box
    search moves them by itself, faster.  Validity is the batch evaluator's word: points are
    verified exactly before they are used.
    """
    if not points:
        return [], 0
    local = LocalSearch(query, np.random.default_rng(seed))
    rows = np.array([local.row(point) for point in points])
    rows = _nearest_first(local, rows[local.admissible(rows).all(axis=1)])
    if seconds is None or not len(rows):
        return [local.point(row) for row in rows], len(rows)
    near = list[Floats]()
    with suppress(*STOPS), until(now() + seconds):
        near.extend(map(local.shrink, rows[:NEAREST]))
    both = np.array([*near, *rows[:NEAREST]])  # what was moved may have left a hull
    closest = np.argsort(local.distances(both), kind="stable")
    return [local.point(both[i]) for i in closest], len(rows)


def examples_of(query: Query, count: int = EXAMPLES) -> list[Point]:
    """The nearest of the space's examples that are valid, as :func:`nearest_of` says.

    Cells that are not admissible for this instance are the instance's own.
    """
    rows = query.space.example_codes
    if not len(rows):
        return []
    local = LocalSearch(query, np.random.default_rng(0))
    rows = local.followed(np.where(local.admissible(rows), rows, local.start))
    return [local.point(row) for row in _first_hits(local, rows, count)[:count]]


def _first_hits(local: LocalSearch, rows: Floats, most: int) -> Floats:
    """The first of :func:`_nearest_first`, so many or more; few are asked about at a time.

    What is near is often in the target, and a large model takes long for a whole table.
    """
    rows = rows[np.argsort(local.distances(rows), kind="stable")]
    found, count, at, size = list[Floats](), 0, 0, EXAMPLES
    while at < len(rows) and count < most:
        block = rows[at : at + size]
        found.append(block[local.hits(block)])
        count += len(found[-1])
        at, size = at + size, 2 * size
    return np.concatenate(found)


def _nearest_first(local: LocalSearch, rows: Floats) -> Floats:
    """The rows in the target that satisfy the constraints, in order of distance."""
    rows = rows[local.hits(rows)] if len(rows) else rows
    return rows[np.argsort(local.distances(rows), kind="stable")] if len(rows) else rows


def _points_of(space: FeatureSpace, rows: pd.DataFrame) -> list[Point]:
    """Rows as exact values."""
    try:
        columns = space.encode_frame(rows, check_range=False)
    except InvalidInputError:  # whole numbers that doubles do not hold; or what is wrong is told
        return [space.encode_row(rows.iloc[[i]], check_range=False) for i in range(len(rows))]
    values = [[exact_value(f, code) for code in columns[f.name].tolist()] for f in space]
    return [dict(zip(space.names, each, strict=True)) for each in zip(*values, strict=True)]


class Source(Protocol):
    """What proposes rows: a fitted :class:`cfxc.Generator`."""

    model: Compiled

    def generate(self, rows: pd.DataFrame, n: int, target: Any, **options: Any) -> pd.DataFrame:
        """Rows for one factual."""


def _generator(model: Compiled, source: Any) -> Source:
    """A fitted generator for the same program."""
    if not hasattr(source, "generate") or not isinstance(getattr(source, "model", None), Compiled):
        raise DataTypeError(
            f"seeds is a DataFrame of rows or a cfxc.Generator, not {type(source).__name__}"
        )
    if source.model.program != model.program:
        raise InvalidInputError("seeds: the generator was made for another model")
    found: Source = source
    return found


def known_row(
    query: Query, original: Original, known: Callable[[], Iterable[Point]], deadline: float
) -> Candidate | None:
    """The first known row that is a counterfactual, where a search has none to show.

    What is left of the grace after the ``deadline`` moves it towards the instance.
    """
    started, best = now(), None
    with suppress(*STOPS):  # also if Ctrl-C is pressed again, while the model is asked
        tried = takewhile(lambda pair: not pair[0] or now() < started + GRACE, enumerate(known()))
        verified = (verify(query, point, original.flips) for _, point in tried)
        best = next((one for one in verified if one is not None), None)
        late = deadline + GRACE - (now() - started)  # what is moved takes as long to verify
        if best is None or query.hulls or now() > late:  # in a hull nothing is gained
            return best
        with until(late):
            local = LocalSearch(query, np.random.default_rng(0))
            best = moved(local, best, original.flips)
            best = tidied(query, best, original.flips, late, local)
    return best

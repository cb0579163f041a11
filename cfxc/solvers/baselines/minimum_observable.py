"""The *minimum observable* of the paper (section 5): the nearest row of a data set that flips."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ...question.query import Query
from ..base import Candidate, Deployed, Point, verify
from .local_search import LocalSearch


def minimum_observable(
    query: Query, rows: pd.DataFrame, deployed: Deployed, hits: Sequence[bool] | None = None
) -> Candidate | None:
    """The row of ``rows`` nearest to the factual that is admissible and in the target.

    ``hits`` may tell which rows are in the target, if that is known already.  ``None`` if no row
    qualifies.
    """
    space = query.space
    columns = space.encode_frame(rows, check_range=False)
    table = np.column_stack([columns[feature.name] for feature in space]).astype(np.float64)
    search = LocalSearch(query, np.random.default_rng(0))
    mask = np.asarray(hits, dtype=bool) if hits is not None else search.hits(table)
    table = table[mask]
    if not len(table):
        return None
    for index in np.argsort(search.distances(table), kind="stable"):
        point: Point = search.point(table[index])
        candidate = verify(query, point, deployed)
        if candidate is not None:
            return candidate
    return None

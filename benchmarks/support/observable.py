"""MACE's *minimum observable*: the nearest row of a data set that is a counterfactual."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from cfxc.question.query import Query
from cfxc.solvers.base import Candidate, Deployed, verify
from cfxc.solvers.baselines import LocalSearch


def minimum_observable(
    query: Query, rows: pd.DataFrame, deployed: Deployed, hits: Sequence[bool] | None = None
) -> Candidate | None:
    """The nearest of the rows that is admissible and in the target (section 5 of the paper).

    ``hits`` may tell which rows are in the target, if that is known already.  ``None`` if no row
    qualifies.
    """
    space = query.space
    columns = space.encode_frame(rows, check_range=False)
    table = np.column_stack([columns[feature.name] for feature in space]).astype(np.float64)
    search = LocalSearch(query, np.random.default_rng(0))
    table = table[np.asarray(hits, dtype=bool) if hits is not None else search.hits(table)]
    nearest_first = np.argsort(search.distances(table), kind="stable") if len(table) else ()
    verified = (verify(query, search.point(table[i]), deployed) for i in nearest_first)
    return next((one for one in verified if one is not None), None)

"""Trust regions as certificates hold them: rows of data, and how far from their hull one may be."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from ...question.hull import Hull
from ...question.query import Query
from ..hulls import nearest
from .core import exact, plain_label


def written_point(query: Query, values: Mapping[str, Any]) -> list[Any]:
    """A point as certificates hold it."""
    return [
        plain_label(values[d.name]) if d.is_symbolic else exact(values[d.name])
        for d in query.domains
    ]


def written_region(query: Query) -> dict[str, Any]:
    """The member ``region`` of a question within hulls; nothing of others."""
    if not query.hulls:
        return {}
    first = query.hulls[0]
    return {
        "region": {
            "norm": first.norm,
            "reach": exact(first.reach),
            "hulls": [[written_point(query, row) for row in _rows(query, h)] for h in query.hulls],
        }
    }


def _rows(query: Query, hull: Hull) -> list[dict[str, Any]]:
    """The rows of a hull as exact values, in the order of its points."""
    space = query.space
    codes = space.encode_frame(hull.table, extra="ignore", check_range=False)
    columns = [
        [f.labels[i] for i in codes[f.name]] if f.is_symbolic else [*map(Fraction, codes[f.name])]
        for f in space
    ]
    names = [feature.name for feature in space]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def written_inside(query: Query, point: Mapping[str, Any]) -> list[Any]:
    """Of a point, the hull that it is nearest to, and weights of rows that show it."""
    found = []
    for h, hull in enumerate(query.hulls):
        z = hull.vector(query.space, point)
        best = nearest(hull, np.array([float(one) for one in z]))
        found.append((hull.slack(z, best.rows, best.shares), h, best))
    _, h, best = min(found, key=lambda one: one[0])
    pairs = zip(best.rows, best.shares.tolist(), strict=True)
    return [h, [[int(i), exact(share)] for i, share in pairs if share > 0]]

"""Why an outcome is as it is: the fewest features with which it would have been another one.

A *reason* is a set S of features of which some values, all else as it is, have the target outcome,
and of which each is needed: with one put back as it is, the outcome is not in the target.  Whatever
is in S was therefore scored (a contrastive explanation, Ignatiev et al. 2020; with these values, an
actual cause, Halpern 2016).  Every feature may take every value of its range here, also those that
a question fixes: what a person cannot change may have decided all the same.  Values that are shown
are on the features' grids; that there are no more reasons is proved of all numbers.

Reasons come in order: fewest features first, and the least change as a share of ranges among those.
Each next one shares no feature with those before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from ..question.distances import resolve_distance
from ..question.domain import Domain, domain_of
from ..question.query import Query
from ..solvers.base import Candidate, Deployed, Limits, Outcome, Point, verify
from ..space import Feature
from ..stopping import listening, now
from .conflicts import asker

MOST = 4
"""Features in all reasons together, of which more do not help a reader (Regulation B, comment
9(b)(2)-1); the first reason is whole, whatever it takes."""
SECONDS = 20.0
"""For all reasons together."""


@dataclass(frozen=True)
class Reason:
    """Features that together would have changed the outcome, and each of which was needed.

    Attributes:
        changes: Feature → (its exact value, one that would have been enough with the others').
        fewest: Whether no smaller set of the features not named before would do, proved.
    """

    changes: Mapping[str, tuple[Any, Any]]
    fewest: bool


@dataclass(frozen=True)
class Reasons:
    """The reasons for an outcome, in order.

    Attributes:
        found: At least one, unless ``ended`` says why there is none.
        ended: Why there are no more: enough are found (``""``), the features that are left cannot
            change the outcome (``infeasible``, proved), or time was up (``unknown``).
    """

    found: tuple[Reason, ...]
    ended: Literal["", "infeasible", "unknown"]


def reasons_of(query: Query, deployed: Deployed, seconds: float = SECONDS) -> Reasons:
    """Why the factual of a query is not in its target.

    Args:
        deployed: Whether the original model puts a point in the target.
    """
    query, deadline = unrestricted(query), now() + seconds
    limits = Limits(Fraction(1, 1000), seconds, rng=np.random.default_rng(0))
    ask, exactly = (asker(one, limits, "auto", "auto") for one in (deployed, lambda point: True))
    is_whole = not any(d.is_absent or d.feature.action == "fixed" for d in query.domains)
    found: list[Reason] = []
    with listening():
        while True:
            left = deadline - now()
            outcome = ask(query, left) if left > 0 else Outcome()
            if outcome.best is None:
                settled = outcome.infeasible and is_whole
                if settled and any(d.has_grid for d in query.domains):
                    left = max(deadline - now(), 0.0)
                    settled = exactly(_off_grids(query), left).infeasible
                return Reasons(tuple(found), "infeasible" if settled else "unknown")
            point = needed(query, outcome.best, deployed)
            changed = [d.name for d in query.domains if point[d.name] != d.factual]
            if found and sum(len(one.changes) for one in found) + len(changed) > MOST:
                return Reasons(tuple(found), "")
            changes = {name: (query.factual[name], point[name]) for name in changed}
            unit = query.distance.per_change
            found.append(Reason(changes, outcome.lower >= len(changed) * unit))
            query = query.keeping(changed)


def unrestricted(query: Query) -> Query:
    """The same outcome asked for, of all rows in the ranges; the fewest changes are the nearest."""
    features = tuple(_free(feature) for feature in query.space)
    space = replace(query.space, features=features)
    domains = tuple(_domain(feature, query.factual[feature.name]) for feature in features)
    return replace(
        query, space=space, domains=domains, distance=resolve_distance("sparse", space),
        constraints=(), excluded=(), effects=(), hulls=(),
    )  # fmt: skip


def _free(feature: Feature) -> Feature:
    return replace(feature, action="free", condition="", weight=Fraction(1))


def _off_grids(query: Query) -> Query:
    """The same of all numbers in the ranges, whatever the features' resolutions."""
    domains = tuple(
        domain_of(replace(d.feature, resolution=None), d.factual) if d.has_grid else d
        for d in query.domains
    )
    features = tuple(replace(feature, resolution=None) for feature in query.space)
    return replace(query, space=replace(query.space, features=features), domains=domains)


def _domain(feature: Feature, own: Any) -> Domain:
    """The values of a feature; its own alone, where doubles do not tell its numbers apart."""
    domain = domain_of(feature, own)
    return domain_of(replace(feature, action="fixed"), own) if domain.is_too_large else domain


def needed(query: Query, found: Candidate, deployed: Deployed) -> Point:
    """A point with all changes put back that the outcome does not need, one after the other."""
    point = dict(found.point)
    for domain in query.domains:
        if point[domain.name] != domain.factual:
            back = verify(query, {**point, domain.name: domain.factual}, deployed)
            point = point if back is None else dict(back.point)
    return point

"""Searches for ranges of numbers, where rounding decides at the ends.

A range may end exactly at a value that the deployed model predicts: the exact program then misses
it by some 1e-16, and has no counterfactual where the deployed model has one.  So before a range is
called out of reach, it is asked for again with the slack of the model as it runs.  A row found so
is verified by the deployed model as ever, and both bounds hold of the exact program too, whose
target is the narrower one.
"""

from __future__ import annotations

from dataclasses import replace

from ..errors import UnsupportedError
from ..frontends.predictor import Predictor
from ..question.query import Query
from ..stopping import GRACE, LIMIT, now
from .base import Limits
from .candidates import Deployed
from .engines import Engine
from .outcome import Outcome
from .rounding import deployed_slack

PATIENCE = 5.0
"""Seconds in which a sum over trees may be found to take a single value."""


def search_within(
    query: Query, engine: Engine, deployed: Deployed, limits: Limits, predictor: Predictor
) -> tuple[Query, Outcome]:
    """What an engine finds, and of which question: of a range perhaps with the slack of floats.

    Args:
        predictor: The deployed model, whose roundoff counts.
    """
    if query.target.is_range and engine.by_row and query.target.lower == query.target.upper:
        query = _with_slack(query, predictor)
        return query, _of_one_value(query, engine, deployed, limits)
    started = now()
    outcome = engine.search(query, deployed, limits)
    if not outcome.infeasible or not query.target.is_range or query.slack:
        return query, outcome
    wider = _with_slack(query, predictor)
    if not wider.slack:
        return query, outcome
    left = max(limits.seconds - (now() - started), GRACE)
    again = engine.search(wider, deployed, replace(limits, seconds=left))
    settled = again.infeasible or again.best is not None
    return (wider, again) if settled else (query, outcome)


def _with_slack(query: Query, predictor: Predictor) -> Query:
    """The same of the model as it runs, if its rounding has a bound."""
    if query.slack:
        return query
    try:
        return replace(query, slack=deployed_slack(query, predictor.unit_roundoff))
    except UnsupportedError:
        return query


def _of_one_value(query: Query, engine: Engine, deployed: Deployed, limits: Limits) -> Outcome:
    """A sum over trees that is to be one number: found soon, or a matter of chance.

    Bounds rule nothing out before all trees are decided, so that the search is one of sums of
    subsets.
    """
    soon = replace(limits, seconds=min(limits.seconds, PATIENCE))
    outcome = engine.search(query, deployed, soon)
    if outcome.reason != LIMIT:
        return outcome
    if outcome.best is not None:
        seeds = (outcome.best.point, *limits.seeds)
        left = max(limits.seconds - soon.seconds, GRACE)
        return engine.search(query, deployed, replace(limits, seconds=left, seeds=seeds))
    assert query.target.lower is not None
    value = float(query.target.lower)
    outcome.reason = (
        f"no row was found in {soon.seconds:g} s where the model gives exactly {value:g}: sums "
        "over trees take a single value by chance alone; give the range a width, such as "
        f"({value - abs(value) / 1000 - 0.001:g}, {value + abs(value) / 1000 + 0.001:g})"
    )
    return outcome


__all__ = ["search_within"]

"""The exact engines, what each takes, and which one answers a question."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from ..errors import InvalidInputError, UnsupportedError
from ..frontends.predictor import Predictor
from ..question.query import Query
from ..stopping import GRACE, INTERRUPTED, LIMIT, STOPS, now, reason_of
from . import box_search, mio, smt
from .base import Deployed, Limits, Outcome
from .incumbent import tidied
from .rounding import deployed_slack
from .within import branching_of

Search = Callable[[Query, Deployed, Limits], Outcome]


@dataclass(frozen=True)
class Engine:
    """One way to answer: ``method`` names it, ``solver`` what it runs on.

    ``by_row``: whether the model is known to answer the same, to the last bit, however many rows
    it is given: so it is with trees, but not with products of matrices.
    """

    method: str
    solver: str
    search: Search
    by_row: bool = False


def engine_for(query: Query, method: str, solver: str) -> Engine:
    """The engine that a user named, or the first of :data:`AUTO` that takes the question.

    A named ``solver`` other than ``auto`` settles the method too.

    Raises:
        InvalidInputError: the solver does not go with the method, or is unknown.
        UnsupportedError: the method does not take this question.
    """
    chosen = _method_of(solver) if method == "auto" and solver != "auto" else method
    names = AUTO if chosen == "auto" else (chosen,)
    reasons = ((name, refusal(name, query)) for name in names)
    taken = next((name for name, reason in reasons if not reason), "")
    if chosen == "auto":
        chosen = taken or "mio"
    if not taken and (reason := refusal(chosen, query)):
        raise UnsupportedError(
            f"method '{chosen}' does not take {reason}",
            remedy="ask with method='mio'" if query.hulls and chosen != "mio" else "",
        )
    engine = _ENGINES[chosen](solver)
    return replace(engine, by_row=chosen == "box" and box_search.only_trees(query))


def refusal(method: str, query: Query) -> str:
    """What an engine does not take of a question; empty if it takes it."""
    first = method.split(",")[0]
    if query.hulls and first != "mio":
        return "a trust region"
    reason = {"box": box_search.refuses, "mio": mio.refuses}.get(first, lambda _: "")(query)
    return reason and f"this question: {reason}"


def smt_backend(solver: str) -> smt.Backend:
    """The SMT solver for what surrounds a search: the one named, unless it is none."""
    return smt.backend("auto" if _method_of(solver) == "mio" else solver)


def _method_of(solver: str) -> str:
    return "mio" if isinstance(solver, str) and solver in mio.BACKENDS else "smt"


def _box(solver: str) -> Engine:
    if solver != "auto":
        raise InvalidInputError(f"method 'box' runs on no solver, and takes no {solver!r}")
    return Engine("box", "box search", _box_run)


def _box_run(query: Query, deployed: Deployed, limits: Limits) -> Outcome:
    deadline = now() + limits.seconds
    outcome = _run(box_search.search, query, deployed, replace(limits, settle=settle_by_smt))
    outcome.best = tidied(query, outcome.best, deployed, deadline)
    return outcome


def settle_by_smt(part: Query, limits: Limits) -> Outcome:
    """The answer to a part of a query by an SMT solver, whatever the deployed model says."""
    return smt.search(part, lambda _: True, limits, smt.backend("auto"))


def _mio(solver: str) -> Engine:
    name = "highs" if solver == "auto" else solver
    chosen = mio.backend(name)
    return Engine("mio", chosen.name, partial(_mio_run, name))


def _mio_run(solver: str, query: Query, deployed: Deployed, limits: Limits) -> Outcome:
    def search(query: Query, deployed: Deployed, limits: Limits) -> Outcome:
        branching = None if limits.pool else branching_of(query)
        return mio.search(query, deployed, limits, solver=solver, branching=branching)

    return _run(search, query, deployed, limits)


def _smt(solver: str) -> Engine:
    chosen = smt.backend(solver)
    return Engine("smt", chosen.name, partial(_run, partial(smt.search, solver=chosen)))


def _mio_first(query: Query, deployed: Deployed, limits: Limits) -> Outcome:
    """Mixed-integer search; where regions cannot be split further, or it gave up before it found
    anything, SMT goes on.

    It knows the best point of the first, and both bounds hold.
    """
    started = now()
    early = _mio_run("highs", query, deployed, limits)
    best, enough = early.best, query.distance.is_enough
    closed = best is not None and enough(early.lower, best.distance, limits.epsilon)
    left = max(limits.seconds - (now() - started), 0.0)
    late = best is not None and not left  # its local search alone took all the time
    ended = early.reason in (LIMIT, INTERRUPTED) or not (best is None or early.reason == mio.NARROW)
    if closed or early.infeasible or ended or late or query.hulls:
        return early
    known = () if best is None else (best.point,)
    rest = replace(limits, seconds=left, seeds=(*known, *limits.seeds))
    outcome = _smt("auto").search(query, deployed, rest)
    outcome.calls = [*early.calls, *outcome.calls]
    outcome.nodes += early.nodes
    outcome.pool = [*early.pool, *outcome.pool]
    if best and (outcome.best is None or best.distance < outcome.best.distance):
        outcome.best = best
    refuted = outcome.best is not None and outcome.best.distance < early.lower
    if early.lower > outcome.lower and not outcome.infeasible and not refuted:
        outcome.lower, outcome.proof = early.lower, early.proof
        outcome.provers = tuple(dict.fromkeys([*outcome.provers, *early.provers]))
    return outcome


def _run(
    search: Callable[[Query, Deployed, Limits], Outcome],
    query: Query,
    deployed: Deployed,
    limits: Limits,
) -> Outcome:
    try:
        return search(query, deployed, limits)
    except STOPS as stop:  # before the engine has begun: while compiled code is loaded
        return Outcome(reason=reason_of(stop))


_ENGINES: Mapping[str, Callable[[str], Engine]] = {
    "box": _box, "mio": _mio, "smt": _smt,
    "mio, then smt": lambda solver: replace(_mio(solver), search=_mio_first),
}  # fmt: skip
AUTO = "box", "mio, then smt", "smt"
"""Which engine answers, if none is named: the first that takes the question."""


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

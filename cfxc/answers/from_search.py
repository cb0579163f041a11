"""What a search found, as an answer."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Literal

from ..ir.interval import ceil_float, floor_float
from ..question.query import Query
from ..solvers.base import Outcome
from ..solvers.box_search import SplitTree
from ..solvers.certification import Evidence
from ..stopping import FINE
from .original import Original
from .result import Result, Status


def result_of(
    query: Query,
    original: Original,
    outcome: Outcome,
    epsilon: float,
    solver: str,
    file: Mapping[str, str] | None,
) -> Result:
    """The answer, from what an engine knows at its end."""
    best, measure = outcome.best, query.distance
    status: Status
    if best is None:
        status = "infeasible" if outcome.infeasible else "unknown"
    else:
        closed = outcome.lower >= measure.below(best.distance, Fraction(epsilon))
        status = "optimal" if closed else "feasible"
    upper = Fraction(0) if best is None else measure.root(best.distance, 1)
    lower = measure.root(outcome.lower, -1)
    if best is not None:  # a solver's tolerance may carry its bound beyond a point that is there
        lower = min(lower, measure.root(best.distance, -1))
    return Result(
        status=status,
        factual=original.frame,
        counterfactual=None if best is None else original.row(best.point),
        distance=None if best is None else ceil_float(upper),
        lower_bound=floor_float(lower),
        exact_distance=None if best is None else upper,
        exact_lower_bound=lower,
        epsilon=epsilon,
        lower_bound_proof=_kind_of(outcome),
        solver=solver,
        distance_name=query.distance.name,
        target=str(query.target),
        target_values=query.target.values,
        outcome_before=original.before,
        outcome_after=None if best is None else original.outcome(best.point),
        seconds=0.0,
        semantics="float" if query.slack else "real",
        calls=tuple(outcome.calls),
        provers=outcome.proved_by,
        nodes=outcome.nodes,
        trace=outcome.trace,
        proof=outcome.proof,
        reason="" if status in ("optimal", "infeasible") else outcome.reason or FINE,
        deployed=original,
        evidence=Evidence(query, outcome, status, epsilon, solver, file),
    )


def _kind_of(outcome: Outcome) -> Literal["search", "solver", "none"]:
    """What backs the lower bound."""
    if isinstance(outcome.proof, SplitTree) and "solver" not in outcome.proof.reasons:
        return "search"
    return "solver" if outcome.proved_by else "none"

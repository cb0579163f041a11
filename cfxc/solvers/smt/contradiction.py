"""Constraints that no row of the space can meet, whatever the model: a fault of the question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...errors import InvalidInputError
from ...frontends.query import Query, domain_of
from ...ir import Program
from .backends import Backend
from .encoding import Encoder


def refuse_contradiction(query: Query, texts: Sequence[str], solver: Backend, time: float) -> None:
    """Refuse constraints that contradict each other or the space.

    Features range over all that their types, ranges and resolutions admit: what the actions of
    this factual rule out (``fixed``, ``increase`` …) makes a question infeasible, not wrong.

    Args:
        query: The question; its factual is what ``factual.`` means.
        texts: Which of its constraints to check; those that actions imply are left out.
        solver: Refutes them.
        time: Seconds for each refutation, > 0; what is not refuted in time passes.

    Raises:
        InvalidInputError: naming constraints of which every one is needed for the contradiction.
    """
    chosen = [constraint for constraint in query.constraints if constraint[0] in texts]
    domains = tuple(
        domain_of(replace(domain.feature, action="free", condition=""), domain.factual)
        for domain in query.domains
    )
    free = replace(query, domains=domains)

    def refuted(constraints: Sequence[tuple[str, Program]]) -> bool:
        encoding = Encoder(replace(free, constraints=tuple(constraints))).admissible()
        if encoding.is_refuted:
            return True
        return solver.check(encoding.pool, encoding.assertions, time).status == "unsat"

    if not chosen or not refuted(chosen):
        return
    core = list(chosen)
    for constraint in chosen:
        fewer = [other for other in core if other is not constraint]
        if fewer and refuted(fewer):
            core = fewer
    quoted = ", ".join(f"'{text}'" for text, _ in core)
    if len(core) == 1:
        raise InvalidInputError(f"the constraint {quoted} holds for no row of the feature space")
    raise InvalidInputError(
        f"the constraints {quoted} contradict each other: no row of the feature space meets all"
    )


__all__ = ["refuse_contradiction"]

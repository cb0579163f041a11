"""Questions that are wrong whatever the model: found by the solver, refused with the reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from ...errors import InvalidInputError
from ...question.criteria import Constraint
from ...question.domain import freed
from ...question.query import Query
from ...stopping import poll
from ..base import Point
from ..encoding.formula import Encoder
from .backends import Backend


def refuse_contradiction(query: Query, texts: Sequence[str], solver: Backend, time: float) -> None:
    """Refuse constraints that contradict each other or the space.

    Features range over all that their types, ranges and resolutions admit: what the actions of
    this factual rule out (``fixed``, ``increase`` …) makes a question infeasible, not wrong.
    Features that no constraint reads stay as they are.

    Args:
        query: The question; its factual is what ``factual.`` means.
        texts: Which of its constraints to check; those that actions imply are left out.
        solver: Refutes them.
        time: Seconds for each refutation, > 0; what is not refuted in time passes.

    Raises:
        InvalidInputError: naming constraints of which every one is needed for the contradiction.
    """
    chosen = [each for each in query.constraints if each.text in texts]
    read = {name for each in chosen for name, _ in each.program.inputs}
    still = query.keeping(domain.name for domain in query.domains if domain.name not in read)
    domains = tuple(freed(each) if each.name in read else each for each in still.domains)
    free = replace(query, domains=domains)

    def refuted(constraints: Sequence[Constraint]) -> bool:
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
    quoted = ", ".join(f"'{text}'" for text, *_ in core)
    if len(core) == 1:
        raise InvalidInputError(f"the constraint {quoted} holds for no row of the feature space")
    raise InvalidInputError(
        f"the constraints {quoted} contradict each other: no row of the feature space meets all"
    )


def refuse_negative_distance(query: Query, solver: Backend, time: float) -> None:
    """Refuse a user's distance unless it is at least 0 on every admissible row.

    Searches start from the lower bound 0, which would be no bound otherwise.

    Raises:
        InvalidInputError: with a row where it is negative, or because there may be one.
    """
    if query.distance.lower >= 0:
        return
    for point in _ends(query):
        _refuse_negative_at(query, point)
    encoding = Encoder(query).admissible(below=Fraction(0))
    if encoding.is_refuted:
        return
    answer = solver.check(encoding.pool, encoding.assertions, time)
    if answer.status == "unsat":
        return
    poll()  # it may not have had the time
    if answer.status == "sat":
        _refuse_negative_at(query, encoding.lift(answer.model))
    raise InvalidInputError(
        f"the distance '{query.distance.name}' may be negative; wrap it: max(0, …)"
    )


def _ends(query: Query) -> Iterator[Point]:
    """The factual, and it with one number at an end of its range."""
    yield query.factual
    for domain in query.domains:
        if not domain.is_symbolic:
            for end in (domain.ceil(domain.lower), domain.floor(domain.upper)):
                if end is not None:
                    yield {**query.factual, domain.name: domain.feature.typed(end)}


def _refuse_negative_at(query: Query, point: Point) -> None:
    value = query.distance_to(point)
    if value >= 0 or query.violated(point):
        return
    changed = [name for name, cell in point.items() if cell != query.factual[name]][:4]
    where = ", ".join(f"{name} = {_text(point[name])}" for name in changed) or "the factual itself"
    raise InvalidInputError(
        f"the distance '{query.distance.name}' is {float(value):.6g} at {where}; "
        "a distance is at least 0"
    )


def _text(value: object) -> str:
    return f"{float(value):.6g}" if isinstance(value, Fraction) else repr(value)

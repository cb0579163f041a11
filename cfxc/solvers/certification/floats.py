"""The slack of bounds that hold for the model as it runs."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from ...certificates.checker import Question, Rejected
from ...certificates.checker.slack import least
from ...errors import UnsupportedError
from ...ir import ops
from ...ir.interval import ceil_float
from ...question.query import Query
from .writer import certify, written_semantics, written_slack


def covered(query: Query) -> Query:
    """A query with at least the slack that the checker derives by itself, if it has any.

    Of a network that is sometimes a little more than the deployed model needs.  Of trees it is
    less, and to read a large forest would take long.
    """
    if not query.slack or any(isinstance(s.op, ops.TreeEnsemble) for s in query.program.lets()):
        return query
    try:
        content = certify(
            replace(query, constraints=(), excluded=()), status="feasible", point=None,
            lower=Fraction(0), epsilon=0.0, proof=None, made={},
        ).to_dict()  # fmt: skip
        asked = Question(*(content[part] for part in ("features", "program", "question")))
        needed = least(asked, written_semantics(query)) / (written_slack(query) / query.slack)
    except (UnsupportedError, Rejected):  # it has no certificate anyhow
        return query
    return replace(query, slack=max(query.slack, Fraction(ceil_float(needed))))


__all__ = ["covered"]

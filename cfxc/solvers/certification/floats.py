"""The slack of bounds that hold for the model as it runs."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from ...certificates.checker import Question, Rejected
from ...certificates.checker.slack import least
from ...errors import UnsupportedError
from ...frontends.query import Query
from ...ir import ops
from ...ir.interval import ceil_float
from ..rounding import deployed_slack
from .writer import certify, written_semantics, written_slack


def deployed(query: Query, unit: Fraction) -> Query:
    """A query with what the deployed model's rounding may do at roundoff ``unit``.

    The checker derives it by itself, of a network sometimes a little more: the larger of the two.
    Of trees it asks for less than the compiler, and to read a large forest would take long.

    Raises:
        UnsupportedError: it has no bound.
    """
    own = replace(query, slack=deployed_slack(query, unit), roundoff=unit)
    if not own.slack or any(isinstance(s.op, ops.TreeEnsemble) for s in query.program.lets()):
        return own
    try:
        content = certify(
            replace(own, constraints=(), excluded=()), status="feasible", point=None,
            lower=Fraction(0), epsilon=0.0, proof=None, made={},
        ).to_dict()  # fmt: skip
        asked = Question(*(content[part] for part in ("features", "program", "question")))
        needed = least(asked, written_semantics(own)) / (written_slack(own) / own.slack)
    except (UnsupportedError, Rejected):  # it has no certificate anyhow
        return own
    return replace(own, slack=max(own.slack, Fraction(ceil_float(needed))))


__all__ = ["deployed"]

"""What constraints may speak of, as terms."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from ..compiler.functional import Symbolic
from ..compiler.terms import Pool
from ..ir import LabelTuple
from ..question.query import Query


def factual_terms(pool: Pool, query: Query) -> dict[str, Any]:
    """The factual's values as constants, under their names in constraints."""
    scope: dict[str, Any] = {}
    for domain in query.domains:
        name, value = f"factual.{domain.name}", domain.factual
        if domain.is_symbolic:
            labels = LabelTuple(domain.feature.labels)
            here = labels.position(value)
            guards = tuple(pool.truth(i == here) for i in range(len(labels)))
            scope[name] = Symbolic(labels, guards)
        else:
            scope[name] = pool.const(Fraction(value))
    return scope

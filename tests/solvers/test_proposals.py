"""Candidates for the exact engines: the same optimum, and what is no candidate."""

from __future__ import annotations

from typing import Any

import pytest

import cfxc
from cfxc.errors import CfxcError

from .amortised.loans import compiled, fitted, loans, refused


@pytest.mark.parametrize(
    ("kind", "method"),
    [("forest", "box"), ("boosting", "box"), ("linear", "mio"), ("linear", "smt")],
)
def test_the_optimum_stays_the_same(kind: str, method: str) -> None:
    model, made = compiled(kind), fitted(kind)
    for i in range(2):
        person = refused(model, 2).iloc[[i]]
        rows = made.generate(person, n=30, target=1)
        plain = model.explain(person, target=1, method=method)
        given = model.explain(person, target=1, method=method, candidates=rows)
        asked = model.explain(person, target=1, method=method, candidates=made)
        assert plain.candidates == (0, 0)
        assert given.candidates == (30, 30)
        assert asked.candidates[0] == asked.candidates[1] > 0
        for one in (given, asked):
            assert one.status == "optimal"
            assert one.distance is not None
            assert plain.distance is not None
            assert abs(one.distance - plain.distance) <= 1e-3
            assert one.lower_bound <= plain.distance
            assert one.nodes <= plain.nodes


def test_rows_that_are_no_counterfactuals_are_passed_over() -> None:
    model, person = compiled("forest"), refused(compiled("forest"), 1)
    people = loans()
    others = people[people["job"] != person["job"].iloc[0]].iloc[:5]  # job is fixed
    result = model.explain(person, target=1, candidates=others)
    assert result.candidates == (5, 0)
    assert result.distance == model.explain(person, target=1).distance


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (lambda: loans().drop(columns="age"), "age"),
        (lambda: loans().assign(housing="tent"), "tent"),
        (lambda: [1, 2], "DataFrame"),
        (lambda: fitted("boosting"), "another model"),
        (lambda: cfxc.Generator(compiled("forest")), "not fitted"),
    ],
)
def test_bad_candidates_are_refused(given: Any, said: str) -> None:
    with pytest.raises(CfxcError, match=said):
        compiled("forest").explain(refused(compiled("forest"), 1), target=1, candidates=given())

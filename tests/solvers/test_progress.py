"""Who watches a search hears of bounds that close in on the optimum."""

from __future__ import annotations

from itertools import pairwise

import pytest

import cfxc
from cfxc.errors import DataTypeError
from cfxc.solvers import base
from tests.solvers.kinds import outcome_of, task, trained


@pytest.mark.parametrize("distance", ["l1", "l2"])
@pytest.mark.parametrize(
    ("method", "kind"), [("box", "forest"), ("smt", "forest"), ("mio", "relu of 3")]
)
def test_bounds_only_close_in(
    method: str, kind: str, distance: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "PAUSE", 0.0)
    _, _, compiled = trained(kind)
    asked = task(trained(kind)[0], trained(kind)[1], outcome_of(kind), seed=3)
    seen: list[cfxc.Progress] = []
    answer = compiled.explain(
        asked.row, target=asked.target, method=method, distance=distance, progress=seen.append
    )
    assert seen
    assert answer.distance is not None
    for before, after in pairwise(seen):
        assert before.lower <= after.lower
        assert before.seconds <= after.seconds
        assert before.upper is None or (after.upper is not None and after.upper <= before.upper)
    assert seen[-1].lower <= answer.distance
    assert seen[-1].upper is None or seen[-1].upper >= answer.distance
    assert seen[-1].nodes <= max(answer.nodes, len(answer.calls))


def test_it_must_be_a_function() -> None:
    model, space, compiled = trained("forest")
    asked = task(model, space, "two", seed=3)
    with pytest.raises(DataTypeError, match="progress is a function"):
        compiled.explain(asked.row, target=asked.target, progress=3)

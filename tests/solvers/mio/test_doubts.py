"""What a solver says too soon is asked again, and given up where a point shows it to be wrong."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cfxc.compiler.mixed_integer import Rounded
from cfxc.solvers import engines, mio
from cfxc.solvers.base import Limits, Outcome
from cfxc.solvers.mio.backends import Answer, Highs
from tests.solvers.mio.test_search import SEARCH, asked, check, run

F = Fraction
NOTHING = np.empty(0)
PROGRAM = Rounded.of(NOTHING, (NOTHING, NOTHING), np.empty((0, 0)), (NOTHING, NOTHING))
FAR, NEAR = Answer("optimal", 0.5, np.ones(1)), Answer("optimal", 0.25, np.zeros(1), 7)


@pytest.mark.parametrize(
    ("first", "second", "bound", "values"),
    [
        (FAR, NEAR, 0.25, FAR.values),
        (FAR, Answer("optimal", 0.5 - 1e-6), 0.5, FAR.values),  # what tolerances gain
        (FAR, Answer("infeasible"), 0.5, FAR.values),
        (FAR, Answer("limit", 0.1), 0.5, FAR.values),
        (Answer("infeasible"), NEAR, -np.inf, NEAR.values),
        (Answer("infeasible"), Answer("infeasible"), -np.inf, None),
    ],
)
def test_the_second_answer(
    first: Answer, second: Answer, bound: float, values: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_for: list[dict[str, Any]] = []

    def solve(_: Any, program: Rounded, options: dict[str, Any]) -> Answer:
        asked_for.append(options)
        return second if asked_for[1:] else first

    monkeypatch.setattr(Highs, "_solve", solve)
    monkeypatch.setattr("cfxc.solvers.mio.backends.QUICK", 0.0)  # a machine that is busy
    found = Highs().solve(PROGRAM, seconds=1.0, gap=0.0)
    assert (found.bound, found.values is values) == (bound, True)
    assert asked_for[1]["presolve"] == "off"
    assert asked_for[1]["time_limit"] <= 1.0


def test_long_branching_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def solve(*_: Any) -> Answer:
        calls.append(1)
        return NEAR

    monkeypatch.setattr("cfxc.solvers.mio.backends.QUICK", 0.0)
    monkeypatch.setattr(Highs, "_solve", solve)
    assert Highs().solve(PROGRAM, seconds=1.0, gap=0.0) is NEAR
    assert calls == [1]


def test_a_nearer_point_refutes_what_was_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """HiGHS 1.15 has taken a point for the nearest that was not, and later found the nearest."""
    solve, told = Highs.solve, list[float]()

    def wrong(self: Highs, program: Rounded, **options: Any) -> Answer:
        answer = solve(self, program, **options)
        if told or answer.values is None:
            return answer
        told.append(answer.bound)
        return Answer("optimal", 4 * answer.bound, None, 9)

    query, deployed, _ = asked("relu", 3, "l1")
    best = run(query, deployed).best
    assert best is not None
    monkeypatch.setattr("cfxc.solvers.incumbent.first_candidate", lambda *_: None)
    monkeypatch.setattr(Highs, "solve", wrong)
    monkeypatch.setattr(SEARCH.ProgramSearch, "_separate", lambda *_: True)
    outcome = run(query, deployed, regions=False)
    assert told
    check(outcome, query, [SimpleNamespace(distance=best.distance)])


def test_a_second_search_that_finds_what_the_first_ruled_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    query: Any = SimpleNamespace(distance=SimpleNamespace(is_enough=lambda *_: False), hulls=())
    best: Any = SimpleNamespace(point={}, distance=F(1))
    limits = Limits(F(1, 1000), 60.0)
    for ruled, kept in ((F(1), F(1)), (F(2), F(0))):
        first = Outcome(lower=ruled, reason=mio.NARROW, provers=("HiGHS",))
        second = SimpleNamespace(search=lambda *_: Outcome(best=best))
        monkeypatch.setattr(engines, "_mio_run", lambda *_, first=first: first)
        monkeypatch.setattr(engines, "_smt", lambda _, second=second: second)
        outcome = engines._mio_first(query, lambda _: True, limits)
        assert outcome.lower == kept
        assert (outcome.provers == ("HiGHS",)) == bool(kept)

"""Mixed-integer search, then SMT."""

from __future__ import annotations

import time
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

from cfxc.solvers import engines
from cfxc.solvers.base import Limits, Outcome
from cfxc.solvers.mio import NARROW
from cfxc.stopping import INTERRUPTED, LIMIT


@pytest.mark.parametrize(
    ("found", "seconds", "reason", "goes_on"),
    [
        (True, 0.01, NARROW, False),  # the first took all the time
        (False, 0.01, NARROW, True),  # and found nothing: the second does, so there is an answer
        (True, 60.0, NARROW, True),
        (True, 60.0, LIMIT, False),
        (False, 60.0, INTERRUPTED, False),
        (True, 60.0, "a border too near", False),
        (False, 60.0, "a border too near", True),
    ],
)
def test_when_the_second_goes_on(
    found: bool, seconds: float, reason: str, goes_on: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    best: Any = SimpleNamespace(point={}, distance=1) if found else None
    query: Any = SimpleNamespace(distance=SimpleNamespace(is_enough=lambda *_: False), hulls=())
    asked = []

    def first(*_: Any) -> Outcome:
        time.sleep(0.02)
        return Outcome(best=best, reason=reason)

    def second(*_: Any) -> Outcome:
        asked.append(1)
        return Outcome()

    monkeypatch.setattr(engines, "_mio_run", first)
    monkeypatch.setattr(engines, "_smt", lambda _: SimpleNamespace(search=second))
    limits = Limits(Fraction(1, 1000), seconds)
    assert engines._mio_first(query, lambda _: True, limits).best is best
    assert bool(asked) == goes_on
    query.hulls, asked[:] = ("a hull",), []  # of which SMT knows nothing
    engines._mio_first(query, lambda _: True, limits)
    assert not asked

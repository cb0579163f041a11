"""Two searches in turn."""

from __future__ import annotations

import time
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

from cfxc.solvers.base import Limits, Outcome
from cfxc.solvers.engines import _in_turn


def test_no_second_search_where_the_first_took_all_the_time() -> None:
    """One that found nothing goes on, so that there is an answer."""
    best: Any = SimpleNamespace(point={}, distance=1)
    query: Any = SimpleNamespace(distance=SimpleNamespace(is_enough=lambda *_: False))
    asked = []

    def first(found: Any) -> Any:
        def search(*_: Any) -> Outcome:
            time.sleep(0.02)
            return Outcome(best=found, reason="time limit")

        return search

    def second(*_: Any) -> Outcome:
        asked.append(1)
        return Outcome()

    for found, seconds, calls in ((best, 0.01, 0), (None, 0.01, 1), (best, 60.0, 2)):
        limits = Limits(Fraction(1, 1000), seconds)
        assert _in_turn(first(found), 0.01, second, query, lambda _: True, limits).best is found
        assert len(asked) == calls

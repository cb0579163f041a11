"""Of long products of parameters, a sample is tried: every value of every parameter is in it."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping

import pytest


def sample(cases: Mapping[str, Mapping[str, int]], every: int, seed: int) -> set[str]:
    """One case in ``every``, and more where a value of a parameter would be in none.

    Args:
        cases: Name → parameter → what tells its value from others.
        every: Of how many cases one is wanted.
        seed: Another one gives another sample.
    """
    order = sorted(cases, key=lambda name: hashlib.sha256(f"{seed} {name}".encode()).digest())
    untried = {pair for case in cases.values() for pair in case.items()}
    chosen: set[str] = set()
    while untried:  # the case with most of them; of two, the former
        name = max(order, key=lambda name: len(untried & cases[name].items()))
        untried -= cases[name].items()
        chosen.add(name)
    further = [name for name in order if name not in chosen]
    return chosen | set(further[: max(0, len(cases) // every - len(chosen))])


def left_out(items: list[pytest.Item], seed: int) -> list[pytest.Item]:
    """What is not in the samples of the tests that are marked ``sampled(every)``."""
    tests: dict[str, list[pytest.Function]] = defaultdict(list)
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("sampled"):
            tests[item.nodeid.partition("[")[0]].append(item)
    dropped: list[pytest.Item] = []
    for same in tests.values():
        (every,) = same[0].get_closest_marker("sampled").args  # type: ignore[union-attr]
        # Cases share the objects of their parameters; ``callspec.indices`` counts cases.
        values = {
            item.nodeid: {name: id(value) for name, value in item.callspec.params.items()}
            for item in same
        }
        chosen = sample(values, every, seed)
        dropped += [item for item in same if item.nodeid not in chosen]
    return dropped

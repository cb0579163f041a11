"""Of a long product of cases a sample is tried, and all with ``--complete``."""

from __future__ import annotations

import pytest

from tests.sampling import sample

SIZES = range(6)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("first", SIZES)
@pytest.mark.parametrize("second", SIZES)
def test_some(first: int, second: int) -> None:
    assert {first, second} <= set(SIZES)


def test_a_sample_is_collected(request: pytest.FixtureRequest) -> None:
    found = sum("test_some[" in item.nodeid for item in request.session.items)
    assert found in (0, 36) if request.config.getoption("--complete") else found <= 9


def test_every_value_is_in_it() -> None:
    cases = {f"{a} {b}": {"a": a, "b": b} for a in range(10) for b in range(7)}
    for seed in range(5):
        chosen = sample(cases, 9, seed)
        assert {name.split()[0] for name in chosen} == set(map(str, range(10)))
        assert {name.split()[1] for name in chosen} == set(map(str, range(7)))
        assert len(chosen) <= 12

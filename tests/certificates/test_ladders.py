"""What ladders of a proof may hold in memory."""

from __future__ import annotations

from fractions import Fraction

import pytest

from cfxc.certificates.checker import layers
from cfxc.certificates.checker.reader import Rejected, Undecided


def test_long_sums_are_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = [Fraction(1, 1000 - t) for t in range(900)]
    made = layers.ladder(ends, [Fraction(1)] * 901)
    assert made.of(ends[-1]) == ends[-1]
    monkeypatch.setattr(layers, "MEMORY", 400_000)
    with pytest.raises((Undecided, Rejected), match="numbers grow too long"):
        layers.ladder(ends, [Fraction(1)] * 901)


def test_sums_from_each_end_on() -> None:
    weights = {Fraction(1, 2): Fraction(3), Fraction(1): Fraction(4)}
    assert [*layers.beyond(weights, sorted(weights))] == [0, 4, 7]

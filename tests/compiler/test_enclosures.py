"""Enclosures of smooth functions hold everywhere, by an independent evaluation to 60 digits."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cfxc.compiler.enclosures import SEGMENTS, enclose
from cfxc.errors import UnsupportedError

FUNCTIONS = ("exp", "sigmoid", "tanh")
ends = st.fractions(-20, 20, max_denominator=2**20)
shares = st.fractions(0, 1, max_denominator=1000)


def value(name: str, x: Fraction) -> Fraction:
    """f(x) to about 60 digits, by the library's decimal exponential."""
    with localcontext() as context:
        context.prec = 70
        power = (Decimal(x.numerator) / Decimal(x.denominator)).exp()
        if name == "exp":
            found = power
        elif name == "sigmoid":
            found = power / (1 + power)
        else:
            found = (power * power - 1) / (power * power + 1)
    return Fraction(found)


@given(st.sampled_from(FUNCTIONS), ends, ends, st.lists(shares, min_size=1, max_size=8))
@example("tanh", Fraction(-1), Fraction(1), [Fraction(1, 2)])
@example("exp", Fraction(-20), Fraction(20), [Fraction(0), Fraction(1)])
@example("sigmoid", Fraction(3), Fraction(3), [Fraction(0)])
@example("tanh", Fraction(0), Fraction(1, 2**20), [Fraction(1, 3)])
def test_the_function_is_within(
    name: str, first: Fraction, second: Fraction, inside: list[Fraction]
) -> None:
    lower, upper = sorted((first, second))
    segments = enclose(name, lower, upper)
    assert (segments[0].start, segments[-1].end) == (lower, upper)
    for left, right in pairwise(segments):
        assert left.end == right.start
    for segment in segments:
        for share in [Fraction(0), *inside, Fraction(1)]:
            x = segment.start + share * (segment.end - segment.start)
            low, high = (line[0] + line[1] * x for line in (segment.low, segment.high))
            assert low <= value(name, x) <= high


@pytest.mark.parametrize("name", ["sigmoid", "tanh"])
def test_it_is_tight(name: str) -> None:
    """Eight segments over [-4, 4] leave less than a tenth of the function's range."""
    segments = enclose(name, Fraction(-4), Fraction(4))
    assert len(segments) <= SEGMENTS + 1
    for segment in segments:
        middle = (segment.start + segment.end) / 2
        low, high = (line[0] + line[1] * middle for line in (segment.low, segment.high))
        assert high - low < Fraction(1, 10)


def test_an_unbounded_argument_has_none() -> None:
    with pytest.raises(UnsupportedError):
        enclose("tanh", None, Fraction(1))

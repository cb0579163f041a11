"""Sums that are brought to lowest terms once, beside sums of fractions."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from cfxc.ir.linear import LinearForm, bounded, dot

numbers = st.fractions(min_value=-(10**6), max_value=10**6, max_denominator=10**6)
forms = st.builds(
    lambda terms, constant: LinearForm({k: v for k, v in terms.items() if v}, constant),
    st.dictionaries(st.integers(0, 4), numbers, max_size=4),
    numbers,
)


@given(st.lists(st.tuples(numbers, numbers), max_size=6), numbers)
def test_dot(pairs: list[tuple[Fraction, Fraction]], constant: Fraction) -> None:
    expected = sum((x * y for x, y in pairs), constant)
    assert dot(pairs, constant) == bounded([*pairs], constant) == expected
    assert bounded([*pairs, (Fraction(1), None)], constant) is None


@given(
    st.lists(st.tuples(numbers, forms), max_size=4),
    numbers,
    st.lists(numbers, min_size=5, max_size=5),
)
def test_forms(
    parts: list[tuple[Fraction, LinearForm[int]]], constant: Fraction, point: list[Fraction]
) -> None:
    """The value of a sum is the sum of the values; no factor is 0."""
    found = LinearForm.sum(parts, constant)
    assert found.at(point) == sum((f * form.at(point) for f, form in parts), constant)
    assert all(found.terms.values())
    for _, form in parts:
        assert (found + form).at(point) == found.at(point) + form.at(point)
        assert (found - form).at(point) == found.at(point) - form.at(point)
        assert all((found - form).terms.values())
        assert not (form - form).terms

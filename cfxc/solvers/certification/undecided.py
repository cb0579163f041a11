"""Where to split a part over which a constraint is neither true nor false."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import inf, nextafter
from typing import Any

from ...certificates.checker import Proof
from ...certificates.checker.program import Form
from ...certificates.checker.rules import NONE
from .core import exact, written_label


def undecided(asked: Proof, parts: list[Any], signs: dict[int, int]) -> list[Any] | None:
    """A split that decides a constraint on one of its sides; ``None`` if all is decided.

    On the sign of a unit that it reads, else on a label or where a number makes it true, else in
    the middle of a number.
    """
    near = asked.within(parts)
    spans = None if near is None else asked.spans(near, signs)
    if near is None or spans is None:
        return None

    def span(form: Form) -> tuple[Fraction, Fraction]:
        ends = [
            asked.most({s: f * sign for s, f in form.items()}, NONE, near, signs, spans)
            for sign in (-1, 1)
        ]
        return -ends[0], ends[1]

    for truth in asked.truths:
        for kind, form in _atoms(truth):
            if asked.told((kind, [form]), span) != (False, True):
                continue
            for split in _splits(asked, form, near, spans, signs):
                return split
    return None


def _atoms(truth: Any) -> Iterator[tuple[str, Form]]:
    """The comparisons that a constraint is made of."""
    kind, parts = truth
    if kind in ("ge", "gt"):
        yield kind, parts[0]
        return
    for part in parts:
        yield from _atoms(part)


def _splits(
    asked: Proof, form: Form, parts: list[Any], spans: Any, signs: dict[int, int]
) -> Iterator[list[Any]]:
    """Ways to split, the best first."""
    read = set(form)
    for k in reversed(range(len(spans))):
        if (asked.program.kinds[k], k) in read:
            read |= set(asked.program.made[k])
            low, high = spans[k]
            if asked.program.kinds[k] == "unit" and low < 0 < high and k not in signs:
                yield ["sign", k]
    for kind, j, *rest in sorted(read, key=str):
        if kind == "is" and len(parts[j]) > 1 and rest[0] in parts[j]:
            yield ["label", j, written_label(asked.features[j].labels[rest[0]])]
    numbers = [source[1] for source in sorted(read, key=str) if source[0] == "x"]
    edges = {}
    if len(form) <= 2 and len(numbers) == 1 and ("x", numbers[0]) in form:
        edges[numbers[0]] = -form.get(("one", 0), Fraction(0)) / form["x", numbers[0]]
    for j in sorted(numbers, key=lambda j: -_width(asked, j, parts[j])):
        feature, (low, high) = asked.features[j], parts[j]
        middle = edges.get(j, (low + high) / 2)
        beside = Fraction(nextafter(float(middle), -inf))
        for place in (beside, middle, low):
            cut = feature.near(place, -1)
            if cut is not None and low <= cut < high:
                yield ["cut", j, exact(cut)]


def _width(asked: Proof, j: int, part: Any) -> Fraction:
    return Fraction(part[1] - part[0]) / (asked.features[j].size or 1)


__all__ = ["undecided"]

"""What the rules of proofs say of parts, beside everything that lies in these parts."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from random import Random
from typing import Any

from cfxc.certificates.checker import Multipliers, Proof
from tests.certificates.false_claims import (
    WRONG,
    asked,
    closes,
    plain_closings,
    random_bound,
    random_closing,
    random_split,
)  # fmt: skip
from tests.certificates.false_questions import Content, Truth, draw_question, values

F = Fraction


class Wrong(Exception):
    """A rule says of a part what is not so."""


class Case:
    """A question with a radius, and all its points with what is true of them."""

    def __init__(self, content: Content, radius: Fraction, truth: Truth | None = None) -> None:
        self.content, self.radius, self.truth = content, radius, truth or Truth(content)
        self.proof, self.meaning = asked(content, radius), self.truth.meaning
        self.points = [(away, point) for away, point in self.truth.all if away < radius]
        self.nearer = [point for away, point in self.truth.counterfactuals if away < radius]
        made = range(len(content["program"]["made"]))
        self.made = {point: [self.meaning.z(k, point) for k in made] for _, point in self.truth.all}

    def inside(self, points: Any, parts: Any, signs: Any) -> list[Any]:
        """The points of a part that have its signs."""
        found = []
        for point in points:
            pairs = zip(self.proof.features, parts, point, strict=True)
            fits = all(
                value in part
                if feature.labels
                else None not in part and part[0] <= value <= part[1]
                for feature, part, value in pairs
            )
            if fits and self.meaning.within(signs, point):
                found.append(point)
        return found

    def area(self, rng: Random) -> Any:
        """A part reached by random splits, and the signs on the way."""
        parts, signs = self.proof.root, dict[int, int]()
        for _ in range(rng.randint(0, 6)):
            split = random_split(rng, self.content, self.proof)
            parts, signs = rng.choice(self.proof.halves(split[0], split[1:], parts, signs))
        return parts, signs


def draw_case(rng: Random) -> Case:
    """A question, and a radius on, beside or beyond what distances there are."""
    while True:
        content = draw_question(rng)
        truth = Truth(content)
        away = rng.choice([distance for distance, _ in truth.all])
        radius = rng.choice((away, away, away + F(1, 2**60), truth.farthest + 1))
        try:
            return Case(content, radius, truth)
        except WRONG:
            continue


def check_closings(rng: Random, case: Case, areas: int, counts: Counter[str]) -> None:
    """Whatever closes a part, no counterfactual nearer than the radius is in it.

    Raises:
        Wrong: one is.
    """
    for _ in range(areas):
        parts, signs = case.area(rng)
        held = case.inside(case.nearer, parts, signs)
        tried = plain_closings(case.proof, signs)
        tried += [random_closing(rng, case.proof, signs) for _ in range(12)]
        for closing in tried:
            if closes(case.proof, closing, parts, signs):
                counts[f"closed by {closing[0]}"] += 1
                if held:
                    raise Wrong(f"{case.content} {case.radius} {parts} {signs} {closing} {held[0]}")


def check_bounds(rng: Random, case: Case, counts: Counter[str]) -> None:
    """Ranges and bounds of a part are not exceeded in it, nor is anything near cut off.

    Raises:
        Wrong: one is.
    """
    proof, (parts, signs) = case.proof, case.area(rng)
    points = case.inside([point for _, point in case.points], parts, signs)
    if (near := proof.within(parts)) is None:
        _require(not points, case, "within", parts)
        return
    _require(len(case.inside(points, near, signs)) == len(points), case, "clip", parts, near)
    try:
        spans = proof.spans(near, signs)
    except WRONG:
        return
    if spans is None:
        _require(not points, case, "spans", parts, signs)
        return
    counts["parts with ranges"] += 1
    for point in points:
        fits = all(low <= z <= high for z, (low, high) in zip(case.made[point], spans, strict=True))
        _require(fits, case, "spans", parts, signs, point)
    node = random_bound(rng, proof, signs)
    try:
        by = proof.multipliers(node[1:], signs)
        most = proof.most({}, by, near, signs, spans)
    except WRONG:
        return
    counts["parts with bounds"] += 1
    for point in points:
        _require(_worth(case, by, point, signs, spans) <= most, case, "most", parts, node, point)


def _worth(case: Case, by: Multipliers, point: Any, signs: Any, spans: Any) -> Fraction:
    """``Σ y g + μ (r - d)`` at a point, by definition."""
    total = by.budget * (case.radius - case.meaning.distance(point))
    for name, y in by.rows.items():
        if name[0] != "peak":
            form = case.proof.inequality(name, signs, spans)
            written = [[list(source), str(factor)] for source, factor in form.items()]
            worth = case.meaning.form(written, point)
            _require(worth >= 0 or name[0] == "row", case, name, signs, point)
            total += y * worth
    return total


def check_features(rng: Random, case: Case, counts: Counter[str]) -> None:
    """Each feature's values are those that there are: nearest ones, sides of cuts, changes.

    Raises:
        Wrong: one is not.
    """
    for j, feature in enumerate(case.proof.features):
        own = values(case.content, j)
        for value in own:
            _require(feature.delta(value) == case.meaning.delta(j, value), case, "delta", j, value)
        counts["features"] += 1
        if feature.labels:
            _require(set(own) == feature.all, case, "labels", j)
            continue
        cut = F(random_cut(rng, case, j))
        for value in (cut, cut + F(1, 10**40), (own[0] + own[-1]) / 2, rng.choice(own)):
            up, down = [x for x in own if x >= value], [x for x in own if x <= value]
            found = feature.near(value, 1), feature.near(value, -1)
            wanted = min(up, default=None), max(down, default=None)
            _require(found == wanted, case, "near", j, value)
        left, right = feature.sides(feature.all, cut)
        for side, there in (
            (left, [x for x in own if x <= cut]),
            (right, [x for x in own if x > cut]),
        ):
            ends = (there[0], there[-1]) if there else (None, None)
            _require(side == ends, case, "sides", j, cut)


def random_cut(rng: Random, case: Case, j: int) -> Any:
    """Some cut of a number."""
    while True:
        split = random_split(rng, case.content, case.proof)
        if split[0] == "cut" and split[1] == j:
            return split[2]


def _require(holds: bool, case: Case, *what: Any) -> None:
    if not holds:
        raise Wrong(f"{what}: {case.content} {case.radius}")


__all__ = [
    "Case",
    "Proof",
    "Wrong",
    "check_bounds",
    "check_closings",
    "check_features",
    "draw_case",
]

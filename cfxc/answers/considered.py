"""What a letter says of the changes that were considered: ranges, steps, rules, sizes, weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from ..question.domain import Domain
from ..question.query import Query
from ..show.letters.words import Words, clean
from ..space import Feature
from ..space.feature import ACTIONS
from .conditions import LISTED, Part, grouped, parts_of, told
from .conflicts import rules_of

SHORT = 4
"""Ranges that a letter lists where it has more to say than them."""
SIZES = ("l0", "l1", "l2", "linf", "sparse")
"""Distances that there are words for."""


class Considered:
    """The changes that a query admits, in the words of a letter."""

    def __init__(self, query: Query, words: Words) -> None:
        self.query, self.words = query, words
        self.said = {one.text: parts_of(query, one) for one in query.constraints}

    def sentences(self, *, infeasible: bool, ranges: bool) -> list[str]:
        """What changes were considered.

        Args:
            infeasible: None of them led to the outcome.
            ranges: List the features' ranges, if they are few or ``infeasible``.
        """
        words, domains = self.words, self.query.domains
        parts = [_action(d) for d in domains if not (d.is_absent and d.is_fixed)]
        parts += (part for each in self.said.values() for part in each or ())
        said = grouped(parts)
        still = said.get("fixed", [])  # also by a condition, which says more than a direction does
        kept = {action: [n for n in names if action == "fixed" or n not in still]
                for action, names in said.items()}  # fmt: skip
        kept = {action: names for action, names in kept.items() if names}
        moving = [d for d in domains if not d.is_fixed and d.name not in still]
        open_ = [d.feature for d in moving]
        if open_ and ranges and (infeasible or len(open_) <= SHORT):
            found = [words.text("given.ranges", ranges=self.ranges(open_))]
        else:
            found = [words.text("given.range")]
        if steps := [self._step(d) for d in moving if d.has_grid]:
            found.append(words.text("given.steps", steps=words.listed(steps)))
            if whole := [d.name for d in moving if d.feature.kind == "integer"]:
                found.append(words.text("given.whole", labels=self._labels(whole)))
        if gone := [d.name for d in domains if d.is_absent and d.is_fixed]:
            found.append(words.text("given.missing", labels=self._labels(gone)))
        if infeasible and still:
            del kept["fixed"]
            found.insert(0, words.text("given.as_is", labels=self._labels(still)))
        changes = [
            words.text(f"given.{action}", labels=words.listed(map(words.label, names), "or"))
            for action, names in kept.items()
        ]
        if changes:
            found.append(words.text("given.not", changes=words.joined(changes)))
        others = [part for part in parts if part.relation not in (*grouped(parts), *ACTIONS)]
        if conditions := told(others, list(self.said.values()).count(None), words):
            found.append(words.text("given.rules", rules=words.joined(conditions)))
        if self.query.hulls:
            found.append(words.text("given.hull"))
        return found

    def _labels(self, names: Iterable[str]) -> str:
        return self.words.listed(map(self.words.label, names))

    def ranges(self, features: Iterable[Feature]) -> str:
        """Features with the ranges that were set for them."""
        return self.words.listed(map(self._range, features))

    def _range(self, feature: Feature) -> str:
        words, name = self.words, feature.name
        label = words.label(name)
        if feature.is_symbolic:
            if len(feature.labels) > LISTED:
                number = words.count(len(feature.labels))
                return words.text("given.categories", label=label, number=number)
            values = words.listed((words.value(name, one) for one in feature.labels), "or")
            return words.text("given.values", label=label, values=values)
        low, high = feature.bounds
        if low == high:
            return words.text("given.values", label=label, values=words.value(name, low))
        ends = {"low": words.bare(name, low), "high": words.value(name, high)}
        return words.text("given.from_to", label=label, **ends)

    def _step(self, domain: Domain) -> str:
        values = {"label": self.words.label(domain.name)}
        step = self.words.step(domain.name, domain.feature.resolution)
        return self.words.text("given.step", step=step, **values)

    def rules(self, texts: Sequence[str]) -> str:
        """Rules as people read them; those that there are no words for are counted."""
        parts, rest = list[Part](), 0
        for rule in rules_of(self.query):
            if rule.text not in texts:
                continue
            if rule.feature is not None:
                parts.append(Part(self.query.space[rule.feature].action, rule.feature))
            elif rule.constraint is None:
                parts.append(Part("known"))
            elif (said := self.said[rule.constraint]) is None:
                rest += 1
            else:
                parts += said
        return self.words.joined(told(parts, rest, self.words))

    def following(self, changed: Sequence[str], without: Sequence[str] = ()) -> Iterator[str]:
        """Of the features that change, those that follow from others that do.

        ``without``: rules that were given up.
        """
        for effect in self.query.effects:
            mechanism, words = effect.mechanism, self.words
            if mechanism.text in without:
                continue
            causes = [name for name in mechanism.parents if name in changed]
            if mechanism.name in changed and causes:
                label = words.heading(mechanism.name)
                yield words.text("change.follows", label=label, causes=self._labels(causes))

    def size(self) -> Iterator[str]:
        """How the size of a change is measured."""
        name = self.query.distance.name
        place = f"size.{name}" if name in SIZES else "size.other"
        yield self.words.text(place, name=clean(name))
        choices = any(domain.is_symbolic and not domain.is_fixed for domain in self.query.domains)
        if name in SIZES[1:] and choices:
            yield self.words.text("size.choice")
        if name != "l0" and any(domain.first is not None for domain in self.query.domains):
            yield self.words.text("size.gap")
        if weights := list(self._weights()):
            yield self.words.text("size.weighted", weights=self.words.joined(weights))

    def _weights(self) -> Iterator[str]:
        """The features that count more than the others, or less, in distances that are norms."""
        if self.query.distance.norms is None:
            return
        weights = {d.name: d.feature.weight for d in self.query.domains if not d.is_fixed}
        base = _usual(weights)
        groups = {
            "more": [name for name, weight in weights.items() if weight > base],
            "less": [name for name, weight in weights.items() if 0 < weight < base],
        }
        for place, names in groups.items():
            if names:
                yield self.words.text(f"size.{place}", labels=self._labels(names))

    def weightless(self) -> str:
        """Which features may change for nothing; empty if none may."""
        if self.query.distance.norms is None:
            return ""
        free = [d.name for d in self.query.domains if not d.is_fixed and not d.feature.weight]
        return self.words.text("proof.weightless", labels=self._labels(free)) if free else ""


def _action(domain: Domain) -> Part:
    """The action of a feature; one that has a single value is fixed."""
    return Part("fixed" if domain.is_fixed else domain.feature.action, domain.name)


def _usual(weights: Mapping[str, Fraction]) -> Fraction:
    """The weight that most features have, of those that count; 1 where it is one of these."""
    counts = Counter(weight for weight in weights.values() if weight)
    most = [weight for weight, count in counts.items() if count == max(counts.values())]
    return Fraction(1) if Fraction(1) in most or not most else min(most)

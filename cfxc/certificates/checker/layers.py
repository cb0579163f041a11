"""What trees pay of a feature's cost: a share of all of it, or of each layer of one direction."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from fractions import Fraction as Q
from itertools import accumulate
from typing import NamedTuple

from .program import ONE, ZERO, rounded
from .reader import MEMORY, need, size, small

At = tuple[int, int, int]  # tree, feature, and which way it moves: 1 up, -1 down, 0 either
Weights = Mapping[Q, Q]  # by the cost up to which each reaches


class Ladder(NamedTuple):
    """A function of a cost that grows from 0, by so much for each unit from one end to the next."""

    ends: list[Q]
    sums: list[Q]
    rates: list[Q]

    def of(self, cost: Q) -> Q:
        """Its value."""
        i = bisect_right(self.ends, cost) - 1
        return self.sums[i] + self.rates[i] * (cost - self.ends[i])


def ladder(ends: list[Q], rates: list[Q]) -> Ladder:
    """The function with these rates after 0 and after each end."""
    ends, sums, held = [ZERO, *ends], [ZERO], 0
    for low, high, rate in zip(ends, ends[1:], rates, strict=False):
        sums.append(small(sums[-1] + rate * (high - low)))
        held += size(sums[-1])
        need(held <= MEMORY // 4, "limits: numbers grow too long")
    return Ladder(ends, sums, rates)


def beyond(weights: Weights, ends: list[Q]) -> Iterator[Q]:
    """The sums of the weights from each end on, the last end first, and before all of them 0."""
    own = (weights[end] for end in reversed(ends))
    return accumulate(own, lambda x, y: small(x + y), initial=ZERO)


class Share(NamedTuple):
    """Lemma 10: of each layer the share that a tree's weight has of all weights there."""

    own: Ladder
    layers: Ladder

    def of(self, cost: Q) -> Q:
        """What is paid of a cost."""
        return self.own.of(self.layers.of(cost))


def payments(
    shares: Mapping[At, Q], weights: Mapping[At, Weights]
) -> tuple[Mapping[At, Ladder | Share], Mapping[int, Q]]:
    """What trees pay of features, and the share of each such feature that is left to it.

    Raises:
        Rejected: shares of one feature sum to more than 1, or it has weights too.
    """
    left, joint = dict[int, Q](), dict[tuple[int, int], dict[Q, Q]]()
    for (_, j, _), share in shares.items():
        left[j] = small(left.get(j, ONE) - share)
    need(min(left.values(), default=ONE) >= 0, "proof: shares of more than there is")
    for (_, j, way), own in weights.items():
        together = joint.setdefault((j, way), {})
        for end, weight in own.items():
            together[end] = small(together.get(end, ZERO) + weight)
        need(j not in left, "proof: shares and weights of one feature")
    paid: dict[At, Ladder | Share] = {at: ladder([], [share]) for at, share in shares.items()}
    layers = dict[tuple[int, int], Ladder]()
    for (j, way), together in joint.items():
        ends = sorted(together)
        rates = [rounded(ONE / w, 8, int) if w else ZERO for w in beyond(together, ends)]
        layers[j, way] = ladder(ends, rates[::-1])
    for (t, j, way), own in weights.items():
        ends = sorted(own)
        marks = [layers[j, way].of(end) for end in ends]
        paid[t, j, way] = Share(ladder(marks, [*beyond(own, ends)][::-1]), layers[j, way])
    return paid, left | {j: ZERO for j, _ in joint}

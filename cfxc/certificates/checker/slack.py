"""What rounding may do to scores: the least slack that a bound of the model as it runs needs.

Lemma 13: evaluated in floats of unit roundoff u, in any order, a sum of n products is off by at
most ``Σ |a| e + γ Σ |a| (m + e) + η Σ (1 + 2 (m + e))``, where values of size m are off by e, γ =
(n + 2) u / (1 - (n + 2) u), and η is half of the least float: a product may vanish, and so may a
factor.  Nothing on the way is as large as half of the largest float.
"""

from __future__ import annotations

from fractions import Fraction as Q

from .program import CONSTANT, HALF_ULP, LEAST, ONE, ZERO, Form, rounded
from .question import Question
from .reader import need, small, total

FLOATS = {
    "float": (Q(1, 2**53), Q(1, 2**1075), 53, 2**1023),
    "float32": (HALF_ULP, LEAST, 24, 2**127),
}
SINGLE = FLOATS["float32"]


class Rounding:
    """Sizes and errors of what a program makes, in floats of a kind."""

    def __init__(self, question: Question, floats: str) -> None:
        self.question, self.program = question, question.program
        self.unit, self.least, self.bits, self.top = FLOATS[floats]
        self.made: list[tuple[Q, Q]] = []
        for k, (kind, form) in enumerate(zip(self.program.kinds, self.program.made, strict=True)):
            size, error = self.sum(form)
            if kind == "step":
                need(self.is_exact(form), f"program.made[{k}]: slack: a step of what is rounded")
                size, error = ONE, ZERO
            elif kind == "single" and (error or self.bits == SINGLE[2]):
                self.fit(size + error, SINGLE[3])
                error += 2 * (SINGLE[0] * (size + error) + SINGLE[1])
            self.made.append((size, error))

    def source(self, kind: str, k: int, rest: tuple[int, ...]) -> tuple[Q, Q]:
        """The size and the error of one source."""
        if kind == "x":
            size = max(
                (abs(end) for end in self.question.features[k].all if end is not None), default=ZERO
            )
            self.fit(size)
            return size, ZERO if self.is_held(k, size) else self.unit * size + self.least
        if kind == "tree":
            roots, nodes = self.program.trees[k]
            tops: list[Q] = []
            for node in reversed(nodes):  # children before their parents
                inner = (
                    (tops[len(nodes) - 1 - child] for child in node[2:])
                    if type(node) is tuple
                    else ()
                )
                tops.append(max(inner, default=ZERO) if inner else abs(node[rest[0]]))
            size = total(tops[len(nodes) - 1 - root] for root in roots)
            error = self.gamma(len(roots)) * size + len(roots) * self.least
            self.fit(size + error)
            return size, error
        return (ONE, ZERO) if kind in ("one", "is") else self.made[k]

    def sum(self, form: Form) -> tuple[Q, Q]:
        """Of a sum of products: no larger than the first, and off by at most the second."""
        size = error = reached = ZERO
        for (kind, k, *rest), factor in form.items():
            own, off = self.source(kind, k, tuple(rest))
            self.fit(abs(factor))
            size, error = small(size + abs(factor) * own), small(error + abs(factor) * off)
            error += self.least * (1 + 2 * (own + off))
            reached = small(reached + abs(factor) * (own + off))
        error += self.gamma(len(form)) * reached
        self.fit(size + error)
        return size, error

    def fit(self, size: Q, top: int = 0) -> None:
        """Rejects what may be larger than floats are."""
        need(size < (top or self.top), "question.slack: numbers may grow beyond all floats")

    def gamma(self, count: int) -> Q:
        """γ of a sum of so many products, with two operations to spare."""
        part = (count + 2) * self.unit
        need(part < 1, "question.slack: sums of too many terms")
        return part / (1 - part)

    def is_held(self, j: int, size: Q) -> bool:
        """Whether all admissible values of a number are floats of this kind."""
        feature = self.question.features[j]
        if self.bits == 53:
            return True
        whole = feature.step == 1 and size <= 2**self.bits
        return rounded(feature.own, 4) == feature.own and (feature.width == 4 or whole)

    def is_exact(self, form: Form) -> bool:
        """Whether the sign of a sum is computed rightly: one exact number against a float, or
        whole numbers.
        """
        inner = [source for source in form if source != CONSTANT]
        kinds = {source[0] for source in inner}
        if kinds <= {"is", "step"}:
            size = total(map(abs, form.values()))
            return size <= 2**self.bits and all(f.denominator == 1 for f in form.values())
        own = len(inner) == 1 and abs(form[inner[0]]) == 1 and kinds <= {"x", "single", "unit"}
        constant = form.get(CONSTANT, ZERO)
        held = constant.numerator.bit_length() <= self.bits and constant.denominator <= 2**140
        held = held and constant.denominator & (constant.denominator - 1) == 0
        return own and held and not self.source(*inner[0][:2], ())[1]


def least(question: Question, floats: str) -> Q:
    """The slack that covers the rounding of every score that is compared."""
    errors = Rounding(question, floats)
    off = [errors.sum(form)[1] for form in question.program.outputs]
    rows = (sum((abs(f) * off[r] for r, f in row[0].items()), ZERO) for row in question.asked)
    return max(rows, default=ZERO)

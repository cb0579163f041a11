"""What rounding may do to scores: the least slack that a bound of the model as it runs needs.

Lemma 13: evaluated in floats of unit roundoff u, in any order, a sum of n products is off by at
most ``Σ |a| e + γ Σ |a| (m + e) + n η``, where values of size m are off by e, γ = (n + 2) u /
(1 - (n + 2) u), and η is half of the least float.  One value, or its negative, is no sum; and the
float32 nearest to a feature's value is what evaluation in floats reads, or rounds once.
"""

from __future__ import annotations

from fractions import Fraction as Q

from .program import CONSTANT, HALF_ULP, LEAST, ONE, ZERO, Form
from .question import Question
from .reader import need

FLOATS = {"float": (Q(1, 2**53), Q(1, 2**1075), 53), "float32": (HALF_ULP, LEAST, 24)}
SINGLE = FLOATS["float32"]


class Rounding:
    """Sizes and errors of what a program makes, in floats of a kind."""

    def __init__(self, question: Question, floats: str) -> None:
        self.question, self.program = question, question.program
        self.unit, self.least, self.bits = FLOATS[floats]
        self.made: list[tuple[Q, Q]] = []
        for k, (kind, form) in enumerate(zip(self.program.kinds, self.program.made, strict=True)):
            size, error = self.sum(form)
            if kind == "step":
                need(self.is_exact(form), f"program.made[{k}]: slack: a step of what is rounded")
                size, error = ONE, ZERO
            elif kind == "single":
                off = SINGLE[0] * (size + error) + SINGLE[1]
                exact = is_one(form) and next(iter(form))[0] == "x"
                again = bool(error) or self.bits == SINGLE[2]  # it may round to another one
                size, error = size + off, ZERO if exact else error + 2 * off * again
            self.made.append((size, error))

    def source(self, kind: str, k: int, rest: tuple[int, ...]) -> tuple[Q, Q]:
        """The size and the error of one source."""
        if kind == "x":
            size = max(
                (abs(end) for end in self.question.features[k].all if end is not None), default=ZERO
            )
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
            size = sum((tops[len(nodes) - 1 - root] for root in roots), ZERO)
            return size, self.gamma(len(roots)) * size + len(roots) * self.least
        return (ONE, ZERO) if kind in ("one", "is") else self.made[k]

    def sum(self, form: Form) -> tuple[Q, Q]:
        """Of a sum of products: no larger than the first, and off by at most the second."""
        size = error = reached = ZERO
        for (kind, k, *rest), factor in form.items():
            own, off = self.source(kind, k, tuple(rest))
            size, error = size + abs(factor) * own, error + abs(factor) * off
            reached += abs(factor) * (own + off)
        if is_one(form):
            return size, error
        return size, error + self.gamma(len(form)) * reached + len(form) * self.least

    def gamma(self, count: int) -> Q:
        """γ of a sum of so many products, with two operations to spare."""
        part = (count + 2) * self.unit
        need(part < 1, "question.slack: sums of too many terms")
        return part / (1 - part)

    def is_held(self, j: int, size: Q) -> bool:
        """Whether all admissible values of a number are floats of this kind."""
        feature = self.question.features[j]
        return self.bits == 53 or feature.width == 4 or (feature.step == 1 and size <= 2**self.bits)

    def is_exact(self, form: Form) -> bool:
        """Whether the sign of a sum is computed rightly: one exact number against a float, or
        whole numbers.
        """
        inner = [source for source in form if source != CONSTANT]
        kinds = {source[0] for source in inner}
        if kinds <= {"is", "step"}:
            total = sum(map(abs, form.values()), ZERO)
            return total <= 2**self.bits and all(f.denominator == 1 for f in form.values())
        own = len(inner) == 1 and abs(form[inner[0]]) == 1 and kinds <= {"x", "single", "unit"}
        constant = form.get(CONSTANT, ZERO)
        held = constant.numerator.bit_length() <= self.bits and constant.denominator <= 2**140
        held = held and constant.denominator & (constant.denominator - 1) == 0
        return own and held and not self.source(inner[0][0], inner[0][1], ())[1]


def is_one(form: Form) -> bool:
    """Whether a sum is one value, or its negative: nothing is multiplied or added."""
    return [abs(factor) for factor in form.values()] == [ONE] and CONSTANT not in form


def least(question: Question, floats: str) -> Q:
    """The slack that covers the rounding of every score that is compared."""
    errors = Rounding(question, floats)
    off = [errors.sum(form)[1] for form in question.program.outputs]
    rows = (sum((abs(f) * off[r] for r, f in row[0].items()), ZERO) for row in question.asked)
    return max(rows, default=ZERO)

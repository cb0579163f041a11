"""Lemma 13: what rounding may do to scores; the least slack that a bound of the model as it runs
needs.  Evaluated in floats of unit roundoff u, a sum of n products is off by at most
``Σ |a| e + γ Σ |a| (m + e) + η Σ (1 + 2 (m + e))``, where values of size m are off by e, γ =
(n + 2) u / (1 - (n + 2) u), and η is half of the least float: a product may vanish, and so may a
factor.  Nothing on the way is as large as half of the largest float.  One value, or its negative,
is no sum; and the float32 nearest to a feature's value is what evaluation reads, or rounds once.
"""

from __future__ import annotations

from fractions import Fraction as Q

from .program import CONSTANT, HALF_ULP, LEAST, ONE, ZERO, Form, rounded
from .question import Question
from .reader import need, small, total
from .smooth import CURVES

FLOATS = {
    "float": (Q(1, 2**53), Q(1, 2**1075), 53, 2**1023),
    "float32": (HALF_ULP, LEAST, 24, 2**127),
}

MOST = 1024
LAST = 64  # units in the last place that the model's libraries may lose in a smooth function


class Rounding:
    """Sizes and errors of what a program makes, in floats of a kind."""

    def __init__(self, question: Question, floats: str) -> None:
        self.program, self.features = question.program, question.features
        self.clock = question.clock
        self.unit, self.least, self.bits, self.top = FLOATS[floats]
        self.made: list[tuple[Q, Q]] = []
        for k, (kind, form) in enumerate(zip(self.program.kinds, self.program.made, strict=True)):
            size, error = self.times(k) if kind == "product" else self.sum(form)
            if kind == "step":
                need(self.is_exact(form), f"program.made[{k}]: slack: a step of what is rounded")
                size, error = ONE, ZERO
            elif kind == "single":
                self.fit(size + error, 2**127)
                off = HALF_ULP * (size + error) + LEAST
                exact = is_one(form) and next(iter(form))[0] == "x"
                again = bool(error) or self.bits == 24  # it may round to another one
                size, error = size + off, ZERO if exact else error + 2 * off * again
            elif kind in CURVES:
                steepest, size = CURVES[kind].steepest, size + error + 1
                need(steepest, f"program.made[{k}]: slack: of {kind}, which has no steepest slope")
                error = (steepest or ONE) * error + 2 * LAST * self.unit * size + self.least
            self.made.append((size, error))
        rounds = [k for k in self.program.tested if self.made[k][1]]
        need(not rounds, f"program.made{rounds[:1]}: slack: a tree tests what is rounded")

    def source(self, kind: str, k: int, *rest: int) -> tuple[Q, Q]:
        """No larger than the first, and off by at most the second."""
        if kind == "x":
            feature = self.features[k]
            size = max((abs(end) for end in feature.all if end), default=ZERO)
            self.fit(size)
            single = feature.width == 4 or (feature.step == 1 and size <= 2**24)
            alone = {feature.own, feature.absent} - {None}
            held = self.bits == 53 or (single and all(rounded(x, 4) == x for x in alone))
            return size, ZERO if held else self.unit * size + self.least
        self.clock.tick()
        if kind == "tree":
            roots, nodes = self.program.trees[k]
            tops = [ZERO] * len(nodes)
            for i in reversed(range(len(nodes))):  # children before their parents
                node, is_split = nodes[i], type(nodes[i]) is tuple
                tops[i] = max(tops[node[2]], tops[node[3]]) if is_split else abs(node[rest[0]])
            size = total(tops[root] for root in roots)
            error = (lost := len(roots) * self.least) + self.gamma(len(roots)) * (size + lost)
            self.fit(size + error)
            return size, error
        return (ONE, ZERO) if kind in ("one", "is") else self.made[k]

    def sum(self, form: Form) -> tuple[Q, Q]:
        """The same of a sum of products."""
        size = error = ZERO
        for source, factor in form.items():
            own, off = self.source(*source)
            self.fit(abs(factor))
            size, error = small(size + abs(factor) * own), small(error + abs(factor) * off)
            error += self.least * (0 if is_one(form) else 1 + 2 * (own + off))
        if not is_one(form):
            error += self.gamma(len(form)) * (size + error)
        self.fit(size + error)
        return size, error

    def times(self, k: int) -> tuple[Q, Q]:
        """The same of a product of two forms, rounded once."""
        (size, off), (other, wrong) = (self.made[i] for i in self.program.factors[k])
        error = small(size * wrong + off * other + off * wrong)
        size = small(size * other)
        self.fit(size + error)
        return size, error + self.unit * (size + error) + self.least

    def fit(self, size: Q, top: int = 0) -> None:
        """Rejects what may be larger than floats are."""
        need(size < (top or self.top), "question.slack: numbers may grow beyond all floats")

    def gamma(self, count: int) -> Q:
        """γ of a sum of so many products, with two operations to spare."""
        part = (count + 2) * self.unit
        need(part < 1, "question.slack: sums of too many terms")
        return part / (1 - part)

    def is_exact(self, form: Form) -> bool:
        """Whether a sum's sign is computed rightly: an exact number against a float, or wholes."""
        inner, top = [source for source in form if source != CONSTANT], 2**self.bits
        if {source[0] for source in inner} <= {"is", "step"}:
            whole = all(factor.denominator == 1 for factor in form.values())
            return whole and total(map(abs, form.values())) <= top
        n, d = form.get(CONSTANT, ZERO).as_integer_ratio()
        held = abs(n) <= top and d <= 2**140 and not d & (d - 1)
        own = len(inner) == 1 and abs(form[inner[0]]) == 1 and inner[0][0] != "tree"
        return own and held and not self.source(*inner[0])[1]


def is_one(form: Form) -> bool:
    """Whether a sum is one value, or its negative: nothing is multiplied or added."""
    return [abs(factor) for factor in form.values()] == [ONE] and CONSTANT not in form


def bounds(question: Question, floats: str) -> tuple[Q, Q]:
    """The slack that covers the rounding of every score that is compared, and the most that may be
    given: ``MOST`` times as much, or as many units in the last place of the scores.
    """
    errors = Rounding(question, floats)
    ends = [errors.sum(form) for form in question.program.outputs]
    rows = [
        [abs(f) * ends[r][i] for r, f in row[0].items()] for row in question.stated for i in (0, 1)
    ]
    sizes, off = (max(map(total, rows[i::2]), default=ZERO) for i in (0, 1))
    return off, MOST * (off + errors.unit * sizes)

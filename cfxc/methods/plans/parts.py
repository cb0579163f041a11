r"""The nearest point that enough of several models accept: search over which of them must.

Let A_i be the rows that model i accepts (i = 1 … n), A_0 those that are always asked for, and s how
many models may fail.  Sought is the nearest point of

    A(s) = A_0 ∩ { x : |{i : x ∉ A_i}| ≤ s } .

A *part* (R, E) holds the points of A(s) in A_i for every i ∈ R and in none for i ∈ E; the first is
(∅, ∅).  Its *relaxation* is A_0 ∩ ⋂_{i∈R} A_i: a question to all models in R and no other, so its
proved lower bound is one of the part.  If its nearest point is in A(s), the part is solved.  If
not, take any s - |E| + 1 models v_1, v_2, … that are neither in R nor in E.  A point of the part
fails at most s - |E| of those, so there is a first v_i that accepts it: it lies in the part (R ∪
{v_i}, E ∪ {v_1, …, v_{i-1}}).  So the parts always cover A(s), and the least of their bounds is a
bound of it; none exists if all of them are empty.  With s = 0 there is one part, whose R grows by
models that the last point failed.

Which models are chosen matters for speed alone: those that fail at the point, the often failed
first.  A relaxation's bound holds for every part whose R is larger, and for all questions with more
constraints: so the parts of one answer are where the search for the next one starts.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import lru_cache

from ...ir import Builder, Program, ops
from ...question.query import Query
from ...question.target import Target, target_program
from ...solvers.base import Candidate, Outcome, Point
from ...stopping import INTERRUPTED


@dataclass(frozen=True)
class Decider:
    """A model's word on a target: its program, the target in its terms, and its slack."""

    program: Program
    target: Target
    slack: Fraction = Fraction(0)

    def with_margin(self, margin: Fraction) -> Program:
        """Features → ``in_target``, won by more than ``margin - slack``."""
        return target_program(self.program, self.target, margin - self.slack)


@dataclass(frozen=True)
class Joint(Query):
    """A query whose target is reached only where ``others`` say so too.

    Engines see one target program: a conjunction.  Of sums over trees it is one for box search as
    well, with a requirement for each model.
    """

    others: tuple[Decider, ...] = ()

    def target_with_margin(self, margin: Fraction) -> Program:
        """The target of every model, each won by more than ``margin`` less its slack."""
        own = super().target_with_margin(margin)
        return conjunction((own, *(each.with_margin(margin) for each in self.others)))


def joint(query: Query, others: Iterable[Decider]) -> Joint:
    """The same question, put to other models too."""
    given = {field.name: getattr(query, field.name) for field in fields(Query)}
    return Joint(**given, others=tuple(others))


@lru_cache(maxsize=32)
def conjunction(programs: tuple[Program, ...]) -> Program:
    """Features → ``in_target``: what all programs of the same inputs say."""
    if len(programs) == 1:
        return programs[0]
    builder = Builder(programs[0].name)
    names = {}
    for name, sort in programs[0].inputs:
        names[name] = builder.input(name, sort)
    parts = tuple(builder.inline(each, names)["in_target"] for each in programs)
    return builder.build(in_target=builder.let(ops.And(parts)))


Models = frozenset[int]
NONE: Models = frozenset()
TIME = "time limit"

Solve = Callable[[Query, Models, float, Sequence[Point]], Outcome]
"""The nearest point that all of some models accept, within some seconds, from some points on."""
Fails = Callable[[Point], Models]
"""Which models a point is not valid for."""


@dataclass(frozen=True)
class Part:
    """Points that all of ``required`` accept and none of ``spared``; see the module.

    ``infeasible``: there are none; else none is nearer than ``lower``; both shown by ``provers``.
    """

    required: Models = NONE
    spared: Models = NONE
    lower: Fraction = Fraction(0)
    infeasible: bool = False
    provers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Known:
    """A verified point of A_0, and the models that it fails."""

    candidate: Candidate
    fails: Models


@dataclass(frozen=True)
class Answer:
    """The nearest point found, what is proved, and the parts that prove it."""

    best: Known | None
    lower: Fraction
    infeasible: bool
    parts: tuple[Part, ...]
    reason: str = ""

    @property
    def provers(self) -> tuple[str, ...]:
        """Everyone behind the lower bound."""
        return tuple(sorted({each for part in self.parts for each in part.provers}))


@dataclass
class Search:
    """Best-first search over parts, for one question after the other, each with more constraints.

    ``count``: n; ``spare``: s; ``why``: what the last relaxation's engine said of its end.
    """

    count: int
    spare: int
    epsilon: Fraction
    solve: Solve
    fails: Fails
    parts: list[Part] = field(default_factory=lambda: [Part()])
    points: list[Known] = field(default_factory=list)
    often: Counter[int] = field(default_factory=Counter)
    why: str = ""

    def nearest(self, query: Query, deadline: float) -> Answer:
        """The nearest point of A(s) that a query admits, or what is known when time is up."""
        self.points = [each for each in self.points if not query.violated(each.candidate.point)]
        measure, tried, reason = query.distance, set[tuple[Models, float]](), ""
        while not reason:
            best = self._best(NONE, self.spare)
            alive = [part for part in self.parts if not part.infeasible]
            if not alive:
                break
            part = min(alive, key=lambda each: (each.lower, len(each.required)))
            if best and part.lower >= measure.below(best.candidate.distance, self.epsilon):
                break
            known = self._best(part.required, self.count)
            if known and part.lower >= measure.below(known.candidate.distance, self.epsilon):
                self.parts.remove(part)
                self.parts += self._split(part, known.fails)
                continue
            left = deadline - time.monotonic()
            tries = [each for each in self._tries(part, best) if each not in tried]
            if left <= 0 or not tries:
                reason = self.why or TIME
                break
            tried.add(tries[0])
            required, patience = tries[0]
            reason = self._ask(query, required, patience * left)
        return self._answer(reason)

    @property
    def everyone(self) -> Models:
        """All models."""
        return frozenset(range(1, self.count + 1))

    def _tries(self, part: Part, best: Known | None) -> list[tuple[Models, float]]:
        """Whom to ask about a part, in turn, and for which share of the time left.

        As long as no point is known, a hard relaxation leaves time to look for any point at all.
        """
        if best is not None or part.required == self.everyone:
            return [(part.required, 1.0)]
        return [(part.required, 0.5), (self.everyone, 0.5), (part.required, 1.0)]

    def _ask(self, query: Query, required: Models, seconds: float) -> str:
        """Solve a relaxation; why to stop, if so."""
        seeds = [each.candidate.point for each in self._all(required)][:3]
        outcome = self.solve(query, required, seconds, seeds)
        self._learn(required, outcome)
        self.why = outcome.reason
        found = outcome.best
        if found is not None:
            fails = self.fails(found.point)
            self.points.append(Known(found, fails))
            self.often.update(fails)
        if outcome.reason == INTERRUPTED:
            return INTERRUPTED
        return ""

    def _learn(self, required: Models, outcome: Outcome) -> None:
        """A relaxation's bound, for all parts that it holds of."""
        for i, each in enumerate(self.parts):
            if each.infeasible or not required <= each.required:
                continue
            if outcome.infeasible or outcome.lower > each.lower:
                self.parts[i] = replace(
                    each, lower=max(each.lower, outcome.lower), infeasible=outcome.infeasible,
                    provers=outcome.proved_by,
                )  # fmt: skip

    def _split(self, part: Part, fails: Models) -> Iterable[Part]:
        """Parts that cover a part, whose relaxations leave out the point that failed there."""
        spare = self.spare - len(part.spared)
        rest = self.everyone - part.required - part.spared
        order = sorted(rest, key=lambda i: (i not in fails, -self.often[i], i))
        if not spare:
            chosen = [i for i in order if i in fails][: max(1, len(part.required))]
            yield replace(part, required=part.required.union(chosen))
        else:
            for i, model in enumerate(order[: spare + 1]):
                spared = part.spared.union(order[:i])
                yield replace(part, required=part.required | {model}, spared=spared)

    def _all(self, required: Models) -> list[Known]:
        """Points that all of some models accept, nearest first."""
        found = (each for each in self.points if not required & each.fails)
        return sorted(found, key=lambda each: each.candidate.distance)

    def _best(self, required: Models, spare: int) -> Known | None:
        """The nearest point that all of some models accept, and all but ``spare`` of all."""
        enough = (each for each in self._all(required) if len(each.fails) <= spare)
        return next(enough, None)

    def _answer(self, reason: str) -> Answer:
        best = self._best(NONE, self.spare)
        alive = [part.lower for part in self.parts if not part.infeasible]
        lower = min(alive, default=Fraction(0))
        return Answer(best, lower, not alive and best is None, tuple(self.parts), reason)

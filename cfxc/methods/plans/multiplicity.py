r"""Counterfactuals for many models at once: valid for all of a finite set, or a share, with proof.

A model is retrained, and the answers of the copies differ: *predictive multiplicity*.  Given models
f_0 (as deployed) and f_1 … f_n, a share p and the target T,

    min d(x, x̂)  s.t.  x admissible,  f_0(x) ∈ T,  |{i ≥ 1 : f_i(x) ∈ T}| ≥ ⌈p n⌉

is solved to within a share of epsilon: every f_i is an exact program, so the lower bound is a
proof, whatever the models are (the issue of Bui, Nguyen & Nguyen 2022, for models that are not
linear in their parameters; Pawelczyk et al. 2020 study it by sampling).
How: :mod:`cfxc.methods.plans.parts`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import Any, Unpack

import pandas as pd

from ...answers.cells import one_row
from ...answers.explaining import Explainer
from ...answers.original import Original
from ...answers.result import Status
from ...errors import DataTypeError, InvalidInputError, UnsupportedError
from ...frontends.compiled import Compiled
from ...ir import evaluate
from ...ir.interval import ceil_float, floor_float
from ...ir.sorts import preview
from ...question.checks import whole_number
from ...question.options import Options
from ...question.query import Query
from ...question.question import Question, asked_of
from ...solvers.base import Outcome, Point
from ...solvers.engines import engine_for
from ...solvers.rounding import multiplied_out, slack_for
from ...solvers.smt import refuse_contradiction
from ...space.values import as_written
from ...stopping import INTERRUPTED
from .answer import Member, RobustPlan
from .local import check_model
from .parts import Answer, Decider, Models, Search, joint

DIVERSITY = ("points", "features")
NOT_HERE = {"count", "relax", "seeds"}
"""Options of a question that a plan for many models does not have."""


def robust(
    model: Compiled,
    row: Any,
    others: Sequence[Compiled],
    *,
    share: float = 1.0,
    size: int = 1,
    question: Question | None = None,
    **options: Unpack[Options],
) -> RobustPlan:
    """The nearest counterfactuals that a model and enough of others accept, with proof.

    ``min d(x, x̂)  s.t.  x admissible, model(x) ∈ target, at least ⌈share · n⌉ of n others(x) ∈
    target``, to within a share of ``epsilon``; then the nearest that differs from it, and so on.

    Args:
        model: As deployed now: it must accept every member.
        row: One-row DataFrame, Series or mapping with the space's columns; not yet in the target.
        others: n ≥ 1 models of any kind, compiled over the same feature space:
            :func:`cfxc.retrained` makes some.
        share: Of the others, how many must accept each member, in (0, 1].
        size: How many members, ≥ 1.
        question, **options: As for :meth:`cfxc.CompiledModel.explain`, for each member;
            :class:`cfxc.Probability` and :class:`cfxc.Margin` are asked of every model.  Of
            ``diversity`` ``points`` and ``features``.  When ``time_limit`` is over, ``lower_bound``
            is what is proved until then.

    Raises:
        CfxcError: bad input, before any search; constraints that no row of the space can meet.
    """
    models, needed = _checked(model, others, share)
    count = whole_number(size, "size", 1)
    asked = asked_of(question, options)
    if odd := sorted(set(asked.given) & NOT_HERE):
        raise InvalidInputError(f"robust takes no {', '.join(odd)}")
    if asked.diversity not in DIVERSITY:
        raise InvalidInputError(
            f"diversity is one of {', '.join(DIVERSITY)}, not {asked.diversity!r}"
        )
    explainer = Explainer.of(model, asked.with_(count=count))
    frame = one_row(model.space, row)
    query, _ = explainer.pose(frame)
    put = _Asked.of(explainer, models, query, frame)
    if (asked.method, asked.solver) != ("auto", "auto"):
        put.refuse(query)
    return put.plan(query, needed).in_library_of(row)


def _checked(model: Any, others: Any, share: Any) -> tuple[tuple[Compiled, ...], int]:
    """All models, the deployed one first, and how many of the others must accept a row."""
    if not isinstance(others, Iterable) or isinstance(others, Compiled | str):
        raise DataTypeError(f"others is a list of compiled models, not {type(others).__name__}")
    models = (model, *others)
    for i, each in enumerate(models):
        check_model(each, _name(i))
    if len(models) == 1:
        raise InvalidInputError(
            "others is empty: give at least one other model, or ask model.explain"
        )
    wanted = as_written(share, "share")
    if not 0 < wanted <= 1:
        raise InvalidInputError(f"share lies in (0, 1], and is {share}")
    for i, each in enumerate(models[1:], 1):
        _check_space(model, each, _name(i))
        task, own = each.predictor.task, model.predictor.task
        if task != own:
            raise InvalidInputError(f"{_name(i)} is a {task}, and the model is a {own}")
    return models, ceil(wanted * (len(models) - 1))


def _name(i: int) -> str:
    return f"others[{i - 1}]" if i else "model"


def _check_space(model: Compiled, other: Compiled, name: str) -> None:
    if other.space == model.space:
        return
    own, theirs = ([f.name for f in space] for space in (model.space, other.space))
    if own != theirs:
        odd = sorted(set(own) ^ set(theirs)) or theirs
        what = f"has other features ({preview(odd)[1:-1]})"
    else:
        differ = [a.name for a, b in zip(model.space, other.space, strict=True) if a != b]
        what = f"has other ranges, kinds or actions of {preview(differ or ['columns'])[1:-1]}"
    raise InvalidInputError(
        f"{name} {what} than the model: compile all of them over one feature space"
    )


@dataclass
class _Asked:
    """A question put to several models: their deciders and originals, the deployed one first."""

    explainer: Explainer
    deciders: tuple[Decider, ...]
    originals: tuple[Original, ...]
    frame: pd.DataFrame

    @classmethod
    def of(
        cls, explainer: Explainer, models: Sequence[Compiled], query: Query, frame: pd.DataFrame
    ) -> _Asked:
        deciders = [Decider(query.program, query.target, query.slack)]
        deciders += [
            _decider(explainer.question, query, each, i) for i, each in enumerate(models[1:], 1)
        ]
        originals = [
            Original(each, decider.target, frame, by_row=False)
            for each, decider in zip(models, deciders, strict=True)
        ]
        return cls(explainer, tuple(deciders), tuple(originals), frame)

    def refuse(self, query: Query) -> None:
        """Refuse models that the engine asked for does not take, before any search."""
        for i, decider in enumerate(self.deciders[1:], 1):
            try:
                engine_for(
                    joint(query, [decider]),
                    self.explainer.question.method,
                    self.explainer.question.solver,
                )
            except UnsupportedError as error:
                raise UnsupportedError(
                    f"{_name(i)}: {error}", remedy="ask with method='auto'"
                ) from None

    def plan(self, query: Query, needed: int) -> RobustPlan:
        """The members, one after the other, and what is proved in the end."""
        options, count, started = self.explainer.question, len(self.deciders) - 1, time.monotonic()
        search = Search(count, count - needed, Fraction(options.epsilon), self.solve, self.fails)
        members: list[Member] = []
        first = last = Answer(None, Fraction(0), False, ())
        while len(members) < options.count:
            begun = time.monotonic()
            last = search.nearest(query, begun + options.time_limit)
            first = first if members else last
            if last.best is None:
                break
            members.append(self.member(query, last, time.monotonic() - begun))
            if last.reason == INTERRUPTED:
                break
            query = self.explainer.after(query, last.best.candidate.point)
        if first.infeasible:
            refuse_contradiction(
                query, options.conditions, self.explainer.asking, options.time_limit
            )
        missing = len(members) < options.count
        stop_reason = "" if not missing else "infeasible" if last.infeasible else "unknown"
        conflict = frozenset[int]()
        if first.infeasible and needed == count:
            (part,) = first.parts
            conflict = self.conflict(query, part.required, time.monotonic() + options.time_limit)
        lower = query.distance.root(first.lower, -1)
        return RobustPlan(
            status=_status(members, stop_reason),
            factual=self.frame,
            members=tuple(members),
            needed=needed,
            count=count,
            lower_bound=floor_float(lower),
            exact_lower_bound=lower,
            provers=first.provers,
            epsilon=options.epsilon,
            distance_name=query.distance.name,
            semantics="float" if any(one.slack for one in self.deciders) else "real",
            stop_reason=stop_reason,
            conflict=tuple(sorted(i - 1 for i in conflict)),
            reason="" if last.infeasible else last.reason,
            seconds=time.monotonic() - started,
        )

    def conflict(self, query: Query, required: Models, deadline: float) -> Models:
        """Of models that leave no point, as few as time allows to show that they do."""
        for i in sorted(required):
            left = deadline - time.monotonic()
            if left > 0 and self.solve(query, required - {i}, left, ()).infeasible:
                required -= {i}
        return required

    def solve(
        self, query: Query, required: Models, seconds: float, seeds: Sequence[Point]
    ) -> Outcome:
        """The nearest point that the model and all of ``required`` accept."""
        chosen = sorted(required)
        put = joint(query, [self.deciders[i] for i in chosen])
        engine = engine_for(put, self.explainer.question.method, self.explainer.question.solver)
        limits = replace(self.explainer.limits(seconds), seeds=seeds)
        asked = [self.originals[i] for i in (0, *chosen)]
        return engine.search(put, lambda point: all(one.flips(point) for one in asked), limits)

    def fails(self, point: Point) -> Models:
        """Which of the others do not accept a point, as programs or as deployed."""
        return frozenset(i for i in range(1, len(self.deciders)) if not self.accepts(i, point))

    def accepts(self, i: int, point: Point) -> bool:
        """Whether a model accepts a point, exactly and when it is re-run."""
        program = self.deciders[i].with_margin(Fraction(0))
        exact = bool(evaluate(program, dict(point))["in_target"])
        return exact and self.originals[i].flips(point)

    def member(self, query: Query, answer: Answer, seconds: float) -> Member:
        """A point and its bound as a row, with what every original model says of it."""
        assert answer.best is not None
        found, measure, options = answer.best.candidate, query.distance, self.explainer.question
        closed = answer.lower >= measure.below(found.distance, Fraction(options.epsilon))
        lower, upper = measure.root(answer.lower, -1), measure.root(found.distance, 1)
        count = len(self.originals)
        return Member(
            status="optimal" if closed else "feasible",
            row=self.originals[0].row(found.point),
            distance=ceil_float(upper),
            lower_bound=floor_float(lower),
            exact_distance=upper,
            exact_lower_bound=lower,
            valid=tuple(i not in answer.best.fails for i in range(1, count)),
            outcomes=tuple(one.outcome(found.point) for one in self.originals),
            provers=answer.provers,
            parts=answer.parts,
            seconds=seconds,
        )


def _decider(question: Question, query: Query, model: Compiled, i: int) -> Decider:
    """Another model's word on the query's target."""
    plain = replace(query.target, chance=None, margin=Fraction(0))
    sorts = model.program.output_sorts
    if not plain.is_range and not sorts["label"].labels.has(plain.label):
        raise InvalidInputError(
            f"{_name(i)} never predicts the target {plain}: its outcomes are "
            f"{preview(sorts['label'].labels)[1:-1]}"
        )
    if plain.is_range and sorts["value"].shape:
        raise InvalidInputError(f"{_name(i)} predicts several values; targets need exactly one")
    target = plain
    for criterion in question.subject_to:
        target = criterion.stricter(model.program, target)
    asked = multiplied_out(replace(query, program=model.program, computed=None, target=target))
    slack = slack_for(asked, question.semantics, model.predictor)
    return Decider(asked.program, target, slack)


def _status(members: Sequence[Member], stop_reason: str) -> Status:
    if not members:
        return "infeasible" if stop_reason == "infeasible" else "unknown"
    proved = all(member.status == "optimal" for member in members) and stop_reason != "unknown"
    return "optimal" if proved else "feasible"

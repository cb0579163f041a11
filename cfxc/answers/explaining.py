"""Answering one instance's question, or the same question of many instances."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from typing import Any, Literal, Self

import numpy as np
import pandas as pd

from ..errors import CfxcError, DataTypeError, InvalidInputError, NoChangeNeededError
from ..frontends.compiled import Compiled
from ..frontends.predictor import plain_item
from ..ir.interval import ceil_float
from ..question.criteria import TrustRegion
from ..question.distances import Distance, penalised, recognised, resolve_distance
from ..question.diversity import Diverse, refuse_extremes
from ..question.query import Query, make_query, needs_no_change
from ..question.question import Question
from ..question.target import Target
from ..solvers.base import Candidate, Limits, Outcome, Point, Progress, Trace, Watch
from ..solvers.certification.evidence import covered
from ..solvers.engines import Engine, engine_for, search_within, smt_backend
from ..solvers.hulls import slack_of
from ..solvers.rounding import may_tie, multiplied_out, slack_for
from ..solvers.smt import Backend, refuse_contradiction, refuse_negative_distance
from ..stopping import (
    INTERRUPTED,
    STOPS,
    Pressed,
    Span,
    TimeUp,
    listening,
    reason_of,
    until,
)
from .cells import Cells
from .conflicts import asker, conflict_of, given_up_in_order, with_conflict
from .from_search import result_of
from .original import Original
from .result import DIFFERENT, MET, Result
from .seeds import Seeds, examples_of, known_row, nearest_of
from .spreading import Spread

UNCHANGED = "already has the target outcome"
"""Why an answer is the factual itself."""
LOOK = 0.1  # of the time that is left, for a contradiction where no point was found at first


@dataclass(frozen=True)
class Explainer:
    """A question put to a model: what answers it for any factual.

    ``named``: what names the target outcome, ``""`` if nothing does and it is the other one of two;
    ``conflicts``: whether an answer that there is none tells what rules everything out.
    """

    model: Compiled
    question: Question
    target: Any
    distance: Distance
    asking: Backend
    seeds: Seeds
    progress: Watch | None
    named: Literal["target", "favourable", ""] = "target"
    conflicts: bool = True

    @classmethod
    def of(cls, model: Compiled, question: Question, progress: Watch | None = None) -> Self:
        """A question put to a model: what does not depend on the factual, checked.

        Raises:
            CfxcError: an option that this model has no use for.
        """
        if progress is not None and not callable(progress):
            raise DataTypeError(f"progress is a function, not {progress!r}")
        metric = resolve_distance(question.distance, model.space)
        if question.change_penalty:
            metric = penalised(metric, question.change_penalty, model.space)
        apart = isinstance(question.diversity, Diverse)  # answers differ by the model's own weights
        if apart:
            refuse_extremes(metric, model.space)
        metric, space = recognised(metric, model.space, keep=apart)
        model = model if space is model.space else replace(model, space=space)
        required = model.target_or_favourable(question.target)
        named: Literal["target", "favourable", ""] = "" if required is None else "favourable"
        return cls(
            model, question, required, metric, smt_backend(question.solver),
            Seeds(model, question, required), progress,
            named if question.target is None else "target",
        )  # fmt: skip

    def answer(self, frame: pd.DataFrame, started: float | None = None) -> Result:
        """The nearest counterfactuals of one instance.

        Args:
            frame: The instance as a one-row table.
            started: From when on time counts (of ``now``; by default from now on).

        Raises:
            CfxcError: the row is bad, or no row of the space can meet the constraints.
        """
        with listening():
            try:
                return self._answer(frame, Span(self.question.time_limit, started))
            except NoChangeNeededError as error:
                if self.named == "target":
                    raise
                (answer,) = self._unchanged([frame], [error])
                if isinstance(answer, CfxcError):
                    raise answer from error
                return answer

    def _answer(self, frame: pd.DataFrame, span: Span, before: Any = None) -> Result:
        query, engine, stop = self._posed(frame, span, before)
        if self.question.diversity == "clusters" and not (query.hulls or stop):
            raise InvalidInputError(
                "diversity='clusters' takes one answer from each cluster of a trust region; name "
                "one with clusters, such as cfxc.TrustRegion(X, clusters=3), or "
                "--trust-region people.csv,clusters=3"
            )
        original = self._original(query, engine, frame, before)
        if engine is None:
            best = None
            if query.hulls or not any(isinstance(x, TrustRegion) for x in self.question.subject_to):
                best = known_row(query, original, partial(self._known, query), span.deadline)
            only = self._result(query, engine, original, Outcome(best=best, reason=stop), span)
            fewer = best is not None and self.question.count > 1
            return replace(only, stop_reason="unknown" if fewer else "")
        if isinstance(self.question.diversity, Diverse):
            return self._spread(query, engine, original, span)
        found: list[Result] = []
        stop_reason: Literal["", "infeasible", "unknown"] = ""
        clusters = self.question.diversity == "clusters"
        given, earlier, valid = self.seeds.of(frame), list[Point](), 0
        seed = self.question.random_state
        while len(found) < self.question.count:
            if clusters and not query.hulls:
                stop_reason = "infeasible"
                break
            span = Span(self.question.time_limit) if found else span
            starts, good = nearest_of(query, given, seed, self._to_move(engine, span))
            valid = valid if found else good
            starts += earlier
            query, outcome = self._search(query, engine, original, len(found), span, starts)
            if outcome.best is None and found:
                stop_reason = "infeasible" if outcome.infeasible else "unknown"
                break
            found.append(self._result(query, engine, original, outcome, span))
            if outcome.best is None or outcome.reason == INTERRUPTED:
                break
            met = self._pool(query, outcome, self.question.count - len(found))
            for one in met:
                other = replace(outcome, best=one, reason=MET, proof=None)
                found.append(self._result(query, engine, original, other, None))
            for known in (outcome.best, *met):
                query = self.after(query, known.point)
                earlier += [known.point] if query.hulls else []  # where another one may begin
        others, counts = tuple(found[1:]), (len(given), valid)
        return replace(
            found[0],
            alternatives=others,
            stop_reason=stop_reason,
            seeds=counts,
            by_default=not self.named,
        )

    def _to_move(self, engine: Engine, span: Span) -> float | None:
        """Seconds for moving the given rows towards the instance: box search moves them itself."""
        return None if engine.method == "box" else span.left / 2

    def _known(self, query: Query) -> Iterator[Point]:
        """The rows that were given, and then those of the data."""
        yield from nearest_of(query, self.seeds.points, self.question.random_state)[0]
        yield from examples_of(query)

    def _spread(self, query: Query, engine: Engine, original: Original, span: Span) -> Result:
        """The nearest one, and others that differ most within a share of its distance."""
        given, seed = self.seeds.of(original.frame), self.question.random_state
        starts, valid = nearest_of(query, given, seed, self._to_move(engine, span))
        query, outcome = self._search(query, engine, original, 0, span, starts)
        found = [self._result(query, engine, original, outcome, span)]
        spread = Spread(query, engine, original.flips, self.question, outcome, self.limits)
        near = starts if engine.method == "box" else nearest_of(query, given, seed)[0]
        as_asked = f"{DIFFERENT}, to within {100 * float(spread.tolerance):g} %"
        if outcome.best is not None and outcome.reason != INTERRUPTED:
            for one, span in spread.rows(near, found[0].seconds):
                other = replace(outcome, best=one.candidate, reason=one.reason or as_asked)
                result = self._result(query, engine, original, other, None)
                apart, bound = float(one.apart), ceil_float(one.bound)
                over = self.question.diversity.aggregate
                own = {"apart": apart, "apart_bound": bound, "apart_over": over}
                own["reason"] = one.reason or result.reason
                found.append(replace(result, seconds=span.seconds, **own))
        return replace(
            found[0], alternatives=tuple(found[1:]), stop_reason=spread.stop_reason,
            seeds=(len(given), valid), by_default=not self.named,
        )  # fmt: skip

    def by_feature(self, frame: pd.DataFrame) -> Iterator[tuple[str, Result | None]]:
        """The nearest counterfactual that changes one feature alone, for each; ``None`` if fixed.

        What follows from the feature by a causal model changes with it.
        """
        with listening():
            query, engine = self.pose(frame)
            original = self._original(query, engine, frame)
            if not self.named and self._is_held(original):  # the other label is its own
                query, engine = self.pose(frame, original.before)
                original = self._original(query, engine, frame, original.before)
            for domain in query.domains:
                if domain.is_fixed:
                    yield domain.name, None
                    continue
                span = Span(self.question.time_limit)
                alone = query.keeping(each.name for each in query.domains if each is not domain)
                narrowed, outcome = self._search(alone, engine, original, 1, span)
                yield domain.name, self._result(narrowed, engine, original, outcome, span)

    def _unchanged(
        self, frames: Sequence[pd.DataFrame], errors: Sequence[NoChangeNeededError]
    ) -> list[Result | CfxcError]:
        """The answers of instances that have the target outcome already, each its own row.

        Where the deployed model says otherwise, by rounding, or no target was named, so that the
        other label is asked for, the question is put again with what it says.
        """
        found: list[Result | CfxcError] = []
        outcomes = self.model.predict(pd.concat(frames, ignore_index=True))
        for frame, error, outcome in zip(frames, errors, map(plain_item, outcomes), strict=True):
            original = self._deployed(frame, error, outcome)
            point = self.model.space.encode_row(frame)
            original.tell(outcome, point, outcome)
            known = original.says() is not False
            if self.named and known and original.flips(point):
                found.append(self._as_it_is(original, point))
            elif self.named and (known or self.question.semantics == "real"):
                found.append(
                    InvalidInputError(
                        f"the exact program has the factual in the target {error.target} already, "
                        f"the deployed model says {outcome!r}: rounding decides; ask with a margin"
                    )
                )
            else:
                found.append(self._answer(frame, Span(self.question.time_limit), outcome))
        return found

    def _deployed(
        self, frame: pd.DataFrame, error: NoChangeNeededError, before: Any = None
    ) -> Original:
        """The model itself, about an instance that has the target by the exact program."""
        assert isinstance(error.target, Target)
        return Original(self.model, error.target, frame, by_row=True, before=before)

    def _as_it_is(self, original: Original, point: Point) -> Result:
        """The factual itself as the answer."""
        target = original.target
        return Result(
            "optimal", original.frame, original.row(point), 0.0, 0.0, self.question.epsilon, "none",
            "none", self.distance.name, str(target), original.before, original.before, 0.0,
            reason=UNCHANGED, exact_distance=Fraction(0), target_values=target.values,
            unchanged=True, semantics="float" if self.question.semantics == "float" else "real",
        )  # fmt: skip

    def _pool(self, query: Query, outcome: Outcome, most: int) -> list[Candidate]:
        """The nearest points that a search met on its way, if they were asked for."""
        assert outcome.best is not None
        if self.question.diversity != "pool":
            return []
        chosen, query = list[Candidate](), self.after(query, outcome.best.point)
        for one in sorted(outcome.pool, key=lambda one: one.distance):
            if len(chosen) < most and not query.violated(one.point):
                chosen.append(one)
                query = self.after(query, one.point)
        return chosen

    @property
    def _asks_first(self) -> bool:
        """Whether the exact program may have another outcome of an instance than the model."""
        real = self.question.semantics == "real"
        return not real and may_tie(self.model.program, self.model.predictor)

    def pose(self, frame: pd.DataFrame, before: Any = None) -> tuple[Query, Engine]:
        """The question about one instance, and what answers it; ``before``: see ``_query``."""
        return self._ready(self._in_hulls(self._query(frame, before)), self.question.time_limit)

    def _is_held(self, original: Original) -> bool:
        """Whether the deployed model has the target outcome, by rounding."""
        return self.question.semantics != "real" and original.says() is True

    def _posed(
        self, frame: pd.DataFrame, span: Span, before: Any = None, cells: Cells = None
    ) -> tuple[Query, Engine | None, str]:
        """The same within a time, and why that was not enough."""
        query = self._query(frame, before, cells)
        try:
            with until(span.deadline):
                query = self._in_hulls(query)
                return *self._ready(query, span.left), ""
        except STOPS as stop:
            return query, None, reason_of(stop)

    def _query(self, frame: pd.DataFrame, before: Any = None, cells: Cells = None) -> Query:
        """The question about one instance, without what follows from the model.

        Args:
            frame: The instance as a one-row table.
            before: What the deployed model says of it, where that is known.
            cells: Its cells, where they were read before.
        """
        model, options = self.model, self.question
        if before is None and self._asks_first:
            before = plain_item(model.predict(frame)[0])
        ask = partial(
            make_query, model.program, model.space,
            model.space.encode_row(frame if cells is None else cells),
            target=self.target, distance=self.distance, subject_to=options.subject_to,
        )  # fmt: skip
        try:
            return ask(before=before)
        except NoChangeNeededError as error:
            if cells is not None or options.semantics == "real":
                raise  # of many instances the model is asked at once
            original = self._deployed(frame, error, before)
            if original.says() is not False:
                raise
        return ask(before=original.before, may_hold=True)

    def _in_hulls(self, query: Query) -> Query:
        """The question with its trust regions."""
        model = self.model
        given = model.space, query.target, model.predict, model
        hulls = [hull for each in self.question.subject_to for hull in each.hulls(*given)]
        return replace(query, hulls=tuple(hulls))

    def _ready(self, query: Query, seconds: float) -> tuple[Query, Engine]:
        """The question with all that it takes to be answered, and what answers it."""
        options, predictor = self.question, self.model.predictor
        slack = slack_for(query, options.semantics, predictor)
        query = multiplied_out(replace(query, unit=predictor.unit_roundoff, slack=slack))
        query = covered(query)
        refuse_negative_distance(query, self.asking, seconds)
        method = options.method
        if options.diversity == "pool":
            if method not in ("auto", "mio"):
                raise InvalidInputError(f"method {method!r} keeps no pool; ask with method='mio'")
            method = "mio"
        return query, engine_for(query, method, options.solver)

    def after(self, query: Query, point: Point) -> Query:
        """The question for another counterfactual, after one was found."""
        if self.question.diversity == "features":
            return query.keeping(d.name for d in query.domains if point[d.name] != d.factual)
        if self.question.diversity == "clusters":
            slacks = [slack_of(replace(query, hulls=(hull,)), point) for hull in query.hulls]
            nearest = slacks.index(min(slacks))
            left = (hull for i, hull in enumerate(query.hulls) if i != nearest)
            return replace(query, hulls=tuple(left))
        return query.without(point, self.question.apart)

    def _original(
        self, query: Query, engine: Engine | None, frame: pd.DataFrame, before: Any = None, *,
        trusted: bool = False,
    ) -> Original:  # fmt: skip
        return Original(
            self.model, query.target, frame, by_row=engine is not None and engine.by_row,
            trusted=trusted, before=before, factual=query.factual,
        )  # fmt: skip

    def limits(self, seconds: float, number: int = 0) -> Limits:
        """What a search may use."""
        options = self.question
        return Limits(
            Fraction(options.epsilon), seconds, (),
            np.random.default_rng(options.random_state + number), self.progress, options.n_jobs,
            pool=options.diversity == "pool" and options.count > 1,
        )  # fmt: skip

    def _search(
        self, query: Query, engine: Engine, original: Original, number: int, span: Span,
        starts: Sequence[Point] = (),
    ) -> tuple[Query, Outcome]:  # fmt: skip
        """The question searched, and what is found; the first refuses contradictions."""
        refuse = cache(partial(self._refuse_contradiction, query, number, span))

        @cache
        def known() -> Sequence[Point]:
            """Rows of the data, where no point was found otherwise: perhaps there is none."""
            refuse(LOOK)
            return examples_of(query)

        trace = Trace(self.progress)
        limits = replace(self.limits(span.left, number), seeds=tuple(starts), known=known)
        limits, predictor = replace(limits, watch=trace), self.model.predictor
        query, outcome = search_within(query, engine, original.flips, limits, predictor)
        if outcome.best is None and not outcome.infeasible:
            outcome.best = known_row(query, original, known, span.deadline)
        outcome.trace = trace.closed(query.distance, outcome)
        if outcome.infeasible:
            refuse(1.0)
        return query, outcome

    def _refuse_contradiction(self, query: Query, number: int, span: Span, share: float) -> None:
        """Refuse constraints that no row meets, if conflicts are told, in a share of the time."""
        seconds = share * span.left
        if self.conflicts and not number and seconds > 0:
            with until(span.deadline), suppress(TimeUp, Pressed):
                refuse_contradiction(query, self.question.conditions, self.asking, seconds)

    def _result(
        self, query: Query, engine: Engine | None, original: Original, outcome: Outcome,
        span: Span | None,
    ) -> Result:  # fmt: skip
        """The answer; if none exists, with what rules everything out, and what giving up costs.

        Raises:
            NoChangeNeededError: the deployed model has the target outcome, by rounding.
        """
        options, file = self.question, self.model.file
        if self._is_held(original):
            raise needs_no_change(original.target)
        solver = "" if engine is None else engine.solver
        answer = result_of(query, original, outcome, options.epsilon, solver, file)
        if span is not None and outcome.infeasible and (self.conflicts or options.relax):
            limits = self.limits(span.left)
            if (tell := limits.watch) is not None:  # what is looked at now is another question
                limits = replace(limits, watch=partial(_known, tell, answer, span))
            ask = asker(original.flips, limits, options.method, options.solver)
            conflict = given_up_in_order(query, ask, span.left, options.relax)
            if conflict.relaxed is None and self.conflicts:
                conflict = conflict_of(query, ask, span.left)
                if options.relax:  # nothing else is given up
                    conflict = replace(conflict, relaxed=None)
            answer = with_conflict(original, answer, conflict)
        return replace(answer, seconds=0.0 if span is None else span.seconds)


def _known(watch: Watch, answer: Result, span: Span, _: Progress) -> None:
    """Tell what is known of the question itself while it is looked for why there is no answer."""
    watch(Progress(span.seconds, answer.lower_bound, None, answer.nodes))

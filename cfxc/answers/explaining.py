"""Answering one instance's question, or the same question of many instances."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from typing import Any, Literal

import numpy as np
import pandas as pd

from ..errors import CfxcError, DataTypeError, InvalidInputError, NoChangeNeededError, SolverError
from ..frontends.compiled import Compiled
from ..frontends.predictor import chance_of, plain_item
from ..ir import ops
from ..question.distances import Distance, penalised, recognised, resolve_distance
from ..question.query import Query, make_query
from ..question.question import Question
from ..question.target import Target
from ..solvers.base import Candidate, Limits, Outcome, Point, Trace, Watch
from ..solvers.certification.evidence import covered
from ..solvers.engines import Engine, engine_for, search_within, smt_backend
from ..solvers.hulls import slack_of
from ..solvers.rounding import may_tie, multiplied_out, slack_for
from ..solvers.smt import Backend, refuse_contradiction, refuse_negative_distance
from ..stopping import (
    INTERRUPTED,
    LIMIT,
    STOPS,
    Pressed,
    Span,
    TimeUp,
    left,
    listening,
    now,
    reason_of,
    until,
)
from .cells import Cells, cells_of
from .conflicts import asker, conflict_of, given_up_in_order, with_conflict
from .original import Original
from .result import Result, result_of
from .seeds import Seeds, examples_of, known_row, nearest_of

MET = "met on the way to the nearest one"
"""Why nothing more is known of a counterfactual from a pool."""
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
                if self.named != "favourable":
                    raise
                (answer,) = self._unchanged([frame], [error])
                if isinstance(answer, CfxcError):
                    raise answer from error
                return answer

    def _answer(self, frame: pd.DataFrame, span: Span) -> Result:
        query, engine, stop = self._posed(frame, span)
        if self.question.diversity == "clusters" and not (query.hulls or stop):
            raise InvalidInputError("diversity='clusters' needs a trust_region with clusters")
        original = self._original(query, engine, frame)
        if engine is None:
            best = known_row(query, original, partial(examples_of, query))
            return self._result(query, engine, original, Outcome(best=best, reason=stop), span)
        found: list[Result] = []
        stop_reason: Literal["", "infeasible", "unknown"] = ""
        clusters = self.question.diversity == "clusters"
        given, before, valid = self.seeds.of(frame), list[Point](), 0
        while len(found) < self.question.count:
            if clusters and not query.hulls:
                stop_reason = "infeasible"
                break
            span = Span(self.question.time_limit) if found else span
            moved = engine.method != "box"
            starts, good = nearest_of(query, given, self.question.random_state, moved=moved)
            valid = valid if found else good
            starts += before
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
                before += [known.point] if query.hulls else []  # where another one may begin
        others, counts = tuple(found[1:]), (len(given), valid)
        return replace(
            found[0],
            alternatives=others,
            stop_reason=stop_reason,
            seeds=counts,
            by_default=not self.named,
        )

    def by_feature(self, frame: pd.DataFrame) -> Iterator[tuple[str, Result | None]]:
        """The nearest counterfactual that changes one feature alone, for each; ``None`` if fixed.

        What follows from the feature by a causal model changes with it.
        """
        with listening():
            query, engine = self.pose(frame)
            original = self._original(query, engine, frame)
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

        Where the deployed model says otherwise, by rounding, that is the error.
        """
        found: list[Result | CfxcError] = []
        outcomes = self.model.predict(pd.concat(frames, ignore_index=True))
        for frame, error, outcome in zip(frames, errors, map(plain_item, outcomes), strict=True):
            assert isinstance(error.target, Target)
            original = Original(
                self.model.predict, self.model.space, error.target, frame, by_row=True,
                chance=partial(chance_of, self.model.predictor),
            )  # fmt: skip
            point = self.model.space.encode_row(frame)
            original.tell(outcome, point, outcome)
            if original.flips(point):
                found.append(self._as_it_is(original, point))
                continue
            found.append(
                InvalidInputError(
                    f"the exact program has the factual in the target {error.target} already, the "
                    f"deployed model says {outcome!r}: rounding decides; ask with a margin"
                )
            )
        return found

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

    def answers(self, rows: pd.DataFrame) -> list[Result | CfxcError | None]:
        """The nearest counterfactual of each row, or why there is no answer.

        Where the original model's answers do not depend on how many rows it is given, it is asked
        about all instances at once; the few whose answer it does not accept are searched again.
        ``None`` for who was not answered yet when Ctrl-C was pressed, or the time of all was up; or
        who was, with less than the question's time and no proof.
        """
        found: dict[int, Result | CfxcError] = {}
        waiting, done, stop = list[Waiting](), dict[int, NoChangeNeededError](), ""
        frames = [rows.iloc[i : i + 1] for i in range(len(rows))]
        given = zip(frames, self._before(frames), cells_of(rows), strict=True)
        for i, (frame, before, cells) in enumerate(given):
            if stop == INTERRUPTED or left() <= 0:
                break
            try:
                one, stop = self._begun(frame, before, cells)
                if stop == INTERRUPTED or (stop == LIMIT and left() <= 0):
                    break
                if one.outcome.best is not None and one.original.trusted:
                    one.span.end()
                    waiting.append(replace(one, place=i))
                    continue
                one.original.trusted = False
                found[i] = self._result(one.query, one.engine, one.original, one.outcome, one.span)
            except NoChangeNeededError as error:
                done[i] = error
            except Exception as error:
                found[i] = _as_error(error)
        found |= self._told(waiting, stop) | self._all_unchanged(frames, done)
        return [
            None if i in found and self._is_cut_short(found[i]) else found.get(i)
            for i in range(len(frames))
        ]

    def _is_cut_short(self, answer: Result | CfxcError) -> bool:
        """Whether more would have been found in the question's own time."""
        if isinstance(answer, CfxcError) or answer.status not in ("feasible", "unknown"):
            return False
        early = left() <= 0 and answer.seconds < self.question.time_limit
        return answer.reason == INTERRUPTED or (answer.reason == LIMIT and early)

    def _before(self, frames: Sequence[pd.DataFrame]) -> list[Any]:
        """What the deployed model says of each instance, asked of all at once; else ``None``."""
        nothing = [None] * len(frames)
        summed = any(isinstance(let.op, ops.Affine) for let in self.model.program.lets())
        if summed or not self._asks_first or len(frames) < 2:
            return nothing  # sums of products may depend on how many rows there are
        try:
            return list(map(plain_item, self.model.predict(pd.concat(frames, ignore_index=True))))
        except CfxcError:  # of one row that the model does not take: each is asked alone
            return nothing

    @property
    def _asks_first(self) -> bool:
        """Whether the exact program may have another outcome of an instance than the model."""
        real = self.question.semantics == "real"
        return not real and may_tie(self.model.program, self.model.predictor)

    def _begun(self, frame: pd.DataFrame, before: Any, cells: Cells) -> tuple[Waiting, str]:
        """The search for one instance, whose answer the original model did not see, and its end."""
        span = Span(self.question.time_limit)
        query, engine, stop = self._posed(frame, span, before, cells)
        trusted = engine is not None and engine.by_row
        original = self._original(query, engine, frame, trusted=trusted)
        outcome = Outcome(reason=stop)
        if engine is not None:
            query, outcome = self._search(query, engine, original, 0, span)
        return Waiting(query, engine, original, outcome, span), outcome.reason

    def _told(self, waiting: Sequence[Waiting], stop: str) -> dict[int, Result | CfxcError]:
        """The answers of those whose points the original model was not asked about yet."""
        found: dict[int, Result | CfxcError] = {}
        requested = True
        try:
            self._ask([(one.original, one.outcome) for one in waiting])
        except CfxcError:  # of one row that the model does not take: everyone is asked alone
            requested = False
        for one in waiting:
            assert one.outcome.best is not None
            try:
                if requested and one.original.flips(one.outcome.best.point):
                    parts = one.query, one.engine, one.original, one.outcome, one.span
                    found[one.place] = self._result(*parts)
                elif stop != INTERRUPTED:
                    again = now() - one.span.seconds  # what was spent counts
                    found[one.place] = self.answer(one.original.frame, again)
            except Exception as error:
                found[one.place] = _as_error(error)
        return found

    def _all_unchanged(
        self, frames: Sequence[pd.DataFrame], done: Mapping[int, NoChangeNeededError]
    ) -> dict[int, Result | CfxcError]:
        """The answers of those who have the target outcome; alone, where the model fails."""
        if not done:
            return {}
        try:
            together = self._unchanged([frames[i] for i in done], list(done.values()))
            return dict(zip(done, together, strict=True))
        except CfxcError as error:
            if len(done) == 1:
                return dict.fromkeys(done, error)
        alone = (self._all_unchanged(frames, {i: error}) for i, error in done.items())
        return {i: answer for each in alone for i, answer in each.items()}

    def _ask(self, waiting: Sequence[tuple[Original, Outcome]]) -> None:
        """Tell everyone what the original model says of them and of their answer."""
        by_types: dict[tuple[Any, ...], list[tuple[Original, Point]]] = {}
        for original, outcome in waiting:
            assert outcome.best is not None
            point = outcome.best.point
            types = (*original.frame.dtypes, *original.row(point).dtypes)
            by_types.setdefault(types, []).append((original, point))
        for pairs in by_types.values():
            before = pd.concat([original.frame for original, _ in pairs], ignore_index=True)
            after = pd.concat([original.row(point) for original, point in pairs], ignore_index=True)
            if before.dtypes.equals(after.dtypes):
                both = self.model.predict(pd.concat([before, after], ignore_index=True))
                reported = zip(both[: len(pairs)], both[len(pairs) :], strict=True)
            else:
                reported = zip(self.model.predict(before), self.model.predict(after), strict=True)
            told = zip(pairs, reported, cells_of(after), strict=True)
            for (original, point), (first, second), cells in told:
                original.tell(first, point, second, cells)

    def pose(self, frame: pd.DataFrame) -> tuple[Query, Engine]:
        """The question about one instance, and what answers it."""
        return self._ready(self._query(frame), self.question.time_limit)

    def _posed(
        self, frame: pd.DataFrame, span: Span, before: Any = None, cells: Cells = None
    ) -> tuple[Query, Engine | None, str]:
        """The same within a time, and why that was not enough."""
        query = self._query(frame, before, cells)
        try:
            with until(span.deadline):
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
        return make_query(
            model.program, model.space, model.space.encode_row(frame if cells is None else cells),
            target=self.target, distance=self.distance, subject_to=options.subject_to,
            before=before,
        )  # fmt: skip

    def _ready(self, query: Query, seconds: float) -> tuple[Query, Engine]:
        """The question with all that it takes to be answered, and what answers it."""
        model, options = self.model, self.question
        given = model.space, query.target, model.predict, model
        hulls = [hull for each in options.subject_to for hull in each.hulls(*given)]
        query = replace(query, hulls=tuple(hulls))
        predictor = model.predictor
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
        self, query: Query, engine: Engine | None, frame: pd.DataFrame, *, trusted: bool = False
    ) -> Original:
        return Original(
            self.model.predict, self.model.space, query.target, frame,
            by_row=engine is not None and engine.by_row, trusted=trusted,
            chance=partial(chance_of, self.model.predictor), factual=query.factual,
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
            outcome.best = known_row(query, original, known)
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
        """The answer; if none exists, with what rules everything out, and what giving up costs."""
        options, file = self.question, self.model.file
        solver = "" if engine is None else engine.solver
        answer = result_of(query, original, outcome, options.epsilon, solver, file)
        if span is not None and outcome.infeasible and (self.conflicts or options.relax):
            ask = asker(original.flips, self.limits(span.left), options.method, options.solver)
            conflict = given_up_in_order(query, ask, span.left, options.relax)
            if conflict.relaxed is None and self.conflicts:
                conflict = conflict_of(query, ask, span.left)
                if options.relax:  # nothing else is given up
                    conflict = replace(conflict, relaxed=None)
            answer = with_conflict(original, answer, conflict)
        return replace(answer, seconds=0.0 if span is None else span.seconds)


@dataclass(frozen=True)
class Waiting:
    """One instance's answer that the original model has not seen; ``place`` among all instances."""

    query: Query
    engine: Engine | None
    original: Original
    outcome: Outcome
    span: Span
    place: int = 0


def explainer_of(model: Compiled, question: Question, progress: Watch | None = None) -> Explainer:
    """A question put to a model: what does not depend on the factual, checked.

    Raises:
        CfxcError: an option that this model has no use for.
    """
    if progress is not None and not callable(progress):
        raise DataTypeError(f"progress is a function, not {progress!r}")
    metric = resolve_distance(question.distance, model.space)
    if question.change_penalty:
        metric = penalised(metric, question.change_penalty, model.space)
    metric, space = recognised(metric, model.space)
    model = model if space is model.space else replace(model, space=space)
    required = model.target_or_favourable(question.target)
    named: Literal["target", "favourable", ""] = "" if required is None else "favourable"
    return Explainer(
        model, question, required, metric, smt_backend(question.solver),
        Seeds(model, question, required), progress,
        named if question.target is None else "target",
    )  # fmt: skip


def _as_error(error: Exception) -> CfxcError:
    """What went wrong with one row, so that the others get their answers."""
    if isinstance(error, CfxcError):
        return error
    return SolverError(f"internal error, please report it: {type(error).__name__}: {error}")

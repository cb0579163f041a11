"""Answering one person's question, or the same question of many people."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from ..errors import (
    CfxcError,
    DataTypeError,
    InvalidInputError,
    NoChangeNeededError,
    SolverError,
)
from ..frontends.causal import CausalModel, Mechanism
from ..frontends.distances import Distance, penalised, resolve_distance
from ..frontends.logistic import is_logistic
from ..frontends.predictor import chance_of
from ..frontends.query import Query, make_query
from ..frontends.space import FeatureSpace
from ..frontends.target import Target
from ..frontends.trust_region import TrustRegion
from ..ir.interval import ceil_float, floor_float
from .box_search import SplitTree
from .candidates import Candidate, Deployed, Point
from .certification import Evidence
from .conflicts import Ask, Conflict, conflict_of, given_up_in_order
from .engines import Engine, Limits, engine_for, smt_backend
from .hulls import slack_of
from .options import Options
from .original import Original, plain_item
from .outcome import INTERRUPTED, Outcome, Watch
from .ranges import search_within
from .result import Result, Status
from .rounding import may_tie, slack_for
from .seeds import Seeds, nearest_of
from .smt import Backend, refuse_contradiction, refuse_negative_distance

if TYPE_CHECKING:
    from ..api import CompiledModel


MET = "met on the way to the nearest one"
"""Why nothing more is known of a counterfactual from a pool."""
UNCHANGED = "already has the wanted outcome"
"""Why an answer is the factual itself."""
FINE = "what is left is finer than searches tell apart"
"""Why a search ended before its gap was closed, where nothing else ended it."""


class _Waiting(NamedTuple):
    """An answer that the original model was not asked about yet, and whose it is."""

    number: int
    query: Query
    engine: Engine
    original: Original
    outcome: Outcome
    seconds: float


@dataclass(frozen=True)
class Question:
    """What is asked about every person: ``explain``'s arguments but the row, checked.

    ``named``: what names the wanted outcome, ``""`` if nothing does and it is the other one of two;
    ``conflicts``: whether an answer that there is none tells what rules everything out.
    """

    model: CompiledModel
    options: Options
    target: Any
    distance: Distance
    method: str
    solver: str
    asking: Backend
    seeds: Seeds
    mechanisms: Sequence[Mechanism]
    region: TrustRegion | None
    progress: Watch | None
    named: Literal["target", "favourable", ""] = "target"
    conflicts: bool = True

    def answer(self, frame: pd.DataFrame) -> Result:
        """The nearest counterfactuals of one person.

        Raises:
            CfxcError: the row is bad, or no row of the space can meet the constraints.
        """
        try:
            query, engine = self.pose(frame)
        except NoChangeNeededError as error:
            if self.named != "favourable":
                raise
            (answer,) = self._unchanged([frame], [error])
            if isinstance(answer, CfxcError):
                raise answer from error
            return answer
        if self.options.diversity == "clusters" and not query.hulls:
            raise InvalidInputError("diversity='clusters' needs a trust_region with clusters")
        original = self._original(query, engine, frame)
        found: list[Result] = []
        rest: Literal["", "infeasible", "unknown"] = ""
        clusters = self.options.diversity == "clusters"
        given, before, valid = self.seeds.of(frame), list[Point](), 0
        while len(found) < self.options.count:
            if clusters and not query.hulls:
                rest = "infeasible"
                break
            moved = engine.method != "box"
            starts, good = nearest_of(query, given, self.options.random_state, moved=moved)
            valid = valid if found else good
            starts += before
            query, outcome, seconds = self._search(query, engine, original, len(found), starts)
            if outcome.best is None and found:
                rest = "infeasible" if outcome.infeasible else "unknown"
                break
            found.append(self._result(query, engine, original, outcome, seconds))
            if outcome.best is None or outcome.reason == INTERRUPTED:
                break
            met = self._pool(query, outcome, self.options.count - len(found))
            for one in met:
                other = replace(outcome, best=one, reason=MET, proof=None)
                found.append(self._result(query, engine, original, other, 0.0))
            for known in (outcome.best, *met):
                query = self.after(query, known.point)
                before += [known.point] if query.hulls else []  # where another one may begin
        others, counts = tuple(found[1:]), (len(given), valid)
        return replace(
            found[0], alternatives=others, rest=rest, seeds=counts, by_default=not self.named
        )

    def _unchanged(
        self, frames: Sequence[pd.DataFrame], errors: Sequence[NoChangeNeededError]
    ) -> list[Result | CfxcError]:
        """The answers of instances that have the wanted outcome already, each its own row.

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
            "optimal", original.frame, original.row(point), 0.0, 0.0, self.options.epsilon, "none",
            "none", self.distance.name, str(target), original.before, original.before, 0.0,
            reason=UNCHANGED, exact_distance=Fraction(0), wanted=target.wanted, unchanged=True,
            semantics="float" if self.options.semantics == "float" else "real",
        )  # fmt: skip

    def _pool(self, query: Query, outcome: Outcome, most: int) -> list[Candidate]:
        """The nearest points that a search met on its way, if they were asked for."""
        assert outcome.best is not None
        if self.options.diversity != "pool":
            return []
        chosen, query = list[Candidate](), self.after(query, outcome.best.point)
        for one in sorted(outcome.pool, key=lambda one: one.distance):
            if len(chosen) < most and not query.violated(one.point):
                chosen.append(one)
                query = self.after(query, one.point)
        return chosen

    def answers(self, frames: Sequence[pd.DataFrame]) -> list[Result | CfxcError]:
        """The nearest counterfactual of each person, or why there is no answer.

        Where the original model's answers do not depend on how many rows it is given, it is asked
        about all people at once; the few whose answer it does not accept are searched again.
        """
        found: dict[int, Result | CfxcError] = {}
        waiting, done = list[_Waiting](), dict[int, NoChangeNeededError]()
        for i, frame in enumerate(frames):
            try:
                query, engine = self.pose(frame)
                original = self._original(query, engine, frame, trusted=engine.by_row)
                query, outcome, seconds = self._search(query, engine, original, 0)
                if outcome.best is not None and original.trusted:
                    waiting.append(_Waiting(i, query, engine, original, outcome, seconds))
                else:
                    original.trusted = False
                    found[i] = self._result(query, engine, original, outcome, seconds)
            except NoChangeNeededError as error:
                done[i] = error
            except Exception as error:
                found[i] = _as_error(error)
            else:
                if outcome.reason == INTERRUPTED:
                    raise KeyboardInterrupt
        found |= self._told(waiting) | self._all_unchanged(frames, done)
        return [found[i] for i in range(len(frames))]

    def _told(self, waiting: Sequence[_Waiting]) -> dict[int, Result | CfxcError]:
        """The answers of those whose points the original model was not asked about yet."""
        found: dict[int, Result | CfxcError] = {}
        asked = True
        try:
            self._ask([(each.original, each.outcome) for each in waiting])
        except CfxcError:  # of one row that the model does not take: everyone is asked alone
            asked = False
        for each in waiting:
            assert each.outcome.best is not None
            try:
                if asked and each.original.flips(each.outcome.best.point):
                    found[each.number] = self._result(*each[1:])
                else:
                    found[each.number] = self.answer(each.original.frame)
            except Exception as error:
                found[each.number] = _as_error(error)
        return found

    def _all_unchanged(
        self, frames: Sequence[pd.DataFrame], done: Mapping[int, NoChangeNeededError]
    ) -> dict[int, Result | CfxcError]:
        """The answers of those who have the wanted outcome; alone, where the model fails."""
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
                told = zip(both[: len(pairs)], both[len(pairs) :], strict=True)
            else:
                told = zip(self.model.predict(before), self.model.predict(after), strict=True)
            for (original, point), (first, second) in zip(pairs, told, strict=True):
                original.tell(first, point, second)

    def pose(self, frame: pd.DataFrame) -> tuple[Query, Engine]:
        """The question about one person, and what answers it."""
        model, options = self.model, self.options
        predictor, before = model.predictor, None
        if options.semantics != "real" and may_tie(model.program, predictor):
            before = plain_item(model.predict(frame)[0])  # the exact program may say otherwise
        query = make_query(
            model.program, model.space, model.space.encode_row(frame),
            target=self.target, distance=self.distance, constraints=options.constraints,
            mechanisms=self.mechanisms, max_changes=options.max_changes,
            probability=options.probability, margin=options.margin,
            models=[(repr(one), one.program(model.space)) for one in options.models],
            before=before,
        )  # fmt: skip
        if self.region is not None:
            hulls = self.region.hulls(model.space, query.target, model.predict, model)
            query = replace(query, hulls=hulls)
        slack = slack_for(query, options.semantics, predictor)
        query = replace(query, unit=predictor.unit_roundoff, slack=slack)
        refuse_negative_distance(query, self.asking, options.time_limit)
        method = self.method
        if options.diversity == "pool":
            if method not in ("auto", "mio"):
                raise InvalidInputError(f"method {method!r} keeps no pool; ask with method='mio'")
            method = "mio"
        return query, engine_for(query, method, self.solver)

    def after(self, query: Query, point: Point) -> Query:
        """The question for another counterfactual, after one was found."""
        if self.options.diversity == "features":
            return query.keeping(d.name for d in query.domains if point[d.name] != d.factual)
        if self.options.diversity == "clusters":
            slacks = [slack_of(replace(query, hulls=(hull,)), point) for hull in query.hulls]
            nearest = slacks.index(min(slacks))
            left = (hull for i, hull in enumerate(query.hulls) if i != nearest)
            return replace(query, hulls=tuple(left))
        return query.without(point, self.options.apart)

    def _original(
        self, query: Query, engine: Engine, frame: pd.DataFrame, *, trusted: bool = False
    ) -> Original:
        return Original(
            self.model.predict, self.model.space, query.target, frame,
            by_row=engine.by_row, trusted=trusted,
            chance=partial(chance_of, self.model.predictor),
        )  # fmt: skip

    def limits(self, number: int = 0) -> Limits:
        options = self.options
        return Limits(
            Fraction(options.epsilon), options.time_limit, (),
            np.random.default_rng(options.random_state + number), self.progress, options.n_jobs,
            options.diversity == "pool" and options.count > 1,
        )  # fmt: skip

    def _search(
        self, query: Query, engine: Engine, original: Original, number: int,
        starts: Sequence[Point] = (),
    ) -> tuple[Query, Outcome, float]:  # fmt: skip
        """The question searched, what is found, and seconds; the first refuses contradictions."""
        started, options, limits = time.monotonic(), self.options, self.limits(number)
        limits = replace(limits, seeds=tuple(starts))
        predictor = self.model.predictor
        query, outcome = search_within(query, engine, original.flips, limits, predictor)
        if outcome.infeasible and self.conflicts and not number:
            refuse_contradiction(query, options.constraints, self.asking, options.time_limit)
        return query, outcome, time.monotonic() - started

    def _result(
        self, query: Query, engine: Engine, original: Original, outcome: Outcome, seconds: float
    ) -> Result:
        """The answer; if none exists, with what rules everything out, and what giving up costs."""
        options, file = self.options, self.model.file
        answer = _result(query, original, outcome, options.epsilon, engine.solver, seconds, file)
        if not (outcome.infeasible and (self.conflicts or options.relax)):
            return answer
        ask = _asker(original.flips, self.limits(), self.method, self.solver)
        if options.relax:
            conflict = given_up_in_order(query, ask, options.time_limit, options.relax)
        else:
            conflict = conflict_of(query, ask, options.time_limit)
        return _with_conflict(query, original, answer, conflict)


def make_question(
    model: CompiledModel,
    options: Options,
    target: Any,
    distance: Any,
    method: str,
    solver: str,
    seeds: Any,
    causal: CausalModel | None,
    region: TrustRegion | None,
    progress: Watch | None,
) -> Question:
    """Check what does not depend on the person.

    Raises:
        CfxcError: an argument that no question can have.
    """
    if progress is not None and not callable(progress):
        raise DataTypeError(f"progress is a function, not {progress!r}")
    if causal is not None and not isinstance(causal, CausalModel):
        raise DataTypeError(f"causal is a CausalModel, not {type(causal).__name__}")
    if region is not None and not isinstance(region, TrustRegion):
        raise DataTypeError(f"trust_region is a TrustRegion, not {type(region).__name__}")
    mechanisms = () if causal is None else causal.mechanisms(model.space)
    metric = resolve_distance(distance, model.space)
    if options.change_penalty:
        metric = penalised(metric, options.change_penalty, model.space)
    wanted = model.wanted(target)
    named: Literal["target", "favourable", ""] = "" if wanted is None else "favourable"
    return Question(
        model, options, wanted, metric, method, solver,
        smt_backend(solver), Seeds(model, seeds, options, wanted), mechanisms, region, progress,
        named if target is None else "target",
    )  # fmt: skip


def one_row(space: FeatureSpace, row: Any) -> pd.DataFrame:
    """A row of a person as a table.

    Raises:
        CfxcError: it is none of the forms a row has, or not of the space.
    """
    if isinstance(row, pd.DataFrame):
        return row
    if isinstance(row, pd.Series):
        row = row.to_dict()
    if not isinstance(row, Mapping):
        raise InvalidInputError("a row is a one-row DataFrame, a Series or a mapping of columns")
    return space.decode(space.encode_row(row))


def _as_error(error: Exception) -> CfxcError:
    """What went wrong with one row, so that the others get their answers."""
    if isinstance(error, CfxcError):
        return error
    return SolverError(f"internal error, please report it: {type(error).__name__}: {error}")


def _asker(deployed: Deployed, limits: Limits, method: str, solver: str) -> Ask:
    """Searches of questions like the one asked, by the engine that suits each."""

    def ask(query: Query, seconds: float) -> Outcome:
        engine = engine_for(query, method, solver)
        return engine.search(query, deployed, replace(limits, seconds=seconds))

    return ask


def _with_conflict(query: Query, original: Original, result: Result, conflict: Conflict) -> Result:
    """An infeasible answer with what rules everything out, and what giving some of it up costs."""
    if conflict.relaxed is None:
        return replace(result, conflict=conflict.rules)
    given_up, outcome = conflict.relaxed
    relaxed = _result(
        query, original, outcome, result.epsilon, result.solver, 0.0, result.evidence.model
    )
    return replace(result, conflict=conflict.rules, given_up=given_up, relaxed=relaxed)


def _result(
    query: Query,
    original: Original,
    outcome: Outcome,
    epsilon: float,
    solver: str,
    seconds: float,
    file: Mapping[str, str] | None,
) -> Result:
    best, measure = outcome.best, query.distance
    status: Status
    if best is None:
        status = "infeasible" if outcome.infeasible else "unknown"
    else:
        closed = outcome.lower >= measure.below(best.distance, Fraction(epsilon))
        status = "optimal" if closed else "feasible"
    lower = measure.root(outcome.lower, -1)
    upper = Fraction(0) if best is None else measure.root(best.distance, 1)
    return Result(
        status=status,
        factual=original.frame,
        counterfactual=None if best is None else original.row(best.point),
        distance=None if best is None else ceil_float(upper),
        lower_bound=floor_float(lower),
        exact_distance=None if best is None else upper,
        exact_lower_bound=lower,
        epsilon=epsilon,
        lower_bound_proof=_kind_of(query, outcome),
        solver=solver,
        distance_name=query.distance.name,
        target=str(query.target),
        wanted=query.target.wanted,
        outcome_before=original.before,
        outcome_after=None if best is None else original.outcome(best.point),
        seconds=seconds,
        semantics="float" if query.slack else "real",
        calls=tuple(outcome.calls),
        provers=outcome.proved_by,
        nodes=outcome.nodes,
        proof=outcome.proof,
        reason="" if status in ("optimal", "infeasible") else outcome.reason or FINE,
        evidence=Evidence(query, outcome, status, epsilon, solver, file),
    )


def _kind_of(query: Query, outcome: Outcome) -> Literal["certificate", "solver", "none"]:
    """What backs the lower bound: no certificate speaks of chances."""
    written = query.target.is_plain and not is_logistic(query.program)
    tree = outcome.proof if written and isinstance(outcome.proof, SplitTree) else None
    if tree is not None and "solver" not in tree.reasons:
        return "certificate"
    return "solver" if outcome.proved_by else "none"


__all__ = ["Question", "make_question", "one_row"]

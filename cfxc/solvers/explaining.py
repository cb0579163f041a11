"""Answering one person's question, or the same question of many people."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from ..errors import CfxcError, DataTypeError, InvalidInputError, UnsupportedError
from ..frontends.causal import CausalModel, Mechanism
from ..frontends.distances import Distance, penalised, resolve_distance
from ..frontends.predictor import chance_of
from ..frontends.query import Query, make_query
from ..frontends.space import FeatureSpace
from ..frontends.trust_region import TrustRegion
from ..ir.interval import ceil_float, floor_float
from .box_search import SplitTree
from .candidates import Candidate, Deployed, Point
from .certification import Evidence
from .certification.floats import deployed
from .conflicts import Ask, Conflict, conflict_of, given_up_in_order
from .engines import Engine, Limits, engine_for, smt_backend
from .hulls import slack_of
from .options import Options
from .original import Original
from .outcome import INTERRUPTED, Outcome, Watch
from .result import Result, Status
from .seeds import Seeds, nearest_of
from .smt import Backend, refuse_contradiction, refuse_negative_distance

if TYPE_CHECKING:
    from ..api import CompiledModel


MET = "met on the way to the nearest one"
"""Why nothing more is known of a counterfactual from a pool."""


@dataclass(frozen=True)
class Question:
    """What is asked about every person: ``explain``'s arguments but the row, checked.

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
    conflicts: bool = True

    def answer(self, frame: pd.DataFrame) -> Result:
        """The nearest counterfactuals of one person.

        Raises:
            CfxcError: the row is bad, or no row of the space can meet the constraints.
        """
        query, engine = self.pose(frame)
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
            outcome, seconds = self._search(query, engine, original, len(found), starts)
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
        return replace(found[0], alternatives=others, rest=rest, seeds=counts)

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
        found: list[Result | CfxcError | None] = [None] * len(frames)
        waiting = []
        for i, frame in enumerate(frames):
            try:
                query, engine = self.pose(frame)
                original = self._original(query, engine, frame, trusted=engine.by_row)
                outcome, seconds = self._search(query, engine, original, 0)
                if outcome.best is not None and original.trusted:
                    waiting.append((i, query, engine, original, outcome, seconds))
                else:
                    original.trusted = False
                    found[i] = self._result(query, engine, original, outcome, seconds)
            except CfxcError as error:
                found[i] = error
            else:
                if outcome.reason == INTERRUPTED:
                    raise KeyboardInterrupt
        self._ask([(original, outcome) for _, _, _, original, outcome, _ in waiting])
        for i, query, engine, original, outcome, seconds in waiting:
            assert outcome.best is not None
            if original.flips(outcome.best.point):
                found[i] = self._result(query, engine, original, outcome, seconds)
            else:
                found[i] = self.answer(original.frame)
        return [each for each in found if each is not None]

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
        query = make_query(
            model.program, model.space, model.space.encode_row(frame),
            target=self.target, distance=self.distance, constraints=options.constraints,
            mechanisms=self.mechanisms, max_changes=options.max_changes,
            probability=options.probability, margin=options.margin,
            models=[(repr(one), one.program(model.space)) for one in options.models],
        )  # fmt: skip
        if self.region is not None:
            hulls = self.region.hulls(model.space, query.target, model.predict, model)
            query = replace(query, hulls=hulls)
        if options.semantics == "float":
            if query.target.chance is not None:
                raise UnsupportedError("semantics='float' with a probability", ["ask for a margin"])
            unit = model.predictor.unit_roundoff
            query = deployed(query, unit)
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
    ) -> tuple[Outcome, float]:  # fmt: skip
        """What the search finds, and its seconds; the first one refuses contradictions."""
        started, options, limits = time.monotonic(), self.options, self.limits(number)
        limits = replace(limits, seeds=tuple(starts))
        outcome = engine.search(query, original.flips, limits)
        if outcome.infeasible and self.conflicts and not number:
            refuse_contradiction(query, options.constraints, self.asking, options.time_limit)
        return outcome, time.monotonic() - started

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
    return Question(
        model, options, target, metric, method, solver,
        smt_backend(solver), Seeds(model, seeds, options, target), mechanisms, region, progress,
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
        lower_bound_proof=_kind_of(outcome),
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
        reason="" if status in ("optimal", "infeasible") else outcome.reason,
        evidence=Evidence(query, outcome, status, epsilon, solver, file),
    )


def _kind_of(outcome: Outcome) -> Literal["certificate", "solver", "none"]:
    """What backs the lower bound."""
    if isinstance(outcome.proof, SplitTree) and "solver" not in outcome.proof.reasons:
        return "certificate"
    return "solver" if outcome.proved_by else "none"


__all__ = ["Question", "make_question", "one_row"]

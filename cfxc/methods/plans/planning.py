"""Plans for one instance of a compiled linear model: from moments to rows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from ...answers.cells import one_row
from ...answers.original import Original
from ...arrays import Floats
from ...errors import DataTypeError, InvalidInputError, SolverError
from ...frontends.compiled import Compiled
from ...ir import evaluate
from ...question.checks import non_negative, number_from_zero, positive_number, whole_number
from ...question.criteria import Accepts, Causal, Condition, Constraint, MaxChanges, criteria_of
from ...question.query import make_query
from ...question.target import resolve_target
from ...solvers.base import Point
from ...space.tables import rows_of
from ...stopping import GRACE, LIMIT, TimeUp, left, now, until
from .admissible import Admissible, Found, NoRowError, OutOfTimeError, at_rest, linear_program
from .answer import PlanResult, PlanStatus, Step
from .bounds import programs, validity_bounds
from .copa import Copa, copa_plan, diversity, proximity, refuse_large
from .corrections import radii_of, worst_masses
from .encoding import Encoding
from .futures import Moments

METHODS = ("copa", "correct")


@dataclass(frozen=True)
class PlanOptions:
    """Checked options of ``model.plan``."""

    method: str
    given: pd.DataFrame | None
    copa: Copa
    radius: float
    corrections: int
    limit: float
    time_limit: float
    apart: Fraction


def check_plan_options(
    *,
    size: Any,
    method: Any,
    plan: Any,
    radius: Any,
    corrections: Any,
    limit: Any,
    time_limit: Any,
    apart: Any,
    **weights: Any,
) -> PlanOptions:
    """The options of ``model.plan``, checked before any work.

    Raises:
        DataTypeError, InvalidInputError: naming the option.
    """
    if method not in METHODS:
        raise InvalidInputError(f"unknown method {method!r}: {', '.join(METHODS)}")
    if (plan is None) != (method == "copa"):
        what = "takes no plan" if method == "copa" else "corrects a plan: give plan=rows"
        raise InvalidInputError(f"method {method!r} {what}")
    if plan is not None:
        plan = rows_of(plan, "plan")
    wanted = (5 if plan is None else len(plan)) if size is None else size
    if plan is not None and wanted != len(plan):
        raise InvalidInputError(f"size is {wanted}, and the plan to correct has {len(plan)} rows")
    copa = Copa(size=wanted, **weights)
    if plan is None:
        refuse_large(copa.size)
    moved = (0 if plan is None else min(3, copa.size)) if corrections is None else corrections
    moved = whole_number(moved, "corrections", 0)
    if moved > copa.size:
        raise InvalidInputError(f"corrections is {moved}, and the plan has {copa.size} rows")
    return PlanOptions(
        method, plan, copa, number_from_zero(radius, "radius"), moved,
        number_from_zero(limit, "limit"),
        positive_number(time_limit, "time_limit"), non_negative(apart, "apart"),
    )  # fmt: skip


def plan_row(
    model: Compiled, row: Any, options: PlanOptions, *, moments: Any, target: Any, subject_to: Any
) -> PlanResult:
    """A plan for one instance; see :meth:`cfxc.CompiledModel.plan`."""
    if options.copa.size > 1:
        programs()  # loading a library is no part of the search
    started, deadline = time.monotonic(), now() + options.time_limit
    frame, target = one_row(model.space, row), model.target_or_favourable(target)
    encoding = Encoding.of(model.program, model.space)
    known = _moments_for(moments, encoding)
    rows, near = _admissible(model, frame, encoding, known, options, target, subject_to, deadline)
    work = _Work(rows, near, options, encoding.vector(rows.query.factual))
    with until(deadline + GRACE):
        found, status, reason = work.run()
    made = _result(model, frame, work, found, status, reason, time.monotonic() - started)
    return replace(made, by_default=target is None)


def _moments_for(moments: Any, encoding: Encoding) -> Moments:
    """The moments given, if they are of this model's parameters."""
    if moments is None:
        raise InvalidInputError(
            "a plan needs moments of the future parameters: moments=retrained_moments(model, X, "
            "y), moments_of_models([...]) or (mean, covariance); from cfxc.methods.plans"
        )
    if isinstance(moments, Moments):
        known = Moments.given(
            moments.mean, moments.covariance, moments.names, positive=moments.positive
        )
        known = replace(known, samples=moments.samples, shrinkage=moments.shrinkage)
    elif isinstance(moments, tuple | list) and len(moments) == 2:
        known = Moments.given(*moments)
    else:
        raise DataTypeError(
            "moments is what retrained_moments or moments_of_models gives, or (mean, covariance), "
            f"not {type(moments).__name__}"
        )
    if known.size != encoding.size or (known.names and known.names != encoding.names):
        raise InvalidInputError(
            f"the moments are of {known.size} parameters ({_some(known.names)}), and this model "
            f"has {encoding.size}: {_some(encoding.names)}; retrained_moments and "
            "moments_of_models make them so from what cfxc.compile gave"
        )
    positive = encoding.classes[1] if known.positive is None else known.positive
    if positive not in encoding.classes:
        raise InvalidInputError(
            f"the moments are of models for {positive!r}, and this one tells "
            f"{list(encoding.classes)} apart"
        )
    return replace(known, names=encoding.names, positive=positive)


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:6])
    return shown + (", …" if len(names) > 6 else "") if names else "without names"


def _admissible(
    model: Compiled,
    frame: pd.DataFrame,
    encoding: Encoding,
    moments: Moments,
    options: PlanOptions,
    target: Any,
    subject_to: Any,
    deadline: float,
) -> tuple[Admissible, Moments]:
    """The rows that the instance's plan may hold, and the moments signed towards the target."""
    criteria = criteria_of(subject_to, (Condition, Accepts, MaxChanges, Causal))
    factual = model.space.encode_row(frame)
    wanted = resolve_target(model.program, target, evaluate(model.program, dict(factual)))
    signed = moments.towards(wanted.label)
    epsilon = options.copa.epsilon
    nominal = f"the mean of the parameters gives at least {epsilon:g}"
    query = make_query(model.program, model.space, factual, target=target, subject_to=criteria)
    safe = Constraint(nominal, linear_program(encoding, signed.mean, epsilon))
    query = replace(query, constraints=(*query.constraints, safe))
    original = Original(model, query.target, frame, by_row=False)
    rng = np.random.default_rng(options.copa.random_state)
    query = at_rest(query, encoding)
    return Admissible(query, original, encoding, deadline, rng, options.apart), signed


@dataclass
class _Work:
    """One plan in the making."""

    rows: Admissible
    moments: Moments
    options: PlanOptions
    home: Floats

    def __post_init__(self) -> None:
        self.trace: list[Step] = []

    def run(self) -> tuple[list[Found], PlanStatus, str]:
        """The rows, and why there are no more of them; the grace is for the bounds of the last."""
        deadline = self.rows.deadline
        found: list[Found] = []
        moved: list[int] = []
        try:
            with until(deadline):
                self._place(found, moved)
        except (OutOfTimeError, TimeUp):
            self._note("rows", found, moved)
            return found, "unknown", LIMIT
        except NoRowError as error:
            return [], "infeasible", f"proved by {error}"
        self._note("rows", found, moved)
        with suppress(TimeUp), until(deadline):
            found = self._improved(found)
        return found, "feasible", LIMIT if now() >= deadline else ""

    def _place(self, found: list[Found], moved: list[int]) -> None:
        """Rows at or near where the plan should be, as they come, and the places of the latter."""
        with until(now() + left() / 2):
            anchors, points = self._anchors()
        for i, (anchor, point) in enumerate(zip(anchors, points, strict=True)):
            taken = [one.point for one in found]
            if point is not None and point not in taken and self.rows.allows(point):
                found.append(self.rows.found(point))
                continue
            try:
                found.append(self.rows.nearest(anchor, taken))
            except NoRowError:
                if not found:
                    raise
                raise self._too_many(len(anchors), len(found)) from None
            moved.append(i)

    def _too_many(self, wanted: int, found: int) -> InvalidInputError:
        """What says that there are fewer rows than were asked for."""
        rows, apart = "admissible rows with the target outcome and epsilon", self.options.apart
        if not apart:
            said = f"there are only {found} distinct {rows}"
        else:  # other ones might have left more room
            said = f"of {rows}, none is apart by {float(apart):g} from the first {found}"
        return InvalidInputError(
            f"size is {wanted}, and {said}; ask for fewer, or allow more (epsilon, apart, "
            "constraints)"
        )

    def _anchors(self) -> tuple[Floats, list[Point | None]]:
        """Where the plan should be, and the rows that are there if it was given."""
        options, encoding = self.options, self.rows.encoding
        mean, covariance = self.moments.mean, self.moments.covariance
        if options.given is None:
            low, high = encoding.box(self.rows.query.domains)
            try:
                made = copa_plan(
                    self.home, mean, covariance, options.copa,
                    lower=np.minimum(low, self.home), upper=np.maximum(high, self.home),
                    fixed=[-1],
                )  # fmt: skip
            except InvalidInputError:
                # the box is wider than the rows in it: the exact engine proves that there is none
                made = np.repeat(self.home[None], options.copa.size, axis=0)
            self._bounds("gradient", made, range(len(made)))
            return made, [None] * len(made)
        points: list[Point | None] = []
        for i in range(len(options.given)):
            points.append(encoding.space.encode_row(options.given.iloc[[i]], check_range=False))
        vectors = np.array([encoding.vector(point) for point in points if point is not None])
        self._bounds("given", vectors, ())
        return vectors, points

    def _improved(self, found: list[Found]) -> list[Found]:
        """The plan with its rows that fail most often moved, where that raises L*."""
        options, mean, covariance = self.options, self.moments.mean, self.moments.covariance
        vectors = np.array([one.vector for one in found])
        if not options.corrections or not options.limit or min(vectors @ mean) <= 0:
            return found
        masses = worst_masses(vectors, mean, covariance, options.radius)
        made, moved = list(found), []
        for j in np.argsort(-masses, kind="stable")[: options.corrections].tolist():
            taken = [one.point for i, one in enumerate(made) if i != j]
            better = self.rows.steepest(made[j], mean, covariance, options.limit, taken)
            if better.point != made[j].point:
                made[j] = better
                moved.append(j)
        before = self.trace[-1].lower
        if not moved:
            return found
        self._note("improvement", made, moved)
        if self.trace[-1].lower >= before:
            return made
        self.trace.pop()
        return found

    def _note(self, name: str, found: Sequence[Found], moved: Sequence[int]) -> None:
        if found:
            self._bounds(name, np.array([one.vector for one in found]), moved)

    def _bounds(self, name: str, vectors: Floats, moved: Sequence[int]) -> None:
        lower, upper = 0.0, 1.0  # which hold, and are all that is known where time is up
        with suppress(TimeUp):
            lower, upper = validity_bounds(
                vectors, self.moments.mean, self.moments.covariance, self.options.radius
            )
        self.trace.append(Step(name, lower, upper, tuple(moved)))


def _result(
    model: Compiled,
    frame: pd.DataFrame,
    work: _Work,
    found: Sequence[Found],
    status: PlanStatus,
    reason: str,
    seconds: float,
) -> PlanResult:
    original, options, moments = work.rows.original, work.options, work.moments
    vectors = np.array([one.vector for one in found]).reshape(len(found), moments.size)
    tables = [original.row(one.point) for one in found]
    outcomes = tuple(original.outcome(one.point) for one in found)
    valid = tuple(original.flips(one.point) for one in found)
    if not all(valid):
        raise SolverError("a row of the plan does not flip the original model")
    last = work.trace[-1] if found else Step("rows", 0.0, 1.0, ())
    return PlanResult(
        status=status,
        target=work.rows.query.target.label,
        factual=frame,
        plan=pd.concat(tables, ignore_index=True) if tables else None,
        lower=last.lower,
        upper=last.upper,
        radius=options.radius,
        epsilon=options.copa.epsilon,
        outcome_before=original.before,
        outcomes=outcomes,
        valid=valid,
        margins=tuple((vectors @ moments.mean).tolist()),
        radii=tuple(radii_of(vectors, moments.mean, moments.covariance).tolist()),
        proximity=proximity(vectors, work.home) if found else 0.0,
        diversity=diversity(vectors) if found else 0.0,
        method=options.method,
        trace=tuple(work.trace),
        seconds=seconds,
        reason=reason,
        vectors=vectors,
        moments=moments,
    )

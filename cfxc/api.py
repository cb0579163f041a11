"""The public face: ``compile`` a model, ``explain`` a decision."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from .errors import DataTypeError, InvalidInputError
from .frontends.files import load_model
from .frontends.predictor import Predictor, Task
from .frontends.query import Query, Target, make_query
from .frontends.space import FeatureSpace
from .ir import Program
from .ir.interval import ceil_float, floor_float
from .solvers.box_search import SplitTree
from .solvers.candidates import Deployed, Point
from .solvers.certification import Evidence, file_hash
from .solvers.conflicts import Ask, Conflict, conflict_of
from .solvers.engines import Limits, engine_for, smt_backend
from .solvers.options import check_options
from .solvers.outcome import INTERRUPTED, Outcome, Watch
from .solvers.result import Result, Semantics, Status
from .solvers.rounding import deployed_slack
from .solvers.smt import refuse_contradiction, refuse_negative_distance


@dataclass(frozen=True)
class CompiledModel:
    """A deployed decision as an exact program over the features of a space.

    ``file``: name and SHA-256 of the model file, if it came from one.
    """

    program: Program
    space: FeatureSpace
    predictor: Predictor
    file: Mapping[str, str] | None = None

    def predict(self, rows: pd.DataFrame) -> np.ndarray[Any, Any]:
        """Outcomes of the *original* model on rows, shape (n,).

        Raises:
            DataTypeError, InvalidInputError: no table, no rows, or columns the model cannot read.
        """
        if not isinstance(rows, pd.DataFrame):
            raise DataTypeError(f"predict takes a DataFrame of rows, not {type(rows).__name__}")
        if rows.empty:
            raise InvalidInputError("predict: the table has no rows")
        return self.predictor.predict(rows)

    def explain(
        self,
        row: Any,
        *,
        target: Any = None,
        distance: Any = "l1",
        epsilon: float = 1e-3,
        constraints: str | Sequence[str] = (),
        semantics: Semantics = "real",
        method: str = "auto",
        solver: str = "auto",
        time_limit: float = 60.0,
        count: int = 1,
        seeds: pd.DataFrame | None = None,
        random_state: int = 0,
        n_jobs: int = 1,
        progress: Watch | None = None,
    ) -> Result:
        """The nearest counterfactual of one row, with a proved lower bound.

        ``min d(x, x̂)  s.t.  x admissible, constraints, outcome(x) in target`` (eq. 2, 3 of
        Karimi et al. 2020), to within ``epsilon``.

        Args:
            row: One-row DataFrame, Series or mapping with the space's columns.
            target: Wanted label (default: the other one of two), or ``(low, high)``.
            distance: ``l0``, ``l1``, ``l2``, ``linf``, a mapping of weights to mix them, a
                :class:`cfxc.Mahalanobis`, a ``.cfl`` file or its text.
            epsilon: Accuracy on the distance, > 0.
            constraints: Core-language conditions over ``x`` and ``factual``; all must hold.
            semantics: What the lower bound speaks of: ``real``, the exact program; ``float``, the
                model as deployed, by a target that is wider by what its rounding may do.
            method: ``box`` (box search, for tree ensembles), ``mio`` (mixed-integer search, for all
                that is piecewise linear), ``smt`` (for everything), or ``auto``: the fastest.
            solver: ``auto``; of ``smt`` ``z3``, ``cvc5`` (by default both in turn) and
                ``pysmt:<name>``; of ``mio`` ``highs`` (its default), ``scip`` and ``gurobi``.
            time_limit: Seconds for each counterfactual, > 0.  Ctrl-C ends the search with the best
                answer so far.
            count: How many counterfactuals, each different from all before (§4.2); each nearest
                to within epsilon, so two of them may be out of order by as much.
            seeds: Rows to start from; whatever verifies bounds the distance from above.
            random_state: Seed of the local search.
            n_jobs: Threads that box search may use for a hard question; -1 for all processors.
                Other engines use one.
            progress: Called now and then with a :class:`cfxc.Progress`: both bounds as they move.

        Raises:
            CfxcError: bad input, before any search; constraints that no row of the space can meet,
                after one that found nothing.
        """
        options = check_options(
            epsilon, method, time_limit, count, constraints, random_state, n_jobs, semantics
        )
        if progress is not None and not callable(progress):
            raise DataTypeError(f"progress is a function of one argument, not {progress!r}")
        asking = smt_backend(solver)
        frame = _one_row(self.space, row)
        query = make_query(
            self.program, self.space, self.space.encode_row(frame),
            target=target, distance=distance, constraints=options.constraints,
        )  # fmt: skip
        if options.semantics == "float":
            slack = deployed_slack(query, self.predictor.unit_roundoff)
            query = replace(query, slack=slack)
        refuse_negative_distance(query, asking, options.time_limit)
        engine = engine_for(query, method, solver)
        starts = _starts(self.space, seeds)
        original = _Original(self, query.target, frame, by_row=engine.method == "box")
        found: list[Result] = []
        rest: Literal["", "infeasible", "unknown"] = ""
        for number in range(options.count):
            started = time.monotonic()
            limits = Limits(
                Fraction(options.epsilon), options.time_limit, starts,
                np.random.default_rng(options.random_state + number), progress, options.n_jobs,
            )  # fmt: skip
            outcome = engine.search(query, original.flips, limits)
            if outcome.infeasible and not found:
                refuse_contradiction(query, options.constraints, asking, options.time_limit)
            if outcome.best is None and found:
                rest = "infeasible" if outcome.infeasible else "unknown"
                break
            seconds = time.monotonic() - started
            found.append(_result(query, original, outcome, options.epsilon, engine.solver, seconds))
            if outcome.infeasible:
                ask = _asker(original.flips, limits, method, solver)
                conflict = conflict_of(query, ask, options.time_limit)
                found[0] = _with_conflict(query, original, found[0], conflict)
            if outcome.best is None or outcome.reason == INTERRUPTED:
                break
            query = query.without(outcome.best.point)
        return replace(found[0], alternatives=tuple(found[1:]), rest=rest)


class _Original:
    """The original model on one person's row and on points that stand for rows like it.

    ``by_row``: whether its answers, to the last bit, do not depend on how many rows it is given:
    so it is with trees, but not with products of matrices.
    """

    def __init__(
        self, model: CompiledModel, target: Target, frame: pd.DataFrame, *, by_row: bool
    ) -> None:
        self.model, self.target, self.frame = model, target, frame
        self._rows = model.space.rows_like(frame)
        self._known: dict[tuple[Any, ...], tuple[pd.DataFrame, Any]] = {}
        self._before: Any = None if by_row else self._ask(frame)

    def row(self, point: Point) -> pd.DataFrame:
        """The point as a row with the factual's columns and dtypes."""
        return self._asked(point)[0]

    def outcome(self, point: Point) -> Any:
        """What the original model says, asked once per point."""
        return self._asked(point)[1]

    @property
    def before(self) -> Any:
        """What it says of the person."""
        if self._before is None:
            self._before = self._ask(self.frame)
        return self._before

    def _ask(self, row: pd.DataFrame) -> Any:
        return _item(self.model.predict(row)[0])

    def _asked(self, point: Point) -> tuple[pd.DataFrame, Any]:
        key = tuple(point.items())
        if key not in self._known:
            row = self._rows.decode(point)
            if self._before is None and row.dtypes.equals(self.frame.dtypes):
                rows = pd.concat([self.frame, row], ignore_index=True)  # as fast as one row
                self._before, after = map(_item, self.model.predict(rows))
            else:
                after = self._ask(row)
            self._known[key] = row, after
        return self._known[key]

    def flips(self, point: Point) -> bool:
        """Whether the point's row is in the target, and reads back as the point."""
        row, after = self._asked(point)
        same = self.model.space.encode_row(row, extra="ignore") == dict(point)
        return same and self.target.holds(after)


def _asker(deployed: Deployed, limits: Limits, method: str, solver: str) -> Ask:
    """Searches of questions like the one asked, by the engine that suits each."""

    def ask(query: Query, seconds: float) -> Outcome:
        engine = engine_for(query, method, solver)
        return engine.search(query, deployed, replace(limits, seconds=seconds))

    return ask


def _with_conflict(query: Query, original: _Original, result: Result, conflict: Conflict) -> Result:
    """An infeasible answer with what rules everything out, and what giving some of it up costs."""
    if conflict.relaxed is None:
        return replace(result, conflict=conflict.rules)
    given_up, outcome = conflict.relaxed
    relaxed = _result(query, original, outcome, result.epsilon, result.solver, 0.0)
    return replace(result, conflict=conflict.rules, given_up=given_up, relaxed=relaxed)


def _result(
    query: Query,
    original: _Original,
    outcome: Outcome,
    epsilon: float,
    solver: str,
    seconds: float,
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
        evidence=Evidence(query, outcome, status, epsilon, solver, original.model.file),
    )


def _kind_of(outcome: Outcome) -> Literal["certificate", "solver", "none"]:
    """What backs the lower bound."""
    if isinstance(outcome.proof, SplitTree) and "solver" not in outcome.proof.reasons:
        return "certificate"
    return "solver" if outcome.proved_by else "none"


def compile(
    model: Any, space: FeatureSpace, *, trust_pickle: bool = False, task: Task | None = None
) -> CompiledModel:
    """Compile a fitted estimator, or a model file, over a feature space.

    Args:
        model: A fitted model of scikit-learn, XGBoost or LightGBM, an ONNX model, or the path of a
            model file.
        space: The features behind the model's columns.
        trust_pickle: Open pickles, which runs the code in them.
        task: ``classifier`` or ``regressor``, for ONNX graphs that leave it open.

    Raises:
        UnsupportedError: listing everything in the model that is not supported.
        ModelFileError: the file is missing, truncated, unknown, or an untrusted pickle.
    """
    if not isinstance(space, FeatureSpace):
        raise InvalidInputError(
            "compile(model, space) needs a FeatureSpace: cfxc.FeatureSpace.infer(X)"
        )
    program, predictor = load_model(model, space, trust_pickle=trust_pickle, task=task)
    known = Path(model) if isinstance(model, str | Path) else None
    file = None if known is None else {"name": known.name, "sha256": file_hash(known)}
    return CompiledModel(program, space, predictor, file)


def _one_row(space: FeatureSpace, row: Any) -> pd.DataFrame:
    if isinstance(row, pd.DataFrame):
        return row
    if isinstance(row, pd.Series):
        row = row.to_dict()
    if not isinstance(row, Mapping):
        raise InvalidInputError("a row is a one-row DataFrame, a Series or a mapping of columns")
    return space.decode(space.encode_row(row))


def _starts(space: FeatureSpace, seeds: pd.DataFrame | None) -> list[Point]:
    if seeds is None:
        return []
    if not isinstance(seeds, pd.DataFrame):
        raise DataTypeError(f"seeds is a DataFrame of rows, not {type(seeds).__name__}")
    return [space.encode_row(seeds.iloc[[i]], check_range=False) for i in range(len(seeds))]


def _item(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


__all__ = ["CompiledModel", "compile"]

"""The public face: ``compile`` a model, ``explain`` a decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pandas as pd

from .errors import CfxcError, DataTypeError, InvalidInputError
from .frontends.causal import CausalModel
from .frontends.files import load_model
from .frontends.model_constraint import ModelConstraint
from .frontends.predictor import Predictor, Task
from .frontends.space import FeatureSpace
from .frontends.target import check_favourable
from .frontends.trust_region import TrustRegion
from .ir import Program
from .solvers import bayes
from .solvers.batch import Done, explain_rows
from .solvers.bayes import Potential
from .solvers.certification import file_hash
from .solvers.explaining import make_question, one_row
from .solvers.options import check_options
from .solvers.outcome import Watch
from .solvers.plans.planning import check_plan_options, plan_row
from .solvers.result import Asked, Result
from .stopping import listening

if TYPE_CHECKING:
    from .solvers.amortised import Generator
    from .solvers.bayes import BlackBox, PotentialResult
    from .solvers.plans import PlanResult

BESIDE_POTENTIALS: Mapping[str, Any] = {
    "probability": None, "margin": 0.0, "distance": "l1", "solver": "auto", "trust_region": None,
    "change_penalty": 0.0, "semantics": "auto", "count": 1, "diversity": "points", "apart": 0.0,
    "relax": (), "seeds": None, "n_jobs": 1, "progress": None,
}  # fmt: skip
"""Options that a potential leaves as they are."""


@dataclass(frozen=True)
class CompiledModel:
    """A deployed decision as an exact program over the features of a space.

    ``file``: name and SHA-256 of the model file, if it came from one; ``favourable``: the outcome
    that people want, if that was said: wherever a target is not named, it is meant.
    """

    program: Program
    space: FeatureSpace
    predictor: Predictor
    file: Mapping[str, str] | None = None
    favourable: Any = None

    def wanted(self, target: Any) -> Any:
        """The target named; else the favourable outcome, or ``None`` if that is not known."""
        return self.favourable if target is None else target

    def predict(self, rows: pd.DataFrame) -> np.ndarray[Any, Any]:
        """Outcomes of the *original* model on rows, shape (n,).

        Raises:
            DataTypeError, InvalidInputError: no table, no rows, or what the model cannot read.
        """
        if not isinstance(rows, pd.DataFrame):
            raise DataTypeError(f"predict takes a DataFrame of rows, not {type(rows).__name__}")
        if rows.empty:
            raise InvalidInputError("predict: the table has no rows")
        try:
            return self.predictor.predict(rows)
        except CfxcError:
            raise
        except Exception as error:  # whatever a model raises of rows that it does not take
            said = f"{type(error).__name__}: {error}".split("\n")[0][:200]
            raise InvalidInputError(
                f"the model itself cannot predict {'this row' if len(rows) == 1 else 'these rows'}"
                f" ({said}); correct the row, or what the space admits"
            ) from error

    @overload
    def explain(
        self, row: Any, *, target: Potential, method: str = ..., budget: int | None = ...,
        epsilon: float = ...,
        constraints: str | ModelConstraint | Sequence[str | ModelConstraint] = ...,
        causal: CausalModel | None = ..., max_changes: int | None = ..., time_limit: float = ...,
        random_state: int = ...,
    ) -> PotentialResult: ...  # fmt: skip

    @overload
    def explain(
        self, row: Any, *, target: Any = ..., probability: float | None = ..., margin: float = ...,
        distance: Any = ..., epsilon: float = ...,
        constraints: str | ModelConstraint | Sequence[str | ModelConstraint] = ...,
        causal: CausalModel | None = ..., trust_region: TrustRegion | None = ...,
        max_changes: int | None = ..., change_penalty: float = ..., semantics: Asked = ...,
        method: str = ..., solver: str = ..., time_limit: float = ..., count: int = ...,
        diversity: str = ..., apart: float = ..., relax: str | Sequence[str] = ...,
        seeds: pd.DataFrame | Generator | None = ...,
        random_state: int = ..., n_jobs: int = ...,
        budget: None = ..., progress: Watch | None = ...,
    ) -> Result: ...  # fmt: skip

    def explain(
        self,
        row: Any,
        *,
        target: Any = None,
        probability: float | None = None,
        margin: float = 0.0,
        distance: Any = "l1",
        epsilon: float = 1e-3,
        constraints: str | ModelConstraint | Sequence[str | ModelConstraint] = (),
        causal: CausalModel | None = None,
        trust_region: TrustRegion | None = None,
        max_changes: int | None = None,
        change_penalty: float = 0.0,
        semantics: Asked = "auto",
        method: str = "auto",
        solver: str = "auto",
        time_limit: float = 60.0,
        count: int = 1,
        diversity: str = "points",
        apart: float = 0.0,
        relax: str | Sequence[str] = (),
        seeds: pd.DataFrame | Generator | None = None,
        random_state: int = 0,
        n_jobs: int = 1,
        budget: int | None = None,
        progress: Watch | None = None,
    ) -> Result | PotentialResult:
        """The nearest counterfactual of one row, with a proved lower bound.

        ``min d(x, x̂)  s.t.  x admissible, constraints, outcome(x) in target`` (eq. 2, 3 of
        Karimi et al. 2020), to within a share of ``epsilon``.

        Args:
            row: One-row DataFrame, Series or mapping with the space's columns.
            target: Wanted label (default: the favourable one, else the other one of two), or
                ``(low, high)``, or a potential such as ``cfxc.SEP(width=10)``: an output about so
                much away, found by calling the model (:class:`cfxc.BlackBox`; ``method="bayes"``).
            probability: That the model must give to the wanted label, at least; its own, where it
                gives any, is asked too.
            margin: By how much the score that decides must win, over every other label's: of a
                linear model or network its score, of a forest the share of votes, of boosting the
                sum over its trees, of LightGBM's random forests (``boosting_type="rf"``) their
                mean: ``raw_score`` by the number of trees.
            distance: ``l0``, ``l1``, ``l2``, ``linf``, a mapping of weights to mix them, a
                :class:`cfxc.Mahalanobis`, a ``.cfl`` file or its text.
            epsilon: ε, 0 < ε < 1, relative: an answer is ``optimal`` if its lower bound is at least
                ``(1 - ε) · distance``.
            constraints: Core-language conditions over ``x`` and ``factual``, and models' words
                (:class:`cfxc.ModelConstraint`); all must hold.
            causal: Features that follow from others, whatever is changed.
            trust_region: A :class:`cfxc.TrustRegion`: near data that have the wanted outcome.
            max_changes: How many features may differ from the person's, >= 1.
            change_penalty: α >= 0: minimised is ``(d + α n) / (1 + α J)``, where n of J features
                change; of l2 with its square.  ``distance`` and bounds are of that.
            semantics: What the lower bound speaks of: ``real``, the exact program; ``float``, the
                model as deployed, by a target that is wider by what its rounding may do; ``auto``,
                ``float`` where trees are added up in single precision (ONNX, XGBoost), since the
                votes of such forests tie, else ``real``.  The answer's ``semantics`` says which.
            method: ``box`` (box search, for tree ensembles), ``mio`` (mixed-integer search, for all
                that is piecewise linear), ``smt`` (for everything), or ``auto``: the fastest.
            solver: ``auto``; of ``smt`` ``z3``, ``cvc5`` (by default both in turn) and
                ``pysmt:<name>``; of ``mio`` ``highs`` (its default), ``scip`` and ``gurobi``.
            time_limit: Seconds for each counterfactual, > 0, kept to within 0.2 s and 5 %; loading
                or compiling code, once for each process, comes on top.  Ctrl-C ends the search with
                the best answer so far; pressed again, it raises ``KeyboardInterrupt``.
            count: How many counterfactuals; each nearest to within a share of epsilon, so two may
                be out of order by as much.
            diversity: How they differ: ``points``, each from all before (§4.2); ``features``, none
                changes what an earlier one changed (Russell 2019), but for what follows from them;
                ``pool``, incumbents that one mixed-integer search met on its way, nearest first
                (more searches where these are too few); ``clusters``, one per cluster of the
                trust region.
            apart: By what share of its range a number must differ from an earlier answer's, unless
                another feature does; 0 for any difference.
            relax: Where there is no counterfactual, what to give up, one at a time in this order,
                until there is one: ``constraints``, ``max_changes``, ``causal``, ``trust_region``,
                ``actions``, or one constraint's text.  The answer says what had to go
                (``given_up``), and has the nearest one then (``relaxed``).
            seeds: Rows to start from, or a fitted :class:`cfxc.Generator` that proposes some. Valid
                ones (by box search all, else the three nearest) are moved towards the person,
                verified, and bound the distance from above.  The answer says how many ``seeds``
                there were, and how many valid.  By default the space's examples, where a search
                finds nothing else to start from.
            random_state: Seed of the local search.
            n_jobs: Threads that box search may use for a hard question; -1 for all processors.
                Other engines use one.
            budget: Of potentials: how often the model may be asked (100).  With a potential,
                ``epsilon``, ``constraints``, ``causal``, ``max_changes``, ``time_limit`` and
                ``random_state`` mean what they do in :meth:`cfxc.BlackBox.explain_all`; no other
                option may be given.
            progress: Called now and then with a :class:`cfxc.Progress`: both bounds as they move.

        Raises:
            NoChangeNeededError: the row has the outcome that ``target`` names.  Where it has the
                favourable one, and no target is named, the answer is the row itself
                (``unchanged``).
            CfxcError: bad input, before any search; constraints that no row of the space can meet,
                after one that found nothing.
        """
        if isinstance(target, Potential):
            _refuse_options(
                method, probability=probability, margin=margin, distance=distance, solver=solver,
                trust_region=trust_region, change_penalty=change_penalty, semantics=semantics,
                count=count, diversity=diversity, apart=apart, relax=relax, seeds=seeds,
                n_jobs=n_jobs, progress=progress,
            )  # fmt: skip
            box: BlackBox = bayes.BlackBox(self)
            return box.explain(
                row, target, budget=100 if budget is None else budget, epsilon=epsilon,
                constraints=constraints, causal=causal, max_changes=max_changes,
                time_limit=time_limit, random_state=random_state,
            )  # fmt: skip
        if budget is not None:
            raise InvalidInputError("budget is for potentials: give target=cfxc.SEP(width=…)")
        options = check_options(
            epsilon=epsilon, method=method, time_limit=time_limit, constraints=constraints,
            random_state=random_state, n_jobs=n_jobs, semantics=semantics, max_changes=max_changes,
            change_penalty=change_penalty, probability=probability, margin=margin, count=count,
            diversity=diversity, apart=apart, relax=relax,
        )  # fmt: skip
        with listening():
            question = make_question(
                self, options, target, distance, method, solver, seeds, causal, trust_region,
                progress,
            )  # fmt: skip
            return question.answer(one_row(self.space, row))

    def explain_batch(
        self,
        rows: pd.DataFrame,
        *,
        target: Any = None,
        probability: float | None = None,
        margin: float = 0.0,
        distance: Any = "l1",
        epsilon: float = 1e-3,
        constraints: str | ModelConstraint | Sequence[str | ModelConstraint] = (),
        causal: CausalModel | None = None,
        trust_region: TrustRegion | None = None,
        max_changes: int | None = None,
        change_penalty: float = 0.0,
        semantics: Asked = "auto",
        method: str = "auto",
        solver: str = "auto",
        time_limit: float = 60.0,
        random_state: int = 0,
        n_jobs: int = 1,
        out: str | Path | None = None,
        progress: Done | None = None,
    ) -> pd.DataFrame:
        """The nearest counterfactual of every row, as a table with the same index.

        Each person gets the answer of :meth:`explain`; people are independent of each other.  Where
        trees alone decide, the original model is asked about many people at once.

        Args:
            rows: One person a row, with the space's columns.
            n_jobs: How many processes, or whatever joblib's back end in use runs; -1 for all
                processors.
            out: A directory for the answers, as Parquet files of 100 people each, written as they
                come.  A batch that was broken off goes on from there when it is asked again.
            progress: Called now and then with how many people are answered, and of how many.

        Ctrl-C ends the batch: who was not asked about by then has the status ``unknown``.

        Other arguments are :meth:`explain`'s.

        Returns:
            ``status`` (``unchanged`` for a row that has the wanted outcome already; ``error`` for
            one that cannot be asked about: ``reason`` says why),
            ``outcome_before``, ``outcome_after``, ``distance``, ``lower_bound``,
            ``lower_bound_proof``, ``changes`` as text, ``seconds``, ``reason``, and the
            counterfactual's columns, called ``counterfactual.<column>``.

        Raises:
            CfxcError: bad input; nobody can be answered, all for the same reason.
        """
        options = check_options(
            epsilon=epsilon, method=method, time_limit=time_limit, constraints=constraints,
            random_state=random_state, n_jobs=n_jobs, semantics=semantics, max_changes=max_changes,
            change_penalty=change_penalty, probability=probability, margin=margin,
        )  # fmt: skip
        alone = replace(options, n_jobs=1)
        question = make_question(
            self, alone, target, distance, method, solver, None, causal, trust_region, None
        )
        return explain_rows(question, rows, options.n_jobs, out, progress)

    def plan(
        self,
        row: Any,
        *,
        size: int | None = None,
        moments: Any = None,
        target: Any = None,
        method: str = "copa",
        plan: pd.DataFrame | None = None,
        radius: float = 0.01,
        epsilon: float = 0.1,
        validity_weight: float = 1.0,
        diversity_weight: float = 10.0,
        corrections: int | None = None,
        limit: float = 0.1,
        apart: float = 0.05,
        constraints: str | ModelConstraint | Sequence[str | ModelConstraint] = (),
        causal: CausalModel | None = None,
        max_changes: int | None = None,
        steps: int = 1000,
        starts: int = 4,
        time_limit: float = 60.0,
        random_state: int = 0,
    ) -> PlanResult:
        """Several counterfactuals that stay valid, together, when a linear model is retrained.

        Every row is admissible, distinct, and re-run through the original model; ``lower`` and
        ``upper`` bound the chance that all stay valid, for all laws of the future parameters whose
        moments are within ``radius`` of those given (Bui, Nguyen & Nguyen 2022).

        Args:
            row: As for :meth:`explain`.
            size: J, how many rows (5).
            moments: Of the future parameters: what
                :func:`cfxc.solvers.plans.retrained_moments` or ``moments_of_models`` gives, or
                ``(mean, covariance)`` over :class:`cfxc.solvers.plans.Encoding`.
            target: Wanted label (default: the favourable one, else the other one).
            method: ``copa``: rows near COPA's points (eq. 6); ``correct``: the rows of ``plan``,
                moved where they do not qualify (section 3.1).
            plan: Rows to correct.
            radius: ρ >= 0, of the Gelbrich ball, in units of the parameters.
            epsilon: ε >= 0: the score that the mean parameters give to every row, at least.
            validity_weight, diversity_weight: λ₁ and λ₂ of COPA; distances have weight 1.
            corrections: K: of how many rows, those that fail first, the validity radius is then
                made as large as it is within ``limit`` (Theorem 3.1); 0 for ``copa``, else up to 3.
            limit: Δ >= 0, in the Euclidean norm of vectors, whose numbers are shares of ranges.
            apart: By what share of its range a number must differ from another row's, unless
                another feature does; 0 for any difference.  Rows of ``plan`` that qualify stay.
            constraints, causal, max_changes: As for :meth:`explain`, of every row.
            steps, starts: Of COPA's gradient search.
            time_limit: Seconds for the plan; of moments that are given, nothing is counted.
            random_state: Seed.

        Raises:
            UnsupportedError: the model is not a linear classifier of two outcomes.
            InvalidInputError: bad options or moments; fewer distinct rows qualify than ``size``.
            MissingExtraError: the extra ``plans`` is not installed.
        """
        options = check_plan_options(
            size=size, method=method, plan=plan, radius=radius, corrections=corrections,
            limit=limit, apart=apart, time_limit=time_limit, epsilon=epsilon,
            validity_weight=validity_weight, diversity_weight=diversity_weight, steps=steps,
            starts=starts, random_state=random_state,
        )  # fmt: skip
        return plan_row(
            self, row, options, moments=moments, target=target, constraints=constraints,
            causal=causal, max_changes=max_changes,
        )  # fmt: skip


def _same(value: Any, usual: Any) -> bool:
    return value is usual or (isinstance(value, type(usual)) and bool(value == usual))


def _refuse_options(method: Any, **given: Any) -> None:
    """Options that mean nothing to a potential, where they are given.

    Raises:
        InvalidInputError: naming them.
    """
    if method not in ("auto", "bayes"):
        raise InvalidInputError(f"a potential is answered by method 'bayes', not {method!r}")
    odd = [name for name, value in given.items() if not _same(value, BESIDE_POTENTIALS[name])]
    if odd:
        raise InvalidInputError(
            f"{', '.join(odd)}: not for potentials; cfxc.BlackBox(model).explain takes what is"
        )


def compile(
    model: Any,
    space: FeatureSpace,
    *,
    favourable: Any = None,
    trust_pickle: bool = False,
    task: Task | None = None,
) -> CompiledModel:
    """Compile a fitted estimator, or a model file, over a feature space.

    Args:
        model: A fitted model of scikit-learn, XGBoost or LightGBM, an ONNX model, or the path of a
            model file.
        space: The features behind the model's columns.
        favourable: The outcome that people want: a label, or a range ``(low, high)`` of numbers.
            It is the target wherever none is named.
        trust_pickle: Open pickles, which runs the code in them.
        task: ``classifier`` or ``regressor``, for ONNX graphs that leave it open.

    Raises:
        UnsupportedError: listing everything in the model that is not supported.
        ModelFileError: the file is missing, truncated, unknown, or an untrusted pickle.
        InvalidInputError: the model has no such outcome as ``favourable``.
    """
    if not isinstance(space, FeatureSpace):
        raise InvalidInputError(
            "compile(model, space) needs a FeatureSpace: cfxc.FeatureSpace.infer(X)"
        )
    program, predictor = load_model(model, space, trust_pickle=trust_pickle, task=task)
    known = Path(model) if isinstance(model, str | Path) else None
    file = None if known is None else {"name": known.name, "sha256": file_hash(known)}
    if favourable is not None:
        favourable = check_favourable(program, favourable)
    return CompiledModel(program, space, predictor, file, favourable)


__all__ = ["CompiledModel", "compile"]

"""The public face: ``compile`` a model, ``explain`` a decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

from .answers.batch import ONE_EACH, Done, Run, explain_rows
from .answers.cells import one_row
from .answers.explaining import Explainer
from .answers.parts import PREFIX
from .answers.result import Result
from .compiler.passes import multiply_out
from .errors import DataTypeError, InvalidInputError
from .frontends.compiled import Compiled
from .frontends.files import load_model
from .frontends.predictor import Task
from .ir import Program, ops
from .methods import bayes
from .methods.bayes import Potential
from .methods.frontier import Frontier, frontier_of
from .methods.singles import Singles, singles_of
from .question.criteria import Criterion
from .question.options import OPTIONS, Options, lists_options
from .question.question import Question, asked_of, given_of
from .question.target import check_favourable
from .show.progress import Display, showing
from .solvers.base import Watch
from .solvers.certification import file_hash
from .space import FeatureSpace
from .space.names import names_arguments
from .space.tables import as_given, as_pandas
from .stopping import listening, now

if TYPE_CHECKING:
    import pandas as pd

    from .methods.bayes import BlackBox, PotentialResult
    from .methods.plans import PlanResult

FOR_POTENTIALS = {"target", "subject_to", "epsilon", "method", "time_limit", "random_state"}
"""Options that mean to a potential what they do to :meth:`cfxc.BlackBox.explain_all`."""


@dataclass(frozen=True, repr=False)
class CompiledModel(Compiled):
    """A deployed decision as an exact program over the features of a space, and what it answers."""

    @overload
    def explain(
        self, row: Any, question: None = ..., *, target: Potential, budget: int | None = ...,
        method: str = ..., epsilon: float = ...,
        subject_to: str | Criterion | Sequence[str | Criterion] = ...,
        time_limit: float = ..., random_state: int = ...,
    ) -> PotentialResult: ...  # fmt: skip

    @overload
    def explain(
        self, row: Any, question: Question | None = ..., *, budget: None = ...,
        progress: Watch | bool | None = ..., **options: Unpack[Options],
    ) -> Result: ...  # fmt: skip

    @lists_options
    @names_arguments
    def explain(
        self,
        row: Any,
        question: Question | None = None,
        *,
        budget: int | None = None,
        progress: Watch | bool | None = None,
        **options: Any,
    ) -> Result | PotentialResult:
        """The nearest counterfactual of one row, with a proved lower bound.

        ``min d(x, x̂)  s.t.  x admissible, criteria, outcome(x) in target`` (eq. 2, 3 of
        Karimi et al. 2020), to within a share of ``epsilon``.

        Args:
            row: One-row table (of pandas, polars or pyarrow), Series or mapping with the space's
                columns.  Answers are tables of the same library.
            question: The options below as one value; what is given beside it goes before.
            {options}
            budget: Of potentials: how often the model may be asked (100).  With a potential,
                ``epsilon``, ``subject_to``, ``time_limit`` and ``random_state`` mean what they do
                in :meth:`cfxc.BlackBox.explain_all`; no other option may be given.
            progress: Whether a line says how far the search is, from two seconds on; by default in
                notebooks and interactive sessions.  Or a function, called now and then with a
                :class:`cfxc.Progress`: both bounds as they move.

        Raises:
            NoChangeNeededError: the row has the outcome that ``target`` names.  Where it has the
                favourable one, and no target is named, the answer is the row itself
                (``unchanged``).
            CfxcError: bad input, before any search; constraints that no row of the space can meet,
                after one that found nothing.
        """
        started, given = now(), given_of(question, options)
        if isinstance(given.get("target"), Potential):
            box: BlackBox = bayes.BlackBox(self)
            return box.explain(row, budget=100 if budget is None else budget, **_for_box(given))
        if budget is not None:
            raise InvalidInputError("budget is for potentials: give target=cfxc.SEP(width=…)")
        asked = Question(**given)
        if "count" not in given and (asked.apart or asked.diversity != "points"):
            odd = "apart" if asked.apart else "diversity"
            raise InvalidInputError(f"{odd} is for several answers: say how many, such as count=3")
        with showing("searching", progress) as watch, listening():
            explainer = Explainer.of(self, asked, watch)
            answer = explainer.answer(one_row(self.space, row), started).in_library_of(row)
            return replace(answer, count=asked.count)

    @lists_options
    @names_arguments
    def explain_batch(
        self,
        rows: Any,
        question: Question | None = None,
        *,
        out: str | Path | None = None,
        certificates: str | Path | None = None,
        total_time_limit: float | None = None,
        progress: Done | bool | None = None,
        **options: Unpack[Options],
    ) -> Any:
        """The nearest counterfactual of every row, as a table with the same index, in their order.

        Each instance gets the answer of :meth:`explain`; instances are independent of each other.
        Where trees alone decide, the original model is asked about many instances at once.

        Args:
            rows: A table (of pandas, polars or pyarrow), one instance a row, with the space's
                columns.  The answers are a table of the same library.
            question, options: As for :meth:`explain`, but for those that ask for several answers
                or rows to start from; ``n_jobs``: how many processes, or whatever joblib's back end
                in use runs.
            out: A directory for the answers, as Parquet files of some seconds' work each, written
                as they come.  A batch that was broken off goes on from there when it is asked
                again.
            certificates: A directory for certificates, ``row-<label>.json.gz`` (by place, where
                labels are no whole numbers); the column ``certificate`` names them, or says why
                there is none.
            total_time_limit: Seconds after which no more row is asked about, and no certificate
                made: the next call with the same ``out`` goes on.
            progress: As for :meth:`explain`; a function is called now and then with how many
                instances are answered, and of how many.

        Ctrl-C and ``total_time_limit`` end the batch: who was not asked about by then has the
        status ``unknown``.

        Returns:
            ``status`` (``unchanged`` for a row that has the target outcome already; ``error`` for
            one that cannot be asked about: ``reason`` says why),
            ``target``, ``outcome_before``, ``outcome_after``, ``distance``, ``distance_name``,
            ``lower_bound``, ``lower_bound_proof``, ``changes`` as text, ``seconds``, ``reason``,
            and the counterfactual's columns, called ``counterfactual.<column>``.

        Raises:
            CfxcError: bad input; no instance can be answered, all for the same reason.
        """
        requested = _for_one("explain_batch gives one answer a row", question, options)
        table = as_pandas(rows)
        with showing("answering", progress) as done:
            answered = 0

            def told(part: pd.DataFrame) -> None:
                nonlocal answered
                answered += len(part)
                if done is not None:
                    done(answered, len(table))

            watch = done if isinstance(done, Display) and requested.n_jobs == 1 else None
            run = Run(requested.n_jobs, out, certificates, total_time_limit, told, watch=watch)
            answers = explain_rows(self, requested, table, run)
        return as_given(answers, rows, PREFIX)

    @lists_options
    @names_arguments
    def frontier(
        self,
        row: Any,
        question: Question | None = None,
        *,
        progress: Watch | bool | None = None,
        **options: Unpack[Options],
    ) -> Frontier:
        """How far the nearest counterfactual is for every number of changes, each point proved.

        ``d_k = min d(x, x̂)  s.t.  |{j : x_j ≠ x̂_j}| <= k`` for k from 1 to the number of changes
        that the nearest of all has.

        Args:
            row, question, progress, options: As for :meth:`explain`, but for those that ask for
                several answers; ``time_limit`` is of each k.

        Raises:
            CfxcError: as :meth:`explain`.
        """
        requested = _for_one("a frontier has one answer a point", question, options)
        with showing("searching", progress) as watch:
            return frontier_of(self, requested, one_row(self.space, row), watch)

    @lists_options
    @names_arguments
    def single_changes(
        self,
        row: Any,
        question: Question | None = None,
        *,
        progress: Watch | bool | None = None,
        **options: Unpack[Options],
    ) -> Singles:
        """Of every feature alone, the nearest value that suffices, or a proof that none does.

        Args:
            row, question, progress, options: As for :meth:`explain`, but for those that ask for
                several answers; ``time_limit`` is of each feature.

        Raises:
            CfxcError: as :meth:`explain`; also where the row has the favourable outcome already.
        """
        requested = _for_one("single_changes gives one answer a feature", question, options)
        with showing("searching", progress) as watch:
            return singles_of(self, requested, one_row(self.space, row), watch)

    @names_arguments
    def plan(
        self,
        row: Any,
        *,
        size: int | None = None,
        moments: Any = None,
        target: Any = None,
        method: str = "copa",
        plan: Any = None,
        radius: float = 0.01,
        epsilon: float = 0.1,
        validity_weight: float = 1.0,
        diversity_weight: float = 10.0,
        corrections: int | None = None,
        limit: float = 0.1,
        apart: float = 0.05,
        subject_to: str | Criterion | Sequence[str | Criterion] = (),
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
                :func:`cfxc.methods.plans.retrained_moments` or ``moments_of_models`` gives, or
                ``(mean, covariance)`` over :class:`cfxc.methods.plans.Encoding`.
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
            subject_to: As for :meth:`explain`, of every row: conditions, :class:`cfxc.Accepts`,
                :class:`cfxc.MaxChanges`, :class:`cfxc.Causal`.
            steps, starts: Of COPA's gradient search.
            time_limit: Seconds for the plan; of moments that are given, nothing is counted.
            random_state: Seed.

        Raises:
            UnsupportedError: the model is not a linear classifier of two outcomes.
            InvalidInputError: bad options or moments; fewer distinct rows qualify than ``size``.
            MissingExtraError: the extra ``plans`` is not installed.
        """
        from .methods.plans.planning import check_plan_options, plan_row

        options = check_plan_options(
            size=size, method=method, plan=as_pandas(plan), radius=radius, corrections=corrections,
            limit=limit, apart=apart, time_limit=time_limit, epsilon=epsilon,
            validity_weight=validity_weight, diversity_weight=diversity_weight, steps=steps,
            starts=starts, random_state=random_state,
        )  # fmt: skip
        found = plan_row(self, row, options, moments=moments, target=target, subject_to=subject_to)
        return found.in_library_of(row)


def _for_one(why: str, question: Question | None, options: Mapping[str, Any]) -> Question:
    """What is asked where each answer is alone."""
    requested = asked_of(question, options)
    if odd := sorted(ONE_EACH & set(requested.given)):
        raise InvalidInputError(f"{why}, and takes no {', '.join(odd)}")
    return requested


def _for_box(requested: dict[str, Any]) -> dict[str, Any]:
    """The options of a potential."""
    method = requested.pop("method", "auto")
    if method not in ("auto", "bayes"):
        raise InvalidInputError(f"a potential is answered by method 'bayes', not {method!r}")
    if odd := [name for name in requested if name not in FOR_POTENTIALS]:
        raise InvalidInputError(
            f"{', '.join(odd)}: not for potentials; cfxc.BlackBox(model).explain takes what is"
        )
    return {"epsilon": OPTIONS["epsilon"].default, **requested}


@names_arguments
def compile(
    model: Any,
    space: FeatureSpace,
    *,
    favourable: Any = None,
    trust_pickle: bool = False,
    task: Task | None = None,
    output: str | int | None = None,
    cut: float | None = None,
    progress: bool | None = None,
) -> CompiledModel:
    """Compile a fitted estimator, or a model file, over a feature space.

    Args:
        model: A fitted model of scikit-learn, XGBoost, LightGBM or CatBoost, a fitted result of
            statsmodels, an ONNX model, a module of PyTorch or what ``torch.export.export`` gives,
            or the path of a model file.
        space: The features behind the model's columns.
        favourable: The favourable outcome: a label, or a range ``(low, high)`` of numbers.
            It is the target wherever none is named.
        trust_pickle: Open pickles, which runs the code in them.
        task: ``classifier`` or ``regressor``, for networks that leave it open.
        output: Of a network with several outputs, the one that decides: its name or position.
        cut: Of a network, or a result of statsmodels: what its number, or the probability of the
            second of two classes, must exceed for the second class (1/2 for probabilities, 0 for
            other numbers).
        progress: Whether a line says that it goes on, from two seconds on; by default in notebooks
            and interactive sessions.

    Raises:
        UnsupportedError: listing everything in the model that is not supported.
        ModelFileError: the file is missing, truncated, unknown, or an untrusted pickle.
        InvalidInputError: the model has no such outcome as ``favourable``.
    """
    if not isinstance(space, FeatureSpace):
        raise InvalidInputError(
            "compile(model, space) needs a FeatureSpace: cfxc.FeatureSpace.infer(X), or one of a "
            "file: cfxc.FeatureSpace.from_toml('space.toml')"
        )
    if progress not in (None, True, False):
        raise DataTypeError(f"progress of compile is True, False or None, not {progress!r}")
    with showing("compiling", progress):
        program, predictor = load_model(
            model, space, trust_pickle=trust_pickle, task=task, output=output, cut=cut
        )
    known = Path(model) if isinstance(model, str | Path) else None
    file = None if known is None else {"name": known.name, "sha256": file_hash(known)}
    if favourable is not None:
        favourable = check_favourable(program, favourable)
    _prepare(program)
    return CompiledModel(program, space, predictor, file, favourable)


def _prepare(program: Program) -> None:
    """Work out once, before any question's time counts, what every question needs."""
    program.digest  # noqa: B018  # caches go by it
    for statement in chain(program.lets(), multiply_out(program).lets()):
        if isinstance(statement.op, ops.Affine):
            statement.op.weight.whole()

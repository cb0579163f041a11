"""``cfxc plan``: several counterfactuals that stay valid, together, when a model is retrained."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from fractions import Fraction
from json import dumps, loads
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import DataTypeError, InvalidInputError, MissingColumnError
from ..frontends.csv_files import read_csv
from ..frontends.row_files import read_factual, read_instances
from ..lang.values import nearest_names
from ..question.outcomes import read_target
from ..show.numbers import cell_text, shown
from ..stopping import TimeUp, now, until
from ..writing import check_writable, write_whole
from .commands import Source
from .flags import Asked, Factual, Favourable, Json, ModelFile, Reading, SpaceFile, takes
from .guard import INFEASIBLE, LIMIT, check_picture, guarded
from .report import Pair, doing, lay_out, to_json

if TYPE_CHECKING:
    from ..methods.plans import Moments, PlanResult
    from ..model import CompiledModel

EXITS = {"feasible": 0, "infeasible": INFEASIBLE, "unknown": LIMIT}
STEPS = {"gradient": "points", "given": "given", "rows": "rows", "improvement": "improved"}
"""What the steps of a plan are called."""


@dataclass(frozen=True)
class Question:
    """The options of ``cfxc plan`` that say what is asked and how."""

    factual: Factual
    target: Annotated[str | None, typer.Option(metavar="LABEL", help="Wanted label.")] = None
    favourable: Favourable = None
    retrain: Annotated[
        Path | None,
        typer.Option(metavar="DATA.CSV", help="Train the model again and again on parts of it."),
    ] = None
    outcome: Annotated[
        str | None, typer.Option(metavar="NAME", help="The outcome's column in --retrain.")
    ] = None
    retrainings: Annotated[int, typer.Option(metavar="N", help="How often.")] = 1000
    share: Annotated[float, typer.Option(help="Of the rows that each one sees.")] = 0.5
    models: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="FILE", help="Another dated model; may be repeated."),
    ] = None
    moments: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Mean and covariance (JSON).")
    ] = None
    shrinkage: Annotated[
        str | None,
        typer.Option(metavar="SHARE", help="Of the covariance, or ledoit-wolf.  [default: none]"),
    ] = None
    save_moments: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the moments (JSON).")
    ] = None
    correct: Annotated[
        Path | None, typer.Option(metavar="ROWS.CSV", help="A plan to correct, instead of COPA.")
    ] = None
    size: Annotated[int | None, typer.Option(metavar="J", help="How many rows.  [default: 5]")] = (
        None
    )
    radius: Annotated[float, typer.Option(help="Of the Gelbrich ball around the moments.")] = 0.01
    epsilon: Annotated[float, typer.Option(help="Least score by the mean parameters.")] = 0.1
    validity: Annotated[float, typer.Option(help="Weight of the validity radius.")] = 1.0
    diversity: Annotated[float, typer.Option(help="Weight of diversity.")] = 10.0
    corrections: Annotated[
        int | None,
        typer.Option(metavar="K", help="Rows to improve.  [default: 0; with --correct 3]"),
    ] = None
    limit: Annotated[float, typer.Option(help="How far each of them may move.")] = 0.1
    apart: Annotated[
        float, typer.Option(metavar="SHARE", help="Of its range, by which one number differs.")
    ] = 0.05
    time_limit: Annotated[
        float, typer.Option(help="Seconds, retraining too; no single fit is broken off.")
    ] = 60.0
    jobs: Annotated[int, typer.Option(help="Processes that retrain; -1 for all processors.")] = 1
    seed: Annotated[int, typer.Option(metavar="N", help="Of what is drawn at random.")] = 0
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the bounds against the radius: .png, .svg, .pdf."),
    ] = None


@guarded
@takes("constraints", "causal", "max_changes", "accepts")
def command(
    *,
    requested: Asked,
    model: ModelFile,
    space: SpaceFile,
    question: Question,
    reading: Reading,
    json: Json = False,
) -> int:
    """A menu of counterfactuals that survives retraining of the model.

    Of linear classifiers.  The chance that all rows stay valid is bounded, for all laws of the
    future parameters with moments within --radius of those of --retrain, --model or --moments.
    """
    source = Source(model, space, reading)
    _check_sources(question)
    check_writable(question.save_moments)
    check_picture(question.plot, "plotting bounds")
    if question.correct is not None or question.size != 1:  # of one row, bounds need no library
        from ..methods.plans.bounds import programs

        with doing("loading cvxpy …"):  # which takes seconds
            programs()
    with doing("compiling …"):
        compiled = source.load(favourable=question.favourable)
        row = read_factual(question.factual, compiled.space)
        target = read_target(compiled, question.target, None)
        given = None if question.correct is None else _rows(question.correct, compiled)
        _check_early(question, compiled, row, target, given)
    started = now()
    deadline = started + question.time_limit
    try:
        with doing(_preparing(question)), until(deadline):
            moments = _moments(question, compiled, source)
    except TimeUp:
        print(f"cfxc: {_too_slow(question)}", file=sys.stderr)
        return LIMIT
    with doing(f"searching, for at most {max(deadline - now(), 0.01):.3g} s …"):
        result = compiled.plan(
            row,
            size=question.size,
            moments=moments,
            target=target,
            method="copa" if given is None else "correct",
            plan=given,
            radius=question.radius,
            epsilon=question.epsilon,
            validity_weight=question.validity,
            diversity_weight=question.diversity,
            corrections=question.corrections,
            limit=question.limit,
            apart=question.apart,
            subject_to=requested.subject_to,
            time_limit=max(deadline - now(), 0.01),
            random_state=question.seed,
        )
    result = replace(result, seconds=now() - started)
    try:
        if json:
            print(to_json(result.to_dict()), flush=True)
        else:
            from ..methods.plans import Copa

            wanted = len(given) if given is not None else question.size or Copa.size
            lay_out([], [("asked", result.asked), *_changes(result), *_facts(result, wanted)])
    finally:  # also if the reader of the output has gone
        _save(question, moments, result)
    return EXITS[result.status]


def _save(question: Question, moments: Moments, result: PlanResult) -> None:
    """Write the files that the options name."""
    if question.save_moments is not None:
        write_whole(question.save_moments, dumps(moments.to_dict(), ensure_ascii=False))
        print(f"moments: {question.save_moments}", file=sys.stderr)
    if question.plot is not None and result.plan is not None:
        result.plot(question.plot)
        print(f"picture: {question.plot}", file=sys.stderr)


def _preparing(question: Question) -> str:
    """What is done before rows are searched."""
    if question.retrain is None:
        return "reading moments …" if question.moments else "compiling the other models …"
    return f"retraining the model {question.retrainings} times …"


def _too_slow(question: Question) -> str:
    """What says that there was no time left for a plan."""
    return (
        f"making the moments took longer than the {question.time_limit:g} s of --time-limit; "
        "raise it, ask for fewer --retrainings, or keep moments with --save-moments and give "
        "them with --moments"
    )


# -- moments -------------------------------------------------------------------------------------


def _check_sources(question: Question) -> None:
    """Refuse none or several sources of moments, and options of another one."""
    named = {
        "--retrain": question.retrain, "--model": question.models or None,
        "--moments": question.moments,
    }  # fmt: skip
    given = [name for name, value in named.items() if value is not None]
    if len(given) != 1:
        raise InvalidInputError(
            "give --retrain DATA.CSV --outcome COLUMN (train the model again and again), --model "
            "FILE for each of several dated models, or --moments FILE.json: one of them"
            + (f", not {' and '.join(given)}" if given else "")
        )
    if (question.outcome is not None) != (question.retrain is not None):
        raise InvalidInputError("--retrain and --outcome belong together")


def _moments(question: Question, model: CompiledModel, source: Source) -> Moments:
    """Moments of the future parameters, from where the options say."""
    from ..methods.plans import Moments, moments_of_models, retrained_moments

    shrinkage = _shrinkage(question.shrinkage)
    if question.moments is not None:
        found = _json(question.moments)
        try:
            return Moments.from_dict(found, shrinkage=shrinkage)
        except (InvalidInputError, DataTypeError) as error:
            raise type(error)(f"{question.moments}: {error}") from error
    if question.models:
        models = [source.load(other) for other in question.models]
        return moments_of_models([model, *models], shrinkage=shrinkage)
    assert question.retrain is not None
    table = read_csv(question.retrain).frame()
    if question.outcome not in table.columns:
        known = nearest_names(str(question.outcome), map(str, table.columns))
        raise MissingColumnError(f"{question.retrain}: no column '{question.outcome}'{known}")
    return retrained_moments(
        model, table, table[question.outcome], question.retrainings, question.share,
        n_jobs=question.jobs, random_state=question.seed, shrinkage=shrinkage,
    )  # fmt: skip


def _check_early(
    question: Question, model: CompiledModel, row: Any, target: Any, given: Any
) -> None:
    """Refuse what retraining would only delay."""
    from ..ir import evaluate
    from ..methods.plans import Encoding
    from ..methods.plans.futures import check_shrinkage
    from ..methods.plans.planning import check_plan_options
    from ..question.target import resolve_target

    check_plan_options(
        size=question.size, method="copa" if given is None else "correct", plan=given,
        radius=question.radius, corrections=question.corrections, limit=question.limit,
        apart=question.apart, time_limit=question.time_limit, epsilon=question.epsilon,
        validity_weight=question.validity, diversity_weight=question.diversity,
        random_state=question.seed,
    )  # fmt: skip
    check_shrinkage(_shrinkage(question.shrinkage))
    Encoding.of(model.program, model.space)
    outcome = evaluate(model.program, dict(model.space.encode_row(row)))
    resolve_target(model.program, model.target_or_favourable(target), outcome)


def _shrinkage(text: str | None) -> float | str:
    """A share, or the name of a rule."""
    if text is None:
        return 0.0
    try:
        return float(text)
    except ValueError:
        return text


def _json(path: Path) -> Any:
    try:
        return loads(path.read_bytes())
    except OSError as error:
        from ..space.names import unreadable

        said = unreadable(path, "the moments", error, "name what --save-moments wrote")
        raise InvalidInputError(said) from error
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(
            f"{path}: no moments: not JSON; name what --save-moments wrote"
        ) from error


def _rows(path: Path, model: CompiledModel) -> Any:
    """The rows of a plan to correct, as a table of the space's columns."""
    import pandas as pd

    rows = read_instances(path, model.space)
    if not rows:
        raise InvalidInputError(f"{path}: no rows to correct")
    try:
        points = [model.space.encode_row(row, check_range=False) for row in rows]
        return pd.concat([model.space.decode(point) for point in points], ignore_index=True)
    except (InvalidInputError, DataTypeError) as error:
        raise type(error)(f"{path}: {error}") from error


# -- what is answered ----------------------------------------------------------------------------


def _changes(result: PlanResult) -> list[Pair]:
    """What each row of the plan changes, a line each."""
    lines = []
    for i, changes in enumerate(result.changes, start=1):
        parts = [f"{name} {cell_text(a)} → {cell_text(b)}" for name, (a, b) in changes.items()]
        lines.append((f"plan {i}", ", ".join(parts) or "nothing changes"))
    return lines


def _facts(result: PlanResult, wanted: int) -> list[Pair]:
    moments = result.moments
    if result.status == "infeasible":
        why = "no admissible row has the target outcome, and a nominal score of at least "
        return [("status", f"infeasible: {why}{result.epsilon:g}; {result.reason}")]
    if result.plan is None:
        said = f"none of the {wanted} rows asked for was found; raise --time-limit"
        return [("status", f"unknown: {result.reason}: {said}")]
    message = f"{sum(result.valid)} of {len(result.valid)} rows, asked of the model itself"
    ball = f"whatever law the parameters have with moments within {result.radius:g}"
    facts = [
        ("valid now", message),
        ("stay valid", f"all rows with a chance of at least {_figure(result.lower, -1)}"),
        ("at most", f"{_figure(result.upper, 1)}; both proved, {ball}"),
    ]
    if result.share is not None and moments.samples is not None:
        count = len(moments.samples)
        facts.append(("of models", f"{round(result.share * count)} of {count} have all rows valid"))
    if moments.shrinkage:
        facts.append(("shrinkage", f"{moments.shrinkage:.4g} of the covariance"))
    trace = "; ".join(f"{STEPS[s.name]} {_figure(s.lower, -1)}" for s in result.trace)
    facts.append(("on the way", f"at least: {trace}"))
    if result.status == "unknown":
        found = f"{len(result.plan)} of the {wanted} rows asked for were found"
        facts.append(("status", f"unknown: {result.reason}: {found}; raise --time-limit"))
    elif result.reason:
        cut = f"{result.reason}: with more of it rows and bounds may be better; raise --time-limit"
        facts.append(("status", cut))
    apart = f"{result.proximity:.3g} away on average, diversity {result.diversity:.3g}"
    return [*facts, ("effort", f"{apart}, {result.seconds:.1f} s")]


def _figure(value: float, side: int) -> str:
    """A bound rounded to its safe side."""
    return shown(Fraction(value), side)

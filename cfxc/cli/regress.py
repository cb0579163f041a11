"""``cfxc regress``: the row whose output is the best answer to "about this much different"."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from math import floor, isfinite, log10
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from ..errors import InvalidInputError
from ..frontends.row_files import read_factual
from ..show.numbers import cell_text
from ..writing import check_writable
from .commands import Source
from .flags import Asked, Factual, Json, ModelFile, Reading, SpaceFile, takes
from .guard import INFEASIBLE, LIMIT, check_picture, guarded
from .report import Change, Pair, changed, doing, hint_at_caps, lay_out, telling, to_json

if TYPE_CHECKING:
    from ..frontends.predictor import Predictor
    from ..methods.bayes import BlackBox, Evaluations, PotentialResult
    from ..methods.bayes.potentials import ExponentialPolynomial, Interval

SIGNS = {"+": "higher", "-": "lower", "both": "away, higher or lower"}
OUTPUT = "output"
EXITS = {"optimal": 0, "infeasible": INFEASIBLE, "feasible": LIMIT, "unknown": LIMIT}
ENDS = {"budget": "the budget is used up", "time limit": "the time is up", "interrupted": "stopped"}
"""Why searches end, in words."""
DIGITS = 4
"""Significant digits of the width to which outputs are shown."""
MOST_PLACES = 15


@dataclass(frozen=True)
class Question:
    """The options of ``cfxc regress``: the instance, the target of its output, and the search."""

    factual: Factual
    width: Annotated[
        float | None, typer.Option(metavar="W", help="About how far away the output should be.")
    ] = None
    sign: Annotated[
        str | None, typer.Option(help="Of --width: + (higher), - (lower) or both.  [default: both]")
    ] = None
    to: Annotated[
        float | None, typer.Option(metavar="VALUE", help="The target output, instead of --width.")
    ] = None
    budget: Annotated[
        int, typer.Option(metavar="N", help="Rows that the model may be asked about.")
    ] = 100
    epsilon: Annotated[
        float, typer.Option(help="By what share of an exact hit an answer may be worse.")
    ] = 0.01
    kernel: Annotated[str, typer.Option(help="Of the surrogate: matern or rbf.")] = "matern"
    seed: Annotated[int, typer.Option(metavar="N", help="Of what is drawn at random.")] = 0
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Evaluations (JSON) from before, read if the file is there; the new ones are "
            "written to it.",
        ),
    ] = None
    no_proof: Annotated[
        bool, typer.Option("--no-proof", help="Do not ask exact engines what was not reached.")
    ] = False
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the search: .png, .svg, .pdf (matplotlib)."),
    ] = None
    time_limit: Annotated[
        float, typer.Option(help="Seconds for the search, and again for the proof.")
    ] = 60.0


@guarded
@takes("constraints", "causal", "max_changes")
def command(
    *,
    requested: Asked,
    model: ModelFile,
    space: SpaceFile,
    question: Question,
    reading: Reading,
    json: Json = False,
) -> int:
    """The row that brings a model's number to about what is asked.

    Either --width, how far from the present output, or --to, the target output.  The model is asked
    about few rows; what is not reached is decided by exact engines.
    """
    potential = _by_width(question)
    check_writable(question.data)
    check_picture(question.plot, "plotting a trace")

    with doing("loading torch …"):  # which takes seconds
        from ..methods.bayes import BlackBox
    with doing("compiling …"):
        compiled = Source(model, space, reading).load()
    box = BlackBox(compiled)
    _check_scale(question, compiled.predictor)
    row = read_factual(question.factual, compiled.space)
    potential = potential or _to_value(question, box, row)
    with _kept(question.data, box) as known:
        before = 0 if known is None else len(known)
        result = _search(question, requested, box, row, potential, known)
    if json:
        print(to_json(result.to_dict()))
    else:
        output = _name(compiled.predictor)
        lay_out(*_answer(question, result, potential, output, before))
        hint_at_caps(len(result.changes), requested.subject_to)
    if question.data is not None:
        print(f"evaluations: {question.data} ({len(result.data)} rows)", file=sys.stderr)
    if question.plot is not None:
        result.plot(question.plot)
        print(f"picture: {question.plot}", file=sys.stderr)
    return EXITS[result.status]


def _search(
    question: Question,
    requested: Asked,
    box: BlackBox,
    row: Any,
    potential: ExponentialPolynomial,
    known: Evaluations | None,
) -> PotentialResult:
    started = time.monotonic()
    with telling(f"searching, for at most {question.time_limit:g} s …") as tell:

        def watch(calls: int, share: float) -> None:
            stands = f"{calls} of {question.budget} evaluations, best {_percent(share)}"
            tell(time.monotonic() - started, stands)

        return box.explain(
            row,
            potential,
            budget=question.budget,
            epsilon=question.epsilon,
            subject_to=requested.subject_to,
            kernel=cast("Any", question.kernel),
            data=known,
            prove=not question.no_proof,
            time_limit=question.time_limit,
            random_state=question.seed,
            progress=watch,
        )


# -- the target ----------------------------------------------------------------------------------


def _by_width(question: Question) -> ExponentialPolynomial | None:
    """The potential of ``--width``; ``None`` if ``--to`` is given, which needs the model."""
    from ..methods.bayes.potentials import AEP, SEP

    if (question.width is None) == (question.to is None):
        both = "not both" if question.to is not None else "one of them is needed"
        raise InvalidInputError(
            "give --width W (how far away the output should be) or --to VALUE (the output "
            f"itself): {both}"
        )
    sign = question.sign or "both"
    if sign not in SIGNS:
        raise InvalidInputError(f"--sign '{sign}': write +, - or both")
    if question.width is not None:
        return SEP(question.width) if sign == "both" else AEP(question.width, sign)
    if question.sign is not None:
        raise InvalidInputError("--sign belongs to --width; --to says the target output")
    if question.to is not None and not isfinite(question.to):
        raise InvalidInputError(f"--to is a number, not {question.to}")
    return None


def _to_value(question: Question, box: BlackBox, row: Any) -> ExponentialPolynomial:
    """The potential that is largest at ``--to``, beside the model's output on the row."""
    from ..methods.bayes.evaluations import Caller
    from ..methods.bayes.potentials import width_to

    point = box.space.encode_row(row)
    output = Caller(box.call, box.space).factual(point, box.space.decode(point))
    return width_to(output, question.to)


def _check_scale(question: Question, predictor: Predictor) -> None:
    """Refuse percentages where the output is a probability."""
    if predictor.task == "regressor":
        return
    if question.to is not None and not 0 <= question.to <= 1:
        raise InvalidInputError(
            f"--to {question.to:g}: the model's output is a probability, between 0 and 1"
        )
    if question.width is not None and question.width > 1:
        raise InvalidInputError(
            f"--width {question.width:g}: the model's output is a probability, between 0 and 1"
        )


# -- files ---------------------------------------------------------------------------------------


@contextmanager
def _kept(path: Path | None, box: BlackBox) -> Iterator[Evaluations | None]:
    """The evaluations in a file, if there is one; new ones are written to it whatever happens."""
    if path is None:
        yield None
        return
    from ..methods.bayes.evaluations import Caller, Evaluations

    data = Evaluations.load(path, box.space) if path.exists() else Evaluations(box.space)
    Caller(box.call, box.space, data).compare(free=True, name=str(path))
    before = len(data)
    try:
        yield data
    finally:
        if len(data) > before:
            data.save(path)


# -- what is answered ----------------------------------------------------------------------------


def _answer(
    question: Question,
    result: PotentialResult,
    potential: ExponentialPolynomial,
    output: str,
    known: int,
) -> tuple[list[Change], list[Pair]]:
    """What changes, and what there is to say about it."""
    center = result.outcome_before
    before = _figure(center, potential.width)
    rows, facts = [], [("asked", _target(question, result, potential))]
    if result.outcome_after is None:
        facts.insert(0, (output, before))
    else:
        after = _figure(result.outcome_after, potential.width)
        rows = [*changed(result.changes), (output, before, after)]
        away = _figure(result.outcome_after - center, potential.width)
        facts.append(
            ("got", f"{'+' * (away[0] != '-')}{away}: {_percent(result.share)} of an exact hit")
        )
    facts.append(("status", _status(result)))
    if result.status != "optimal":
        facts.append(("proved", _proved(question, result, potential, output)))
    stored = f", {known} known from before" if known else ""
    spent = f"{result.evaluations - result.beyond} of {question.budget} evaluations{stored}"
    spent += f", {result.beyond} more by the proof" if result.beyond else ""
    spent += f", {result.failures} without a number" if result.failures else ""
    return rows, [*facts, ("effort", f"{spent}, {result.seconds:.1f} s")]


def _target(question: Question, result: PotentialResult, potential: ExponentialPolynomial) -> str:
    if question.to is not None:
        target = f"an output of about {question.to:g}"
    else:
        target = f"an output about {potential.width:g} {SIGNS[question.sign or 'both']}"
    enough = _outputs_of(1 - result.epsilon, result, potential)
    return f"{target}: {enough} is enough" if enough else target


def _status(result: PotentialResult) -> str:
    why = ENDS.get(result.reason, result.reason)
    if result.status == "optimal":
        return "optimal: the model itself gives this output"
    if result.status == "infeasible":
        return "infeasible: no admissible row comes as close as asked"
    if result.status == "unknown":
        return f"unknown: no row was found that is any better; {why}"
    return f"feasible: the best that was found; {why}"


def _proved(
    question: Question, result: PotentialResult, potential: ExponentialPolynomial, output: str
) -> str:
    if result.provers:
        ruled_out, by = _outputs_of(result.bound, result, potential), ", ".join(result.provers)
        if ruled_out:
            return f"no admissible row gives {ruled_out} (by {by})"
        return f"none is more than {100 * result.bound:.6g} % of an exact hit (by {by})"
    why = "" if not question.no_proof else " (--no-proof)"
    if output != OUTPUT:
        why = ", as of any probability"
    return f"nothing{why}: a better row may exist"


def _name(predictor: Predictor) -> str:
    """What the model's number is called."""
    if predictor.task == "regressor" or predictor.classes is None:
        return OUTPUT
    return f"probability of {cell_text(predictor.classes[1])}"


def _percent(share: float) -> str:
    """The share of the largest potential, rounded down."""
    return f"{floor(1000 * share) / 10:g} %"


def _outputs_of(share: float, result: PotentialResult, potential: ExponentialPolynomial) -> str:
    """Which outputs have at least this share of the largest potential."""
    from ..methods.bayes.potentials import PEAK

    return _ranges(potential.superlevel(share * PEAK, result.outcome_before), potential.width)


def _ranges(intervals: Sequence[Interval], width: float) -> str:
    """Outputs from … to …, rounded inwards; empty if that leaves nothing."""
    shown = [(_figure(low, width, ROUND_CEILING), _figure(high, width, ROUND_FLOOR))
             for low, high in intervals]  # fmt: skip
    if any(Decimal(low) >= Decimal(high) for low, high in shown):
        return ""
    return " or ".join(f"{low} to {high}" for low, high in shown)


def _figure(value: float, width: float, rounding: str = ROUND_HALF_EVEN) -> str:
    """A number to as many decimal places as show ``DIGITS`` digits of the width."""
    places = min(max(DIGITS - 1 - floor(log10(width)), 0), MOST_PLACES)
    if abs(value) >= 1e15:
        return repr(value)
    least = Decimal(1).scaleb(-places)
    rounded = Decimal(value).quantize(least, rounding, Context(prec=50))
    return f"{rounded if rounded else abs(rounded):f}"  # no -0.0

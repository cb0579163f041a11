"""``cfxc batch``: the same question about the rows of a table, into a table."""

from __future__ import annotations

import json as json_text
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ..errors import CfxcError, InvalidInputError, MissingExtraError
from ..frontends.row_files import read_people
from ..suffixes import PARQUET, TABLES
from ..writing import check_writable, written_whole
from .commands import Instance, Source, question_of
from .flags import (
    ALL,
    COUNTED,
    Asked,
    Favourable,
    Json,
    ModelFile,
    Overwrite,
    QuestionFile,
    Range,
    Reading,
    SpaceFile,
    takes,
)  # fmt: skip
from .guard import LIMIT, guarded, keep_present
from .interrupts import INTERRUPTED
from .remedies import again
from .report import Page, doing, lay_out, say_next, telling

if TYPE_CHECKING:
    import pandas as pd

    from ..model import CompiledModel
    from ..question.question import Question
    from ..question.target import Target

REFUSED, EVERY = "refused", "all"
ENDS = ("optimal", "infeasible", "unchanged")
"""Answers that are proved; of those that end otherwise, more may be found."""
BAD = 2
"""Exit code where the only rows without an answer are those with something wrong in them."""
SHOWN = 3
"""Rows with something wrong in them that are named."""
LEFT = "unasked"
"""What rows are called that nobody was asked about yet."""


@dataclass(frozen=True)
class Order:
    """The options of ``cfxc batch`` that say which rows, where to, and how long."""

    rows: Annotated[Path, typer.Option(metavar="FILE", help="The rows: .csv or .parquet.")]
    out: Annotated[
        Path,
        typer.Option(
            "-o",
            "--out",
            metavar="FILE",
            help="Answers: .csv or .parquet; another name is a folder of Parquet parts.",
        ),
    ]
    which: Annotated[
        str,
        typer.Option(
            metavar="ROWS",
            help=f"refused (those without the target outcome), all, or 0-99,250; {COUNTED}.",
        ),
    ] = REFUSED
    question: QuestionFile = None
    favourable: Favourable = None
    range_: Range = None
    total_time_limit: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", help="For all rows, once compiled; then the command goes on."
        ),
    ] = None
    certificates: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write a certificate for each answer.")
    ] = None
    overwrite: Overwrite = False

    @property
    def is_file(self) -> bool:
        """Whether the answers are one file, not a folder of parts."""
        return self.out.suffix.lower() in TABLES

    @property
    def parts(self) -> Path:
        """Where answers are kept as they come."""
        return self.out.with_name(f"{self.out.name}.parts") if self.is_file else self.out


@guarded
@takes(*ALL, options=True, without=("count", "diversity", "apart", "relax"))
def command(
    *,
    requested: Asked,
    model: ModelFile,
    space: SpaceFile,
    order: Order,
    reading: Reading,
    json: Json = False,
) -> int:
    """The nearest counterfactuals of many rows, kept as they come.

    Broken off, by Ctrl-C or --total-time-limit too, the same command goes on where it stopped.
    Exit code 0 if all rows have proved answers, 4 if some have not, 2 if the only ones without
    are wrong themselves (the column reason says how).
    """
    from ..answers.batch import Run, explain_rows, refuse_several
    from ..answers.parts import OWED, UNASKED
    from ..question.question import Question

    source = Source(model, space, reading)
    asked = Instance(str(order.rows), order.question, order.favourable, order.range_)
    _check(order, (order.rows, *source.files, order.question))
    if order.question is not None:  # before what takes time
        refuse_several(Question.from_toml(order.question))
    started = time.monotonic()
    with doing("compiling …"):
        compiled = source.load(favourable=order.favourable)
    question = question_of(compiled, asked, requested)
    with doing(f"reading {order.rows} …"):
        table, wrong = read_people(order.rows, compiled.space)
        chosen, reported = _chosen(compiled, question, table, wrong, order.which)
    if not len(chosen):
        return _nothing_asked(order, reported, wrong)
    with _counting(len(chosen), question.n_jobs != 1) as (watch, owed):
        run = Run(
            question.n_jobs, order.parts, order.certificates, order.total_time_limit, watch, owed,
            overwrite=order.overwrite,
        )  # fmt: skip
        answers = explain_rows(compiled, question, chosen, run)
    done = _with_errors(answers, wrong)
    left = Left(int((answers["reason"] == UNASKED).sum()), 0)
    if order.certificates is not None:
        left = left._replace(certificates=int((answers["certificate"] == OWED).sum()))
    if not any(left):
        _deliver(done, table, order)
    _report(done, order, json, reported, left, time.monotonic() - started)
    if not any(left) and not json and find_spec("jinja2") is not None:
        kept = ["--certificates", str(order.certificates)] if _certified(done, order) else []
        say_next("cfxc", "report", order.out, "-o", "report.html", "--rows", order.rows, *kept)
    if any(left):
        return LIMIT if order.total_time_limit is not None else INTERRUPTED
    return _exit_code(done)


def _check(order: Order, taken: Sequence[str | Path | None]) -> None:
    """Refuse places that cannot be written, or are read, before any work."""
    if find_spec("pyarrow") is None:
        raise MissingExtraError(
            "parquet", "pyarrow", "cfxc batch, which keeps answers as they come,"
        )
    if order.is_file:
        check_writable(order.out, *taken)
        keep_present(order.overwrite, order.out)
    elif order.out.suffix:
        raise InvalidInputError(
            f"{order.out}: answers are .csv, .parquet, or a folder (a name without a dot)"
        )
    if not order.parts.parent.is_dir():
        raise InvalidInputError(f"{order.out}: cannot write: no folder {order.parts.parent}")
    if order.certificates is not None and not order.parts.exists():  # else it goes on
        keep_present(order.overwrite, *sorted(order.certificates.glob("row-*.json.gz"))[:1])


def _chosen(
    model: CompiledModel, question: Question, table: pd.DataFrame, wrong: dict[int, str], which: str
) -> tuple[pd.DataFrame, str]:
    """The rows that are asked about, and how they were chosen; ``wrong`` keeps only theirs."""
    of = f"{len(table) + len(wrong)} rows"
    if which == EVERY:
        return table, f"all {of}"
    if which != REFUSED:
        numbers = _numbers(which, len(table) + len(wrong))
        for number in [*wrong]:
            if number not in numbers:
                del wrong[number]
        return table[table.index.isin(numbers)], f"{len(numbers)} of {of}"
    target = _target(model, question)
    if target is None:  # the outcome alone does not tell
        return table, f"all {of}"
    outcomes = _outcomes(model, table)
    refused = [outcome is None or not target.holds(outcome) for outcome in outcomes]
    return table[refused], f"{sum(refused)} of {of} are without the outcome {target}"


def _target(model: CompiledModel, question: Question) -> Target | None:
    """What outcomes are asked for; ``None`` if an outcome alone does not tell."""
    from ..question.target import resolve_target

    wanted = model.target_or_favourable(question.target)
    if wanted is None:
        raise InvalidInputError(
            "nothing says which outcome is wanted, so nobody is refused; name it with --target, "
            f"or ask each row for the other outcome\n{again('--which', EVERY)}"
        )
    if any(each.name in ("probability", "margin") for each in question.subject_to):
        return None
    return resolve_target(model.program, wanted, {})


def _outcomes(model: CompiledModel, table: pd.DataFrame) -> list[Any]:
    """What the model says of each row; ``None`` where it fails."""
    from ..frontends.predictor import plain_item

    if table.empty:
        return []
    try:
        return [plain_item(each) for each in model.predict(table)]
    except CfxcError:
        if len(table) == 1:
            return [None]
        half = len(table) // 2
        return _outcomes(model, table.iloc[:half]) + _outcomes(model, table.iloc[half:])


def _numbers(text: str, count: int) -> set[int]:
    """Rows' numbers: ``0-99,250``."""
    found = set[int]()
    for part in text.split(","):
        ends = re.fullmatch(r"\s*(\d{1,18})\s*(?:-\s*(\d{1,18})\s*)?", part)
        if ends is None:
            from ..space.names import suggestion

            raise InvalidInputError(
                f"--which {text!r}: write refused, all, or rows' numbers such as 0-99,250"
                f"{suggestion(text, [REFUSED, EVERY])}"
            )
        first, last = int(ends[1]), int(ends[2] or ends[1])
        if first > last:
            raise InvalidInputError(
                f"--which {text!r}: the ends of {part.strip()} are swapped; write {last}-{first}"
            )
        if last >= count:
            raise InvalidInputError(
                f"--which {text!r}: there is no row {last}; rows count from 0 to {count - 1}"
            )
        found.update(range(first, last + 1))
    return found


class Left(NamedTuple):
    """What the next run goes on with: rows that nobody was asked about; certificates, once all
    rows are answered.
    """

    rows: int
    certificates: int


Counting = tuple[Callable[["pd.DataFrame"], None], Callable[[int], None]]


@contextmanager
def _counting(total: int, several: bool) -> Iterator[Counting]:
    """A bar on a terminal, lines elsewhere: what is answered, proved and left; then how many
    certificates are.  ``several``: whether processes have to start first.
    """
    console, done, proved = Page(stderr=True), 0, 0
    if not console.is_terminal:
        with telling(f"answering {total} rows …") as tell:

            def note(part: pd.DataFrame) -> None:
                nonlocal done, proved
                done, proved = done + len(part), proved + int(part["status"].isin(ENDS).sum())
                tell(0.0, f"{done} of {total}, {proved} proved")

            yield note, lambda left: tell(0.0, f"certifying, {left} left")
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("answering"),
        BarColumn(),
        TextColumn("{task.completed:.0f} of {task.total:.0f}"),
        TextColumn("{task.fields[stands]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=total, stands="starting processes …" if several else "")

        def watch(part: pd.DataFrame) -> None:
            nonlocal proved
            proved += int(part["status"].isin(ENDS).sum())
            bar.advance(task, len(part))
            left = total - int(bar.tasks[0].completed)
            bar.update(task, stands=f"{proved} proved, {left} left")

        yield watch, lambda left: bar.update(task, stands=f"certifying, {left} left")


def _with_errors(answers: pd.DataFrame, wrong: Mapping[int, str]) -> pd.DataFrame:
    """The answers and the rows that could not be read, in order."""
    if not wrong:
        return answers
    whole = answers.reindex(sorted([*answers.index, *wrong])).rename_axis("row")
    places = list(wrong)
    whole.loc[places, "status"], whole.loc[places, "seconds"] = "error", 0.0
    whole.loc[places, "reason"] = list(wrong.values())
    return whole


def _deliver(answers: pd.DataFrame, asked: pd.DataFrame, order: Order) -> None:
    """Write the file, whole; its parts have served.

    Whole numbers stay such: beside rows without an answer they would be written as 40.0.
    """
    from ..answers.parts import PREFIX

    if not order.is_file:
        return
    whole = asked.select_dtypes("integer").columns
    answers = answers.astype({f"{PREFIX}{name}": "Int64" for name in whole})
    with written_whole(order.out) as beside:
        if order.out.suffix.lower() in PARQUET:
            answers.to_parquet(beside)
        else:
            answers.to_csv(beside)
    shutil.rmtree(order.parts, ignore_errors=True)


def _nothing_asked(order: Order, reported: str, wrong: Mapping[int, str]) -> int:
    if wrong:
        row, why = next(iter(wrong.items()))
        raise InvalidInputError(f"{order.rows}: no row can be asked about; row {row}: {why}")
    print(
        f"cfxc: {order.rows}: {reported}; nothing to ask, and nothing is written", file=sys.stderr
    )
    return 0


def _certified(answers: pd.DataFrame, order: Order) -> int:
    """How many answers have a certificate in the folder."""
    if order.certificates is None:
        return 0
    return int(answers["certificate"].fillna("").str.endswith(".gz").sum())


def _report(
    answers: pd.DataFrame, order: Order, json: bool, reported: str, left: Left, seconds: float
) -> None:
    """What became of the rows, and where the answers are."""
    counts = Counter(answers["status"])
    counts["unknown"] -= left.rows
    counts[LEFT] = left.rows
    found = {status: count for status, count in counts.items() if count}
    where = str(order.parts if any(left) else order.out)
    certificates = _certified(answers, order)
    if json:
        facts = {"rows": len(answers), **found, "certificates": certificates,
                 "certificates_left": left.certificates, "out": where,
                 "seconds": round(seconds, 1)}  # fmt: skip
        print(json_text.dumps(facts))
        return
    pairs = [("rows", reported), *((status, str(count)) for status, count in found.items())]
    if order.certificates is not None:
        pairs.append(("certificates", f"{certificates} in {order.certificates}"))
    lay_out([], [*pairs, ("written", where), ("seconds", f"{seconds:.1f}")])
    wrong = answers["reason"][answers["status"] == "error"]
    for row, why in wrong.head(SHOWN).items():
        print(f"cfxc: row {row}: {why}", file=sys.stderr)
    if more := max(len(wrong) - SHOWN, 0):
        print(f"cfxc: and {more} more; the column reason says why", file=sys.stderr)
    if any(left):
        both = {"row": left.rows, "certificate": left.certificates}
        parts = [f"{count} {what}{'s' * (count > 1)}" for what, count in both.items() if count]
        are = "is" if sum(both.values()) == 1 else "are"
        said = f"{' and '.join(parts)} {are} left; the same command goes on with them"
        print(f"cfxc: {said}", file=sys.stderr)


def _exit_code(answers: pd.DataFrame) -> int:
    status = answers["status"]
    if not status.isin([*ENDS, "error"]).all():
        return LIMIT
    return BAD if (status == "error").any() else 0

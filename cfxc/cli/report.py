"""How results look: a table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..show.numbers import cell_text, share_text, shown

if TYPE_CHECKING:
    from ..answers.result import Result
    from ..solvers.base import Progress, Watch

Pair = tuple[str, str]
Change = tuple[str, str, str]
"""What changed, before, after."""
Tell = Callable[[float, str], None]
"""Takes seconds since the start, and where a search stands."""
BOUNDS = "bounds"
"""What exact arithmetic on the ranges is called where solvers have their names."""
PATIENCE = 1.5
"""Seconds of silence before a plain line says what goes on."""
EVERY = 10.0
"""Seconds between plain lines."""
MANY = 5
"""Features that an instance may well change at once; more are worth a hint."""


@contextmanager
def progress(text: str) -> Iterator[Watch]:
    """A spinner or lines on stderr while something runs, with the bounds that it is told of."""
    with telling(text) as tell:
        yield lambda now: tell(now.seconds, standing(now))


@contextmanager
def telling(text: str) -> Iterator[Tell]:
    """A spinner on stderr while something runs, with where it stands.

    If stderr is no terminal: a line if it takes long, and another one now and then, whether
    anything new is told or not.
    """
    console = Page(stderr=True)
    if console.is_terminal:
        with console.status(escape(text)) as status:
            yield lambda _, stands: status.update(escape(f"{text} {stands}"))
        return
    latest, over = [""], Event()
    speaker = Thread(target=_speak, args=(text, latest, over), daemon=True)
    speaker.start()

    def tell(_: float, stands: str) -> None:
        latest[0] = stands

    try:
        yield tell
    finally:
        over.set()
        speaker.join()


def _speak(text: str, latest: Sequence[str], over: Event) -> None:
    """Lines with what is done, for how long, and the latest word of where it stands."""
    started = monotonic()
    if over.wait(PATIENCE):
        return
    print(text, file=sys.stderr, flush=True)
    what = text.split()[0].rstrip(",")
    while not over.wait(EVERY):
        stands = f": {latest[0]}" if latest[0] else ""
        print(f"{what}, {monotonic() - started:.0f} s{stands}", file=sys.stderr, flush=True)


@contextmanager
def doing(text: str) -> Iterator[None]:
    """The same where nothing is told of how it stands."""
    with telling(text):
        yield


def standing(now: Progress) -> str:
    """Where a search stands, in a few words."""
    upper = "nothing found yet" if now.upper is None else f"best {now.upper:.6g}"
    return f"{upper}, nothing below {now.lower:.6g}" if now.lower > 0 else upper


class Page(Console):
    """A console that leaves it to the command what happens when the reader has gone."""

    @property
    def is_terminal(self) -> bool:
        """Not where a notebook reads, which asks for colours and has no cursor to move."""
        return super().is_terminal and "JPY_PARENT_PID" not in os.environ

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def show(result: Result, more: Sequence[Pair] = (), *, further: bool = False) -> None:
    """Print one answer: what changes; and below, how far that is and what is proved about it.

    ``further``: whether others that it must differ from came before.
    """
    outcome = ("outcome", cell_text(result.outcome_before), cell_text(result.outcome_after))
    found = result.counterfactual is not None
    lay_out([*changed(result.changes), outcome] if found else [], [*_facts(result, further), *more])


def lay_out(rows: Sequence[Change], facts: Sequence[Pair]) -> None:
    """Print what changes, the outcome last, as a table on a terminal; and facts below."""
    console = Page(highlight=False)
    names = [name for name, *_ in [*facts, *([] if console.is_terminal else rows)]]
    width = max(map(len, names)) + 2
    if rows:
        _changes(rows, console, width)
        console.print()
    for name, value in facts:
        console.print(f"{name:<{width}}{escape(value)}", soft_wrap=True)


def changed(changes: Mapping[str, tuple[Any, Any]]) -> list[Change]:
    """Changed columns as they are shown."""
    return [
        (name, cell_text(before), cell_text(after)) for name, (before, after) in changes.items()
    ]


def to_json(content: Any) -> str:
    """One JSON text; no number in it is infinite."""
    return json.dumps(content, ensure_ascii=False, allow_nan=False)


def say_next(*words: str | Path) -> None:
    """The command that comes next, on stderr."""
    print(f"next: {shlex.join(map(str, words))}", file=sys.stderr)


def hint_at_caps(changed: int, subject_to: Sequence[Any]) -> None:
    """A line on stderr where an answer changes many features, and nothing was said of how many."""
    if changed > MANY and all(each.name != "max_changes" for each in subject_to):
        print(
            f"hint: {changed} features change; --max-changes {MANY} asks for {MANY} at most",
            file=sys.stderr,
        )


def hint_at_copies(result: Result) -> None:
    """A line on stderr where several answers change the same features."""
    from ..answers.result import COPIES, FEATURES

    if result.near_copies:
        print(f"hint: {COPIES}; --diversity features {FEATURES}", file=sys.stderr)


def _changes(rows: Sequence[Change], console: Console, width: int) -> None:
    if not console.is_terminal:
        for name, before, after in rows:
            console.print(escape(f"{name:<{width}}{before} → {after}"), soft_wrap=True)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title, justify in (("changed", "left"), ("before", "right"), ("after", "right")):
        table.add_column(title, justify=justify)  # type: ignore[arg-type]  # two of the literals
    for name, before, after in rows[:-1]:
        table.add_row(escape(name), escape(before), f"[bold]{escape(after)}[/bold]")
    table.add_section()
    table.add_row(*(f"[bold]{escape(text)}[/bold]" for text in rows[-1]))
    console.print(table)


def _facts(result: Result, further: bool) -> Iterator[Pair]:
    proved = result.lower_bound_proof != "none"
    if result.default_target:
        yield "asked", result.default_target
    if result.unchanged:
        yield "status", f"unchanged: {result.reason} {result.target}"
        return
    if result.status == "infeasible":
        of = " for the model as deployed" if result.semantics == "float" else ""
        yield "status", f"infeasible: no counterfactual exists, proved by {result.proved_by}{of}"
        if result.beyond:
            yield "", result.beyond
        for rule in result.conflict:
            yield "because", rule
        if result.relaxed is not None and result.relaxed.exact_distance is not None:
            away = shown(result.relaxed.exact_distance, 1)
            yield "possible", f"at distance {away}, without: {'; '.join(result.given_up)}"
            for name, (before, after) in result.relaxed.changes.items():
                yield "", f"{name}  {cell_text(before)} → {cell_text(after)}"
    elif result.exact_distance is None:
        yield "status", f"unknown: {result.reason}"
        if proved:
            yield (
                "lower bound",
                f"{shown(result.exact_lower_bound, -1)}, proved by {result.proved_by}",
            )
    else:
        yield "distance", f"{shown(result.exact_distance, 1)} ({result.distance_name})"
        if shares := [f"{name} {share_text(share)}" for name, share in result.shares.items()]:
            more = f", … and {len(shares) - MANY} more" if len(shares) > MANY else ""
            whose = " of its range" if len(shares) == 1 else " of their ranges"
            yield "shares", ", ".join(shares[:MANY]) + more + whose
        bound = f"{shown(result.exact_lower_bound, -1)}: "
        of = " for the model as deployed" if result.semantics == "float" else ""
        what = "nothing that differs as asked" if further and not result.differs else "nothing"
        by = f"{what} is nearer, proved by {result.proved_by}{of}"
        if result.exact_distance == 0:
            by = "no distance is smaller"
        elif not proved:
            by = "none above was proved"
        yield "lower bound", bound + by
        if result.differs:
            yield "differs", result.differs
        within = f"optimal to within {100 * result.epsilon:g} %"
        above = ", though none below the bound" * bool(proved)
        reached = f"feasible: a nearer one may exist{above} ({result.reason or 'not closed'})"
        if result.differs and result.reason:
            within = reached = f"{result.status}: {result.reason}"
        yield "status", within if result.status == "optimal" else reached
    yield "effort", f"{_effort(result)}, {result.seconds:.1f} s"


def _effort(result: Result) -> str:
    """How often a solver was called; what the bounds alone refute needs none."""
    if result.nodes:
        return f"{result.nodes} box{'es' * (result.nodes > 1)}"
    calls = sum(call.by != BOUNDS for call in result.calls)
    return f"{calls or 'no'} solver call{'s' * (calls > 1)}"

"""How results look: a table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..solvers.shown import shown

if TYPE_CHECKING:
    from ..solvers.result import Result


@contextmanager
def progress(text: str) -> Iterator[None]:
    """A spinner on stderr while something runs; one plain line if that is no terminal."""
    console = Console(stderr=True)
    if console.is_terminal:
        with console.status(escape(text)):
            yield
    else:
        print(text, file=sys.stderr)
        yield


def show(result: Result) -> None:
    """Print one answer: what changes, how far that is, and what is proved about it."""
    console = Console(highlight=False)
    if result.counterfactual is not None:
        _changes(result, console)
    for name, value in _facts(result):
        console.print(f"{name:<12}{escape(value)}", soft_wrap=True)


def _changes(result: Result, console: Console) -> None:
    rows = [(name, cell(a), cell(b)) for name, (a, b) in result.changes.items()]
    rows.append(("outcome", cell(result.outcome_before), cell(result.outcome_after)))
    if not console.is_terminal:
        width = max(len(name) for name, _, _ in rows) + 2
        for name, before, after in rows:
            console.print(f"{escape(name):<{width}}{escape(f'{before} → {after}')}", soft_wrap=True)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title, justify in (("changed", "left"), ("before", "right"), ("after", "right")):
        table.add_column(title, justify=justify)  # type: ignore[arg-type]  # two of the literals
    for name, before, after in rows[:-1]:
        table.add_row(escape(name), escape(before), f"[bold]{escape(after)}[/bold]")
    table.add_section()
    table.add_row(*(f"[bold]{escape(text)}[/bold]" for text in rows[-1]))
    console.print(table)


def _facts(result: Result) -> Iterator[tuple[str, str]]:
    proved = result.lower_bound_proof != "none"
    if result.status == "infeasible":
        yield "status", f"infeasible: no counterfactual exists, proved by {result.proved_by}"
    elif result.distance is None:
        yield "status", f"unknown: {result.reason}"
        if proved:
            yield "lower bound", f"{shown(result.lower_bound, -1)}, proved by {result.proved_by}"
    else:
        yield "distance", f"{shown(result.distance, 1)} ({result.distance_name})"
        by = f"proved by {result.proved_by}" if proved else "distances are not negative"
        yield "lower bound", f"{shown(result.lower_bound, -1)}: nothing is nearer, {by}"
        within = f"optimal to within {result.epsilon:g}"
        reached = f"feasible: a nearer one may exist ({result.reason or 'not closed'})"
        yield "status", within if result.status == "optimal" else reached
    calls = len(result.calls)
    plural = "" if calls == 1 else "s"
    yield "effort", f"{calls} solver call{plural}, {result.seconds:.1f} s"


def cell(value: Any) -> str:
    """A cell as a person would write it."""
    plain = value.item() if hasattr(value, "item") else value
    if plain is None or plain != plain:
        return "missing"
    if isinstance(plain, float) and plain.is_integer() and abs(plain) < 1e15:
        return str(int(plain))
    return str(plain)

"""How the core language reports what is wrong: where, what, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NoReturn

from ..errors import LanguageError
from .node import Node

#: Violations shown in one message; the rest are counted.
SHOWN = 5
#: Widest piece of a source line that a message quotes.
EXCERPT_WIDTH = 76


@dataclass(frozen=True, slots=True, order=True)
class Violation:
    """One rule broken at one place (line and column from 1, 0 when unknown)."""

    line: int
    column: int
    message: str


class Fault(Exception):
    """Carries a violation from inside a traversal to the function that raises LanguageError."""

    def __init__(self, place: Node, message: str) -> None:
        super().__init__(message)
        self.violation = Violation(place.line, place.column, message)


def refuse(violations: Iterable[Violation], source: str) -> NoReturn:
    """Raise one LanguageError for all violations, the first ones in the order of the text."""
    ordered = sorted(set(violations))
    first = ordered[0]
    lines = [first.message]
    for other in ordered[1:SHOWN]:
        lines.append(f"{source or 'text'}:{other.line}:{other.column}: {other.message}")
    if len(ordered) > SHOWN:
        lines.append(f"… and {len(ordered) - SHOWN} more")
    raise LanguageError("\n".join(lines), line=first.line, column=first.column, source=source)


def excerpt(text: str, line: int, column: int) -> list[str]:
    """Return the source line, cut to a readable width, and a caret below the column.

    Nothing if the line is blank.
    """
    lines = text.split("\n")
    shown = lines[line - 1] if 0 < line <= len(lines) else ""
    shown = "".join(each if each.isprintable() else " " for each in shown)
    if not shown.strip():
        return []
    start = 0
    if len(shown) > EXCERPT_WIDTH:
        start = max(0, min(column - EXCERPT_WIDTH // 2, len(shown) - EXCERPT_WIDTH))
    window = shown[start : start + EXCERPT_WIDTH].rstrip()
    before = "… " if start else ""
    after = " …" if start + EXCERPT_WIDTH < len(shown) else ""
    caret = " " * (len(before) + column - 1 - start) + "^"
    return [f"  {before}{window}{after}", f"  {caret}"]


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'age'?"`` or nothing."""
    close = get_close_matches(name, sorted(set(known)), n=1)
    return f"; did you mean '{close[0]}'?" if close else ""

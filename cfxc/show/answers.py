"""Answers in few lines and as HTML: what changes first, and what is proved of it."""

from __future__ import annotations

from collections.abc import Sequence

from ..markup import card, changes, folded, text

SHOWN = 12  # changes that have a line each
Texts = tuple[Sequence[str], Sequence[str], Sequence[Sequence[str]]]
"""Names, their values before, and in each row after."""


def as_lines(head: str, texts: Texts) -> str:
    """A first line, and one for each change."""
    names, before, after = texts
    lines = [head]
    for number, row in enumerate(after, 1):
        moved = [i for i in range(len(names)) if row[i] != before[i]]
        lines += [f"  {number}:"] * (len(after) > 1 and bool(moved))
        lines += [f"  {names[i]}: {before[i]} → {row[i]}" for i in moved[:SHOWN]]
        if len(moved) > SHOWN:
            lines.append(f"  … and {len(moved) - SHOWN} more")
    return "\n".join(lines)


def as_html(
    found: str, proved: Sequence[str], summary: str, texts: Texts, show_only_changes: bool
) -> str:
    """A title, a table of what changes, sentences, and the summary folded away."""
    names, before, after = texts
    many = len(after) > 1
    titles = [f"instead {i}" if many else "instead" for i in range(1, len(after) + 1)]
    return card(
        found,
        changes(names, before, after, titles, text(*proved), all_rows=not show_only_changes),
        folded("in one line", text(summary)) if summary != found else "",
    )

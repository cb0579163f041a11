"""Answers in notebooks: what changes first, proof in plain words, everything escaped.

No colours of text or background are set but half-transparent grey, so that it is read on dark and
on light pages; nothing is loaded or run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

BOX = "border:1px solid rgba(128,128,128,.4);border-radius:4px;padding:.4em .8em;max-width:60em"
TABLE = "border-collapse:collapse;margin:.3em 0"
CELL = "text-align:left;padding:.15em .8em .15em 0;border-bottom:1px solid rgba(128,128,128,.25)"
Cells = Sequence[str]


def card(title: str, *parts: str) -> str:
    """One thing with a title; parts are HTML already."""
    head = f'<div style="margin-bottom:.2em"><b>{escape(title)}</b></div>' if title else ""
    return f'<div class="cfxc" style="{BOX}">{head}{"".join(parts)}</div>'


def text(*sentences: str) -> str:
    """Paragraphs, of those that say something."""
    return "".join(f'<div style="margin:.2em 0">{escape(each)}</div>' for each in sentences if each)


def table(header: Cells, rows: Iterable[Cells], *, bold: Iterable[int] = ()) -> str:
    """Rows of texts below a header; columns of numbers ``bold`` are printed so."""
    strong = set(bold)
    head = "".join(f'<th scope="col" style="{CELL}">{escape(each)}</th>' for each in header)
    lines = []
    for row in rows:
        name, *cells = map(escape, row)
        inner = "".join(
            f'<td style="{CELL}">{f"<b>{cell}</b>" if i in strong and cell else cell}</td>'
            for i, cell in enumerate(cells, 1)
        )
        lines.append(
            f'<tr><th scope="row" style="{CELL};font-weight:normal">{name}</th>{inner}</tr>'
        )
    return (
        f'<table style="{TABLE}"><thead><tr>{head}</tr></thead><tbody>{"".join(lines)}</tbody>'
        "</table>"
    )


def folded(title: str, inside: str) -> str:
    """What is shown when it is asked for."""
    return f"<details><summary>{escape(title)}</summary>{inside}</details>" if inside else ""


def changes(
    names: Cells,
    before: Cells,
    after: Sequence[Cells],
    titles: Cells,
    then: str = "",
    *,
    all_rows: bool = False,
) -> str:
    """A table of what changes in any of several rows, the others folded away.

    Args:
        names, before: Features and the instance's values.
        after: Of each row the values, in the features' order.
        titles: What the rows are called.
        then: HTML that stands below what changes, above what does not.
        all_rows: Whether what stays as it is, is shown as well.
    """
    moved = [i for i in range(len(names)) if any(row[i] != before[i] for row in after)]
    kept = [i for i in range(len(names)) if i not in set(moved)]
    header = ["", "now", *titles]
    if all_rows:
        moved, kept = list(range(len(names))), []
    shown = (
        [names[i], before[i], *(row[i] if row[i] != before[i] else "" for row in after)]
        for i in moved
    )
    made = table(header, shown, bold=range(2, len(after) + 2)) if moved else ""
    count = "1 feature stays" if len(kept) == 1 else f"{len(kept)} features stay"
    title = f"{count} as before" if after else "the instance"
    rest = table(["", "now"], ([names[i], before[i]] for i in kept)) if kept else ""
    return made + then + folded(title, rest)

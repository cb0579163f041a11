"""Tables for the terminal and for a Markdown page."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.table import Table as RichTable

import cfxc

WIDTH = 150  # of tables where the terminal does not tell


@dataclass
class Table:
    """A title, a header and rows of text."""

    title: str
    header: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)

    def show(self) -> None:
        """Print the table."""
        table = RichTable(*self.header, title=self.title)
        for row in self.rows:
            table.add_row(*row)
        console = Console()
        (console if console.is_terminal else Console(width=WIDTH)).print(table)

    def markdown(self) -> str:
        """The table as Markdown."""
        rows = [self.header, ["---"] * len(self.header), *self.rows]
        lines = ["| " + " | ".join(row) + " |" for row in rows]
        return "\n".join([f"**{self.title}**", "", *lines, ""])


def circumstances(command: str) -> str:
    """When and with what something was measured."""
    packages = ("z3-solver", "cvc5", "scikit-learn", "numpy")
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    today = datetime.now(UTC).date().isoformat()
    python = platform.python_version()
    return f"`{command}`, {today}; cfxc {cfxc.__version__}, Python {python}, {versions}."


def verdict(who: str, ours: Iterable[float], paper: Iterable[float]) -> list[str]:
    """Whether L* and empirical validity are at least the paper's, to its three digits."""
    lines = []
    for what, mine, theirs in zip(("L*", "empirical validity"), ours, paper, strict=True):
        said = "reached" if round(float(mine), 3) >= theirs else "NOT reached"
        lines.append(f"- {who}: {what} {mine:.3f}, paper {theirs:.3f}: {said}.")
    return lines


def write_section(path: Path, name: str, text: str) -> None:
    """Replace the section ``name`` of a Markdown page, between its two comments, or append it."""
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    page = path.read_text(encoding="utf-8") if path.exists() else ""
    section = f"{begin}\n{text.strip()}\n{end}"
    if begin in page and end in page:
        head, rest = page.split(begin, 1)
        page = head + section + rest.split(end, 1)[1]
    else:
        page = f"{page.rstrip()}\n\n{section}\n".lstrip()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")

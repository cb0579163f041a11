"""Tables for the terminal, for a Markdown page and, beside it, for CSV files."""

from __future__ import annotations

import ast
import csv
import hashlib
import io
import os
import platform
import re
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.table import Table as RichTable

import cfxc

WIDTH = 150  # of tables where the terminal does not tell
HOME = Path(__file__).parent.parent


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
    """When, where and with what something was measured."""
    packages = ("z3-solver", "cvc5", "scikit-learn", "numpy")
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    today = datetime.now(UTC).date().isoformat()
    python = platform.python_version()
    return (
        f"`{command}`, {today}, {_machine()}; cfxc {cfxc.__version__}{_commit()}, Python {python}, "
        f"{versions}."
    )


def _machine() -> str:
    """The processor, as far as the system names it."""
    info = Path("/proc/cpuinfo")
    named = re.search(r"model name\s*: (.+)", info.read_text() if info.exists() else "")
    return f"{os.cpu_count()} cores of {named[1] if named else platform.machine()}"


def _commit() -> str:
    """The commit that is checked out, and whether something was changed since."""
    said = [
        subprocess.run(["git", "-C", HOME, *command], capture_output=True, text=True).stdout.strip()
        for command in (["rev-parse", "--short=8", "HEAD"], ["diff", "HEAD", "--name-only"])
    ]
    return f" at {said[0]}{' and changes' * bool(said[1])}" if said[0] else ""


def verdict(who: str, ours: Iterable[float], paper: Iterable[float]) -> list[str]:
    """Whether L* and empirical validity are at least the paper's, to its three digits."""
    lines = []
    for what, mine, theirs in zip(("L*", "empirical validity"), ours, paper, strict=True):
        said = "reached" if round(float(mine), 3) >= theirs else "NOT reached"
        lines.append(f"- {who}: {what} {mine:.3f}, paper {theirs:.3f}: {said}.")
    return lines


def write_section(path: Path, name: str, text: str) -> None:
    """Replace the section ``name`` of a Markdown page, between its two comments, or append it.

    A stamp at its end tells when it was edited, or what made it (``faults_of``); its tables are
    written beside the page, too, as ``csv/NAME.csv``.
    """
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    page = path.read_text(encoding="utf-8") if path.exists() else ""
    section = f"{begin}\n{text.strip()}\n{_stamp(text)}\n{end}"
    if begin in page and end in page:
        head, rest = page.split(begin, 1)
        page = head + section + rest.split(end, 1)[1]
    else:
        page = f"{page.rstrip()}\n\n{section}\n".lstrip()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")
    beside = _csv_file(path, name)
    beside.parent.mkdir(exist_ok=True)
    beside.write_text(_as_csv(text), encoding="utf-8")


def faults_of(path: Path) -> dict[str, str]:
    """What is wrong with sections of a page that bear a stamp, and which bear none.

    A section is as its command wrote it, its CSV file says the same, and the command's script is
    the one that made it, but for comments and layout.
    """
    found = {}
    page = path.read_text(encoding="utf-8")
    for name, body in re.findall(r"<!-- begin (.+?) -->\n(.*?)\n<!-- end \1 -->", page, re.DOTALL):
        text, _, stamp = body.rpartition("\n")
        beside = _csv_file(path, name)
        if not STAMP.fullmatch(stamp):
            found[name] = "no stamp"
        elif STAMP.fullmatch(stamp)["text"] != _digest(text.strip()):
            found[name] = "edited"
        elif stamp != _stamp(text):
            found[name] = "older than the script that made it"
        elif not beside.exists() or beside.read_text(encoding="utf-8") != _as_csv(text):
            found[name] = f"{beside.name} is of another run"
    return found


STAMP = re.compile(r"<!-- written (?P<text>[0-9a-f]{16}) by (?P<script>[0-9a-f]{16}) -->")


def _stamp(text: str) -> str:
    """The hashes of a section's text, and of the script that its command names."""
    named = re.search(r"benchmarks/(\w+\.py)", text)
    script = HOME / named[1] if named else None
    made = "" if script is None or not script.exists() else ast.dump(ast.parse(script.read_bytes()))
    return f"<!-- written {_digest(text.strip())} by {_digest(made)} -->"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _csv_file(path: Path, name: str) -> Path:
    return path.parent / "csv" / f"{name.replace(' ', '-')}.csv"


def _as_csv(text: str) -> str:
    """The tables of a Markdown text, each with its title first, blank lines between."""
    body = io.StringIO()
    writer = csv.writer(body, lineterminator="\n")
    for line in text.splitlines():
        if titled := re.fullmatch(r"\*\*(.+)\*\*", line):
            writer.writerows([[]] if body.getvalue() else [])
            writer.writerow([titled[1]])
        elif line.startswith("| ") and not line.startswith("| ---"):
            writer.writerow([cell.strip() for cell in line.strip("| ").split(" | ")])
    return body.getvalue()

"""Benchmarks of several parts: each prints its tables, and rewrites its section of a page."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence

from .report import Table, circumstances, write_section

Section = tuple[list[Table], list[str]]
"""Tables and lines of text."""
Parts = Mapping[str, Callable[[Namespace], Section]]
SILENT = ("part", "markdown", "jobs")  # options that change no figure


def parsed(
    parser: ArgumentParser, parts: Parts, arguments: Sequence[str] | None = None
) -> Namespace:
    """Options, with ``--part`` added: its value is the list of the parts to run."""
    parser.add_argument("--part", choices=[*parts, "all"], default="all")
    options = parser.parse_args(arguments)
    options.part = list(parts) if options.part == "all" else [options.part]
    return options


def run_parts(name: str, parts: Parts, options: Namespace, usual: Namespace) -> None:
    """Run the parts asked for; ``usual``: the options where none is given."""
    for part in options.part:
        tables, lines = parts[part](options)
        for table in tables:
            table.show()
        print(*lines, sep="\n", end="\n\n")
        if options.markdown:
            text = "\n".join([*(table.markdown() for table in tables), *lines])
            command = f"python benchmarks/{name}.py --part {part}{_changed(options, usual)}"
            write_section(options.markdown, f"{name} {part}", f"{text}\n\n{circumstances(command)}")


def _changed(options: Namespace, usual: Namespace) -> str:
    """Options that were given another value than theirs, as they are written."""
    return "".join(
        f" --{name.replace('_', '-')} {getattr(options, name)}"
        for name in vars(options)
        if name not in SILENT and getattr(options, name) != getattr(usual, name)
    )

"""The page about a batch of answers, from the command line."""

from __future__ import annotations

import sys
from pathlib import Path

from ..frontends.csv_files import read_csv
from .report import progress
from .tables import column_names


def overview(
    answers: Path, out: Path, rows: Path | None, group: list[str] | None,
    certificates: Path | None, title: str,
) -> int:  # fmt: skip
    """Write the page, and say where it is."""
    from ..answers.overview import report

    table = None if rows is None else read_csv(rows).frame()
    names = list(group or []) if table is None else column_names(group, list(table.columns))
    with progress(f"reading {answers} …"):
        report(answers, out, rows=table, group=names, certificates=certificates, title=title)
    print(f"report: {out}", file=sys.stderr)
    return 0


__all__ = ["overview"]

"""The page about a batch of answers, from the command line."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Annotated

import typer

from ..frontends.csv_files import read_csv
from .certificates import REJECTED
from .flags import NAMES, Columns
from .guard import guarded
from .report import progress
from .tables import column_names


@guarded
def command(
    answers: Annotated[
        Path,
        typer.Argument(metavar="ANSWERS", help="What a batch wrote: .csv, .parquet, a folder."),
    ],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="The page: .html.")],
    rows: Annotated[
        Path | None, typer.Option(metavar="DATA.CSV", help="The table whose rows were asked about.")
    ] = None,
    group: Annotated[
        Columns, typer.Option(metavar=NAMES, help="Columns of --rows to compare distances by: a,b.")
    ] = None,
    certificates: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Certificates to check and to list.")
    ] = None,
    policy: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What each certificate must ask (TOML).")
    ] = None,
    title: Annotated[str, typer.Option(help="Of the page.")] = "",
) -> int:
    """A page about a batch of answers.

    One file of HTML: how many were answered and proved, distances, which features change, by group.
    Exit code 5 if a certificate is missing, does not hold, or is not that of its answer.
    """
    from ..answers.overview import report

    table = None if rows is None else read_csv(rows).frame()
    names = list(group or []) if table is None else column_names(group, list(table.columns))
    with progress(f"reading {answers} …"), warnings.catch_warnings(record=True) as told:
        report(
            answers, out, rows=table, group=names, certificates=certificates, policy=policy,
            title=title,
        )  # fmt: skip
    print(f"report: {out}", file=sys.stderr)
    for warning in told:
        print(f"warning: {warning.message}", file=sys.stderr)
    return REJECTED if told else 0

"""``cfxc check`` and ``cfxc export``: does a certificate hold, also for others' checkers?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from json import dumps
from pathlib import Path
from typing import Annotated, Any

import typer

from ..certificates.auditing.report import PAGES
from ..errors import InvalidInputError, VerificationError
from ..writing import write_whole
from .flags import Cut, Decides, Json, Trust, grouped
from .guard import guarded

REJECTED, UNDECIDED = 5, 4
"""Exit codes of a certificate that does not hold, and where a limit came before a verdict."""
BELOW = 4
"""Exit code of an exported file that shows less than the certificate claims."""


@dataclass(frozen=True)
class Exported:
    """Files for other checkers that are to be about a certificate."""

    vipr: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Is this .vipr file about it?")
    ] = None
    cpc: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Is this .cpc file, with its script?")
    ] = None


@dataclass(frozen=True)
class Options:
    """What ``cfxc check`` is asked besides exported files; see :func:`cfxc.check`."""

    model: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Compile this file anew: is it the same program?"),
    ] = None
    rows: Annotated[
        Path | None, typer.Option(metavar="CSV", help="Run model and program on these rows too.")
    ] = None
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Of the rows that are drawn.  [default: random]")
    ] = None
    output: Decides = None
    cut: Cut = None
    trust_pickle: Trust = False
    policy: Annotated[
        Path | None, typer.Option(metavar="TOML", help="Reject another question than this allows.")
    ] = None
    factual: Annotated[
        str | None,
        typer.Option(metavar="ROW", help="Whom it must be about: people.csv:11, row.json."),
    ] = None
    hash: Annotated[
        str | None,
        typer.Option(metavar="HEX", help="Its hash as the letter has it, or the first 16 digits."),
    ] = None
    seconds: Annotated[
        float | None,
        typer.Option(metavar="S", help="Of processor time, before it is left undecided."),
    ] = None
    verified: Annotated[
        bool, typer.Option("--verified", help="Ask cfxc-verified too, proved sound, if on PATH.")
    ] = False


@guarded
@grouped
def check(
    *,
    certificate: Annotated[
        Path, typer.Argument(metavar="CERTIFICATE", help="A .json file, or .json.gz.")
    ],
    options: Options,
    summary: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page to read (Markdown).")
    ] = None,
    others: Exported,
    json: Json = False,
) -> int:
    """Whether a certificate holds, and what it says.

    Exit code 0 if it does, 5 if not, 4 if a limit was reached before a verdict, 2 for files that
    cannot be used.  The same check without cfxc: see the command checker.
    """
    from ..answers.checking import check as checked

    if summary is not None and summary.suffix.lower() not in PAGES:
        raise InvalidInputError(f"{summary}: the page is Markdown: {' or '.join(PAGES)}")
    found = checked(certificate, **asdict(options))
    files, refused = list[dict[str, Any]](), ""
    if found.ok:
        files, refused = _compare(found.content, others)
    if refused:  # what is true of the certificate is no answer to what was asked
        found = replace(found, ok=False, reason=refused, facts={})
    if json:
        said = {"ok": found.ok, "reason": found.reason, "verdict": found.verdict}
        print(dumps({**said, **found.facts, **({"files": files} if files else {})}))
    else:
        print("\n".join([found.summary(), *(line for one in files for line in _lines(one))]))
    if summary is not None:
        write_whole(summary, found.to_markdown())
    if not found.ok:
        return UNDECIDED if found.undecided else REJECTED
    return 0 if all(one["reaches"] for one in files) else BELOW


@guarded
def checker(
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.")] = Path(
        "cfxc-check.pyz"
    ),
) -> int:
    """Write the checker as one file, for auditors.

    It runs as python cfxc-check.pyz CERTIFICATE, and needs Python alone.
    """
    from ..certificates import write_checker

    if out.suffix != ".pyz":
        raise InvalidInputError(f"{out}: the checker is a .pyz file")
    print(f"wrote {write_checker(out)}")
    return 0


def _compare(content: Any, exported: Exported) -> tuple[list[dict[str, Any]], str]:
    """What exported files show of a certificate that holds, and is left to run; or the first that
    is not about it, and why.
    """
    from ..certificates.export.compare import compare_cpc, compare_vipr

    files = list[dict[str, Any]]()
    for path, made in ((exported.vipr, compare_vipr), (exported.cpc, compare_cpc)):
        if path is None:
            continue
        try:
            found = made(content, path)
        except VerificationError as error:
            why = str(error)
            return [], why if why.startswith(f"{path}: ") else f"{path}: {why}"
        files.append({
            "file": str(path), "about": found.about, "reaches": found.reaches,
            "shown": _beside(found.claimed, found.shown, found.squared),
            "said": found.message, "remains": "" if found.message else found.remains,
        })  # fmt: skip
    return files, ""


def _lines(file: Mapping[str, Any]) -> list[str]:
    """What is said of an exported file that is about the certificate."""
    left = file["said"] or f"Remains to be run: {file['remains']}"
    about = f"{file['file']} is about this certificate. Compared: {file['about']}."
    return [about, f"  {file['shown']}", f"  {left}"]


@guarded
def export(
    certificate: Annotated[
        Path, typer.Argument(metavar="CERTIFICATE", help="A .json file, or .json.gz.")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Beginning of the names of the files to write.")
    ],
    format: Annotated[
        str,
        typer.Option(
            help="smt2 (both bounds), cpc (cvc5's proof) or vipr (branch and bound); by default "
            "the suffix of --out."
        ),
    ] = "",
    time_limit: Annotated[float, typer.Option(help="Seconds for finding a proof.")] = 60.0,
) -> int:
    """Certificates for other checkers."""
    from ..certificates.export import FORMATS, exported

    format = format or out.suffix.lower().removeprefix(".")
    if format not in FORMATS:
        raise InvalidInputError(f"--format says which, or --out's suffix: {', '.join(FORMATS)}")
    try:
        found = exported(certificate, format, out, time_limit=time_limit)
    except VerificationError as error:
        print(f"rejected: {error}")
        return REJECTED
    for path in found.paths:
        print(f"wrote {path} ({path.stat().st_size} bytes)")
    print(_beside(found.claimed, found.shown, found.squared))
    for note in found.notes[:3]:
        print(f"  {note}")
    if len(found.notes) > 3:
        print(f"  … and {len(found.notes) - 3} more notes in {found.paths[-1]}")
    return 0 if found.reaches else BELOW


def _beside(claimed: Fraction | None, shown: Fraction | None, squared: bool) -> str:
    """What was shown beside what was claimed."""
    texts = [
        "no admissible change leads to the outcome"
        if bound is None
        else f"nothing nearer than {float(bound) ** (0.5 if squared else 1):.12g}"
        for bound in (claimed, shown)
    ]
    if claimed == shown:
        return f"claimed and shown: {texts[0]}"
    less = f" (less by {float(claimed - shown):.2g})" if claimed is not None and shown else ""
    return f"claimed: {texts[0]}; shown: {texts[1]}{less}"

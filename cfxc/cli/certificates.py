"""``cfxc check`` and ``cfxc export``: does a certificate hold, also for others' checkers?"""

from __future__ import annotations

from dataclasses import asdict, dataclass
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
    code = 0 if found.ok else UNDECIDED if found.undecided else REJECTED
    lines, compared = _compare(found.content, others, json) if found.ok else ([], 0)
    if json:
        said = {"ok": found.ok, "reason": found.reason, "verdict": found.verdict}
        lines = [dumps({**said, **found.facts}), *lines]
    else:
        first = compared == REJECTED
        lines = [*lines, found.summary()] if first else [found.summary(), *lines]
    print("\n".join(lines))
    if summary is not None:
        write_whole(summary, found.to_markdown())
    return code or compared


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


def _compare(content: Any, exported: Exported, as_json: bool) -> tuple[list[str], int]:
    """Whether exported files are about a certificate that holds, and what is left to run."""
    from ..certificates.export.compare import compare_cpc, compare_vipr

    lines, code = list[str](), 0
    for path, made in ((exported.vipr, compare_vipr), (exported.cpc, compare_cpc)):
        if path is None:
            continue
        try:
            found = made(content, path)
        except VerificationError as error:
            refused = {"file": str(path), "ok": False, "reason": str(error)}
            said = dumps(refused) if as_json else f"REJECTED: {path}: {error}"
            return [*lines, said], REJECTED
        shown = _beside(found.claimed, found.shown, found.squared)
        left = "" if found.message else f"Remains to be run: {found.remains}"
        if as_json:
            held = {"file": str(path), "ok": True, "about": found.about, "shown": shown}
            lines.append(dumps({**held, "said": found.message, "remains": left}))
        else:
            lines.append(f"{path} is about this certificate. Compared: {found.about}.")
            lines += [f"  {shown}", f"  {found.message or left}"]
        code = code if found.reaches else BELOW
    return lines, code


@guarded
def export(
    certificate: Annotated[
        Path, typer.Argument(metavar="CERTIFICATE", help="A .json file, or .json.gz.")
    ],
    format: Annotated[
        str, typer.Option(help="smt2 (both bounds), cpc (cvc5's proof) or vipr (branch and bound).")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Beginning of the names of the files to write.")
    ],
    time_limit: Annotated[float, typer.Option(help="Seconds for finding a proof.")] = 60.0,
) -> int:
    """Certificates for other checkers."""
    from ..certificates.export import exported

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

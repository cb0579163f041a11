"""Certificates in the formats of other checkers: SMT-LIB, CPC and VIPR."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from ...errors import DataTypeError, InvalidInputError, VerificationError
from ...writing import path_of, write_together
from ..report import report

Files = dict[str, str]  # what is appended to the name → text


@dataclass(frozen=True)
class Exported:
    """What was written.

    Attributes:
        paths: The files.
        claimed: The certificate's lower bound (of l2, its square); None: nothing is admissible.
        shown: What the files show of it; None likewise.
        notes: What the files relax, and what the proof is about.
        squared: Whether the bounds are squares.
    """

    paths: tuple[Path, ...]
    claimed: Fraction | None
    shown: Fraction | None
    notes: tuple[str, ...]
    squared: bool

    @property
    def reaches(self) -> bool:
        """Whether as much is shown as was claimed."""
        return self.shown is None or (self.claimed is not None and self.shown >= self.claimed)


@dataclass(frozen=True)
class Texts:
    """Files by their endings, the bound that they show, and the entries of their manifest."""

    files: Files
    shown: Fraction | None
    manifest: dict[str, Any]


def export(
    source: Any, format: str, out: str | Path, *, time_limit: float = 60.0
) -> tuple[Path, ...]:
    """Write a certificate in another format; the files that were written.

    Args:
        source: A path, the values of its JSON, or what ``Result.certificate`` gives.
        format: ``smt2``: ``OUT.lower.smt2``, which is unsatisfiable, and ``OUT.upper.smt2``, which
            is satisfiable.  ``cpc``: the former, and ``OUT.cpc``, cvc5's proof, for ``ethos``; of
            ``OUT.lower.cut.smt2``, without what is out of reach, where the former is too large.
            ``vipr``: ``OUT.vipr``, a mixed-integer program with its branch and bound, for
            ``viprchk``.  Beside each, ``OUT.FORMAT.manifest.json`` says what is shown, what
            stands for what, and the SHA-256 of certificate and files.
        out: Beginning of the files' names; the format's own suffix is left out.
        time_limit: Seconds for finding a proof, after the certificate was checked.

    Raises:
        VerificationError: the certificate does not hold.
        InvalidInputError: it cannot be read, the format is unknown, or the files cannot be written.
        UnsupportedError: no proof was found in time, or the format has no room for the question.
    """
    return exported(source, format, out, time_limit=time_limit).paths


def exported(source: Any, format: str, out: str | Path, *, time_limit: float = 60.0) -> Exported:
    """The same, with what was shown beside what was claimed; errors as of :func:`export`."""
    if not isinstance(format, str) or format not in FORMATS:
        raise InvalidInputError(f"unknown format {format!r}: {', '.join(FORMATS)}")
    out = path_of(out)
    if not (name := out.stem if out.suffix.lower() == f".{format}" else out.name):
        raise InvalidInputError(f"{out}: a folder; name files in it, such as {out}/answer")
    out = out.with_name(name)
    _refuse_time(time_limit)
    if not (isinstance(source, str | Path | Mapping) or hasattr(source, "content")):
        raise DataTypeError(
            "export takes a certificate: its file, the values of its JSON, or result.certificate; "
            f"not {type(source).__name__}"
        )
    found = report(path_of(source, "a certificate") if isinstance(source, str) else source)
    if not found.ok:
        raise VerificationError(f"the certificate does not hold: {found.reason}")
    texts = FORMATS[format](found.content, time_limit, name)
    claim = found.content["claim"]
    hashes = {f"{name}.{ending}": sha256(text) for ending, text in texts.files.items()}
    manifest = json.dumps({**texts.manifest, "files": hashes}, indent=1) + "\n"
    paths = _write({**texts.files, f"{format}.manifest.json": manifest}, out)
    claimed = None if claim["status"] == "infeasible" else _number(claim["lower_bound"])
    squared = _number(found.content["question"]["norms"]["l2"]) == 1
    return Exported(paths, claimed, texts.shown, tuple(texts.manifest["notes"]), squared)


def export_script(
    script: str, format: str, out: str | Path, *, time_limit: float = 60.0
) -> tuple[Path, ...]:
    """Write an unsatisfiable script, as ``smt2``, or with cvc5's proof, as ``cpc``.

    Raises:
        InvalidInputError: the files cannot be written.
        UnsupportedError: no proof was found in time, or none without gaps.
    """
    _refuse_time(time_limit)
    files = {"lower.smt2": script}
    if format == "cpc":
        from .cpc import proof_of, referring

        files["cpc"] = referring(proof_of(script, time_limit), f"{path_of(out).name}.lower.smt2")
    return _write(files, out)


def _refuse_time(seconds: float) -> None:
    """Refuse what is no number of seconds above 0."""
    with suppress(TypeError, ValueError):  # of what is no number
        if seconds > 0:
            return
    raise DataTypeError(f"time_limit must be a positive number, not {seconds!r}")


def sha256(text: str) -> str:
    """The hash of a file with this text."""
    return hashlib.sha256(text.encode()).hexdigest()


def _number(text: Any) -> Fraction:
    from ..checker import number

    return number(text)


def _write(files: Files, out: str | Path) -> tuple[Path, ...]:
    start = path_of(out)
    texts: dict[Path, str | bytes] = {Path(f"{start}.{end}"): text for end, text in files.items()}
    write_together(texts)
    return tuple(texts)


def _smt2(certificate: Mapping[str, Any], seconds: float, name: str) -> Texts:
    from .smtlib import lower, upper

    script, shown = lower(certificate)
    files = {"lower.smt2": script}
    if certificate["witness"] is not None:
        files["upper.smt2"] = upper(certificate)
    return Texts(files, shown, _manifest("SMT-LIB", certificate, shown))


def _cpc(certificate: Mapping[str, Any], seconds: float, name: str) -> Texts:
    from .cpc import cpc

    files, shown = cpc(certificate, name, seconds=seconds)
    about = next(ending for ending in reversed(files) if ending.endswith("smt2"))
    entries = _manifest("CPC", certificate, shown)
    entries["about"] = f"{name}.{about}"
    if about != "lower.smt2":
        entries["notes"].append(
            f"the proof is about {name}.{about}: ranges cut to the radius, and trees to these "
            f"ranges, by this package; the whole question is {name}.lower.smt2"
        )
    return Texts(files, shown, entries)


def _vipr(certificate: Mapping[str, Any], seconds: float, name: str) -> Texts:
    from .vipr import vipr

    text, manifest = vipr(certificate, seconds=seconds)
    proved = manifest["proved"].get("exact")
    return Texts({"vipr": text}, None if proved is None else Fraction(proved), manifest)


def _manifest(kind: str, certificate: Mapping[str, Any], shown: Fraction | None) -> dict[str, Any]:
    """What scripts show beside what was claimed."""
    from .vipr.text import bound, claimed

    claim = claimed(certificate["claim"])
    reaches = shown is None or str(shown) == claim["lower_bound"]["exact"]
    note = "cells and single floats round: the script allows for it, and asks for as much nearer"
    return {
        "format": f"cfxc {kind} manifest 1",
        "certificate": certificate["hash"],
        "claimed": claim,
        "proved": bound(shown),
        "reaches_claim": reaches,
        "notes": [] if reaches else [note],
    }


FORMATS: Mapping[str, Callable[[Mapping[str, Any], float, str], Texts]] = {
    "smt2": _smt2,
    "cpc": _cpc,
    "vipr": _vipr,
}

__all__ = ["FORMATS", "Exported", "export", "export_script", "exported", "sha256"]

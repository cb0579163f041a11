"""Certificates in the formats of other people's checkers: SMT-LIB, CPC and VIPR."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ...errors import InvalidInputError, VerificationError
from ...writing import write_together
from ..report import report

Files = dict[str, str]  # what is appended to the name → text


def export(
    source: Any, format: str, out: str | Path, *, time_limit: float = 60.0
) -> tuple[Path, ...]:
    """Write a certificate in another format; the files that were written.

    Args:
        source: A path, the values of its JSON, or what ``Result.certificate`` gives.
        format: ``smt2``: ``OUT.lower.smt2``, which is unsatisfiable, and ``OUT.upper.smt2``, which
            is satisfiable.  ``cpc``: the former, and ``OUT.cpc``, cvc5's proof, for ``ethos``.
            ``vipr``: ``OUT.vipr``, a mixed-integer program with its branch and bound, for
            ``viprchk``, and ``OUT.manifest.json``, which says what stands for what.
        out: Beginning of the files' names.
        time_limit: Seconds for finding a proof.

    Raises:
        VerificationError: the certificate does not hold.
        InvalidInputError: it cannot be read, the format is unknown, or the files cannot be written.
        UnsupportedError: no proof was found in time, or the format has no room for the question.
    """
    if format not in FORMATS:
        raise InvalidInputError(f"unknown format {format!r}: {', '.join(FORMATS)}")
    found = report(source)
    if not found.ok:
        raise VerificationError(f"the certificate does not hold: {found.reason}")
    return _write(FORMATS[format](found.content, time_limit, Path(out).name), out)


def export_script(
    script: str, format: str, out: str | Path, *, time_limit: float = 60.0
) -> tuple[Path, ...]:
    """Write an unsatisfiable script, as ``smt2``, or with cvc5's proof, as ``cpc``.

    Raises:
        InvalidInputError: the files cannot be written.
        UnsupportedError: no proof was found in time, or none without gaps.
    """
    files = {"lower.smt2": script}
    if format == "cpc":
        from .cpc import proof_of

        files["cpc"] = _proof(proof_of(script, time_limit), Path(out).name)
    return _write(files, out)


def _proof(proof: str, name: str) -> str:
    """A proof with the script that it is about in front."""
    return f'(reference "{name}.lower.smt2")\n{proof}'


def _write(files: Files, out: str | Path) -> tuple[Path, ...]:
    texts: dict[Path, str | bytes] = {Path(f"{out}.{end}"): text for end, text in files.items()}
    write_together(texts)
    return tuple(texts)


def _smt2(certificate: Mapping[str, Any], seconds: float, name: str) -> Files:
    from .smtlib import smtlib

    return {f"{side}.smt2": text for side, text in smtlib(certificate).items()}


def _cpc(certificate: Mapping[str, Any], seconds: float, name: str) -> Files:
    from .cpc import cpc

    script, proof = cpc(certificate, seconds=seconds)
    return {"lower.smt2": script, "cpc": _proof(proof, name)}


def _vipr(certificate: Mapping[str, Any], seconds: float, name: str) -> Files:
    from .vipr import vipr

    text, manifest = vipr(certificate, seconds=seconds)
    return {"vipr": text, "manifest.json": json.dumps(manifest, indent=1) + "\n"}


FORMATS: Mapping[str, Callable[[Mapping[str, Any], float, str], Files]] = {
    "smt2": _smt2,
    "cpc": _cpc,
    "vipr": _vipr,
}

__all__ = ["FORMATS", "export", "export_script"]

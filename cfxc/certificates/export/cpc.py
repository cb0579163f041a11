"""Certificates as proofs in cvc5's calculus (CPC), which ``ethos`` checks."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from ...errors import OutOfTimeError, SolverError, UnsupportedError
from .screening import screened
from .smtlib import lower

OPTIONS = {
    "produce-proofs": "true",
    "proof-format-mode": "cpc",
    "proof-granularity": "dsl-rewrite",
    "proof-print-reference": "true",
}
WAYS: tuple[Mapping[str, str], ...] = ({}, {"simplification": "none"})
"""Options that are tried in turn: with some, cvc5 has a rule for every step."""
TRUST = ("trust step", ":rule trust")  # how a proof shows that it has not
PROVER = Path(__file__).with_name("prover.py")


def cpc(
    certificate: Mapping[str, Any], name: str, *, seconds: float = 60.0
) -> tuple[dict[str, str], Fraction | None]:
    """Scripts of the lower bound and cvc5's proof of the last of them, by ending; what it shows.

    A third of the time is given to the whole question.  If that is not enough, what lies beyond
    the bound is left out, and the proof is about ``lower.cut.smt2``.

    Raises:
        UnsupportedError: cvc5 has no proof in the time given, or none without gaps.
    """
    deadline = time.monotonic() + seconds
    script, shown = lower(certificate)
    files, about = {"lower.smt2": script}, "lower.smt2"
    try:
        proof = proof_of(script, seconds / 3)
    except UnsupportedError:
        about = "lower.cut.smt2"
        files[about], shown = lower(certificate, cut=True)
        proof = proof_of(files[about], deadline - time.monotonic(), message=seconds)
    text = referring(proof, f"{name}.{about}")
    files["cpc"] = f"; cfxc certificate {certificate['hash']}\n{text}"
    return files, shown


def referring(proof: str, script: str) -> str:
    """A proof with the name of the script that it is about in front."""
    return f'(reference "{script}")\n{proof}'


def proof_of(script: str, seconds: float, *, message: float | None = None) -> str:
    """A CPC proof of an unsatisfiable script, without gaps and with commands of a proof alone.

    ``ethos`` needs ``(reference "…")`` to the script in front of it, and cvc5's signature.
    ``message`` is the time limit that a refusal speaks of, if it is another.

    Raises:
        SolverError: the script is satisfiable, or cvc5 does not take it.
        UnsupportedError: cvc5 has no proof in the time given, or none without gaps.
    """
    deadline = time.monotonic() + seconds
    for options in WAYS:
        proof = _proof(script, deadline - time.monotonic(), options)
        if proof is None:
            raise OutOfTimeError(
                f"cvc5 has no proof of the lower bound within {message or seconds:.3g} s",
                ["allow more time (time_limit; --time-limit), or export to vipr"],
            )
        if not any(each in proof for each in TRUST):
            screened(proof, script)
            return proof
    raise UnsupportedError(
        "cvc5's proof has steps without a rule, which prove nothing", ["export to vipr"]
    )


def _proof(script: str, seconds: float, options: Mapping[str, str]) -> str | None:
    """The proof that cvc5 finds in time; the process is ended when the time is over."""
    limit = {"tlimit-per": str(max(int(seconds * 1000), 1))}
    command = [sys.executable, str(PROVER), json.dumps({**OPTIONS, **options, **limit})]
    try:
        done = subprocess.run(
            command, input=script, capture_output=True, text=True, encoding="utf-8", check=False,
            timeout=max(seconds, 0.001),
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return None
    answer, _, proof = done.stdout.partition("\n")
    if done.returncode or answer == "error":
        raise SolverError(f"cvc5 did not take the script: {proof or done.stderr[-200:]}")
    if answer == "sat":
        raise SolverError("cvc5 found a point that the certificate rules out")
    return plain(proof) if answer == "unsat" else None


def plain(proof: str) -> str:
    """A proof without the parentheses around all of it."""
    text = proof.strip()
    inside = text.removeprefix("(").removesuffix(")").strip()
    return f"{inside if inside.startswith(('(', ';')) else text}\n"

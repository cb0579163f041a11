"""Certificates as proofs in cvc5's calculus (CPC), which ``ethos`` checks."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import cvc5

from ...errors import SolverError, UnsupportedError
from .smtlib import smtlib

OPTIONS = {
    "produce-proofs": "true",
    "proof-format-mode": "cpc",
    "proof-granularity": "dsl-rewrite",
    "proof-print-reference": "true",
}
WAYS: tuple[Mapping[str, str], ...] = ({}, {"simplification": "none"})
"""Options that are tried in turn: with some, cvc5 has a rule for every step."""
TRUST = ("trust step", ":rule trust")  # how a proof shows that it has not


def cpc(certificate: Mapping[str, Any], *, seconds: float = 60.0) -> tuple[str, str]:
    """The script of the lower bound, and cvc5's proof that it is unsatisfiable.

    Raises:
        UnsupportedError: cvc5 has no proof in the time given, or none without gaps.
    """
    script = smtlib(certificate)["lower"]
    return script, proof_of(script, seconds)


def proof_of(script: str, seconds: float) -> str:
    """A CPC proof of an unsatisfiable script, without gaps.

    ``ethos`` needs ``(reference "…")`` to the script in front of it, and cvc5's signature.
    """
    started = time.monotonic()
    for options in WAYS:
        proof = _proof(script, max(seconds - (time.monotonic() - started), 0.001), options)
        if proof is not None and not any(each in proof for each in TRUST):
            return proof
        if proof is None:
            raise UnsupportedError(
                f"cvc5 has no proof of the lower bound within {seconds:g} s",
                ["give it longer, or export to vipr"],
            )
    raise UnsupportedError(
        "cvc5's proof has steps without a rule, which prove nothing", ["export to vipr"]
    )


def _proof(script: str, seconds: float, options: Mapping[str, str]) -> str | None:
    solver = cvc5.Solver()
    for name, value in {**OPTIONS, **options}.items():
        solver.setOption(name, value)
    solver.setOption("tlimit-per", str(max(int(seconds * 1000), 1)))
    try:
        answer = _run(solver, script)
    except RuntimeError as error:
        raise SolverError(f"cvc5 did not take the script: {error}") from None
    if answer == "sat":
        raise SolverError("cvc5 found a point that the certificate rules out")
    if answer != "unsat":
        return None
    proof = solver.proofToString(solver.getProof()[0], cvc5.ProofFormat.CPC)
    return plain(proof.decode() if isinstance(proof, bytes) else proof)


def plain(proof: str) -> str:
    """A proof without the parentheses around all of it."""
    text = proof.strip()
    inside = text.removeprefix("(").removesuffix(")").strip()
    return f"{inside if inside.startswith(('(', ';')) else text}\n"


def _run(solver: Any, script: str) -> str:
    """What the solver answers to a script."""
    manager = cvc5.SymbolManager(solver)
    parser = cvc5.InputParser(solver, manager)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, script, "certificate")
    answer = "unknown"
    while not (command := parser.nextCommand()).isNull():
        said = str(command.invoke(solver, manager)).strip()
        if str(command).startswith("(check-sat"):
            answer = said
    return answer


__all__ = ["cpc", "proof_of"]

"""Ask cvc5 for a proof, in a process of its own that can be ended at any moment.

    python prover.py '{"option": "value", …}' < script   (a line with the answer, then the proof)

cvc5 keeps its own time limit while it searches, but not while it reads, writes or expands proofs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

import cvc5


def answered(script: str, options: Mapping[str, str]) -> tuple[str, str]:
    """What cvc5 answers to a script, and its proof in CPC if it is ``unsat``."""
    solver = cvc5.Solver()
    for name, value in options.items():
        solver.setOption(name, value)
    answer = _run(solver, script)
    if answer != "unsat":
        return answer, ""
    proof = solver.proofToString(solver.getProof()[0], cvc5.ProofFormat.CPC)
    return answer, proof.decode() if isinstance(proof, bytes) else str(proof)


def _run(solver: Any, script: str) -> str:
    manager = cvc5.SymbolManager(solver)
    parser = cvc5.InputParser(solver, manager)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, script, "certificate")
    answer = "unknown"
    while not (command := parser.nextCommand()).isNull():
        message = str(command.invoke(solver, manager)).strip()
        if str(command).startswith("(check-sat"):
            answer = message
    return answer


def main() -> None:
    """Read options and script, write answer and proof."""
    try:
        answer, proof = answered(sys.stdin.read(), json.loads(sys.argv[1]))
    except RuntimeError as error:
        answer, proof = "error", str(error)
    sys.stdout.write(f"{answer}\n{proof}")


if __name__ == "__main__":
    main()

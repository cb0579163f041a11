"""cvc5 as a program: an SMT-LIB script on standard input, its answer as JSON on standard output.

``python cvc5_child.py MILLISECONDS``; it imports nothing of ours.
"""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from typing import Any


def answer(text: str, milliseconds: str) -> dict[str, Any]:
    """``status``, ``reason`` and ``values`` by symbol; or ``error``."""
    import cvc5

    manager = cvc5.TermManager()
    solver = cvc5.Solver(manager)
    solver.setOption("produce-models", "true")
    solver.setOption("tlimit-per", milliseconds)
    symbols = cvc5.SymbolManager(manager)
    parser = cvc5.InputParser(solver, symbols)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "query")
    try:
        while not (command := parser.nextCommand()).isNull():
            message = command.invoke(solver, symbols)
            if "error" in message:
                return {"error": f"rejected the formula: {message}"}
        outcome = solver.checkSat()
        if outcome.isUnsat():
            return {"status": "unsat", "reason": "", "values": {}}
        if not outcome.isSat():
            reason = str(outcome.getUnknownExplanation())
            return {"status": "unknown", "reason": reason, "values": {}}
        values = {
            term.getSymbol(): value
            for term in symbols.getDeclaredTerms()
            if (value := _plain(solver.getValue(term))) is not None
        }
        return {"status": "sat", "reason": "", "values": values}
    except RuntimeError as error:
        return {"error": f"failed: {error}"}


def _plain(value: Any) -> str | bool | None:
    """A truth value, a rational as text, or ``None`` for what is neither."""
    if value.isBooleanValue():
        return bool(value.getBooleanValue())
    rational = value.isIntegerValue() or value.isRealValue()
    return str(Fraction(value.toPythonObj())) if rational else None


if __name__ == "__main__":
    sys.stdin.reconfigure(encoding="utf-8")  # type: ignore[union-attr]  # a TextIOWrapper
    print(json.dumps(answer(sys.stdin.read(), sys.argv[1])))

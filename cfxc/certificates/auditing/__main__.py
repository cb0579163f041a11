"""Check a certificate of a counterfactual with Python's standard library alone."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..checker import Clock, Rejected, Shown, check, need, read
from . import policy, report

WRONG = (OSError, EOFError, zlib.error, ValueError, RecursionError)
CODES = "exit codes: 0 it holds; 1 it does not; 2 it cannot be read; 3 it holds, model not run"


def arguments() -> argparse.ArgumentParser:
    """What may be asked for."""
    parser = argparse.ArgumentParser("cfxc-check", description=__doc__, epilog=CODES)
    parser.add_argument("certificate", type=Path)
    parser.add_argument("--model", type=Path, help="the model file, to be run beside the program")
    parser.add_argument("--rows", type=Path, help="a CSV file of rows to run both on")
    parser.add_argument("--seed", type=int, help="of the rows that are drawn; random otherwise")
    parser.add_argument("--trust-pickle", action="store_true", help="run the code in a pickle")
    parser.add_argument("--policy", type=Path, help="reject a question narrower than this (TOML)")
    parser.add_argument("--summary", type=Path, help="write a page to read (Markdown)")
    parser.add_argument("--json", action="store_true", help="print one object for machines")
    parser.add_argument("--seconds", type=float, help="give up after so long")
    return parser


def run_model(certificate: Any, shown: Shown, options: argparse.Namespace) -> tuple[str, bool]:
    """What running the model beside the program says, and whether it was run."""
    model: Path = options.model
    digest = hashlib.sha256(model.read_bytes()).hexdigest()
    need(shown.model is not None and digest == shown.model[1], "model: made for another file")
    from . import sampling

    seed = int.from_bytes(os.urandom(4), "big") if options.seed is None else options.seed
    given = certificate["space"], model, seed, options.rows, options.trust_pickle
    differs, unrun, sampled = sampling.run(shown, *given)
    need(not differs, f"model: the program is not the model's: {report.printable(differs)}")
    if unrun:
        return f"ONLY ITS HASH was compared; it was not run: {report.printable(unrun)}", False
    return f"run beside the program: sampled on {sampled}", True


def examined(options: argparse.Namespace) -> tuple[dict[str, Any], int]:
    """What is shown, and the exit code."""
    certificate, clock = read(options.certificate)
    shown = check(certificate, Clock(options.seconds) if options.seconds else clock)
    policy.require_same(shown.space, shown.question.features)
    message, ran = run_model(certificate, shown, options) if options.model else (report.UNRUN, True)
    found = report.facts(shown, message)
    if options.policy:
        policy.require_no_narrower(shown, options.policy.read_text("utf-8"), found["constraints"])
    return found, 0 if ran else 3


def main(given: list[str] | None = None) -> int:
    """Check a certificate; the exit code says whether it holds."""
    options = arguments().parse_args(given)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    found, code, why = dict[str, Any](), 0, ""
    try:
        found, code = examined(options)
        if options.summary:
            options.summary.write_text(report.markdown(found), "utf-8")
    except Rejected as error:
        code, why = 1, f"REJECTED: {str(error)[:1000]}"
    except WRONG as error:
        code, why = 2, f"cannot be read: {report.printable(str(error)[:200])}"
    with suppress(BrokenPipeError):
        print(json.dumps({"ok": not why, "reason": why, **found}) if options.json else
              why or report.text(found), flush=True)  # fmt: skip
    return code


if __name__ == "__main__":
    sys.exit(main())

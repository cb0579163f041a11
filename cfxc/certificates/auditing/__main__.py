"""Check a certificate of a counterfactual with Python's standard library alone."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..checker import Clock, Rejected, Shown, Undecided, check, need
from . import binding, inputs, report
from .inputs import WrongInput

CODES = (
    "exit codes: 0 it holds; 1 it does not, or is not what was asked for; 2 wrong input: it or "
    "another file cannot be used; 3 it holds, and the model could not be run; 4 undecided: a limit "
    "was reached"
)


def arguments() -> argparse.ArgumentParser:
    """What may be asked for."""
    parser = argparse.ArgumentParser("cfxc-check", description=__doc__, epilog=CODES)
    parser.add_argument("certificate", type=Path)
    parser.add_argument("--version", action="version", version=f"cfxc-check {_version()}")
    parser.add_argument("--model", type=Path, help="the model file, to be run beside the program")
    parser.add_argument("--rows", type=Path, help="a CSV file of rows to run both on")
    parser.add_argument("--seed", type=int, help="of the rows that are drawn; random otherwise")
    parser.add_argument("--trust-pickle", action="store_true", help="run the code in a pickle")
    parser.add_argument("--policy", type=Path, help="reject another question than this (TOML)")
    parser.add_argument(
        "--factual", metavar="ROW", help="whom it is about: people.csv:11, row.json"
    )
    parser.add_argument("--hash", metavar="HEX", help="as the letter names it, or its beginning")
    parser.add_argument("--summary", type=Path, help="write a page to read (Markdown)")
    parser.add_argument("--json", action="store_true", help="print one object for machines")
    parser.add_argument("--seconds", type=float, help="of processor time, before it gives up")
    return parser


def _version() -> str:
    """Of the cfxc that wrote this file, or that this is a part of."""
    root = sys.modules[str(__package__).partition(".")[0]]
    return str(getattr(root, "VERSION", None) or getattr(root, "__version__", "unknown"))


def run_model(certificate: Any, shown: Shown, options: argparse.Namespace) -> tuple[str, str, int]:
    """What running the model beside the program says, the verdict, and the exit code."""
    model: Path = options.model
    digest, named = hashlib.sha256(model.read_bytes()).hexdigest(), shown.model is not None
    if shown.model is not None:
        named_hash = shown.model[1]
        other = f"made for another file than {report.printable(str(model))}"
        need(digest == named_hash, f"model: {other}: SHA-256 {named_hash}, and not {digest}")
    from . import sampling

    seed = int.from_bytes(os.urandom(4), "big") if options.seed is None else options.seed
    given = certificate["space"], model, seed, options.rows, options.trust_pickle
    differs, unrun, sampled = sampling.run(shown, *given)
    need(not differs, f"model: the program is not the model's: {report.printable(differs)}")
    unnamed = "" if named else NO_MODEL + "; "
    if sampled is None:
        held = "ONLY ITS HASH was compared; " if named else "NOTHING of it was compared; "
        return f"{unnamed}{held}it was not run: {report.printable(unrun)}", report.UNKNOWN, 3
    question = shown.question
    scored = question.program.labels and (question.margin or question.least is not None)
    scores = "; LABELS ALONE were compared, not the scores of the margin" if scored else ""
    message = f"{unnamed}run beside the program: sampled on {sampled.text}{scores}"
    return message, report.agreed(sampled.rows), 0


NO_MODEL = "the certificate names no model file"


def require_sense(options: argparse.Namespace) -> None:
    """Raises ``WrongInput`` for options without effect, and for files that cannot be read."""
    for name in ("rows", "seed"):
        if options.model is None and getattr(options, name) is not None:
            raise WrongInput(f"--{name} has no effect without --model")
    if options.summary is not None and options.summary.suffix.lower() not in report.PAGES:
        raise WrongInput(f"{options.summary}: the page is Markdown: {' or '.join(report.PAGES)}")
    if options.seconds is not None and not options.seconds > 0:
        raise WrongInput("--seconds is a number above 0, such as 60")
    for path in (options.model, options.rows):
        if path is not None:
            inputs.require_file(path)
    if options.model is not None:
        inputs.require_model(options.model)


def examined(options: argparse.Namespace) -> tuple[dict[str, Any], int]:
    """What is shown, and the exit code."""
    require_sense(options)
    asked = binding.Asked.read(options.policy, options.factual, options.hash)
    certificate, clock = inputs.certificate(options.certificate)
    shown = check(certificate, clock if options.seconds is None else Clock(options.seconds))
    found, code = asked.facts(shown), 0
    if options.model is not None:
        found["run"], found["verdict"], code = run_model(certificate, shown, options)
    return found, code


def main(given: list[str] | None = None) -> int:
    """Check a certificate; the exit code says whether it holds."""
    options = arguments().parse_args(given)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # TextIOWrapper
    found, code, why = dict[str, Any](), 0, ""
    try:
        found, code = examined(options)
        if options.summary:
            options.summary.write_text(report.markdown(found), "utf-8")
    except Undecided as error:
        code, why = 4, report.undecided(str(error))
    except MemoryError:
        code, why = 4, report.undecided("it takes more memory than there is")
    except Rejected as error:
        code, why = 1, f"REJECTED: {inputs.reason_of(error)[:1000]}"
    except WrongInput as error:
        code, why = 2, report.printable(str(error)[:500])
    except OSError as error:
        code, why = 2, f"cannot be used: {report.printable(str(error)[:200])}"
    with suppress(BrokenPipeError):
        print(json.dumps({"ok": not why, "reason": why, **found}) if options.json else
              why or report.text(found), flush=True)  # fmt: skip
    return code


if __name__ == "__main__":
    sys.exit(main())

"""``cfxc check`` and ``cfxc export``: does a certificate hold, also for others' checkers?"""

from __future__ import annotations

import json
import secrets
from dataclasses import replace
from pathlib import Path

from ..errors import InvalidInputError, VerificationError

REJECTED = 5
"""Exit code of a certificate that does not hold."""


def check(
    source: Path,
    model: str | None,
    rows: Path | None,
    seed: int | None,
    trust_pickle: bool,
    policy: Path | None,
    summary: Path | None,
    as_json: bool,
) -> int:
    """Print what a certificate shows; the exit code says whether it holds."""
    from ..certificates import report

    found = report(source, policy=policy)
    if found.ok and model is not None:
        from ..solvers.certification import require_program_of

        seed = secrets.randbits(32) if seed is None else seed
        try:
            sampled = require_program_of(
                found.content, model, trust_pickle=trust_pickle, seed=seed, rows=rows
            )
            said = f"compiled anew, and the same program; run beside it: {sampled}"
            found = replace(found, facts={**found.facts, "run": said})
        except VerificationError as error:
            found = replace(found, ok=False, reason=str(error), facts={})
    if as_json:
        print(json.dumps({"ok": found.ok, "reason": found.reason, **found.facts}))
    else:
        print(found.summary())
    if summary is not None:
        try:
            summary.write_text(found.to_markdown(), "utf-8")
        except OSError as error:
            raise InvalidInputError(f"{summary}: cannot be written: {error.strerror}") from None
    return 0 if found.ok else REJECTED


def checker(out: Path) -> int:
    """Write the checker as one file."""
    from ..certificates import write_checker

    print(f"wrote {write_checker(out)}")
    return 0


def export(source: Path, format: str, out: Path, time_limit: float) -> int:
    """Write a certificate for other people's checkers, and say what was written."""
    from ..certificates import export as write

    try:
        written = write(source, format, out, time_limit=time_limit)
    except VerificationError as error:
        print(f"rejected: {error}")
        return REJECTED
    for path in written:
        print(f"wrote {path} ({path.stat().st_size} bytes)")
    return 0


__all__ = ["check", "checker", "export"]

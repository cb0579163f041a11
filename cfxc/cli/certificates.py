"""``cfxc check`` and ``cfxc export``: does a certificate hold, also for others' checkers?"""

from __future__ import annotations

import json
from pathlib import Path

from ..errors import VerificationError

REJECTED = 5
"""Exit code of a certificate that does not hold."""


def check(source: Path, model: str | None, trust_pickle: bool, page: bool, as_json: bool) -> int:
    """Print what a certificate shows; the exit code says whether it holds."""
    from ..certificates import report

    found = report(source)
    reason = found.reason
    if found.ok and model is not None:
        from ..solvers.certification import require_program_of

        try:
            require_program_of(found.content, model, trust_pickle=trust_pickle)
        except VerificationError as error:
            reason = str(error)
    if as_json:
        print(json.dumps({"ok": not reason, "reason": reason, "shown": dict(found.shown)}))
    elif page:
        print(found.to_markdown() if found.ok else f"# Rejected\n\n{reason}")
    else:
        print(f"rejected: {reason}" if reason else found.summary())
    if model is not None and not reason and not as_json:
        print(f"The program is what {model} computes: compiled anew, and the same.")
    return REJECTED if reason else 0


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


__all__ = ["check", "export"]

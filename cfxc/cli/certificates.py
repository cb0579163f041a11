"""``cfxc check``: does a certificate hold, and does it belong to a model?"""

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


__all__ = ["check"]

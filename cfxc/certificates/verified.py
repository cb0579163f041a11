"""Ask ``cfxc-verified``: a checker that is proved sound in Coq, where one is on PATH."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from ..errors import InvalidInputError

PROGRAM, NAME = "cfxc-verified", "certificate.json"
LONGEST = 1e6  # seconds that are handed on
ACCEPTED, REJECTED = 0, 1
"""Its exit codes; another one: it does not cover what the certificate is about."""


class Verdict(NamedTuple):
    """What it said.

    Attributes:
        line: The verdict and, where there is one, the reason.
        code: Its exit code; ``None`` where the time was up.
    """

    line: str
    code: int | None


def ask(content: Mapping[str, Any], seconds: float | None = None) -> Verdict:
    """What the verified checker says of a certificate, as it was read.

    Raises:
        InvalidInputError: it is not on PATH.
    """
    if (tool := shutil.which(PROGRAM)) is None:
        raise InvalidInputError(
            f"{PROGRAM} is not on PATH; `make verified` builds it: docs/how-to/certificates.md"
        )
    limit = None if seconds is None else min(seconds, LONGEST)
    given = [] if limit is None else ["--seconds", str(limit)]
    with TemporaryDirectory() as folder:
        (Path(folder) / NAME).write_text(json.dumps(content), "ascii")
        try:
            done = subprocess.run(
                [Path(tool).absolute(), *given, NAME], cwd=folder, capture_output=True, text=True,
                encoding="utf-8", errors="backslashreplace", timeout=limit, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return Verdict(f"{PROGRAM} took more than {seconds:g} seconds", None)
    told = (text.strip().removeprefix(f"{NAME}: ") for text in (done.stdout, done.stderr))
    return Verdict(": ".join([PROGRAM, *filter(None, told)]), done.returncode)

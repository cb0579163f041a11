"""The checker in a process of its own: what it says, and what it takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parents[2]


class Outcome(NamedTuple):
    """How a file was decided, in what time of a processor (seconds) and memory (MiB)."""

    code: int
    seconds: float
    memory: float
    said: str

    @property
    def is_decided(self) -> bool:
        """A verdict, or that there is none, in 10 seconds and 512 MiB, and with a sentence."""
        fits = self.seconds <= 10 and self.memory <= 512
        return (
            fits and self.code in (0, 1, 2, 4) and "Traceback" not in self.said and bool(self.said)
        )


MEASURE = """
import json, resource, subprocess, sys
limit, out, *command = sys.argv[1:]
with open(out, "wb") as stream:
    try:
        done = subprocess.run(command, stdout=stream, stderr=stream, timeout=float(limit))
        code = done.returncode
    except subprocess.TimeoutExpired:
        code = 124
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([code, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
"""


def run(path: Path, *options: str, limit: float = 100) -> Outcome:
    """Check a file in a process of its own, which a small one measures."""
    out = path.with_suffix(".out")
    command = [sys.executable, "-c", MEASURE, str(limit), str(out), sys.executable, "-m"]
    command += ["cfxc.certificates.auditing", str(path), *options]
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    measured = subprocess.run(command, cwd=HERE, env=environment, check=True, capture_output=True)
    code, seconds, memory = json.loads(measured.stdout)
    with out.open("rb") as stream:
        said = stream.read(20_000).decode("utf-8", "replace")
    out.unlink()
    return Outcome(code, seconds, memory, said)


__all__ = ["Outcome", "run"]

"""treecf and OCEAN, in a Python 3.12 of their own that ``CFXC_PEER_PYTHON`` names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Timer
from typing import Any

import numpy as np

from .portable import trees_of, write
from .tasks import Task

VARIABLE = "CFXC_PEER_PYTHON"
WANTED = {"treecf": "0.3.2", "oceanpy": "2.0.7"}
WORKER = Path(__file__).with_name("peer_worker.py")
SINGLE = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")
READY = 900.0  # seconds that a peer may take to read a model
GRACE = 10.0  # seconds past its own limit after which a peer is ended
NOTHING = {"status": "ended", "row": None, "nodes": None, "objective": None}


@dataclass(frozen=True)
class Reply:
    """What a peer says of one person: status, columns of its answer, work and seconds."""

    status: str
    row: list[float] | None
    nodes: int | None
    objective: float | None
    seconds: float
    cpu: float

    @property
    def proved(self) -> bool:
        return self.status == "optimal"


@dataclass(frozen=True)
class Peers:
    """An interpreter that has both peers."""

    python: str
    versions: str

    def ask(
        self, engine: str, task: Task, people: int, seconds: float, *, warm: int
    ) -> list[Reply]:
        """The replies on the ``people`` after the first ``warm`` ones, who are not timed.

        Raises:
            ValueError: the plain form of the model does not predict what the model predicts.
        """
        rows = task.people.iloc[: warm + people]
        trees = trees_of(task.pipeline[-1])
        said = trees.scores(task.columns(task.data.X)) >= trees.cut
        if (said != (task.pipeline.predict(task.data.X) == 1)).any():
            raise ValueError(f"{task.name}: the plain trees do not predict what the model predicts")
        with TemporaryDirectory() as folder:
            write(Path(folder), trees, task.parts(), task.columns(rows))
            return self._run(engine, folder, len(rows), warm, seconds)[warm:]

    def _run(self, engine: str, folder: str, people: int, warm: int, seconds: float) -> list[Reply]:
        """The replies, by a new process after each one that had to be ended."""
        command = [self.python, str(WORKER), engine, folder, "--warm", str(warm),
                   "--seconds", str(seconds)]  # fmt: skip
        found: list[Reply] = []
        while len(found) < people:
            replies = list(self._replies(command, range(len(found), people), seconds))
            if not replies:
                break
            found += replies
        return found

    def _replies(self, command: list[str], people: range, seconds: float) -> Iterator[Reply]:
        """What one process says of some people, until it overruns its limit."""
        engine = command[2]
        with subprocess.Popen(
            [*command, "--first", str(people.start)], env=clean(), stdout=subprocess.PIPE,
            text=True, encoding="utf-8",
        ) as process:  # fmt: skip
            _line(process, READY)
            for number in people:
                line, ended = _line(process, seconds + GRACE)
                if not line and not ended:
                    break
                late = {"seconds": seconds + GRACE, "cpu": seconds + GRACE}
                reply = Reply(**(json.loads(line) if line else NOTHING | late))
                note = f"{engine}  {number}  {reply.status}  {reply.seconds:.2f} s"
                print(note, file=sys.stderr, flush=True)
                yield reply
        if process.returncode:
            print(f"{engine} ended with {process.returncode}", file=sys.stderr)


def _line(process: subprocess.Popen[str], seconds: float) -> tuple[str, bool]:
    """The next line that a process prints, and whether it was killed for taking longer."""
    assert process.stdout is not None
    timer = Timer(seconds, process.kill)
    timer.start()
    line = process.stdout.readline()
    ended = not timer.is_alive()
    timer.cancel()
    return line, ended


def clean() -> dict[str, str]:
    """The environment with one thread, and without what would lead the peers to our packages."""
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    return {**kept, **dict.fromkeys(SINGLE, "1")}


def find_peers() -> Peers | None:
    """The peers, installed if need be into an environment beside the user's cache; or ``None``."""
    given = os.environ.get(VARIABLE)
    if not given:
        print(f"peers skipped: {VARIABLE} names no Python 3.12\n")
        return None
    for python in (given, str(_environment())):
        versions = _versions(python)
        if versions is not None:
            return Peers(python, versions)
    try:
        python = _install(given)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"peers skipped: they cannot be installed ({error})\n")
        return None
    versions = _versions(python)
    return None if versions is None else Peers(python, versions)


def _environment() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return cache / "cfxc" / "peers" / "bin" / "python"


def _install(given: str) -> str:
    python = _environment()
    subprocess.run([given, "-m", "venv", str(python.parent.parent)], check=True, env=clean())
    packages = [f"{name}=={version}" for name, version in WANTED.items()]
    command = [str(python), "-m", "pip", "install", "--quiet", *packages]
    subprocess.run(command, check=True, env=clean())
    return str(python)


def _versions(python: str) -> str | None:
    """The versions of the peers in an environment, if they are the wanted ones."""
    script = (
        "import importlib.metadata as m, platform; "
        f"found = {{p: m.version(p) for p in {list(WANTED)!r}}}; "
        f"assert found == {WANTED!r}, found; "
        "print('treecf', found['treecf'], 'and oceanpy', found['oceanpy'], "
        "'(ortools', m.version('ortools') + ') on Python', platform.python_version())"
    )
    try:
        done = subprocess.run(
            [python, "-c", script], check=True, env=clean(), capture_output=True, text=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def points(task: Task, replies: list[Reply]) -> list[Any]:
    """The rows that the replies stand for, one-row tables; ``None`` where there is none."""
    return [None if reply.row is None else task.rows(np.array([reply.row])) for reply in replies]

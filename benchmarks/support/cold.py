"""The first answer of a new process: interpreter, imports, model file, compilation, search."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import joblib

from .report import Table
from .tasks import Task

RUNS = 5
TARGET = 3.0  # seconds from compile to the first answer
HEADER = ("model", "runs", "process, s", "imports, s", "read, s", "compile, s", "first answer, s",
          "compile to answer", "target", "met")  # fmt: skip
SCRIPT = """
import json, sys, time
start = time.perf_counter()
import pandas, joblib, sklearn.ensemble, sklearn.pipeline, sklearn.compose, cfxc
imported = time.perf_counter()
model, space, person = joblib.load(sys.argv[1])
read = time.perf_counter()
compiled = cfxc.compile(model, space)
ready = time.perf_counter()
answer = compiled.explain(person, target=1, distance="l1")
done = time.perf_counter()
print(json.dumps([imported - start, read - imported, ready - read, done - ready, answer.status]))
"""


def first_answer(task: Task) -> tuple[str, ...]:
    """A row of medians over new processes; one more before them fills the disk's cache."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "question.joblib"
        joblib.dump((task.pipeline, task.data.space, task.people.iloc[[1]]), path)
        runs = [_once(path) for _ in range(RUNS + 1)][1:]
    process, imports, read, ready, done = (median(column) for column in zip(*runs, strict=True))
    both = median(run[3] + run[4] for run in runs)
    return (
        task.name, str(RUNS), *(f"{value:.2f}" for value in (process, imports, read, ready, done)),
        f"{both:.2f}", f"<= {TARGET:.0f} s", "yes" if both <= TARGET else "NO",
    )  # fmt: skip


def _once(path: Path) -> list[float]:
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(path)], check=True, capture_output=True, text=True
    )
    process = time.perf_counter() - started
    *seconds, _ = json.loads(done.stdout.splitlines()[-1])
    return [process, *seconds]


def table(tasks: list[Task]) -> Table:
    """One row for each model."""
    return Table("cold process", HEADER, [first_answer(t) for t in tasks])

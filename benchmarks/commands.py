"""Commands with time limits: how late ``plan``, ``regress``, ``generate`` and ``batch`` end.

Each runs in a new process on a terminal of its own.  What a command takes to start is the wall
seconds of the same command with a limit of 0.01 s; what it takes beyond that and its limit is
late.  What it says while it works is read from the terminal: its sentences, numbers left out, and
the longest time without a word.  ``regress`` may take its limit twice, to search and to prove.
``CFXC_DATA`` names the folder of the data.
"""

from __future__ import annotations

import argparse
import os
import pty
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import joblib
from limits import Kind, classifier, network, regression
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPRegressor
from support.report import Table, circumstances
from support.tasks import adult, forest

LEAST = 0.01
HEADER = ("command", "limit, s", "to start, s", "late, s", "longest silence, s", "says meanwhile")
PEOPLE = 2000  # of a batch


@dataclass(frozen=True)
class Case:
    """A command without its limit, the flag of that, and how often the limit may be used."""

    name: str
    flags: tuple[str, ...]
    limit: str = "--time-limit"
    times: int = 1


@dataclass(frozen=True)
class Ran:
    """Wall seconds of a command, the longest time without output, and its sentences."""

    seconds: float
    silence: float
    said: tuple[str, ...]


def cases(folder: Path) -> Iterator[Case]:
    """The commands, once their files are written."""
    data = adult()
    table = data.X.assign(income=data.y)
    table.to_csv(folder / "adult.csv", index=False)
    table.iloc[:PEOPLE].to_csv(folder / "people.csv", index=False)
    linear = classifier(lambda: LogisticRegression(max_iter=1000))
    trees = classifier(forest(100, 8), scaled=False)
    values = regression(
        lambda: MLPRegressor(hidden_layer_sizes=(32, 32), max_iter=300, random_state=0)
    )
    smooth = classifier(network("tanh", 16, 16), rows=16_000)
    for name, kind in {
        "linear": linear,
        "trees": trees,
        "values": values,
        "smooth": smooth,
    }.items():
        write(kind, name, folder)
    plan = ("plan", *of("linear"), "--target", "1")
    begun = ("--retrain", "adult.csv", "--outcome", "income")
    done = ("generate", "fit", *of("trees")[:-2], "--data", "adult.csv", "--epochs", "2")
    for flags in (
        (*plan, *begun, "--retrainings", "150", "--save-moments", "m.json"),
        (*done, "-o", "generator"),
    ):
        subprocess.run([*CFXC, *flags], cwd=folder, check=True, capture_output=True)
    yield Case("plan, retraining", (*plan, *begun))
    yield Case("plan, moments", (*plan, "--moments", "m.json", "--size", "20"))
    yield Case("regress, found", ("regress", *of("values"), "--to", "90"), times=2)
    yield Case("regress, out of reach", ("regress", *of("values"), "--to", "400"), times=2)
    drawn = ("--generator", "generator", "--rows", "trees.csv", "-n", "20000", "-o", "rows.csv")
    run = ("generate", "run", *of("trees")[:-2], "--target", "1", "--overwrite")
    yield Case("generate run", (*run, *drawn))
    for name in ("trees", "smooth"):
        asked = ("--rows", "people.csv", "--target", "1", "-o", f"{name}-answers.csv")
        yield Case(f"batch, {name}", ("batch", *of(name)[:-2], *asked), "--total-time-limit")


CFXC = [sys.executable, "-m", "cfxc"]


def of(name: str) -> tuple[str, ...]:
    return (
        f"{name}.joblib", "--trust-pickle", "--space", f"{name}.toml", "--factual", f"{name}.csv:0"
    )  # fmt: skip


def write(kind: Kind, name: str, folder: Path) -> None:
    joblib.dump(kind.estimator, folder / f"{name}.joblib")
    kind.space.to_toml(folder / f"{name}.toml")
    kind.people.iloc[:5].to_csv(folder / f"{name}.csv", index=False)


def run(case: Case, limit: float, folder: Path) -> Ran:
    """Run a command on a terminal, and read what it says on it."""
    for old in folder.glob("*-answers.csv*"):
        subprocess.run(["rm", "-rf", old], check=True)
    ours, theirs = pty.openpty()
    begun = time.perf_counter()
    done = subprocess.Popen(
        [*CFXC, *case.flags, case.limit, str(limit)], cwd=folder, stdout=subprocess.DEVNULL,
        stderr=theirs, env={**os.environ, "COLUMNS": "120", "TERM": "xterm"},
    )  # fmt: skip
    os.close(theirs)
    last, silence, text = begun, 0.0, b""
    while part := _read(ours):
        silence, last = max(silence, time.perf_counter() - last), time.perf_counter()
        text += part
    os.close(ours)
    if done.wait() not in (0, 4):
        raise SystemExit(f"{case.name}: exit code {done.returncode}: {text.decode()[-500:]}")
    return Ran(time.perf_counter() - begun, silence, sentences(text.decode("utf-8", "replace")))


def _read(ours: int) -> bytes:
    try:
        return os.read(ours, 65536)
    except OSError:  # the terminal's other end is closed
        return b""


def sentences(text: str) -> tuple[str, ...]:
    """The distinct sentences of a terminal's text, each number as ``#``."""
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "\n", text)
    lines = (re.sub(r"[^\x20-\x7e…→]", " ", line) for line in re.split(r"[\r\n]+", plain))
    short = (re.sub(r"\d[\d.,e:%-]*", "#", line).strip() for line in lines)
    return tuple(dict.fromkeys(line for line in short if len(line) > 3))


def row(case: Case, limit: float, start: float, runs: list[Ran]) -> tuple[str, ...]:
    late = [each.seconds - start - case.times * limit for each in runs]
    said = dict.fromkeys(line for each in runs for line in each.said if "…" in line)
    return (
        case.name, f"{limit:g}", f"{start:.2f}",
        f"{statistics.median(late):.2f} (worst {max(late):.2f})",
        f"{max(each.silence for each in runs):.2f}", "; ".join(said),
    )  # fmt: skip


@cache
def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(description=__doc__)
    found.add_argument("--limits", default="0.5,2,8")
    found.add_argument("--runs", type=int, default=3, help="of each command and limit")
    found.add_argument("--only", default="", help="commands whose name begins so")
    return found


def main() -> None:
    options = parser().parse_args()
    limits = [float(limit) for limit in options.limits.split(",")]
    table = Table("seconds beyond the start and the limit, median and worst", HEADER)
    with TemporaryDirectory() as name:
        folder = Path(name)
        for case in cases(folder):
            if not case.name.startswith(options.only):
                continue
            starts = [run(case, LEAST, folder).seconds for _ in range(options.runs)]
            for limit in limits:
                runs = [run(case, limit, folder) for _ in range(options.runs)]
                table.rows.append(row(case, limit, statistics.median(starts), runs))
                print(*table.rows[-1], sep=" | ", file=sys.stderr, flush=True)
    print(circumstances("python benchmarks/commands.py"), table.markdown(), sep="\n\n")


if __name__ == "__main__":
    main()

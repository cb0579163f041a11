"""Certificates: their size, the time to write one, and the time to check it.

    python benchmarks/certificates.py [--people 5] [--markdown benchmarks/results/certificates.md]

For the models of ``oracle.py`` and the larger ones of ``exact.py`` on Adult.  Everything written is
checked by the checker's file alone, in a virtual environment with nothing in it; exits with 1 if a
certificate is rejected.
"""

from __future__ import annotations

import subprocess
import sys
import time
import venv
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
from support.cases import DATA, DISTANCES, MODELS, cases
from support.report import Table, circumstances, write_section
from support.tasks import (
    adult,
    boosting,
    fit,
    forest,
    made,
    network,
    rotated,
    squares,
    xgboost,
)

import cfxc
from cfxc.certificates import write_checker
from cfxc.errors import UnsupportedError

HEADER = (
    "model", "distance", "people", "certified", "kB (gzip): median", "most",
    "write: median s", "check: median s", "most",
)  # fmt: skip


def questions(people: int) -> Iterator[tuple[str, cfxc.CompiledModel, pd.DataFrame, str, Any]]:
    """Model, compiled, people, distance and target label."""
    for case in cases(DATA, MODELS):
        for distance in DISTANCES:
            yield (
                f"{case.data.name}, {case.model}",
                case.compiled,
                case.people.iloc[:people],
                distance,
                None,
            )
    data = adult()
    for name, make, scaled in (
        ("forest 100×8", forest(100, 8), False),
        ("XGBoost 100×6", xgboost(100, 6), False),
        ("gradient boosting 100×6", boosting(100, 6), False),
        ("network (20, 20)", network(20, 20), True),
        ("network (50, 50)", network(50, 50), True),
    ):
        task = fit(data, name, make, scaled=scaled)
        yield task.name, task.compiled, task.people.iloc[:people], "l1", 1
    small = made(6)  # products, trees over forms, smooth functions
    for name, make in (
        ("squares", squares()),
        ("boosting 10×3 over PCA", rotated(10, 3)),
        ("tanh (8)", network(8, activation="tanh")),
        ("logistic (8)", network(8, activation="logistic")),
        ("tanh (6, 6)", network(6, 6, activation="tanh")),
    ):
        task = fit(small, name, make, scaled=True)
        yield task.name, task.compiled, task.people.iloc[:people], "l1", 1


def measured(
    compiled: cfxc.CompiledModel, people: pd.DataFrame, distance: str, wanted: Any, alone: Path
) -> tuple[list[tuple[int, float, float]], int, list[str]]:
    """(bytes, seconds to write, seconds to check) of each certificate; how many; faults.

    ``alone``: a Python without packages, which checks; starting it is part of the time.
    """
    found, faults = [], []
    path = alone.parent / "certificate.json.gz"
    checker = write_checker(alone.parent / "cfxc-check.pyz")
    for place in range(len(people)):
        result = compiled.explain(people.iloc[[place]], target=wanted, distance=distance)
        started = time.perf_counter()
        try:
            certificate = result.certificate
        except UnsupportedError as error:
            print(f"person {place}: {error}", file=sys.stderr)
            continue
        written = time.perf_counter()
        certificate.save(path)
        begun = time.perf_counter()
        command = [alone, "-I", checker, path]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        checked = time.perf_counter()
        if done.returncode or not done.stdout.startswith("accepted"):
            faults.append(f"rejected: {done.stdout}{done.stderr}")
            continue
        found.append((path.stat().st_size, written - started, checked - begun))
    return found, len(people), faults


def main() -> None:
    """Measure, print, and exit with 1 if a certificate is rejected."""
    parser = ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--people", type=int, default=5, help="per model and distance")
    parser.add_argument("--markdown", type=Path, help="page whose section is rewritten")
    options = parser.parse_args()
    table, faults = Table("Certificates", HEADER), []
    folder = TemporaryDirectory()
    venv.create(folder.name, with_pip=False)
    alone = Path(folder.name) / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    for name, compiled, people, distance, wanted in questions(options.people):
        found, asked, wrong = measured(compiled, people, distance, wanted, alone)
        print(name, distance, *found, file=sys.stderr, flush=True)  # it takes a while
        faults += [f"{name}, {distance}: {text}" for text in wrong]
        if not found:
            table.rows.append((name, distance, str(asked), "0", *("" for _ in HEADER[4:])))
            continue
        sizes, writing, checking = zip(*found, strict=True)
        table.rows.append(
            (
                name, distance, str(asked), str(len(found)),
                f"{median(sizes) / 1e3:.0f}", f"{max(sizes) / 1e3:.0f}", f"{median(writing):.2f}",
                f"{median(checking):.2f}", f"{max(checking):.2f}",
            )
        )  # fmt: skip
    table.show()
    print(*faults, sep="\n")
    if options.markdown:
        command = f"python benchmarks/certificates.py --people {options.people}"
        write_section(
            options.markdown, "certificates", f"{table.markdown()}\n{circumstances(command)}"
        )
    raise SystemExit(bool(faults))


if __name__ == "__main__":
    main()

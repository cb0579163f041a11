"""Two versions of cfxc in turn: the same models and people, l1, one thread, processor seconds.

The other version is a checkout with an environment of its own:

    git worktree add ../before COMMIT && cd ../before
    python -m venv .venv && .venv/bin/pip install -e . xgboost

Each person is asked twice of either version, the second time in the other order, and the quicker
answer counts; so what else the machine does bears on both alike.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from statistics import median

import numpy as np
from support.report import Table, circumstances

MODELS = (
    "adult-rf-100-8", "adult-rf-100-8-alone", "adult-xgb-100-6", "adult-xgb-100-6-alone",
    *(f"{data}-{kind}" for data in ("20", "30", "heloc")
      for kind in ("rf-100-6", "gb-100-4", "xgb-100-4")),
)  # fmt: skip
HERE = Path(__file__).parent
HEADER = ("model", "people", "proved before", "proved", "median before, s", "median, s", "×",
          "95 % before, s", "95 %, s", "×", "median of ×", "apart")  # fmt: skip


class Version:
    """A process that answers with the code of one checkout."""

    def __init__(self, root: Path, python: str) -> None:
        command = [python, str(HERE / "support" / "version_worker.py"), str(root)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=root)

    def ask(self, *order: object) -> list:
        """Its reply to one order."""
        print(json.dumps(order), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            sys.exit("a version ended: see what it printed above")
        return json.loads(line)


def in_turn(versions: list[Version], *order: object) -> list[list]:
    """The quicker of two replies of each."""
    once = [version.ask(*order) for version in versions]
    again = [version.ask(*order) for version in reversed(versions)][::-1]
    return [min(pair, key=lambda reply: reply[0]) for pair in zip(once, again, strict=True)]


def row(model: str, replies: list[list[list]], epsilon: float) -> tuple[str, ...]:
    """The cells of a model; ``apart``: optima of the two that cannot both be true."""
    done = [[answer[1] in ("optimal", "infeasible") for answer in side] for side in replies]
    cpu = [np.array([answer[0] for answer in side]) for side in replies]
    apart = 0
    for one, other in zip(*replies, strict=True):
        if one[1] == other[1] == "optimal":
            near, far = sorted((Fraction(one[2]), Fraction(other[2])))
            apart += far > near * (1 + Fraction(epsilon)) + Fraction(1, 10**9)
    middle = [median(side) for side in cpu]
    top = [float(np.quantile(side, 0.95)) for side in cpu]
    return (
        model, str(len(cpu[0])), *(str(sum(side)) for side in done),
        *(f"{value:.4f}" for value in middle), f"{middle[1] / middle[0]:.2f}",
        *(f"{value:.4f}" for value in top), f"{top[1] / top[0]:.2f}",
        f"{median(cpu[1] / cpu[0]):.2f}", str(apart),
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path, help="the checkout of the other version")
    parser.add_argument("--models", default=",".join(MODELS), help="of these, by commas")
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--epsilon", type=float, default=1e-3)
    parser.add_argument("--seconds", type=float, default=30.0, help="limit for each")
    options = parser.parse_args()
    before = options.before.resolve()
    sides = ((before, str(before / ".venv/bin/python")), (HERE.parent.resolve(), sys.executable))
    table = Table(f"ε = {options.epsilon:g}, limit {options.seconds:g} s", HEADER)
    for model in options.models.split(","):
        versions = [Version(*side) for side in sides]
        people = min(version.ask("fit", model, options.epsilon)[0] for version in versions)
        chosen = range(1, min(options.people + 1, people))
        order = (options.epsilon, options.seconds)
        replies = [in_turn(versions, "ask", number, *order) for number in chosen]
        for version in versions:
            version.process.kill()
        table.rows.append(row(model, [list(side) for side in zip(*replies, strict=True)], order[0]))
        print(*table.rows[-1], sep=" | ", file=sys.stderr, flush=True)
    print(table.markdown(), circumstances("python benchmarks/versions.py"), sep="\n")


if __name__ == "__main__":
    main()

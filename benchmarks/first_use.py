"""Five tools as their first pages use them: the same forest, the same refused people.

HELOC's rows without special values (23 whole numbers), a forest of 100 trees of depth 6, people
it takes for bad risks, the age of their oldest account fixed, one thread.  Of each tool: rows that
the model accepts, rows that a person could have (nothing fixed touched, whole numbers where the
data have them, within the data), changes a row, distance (mean share of the ranges, l1) over the
proved least one, seconds of the first answer from a cold start and of the next ones.
``CFXC_PEER_PYTHON``, ``CFXC_DICE_PYTHON``, ``CFXC_ALIBI_PYTHON`` name the tools' own Pythons; a
tool without one is left out.  ``CFXC_DATA`` names the folder of the data.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import joblib
import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from support.peers import clean
from support.report import Table
from support.tasks import heloc

WORKER = Path(__file__).parent / "support" / "first_use_worker.py"
PYTHONS = {
    "cfxc": sys.executable,
    **dict.fromkeys(("treecf", "treecf-exact", "ocean"), os.environ.get("CFXC_PEER_PYTHON")),
    **dict.fromkeys(("dice", "dice-genetic"), os.environ.get("CFXC_DICE_PYTHON")),
    "alibi": os.environ.get("CFXC_ALIBI_PYTHON"),
}
FIXED = ["MSinceOldestTradeOpen"]
HEADER = (
    "tool", "answers", "accepted", "possible", "changes", "× least distance", "first, s", "next, s",
)  # fmt: skip


class Case:
    """The table, the forest and the people, written into a folder."""

    def __init__(self, folder: Path, people: int) -> None:
        data = heloc()
        if data is None:
            raise SystemExit("CFXC_DATA names no folder that holds HELOC")
        kept = (data.X >= 0).all(axis=1)
        self.folder, self.X, y = folder, data.X[kept], 1 - data.y[kept]
        self.whole = [name for name in self.X if (self.X[name] % 1 == 0).all()]
        self.model = RandomForestClassifier(100, max_depth=6, random_state=0, n_jobs=1).fit(
            self.X, y
        )
        self.people = self.X[self.model.predict(self.X) == 1].iloc[:people]
        joblib.dump(self.model, folder / "model.joblib")
        self.X.assign(y=y).to_csv(folder / "data.csv", index=False)
        self.people.to_csv(folder / "people.csv", index=False)
        names = json.dumps({"whole": self.whole, "fixed": FIXED})
        (folder / "names.json").write_text(names, encoding="utf-8")

    def ask(self, tool: str, seconds: float, most: float) -> list[dict[str, Any]]:
        """The tool's replies; it is stopped after ``most`` seconds in all."""
        command = [
            str(PYTHONS[tool]),
            str(WORKER),
            tool,
            str(self.folder),
            "--seconds",
            f"{seconds}",
        ]
        try:
            done = subprocess.run(
                command, env=clean(), capture_output=True, text=True, timeout=most
            )
            text, note = done.stdout, done.stderr if done.returncode else ""
        except subprocess.TimeoutExpired as stopped:
            text, note = (stopped.stdout or b"").decode(), f"stopped after {most:g} s"
        print(f"{tool}: {note[-300:]}" if note else tool, file=sys.stderr, flush=True)
        return [json.loads(line) for line in text.splitlines() if line.startswith("{")]

    def possible(self, row: Any, person: Any) -> bool:
        """Whether a person could have the row."""
        new = pd.Series(row, self.X.columns)
        whole = (new[self.whole] % 1 == 0).all()
        inside = ((new >= self.X.min()) & (new <= self.X.max())).all()
        return bool(whole and inside and (new[FIXED] == person[FIXED]).all())

    def shares(self, row: Any, person: Any) -> Any:
        """Each change's share of the feature's range."""
        ranges = (self.X.max() - self.X.min()).to_numpy(float)
        return np.abs(np.asarray(row) - person.to_numpy(float)) / ranges


def cells(case: Case, tool: str, replies: list[dict[str, Any]], least: list[float]) -> list[str]:
    """A row of the table."""
    pairs = [
        (case.shares(reply["row"], case.people.iloc[i]), reply["row"], i)
        for i, reply in enumerate(replies) if reply["row"] is not None
    ]  # fmt: skip
    rows = pd.DataFrame([row for _, row, _ in pairs], columns=case.X.columns)
    accepted = int((case.model.predict(rows) == 0).sum()) if len(rows) else 0
    possible = sum(case.possible(row, case.people.iloc[i]) for _, row, i in pairs)
    changes = f"{median((share > 1e-9).sum() for share, _, _ in pairs):g}" if pairs else "–"
    ratio = f"{median(share.mean() / least[i] for share, _, i in pairs):.2f}" if pairs else "–"
    seconds = [reply["seconds"] for reply in replies]
    return [
        tool, f"{len(pairs)}/{len(case.people)}", f"{accepted}", f"{possible}", changes, ratio,
        f"{seconds[0]:.1f}" if seconds else "–",
        f"{median(seconds[1:]):.3f}" if seconds[1:] else "–",
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=20, help="limit per person")
    parser.add_argument("--most", type=float, default=600, help="seconds a tool may take in all")
    options = parser.parse_args()
    title = "A forest of 100 trees of depth 6, HELOC"
    table = Table(title, HEADER)
    with TemporaryDirectory() as folder:
        case = Case(Path(folder), options.people)
        least: list[float] = []
        for tool, python in PYTHONS.items():
            if not python:
                print(f"{tool}: no Python named", file=sys.stderr)
                continue
            replies = case.ask(tool, options.seconds, options.most)
            if tool == "cfxc":
                assert all(reply["said"] == "optimal" for reply in replies), replies
                least = [
                    float(case.shares(reply["row"], case.people.iloc[i]).mean())
                    for i, reply in enumerate(replies)
                ]
            table.rows.append(cells(case, tool, replies, least))
            said = pd.Series([reply["said"] for reply in replies], dtype=str).value_counts()
            print(said.to_string(), file=sys.stderr, flush=True)
    table.show()


if __name__ == "__main__":
    main()

"""DiCE in the Python that ``CFXC_PEER_PYTHON`` names, on models and people of ours."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import joblib
import pandas as pd

from .peers import VARIABLE, clean

WORKER = Path(__file__).with_name("dice_worker.py")


@dataclass(frozen=True)
class DiceReply:
    """What DiCE found for one person, without its post-hoc step, and seconds."""

    rows: pd.DataFrame
    seconds: float
    note: str


def ask_dice(
    model: Any,
    data: pd.DataFrame,
    labels: Any,
    people: pd.DataFrame,
    numbers: Sequence[str],
    fixed: Sequence[str],
    count: int,
    *,
    method: str = "genetic",
    desired: str = "1",
    seconds: float | None = None,
) -> list[DiceReply]:
    """One reply per person, the first ones only if ``seconds`` are over; none without its Python.

    Args:
        data, labels: What DiCE learns ranges and labels from.
        desired: A class, or ``opposite``.
    """
    python = os.environ.get(VARIABLE)
    if not python:
        return []
    with TemporaryDirectory() as name:
        folder = Path(name)
        joblib.dump(model, folder / "model.joblib")
        data.assign(y=labels).to_csv(folder / "data.csv", index=False)
        people.to_csv(folder / "people.csv", index=False)
        free = [column for column in data if column not in fixed]
        dtypes = {column: str(dtype) for column, dtype in data.dtypes.items()}
        text = json.dumps({"numbers": [*numbers], "free": free, "dtypes": dtypes})
        (folder / "names.json").write_text(text, encoding="utf-8")
        order = [python, str(WORKER), str(folder), "--count", str(count), "--method", method,
                 "--desired", desired]  # fmt: skip
        order += [] if seconds is None else ["--seconds", str(seconds)]
        done = subprocess.run(order, env=clean(), capture_output=True, text=True, check=False)
    replies = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")][1:]
    return [
        DiceReply(as_rows(reply["rows"], data), reply["seconds"], reply["note"])
        for reply in replies
    ]


def as_rows(rows: list[dict[str, Any]], like: pd.DataFrame) -> pd.DataFrame:
    """Records as rows with a table's columns, whole numbers in its dtypes."""
    table = pd.DataFrame(rows, columns=like.columns)
    for name, dtype in like.dtypes.items():
        table[name] = table[name].astype("float64" if dtype.kind in "if" else dtype)
        if dtype.kind == "i" and (table[name] == table[name].round()).all():
            table[name] = table[name].astype(dtype)
    return table

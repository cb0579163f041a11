"""Time limits: how much later than its limit an answer comes, whatever the model and the question.

A limit t for each counterfactual is kept where an answer comes within t + 0.2 s + 5 %.  For each
kind of model and each limit a new process reads and compiles the model, and asks about one person
after the other, its first question included: distances and criteria in turn, some with ``count=3``
and some as a batch, where limits and what may be late add up.  Wall seconds count other work on the
machine, the processor seconds that the process used after its limit do not.
``CFXC_DATA`` names the folder of the data.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from multiprocessing import Pipe, Process
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import joblib
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import GradientBoostingClassifier, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC
from support.report import Table
from support.tasks import Make, adult, forest, heloc, kinds, xgboost

import cfxc

ALLOWED, SHARE = 0.2, 0.05  # seconds and share of a limit that an answer may be late
LIMITS = (0.01, 0.1, 0.5, 2.0)
ROWS = 4000  # that models are fitted on where more take long
PEOPLE = 40
GENTLE = """program gentle(delta: Real[J]) {
  total := 0;
  for i = 1..J do total := total + max(delta[i], 3 * delta[i] - 1/5);
  return total / J
}"""
HEADER = (
    "model", "runs", "first of a process, CPU s", "worst late, s", "worst late, CPU s", "over",
    "over by CPU", "worst question",
)  # fmt: skip
QUESTIONS: tuple[dict[str, Any], ...] = (
    {"distance": "l1"},
    {"distance": "l0", "subject_to": "up"},
    {"distance": "linf"},
    {"distance": "l2"},
    {"distance": "l1", "subject_to": "both", "epsilon": 1e-6},
    {"distance": GENTLE},
    {"distance": "l1", "count": 3},
    {"distance": "l1", "batch": 3},
    {"distance": "linf", "subject_to": "both"},
    {"distance": "l2", "epsilon": 1e-6},
    {"distance": "sparse"},
    {"distance": "l1", "count": 2, "diversity": "pool"},
    {"distance": "l0"},
)
"""Asked in turn; each limit begins with another one."""


@dataclass(frozen=True)
class Kind:
    """A model as it is written down for a new process."""

    estimator: Any
    space: cfxc.FeatureSpace
    people: pd.DataFrame
    target: Any
    up: str
    """A number that may only increase."""


# -- models ---------------------------------------------------------------------------------------


def classifier(make: Make, *, scaled: bool = True, rows: int | None = None) -> Kind:
    """On Adult: one-hot categories, and numbers as they are or scaled."""
    data = adult()
    symbolic, numeric = kinds(data.space)
    numbers = StandardScaler() if scaled else "passthrough"
    encoder = OneHotEncoder(sparse_output=False, handle_unknown="ignore")
    columns = make_column_transformer((encoder, symbolic), (numbers, numeric))
    return fitted(make_pipeline(columns, make()), data.X, data.y, data.space, "age", rows)


def fitted(
    estimator: Any, X: pd.DataFrame, y: Any, space: Any, up: str, rows: int | None = None
) -> Kind:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit(X.iloc[:rows], y.iloc[:rows])
    some = X.iloc[:ROWS]
    return Kind(estimator, space, some[estimator.predict(some) != 1].iloc[:PEOPLE], 1, up)


def pipeline() -> Kind:
    """Imputation, ordinal and one-hot encoding, boosting."""
    data = adult()
    symbolic, numeric = kinds(data.space)
    columns = make_column_transformer(
        (OrdinalEncoder(categories=[[*data.space["education"].labels]]), ["education"]),
        (OneHotEncoder(handle_unknown="ignore"), [n for n in symbolic if n != "education"]),
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numeric),
    )
    model = make_pipeline(columns, GradientBoostingClassifier(n_estimators=300, random_state=0))
    return fitted(model, data.X, data.y, data.space, "age", 4 * ROWS)


def discriminants() -> Kind:
    """Quadratic forms of 23 numbers."""
    data = heloc()
    assert data is not None
    model = make_pipeline(StandardScaler(), QuadraticDiscriminantAnalysis(reg_param=0.01))
    return fitted(model, data.X, data.y, data.space, "MSinceOldestTradeOpen")


def regression(make: Make) -> Kind:
    """HELOC's risk estimate from the other columns; a range above what is predicted."""
    data = heloc()
    assert data is not None
    X, y = data.X.drop(columns="ExternalRiskEstimate"), data.X["ExternalRiskEstimate"]
    model = make_pipeline(StandardScaler(), make())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X.iloc[:ROWS], y.iloc[:ROWS])
    predicted = model.predict(X)
    goal = float(pd.Series(predicted).quantile(0.8))
    space = cfxc.FeatureSpace.infer(X)
    people = X[predicted < goal].iloc[:PEOPLE]
    return Kind(model, space, people, (goal, None), "MSinceOldestTradeOpen")


def lightgbm() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=1000, random_state=0, n_jobs=1, verbose=-1)


def network(activation: str, *layers: int) -> Make:
    return lambda: MLPClassifier(layers, activation=activation, max_iter=40, random_state=0)


KINDS: dict[str, tuple[str, Callable[[], Kind]]] = {
    "forest": ("RF 100×none", lambda: classifier(forest(100, None), scaled=False)),
    "xgb": ("XGB 1000×8", lambda: classifier(xgboost(1000, 8), scaled=False)),
    "lgbm": ("LGBM 1000×31", lambda: classifier(lightgbm, scaled=False)),
    "pipeline": ("pipeline, boosting 300×3", pipeline),
    "relu": ("ReLU 64×64×64", lambda: classifier(network("relu", 64, 64, 64), rows=4 * ROWS)),
    "tanh16": ("tanh 16×16", lambda: classifier(network("tanh", 16, 16), rows=4 * ROWS)),
    "tanh50": ("tanh 50×50", lambda: classifier(network("tanh", 50, 50), rows=4 * ROWS)),
    "logistic": ("logistic", lambda: classifier(lambda: LogisticRegression(max_iter=1000))),
    "svc": ("SVC rbf", lambda: classifier(SVC, rows=ROWS)),
    "qda": ("QDA, HELOC", discriminants),
    "forest value": (
        "RF 100×none, a range",
        lambda: regression(lambda: RandomForestRegressor(100, random_state=0)),
    ),
    "network value": (
        "ReLU 32×32, a range",
        lambda: regression(
            lambda: MLPRegressor(hidden_layer_sizes=(32, 32), max_iter=300, random_state=0)
        ),
    ),
    "linear value": ("linear, a range", lambda: regression(LinearRegression)),
}


# -- in a new process -----------------------------------------------------------------------------


def question(number: int, kind: Kind, limit: float) -> dict[str, Any]:
    """The options of one question, and ``batch``."""
    asked = {"epsilon": 1e-3, **QUESTIONS[number % len(QUESTIONS)]}
    up = f"{kind.up} >= factual.{kind.up}"
    subject_to = {"up": [up], "both": [up, cfxc.MaxChanges(3)]}.get(asked.pop("subject_to", ""), [])
    return {**asked, "target": kind.target, "subject_to": subject_to, "time_limit": limit}


class Watch:
    """Another process, which reads the processor seconds of this one at given times."""

    def __init__(self) -> None:
        self.ours, theirs = Pipe()
        Process(target=_watch, args=(theirs, os.getpid()), daemon=True).start()

    def begin(self, seconds: float, times: int) -> None:
        """Read them after 1, 2, … times so many seconds from now."""
        start = time.monotonic()
        self.ours.send([start + k * seconds for k in range(1, times + 1)])

    def end(self) -> list[float]:
        """What was read, at those times that were not after the end."""
        self.ours.send(None)
        found: list[float] = self.ours.recv()
        return found


def _watch(pipe: Any, pid: int) -> None:
    clock = (~pid << 3) | 2  # Linux's CPU clock of a process
    while True:
        read = []
        for at in pipe.recv():
            if pipe.poll(max(at - time.monotonic(), 0)):
                break
            read.append(time.clock_gettime(clock))
        pipe.recv()
        pipe.send(read)


def ask(path: Path, limit: float, runs: int, start: int) -> None:
    """Ask, and print a line a question: its numbers, the limit, how late, wall and CPU seconds."""
    watch = Watch()
    kind: Kind = joblib.load(path)
    model = cfxc.compile(kind.estimator, kind.space)
    for run in range(runs):
        asked = question(start + run, kind, limit)
        batch, most = asked.pop("batch", 0), limit * (1 + SHARE)
        first = run % (len(kind.people) - batch)
        rows = kind.people.iloc[first : first + max(batch, 1)]
        watch.begin(most, times := batch or asked.get("count", 1))
        wall = time.perf_counter()
        try:
            if batch:
                said = model.explain_batch(rows, **asked)["status"].iloc[0]
            else:
                answer = model.explain(rows, **asked)
                times = min(len(answer.all()) + bool(answer.stop_reason), times)
                said = answer.status
        except cfxc.UnsupportedError as error:
            times, said = 1, f"refused: {str(error)[:60]}"
        wall, cpu = time.perf_counter() - wall, time.process_time()
        read = watch.end()
        late = cpu - read[times - 1] if len(read) >= times else 0.0
        each = wall / times - most, late / times
        print(json.dumps([start + run, run, limit, *each, said]), flush=True)


# -- the table ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """One question: how much later than its limit, for each counterfactual."""

    number: int
    place: int
    limit: float
    late: float
    late_cpu: float
    said: str

    def __str__(self) -> str:
        asked = dict(QUESTIONS[self.number % len(QUESTIONS)])
        if asked["distance"] == GENTLE:
            asked["distance"] = "program"
        words = ", ".join(f"{v}" if k == "distance" else f"{k}={v}" for k, v in asked.items())
        return f"{words}, {self.limit:g} s, number {self.place + 1}"


def runs_of(kind: Kind, runs: int, limits: list[float]) -> Iterator[Run]:
    """Every question of a kind of model, in a new process for each limit."""
    each = -(-runs // len(limits))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "kind.joblib"
        joblib.dump(kind, path)
        for place, limit in enumerate(limits):
            given = [str(path), str(limit), str(each), str(place * 3)]
            command = [sys.executable, __file__, "--ask", *given]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            yield from (Run(*json.loads(line)) for line in done.stdout.splitlines())


def row(title: str, runs: list[Run]) -> tuple[str, ...]:
    for run in sorted(runs, key=lambda run: -run.late_cpu)[:6]:
        print(f"{title}: late {run.late:.3f} s, CPU {run.late_cpu:.3f}: {run} ({run.said})",
              file=sys.stderr, flush=True)  # fmt: skip
    worst = max(runs, key=lambda run: run.late_cpu)
    return (
        title, str(len(runs)), f"{max(run.late_cpu for run in runs if not run.place):.3f}",
        f"{max(run.late for run in runs):.3f}", f"{worst.late_cpu:.3f}",
        str(sum(run.late > ALLOWED for run in runs)),
        str(sum(run.late_cpu > ALLOWED for run in runs)), str(worst),
    )  # fmt: skip


@cache
def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(description=__doc__)
    found.add_argument("--kinds", default=",".join(KINDS), help="of these, by commas")
    found.add_argument("--runs", type=int, default=52, help="questions a kind")
    found.add_argument("--limits", default=",".join(map(str, LIMITS)))
    found.add_argument("--kept", type=Path, help="a folder in which fitted models are kept")
    found.add_argument("--ask", nargs=4, help=argparse.SUPPRESS)
    return found


def made(name: str, folder: Path | None) -> Kind:
    """A fitted model, from the folder if it is there."""
    path = None if folder is None else folder / f"{name.replace(' ', '_')}.joblib"
    if path is not None and path.exists():
        found: Kind = joblib.load(path)
        return found
    found = KINDS[name][1]()
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        joblib.dump(found, path)
    return found


def main() -> None:
    options = parser().parse_args()
    if options.ask:
        path, limit, runs, start = options.ask
        ask(Path(path), float(limit), int(runs), int(start))
        return
    limits = [float(limit) for limit in options.limits.split(",")]
    table = Table(f"later than the limit and 5 %; over: by more than {ALLOWED:g} s", HEADER)
    for name in options.kinds.split(","):
        runs = list(runs_of(made(name, options.kept), options.runs, limits))
        table.rows.append(row(KINDS[name][0], runs))
    print(table.markdown())


if __name__ == "__main__":
    main()

"""One run of a generator or of DiCE on a problem, and what it took."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

import cfxc

from .dice_peer import ask_dice
from .l2c_data import Problem
from .l2c_metrics import Measures, Ruler, mean

COUNT = 100


@dataclass(frozen=True)
class Outcome:
    """Measures of a run, the people asked about, and seconds: of all answers, and of training.

    ``impossible`` counts people for whom an exact engine proved that nobody finds more.
    """

    measures: Measures
    people: int
    seconds: float
    training: float
    impossible: int = 0


@dataclass(frozen=True)
class Trained:
    """A black box, its compiled form and a generator for it."""

    problem: Problem
    pipeline: Any
    model: cfxc.CompiledModel
    generator: Any
    training: float

    def run(
        self, rows: pd.DataFrame, sparsity: float | None = None, diversity: str = "maxmin",
        *, banded: bool = False,
    ) -> Outcome:  # fmt: skip
        """A hundred counterfactuals of each row, to the other class.

        ``banded``: two numbers are told apart where the measure tells them apart.
        """
        ruler = Ruler(self.problem, self.pipeline.predict)
        started = time.perf_counter()
        found = self.generator.generate(
            rows, n=COUNT, sparsity=sparsity, diversity=diversity,
            bands=ruler.edges if banded else None,
        )  # fmt: skip
        seconds = time.perf_counter() - started
        sets = split(found, rows)
        measures = ruler.people(rows, sets)
        none = int((self.generator.last_report["status"] == "impossible").sum())
        return Outcome(mean(measures), len(rows), seconds, self.training, none)


@lru_cache
def warm() -> None:
    """Once, what is imported and compiled on first use: not timed."""
    X = pd.DataFrame({"a": np.arange(400) % 20, "b": np.arange(400) % 7})
    pipeline = LogisticRegression().fit(X, X["a"] + X["b"] > 12)
    model = cfxc.compile(pipeline, cfxc.FeatureSpace.infer(X))
    cfxc.Generator(model, random_state=0, epochs=2).fit(X).generate(X[:3], n=5)


def train(problem: Problem, seed: int, last: Any = None, **options: Any) -> Trained:
    """A black box of a seed, and a generator trained on all training rows."""
    warm()
    pipeline = problem.fitted(seed, last)
    model = cfxc.compile(pipeline, problem.space)
    started = time.perf_counter()
    generator = cfxc.Generator(model, random_state=seed, **options).fit(problem.X)
    return Trained(problem, pipeline, model, generator, time.perf_counter() - started)


def split(found: pd.DataFrame, rows: pd.DataFrame) -> list[pd.DataFrame]:
    """The rows of each person, from a frame indexed by (label, k)."""
    groups = dict(iter(found.groupby(level=0)))
    return [groups.get(label, found.iloc[:0]) for label in rows.index]


def dice(
    problem: Problem, pipeline: Any, rows: pd.DataFrame, seconds: float | None
) -> Outcome | None:
    """The same of DiCE's random search, on as many people as the time allows."""
    labels = np.concatenate([problem.y, problem.outcomes])
    replies = ask_dice(
        pipeline, problem.rows, labels, rows, [*problem.levels], problem.fixed, COUNT,
        method="random", desired="opposite", seconds=seconds,
    )  # fmt: skip
    if not replies:
        return None
    asked = rows.iloc[: len(replies)]
    measures = Ruler(problem, pipeline.predict).people(asked, [reply.rows for reply in replies])
    return Outcome(mean(measures), len(asked), sum(reply.seconds for reply in replies), 0.0)


HEADER = (
    "data", "who", "people", "validity, %", "coverage, %", "valid cat, %", "sparsity",
    "prox. num", "prox. cat", "diversity", "harmonic mean", "found", "s", "training, s",
)  # fmt: skip


def row(data: str, who: str, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """Cells: means over black boxes, ± the deviation where it is asked for."""

    def cell(name: str, digits: int, scale: float = 1.0, spread: bool = True) -> str:
        values = [scale * getattr(outcome.measures, name) for outcome in outcomes]
        after = f" ± {np.std(values):.{digits}f}" if spread and len(values) > 1 else ""
        return f"{np.mean(values):.{digits}f}{after}"

    return (
        data, who, "/".join(sorted({str(outcome.people) for outcome in outcomes})),
        cell("validity", 2, 100, False), cell("coverage", 2, 100, False),
        cell("valid_cat", 2, 100, False), cell("sparsity", 3), cell("prox_num", 3),
        cell("prox_cat", 3), cell("diversity", 3), cell("harmonic", 3), cell("found", 1, 1, False),
        f"{np.mean([outcome.seconds for outcome in outcomes]):.2f}",
        f"{np.mean([outcome.training for outcome in outcomes]):.1f}",
    )  # fmt: skip

"""The generator's speed on Adult, and what its rows are worth as seeds of exact search."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from importlib.util import find_spec
from statistics import median
from typing import Any

import pandas as pd
from sklearn.linear_model import LogisticRegression

import cfxc

from .l2c_runs import warm
from .parts import Section
from .race import explain
from .report import Table
from .tasks import Data, Make, Task, adult, boosting, fit, forest, heloc, made, network, xgboost

PEOPLE, COUNT, EPSILON = 1000, 100, 1e-3
LIMIT = 60.0  # seconds of an exact search
SEED_ROWS = 5000  # of Adult, that a generator of candidates learns from


def run_speed(options: Namespace) -> Section:
    """Training on Adult, and 100 counterfactuals of 1,000 people in one call."""
    table = Table(
        f"Adult: {COUNT} counterfactuals of {PEOPLE:,} refused people in one call, one core",
        ("model", "rows", "training, s", "CPU", "epochs", "generate, s", "CPU", "coverage, %",
         "validity, %", "found"),
    )  # fmt: skip
    models: dict[str, tuple[Make, bool]] = {
        "logistic regression": (lambda: LogisticRegression(max_iter=1000), True),
        "MLP 50×50": (network(50, 50), True),
        "RF 100×8": (forest(100, 8), False),
        "GB 100×6": (boosting(100, 6), False),
    }
    warm()
    for name in options.models.split(",") if options.models else models:
        make, scaled = models[name]
        task = fit(adult(), name, make, scaled=scaled)
        generator, *training = _trained(task)
        people = task.people.iloc[:PEOPLE]
        wall, cpu = time.perf_counter(), time.process_time()
        found = generator.generate(people, n=COUNT, target=1)
        spent = time.perf_counter() - wall, time.process_time() - cpu
        valid = task.pipeline.predict(found[list(people)]) == 1
        reached = found.index.get_level_values(0).nunique() / len(people)
        table.rows.append(
            (name, f"{len(task.data.X):,}", *(f"{value:.0f}" for value in training),
             str(len(generator.losses)), *(f"{value:.2f}" for value in spent),
             f"{100 * reached:.2f}", f"{100 * valid.mean():.2f}", f"{len(found) / len(people):.1f}")
        )  # fmt: skip
        print(*table.rows[-1], sep="  ", file=sys.stderr, flush=True)
    return [table], []


def _trained(task: Task, rows: int | None = None) -> tuple[Any, float, float]:
    """A generator of so many rows (all), and seconds of the wall and of the processor."""
    X = task.data.X
    if rows is not None and rows < len(X):
        X = X.sample(rows, random_state=0)
    wall, cpu = time.perf_counter(), time.process_time()
    generator = cfxc.Generator(task.compiled, random_state=0).fit(X)
    return generator, time.perf_counter() - wall, time.process_time() - cpu


def run_seeds(options: Namespace) -> Section:
    """Nodes of exact search with candidates and without, on the models of the exact benchmark."""
    table = Table(
        f"l1, ε = {EPSILON:g}: exact search of {options.exact_people} people, with {COUNT} "
        f"candidates of a generator that learned from {SEED_ROWS:,} rows at most, and without",
        ("model", "engine", "candidates", "proved", "nodes, median", "nodes, all", "s, median",
         "s, all", "fewer nodes", "more"),
    )  # fmt: skip
    for data, name, make, scaled, method in _exact_benchmark():
        if options.models and f"{data.name}, {name}" not in options.models.split("; "):
            continue
        task = fit(data, name, make, scaled=scaled)
        generator, *_ = _trained(task, SEED_ROWS)
        table.rows += _seeded(task, generator, method, options.exact_people)
        for cells in table.rows[-2:]:
            print(*cells, sep="  ", file=sys.stderr, flush=True)
    return [table], []


def _exact_benchmark() -> Iterator[tuple[Data, str, Make, bool, str]]:
    """Data, model, whether numbers are scaled, and the engine, as in ``exact.py``."""
    shapes: list[tuple[Data | None, tuple[int, int], tuple[int, int]]] = [
        (adult(), (100, 8), (100, 6)),
        (made(20), (100, 6), (100, 4)),
        (made(30), (100, 6), (100, 4)),
        (heloc(), (100, 6), (100, 4)),
    ]
    for data, bagged, boosted in shapes:
        if data is None:
            print("HELOC skipped: it is not in the directory that CFXC_DATA names.")
            continue
        named = {"RF": (forest, bagged), "GB": (boosting, boosted)}
        if find_spec("xgboost"):
            named["XGB"] = xgboost, boosted
        for name, (make, shape) in named.items():
            yield data, f"{name} {shape[0]}×{shape[1]}", make(*shape), False, "box"
    for layers in ((10, 10), (20, 20)):
        yield adult(), f"MLP {layers[0]}×{layers[1]}", network(*layers), True, "mio"


def _seeded(task: Task, generator: Any, method: str, count: int) -> list[tuple[str, ...]]:
    """Both ways on the people after the first, who warms up."""
    people = task.people.iloc[1 : 1 + count]
    explain(task, task.people.iloc[[0]], EPSILON, 5.0, method=method)
    rows = generator.generate(people, n=COUNT, target=1)
    ways: dict[str, list[Any]] = {"without": [], "with": []}
    for label in people.index:
        person = people.loc[[label]]
        given = _of(rows, label)
        for way, options in (("without", {}), ("with", {"seeds": given})):
            ways[way].append(explain(task, person, EPSILON, LIMIT, method=method, **options))
    found = []
    pairs = list(zip(*ways.values(), strict=True))
    for without, seeded in pairs:
        _check(task, without.result, seeded.result)
    fewer = sum(b.result.nodes < a.result.nodes for a, b in pairs)
    more = sum(b.result.nodes > a.result.nodes for a, b in pairs)
    for way, answers in ways.items():
        nodes, seconds = [a.result.nodes for a in answers], [a.seconds for a in answers]
        found.append(
            (task.name, method, way, f"{sum(a.proved for a in answers)}/{len(answers)}",
             f"{median(nodes):,.0f}", f"{sum(nodes):,}", f"{median(seconds):.3f}",
             f"{sum(seconds):.2f}", *([str(fewer), str(more)] if way == "with" else ["", ""]))
        )  # fmt: skip
    return found


def _of(rows: pd.DataFrame, label: Any) -> pd.DataFrame:
    """One person's rows, as a plain table."""
    return rows[rows.index.get_level_values(0) == label].reset_index(drop=True)


def _check(task: Task, first: cfxc.Result, second: cfxc.Result) -> None:
    """Two proved answers to one question cannot be further apart than their ε."""
    for one, other in ((first, second), (second, first)):
        best = one.exact_distance
        if best is not None and best < other.exact_lower_bound:
            raise AssertionError(f"{task.name}: seeds change a proved optimum")

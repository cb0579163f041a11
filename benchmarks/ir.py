"""Speed of the IR on a forest of 100 trees of depth 12, beside scikit-learn.

Builds, prints and parses the program (under 3 s each), and evaluates 10,000 rows (at most twice
the time of ``RandomForestClassifier.predict_proba`` with ``n_jobs=1``).  Medians of 5 runs
after a first one, which is shown too.

    python benchmarks/ir.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from cfxc.frontends.sklearn import lower
from cfxc.ir import BatchEvaluator, ops, parse_program, print_program
from cfxc.space import FeatureSpace

TRAINED, EVALUATED, FEATURES, TREES, DEPTH, RUNS = 20_000, 10_000, 20, 100, 12, 5
LIMIT = 3.0  # seconds for building, printing, parsing
RATIO = 2.0  # evaluation: times predict_proba


@dataclass(frozen=True)
class Timing:
    """Seconds of the first call, which compiles and loads, and the median of those after it."""

    first: float
    median: float

    @property
    def longest(self) -> float:
        return max(self.first, self.median)


def timed(action: Callable[[], Any]) -> tuple[Any, Timing]:
    """What ``action`` returns, and how long it took."""
    times = []
    for _ in range(RUNS + 1):
        start = time.perf_counter()
        result = action()
        times.append(time.perf_counter() - start)
    return result, Timing(times[0], median(times[1:]))


def main() -> None:
    """Measure and print the table; exit with 1 if a target is missed."""
    X, y = make_classification(TRAINED, FEATURES, n_informative=10, flip_y=0.1, random_state=0)
    forest = RandomForestClassifier(TREES, max_depth=DEPTH, n_jobs=1, random_state=0).fit(X, y)
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(FEATURES)])
    space = FeatureSpace.infer(frame)
    rows = X[:EVALUATED]
    columns = {str(name): frame[name].to_numpy()[:EVALUATED] for name in frame}

    program, build = timed(lambda: lower(forest, space))
    text, printing = timed(lambda: print_program(program))
    parsed, parsing = timed(lambda: parse_program(text))
    evaluator = BatchEvaluator(program)
    found, evaluating = timed(lambda: evaluator(columns))
    expected, predicting = timed(lambda: forest.predict_proba(rows))
    assert parsed == program
    np.testing.assert_allclose(found["probability"], expected, rtol=1e-12)

    (op,) = [let.op for let in program.lets() if isinstance(let.op, ops.TreeEnsemble)]
    title = (
        f"{TREES} trees of depth {DEPTH}, {op.feature.array.size:,} nodes, "
        f"{len(text) / 1e6:.1f} MB of text, {EVALUATED:,} rows"
    )
    table = Table("step", "ratio", "median", "first", "target", "met", title=title)
    ratio = evaluating.median / predicting.median
    quick = f"< {LIMIT:.0f} s"
    lines = [
        ("build", "", build, quick, build.longest < LIMIT),
        ("print", "", printing, quick, printing.longest < LIMIT),
        ("parse", "", parsing, quick, parsing.longest < LIMIT),
        ("evaluate", f"{ratio:.2f}", evaluating, f"ratio <= {RATIO:.0f}", ratio <= RATIO),
        ("predict_proba", "1.00", predicting, "", True),
    ]
    for step, share, taken, target, met in lines:
        verdict = ("yes" if met else "NO") if target else ""
        seconds = (f"{taken.median:.3f} s", f"{taken.first:.3f} s")
        table.add_row(step, share, *seconds, target, verdict)
    Console().print(table)
    raise SystemExit(not all(met for *_, met in lines))


if __name__ == "__main__":
    main()

"""What exact engines say of potentials: when a bound is claimed, and for which outputs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import cfxc
from cfxc.methods.bayes.black_box import Existence, bracket
from cfxc.methods.bayes.potentials import Interval, Potential
from cfxc.methods.bayes.task import Region, Task
from cfxc.question.rules import make_rules

X = pd.DataFrame({"a": range(20), "b": [k % 7 for k in range(20)]})
ROW = X.iloc[[4]]
MODEL = LinearRegression().fit(X, X["a"] + 2 * X["b"])


def posed(potential: Potential, center: float) -> tuple[list[Interval], float]:
    """The intervals that go to an engine which refutes all, and the bound claimed."""
    intervals: list[Interval] = []

    def exists(interval: Interval, seconds: float) -> Existence:
        intervals.append(interval)
        return Existence(None, True, ("engine",))

    space = cfxc.FeatureSpace.infer(X)
    task = Task(ROW, Region(make_rules(space, space.encode_row(ROW))), potential, 0.01)
    task.begin(center)
    bound, _ = bracket(task, exists, lambda row: None, 60.0)
    return intervals, bound / task.peak


@pytest.mark.parametrize("center", [0.0, 3.7, -1e6, 1e12])
@pytest.mark.parametrize("width", [1e-3, 1.0, 250.0])
def test_intervals_hold_every_output_of_that_potential(center: float, width: float) -> None:
    potential = cfxc.AEP(width)
    intervals, bound = posed(potential, center)
    assert bound <= 0.02
    low, high = intervals[0]
    outputs = np.array(potential.superlevel(0.99 * potential.peak(center), center)[0])
    for side in (-np.inf, np.inf):  # neighbours of the ends, which may be the true ones
        for neighbour in (outputs, np.nextafter(outputs, side)):
            assert (low < neighbour).all()
            assert (neighbour < high).all()


def test_of_a_function_that_is_known_at_some_outputs_no_bound_is_proved() -> None:
    def spiked(y: np.ndarray, center: np.ndarray) -> np.ndarray:
        return np.exp(-((y - center - 3) ** 2)) + 5.0 * (np.abs(y - center - 7.12345) < 1e-6)

    potential = cfxc.CustomPotential(spiked, width=1.0)
    intervals, bound = posed(potential, 0.0)
    assert intervals  # it is looked for all the same
    assert bound == 1.0
    space = cfxc.FeatureSpace.infer(X, fixed=["b"])
    found = cfxc.compile(MODEL, space).explain(
        ROW, target=cfxc.CustomPotential(spiked, width=100.0), budget=10
    )
    assert found.bound == 1.0
    assert found.status in ("optimal", "feasible")
    assert not found.provers

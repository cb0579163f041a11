"""A typical forest is lowered in a fraction of what training it takes."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

from cfxc.frontends.sklearn import lower
from cfxc.frontends.space import FeatureSpace

SECONDS = 3.0


def test_lowering_a_hundred_trees_of_depth_twelve() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(10_000, 8)), columns=[f"x{i}" for i in range(8)])
    target = table.sum(axis=1) + rng.normal(size=len(table)) > 0
    forest = RandomForestClassifier(100, max_depth=12, max_features=1, random_state=0)
    forest.fit(table, target)
    space = FeatureSpace.infer(table)
    start = time.perf_counter()
    program = lower(forest, space)
    assert program.output_sorts["probability"].shape == (2,)
    assert time.perf_counter() - start < SECONDS

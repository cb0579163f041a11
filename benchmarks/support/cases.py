"""The experiments of Karimi et al. (2020, section 5): their data sets, models and people."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import cfxc
from cfxc.datasets import Dataset
from cfxc.solvers.base import Deployed, Point

DATA = ("credit", "compas", "adult")
DISTANCES = ("l0", "l1", "linf")
EPSILON = 1e-3
MODELS: dict[str, Callable[[], BaseEstimator]] = {
    "lr": lambda: LogisticRegression(max_iter=1000),
    "tree": lambda: DecisionTreeClassifier(random_state=0),
    "forest(10)": lambda: RandomForestClassifier(10, random_state=0),
    "forest(100)": lambda: RandomForestClassifier(100, random_state=0),
    "mlp(10,10)": lambda: MLPClassifier((10, 10), random_state=0),
}
SCALED = ("lr", "mlp(10,10)")  # their numbers are standardised; trees take them as they are


@dataclass(frozen=True)
class Case:
    """One model on one data set.

    Attributes:
        train, people: Rows it was fitted on; test rows that it predicts unfavourable, in order.
        accuracy: Share of the test rows that it predicts right.
        seconds: How long ``cfxc.compile`` took.
    """

    data: Dataset
    model: str
    pipeline: Pipeline
    compiled: cfxc.CompiledModel
    train: pd.DataFrame
    people: pd.DataFrame
    accuracy: float
    seconds: float

    def flips(self, row: pd.DataFrame) -> bool:
        """Whether the original model finds a row favourable."""
        return bool(self.pipeline.predict(row)[0] == self.data.favourable)

    def deployed(self, person: pd.DataFrame) -> Deployed:
        """:meth:`flips` on exact values instead of rows."""

        def check(point: Point) -> bool:
            return self.flips(self.data.space.decode(point, like=person))

        return check


def fitted(data: Dataset, model: str, train: pd.DataFrame, target: pd.Series[Any]) -> Pipeline:
    """One-hot categories, standardised or plain numbers, and a model with default parameters."""
    symbolic = [feature.name for feature in data.space if feature.is_symbolic]
    numeric = [feature.name for feature in data.space if not feature.is_symbolic]
    numbers = StandardScaler() if model in SCALED else "passthrough"
    columns = make_column_transformer((OneHotEncoder(), symbolic), (numbers, numeric))
    pipeline = make_pipeline(columns, MODELS[model]())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # 200 epochs are the default
        return pipeline.fit(train, target)


def prepare(data: Dataset, model: str) -> Case:
    """Fit on 70 % of the rows, compile, and collect the refused people among the others."""
    train, test, target, expected = train_test_split(data.X, data.y, test_size=0.3, random_state=0)
    pipeline = fitted(data, model, train, target)
    started = time.perf_counter()
    compiled = cfxc.compile(pipeline, data.space)
    seconds = time.perf_counter() - started
    predicted = pipeline.predict(test)
    people = test[predicted != data.favourable]
    accuracy = float((predicted == expected).mean())
    return Case(data, model, pipeline, compiled, train, people, accuracy, seconds)


def cases(data: Iterable[str], models: Iterable[str]) -> Iterator[Case]:
    """Every combination, one after the other."""
    chosen = list(models)
    for name in data:
        loaded = cfxc.datasets.load(name)
        for model in chosen:
            yield prepare(loaded, model)

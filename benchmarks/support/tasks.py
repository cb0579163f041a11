"""The models that exact engines are raced on, and the people they refuse."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

import cfxc
from cfxc.datasets.source import local_file, read_csv

from .portable import Array, Part

HELOC = "heloc/heloc_dataset_v1.csv"
Make = Callable[[], BaseEstimator]


@dataclass(frozen=True)
class Data:
    """A table with its space; ``y`` is 1 where favourable.

    ``test``: the part of the rows set aside for people; 0 takes people from all rows.
    """

    name: str
    X: pd.DataFrame
    y: pd.Series[Any]
    space: cfxc.FeatureSpace
    test: float = 0.3


@dataclass(frozen=True)
class Task:
    """A fitted pipeline, one-hot categories and plain numbers first, and the people it refuses."""

    data: Data
    model: str
    pipeline: Pipeline | BaseEstimator
    compiled: cfxc.CompiledModel
    people: pd.DataFrame
    seconds: float

    @property
    def name(self) -> str:
        return f"{self.data.name}, {self.model}"

    def columns(self, rows: pd.DataFrame) -> Array:
        """What the last step of the pipeline sees, (n, columns)."""
        return np.asarray(self.pipeline[:-1].transform(rows), np.float64)

    def bare(self) -> Task:
        """The last step alone and the columns it sees, which is what peers are given.

        A category is a one-hot group there; the features, and so all distances, are the same.
        """
        space, (symbolic, numeric) = self.data.space, kinds(self.data.space)
        features = [
            replace(f, encoding="one_hot", columns=columns, dtypes=("float64",) * len(columns))
            for f in map(space.__getitem__, symbolic)
            for columns in [tuple(f"{f.name}={label}" for label in f.labels)]
        ]
        features += [replace(space[name], dtypes=("float64",)) for name in numeric]
        narrow = cfxc.FeatureSpace(features)
        X, people = (pd.DataFrame(self.columns(rows), rows.index, narrow.columns)
                     for rows in (self.data.X, self.people))  # fmt: skip
        last, data = self.pipeline[-1], replace(self.data, X=X, space=narrow)
        compiled = cfxc.compile(last, narrow)
        return replace(self, data=data, pipeline=last, compiled=compiled, people=people)

    def parts(self) -> list[Part]:
        """The features in the order of the columns, with the l1 distance of each (not the mean)."""
        encoder = self.pipeline[0].named_transformers_.get("onehotencoder")
        found, at = [], 0
        symbolic, numeric = kinds(self.data.space)
        for number, name in enumerate(symbolic):
            feature = self.data.space[name]
            labels = [feature.labels.index(str(c)) for c in encoder.categories_[number]]
            steps = np.abs(np.subtract.outer(labels, labels))
            size = float(feature.range) if feature.kind == "ordinal" else 1.0
            costs = (steps / size if feature.kind == "ordinal" else steps > 0).astype(float)
            found.append(Part(name, [*range(at, at + len(labels))], costs=costs.tolist()))
            at += len(labels)
        for name in numeric:
            feature = self.data.space[name]
            low, high = map(float, feature.bounds)
            step = feature.resolution if feature.kind == "real" else 1
            found.append(Part(name, [at], low, high, None if step is None else float(step)))
            at += 1
        return found

    def rows(self, columns: Array) -> pd.DataFrame:
        """The people that rows of columns stand for, as the pipeline reads them.

        A fraction in a column of whole numbers stays one: it is for ``encode_row`` to refuse.
        """
        symbolic, _ = kinds(self.data.space)
        encoder = self.pipeline[0].named_transformers_.get("onehotencoder")
        found: dict[str, Any] = {}
        for part in self.parts():
            if part.costs is None:
                found[part.name] = columns[:, part.columns[0]]
            else:
                labels = encoder.categories_[symbolic.index(part.name)]
                found[part.name] = labels[columns[:, part.columns].argmax(axis=1)]
        frame = pd.DataFrame(found)[list(self.data.X.columns)]
        types = self.data.X.dtypes
        whole = [n for n, t in types.items() if t.kind in "iu" and (frame[n] % 1 == 0).all()]
        return frame.astype({name: types[name] for name in whole})

    def on_grid(self, columns: Array) -> bool:
        """Whether every number of a row of columns is on its feature's grid."""
        steps = [(columns[part.columns[0]], part.step) for part in self.parts() if part.step]
        return all(value / step == round(value / step) for value, step in steps)


def kinds(space: cfxc.FeatureSpace) -> tuple[list[str], list[str]]:
    """The names of the categories, and of the numbers."""
    symbolic = [feature.name for feature in space if feature.is_symbolic]
    return symbolic, [feature.name for feature in space if not feature.is_symbolic]


def fit(data: Data, model: str, make: Make, *, scaled: bool = False) -> Task:
    """Fit, compile and collect the refused people; dense columns, as XGBoost needs them.

    (XGBoost takes the zeros that a sparse matrix leaves out as missing.)
    """
    train, rest, target = data.X, data.X, data.y
    if data.test:
        train, rest, target, _ = train_test_split(
            data.X, data.y, test_size=data.test, random_state=0
        )
    symbolic, numeric = kinds(data.space)
    numbers = StandardScaler() if scaled else "passthrough"
    labels = [[*data.space[name].labels] for name in symbolic]
    steps = [(OneHotEncoder(categories=labels, sparse_output=False), symbolic)] if symbolic else []
    pipeline = make_pipeline(make_column_transformer(*steps, (numbers, numeric)), make())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        pipeline.fit(train, target)
    started = time.perf_counter()
    compiled = cfxc.compile(pipeline, data.space)
    seconds = time.perf_counter() - started
    return Task(data, model, pipeline, compiled, rest[pipeline.predict(rest) != 1], seconds)


def adult() -> Data:
    """Adult as in ``cfxc.datasets``: 12 features."""
    found = cfxc.datasets.load("adult")
    return Data("Adult", found.X, found.y, found.space)


def made(features: int) -> Data:
    """``make_classification``: 2,000 rows, half of the features informative, all continuous."""
    X, y = make_classification(2000, features, n_informative=features // 2, random_state=0)
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(features)])
    space = cfxc.FeatureSpace.infer(frame)
    return Data(f"{features} continuous", frame, pd.Series(y), space, test=0.0)


def heloc() -> Data | None:
    """HELOC from ``CFXC_DATA``: 23 whole numbers, without the rows that have no record (-9)."""
    path = local_file(HELOC)
    if path is None:
        return None
    frame = read_csv(path)
    y = (frame.pop("RiskPerformance") == "Good").astype(int)
    kept = (frame != -9).any(axis=1)
    frame, y = frame[kept].reset_index(drop=True), y[kept].reset_index(drop=True)
    return Data("HELOC", frame, y, cfxc.FeatureSpace.infer(frame))


def forest(trees: int, depth: int | None) -> Make:
    return lambda: RandomForestClassifier(trees, max_depth=depth, random_state=0)


def boosting(trees: int, depth: int) -> Make:
    return lambda: GradientBoostingClassifier(n_estimators=trees, max_depth=depth, random_state=0)


def xgboost(trees: int, depth: int) -> Make:
    """Raises: ImportError where XGBoost is not installed."""
    from xgboost import XGBClassifier

    return lambda: XGBClassifier(n_estimators=trees, max_depth=depth, random_state=0, n_jobs=1)


def network(*layers: int, activation: str = "relu") -> Make:
    return lambda: MLPClassifier(layers, activation=activation, random_state=0)


def squares() -> Make:
    """A logistic regression of numbers, their squares and their products."""
    return lambda: make_pipeline(PolynomialFeatures(2), LogisticRegression(max_iter=2000))


def rotated(trees: int, depth: int) -> Make:
    """Trees over principal components."""
    return lambda: make_pipeline(PCA(3, random_state=0), boosting(trees, depth)())

"""Set-ups of the experiments of Karimi et al. (2020): ours, and that of the authors' code."""

from __future__ import annotations

import time
import warnings
from dataclasses import asdict, dataclass, replace

import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import Binarizer, OneHotEncoder, OrdinalEncoder, StandardScaler

import cfxc
from cfxc.datasets import Dataset

from .cases import MODELS, SCALED, Case
from .encodings import Kind, Part, layout_of

ORDER: tuple[Kind, ...] = ("steps", "code", "one-hot", "number", "scaled")
WHOLE = ("priors_count",)  # real by the paper's text, an integer in its authors' code
BATCH = 250  # the authors' code rounds the size of a class down to a multiple of it


@dataclass(frozen=True)
class Setup:
    """How data are prepared, models trained and people chosen; by default as in ``cases.py``.

    Attributes:
        balanced: Both classes have the same size, drawn without replacement before the split.
        plain: Numbers are not standardised for any model.
        codes: For trees categories are whole numbers; elsewhere ordinals are thermometers, and
            binary features one column.
        liblinear: Logistic regression as scikit-learn had it by default until 2019.
        free: Real features may take any value of their range, not those on the grid of the data.
        test_rows: The minimum observable is looked for among the test rows, not those trained on.
        zeros: People are those predicted 0, on COMPAS who will not re-offend.
    """

    balanced: bool = False
    plain: bool = False
    codes: bool = False
    liblinear: bool = False
    free: bool = False
    test_rows: bool = False
    zeros: bool = False

    def named(self) -> str:
        """What is otherwise than in our set-up."""
        return "+".join(name for name, set_so in asdict(self).items() if set_so) or "ours"


USUAL = Setup()
AUTHORS = Setup(*[True] * 7)


@dataclass(frozen=True)
class World:
    """A model in a set-up: its case, the columns that it reads, and the rows it was fitted on.

    ``case.train`` are the rows that the minimum observable is looked for in.
    """

    case: Case
    layout: tuple[Part, ...]
    fitted_on: pd.DataFrame
    held_out: pd.DataFrame

    @property
    def estimator(self) -> BaseEstimator:
        """The model behind the encoding."""
        return self.case.pipeline[-1]

    def observing_test_rows(self) -> World:
        """The same, but the minimum observable is looked for among the test rows."""
        return replace(self, case=replace(self.case, train=self.held_out))


def load(name: str, setup: Setup) -> Dataset:
    """A data set of the paper, its space and favourable outcome as the set-up has them."""
    data = cfxc.datasets.load(name)
    space, X = data.space, data.X
    if setup.free:
        for feature in data.space:
            if feature.kind == "real" and feature.name not in WHOLE:
                space = space.replace(feature.name, resolution=None, dtypes=("float64",))
                X = X.astype({feature.name: "float64"})
    return replace(data, X=X, space=space, favourable=1 if setup.zeros else data.favourable)


def prepare(data: Dataset, model: str, setup: Setup) -> World:
    """Fit on 70 % of the rows, compile, and collect the refused people among the others."""
    X, y = _balanced(data) if setup.balanced else (data.X, data.y)
    train, test, target, expected = train_test_split(X, y, test_size=0.3, random_state=0)
    parts = _parts(data.space, model, setup)
    pipeline = make_pipeline(_encoder(parts, data.space), _model(model, setup))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # 200 epochs are the default
        pipeline.fit(train, target)
    started = time.perf_counter()
    compiled = cfxc.compile(pipeline, data.space)
    seconds = time.perf_counter() - started
    predicted = pipeline.predict(test)
    accuracy = float((predicted == expected).mean())
    people = test[predicted != data.favourable]
    case = Case(data, model, pipeline, compiled, train, people, accuracy, seconds)
    found = World(case, layout_of(parts, pipeline[0], data.space), train, test)
    return found.observing_test_rows() if setup.test_rows else found


def _balanced(data: Dataset) -> tuple[pd.DataFrame, pd.Series]:
    size = data.y.value_counts().min() // BATCH * BATCH
    chosen = [data.y[data.y == label].sample(size, random_state=0) for label in (0, 1)]
    y = pd.concat(chosen).sample(frac=1, random_state=0)
    return data.X.loc[y.index], y


def _model(model: str, setup: Setup) -> BaseEstimator:
    old = setup.liblinear and model == "lr"
    return LogisticRegression(solver="liblinear") if old else MODELS[model]()


def _parts(space: cfxc.FeatureSpace, model: str, setup: Setup) -> list[tuple[str, Kind]]:
    """Which columns the model reads: name of a feature, and how it is written; alike together."""
    found: list[tuple[str, Kind]] = []
    trees = model not in SCALED
    for feature in space:
        if feature.kind == "ordinal" and not trees and setup.codes:
            found.append((feature.name, "steps"))
        elif not feature.is_symbolic:
            plain = trees or setup.plain
            found.append((feature.name, "number" if plain else "scaled"))
        else:
            code = setup.codes and (trees or feature.kind == "binary")
            found.append((feature.name, "code" if code else "one-hot"))
    return sorted(found, key=lambda part: ORDER.index(part[1]))


def _encoder(parts: list[tuple[str, Kind]], space: cfxc.FeatureSpace) -> ColumnTransformer:
    named = []
    for kind in dict.fromkeys(kind for _, kind in parts):
        own = [name for name, each in parts if each == kind]
        if kind == "steps":
            named += [step for name in own for step in _thermometer(space[name])]
            continue
        levels = [list(space[name].labels) for name in own]
        step: dict[Kind, object] = {
            "number": "passthrough",
            "scaled": StandardScaler(),
            "code": OrdinalEncoder(categories=levels),
            "one-hot": OneHotEncoder(),
        }
        named.append((kind, step[kind], own))
    return ColumnTransformer(named, sparse_threshold=0)


def _thermometer(feature: cfxc.Feature) -> list[tuple[str, Pipeline | Binarizer, list[str]]]:
    """One column for each level but the first: whether it is reached."""
    name = feature.name
    if not feature.is_symbolic:
        low, high = (int(end) for end in feature.bounds)
        return [(f"{name} {k}", Binarizer(threshold=k - 0.5), [name])
                for k in range(low + 1, high + 1)]  # fmt: skip
    levels = [list(feature.labels)]
    return [
        (f"{name} {k}", make_pipeline(OrdinalEncoder(categories=levels),
                                      Binarizer(threshold=k - 0.5)), [name])
        for k in range(1, len(feature.labels))
    ]  # fmt: skip

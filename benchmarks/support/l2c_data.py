"""The problems of Vo et al. (2023), appendix A.1: data, black boxes, and what nobody can change.

Numbers are those that the authors' code discretises, with its numbers of levels; all else is a
category.  Of Student and SBA the test set is another school, and other years (README of the data:
loans from 2006 on train, earlier ones test).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_transformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import cfxc
from cfxc.datasets.source import local_file

from .portable import Array
from .shifts import geospatial, temporal

GERMAN = ("german_credit/l2c_german_train.csv", "german_credit/l2c_german_test.csv")
ADMISSION = "admission/Admission_Predict_Ver1.1.csv"
VALIDATION = 0.2  # of the training rows, held back from the black box


@dataclass(frozen=True)
class Problem:
    """A table split in two, its black box, and how the paper measures it.

    ``levels``: of each number, for diversity.  ``threshold``: the largest share of numbers changed
    at inference, as the authors set it.  ``units``: of the two hidden layers; ``None`` for a
    logistic regression.
    """

    name: str
    X: pd.DataFrame
    y: Array
    people: pd.DataFrame
    outcomes: Array
    levels: dict[str, int]
    fixed: tuple[str, ...]
    threshold: float
    units: int | None
    shifted: bool

    @property
    def rows(self) -> pd.DataFrame:
        """All people."""
        return pd.concat([self.X, self.people])

    @property
    def space(self) -> cfxc.FeatureSpace:
        """Labels and ranges of all rows."""
        return cfxc.FeatureSpace.infer(self.rows, fixed=list(self.fixed))

    def fitted(self, seed: int, last: BaseEstimator | None = None) -> Pipeline:
        """A black box of the training rows but for a fifth: standardised numbers, one-hot labels.

        ``last``: an estimator in place of the paper's.
        """
        kept, _, labels, _ = self._parts(seed)
        rows = self.rows
        others = [name for name in self.X if name not in self.levels]
        hot = OneHotEncoder(
            categories=[sorted(rows[name].unique()) for name in others], sparse_output=False
        )
        steps = make_column_transformer((StandardScaler(), [*self.levels]), (hot, others))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            last = self._black_box(seed) if last is None else last
            return make_pipeline(steps, last).fit(kept, labels)

    def held(self, seed: int) -> pd.DataFrame:
        """The fifth of the training rows that the black box of a seed did not see."""
        rows: pd.DataFrame = self._parts(seed)[1]
        return rows

    def beyond(self) -> float:
        """The share of test people with a number or a label outside of all training rows."""
        outside = np.zeros(len(self.people), bool)
        for name in self.X:
            column, known = self.people[name], self.X[name]
            if name in self.levels:
                outside |= ~column.between(known.min(), known.max()).to_numpy()
            else:
                outside |= ~column.isin(known.unique()).to_numpy()
        return float(outside.mean())

    def _parts(self, seed: int) -> Any:
        return train_test_split(self.X, self.y, test_size=VALIDATION, random_state=seed)

    def _black_box(self, seed: int) -> BaseEstimator:
        if self.units is None:
            return LogisticRegression(class_weight="balanced", max_iter=1000)
        return MLPClassifier(
            (self.units, self.units), batch_size=100, early_stopping=True,
            validation_fraction=VALIDATION, n_iter_no_change=20, random_state=seed,
        )  # fmt: skip


def german() -> Problem | None:
    """Credit risk: 800 and 200 rows, the authors' split."""
    first, second = (local_file(path) for path in GERMAN)
    if first is None or second is None:
        return None
    train, test = pd.read_csv(first), pd.read_csv(second)
    return _problem(
        "German", train, test, "target", {"Months": 3, "Credit-amount": 3, "age": 3},
        ("Foreign-worker", "Number-of-people-being-lible", "Personal-status", "Purpose"), 0.5, None,
    )  # fmt: skip


def admission() -> Problem | None:
    """A chance of admission of at least 0.7: the first 400 rows and the last 100."""
    path = local_file(ADMISSION)
    if path is None:
        return None
    table = pd.read_csv(path).rename(columns=str.strip).drop(columns="Serial No.")
    table["target"] = (table.pop("Chance of Admit") >= 0.7).astype(int)
    return _problem(
        "Admission", table[:400], table[400:], "target",
        {"GRE Score": 3, "TOEFL Score": 3, "CGPA": 3}, ("University Rating",), 0.7, 40,
    )  # fmt: skip


def student() -> Problem | None:
    """Grades above average: one school, and the other."""
    shift = geospatial()
    if shift is None:
        return None
    train, test = (
        shift.now.assign(target=shift.labels),
        shift.later.assign(target=shift.later_labels),
    )
    return _problem(
        "Student", train, test, "target", {"age": 2, "absences": 3, "G1": 3, "G2": 4},
        ("Medu", "Fedu", "famsup", "G1"), 0.3, None, shifted=True,
    )  # fmt: skip


def sba(*, earlier_first: bool = False) -> Problem | None:
    """Default on a loan: from 2006 on, and before; or the other way round."""
    shift = temporal()
    if shift is None:
        return None
    train = shift.now.drop(columns="Selected").assign(target=shift.labels)
    test = shift.later.drop(columns="Selected").assign(target=shift.later_labels)
    if earlier_first:
        train, test = test, train
    levels = {
        "Term": 4, "NoEmp": 4, "CreateJob": 4, "RetainedJob": 3, "ChgOffPrinGr": 4, "GrAppv": 4,
        "SBA_Appv": 4, "Portion": 3,
    }  # fmt: skip
    fixed = ("UrbanRural", "New", "Recession")
    return _problem("SBA", train, test, "target", levels, fixed, 0.3, 30, shifted=True)


def _problem(
    name: str, train: pd.DataFrame, test: pd.DataFrame, target: str, levels: dict[str, int],
    fixed: tuple[str, ...], threshold: float, units: int | None, *, shifted: bool = False,
) -> Problem:  # fmt: skip
    tables = []
    for table in (train, test):
        X = table.drop(columns=target).reset_index(drop=True)
        tables.append(X.astype({column: str for column in X if column not in levels}))
    y, outcomes = (np.asarray(table[target], int) for table in (train, test))
    return Problem(
        name, tables[0], y, tables[1], outcomes, levels, fixed, threshold, units, shifted
    )


PROBLEMS: dict[str, Callable[[], Problem | None]] = {
    "german": german, "admission": admission, "student": student, "sba": sba,
}  # fmt: skip

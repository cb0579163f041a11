"""The data of Bui, Nguyen & Nguyen (2022): what a model is trained on, and what comes later.

Appendix B.1: one-hot categories, numbers scaled to [0, 1] by the present data, a trailing 1.
Labels are theirs: 1 is a good credit, a passed exam, and of SBA a *default*.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

from cfxc.datasets.source import local_file

from .portable import Array

GERMAN = "german_credit/german.data.csv"
SOUTH = "south_german_credit/SouthGermanCredit.asc"
SBA, STUDENT = "sba/SBAcase.csv", "student/student-por.csv"
SBA_COLUMNS = [
    "Selected", "Term", "NoEmp", "CreateJob", "RetainedJob", "UrbanRural", "ChgOffPrinGr",
    "GrAppv", "SBA_Appv", "New", "RealEstate", "Portion", "Recession",
]  # fmt: skip
STUDENT_COLUMNS = [
    "age", "Medu", "Fedu", "studytime", "famsup", "higher", "internet", "romantic", "freetime",
    "goout", "health", "absences", "G1", "G2",
]  # fmt: skip


@dataclass(frozen=True)
class Shift:
    """Present and later data: raw rows, and labels."""

    name: str
    now: pd.DataFrame
    labels: Array
    later: pd.DataFrame
    later_labels: Array

    def reversed(self) -> Shift:
        """The same the other way round."""
        name = f"{self.name}, the other way"
        return Shift(name, self.later, self.later_labels, self.now, self.labels)

    def encoded(self) -> tuple[Array, Array]:
        """Vectors of both, shape (n, d) with the trailing 1."""
        numbers = [c for c in self.now if pd.api.types.is_numeric_dtype(self.now[c])]
        others = [c for c in self.now if c not in numbers]
        encoder = make_column_transformer(
            (MinMaxScaler(), numbers),
            (OneHotEncoder(handle_unknown="ignore", sparse_output=False), others),
        )
        first = encoder.fit_transform(self.now)
        return _with_one(first), _with_one(encoder.transform(self.later))


def _with_one(X: Array) -> Array:
    return np.column_stack([X, np.ones(len(X))])


def correction() -> Shift | None:
    """German Credit, and its corrected form."""
    old, new = local_file(GERMAN), local_file(SOUTH)
    if old is None or new is None:
        return None
    first = pd.read_csv(old, sep=r"\s+", header=None)
    columns = ["duration", "amount", "status_sex", "age"]
    now = first[[1, 4, 8, 12]].set_axis(columns, axis=1)
    second = pd.read_csv(new, sep=r"\s+")
    later = second[["duration", "amount", "personal_status_sex", "age"]].set_axis(columns, axis=1)
    later = later.assign(status_sex=later["status_sex"].map(lambda code: f"A9{code}"))
    return Shift(
        "Correction", now, (first[20] == 1).to_numpy(int), later, second["credit_risk"].to_numpy()
    )


def temporal(leak: bool = True) -> Shift | None:
    """SBA loans from 2006 on, and before; ``leak``: with the amount charged off."""
    path = local_file(SBA)
    if path is None:
        return None
    table = pd.read_csv(path, encoding="utf-8-sig")
    columns = [name for name in SBA_COLUMNS if leak or name != "ChgOffPrinGr"]
    rows = table[columns].assign(UrbanRural=table["UrbanRural"].map(str))
    now, labels = table["ApprovalFY"] >= 2006, table["Default"].to_numpy(int)
    name = "Temporal" if leak else "Temporal, without ChgOffPrinGr"
    return Shift(name, rows[now], labels[now], rows[~now], labels[~now])


def geospatial() -> Shift | None:
    """Students of one school, and of another."""
    path = local_file(STUDENT)
    if path is None:
        return None
    table = pd.read_csv(path)
    here, labels = table["school"] == "GP", (table["G3"] >= 12).to_numpy(int)
    rows = table[STUDENT_COLUMNS]
    return Shift("Geospatial", rows[here], labels[here], rows[~here], labels[~here])


SHIFTS: tuple[Callable[[], Shift | None], ...] = (
    correction, temporal, lambda: temporal(leak=False), geospatial,
)  # fmt: skip

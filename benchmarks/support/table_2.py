"""Table 2 of Maragno, Röber & Birbil (2022): one answer of a forest, by whom."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from cfxc import metrics

from .carla import Table
from .classical import METHODS, Encoded
from .portable import Array

Cell = tuple[float, float] | None
"""A mean and its standard error."""
HEAD = [
    "data", "who", "people", "found", "validity", "cat. prox.", "cont. prox.", "sparsity", "s",
]  # fmt: skip
ONES = (1.0, 0.0)
PAPER: dict[str, dict[str, Sequence[Cell]]] = {
    "adult": {
        "CE-OCL": (ONES, ONES, (-4844.35, 575.93), (0.93, 0.0)),
        "CE-OCL_tr": (ONES, (0.97, 0.02), (-21785.50, 7506.35), (0.86, 0.01)),
        "DiCE": (ONES, (0.74, 0.03), (-84278.61, 11613.30), (0.50, 0.02)),
        "Actionable Recourse": (ONES, (0.78, 0.07), (0.0, 0.0), (0.89, 0.04)),
        "Growing Spheres": ((0.80, 0.07), (0.95, 0.01), (-78901.08, 10395.08), (0.59, 0.01)),
        "FACE": ((0.80, 0.07), (0.65, 0.03), (-108614.33, 18804.05), (0.47, 0.02)),
    },
    "compas": {
        "CE-OCL": (ONES, ONES, (-15.23, 5.84), (0.85, 0.01)),
        "CE-OCL_tr": (ONES, ONES, (-30.83, 16.0), (0.85, 0.01)),
        "DiCE": ((0.74, 0.09), (0.94, 0.03), (-35.58, 9.59), (0.61, 0.01)),
        "Actionable Recourse": ((0.67, 0.11), (0.94, 0.03), (-0.87, 0.10), (0.85, 0.01)),
        "Growing Spheres": ((0.80, 0.07), (0.98, 0.02), (-39.88, 6.58), (0.56, 0.01)),
        "FACE": ((0.80, 0.07), (0.65, 0.05), (-98.83, 21.18), (0.37, 0.03)),
    },
    "heloc": {
        "CE-OCL": (ONES, None, (-12.21, 2.67), (0.94, 0.01)),
        "CE-OCL_tr": (ONES, None, (-92.71, 13.75), (0.75, 0.02)),
        "DiCE": ((0.97, 0.03), None, (-203.83, 13.70), (0.22, 0.02)),
        "Growing Spheres": ((0.77, 0.08), None, (-87.36, 13.16), (0.0, 0.0)),
        "FACE": ((0.77, 0.08), None, (-361.80, 25.20), (0.17, 0.02)),
    },
    "credit": {
        "CE-OCL": (ONES, None, (-1.18, 0.66), (0.90, 0.01)),
        "CE-OCL_tr": (ONES, None, (-120.61, 118.54), (0.87, 0.01)),
        "DiCE": (ONES, None, (-1618.33, 305.53), (0.25, 0.02)),
        "Actionable Recourse": ((0.83, 0.17), None, (-8.47, 7.96), (0.88, 0.02)),
        "Growing Spheres": ((0.63, 0.09), None, (-47.73, 27.24), (0.10, 0.0)),
        "FACE": ((0.63, 0.09), None, (-3001.73, 430.61), (0.11, 0.02)),
    },
}


def measured(
    where: Encoded, people: pd.DataFrame, answers: Sequence[pd.DataFrame | None]
) -> list[Cell]:
    """Mean and standard error of the four measures.

    Validity is of all people, where no answer is none that is valid; the others are of answers.
    """
    numbers = sum(not feature.is_symbolic for feature in where.space)
    rows = list[tuple[float, ...]]()
    for i, found in enumerate(answers):
        if found is None:
            continue
        person = people.iloc[[i]]
        rows.append((
            metrics.categorical_proximity(where.space, person, found),
            numbers * metrics.continuous_proximity(where.space, person, found, scale="none"),
            metrics.sparsity(where.space, person, found),
        ))  # fmt: skip
    valid = [one is not None and bool(where.predict(one)[0] == 1) for one in answers]
    return [
        mean_and_error(np.array(valid, float)),
        *map(mean_and_error, np.array(rows).reshape(-1, 3).T),
    ]


def mean_and_error(values: Array) -> Cell:
    """The mean of what is a number and its standard error; ``None`` if nothing is."""
    known = values[~np.isnan(values)]
    if not len(known):
        return None
    error = float(known.std(ddof=1)) / len(known) ** 0.5 if len(known) > 1 else float("nan")
    return float(known.mean()), error


def as_text(cells: Sequence[Cell]) -> list[str]:
    """Cells as the paper prints them."""
    return ["" if one is None else f"{one[0]:,.2f} ({one[1]:,.2f})" for one in cells]


def classical_rows(
    name: str, data: Table, model: Any, people: pd.DataFrame
) -> Iterator[list[str]]:  # fmt: skip
    """The rows of the methods that work on the table's columns, seeded by the person's place."""
    where = Encoded(data, model.predict, lambda rows: model.predict_proba(rows)[:, 1])
    for who, method in METHODS.items():
        answers, spent = list[pd.DataFrame | None](), list[float]()
        for i in range(len(people)):
            started, person = time.perf_counter(), people.iloc[[i]]
            own = where.encode(person)[0]
            found = method(where, own, np.random.default_rng(i))
            row = None if found is None else where.decode(found[None])
            spent.append(time.perf_counter() - started)
            if row is not None:
                same = np.isclose(found, own, rtol=0, atol=1e-12)
                for column in row.columns[same]:  # as written, and not by way of [0, 1]
                    row[column] = person[column].to_numpy()
            answers.append(row)
        cells = as_text(measured(where, people, answers))
        got = sum(one is not None for one in answers)
        yield [name, who, str(len(people)), str(got), *cells, f"{np.median(spent):.2f}"]


def paper_rows(name: str) -> Iterator[list[str]]:
    """What the paper's table says."""
    for who, cells in PAPER[name].items():
        yield [name, f"paper: {who}", "30", "", *as_text(cells), ""]


__all__ = [
    "HEAD",
    "PAPER",
    "Cell",
    "Encoded",
    "as_text",
    "classical_rows",
    "measured",
    "paper_rows",
]

"""Plans of rows on the data of the paper: what ending on valid rows costs, and takes."""

from __future__ import annotations

from argparse import Namespace

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

import cfxc
from cfxc.methods.plans import retrained_moments

from .report import Table
from .shifts import Shift, correction, geospatial, temporal

SIZE, RADIUS, MODELS, TINY = 3, 0.01, 200, 1e-6


def run_rows(options: Namespace) -> tuple[list[Table], list[str]]:
    """L* of COPA's points and of the rows nearest to them, and the original model's own word."""
    table = Table(
        f"model.plan: J = {SIZE}, ρ = {RADIUS}, default weights; {MODELS} retrained models, "
        f"means over {options.row_people} people",
        ("data", "L* of points", "L* of rows", "rows valid", "distinct", "s per plan, median"),
    )
    for load in (correction, temporal, lambda: temporal(leak=False), geospatial):
        shift = load()
        if shift is not None:
            table.rows.append(_line(shift, options))
    return [table], []


def _line(shift: Shift, options: Namespace) -> tuple[str, ...]:
    numbers = [c for c in shift.now if pd.api.types.is_numeric_dtype(shift.now[c])]
    others = [c for c in shift.now if c not in numbers]
    encode = make_column_transformer(
        (MinMaxScaler(), numbers), (OneHotEncoder(handle_unknown="ignore"), others)
    )
    estimator = make_pipeline(encode, LogisticRegression(max_iter=1000))
    model = cfxc.compile(estimator.fit(shift.now, shift.labels), cfxc.FeatureSpace.infer(shift.now))
    moments = retrained_moments(
        model, shift.now, shift.labels, MODELS, n_jobs=options.jobs, shrinkage=TINY
    )
    refused = shift.now[model.predict(shift.now) == 0].iloc[: options.row_people]
    plans = [
        model.plan(refused.iloc[[i]], moments=moments, size=SIZE, radius=RADIUS)
        for i in range(len(refused))
    ]
    rows = [plan.plan for plan in plans if plan.plan is not None]
    valid = sum(int((model.predict(each) == 1).sum()) for each in rows)
    distinct = sum(len(each.drop_duplicates()) for each in rows)
    count = SIZE * len(plans)
    first = np.mean([plan.trace[0].lower for plan in plans])
    return (
        shift.name, f"{first:.4f}", f"{np.mean([plan.lower for plan in plans]):.4f}",
        f"{valid} of {count}", f"{distinct} of {count}",
        f"{np.median([plan.seconds for plan in plans]):.1f}",
    )  # fmt: skip

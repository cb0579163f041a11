"""A lender that does not exist: applications, and the model that decides about them.

    python examples/loans.py

writes ``loans.csv`` (2,000 applications, ``repaid`` is the outcome) and ``loans.skops`` (one-hot
encoding and boosted trees, in one pipeline).  Needs the extra ``skops``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder

PURPOSES = ["car", "furniture", "repairs", "studies"]
JOBS = ["none", "temporary", "permanent"]


def applications(n: int = 2_000, seed: int = 0) -> pd.DataFrame:
    """Applications with their outcome: amounts in euros, durations in months."""
    draw = np.random.default_rng(seed)
    age = draw.integers(18, 75, n)
    job = draw.choice(JOBS, n, p=[0.15, 0.25, 0.6])
    income = 100 * np.round(draw.lognormal(3.2, 0.45, n) * np.where(job == "none", 0.5, 1))
    amount = 500 * draw.integers(2, 60, n)
    months = 6 * draw.integers(1, 13, n)
    savings = 100 * draw.integers(0, 80, n) * (draw.random(n) < 0.7)
    defaults = draw.poisson(0.3, n)
    purpose = draw.choice(PURPOSES, n)
    burden = amount / months / income
    score = (
        1.6 - 9 * burden + savings / 6_000 - 1.1 * defaults + 0.01 * (age - 40)
        + np.where(job == "permanent", 0.5, 0) + np.where(purpose == "studies", 0.4, 0)
    )  # fmt: skip
    repaid = np.where(draw.random(n) < 1 / (1 + np.exp(-2 * score)), "yes", "no")
    return pd.DataFrame(
        {
            "age": age, "income": income.astype(int), "job": job, "savings": savings,
            "defaults": defaults, "amount": amount, "months": months, "purpose": purpose,
            "repaid": repaid,
        }
    )  # fmt: skip


def model(table: pd.DataFrame) -> Pipeline:
    """The pipeline that decides, trained on a table of applications."""
    symbolic = ["job", "purpose"]
    columns = make_column_transformer((OneHotEncoder(), symbolic), remainder="passthrough")
    trees = GradientBoostingClassifier(n_estimators=60, max_depth=3, random_state=0)
    return make_pipeline(columns, trees).fit(table.drop(columns="repaid"), table["repaid"])


def main() -> None:
    import skops.io

    table = applications()
    table.to_csv("loans.csv", index=False)
    pipeline = model(table)
    skops.io.dump(pipeline, "loans.skops")
    right = pipeline.score(table.drop(columns="repaid"), table["repaid"])
    print(
        f"{Path('loans.csv')}: {len(table):,} applications; loans.skops: {right:.0%} right on them"
    )


if __name__ == "__main__":
    main()

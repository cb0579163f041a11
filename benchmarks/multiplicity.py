"""Model multiplicity: the nearest row that a model and its retrained copies accept, with proof.

    CFXC_DATA=… python benchmarks/multiplicity.py [--people 10] [--limit 60] [--models rf,mlp]

German credit: a forest of 50 trees of depth 5 and 20 copies, XGBoost (50 trees of depth 3) and 20
copies, a network of 10 ReLUs and 10 copies, and a mix of all kinds; each copy is fitted to a
bootstrap sample.  Refused people ask for the nearest row that all copies accept, or 80 % of them.
"""

from __future__ import annotations

import os
import time
import warnings
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from support.report import Table, circumstances, write_section
from xgboost import XGBClassifier

import cfxc
from cfxc import retrained
from cfxc.methods.plans import robust

KINDS: dict[str, tuple[Any, int]] = {
    "rf": (RandomForestClassifier(50, max_depth=5, random_state=0), 20),
    "xgb": (XGBClassifier(n_estimators=50, max_depth=3, random_state=0, n_jobs=1), 20),
    "mlp": (MLPClassifier((10,), max_iter=300, random_state=0), 10),
}
MIX = (*KINDS, "lr")
SHARES = (1.0, 0.8)
FIXED = ["foreign_worker", "personal_status", "num_dependents"]


def read() -> tuple[pd.DataFrame, np.ndarray[Any, Any]]:
    path = Path(os.environ.get("CFXC_DATA", ".")) / "german_credit" / "credit-g.csv"
    table = pd.read_csv(path)
    texts = [name for name in table if not pd.api.types.is_numeric_dtype(table[name])]
    table = table.astype(dict.fromkeys(texts, object))
    return table.drop(columns="class"), (table["class"] == "good").to_numpy().astype(int)


def pipeline(estimator: Any, X: pd.DataFrame) -> Any:
    texts = [name for name in X if X[name].dtype == object]
    scaled = isinstance(estimator, MLPClassifier | LogisticRegression)
    numbers = StandardScaler() if scaled else "passthrough"
    return make_pipeline(
        make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), texts),
            (numbers, [name for name in X if name not in texts]),
        ),
        estimator,
    )


def models_of(kind: str, X: pd.DataFrame, y: Any, space: Any) -> tuple[Any, list[Any]]:
    """The model as deployed, and others; of ``mix`` two copies of each kind."""
    if kind == "mix":
        model, _ = models_of("rf", X, y, space)
        given = {**{name: one for name, (one, _) in KINDS.items()}, "lr": LogisticRegression()}
        lists = [retrained(pipeline(given[name], X), X, y, 2, space=space) for name in MIX]
        return model, [one for each in lists for one in each]
    estimator, count = KINDS[kind]
    own = pipeline(estimator, X)
    others = retrained(own, X, y, count, space=space)
    return cfxc.compile(own.fit(X, y), space), others


def measured(
    kind: str, people: int, limit: float, X: pd.DataFrame, y: Any, space: Any
) -> Iterator[list[str]]:
    """Rows of the table: for each share what was found, proved and spent.

    First of the nearest counterfactuals of the model alone: how many copies accept one, and how
    many people's are accepted by enough copies.
    """
    model, others = models_of(kind, X, y, space)
    refused = X[model.predict(X) == 0].iloc[:people]
    single = [model.explain(refused.iloc[[i]], target=1) for i in range(len(refused))]
    rows = pd.concat([one.counterfactual for one in single], ignore_index=True)
    kept = np.array([each.predict(rows) == 1 for each in others])
    before = np.array([one.distance for one in single])
    for share in SHARES:
        plans, seconds = [], []
        for i in range(len(refused)):
            started = time.perf_counter()
            plans.append(
                robust(model, refused.iloc[[i]], others, share=share, target=1, time_limit=limit)
            )
            seconds.append(time.perf_counter() - started)
        found = [plan.members[0] for plan in plans if plan.members]
        proved = sum(plan.status in ("optimal", "infeasible") for plan in plans)
        farther = [
            plan.members[0].distance / distance
            for plan, distance in zip(plans, before, strict=True)
            if plan.members
        ]
        asked = [len(set().union(*(p.required for p in m.parts))) for m in found]
        yield [
            kind, str(len(others)), f"{share:g}", str(len(plans)), f"{kept.mean():.2f}",
            f"{np.mean(kept.mean(axis=0) >= share):.2f}", str(len(found)),
            str(proved), f"{np.median(farther):.2f}", f"{np.mean(asked):.1f}",
            f"{np.median(seconds):.2f}", f"{max(seconds):.1f}",
        ]  # fmt: skip


HEAD = (
    "model", "copies", "share", "people", "accept the nearest", "robust already", "found",
    "proved", "× distance", "copies asked", "median, s", "most, s",
)  # fmt: skip


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=10)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each row")
    parser.add_argument("--models", default="rf,xgb,mlp,mix")
    parser.add_argument("--out", type=Path, help="a Markdown page for the table")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    X, y = read()
    space = cfxc.FeatureSpace.infer(X, fixed=FIXED, increase=["age"])
    table = Table("Rows that a model and its retrained copies accept", HEAD)
    for kind in given.models.split(","):
        for row in measured(kind, given.people, given.limit, X, y, space):
            print(" | ".join(row), flush=True)
            table.rows.append(row)
    table.show()
    if given.out:
        command = (
            f"python benchmarks/multiplicity.py --people {given.people} --limit {given.limit:g}"
        )
        text = f"{table.markdown()}\n{circumstances(command)}"
        write_section(given.out, "multiplicity", text)


if __name__ == "__main__":
    main()

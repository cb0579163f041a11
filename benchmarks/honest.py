"""Honest certificates: does the checker's file alone take every one that is made?

    python benchmarks/honest.py [--questions 1000] [--seed 0] [--keep FOLDER]

Random models and questions: every kind of model, distance, mix, penalty, constraint, causal model,
cap, trust region, margin, probability and semantics.  Whatever says ``certificate`` is saved and
checked by the one file that auditors copy, in an isolated Python without packages; exits with 1 if
one is refused.
"""

from __future__ import annotations

import subprocess
import sys
import warnings
from argparse import ArgumentParser
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from support.report import Table, circumstances

import cfxc
from cfxc.certificates import write_checker
from cfxc.errors import CfxcError, UnsupportedError

MODELS: dict[str, Any] = {
    "tree": lambda s: DecisionTreeClassifier(max_depth=5, random_state=s),
    "forest": lambda s: RandomForestClassifier(8, max_depth=4, random_state=s),
    "extra trees": lambda s: ExtraTreesClassifier(6, max_depth=4, random_state=s),
    "boosting": lambda s: GradientBoostingClassifier(n_estimators=8, max_depth=3, random_state=s),
    "histogram boosting": lambda s: HistGradientBoostingClassifier(max_iter=6, max_depth=3),
    "logistic": lambda s: LogisticRegression(),
    "support vectors": lambda s: LinearSVC(random_state=s),
    "network": lambda s: MLPClassifier((4,), max_iter=300, random_state=s),
    "network of two layers": lambda s: MLPClassifier((3, 3), max_iter=300, random_state=s),
    "forest of numbers": lambda s: RandomForestRegressor(6, max_depth=4, random_state=s),
    "ridge": lambda s: Ridge(),
    "network of numbers": lambda s: MLPRegressor(
        hidden_layer_sizes=(4,), max_iter=400, random_state=s
    ),
}
DISTANCES: list[Any] = [
    "l0", "l1", "l2", "linf", {"l0": 0.4, "l1": 0.3, "linf": 0.3}, {"l0": 0.5, "l1": 0.5},
    {"l1": 0.5, "linf": 0.5}, {"l0": 0.2, "linf": 0.8},
]  # fmt: skip
RULES = [
    "a >= factual.a", "b != factual.b", "a + b <= 14", "2 * a - b >= -3", "abs(a - factual.a) <= 3",
    "abs(a - factual.a) >= 2", "min(a, b) >= 2", "max(a, b) <= 9", "a >= 3 || b <= 4",
    "b > factual.b -> a > factual.a", 'job != "x" || a >= 4', "job == factual.job", "!(a == 5)",
    "abs(a - b) >= 1", "c <= 0.5 || c >= 0.75", "min(a, b) <= max(3, a - 2)",
]  # fmt: skip


def table(rng: np.random.Generator) -> pd.DataFrame:
    """Rows with whole numbers, decimals, a category and an order."""
    n = 160
    return pd.DataFrame(
        {
            "a": rng.integers(0, 11, n),
            "b": rng.integers(0, 11, n),
            "c": rng.integers(0, 41, n) / 20 - 1,
            "job": rng.choice(["x", "y", "z"], n),
        }
    )


def question(
    rng: np.random.Generator, classifies: bool, two: bool, X: pd.DataFrame
) -> dict[str, Any]:
    """Options of one question."""
    asked: dict[str, Any] = {"distance": DISTANCES[rng.integers(len(DISTANCES))]}
    criteria: list[Any] = []
    if rng.random() < 0.6:
        chosen = rng.choice(RULES, size=int(rng.integers(1, 3)), replace=False)
        criteria += [str(rule) for rule in chosen]
    if rng.random() < 0.15:
        criteria.append(cfxc.MaxChanges(int(rng.integers(1, 4))))
    if rng.random() < 0.15 and not isinstance(asked["distance"], dict):
        asked["change_penalty"] = 0.1 if asked["distance"] != "l0" else 0.0
    if rng.random() < 0.1:
        criteria.append(cfxc.Causal({"b": "a - 1"}))
    if classifies and rng.random() < 0.15:
        criteria.append(cfxc.Margin(0.05))
    elif classifies and two and rng.random() < 0.15:
        criteria.append(cfxc.Probability(float(rng.choice([0.55, 0.7]))))
    elif rng.random() < 0.25:
        asked["semantics"] = "float"
    if rng.random() < 0.15:
        reach, norm = float(rng.choice([0, 0.05, 0.1, 0.3])), str(rng.choice(["l1", "l2", "linf"]))
        around, clusters = X.iloc[: int(rng.integers(4, 40))], int(rng.integers(1, 3))
        criteria.append(cfxc.TrustRegion(around, epsilon=reach, norm=norm, clusters=clusters))
    return {**asked, "subject_to": criteria}


def answered(seed: int) -> tuple[str, Any, dict[str, Any]]:
    """A model's name, its answer, and what it was asked."""
    rng = np.random.default_rng(seed)
    name = str(rng.choice(list(MODELS)))
    X, model = table(rng), MODELS[name](seed)
    score = 0.3 * X.a + 0.2 * X.b + X.c + (X.job == "y") + rng.normal(scale=0.4, size=len(X))
    classifies, classes = not name.endswith(("numbers", "ridge")), int(rng.choice([2, 2, 3]))
    cuts = np.quantile(score, np.arange(1, classes) / classes)
    y = np.digitize(score, cuts) if classifies else score
    numbers = ["a", "b", "c"]
    scaled = StandardScaler() if rng.random() < 0.5 else "passthrough"
    encode = ColumnTransformer([("j", OneHotEncoder(), ["job"]), ("n", scaled, numbers)])
    dense = ColumnTransformer(
        [("j", OneHotEncoder(sparse_output=False), ["job"]), ("n", scaled, numbers)]
    )
    pipeline = make_pipeline(dense if "histogram" in name else encode, model).fit(X, y)
    acts = {"increase": ["a"]} if rng.random() < 0.2 else {}
    compiled = cfxc.compile(pipeline, cfxc.FeatureSpace.infer(X, **acts))
    said = np.asarray(compiled.predict(X))
    if classifies:
        target = int(rng.integers(classes))
        rows = np.flatnonzero(said != target)
    else:
        target = (float(np.quantile(said, 0.8)), None)
        rows = np.flatnonzero(said < target[0])
    if not rows.size:
        return name, None, {}
    asked = question(rng, classifies, classes == 2, X)
    row = X.iloc[[int(rng.choice(rows))]]
    return name, compiled.explain(row, target=target, time_limit=20, **asked), asked


def main() -> None:
    """Ask, certify, check, and print what was refused."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="folder for the certificates")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    counts: Counter[tuple[str, str]] = Counter()
    refused: Counter[str] = Counter()
    with TemporaryDirectory() as folder:
        checker, kept = write_checker(Path(folder) / "check.pyz"), options.keep or Path(folder)
        kept.mkdir(parents=True, exist_ok=True)
        for seed in range(options.seed, options.seed + options.questions):
            path = kept / f"{seed if options.keep else 'question'}.json"
            try:
                name, result, asked = answered(seed)
            except CfxcError as error:
                counts["all", "no question"] += 1
                refused[f"{type(error).__name__}: {str(error)[:60]}"] += 1
                continue
            if result is None or result.status == "unknown":
                counts[name, "no answer"] += 1
                continue
            try:
                result.certificate.save(path)
            except UnsupportedError as error:
                counts[name, "none"] += 1
                refused[str(error).splitlines()[0][:110]] += 1
                if "beyond the checker" in str(error):
                    print(f"seed {seed}: {name}, {asked}: {str(error)[:200]}", flush=True)
                continue
            order = [sys.executable, "-I", "-S", str(checker), str(path)]
            done = subprocess.run(order, capture_output=True, text=True, check=False)
            counts[name, "accepted" if done.returncode == 0 else "REJECTED"] += 1
            if done.returncode:
                print(f"seed {seed}: {name}, {asked}: {done.stdout[:200]}", flush=True)
    columns = ("accepted", "REJECTED", "none", "no answer", "no question")
    made = Table("Honest certificates", ("model", *columns))
    for name in [*MODELS, "all"]:
        own = [(kind, n) for (model, kind), n in counts.items() if name in (model, "all")]
        made.rows.append((name, *(str(sum(n for k, n in own if k == kind)) for kind in columns)))
    made.show()
    print(circumstances(f"python benchmarks/honest.py --questions {options.questions}"))
    for why, n in refused.most_common():
        print(f"{n:5d}  {why}")
    sys.exit(any(kind == "REJECTED" for _, kind in counts))


if __name__ == "__main__":
    main()

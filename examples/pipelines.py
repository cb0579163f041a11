"""Thirteen pipelines as people deploy them: compiled, asked about, and their answers run again.

    CFXC_DATA=… python examples/pipelines.py [--instances 20] [--seconds 10] [--only NAME]

Scorecards with bins and a tuned threshold, imputers and target encoders before calibrated boosting,
codes that stand for missing numbers, stacked ensembles, categories with missing values, searches.
Every answer is asked of the deployed model again.  CatBoost, an explainable boosting machine and a
PyTorch network run where their libraries are installed.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)

import cfxc

Data = tuple[pd.DataFrame, Any]  # features, and 1 where the outcome is favourable
NUMBERS = make_column_selector(dtype_include="number")
TEXTS = make_column_selector(dtype_exclude="number")
FOLDER = Path(os.environ.get("CFXC_DATA", "."))


def german() -> Data:
    """German credit: 1,000 loans, 7 numbers and 13 categories."""
    path = FOLDER / "german_credit" / "credit-g.csv"
    frame = pd.read_csv(path, keep_default_na=False)
    return frame.drop(columns="class"), (frame["class"] == "good").astype(int)


def adult() -> Data:
    """Adult: 8,000 rows of the training file; ``?`` is missing, as are some hours of work."""
    names = [
        "age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation",
        "relationship", "race", "sex", "capital_gain", "capital_loss", "hours_per_week",
        "native_country", "income",
    ]  # fmt: skip
    path = FOLDER / "adult" / "adult.data.csv.gz"
    frame = pd.read_csv(path, names=names, skipinitialspace=True, na_values="?", nrows=8000)
    lost = np.random.default_rng(0).random(len(frame)) < 0.1
    frame["hours_per_week"] = frame["hours_per_week"].where(~lost)
    used = frame.drop(columns=["fnlwgt", "race", "income", "education"])
    texts = used.select_dtypes(exclude="number").columns
    return used.astype(dict.fromkeys(texts, object)), (frame["income"] == ">50K").astype(int)


def heloc() -> Data:
    """HELOC: 23 whole numbers, whose negative codes say that there is none."""
    frame = pd.read_csv(FOLDER / "heloc" / "heloc_dataset_v1.csv")
    y = (frame.pop("RiskPerformance") == "Good").astype(int)
    return frame.where(frame >= 0), y


def credit() -> Data:
    """Give Me Some Credit: 20,000 rows, missing incomes and numbers of dependents."""
    path = FOLDER / "give_me_some_credit" / "cs-training.csv.gz"
    frame = pd.read_csv(path, index_col=0, nrows=20_000)
    return frame, 1 - frame.pop("SeriousDlqin2yrs")


def taiwan() -> Data:
    """Credit cards of Taiwan, as prepared for MACE: 14 numbers."""
    frame = pd.read_csv(FOLDER / "credit_default" / "credit_processed_mace.csv.gz", nrows=10_000)
    return frame, frame.pop("NoDefaultNextMonth (label)")


def labels(**options: Any) -> OneHotEncoder:
    return OneHotEncoder(handle_unknown="infrequent_if_exist", sparse_output=False, **options)


def scorecard() -> Any:
    """Bins and weights, and a cut-off tuned for balanced accuracy."""
    bins = KBinsDiscretizer(5, quantile_method="averaged_inverted_cdf", encode="onehot-dense")
    columns = make_column_transformer((bins, NUMBERS), (labels(min_frequency=20), TEXTS))
    model = make_pipeline(columns, LogisticRegression(max_iter=2000))
    return TunedThresholdClassifierCV(model, scoring="balanced_accuracy", cv=3)


def calibrated() -> Any:
    """Imputers and target encoders before boosting, calibrated."""
    columns = make_column_transformer(
        (SimpleImputer(strategy="median", add_indicator=True), NUMBERS),
        (make_pipeline(SimpleImputer(strategy="most_frequent"), TargetEncoder(random_state=0)),
         TEXTS),
    )  # fmt: skip
    boosting = HistGradientBoostingClassifier(max_iter=60, random_state=0)
    return make_pipeline(columns, CalibratedClassifierCV(boosting, ensemble=False, cv=3))


def boosted() -> Any:
    """XGBoost, which sends missing numbers to a side of each split."""
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=100, max_depth=4, random_state=0, n_jobs=1)


def leaves() -> Any:
    """LightGBM on missing numbers."""
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=80, random_state=0, n_jobs=1, verbose=-1)


def stacked() -> Any:
    """A forest and a logistic regression, judged by another one."""
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    parts = [
        ("forest", make_pipeline(SimpleImputer(), RandomForestClassifier(
            20, max_depth=5, random_state=0))),
        ("linear", make_pipeline(numbers, LogisticRegression(max_iter=1000))),
    ]  # fmt: skip
    return StackingClassifier(parts, LogisticRegression(), cv=3)


def searched() -> Any:
    """A forest whose depth a grid search chose, on missing numbers and coded categories."""
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    texts = make_pipeline(SimpleImputer(strategy="constant", fill_value="none"), codes)
    columns = make_column_transformer(("passthrough", NUMBERS), (texts, TEXTS))
    forest = RandomForestClassifier(60, random_state=0)
    depths = {"randomforestclassifier__max_depth": [4, 8]}
    return GridSearchCV(make_pipeline(columns, forest), depths, cv=2)


def selected() -> Any:
    """The ten best columns, scaled robustly, before a support vector machine's cousin."""
    columns = make_column_transformer((RobustScaler(), NUMBERS), (labels(), TEXTS))
    return make_pipeline(columns, SelectKBest(k=10), LogisticRegression(max_iter=1000))


def network() -> Any:
    """Uniform quantiles before a network of two layers."""
    columns = make_column_transformer(
        (QuantileTransformer(n_quantiles=20, random_state=0), NUMBERS), (labels(), TEXTS)
    )
    return make_pipeline(columns, MLPClassifier((12, 12), max_iter=80, random_state=0))


def voted() -> Any:
    """Boosting, a forest and a logistic model, whose probabilities are averaged."""
    parts = [
        ("boosting", HistGradientBoostingClassifier(max_iter=30, random_state=0)),
        ("forest", RandomForestClassifier(20, max_depth=6, random_state=0)),
        ("linear", make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))),
    ]
    return VotingClassifier(parts, voting="soft")


def bayes() -> Any:
    """Naive Bayes on five numbers."""
    return make_pipeline(SelectKBest(k=5), GaussianNB())


def cats() -> Any:
    """CatBoost with its own encoding of categories."""
    from catboost import CatBoostClassifier

    texts = TEXTS(german()[0])
    return CatBoostClassifier(
        iterations=80,
        depth=5,
        cat_features=texts,
        verbose=0,
        random_seed=0,
        allow_writing_files=False,
    )


def glass() -> Any:
    """An explainable boosting machine: sums of tables of one column, and of two."""
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(interactions=3, random_state=0, n_jobs=1)


class Embedded:
    """A PyTorch network over numbers and an embedding of one category, trained here."""

    def fit(self, X: pd.DataFrame, y: Any) -> None:
        import torch
        from torch import nn

        numbers = ["MaxBillAmountOverLast6Months", "MaxPaymentAmountOverLast6Months",
                   "MonthsWithZeroBalanceOverLast6Months", "TotalOverdueCounts",
                   "TotalMonthsOverdue"]  # fmt: skip
        centre, size = X[numbers].mean().to_numpy(), X[numbers].std().to_numpy()

        class Network(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.education = nn.Embedding(5, 3)
                self.layers = nn.Sequential(nn.Linear(8, 12), nn.ReLU(), nn.Linear(12, 1))

            def forward(self, row: dict[str, Any]) -> Any:
                scaled = [(row[n] - c) / s for n, c, s in zip(numbers, centre, size, strict=True)]
                table = [torch.stack(scaled, 1), self.education(row["EducationLevel"])]
                return self.layers(torch.cat(table, 1))

        torch.manual_seed(0)
        self.module = Network()
        row = {name: torch.tensor(X[name].to_numpy(), dtype=torch.float32) for name in numbers}
        row["EducationLevel"] = torch.tensor(X["EducationLevel"].to_numpy(), dtype=torch.int64)
        outcome = torch.tensor(np.asarray(y), dtype=torch.float32)[:, None]
        optimiser = torch.optim.Adam(self.module.parameters(), lr=0.02)
        for _ in range(200):
            optimiser.zero_grad()
            nn.functional.binary_cross_entropy_with_logits(self.module(row), outcome).backward()
            optimiser.step()
        self.columns = [*numbers, "EducationLevel"]


def embedded() -> Any:
    """A PyTorch network, whose logit decides at 0.8."""
    import torch  # noqa: F401

    return Embedded()


PIPELINES: dict[str, tuple[Callable[[], Data], Callable[[], Any]]] = {
    "German credit: scorecard, bins, tuned threshold": (german, scorecard),
    "Adult: imputers, target encoder, calibrated boosting": (adult, calibrated),
    "HELOC: codes as missing, XGBoost": (heloc, boosted),
    "Give Me Some Credit: missing numbers, LightGBM": (credit, leaves),
    "Give Me Some Credit: imputed, stacked ensemble": (credit, stacked),
    "Adult: grid search, forest, missing values": (adult, searched),
    "German credit: selected columns, logistic regression": (german, selected),
    "German credit: quantiles, network": (german, network),
    "Taiwan: soft vote of three": (taiwan, voted),
    "Taiwan: naive Bayes": (taiwan, bayes),
    "German credit: CatBoost": (german, cats),
    "HELOC: explainable boosting machine": (heloc, glass),
    "Taiwan: PyTorch network with an embedding": (taiwan, embedded),
}


def ask(name: str, instances: int, seconds: float) -> tuple[Any, ...] | None:
    """Compile one pipeline and explain refused instances; ``None`` if its library is missing."""
    read, make = PIPELINES[name]
    X, y = read()
    try:
        model = make()
    except ImportError as error:
        print(f"{name}: skipped, {error.name} is not installed", file=sys.stderr)
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
        started = time.perf_counter()
        if isinstance(model, Embedded):
            X = X[model.columns]
            space = cfxc.FeatureSpace.infer(X, kinds={"EducationLevel": "categorical"})
            compiled = cfxc.compile(model.module, space, cut=0.8, favourable=1)
        else:
            space = cfxc.FeatureSpace.infer(X)
            compiled = cfxc.compile(model, space, favourable=1)
        made = time.perf_counter() - started
        refused = X[compiled.predict(X) != 1].iloc[:instances]
        answers = []
        for i in range(len(refused)):
            answers.append(compiled.explain(refused.iloc[[i]], target=1, time_limit=seconds))
        rows = [a.counterfactual for a in answers if a.counterfactual is not None]
        again = (compiled if isinstance(model, Embedded) else model).predict
        invalid = sum(int(np.asarray(again(row)).ravel()[0]) != 1 for row in rows)
    proved = sum(answer.status in ("optimal", "infeasible") for answer in answers)
    gaps = [1 - a.lower_bound / a.distance for a in answers if a.status == "feasible"]
    times = [answer.seconds for answer in answers]
    widest = f"{max(gaps):.0%}" if gaps else "–"
    return (name, f"{made:.2f}", len(answers), len(rows), invalid, proved, widest,
            f"{median(times):.2f}", f"{max(times):.2f}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=10.0, help="limit for each answer")
    parser.add_argument("--only", default="", help="pipelines whose name holds this")
    options = parser.parse_args()
    print("| pipeline | compiled, s | asked | answered | invalid | proved | widest gap | "
          "median, s | slowest, s |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|")
    for name in PIPELINES:
        if options.only in name and (row := ask(name, options.instances, options.seconds)):
            print("| " + " | ".join(map(str, row)) + " |", flush=True)


if __name__ == "__main__":
    main()

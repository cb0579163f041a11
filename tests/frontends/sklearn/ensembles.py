"""Ensembles of every kind, small enough to train in a moment."""

from __future__ import annotations

from typing import Any

from sklearn import ensemble
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, NuSVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

Boosting = ensemble.GradientBoostingClassifier
BoostingRegressor = ensemble.GradientBoostingRegressor
Histogram = ensemble.HistGradientBoostingClassifier
HistogramRegressor = ensemble.HistGradientBoostingRegressor
FIXED: dict[str, Any] = {"random_state": 0}


def stump(depth: int = 1) -> DecisionTreeClassifier:
    return DecisionTreeClassifier(max_depth=depth, **FIXED)


def scaled(model: Any) -> Any:
    return make_pipeline(StandardScaler(), model)


def ada_boost(*member: Any, **options: Any) -> Any:
    """SAMME, which older versions have to be told."""
    if ensemble.AdaBoostClassifier().get_params().get("algorithm") == "SAMME.R":
        options["algorithm"] = "SAMME"
    return ensemble.AdaBoostClassifier(*member, **options)


def panel() -> list[tuple[str, Any]]:
    return [
        ("tree", stump(4)),
        ("forest", ensemble.RandomForestClassifier(4, max_depth=3, **FIXED)),
        ("linear", scaled(LogisticRegression())),
        ("boosted", Boosting(n_estimators=4, max_depth=2, **FIXED)),
    ]


def estimators() -> list[tuple[str, Any]]:
    return [
        ("tree", DecisionTreeRegressor(max_depth=4, **FIXED)),
        ("linear", scaled(Ridge())),
        ("boosted", BoostingRegressor(n_estimators=4, max_depth=2, **FIXED)),
    ]


CLASSIFIERS: dict[str, Any] = {
    "boosting": Boosting(n_estimators=9, **FIXED),
    "boosting from zero": Boosting(n_estimators=5, init="zero", **FIXED),
    "boosting of a part": Boosting(n_estimators=5, subsample=0.5, max_features=2, **FIXED),
    "boosting from a dummy": Boosting(
        n_estimators=4, init=DummyClassifier(strategy="uniform"), **FIXED
    ),
    "histogram": Histogram(max_iter=8, **FIXED),
    "histogram by leaves": Histogram(max_iter=5, max_leaf_nodes=4, **FIXED),
    "ada boost": ada_boost(n_estimators=9, **FIXED),
    "ada boost of trees": ada_boost(stump(3), n_estimators=6, **FIXED),
    "ada boost of lines": ada_boost(LogisticRegression(max_iter=2000), n_estimators=3, **FIXED),
    "bagging": ensemble.BaggingClassifier(n_estimators=7, **FIXED),
    "bagging of a part": ensemble.BaggingClassifier(
        ExtraTreeClassifier(max_depth=4), n_estimators=6, max_features=2, **FIXED
    ),
    "bagging of lines": ensemble.BaggingClassifier(
        scaled(LogisticRegression()), n_estimators=3, max_features=2, **FIXED
    ),
    "bagging of votes": ensemble.BaggingClassifier(
        scaled(RidgeClassifier()), n_estimators=5, max_features=0.6, **FIXED
    ),
    "bagging of boosters": ensemble.BaggingClassifier(
        Boosting(n_estimators=3, max_depth=1, **FIXED), n_estimators=3, **FIXED
    ),
    "votes": ensemble.VotingClassifier(panel()),
    "weighted votes": ensemble.VotingClassifier(
        [*panel(), ("gone", "drop")], weights=[1, 0.5, 1, 0.5, 7]
    ),
    "mean shares": ensemble.VotingClassifier(panel(), voting="soft"),
    "weighted shares": ensemble.VotingClassifier(panel(), voting="soft", weights=[1, 2, 0.3, 1]),
}
#: Models whose scores are not lowered, or that know two classes only.
OTHERS: dict[str, Any] = {
    "isolation": ensemble.IsolationForest(n_estimators=20, **FIXED),
    "isolation of a part": ensemble.IsolationForest(
        n_estimators=15, max_features=2, contamination=0.2, **FIXED
    ),
    "svc": SVC(kernel="linear"),
    "nu svc": NuSVC(kernel="linear", nu=0.3),
}
REGRESSORS: dict[str, Any] = {
    "boosting": BoostingRegressor(n_estimators=9, **FIXED),
    "boosting of quantiles": BoostingRegressor(loss="quantile", alpha=0.8, n_estimators=6, **FIXED),
    "boosting of medians": BoostingRegressor(loss="absolute_error", n_estimators=6, **FIXED),
    "boosting from a dummy": BoostingRegressor(
        init=DummyRegressor(strategy="constant", constant=7), n_estimators=5, **FIXED
    ),
    "boosting from zero": BoostingRegressor(init="zero", n_estimators=5, **FIXED),
    "histogram": HistogramRegressor(max_iter=8, **FIXED),
    "histogram of quantiles": HistogramRegressor(
        loss="quantile", quantile=0.3, max_iter=8, **FIXED
    ),
    "ada boost": ensemble.AdaBoostRegressor(n_estimators=7, **FIXED),
    "ada boost of lines": ensemble.AdaBoostRegressor(LinearRegression(), n_estimators=4, **FIXED),
    "bagging": ensemble.BaggingRegressor(n_estimators=7, max_features=2, **FIXED),
    "bagging of lines": ensemble.BaggingRegressor(
        LinearRegression(), n_estimators=4, max_features=2, **FIXED
    ),
    "votes": ensemble.VotingRegressor(estimators()),
    "weighted votes": ensemble.VotingRegressor(estimators(), weights=[1, 2, 0.7]),
    "svr": SVR(kernel="linear", C=0.1),
    "nu svr": NuSVR(kernel="linear", C=0.1),
}

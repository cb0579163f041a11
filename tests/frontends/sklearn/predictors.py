"""Predictors of every kind, and wrappers around them, small enough to train in a moment."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special
from sklearn import linear_model as linear
from sklearn import naive_bayes
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.covariance import EllipticEnvelope
from sklearn.cross_decomposition import CCA, PLSCanonical, PLSRegression
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    RandomForestClassifier,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
)
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    HalvingGridSearchCV,
    HalvingRandomSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import MultiOutputRegressor, RegressorChain
from sklearn.neighbors import NearestCentroid, RadiusNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)
from sklearn.semi_supervised import LabelPropagation, LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC, SVR, LinearSVC, OneClassSVM
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor


def tree(depth: int = 4) -> DecisionTreeClassifier:
    return DecisionTreeClassifier(max_depth=depth, random_state=0)


def forest(count: int = 10) -> RandomForestClassifier:
    return RandomForestClassifier(count, random_state=0)


def positive(model: Any) -> Any:
    """On columns from 0 to 1, as counts are."""
    return make_pipeline(MinMaxScaler(), model)


def members() -> list[tuple[str, Any]]:
    return [("linear", LogisticRegression()), ("tree", tree())]


def regressors() -> list[tuple[str, Any]]:
    return [("linear", Ridge()), ("tree", DecisionTreeRegressor(max_depth=4, random_state=0))]


def search(model: Any, **grid: list[Any]) -> GridSearchCV:
    return GridSearchCV(model, grid, cv=2)


#: Of two classes and of three.
CLASSIFIERS: dict[str, Any] = {
    "gaussian": naive_bayes.GaussianNB(),
    "bernoulli": naive_bayes.BernoulliNB(),
    "bernoulli of thirds": naive_bayes.BernoulliNB(binarize=0.33),
    "multinomial": positive(naive_bayes.MultinomialNB()),
    "complement": positive(naive_bayes.ComplementNB()),
    "complement of norms": positive(naive_bayes.ComplementNB(norm=True)),
    "linear discriminant": LinearDiscriminantAnalysis(),
    "shrunk discriminant": LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.3),
    "quadratic discriminant": QuadraticDiscriminantAnalysis(reg_param=0.1),
    "centroids": NearestCentroid(),
    "shrunk centroids": NearestCentroid(shrink_threshold=0.2),
    "centroids by corners": NearestCentroid(metric="manhattan"),
    "radius": RadiusNeighborsClassifier(1.2, outlier_label="most_frequent"),
    "radius, corners": RadiusNeighborsClassifier(
        1.5, p=1, outlier_label="most_frequent", algorithm="brute"
    ),
    "radius, brute": RadiusNeighborsClassifier(
        0.8, outlier_label="most_frequent", algorithm="brute"
    ),
    "propagation": LabelPropagation(gamma=0.5),
    "spreading": LabelSpreading(gamma=0.25),
    "perceptron": linear.Perceptron(random_state=0),
    "passive aggressive": linear.PassiveAggressiveClassifier(random_state=0),
    "square machine": SVC(kernel="poly", degree=2, coef0=0.5),
    "cubic machine": SVC(kernel="poly", degree=3, C=0.1),
    "constant machine": SVC(kernel="poly", degree=0),
    "line by a polynomial": SVC(kernel="poly", degree=1),
    "machine without ties": SVC(kernel="linear", break_ties=True),
    "machine of pairs": SVC(kernel="linear", decision_function_shape="ovo"),
    "bumps": SVC(kernel="rbf", C=0.3),
    "waves": SVC(kernel="sigmoid"),
    "prior": DummyClassifier(),
    "most frequent": DummyClassifier(strategy="most_frequent"),
    "search": search(tree(), max_depth=[2, 3]),
    "random search": RandomizedSearchCV(
        tree(), {"max_depth": [2, 3]}, n_iter=2, cv=2, random_state=0
    ),
    "halving": HalvingGridSearchCV(tree(), {"max_depth": [2, 3]}, cv=2, random_state=0),
    "random halving": HalvingRandomSearchCV(tree(), {"max_depth": [2, 3]}, cv=2, random_state=0),
    "search in a search": search(search(tree(), max_depth=[2, 3]), cv=[2, 3]),
    "self training": SelfTrainingClassifier(LogisticRegression()),
    "rest by lines": OneVsRestClassifier(LogisticRegression()),
    "rest by trees": OneVsRestClassifier(tree()),
    "rest by forests": OneVsRestClassifier(forest(5)),
    "rest by values": OneVsRestClassifier(Ridge()),
    "pairs by lines": OneVsOneClassifier(LinearSVC(random_state=0)),
    "pairs by trees": OneVsOneClassifier(tree(2)),
    "pairs by chances": OneVsOneClassifier(naive_bayes.GaussianNB()),
    "codes by lines": OutputCodeClassifier(LogisticRegression(), code_size=3, random_state=0),
    "codes by trees": OutputCodeClassifier(tree(2), code_size=4, random_state=1),
    "one sigmoid": CalibratedClassifierCV(LinearSVC(random_state=0), ensemble=False, cv=2),
    "one staircase": CalibratedClassifierCV(
        LogisticRegression(), method="isotonic", ensemble=False, cv=2
    ),
    "one staircase of a tree": CalibratedClassifierCV(
        tree(), method="isotonic", ensemble=False, cv=2
    ),
    "stack": StackingClassifier(members(), cv=2),
    "stack of labels": StackingClassifier(members(), cv=2, stack_method="predict"),
    "stack with columns": StackingClassifier(
        [*members(), ("gone", "drop"), ("machine", LinearSVC(random_state=0))],
        final_estimator=tree(3), cv=2, passthrough=True,
    ),
    "votes": VotingClassifier(
        [
            ("bayes", naive_bayes.GaussianNB()),
            ("search", search(tree(), max_depth=[2, 3])),
            ("pairs", OneVsOneClassifier(tree(2))),
        ]
    ),
    "mean logistic shares": VotingClassifier(
        [("rest", OneVsRestClassifier(LogisticRegression())), ("tree", tree())], voting="soft"
    ),
    "mean shares": VotingClassifier(
        [
            ("bayes", naive_bayes.GaussianNB()),
            ("stack", StackingClassifier(members(), cv=2)),
            ("rest", OneVsRestClassifier(tree())),
        ],
        voting="soft",
    ),
}  # fmt: skip
#: Of two classes alone.
BINARY: dict[str, Any] = {
    "sigmoids": CalibratedClassifierCV(LinearSVC(random_state=0), cv=3),
    "sigmoids of shares": CalibratedClassifierCV(tree(), cv=2),
    "staircases": CalibratedClassifierCV(LogisticRegression(), method="isotonic", cv=3),
    "cut chances": FixedThresholdClassifier(LogisticRegression(), threshold=0.3, pos_label="grant"),
    "cut chances of the first": FixedThresholdClassifier(
        LogisticRegression(), threshold=0.3, pos_label="deny"
    ),
    "cut scores of the first": FixedThresholdClassifier(
        LogisticRegression(), threshold=0.3, pos_label="deny", response_method="decision_function"
    ),
    "cut by itself": FixedThresholdClassifier(LinearSVC(random_state=0), pos_label="grant"),
    "tuned cut": TunedThresholdClassifierCV(LogisticRegression(), cv=2, scoring="accuracy"),
    "tuned cut of a forest": TunedThresholdClassifierCV(forest(), cv=2, scoring="accuracy"),
    "tuned cut of a machine": TunedThresholdClassifierCV(
        LinearSVC(random_state=0), cv=2, scoring="accuracy", response_method="decision_function"
    ),
}
#: Of one target.
REGRESSORS: dict[str, Any] = {
    "bayes": linear.BayesianRidge(),
    "relevance": linear.ARDRegression(),
    "huber": linear.HuberRegressor(),
    "quantile": linear.QuantileRegressor(alpha=0.01),
    "theil sen": linear.TheilSenRegressor(max_subpopulation=100, random_state=0),
    "lars cv": linear.LarsCV(cv=2),
    "lasso lars": linear.LassoLars(alpha=0.01),
    "lasso lars cv": linear.LassoLarsCV(cv=2),
    "lasso lars by criterion": linear.LassoLarsIC(),
    "pursuit cv": linear.OrthogonalMatchingPursuitCV(cv=2),
    "passive aggressive": linear.PassiveAggressiveRegressor(random_state=0),
    "ransac": linear.RANSACRegressor(random_state=0),
    "poisson": linear.PoissonRegressor(),
    "gamma": linear.GammaRegressor(),
    "tweedie": linear.TweedieRegressor(power=1.5),
    "tweedie without a link": linear.TweedieRegressor(power=0),
    "square machine": SVR(kernel="poly", degree=2, C=0.1),
    "waves": SVR(kernel="sigmoid"),
    "stack": StackingRegressor(regressors(), cv=2),
    "stack with columns": StackingRegressor(
        regressors(), cv=2, passthrough=True, final_estimator=DecisionTreeRegressor(max_depth=3)
    ),
    "logarithm": TransformedTargetRegressor(
        Ridge(), func=np.log1p, inverse_func=np.expm1, check_inverse=False
    ),
    "plain logarithm": TransformedTargetRegressor(Ridge(), func=np.log, inverse_func=np.exp),
    "root": TransformedTargetRegressor(Ridge(), func=np.sqrt, inverse_func=np.square),
    "opposite": TransformedTargetRegressor(Ridge(), func=np.negative, inverse_func=np.negative),
    "search": search(Ridge(), alpha=[1, 2]),
}
#: Of one target or several.
SEVERAL: dict[str, Any] = {
    "lars": linear.Lars(),
    "pursuit": linear.OrthogonalMatchingPursuit(),
    "least squares": PLSRegression(2),
    "kernel": KernelRidge(),
    "square kernel": KernelRidge(kernel="poly", degree=2, gamma=0.1),
    "cubic kernel": KernelRidge(kernel="polynomial", degree=3, gamma=0.1),
    "bump kernel": KernelRidge(kernel="rbf", alpha=10),
    "constant": DummyRegressor(),
    "scaled target": TransformedTargetRegressor(Ridge(), transformer=StandardScaler()),
    "target from 0 to 1": TransformedTargetRegressor(Ridge(), transformer=MinMaxScaler()),
    "target to 1": TransformedTargetRegressor(Ridge(), transformer=MaxAbsScaler()),
    "robust target": TransformedTargetRegressor(Ridge(), transformer=RobustScaler()),
    "shifted target": TransformedTargetRegressor(
        Ridge(), transformer=RobustScaler(with_scaling=False)
    ),
    "target as it is": TransformedTargetRegressor(Ridge()),
}
#: Of several targets.
TARGETS: dict[str, Any] = {
    "canonical": PLSCanonical(2),
    "correlations": CCA(2),
    "lasso": linear.MultiTaskLasso(alpha=0.1),
    "lasso cv": linear.MultiTaskLassoCV(alphas=[0.1, 1], cv=2),
    "net": linear.MultiTaskElasticNet(alpha=0.1),
    "net cv": linear.MultiTaskElasticNetCV(alphas=[0.1, 1], cv=2),
    "one each": MultiOutputRegressor(DecisionTreeRegressor(max_depth=3)),
    "chain": RegressorChain(Ridge()),
    "chain backwards": RegressorChain(DecisionTreeRegressor(max_depth=3), order=[1, 0]),
}
#: Labels -1 and 1, trained on rows alone.
DETECTORS: dict[str, Any] = {
    "ellipse": EllipticEnvelope(random_state=0),
    "line": linear.SGDOneClassSVM(random_state=0),
    "linear machine": OneClassSVM(kernel="linear"),
    "square machine": OneClassSVM(kernel="poly", degree=2),
    "bumps": OneClassSVM(),
}
SIGMOID = TransformedTargetRegressor(
    Ridge(), func=special.logit, inverse_func=special.expit, check_inverse=False
)

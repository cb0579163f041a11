"""Wrappers that answer as the fitted estimator in them does."""

from __future__ import annotations

from sklearn.linear_model import RANSACRegressor
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.model_selection._search_successive_halving import (
    HalvingGridSearchCV,
    HalvingRandomSearchCV,
)  # public once scikit-learn's switch for experiments is on
from sklearn.semi_supervised import SelfTrainingClassifier

from .registry import wrapper

wrapper(
    GridSearchCV,
    RandomizedSearchCV,
    HalvingGridSearchCV,
    HalvingRandomSearchCV,
    attribute="best_estimator_",
)
wrapper(RANSACRegressor, attribute="estimator_", joins=True)
_RENAMED = "estimator" in SelfTrainingClassifier._get_param_names()  # from scikit-learn 1.6 on
wrapper(
    SelfTrainingClassifier, attribute="estimator_" if _RENAMED else "base_estimator_", joins=True
)

try:
    from sklearn.frozen import FrozenEstimator
except ImportError:  # scikit-learn < 1.6
    pass
else:
    wrapper(FrozenEstimator, attribute="estimator")

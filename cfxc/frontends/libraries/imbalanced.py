"""Pipelines and ensembles of imbalanced-learn: they resample in ``fit``, and predict as others."""

from __future__ import annotations

from imblearn.ensemble import (
    BalancedBaggingClassifier,
    BalancedRandomForestClassifier,
    EasyEnsembleClassifier,
    RUSBoostClassifier,
)
from imblearn.pipeline import Pipeline
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, RandomForestClassifier
from sklearn.pipeline import Pipeline as PlainPipeline

from ..sklearn.registry import MODELS, PIPELINES, TRANSFORMERS

SAME = {
    BalancedBaggingClassifier: BaggingClassifier,
    BalancedRandomForestClassifier: RandomForestClassifier,
    EasyEnsembleClassifier: BaggingClassifier,
    RUSBoostClassifier: AdaBoostClassifier,
}
"""Estimators that override ``fit`` alone → those whose predictions they inherit."""

PIPELINES.add(Pipeline)
TRANSFORMERS[Pipeline] = TRANSFORMERS[PlainPipeline]
MODELS.update({own: MODELS[inherited] for own, inherited in SAME.items()})

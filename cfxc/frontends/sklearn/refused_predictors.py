"""Predictors that are not lowered, and why."""

from __future__ import annotations

from sklearn import cluster, gaussian_process, mixture, neighbors
from sklearn.covariance import (
    OAS,
    EmpiricalCovariance,
    GraphicalLasso,
    GraphicalLassoCV,
    LedoitWolf,
    MinCovDet,
    ShrunkCovariance,
)
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier

from .registry import refused

NEAREST = "Train a NearestCentroid, a tree or a support vector machine instead."
refused(
    neighbors.KNeighborsClassifier,
    neighbors.KNeighborsRegressor,
    reason="which of several training rows at equal distance count is left to rounding and to the "
    "order of a search",
    remedy=NEAREST,
)
refused(
    neighbors.RadiusNeighborsRegressor,
    reason="it divides by how many training rows are within the radius, and gives no number where "
    "none is",
    remedy=NEAREST,
)
refused(
    neighbors.LocalOutlierFactor,
    reason="it compares distances to neighbours of neighbours, which no formula of ours holds",
    remedy="Train an IsolationForest or an EllipticEnvelope instead.",
)
refused(
    gaussian_process.GaussianProcessClassifier,
    gaussian_process.GaussianProcessRegressor,
    reason="it sums a smooth kernel over all its training rows; a classifier divides by a "
    "variance and integrates, too",
    remedy="Train an SVC, an SVR or a KernelRidge with a polynomial kernel instead.",
)
refused(
    MultiOutputClassifier,
    reason="it gives several labels at once, and a question is about one outcome",
    remedy="Compile the model of one output: model.estimators_[i].",
)
refused(
    ClassifierChain,
    reason="it gives several labels at once, and a question is about one outcome",
    remedy="Compile the first model of the chain, model.estimators_[0], or train one per output.",
)
refused(
    cluster.AffinityPropagation,
    cluster.AgglomerativeClustering,
    cluster.DBSCAN,
    cluster.HDBSCAN,
    cluster.MeanShift,
    cluster.OPTICS,
    cluster.SpectralBiclustering,
    cluster.SpectralClustering,
    cluster.SpectralCoclustering,
    mixture.BayesianGaussianMixture,
    mixture.GaussianMixture,
    reason="it groups rows, and decides nothing about them",
    remedy="Train a classifier on the groups.",
)
refused(
    EmpiricalCovariance,
    GraphicalLasso,
    GraphicalLassoCV,
    LedoitWolf,
    MinCovDet,
    OAS,
    ShrunkCovariance,
    neighbors.KernelDensity,
    neighbors.NearestNeighbors,
    reason="it has no method predict",
    remedy="Train a detector of outliers: EllipticEnvelope, OneClassSVM or IsolationForest.",
)

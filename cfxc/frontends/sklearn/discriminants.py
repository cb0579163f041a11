"""Naive Bayes, quadratic discriminants, centroids and ellipses.

Labels are the largest joint log likelihood, which is affine or quadratic in the inputs, with the
logarithms that the library computes as parameters; probabilities are its softmax.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
from sklearn.covariance import EllipticEnvelope
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neighbors import NearestCentroid

from ...arrays import Floats
from ...ir import Operand, ops
from ..quadratics import dot, exact, exact_affine, quadratic
from .discretising import binarized
from .linear import ZERO, affine, binary_label_from, outlier_or_inlier, shares, top_label
from .lowering import Lowering, Refs, tensor
from .registry import Estimator, Outputs, model

HALF = Fraction(1, 2)


def _finite(*names: str) -> Callable[[Estimator], Iterator[str]]:
    """Refuse models of which a parameter is not finite: a class, or a value, of probability 0."""

    def flaws(estimator: Estimator) -> Iterator[str]:
        for name in names:
            with np.errstate(all="ignore"):
                held = np.asarray(getattr(estimator, name), dtype=np.float64)
            if not np.isfinite(held).all():
                yield f"{name} is not finite; train it with alpha > 0, on every class"

    return flaws


def likeliest(lowering: Lowering, estimator: Estimator, scores: Operand) -> Outputs:
    """The class of the largest joint log likelihood, and the softmax of them all."""
    label = top_label(lowering, estimator.classes_, scores)
    return {"label": label, "probability": shares(lowering, estimator.classes_, scores)}


def _with_lead(lowering: Lowering, estimator: Estimator, scores: str) -> Outputs:
    """As :func:`likeliest`, with the decision function: of two classes the second one's lead."""
    outputs = likeliest(lowering, estimator, scores)
    if len(estimator.classes_) > 2:
        return outputs | {"score": scores}
    both = (lowering.let(ops.Item(scores, place)) for place in (1, 0))
    return outputs | {"score": lowering.let(ops.Sub(*both))}


def _centred(lowering: Lowering, refs: Refs, means: Floats) -> tuple[str, Floats]:
    """``x - m`` with m the mean of the rows of ``means``, and m."""
    lowering.check_double(refs, means)
    middle = np.asarray(means.mean(axis=0), dtype=np.float64)
    return lowering.let(ops.Sub(lowering.vector(refs), lowering.constant(middle))), middle


def _no_prior_of_zero(estimator: Estimator) -> Iterator[str]:
    if np.min(estimator.class_prior_) <= 0:
        yield "a class has prior 0; give it a positive one, or leave it out"


@model("classifier", GaussianNB, flaws=_no_prior_of_zero)
def lower_gaussian_bayes(lowering: Lowering, bayes: Estimator, refs: Refs) -> Outputs:
    """``log p_c - Σ_j log(2 π v_cj) / 2 - Σ_j (x_j - t_cj)² / (2 v_cj)``: one square a column."""
    x, middle = _centred(lowering, refs, bayes.theta_)
    constants = [
        np.log(prior) + -0.5 * np.sum(np.log(2.0 * np.pi * spread))
        for prior, spread in zip(bayes.class_prior_, bayes.var_, strict=True)
    ]
    factor = HALF / exact(bayes.var_)
    shift = exact(bayes.theta_) - exact(middle)
    bias = exact(np.array(constants)) - (factor * shift * shift).sum(axis=1)
    both = lowering.let(ops.Concat((lowering.let(ops.Mul(x, x)), x)))
    weight = np.concatenate([-factor, 2 * factor * shift], axis=1)
    return likeliest(lowering, bayes, exact_affine(lowering, both, weight, bias))


@model("classifier", MultinomialNB, flaws=_finite("feature_log_prob_", "class_log_prior_"))
def lower_multinomial_bayes(lowering: Lowering, bayes: Estimator, refs: Refs) -> Outputs:
    """``log P(c) + Σ_j x_j log P(j|c)``."""
    scores, _ = affine(lowering, refs, bayes.feature_log_prob_, bayes.class_log_prior_)
    return likeliest(lowering, bayes, scores)


@model("classifier", ComplementNB, flaws=_finite("feature_log_prob_"))
def lower_complement_bayes(lowering: Lowering, bayes: Estimator, refs: Refs) -> Outputs:
    """``Σ_j x_j w_cj``; priors do not count."""
    scores, _ = affine(lowering, refs, bayes.feature_log_prob_, 0.0)
    return likeliest(lowering, bayes, scores)


def _bernoulli_flaws(bayes: Estimator) -> Iterator[str]:
    yield from _finite("feature_log_prob_", "class_log_prior_")(bayes)
    if np.any(bayes.feature_log_prob_ >= 0):
        yield "a column is always 1 in a class; train it with alpha > 0"


@model("classifier", BernoulliNB, flaws=_bernoulli_flaws)
def lower_bernoulli_bayes(lowering: Lowering, bayes: Estimator, refs: Refs) -> Outputs:
    """``log P(c) + Σ_j (b_j log P(j|c) + (1 - b_j) log(1 - P(j|c)))``, b_j: x_j > binarize."""
    positive = bayes.feature_log_prob_
    negative = np.log(1 - np.exp(positive))
    bias = bayes.class_log_prior_ + negative.sum(axis=1)
    lowering.check_double(refs)
    if bayes.binarize is not None:
        refs = binarized(lowering, refs, float(bayes.binarize))
    x = lowering.vector(refs)
    scores = lowering.let(ops.Affine(x, tensor(positive - negative), tensor(bias)))
    return likeliest(lowering, bayes, scores)


def _discriminant_flaws(discriminant: Estimator) -> Iterator[str]:
    if np.min(discriminant.priors_) <= 0:
        yield "a class has prior 0; give it a positive one, or leave it out"
    elif any(np.min(scaling) <= 0 for scaling in discriminant.scalings_):
        yield "the covariance of a class is singular; train it with reg_param > 0"


@model("classifier", QuadraticDiscriminantAnalysis, flaws=_discriminant_flaws)
def lower_quadratic_discriminant(
    lowering: Lowering, discriminant: Estimator, refs: Refs
) -> Outputs:
    """``-(|A_c' (x - m_c)|² + Σ log s_c) / 2 + log p_c`` with the doubles ``A_c = R_c / √s_c``."""
    x, middle = _centred(lowering, refs, np.asarray(discriminant.means_))
    squares, weights, biases = [], [], []
    logs = np.asarray([np.sum(np.log(scaling)) for scaling in discriminant.scalings_])
    priors = np.log(discriminant.priors_)
    for place, mean in enumerate(discriminant.means_):
        scaling = discriminant.scalings_[place]
        spread = exact(discriminant.rotations_[place] * scaling ** (-0.5))
        square = dot(spread, spread.T)
        shift = exact(mean) - exact(middle)
        squares.append(-HALF * square)
        weights.append(square.dot(shift))
        constant = -HALF * Fraction(float(logs[place])) + Fraction(float(priors[place]))
        biases.append(constant - HALF * shift.dot(square).dot(shift))
    parts = (np.array(part, dtype=object) for part in (squares, weights, biases))
    scores = lowering.let(quadratic(lowering, x, *parts))
    return _with_lead(lowering, discriminant, scores)


def _uniform(centroids: Estimator) -> bool:
    """Whether the library compares distances alone: of versions without priors, always."""
    priors = getattr(centroids, "class_prior_", None)
    return priors is None or bool(np.isclose(priors, 1 / len(centroids.classes_)).all())


def _centroid_flaws(centroids: Estimator) -> Iterator[str]:
    metrics = ("euclidean", "manhattan") if _uniform(centroids) else ("euclidean",)
    if centroids.metric not in metrics:
        extra = "" if len(metrics) > 1 else " with priors that are not uniform"
        yield f"metric {centroids.metric!r} is not supported{extra}"


@model("classifier", NearestCentroid, flaws=_centroid_flaws)
def lower_nearest_centroid(lowering: Lowering, centroids: Estimator, refs: Refs) -> Outputs:
    """The nearest centroid, ties to the first: squares of x cancel, so it is affine.

    With priors p: ``-|(x - c) / s|² + 2 log p``, which probabilities always come from.
    """
    lowering.check_double(refs)
    x, places = lowering.vector(refs), exact(centroids.centroids_)
    if centroids.metric == "manhattan":
        parts: list[Operand] = []
        for centroid in centroids.centroids_:
            apart = lowering.let(ops.Sub(x, lowering.constant(centroid)))
            size = lowering.let(ops.ReduceSum(lowering.let(ops.Abs(apart))))
            parts.append(lowering.let(ops.Neg(size)))
        scores = lowering.let(ops.Concat(tuple(parts)))
        return {"label": top_label(lowering, centroids.classes_, scores)}
    plain = exact_affine(lowering, x, 2 * places, -(places * places).sum(axis=1))
    if not hasattr(centroids, "predict_proba"):
        return {"label": top_label(lowering, centroids.classes_, plain)}
    spread = np.asarray(centroids.within_class_std_dev_, dtype=np.float64)
    scale = exact(np.where(spread != 0, spread, 1.0))
    scaled = exact(np.asarray(centroids.centroids_) / np.where(spread != 0, spread, 1.0))
    bias = exact(2.0 * np.log(centroids.class_prior_)) - (scaled * scaled).sum(axis=1)
    scores = exact_affine(lowering, x, 2 * scaled / scale, bias)
    outputs = _with_lead(lowering, centroids, scores)
    if len(centroids.classes_) > 2:  # the library keeps -|x / s|², which all classes share
        square = lowering.let(ops.Mul(x, x))
        factor = -1 / (scale * scale)[None]
        shared = exact_affine(lowering, square, factor, exact(np.zeros(1)))
        outputs["score"] = lowering.let(ops.Add(scores, lowering.let(ops.Item(shared, 0))))
    if _uniform(centroids):
        outputs["label"] = top_label(lowering, centroids.classes_, plain)
    return outputs


@model("classifier", EllipticEnvelope, labels=outlier_or_inlier)
def lower_elliptic_envelope(lowering: Lowering, envelope: Estimator, refs: Refs) -> Outputs:
    """Label 1 iff ``-(x - m)' P (x - m) - offset_ >= 0``, else -1."""
    lowering.check_double(refs)
    place = np.asarray(envelope.location_, dtype=np.float64)
    x = lowering.let(ops.Sub(lowering.vector(refs), lowering.constant(place)))
    precision = -exact(envelope.get_precision())
    flat = np.full((1, len(place)), Fraction(0), dtype=object)
    bias = np.array([-Fraction(float(envelope.offset_))], dtype=object)
    values = lowering.let(quadratic(lowering, x, precision[None], flat, bias))
    score = lowering.let(ops.Item(values, 0))
    label = binary_label_from(lowering, outlier_or_inlier(envelope), score, ZERO)
    return {"label": label, "score": score}

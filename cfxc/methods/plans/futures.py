"""Moments of the parameters that a model may have after it is retrained."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.covariance import ledoit_wolf_shrinkage

from ...arrays import Array, Floats, Ints
from ...errors import DataTypeError, InvalidInputError
from ...frontends.compiled import Compiled
from ...frontends.sklearn import lower
from ...question.checks import closed_share, number_from_zero, processors, whole_number
from ...space import FeatureSpace
from ...space.names import names_arguments
from ...space.tables import as_pandas
from ...stopping import polled
from .encoding import BIAS, Encoding
from .moments import ROUNDING, array_of, covariance_of, mean_of

LEDOIT_WOLF = "ledoit-wolf"


@names_arguments
@dataclass(frozen=True, eq=False)
class Moments:
    """Mean and covariance of the parameters θ of future models; xᵀθ > 0 is ``positive``.

    Attributes:
        mean: μ̂, shape (d,).
        covariance: Σ̂, shape (d, d), positive definite.
        names: What the parameters belong to, the intercept last; empty for plain arrays.
        samples: The models they were estimated from, one θ a row, or ``None``.
        positive: The label that a score above 0 gives, or ``None`` if it was not said.
        shrinkage: The share a by which (1 - a) S + a·tr(S)/d·I was taken in place of the sample
            covariance S.
        accuracy: Of each model on ``test``, or ``None``.
    """

    mean: Floats
    covariance: Floats
    names: tuple[str, ...] = ()
    samples: Floats | None = field(default=None, repr=False)
    positive: Any = None
    shrinkage: float = 0.0
    accuracy: Floats | None = field(default=None, repr=False)

    @classmethod
    def given(
        cls,
        mean: Any,
        covariance: Any,
        names: Sequence[str] = (),
        *,
        positive: Any = None,
        shrinkage: float | str = 0.0,
    ) -> Moments:
        """Moments known from elsewhere.

        Raises:
            InvalidInputError: shapes that do not fit, values that are missing, or a covariance that
                is not positive definite (by how much; what shrinkage would do).
            DataTypeError: not arrays of numbers.
        """
        center = mean_of(mean)
        spread, _ = covariance_of(covariance, len(center))
        spread = (spread + spread.T) / 2
        share = _share_of(shrinkage)
        spread = _shrunk(spread, share)
        refuse_indefinite(spread, "covariance")
        known = tuple(str(name) for name in names)
        if known and len(known) != len(center):
            raise InvalidInputError(f"{len(known)} names for {len(center)} parameters")
        return cls(center, spread, known, positive=positive, shrinkage=share)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without the models."""
        return {
            "names": list(self.names),
            "mean": self.mean.tolist(),
            "covariance": self.covariance.tolist(),
            "positive": self.positive,
        }

    @classmethod
    def from_dict(cls, values: Any, *, shrinkage: float | str = 0.0) -> Moments:
        """What ``to_dict`` gave.

        Raises:
            InvalidInputError: keys that are missing or unknown, or as :meth:`given`.
        """
        known = {"names", "mean", "covariance", "positive"}
        if not isinstance(values, dict) or not {"mean", "covariance"} <= set(values) <= known:
            raise InvalidInputError(
                "moments are an object with mean and covariance, and names and positive if they "
                "are known"
            )
        return cls.given(
            values["mean"], values["covariance"], values.get("names", ()),
            positive=values.get("positive"), shrinkage=shrinkage,
        )  # fmt: skip

    @property
    def size(self) -> int:
        """d."""
        return len(self.mean)

    def towards(self, label: Any) -> Moments:
        """The same parameters signed such that xᵀθ ≥ 0 is the wanted ``label``."""
        if self.positive is None or self.positive == label:
            return self
        samples = None if self.samples is None else -self.samples
        return replace(self, mean=-self.mean, samples=samples, positive=label)

    def validity(self, plan: Any) -> float:
        """The share of the models in ``samples`` under which all rows of a plan are valid.

        Raises:
            InvalidInputError: the moments were given, and no models are known.
        """
        if self.samples is None:
            raise InvalidInputError("these moments were given: no models to count are known")
        rows = array_of(plan, "plan", 2)
        if rows.shape[1] != self.size:
            raise InvalidInputError(f"plan has {rows.shape[1]} columns for {self.size} parameters")
        return empirical_validity(rows, self.samples)


def empirical_validity(plan: Floats, samples: Floats) -> float:
    """The share of the rows θ of ``samples`` (n, d) with x_jᵀθ ≥ 0 for all rows x_j (J, d)."""
    return float(np.mean((samples @ plan.T >= 0).all(axis=1)))


def retrained_moments(
    model: Any,
    X: Any,
    y: Any,
    n: int = 1000,
    share: float = 0.5,
    *,
    n_jobs: int = 1,
    random_state: int = 0,
    shrinkage: float | str = 0.0,
    test: tuple[Any, Any] | None = None,
) -> Moments:
    """Moments of a linear classifier trained again and again on a random part of the data.

    μ̂ and Σ̂ are mean and covariance of ``n`` parameters θ, each of a clone fitted to
    ``share`` of the rows, drawn without replacement (Bui, Nguyen & Nguyen 2022, section 5.2: 1,000
    classifiers, half the data).

    Args:
        model: A model compiled from scikit-learn, and then θ is over the vectors of
            :class:`Encoding`; or a bare estimator with ``coef_`` and ``intercept_``, and then θ is
            these, the intercept last, over the columns of X.
        X, y: Rows and outcomes; of a compiled model raw rows, as a DataFrame.
        n: How many classifiers.
        share: Of the rows that each one sees, in (0, 1].
        n_jobs: Processes; -1 for all processors.  The result does not depend on it.
        shrinkage: In [0, 1], or ``"ledoit-wolf"``; by default none, and a covariance that is not
            positive definite is refused.
        test: Other rows and outcomes, for ``accuracy``.

    Raises:
        InvalidInputError: options out of range, rows and outcomes that do not fit, a part of the
            data with one outcome only, a covariance that is not positive definite.
        UnsupportedError: no linear classifier of two outcomes.
    """
    count, jobs = whole_number(n, "n", 2), processors(n_jobs, "n_jobs")
    seed = whole_number(random_state, "random_state", 0)
    part = number_from_zero(share, "share")
    if not 0 < part <= 1:
        raise InvalidInputError(f"share is a part of the rows, in (0, 1], not {share!r}")
    read = _reader_of(model)
    outcomes, rows = np.asarray(y), len(X)
    if pd.isna(outcomes).any():
        raise InvalidInputError("some outcomes are missing")
    if outcomes.ndim != 1 or len(outcomes) != rows:
        raise InvalidInputError(f"{rows} rows with outcomes of shape {outcomes.shape}")
    size = round(part * rows)
    if size < 2 or len(np.unique(outcomes)) != 2:
        raise InvalidInputError("retraining needs outcomes of two kinds, and two rows at least")
    made = np.random.SeedSequence(seed).spawn(count)
    run = delayed(_retrain)
    work = (run(read, X, outcomes, size, each, test) for each in made)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* tasks which were still being processed")
        found = list(polled(Parallel(n_jobs=jobs, return_as="generator")(work), 1))
    accuracy = None if test is None else np.array([each[1] for each in found])
    samples = np.array([each[0] for each in found])
    return _moments(samples, read.names(X), read.positive(outcomes), shrinkage, accuracy)


def moments_of_models(models: Sequence[Compiled], *, shrinkage: float | str = 0.0) -> Moments:
    """Moments of the parameters of several dated models, compiled over one feature space.

    Args:
        models: Linear classifiers of the same two outcomes, at least two; the first one says what θ
            is over.  Fewer than d + 1 of them have a singular covariance: shrink it.
        shrinkage: As for :func:`retrained_moments`.

    Raises:
        InvalidInputError: too few models, other spaces, a covariance that is not positive definite.
        UnsupportedError: no linear classifiers of two outcomes.
    """
    known = list(models)
    if len(known) < 2:
        raise InvalidInputError(f"moments need at least two models, not {len(known)}")
    encoding = Encoding.of(known[0].program, known[0].space)
    for i, other in enumerate(known[1:], start=2):
        if other.space != known[0].space:
            raise InvalidInputError(f"model {i} was compiled over another feature space")
    samples = np.array([encoding.parameters(each.program) for each in known])
    return _moments(samples, encoding.names, encoding.classes[1], shrinkage, None)


# -- reading parameters --------------------------------------------------------------------------


@dataclass(frozen=True)
class _Raw:
    """A bare linear estimator: θ is ``coef_``, then ``intercept_``."""

    estimator: Any

    def theta(self, fitted: Any) -> Floats:
        return np.append(np.ravel(fitted.coef_), np.ravel(fitted.intercept_)).astype(np.float64)

    def predict(self, fitted: Any, X: Any) -> Any:
        return fitted.predict(X)

    def rows(self, X: Any, chosen: Ints) -> Any:
        X = as_pandas(X)
        return X.iloc[chosen] if isinstance(X, pd.DataFrame) else np.asarray(X)[chosen]

    def names(self, X: Any) -> tuple[str, ...]:
        X = as_pandas(X)
        if isinstance(X, pd.DataFrame):
            return (*map(str, X.columns), BIAS)
        return (*(f"x{i}" for i in range(np.shape(X)[1])), BIAS)

    def positive(self, outcomes: Array) -> Any:
        return np.unique(outcomes)[1].item()


@dataclass(frozen=True)
class _Compiled:
    """A model compiled from scikit-learn: θ is over the vectors of its encoding."""

    predictor: Any
    space: FeatureSpace
    encoding: Encoding

    @property
    def estimator(self) -> Any:
        return self.predictor.estimator

    def theta(self, fitted: Any) -> Floats:
        return self.encoding.parameters(lower(fitted, self.space))

    def predict(self, fitted: Any, X: Any) -> Any:
        return fitted.predict(self.predictor.table(as_pandas(X)))

    def rows(self, X: Any, chosen: Ints) -> Any:
        X = as_pandas(X)
        if not isinstance(X, pd.DataFrame):
            raise DataTypeError(f"X is a DataFrame of raw rows, not {type(X).__name__}")
        return self.predictor.table(X.iloc[chosen])

    def names(self, X: Any) -> tuple[str, ...]:
        return self.encoding.names

    def positive(self, outcomes: Array) -> Any:
        return self.encoding.classes[1]


Reader = _Raw | _Compiled


def _reader_of(model: Any) -> Reader:
    if hasattr(model, "program") and hasattr(model, "predictor"):
        if not hasattr(model.predictor, "estimator"):
            raise InvalidInputError(
                "this model came from a file that cannot be trained again; compile the "
                "scikit-learn estimator itself, or give moments of several dated models"
            )
        return _Compiled(model.predictor, model.space, Encoding.of(model.program, model.space))
    if not hasattr(model, "coef_") or not hasattr(model, "intercept_"):
        raise InvalidInputError(
            f"{type(model).__name__} is no fitted linear classifier with coef_ and intercept_; "
            "give a model that cfxc.compile made of the whole pipeline"
        )
    return _Raw(model)


def _retrain(
    read: Reader,
    X: Any,
    y: Array,
    size: int,
    seed: np.random.SeedSequence,
    test: tuple[Any, Any] | None,
) -> tuple[Floats, float]:
    """θ of one clone, fitted to ``size`` rows, and its accuracy on the test rows."""
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.choice(len(y), size, replace=False))
    if len(np.unique(y[chosen])) < 2:
        raise InvalidInputError(f"of {size} rows drawn, all have one outcome; take a larger share")
    part = read.rows(X, chosen)
    fitted = clone(read.estimator)
    if "random_state" in fitted.get_params():
        fitted.set_params(random_state=int(rng.integers(2**31)))
    try:
        fitted.fit(part, y[chosen])
    except ValueError as error:
        said = str(error).splitlines()[0]
        raise InvalidInputError(f"a classifier could not be trained on a part: {said}") from error
    if test is None:
        return read.theta(fitted), float("nan")
    right = np.asarray(read.predict(fitted, test[0])) == np.asarray(test[1])
    return read.theta(fitted), float(np.mean(right))


# -- covariances ---------------------------------------------------------------------------------


def _moments(
    samples: Floats, names: tuple[str, ...], positive: Any, shrinkage: Any, accuracy: Floats | None
) -> Moments:
    """Mean and (shrunk) covariance of parameters, one θ a row."""
    if not np.isfinite(samples).all():
        raise InvalidInputError("some retrained model has parameters that are not finite")
    if shrinkage == LEDOIT_WOLF:
        share = float(ledoit_wolf_shrinkage(samples))
    else:
        share = _share_of(shrinkage)
    covariance = _shrunk(np.atleast_2d(np.cov(samples, rowvar=False)), share)
    refuse_indefinite(covariance, f"the covariance of {len(samples)} models", names)
    return Moments(samples.mean(axis=0), covariance, names, samples, positive, share, accuracy)


def check_shrinkage(value: Any) -> None:
    """Refuse what is neither a share nor the name of a rule.

    Raises:
        InvalidInputError: it is none.
    """
    if value != LEDOIT_WOLF:
        _share_of(value)


def _share_of(value: Any) -> float:
    if isinstance(value, str):
        raise InvalidInputError(
            f"shrinkage is a share in [0, 1] or {LEDOIT_WOLF!r} (of models), not {value!r}"
        )
    return closed_share(value, "shrinkage")


def _shrunk(covariance: Floats, share: float) -> Floats:
    """(1 - a) S + a·tr(S)/d·I."""
    if not share:
        return covariance
    size = len(covariance)
    return np.asarray((1 - share) * covariance + share * np.trace(covariance) / size * np.eye(size))


def refuse_indefinite(
    covariance: Floats, name: str = "covariance", names: Sequence[str] = ()
) -> None:
    """Refuse a covariance that is not positive definite, to d roundings of its largest eigenvalue.

    Raises:
        InvalidInputError: with the least eigenvalue, where it comes from, and what shrinkage does.
    """
    values, vectors = np.linalg.eigh(covariance)
    size, top = len(values), float(values[-1])
    if values[0] > size * ROUNDING * max(top, 0.0):
        return
    average = float(np.trace(covariance)) / size
    leading = (
        [names[k] for k in np.flatnonzero(np.abs(vectors[:, 0]) > 0.2).tolist()] if names else []
    )
    along = f", along {', '.join(leading[:4])}" if leading else ""
    if average <= 0:
        remedy = "nothing varies at all"
    else:
        share = min(max((1e-6 * average - values[0]) / (average - values[0]), 1e-6), 1.0)
        share = float(np.ceil(1e6 * share) / 1e6)
        remedy = (
            f"shrink it, explicitly: shrinkage={share:g} takes (1 - a) Σ + a·{average:.3g}·I; of "
            f"models also shrinkage={LEDOIT_WOLF!r}, or more of them"
        )
    raise InvalidInputError(
        f"{name} is not positive definite: its least eigenvalue is {values[0]:.3g}, its largest "
        f"{top:.3g}{along}; {remedy}"
    )

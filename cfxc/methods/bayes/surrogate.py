"""The Gaussian process that stands for the model, f itself and not ρ∘f; and its inputs."""

from __future__ import annotations

import warnings
from math import exp
from typing import Any, Literal

import numpy as np
import torch
from botorch.exceptions.errors import ModelFittingError
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Standardize
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import MaternKernel, RBFKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.mlls import ExactMarginalLogLikelihood
from gpytorch.priors import LogNormalPrior

from ...arrays import Floats
from ...space import Feature, FeatureSpace

Kernel = Literal["rbf", "matern"]
LEAST = 1e-6  # variance of the noise, of standardised outputs
# Its log-normal prior: of models whose outputs are noise, have ripples or steps, or are smooth.
LOUD, RIPPLED, SMOOTH = (-4.0, 1.0), (-6.0, 2.0), (-13.0, 1.0)
EACH = 1.15  # hyperparameters are fitted anew when there are so many times more rows
STEPS = 30  # of L-BFGS for a fit that starts from the one before
FIRST = 100  # of the first fit


def inputs_of(space: FeatureSpace, rows: Floats) -> Floats:
    """Rows (n, J) of numbers and codes as the surrogate takes them, (n, d).

    In [0, 1], a category of more than two labels one-hot.
    """
    pairs = zip(rows.T, space, strict=True)
    return np.hstack([_columns(feature, column[:, None]) for column, feature in pairs])


def _columns(feature: Feature, column: Floats) -> Floats:
    if feature.kind == "categorical" and len(feature.labels) > 2:
        return np.equal(column, np.arange(len(feature.labels))).astype(np.float64)
    if feature.is_symbolic:
        return column / max(len(feature.labels) - 1, 1)
    return (column - float(feature.bounds[0])) / (float(feature.range) or 1.0)


class Surrogate:
    """A Gaussian process with a length scale per input, fitted by maximum a posteriori.

    Length scales have the log-normal prior of Hvarfner et al. 2024, whose mode grows with √d.  What
    varies on shorter scales than the data tell, steps and ripples, goes into the noise.  Whether a
    model without noise has any is not known beforehand: two priors are fitted, and the marginal
    likelihood chooses.
    """

    def __init__(self, kernel: Kernel = "matern", *, noisy: bool = False) -> None:
        self.kernel = kernel
        self.model: Any = None
        self._models: dict[tuple[float, float], Any] = dict.fromkeys(
            [LOUD] if noisy else [SMOOTH, RIPPLED]
        )
        self._chosen, self._fitted = next(iter(self._models)), 0

    def update(self, X: Floats, y: Floats) -> None:
        """Condition on inputs (n, d) in [0, 1] and outputs (n,); fit if there are many more."""
        fit = len(y) >= EACH * self._fitted or len(y) - self._fitted > 25
        for prior, before in self._models.items():
            model = self._models[prior] = self._make(X, y, prior)
            if before is not None:
                kept = before.state_dict().items()
                own = {k: v for k, v in kept if not k.startswith("outcome_transform")}
                model.load_state_dict(own, strict=False)
            if fit:
                _fit(model, STEPS if self._fitted else FIRST)
        if fit:
            self._fitted = len(y)
            self._chosen = max(self._models, key=lambda prior: _evidence(self._models[prior]))
        self.model = self._models[self._chosen]
        self.model.eval()

    def predict(self, X: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation of f at inputs (m, d), each (m,)."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of variances rounded up to what is not negative
            posterior = self.model.posterior(torch.from_numpy(X))
            mean, variance = posterior.mean[:, 0].detach(), posterior.variance[:, 0].detach()
        return mean.numpy(), np.sqrt(np.maximum(variance.numpy(), 0.0))

    def _make(self, X: Floats, y: Floats, noise_prior: tuple[float, float]) -> Any:
        inputs = torch.from_numpy(np.ascontiguousarray(X))
        outputs = torch.from_numpy(np.ascontiguousarray(y))[:, None]
        columns = X.shape[1]
        prior = LogNormalPrior(loc=2**0.5 + np.log(columns) / 2, scale=3**0.5)
        options: dict[str, Any] = {"ard_num_dims": columns, "lengthscale_prior": prior}
        kernel = RBFKernel(**options) if self.kernel == "rbf" else MaternKernel(2.5, **options)
        kernel.lengthscale = torch.full((columns,), float(np.sqrt(columns)), dtype=torch.float64)
        loc, scale = noise_prior
        noise = GaussianLikelihood(
            noise_prior=LogNormalPrior(loc=loc, scale=scale),
            noise_constraint=GreaterThan(LEAST, transform=None, initial_value=exp(loc)),
        ).double()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of constant outputs, which have no deviation
            return SingleTaskGP(
                inputs, outputs, likelihood=noise, covar_module=kernel.double(),
                outcome_transform=Standardize(m=1),
            )  # fmt: skip


def _fit(model: Any, steps: int) -> None:
    """Fit; what cannot be fitted (constant outputs) keeps what it has."""
    before = {key: value.clone() for key, value in model.state_dict().items()}
    objective = ExactMarginalLogLikelihood(model.likelihood, model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the limit on steps is meant
        try:
            fit_gpytorch_mll(objective, optimizer_kwargs={"options": {"maxiter": steps}})
        except ModelFittingError:
            model.load_state_dict(before)


def _evidence(model: Any) -> float:
    """The log marginal likelihood, with the prior of the length scales, not that of the noise."""
    model.train()
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of jitter
        data = model.likelihood(model(*model.train_inputs)).log_prob(model.train_targets)
        kernel = model.covar_module
        scales = kernel.lengthscale_prior.log_prob(kernel.lengthscale).sum()
    return float(data + scales)


__all__ = ["Kernel", "Surrogate", "inputs_of"]

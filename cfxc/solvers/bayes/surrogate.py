"""The Gaussian process that stands for the model: f itself, not the potential of it."""

from __future__ import annotations

import warnings
from math import exp
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
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
from torch import Tensor

Floats = npt.NDArray[np.float64]
Kernel = Literal["rbf", "matern"]
KERNELS = ("rbf", "matern")
LEAST = 1e-6  # variance of the noise, of standardised outputs
QUIET, LOUD = (-6.0, 2.0), (-4.0, 1.0)  # its log-normal prior; a model without noise has ripples
EACH = 1.15  # hyperparameters are fitted anew when there are so many times more rows
STEPS = 30  # of L-BFGS for a fit that starts from the one before
FIRST = 100  # of the first fit


class Surrogate:
    """A Gaussian process with a length scale per input, fitted by maximum a posteriori.

    Length scales have the log-normal prior of Hvarfner et al. 2024, whose mode grows with √d.  What
    varies on shorter scales than the data tell, steps and ripples, goes into the noise.
    """

    def __init__(self, kernel: Kernel = "matern", *, noisy: bool = False) -> None:
        self.kernel, self.noisy = kernel, noisy
        self.model: Any = None
        self._fitted = 0

    def update(self, X: Floats, y: Floats) -> None:
        """Condition on inputs (n, d) in [0, 1] and outputs (n,); fit if there are many more."""
        before = None if self.model is None else self.model.state_dict()
        self.model = self._make(X, y)
        if before is not None:
            kept = {k: v for k, v in before.items() if not k.startswith("outcome_transform")}
            self.model.load_state_dict(kept, strict=False)
        if len(y) >= EACH * self._fitted or len(y) - self._fitted > 25:
            self._fit(STEPS if self._fitted else FIRST)
            self._fitted = len(y)
        self.model.eval()

    def predict(self, X: Floats | Tensor) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation of f at inputs (m, d)."""
        inputs = torch.as_tensor(X, dtype=torch.float64)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of variances rounded up to what is not negative
            posterior = self.model.posterior(inputs)
            mean, variance = posterior.mean[:, 0], posterior.variance[:, 0]
        return mean, torch.sqrt(torch.clamp(variance, min=0.0))

    def _make(self, X: Floats, y: Floats) -> Any:
        inputs = torch.from_numpy(np.ascontiguousarray(X))
        outputs = torch.from_numpy(np.ascontiguousarray(y))[:, None]
        columns = X.shape[1]
        prior = LogNormalPrior(loc=2**0.5 + np.log(columns) / 2, scale=3**0.5)
        options: dict[str, Any] = {"ard_num_dims": columns, "lengthscale_prior": prior}
        kernel = RBFKernel(**options) if self.kernel == "rbf" else MaternKernel(2.5, **options)
        kernel.lengthscale = torch.full((columns,), float(np.sqrt(columns)), dtype=torch.float64)
        loc, scale = LOUD if self.noisy else QUIET
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

    def _fit(self, steps: int) -> None:
        """Fit; what cannot be fitted (constant outputs) keeps what it has."""
        before = {key: value.clone() for key, value in self.model.state_dict().items()}
        objective = ExactMarginalLogLikelihood(self.model.likelihood, self.model)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the limit on steps is meant
            try:
                fit_gpytorch_mll(objective, optimizer_kwargs={"options": {"maxiter": steps}})
            except ModelFittingError:
                self.model.load_state_dict(before)


__all__ = ["KERNELS", "Kernel", "Surrogate"]

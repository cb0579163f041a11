"""EI-CFX: by how much a point may be expected to improve on the best potential seen (eq. 9).

With the surrogate's posterior of f(x), y ~ N(μ, σ²), and ρ* the best potential so far,

    EI(x) = E[max(0, ρ(y; c) - ρ*)] = ∫ max(0, ρ(y; c) - ρ*) N(y; μ, σ²) dy .

In units of the width, s = (y - c)/w, m = (μ - c)/w, t = σ/w, one side of an
exponential-polynomial potential improves for s in [a, b], the two roots of s² exp(-s²) = ρ*
(:func:`cfxc.methods.bayes.potentials.band`), so that

    EI = ∫_a^b s² exp(-s²) N(s; m, t²) ds - ρ* [Φ((b - m)/t) - Φ((a - m)/t)] .

exp(-s²) N(s; m, t²) = C N(s; m', t'²) with k = 1 + 2t², m' = m/k, t' = t/√k and
C = exp(-m²/k)/√k, whence, ζ = (s - m')/t',

    ∫_a^b s² exp(-s²) N(s; m, t²) ds
        = C [(m'² + t'²) Φ(ζ) - 2 m' t' φ(ζ) - t'² ζ φ(ζ)]  from ζ(a) to ζ(b) .

That is appendix B with its slips put right: the roots are those of W₀ and W₋₁ at -ρ*, and m takes
away f(q), not ρ(q).  Far from the band, or where it is narrow, the terms cancel; what is left of
them is then rounding, and Gauss-Legendre quadrature over the part of the band that carries the mass
is used, with ρ - ρ* = ρ* expm1(ln(ρ/ρ*)).  Its logarithm is exact to rounding where EI itself
underflows: what :func:`log_ei_cfx` gives, for optimisers.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log, pi, sqrt
from typing import Any

import numpy as np
import torch
from botorch.acquisition.analytic import AnalyticAcquisitionFunction
from botorch.models.model import Model
from botorch.utils.probability.utils import ndtr
from botorch.utils.safe_math import log1mexp, logsumexp
from botorch.utils.transforms import t_batch_mode_transform
from torch import Tensor

from ...errors import DataTypeError, InvalidInputError
from .potentials import ExponentialPolynomial, Potential, band

NODES = 96  # of a Gauss-Legendre rule
FAR = 27.0  # beyond so many widths s² exp(-s²) is nothing, and no level has a root
MOST = 1e100  # widths: means and deviations beyond count as this
SUBNORMAL = 1e-290  # below, doubles lose digits: left to quadrature
LEAST = 1e-12  # widths: smaller deviations count as this
MASS = 90.0  # a density e^(-MASS/2) times its largest is nothing
CANCELLED = 1e-6  # below this share of its terms, their sum is left to quadrature
_ROOT_2PI = sqrt(2 * pi)
_GL = tuple(torch.from_numpy(part) for part in np.polynomial.legendre.leggauss(NODES))


def ei_cfx(mean: Any, std: Any, best: Any, potential: Potential, center: Any) -> Any:
    """The expected counterfactual improvement.

    Args:
        mean, std: The surrogate's mean and standard deviation >= 0; arrays or tensors, broadcast.
        best: ρ*, the best potential seen; 0 if none.
        potential: ρ.
        center: The factual's output f(q).

    Returns:
        Doubles of the broadcast shape, >= 0: a tensor if any argument is one, with gradients to
        ``mean`` and ``std``; else an array.

    Raises:
        DataTypeError, InvalidInputError: no numbers; a negative deviation.
    """
    values, plain = _tensors(mean, std, best, center)
    return plain(torch.exp(_log_ei(values, potential)))


def log_ei_cfx(mean: Any, std: Any, best: Any, potential: Potential, center: Any) -> Any:
    """ln of :func:`ei_cfx`, finite where that underflows; -inf where there is no improvement."""
    values, plain = _tensors(mean, std, best, center)
    return plain(_log_ei(values, potential))


def quadrature_ei(mean: Any, std: Any, best: Any, potential: Potential, center: Any) -> Any:
    """:func:`ei_cfx` by Gauss-Legendre over the superlevel sets of any potential."""
    values, plain = _tensors(mean, std, best, center)
    return plain(torch.exp(_by_superlevels(values, potential)))


def monte_carlo_ei(
    mean: Any, std: Any, best: Any, potential: Potential, center: Any, *,
    samples: int = 10_000, random_state: int = 0,
) -> Any:  # fmt: skip
    """:func:`ei_cfx` from antithetic normal samples: the mean of ``max(0, ρ(y) - ρ*)``."""
    if samples < 1:
        raise InvalidInputError(f"samples is at least 1, not {samples}")
    values, _ = _tensors(mean, std, best, center)
    half = np.random.default_rng(random_state).standard_normal((samples + 1) // 2)
    z = np.concatenate([half, -half])
    mean, std, best, center = (part.detach().numpy()[..., None] for part in values)
    gains = np.maximum(potential(mean + std * z, center) - best, 0.0)
    return gains.mean(axis=-1)[()]


class ExpectedCounterfactualImprovement(AnalyticAcquisitionFunction):  # type: ignore[misc]  # untyped base
    """EI-CFX of a BoTorch model whose posterior is of f itself, not of the potential.

    ``forward`` takes X of shape (b, 1, d) and gives (b,); with ``log`` its logarithm.
    """

    def __init__(
        self, model: Model, best: float, potential: Potential, center: float, *, log: bool = False
    ) -> None:
        super().__init__(model=model)
        self.best, self.potential, self.center, self.log = best, potential, center, log

    @t_batch_mode_transform(expected_q=1)  # type: ignore[untyped-decorator]  # BoTorch's
    def forward(self, X: Tensor) -> Tensor:
        mean, std = (part.reshape(X.shape[:-2]) for part in self._mean_and_sigma(X))
        judge = log_ei_cfx if self.log else ei_cfx
        found: Tensor = judge(mean, std, self.best, self.potential, self.center)
        return found


def _log_ei(values: list[Tensor], potential: Potential) -> Tensor:
    mean, std, best, center = values
    if not isinstance(potential, ExponentialPolynomial):
        return _by_superlevels(values, potential)
    m, t = (mean - center) / potential.width, std / potential.width
    m, t = torch.clamp(m, -MOST, MOST), torch.clamp(t, LEAST, MOST)
    return logsumexp(
        torch.stack([_one_side(side * m, t, best) for side in potential.sides], -1), -1
    )


def _one_side(m: Tensor, t: Tensor, best: Tensor) -> Tensor:
    """ln EI of [s]₊² exp(-[s]₊²), s ~ N(m, t²)."""
    shape = m.shape
    m, t, best = (part.reshape(-1) for part in (m, t, best))
    a, b = (torch.from_numpy(end) for end in band(best.numpy()))
    k = 1 + 2 * (t * t).detach()  # of level 0: as far as there is mass
    b = torch.where(
        best > 0, b, torch.clamp((m.detach() + 20 * t.detach() * torch.sqrt(k)) / k, min=9.0)
    )
    value, size = _closed_form(m, t, a, b, best)
    good = (value > CANCELLED * size) & (value > SUBNORMAL)
    found = torch.log(torch.where(good, value, 1.0))
    if not good.all():
        narrow = torch.nonzero(~good)[:, 0]
        parts = (part[narrow] for part in (m, t, a, b, best))
        found = found.index_put((narrow,), _by_quadrature(*parts))
    return found.reshape(shape)


def _closed_form(m: Tensor, t: Tensor, a: Tensor, b: Tensor, best: Tensor) -> tuple[Tensor, Tensor]:
    """EI as in the module's text, and the size of the terms that it is the sum of."""
    k = 1 + 2 * t * t
    mean, std = m / k, t / torch.sqrt(k)
    factor = torch.exp(-m * m / k) / torch.sqrt(k)
    low, high = (a - mean) / std, (b - mean) / std
    mass, most = _between(low, high)
    below, above = _density(low), _density(high)
    middle, slope = mean * mean + std * std, 2 * mean * std
    inner = middle * mass - slope * (above - below) - std * std * (high * above - low * below)
    chance, likely = _between((a - m) / t, (b - m) / t)
    size = factor * (middle * most + slope.abs() * (above + below)) + best * likely
    size = size + factor * std * std * ((high * above).abs() + (low * below).abs())
    return factor * inner - best * chance, size.detach()


def _between(low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
    """Φ(high) - Φ(low), taken on the side where both are small; and the larger of the two."""
    flip = low > 0
    first, second = torch.where(flip, -high, low), torch.where(flip, -low, high)
    top = ndtr(second)
    return top - ndtr(first), top.detach()


def _density(z: Tensor) -> Tensor:
    return torch.exp(-0.5 * torch.clamp(z * z, max=1500.0)) / _ROOT_2PI


def _by_quadrature(m: Tensor, t: Tensor, a: Tensor, b: Tensor, best: Tensor) -> Tensor:
    """ln ∫ max(0, s² exp(-s²) - ρ*) N(s; m, t²) ds over the part of [a, b] with the mass."""
    with torch.no_grad():
        k = 1 + 2 * t * t
        near, left, half = _bearing(m, t, a, b)
        far, first, size = _bearing(m / k, t / torch.sqrt(k), a, b)  # of exp(-s²) N(s; m, t²)
        right = torch.maximum(2 * half - left, far - near + 2 * size - first)
        left = torch.maximum(left, near - far + first)
        half = (left + right) / 2
        nodes, weights = _GL
        up, down = half[..., None] * (1 + nodes), half[..., None] * (1 - nodes)
        u = torch.clamp(near - a - left, min=0.0)[..., None] + up  # from a on
        v = torch.clamp(b - near - right, min=0.0)[..., None] + down  # to b
        gain = _log_gain(a[..., None], b[..., None], u, v, best[..., None])
        spread = torch.log(half.clamp(min=0.0))[..., None] + torch.log(weights)
        offset = up - left[..., None]
    return _normal(gain + spread, near - m, offset, t)


def _normal(terms: Tensor, gap: Tensor, offset: Tensor, t: Tensor) -> Tensor:
    """ln Σ exp(terms) N(gap + offset; 0, t²); what the offsets share is taken out of the sum."""
    ratio, step = gap / t, offset / t[..., None]
    found = logsumexp(terms - step * (ratio[..., None] + 0.5 * step), -1)
    return found - 0.5 * ratio * ratio - torch.log(t) - log(_ROOT_2PI)


def _bearing(m: Tensor, t: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The point of [a, b] nearest to m, and how far from it a normal density is not nothing.

    That is to its left, and half of the whole length: without cancellation.
    """
    near = torch.minimum(torch.maximum(m, a), b)
    gap = (m - near).abs()
    square = MASS * t * t
    length = square / (gap + torch.sqrt(gap * gap + square))
    left, right = torch.minimum(near - a, length), torch.minimum(b - near, length)
    return near, left, (left + right) / 2


def _log_gain(a: Tensor, b: Tensor, u: Tensor, v: Tensor, best: Tensor) -> Tensor:
    """ln(s² exp(-s²) - ρ*) at s = a + u = b - v, from the end that is nearer."""
    s = a + u
    from_a = 2 * torch.log1p(u / a) - u * (2 * a + u)
    from_b = 2 * torch.log1p(-torch.clamp(v / b, max=1 - 1e-16)) + v * (2 * b - v)
    excess = torch.clamp(torch.where((u < v) | (b >= FAR), from_a, from_b), min=1e-300)
    above = torch.log(best) + excess + log1mexp(-excess)
    return torch.where(best > 0, above, 2 * torch.log(torch.clamp(s, min=1e-300)) - s * s)


def _by_superlevels(values: list[Tensor], potential: Potential) -> Tensor:
    """ln EI of any potential, by quadrature over the sets where it is above ρ*."""
    mean, std, best, center = values
    std = torch.clamp(std, LEAST * potential.width, MOST * potential.width)
    mean = center + torch.clamp(mean - center, -MOST * potential.width, MOST * potential.width)
    shape = mean.shape
    mean, std, best, center = (part.reshape(-1) for part in (mean, std, best, center))
    pairs, which = np.unique(torch.stack([best, center]).numpy(), axis=1, return_inverse=True)
    found = 0 * (mean + std) - torch.inf  # with a gradient, if without a level set
    for number, (level, middle) in enumerate(pairs.T.tolist()):
        own = torch.from_numpy(np.flatnonzero(which.reshape(-1) == number))
        parts = [
            _over(mean[own], std[own], low, high, level, middle, potential)
            for low, high in potential.superlevel(level, middle)
        ]
        if parts:
            found = found.index_put((own,), logsumexp(torch.stack(parts, -1), -1))
    return found.reshape(shape)


def _over(
    mean: Tensor, std: Tensor, low: float, high: float, level: float, center: float,
    potential: Potential,
) -> Tensor:  # fmt: skip
    reach = FAR * potential.width
    with torch.no_grad():
        a = torch.full_like(mean, max(low, center - reach))
        b = torch.full_like(mean, min(high, center + reach))
        near, left, half = _bearing(mean, std, a, b)
        offset = half[..., None] * (1 + _GL[0]) - left[..., None]
        y = near[..., None] + offset
        gain = torch.from_numpy(potential(y.numpy(), center)) - level
        terms = (
            torch.log(torch.clamp(gain, min=1e-300))
            + torch.log(half.clamp(min=0.0))[..., None]
            + torch.log(_GL[1])
        )
    return _normal(terms, near - mean, offset, std)


def _doubles(part: Any) -> Tensor:
    """A number, or numbers, as doubles; not text, nor what stands for numbers."""
    if isinstance(part, Tensor):
        if part.is_complex():
            raise TypeError("complex numbers")
        return part.to(torch.float64)
    array = np.asarray(part)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{array.dtype} is no type of numbers")
    return torch.from_numpy(array.astype(np.float64))


def _tensors(
    mean: Any, std: Any, best: Any, center: Any
) -> tuple[list[Tensor], Callable[[Tensor], Any]]:
    """The four as doubles of one shape, ``best`` and ``center`` without gradients.

    And what turns a tensor into an array again, where all four were no tensors.
    """
    given = (mean, std, best, center)
    try:
        values = [_doubles(part) for part in given]
        shaped = list(torch.broadcast_tensors(*values))
    except (TypeError, ValueError, RuntimeError) as error:
        raise DataTypeError(
            f"mean, std, best and center are numbers that broadcast: {error}"
        ) from error
    names = zip(("mean", "std", "best", "center"), shaped, strict=True)
    if odd := [name for name, part in names if not bool(torch.isfinite(part).all())]:
        raise InvalidInputError(f"{' and '.join(odd)}: not all are finite numbers")
    if bool((shaped[1] < 0).any()):
        raise InvalidInputError("std: a standard deviation is not negative")
    shaped[2] = torch.clamp(shaped[2].detach(), min=0.0)
    shaped[3] = shaped[3].detach()
    if any(isinstance(part, Tensor) for part in given):
        return shaped, lambda found: found
    return shaped, lambda found: found.detach().numpy()[()]

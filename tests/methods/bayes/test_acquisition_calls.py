"""How EI-CFX is called: arrays, tensors, what it refuses, and as BoTorch's acquisition."""

from __future__ import annotations

import warnings
from math import nan
from typing import Any

import numpy as np
import pytest
import torch
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf

from cfxc.errors import DataTypeError, InvalidInputError
from cfxc.methods.bayes import (
    AEP,
    SEP,
    CustomPotential,
    ExpectedCounterfactualImprovement,
    ei_cfx,
    log_ei_cfx,
    monte_carlo_ei,
    quadrature_ei,
)
from cfxc.methods.bayes.potentials import PEAK

custom = CustomPotential(lambda y, c: np.exp(-(((y - c - 1) / 0.5) ** 2)), 1.0, name="bump")


# -- arrays and tensors ---------------------------------------------------------------------------

JUDGES = [ei_cfx, log_ei_cfx, quadrature_ei]


@pytest.mark.parametrize("judge", [*JUDGES, monte_carlo_ei])
@pytest.mark.parametrize("potential", [SEP(1.0), custom], ids=str)
def test_all_four_broadcast(judge: Any, potential: Any) -> None:
    mean, std = np.array([0.2, 0.9, -2.0]), np.array([[0.5], [2.0]])
    best, center = np.array([0.0, 0.1, 0.2]), np.array([[[0.0]], [[1.0]]])
    found = judge(mean, std, best, potential, center)
    assert isinstance(found, np.ndarray)
    assert (found.shape, found.dtype) == ((2, 2, 3), np.float64)
    for i, j, k in np.ndindex(2, 2, 3):
        one = judge(mean[k], std[j, 0], best[k], potential, center[i, 0, 0])
        assert found[i, j, k] == pytest.approx(one, rel=1e-12)


@pytest.mark.parametrize("judge", [*JUDGES, monte_carlo_ei])
def test_numbers_give_a_number(judge: Any) -> None:
    assert type(judge(0.3, 1, 0, SEP(1.0), np.float32(0))) is np.float64
    assert judge([0.3], 1, 0, SEP(1.0), 0).shape == (1,)
    assert judge(np.zeros((0, 3)), 1, 0, SEP(1.0), 0).shape == (0, 3)


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize("place", range(4))
def test_a_tensor_anywhere_gives_a_tensor(judge: Any, place: int) -> None:
    arguments: list[Any] = [np.array([0.3, 1.0]), 0.5, 0.1, 0.0]
    plain = judge(*arguments[:3], SEP(1.0), arguments[3])
    arguments[place] = torch.as_tensor(arguments[place], dtype=torch.float32)
    found = judge(*arguments[:3], SEP(1.0), arguments[3])
    assert isinstance(found, torch.Tensor)
    assert found.dtype == torch.float64
    assert not found.requires_grad
    assert found.numpy() == pytest.approx(plain, rel=1e-6)


def test_gradients_are_to_mean_and_deviation_only() -> None:
    inputs = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (0.3, 0.5, 0.1, 0)]
    mean, std, best, center = inputs
    ei_cfx(mean, std, best, SEP(1.0), center).backward()
    assert [part.grad is not None for part in inputs] == [True, True, False, False]


@pytest.mark.parametrize("change", ["reversed", "big-endian"])
def test_any_array_of_numbers_will_do(change: str) -> None:
    mean = np.array([0.1, 0.7, 2.0])
    other = mean[::-1].copy()[::-1] if change == "reversed" else mean.astype(">f8")
    found = ei_cfx(other, 0.5, 0.1, SEP(1.0), 0.0)
    assert found.tolist() == ei_cfx(mean, 0.5, 0.1, SEP(1.0), 0.0).tolist()


# -- bad input ------------------------------------------------------------------------------------

GOOD = {"mean": 0.3, "std": 0.5, "best": 0.1, "center": 0.0}


def judged(judge: Any, **changes: Any) -> Any:
    given = {**GOOD, **changes}
    return judge(given["mean"], given["std"], given["best"], SEP(1.0), given["center"])


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize("value", [nan, np.inf, [0.1, nan], torch.tensor(-torch.inf)])
@pytest.mark.parametrize("name", GOOD)
def test_all_are_finite(judge: Any, name: str, value: Any) -> None:
    with pytest.raises(InvalidInputError, match=f"{name}: .*finite"):
        judged(judge, **{name: value})


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize("std", [-1.0, -1e-300, [0.1, -0.1], torch.tensor(-1.0)])
def test_a_deviation_is_not_negative(judge: Any, std: Any) -> None:
    with pytest.raises(InvalidInputError, match="std"):
        judged(judge, std=std)


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize("value", ["high", "1", None, ["a"], np.array(["1"]), 1j, [[1.0], [1, 2]]])
@pytest.mark.parametrize("name", GOOD)
def test_all_are_numbers(judge: Any, name: str, value: Any) -> None:
    with pytest.raises(DataTypeError, match="numbers"):
        judged(judge, **{name: value})


@pytest.mark.parametrize("judge", JUDGES)
def test_shapes_that_do_not_broadcast(judge: Any) -> None:
    with pytest.raises(DataTypeError, match="broadcast"):
        judged(judge, mean=np.zeros(2), std=np.ones(3))


@pytest.mark.parametrize("changes", [{"std": -1.0}, {"mean": nan}, {"mean": "a"}, {"best": -1.0}])
def test_samples_are_as_strict(changes: dict[str, Any]) -> None:
    if "best" in changes:
        assert judged(monte_carlo_ei, **changes) == judged(monte_carlo_ei, best=0.0)
        return
    with pytest.raises((DataTypeError, InvalidInputError)):
        judged(monte_carlo_ei, **changes)


# -- as an acquisition function of BoTorch --------------------------------------------------------

X = torch.linspace(0, 1, 6, dtype=torch.float64)[:, None]
Y = torch.sin(3 * X) + X
BOUNDS = torch.tensor([[0.0], [1.0]], dtype=torch.float64)


@pytest.fixture(scope="module")
def process() -> Any:
    model = SingleTaskGP(X, Y)
    model.covar_module.lengthscale = 0.3
    return model.eval()


@pytest.mark.parametrize("judge", [ei_cfx, log_ei_cfx])
@pytest.mark.parametrize("potential", [SEP(0.4), AEP(0.4), AEP(0.4, "-")], ids=str)
def test_it_is_that_of_the_posterior(process: Any, judge: Any, potential: Any) -> None:
    center = float(Y[2])
    acquisition = ExpectedCounterfactualImprovement(
        process, 0.2, potential, center, log=judge is log_ei_cfx
    )
    rows = torch.linspace(0, 1, 15, dtype=torch.float64)[:, None, None]
    posterior = process.posterior(rows)
    mean, std = posterior.mean[:, 0, 0], posterior.variance[:, 0, 0].sqrt()
    found = acquisition(rows)
    assert found.shape == (15,)
    assert torch.allclose(found, judge(mean, std, 0.2, potential, center), rtol=1e-9)
    batched = acquisition(rows.reshape(3, 5, 1, 1))
    assert torch.allclose(batched, found.reshape(3, 5), rtol=1e-9)


@pytest.mark.parametrize("logarithm", [False, True])
def test_botorch_finds_its_maximum(process: Any, logarithm: bool) -> None:
    acquisition = ExpectedCounterfactualImprovement(
        process, 0.2, SEP(0.4), float(Y[2]), log=logarithm
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of inputs that are not standardised
        row, value = optimize_acqf(
            acquisition, BOUNDS, q=1, num_restarts=4, raw_samples=32, options={"seed": 0}
        )
    grid = acquisition(torch.linspace(0, 1, 2001, dtype=torch.float64)[:, None, None])
    assert row.shape == (1, 1)
    assert value.item() == pytest.approx(grid.max().item(), rel=1e-4)
    assert acquisition(row).item() == pytest.approx(value.item(), rel=1e-9)


def test_with_nothing_to_improve_botorch_still_gives_a_row(process: Any) -> None:
    acquisition = ExpectedCounterfactualImprovement(process, PEAK, SEP(0.4), float(Y[2]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # all starts are as good
        row, value = optimize_acqf(acquisition, BOUNDS, q=1, num_restarts=2, raw_samples=8)
    assert 0 <= row.item() <= 1
    assert value.item() == 0

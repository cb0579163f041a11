"""Smooth networks of PyTorch, from module to checked certificate."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

import cfxc
from cfxc import Feature, FeatureSpace
from cfxc.certificates.checker import Proof, Rejected
from cfxc.certificates.checker.reader import Clock
from tests.certificates.mutants import rehashed

torch = pytest.importorskip("torch")
nn = torch.nn

SPACE = FeatureSpace(
    (
        Feature("a", "integer", lower=0, upper=5),
        Feature("b", "real", lower=-1.0, upper=1.0, resolution="0.25"),
        Feature("c", "integer", lower=0, upper=4),
    )
)
ROWS = pd.DataFrame(
    list(product(range(6), np.arange(-1, 1.25, 0.25), range(5))), columns=list("abc")
).astype({"a": "int64", "c": "int64"})
LAYERS = {
    "sigmoid": nn.Sigmoid, "tanh": nn.Tanh, "gelu": nn.GELU, "silu": nn.SiLU,
    "softplus": nn.Softplus, "elu": nn.ELU, "mish": nn.Mish,
}  # fmt: skip


def network(kind: str) -> Any:
    """Trained for a few steps on a curved border."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 3), LAYERS[kind](), nn.Linear(3, 2))
    inputs = torch.tensor(ROWS.to_numpy(), dtype=torch.float32)
    wanted = torch.tensor(((ROWS.a - 2) * ROWS.b + ROWS.c / 2 > 1).to_numpy(), dtype=torch.long)
    optimiser = torch.optim.Adam(net.parameters(), lr=0.05)
    for _ in range(150):
        optimiser.zero_grad()
        nn.functional.cross_entropy(net(inputs), wanted).backward()
        optimiser.step()
    return net.eval()


def away(own: pd.Series) -> Any:
    return ((ROWS - own).abs() / [5, 2, 4]).sum(axis=1) / 3


@pytest.mark.parametrize("kind", LAYERS)
def test_networks_have_certificates(kind: str) -> None:
    """What they claim is so of every row there is; and no higher bound is accepted."""
    compiled = cfxc.compile(network(kind), SPACE, task="classifier")
    said = np.asarray(compiled.predict(ROWS))
    assert 20 < said.sum() < len(ROWS) - 20
    row = ROWS[said == 0].iloc[[7]]
    result = compiled.explain(row, target=1)
    assert result.status == "optimal"
    content = result.certificate.to_dict()
    report = cfxc.check(content, model=compiled)
    assert report.ok, report.reason
    assert report.shown is not None
    best = away(row.iloc[0])[said == 1].min()
    assert report.shown.bound <= best + 1e-9
    assert float(report.shown.distance) == pytest.approx(best, abs=1e-9)

    higher = str(report.shown.distance + 1)
    parts = (content[part] for part in ("features", "program", "question"))
    with pytest.raises(Rejected):
        Proof(*parts, {**content["proof"], "radius": higher}, Clock(60)).walk()
    forged = {**content, "claim": {**content["claim"], "lower_bound": higher}}
    forged["proof"] = {**content["proof"], "radius": higher}
    assert not cfxc.check(rehashed(forged)).ok

"""PyTorch modules: the program computes what the module computes, on every row."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812

import cfxc  # noqa: E402
from cfxc.errors import (  # noqa: E402
    CfxcError,
    InvalidInputError,
    ModelFileError,
    UnsupportedError,
)
from cfxc.ir import BatchEvaluator, evaluate  # noqa: E402

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "code": RNG.integers(0, 5, 2000),
        "age": RNG.integers(18, 80, 2000),
        "pay": RNG.normal(size=2000).round(2),
        "debt": RNG.normal(size=2000),
    }
)
SPACE = cfxc.FeatureSpace.infer(FRAME, kinds={"code": "categorical"})
KINKS = FRAME.assign(pay=np.resize([0.0, 3.0, -3.0, 1.0, -1.0, 6.0, 0.5, -0.5], 2000), debt=0.0)


class Of(nn.Module):
    """A function of the numbers, scaled."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self.function = function
        self.scale = nn.Parameter(torch.tensor([1.0, 0.1, 1.0, 3.0]))

    def forward(self, x: Any) -> Any:
        return self.function(x * self.scale)


def image(x: Any) -> Any:
    return x.reshape(x.shape[0], 1, 2, 2)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    **{
        name: getattr(F, name)
        for name in (
            "relu", "silu", "gelu", "mish", "elu", "selu", "celu", "softplus", "softsign",
            "logsigmoid", "hardswish", "hardsigmoid", "hardtanh", "relu6", "leaky_relu",
            "tanhshrink", "hardshrink", "softshrink",
        )
    },
    "tanh gelu": lambda x: F.gelu(x, approximate="tanh"),
    "steep elu": lambda x: F.elu(x, alpha=1.7),
    "steep leaky": lambda x: F.leaky_relu(x, negative_slope=2.5),
    "threshold": lambda x: F.threshold(x, 0.1, 20.0),
    "glu": lambda x: F.glu(x, dim=1),
    "softplus beta": lambda x: F.softplus(x, beta=2.0),
    "exp erf": lambda x: torch.exp(torch.clamp(x, -1.5, 1.25)) - torch.erf(x) + torch.abs(x),
    "clamps": lambda x: x.clamp(min=-0.3) + x.clamp(max=0.7) - torch.clamp_min(x, 0.1),
    "arithmetic": lambda x: 2.5 - x / 3 + torch.add(x, x, alpha=0.3) * -x + x**3 - x.square(),
    "where": lambda x: torch.where((x > 0.25) & ~(x >= 2) | (x == 0.5), x, -x),
    "extremes": lambda x: torch.maximum(x, -x) + torch.minimum(x, 2 * x),
    "sums": lambda x: torch.stack([x.sum(1), x.mean(1), x.amax(1), x.amin(1), x.max(1).values], 1),
    "slices": lambda x: torch.cat([x[:, 1:3], x[:, -1:], x[:, [2, 0]], x[:, 3].unsqueeze(1)], 1),
    "splits": lambda x: torch.cat([a - b for a, b in [x.split(2, 1), x.chunk(2, 1)]], 1),
    "shapes": lambda x: x.view(x.size(0), 2, 2).transpose(1, 2).permute(0, 2, 1).flatten(1),
    "expand": lambda x: (x.unsqueeze(1).expand(-1, 3, -1) + torch.ones(3, 1)).flatten(1),
    "pad": lambda x: F.pad(x, (1, 2), value=0.5),
    "max pool": lambda x: F.max_pool2d(image(x), (2, 1), 1, (1, 0)).flatten(1),
    "average pool": lambda x: F.avg_pool2d(image(x), 2, 1, 1).flatten(1),
    "adaptive": lambda x: F.adaptive_avg_pool1d(x.unsqueeze(1), 2).flatten(1),
    "softmax": lambda x: torch.softmax(x, 1),
    "log softmax": lambda x: torch.log_softmax(x, -1),
}  # fmt: skip


def values(module: Any, frame: pd.DataFrame) -> tuple[Any, Any, Any]:
    made = cfxc.compile(module, SPACE, task="regressor")
    found = BatchEvaluator(made.program)(SPACE.encode_frame(frame, check_range=False))
    return made, np.asarray(found["value"]).reshape(len(frame), -1), made.predict(frame)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    made, found, expected = values(Of(FUNCTIONS[name]), FRAME)
    expected = expected.reshape(len(FRAME), -1)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)
    beside = BatchEvaluator(made.program)(SPACE.encode_frame(KINKS, check_range=False))["value"]
    wanted = made.predict(KINKS)
    np.testing.assert_allclose(beside, wanted, rtol=2e-5, atol=2e-5)
    for row in range(4):
        exact = evaluate(made.program, SPACE.encode_row(FRAME.iloc[[row]]))["value"]
        np.testing.assert_allclose(
            np.asarray(exact, dtype=float).ravel(), found[row], rtol=1e-9, atol=1e-9
        )


LAYERS: dict[str, Callable[[], Any]] = {
    "batch norm": lambda: nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU()),
    "first norm": lambda: nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 2)),
    "conv": lambda: nn.Sequential(
        nn.Unflatten(1, (1, 4)), nn.Conv1d(1, 3, 2, padding=1), nn.ReLU(), nn.MaxPool1d(2),
        nn.Flatten(), nn.Linear(6, 2),
    ),
    "conv 2d": lambda: nn.Sequential(
        nn.Unflatten(1, (2, 2, 1)), nn.Conv2d(2, 4, (2, 1), groups=2, bias=False), nn.Flatten(),
    ),
    "prelu": lambda: nn.Sequential(nn.Linear(4, 3), nn.PReLU(3, init=-0.5), nn.Dropout(0.5)),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str) -> None:
    torch.manual_seed(0)
    module = LAYERS[name]()
    for layer in module:
        if isinstance(layer, nn.BatchNorm1d):
            layer.running_mean.uniform_(-1, 1)
            layer.running_var.uniform_(0.2, 3)
    module.train()  # what is compiled is as in evaluation
    _, found, expected = values(module, FRAME)
    np.testing.assert_allclose(found, expected.reshape(found.shape), rtol=2e-5, atol=2e-5)


class Table(nn.Module):
    """A dict of columns, an embedding, two outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.codes = nn.Embedding(5, 2)
        self.layers = nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 1))

    def forward(self, row: dict[str, Any]) -> dict[str, Any]:
        numbers = torch.stack([row["age"] / 100, row["pay"], row["debt"]], 1)
        logit = self.layers(torch.cat([numbers, self.codes(row["code"])], 1))
        return {"logit": logit, "chance": torch.sigmoid(logit)[:, 0]}


def labels(made: Any, frame: pd.DataFrame = FRAME) -> Any:
    found = BatchEvaluator(made.program)(SPACE.encode_frame(frame, check_range=False))["label"]
    return np.array([made.predictor.classes[code] for code in found])


def seeded(make: Callable[[], Any]) -> Any:
    torch.manual_seed(3)
    return make()


def test_outputs_and_cuts() -> None:
    module = seeded(Table)
    chances = cfxc.compile(module, SPACE, output="chance").predictor.probabilities(FRAME)
    cut = float(np.median(chances[:, 1])) + 1e-4
    for options in ({"output": "chance", "cut": cut}, {"output": 1, "cut": cut}):
        made = cfxc.compile(module, SPACE, **options)
        expected = (chances[:, 1].astype(float) > cut).astype(int)
        assert made.predict(FRAME).tolist() == expected.tolist() == labels(made).tolist()
        assert 0 < expected.mean() < 1
    logits = cfxc.compile(module, SPACE, output="logit", cut=0.125)
    assert labels(logits).tolist() == logits.predict(FRAME).tolist()
    assert cfxc.compile(module, SPACE, output="logit").predictor.task == "regressor"
    row = FRAME.iloc[[0]]
    result = cfxc.compile(module, SPACE, output="chance", cut=cut).explain(row, time_limit=20)
    assert result.status == "optimal"
    assert result.outcome_before != result.outcome_after


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "several outputs could be"),
        ({"output": "score"}, r"no output 'score'; output= is one of \['logit', 'chance'\]"),
        ({"output": 2}, "no output 2"),
        ({"output": "chance", "cut": 1.5}, r"cut=1.5 is not in \[0, 1\)"),
        ({"output": "logit", "cut": float("nan")}, "no number"),
        ({"output": "logit", "cut": 1, "task": "regressor"}, "leave task='regressor' out"),
    ],
)
def test_what_is_wanted_is_checked(options: Any, message: str) -> None:
    with pytest.raises(CfxcError, match=message):
        cfxc.compile(seeded(Table), SPACE, **options)


class Named(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.codes = nn.Embedding(5, 3)

    def forward(self, code: Any, pay: Any) -> Any:
        return torch.softmax(self.codes(code) * pay.unsqueeze(1), dim=1)


def test_inputs_named_as_columns() -> None:
    made = cfxc.compile(seeded(Named), SPACE)
    assert made.predictor.classes == (0, 1, 2)
    assert labels(made).tolist() == made.predict(FRAME).tolist()
    assert made.predictor.probabilities(FRAME).shape == (2000, 3)
    with pytest.raises(InvalidInputError, match="cut= is for a single number"):
        cfxc.compile(seeded(Named), SPACE, cut=0.4)


def test_the_module_is_copied() -> None:
    module = nn.Sequential(nn.Linear(4, 1))
    made = cfxc.compile(module, SPACE)
    before = made.predict(FRAME)
    with torch.no_grad():
        module[0].weight.zero_()
    assert (made.predict(FRAME) == before).all()


@pytest.mark.parametrize("act", [nn.ReLU, nn.GELU, nn.SiLU, nn.Softplus, nn.Hardswish])
def test_networks_are_explained_with_proof(act: Any) -> None:
    numbers = np.random.default_rng(5).normal(size=(300, 3)).round(1)
    frame = pd.DataFrame(numbers, columns=list("abc"))
    space = cfxc.FeatureSpace.infer(frame)
    torch.manual_seed(1)
    module = nn.Sequential(nn.Linear(3, 6), act(), nn.Linear(6, 1))
    with torch.no_grad():
        out = module(torch.tensor(frame.to_numpy(), dtype=torch.float32))
        module[-1].bias -= out.quantile(0.4)
    made = cfxc.compile(module, space, task="classifier")
    row = frame.iloc[[0]]
    result = made.explain(row, time_limit=30)
    assert result.status == "optimal"
    low, high = frame.min(), frame.max()
    near = pd.DataFrame(
        [
            [row.a.iloc[0] + i / 10, row.b.iloc[0] + j / 10, row.c.iloc[0] + k / 10]
            for i in range(-20, 21)
            for j in range(-20, 21)
            for k in range(-20, 21)
        ],
        columns=list("abc"),
    ).round(1)
    near = near[(near >= low).all(axis=1) & (near <= high).all(axis=1)]
    assert len(near) > 1000
    flips = near[made.predict(near) != made.predict(row)[0]]
    distances = ((flips - row.iloc[0]).abs() / (high - low)).mean(axis=1)
    assert result.lower_bound <= distances.min() + 1e-12
    assert result.distance <= distances.min() * 1.001 + 1e-12


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "layer norm": (lambda x: F.layer_norm(x, [4]), r"aten.layer_norm.default\): .*deviation"),
    "sort": (lambda x: x.sort(1).values, r"aten.sort.default"),
    "rows": (lambda x: x - x.mean(0), "mixes different rows"),
    "all rows": (lambda x: x.mean() + x, "mixes different rows of the batch; name the axes"),
    "branch": (lambda x: x if x.sum() > 0 else -x, "torch.export cannot read it"),
    "half": (lambda x: x.half() * 2, "computes in torch.float16"),
    "low threshold": (lambda x: F.softplus(x, threshold=5), "switches to x above 5"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    function, message = REFUSED[name]
    with pytest.raises(UnsupportedError, match=message) as info:
        cfxc.compile(Of(function), SPACE)
    assert len(str(info.value).splitlines()) <= 10


class Two(nn.Module):
    def forward(self, first: Any, second: Any) -> Any:
        return first + second


def test_inputs_that_are_no_columns() -> None:
    with pytest.raises(InvalidInputError, match="'first' is no column"):
        cfxc.compile(Two(), SPACE)


def test_exported_programs_and_files(tmp_path: Path) -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(4, 3), nn.Softmax(dim=1)).eval()
    free = ({0: torch.export.Dim("rows")},)
    program = torch.export.export(module, (torch.zeros(2, 4),), dynamic_shapes=free)
    one = torch.export.export(module, (torch.zeros(1, 4),))
    expected = cfxc.compile(module, SPACE).predict(FRAME[:50]).tolist()
    assert cfxc.compile(program, SPACE).predict(FRAME[:50]).tolist() == expected
    assert cfxc.compile(one, SPACE).predict(FRAME[:50]).tolist() == expected
    torch.export.save(program, tmp_path / "net.pt2")
    torch.save(module, tmp_path / "net.pth")
    torch.save(module.state_dict(), tmp_path / "state.pt")
    for name in ("net.pt2", "net.pth"):
        with pytest.raises(ModelFileError, match="--trust-pickle"):
            cfxc.compile(tmp_path / name, SPACE)
        made = cfxc.compile(tmp_path / name, SPACE, trust_pickle=True)
        assert made.predict(FRAME[:50]).tolist() == expected
    with pytest.raises(ModelFileError, match="parameters alone, no module"):
        cfxc.compile(tmp_path / "state.pt", SPACE, trust_pickle=True)


def test_in_other_processes() -> None:
    """Modules go there; an exported program does not, and says so."""
    torch.manual_seed(0)
    module = nn.Linear(4, 2).eval()
    made, asked = cfxc.compile(module, SPACE, task="classifier"), FRAME[:4]
    tables = [made.explain_batch(asked, target=1, n_jobs=jobs) for jobs in (1, 2)]
    assert tables[0].distance.tolist() == tables[1].distance.tolist()
    free = ({0: torch.export.Dim("rows")},)
    program = torch.export.export(module, (torch.zeros(2, 4),), dynamic_shapes=free)
    made = cfxc.compile(program, SPACE, task="classifier")
    with pytest.raises(InvalidInputError, match=r"cannot be sent to other processes.*n_jobs=1"):
        made.explain_batch(asked, target=1, n_jobs=2)


def test_damaged_files(tmp_path: Path) -> None:
    """Whatever is cut off or changed, the error is ours, or the file still opens."""
    program = torch.export.export(nn.Linear(4, 1).eval(), (torch.zeros(1, 4),))
    path = tmp_path / "net.pt2"
    torch.export.save(program, path)
    content, random = path.read_bytes(), np.random.default_rng(0)
    for trial in range(40):
        at = int(random.integers(len(content)))
        changed = content[:at] if trial % 2 else (
            content[:at] + bytes([int(random.integers(256))]) + content[at + 1 :]
        )  # fmt: skip
        path.write_bytes(changed)
        error: Exception | None = None
        try:
            cfxc.compile(path, SPACE, trust_pickle=True)
        except Exception as raised:
            error = raised
        assert error is None or (isinstance(error, CfxcError) and error.exit_code == 2)
        assert len(str(error).splitlines()) <= 10


def test_another_cut_of_other_models_is_refused() -> None:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression().fit(FRAME, FRAME.pay > 0)
    with pytest.raises(InvalidInputError, match="FixedThresholdClassifier"):
        cfxc.compile(model, SPACE, cut=0.3)

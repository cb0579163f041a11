"""Training: the three gradients, the same twice, resumed, stopped early."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import cfxc
from cfxc.errors import InvalidInputError, ModelFileError, UnsupportedError
from cfxc.methods.amortised.gradients import Pathwise, Reinforce, gradient_of
from cfxc.methods.amortised.levels import Levels
from cfxc.methods.amortised.material import Material
from cfxc.methods.amortised.networks import Networks, effective
from cfxc.methods.amortised.sampling import laws_of
from cfxc.methods.amortised.settings import Settings

from .loans import QUICK, compiled, loans

pytestmark = pytest.mark.usefixtures("one_torch_thread")


def material(kind: str, classes: int = 2, rows: int = 400) -> Material:
    model = compiled(kind, classes)
    raw = dict(model.space.encode_frame(loans().iloc[:rows]))
    return Material.of(model.program, Levels.cut(model.space, raw, 3, 40), raw)


def weights(generator: cfxc.Generator) -> dict[str, Any]:
    assert generator._stored is not None
    return dict(generator._stored.weights)


def same(one: cfxc.Generator, other: cfxc.Generator) -> bool:
    first, second = weights(one), weights(other)
    return first.keys() == second.keys() and all(
        np.array_equal(first[name], second[name]) for name in first
    )


@pytest.mark.parametrize(
    ("kind", "gradient", "used"),
    [
        ("linear", "auto", "pathwise"), ("network", "auto", "pathwise"),
        ("forest", "auto", "reinforce"), ("linear", "reinforce", "reinforce"),
        ("boosting", "straight-through", "straight-through"),
    ],
)  # fmt: skip
def test_the_loss_falls(kind: str, gradient: str, used: str) -> None:
    made = cfxc.Generator(compiled(kind), **QUICK | {"epochs": 8}, gradient=gradient).fit(loans())
    assert made.gradient == used
    assert len(made.losses) == 8
    assert min(made.losses) < made.losses[0]


def test_trees_have_no_path() -> None:
    made = cfxc.Generator(compiled("forest"), **QUICK, gradient="pathwise")
    with pytest.raises(UnsupportedError, match="reinforce"):
        made.fit(loans())


@pytest.mark.parametrize("kind", ["linear", "forest"])
def test_the_same_seed_gives_the_same_weights(kind: str) -> None:
    one, other, third = (
        cfxc.Generator(compiled(kind), **QUICK, random_state=seed).fit(loans())
        for seed in (1, 1, 2)
    )
    assert same(one, other)
    assert one.losses == other.losses
    assert not same(one, third)


@pytest.mark.parametrize("gradient", ["pathwise", "reinforce", "straight-through"])
def test_a_resumed_training_ends_as_one_in_one_go(gradient: str, tmp_path: Path) -> None:
    class StopError(Exception):
        pass

    def stop(epoch: Any) -> None:
        if epoch.number == 2:
            raise StopError

    def make() -> cfxc.Generator:
        return cfxc.Generator(compiled("linear"), **QUICK | {"epochs": 4}, gradient=gradient)

    whole = make().fit(loans())
    with pytest.raises(StopError):
        make().fit(loans(), checkpoint=tmp_path, progress=stop)
    seen: list[int] = []
    resumed = make().fit(loans(), checkpoint=tmp_path, progress=lambda e: seen.append(e.number))
    assert seen == [3, 4]
    assert same(whole, resumed)
    assert whole.losses == resumed.losses
    done = make().fit(loans(), checkpoint=tmp_path, progress=lambda e: seen.append(e.number))
    assert same(whole, done)
    assert seen == [3, 4]


def test_a_checkpoint_of_something_else_is_refused(tmp_path: Path) -> None:
    cfxc.Generator(compiled("linear"), **QUICK).fit(loans(), checkpoint=tmp_path)
    for other, rows in ((compiled("network"), loans()), (compiled("linear"), loans().iloc[:300])):
        with pytest.raises(InvalidInputError, match="another model, other rows or settings"):
            cfxc.Generator(other, **QUICK).fit(rows, checkpoint=tmp_path)
    (tmp_path / "checkpoint.safetensors").write_bytes(b"no checkpoint")
    with pytest.raises(ModelFileError, match="checkpoint"):
        cfxc.Generator(compiled("linear"), **QUICK).fit(loans(), checkpoint=tmp_path)


def test_training_stops_early_and_keeps_the_best() -> None:
    eager = QUICK | {"epochs": 200, "learning_rate": 0.05, "patience": 3}
    made = cfxc.Generator(compiled("linear"), **eager).fit(loans())
    assert len(made.losses) < 200
    assert min(made.losses[-3:]) >= min(made.losses) * (1 - 2e-3)


def test_numpy_computes_the_laws_that_torch_does() -> None:
    given = material("linear")
    torch.manual_seed(0)
    networks = Networks(given.levels, given.classes, (7, 5), True)
    rows, wanted = np.arange(20), np.arange(20) % 2
    batch = given.batch(rows, wanted)
    with torch.no_grad():
        log_p, select = networks(batch)
        expected = effective(log_p, select, batch.own).numpy()
    plain = {name: value.numpy() for name, value in networks.state_dict().items()}
    reach = batch.reach.numpy()
    laws = laws_of(plain, given.levels, batch.inputs.numpy(), reach, given.codes[rows])
    assert np.allclose(laws.tempered(1.0), expected, atol=1e-6)


def test_reinforce_is_an_unbiased_gradient() -> None:
    """Beside the exact gradient of the expectation, by enumeration of all rows over the levels."""
    given = material("forest", rows=60)
    levels = given.levels
    torch.manual_seed(0)
    networks = Networks(levels, given.classes, (4,), True)
    rows, wanted = np.flatnonzero(given.before == 0)[:1], np.ones(1, np.int64)
    batch = given.batch(rows, wanted)
    sizes = [len(levels.features[j]) for j in levels.free]
    all_levels = np.stack(np.meshgrid(*map(np.arange, sizes), indexing="ij"), -1).reshape(
        1, -1, len(sizes)
    )
    rewards = torch.from_numpy(given.rewards(batch, all_levels))[0]
    log_p, select = networks(batch)
    q = effective(log_p, select, batch.own)[0]
    chance = torch.stack([q[k][all_levels[0, :, k]] for k in range(len(sizes))]).prod(dim=0)
    parameters = list(networks.parameters())
    exact = torch.autograd.grad(-(chance * rewards).sum(), parameters)
    estimator = Reinforce(given, Settings(draws=20000))
    rng = torch.Generator().manual_seed(0)
    guess = torch.autograd.grad(estimator(networks, batch, rng), parameters)
    flat, other = (torch.cat([g.flatten() for g in each]) for each in (exact, guess))
    assert torch.dot(flat, other) / (flat.norm() * other.norm()) > 0.98
    assert abs(other.norm() / flat.norm() - 1) < 0.1


def test_relaxed_samples_reach_the_program_as_values() -> None:
    """At the corners of the relaxation the torch module sees what the evaluator sees."""
    given = material("network")
    name, gradient = gradient_of(given, Settings())
    assert name == "pathwise"
    assert isinstance(gradient, Pathwise)
    rows, wanted = np.arange(30), np.zeros(30, np.int64)
    batch = given.batch(rows, wanted)
    rng = np.random.default_rng(0)
    noise = np.where(batch.reach.numpy(), rng.random(batch.reach.shape), -1)
    chosen = noise.argmax(axis=2)
    hard = torch.nn.functional.one_hot(torch.from_numpy(chosen), noise.shape[2]).double()
    said = gradient.module(gradient._inputs(hard, batch))["probability"].numpy()
    assert np.allclose(np.log(said), given.log_chances(batch, chosen[:, None]), atol=1e-5)


def test_three_classes() -> None:
    X, model = loans(), compiled("boosting", 3)
    made = cfxc.Generator(model, **QUICK).fit(X)
    assert made.targets == (0, 1, 2)
    with pytest.raises(InvalidInputError, match="name the target"):
        made.generate(X.iloc[:5])
    for target in (0, 1, 2):
        rows = made.generate(X.iloc[:40], n=5, target=target)
        assert (model.predict(rows) == target).all()
    some = cfxc.Generator(model, **QUICK).fit(X, target=[0, 2])
    assert some.targets == (0, 2)
    with pytest.raises(InvalidInputError, match="not trained for target 1"):
        some.generate(X.iloc[:5], target=1)


def test_the_users_random_numbers_stay_theirs() -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    cfxc.Generator(compiled("linear"), **(QUICK | {"epochs": 1})).fit(loans())
    assert torch.equal(torch.get_rng_state(), before)

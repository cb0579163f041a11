"""Baselines of Table 2 of Vo et al. (2023), small and from the papers' texts alone.

CERTIFAI (Sharma et al. 2020), MCCE (Redelmeier et al. 2021), Feasible-VAE (Mahajan et al. 2019) and
COPA (Bui et al. 2022).  A method gives a hundred rows of each person, as many as it has.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeRegressor

from cfxc.methods.plans import Copa, copa_plan

from .l2c_data import Problem
from .l2c_metrics import Ruler, mean
from .l2c_runs import COUNT, Outcome
from .lime import surrogate
from .portable import Array
from .rejection import best_of

DRAWN = 2_000  # rows of a person, of methods that choose from many
GENERATIONS, MUTATED, CROSSED = 20, 0.2, 0.5  # of CERTIFAI
LEAF = 5  # rows of a leaf of MCCE's trees, at least
LATENT, UNITS, EPOCHS, BATCH = 10, 50, 200, 64  # of the variational autoencoder
VALID, HINGE = 42.0, 0.1  # its weight of validity, and by how much a probability is to pass 1/2
LINEAR = Copa(COUNT, 1.0, 10.0, 0.1, steps=200, starts=1)
NETWORK = Copa(COUNT, 0.1, 2.0, 0.1, steps=200, starts=1)
"""The most diverse settings of COPA's own tables: 1 on all data, and 4 on SBA."""
VARIANCE = 0.01  # of COPA's parameters


@dataclass(frozen=True, eq=False)
class Setting:
    """A problem, its black box, and the columns that this reads."""

    problem: Problem
    pipeline: Any

    @property
    def free(self) -> Array:
        """Features that may change."""
        return np.array([name not in self.problem.fixed for name in self.problem.X])

    def encode(self, rows: pd.DataFrame) -> Array:
        """Standardised numbers, one-hot labels."""
        return np.asarray(self.pipeline[0].transform(rows), np.float64)

    def decode(self, values: Array) -> pd.DataFrame:
        """Rows: the largest column of a category decides, whole numbers are rounded."""
        if not len(values):
            return self.problem.X.iloc[:0]
        (_, scaler, numbers), (_, hot, others) = self.pipeline[0].transformers_[:2]
        raw, columns, at = scaler.inverse_transform(values[:, : len(numbers)]), {}, len(numbers)
        for name, column in zip(numbers, raw.T, strict=True):
            whole = pd.api.types.is_integer_dtype(self.problem.X[name])
            columns[name] = (np.rint(column) if whole else column).astype(
                self.problem.X[name].dtype
            )
        for name, labels in zip(others, hot.categories_, strict=True):
            columns[name] = labels[values[:, at : at + len(labels)].argmax(axis=1)]
            at += len(labels)
        return pd.DataFrame(columns)[[*self.problem.X]]

    def flips(self, rows: pd.DataFrame, own: int) -> Array:
        """Which rows have another outcome than this."""
        return np.asarray(self.pipeline.predict(rows) != own)


class Drawn:
    """A method that draws rows, and keeps the nearest of those that flip, as its paper has it.

    ``chosen``: or those that ``diversity="harmonic"`` would choose, by the measure's own levels.
    """

    def __init__(self, setting: Setting, *, chosen: bool = False) -> None:
        self.setting, self.X, self.chosen = setting, setting.problem.X, chosen
        self.ruler = Ruler(setting.problem, setting.pipeline.predict)
        self.numbers = [*setting.problem.levels]
        self.scale = self.X[self.numbers].std(ddof=0).to_numpy(float)

    def rows(self, person: pd.DataFrame, own: int, rng: np.random.Generator) -> pd.DataFrame:
        """A hundred at most."""
        raise NotImplementedError

    def kept(self, person: pd.DataFrame, found: pd.DataFrame) -> pd.DataFrame:
        """A hundred of the distinct rows that flip, at most."""
        if not self.chosen:
            return self.nearest(person, found, COUNT)
        changes = (found.to_numpy(object) != person.to_numpy(object)).sum(axis=1)
        return found.iloc[best_of(found, changes.astype(np.int64), self.ruler)]

    def nearest(self, person: pd.DataFrame, found: pd.DataFrame, count: int) -> pd.DataFrame:
        """So many rows, the fewest changes first, then the least movement of numbers."""
        changes = (found.to_numpy(object) != person.to_numpy(object)).sum(axis=1)
        moved = np.abs(found[self.numbers].to_numpy(float) - person[self.numbers].to_numpy(float))
        order = np.lexsort(((moved / self.scale).sum(axis=1), changes))
        return found.iloc[order[:count]].reset_index(drop=True)


class Certifai(Drawn):
    """A genetic algorithm: flipped rows, the nearest survive, are mutated and crossed."""

    def rows(self, person: pd.DataFrame, own: int, rng: np.random.Generator) -> pd.DataFrame:
        X, free = self.X, np.flatnonzero(self.setting.free)
        found, size = person.iloc[:0], DRAWN // 4
        every = found
        parents = pd.concat([person] * size, ignore_index=True)
        for _ in range(GENERATIONS):
            bred = parents.iloc[rng.integers(0, len(parents), size)].reset_index(drop=True)
            other = parents.iloc[rng.integers(0, len(parents), size)].reset_index(drop=True)
            for j in free:
                name = X.columns[j]
                drawn = X[name].to_numpy()[rng.integers(0, len(X), size)]
                crossed = np.where(rng.random(size) < CROSSED, other[name], bred[name])
                kept = np.where(rng.random(size) < MUTATED, drawn, crossed)
                bred[name] = pd.Series(kept).astype(X[name].dtype)
            good = bred[self.setting.flips(bred, own)]
            found = pd.concat([found, good]).drop_duplicates(ignore_index=True)
            every = pd.concat([every, good]).drop_duplicates(ignore_index=True)
            if len(found):
                found = parents = self.nearest(person, found, size)
        return self.kept(person, every) if len(every) else every


class Mcce(Drawn):
    """Trees of each free feature given the fixed ones and those before; their leaves are drawn."""

    def __init__(self, setting: Setting, *, chosen: bool = False) -> None:
        super().__init__(setting, chosen=chosen)
        self.labels = {
            name: sorted(self.X[name].unique())
            for name in self.X if name not in setting.problem.levels
        }  # fmt: skip
        self.order = [*np.flatnonzero(~setting.free), *np.flatnonzero(setting.free)]
        values = self._codes(self.X)
        self.first, self.trees = int((~setting.free).sum()), []
        for place in range(self.first, len(self.order)):
            seen, target = values[:, self.order[:place]], values[:, self.order[place]]
            if not place:
                self.trees.append((None, {0: target}))
                continue
            tree = DecisionTreeRegressor(min_samples_leaf=LEAF, random_state=0).fit(seen, target)
            leaves = tree.apply(seen)
            self.trees.append((tree, {leaf: target[leaves == leaf] for leaf in set(leaves)}))

    def _codes(self, rows: pd.DataFrame) -> Array:
        return np.column_stack([
            [self.labels[name].index(one) if one in self.labels[name] else -1 for one in rows[name]]
            if name in self.labels else rows[name].to_numpy(float)
            for name in self.X
        ])  # fmt: skip

    def rows(self, person: pd.DataFrame, own: int, rng: np.random.Generator) -> pd.DataFrame:
        drawn = np.tile(self._codes(person), (DRAWN, 1))
        for place, (tree, values) in enumerate(self.trees, self.first):
            leaves = (
                np.zeros(DRAWN, int) if tree is None else tree.apply(drawn[:, self.order[:place]])
            )
            for leaf in np.unique(leaves):
                at = np.flatnonzero(leaves == leaf)
                drawn[at, self.order[place]] = rng.choice(values[leaf], len(at))
        columns = {}
        for j, name in enumerate(self.X):
            if name in self.setting.problem.fixed:
                columns[name] = np.repeat(person[name].to_numpy(), DRAWN)
            elif name in self.labels:
                columns[name] = np.array(self.labels[name], object)[drawn[:, j].astype(int)]
            else:
                columns[name] = drawn[:, j]
        found = pd.DataFrame(columns).astype(self.X.dtypes)
        found = found[self.setting.flips(found, own)].drop_duplicates(ignore_index=True)
        return self.kept(person, found) if len(found) else found


class FeasibleVae:
    """A variational autoencoder whose decoder is told the class, and the black box as a critic.

    It knows of no fixed features, as the paper says of it.
    """

    def __init__(self, setting: Setting, seed: int = 0) -> None:
        import torch

        torch.manual_seed(seed)
        self.setting, self.torch = setting, torch
        X = torch.tensor(setting.encode(setting.problem.X), dtype=torch.float32)
        width, self.numbers = X.shape[1], len(setting.problem.levels)
        linear, relu = torch.nn.Linear, torch.nn.ReLU
        self.encoder = torch.nn.Sequential(
            linear(width + 1, UNITS), relu(), linear(UNITS, 2 * LATENT)
        )
        self.decoder = torch.nn.Sequential(linear(LATENT + 1, UNITS), relu(), linear(UNITS, width))
        black_box = differentiable(torch, setting.pipeline[-1])
        own = torch.tensor(setting.pipeline.predict(setting.problem.X), dtype=torch.float32)
        weights = [*self.encoder.parameters(), *self.decoder.parameters()]
        optimiser = torch.optim.Adam(weights, lr=1e-3)
        for _ in range(EPOCHS):
            for at in torch.randperm(len(X)).split(BATCH):
                wanted = 1 - own[at, None]
                made, mean_, log_var = self._pass(X[at], wanted)
                toward = black_box(made) * (2 * wanted - 1)  # a logit: positive where valid
                need = np.log((0.5 + HINGE) / (0.5 - HINGE))
                loss = (
                    (made - X[at]).abs().sum(1).mean()
                    + VALID * torch.relu(need - toward).mean()
                    - 0.5 * (1 + log_var - mean_**2 - log_var.exp()).sum(1).mean()
                )
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()

    def _pass(self, x: Any, wanted: Any) -> Any:
        torch = self.torch
        mean_, log_var = self.encoder(torch.cat([x, wanted], 1)).chunk(2, 1)
        z = mean_ + torch.randn_like(mean_) * (0.5 * log_var).exp()
        out = self.decoder(torch.cat([z, wanted], 1))
        made = torch.cat([out[:, : self.numbers], torch.sigmoid(out[:, self.numbers :])], 1)
        return made, mean_, log_var

    def outputs(self, person: pd.DataFrame, own: int) -> Array:
        """What the decoder says, before categories are one-hot."""
        torch = self.torch
        x = torch.tensor(self.setting.encode(person), dtype=torch.float32).repeat(COUNT, 1)
        with torch.no_grad():
            made, *_ = self._pass(x, torch.full((COUNT, 1), 1.0 - own))
        return np.asarray(made, np.float64)


class CopaPlans:
    """A plan of a hundred rows that a linear model accepts; of networks their LIME surrogate."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        X = setting.encode(setting.problem.X)
        self.data = np.column_stack([X, np.ones(len(X))])
        self.low, self.high = self.data.min(axis=0), self.data.max(axis=0)
        (_, _, numbers), (_, hot, others) = setting.pipeline[0].transformers_[:2]
        owners = [*numbers, *(
            name for name, labels in zip(others, hot.categories_, strict=True) for _ in labels
        )]  # fmt: skip
        fixed = setting.problem.fixed
        self.fixed = [j for j, name in enumerate(owners) if name in fixed] + [len(owners)]

    def outputs(self, person: pd.DataFrame, own: int) -> Array:
        """The plan, before categories are one-hot; empty where no vector suffices."""
        last = self.setting.pipeline[-1]
        x = np.append(self.setting.encode(person)[0], 1.0)
        if hasattr(last, "coef_"):
            theta, setting = np.append(last.coef_[0], last.intercept_[0]), LINEAR
        else:
            theta, setting = surrogate(last, x, self.data, 0), NETWORK
        theta = theta * (1 - 2 * own) / np.linalg.norm(theta)
        low, high = np.minimum(self.low, x), np.maximum(self.high, x)
        low[self.fixed] = high[self.fixed] = x[self.fixed]
        if np.maximum(theta * low, theta * high).sum() < setting.epsilon:
            return np.empty((0, len(x) - 1))
        spread = VARIANCE * np.eye(len(x))
        plan = copa_plan(x, theta, spread, setting, lower=low, upper=high, fixed=self.fixed)
        return np.asarray(plan)[:, :-1]


def differentiable(torch: Any, last: Any) -> Callable[[Any], Any]:
    """The logit of a logistic regression or a network of scikit-learn, in torch."""
    pairs = (
        [(last.coef_.T, last.intercept_)] if hasattr(last, "coef_") and last.coef_ is not None
        and not hasattr(last, "coefs_") else [*zip(last.coefs_, last.intercepts_, strict=True)]
    )  # fmt: skip
    layers = [tuple(torch.tensor(np.asarray(one), dtype=torch.float32) for one in p) for p in pairs]

    def logit(x: Any) -> Any:
        for number, (weights, bias) in enumerate(layers):
            x = x @ weights + bias
            x = x if number == len(layers) - 1 else torch.relu(x)
        return x

    return logit


RIVALS: dict[str, Callable[[Setting], Any]] = {
    "CERTIFAI": Certifai, "CERTIFAI, chosen": partial(Certifai, chosen=True),
    "MCCE": Mcce, "MCCE, chosen": partial(Mcce, chosen=True),
    "Feasible-VAE": FeasibleVae, "COPA": CopaPlans,
}  # fmt: skip


@dataclass(frozen=True)
class Reply:
    """A method's run.

    Attributes:
        raw: Validity and coverage of its output as it is, before categories are one-hot; ``None``
            where there is no such output.
    """

    outcome: Outcome
    raw: tuple[float, float] | None


def rival(who: str, problem: Problem, pipeline: Any, rows: pd.DataFrame) -> Reply:
    """A hundred rows of each person by one of these methods."""
    started = time.perf_counter()
    setting = Setting(problem, pipeline)
    method = RIVALS[who](setting)
    training, started = time.perf_counter() - started, time.perf_counter()
    own, rng = pipeline.predict(rows), np.random.default_rng(0)
    sets, flips = list[pd.DataFrame](), list[Array]()
    for i in range(len(rows)):
        person, outcome = rows.iloc[[i]], int(own[i])
        if isinstance(method, Drawn):
            sets.append(method.rows(person, outcome, rng))
            continue
        made = method.outputs(person, outcome)
        flips.append(pipeline[-1].predict(made) != outcome if len(made) else np.zeros(1, bool))
        sets.append(setting.decode(made))
    spent = time.perf_counter() - started
    measures = mean(Ruler(problem, pipeline.predict).people(rows, sets))
    raw = None
    if flips:
        raw = (
            float(np.mean([one.mean() for one in flips])),
            float(np.mean([one.any() for one in flips])),
        )
    return Reply(Outcome(measures, len(rows), spent, training), raw)


__all__ = ["RIVALS", "Reply", "rival"]

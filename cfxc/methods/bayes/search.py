"""The search: evaluate where EI-CFX is largest, until the potential is as good as it gets.

One surrogate of f, not of ρ∘f, serves all questions: each proposes in turn, and every evaluation is
shared, so that what is learned for one shortens the others (§3 of the paper).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp
from typing import Any, Literal

import numpy as np
import pandas as pd
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

from ...arrays import Bools, Floats
from ...errors import InvalidInputError
from ...question.checks import one_of, positive_number, whole_number
from ...solvers.base import Point
from ...space import FeatureSpace
from ...stopping import INTERRUPTED, LIMIT, Span
from .acquisition import log_ei_cfx
from .evaluations import Caller
from .task import Task

Kernel = Literal["rbf", "matern"]
LEAST_NOISE = 1e-6  # variance of the noise, of standardised outputs
# Its log-normal prior: of models whose outputs are noise, have ripples or steps, or are smooth.
LOUD, RIPPLED, SMOOTH = (-4.0, 1.0), (-6.0, 2.0), (-13.0, 1.0)
EACH = 1.15  # hyperparameters are fitted anew when there are so many times more rows
STEPS = 30  # of L-BFGS for a fit that starts from the one before
FIRST = 100  # of the first fit
DRAWN, NEAR = 384, 256  # rows looked at first: anywhere, and around the best
ROUNDS, KEPT, MOVES = 5, 6, 240  # of moving the best of them
LEAST_ROWS = 4  # from which on a noisy model's surrogate is believed
HOPELESS = 10  # failures in a row
PROPOSALS = 5  # until one is admissible exactly
INITIAL, MOST_INITIAL = 4, 12  # random rows: so many and one for each free feature, at most
BEST = 5  # evaluated rows around which is looked
ENDLESS = Span(float("inf"))
torch.broadcast_shapes((1,), (1,))  # loads sympy once, which no limit of a search should pay for
Watch = Callable[[int, float], None]
Propose = Callable[["Search", "Task"], Floats | None]


class Surrogate:
    """A Gaussian process with a length scale per input, fitted by maximum a posteriori.

    Length scales have the log-normal prior of Hvarfner et al. 2024, whose mode grows with √d.  What
    varies on shorter scales than the data tell, steps and ripples, goes into the noise.  Whether a
    model without noise has any is not known beforehand: two priors are fitted, and the marginal
    likelihood chooses.
    """

    def __init__(
        self, space: FeatureSpace, kernel: Kernel = "matern", *, noisy: bool = False
    ) -> None:
        self.space, self.kernel = space, kernel
        self.model: Any = None
        priors = [LOUD] if noisy else [SMOOTH, RIPPLED]
        self._models: dict[tuple[float, float], Any] = dict.fromkeys(priors)
        self._chosen, self._fitted = priors[0], 0

    def update(self, rows: Floats, y: Floats, span: Span = ENDLESS) -> None:
        """Condition on rows (n, J) and their outputs (n,); fit if there are many more.

        A fit is broken off where the span ends.
        """
        X = inputs_of(self.space, rows)
        fit = len(y) >= EACH * self._fitted or len(y) - self._fitted > 25
        for prior, before in self._models.items():
            model = self._models[prior] = self._make(X, y, prior)
            if before is not None:
                kept = before.state_dict().items()
                own = {k: v for k, v in kept if not k.startswith("outcome_transform")}
                model.load_state_dict(own, strict=False)
            if fit:
                _fit(model, STEPS if self._fitted else FIRST, span.left)
        if fit:
            self._fitted = len(y)
            self._chosen = max(self._models, key=lambda prior: _evidence(self._models[prior]))
        self.model = self._models[self._chosen]
        self.model.eval()

    def predict(self, rows: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation of f at rows (m, J), each (m,)."""
        X = torch.from_numpy(inputs_of(self.space, rows))
        with warnings.catch_warnings(action="ignore"):  # of variances rounded up to 0
            posterior = self.model.posterior(X)
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
            noise_constraint=GreaterThan(LEAST_NOISE, transform=None, initial_value=exp(loc)),
        ).double()
        with warnings.catch_warnings(action="ignore"):  # of constant outputs: no deviation
            return SingleTaskGP(
                inputs, outputs, likelihood=noise, covar_module=kernel.double(),
                outcome_transform=Standardize(m=1),
            )  # fmt: skip


def inputs_of(space: FeatureSpace, rows: Floats) -> Floats:
    """Rows (n, J) of numbers and codes as the surrogate takes them, (n, d).

    In [0, 1], a category of more than two labels one-hot.
    """
    columns = []
    for column, feature in zip(rows.T[..., None], space, strict=True):
        if feature.kind == "categorical" and len(feature.labels) > 2:
            columns.append(np.equal(column, np.arange(len(feature.labels))).astype(np.float64))
        elif feature.is_symbolic:
            columns.append(column / max(len(feature.labels) - 1, 1))
        else:
            lower, size = float(feature.bounds[0]), float(feature.range) or 1.0
            columns.append((column - lower) / size)
    return np.hstack(columns)


def _fit(model: Any, steps: int, seconds: float) -> None:
    """Fit; what cannot be fitted (constant outputs, no time) keeps what it has."""
    if not seconds:
        return
    before = {key: value.clone() for key, value in model.state_dict().items()}
    objective = ExactMarginalLogLikelihood(model.likelihood, model)
    with warnings.catch_warnings(action="ignore"):  # the limit on steps is meant
        try:
            limits = {"options": {"maxiter": steps}, "timeout_sec": seconds}
            fit_gpytorch_mll(objective, optimizer_kwargs=limits)
        except ModelFittingError:
            model.load_state_dict(before)


def _evidence(model: Any) -> float:
    """The log marginal likelihood, with the prior of the length scales, not that of the noise."""
    model.train()
    with torch.no_grad(), warnings.catch_warnings(action="ignore"):  # of jitter
        data = model.likelihood(model(*model.train_inputs)).log_prob(model.train_targets)
        kernel = model.covar_module
        scales = kernel.lengthscale_prior.log_prob(kernel.lengthscale).sum()
    return float(data + scales)


@dataclass
class Settings:
    """How a search goes: what :meth:`cfxc.BlackBox.explain_all` says of each option.

    Raises:
        DataTypeError, InvalidInputError: naming an option that is no such number, or no kernel.
    """

    budget: int
    initial: int | None = None
    batch: int = 1
    kernel: Kernel = "matern"
    noisy: bool = False
    random_state: int = 0
    time_limit: float = float("inf")
    progress: Watch | None = None

    def __post_init__(self) -> None:
        whole_number(self.budget, "budget", 1)
        whole_number(0 if self.initial is None else self.initial, "initial", 0)
        whole_number(self.batch, "batch", 1)
        one_of("matern", "rbf")(self.kernel, "kernel")
        whole_number(self.random_state, "random_state", 0)
        positive_number(self.time_limit, "time_limit")

    def design(self, tasks: Sequence[Task], known: int) -> int:
        """How many evaluations come before the surrogate: factuals and random rows.

        ``known``: evaluations from before.

        Raises:
            InvalidInputError: more than the budget.
        """
        count, own = len(tasks), self.initial
        rows = f"row{'s' * (count > 1)} to explain"
        if own is not None and self.budget < count + own:
            raise InvalidInputError(
                f"a budget of {self.budget} is less than {count} for the {rows} and {own} for the "
                "initial design; raise budget or lower initial"
            )
        if own is not None:
            return count + own
        if self.budget <= count:
            raise InvalidInputError(
                f"a budget of {self.budget} is used up by the {rows}; give at least {count + 1}"
            )
        if known > MOST_INITIAL:
            return count
        free = max(task.region.free.size for task in tasks)
        return min(count + min(INITIAL + free, MOST_INITIAL), self.budget)


class Search:
    """Questions about one model, answered together.

    Attributes:
        reason: Why it ended before all were answered.
        beyond: Evaluations of rows from proofs, which no budget holds.
    """

    def __init__(
        self, caller: Caller, tasks: Sequence[Task], settings: Settings,
        propose: Propose | None = None,
    ) -> None:  # fmt: skip
        self.caller, self.tasks, self.settings = caller, list(tasks), settings
        self.propose = by_improvement if propose is None else propose
        self.rng = np.random.default_rng(settings.random_state)
        self.surrogate = Surrogate(caller.space, settings.kernel, noisy=settings.noisy)
        self.design = settings.design(self.tasks, len(caller.data))
        self.span = Span(settings.time_limit)
        self.reason, self.beyond = "", 0
        self._pending: list[Floats] = []
        self._stale = True

    def run(self) -> None:
        """Evaluate the factuals, some random rows, and then where improvement is expected.

        On one thread: matrices are small, and threads that wait for each other spin.
        """
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            self._open()
            self._spread()
            while (tasks := self.open_tasks()) and not self._ended():
                task = min(tasks, key=lambda one: one.turns)
                task.turns += 1
                self._step(task)
        except KeyboardInterrupt:
            self.reason = INTERRUPTED
        finally:
            torch.set_num_threads(threads)

    def _ended(self) -> bool:
        caller = self.caller
        if caller.calls >= self.settings.budget:
            self.reason = "budget"
        elif caller.in_a_row >= HOPELESS:
            why = caller.data.failures[len(caller.data) - 1]
            self.reason = f"the model failed on {HOPELESS} rows in a row: {why}"
        elif not self.span.left:
            self.reason = LIMIT
        return bool(self.reason)

    def _open(self) -> None:
        """The factuals' own outputs, and what is known from before."""
        for task in self.tasks:
            task.begin(self.caller.factual(task.region.rules.factual, task.frame))
        for point, output in zip(self.caller.data.points, self.outputs, strict=True):
            self._show(point, float(output))
        self._record()

    def _spread(self) -> None:
        """The initial design: random admissible rows, those of the questions in turn."""
        missing = self.design - self.caller.calls
        waiting = [list(task.region.spread(max(missing, 1), self.rng)) for task in self.tasks]
        while missing > 0 and any(waiting) and self.open_tasks() and self.span.left:
            for task, rows in zip(self.tasks, waiting, strict=True):
                row = rows.pop() if rows and missing > 0 else None
                if row is not None and task.region.holds(task.region.point(row)):
                    missing -= 1
                    self.evaluate(task, [row])

    def open_tasks(self) -> list[Task]:
        """The questions that are neither answered nor given up."""
        return [task for task in self.tasks if not task.reached and not task.exhausted]

    def _step(self, task: Task) -> None:
        """A batch of proposals for one question, evaluated."""
        for _ in range(min(self.settings.batch, self.settings.budget - self.caller.calls)):
            row = self._proposal(task)
            if row is None:
                break
            self._pending.append(row)
        rows, self._pending = self._pending, []
        if rows:
            self.evaluate(task, rows)
        else:
            task.exhausted = True
            self.reason = "" if self.open_tasks() else "no other admissible row was found"

    def _proposal(self, task: Task) -> Floats | None:
        """The first of a few proposals that is admissible, exactly."""
        for _ in range(PROPOSALS):
            row = self.propose(self, task)
            if row is None or task.region.holds(task.region.point(row)):
                return row
        return None

    def evaluate(self, task: Task, rows: Sequence[Floats]) -> Floats:
        """Outputs (n,) on admissible rows of one question; NaN where there is none."""
        points = [task.region.point(row) for row in rows]
        before = self.caller.calls
        like = self.caller.space.rows_like(task.frame)
        outputs = self.caller.outputs(points, [like.decode(point) for point in points])
        for point, output in zip(points, outputs.tolist(), strict=True):
            self._show(point, output, task)
        self._stale = True
        if self.settings.noisy:
            self._denoise()
        self._record(self.caller.calls - before)
        return outputs

    def learn(self, task: Task, point: Point, row: pd.DataFrame) -> None:
        """Evaluate a row that an exact engine gives for a question."""
        before, best = self.caller.calls, task.best
        self._show(point, float(self.caller.outputs([point], [row])[0]), task)
        task.by_proof = task.by_proof or task.best > best
        self.beyond += self.caller.calls - before
        self._record(self.caller.calls - before)

    def _show(self, point: Point, output: float, proposer: Task | None = None) -> None:
        for task in self.tasks:
            if task is proposer or task.region.holds(point):
                task.see(point, output)

    def _record(self, times: int = 1) -> None:
        for task in self.tasks:
            task.trace += [task.best] * times
        if self.settings.progress is not None:
            worst = min(task.best / task.peak for task in self.tasks)
            self.settings.progress(self.caller.calls, worst)

    def _denoise(self) -> None:
        """Of a noisy model: the surrogate's means of all rows, instead of their outputs."""
        for task in self.tasks:
            if len(self.caller.data) < LEAST_ROWS or not self.condition(task):
                return
            means, _ = self.surrogate.predict(self.rows)
            task.center = float(self.surrogate.predict(task.region.start[None])[0][0])
            task.best, task.point, task.output = 0.0, None, float("nan")
            for i in np.flatnonzero(self._usable(task)).tolist():
                task.see(self.caller.data.points[i], float(means[i]))

    # -- what proposals need ----------------------------------------------------------------------

    @property
    def rows(self) -> Floats:
        """All evaluated rows, (n, J); codes and numbers are the same for all questions."""
        row = self.tasks[0].region.row
        return np.array([row(point) for point in self.caller.data.points])

    @property
    def outputs(self) -> Floats:
        """Their outputs, (n,); NaN where there is none."""
        return np.array(self.caller.data.outputs)

    def _usable(self, task: Task) -> Bools:
        """Which evaluated rows have an output and are admissible for a question."""
        usable: Bools = np.isfinite(self.outputs) & task.region.admits(self.rows)
        return usable

    def condition(self, task: Task) -> bool:
        """Bring the surrogate up to date; whether there is anything to learn from.

        Rows without an output are taken to have the factual's, which is no improvement.
        """
        y = self.outputs
        if np.isfinite(y).sum() < 2:
            return False
        rows, y = self.rows, np.where(np.isfinite(y), y, task.center)
        if self._pending:  # rows that are waiting are believed to be as predicted
            extra = np.array(self._pending)
            rows, y = np.vstack([rows, extra]), np.append(y, self.surrogate.predict(extra)[0])
        if self._stale or self._pending:
            self.surrogate.update(rows, y, self.span)
            self._stale = bool(self._pending)
        return True

    def candidates(self, task: Task) -> Floats:
        """Admissible rows to start from: anywhere, and around the best ones and the factual."""
        region, usable = task.region, self._usable(task)
        ranking = np.full(usable.size, -np.inf)
        ranking[usable] = task.potential(self.outputs[usable], task.center)
        best = np.argsort(-ranking)[: min(BEST, usable.sum())]
        near = np.vstack([self.rows[best], region.start])
        return np.vstack([region.sample(DRAWN, self.rng), region.around(near, NEAR, self.rng)])

    def new(self, rows: Floats) -> Floats:
        """The rows that were not evaluated yet."""
        known = {row.tobytes() for row in [*self.rows, *self._pending]}
        return rows[[row.tobytes() not in known for row in np.ascontiguousarray(rows)]]

    def climb(self, task: Task, rows: Floats, judge: Callable[[Floats], Floats]) -> Floats | None:
        """The best new row found by moving the best of these, as ``judge`` sees them."""
        rows = self.new(rows)
        if not len(rows):
            return None
        worth = judge(rows)
        for _ in range(ROUNDS):
            top = rows[np.argsort(-worth)[:KEPT]]
            moved = self.new(task.region.around(top, MOVES, self.rng))
            if not len(moved) or not self.span.left:
                break
            rows, worth = np.vstack([rows, moved]), np.concatenate([worth, judge(moved)])
        return np.asarray(rows[int(np.argmax(worth))])


def by_improvement(search: Search, task: Task) -> Floats | None:
    """Where EI-CFX is largest: of new admissible rows, by random search and local moves.

    Added up over all open questions that admit a row, each in shares of its largest potential.
    """
    rows = search.candidates(task)
    if not search.condition(task):
        fresh = search.new(rows)
        return fresh[0] if len(fresh) else None

    def judge(some: Floats) -> Floats:
        mean, std = search.surrogate.predict(some)
        worth = np.full(len(some), -np.inf)
        for each in search.open_tasks():
            own = log_ei_cfx(mean, std, each.best, each.potential, each.center)
            own = own - np.log(each.peak)
            if each is not task:
                own = np.where(each.region.admits(some), own, -np.inf)
            worth = np.logaddexp(worth, own)
        return worth

    return search.climb(task, rows, judge)

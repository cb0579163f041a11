"""The search: evaluate where EI-CFX is largest, until the potential is as good as it gets.

One surrogate of f serves all questions: each proposes in turn, and every evaluation is shared, so
that what is learned for one shortens the others (§3 of the paper).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import torch

from ...arrays import Bools, Floats
from ...errors import InvalidInputError
from ...question.checks import one_of, positive_number, whole_number
from ...solvers.base import Point
from ...stopping import INTERRUPTED, LIMIT, Span
from .acquisition import log_ei_cfx
from .evaluations import Caller
from .potentials import Potential
from .region import Region
from .surrogate import Kernel, Surrogate, inputs_of

DRAWN, NEAR = 384, 256  # rows looked at first: anywhere, and around the best
ROUNDS, KEPT, MOVES = 5, 6, 240  # of moving the best of them
LEAST_ROWS = 4  # from which on a noisy model's surrogate is believed
HOPELESS = 10  # failures in a row
PROPOSALS = 5  # until one is admissible exactly
INITIAL, MOST_INITIAL = 4, 12  # random rows: so many and one for each free feature, at most
BEST = 5  # evaluated rows around which is looked
Watch = Callable[[int, float], None]
Propose = Callable[["Search", "Task"], Floats | None]


@dataclass
class Task:
    """One question: a factual q, the target of its output, and what was found so far.

    Attributes:
        epsilon: By what share of the largest potential an answer may be worse.
        center: f(q).
        peak: The largest value of the potential there.
        best, point, output: The best potential so far, of which row and output.
        trace: The best potential after each evaluation of the run, first that of the factual.
        turns: How many proposals were its own.
        exhausted: Whether no other admissible row was found to propose.
        by_proof: Whether the best row is an exact engine's.
    """

    frame: pd.DataFrame
    region: Region
    potential: Potential
    epsilon: float
    center: float = float("nan")
    peak: float = float("nan")
    best: float = 0.0
    point: Point | None = None
    output: float = float("nan")
    trace: list[float] = field(default_factory=list)
    turns: int = 0
    exhausted: bool = False
    by_proof: bool = False

    @property
    def goal(self) -> float:
        """The potential at which it is answered."""
        return (1 - self.epsilon) * self.peak

    @property
    def reached(self) -> bool:
        """Whether the potential is within the tolerance of its largest."""
        return self.best >= self.goal

    def begin(self, center: float) -> None:
        """Set f(q).

        Raises:
            InvalidInputError: the potential is at its largest there.
        """
        self.center, self.peak = center, self.potential.peak(center)
        if float(self.potential(center, center)) >= self.goal > 0:
            raise InvalidInputError(
                f"{self.potential} is at its largest at the factual's own output {center:g}: "
                "it asks for no change"
            )

    def see(self, point: Point, output: float) -> None:
        """Take an admissible row into account, if it is better."""
        value = float(self.potential(output, self.center)) if np.isfinite(output) else 0.0
        if value > self.best:
            self.best, self.point, self.output = value, dict(point), output


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
        whole_number(self.batch, "batch", 1)
        one_of("matern", "rbf")(self.kernel, "kernel")
        whole_number(self.random_state, "random_state", 0)
        positive_number(self.time_limit, "time_limit")
        if self.initial is not None:
            whole_number(self.initial, "initial", 0)

    def design(self, tasks: Sequence[Task], known: int) -> int:
        """How many evaluations come before the surrogate: factuals and random rows.

        ``known``: evaluations from before.

        Raises:
            InvalidInputError: more than the budget.
        """
        rows = f"row{'s' * (len(tasks) > 1)} to explain"
        if self.initial is not None:
            if self.budget < len(tasks) + self.initial:
                raise InvalidInputError(
                    f"a budget of {self.budget} is less than {len(tasks)} for the {rows} and "
                    f"{self.initial} for the initial design; raise budget or lower initial"
                )
            return len(tasks) + self.initial
        if self.budget < len(tasks) + 1:
            raise InvalidInputError(
                f"a budget of {self.budget} is used up by the {rows}; "
                f"give at least {len(tasks) + 1}"
            )
        if known > MOST_INITIAL:
            return len(tasks)
        free = max(task.region.free.size for task in tasks)
        return min(len(tasks) + min(INITIAL + free, MOST_INITIAL), self.budget)


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
        self.surrogate = Surrogate(settings.kernel, noisy=settings.noisy)
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
        while missing > 0 and any(waiting) and self.open_tasks():
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
            means = self.surrogate.predict(inputs_of(self.caller.space, self.rows))[0]
            own = inputs_of(self.caller.space, task.region.start[None])
            task.center = float(self.surrogate.predict(own)[0][0])
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
        X, y = inputs_of(self.caller.space, self.rows), np.where(np.isfinite(y), y, task.center)
        if self._pending:  # rows that are waiting are believed to be as predicted
            extra = inputs_of(self.caller.space, np.array(self._pending))
            X, y = np.vstack([X, extra]), np.concatenate([y, self.surrogate.predict(extra)[0]])
        if self._stale or self._pending:
            self.surrogate.update(X, y)
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
            if not len(moved):
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
        mean, std = search.surrogate.predict(inputs_of(search.caller.space, some))
        worth = np.full(len(some), -np.inf)
        for each in search.open_tasks():
            own = log_ei_cfx(mean, std, each.best, each.potential, each.center)
            own = own - np.log(each.peak)
            if each is not task:
                own = np.where(each.region.admits(some), own, -np.inf)
            worth = np.logaddexp(worth, own)
        return worth

    return search.climb(task, rows, judge)


__all__ = ["Search", "Settings", "Task", "by_improvement"]

"""The search: evaluate where EI-CFX is largest, until the potential is as good as it gets.

One surrogate of f serves all questions: each proposes in turn, and every evaluation is shared, so
that what is learned for one shortens the others (§3 of the paper).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch

from ...arrays import Floats
from ...errors import InvalidInputError
from ...question.rules import Rules
from ...solvers.base import Point
from .acquisition import log_ei_cfx
from .model import Caller
from .potentials import Potential
from .region import Inputs, Region
from .surrogate import Kernel, Surrogate

DRAWN, NEAR = 384, 256  # rows looked at first: anywhere, and around the best
ROUNDS, KEPT, MOVES = 5, 6, 240  # of moving the best of them
LEAST_ROWS = 4  # from which on a noisy model's surrogate is believed
HOPELESS = 10  # failures in a row
PROPOSALS = 5  # until one is admissible exactly
BEST = 5  # evaluated rows around which is looked
Propose = Callable[["Search", "Task"], Floats | None]


@dataclass
class Task:
    """One question: whose row, the target of the output, and what was found so far.

    Attributes:
        center: f(q).
        peak: The largest value of the potential there.
        trace: The best potential after each evaluation of the run, first that of the query.
        by_proof: Whether the best row is an exact engine's.
    """

    frame: pd.DataFrame
    region: Region
    potential: Potential
    goal: float
    center: float = float("nan")
    peak: float = float("nan")
    best: float = 0.0
    point: Point | None = None
    output: float = float("nan")
    trace: list[float] = field(default_factory=list)
    taken: int = 0
    by_proof: bool = False

    @property
    def reached(self) -> bool:
        """Whether the potential is within the tolerance of its largest."""
        return self.best >= self.goal

    def see(self, point: Point, output: float) -> None:
        """Take an evaluated row into account, if it is admissible and better."""
        if not np.isfinite(output):
            return
        value = float(self.potential(output, self.center))
        if value > self.best:
            self.best, self.point, self.output = value, dict(point), output


@dataclass
class Settings:
    """How a search goes.

    Attributes:
        budget: Rows that the model may be asked about, those of the queries included.
        initial: How many of them are drawn at random before the surrogate is asked.
        batch: How many rows are proposed at a time.
    """

    budget: int
    initial: int
    batch: int = 1
    kernel: Kernel = "matern"
    noisy: bool = False
    random_state: int = 0
    seconds: float = float("inf")
    progress: Callable[[int, float], None] | None = None


class Search:
    """Questions about one model, answered together."""

    def __init__(
        self, caller: Caller, tasks: Sequence[Task], settings: Settings,
        propose: Propose | None = None,
    ) -> None:  # fmt: skip
        self.caller, self.tasks, self.settings = caller, list(tasks), settings
        self.rng = np.random.default_rng(settings.random_state)
        self.inputs = Inputs(caller.space)
        self.surrogate = Surrogate(settings.kernel, noisy=settings.noisy)
        self.propose = propose or by_improvement
        self.reason = ""
        self.beyond = 0  # calls for rows of proofs, which no budget holds
        self.pending: list[Floats] = []
        self._stale = True

    def run(self) -> None:
        """Ask about the queries, some random rows, and then where improvement is expected.

        On one thread: matrices are small, and threads that wait for each other spin.
        """
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            self._open()
            self._go_on(time.monotonic() + self.settings.seconds)
        except KeyboardInterrupt:
            self.reason = "interrupted"
        finally:
            torch.set_num_threads(threads)

    def _go_on(self, deadline: float) -> None:
        self._spread()
        while open_tasks := self.open_tasks():
            if self.caller.calls >= self.settings.budget:
                self.reason = "budget"
                break
            if self.caller.in_a_row >= HOPELESS:
                why = self.caller.data.failures[len(self.caller.data) - 1]
                self.reason = f"the model failed on {HOPELESS} rows in a row: {why}"
                break
            if time.monotonic() > deadline:
                self.reason = "time limit"
                break
            task = min(open_tasks, key=lambda one: one.taken)
            task.taken += 1
            if not self._step(task):
                break

    def _open(self) -> None:
        """The queries' own outputs, and what is known from before."""
        for task in self.tasks:
            factual = task.region.rules.factual
            output = float(self.caller.ask([factual], [task.frame])[0])
            if not np.isfinite(output):
                why = self.caller.failure(factual)
                raise InvalidInputError(f"the model gives no number for the row to explain: {why}")
            task.center = output
            task.peak = task.potential.peak(output)
            task.goal *= task.peak
            start = float(task.potential(output, output))
            if start >= task.goal > 0:
                raise InvalidInputError(
                    f"{task.potential} is at its largest at the query's own output {output:g}: "
                    "it asks for no change"
                )
        for task in self.tasks:
            for point, output in self._admissible(task):
                task.see(point, output)
        self._record()

    def _spread(self) -> None:
        """The initial design: random admissible rows, those of the questions in turn."""
        wanted = min(self.settings.initial, self.settings.budget) - self.caller.calls
        waiting = [list(task.region.spread(max(wanted, 1), self.rng)) for task in self.tasks]
        while wanted > 0 and any(waiting) and self.open_tasks():
            for task, rows in zip(self.tasks, waiting, strict=True):
                row = rows.pop() if rows and wanted > 0 else None
                if row is not None and self._is_admissible(task, row):
                    wanted -= 1
                    self.evaluate(task, [row])

    def _denoise(self) -> None:
        """Of a noisy model: what the surrogate believes of the rows, instead of what it said."""
        for task in self.tasks:
            if len(self.caller.data) < LEAST_ROWS or not self.condition(task):
                return
            rows = self.rows(task.region)
            means = self.surrogate.predict(self.inputs(rows))[0].detach().numpy()
            own = self.inputs(task.region.start[None])
            task.center = float(self.surrogate.predict(own)[0].detach()[0])
            task.best, task.point, task.output = 0.0, None, float("nan")
            good = np.isfinite(self.caller.data.outputs) & self.admitted(task)
            for i in np.flatnonzero(good).tolist():
                task.see(self.caller.data.points[i], float(means[i]))

    def open_tasks(self) -> list[Task]:
        """The questions that are neither answered nor given up."""
        return [task for task in self.tasks if not task.reached and task.taken >= 0]

    def _step(self, task: Task) -> bool:
        """One proposal of one question, evaluated; whether there was one."""
        self.pending, rows = [], list[Floats]()
        left = self.settings.budget - self.caller.calls
        for _ in range(min(self.settings.batch, left)):
            row = self._proposal(task)
            if row is None:
                break
            rows.append(row)
            self.pending.append(row)
        self.pending = []
        if not rows:
            task.taken = -1
            left_open = self.open_tasks()
            self.reason = "" if left_open else "no other admissible row was found"
            return bool(left_open)
        self.evaluate(task, rows)
        return True

    def learn(self, task: Task, point: Point, row: pd.DataFrame) -> None:
        """Ask the model about a row that another search proposes for a question."""
        before = self.caller.calls
        self._show(task, point, float(self.caller.ask([point], [row])[0]))
        self.beyond += self.caller.calls - before
        self._record(self.caller.calls - before)

    def _proposal(self, task: Task) -> Floats | None:
        """The first of a few proposals that is admissible, exactly."""
        for _ in range(PROPOSALS):
            row = self.propose(self, task)
            if row is None or self._is_admissible(task, row):
                return row
        return None

    def evaluate(self, task: Task, rows: list[Floats]) -> Floats:
        """Ask the model about admissible rows of one question; their outputs, NaN without one."""
        points = [task.region.point(row) for row in rows]
        before = self.caller.calls
        like = self.caller.space.rows_like(task.frame)
        outputs = self.caller.ask(points, [like.decode(point) for point in points])
        for point, output in zip(points, outputs.tolist(), strict=True):
            self._show(task, point, output)
        self._stale = True
        if self.settings.noisy:
            self._denoise()
        self._record(self.caller.calls - before)
        return outputs

    def _is_admissible(self, task: Task, row: Floats) -> bool:
        """Exactly; what doubles take for admissible may miss a constraint by a rounding."""
        return not task.region.rules.violated(task.region.point(row))

    def _show(self, asked: Task, point: Point, output: float) -> None:
        for task in self.tasks:
            if task is asked or self._admits(task, point):
                task.see(point, output)

    def _admits(self, task: Task, point: Point) -> bool:
        rules: Rules = task.region.rules
        try:
            return not rules.violated(point)
        except InvalidInputError:
            return False

    def _admissible(self, task: Task) -> list[tuple[Point, float]]:
        known = zip(self.caller.data.points, self.caller.data.outputs, strict=True)
        return [(p, output) for p, output in known if self._admits(task, p)]

    def _record(self, times: int = 1) -> None:
        for task in self.tasks:
            task.trace += [task.best] * times
        watch = self.settings.progress
        if watch is not None:
            watch(self.caller.calls, min(task.best / task.peak for task in self.tasks))

    # -- what proposals need ----------------------------------------------------------------------

    def condition(self, task: Task, judge: Callable[[Floats], Floats] | None = None) -> bool:
        """Bring the surrogate up to date; whether there is anything to learn from.

        Rows without an output are taken to have the query's, which is no improvement.

        ``judge``: what it is of, from the outputs; by default the outputs themselves.
        """
        outputs = np.array(self.caller.data.outputs)
        good = np.isfinite(outputs)
        if good.sum() < 2:
            return False
        outputs = np.where(good, outputs, task.center)
        values = outputs if judge is None else judge(outputs)
        X = self.inputs(self.rows(task.region))
        if self.pending:  # rows that are waiting are believed to be as predicted
            extra = self.inputs(np.array(self.pending))
            believed = self.surrogate.predict(extra)[0].detach().numpy()
            X, values = np.vstack([X, extra]), np.concatenate([values, believed])
        if self._stale or self.pending or judge is not None:
            self.surrogate.update(X, values)
            self._stale = bool(self.pending)
        return True

    def rows(self, region: Region) -> Floats:
        """All evaluated rows, (n, J)."""
        return np.array([region.row(point) for point in self.caller.data.points])

    def candidates(self, task: Task, ranking: Floats) -> Floats:
        """Admissible rows to start from: anywhere, around the best of a ranking, and the query."""
        region, rows = task.region, self.rows(task.region)
        ranking = np.where(self.admitted(task) & np.isfinite(ranking), ranking, -np.inf)
        best = [i for i in np.argsort(-ranking)[:BEST] if np.isfinite(ranking[i])]
        near = np.vstack([rows[best], region.start[None]]) if best else region.start[None]
        return np.vstack([region.sample(DRAWN, self.rng), region.around(near, NEAR, self.rng)])

    def new(self, rows: Floats) -> Floats:
        """The rows that were not evaluated yet."""
        known = {row.tobytes() for row in self.rows(self.tasks[0].region)}
        known |= {row.tobytes() for row in self.pending}
        fresh = [
            i for i, row in enumerate(np.ascontiguousarray(rows)) if row.tobytes() not in known
        ]
        return rows[fresh]

    def admitted(self, task: Task) -> npt.NDArray[np.bool_]:
        """Which evaluated rows a question admits."""
        return task.region.admits(self.rows(task.region))

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
    outputs: Any = np.array(search.caller.data.outputs)
    with np.errstate(invalid="ignore"):
        ranking = np.full(len(outputs), -np.inf)
        good = np.isfinite(outputs)
        ranking[good] = task.potential(outputs[good], task.center)
    rows = search.candidates(task, ranking)
    if not search.condition(task):
        fresh = search.new(rows)
        return fresh[0] if len(fresh) else None

    def judge(some: Floats) -> Floats:
        mean, std = (part.detach() for part in search.surrogate.predict(search.inputs(some)))
        worth = np.full(len(some), -np.inf)
        for each in search.open_tasks():
            own = log_ei_cfx(mean, std, each.best, each.potential, each.center).numpy()
            own = own - np.log(each.peak)
            if each is not task:
                own = np.where(each.region.admits(some), own, -np.inf)
            worth = np.logaddexp(worth, own)
        return worth

    return search.climb(task, rows, judge)


__all__ = ["Search", "Settings", "Task", "by_improvement"]

"""Several threads on one ball: who runs out of boxes takes half of another's.

Each thread has a stack and a log of its own, and runs for a while; then points are verified, the
radius is made known to all, and threads without boxes get the shallowest side of a split that
another has not come to yet.  In the end the logs are one: a tree of splits is a tree wherever its
branches were searched.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from ...kernels import hand_over, run
from .logic import Logic
from .state import (
    BOXES,
    CLOSED,
    DEPTH,
    DONE,
    FARTHER,
    LIMIT,
    LOOKS,
    PAUSE,
    RADIUS,
    Log,
    State,
    all_labels,
    make_log,
    make_state,
    roomier,
)
from .tables import Tables

FIRST_STEP = 8  # boxes in the first round
ALONE_UNTIL = 2000  # boxes: what is closed by then is not worth sharing


@dataclass(frozen=True)
class Segment:
    """A log, and where its root hangs: the segment, the box, and which side of its split."""

    log: Log
    parent: int
    box: int
    side: int


class Worker:
    """One stack and its log; ``segment``: the number of the log among all."""

    def __init__(self, state: State, log: Log, segment: int) -> None:
        self.state, self.log, self.segment = state, log, segment
        self.code, self.step = PAUSE, FIRST_STEP

    @property
    def looks(self) -> int:
        """Boxes looked at."""
        return int(self.state.control[LOOKS])

    @property
    def depth(self) -> int:
        """The level of the box at hand."""
        return int(self.state.control[DEPTH])

    def grow(self) -> None:
        """Make room on the stack and in the log."""
        self.state, self.log = roomier(self.state, self.log)

    def close(self, fate: int) -> None:
        """Note what became of the box at hand, and leave it."""
        box, d = self.state.box[self.depth], self.depth
        self.log.fate[box], self.log.radius[box] = fate, self.state.control[RADIUS]
        self.state.phase[d] = CLOSED

    def shareable(self) -> int:
        """The shallowest level whose farther side is still to come, or -1."""
        open_levels = np.flatnonzero(self.state.phase[: max(self.depth, 0)] == FARTHER)
        return int(open_levels[0]) if open_levels.size else -1


class ThreadPool:
    """The workers on one ball, at first one of them; ``alone``: for how many boxes it stays so."""

    def __init__(
        self, tables: Tables, logic: Logic, radius: int, n_jobs: int, alone: int = ALONE_UNTIL
    ) -> None:
        self.tables, self.logic, self.n_jobs, self.alone = tables, logic, n_jobs, alone
        first = Worker(make_state(tables, logic, all_labels(tables)), make_log(), 0)
        first.state.control[RADIUS] = radius
        self.workers = [first]
        self._segments: list[Segment | None] = [None]  # of logs that are still written
        self._origins = [(-1, 0, 0)]
        self._earlier = 0  # boxes of stacks that are gone

    @property
    def looks(self) -> int:
        """Boxes looked at by all."""
        return self._earlier + sum(worker.looks for worker in self.workers)

    @property
    def radius(self) -> int:
        """The radius in force."""
        return min(int(worker.state.control[RADIUS]) for worker in self.workers)

    @property
    def is_done(self) -> bool:
        """Whether nothing is open."""
        return all(worker.code == DONE for worker in self.workers)

    def round(self, boxes: float) -> list[Worker]:
        """Let every worker run for a while, within ``boxes`` in all; those that have boxes."""
        self._share()
        active = [worker for worker in self.workers if worker.code != DONE]
        left = boxes - self.looks
        for worker in active:
            control = worker.state.control
            control[LIMIT] = control[LOOKS] + min(worker.step, left)
        if len(active) == 1:
            self._run(active[0])
        else:
            with ThreadPoolExecutor(len(active)) as threads:
                list(threads.map(self._run, active))
        return active

    def agree(self) -> None:
        """Make the smallest radius known to all."""
        radius = self.radius
        for worker in self.workers:
            worker.state.control[RADIUS] = radius

    def _run(self, worker: Worker) -> None:
        worker.code = run(self.tables, self.logic, worker.state, worker.log)

    def _share(self) -> None:
        """Give boxes to workers that have none, and take on new ones."""
        if self.n_jobs == 1 or self.looks < self.alone:
            return
        for place in range(self.n_jobs):
            if place < len(self.workers) and self.workers[place].code != DONE:
                continue
            givers = [(w.shareable(), w) for w in self.workers if w.code != DONE]
            givers = [(level, worker) for level, worker in givers if level >= 0]
            if not givers:
                return
            level, giver = min(givers, key=lambda pair: pair[0])
            self._take_on(place, giver, level)

    def _take_on(self, place: int, giver: Worker, level: int) -> None:
        state = make_state(self.tables, self.logic, all_labels(self.tables))
        lower = hand_over(self.tables, giver.state, level, state)
        self._origins.append((giver.segment, int(giver.state.box[level]), int(not lower)))
        self._segments.append(None)
        worker = Worker(state, make_log(), len(self._segments) - 1)
        if place < len(self.workers):
            self._retire(self.workers[place])
            self.workers[place] = worker
        else:
            self.workers.append(worker)

    def _retire(self, worker: Worker) -> None:
        """Keep the log of a stack that is empty."""
        self._earlier += worker.looks
        log = worker.log.first(int(worker.state.control[BOXES]))
        self._segments[worker.segment] = Segment(log, *self._origins[worker.segment])

    def log(self) -> tuple[Log, int]:
        """All boxes in one log, and their number; the threads have done their work."""
        if len(self._segments) == 1:
            only = self.workers[0]
            return only.log, int(only.state.control[BOXES])
        for worker in self.workers:
            self._retire(worker)
        parts = [segment for segment in self._segments if segment is not None]
        sizes = [part.log.parent.size for part in parts]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        for part, start in zip(parts, starts, strict=False):
            part.log.parent[1:] += start
            if part.parent >= 0:
                part.log.parent[0] = starts[part.parent] + part.box
                part.log.side[0] = part.side
        columns = zip(*(part.log for part in parts), strict=True)
        return Log(*map(np.concatenate, columns)), int(starts[-1])

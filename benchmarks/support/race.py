"""Engines on the same people: what each took, and whether what they say can be true together."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

from cfxc import Result
from cfxc.errors import CfxcError
from cfxc.question.query import make_query
from cfxc.solvers.base import Limits
from cfxc.solvers.engines import engine_for

from .peers import Peers, Reply, points
from .tasks import Task

SAME = (
    1e-6  # distances: our ε in the race; a peer steps over a threshold by a float32, not a double
)


@dataclass(frozen=True)
class Answer:
    """One person's answer by cfxc, and what it took: seconds of the wall, of the processor."""

    result: Result
    seconds: float
    cpu: float

    @property
    def proved(self) -> bool:
        return self.result.status in ("optimal", "infeasible")


@dataclass(frozen=True)
class Run:
    """What one engine took, person by person."""

    engine: str
    seconds: list[float]
    cpu: list[float]
    proved: list[bool]
    nodes: list[int]

    def ratios(self, yardstick: Run) -> tuple[float, float]:
        """Processor seconds over the yardstick's on the same people: medians, 95th percentiles."""
        own = yardstick.cpu[: len(self.cpu)]
        top = np.quantile(self.cpu, 0.95) / np.quantile(own, 0.95)
        return median(self.cpu) / median(own), float(top)

    def row(self, yardstick: Run | None) -> tuple[str, ...]:
        """Cells: ratios to the yardstick, people proved, seconds, nodes."""
        if not self.seconds:
            return ("–", "–", self.engine, "0/0", *["–"] * 6)
        late = len(self.proved) - sum(self.proved)
        more = ("> " * (2 * late >= len(self.proved)), "> " * (late > 0))  # stopped at the limit
        both = ["–", "–"]
        if yardstick is not None:
            pairs = zip(more, self.ratios(yardstick), strict=True)
            both = [f"{sign}{times(value)}" for sign, value in pairs]
        seconds = (
            median(self.seconds), float(np.quantile(self.seconds, 0.95)), max(self.seconds),
            median(self.cpu), max(self.cpu),
        )  # fmt: skip
        return (
            *both, self.engine, f"{sum(self.proved)}/{len(self.proved)}",
            *(f"{value:.3f}" for value in seconds),
            f"{median(self.nodes):,.0f}" if self.nodes else "–",
        )  # fmt: skip


HEADER = (
    "× CPU", "× 95 %", "engine", "proved", "median, s", "95 %, s", "max, s", "CPU median",
    "CPU max", "nodes",
)  # fmt: skip


def times(ratio: float) -> str:
    """A ratio in two or three digits."""
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}" if ratio >= 1 else f"{ratio:.2f}"


def ours(task: Task, people: int, epsilon: float, seconds: float, **options: Any) -> list[Answer]:
    """cfxc on the ``people`` after the first, who warms up."""
    explain(task, task.people.iloc[[0]], epsilon, min(seconds, 5.0), **options)
    found = []
    for number in range(1, 1 + min(people, len(task.people) - 1)):
        found.append(explain(task, task.people.iloc[[number]], epsilon, seconds, **options))
    return found


def explain(
    task: Task, person: pd.DataFrame, epsilon: float, seconds: float, **options: Any
) -> Answer:
    """One person, timed from the call to the verified answer."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = task.compiled.explain(
        person, target=1, distance="l1", epsilon=epsilon, time_limit=seconds, **options
    )
    return Answer(result, time.perf_counter() - wall, time.process_time() - cpu)


def batched(task: Task, people: int, epsilon: float, seconds: float) -> Run:
    """One call for all people after the first: each one's search, and an even share of the rest."""
    task.compiled.explain_batch(task.people.iloc[[0]], target=1, epsilon=epsilon)
    rows = task.people.iloc[1 : 1 + people]
    wall, cpu = time.perf_counter(), time.process_time()
    table = task.compiled.explain_batch(rows, target=1, epsilon=epsilon, time_limit=seconds)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    own = table["seconds"].to_numpy()
    shares = [own + (total - own.sum()) / len(rows) for total in (wall, cpu)]
    name = f"cfxc, explain_batch, ε = {epsilon:g}"
    proved = table["status"].isin(("optimal", "infeasible"))
    return Run(name, shares[0].tolist(), shares[1].tolist(), proved.tolist(), [])


def alone(task: Task, people: int, epsilon: float, seconds: float) -> Run:
    """The search alone, as peers are timed: from exact values, without calls of the pipeline."""
    wall, cpu, proved, nodes = [], [], [], []
    space = task.data.space
    for number in range(min(people + 1, len(task.people))):  # the first one warms up
        query = make_query(
            task.compiled.program, space, space.encode_row(task.people.iloc[[number]]), target=1
        )
        engine = engine_for(query, "auto", "auto")
        limits = Limits(Fraction(epsilon), seconds, (), np.random.default_rng(0))
        start, start_cpu = time.perf_counter(), time.process_time()
        found = engine.search(query, lambda _: True, limits)
        wall.append(time.perf_counter() - start)
        cpu.append(time.process_time() - start_cpu)
        best = found.best
        closed = best is not None and found.lower >= query.distance.below(
            best.distance, Fraction(epsilon)
        )
        proved.append(closed or found.infeasible)
        nodes.append(found.nodes)
    name = f"cfxc, search alone, ε = {epsilon:g}"
    return Run(name, wall[1:], cpu[1:], proved[1:], nodes[1:])


def run_of(engine: str, answers: Sequence[Answer | Reply]) -> Run:
    """Either kind of answers as a run."""
    nodes = [a.result.nodes if isinstance(a, Answer) else a.nodes or 0 for a in answers]
    return Run(
        engine, [a.seconds for a in answers], [a.cpu for a in answers],
        [a.proved for a in answers], nodes,
    )  # fmt: skip


@dataclass
class Findings:
    """What was compared, and what cannot be true."""

    compared: int = 0
    largest: float = 0.0
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, other: Findings) -> None:
        self.compared += other.compared
        self.largest = max(self.largest, other.largest)
        self.faults += other.faults
        self.notes += other.notes


def own_faults(task: Task, answers: Sequence[Answer]) -> Findings:
    """Answers that the original pipeline does not find favourable, or that are not proved."""
    found = Findings()
    for number, answer in enumerate(answers, start=1):
        result, who = answer.result, f"{task.name}, person {number}"
        row = result.counterfactual
        if row is not None and task.compiled.predict(row)[0] != 1:
            found.faults.append(f"{who}: cfxc's answer does not flip")
        if not answer.proved:
            found.notes.append(f"{who}: cfxc {result.status} ({result.reason})")
    return found


def same_optima(task: Task, answers: Sequence[Answer], others: Sequence[Answer]) -> Findings:
    """The same questions asked in two ways, person by person."""
    found = Findings()
    for number, (one, other) in enumerate(zip(answers, others, strict=True), start=1):
        for left, right in ((one.result, other.result), (other.result, one.result)):
            best = right.exact_distance
            if best is not None and best < left.exact_lower_bound:
                found.faults.append(f"{task.name}, person {number}: the model alone disagrees")
    return found


def compare(task: Task, answers: Sequence[Answer], replies: list[Reply]) -> Findings:
    """A peer whose distance is ours, person by person.

    Its row is measured by our own exact distance and predicted by the original pipeline.  One that
    flips nearer than our proved lower bound refutes us; a proved optimum must be ours.
    """
    found = Findings()
    rows = points(task, replies)
    for number, (answer, reply, row) in enumerate(
        zip(answers, replies, rows, strict=False), start=1
    ):
        who, result = f"{task.name}, person {number}", answer.result
        if row is None:
            if reply.status == "certified" and result.exact_distance is not None:
                found.notes.append(f"{who}: the peer says that there is none; cfxc has one")
            continue
        assert reply.row is not None
        distance = _distance(task, result, row) if task.on_grid(np.array(reply.row)) else None
        if distance is None or task.pipeline.predict(row)[0] != 1:
            what = "is no admissible row" if distance is None else "does not flip the pipeline"
            found.notes.append(f"{who}: the peer's answer {what}")
            continue
        if distance < result.exact_lower_bound:
            found.faults.append(
                f"{who}: UNSOUND: the peer's row at {float(distance):.9g} flips, and cfxc claims "
                f"that nothing is nearer than {result.lower_bound:.9g}: {row.iloc[0].to_dict()}"
            )
        if reply.proved and result.status == "optimal" and result.exact_distance is not None:
            apart = float(distance - result.exact_distance)
            found.compared += 1
            found.largest = max(found.largest, abs(apart))
            if abs(apart) > SAME + result.epsilon:
                found.notes.append(f"{who}: the peer's optimum is {apart:+.3g} from cfxc's")
    return found


def _distance(task: Task, result: Result, row: pd.DataFrame) -> Fraction | None:
    """The exact distance of an admissible row, or ``None``."""
    space = task.data.space
    query = make_query(
        task.compiled.program, space, space.encode_row(result.factual), target=1, distance="l1"
    )
    try:
        return query.distance_to(space.encode_row(row))
    except CfxcError as error:
        print(error, file=sys.stderr)
        return None


def peer_run(
    peers: Peers | None, engine: str, task: Task, people: int, seconds: float
) -> list[Reply]:
    """The replies of a peer, none without peers; OCEAN is not warmed up, it takes too long."""
    if peers is None:
        return []
    return peers.ask(engine, task, people, seconds, warm=1)

"""The yardstick for networks: one mixed-integer program with interval bounds, given to HiGHS.

Every ReLU gets a binary and the constants of plain interval arithmetic over the whole space, with
the columns of a category free of each other; HiGHS does the rest with its own settings.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from .highs_rows import INFINITE, Program
from .portable import Array
from .tasks import Task

MARGIN = 1e-6  # on the output, so that HiGHS's feasibility tolerance cannot eat the flip


@dataclass(frozen=True)
class Solved:
    """HiGHS's verdict, the distance it found, and seconds of the wall and the processor."""

    status: str
    distance: float | None
    seconds: float
    cpu: float

    @property
    def proved(self) -> bool:
        return self.status == "Optimal"


class NaiveProgram:
    """The program of one person; building it is not timed."""

    def __init__(self, task: Task, number: int) -> None:
        self.program = Program()
        person = task.people.iloc[[number]]
        network = task.pipeline[-1]
        inputs, low, high = self._inputs(task, person)
        for weights, bias in zip(network.coefs_[:-1], network.intercepts_[:-1], strict=True):
            inputs, low, high = self._layer(inputs, low, high, weights, bias)
        last, bias = network.coefs_[-1][:, 0], network.intercepts_[-1][0]
        self.program.row(MARGIN - bias, INFINITE, inputs, last)

    def solve(self, seconds: float) -> Solved:
        """One thread, HiGHS's own gaps."""
        wall, cpu = time.perf_counter(), time.process_time()
        status = self.program.solve(seconds)
        taken = time.perf_counter() - wall, time.process_time() - cpu
        least = self.program.highs.getInfo().objective_function_value
        return Solved(status, least if self.program.found else None, *taken)

    def _inputs(self, task: Task, person: Any) -> tuple[list[int], Array, Array]:
        """Columns of the first layer, standardised, and their least and largest values."""
        scaler = task.pipeline[0].named_transformers_["standardscaler"]
        plain = [part for part in task.parts() if part.costs is None]
        parts, mean, scale = task.parts(), scaler.mean_, scaler.scale_
        own, columns, low, high = task.columns(person)[0], [], [], []
        for part in parts:
            if part.costs is not None:
                here = int(np.argmax(own[part.columns]))
                costs = np.array(part.costs[here]) / len(parts)
                group = [self.program.variable(0, 1, cost, whole=True) for cost in costs]
                self.program.row(1, 1, group, np.ones(len(group)))
                columns += group
                low += [0.0] * len(group)
                high += [1.0] * len(group)
                continue
            j = plain.index(part)
            value = float(person[part.name].iloc[0])
            cost = 1 / (part.upper - part.lower) / len(parts)
            number = self.program.variable(part.lower, part.upper, whole=part.step == 1)
            change = self.program.variable(0, part.upper - part.lower, cost)
            self.program.row(-value, INFINITE, [change, number], np.array([1, -1]))
            self.program.row(value, INFINITE, [change, number], np.array([1, 1]))
            ends = ((part.lower - mean[j]) / scale[j], (part.upper - mean[j]) / scale[j])
            standard = self.program.variable(*ends)
            shift = -mean[j] / scale[j]
            self.program.row(shift, shift, [standard, number], np.array([1, -1 / scale[j]]))
            columns.append(standard)
            low.append(ends[0])
            high.append(ends[1])
        return columns, np.array(low), np.array(high)

    def _layer(
        self, inputs: list[int], low: Array, high: Array, weights: Array, bias: Array
    ) -> tuple[list[int], Array, Array]:
        """ReLUs with big constants; returns their columns and bounds."""
        up, down = np.maximum(weights, 0), np.minimum(weights, 0)
        least, largest = low @ up + high @ down + bias, high @ up + low @ down + bias
        outputs = []
        for k in range(weights.shape[1]):
            top = max(float(largest[k]), 0.0)
            output, bit = self.program.variable(0, top), self.program.variable(0, 1, whole=True)
            together, minus = [output, *inputs], np.concatenate([[1.0], -weights[:, k]])
            self.program.row(bias[k], INFINITE, together, minus)
            bottom = min(float(least[k]), 0.0)
            self.program.row(
                -INFINITE, bias[k] - bottom, [*together, bit], np.append(minus, -bottom)
            )
            self.program.row(-INFINITE, 0, [output, bit], np.array([1, -top]))
            outputs.append(output)
        return outputs, np.maximum(least, 0), np.maximum(largest, 0)

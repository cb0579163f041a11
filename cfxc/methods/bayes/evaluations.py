"""Evaluations of a model that can only be called: each row once, kept, saved and read again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...arrays import Floats
from ...errors import CfxcError, DataTypeError, InvalidInputError, ModelFileError
from ...frontends.called import Call
from ...solvers.base import Point
from ...space import FeatureSpace
from ...space.names import names_arguments
from ...writing import path_of, write_whole

FORMAT = "cfxc evaluations 1"
SAMPLED = 8  # evaluations from before that a model is compared with, where that costs something
SAME = 1e-5
"""By what share of the largest output two runs of one model may differ: what single-precision sums
do in another order, and far less than what another model does."""


@names_arguments
@dataclass
class Evaluations:
    """Rows of one space, and a model's output on each; NaN where it gave none.

    Attributes:
        space: The feature space.
        points: Each row's exact values, by feature.
        outputs: The model's number for each.
        failures: Why it gave none, by position.
        owner: The model that gave them, where that is known; not saved.
    """

    space: FeatureSpace
    points: list[Mapping[str, Any]] = field(default_factory=list)
    outputs: list[float] = field(default_factory=list)
    failures: dict[int, str] = field(default_factory=dict)
    owner: Any = field(default=None, compare=False, repr=False)

    def __len__(self) -> int:
        return len(self.outputs)

    def add(self, point: Mapping[str, Any], output: float, failure: str = "") -> None:
        """One more row."""
        if failure:
            self.failures[len(self.outputs)] = failure
        self.points.append(dict(point))
        self.outputs.append(float(output))

    def to_frame(self) -> pd.DataFrame:
        """The rows in the space's columns, and ``output``."""
        rows = [self.space.decode(point) for point in self.points]
        frame = pd.concat(rows, ignore_index=True) if rows else pd.DataFrame()
        return frame.assign(output=self.outputs)

    def save(self, path: str | Path) -> None:
        """Write it as JSON, numbers exactly, whole or not at all.

        Raises:
            InvalidInputError: the file cannot be written.
        """
        names, rows = list(self.space.names), []
        for point in self.points:
            values = [point[name] for name in names]
            rows.append([float(v) if isinstance(v, Fraction) else v for v in values])
        content = {
            "format": FORMAT,
            "features": names,
            "rows": rows,
            "outputs": [None if np.isnan(value) else value for value in self.outputs],
            "failures": {str(place): why for place, why in self.failures.items()},
        }
        write_whole(path, json.dumps(content))

    @classmethod
    def load(cls, path: str | Path, space: FeatureSpace) -> Evaluations:
        """Read what :meth:`save` wrote.

        Raises:
            ModelFileError: no such file, or none of these.
            InvalidInputError: it is of other features, or has rows that the space does not admit.
        """
        try:
            content = json.loads(path_of(path).read_bytes())
        except OSError as error:
            raise ModelFileError(f"{path}: cannot read evaluations: {error.strerror}") from error
        except (ValueError, RecursionError) as error:
            raise ModelFileError(f"{path}: no evaluations: not JSON, or truncated") from error
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ModelFileError(f"{path}: not a file of evaluations ({FORMAT!r})")
        if content.get("features") != list(space.names):
            raise InvalidInputError(f"{path}: evaluations of other features than the space's")
        rows: Any = content.get("rows")
        outputs: Any = content.get("outputs")
        failures: Any = content.get("failures", {})
        lists = isinstance(rows, list) and isinstance(outputs, list)
        if not lists or len(rows) != len(outputs) or not isinstance(failures, dict):
            raise ModelFileError(f"{path}: rows and outputs do not fit together")
        data = cls(space)
        for place, (row, output) in enumerate(zip(rows, outputs, strict=True)):
            if not isinstance(row, list) or len(row) != len(space):
                raise ModelFileError(f"{path}: row {place} has not one value for each feature")
            if output is not None and type(output) not in (int, float):
                raise ModelFileError(f"{path}: the output of row {place} is no number")
            frame = space.decode(dict(zip(space.names, row, strict=True)))
            value = float("nan") if output is None else float(output)
            data.add(space.encode_row(frame), value, str(failures.get(str(place), "")))
        return data


class Caller:
    """Evaluates a model on points, each one once, and keeps its outputs.

    A row on which it raises or gives no finite number is a failure of that row, not of the search.

    Attributes:
        data: All evaluated rows, those from before included.
        calls: How many rows the model was evaluated on by this caller.
        failed: On how many of them it gave no number; ``in_a_row``: on the last ones alone.
    """

    def __init__(self, call: Call, space: FeatureSpace, data: Evaluations | None = None) -> None:
        self.call, self.space = call, space
        self.data = Evaluations(space) if data is None else data
        self.calls, self.failed, self.in_a_row = 0, 0, 0
        self._place = {self._key(point): i for i, point in enumerate(self.data.points)}

    def outputs(self, points: Sequence[Point], rows: Sequence[pd.DataFrame]) -> Floats:
        """Outputs (n,) on points that stand for these one-row tables; NaN where there is none."""
        keys = [self._key(point) for point in points]
        first = {key: i for i, key in reversed([*enumerate(keys)]) if key not in self._place}
        new = sorted(first.values())
        for i, (output, failure) in zip(new, self._evaluated([rows[i] for i in new]), strict=True):
            self._place[keys[i]] = len(self.data)
            self.data.add(points[i], output, failure)
            self.calls += 1
            self.failed += bool(failure)
            self.in_a_row = self.in_a_row + 1 if failure else 0
        return np.array([self.data.outputs[self._place[key]] for key in keys])

    def factual(self, point: Point, row: pd.DataFrame) -> float:
        """f(q), the output of the row to explain.

        Raises:
            InvalidInputError: there is none.
        """
        output = float(self.outputs([point], [row])[0])
        if np.isnan(output):
            why = self.data.failures.get(self._place[self._key(point)], "")
            raise InvalidInputError(f"the model gives no number for the row to explain: {why}")
        return output

    def compare(self, *, free: bool, name: str = "data") -> None:
        """Refuse ``data`` of another model: it is evaluated again on all rows, if that is ``free``.

        If not, on a few rows of data that are known to be another function's; data from a file are
        then taken to be this one's.  What is known to be its own is not compared.

        Raises:
            InvalidInputError: an output differs by more than ``SAME``; ``name`` is what messages
                call the data.
        """
        data = self.data
        places = np.flatnonzero(np.isfinite(data.outputs)).tolist()
        if not free:
            places = places[:: max(1, len(places) // SAMPLED)][:SAMPLED]
        if places and data.owner != self.call and (free or data.owner is not None):
            then = np.array([data.outputs[i] for i in places])
            pairs = self._evaluated([self.space.decode(data.points[i]) for i in places])
            now = np.array([output for output, _ in pairs])
            alike = np.abs(now - then) <= SAME * float(np.abs(then).max())  # not if one is NaN
            if not alike.all():
                i = int(np.argmin(alike))
                raise InvalidInputError(
                    f"{name}: evaluations of another model: {then[i]:.10g} of row {places[i]}, "
                    f"for which this one gives {now[i]:.10g}; name another file, or use new ones"
                )
        data.owner = self.call

    def _key(self, point: Point) -> tuple[Any, ...]:
        return tuple((type(point[name]) is bool, point[name]) for name in self.space.names)

    def _evaluated(self, rows: list[pd.DataFrame]) -> list[tuple[float, str]]:
        """The output on each row, and why there is none."""
        if len(rows) > 1 and all(row.dtypes.equals(rows[0].dtypes) for row in rows):
            try:
                return self._called(pd.concat(rows, ignore_index=True))
            except CfxcError:
                raise
            except Exception:  # some row is at fault: one at a time tells which
                pass
        found = []
        for row in rows:
            try:
                found += self._called(row)
            except CfxcError:
                raise
            except Exception as error:  # whatever a user's model may raise
                found.append((float("nan"), f"{type(error).__name__}: {error}"))
        return found

    def _called(self, rows: pd.DataFrame) -> list[tuple[float, str]]:
        answer = self.call(rows.copy())  # a function may assign to what it is given
        try:
            found = np.asarray(answer, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise DataTypeError(
                f"the model gives {type(answer).__name__}, not a number for each row"
            ) from error
        if found.shape == (len(rows), 1):
            found = found[:, 0]
        if found.shape != (len(rows),):
            raise DataTypeError(
                f"the model gives an array of shape {found.shape} for {len(rows)} rows; it must "
                "give one number for each"
            )
        finite = np.isfinite(found)
        flaws = np.where(finite, "", "no finite number").tolist()
        return list(zip(np.where(finite, found, np.nan).tolist(), flaws, strict=True))

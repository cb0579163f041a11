"""A model that can only be called, and what it said of rows so far."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...arrays import Floats
from ...errors import CfxcError, DataTypeError, InvalidInputError, ModelFileError
from ...solvers.base import Point
from ...space import FeatureSpace
from ...writing import write_whole

Call = Callable[[pd.DataFrame], Any]


class Caller:
    """Calls a model on points, each one once, and keeps what it said.

    A row on which it raises or gives no finite number is a failure of that row, not of the search.

    Attributes:
        data: All rows that it was asked about.
        calls: How many rows it was asked about by this caller.
        failed: On how many of them it gave no number; ``in_a_row``: on the last ones alone.
    """

    def __init__(self, call: Call, space: FeatureSpace, data: Evaluations) -> None:
        self.call, self.space, self.data, self.calls = call, space, data, 0
        self.failed, self.in_a_row = 0, 0
        self._place = {_key(space, point): i for i, point in enumerate(data.points)}

    def knows(self, point: Point) -> bool:
        """Whether the point's output, or its failure, is known."""
        return _key(self.space, point) in self._place

    def ask(self, points: Sequence[Point], rows: Sequence[pd.DataFrame]) -> Floats:
        """Outputs (n,) on points that stand for these one-row tables; NaN where there is none."""
        new = [i for i, point in enumerate(points) if not self.knows(point)]
        new = [i for k, i in enumerate(new) if all(points[i] != points[j] for j in new[:k])]
        if new:
            outputs, failures = self._outputs([rows[i] for i in new])
            self.calls += len(new)
            for i, output, failure in zip(new, outputs, failures, strict=True):
                self._place[_key(self.space, points[i])] = len(self.data)
                self.data.add(points[i], output, failure)
                self.failed += bool(failure)
                self.in_a_row = self.in_a_row + 1 if failure else 0
        places = [self._place[_key(self.space, point)] for point in points]
        return np.array([self.data.outputs[place] for place in places])

    def compare(self, *, free: bool, most: int = 8) -> None:
        """Data of another model are refused: it is asked again about a few rows.

        Not of data that are known to be its own; nor, unless asking is ``free``, of data from a
        file, which are taken to be.

        Raises:
            InvalidInputError: it says something else now.
        """
        owner, self.data.owner = self.data.owner, self.call
        if owner == self.call or (owner is None and not free):
            return
        good = [i for i, value in enumerate(self.data.outputs) if np.isfinite(value)]
        some = good[:: max(1, len(good) // most)][:most]
        if not some:
            return
        rows = [self.space.decode(self.data.points[i]) for i in some]
        now, _ = self._outputs(rows)
        for i, output in zip(some, now, strict=True):
            if not np.isclose(output, self.data.outputs[i], rtol=1e-9, atol=0.0):
                self.data.owner = owner
                raise InvalidInputError(
                    f"data: the model gives {output:.10g} where its evaluations from before say "
                    f"{self.data.outputs[i]:.10g}: they are of another model"
                )

    def failure(self, point: Point) -> str:
        """Why a point has no output."""
        return self.data.failures.get(self._place[_key(self.space, point)], "")

    def _outputs(self, rows: list[pd.DataFrame]) -> tuple[list[float], list[str]]:
        alike = all(row.dtypes.equals(rows[0].dtypes) for row in rows)
        if len(rows) > 1 and alike:
            try:
                together = self._call(pd.concat(rows, ignore_index=True))
                return [float(v) for v in together], [_flaw(v) for v in together]
            except CfxcError:
                raise
            except Exception:  # some row is at fault: one at a time tells which
                return self._one_by_one(rows)
        return self._one_by_one(rows)

    def _one_by_one(self, rows: list[pd.DataFrame]) -> tuple[list[float], list[str]]:
        outputs, failures = [], []
        for row in rows:
            try:
                output = float(self._call(row)[0])
                outputs.append(output if np.isfinite(output) else float("nan"))
                failures.append(_flaw(output))
            except CfxcError:
                raise
            except Exception as error:  # whatever a user's model may raise
                outputs.append(float("nan"))
                failures.append(f"{type(error).__name__}: {error}")
        return outputs, failures

    def _call(self, rows: pd.DataFrame) -> Floats:
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
        return np.where(np.isfinite(found), found, np.nan)


def onnx_session(session: Any) -> Call:
    """A session of onnxruntime as a function of tables: of one matrix, or an input per column."""
    kinds = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(int64)": np.int64,
             "tensor(int32)": np.int32, "tensor(bool)": np.bool_}  # fmt: skip
    inputs = session.get_inputs()

    def call(rows: pd.DataFrame) -> Any:
        if len(inputs) == 1 and inputs[0].name not in rows.columns:
            kind = kinds.get(inputs[0].type, np.float32)
            feeds = {inputs[0].name: rows.to_numpy().astype(kind)}
        else:
            feeds = {
                each.name: rows[each.name].to_numpy().astype(kinds.get(each.type, object))[:, None]
                for each in inputs
            }
        return session.run(None, feeds)[0]

    return call


def _flaw(output: float) -> str:
    return "" if np.isfinite(output) else "no finite number"


def _key(space: FeatureSpace, point: Point) -> tuple[Any, ...]:
    return tuple((type(point[name]) is bool, point[name]) for name in space.names)


FORMAT = "cfxc evaluations 1"


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
        names = list(self.space.names)
        rows = [[_plain(point[name]) for name in names] for point in self.points]
        outputs = [None if value != value else value for value in self.outputs]
        text = {"format": FORMAT, "features": names, "rows": rows, "outputs": outputs,
                "failures": {str(at): why for at, why in self.failures.items()}}  # fmt: skip
        write_whole(path, json.dumps(text))

    @classmethod
    def load(cls, path: str | Path, space: FeatureSpace) -> Evaluations:
        """Read what :meth:`save` wrote.

        Raises:
            ModelFileError: no such file, or none of these.
            InvalidInputError: it is of other features, or has rows that the space does not admit.
        """
        try:
            found = json.loads(Path(path).read_bytes())
        except OSError as error:
            raise ModelFileError(f"{path}: cannot read evaluations: {error.strerror}") from error
        except (ValueError, RecursionError) as error:
            raise ModelFileError(f"{path}: no evaluations: not JSON, or truncated") from error
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise ModelFileError(f"{path}: not a file of evaluations ({FORMAT!r})")
        if found.get("features") != list(space.names):
            raise InvalidInputError(f"{path}: evaluations of other features than the space's")
        rows, outputs = found.get("rows"), found.get("outputs")
        failures = found.get("failures", {})
        if (
            not isinstance(rows, list)
            or not isinstance(outputs, list)
            or len(rows) != len(outputs)
            or not isinstance(failures, dict)
        ):
            raise ModelFileError(f"{path}: rows and outputs do not fit together")
        data = cls(space)
        for at, (row, output) in enumerate(zip(rows, outputs, strict=True)):
            data._read(path, at, row, output, str(failures.get(str(at), "")))
        return data

    def _read(self, path: str | Path, at: int, row: Any, output: Any, failure: str) -> None:
        names = self.space.names
        if not isinstance(row, list) or len(row) != len(names):
            raise ModelFileError(f"{path}: row {at} has not one value for each feature")
        if output is not None and (isinstance(output, bool) or not isinstance(output, int | float)):
            raise ModelFileError(f"{path}: the output of row {at} is no number")
        frame = self.space.decode(dict(zip(names, row, strict=True)))
        value = float("nan") if output is None else float(output)
        self.add(self.space.encode_row(frame), value, failure)


def _plain(value: Any) -> Any:
    """A value for JSON: numbers as the double that a cell holds."""
    if value is None or isinstance(value, str | bool | int):
        return value
    return float(value)


__all__ = ["Call", "Caller", "Evaluations", "onnx_session"]

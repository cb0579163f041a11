"""What a model said of rows: the data set that all questions share, and may be saved."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...errors import InvalidInputError, ModelFileError
from ...space import FeatureSpace
from ...writing import write_whole

Floats = npt.NDArray[np.float64]
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


__all__ = ["Evaluations"]

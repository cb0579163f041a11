"""The rows that a generator learns from, ready for its networks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from ...arrays import Array, Bools, Floats
from ...ir import BatchEvaluator, Program
from ...ir.patterns import keep_outputs
from .levels import Codes, Levels
from .networks import Batch
from .verifying import Judge, in_chunks


@dataclass(frozen=True)
class Material:
    """Instances (n) as columns, levels, and the class that the program gives them.

    Attributes:
        raw: Columns by feature, as the batch evaluator takes them.
        codes: Levels (n, J).
        before: Positions of the classes that the program gives (n,).
        judge: What the program makes of rows.
    """

    levels: Levels
    raw: Mapping[str, Array]
    codes: Codes
    before: Codes
    judge: Judge

    @classmethod
    def of(cls, program: Program, levels: Levels, raw: Mapping[str, Array]) -> Material:
        """Levels, and what the program says of the rows."""
        return cls(levels, raw, levels.codes(raw), labels_of(program, raw), Judge(program, raw))

    @property
    def classes(self) -> int:
        """How many the program has."""
        return len(self.judge.labels)

    def batch(self, rows: Codes, targets: Codes) -> Batch:
        """So many instances, and the position of the class that each is to get."""
        levels, codes = self.levels, self.codes[rows]
        raw = {name: column[rows] for name, column in self.raw.items()}
        return Batch(
            inputs=torch.from_numpy(network_input(levels, codes, targets, self.classes)),
            own=torch.from_numpy(_own(levels, codes)),
            reach=torch.from_numpy(levels.reach(raw, codes)),
            values=torch.from_numpy(_values(levels, raw, codes)),
            rows=torch.from_numpy(rows),
            targets=torch.from_numpy(targets),
        )

    def rewards(self, batch: Batch, chosen: Codes) -> npt.NDArray[np.float32]:
        """log P(target class) of samples (n, draws, K) of levels, as (n, draws)."""
        logs = self.log_chances(batch, chosen)
        targets = np.repeat(batch.targets.numpy(), chosen.shape[1])
        found = np.take_along_axis(logs, targets[:, None], axis=1)
        return np.asarray(found.reshape(chosen.shape[:2]), np.float32)

    def log_chances(self, batch: Batch, chosen: Codes) -> Floats:
        """log P of samples (n, draws, K) of levels, as (n · draws, classes)."""
        instances = np.repeat(batch.rows.numpy(), chosen.shape[1])
        codes = self.codes[instances]
        codes[:, self.levels.free] = chosen.reshape(-1, chosen.shape[2])
        return self.judge.log_chances(self.levels.columns(self.raw, instances, self.codes, codes))


def labels_of(program: Program, columns: Mapping[str, Array]) -> Codes:
    """Positions of the labels that the program gives to rows."""
    evaluator = BatchEvaluator(keep_outputs(program, ["label"]))
    return np.array(in_chunks(evaluator, columns)["label"], np.int64)


def network_input(
    levels: Levels, codes: Codes, targets: Codes, classes: int
) -> npt.NDArray[np.float32]:
    """z and the target class, both one-hot (n, D + T)."""
    found: npt.NDArray[np.float32] = np.eye(classes, dtype=np.float32)[targets]
    return np.hstack([levels.one_hot(codes), found])


def _own(levels: Levels, codes: Codes) -> npt.NDArray[np.float32]:
    """The own levels of the free features, one-hot (n, K, L)."""
    at = codes[:, levels.free]
    hot: Bools = at[..., None] == np.arange(levels.most)
    return hot.astype(np.float32)


def _values(levels: Levels, raw: Mapping[str, Array], codes: Codes) -> Floats:
    """What each level of the free features decodes to for each instance (n, K, L)."""
    found = np.zeros((codes.shape[0], levels.free.size, levels.most))
    for k, j in enumerate(levels.free.tolist()):
        each = levels.features[j]
        found[:, k, : len(each)] = each.values
        found[np.arange(codes.shape[0]), k, codes[:, j]] = raw[each.feature.name]
    return found

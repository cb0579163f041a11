"""Tree ensembles, people and a metric as plain arrays: what peers in another Python are given.

An ensemble is ``base + Σ_t leaf_t(x)`` over float64 columns; a node sends ``x <= threshold`` left.
Thresholds are the exact doubles of the deployed comparison (scikit-learn rounds x to float32 and
asks ``<=``; XGBoost rounds and asks ``<``), so that a peer needs neither library nor rounding.
The favourable outcome is ``score >= cut``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


TIE = 1e-9  # shares of votes closer than this are a tie, which is a no, however they are summed


@dataclass(frozen=True)
class Trees:
    """All nodes in one row each; ``roots`` says where each tree begins; leaves have left = -1."""

    roots: Array
    feature: Array
    threshold: Array
    left: Array
    right: Array
    value: Array
    base: float
    cut: float

    def scores(self, X: Array) -> Array:
        """The score of each row of ``X`` (n, columns), summed in float64."""
        rows = np.arange(len(X))
        total = np.full(len(X), self.base, np.float64)
        for root in self.roots:
            at = np.full(len(X), root)
            while (inner := self.left[at] >= 0).any():
                low = X[rows, self.feature[at]] <= self.threshold[at]
                at = np.where(inner, np.where(low, self.left[at], self.right[at]), at)
            total += self.value[at]
        return total


@dataclass(frozen=True)
class Part:
    """One feature as a person sees it, and its share of the distance before the mean.

    Attributes:
        columns: The model's columns: one for a number, one per label for a category.
        lower, upper, step: Of a number; no step: any double.
        costs: Of a category: from label (row) to label (column); empty for a number.
    """

    name: str
    columns: list[int]
    lower: float = 0.0
    upper: float = 1.0
    step: float | None = None
    costs: list[list[float]] | None = None


def last_left(threshold: float) -> float:
    """The largest double x with ``float32(x) <= threshold``."""
    below = np.float32(threshold)
    if float(below) > threshold:
        below = np.nextafter(below, np.float32(-np.inf))
    above = np.nextafter(below, np.float32(np.inf))
    middle = (float(below) + float(above)) / 2  # exact: one bit more than a float32
    return middle if np.float32(middle) == below else float(np.nextafter(middle, -np.inf))


def trees_of(model: Any) -> Trees:
    """A fitted binary RandomForest-, GradientBoosting- or XGBClassifier.

    Raises:
        TypeError: another model.
    """
    kind = type(model).__name__
    if kind == "RandomForestClassifier":
        share = 1 / len(model.estimators_)
        parts = [_sklearn(m.tree_, m.tree_.value[:, 0, 1] * share) for m in model.estimators_]
        return _join(parts, 0.0, 0.5 + TIE)
    if kind == "GradientBoostingClassifier":
        first = np.zeros((1, model.n_features_in_))
        trees = [m.tree_ for m in model.estimators_[:, 0]]
        parts = [_sklearn(tree, tree.value[:, 0, 0] * model.learning_rate) for tree in trees]
        alone = float(model.decision_function(first)[0]) - float(
            _join(parts, 0.0, 0.0).scores(first)[0]
        )
        return _join(parts, alone, float(np.nextafter(0, 1)))
    if kind == "XGBClassifier":
        return _xgboost(json.loads(model.get_booster().save_raw("json")))
    raise TypeError(f"no plain form of {kind}")


def _sklearn(tree: Any, value: Array) -> list[Array]:
    inner = tree.children_left >= 0
    threshold = np.zeros(tree.node_count)
    threshold[inner] = [last_left(t) for t in tree.threshold[inner]]
    return [tree.feature, threshold, tree.children_left, tree.children_right, value]


def _xgboost(document: dict[str, Any]) -> Trees:
    learner = document["learner"]
    parts = []
    for tree in learner["gradient_booster"]["model"]["trees"]:
        left, right = np.array(tree["left_children"]), np.array(tree["right_children"])
        value = np.array(tree["split_conditions"], np.float32)
        before = np.nextafter(value, np.float32(-np.inf))
        threshold = np.array([last_left(float(t)) for t in before])
        parts.append([np.array(tree["split_indices"]), threshold, left, right, value])
    stored = json.loads(learner["learner_model_param"]["base_score"])
    mean = float(np.ravel(stored)[0])
    # the first float32 sum whose sigmoid exceeds one half in float32
    return _join(parts, float(np.log(mean / (1 - mean))), 8.95e-8)


def _join(parts: Sequence[list[Array]], base: float, cut: float) -> Trees:
    sizes = [len(part[0]) for part in parts]
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    feature, threshold, left, right, value = (
        np.concatenate(columns) for columns in zip(*parts, strict=True)
    )
    shift = np.repeat(roots, sizes)
    inner = left >= 0
    left, right = np.where(inner, left + shift, -1), np.where(inner, right + shift, -1)
    feature = np.where(inner, feature, 0)
    return Trees(roots, feature, threshold, left, right, value.astype(np.float64), base, cut)


def write(folder: Path, trees: Trees, parts: Sequence[Part], people: Array) -> None:
    """Put a question into ``folder``: ``trees.npz`` and ``parts.json``."""
    arrays = {name: np.asarray(value) for name, value in asdict(trees).items()}
    np.savez(folder / "trees.npz", people=people, **arrays)
    text = json.dumps([asdict(part) for part in parts])
    (folder / "parts.json").write_text(text, encoding="utf-8")

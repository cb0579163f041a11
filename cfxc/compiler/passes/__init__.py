"""Program-to-program passes; each is a function that keeps the meaning of the outputs."""

from __future__ import annotations

from .compare import compare_features
from .decide import fold_into_trees, narrow_argmax
from .multiply_out import multiply_out
from .prune import SLACK, Ball, admissible_labels, make_walk, prune_trees

__all__ = [
    "SLACK",
    "Ball",
    "admissible_labels",
    "compare_features",
    "fold_into_trees",
    "make_walk",
    "multiply_out",
    "narrow_argmax",
    "prune_trees",
]

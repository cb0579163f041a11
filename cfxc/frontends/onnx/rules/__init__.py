"""The rules that lower ONNX ops, by subject; importing this package fills their table."""

from __future__ import annotations

from . import arithmetic, encoders, labels, linear, structure, trees
from .registry import RULES, Entry, rule

__all__ = [
    "RULES", "Entry", "arithmetic", "encoders", "labels", "linear", "rule",
    "structure", "trees",
]  # fmt: skip

"""The rules that lower ONNX ops, by subject; importing this package fills their table."""

from __future__ import annotations

from . import activations, arithmetic, encoders, labels, linear, machines, structure, trees, windows
from .registry import RULES, Entry, rule

__all__ = [
    "RULES", "Entry", "activations", "arithmetic", "encoders", "labels", "linear", "machines",
    "rule", "structure", "trees", "windows",
]  # fmt: skip

"""PyTorch modules and exported programs as programs, and as they run in PyTorch."""

from __future__ import annotations

from .files import load_pt2, load_pth
from .predictor import TorchPredictor

__all__ = ["TorchPredictor", "load_pt2", "load_pth"]

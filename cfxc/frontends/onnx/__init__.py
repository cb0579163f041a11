"""ONNX models as programs, and as they run in onnxruntime."""

from __future__ import annotations

from .lowering import lower
from .predictor import OnnxPredictor

__all__ = ["OnnxPredictor", "lower"]

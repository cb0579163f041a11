"""A learned generator of many diverse counterfactuals (L2C), made exact."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import late

if TYPE_CHECKING:
    from .generator import Generator
    from .training import Epoch

_LAZY = {"Epoch": ".training", "Generator": ".generator"}

__getattr__ = late(__name__, _LAZY, "amortised", ("torch", "safetensors"), "the generator")

__all__ = ["Epoch", "Generator"]

"""A learned generator of many diverse counterfactuals (L2C), made exact."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ...errors import MissingExtraError

if TYPE_CHECKING:
    from .generator import Generator
    from .training import Epoch

_LAZY = {"Epoch": ".training", "Generator": ".generator"}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(_LAZY[name], __name__)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("torch", "safetensors"):
            raise
        raise MissingExtraError("amortised", str(error.name), "the generator") from error
    value = getattr(module, name)
    globals()[name] = value
    return value


__all__ = ["Epoch", "Generator"]

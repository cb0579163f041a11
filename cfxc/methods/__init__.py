"""What is built on exact engines: Bayesian optimisation, plans, learned generators."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from ..errors import needs


def late(
    package: str, modules: Mapping[str, str], extra: str, libraries: tuple[str, ...], purpose: str
) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package whose ``modules``, by name, are imported when asked for.

    They need ``libraries``, which ``extra`` brings for its ``purpose``.

    Raises:
        AttributeError, MissingExtraError: when called; no such name, or a library is missing.
    """

    def attribute(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        with needs(extra, purpose, of=libraries), warnings.catch_warnings():
            # linear_operator is written for an older torch
            said = "`torch.jit.script` is deprecated"
            warnings.filterwarnings("ignore", said, FutureWarning)
            module = import_module(modules[name], package)
        value = getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    return attribute


__all__ = ["late"]

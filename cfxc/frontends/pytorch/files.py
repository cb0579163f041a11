"""Files of PyTorch.  Opening any of them may run code, so they are opened only if trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from ...errors import ModelFileError


def load_pt2(path: Path) -> Any:
    """The ``ExportedProgram`` in a ``.pt2`` file.

    Raises:
        ModelFileError: torch cannot read it.
    """
    try:
        return torch.export.load(path)
    except Exception as error:  # a damaged archive raises anything
        raise damaged(path, error) from error


def load_pth(path: Path) -> Any:
    """The module in a ``.pt`` or ``.pth`` file that ``torch.save`` wrote whole.

    Raises:
        ModelFileError: torch cannot read it; it holds parameters alone, or something else.
    """
    try:
        found = torch.load(path, map_location="cpu", weights_only=False)
    except Exception as error:  # unpickling runs arbitrary code, which raises anything
        raise damaged(path, error) from error
    if isinstance(found, torch.nn.Module):
        return found
    held = "parameters alone" if isinstance(found, dict) else f"a {type(found).__name__}"
    raise ModelFileError(
        f"{path}: holds {held}, no module. Build the module in Python, load_state_dict, and give "
        "the module to cfxc.compile, or save what torch.export.export gives (.pt2)"
    )


def damaged(path: Path, error: Exception) -> ModelFileError:
    """What is raised of a file that torch cannot read."""
    said = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
    return ModelFileError(f"{path}: torch cannot read it, it is damaged or of another kind: {said}")

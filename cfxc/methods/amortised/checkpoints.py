"""Checkpoints of training: one safetensors file, numbers and names in its head as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from ...errors import InvalidInputError, ModelFileError
from ...writing import write_whole

FORMAT = "cfxc generator checkpoint 1"


def write_checkpoint(path: Path, identity: str, found: dict[str, Any]) -> None:
    """Write what training goes on from, whole or not at all.

    Raises:
        InvalidInputError: the file cannot be written.
    """
    tensors: dict[str, Tensor] = {}
    tree = _flatten({**found, "state": asdict(found["state"])}, "", tensors)
    head = {"format": FORMAT, "identity": identity, "tree": json.dumps(tree)}
    write_whole(path, save(tensors, metadata=head))


def read_checkpoint(path: Path, identity: str) -> dict[str, Any]:
    """What :func:`write_checkpoint` wrote.

    Raises:
        ModelFileError: it is no checkpoint, or cannot be read.
        InvalidInputError: it is of another training.
    """
    try:
        with safe_open(path, "pt") as file:
            head = file.metadata() or {}
            names = file.keys()  # it is no mapping: it cannot be iterated itself
            tensors = {name: file.get_tensor(name) for name in names}
    except (OSError, SafetensorError) as error:
        raise ModelFileError(f"{path}: no checkpoint that can be read: {error}") from error
    if head.get("format") != FORMAT:
        raise ModelFileError(f"{path}: not a checkpoint ({FORMAT!r})")
    if head.get("identity") != identity:
        raise InvalidInputError(
            f"{path}: a checkpoint of another model, other rows or settings; name another file, or "
            "delete this one"
        )
    found = _unflatten(json.loads(head["tree"]), tensors)
    assert isinstance(found, dict)
    return found


def _flatten(value: Any, name: str, tensors: dict[str, Tensor]) -> Any:
    """A tree of plain values; tensors are taken out and named by their place."""
    if isinstance(value, Tensor):
        tensors[name] = value.detach().clone().contiguous()
        return {"tensor": name}
    if isinstance(value, dict):
        pairs = [[k, _flatten(v, f"{name}/{k}", tensors)] for k, v in value.items()]
        return {"pairs": pairs}
    if isinstance(value, list | tuple):
        return {"items": [_flatten(v, f"{name}/{i}", tensors) for i, v in enumerate(value)]}
    if value is None or isinstance(value, bool | int | float | str):
        return {"plain": value}
    raise TypeError(f"{name}: a checkpoint holds no {type(value).__name__}")


def _unflatten(tree: Any, tensors: dict[str, torch.Tensor]) -> Any:
    ((kind, value),) = tree.items()
    if kind == "tensor":
        return tensors[value]
    if kind == "pairs":
        return {k: _unflatten(v, tensors) for k, v in value}
    if kind == "items":
        return [_unflatten(each, tensors) for each in value]
    return value


__all__ = ["read_checkpoint", "write_checkpoint"]

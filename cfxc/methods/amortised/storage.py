"""A trained generator on disk: ``generator.json`` and ``weights.safetensors``, and no pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from ...errors import CfxcError, InvalidInputError, ModelFileError
from ...space import FeatureSpace
from ...writing import make_folder, write_together
from .levels import Levels
from .sampling import Weights
from .settings import Settings

FORMAT, VERSION = "cfxc generator", 1
HEAD, WEIGHTS = "generator.json", "weights.safetensors"


@dataclass(frozen=True)
class Stored:
    """All that a trained generator is, apart from its model.

    Attributes:
        program: The digest of the program that it was trained for.
        targets: Positions of the labels that it was trained for.
        gradient: How it was trained.
        losses: After each epoch, on the rows held out.
        rows: How many it was trained on.
    """

    program: str
    space: FeatureSpace
    levels: Levels
    settings: Settings
    targets: tuple[int, ...]
    gradient: str
    losses: tuple[float, ...]
    rows: int
    weights: Weights


def write(folder: Path, stored: Stored) -> None:
    """Write both files, each whole or not at all.

    Raises:
        InvalidInputError: they cannot be written.
    """
    weights = save(dict(stored.weights))
    head = {
        "format": FORMAT,
        "version": VERSION,
        "program": stored.program,
        "weights": sha256(weights).hexdigest(),
        "space": stored.space.to_toml(),
        "levels": stored.levels.to_dict(),
        "settings": asdict(stored.settings),
        "targets": list(stored.targets),
        "gradient": stored.gradient,
        "losses": list(stored.losses),
        "rows": stored.rows,
    }
    make_folder(folder)
    text = json.dumps(head, ensure_ascii=False, indent=1)
    write_together({folder / WEIGHTS: weights, folder / HEAD: text})


_FIELDS: Mapping[str, type] = {
    "format": str, "version": int, "program": str, "weights": str, "space": str, "levels": list,
    "settings": dict, "targets": list, "gradient": str, "losses": list, "rows": int,
}  # fmt: skip


def read(folder: Path, program: str, classes: int) -> Stored:
    """What :func:`write` wrote, for a program of that digest and so many classes.

    Raises:
        ModelFileError: files are missing, damaged, of another version, or do not fit together.
        InvalidInputError: the generator was trained for another model.
    """
    where = str(folder / HEAD)
    head = _head(folder / HEAD)
    if head["program"] != program:
        raise InvalidInputError(
            f"{where}: this generator was trained for another model; compile the one that it was "
            "trained for, or fit a new one"
        )
    try:
        space = FeatureSpace.from_toml(head["space"])
        settings = _settings(head["settings"], where)
    except CfxcError as error:
        raise ModelFileError(f"{where}: {error}") from error
    levels = Levels.from_dict(space, head["levels"], where)
    targets = head["targets"]
    if not targets or any(type(t) is not int or not 0 <= t < classes for t in targets):
        raise ModelFileError(f"{where}: targets are positions of the model's {classes} labels")
    if any(type(each) not in (int, float) for each in head["losses"]):
        raise ModelFileError(f"{where}: losses are numbers")
    weights = _weights(folder / WEIGHTS, head["weights"])
    _check_shapes(weights, levels, classes, settings, str(folder / WEIGHTS))
    return Stored(
        program, space, levels, settings, tuple(targets), head["gradient"], tuple(head["losses"]),
        head["rows"], weights,
    )  # fmt: skip


def _head(path: Path) -> dict[str, Any]:
    """The checked fields of the JSON file."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _unread(path, error) from error
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{path}: not JSON that can be read: {error}") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ModelFileError(f"{path}: not a generator ({FORMAT!r})")
    if found.get("version") != VERSION:
        raise ModelFileError(
            f"{path}: a generator of version {found.get('version')!r}, and this cfxc reads version "
            f"{VERSION}; fit it again"
        )
    odd = sorted(set(found) ^ set(_FIELDS))
    if odd:
        raise ModelFileError(f"{path}: fields unknown or missing: {', '.join(odd[:7])}")
    for name, kind in _FIELDS.items():
        if type(found[name]) is not kind:
            raise ModelFileError(f"{path}: {name} is no {kind.__name__}")
    return found


def _unread(path: Path, error: OSError) -> ModelFileError:
    why = error.strerror or error
    return ModelFileError(f"{path}: cannot read: {why}; name the folder that generate fit wrote")


def _settings(found: dict[str, Any], where: str) -> Settings:
    known = {field.name for field in fields(Settings)}
    if set(found) != known:
        odd = sorted(set(found) ^ known)
        raise ModelFileError(f"{where}: settings unknown or missing: {', '.join(odd[:7])}")
    return Settings(**found)


def _weights(path: Path, digest: str) -> Weights:
    try:
        content = path.read_bytes()
        if sha256(content).hexdigest() != digest:
            raise ModelFileError(f"{path}: not the weights that {HEAD} was written with")
        return dict(load(content))
    except OSError as error:
        raise _unread(path, error) from error
    except SafetensorError as error:
        raise ModelFileError(f"{path}: no safetensors: {error}") from error


def _check_shapes(
    weights: Weights, levels: Levels, classes: int, settings: Settings, where: str
) -> None:
    """The weights are those of networks with these levels and settings, and finite."""
    expected = shapes(levels, classes, settings)
    found = {name: value.shape for name, value in weights.items()}
    finite = all(value.dtype == np.float32 and np.isfinite(value).all()
                 for value in weights.values())  # fmt: skip
    if found != expected or not finite:
        raise ModelFileError(f"{where}: weights of other networks than {HEAD} describes")


def shapes(levels: Levels, classes: int, settings: Settings) -> dict[str, tuple[int, ...]]:
    """The shape of each weight of the networks."""
    free = [len(levels.features[j]) for j in levels.free.tolist()]
    ends = {"generator": sum(free)} | ({"selector": len(free)} if settings.selector else {})
    found: dict[str, tuple[int, ...]] = {}
    for name, end in ends.items():
        inputs = levels.width + classes
        for layer, units in enumerate((*settings.hidden, end)):
            found[f"{name}.{2 * layer}.weight"] = (units, inputs)
            found[f"{name}.{2 * layer}.bias"] = (units,)
            inputs = units
    return found

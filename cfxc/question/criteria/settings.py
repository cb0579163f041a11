"""A file and settings, as ``question.toml`` and the command line write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import InvalidInputError
from ...frontends.csv_files import number, truth
from ...frontends.row_files import once


def settings_of(
    value: Any, kind: str, file: str, names: Sequence[str]
) -> tuple[str, dict[str, Any]]:
    """The file of a criterion and its settings: a table, or ``data.csv,epsilon=0.1`` as text.

    ``kind``: the criterion, ``file``: what the table calls its file, ``names``: of settings.

    Raises:
        InvalidInputError: another setting, one given twice, or no file.
    """
    if isinstance(value, str):
        path, *parts = value.split(",")
        pairs = [part.partition("=") for part in parts]
        value = once([(name.strip(), _figure(text.strip())) for name, _, text in pairs])
        value = {**value, file: path.strip()}
    if not isinstance(value, Mapping) or not isinstance(value.get(file), str):
        raise InvalidInputError(f"{kind}: a table with {file} = 'file', not {value!r}")
    settings = {name: each for name, each in value.items() if name != file}
    for name in settings:
        if name not in names:
            known = ", ".join(f"{each}=…" for each in names)
            raise InvalidInputError(f"{kind}: '{name}' is none of {known}")
    return value[file], settings


def _figure(text: str) -> Any:
    """A whole number, a number, a truth value, or the text itself."""
    for read in (number, truth):
        if (found := read(text)) is not None:
            return found
    return text


__all__ = ["settings_of"]

"""Naming things in messages: what was meant by a misspelt name, and lists that stay short."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import DataTypeError, InvalidInputError

_SHOWN = 8
_CUTOFF = (
    0.6  # difflib's own default similarity for "close"; it decides only what a message suggests
)


def shown(values: Iterable[object], limit: int = _SHOWN) -> str:
    """The values as text, comma-separated, at most ``limit`` of them."""
    listed = [repr(value) for value in values]
    more = f", … and {len(listed) - limit} more" if len(listed) > limit else ""
    return ", ".join(listed[:limit]) + more


def nearest(name: object, known: Iterable[object]) -> list[object]:
    """The known names spelt most like ``name``, at most three, best first."""
    by_text = {str(value).casefold(): value for value in known}
    close = difflib.get_close_matches(str(name).casefold(), list(by_text), n=3, cutoff=_CUTOFF)
    return [by_text[text] for text in close]


def suggestion(name: object, known: Iterable[object]) -> str:
    """`` (nearest: 'age')`` if a known name is spelt like ``name``, else the known names."""
    known = list(known)
    if close := nearest(name, known):
        return f" (nearest: {shown(close)})"
    return f" (known: {shown(known)})" if known else ""


def one_of(value: str, allowed: Iterable[str], what: str) -> None:
    """Refuse ``value`` unless it is one of ``allowed``.

    Raises:
        InvalidInputError: naming the allowed values.
    """
    allowed = list(allowed)
    if value not in allowed:
        raise InvalidInputError(
            f"{what} {value!r} is unknown{suggestion(value, allowed)}; "
            f"choose one of {shown(allowed)}"
        )


def listed(values: object, what: str, example: str) -> tuple[Any, ...]:
    """The members of a list.

    Raises:
        DataTypeError: ``values`` is no list; ``what`` it is and an ``example`` of members say so.
    """
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise DataTypeError(f"{what}: expected a list such as [{example}], not {values!r}")
    return tuple(values)


def names_in(values: object, what: str, example: str) -> tuple[str, ...]:
    """The names of a list; a single text is one name, not its letters.

    Raises:
        DataTypeError: neither a text nor a list of texts.
    """
    if isinstance(values, str):
        return (values,)
    names = listed(values, what, example)
    for name in names:
        if not isinstance(name, str):
            raise DataTypeError(f"{what}: expected texts such as [{example}], not {name!r}")
    return names


def by_name(values: object, what: str, example: str) -> dict[str, Any]:
    """A mapping by column; nothing if there is none.

    Raises:
        DataTypeError: no mapping.
    """
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise DataTypeError(
            f"{what}: expected a mapping by column such as {{{example}}}, not {values!r}"
        )
    return dict(values)

"""Naming things in messages: what was meant by a misspelt name, and lists that stay short."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

from ..errors import DataTypeError, InvalidInputError
from ..suffixes import same_kind

F = TypeVar("F", bound=Callable[..., Any])
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


def meant(name: object, known: Iterable[object]) -> str:
    """`` (nearest: 'age')`` if a known name is spelt like ``name``, else nothing."""
    close = nearest(name, known)
    return f" (nearest: {shown(close)})" if close else ""


def renamed(missing: Iterable[str], unknown: Iterable[object]) -> str:
    """``; rename 'Age' to 'age'`` for every missing name that an unknown one is spelt like.

    Nothing if these are less than half.
    """
    names, left, pairs = list(missing), list(unknown), list[str]()
    for name in names:
        for close in nearest(name, left)[:1]:
            left.remove(close)
            pairs.append(f"{close!r} to {name!r}")
    few = 2 * len(pairs) < len(names)  # then it is another table, with some names alike
    return f"; rename {', '.join(pairs)}" if pairs and not few else ""


def suggestion(name: object, known: Iterable[object]) -> str:
    """`` (nearest: 'age')`` if a known name is spelt like ``name``, else the known names."""
    known = list(known)
    return meant(name, known) or (f" (known: {shown(known)})" if known else "")


def one_of(value: str, allowed: Iterable[str], what: str) -> None:
    """Refuse ``value`` unless it is one of ``allowed``.

    Raises:
        InvalidInputError: naming the allowed values.
    """
    allowed = list(allowed)
    if value not in allowed:
        raise InvalidInputError(
            f"{what} {value!r} is unknown{meant(value, allowed)}; choose one of {shown(allowed)}"
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


def unreadable(path: str | Path, what: str, why: object, remedy: str) -> str:
    """The message about a file that cannot be read: which is nearest, where there is none.

    ``why``: a text, or the error that opening it raised.
    """
    said = getattr(why, "strerror", None) or why
    return f"{path}: cannot read {what}: {said}{_near_file(path)}; {remedy}"


def read_text(path: Path, what: str, remedy: str) -> str:
    """The text of a file in UTF-8, a byte order mark or not.

    Raises:
        InvalidInputError: it cannot be read.
    """
    try:
        return path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        why = error if isinstance(error, OSError) else "not UTF-8 text"
        raise InvalidInputError(unreadable(path, what, why, remedy)) from error


def _near_file(path: str | Path) -> str:
    """`` (nearest: 'tree.onnx')`` if a file beside it is spelt like one that is missing.

    Both the name and its suffix are: a file of another kind is not meant.
    """
    place = Path(path)
    try:
        if place.exists() or not place.parent.is_dir():
            return ""
        beside = [one.name for one in sorted(place.parent.iterdir()) if one.is_file()]
    except (OSError, ValueError):  # what may not be looked at, or is no name
        return ""
    longer = [name for name in beside if name.startswith(f"{place.name}.")]  # .gz, left out
    meant = [name for name in beside if _alike(place, Path(name))]
    close = longer or nearest(place.name, meant)
    return f" (nearest: {str(place.with_name(str(close[0])))!r})" if close else ""


def _alike(place: Path, other: Path) -> bool:
    """Whether names are spelt alike, and suffixes too, or are of one kind."""
    suffix, found = place.suffix.lower(), other.suffix.lower()
    same = same_kind(suffix, found)
    if same is None:
        same = bool(nearest(suffix, [found]))
    return same and bool(nearest(place.stem, [other.stem]))


MORE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def names_arguments(function: F) -> F:
    """A function that names arguments which it lacks or has not; or a class whose constructor does.

    Raises:
        DataTypeError: on a call with other arguments than it takes.
    """
    if isinstance(function, type):
        setattr(function, "__init__", names_arguments(vars(function)["__init__"]))  # noqa: B010
        return function
    signature = inspect.signature(function)
    kinds = {name: each.kind for name, each in signature.parameters.items()}
    takes = [n for n, k in kinds.items() if n not in ("self", "cls") and k not in MORE]
    takes_more = inspect.Parameter.VAR_KEYWORD in kinds.values()

    @functools.wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        try:
            signature.bind(*given, **named)
        except TypeError as error:
            what = function.__qualname__.removesuffix(".__init__")
            odd = [name for name in named if name not in takes and not takes_more]
            said = f"no argument {odd[0]!r}{meant(odd[0], takes)}" if odd else str(error)
            raise DataTypeError(f"{what}: {said}; it takes {', '.join(takes)}") from None
        return function(*given, **named)

    return cast(F, call)

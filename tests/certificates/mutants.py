"""Every way to change a certificate that could matter."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from cfxc.certificates import checker as check

F = Fraction
TEXTS = (
    "NaN", "Infinity", "-Infinity", "1e9", "1e999999", "1/0", "0x1p99999", "", "9" * 5000, "0.5",
)  # fmt: skip
OTHERS = (None, True, -1, 10**30, [], {}, [[]], "x")


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where everything in a certificate is."""
    yield path
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from paths(each, (*path, key))


def at(content: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        content = content[key]
    return content


def with_value(content: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy with another value at a place."""
    if not path:
        return value
    made = copy.copy(content)
    made[path[0]] = with_value(content[path[0]], path[1:], value)
    return made


def variants(value: Any) -> Iterator[Any]:
    """Other values for one place."""
    if isinstance(value, str):
        yield from _texts(value)
        yield from OTHERS[:6]
    elif isinstance(value, bool) or value is None:
        yield from ("0", 1, [], {}, "free")
    elif isinstance(value, int):
        yield from (value + 1, value - 1, 0, -1, 10**9)
        yield from (str(value), float(value), None, True, [value])
    elif isinstance(value, list):
        yield from OTHERS[:6]
        for i in range(len(value)):
            yield value[:i] + value[i + 1 :]
        for i in range(min(len(value), 6)):
            yield value[: i + 1] + value[i:]
            yield value[:i] + value[i : i + 2][::-1] + value[i + 2 :]
        yield [*value, value]
    else:
        yield from OTHERS[:4]
        for key in value:
            rest = {name: each for name, each in value.items() if name != key}
            yield from (rest, {**rest, key + "_": value[key]})
        yield {**value, "more": 1}


def _texts(value: str) -> Iterator[str]:
    try:
        number = check.number(value)
    except check.Rejected:
        yield from ("", value + " ", value.upper(), value[::-1], *TEXTS[:3])
        return
    nudge = F(1, 10**9)
    near = (number + nudge, number - nudge, number + 1, number - 1, -number, number * 2)
    others = (*near, number / 2, F(0), F(1), F(1, 3))
    yield from (str(each) for each in others if each != number)
    yield from TEXTS


def rehashed(content: Any) -> Any:
    """The same with the hash that it should have."""
    if not isinstance(content, dict):
        return content
    kept = {name: value for name, value in content.items() if name != "hash"}
    try:
        body = json.dumps(kept, sort_keys=True, separators=(",", ":")).encode()
    except (TypeError, ValueError):
        return content
    return {**kept, "hash": hashlib.sha256(body).hexdigest()} if "hash" in content else kept


def mutants(content: dict[str, Any]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Certificates that differ in one place; their hash fits."""
    for path in paths(content):
        if path[:1] in (("made",), ("space",), ("model",)):
            continue  # says who made it, and of what: nothing follows from it
        for value in variants(at(content, path)):
            yield path, rehashed(with_value(content, path, value))


def crossed(one: dict[str, Any], other: dict[str, Any]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Parts of one certificate in another."""
    for path in list(paths(one)):
        try:
            value = at(other, path)
        except (KeyError, IndexError, TypeError):
            continue
        if path and value != at(one, path):
            yield path, rehashed(with_value(one, path, value))


__all__ = ["crossed", "mutants", "rehashed"]

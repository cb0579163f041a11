"""UBJSON, the binary JSON of XGBoost's ``.ubj`` files, read without trusting any length in it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..forest import DamagedModelError

NUMBERS = {
    b"i": ">i1",
    b"U": ">u1",
    b"I": ">i2",
    b"l": ">i4",
    b"L": ">i8",
    b"d": ">f4",
    b"D": ">f8",
}
CONSTANTS = {b"Z": None, b"T": True, b"F": False}
DEEPEST = 64


def parse_ubjson(content: bytes) -> Any:
    """The value in ``content``: dicts, lists, text, numbers; typed arrays as NumPy arrays."""
    return _Reader(content).value(0)


def write_ubjson(value: Any) -> bytes:
    """A value as XGBoost writes it: dicts, lists, text, integers and NumPy arrays."""
    if isinstance(value, str):
        return b"S" + _text(value)
    if isinstance(value, int):
        return b"L" + value.to_bytes(8, "big", signed=True)
    if isinstance(value, np.float32):
        return b"d" + np.array(value, dtype=">f4").tobytes()
    if isinstance(value, np.ndarray):
        marker = next(key for key, dtype in NUMBERS.items() if dtype[1:] == value.dtype.str[1:])
        content = value.astype(NUMBERS[marker]).tobytes()
        return b"[$" + marker + b"#" + write_ubjson(int(value.size)) + content
    if isinstance(value, list):
        return b"[#" + write_ubjson(len(value)) + b"".join(map(write_ubjson, value))
    parts = (_text(key) + write_ubjson(part) for key, part in value.items())
    return b"{" + b"".join(parts) + b"}"


def _text(value: str) -> bytes:
    content = value.encode("utf-8")
    return write_ubjson(len(content)) + content


class _Reader:
    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def take(self, count: int) -> bytes:
        if count < 0 or count > len(self.content) - self.at:
            raise DamagedModelError("it ends in the middle")
        self.at += count
        return self.content[self.at - count : self.at]

    def peek(self) -> bytes:
        return self.content[self.at : self.at + 1]

    def value(self, depth: int) -> Any:
        return self._value(self.take(1), depth)

    def _value(self, marker: bytes, depth: int) -> Any:
        if depth > DEEPEST:
            raise DamagedModelError("it is nested too deeply")
        if marker in NUMBERS:
            return self._numbers(marker, 1)[0].item()
        if marker in CONSTANTS:
            return CONSTANTS[marker]
        if marker in (b"S", b"C"):
            return self._text(1 if marker == b"C" else self._length())
        if marker == b"[":
            return self._array(depth)
        if marker == b"{":
            return self._object(depth)
        raise DamagedModelError("it has an unknown kind of value")

    def _numbers(self, marker: bytes, count: int) -> Any:
        dtype = np.dtype(NUMBERS[marker])
        held = np.frombuffer(self.take(count * dtype.itemsize), dtype)
        return held.astype(dtype.newbyteorder("="))

    def _length(self) -> int:
        marker = self.take(1)
        if marker not in (b"i", b"U", b"I", b"l", b"L"):
            raise DamagedModelError("a length in it is no number")
        return int(self._numbers(marker, 1)[0])

    def _text(self, count: int) -> str:
        try:
            return self.take(count).decode("utf-8")
        except UnicodeDecodeError as error:
            raise DamagedModelError("a text in it is no UTF-8") from error

    def _array(self, depth: int) -> Any:
        kind = b""
        if self.peek() == b"$":
            self.take(1)
            kind = self.take(1)
        if self.peek() == b"#":
            self.take(1)
            count = self._length()
            if kind in NUMBERS:
                return self._numbers(kind, count)
            if kind or count > len(self.content):
                raise DamagedModelError("an array in it has no sound type or length")
            return [self.value(depth + 1) for _ in range(count)]
        items = []
        while (marker := self.take(1)) != b"]":
            items.append(self._value(marker, depth + 1))
        return items

    def _object(self, depth: int) -> dict[str, Any]:
        made = {}
        while self.peek() != b"}":
            key = self._text(self._length())
            made[key] = self.value(depth + 1)
        self.take(1)
        return made

"""A reader of FlatBuffers: every offset is checked, and no more is read than a file can hold."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ....arrays import Array
from ..forest import DamagedModelError

MOST_READ = 64  # how often its size may be read of a buffer whose parts overlap


class Buffer:
    """The bytes, and how many may still be read."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.left = MOST_READ * (len(content) + 64)

    def part(self, at: int, size: int) -> bytes:
        """So many bytes from a place on."""
        self.left -= size + 8
        if at < 0 or size < 0 or at + size > len(self.content) or self.left < 0:
            raise DamagedModelError("it ends in the middle, or leads outside of itself")
        return self.content[at : at + size]

    def number(self, at: int, kind: str) -> Any:
        """A number of one of the kinds of ``struct``."""
        return struct.unpack("<" + kind, self.part(at, struct.calcsize("<" + kind)))[0]

    def behind(self, at: int) -> int:
        """Where the offset at a place leads."""
        return at + int(self.number(at, "I"))


@dataclass(frozen=True)
class Table:
    """A table of fields, by their number; those that are not there have a default."""

    buffer: Buffer
    at: int

    def _field(self, number: int) -> int:
        fields = self.at - int(self.buffer.number(self.at, "i"))
        size = int(self.buffer.number(fields, "H"))
        place = 4 + 2 * number
        offset = int(self.buffer.number(fields + place, "H")) if place + 2 <= size else 0
        return self.at + offset if offset else 0

    def number(self, field: int, kind: str, default: Any = 0) -> Any:
        """A number."""
        at = self._field(field)
        return self.buffer.number(at, kind) if at else default

    def array(self, field: int, dtype: npt.DTypeLike) -> Array:
        """A vector of numbers, or of structures."""
        at = self._field(field)
        if not at:
            return np.zeros(0, dtype=dtype)
        start = self.buffer.behind(at)
        kind = np.dtype(dtype)
        count = int(self.buffer.number(start, "I"))
        return np.frombuffer(self.buffer.part(start + 4, count * kind.itemsize), dtype=kind)

    def text(self, field: int) -> str:
        """Text; empty if there is none."""
        return bytes(self.array(field, "u1")).decode("utf-8")

    def table(self, field: int) -> Table:
        """A table inside."""
        at = self._field(field)
        if not at:
            raise DamagedModelError("a part of it is missing")
        return Table(self.buffer, self.buffer.behind(at))

    def _ends(self, field: int) -> list[int]:
        at = self._field(field)
        if not at:
            return []
        start = self.buffer.behind(at)
        count = int(self.buffer.number(start, "I"))
        self.buffer.part(start + 4, 4 * count)
        return [self.buffer.behind(start + 4 + 4 * place) for place in range(count)]

    def tables(self, field: int) -> list[Table]:
        """A vector of tables."""
        return [Table(self.buffer, at) for at in self._ends(field)]

    def texts(self, field: int) -> list[str]:
        """A vector of texts."""
        sized = [(at, int(self.buffer.number(at, "I"))) for at in self._ends(field)]
        return [self.buffer.part(at + 4, size).decode("utf-8") for at, size in sized]


def root(content: bytes) -> Table:
    """The outermost table of a buffer."""
    buffer = Buffer(content)
    return Table(buffer, buffer.behind(0))

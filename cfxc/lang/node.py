"""What all nodes of the syntax share: positions, equality, text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import Final

_COMPARED: Final[dict[type, tuple[str, ...]]] = {}


def _compared(kind: type[Node]) -> tuple[str, ...]:
    """Return the fields that make a node what it is: all but positions."""
    if kind not in _COMPARED:
        _COMPARED[kind] = tuple(each.name for each in fields(kind) if each.compare)
    return _COMPARED[kind]


_END: Final = object()


def _stream(root: Node) -> Iterator[object]:
    """Yield types, tuple lengths and leaves in pre-order: equal streams are equal trees."""
    stack: list[object] = [root]
    while stack:
        item = stack.pop()
        if isinstance(item, Node):
            yield type(item)
            stack.extend(getattr(item, name) for name in reversed(_compared(type(item))))
        elif isinstance(item, tuple):
            yield len(item)
            stack.extend(reversed(item))
        else:
            yield item
    yield _END


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Node:
    """Root of all nodes; equality and hash are structural and ignore positions."""

    line: int = field(default=0, kw_only=True, compare=False)
    column: int = field(default=0, kw_only=True, compare=False)

    @property
    def place(self) -> dict[str, int]:
        """The position, as the keywords that put another node there."""
        return {"line": self.line, "column": self.column}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Node):
            return NotImplemented
        if self is other:
            return True
        return all(a == b for a, b in zip(_stream(self), _stream(other), strict=False))

    def __hash__(self) -> int:
        return hash(tuple(_stream(self)))

    def __repr__(self) -> str:
        pieces: list[str] = []
        stack: list[tuple[bool, object]] = [(False, self)]
        while stack:
            written, item = stack.pop()
            if written:
                pieces.append(str(item))
            elif isinstance(item, Node):
                values = [getattr(item, name) for name in _compared(type(item))]
                stack.extend(_bracketed(f"{type(item).__name__}(", values, ")"))
            elif isinstance(item, tuple):
                stack.extend(_bracketed("(", item, ",)" if len(item) == 1 else ")"))
            else:
                pieces.append(repr(item))
        return "".join(pieces)


def _bracketed(opening: str, items: Iterable[object], closing: str) -> list[tuple[bool, object]]:
    parts: list[tuple[bool, object]] = [(True, opening)]
    for number, item in enumerate(items):
        if number:
            parts.append((True, ", "))
        parts.append((False, item))
    parts.append((True, closing))
    parts.reverse()
    return parts

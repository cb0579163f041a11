"""Infix text with line breaks: nodes of any depth, laid out iteratively.

A node is a sequence of pieces: plain text, possible line breaks and other nodes.  It stands on one
line if it fits, else all its ``BREAK`` become line breaks (and its ``FILL`` those that must).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LINE_WIDTH = 98
_DEEPEST = 48  # indentation stops here: a chain of n nested formulae prints in O(n)


class Node:
    """An expression: ``level`` is how tightly its outermost operator binds.

    Attributes:
        pieces: Its parts in order.
        name: Set if the node is printed once, elsewhere, and stands here by this name.
        width: Length of its text on one line.
    """

    __slots__ = ("level", "name", "pieces", "width")

    def __init__(self, level: int, pieces: Sequence[Piece]) -> None:
        self.level, self.pieces, self.name = level, tuple(pieces), ""
        self.measure()

    def measure(self) -> None:
        """Compute ``width`` from the pieces, whose widths are known."""
        self.width = sum(piece.width for piece in self.pieces)

    def children(self) -> list[Node]:
        """The nodes among the pieces."""
        return [piece.node for piece in self.pieces if isinstance(piece, Child)]


@dataclass(frozen=True, slots=True)
class Text:
    """Literal text."""

    text: str

    @property
    def width(self) -> int:
        return len(self.text)


@dataclass(frozen=True, slots=True)
class Break:
    """A blank or a new line, then ``text``; with ``fill`` a new line only for lack of room."""

    text: str
    fill: bool = False

    @property
    def width(self) -> int:
        return len(self.text) + 1


@dataclass(frozen=True, slots=True)
class Child:
    """A node, in parentheses unless it binds at least as tightly as ``level``."""

    node: Node
    level: int

    @property
    def bare(self) -> bool:
        return bool(self.node.name) or self.node.level >= self.level

    @property
    def width(self) -> int:
        inner = len(self.node.name) if self.node.name else self.node.width
        return inner + (0 if self.bare else 2)


Piece = Text | Break | Child


def lay_out(part: Node | Child, column: int = 0) -> str:
    """The text of a part that starts at ``column``, over as many lines as it takes.

    A node is spelt out even if it has a name; a child is written as it stands in its parent.
    """
    return _Printer(column).run(part)


class _Printer:
    def __init__(self, column: int) -> None:
        self.lines: list[str] = []
        self.parts: list[str] = []
        self.column = column
        self.stack: list[tuple[Piece, bool, int]] = []

    def run(self, part: Node | Child) -> str:
        if isinstance(part, Node):
            self._open(part)
        else:
            self._child(part)
        while self.stack:
            piece, broken, indent = self.stack.pop()
            if isinstance(piece, Text):
                self._write(piece.text)
            elif isinstance(piece, Break):
                self._break(piece, broken, indent)
            else:
                self._child(piece)
        self._end_line()
        return "\n".join(self.lines)

    def _open(self, node: Node) -> None:
        broken = self.column + node.width > LINE_WIDTH
        indent = min(self.column, _DEEPEST)
        self.stack.extend((piece, broken, indent) for piece in reversed(node.pieces))

    def _child(self, child: Child) -> None:
        if child.node.name:
            self._write(child.node.name)
        elif child.bare:
            self._open(child.node)
        else:
            self._write("(")
            self.stack.append((Text(")"), False, 0))
            self._open(child.node)

    def _break(self, piece: Break, broken: bool, indent: int) -> None:
        following = self.stack[-1][0].width if self.stack else 0
        fits = self.column + piece.width + following <= LINE_WIDTH
        if not broken or (piece.fill and fits):
            self._write(" " + piece.text)
            return
        self._end_line()
        self._write(" " * indent + piece.text)

    def _write(self, text: str) -> None:
        self.parts.append(text)
        self.column += len(text)

    def _end_line(self) -> None:
        self.lines.append("".join(self.parts))
        self.parts, self.column = [], 0


def name_shared(root: Node, smallest: int, prefix: str) -> list[Node]:
    """Name the nodes below ``root`` that are used more than once and at least ``smallest`` wide.

    Returns them, each after those that it uses; the root itself is never named.
    """
    order, uses = _postorder(root)
    named: list[Node] = []
    for node in order:
        node.measure()
        if node is not root and uses[node] > 1 and node.width >= smallest:
            named.append(node)
            node.name = f"{prefix}{len(named)}"
    return named


def _postorder(root: Node) -> tuple[list[Node], dict[Node, int]]:
    """Every node once, children first; and how often each is used."""
    order: list[Node] = []
    uses: dict[Node, int] = {}
    stack = [(root, False)]
    while stack:
        node, expanded = stack.pop()
        if expanded:
            order.append(node)
        elif node not in uses:
            uses.setdefault(node, 0)
            stack.append((node, True))
            stack.extend((child, False) for child in node.children() if child not in uses)
    for node in order:
        for child in node.children():
            uses[child] += 1
    return order, uses

"""Syntax tree of the core language to text, in one canonical layout.

Parsing the text gives an equal tree back, for every tree.  A decision tree reads as nested ifs with
returns, a network as assignments (Karimi et al., 2020, figures 2b and 3b).  Parentheses are as few
as possible.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Final

from .ast import (
    RELATIONS,
    ArraySort,
    Assign,
    Binary,
    Boolean,
    Call,
    CategorySort,
    Command,
    Expr,
    For,
    If,
    Index,
    Label,
    Member,
    Missing,
    Name,
    Number,
    Program,
    Return,
    ScalarSort,
    Sequence,
    Skip,
    Sort,
    Unary,
)
from .literals import quote, write_name, write_number
from .walk import run

#: A line is broken before an operator if it is wider, its indentation not counted.
LINE_WIDTH: Final = 92
#: An ``if`` or ``for`` over simple commands stands on one line up to this width.
SHORT_WIDTH: Final = 80

# Where a line may be broken; quoted texts never contain it.
_BREAK: Final = "\n"

_IMPLIES, _OR, _AND, _COMPARE, _SUM, _PRODUCT, _UNARY = range(7)
_LEVELS: Final[dict[str, int]] = {
    "->": _IMPLIES,
    "<->": _IMPLIES,
    "||": _OR,
    "&&": _AND,
    **dict.fromkeys(RELATIONS, _COMPARE),
    "+": _SUM,
    "-": _SUM,
    "*": _PRODUCT,
    "/": _PRODUCT,
}


def print_program(program: Program) -> str:
    """Return the text of ``program``, ending in a newline."""
    writer = _Writer()
    if program.name is None:
        run(writer.command(program.body, 0))
        return writer.text()
    parameters = [f"{write_name(each.name)}: {_sort(each.sort)}" for each in program.parameters]
    writer.fill(f"program {write_name(program.name)}(" + f",{_BREAK}".join(parameters) + ") {", 0)
    run(writer.block(program.body, 0))
    return writer.text()


def print_expression(expression: Expr) -> str:
    """Return the text of ``expression`` on one line."""
    return _expression(expression).replace(_BREAK, " ")


def _sort(sort: Sort) -> str:
    if isinstance(sort, ScalarSort):
        return sort.kind
    if isinstance(sort, ArraySort):
        return f"{sort.element.kind}[{print_expression(sort.length)}]"
    assert isinstance(sort, CategorySort)
    return f"Category{{{', '.join(map(print_expression, sort.labels))}}}"


# -- expressions ---------------------------------------------------------------------------------


def _expression(root: Expr) -> str:
    """Return the text of ``root`` with :data:`_BREAK` for each space where a line may be broken."""
    pieces: list[str] = []
    # Texts to write and expressions to write at a level or tighter, the next one last.
    stack: list[str | tuple[Expr, int]] = [(root, _IMPLIES)]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            pieces.append(item)
            continue
        node, level = item
        if _level(node) < level:
            stack.extend((")", (node, _IMPLIES), "("))
        else:
            stack.extend(reversed(_parts(node)))
    return "".join(pieces)


def _level(node: Expr) -> int:
    if isinstance(node, Binary):
        return _LEVELS[node.operator]
    if isinstance(node, Member):
        return _COMPARE
    return _UNARY


def _parts(node: Expr) -> list[str | tuple[Expr, int]]:
    if isinstance(node, Binary):
        return _binary(node)
    if isinstance(node, Unary):
        return [node.operator, (node.operand, _UNARY)]
    if isinstance(node, Member):
        return [(node.operand, _SUM), " in {", *_listed(node.items), "}"]
    if isinstance(node, Call):
        return [node.function, "(", *_listed(node.arguments), ")"]
    if isinstance(node, Index):
        return [_leaf(node.base), "[", (node.index, _IMPLIES), "]"]
    return [_leaf(node)]


def _binary(node: Binary) -> list[str | tuple[Expr, int]]:
    level = _LEVELS[node.operator]
    before = " " if level in (_PRODUCT, _COMPARE) else _BREAK
    left = right = level + 1
    if node.operator == "->":
        right = _same(node.right, "->", level)
    elif node.operator == "<->":
        left = _same(node.left, "<->", level)
    elif level != _COMPARE:
        left = level
    return [(node.left, left), f"{before}{node.operator} ", (node.right, right)]


def _same(operand: Expr, operator: str, level: int) -> int:
    """Return the level for an operand that needs no parentheses if it has the same operator."""
    return level if isinstance(operand, Binary) and operand.operator == operator else level + 1


def _listed(items: tuple[Expr, ...]) -> list[str | tuple[Expr, int]]:
    parts: list[str | tuple[Expr, int]] = []
    for item in items:
        parts += [f",{_BREAK}", (item, _IMPLIES)]
    return parts[1:]


def _leaf(node: Expr) -> str:
    if isinstance(node, Number):
        return write_number(node.value)
    if isinstance(node, Name):
        return ".".join(write_name(part) for part in node.parts)
    if isinstance(node, Label):
        return quote(node.value, '"')
    if isinstance(node, Boolean):
        return "true" if node.value else "false"
    assert isinstance(node, Missing)
    return "none"


# -- commands ------------------------------------------------------------------------------------


def _simple(command: Command) -> str | None:
    """Return the text of a command that holds no other, None for one that does."""
    if isinstance(command, Assign):
        return f"{write_name(command.target)} := {_expression(command.value)}"
    if isinstance(command, Return):
        outputs = []
        for output in command.outputs:
            name = "" if output.name is None else f"{write_name(output.name)} = "
            outputs.append(name + _expression(output.value))
        return "return " + f",{_BREAK}".join(outputs)
    return "skip" if isinstance(command, Skip) else None


def _short(command: If | For) -> str | None:
    """Return ``command`` on one line if it holds simple commands only and is narrow enough."""
    first = _simple(command.then if isinstance(command, If) else command.body)
    if first is None:
        return None
    line = f"{_head(command)} {first}"
    if isinstance(command, If) and command.otherwise != Skip():
        second = _simple(command.otherwise)
        if second is None:
            return None
        line += f" else {second}"
    return line.replace(_BREAK, " ") if len(line) <= SHORT_WIDTH else None


def _head(command: If | For) -> str:
    if isinstance(command, If):
        return f"if {_expression(command.guard)} then"
    bounds = f"{_expression(command.first)}..{_expression(command.last)}"
    return f"for {write_name(command.variable)} = {bounds} do"


class _Writer:
    """Writes from left to right; a step leaves the line open behind its command."""

    def __init__(self) -> None:
        self.pieces: list[str] = []

    def text(self) -> str:
        return "".join(self.pieces) + "\n"

    def fill(self, text: str, depth: int) -> None:
        """Write ``text``, breaking the line where allowed and needed."""
        width = 0
        for number, chunk in enumerate(text.split(_BREAK)):
            if number and width + 1 + len(chunk) > LINE_WIDTH:
                self.newline(depth + 2)
                width = 4
            elif number:
                self.pieces.append(" ")
                width += 1
            self.pieces.append(chunk)
            width += len(chunk)

    def newline(self, depth: int) -> None:
        self.pieces.append("\n" + "  " * depth)

    def command(self, command: Command, depth: int) -> Generator[Any, Any, None]:
        if isinstance(command, Sequence):
            for number, each in enumerate(command.commands):
                if number:
                    self.pieces.append(";")
                    self.newline(depth)
                yield self.command(each, depth)
        elif isinstance(command, If | For):
            short = _short(command)
            if short is not None:
                self.pieces.append(short)
            elif isinstance(command, If):
                yield self._conditional(command, depth)
            else:
                self.fill(f"{_head(command)} {{", depth)
                yield self.block(command.body, depth)
        else:
            self.fill(_simple(command) or "", depth)

    def _conditional(self, command: If, depth: int) -> Generator[Any, Any, None]:
        self.fill(f"{_head(command)} {{", depth)
        yield self.block(command.then, depth)
        rest = command.otherwise
        while isinstance(rest, If):
            self.fill(f" else {_head(rest)} {{", depth)
            yield self.block(rest.then, depth)
            rest = rest.otherwise
        if not isinstance(rest, Skip):
            self.pieces.append(" else {")
            yield self.block(rest, depth)

    def block(self, body: Command, depth: int) -> Generator[Any, Any, None]:
        """Write the inside of braces and the closing one, the opening one being written."""
        self.newline(depth + 1)
        yield self.command(body, depth + 1)
        self.newline(depth)
        self.pieces.append("}")

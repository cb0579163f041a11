"""Statements, and bodies made of them: single assignments and structured ifs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal as Choice
from typing import Protocol

from .op import Op, Operand
from .sorts import Sort


@dataclass(frozen=True, slots=True)
class Let:
    """``name = op``; ``origin`` says where it came from (``forest.onnx: node 'Softmax_3'``)."""

    name: str
    op: Op
    origin: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True, eq=False)
class If:
    """Runs ``then`` if the scalar Boolean ``condition`` holds, else ``orelse``."""

    condition: Operand
    then: tuple[Statement, ...]
    orelse: tuple[Statement, ...]


Statement = Let | If
Event = tuple[Choice["let", "if", "else", "end"], Statement]


def walk(body: Iterable[Statement]) -> Iterator[Event]:
    """The body as a flat stream: ``let``; ``if`` (then branch) ``else`` (else branch) ``end``.

    Iterative, so any depth of nesting is fine.
    """
    stack: list[Iterator[Event]] = [(("let" if isinstance(s, Let) else "if", s) for s in body)]
    while stack:
        event = next(stack[-1], None)
        if event is None:
            stack.pop()
            continue
        tag, statement = event
        if tag == "if":
            assert isinstance(statement, If)
            stack.append(iter((("end", statement),)))
            stack.append(_events(statement.orelse))
            stack.append(iter((("else", statement),)))
            stack.append(_events(statement.then))
        yield event


def _events(body: Iterable[Statement]) -> Iterator[Event]:
    return (("let" if isinstance(s, Let) else "if", s) for s in body)


def rewrite(
    body: Iterable[Statement],
    let: Callable[[Let], Iterable[Statement]],
    condition: Callable[[Operand], Operand] = lambda operand: operand,
) -> tuple[Statement, ...]:
    """Rebuild a body bottom-up, replacing every ``Let`` by the statements ``let`` gives."""
    stack: list[list[Statement]] = [[]]
    for tag, statement in walk(body):
        if isinstance(statement, Let):
            stack[-1].extend(let(statement))
        elif tag in ("if", "else"):
            stack.append([])
        else:
            orelse, then = tuple(stack.pop()), tuple(stack.pop())
            stack[-1].append(If(condition(statement.condition), then, orelse))
    return tuple(stack.pop())


class Code(Protocol):
    """What printing and verifying read of a program."""

    @property
    def name(self) -> str: ...

    @property
    def inputs(self) -> tuple[tuple[str, Sort], ...]: ...

    @property
    def body(self) -> tuple[Statement, ...]: ...

    @property
    def outputs(self) -> tuple[tuple[str, Operand], ...]: ...

    @property
    def sorts(self) -> Mapping[str, Sort]:
        """The sort of every value."""


__all__ = ["Code", "Event", "If", "Let", "Statement", "rewrite", "walk"]

"""Statements, and bodies made of them: single assignments and structured ifs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar
from typing import Literal as Choice

from .op import Op, Operand
from .sorts import Sort

Value = TypeVar("Value")


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
    stack = [_events(body)]
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

    def events() -> Iterator[tuple[str, Any]]:
        for tag, statement in walk(body):
            if isinstance(statement, Let):
                yield from (("let", each) for each in let(statement))
            else:
                yield tag, condition(statement.condition) if tag == "end" else None

    return assemble(events())


def assemble(events: Iterable[tuple[str, Any]]) -> tuple[Statement, ...]:
    """The body of a stream as of :func:`walk`, of statements and, at each ``end``, a condition."""
    stack: list[list[Statement]] = [[]]
    for tag, item in events:
        if tag == "let":
            stack[-1].append(item)
        elif tag in ("if", "else"):
            stack.append([])
        else:
            orelse, then = tuple(stack.pop()), tuple(stack.pop())
            stack[-1].append(If(item, then, orelse))
    return tuple(stack.pop())


def run_merging(
    events: Iterable[tuple[Any, ...]],
    values: dict[str, Value],
    let: Callable[..., Value],
    merge: Callable[[str, Operand, Value, Value], Value],
) -> None:
    """Enter into ``values`` what every name is, where both branches of every if are run.

    ``let`` gives the value of an assignment, and gets what follows it in the event.  A name that
    both branches assign is ``merge(name, condition, then, orelse)`` from the end of the if on.
    """
    frames: list[dict[str, Value]] = [{}]
    for tag, statement, *more in events:
        if tag == "let":
            values[statement.name] = frames[-1][statement.name] = let(statement, *more)
        elif tag in ("if", "else"):
            frames.append({})
        else:
            orelse, then = frames.pop(), frames.pop()
            for name in [name for name in then if name in orelse]:
                value = merge(name, statement.condition, then[name], orelse[name])
                values[name] = frames[-1][name] = value


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

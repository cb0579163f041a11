"""Programs: typed inputs, a body of single assignments and structured ifs, named outputs.

Both levels of the IR are the same class.  Tensor-level bodies are straight lines of ``Let``;
core-level bodies use scalar ops and ``If``.  Single assignment is weak: the two branches of an
``If`` may assign the same name, and after it such a name is visible (no φ-nodes).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from .op import Literal, Op, Operand, format_operand
from .ops.structure import Identity
from .printer import print_program
from .sorts import Sort, format_name
from .statements import If, Let, Statement, assemble, rewrite, walk
from .verifier import infer_sorts

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Program:
    """A verified-on-demand IR program.

    ``inputs`` are ``(name, sort)`` pairs, ``outputs`` are ``(name, operand)`` pairs.  Equality and
    ``hash`` are those of the content (origins and the program's name aside).
    """

    name: str
    inputs: tuple[tuple[str, Sort], ...]
    body: tuple[Statement, ...]
    outputs: tuple[tuple[str, Operand], ...]

    @cached_property
    def sorts(self) -> Mapping[str, Sort]:
        """The sort of every value; raises ``VerificationError`` if the program is invalid."""
        return infer_sorts(self)

    @cached_property
    def output_sorts(self) -> Mapping[str, Sort]:
        return {name: self.sort_of(operand) for name, operand in self.outputs}

    def sort_of(self, operand: Operand) -> Sort:
        return operand.sort if isinstance(operand, Literal) else self.sorts[operand]

    def output(self, name: str) -> Operand:
        """The operand behind a named output; ``KeyError`` if there is none."""
        return dict(self.outputs)[name]

    def lets(self) -> Iterator[Let]:
        """Every assignment, in textual order."""
        return (s for _, s in walk(self.body) if isinstance(s, Let))

    @cached_property
    def definitions(self) -> Mapping[str, Op]:
        """The op behind each name that one assignment alone defines."""
        times = Counter(let.name for let in self.lets())
        return {let.name: let.op for let in self.lets() if times[let.name] == 1}

    def definition(self, operand: Operand) -> Op | None:
        """The op behind an operand; ``None`` of literals, inputs, and what both branches assign."""
        return self.definitions.get(operand) if isinstance(operand, str) else None

    def arguments(self, scope: Mapping[str, T]) -> dict[str, T]:
        """What each input is in a scope, which may have other names too."""
        return {name: scope[name] for name, _ in self.inputs}

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) of the content: the program's address in caches and certificates."""
        hasher = hashlib.sha256(b"cfxc.ir 1\n")
        for name, sort in self.inputs:
            hasher.update(f"in {format_name(name)}: {sort}\n".encode())
        for tag, statement in walk(self.body):
            if isinstance(statement, Let):
                hasher.update(b"let " + format_name(statement.name).encode() + b" ")
                hasher.update(statement.op.digest())
            else:
                hasher.update(f"{tag} {format_operand(statement.condition)}\n".encode())
        for name, operand in self.outputs:
            hasher.update(f"out {format_name(name)} = {format_operand(operand)}\n".encode())
        return hasher.hexdigest()

    def __reduce__(self) -> tuple[Callable[..., Program], tuple[object, ...]]:
        # flat, so that pickling does not recurse into nested ifs
        events = [(tag, s if isinstance(s, Let) else s.condition) for tag, s in walk(self.body)]
        return _from_events, (self.name, self.inputs, events, self.outputs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __str__(self) -> str:
        return print_program(self)


def _from_events(
    name: str,
    inputs: tuple[tuple[str, Sort], ...],
    events: Iterable[tuple[str, Any]],
    outputs: tuple[tuple[str, Operand], ...],
) -> Program:
    return Program(name, inputs, assemble(events), outputs)


class Builder:
    """Builds a program statement by statement, making fresh names.

    >>> b = Builder("half"); x = b.input("x", REAL)
    >>> y = b.let(Mul(x, Literal(Fraction(1, 2)))); program = b.build(score=y)
    """

    def __init__(self, name: str = "program") -> None:
        self.name = name
        self.inputs: list[tuple[str, Sort]] = []
        self.origin = ""
        self._blocks: list[list[Statement]] = [[]]
        self._count = 0
        self._taken: set[str] = set()
        self._seen = 0

    def input(self, name: str, sort: Sort) -> str:
        """Declare an input and return its name."""
        self.inputs.append((name, sort))
        self._taken.add(name)
        return name

    def fresh(self, hint: str = "") -> str:
        """A name not used so far; ``%n``, or built on ``hint``."""
        while True:
            name = f"{hint}.{self._count}" if hint else f"%{self._count}"
            self._count += 1
            if name not in self._taken:
                self._taken.add(name)
                return name

    def let(self, op: Op, name: str = "") -> str:
        """Append ``name = op`` (a fresh name by default) and return the name."""
        name = name or self.fresh()
        self._taken.add(name)
        self._blocks[-1].append(Let(name, op, self.origin))
        return name

    def copy(self, operand: Operand, name: str) -> str:
        """Append ``name = operand``."""
        return self.let(Identity(operand), name)

    def branch(
        self, condition: Operand, then: Callable[[], None], orelse: Callable[[], None]
    ) -> None:
        """Append an ``If`` whose branches are what the two callbacks append."""
        _, first = self.capture(then)
        _, second = self.capture(orelse)
        self._blocks[-1].append(If(condition, first, second))

    def capture(self, fill: Callable[[], T]) -> tuple[T, tuple[Statement, ...]]:
        """What ``fill`` returns, and the statements it appends, kept out of this program."""
        self._blocks.append([])
        result = fill()
        return result, tuple(self._blocks.pop())

    def extend(self, statements: Iterable[Statement]) -> None:
        """Append finished statements as they are; their names count as taken."""
        finished = tuple(statements)
        self._blocks[-1].extend(finished)
        self._taken.update(s.name for _, s in walk(finished) if isinstance(s, Let))

    def reserve(self, names: Iterable[str]) -> None:
        """Keep ``fresh`` from making any of these names."""
        self._taken.update(names)

    def recent(self) -> Iterator[Statement]:
        """The statements appended since the last call, to the open block."""
        block, start = self._blocks[-1], self._seen
        self._seen = len(block)
        yield from block[start:]

    @contextmanager
    def at(self, origin: str) -> Iterator[None]:
        """Mark what is appended inside as coming from ``origin``."""
        before, self.origin = self.origin, origin
        try:
            yield
        finally:
            self.origin = before

    def inline(self, program: Program, arguments: Mapping[str, Operand]) -> dict[str, Operand]:
        """Append ``program`` with its inputs bound to operands; returns its outputs' operands."""
        names = program.arguments(arguments)

        def renamed(operand: Operand) -> Operand:
            return operand if isinstance(operand, Literal) else names[operand]

        def let(statement: Let) -> tuple[Let, ...]:
            op = statement.op.map_operands(renamed)
            target = names.get(statement.name)
            if not isinstance(target, str):  # the second branch reuses the first one's name
                target = self.fresh(statement.name.lstrip("%").rstrip("0123456789").rstrip("."))
                names[statement.name] = target
            return (Let(target, op, statement.origin),)

        self._blocks[-1].extend(rewrite(program.body, let, renamed))
        return {name: renamed(operand) for name, operand in program.outputs}

    def build(self, **outputs: Operand) -> Program:
        """The finished program with the given named outputs."""
        return self.build_with(outputs)

    def build_with(self, outputs: Mapping[str, Operand]) -> Program:
        """``build`` for output names that are no Python identifiers."""
        (body,) = self._blocks
        return Program(self.name, tuple(self.inputs), tuple(body), tuple(outputs.items()))

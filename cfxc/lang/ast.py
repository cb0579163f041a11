"""The abstract syntax of the core language (Karimi et al., 2020, appendix A).

Nodes are immutable.  Positions (``line``, ``column``, from 1; 0 when unknown) never take part in
equality.  A node is as deep as its text, so nothing here recurses, not even equality or ``repr``.

Every tree that can be built is in canonical form, so that parsing is the inverse of printing:

- a numeral is one :class:`Number`: never a minus before a number, nor a quotient of two numbers
  (:func:`negate` and :func:`divide` fold them), nor a division by the number zero;
- a sequence holds two commands or more, none of them a sequence (:func:`sequence` flattens);
- a chain ``0 <= x <= 1`` is the conjunction ``0 <= x && x <= 1``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final, Literal, TypeAlias, get_args

from ..errors import DataTypeError, InvalidInputError
from .node import Node

Relation: TypeAlias = Literal["<", "<=", ">", ">=", "==", "!="]
Arithmetic: TypeAlias = Literal["+", "-", "*", "/"]
Connective: TypeAlias = Literal["&&", "||", "->", "<->"]
BinaryOperator: TypeAlias = Literal[Relation, Arithmetic, Connective]
UnaryOperator: TypeAlias = Literal["-", "!"]
ScalarKind: TypeAlias = Literal["Bool", "Int", "Real"]

RELATIONS: Final[frozenset[str]] = frozenset(get_args(Relation))
SCALAR_KINDS: Final[tuple[ScalarKind, ...]] = get_args(ScalarKind)

#: Smallest and largest number of arguments of every function; ``None`` is any number.
FUNCTIONS: Final[dict[str, tuple[int, int | None]]] = {
    "abs": (1, 1), "max": (1, None), "min": (1, None),
    **dict.fromkeys(
        ("relu", "exp", "sigmoid", "tanh", "erf", "softplus", "softsign", "elu", "silu", "gelu",
         "gelu_tanh", "mish", "round32", "real"),
        (1, 1),
    ),
    "ite": (3, 3),
}  # fmt: skip


# -- expressions ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Expr(Node):
    """An expression or guard; ``operands`` are its direct subexpressions, left to right."""

    @property
    def operands(self) -> tuple[Expr, ...]:
        return ()

    def rebuild(self, operands: tuple[Expr, ...]) -> Expr:
        """Return the same node over other operands (as many), in canonical form."""
        return self


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Number(Expr):
    """The exact rational ``value``."""

    value: Fraction

    def __post_init__(self) -> None:
        if not isinstance(self.value, Fraction):
            raise DataTypeError(f"Number holds a Fraction, not {type(self.value).__name__}")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Label(Expr):
    """A category label, ``"a"``."""

    value: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Boolean(Expr):
    """``true`` or ``false``."""

    value: bool


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Missing(Expr):
    """``none``, the label of a missing category."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Name(Expr):
    """A variable ``("age",)`` or a field of a record ``("factual", "age")``."""

    parts: tuple[str, ...]

    @property
    def root(self) -> str:
        """The variable itself, without fields."""
        return self.parts[0]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Index(Expr):
    """The element ``base[index]`` of an array; the first is number 1.  ``base`` is no operand."""

    base: Name
    index: Expr

    @property
    def operands(self) -> tuple[Expr, ...]:
        return (self.index,)

    def rebuild(self, operands: tuple[Expr, ...]) -> Expr:
        return replace(self, index=operands[0])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Unary(Expr):
    """Negation ``-e`` of a number or ``!b`` of a guard."""

    operator: UnaryOperator
    operand: Expr

    def __post_init__(self) -> None:
        if self.operator == "-" and isinstance(self.operand, Number):
            raise InvalidInputError("a negative number is one Number: build it with negate()")

    @property
    def operands(self) -> tuple[Expr, ...]:
        return (self.operand,)

    def rebuild(self, operands: tuple[Expr, ...]) -> Expr:
        return unary(self.operator, operands[0], **self.place)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Binary(Expr):
    """``left operator right``; its position is that of the operator."""

    operator: BinaryOperator
    left: Expr
    right: Expr

    def __post_init__(self) -> None:
        if self.operator == "/" and isinstance(self.right, Number):
            if not self.right.value:
                raise InvalidInputError("division by zero")
            if isinstance(self.left, Number):
                raise InvalidInputError("a fraction is one Number: build it with divide()")

    @property
    def operands(self) -> tuple[Expr, ...]:
        return (self.left, self.right)

    def rebuild(self, operands: tuple[Expr, ...]) -> Expr:
        left, right = operands
        return binary(self.operator, left, right, **self.place)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Member(Expr):
    """``operand in {items}``; the items are literals (Label, Missing, Number or Boolean)."""

    operand: Expr
    items: tuple[Expr, ...]

    def __post_init__(self) -> None:
        if not self.items or not all(isinstance(item, Literals) for item in self.items):
            raise InvalidInputError(
                "a set holds one literal or more: labels, none, numbers, Booleans"
            )

    @property
    def operands(self) -> tuple[Expr, ...]:
        return (self.operand,)

    def rebuild(self, operands: tuple[Expr, ...]) -> Expr:
        return replace(self, operand=operands[0])


Literals: Final = (Number, Label, Boolean, Missing)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Call(Expr):
    """``function(arguments)`` for a function of :data:`FUNCTIONS`; ``ite(b, e1, e2)`` chooses."""

    function: str
    arguments: tuple[Expr, ...]

    def __post_init__(self) -> None:
        if self.function not in FUNCTIONS:
            raise InvalidInputError(f"unknown function '{self.function}'")
        least, most = FUNCTIONS[self.function]
        count = len(self.arguments)
        if count < least or (most is not None and count > most):
            takes = f"{least} argument{'s' if least > 1 else ''}"
            takes = f"at least {takes}" if most is None else takes
            raise InvalidInputError(f"{self.function} takes {takes}, {count} given")

    @property
    def operands(self) -> tuple[Expr, ...]:
        return self.arguments

    def rebuild(self, operands: tuple[Expr, ...]) -> Expr:
        return replace(self, arguments=operands)


def negate(operand: Expr, *, line: int = 0, column: int = 0) -> Expr:
    """Return ``-operand``, a :class:`Number` if the operand is one."""
    if isinstance(operand, Number):
        return Number(-operand.value, line=line, column=column)
    return Unary("-", operand, line=line, column=column)


def divide(left: Expr, right: Expr, *, line: int = 0, column: int = 0) -> Expr:
    """Return ``left / right``, a :class:`Number` if both are; InvalidInputError for ``e / 0``."""
    if isinstance(left, Number) and isinstance(right, Number) and right.value:
        return Number(left.value / right.value, **left.place)
    return Binary("/", left, right, line=line, column=column)


def unary(operator: UnaryOperator, operand: Expr, *, line: int = 0, column: int = 0) -> Expr:
    """Return ``operator operand`` in canonical form."""
    if operator == "-":
        return negate(operand, line=line, column=column)
    return Unary(operator, operand, line=line, column=column)


def binary(
    operator: BinaryOperator, left: Expr, right: Expr, *, line: int = 0, column: int = 0
) -> Expr:
    """Return ``left operator right`` in canonical form."""
    if operator == "/":
        return divide(left, right, line=line, column=column)
    return Binary(operator, left, right, line=line, column=column)


# -- commands ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Command(Node):
    """A command."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Skip(Command):
    """``skip``; also what a missing ``else`` and ``{ }`` mean."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Assign(Command):
    """``target := value``."""

    target: str
    value: Expr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sequence(Command):
    """``c1; c2; …``: two commands or more, none of them a sequence."""

    commands: tuple[Command, ...]

    def __post_init__(self) -> None:
        if len(self.commands) < 2 or any(isinstance(each, Sequence) for each in self.commands):
            raise InvalidInputError(
                "a sequence is flat and has two commands: build it with sequence()"
            )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class If(Command):
    """``if guard then then else otherwise``."""

    guard: Expr
    then: Command
    otherwise: Command


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class For(Command):
    """``for variable = first..last do body``, both bounds included; no run if ``last < first``."""

    variable: str
    first: Expr
    last: Expr
    body: Command


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Output(Node):
    """One value that a program returns; ``name`` is None if it is the only, unnamed one."""

    name: str | None
    value: Expr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Return(Command):
    """``return e`` (one unnamed output) or ``return label = e1, score = e2`` (all named)."""

    outputs: tuple[Output, ...]

    def __post_init__(self) -> None:
        names = self.names
        if not names or (len(names) > 1 and None in names) or len(set(names)) < len(names):
            raise InvalidInputError("a return has one output, or several with distinct names")

    @property
    def names(self) -> tuple[str | None, ...]:
        return tuple(output.name for output in self.outputs)


def sequence(commands: Iterable[Command], *, line: int = 0, column: int = 0) -> Command:
    """Return the commands one after the other: Skip for none, the command itself for one."""
    flat: list[Command] = []
    for command in commands:
        flat.extend(command.commands if isinstance(command, Sequence) else (command,))
    if not flat:
        return Skip(line=line, column=column)
    if len(flat) == 1:
        return flat[0]
    return Sequence(tuple(flat), **flat[0].place)


# -- programs ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sort(Node):
    """The sort of a parameter."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ScalarSort(Sort):
    """``Bool``, ``Int`` or ``Real``."""

    kind: ScalarKind


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CategorySort(Sort):
    """``Category{"a", "b"}``; the labels are literals (Label, Missing, Number or Boolean)."""

    labels: tuple[Expr, ...]

    def __post_init__(self) -> None:
        if not self.labels or not all(isinstance(label, Literals) for label in self.labels):
            raise InvalidInputError(
                "a category has one label or more: texts, none, numbers, Booleans"
            )
        if len(set(self.labels)) < len(self.labels):
            raise InvalidInputError("the same label is listed twice")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ArraySort(Sort):
    """``Real[length]``; the length is a constant expression, a Number once unrolled."""

    element: ScalarSort
    length: Expr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Parameter(Node):
    """``name: sort``."""

    name: str
    sort: Sort


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Program(Node):
    """``program name(parameters) { body }``, or a bare command if ``name`` is None.

    ``source`` says where the text came from (for messages) and is no part of equality.
    """

    name: str | None
    parameters: tuple[Parameter, ...]
    body: Command
    source: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if self.name is None and self.parameters:
            raise InvalidInputError("a program with parameters has a name")

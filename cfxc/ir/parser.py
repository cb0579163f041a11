"""Text to programs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import Any, TypeVar, cast

from lark import Lark, Token, Transformer, UnexpectedInput, UnexpectedToken

from ..errors import LanguageError, VerificationError
from . import ops as _registers_all_ops  # noqa: F401  # importing fills the registry
from .op import REGISTRY, Literal, Op, Operand, layout
from .program import Program
from .sorts import Label, LabelTuple, Sort, parse_name
from .statements import If, Let, Statement
from .tensor import Tensor, parse_tensor

T = TypeVar("T")


def parse_program(text: str, source: str = "program") -> Program:
    """Read the textual form; ``LanguageError`` with line and column if it does not parse.

    The sorts that the text declares are checked against the inferred ones.
    """
    try:
        return _parser().parse(text)  # type: ignore[return-value]  # the transformer returns it
    except _Fault as fault:
        raise LanguageError(
            str(fault), line=fault.token.line or 0, column=fault.token.column or 0, source=source
        ) from fault.__cause__
    except UnexpectedInput as error:
        message, line, column = _unexpected(text, error)
        raise LanguageError(message, line=line, column=column, source=source) from error


def _unexpected(text: str, error: UnexpectedInput) -> tuple[str, int, int]:
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        body = text.rstrip()
        return "unexpected end of text", body.count("\n") + 1, len(body) - body.rfind("\n")
    start = error.pos_in_stream or 0
    found = text[start : start + 20].split("\n")[0]
    return f"unexpected {found!r}", error.line, error.column


@cache
def _parser() -> Lark:
    grammar = files(__package__).joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", transformer=_ToProgram(), maybe_placeholders=True)


class _Fault(Exception):
    """A mistake in the text and the token where it shows."""

    def __init__(self, token: Token, message: str) -> None:
        super().__init__(message)
        self.token = token


def _read(token: Token, function: Callable[[str], T]) -> T:
    """``function(token)``, its failures turned into errors that say where."""
    try:
        return function(str(token))
    except VerificationError as error:
        raise _Fault(token, str(error)) from error
    except (ArithmeticError, TypeError, ValueError) as error:
        shown = token if len(token) <= 40 else token[:37] + "…"
        raise _Fault(token, f"cannot read {shown}: {error}") from error


def _number(text: str) -> Fraction | int:
    if "/" in text:
        return Fraction(text)
    if "0x" in text:
        return Fraction(float.fromhex(text))
    return Fraction(int(text[:-1])) if text.endswith(".") else int(text)


@dataclass(frozen=True, slots=True)
class _Keyword:
    """A keyword argument on its way into an op."""

    token: Token
    value: Any


@dataclass(frozen=True, slots=True)
class _Block:
    """Statements, and the sorts that the text declares for their values."""

    statements: tuple[Statement, ...]
    declared: tuple[tuple[Token, str, Sort], ...]


def _as_label(item: Any) -> Label:
    if not isinstance(item, Token):
        return cast(Label, item)
    return _read(item, lambda text: float.fromhex(text) if "0x" in text else int(text))


def _as_number(item: Any) -> Fraction | int:
    if not isinstance(item, Token):
        raise TypeError
    return _read(item, _number)


def _as_int(item: Any) -> int:
    if not isinstance(value := _as_number(item), int):
        raise TypeError
    return value


def _instance(kind: type) -> Callable[[Any], Any]:
    def check(item: Any) -> Any:
        if not isinstance(item, kind) or isinstance(item, Token):
            raise TypeError
        return item

    return check


_CONVERT: dict[str, Callable[[Any], Any]] = {
    "int": _as_int,
    "Fraction": lambda item: Fraction(_as_number(item)),
    "tuple[int, ...]": lambda item: tuple(map(_as_int, _instance(list)(item))),
    "Tensor": _instance(Tensor),
    "LabelTuple": _instance(LabelTuple),
    "str": _instance(str),
    "bool": _instance(bool),
    "Label": _as_label,
}


def _make_op(name: Token, arguments: list[Any]) -> Op:
    """The op named ``name`` from positional operands and keyword attributes."""
    cls = REGISTRY.get(name)
    if cls is None:
        raise _Fault(name, f"unknown op '{name}'")
    shape = layout(cls)
    operands = [a for a in arguments if not isinstance(a, _Keyword)]
    keywords = {str(a.token): a for a in arguments if isinstance(a, _Keyword)}
    fixed = len(shape.operands) - shape.variadic
    if set(keywords) != set(shape.attributes) or len(keywords) + len(operands) != len(arguments):
        required = ", ".join(shape.attributes) or "none"
        raise _Fault(name, f"'{name}' takes the attributes {required}, each once")
    if len(operands) < fixed or (len(operands) > fixed and not shape.variadic):
        raise _Fault(name, f"'{name}' takes {fixed} operands, not {len(operands)}")
    fields: dict[str, Any] = dict(zip(shape.operands, operands[:fixed], strict=False))
    if shape.variadic:
        fields[shape.operands[-1]] = tuple(operands[fixed:])
    for attribute in shape.attributes:
        given = keywords[attribute]
        try:
            fields[attribute] = _CONVERT[shape.types[attribute]](given.value)
        except (TypeError, ValueError):
            kind = shape.types[attribute]
            raise _Fault(given.token, f"'{attribute}' of '{name}' must be a {kind}") from None
    return cls(**fields)


class _ToProgram(Transformer[Token, Program]):
    """Bottom-up construction; method names are those of the grammar."""

    def start(self, items: list[Any]) -> Program:
        name, *inputs, block, outputs = items
        program = Program(name, tuple(inputs), block.statements, outputs)
        sorts = program.sorts  # whether anything declares one or not: outputs are checked too
        for token, value, sort in block.declared:
            if sorts[value] != sort:
                raise _Fault(token, f"{value} is {sorts[value]}, declared {sort}")
        return program

    def input(self, items: list[Any]) -> tuple[str, Sort]:
        return items[0][0], items[1]

    def plain_sort(self, items: list[Any]) -> Sort:
        token = items[0]
        if token not in ("Bool", "Int", "Real"):
            raise _Fault(token, f"unknown sort '{token}': Bool, Int, Real or Category{{…}}")
        kind: Any = token.lower()
        return _read(token, lambda _: Sort(kind, items[1] if len(items) > 1 else ()))

    def category_sort(self, items: list[Any]) -> Sort:
        if items[0] != "Category":
            raise _Fault(items[0], f"'{items[0]}' takes no labels; only Category does")
        return _read(items[0], lambda _: Sort("category", (), items[1]))

    def sizes(self, items: list[Token]) -> tuple[int, ...]:
        return tuple(_read(item, int) for item in items)

    def labels(self, items: list[Any]) -> LabelTuple:
        return LabelTuple(_as_label(item) for item in items)

    def number_label(self, items: list[Token]) -> Any:
        return items[0]

    def string_label(self, items: list[Token]) -> Any:
        return _read(items[0], json.loads)

    def true_label(self, _: list[Token]) -> Any:
        return True

    def false_label(self, _: list[Token]) -> Any:
        return False

    def none_label(self, _: list[Token]) -> Any:
        return None

    def block(self, items: list[_Block]) -> _Block:
        statements = tuple(chain.from_iterable(item.statements for item in items))
        return _Block(statements, tuple(chain.from_iterable(item.declared for item in items)))

    def let(self, items: list[Any]) -> _Block:
        (name, token), sort, op_name, *arguments, origin = items
        op = _make_op(op_name, arguments)
        statement = Let(name, op, _read(origin, json.loads) if origin is not None else "")
        return _Block((statement,), ((token, name, sort),))

    def conditional(self, items: list[Any]) -> _Block:
        condition, then, orelse = items
        statement = If(condition, then.statements, orelse.statements)
        return _Block((statement,), then.declared + orelse.declared)

    def positional(self, items: list[Operand]) -> Operand:
        return items[0]

    def keyword(self, items: list[Any]) -> _Keyword:
        return _Keyword(items[0], items[1])

    def name_operand(self, items: list[tuple[str, Token]]) -> Operand:
        return items[0][0]

    def number_operand(self, items: list[Token]) -> Operand:
        return Literal(_read(items[0], _number))

    def true_operand(self, _: list[Token]) -> Operand:
        return Literal(True)

    def false_operand(self, _: list[Token]) -> Operand:
        return Literal(False)

    def tensor(self, items: list[Token]) -> Tensor:
        return _read(items[0], parse_tensor)

    def numbers(self, items: list[Token]) -> list[Token]:
        return items

    def outputs(self, items: list[Any]) -> tuple[tuple[str, Operand], ...]:
        return tuple(items)

    def output(self, items: list[Any]) -> tuple[str, Operand]:
        return items[0][0], items[1]

    def program_bare(self, items: list[Token]) -> str:
        return str(items[0])

    def program_quoted(self, items: list[Token]) -> str:
        return self.quoted_name(items)[0]

    def bare_name(self, items: list[Token]) -> tuple[str, Token]:
        return str(items[0]), items[0]

    def quoted_name(self, items: list[Token]) -> tuple[str, Token]:
        return parse_name(items[0][1:-1]), items[0]

"""Text of the core language to its syntax tree."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar, cast

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from ..errors import DataTypeError, InvalidInputError, LanguageError
from . import ast
from .diagnostics import excerpt, suggestion
from .literals import KEYWORDS, read_name, read_number, unquote
from .printer import print_expression

T = TypeVar("T")


def parse_program(text: str, source: str = "program") -> ast.Program:
    """Return the syntax tree of a program, with or without its header.

    Nothing but the syntax is checked: see :func:`~.wellformed.check_program`.  ``source`` names the
    text in messages, for instance the file it came from.

    Raises:
        LanguageError: the text does not parse; the message shows the place and what was expected.
    """
    program: ast.Program = _parse(text, source, "program_text")
    return replace(program, source=source)


def parse_expression(text: str, source: str = "expression") -> ast.Expr:
    """Return the syntax tree of one expression or guard, such as a constraint.

    Raises:
        LanguageError: the text does not parse; the message shows the place and what was expected.
    """
    expression: ast.Expr = _parse(text, source, "expression_text")
    return expression


class _BadToken(Exception):
    """A token that the grammar takes and the language does not."""

    def __init__(self, token: Token, message: str) -> None:
        super().__init__(message)
        self.token, self.message = token, message


def _parse(text: str, source: str, start: str) -> Any:
    if not isinstance(text, str):
        raise DataTypeError(f"{source}: expected a text, got {type(text).__name__}")
    text = text.removeprefix("\ufeff")
    try:
        return _parser().parse(text, start=start)
    except UnexpectedCharacters as error:
        line, column = error.line, error.column
        message, hint = _bad_character(text[error.pos_in_stream or 0])
    except UnexpectedToken as error:
        line, column = _place(error.token)
        message, hint = _bad_token(error, text)
    except _BadToken as error:
        line, column = error.token.line or 0, error.token.column or 0
        message, hint = error.message, ""
    shown = [message, *excerpt(text, line, column), *([f"  {hint}"] if hint else [])]
    raise LanguageError("\n".join(shown), line=line, column=column, source=source)


# -- building the tree ---------------------------------------------------------------------------


@cache
def _parser() -> Lark:
    grammar = files(__package__).joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(
        grammar,
        start=["program_text", "expression_text"],
        parser="lalr",
        lexer="basic",
        maybe_placeholders=False,
        transformer=_Builder(),
    )


def _at(token: Token) -> dict[str, int]:
    return {"line": token.line or 0, "column": token.column or 0}


def _guarded(token: Token, build: Callable[[], T]) -> T:
    """Return ``build()``; what the tree refuses is an error at ``token``."""
    try:
        return build()
    except InvalidInputError as error:
        raise _BadToken(token, error.message) from None


def _name(token: Token) -> str:
    text = str(token)
    return _guarded(token, lambda: read_name(text)) if text.startswith("`") else text


def _label(token: Token) -> str:
    return _guarded(token, lambda: unquote(str(token)))


class _Builder(Transformer[Token, Any]):
    """One method per rule or alias of the grammar; lark calls it with the parts, bottom up."""

    # Programs.

    def program_text(self, parts: list[Any]) -> ast.Program:
        (content,) = parts
        if isinstance(content, ast.Program):
            return content
        return ast.Program(None, (), content, "", **content.place)

    def expression_text(self, parts: list[Any]) -> ast.Expr:
        return cast(ast.Expr, parts[0])

    def program(self, parts: list[Any]) -> ast.Program:
        name, *parameters, body = parts
        return ast.Program(_name(name), tuple(parameters), body, "", **_at(name))

    def parameter(self, parts: list[Any]) -> ast.Parameter:
        name, sort = parts
        return ast.Parameter(_name(name), sort, **_at(name))

    def scalar_sort(self, parts: list[Any]) -> ast.ScalarSort:
        kind = str(parts[0])
        for known in ast.SCALAR_KINDS:
            if kind == known:
                return ast.ScalarSort(known, **_at(parts[0]))
        kinds = ", ".join(ast.SCALAR_KINDS)
        raise _BadToken(parts[0], f"unknown sort '{kind}'; there are {kinds}, Category{{\"a\", …}}")

    def array_sort(self, parts: list[Any]) -> ast.ArraySort:
        return ast.ArraySort(self.scalar_sort(parts[:1]), parts[1], **_at(parts[0]))

    def category_sort(self, parts: list[Any]) -> ast.CategorySort:
        kind, *items = parts
        if kind != "Category":
            raise _BadToken(kind, f"only Category has labels, not '{kind}'")
        for number, item in enumerate(items):
            if item in items[:number]:
                token = Token("LABEL", "", line=item.line, column=item.column)
                raise _BadToken(token, f"{print_expression(item)} is listed twice")
        return _guarded(kind, lambda: ast.CategorySort(tuple(items), **_at(kind)))

    # Commands.

    def sequence(self, parts: list[Any]) -> ast.Command:
        return ast.sequence(parts)

    def block(self, parts: list[Any]) -> ast.Command:
        brace, *commands = parts
        return ast.sequence(commands, **_at(brace))

    def skip(self, parts: list[Any]) -> ast.Skip:
        return ast.Skip(**_at(parts[0]))

    def assign(self, parts: list[Any]) -> ast.Assign:
        target, value = parts
        return ast.Assign(_name(target), value, **_at(target))

    def conditional(self, parts: list[Any]) -> ast.If:
        token, guard, then, *rest = parts
        otherwise = rest[0] if rest else ast.Skip(**_at(token))
        return ast.If(guard, then, otherwise, **_at(token))

    def loop(self, parts: list[Any]) -> ast.For:
        token, variable, first, last, body = parts
        return ast.For(_name(variable), first, last, body, **_at(token))

    def return_value(self, parts: list[Any]) -> ast.Return:
        token, value = parts
        return ast.Return((ast.Output(None, value, **value.place),), **_at(token))

    def return_named(self, parts: list[Any]) -> ast.Return:
        token, *outputs = parts
        return _guarded(token, lambda: ast.Return(tuple(outputs), **_at(token)))

    def output(self, parts: list[Any]) -> ast.Output:
        name, value = parts
        return ast.Output(_name(name), value, **_at(name))

    # Expressions.

    def binary(self, parts: list[Any]) -> ast.Expr:
        left, token, right = parts
        operator = "&&" if token == "&" else str(token)
        if operator == "/":
            return _guarded(token, lambda: ast.divide(left, right, **_at(token)))
        return ast.Binary(cast(ast.BinaryOperator, operator), left, right, **_at(token))

    def comparison(self, parts: list[Any]) -> ast.Expr:
        whole: ast.Expr | None = None
        for start in range(0, len(parts) - 2, 2):
            left, token, right = parts[start : start + 3]
            link = ast.Binary(cast(ast.BinaryOperator, str(token)), left, right, **_at(token))
            whole = link if whole is None else ast.Binary("&&", whole, link, **_at(token))
        assert whole is not None
        return whole

    def member(self, parts: list[Any]) -> ast.Member:
        operand, token, *items = parts
        return _guarded(token, lambda: ast.Member(operand, tuple(items), **operand.place))

    def unary(self, parts: list[Any]) -> ast.Expr:
        token, operand = parts
        return ast.unary(cast(ast.UnaryOperator, str(token)), operand, **_at(token))

    def number(self, parts: list[Any]) -> ast.Number:
        (token,) = parts
        try:
            return ast.Number(read_number(str(token)), **_at(token))
        except InvalidInputError as error:
            raise _BadToken(token, error.message) from None

    def label(self, parts: list[Any]) -> ast.Label:
        return ast.Label(_label(parts[0]), **_at(parts[0]))

    def boolean(self, parts: list[Any]) -> ast.Boolean:
        return ast.Boolean(parts[0] == "true", **_at(parts[0]))

    def missing(self, parts: list[Any]) -> ast.Missing:
        return ast.Missing(**_at(parts[0]))

    def reference(self, parts: list[Any]) -> ast.Name:
        return ast.Name(tuple(_name(part) for part in parts), **_at(parts[0]))

    def index(self, parts: list[Any]) -> ast.Index:
        base, index = parts
        return ast.Index(base, index, **base.place)

    def call(self, parts: list[Any]) -> ast.Call:
        function, *arguments = parts
        if function not in ast.FUNCTIONS:
            known = ", ".join(ast.FUNCTIONS)
            more = suggestion(str(function), ast.FUNCTIONS) or f"; there are {known}"
            raise _BadToken(function, f"unknown function '{function}'{more}")
        return _guarded(
            function, lambda: ast.Call(str(function), tuple(arguments), **_at(function))
        )


# -- messages ------------------------------------------------------------------------------------

_OPERANDS = {"NUMBER", "STRING", "NAME", "TRUE", "FALSE", "NONE", "MINUS", "NOT", "LPAR"}
_COMMANDS = {"SKIP", "IF", "FOR", "RETURN", "NAME", "LBRACE"}
_OPERATORS = {"IMPLIES", "IFF", "OR", "AND", "COMPARE", "PLUS", "MINUS", "TIMES", "DIVIDE", "IN"}
_OPENERS = {"LPAR", "LSQB", "DOT"}
_MIXED = "'->' and '<->' are not mixed without parentheses"
_LOOP = "a loop is written: for i = 1..n do …"
_POINT = "write a digit before and after a decimal point: 0.5"
_SPELLED = {
    "$END": "the end of the text",
    "NAME": "a name",
    "STRING": 'a label such as "a"',
    "SEMICOLON": "';'",
    "_ASSIGN": "':='",
    "_RANGE": "'..'",
}
#: Words and marks of other languages, by what the text looks like just before the error.
_FOREIGN = (
    (r"\band", "'and' is written '&&'"),
    (r"\bor", "'or' is written '||'"),
    (r"\bnot", "'not' is written '!'"),
    (r"\b(?:elif|elsif|elseif)", "'else if' is two words"),
)
#: Hints by the token found and one that would be accepted.
_HINTS = (
    (("=",), "COMPARE", "to compare, write '=='"),
    (("=",), "_ASSIGN", "to assign, write ':='"),
    ((":=",), "COMPARE", "to compare, write '=='"),
    (("->", "<->"), "SEMICOLON", _MIXED),
    (("->", "<->"), "RPAR", _MIXED),
    (("->", "<->"), "THEN", _MIXED),
    (("->", "<->"), "$END", _MIXED),
    ((",",), "SEMICOLON", "name the outputs: return label = e1, score = e2"),
    (("in",), "EQUAL", _LOOP),
    (("to",), "_RANGE", _LOOP),
    ((".",), "NUMBER", _POINT),
    (("if",), "NUMBER", "to choose between two values, write ite(b, e1, e2)"),
)


def _place(token: Token) -> tuple[int, int]:
    if token.type == "$END":
        return token.end_line or 1, token.end_column or 1
    return token.line or 1, token.column or 1


def _bad_character(character: str) -> tuple[str, str]:
    if character in '"`':
        kind = "label" if character == '"' else "name"
        return f"this {kind} is not closed on its line", f"end it with {character}"
    if character == "|":
        return "found '|', which is no operator", "'or' is written '||'"
    shown = f"'{character}'" if character.isprintable() else f"U+{ord(character):04X}"
    message = f"found {shown}, which is no part of the language"
    if character.isalpha():
        return message, "put a name with such a character between back-quotes: `…`"
    if character == "'":
        return message, 'labels are written "a"'
    return message, ""


def _bad_token(error: UnexpectedToken, text: str) -> tuple[str, str]:
    token = error.token
    parser: Any = error.interactive_parser
    accepts: set[str] = parser.accepts()
    found = "the end of the text" if token.type == "$END" else f"'{token}'"
    return f"found {found}, expected {_expected(accepts)}", _hint(token, accepts, text)


def _expected(accepts: set[str]) -> str:
    """Return the accepted terminals in plain words."""
    options = []
    if accepts >= _COMMANDS:
        options.append("a command")
        accepts = accepts - _COMMANDS
    if accepts >= _OPERANDS:
        options.append("an expression")
        accepts = accepts - _OPERANDS
    if len(accepts & _OPERATORS) > 2 or "IMPLIES" in accepts:
        options.append("an operator")
        accepts = accepts - _OPERATORS - _OPENERS
    for name in sorted(accepts - {"PROGRAM"}):
        options.append(_SPELLED.get(name) or _spelling(name))
    return " or ".join(filter(None, [", ".join(options[:-1]), options[-1]]))


def _spelling(terminal: str) -> str:
    pattern = _parser().get_terminal(terminal).pattern
    return f"'{pattern.value}'" if pattern.type == "str" else f"a {terminal.lower()}"


def _hint(token: Token, accepts: set[str], text: str) -> str:
    """Return what the writer probably meant, or nothing."""
    end = len(text) if token.type == "$END" else token.start_pos
    before = text[:end].rstrip()[-20:]
    for word, hint in _FOREIGN:
        if re.search(rf"{word}$", before) or re.fullmatch(word, str(token)):
            return hint
    for found, accepted, hint in _HINTS:
        if token in found and accepted in accepts:
            return hint
    if token == "." and before[-1:].isdigit():
        return _POINT
    if token == "else":
        return "group the commands of a branch with braces: if b then { …; … } else { … }"
    if token.type == "NAME" and "SEMICOLON" in accepts and "NAME" not in accepts:
        return "commands are separated by ';'"
    if str(token) in KEYWORDS and "NAME" in accepts:
        return f"'{token}' is a reserved word; as a name it is written `{token}`"
    if token.type == "NAME" and "$END" in accepts and (last := re.search(r"[^\W\d]\w*$", before)):
        return f"a name with a blank is put between back-quotes: `{last[0]} {token}`"
    return ""

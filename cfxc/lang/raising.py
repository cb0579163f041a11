"""Core-level IR back to the core language: trees as nested ifs, networks as assignments.

Karimi et al. (2020), figures 2b and 3b.  The text means what the IR means; numerals are written
without their sort, so that a Real that is always whole may come back as an Int, and a label that
is a number as a number.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from ..errors import UnsupportedError
from ..ir import If, Let, Literal, Op, Operand, Program, Sort, ops, rewrite, walk
from ..ir.op import rule_of
from ..ir.patterns import without_unused
from ..ir.sorts import label_key
from . import ast
from .literals import KEYWORDS
from .printer import print_program
from .raising_rules import RULES, Arguments, LabelKey, literal, repeats
from .single import RESULT
from .values import literal_of, write_label
from .walk import subexpressions


class Reach:
    """Which labels each value may have; a test for another one is constant.

    The language has no way to write the label of a category in which it never occurs.
    """

    def __init__(self, program: Program) -> None:
        self.labels: dict[str, frozenset[LabelKey]] = {
            name: _all(sort) for name, sort in program.inputs
        }
        for let in program.lets():
            found = self._result(let.op, program.sorts[let.name])
            self.labels[let.name] = self.labels.get(let.name, frozenset()) | found

    def _result(self, op: Op, sort: Sort) -> frozenset[LabelKey]:
        if isinstance(op, ops.Category):
            if isinstance(op.index, Literal):
                return frozenset({label_key(op.labels[int(op.index.value)])})
            return _all(sort)
        if not sort.labels:
            return frozenset()
        return frozenset().union(*map(self.of, op.operands()))

    def of(self, operand: Operand) -> frozenset[LabelKey]:
        """Return the labels that ``operand`` may have; nothing if it is no category."""
        return frozenset() if isinstance(operand, Literal) else self.labels[operand]


def _all(sort: Sort) -> frozenset[LabelKey]:
    return frozenset(map(label_key, sort.labels))


#: A temporary that is read several times is a variable if its expression has more nodes than this.
SMALL: Final = 5
_SORTS: Final[dict[str, ast.ScalarKind]] = {"bool": "Bool", "int": "Int", "real": "Real"}


def to_text(program: Program) -> str:
    """Return the text of a core-level program; see :func:`to_ast`."""
    return print_program(to_ast(program))


def to_ast(program: Program) -> ast.Program:
    """Return the core-language program that computes what the core-level ``program`` does.

    Temporaries (names that start with ``%``) become parts of expressions, unless they are large
    and read several times.  If a variable assigned at the end of nested ifs is all that is
    returned, every branch returns its own value.  What no output depends on is left out.

    Args:
        program: Scalars only; inputs keep their names.

    Raises:
        UnsupportedError: vectors, or labels that no text can tell apart; all are listed.
    """
    _check(program)
    return _Raiser(_without_copies(without_unused(program))).program()


def _check(program: Program) -> None:
    """Refuse what the language cannot say, all at once."""
    inputs = {name for name, _ in program.inputs}
    offences = [f"input '{name}': {sort}" for name, sort in program.inputs if not sort.is_scalar]
    for let in program.lets():
        if rule_of(RULES, let.op) is None or not program.sorts[let.name].is_scalar:
            offences.append(f"{let.op.name}" + (f" ({let.origin})" if let.origin else ""))
    remedy = "vectors and tree ensembles are first expanded to core level" if offences else ""
    for name, sort in program.sorts.items():
        if len(set(map(write_label, sort.labels))) < len(sort.labels):
            offences.append(f"'{name}': 1 and 1.0 are different labels, and written alike")
        elif name not in inputs and {bool} < set(map(type, sort.labels)) - {str, type(None)}:
            offences.append(f"'{name}': its labels are both numbers and truth values")
    if offences:
        raise UnsupportedError(
            f"program {program.name} cannot be written in the core language:",
            list(dict.fromkeys(offences)),
            remedy,
        )


def _is_variable(name: str, assigned: Counter[str]) -> bool:
    return assigned[name] > 1 or not name.startswith("%")


def _without_copies(program: Program) -> Program:
    """Return ``program`` with w called v wherever ``v = w`` is all that w is read for.

    Sound if every assignment of w lies in the block of the copy, before it: then v, which is
    assigned once on every path, is not assigned on those paths otherwise.
    """
    uses, assigned = _uses(program), Counter(let.name for let in program.lets())
    first: dict[str, int] = {}
    seen: Counter[str] = Counter()
    entered = [-1]
    names: dict[str, str] = {}
    for time, (tag, statement) in enumerate(walk(program.body)):
        if isinstance(statement, Let):
            old, new = _copied(statement), statement.name
            first.setdefault(new, time)
            seen[new] += 1
            variables = old in first and all(_is_variable(each, assigned) for each in (old, new))
            inside = variables and first[old] > entered[-1] and seen[old] == assigned[old]
            if inside and uses[old] == 1:
                names[old] = new
        elif tag != "end":
            if tag == "else":
                entered.pop()
            entered.append(time)
        else:
            entered.pop()

    def let(statement: Let) -> tuple[Let, ...]:
        name = statement.name
        while name in names:
            name = names[name]
        dropped = names.get(_copied(statement)) == statement.name
        return () if dropped else (Let(name, statement.op, statement.origin),)

    return replace(program, body=rewrite(program.body, let))


def _copied(statement: Let) -> str:
    """Return the name that the statement copies, or nothing."""
    op = statement.op
    return op.x if isinstance(op, ops.Identity) and isinstance(op.x, str) else ""


def _uses(program: Program) -> Counter[str]:
    """Return how often the text reads each name."""
    uses: Counter[str] = Counter()
    for tag, statement in walk(program.body):
        if isinstance(statement, Let):
            for operand in statement.op.operands():
                if isinstance(operand, str):
                    uses[operand] += repeats(statement.op)
        elif tag == "if" and isinstance(statement.condition, str):
            uses[statement.condition] += 1
    uses.update(operand for _, operand in program.outputs if isinstance(operand, str))
    return uses


def _returned(program: Program, uses: Counter[str]) -> str | None:
    """Return the variable that is the only output, if every path assigns it last."""
    if len(program.outputs) != 1:
        return None
    ((_, operand),) = program.outputs
    if not isinstance(operand, str) or uses[operand] != 1:
        return None
    bodies = [program.body]
    while bodies:
        last = (bodies.pop() or (None,))[-1]
        if isinstance(last, If):
            bodies += [last.then, last.orelse]
        elif last is None or last.name != operand:
            return None
    return operand


def _sort_of(sort: Sort) -> ast.Sort:
    if sort.labels:
        return ast.CategorySort(tuple(map(literal_of, sort.labels)))
    return ast.ScalarSort(_SORTS[sort.kind])


class _Raiser:
    """``values`` are the expressions that stand for IR names read later."""

    def __init__(self, program: Program) -> None:
        self.ir = program
        self.reach = Reach(program)
        self.uses = _uses(program)
        self.assigned = Counter(let.name for let in program.lets())
        self.names = _Names(name for name, _ in program.inputs)
        self.values: dict[str, ast.Expr] = {name: ast.Name((name,)) for name, _ in program.inputs}
        self.sizes: dict[str, int] = dict.fromkeys(self.values, 1)

    def program(self) -> ast.Program:
        parameters = tuple(ast.Parameter(name, _sort_of(sort)) for name, sort in self.ir.inputs)
        return ast.Program(self.ir.name or "program", parameters, self._body())

    # -- commands ----------------------------------------------------------------------------------

    def _body(self) -> ast.Command:
        returned = _returned(self.ir, self.uses)
        blocks: list[list[ast.Command]] = [[]]
        for tag, statement in walk(self.ir.body):
            if isinstance(statement, Let):
                blocks[-1] += self._let(statement, returned)
            elif tag in ("if", "else"):
                blocks.append([])
            else:
                orelse, then = ast.sequence(blocks.pop()), ast.sequence(blocks.pop())
                if then != ast.Skip() or orelse != ast.Skip():
                    blocks[-1].append(ast.If(self.operand(statement.condition), then, orelse))
        (commands,) = blocks
        if returned is None:
            outputs = [(name, self.operand(operand)) for name, operand in self.ir.outputs]
            commands.append(self._return(outputs))
        return ast.sequence(commands)

    def _return(self, outputs: Sequence[tuple[str, ast.Expr]]) -> ast.Return:
        alone = [name for name, _ in outputs] == [RESULT]
        return ast.Return(
            tuple(ast.Output(None if alone else name, value) for name, value in outputs)
        )

    def _let(self, statement: Let, returned: str | None) -> list[ast.Command]:
        name = statement.name
        rule = rule_of(RULES, statement.op)
        assert rule is not None  # what has none was expanded
        value = rule(self._arguments(statement.op))
        if name == returned:
            return [self._return([(self.ir.outputs[0][0], value)])]
        size = 1 + sum(self._size(operand) for operand in statement.op.operands())
        if not _is_variable(name, self.assigned) and self._inlined(name, value, size):
            self.values[name], self.sizes[name] = value, size
            return []
        variable = self.names.of(name)
        self.values[name], self.sizes[name] = ast.Name((variable,)), 1
        return [ast.Assign(variable, value)]

    def _inlined(self, name: str, value: ast.Expr, size: int) -> bool:
        if self.uses[name] <= 1:
            return True
        return size <= SMALL and sum(1 for _ in subexpressions(value)) <= SMALL

    # -- expressions -------------------------------------------------------------------------------

    def operand(self, operand: Operand) -> ast.Expr:
        """Return the expression of an operand."""
        if not isinstance(operand, Literal):
            return self.values[operand]
        return literal(operand)

    def _size(self, operand: Operand) -> int:
        return 1 if isinstance(operand, Literal) else self.sizes[operand]

    def _arguments(self, op: Op) -> Arguments:
        operands = tuple(op.operands())
        return Arguments(
            op,
            tuple(map(self.operand, operands)),
            tuple(map(self.ir.sort_of, operands)),
            tuple(map(self.reach.of, operands)),
        )


class _Names:
    """Legal, readable, distinct variables: ``v.3`` becomes ``v_3``, ``%7`` becomes ``t_7``."""

    def __init__(self, taken: Iterable[str]) -> None:
        self.taken = {*taken, *KEYWORDS, *ast.FUNCTIONS}
        self.given: dict[str, str] = {}

    def of(self, name: str) -> str:
        """Return the variable of the IR name ``name``."""
        if name not in self.given:
            plain = re.sub(r"\W+", "_", name.replace("%", "t_"), flags=re.ASCII).strip("_")
            plain = plain if plain and not plain[0].isdigit() else f"v_{plain}"
            candidate, number = plain, 1
            while candidate in self.taken:
                number += 1
                candidate = f"{plain}_{number}"
            self.taken.add(candidate)
            self.given[name] = candidate
        return self.given[name]

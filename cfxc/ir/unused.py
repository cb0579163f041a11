"""Dead code: keep only what some outputs need."""

from __future__ import annotations

from collections.abc import Iterable

from .op import Literal, Operand
from .program import Program
from .statements import If, Let, Statement, walk


def keep_outputs(program: Program, names: Iterable[str]) -> Program:
    """The program restricted to the named outputs, without assignments they do not need."""
    wanted = set(names)
    outputs = tuple((name, operand) for name, operand in program.outputs if name in wanted)
    needed = _needed(program, [operand for _, operand in outputs])
    return Program(program.name, program.inputs, _restrict(program.body, needed), outputs)


def _needed(program: Program, roots: list[Operand]) -> set[str]:
    uses: dict[str, list[Operand]] = {}
    conditions: list[Operand] = []
    for tag, statement in walk(program.body):
        if isinstance(statement, Let):
            operands = [*statement.op.operands(), *conditions]
            uses.setdefault(statement.name, []).extend(operands)
        elif tag == "if":
            conditions.append(statement.condition)
        elif tag == "end":
            conditions.pop()
    needed: set[str] = set()
    stack = [operand for operand in roots if not isinstance(operand, Literal)]
    while stack:
        name = stack.pop()
        if name not in needed:
            needed.add(name)
            stack += [use for use in uses.get(name, ()) if not isinstance(use, Literal)]
    return needed


def _restrict(body: tuple[Statement, ...], needed: set[str]) -> tuple[Statement, ...]:
    blocks: list[list[Statement]] = [[]]
    for tag, statement in walk(body):
        if isinstance(statement, Let):
            if statement.name in needed:
                blocks[-1].append(statement)
        elif tag in ("if", "else"):
            blocks.append([])
        else:
            orelse, then = tuple(blocks.pop()), tuple(blocks.pop())
            if then or orelse:
                blocks[-1].append(If(statement.condition, then, orelse))
    return tuple(blocks.pop())

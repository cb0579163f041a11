"""Assignments that nobody reads."""

from __future__ import annotations

from dataclasses import replace

from ..ir import If, Let, Program, Statement, walk


def without_unused(program: Program) -> Program:
    """Return ``program`` without the assignments and ifs that no output depends on."""
    needed = {operand for _, operand in program.outputs}
    stack: list[list[Statement]] = [[]]
    for tag, statement in reversed(list(walk(program.body))):
        if isinstance(statement, Let):
            if statement.name in needed:
                needed.update(statement.op.operands())
                stack[-1].append(statement)
        elif tag == "if":
            then, orelse = stack.pop(), stack.pop()
            if then or orelse:
                needed.add(statement.condition)
                body = tuple(reversed(then)), tuple(reversed(orelse))
                stack[-1].append(If(statement.condition, *body))
        else:
            stack.append([])
    return replace(program, body=tuple(reversed(stack.pop())))

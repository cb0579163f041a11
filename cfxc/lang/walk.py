"""Traversals that never recurse, for trees as deep as their text."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any, TypeVar

from .ast import Assign, Command, Expr, For, If, Index, Name, Return, Sequence

T = TypeVar("T")


def run(step: Generator[Any, Any, T]) -> T:
    """Return what ``step`` returns; a ``yield other_step`` in it is a call that costs no stack."""
    stack: list[Generator[Any, Any, Any]] = [step]
    value: Any = None
    while stack:
        try:
            called = stack[-1].send(value)
        except StopIteration as stop:
            stack.pop()
            value = stop.value
        else:
            stack.append(called)
            value = None
    result: T = value
    return result


def fold(root: Expr, combine: Callable[[Expr, tuple[T, ...]], T]) -> T:
    """Return ``combine(e, values of e's operands)`` for ``root``, computed from the leaves up."""
    results: list[T] = []
    stack: list[tuple[Expr, bool]] = [(root, False)]
    while stack:
        node, ready = stack.pop()
        operands = node.operands
        if ready:
            start = len(results) - len(operands)
            values = tuple(results[start:])
            del results[start:]
            results.append(combine(node, values))
        elif operands:
            stack.append((node, True))
            stack.extend((operand, False) for operand in reversed(operands))
        else:
            results.append(combine(node, ()))
    return results[0]


def rewrite(root: Expr, rule: Callable[[Expr], Expr]) -> Expr:
    """Return ``root`` with ``rule`` applied to every node, leaves first, in canonical form."""

    def combine(node: Expr, operands: tuple[Expr, ...]) -> Expr:
        same = all(new is old for new, old in zip(operands, node.operands, strict=True))
        return rule(node if same else node.rebuild(operands))

    return fold(root, combine)


def subexpressions(root: Expr) -> Iterator[Expr]:
    """Yield ``root`` and all expressions inside it, left to right, a node before its operands."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.operands))


def names(root: Expr) -> Iterator[Name]:
    """Yield every variable that ``root`` reads, indexed arrays included, left to right."""
    for node in subexpressions(root):
        if isinstance(node, Name):
            yield node
        elif isinstance(node, Index):
            yield node.base


def subcommands(root: Command) -> Iterator[Command]:
    """Yield ``root`` and all commands inside it in the order of the text."""
    stack = [root]
    while stack:
        command = stack.pop()
        yield command
        if isinstance(command, Sequence):
            stack.extend(reversed(command.commands))
        elif isinstance(command, If):
            stack.extend((command.otherwise, command.then))
        elif isinstance(command, For):
            stack.append(command.body)


def expressions(command: Command) -> tuple[Expr, ...]:
    """Return the expressions that belong to ``command`` itself, not to commands inside it."""
    if isinstance(command, Assign):
        return (command.value,)
    if isinstance(command, If):
        return (command.guard,)
    if isinstance(command, For):
        return (command.first, command.last)
    if isinstance(command, Return):
        return tuple(output.value for output in command.outputs)
    return ()

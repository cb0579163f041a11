"""The table of ONNX ops: supported = registered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ..context import Context
from ..graph import Node
from ..values import Result, Value

Inputs = Sequence[Value | None]
Rule = Callable[[Context, Node, Inputs], Result]


@dataclass(frozen=True)
class Entry:
    """How an op is lowered, and which attributes the rule understands."""

    rule: Rule
    attributes: frozenset[str]


RULES: dict[str, Entry] = {}
"""Op with its domain (``ai.onnx.Softmax``) to its rule."""

RuleT = TypeVar("RuleT", bound=Rule)


def rule(*kinds: str, attributes: Iterable[str] = ()) -> Callable[[RuleT], RuleT]:
    """Decorator: the function lowers these ops, given these ``attributes`` at most.

    It gets the context, the node and its inputs (``None`` where absent), and gives the node's
    output, or all of them; it raises ``Refusal`` for what it does not take.
    """

    def enter(function: RuleT) -> RuleT:
        RULES.update(dict.fromkeys(kinds, Entry(function, frozenset(attributes))))
        return function

    return enter


def argument(inputs: Inputs, index: int) -> Value | None:
    """The input at ``index``; ``None`` if it is absent."""
    return inputs[index] if index < len(inputs) else None

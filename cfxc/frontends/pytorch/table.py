"""The table of aten ops: supported = registered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Rule = Callable[..., Any]
"""rule(lowering, *arguments, **options): the value of an op, of the values that it is given."""
RULES: dict[Any, Rule] = {}
RuleT = TypeVar("RuleT", bound=Rule)


def rule(*targets: Any) -> Callable[[RuleT], RuleT]:
    """Decorator: the function lowers these overloads of ``torch.ops.aten``."""

    def enter(function: RuleT) -> RuleT:
        RULES.update(dict.fromkeys(targets, function))
        return function

    return enter

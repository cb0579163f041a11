"""The table of aten ops: supported = registered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ir.op import entering

Rule = Callable[..., Any]
"""rule(lowering, *arguments, **options): the value of an op, of the values that it is given."""
RULES: dict[Any, Rule] = {}
rule = entering(RULES)
"""Decorator: the function lowers these overloads of ``torch.ops.aten``."""

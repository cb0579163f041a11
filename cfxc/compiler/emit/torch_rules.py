"""What each op is in torch: on float64 tensors with rows on axis 0, differentiable.

Truths are weights in [0, 1]: the weight of a label, 0 or 1 for a comparison.  Connectives are
products, and choices are mixtures; on weights of 0 and 1 all are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from ...ir import Op, Sort, ops

Tensor = Any  # torch's
#: rule(op, its constant arrays by field, operand sorts, *operands); shapes already aligned.
Rule = Callable[..., Tensor]
Arrays = Mapping[str, Tensor]
RULES: dict[type[Op], Rule] = {}


def rule(*classes: type[Op]) -> Callable[[Rule], Rule]:
    """Enter a function into ``RULES`` for the given op classes."""

    def enter(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(classes, function))
        return function

    return enter


def align(tensor: Tensor, rank: int) -> Tensor:
    """Insert axes after the row axis, so that shapes broadcast as the ops' shapes do."""
    missing = rank - tensor.dim()
    return tensor.reshape(tensor.shape[0], *[1] * missing, *tensor.shape[1:]) if missing else tensor


def mixture(condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """``c x + (1 - c) y``: x where c = 1, y where c = 0, with the gradient of the one taken."""
    other = 1 - condition
    return condition * _heard(x, condition) + other * _heard(y, other)


def _heard(x: Tensor, weight: Tensor) -> Tensor:
    # 0 times an infinity of the branch not taken would be NaN
    return torch.where((weight == 0) & ~torch.isfinite(x), 0.0, x)


def _divide(x: Tensor, y: Tensor) -> Tensor:
    # dividing by 1 first keeps NaN out of the gradients where a branch not taken divides by 0
    zero = y == 0
    return torch.where(zero, torch.nan, x / torch.where(zero, 1.0, y))


def _round_float32(x: Tensor) -> Tensor:
    # x + (r - x) is exactly r: the difference of doubles within a factor of two is exact
    return x + (x.detach().to(torch.float32).to(torch.float64) - x.detach())


def _any(*parts: Tensor) -> Tensor:
    return 1 - _all(*(1 - part for part in parts))


def _all(*parts: Tensor) -> Tensor:
    result = parts[0]
    for part in parts[1:]:
        result = result * part
    return result


def _truth(function: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda x, y: function(x, y).to(torch.float64)


_ELEMENTWISE: dict[type[Op], Callable[..., Tensor]] = {
    ops.Add: torch.add,
    ops.Sub: torch.sub,
    ops.Mul: torch.mul,
    ops.Div: _divide,
    ops.Minimum: torch.minimum,
    ops.Maximum: torch.maximum,
    ops.Neg: torch.neg,
    ops.Abs: torch.abs,
    ops.Relu: torch.relu,
    ops.RoundFloat32: _round_float32,
    ops.Le: _truth(torch.le),
    ops.Lt: _truth(torch.lt),
    ops.Ge: _truth(torch.ge),
    ops.Gt: _truth(torch.gt),
    ops.Eq: _truth(torch.eq),
    ops.Ne: _truth(torch.ne),
    ops.And: _all,
    ops.Or: _any,
    ops.Not: lambda x: 1 - x,
    ops.Select: mixture,
    ops.Exp: torch.exp,
    ops.Sigmoid: torch.sigmoid,
    ops.Tanh: torch.tanh,
    ops.Softmax: lambda x: torch.softmax(x, dim=1),
    ops.Identity: lambda x: x,
    ops.ToReal: lambda x: x,
    ops.ReduceSum: lambda x: x.sum(dim=1),
    ops.ReduceMax: lambda x: x.amax(dim=1),
    ops.ReduceMin: lambda x: x.amin(dim=1),
}


def _plain(function: Callable[..., Tensor]) -> Rule:
    return lambda op, arrays, sorts, *operands: function(*operands)


RULES.update({cls: _plain(function) for cls, function in _ELEMENTWISE.items()})


@rule(ops.LeakyRelu)
def _leaky_relu(op: ops.LeakyRelu, arrays: Arrays, sorts: list[Sort], x: Tensor) -> Tensor:
    return torch.where(x > 0, x, x * float(op.alpha))


@rule(ops.Clip)
def _clip(op: ops.Clip, arrays: Arrays, sorts: list[Sort], x: Tensor) -> Tensor:
    return torch.clamp(x, float(op.lower), float(op.upper))


@rule(ops.Constant)
def _constant(op: Op, arrays: Arrays, sorts: list[Sort]) -> Tensor:
    return arrays["value"][None]


@rule(ops.Concat)
def _concat(op: Op, arrays: Arrays, sorts: list[Sort], *parts: Tensor) -> Tensor:
    rows = max(part.shape[0] for part in parts)
    columns = [part if part.dim() == 2 else part[:, None] for part in parts]
    return torch.cat([column.expand(rows, -1) for column in columns], dim=1)


@rule(ops.Take)
def _take(op: ops.Take, arrays: Arrays, sorts: list[Sort], x: Tensor) -> Tensor:
    return x[:, list(op.indices)]


@rule(ops.Item)
def _item(op: ops.Item, arrays: Arrays, sorts: list[Sort], x: Tensor) -> Tensor:
    return x[:, op.index]


@rule(ops.Reshape)
def _reshape(op: ops.Reshape, arrays: Arrays, sorts: list[Sort], x: Tensor) -> Tensor:
    return x.reshape(x.shape[0], *op.shape)


@rule(ops.Lookup)
def _lookup(op: Op, arrays: Arrays, sorts: list[Sort], x: Tensor) -> Tensor:
    return x @ arrays["table"]


@rule(ops.IsLabel)
def _is_label(op: ops.IsLabel, arrays: Arrays, sorts: list[Sort], x: Tensor) -> Tensor:
    return x[:, sorts[0].index(op.label)]


@rule(ops.Affine)
def _affine(op: Op, arrays: Arrays, sorts: list[Sort], x: Tensor) -> Tensor:
    return x @ arrays["weight"].T + arrays["bias"]

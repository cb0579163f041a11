"""Programs as differentiable torch modules (Vo et al. 2023, eq. 3, needs ∂f/∂x̃).

Values are the exact evaluator's but for the rounding of doubles.  Where a program rounds to
float32, so does the module, and the gradient passes straight through.  A category is a row of
weights over its labels: exact for one-hot rows, and between them what is linear in the weights
(a lookup is the weighted mean of its table).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from ...errors import InvalidInputError, UnsupportedError, needs
from ...ir import Let, Literal, Op, Operand, Program, Sort, ops
from ...ir import Tensor as Exact
from ...ir.batch import ALIGNED
from ...ir.interval import nearest_float
from ...ir.op import entering, rule_of
from ...ir.sorts import format_name
from ...ir.statements import Statement, run_merging, walk
from .torch_refusals import refused, restricted

with needs("amortised", "a program as a torch module", "torch"):
    import torch

Tensor = Any  # torch's


class TorchModule(torch.nn.Module):  # type: ignore[misc]  # untyped base
    """A program as a function of tensors, ``f(x)`` with ``∂f/∂x``; on the CPU.

    Its constants are float64 buffers; nothing in it is trained.

    Args:
        program: Any verified program.
        outputs: The outputs that are wanted (``None``: all); the rest is not computed.

    Raises:
        InvalidInputError: an output that the program has not.
        UnsupportedError: ops without a useful gradient (:func:`refused`), all at once.
    """

    def __init__(self, program: Program, outputs: Iterable[str] | None = None) -> None:
        super().__init__()
        self.program = restricted(program, outputs)
        if offences := refused(self.program):
            raise UnsupportedError(
                f"program {program.name} has no useful gradient:",
                offences,
                "ask for a score instead of a label, or use a method that needs no gradient",
            )
        self._sorts = self.program.sorts
        self._plan = [
            (tag, step, self._hold(i, step))
            for i, (tag, step) in enumerate(walk(self.program.body))
        ]

    def _hold(self, number: int, statement: Statement) -> dict[str, str]:
        """Register the constant arrays of an assignment; their buffers' names by field."""
        names = {}
        if isinstance(statement, Let):
            for field, value in statement.op.attributes():
                if isinstance(value, Exact):
                    names[field] = f"{field}_{number}"
                    self.register_buffer(names[field], torch.from_numpy(value.floats().copy()))
        return names

    def forward(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """``{output: tensor}`` of ``{input: tensor}``, for n rows.

        Numbers and truths are of shape (n, *sort.shape), truths 0, 1 or weights between; a category
        of L labels is (n, L), one-hot or weights that sum to 1.  Outputs likewise.

        Raises:
            InvalidInputError: inputs missing, unknown, or of another shape.
        """
        values = self._given(inputs)
        rows = next((value.shape[0] for value in values.values()), 1)
        run_merging(
            self._plan, values, partial(self._let, values),
            lambda _, c, x, y: mixture(align(self._read(values, c), x.dim()), x, y),
        )  # fmt: skip
        found = {name: self._read(values, operand) for name, operand in self.program.outputs}
        return {name: value.expand(rows, *value.shape[1:]) for name, value in found.items()}

    def _given(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        names = {name for name, _ in self.program.inputs}
        if odd := sorted(map(format_name, names ^ set(inputs))):
            raise InvalidInputError(f"inputs missing or unknown: {odd[:7]}")
        values = {name: _column(name, sort, inputs[name]) for name, sort in self.program.inputs}
        if len(lengths := {value.shape[0] for value in values.values()}) > 1:
            raise InvalidInputError(f"inputs differ in length: {sorted(lengths)}")
        return values

    def _let(
        self, values: Mapping[str, Tensor], statement: Let, buffers: Mapping[str, str]
    ) -> Tensor:
        op = statement.op
        operands = list(op.operands())
        tensors = [self._read(values, operand) for operand in operands]
        if isinstance(op, ALIGNED):
            rank = max(tensor.dim() for tensor in tensors)
            tensors = [align(tensor, rank) for tensor in tensors]
        arrays = {field: self.get_buffer(name) for field, name in buffers.items()}
        rule = rule_of(RULES, op)
        assert rule is not None  # what has none is refused
        return rule(op, arrays, [self._sort(o) for o in operands], *tensors)

    def _sort(self, operand: Operand) -> Sort:
        return operand.sort if isinstance(operand, Literal) else self._sorts[operand]

    def _read(self, values: Mapping[str, Tensor], operand: Operand) -> Tensor:
        if not isinstance(operand, Literal):
            return values[operand]
        # one row, like every constant: it broadcasts
        return torch.tensor([nearest_float(operand.value)], dtype=torch.float64)


def _column(name: str, sort: Sort, given: Tensor) -> Tensor:
    """An input as the rules take it; ``InvalidInputError`` if it is not of the input's sort."""
    if not isinstance(given, torch.Tensor) or given.is_complex():
        raise InvalidInputError(f"input {format_name(name)}: {type(given).__name__}, not a tensor")
    shape = (len(sort.labels),) if sort.kind == "category" else sort.shape
    if given.dim() == 0 or tuple(given.shape[1:]) != shape:
        raise InvalidInputError(
            f"input {format_name(name)}: shape {tuple(given.shape)} where (n, *{shape}) is"
            " expected (a category has one weight per label)"
        )
    return given.to(torch.float64)


#: rule(op, its constant arrays by field, operand sorts, *operands); shapes already aligned.
Rule = Callable[..., Tensor]
Arrays = Mapping[str, Tensor]
RULES: dict[type[Op], Rule] = {}


rule = entering(RULES)


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
    ops.Erf: torch.erf,
    ops.Softplus: lambda x: torch.logaddexp(x, torch.zeros_like(x)),
    ops.Softsign: torch.nn.functional.softsign,
    ops.Elu: torch.nn.functional.elu,
    ops.Silu: torch.nn.functional.silu,
    ops.Gelu: torch.nn.functional.gelu,
    ops.GeluTanh: lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    ops.Mish: torch.nn.functional.mish,
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


@rule(ops.PiecewiseLinear)
def _piecewise_linear(
    op: ops.PiecewiseLinear, arrays: Arrays, sorts: list[Sort], x: Tensor
) -> Tensor:
    lines = op.hinges().lines
    places, slopes, intercepts = (torch.tensor([*map(float, part)]).to(x) for part in lines)
    piece = torch.searchsorted(places, x.detach())
    return slopes[piece] * x + intercepts[piece]


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

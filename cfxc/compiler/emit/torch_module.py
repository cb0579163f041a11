"""Programs as differentiable torch modules (Vo et al. 2023, eq. 3, needs ∂f/∂x̃).

Values are the exact evaluator's but for the rounding of doubles.  Where a program rounds to
float32, so does the module, and the gradient passes straight through.  A category is a row of
weights over its labels: exact for one-hot rows, and between them what is linear in the weights
(a lookup is the weighted mean of its table).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...errors import InvalidInputError, MissingExtraError, UnsupportedError
from ...ir import Let, Literal, Operand, Program, Sort
from ...ir import Tensor as Exact
from ...ir.batch import ALIGNED
from ...ir.interval import nearest_float
from ...ir.sorts import format_name
from ...ir.statements import Statement, walk
from .torch_refusals import REFUSALS, refused, restricted

try:
    import torch
except ModuleNotFoundError as error:
    raise MissingExtraError("amortised", "torch", "a program as a torch module") from error

from .torch_rules import RULES, align, mixture

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
        self._run(values)
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

    def _run(self, values: dict[str, Tensor]) -> None:
        # both branches run on all rows; a name assigned in both is merged at the end of the if
        stack: list[dict[str, Tensor]] = []
        for tag, statement, buffers in self._plan:
            if isinstance(statement, Let):
                values[statement.name] = self._let(statement, buffers, values)
                if stack:
                    stack[-1][statement.name] = values[statement.name]
            elif tag in ("if", "else"):
                stack.append({})
            else:
                orelse, then = stack.pop(), stack.pop()
                condition = self._read(values, statement.condition)
                for name in then.keys() & orelse.keys():
                    chosen = align(condition, then[name].dim())
                    values[name] = mixture(chosen, then[name], orelse[name])
                    if stack:
                        stack[-1][name] = values[name]

    def _let(
        self, statement: Let, buffers: Mapping[str, str], values: Mapping[str, Tensor]
    ) -> Tensor:
        op = statement.op
        operands = list(op.operands())
        tensors = [self._read(values, operand) for operand in operands]
        if isinstance(op, ALIGNED):
            rank = max(tensor.dim() for tensor in tensors)
            tensors = [align(tensor, rank) for tensor in tensors]
        arrays = {field: self.get_buffer(name) for field, name in buffers.items()}
        return RULES[type(op)](op, arrays, [self._sort(o) for o in operands], *tensors)

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


__all__ = ["REFUSALS", "RULES", "TorchModule", "refused"]

"""What has no gradient: programs are asked before torch is imported.

A value *varies* if a gradient reaches it from some input.  A truth is *cut* if a comparison took
part in it: comparisons are constant wherever they have a derivative.  Cut truths may choose between
branches of which one varies (the gradient is the chosen branch's); a number or a label that rests
on cut truths alone is a step function, and refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ...errors import InvalidInputError
from ...ir import Let, Literal, Op, Operand, Program, ops
from ...ir.ops.logic import Comparison
from ...ir.patterns import keep_outputs
from ...ir.sorts import format_name
from ...ir.statements import run_merging, walk

#: Ops without a useful gradient, and why; all others have rules.
REFUSALS: Mapping[type[Op], str] = {
    ops.TreeEnsemble: "is constant between its thresholds, so its gradient is 0",
    ops.Argmax: "is an index, which moves in steps",
    ops.Category: "is a label by its index, which moves in steps",
}
STEP = "rests on comparisons alone, so its gradient is 0"


@dataclass(frozen=True)
class Flow:
    """How a value depends on the inputs: by a gradient, and (truths only) by comparisons."""

    varies: bool = False
    cut: bool = False

    def __or__(self, other: Flow) -> Flow:
        return Flow(self.varies or other.varies, self.cut or other.cut)


def restricted(program: Program, outputs: Iterable[str] | None) -> Program:
    """The program with only the named outputs (``None``: all) and what they need.

    Raises:
        InvalidInputError: an output that the program has not.
    """
    if outputs is None:
        return program
    required, known = list(outputs), [name for name, _ in program.outputs]
    if odd := [name for name in required if name not in known] or [""] * (not required):
        raise InvalidInputError(
            f"program {program.name} has no output {format_name(odd[0])};"
            f" it has {', '.join(map(format_name, known))}"
        )
    return keep_outputs(program, required)


def refused(program: Program, outputs: Iterable[str] | None = None) -> list[str]:
    """The ops through which no useful gradient flows, each with where it is from and why.

    ``outputs``: those that matter (``None``: all); the rest of the program is left aside.

    Raises:
        InvalidInputError: an output that the program has not.
    """
    kept = restricted(program, outputs)
    reader = _Reader(kept)
    reader.run()
    return reader.offences


class _Reader:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.flows = {name: Flow(varies=True) for name, _ in program.inputs}
        self.offences: list[str] = []

    def run(self) -> None:
        run_merging(
            walk(self.program.body), self.flows, self._let,
            lambda name, c, x, y: self._chosen(name, name, "if", self._of(c), x, y),
        )  # fmt: skip
        for name, operand in self.program.outputs:
            if self._of(operand).cut:
                self.offences.append(f"output {format_name(name)}: {STEP}")

    def _of(self, operand: Operand) -> Flow:
        return Flow() if isinstance(operand, Literal) else self.flows[operand]

    def _let(self, statement: Let) -> Flow:
        op, where = statement.op, statement.origin or format_name(statement.name)
        flows = [self._of(operand) for operand in op.operands()]
        joined = Flow()
        for flow in flows:
            joined |= flow
        if type(op) in REFUSALS:
            self.offences.append(f"{where}: '{op.name}' {REFUSALS[type(op)]}")
            return Flow(joined.varies)
        if isinstance(op, Comparison):
            return Flow(cut=joined.varies)
        if isinstance(op, ops.Select):
            return self._chosen(statement.name, where, op.name, *flows)
        if self.program.sorts[statement.name].kind == "bool":
            return joined
        return self._number(where, op.name, joined)

    def _chosen(self, name: str, where: str, what: str, c: Flow, x: Flow, y: Flow) -> Flow:
        joined = c | x | y
        if self.program.sorts[name].kind == "bool":
            return joined
        return Flow(True) if x.varies or y.varies else self._number(where, what, joined)

    def _number(self, where: str, what: str, flow: Flow) -> Flow:
        """A number or label that depends on truths; one that is refused counts as varying."""
        if flow.cut:
            self.offences.append(f"{where}: '{what}' {STEP}")
        return Flow(flow.varies or flow.cut)

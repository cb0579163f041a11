"""``MaxChanges``: at most so many features may change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...ir import Builder, Literal, Operand, Program, ops
from ...space.names import names_arguments
from ..checks import whole_number
from .criterion import Constraint, Criterion, Instance


@names_arguments
@dataclass(frozen=True)
class MaxChanges(Criterion):
    """``|{j : x_j ≠ x̂_j}| <= most``: at most so many features of x differ from the factual x̂.

    Features that a causal model derives from others have domains as well, and count.  The program
    of ``constraints`` is what holds; engines also read ``most`` itself, as
    ``Query.cap``, the least of several, by which they prune.

    Args:
        most: A whole number, >= 1.

    Raises:
        DataTypeError: ``most`` is no whole number.
        InvalidInputError: it is below 1.
    """

    most: int

    name = "max_changes"
    flag = "--max-changes"
    flag_type = int
    metavar = "K"
    help = "How many features may change."

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", whole_number(self.most, self.name, least=1))

    def __str__(self) -> str:
        return f"at most {self.most} feature{'s' * (self.most > 1)} may change"

    def constraints(self, instance: Instance) -> Sequence[Constraint]:
        """One: the program x → ``holds``, which counts the features that differ."""
        return [Constraint(text=str(self), program=self._program(instance), by=self)]

    def _program(self, instance: Instance) -> Program:
        builder = Builder("changes")
        builder.reserve(domain.name for domain in instance.domains)
        count: Operand = Literal(0)
        for domain in instance.domains:
            x = builder.input(domain.name, domain.sort)
            if domain.is_symbolic:
                same = builder.let(ops.IsLabel(x, domain.factual))
            else:
                same = builder.let(ops.Eq(x, Literal(domain.factual)))
            changed = builder.let(ops.Sub(Literal(1), builder.let(ops.ToReal(same))))
            count = builder.let(ops.Add(count, changed))
        return builder.build(holds=builder.let(ops.Le(count, Literal(self.most))))

    def to_toml(self) -> int:
        """``max_changes = K`` in ``question.toml``."""
        return self.most

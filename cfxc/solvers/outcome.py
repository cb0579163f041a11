"""What an engine knows at the end of its search, whichever engine it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from ..question.query import Query
from .candidates import Candidate


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a search stands: the optimum lies between two distances.

    Attributes:
        seconds: Since the search began.
        lower: Nothing in the target lies nearer, proved.
        upper: The distance of the nearest point so far; ``None`` before there is one.
        nodes: Boxes or nodes looked at; of SMT, solver calls.
    """

    seconds: float
    lower: float
    upper: float | None
    nodes: int


Watch = Callable[[Progress], None]
"""Is told from time to time where a search stands."""

Report = Callable[[Fraction, Fraction | None, int], None]
"""What engines call: the lower bound, the best distance, and how many nodes, in their own terms."""


def silent(lower: Fraction, upper: Fraction | None, nodes: int) -> None:
    """Nobody watches."""


@dataclass(frozen=True, slots=True)
class Refuted:
    """Nothing is nearer than ``radius``, by the word of a solver; a proof is made on demand."""

    query: Query
    radius: Fraction


@dataclass(frozen=True, slots=True)
class Call:
    """One satisfiability query: its radius, answer and time; ``by`` is ``bounds`` or a solver.

    With a ``margin``, points had to win by more than that: a refutation then proves nothing.
    """

    delta: float
    status: str
    seconds: float
    by: str
    margin: float = 0.0

    @property
    def refutes(self) -> bool:
        """Whether it proves that nothing in the target lies within ``delta``."""
        return self.status == "unsat" and not self.margin


@dataclass
class Outcome:
    """What the search knows at its end; the optimum lies in [``lower``, distance of ``best``].

    Attributes:
        best: The nearest verified point, or ``None``.
        lower: Nothing in the target lies nearer than this; exact.
        infeasible: Whether no point qualifies at all, proved.
        provers: Who showed the lower bound, or that no point qualifies.
        calls: Satisfiability queries, for engines that ask some.
        nodes: Boxes or branch-and-bound nodes looked at, for engines that branch.
        proof: What shows the lower bound, of engines that keep a record.
        reason: Why the search ended early.
        pool: Verified points met on the way, for searches that were asked to keep them.
    """

    best: Candidate | None = None
    lower: Fraction = Fraction(0)
    infeasible: bool = False
    provers: tuple[str, ...] = ()
    calls: list[Call] = field(default_factory=list)
    nodes: int = 0
    proof: Any = None
    reason: str = ""
    pool: list[Candidate] = field(default_factory=list)

    @property
    def proved_by(self) -> tuple[str, ...]:
        """Everyone behind the lower bound: engines, solvers, ``bounds`` (exact arithmetic)."""
        return tuple(sorted({*self.provers, *(call.by for call in self.calls if call.refutes)}))

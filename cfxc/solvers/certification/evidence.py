"""From an answer to its certificate, made when it is asked for."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from ...certificates.checker import Question, Rejected, Undecided, check
from ...certificates.checker.slack import bounds
from ...compiler.emit.smtlib import emit
from ...errors import UnsupportedError
from ...ir import ops
from ...ir.interval import ceil_float
from ...question.query import Query
from ...stopping import left
from ...version import __version__
from .. import box_search
from ..base import Outcome, Refuted
from ..encoding.ball import everywhere
from ..encoding.formula import Encoder
from .prover import INSIDE, Watched
from .steps import LONGEST
from .writer import SECONDS, Certificate, certify, written_semantics, written_slack


@dataclass(frozen=True)
class Evidence:
    """What an answer rests on: the question, the search's outcome, and the model file's hash."""

    query: Query
    outcome: Outcome
    status: str
    epsilon: float
    solver: str
    model: Mapping[str, str] | None

    @cached_property
    def certificate(self) -> Certificate:
        """The certificate, which the checker took.

        A proof that the search did not keep, or that leaves something to a solver's word, is made
        anew by an engine that does not, if there is one for the question.

        Raises:
            UnsupportedError: nothing was answered, or what was shown cannot be written down so
                that the checker takes it.
        """
        if self.status == "unknown":
            raise UnsupportedError("no counterfactual was found, so there is nothing to certify")
        if any(hull.weight for hull in self.query.hulls):
            raise UnsupportedError(
                "an answer that weighs how far it is from a trust region has no certificate; "
                "ask with weight=0"
            )
        why: Exception | None = None
        for evidence, proof in self._proofs():
            try:
                return evidence._of(proof)
            except UnsupportedError as error:
                why = error
        raise UnsupportedError(f"this answer has no certificate: {why}")

    @cached_property
    def script(self) -> str:
        """The lower bound as an SMT-LIB script that is unsatisfiable: nothing lies within it.

        It is the engine's own formula at that radius, as exact as the question; for answers that
        have no certificate.

        Raises:
            UnsupportedError: nothing was proved, or the formula is not for solvers.
        """
        if self.query.hulls:
            raise UnsupportedError("a trust region has no script; take the certificate itself")
        lower, infeasible = self.outcome.lower, self.status == "infeasible"
        if not infeasible and lower <= 0:
            raise UnsupportedError("no lower bound above 0 was proved, so there is none to write")
        widest = None if self.query.distance.norms is None else Fraction(1)
        inside = lower * INSIDE if self.query.spacing is None else lower - self.query.spacing / 2
        radius = widest if infeasible else inside  # at the bound itself there may be points
        encoding = Encoder(self.query).encode(radius)
        within = "whatever the distance" if infeasible else f"within {radius} (squared, of l2)"
        return emit(
            encoding.pool,
            encoding.assertions,
            comments=[f"nothing in the target {within}"],
            footer=["(check-sat)", "(exit)"],
            equations=True,
        )

    def _of(self, proof: Any) -> Certificate:
        best = self.outcome.best
        engine = {"cfxc": __version__, "python": platform.python_version(), "engine": self.solver}
        try:
            made = certify(
                self.query,
                status=self.status,
                point=None if best is None else best.point,
                lower=self.outcome.lower,
                epsilon=self.epsilon,
                proof=proof,
                made=engine,
                model=self.model,
            )
            check(made.to_dict(), Watched(LONGEST))
        except Undecided:
            raise UnsupportedError(f"its proof takes more than {LONGEST:g} s to write") from None
        except Rejected as error:
            raise UnsupportedError(f"its proof is beyond the checker's rules: {error}") from None
        except OverflowError:
            raise UnsupportedError("the program that proves it has numbers beyond floats") from None
        return made

    def _proofs(self) -> Iterator[tuple[Evidence, Any]]:
        """The proof that was kept; then ones that are made anew, with the checker's own slack if
        that is more.
        """
        yield self, self.outcome.proof
        needed = _needed_slack(self.query)
        if needed is not None and needed > self.query.slack > 0:
            outcome = replace(self.outcome, proof=None)
            self = replace(self, query=replace(self.query, slack=needed), outcome=outcome)
        yield from ((self, proof) for proof in self._anew())

    def _anew(self) -> Iterator[Any]:
        """Proofs of the same bound by box search, and by linear programs, which close more."""
        infeasible = self.status == "infeasible"
        radius = everywhere(self.query) if infeasible else self.outcome.lower
        if not infeasible and radius <= 0:
            return
        if not box_search.refuses(self.query):
            for within in (radius, radius * INSIDE):  # at the bound itself there may be points
                seconds = min(SECONDS, left())
                if found := box_search.refute(self.query, min(within, Fraction(1)), seconds):
                    yield found
                    break
        if not isinstance(self.outcome.proof, Refuted):
            yield Refuted(self.query, radius)


def covered(query: Query) -> Query:
    """A query with at least the slack that the checker derives by itself, if it has any.

    Of a network that is sometimes a little more than the deployed model needs.  Of trees it is
    less, and to read a large forest would take long.
    """
    if not query.slack or any(isinstance(s.op, ops.TreeEnsemble) for s in query.program.lets()):
        return query
    needed = _needed_slack(query)
    return query if needed is None else replace(query, slack=max(query.slack, needed))


def _needed_slack(query: Query) -> Fraction | None:
    """The slack that the checker derives; ``None`` of questions that have no certificate."""
    if not query.slack:
        return Fraction(0)
    try:
        content = certify(
            replace(query, constraints=(), excluded=(), hulls=()), status="feasible", point=None,
            lower=Fraction(0), epsilon=0.0, proof=None, made={},
        ).to_dict()  # fmt: skip
        stated = Question(*(content[part] for part in ("features", "program", "question")))
        needed = bounds(stated, written_semantics(query))[0] / (written_slack(query) / query.slack)
    except (UnsupportedError, Rejected):
        return None
    return Fraction(ceil_float(needed))

"""What ``explain`` answers: counterfactual, distance, proved lower bound, and how it was found."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from ..certificates.export import export, export_script
from ..errors import UnsupportedError
from ..show.answers import as_html
from ..show.numbers import shown
from ..show.values import shares_of, texts_of
from ..space.names import names_arguments
from ..space.tables import as_pandas
from .answer import Answer, from_to

if TYPE_CHECKING:  # a result is read where nothing is searched
    from ..solvers.base import Call, Progress
    from ..solvers.certification import Certificate
    from .letters import Given
    from .original import Original
    from .reasons import Reasons

Semantics = Literal["real", "float"]
Asked = Literal["auto", "real", "float"]
"""What ``semantics=`` takes; an answer states which of the two holds."""
Status = Literal["optimal", "feasible", "infeasible", "unknown"]
MET = "met on the way to the nearest one"
"""Why nothing more is known of a counterfactual from a pool."""
DIFFERENT = "as different as it can be within the distance asked for"
"""Why an answer is not the nearest one that is another."""
FEWER = {
    "infeasible": "no other one of the kind asked for exists, proved",
    "unknown": "no other one was found, though one may exist",
}
"""Why there are fewer answers than were asked for, by ``stop_reason``."""
COPIES = "answers may be near copies"
FEATURES = "asks for answers that change different features"
"""Of several answers that change the same features, and what to ask for instead."""


@dataclass(frozen=True, eq=False, repr=False)
class Result(Answer):
    """The answer to one query; the optimum lies in [``lower_bound``, ``distance``].

    Attributes:
        status: ``optimal`` (``lower_bound >= (1 - epsilon) * distance``), ``feasible`` (a
            counterfactual, with a larger gap), ``infeasible`` (none exists), ``unknown``.
        factual: The instance, as a one-row table.
        counterfactual: Such a table, of the same library and dtypes, or ``None``.
        distance: Its exact distance from the factual, rounded up to a double, or ``None``.
        lower_bound: Nothing in the target lies nearer; rounded down.
        lower_bound_proof: ``certificate`` once ``certificate`` was made and the checker took it;
            before that, ``search`` if the search kept its proof, ``solver`` if refutations by
            ``solver`` back the bound, ``none`` if it is only that distances are not negative.
        semantics: ``real``: the bound speaks of the exact program over the reals; ``float``: of the
            model as deployed, whose rounding was allowed for (and so of the exact program too).
            Where a range is out of the exact program's reach, answers are ``float`` unasked.
        calls: Every satisfiability query, with radius, answer and seconds.
        provers: Everyone whose refutations back the bound.
        proof: What shows the bound: of box search a tree of boxes, of mixed-integer search what
            was refuted, of which ``certificate`` makes a proof, else ``None``.
        nodes: Boxes or branch-and-bound nodes that the engine looked at.
        exact_distance, exact_lower_bound: The same two as exact numbers; of l2, which is a root,
            the doubles around it.
        alternatives: The next nearest, each different from all before (``count=``).
        count: How many answers were asked for.
        stop_reason: Why there are fewer than asked for: no other one exists (``infeasible``,
            proved), or none was found (``unknown``).
        conflict: If none exists: constraints and actions that together leave none, each of them
            needed; empty if there is none even without any.
        seeds: How many rows were given (``seeds=``), and how many of them are counterfactuals.
        given_up, relaxed: Of these, the cheapest to give up (or, with ``relax=``, what had to go
            in the order given), and the answer then.
        target: The target, as text.
        target_values: The same as values: ``(label,)``, or ``(low, high)`` with ``None`` for an
            open end.
        evidence: What ``certificate`` is made of.
        unchanged: Whether the factual has the target outcome already, and is the answer itself.
        by_default: Whether the target was not named: it is the other label of two.
        apart, apart_bound: Of one of several ``diverse`` answers its least difference from those
            before it, and what no row within the distance asked for exceeds, proved.
        apart_over: ``least``, or ``mean`` where ``apart`` is the mean of the differences.
        deployed: The original model on rows like the factual; no part of what is pickled.
        trace: Both bounds as they moved in the search, with seconds since it began.
    """

    status: Status
    factual: Any
    counterfactual: Any
    distance: float | None
    lower_bound: float
    epsilon: float
    lower_bound_proof: Literal["certificate", "search", "solver", "none"]
    solver: str
    distance_name: str
    target: str
    outcome_before: Any
    outcome_after: Any
    seconds: float
    calls: tuple[Call, ...] = ()
    provers: tuple[str, ...] = ()
    nodes: int = 0
    proof: Any = field(default=None, repr=False)
    reason: str = ""
    semantics: Semantics = "real"
    exact_distance: Fraction | None = None
    exact_lower_bound: Fraction = Fraction(0)
    alternatives: tuple[Result, ...] = field(default=(), repr=False)
    count: int = 1
    stop_reason: Literal["", "infeasible", "unknown"] = ""
    conflict: tuple[str, ...] = ()
    given_up: tuple[str, ...] = ()
    relaxed: Result | None = field(default=None, repr=False)
    target_values: tuple[Any, ...] | None = None
    evidence: Any = field(default=None, repr=False, compare=False)
    seeds: tuple[int, int] = (0, 0)
    unchanged: bool = False
    by_default: bool = False
    apart: float | None = None
    apart_bound: float | None = None
    apart_over: Literal["", "least", "mean"] = ""
    deployed: Original | None = field(default=None, repr=False, compare=False)
    trace: tuple[Progress, ...] = field(default=(), repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "deployed": None}

    @cached_property
    def reasons(self) -> Reasons:
        """Why the outcome is as it is, found at the first call; see :mod:`cfxc.answers.reasons`.

        They are about the outcome alone: neither actions nor criteria limit them.

        Raises:
            UnsupportedError: the outcome is the target, or the answer was pickled.
        """
        from .reasons import reasons_of

        if self.evidence is None:
            raise UnsupportedError(f"there is nothing to give reasons for: it {self.reason}")
        if self.deployed is None:
            raise UnsupportedError("reasons need the model, and this answer has none: ask again")
        return reasons_of(self.evidence.query, self.deployed.flips)

    @property
    def certificate(self) -> Certificate:
        """The answer with all that it takes to check it, made and checked at the first call.

        Raises:
            UnsupportedError: there is nothing to certify, or no proof can be written down.
        """
        if self.evidence is None:
            why = f"it {self.reason}" if self.unchanged else "it was not made by a search"
            raise UnsupportedError(f"this answer has no certificate: {why}")
        made: Certificate = self.evidence.certificate
        object.__setattr__(self, "lower_bound_proof", "certificate")  # the checker took it
        return made

    @names_arguments
    def export(self, format: str, out: str | Path, *, time_limit: float = 60.0) -> tuple[Path, ...]:
        """Write the answer for other checkers; see :func:`cfxc.export`.

        Where there is no certificate, ``smt2`` and ``cpc`` write the formula of the lower bound.

        Raises:
            CfxcError: as :func:`cfxc.export`.
        """
        try:
            certificate = self.certificate
        except UnsupportedError:
            if self.evidence is None or format not in ("smt2", "cpc"):
                raise
            return export_script(self.evidence.script, format, out, time_limit=time_limit)
        return export(certificate, format, out, time_limit=time_limit)

    @names_arguments
    def letter(
        self,
        path: str | Path,
        template: str | Path = "plain",
        locale: str = "en",
        fields: Given = None,
        *,
        certificate: bool | None = None,
        qr: bool = False,
    ) -> Path:
        """Write a letter to the person whom the decision was about; see ``docs/how-to/letters.md``.

        Args:
            path: ``.html`` or ``.pdf``.
            template: ``plain``, ``adverse-action`` (Regulation B, § 1002.9), ``european`` (GDPR
                Art. 22, AI Act Art. 86), or the path of a Jinja2 template of your own.
            locale: ``en``, ``de`` or ``fr``, also with a region (``de-AT``).
            fields: Sender, recipient, … as the template has them, and words for features and
                outcomes: a mapping, or the path of a TOML file.
            certificate: Whether to name certificates by their hashes. By default those that are
                made already, as ``result.certificate`` does; ``True`` makes those of all answers,
                where there can be one (which may take minutes); ``False`` names none.
            qr: Show the hash, or the field ``certificate_url``, as a QR code too.

        Warns:
            UserWarning: it names no sender, recipient or contact, or calls features and outcomes
                as columns and models do.

        Raises:
            InvalidInputError, DataTypeError: a field is missing or unknown; there is no such
                template or language; nothing has to change; the file cannot be written.
            MissingExtraError, UnsupportedError: the extra ``report``, or PDF's library Pango, is
                not installed; the answer was pickled, which leaves the model behind.
        """
        from .letters import Letter

        letter = Letter(path, template, locale, fields)
        if lacking := letter.lacks(self):
            warnings.warn(lacking, stacklevel=2)
        return letter.write(self, certificate=certificate, qr=qr)

    @property
    def gap(self) -> float:
        """``distance - lower_bound``; infinite without a counterfactual."""
        return float("inf") if self.distance is None else self.distance - self.lower_bound

    @property
    def proved_by(self) -> str:
        """Who showed that nothing is nearer: engines, solvers, ``bounds`` (exact arithmetic)."""
        return ", ".join(self.provers)

    @names_arguments
    def plot(self, path: str | Path | None = None, *, data: Any = None, ax: Any = None) -> Any:
        """What changes, each feature on its own scale, beside the alternatives if there are any.

        See :func:`cfxc.plot_changes`, whose arguments these are.
        """
        from .pictures import plot_changes

        return plot_changes(self.all(), path, data=data, ax=ax)

    @names_arguments
    def plot_bounds(self, path: str | Path | None = None, *, ax: Any = None) -> Any:
        """How the nearest point and the lower bound closed in on the optimum; returns the axes.

        Args:
            path: A file to write to, such as ``bounds.svg``.
            ax: Axes of matplotlib to draw on; by default new ones.

        Raises:
            MissingExtraError: matplotlib is not installed.
            InvalidInputError: nothing was searched, or the file cannot be written.
        """
        from .pictures import plot_bounds

        return plot_bounds(self, path, ax)

    def all(self) -> tuple[Result, ...]:
        """This answer and its alternatives (``count=``), nearest first."""
        return (self, *self.alternatives)

    def _table(self) -> pd.DataFrame:
        found = [as_pandas(r.counterfactual) for r in self.all() if r.counterfactual is not None]
        names = ["factual", *(f"counterfactual {i}" for i in range(1, len(found) + 1))]
        return pd.concat([as_pandas(self.factual), *found]).set_axis(names, axis=0)

    @property
    def shares(self) -> dict[str, float]:
        """Changed numbers: feature → (after − before) / range, below 0 where it falls."""
        if self.evidence is None or self.counterfactual is None:
            return {}
        rows = as_pandas(self.factual), as_pandas(self.counterfactual)
        return shares_of(self.evidence.query.space, *rows)

    def _texts(self) -> tuple[list[str], list[str], list[list[str]]]:
        if self.evidence is None:
            return super()._texts()
        return texts_of(self.evidence.query.space, self._table())

    def to_html(self, *, show_only_changes: bool = True) -> str:
        found, proved = self._words()
        names, before, after = self._texts()
        if self.alternatives:  # each one's distance and what is proved of it, below its changes
            names, before = [*names, "distance", "proof"], [*before, "", ""]
            pairs = zip(after, self.all(), strict=True)
            after = [[*row, *one.standing] for row, one in pairs]
        texts = names, before, after
        return as_html(found, proved, self.summary(), texts, show_only_changes)

    @property
    def is_settled(self) -> bool:
        """Whether no limit kept it from being all that was asked for."""
        if self.differs:
            return not self.reason or self.reason.startswith(DIFFERENT)
        return self.status == "optimal" or self.reason == MET

    @property
    def standing(self) -> tuple[str, str]:
        """The distance, and what is proved of it, in a few words."""
        far = "" if self.exact_distance is None else shown(self.exact_distance, 1)
        if self.differs:
            return far, f"differs by {self.differs}"
        if self.status == "optimal":
            return far, f"nearest to within {100 * self.epsilon:g} %"
        return far, "not proved to be the nearest"

    @property
    def differs(self) -> str:
        """By how much from the answers before, and what is proved of it; empty of other answers."""
        if self.apart is None or self.apart_bound is None:
            return ""
        least, most = shown(Fraction(self.apart), -1), shown(Fraction(self.apart_bound), 1)
        mean = " on average" * (self.apart_over == "mean")
        return f"{least} from those before{mean}; no row so near by more than {most}, proved"

    def _words(self) -> tuple[str, list[str]]:
        if self.unchanged:
            return f"nothing needs to change: the outcome is {self.outcome_before} already", []
        whose = "the exact program" if self.semantics == "real" else "the model as deployed"
        by = f"by {self.proved_by}, of {whose}"
        if self.status == "infeasible":
            return "no counterfactual exists", [f"Proved {by}{self.why}.", self.beyond]
        lower = shown(self.exact_lower_bound, -1)
        bound = f"Proved {by}: nothing in the target lies below {lower}." if self.proved_by else ""
        if self.exact_distance is None:
            return f"no counterfactual was found ({self.reason})", [bound]
        far = f"{self.distance_name} distance {shown(self.exact_distance, 1)}"
        nearest = f"nearest to within {100 * self.epsilon:g} %: {far}."
        if self.status != "optimal":
            nearest = f"Not proved to be the nearest ({self.reason}): {far}."
        found = f"{self.outcome_before} → {self.outcome_after}"
        if self.alternatives or self.stop_reason:
            found = f"{found}: {self._number}"
        if self.alternatives and self.status == "optimal":
            nearest = f"the nearest of them is {nearest}"
        fewer = f"{FEWER[self.stop_reason].capitalize()}." if self.stop_reason else ""
        copies = f"Hint: {COPIES}; diversity='features' {FEATURES}." if self.near_copies else ""
        sentences = [nearest[0].upper() + nearest[1:], bound, fewer, self.default_target, copies]
        return found, sentences

    def in_library_of(self, given: Any) -> Result:
        """The same with all rows in the library and dtypes of a table that was given."""
        others = tuple(other.in_library_of(given) for other in self.alternatives)
        relaxed = None if self.relaxed is None else self.relaxed.in_library_of(given)
        return replace(super().in_library_of(given), alternatives=others, relaxed=relaxed)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; rows as column → value."""
        return {
            "status": self.status,
            "unchanged": self.unchanged,
            "by_default": self.by_default,
            "target": self._plain_target(),
            **self._plain_rows(),
            "distance": self.distance,
            "distance_name": self.distance_name,
            "lower_bound": self.lower_bound,
            "epsilon": self.epsilon,
            "lower_bound_proof": self.lower_bound_proof,
            "solver": self.solver,
            "proved_by": self.proved_by,
            "nodes": self.nodes,
            "semantics": self.semantics,
            "seconds": self.seconds,
            "reason": self.reason,
            "calls": [
                {
                    "delta": c.delta if isfinite(c.delta) else None,
                    "status": c.status,
                    "seconds": c.seconds,
                    "by": c.by,
                    "margin": c.margin,
                }
                for c in self.calls
            ],
            "apart": self.apart,
            "apart_bound": self.apart_bound,
            "alternatives": [other.to_dict() for other in self.alternatives],
            "stop_reason": self.stop_reason,
            "conflict": list(self.conflict),
            "given_up": list(self.given_up),
            "relaxed": None if self.relaxed is None else self.relaxed.to_dict(),
        }

    def _plain_target(self) -> Any:
        if self.target_values is None:
            return self.target
        return self.target_values[0] if len(self.target_values) == 1 else list(self.target_values)

    @property
    def why(self) -> str:
        """Which rules leave no counterfactual, and which to give up; empty if some exists."""
        text = f", because {'; '.join(self.conflict)}" if self.conflict else ""
        if self.relaxed is None or self.relaxed.exact_distance is None:
            return text
        away = shown(self.relaxed.exact_distance, 1)
        return f"{text}. Without '{'; '.join(self.given_up)}' there is one at {away}"

    @property
    def default_target(self) -> str:
        """Which outcome was had and which was asked for, if no target was named."""
        if not self.by_default or self.target_values is None:
            return ""
        return from_to(self.outcome_before, self.target_values[0], self.by_default)

    @property
    def beyond(self) -> str:
        """What an answer that there is none leaves open: an outcome that is less sure, or rounding
        at the ends of a range.
        """
        if self.status != "infeasible":
            return ""
        if self.evidence is not None and not (target := self.evidence.query.target).is_plain:
            return f"it was asked for {target}; the label by itself may be reached"
        is_range = self.target_values is not None and len(self.target_values) == 2
        if self.semantics == "float" or not is_range:
            return ""
        return (
            "the deployed model may reach an end of the range by rounding, which semantics='float' "
            "asks about"
        )

    def summary(self) -> str:
        """One line: what was found and what was proved."""
        if self.unchanged:
            return f"unchanged: {self.reason} {self.target}, nothing needs to change"
        text = self._found()
        if self.stop_reason:
            text = f"{self._number} ({FEWER[self.stop_reason]}); the nearest: {text}"
        elif self.alternatives:
            text = f"{self._number}; the nearest: {text}"
        return f"{text}; {self.default_target}" if self.default_target else text

    @property
    def _number(self) -> str:
        """How many answers there are, and of how many that were asked for."""
        found = len(self.all())
        return f"{found} of {self.count} answers" if found < self.count else f"{found} answers"

    @property
    def near_copies(self) -> bool:
        """Whether two of several answers change the same features."""
        changed = [tuple(one.changes) for one in self.all() if one.apart is None]
        return len(set(changed)) < len(changed)

    def __repr__(self) -> str:
        text = super().__repr__()
        hint = f"hint: {COPIES}; diversity='features' {FEATURES}"
        return f"{text}\n  {hint}" if self.near_copies else text

    def _found(self) -> str:
        if self.status == "infeasible":
            of = "exact program" if self.semantics == "real" else "as deployed"
            message = f"no counterfactual exists (proved by {self.proved_by}, {of}){self.why}"
            return message + (f"; {self.beyond}" if self.beyond else "")
        if self.exact_distance is None:
            return f"unknown: {self.reason}"
        found = f"{self.status}: {self.distance_name} distance {shown(self.exact_distance, 1)}"
        if self.exact_distance == 0:
            return f"{found}, and no distance is smaller"
        if not self.proved_by:
            return f"{found}, no lower bound above 0 proved"
        if self.differs:
            return f"{found}, differs by {self.differs}"
        lower = shown(self.exact_lower_bound, -1)
        of = "" if self.semantics == "real" else ", as deployed"
        return f"{found}, nothing nearer than {lower} (proved by {self.proved_by}{of})"

"""What the checker says of a certificate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import InvalidInputError
from . import checker
from .auditing import binding, inputs
from .auditing import report as page


@dataclass(frozen=True, repr=False)
class Report:
    """Whether a certificate holds.

    Attributes:
        ok: Whether everything that it claims was shown.
        reason: What was wrong with it; empty if nothing was.
        facts: Question, claim and proof as they were checked; empty if it does not hold.
        content: The certificate.
        shown: The same as values of the checker; ``None`` if it does not hold.
        undecided: Whether a limit of the checker was reached before a verdict.
    """

    ok: bool
    reason: str
    facts: Mapping[str, Any]
    content: Mapping[str, Any] = field(repr=False)
    shown: checker.Shown | None = field(default=None, repr=False)
    undecided: bool = False

    @property
    def verdict(self) -> str:
        """One line: what was shown and what was not, or why nothing was."""
        if self.ok:
            return str(self.facts["verdict"])
        return page.undecided(self.reason) if self.undecided else f"REJECTED: {self.reason}"

    def summary(self) -> str:
        """A page of plain words: the question as it was checked, the claim and the proof."""
        return page.text(dict(self.facts)) if self.ok else self.verdict

    def to_markdown(self) -> str:
        """The same as a page to read."""
        if self.ok:
            return page.markdown(dict(self.facts))
        return f"# {'Undecided' if self.undecided else 'Rejected'}\n\n    {self.reason}\n"

    def __repr__(self) -> str:
        return "Report(the certificate holds)" if self.ok else f"Report({self.verdict})"

    def _repr_markdown_(self) -> str:
        return self.to_markdown()


def report(
    source: Any,
    *,
    policy: str | Path | None = None,
    factual: str | dict[str, Any] | None = None,
    hash: str | None = None,
    seconds: float | None = None,
) -> Report:
    """Check a certificate: a path, the values of its JSON, or what ``Result.certificate`` gives.

    Options and errors are those of :func:`cfxc.check`, which may check it against a model too.
    """
    try:
        return _report(source, policy, factual, hash, seconds)
    except inputs.WrongInput as error:
        raise InvalidInputError(page.printable(str(error))) from None


def _report(
    source: Any,
    policy: str | Path | None,
    factual: str | dict[str, Any] | None,
    hash: str | None,
    seconds: float | None,
) -> Report:
    asked = binding.Asked.read(policy, factual, hash)
    kept: Mapping[str, Any] = {}
    try:
        if isinstance(source, str | Path):
            content, clock = inputs.certificate(Path(source))
        else:
            content = source.to_dict() if hasattr(source, "to_dict") else source
            clock = checker.Clock(LONG)
        kept = content if isinstance(content, dict) else {}
        shown = checker.check(content, clock if seconds is None else checker.Clock(seconds))
        facts = asked.facts(shown)
    except checker.Rejected as error:
        reason = inputs.reason_of(error)
        return Report(False, reason, {}, kept, None, isinstance(error, checker.Undecided))
    return Report(True, "", facts, kept, shown)


LONG = 600.0  # seconds for a certificate that is no file

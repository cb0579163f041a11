"""What the checker says of a certificate."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import InvalidInputError
from . import checker
from .auditing import policy as policies
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
    """

    ok: bool
    reason: str
    facts: Mapping[str, Any]
    content: Mapping[str, Any] = field(repr=False)
    shown: checker.Shown | None = field(default=None, repr=False)

    def summary(self) -> str:
        """A page of plain words: the question as it was checked, the claim and the proof."""
        return page.text(dict(self.facts)) if self.ok else f"REJECTED: {self.reason}"

    def to_markdown(self) -> str:
        """The same as a page to read."""
        return page.markdown(dict(self.facts)) if self.ok else f"# Rejected\n\n    {self.reason}\n"

    def __repr__(self) -> str:
        return "Report(the certificate holds)" if self.ok else f"Report(REJECTED: {self.reason})"

    def _repr_markdown_(self) -> str:
        return self.to_markdown()


def report(source: Any, *, policy: str | Path | None = None) -> Report:
    """Check a certificate: a path, the values of its JSON, or what ``Result.certificate`` gives.

    Args:
        policy: A file of what a question must allow at least; see ``docs/how-to/certificates.md``.

    Raises:
        InvalidInputError: there is nothing to check: a file cannot be read, or is no JSON.
    """
    content, clock = source, None
    if isinstance(source, str | Path):
        content, clock = _read(Path(source))
    elif hasattr(source, "to_dict"):
        content = source.to_dict()
    kept = content if isinstance(content, dict) else {}
    try:
        shown = checker.check(content, clock or checker.Clock(LONG))
        policies.require_same(shown.space, shown.question.features)
        facts = page.facts(shown)
        if policy is not None:
            text = _text(Path(policy))
            policies.require_no_narrower(shown, text, facts["constraints"])
    except checker.Rejected as error:
        return Report(False, str(error), {}, kept)
    return Report(True, "", facts, kept, shown)


LONG = 600.0  # seconds for a certificate that is no file


def _read(path: Path) -> tuple[Any, checker.Clock]:
    try:
        return checker.read(path)
    except OSError as error:
        raise InvalidInputError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (EOFError, zlib.error) as error:
        raise InvalidInputError(f"{path}: no gzip file: {error}") from None
    except (ValueError, RecursionError, checker.Rejected) as error:
        raise InvalidInputError(f"{path}: no certificate: {str(error)[:100]}") from None


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8 text"
        raise InvalidInputError(f"{path}: cannot be read: {why}") from None

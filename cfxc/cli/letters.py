"""Letters on the command line: checked before any work, written when the answer is there."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InvalidInputError
from ..writing import check_writable

if TYPE_CHECKING:
    from ..answers.letters import Letter
    from ..question.question import Question


@dataclass(frozen=True)
class Wanted:
    """The flags about a letter, and whether files that are there are replaced."""

    path: Path | None
    template: str | None
    locale: str | None
    fields: Path | None
    qr: bool
    overwrite: bool

    def ready(self, taken: Sequence[str | Path | None], *, certified: bool) -> Letter | None:
        """The letter to write, if one is wanted.

        Args:
            taken: Files that the letter must not replace.
            certified: Whether a certificate is kept.

        Raises:
            CfxcError: it cannot be written, or there is nothing to write it to.
        """
        if self.path is None:
            given = {"--template": self.template, "--locale": self.locale, "--fields": self.fields}
            odd = [flag for flag, value in {**given, "--qr": self.qr or None}.items() if value]
            if odd:
                raise InvalidInputError(f"{odd[0]} is for letters: name the file with --letter")
            return None
        if self.qr and not certified:
            raise InvalidInputError("--qr shows a certificate's hash: keep it with --certificate")
        from ..answers.letters import Letter

        check_writable(self.path, self.template, self.fields, *taken)
        return Letter(self.path, self.template or "plain", self.locale or "en", self.fields)


def apart_for_letters(question: Question) -> Question:
    """A question whose answers, if several, change different features where it does not say how
    they differ: near copies are of no use to a person.
    """
    if question.count == 1 or not {"diversity", "apart"}.isdisjoint(question.given):
        return question
    print(
        "note: for the letter, each possibility changes other features; --diversity points asks "
        "for the nearest ones",
        file=sys.stderr,
    )
    return question.with_(diversity="features")


__all__ = ["Wanted", "apart_for_letters"]

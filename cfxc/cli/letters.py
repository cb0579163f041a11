"""Letters on the command line: checked before any work, written when the answer is there."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InvalidInputError
from ..writing import check_writable
from .flags import Overwrite
from .report import progress

if TYPE_CHECKING:
    from ..answers.letters import Letter
    from ..answers.result import Result
    from ..question.question import Question


@dataclass(frozen=True)
class Wanted:
    """The flags about a letter, and whether files that are there are replaced."""

    letter: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a letter to the person: .html, .pdf.  Several answers then change "
            "different features, unless --diversity or --apart is given.",
        ),
    ] = None
    template: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Of the letter: plain, adverse-action, european, or a Jinja2 file.  "
            "[default: plain]",
        ),
    ] = None
    locale: Annotated[
        str | None,
        typer.Option(metavar="CODE", help="Of the letter: en, de, fr, de-AT …  [default: en]"),
    ] = None
    fields: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Sender, recipient … of the letter (TOML).")
    ] = None
    qr: Annotated[bool, typer.Option("--qr", help="With the certificate's hash as a QR code.")] = (
        False
    )
    overwrite: Overwrite = False

    def ready(self, taken: Sequence[str | Path | None], *, certified: bool) -> Letter | None:
        """The letter to write, if one is wanted.

        Args:
            taken: Files that the letter must not replace.
            certified: Whether a certificate is kept.
        """
        if self.letter is None:
            given = {"--template": self.template, "--locale": self.locale, "--fields": self.fields}
            odd = [flag for flag, value in {**given, "--qr": self.qr or None}.items() if value]
            if odd:
                raise InvalidInputError(f"{odd[0]} is for letters: name the file with --letter")
            return None
        if self.qr and not certified:
            raise InvalidInputError("--qr shows a certificate's hash: keep it with --certificate")
        from ..answers.letters import Letter

        check_writable(self.letter, self.template, self.fields, *taken)
        return Letter(self.letter, self.template or "plain", self.locale or "en", self.fields)

    def write(self, letter: Letter, result: Result) -> None:
        """Write the letter, which names the certificates that are kept."""
        with progress("finding the reasons for the letter, for at most 20 s …"):
            made = any(one.lower_bound_proof == "certificate" for one in result.all())
            letter.write(result, qr=self.qr and made)
        if lacking := letter.lacks(result):
            print(f"note: {lacking}", file=sys.stderr)
        print(f"letter: {letter.path}", file=sys.stderr)


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

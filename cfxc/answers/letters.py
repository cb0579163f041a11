"""Letters about one answer: what was found and proved, in plain words, and no more than that.

Every sentence is chosen by what the answer knows: its status, the bound that was proved and by
whom, the certificate if one was made.  The words are in ``cfxc/show/letters/locales``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import InvalidInputError
from ..ir import Program
from ..question.query import Query
from ..show.letters.fields import OUTCOMES, checked, day_of, read_fields
from ..show.letters.page import PARTS, Layout, as_pdf, check_kind
from ..show.letters.words import Words, clean, locale_of
from ..show.progress import showing
from ..space import FeatureSpace
from ..space.values import key
from ..writing import write_whole
from .letter_content import Content
from .result import Result

SENDERS = ("sender", "creditor", "controller")
"""What templates call who sends the letter."""
Given = Mapping[str, Any] | str | Path | None
"""Fields of a letter: a mapping, or the path of a TOML file."""


class Letter:
    """A letter that is ready to be written about answers: all that can be wrong is checked.

    Args:
        path: Of the file to write, ``.html`` or ``.pdf``.
        template: ``plain``, ``adverse-action``, ``european``, or the path of a Jinja2 file.
        locale: ``en``, ``de`` or ``fr``, also with a region.
        fields: What the template needs beside the answer; see ``docs/how-to/letters.md``.

    Raises:
        InvalidInputError, DataTypeError: there is no such template or language; a field that the
            template needs is missing, or it has none of that name.
        MissingExtraError, UnsupportedError: something must be installed first.
    """

    def __init__(
        self, path: str | Path, template: str | Path = "plain", locale: str = "en",
        fields: Given = None,
    ) -> None:  # fmt: skip
        check_kind(path)
        self.path, self.locale = Path(path), locale
        locale_of(locale)
        self.layout = Layout(template)
        given, self.where = read_fields(fields)
        self.fields = checked(given, self.where, self.layout.name)
        if self.layout.name is None:
            self._check_own()
        self.day = day_of(self.fields, self.where)

    def _check_own(self) -> None:
        if taken := sorted(PARTS & set(self.fields.texts)):
            raise InvalidInputError(f"{self.where}: {taken[0]!r} is what a letter has by itself")
        self.layout.refuse_unused(self.fields.texts, self.where)

    def check(self, space: FeatureSpace, program: Program) -> None:
        """Refuse words for features, categories and outcomes that a model does not have.

        Raises:
            InvalidInputError, DataTypeError: naming the first.
        """
        self._words_of(space, program)

    def page(self, result: Result, *, certificate: bool | None = None, qr: bool = False) -> str:
        """The letter about an answer, in HTML; for ``certificate`` see :meth:`.Result.letter`.

        Raises:
            InvalidInputError: the answer is that nothing has to change; the template asks for what
                is not there; there is nothing for a QR code to show.
        """
        if result.unchanged or result.evidence is None:
            raise InvalidInputError(f"no letter to write: {result.summary()}")
        words = self._words(result)
        if with_reasons := self.layout.uses("reasons"):
            with showing("finding the reasons", None):
                result.reasons  # noqa: B018  # kept, once found
        content = Content(result, words, certificate, qr, with_reasons)
        if qr and not certificate and not content.certificates:
            raise InvalidInputError(
                "a QR code shows the hash of a certificate, and none is made; certificate=True "
                "makes one"
            )
        return self.layout.fill(self._content(content))

    def _words(self, result: Result) -> Words:
        query: Query = result.evidence.query
        return self._words_of(query.space, query.program)

    def _words_of(self, space: FeatureSpace, program: Program) -> Words:
        sort = program.output_sorts.get("label")
        labels = () if sort is None else sort.labels
        return Words(self.locale, space, self.fields, self.where, labels)

    def lacks(self, result: Result) -> str:
        """One line about what a reader will miss; empty if nothing."""
        if result.evidence is None:
            return ""
        found, words = list[str](), self._words(result)
        texts = {name for name, text in self.fields.texts.items() if text.strip()}
        absent = ["sender"] if texts.isdisjoint(SENDERS) else []
        absent += [name for name in ("recipient", "contact") if name not in texts]
        if self.layout.name is not None and absent:
            found.append(f"names {_none_of(absent)} (fields of the letter)")
        if columns := [name for name, worded in words.features.items() if not worded.is_named]:
            found.append(f"calls features as columns, such as {columns[0]!r} (label in the space)")
        target = result.evidence.query.target
        shown = [] if target.is_range else [result.outcome_before, target.label]
        if nameless := [label for label in shown if key(label) not in words.outcomes]:
            found.append(f"calls an outcome {nameless[0]!r} (fields, [{OUTCOMES}])")
        return f"the letter {'; '.join(found)}" if found else ""

    def _content(self, facts: Content) -> dict[str, Any]:
        """What a template sees: plain values alone."""
        texts = {name: clean(text) for name, text in self.fields.texts.items()}
        if "contact" in texts:  # a telephone number stays on one line
            texts["contact"] = re.sub(r"(?<=\d) (?=\d)", "\u00a0", texts["contact"])
        sender = next((texts[name] for name in SENDERS if name in texts), "")
        words, reference = facts.words, texts.get("reference", "")
        head = {
            "language": str(words.locale.language),
            "date": words.day(self.day),
            "sender": sender,
            "recipient": texts.get("recipient", ""),
            "reference": words.text("words.reference", reference=reference) if reference else "",
            "signature": texts.get("signature", ""),
        }
        name = self.layout.name
        named = name == "adverse-action"  # which lists no values that would have been enough
        own = {"plain": facts.plain, "adverse-action": facts.adverse, "european": facts.european}
        return {
            **(texts if name is None else own[name](texts)),
            "t": words.texts, "head": head, "answers": facts.answers(),
            "reasons": facts.reasons(named=named) if facts.with_reasons else {},
            "given": facts.given(named=named), "values": facts.values(),
            "promise": [words.text("promise.advice")],
            "check": facts.check(texts.get("certificate_url", "")),
        }  # fmt: skip

    def write(self, result: Result, *, certificate: bool | None = None, qr: bool = False) -> Path:
        """Write the letter about an answer, whole or not at all; returns the path.

        Raises:
            InvalidInputError: as :meth:`page`; the file cannot be written.
        """
        page = self.page(result, certificate=certificate, qr=qr)
        is_pdf = self.path.suffix.lower() == ".pdf"
        write_whole(self.path, as_pdf(page, self.layout.shown) if is_pdf else page)
        return self.path


def _none_of(names: list[str]) -> str:
    """``no sender, no recipient and no contact``."""
    *most, last = (f"no {name}" for name in names)
    return f"{', '.join(most)} and {last}" if most else last

"""Letters about one answer: what was found and proved, in plain words, and no more than that.

Every sentence is chosen by what the answer knows: its status, the bound that was proved and by
whom, the certificate if one was made.  The words are in ``cfxc/show/letters/locales``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from math import isqrt
from pathlib import Path
from typing import Any

from ..certificates.checker import number
from ..errors import InvalidInputError, UnsupportedError
from ..question.domain import Domain
from ..question.query import Query
from ..show.letters.fields import OUTCOMES, Fields, checked, day_of, read_fields
from ..show.letters.page import PARTS, Layout, as_pdf, check_kind, qr_code
from ..show.letters.words import Words, clean, locale_of
from ..show.progress import showing
from ..space.feature import ACTIONS
from ..writing import write_whole
from .conditions import Part, grouped, parts_of, told
from .conflicts import rules_of
from .reasons import Reason
from .result import Result

SENDERS = ("sender", "creditor", "controller")
"""What templates call who sends the letter."""
RIGHTS = {
    "review": "contact", "view": "contact", "contest": "contact", "more": "contact",
    "contact": "contact", "complaint": "authority", "officer": "officer",
}  # fmt: skip
"""What a person may do about a decision, in ``european``, and the field that it takes."""
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

    def page(self, result: Result, *, certificate: bool = True, qr: bool = False) -> str:
        """The letter about an answer, in HTML.

        Raises:
            InvalidInputError: the answer is that nothing has to change; the template asks for what
                is not there.
        """
        if result.unchanged or result.evidence is None:
            raise InvalidInputError(f"no letter to write: {result.summary()}")
        words = self._words(result)
        if with_reasons := self.layout.uses("reasons"):
            with showing("finding the reasons", None):
                result.reasons  # noqa: B018  # kept, once found
        content = _Content(result, words, self.fields, certificate, qr, with_reasons)
        return self.layout.fill(self._content(content))

    def _words(self, result: Result) -> Words:
        return Words(self.locale, result.evidence.query.space, self.fields, self.where)

    def lacks(self, result: Result) -> str:
        """One line about what a reader will miss; empty if nothing."""
        if result.evidence is None:
            return ""
        found, words = list[str](), self._words(result)
        texts = {name for name, text in self.fields.texts.items() if text.strip()}
        roles = {"sender": texts.isdisjoint(SENDERS), "recipient": "recipient" not in texts}
        if self.layout.name is not None and (absent := [name for name, no in roles.items() if no]):
            found.append(f"names no {' and no '.join(absent)} (fields of the letter)")
        if columns := [name for name, worded in words.features.items() if not worded.is_named]:
            found.append(f"calls features as columns, such as {columns[0]!r} (label in the space)")
        before = result.outcome_before
        if isinstance(before, str) and before not in self.fields.outcomes:
            found.append(f"calls the outcome {before!r} (fields, [{OUTCOMES}])")
        return f"the letter {'; '.join(found)}" if found else ""

    def _content(self, facts: _Content) -> dict[str, Any]:
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
        own = {"plain": facts.plain, "adverse-action": facts.adverse, "european": facts.european}
        return {
            **(texts if name is None else own[name](texts)),
            "t": words.texts, "head": head, "answers": facts.answers(),
            "reasons": facts.reasons(named=name == "adverse-action") if facts.with_reasons else {},
            "given": facts.given(),
            "promise": [words.text("promise.advice")],
            "check": facts.check(texts.get("certificate_url", "")),
        }  # fmt: skip

    def write(self, result: Result, *, certificate: bool = True, qr: bool = False) -> Path:
        """Write the letter about an answer, whole or not at all; returns the path.

        Raises:
            InvalidInputError: as :meth:`page`; the file cannot be written.
        """
        page = self.page(result, certificate=certificate, qr=qr)
        is_pdf = self.path.suffix.lower() == ".pdf"
        write_whole(self.path, as_pdf(page, self.layout.shown) if is_pdf else page)
        return self.path


class _Content:
    """One answer in the words of a letter."""

    def __init__(
        self, result: Result, words: Words, fields: Fields, certificate: bool, qr: bool,
        with_reasons: bool,
    ) -> None:  # fmt: skip
        self.result, self.words, self.fields, self.qr = result, words, fields, qr
        self.query: Query = result.evidence.query
        self.with_reasons = with_reasons
        self.wanted = words.wanted(self.query.target)
        self.said = {one.text: parts_of(self.query, one) for one in self.query.constraints}
        self.certificates = dict(_certificates(result)) if certificate else {}

    def plain(self, texts: Mapping[str, str]) -> dict[str, Any]:
        """What ``plain`` has of its own."""
        contact = texts.get("contact", "")
        return {
            "decision": self._decision(texts, "plain.decision"),
            "contact": self.words.text("plain.contact", contact=contact) if contact else "",
        }

    def adverse(self, texts: Mapping[str, str]) -> dict[str, Any]:
        """What ``adverse-action`` has of its own.

        Raises:
            InvalidInputError: there are no reasons, and nobody to ask for them.
        """
        contact = texts.get("contact", "")
        if not contact.strip() and not self.result.reasons.found:
            raise InvalidInputError(
                "no principal reasons were found, so the notice must say whom to ask for them: "
                "give the field contact, with name, address and telephone number"
            )
        model = self.words.text(
            "adverse.model", outcome=self.words.outcome(self.result.outcome_before)
        )
        return {"contact": contact, "notices": "", "model": model, **texts}

    def european(self, texts: Mapping[str, str]) -> dict[str, Any]:
        """What ``european`` has of its own."""
        words, role = self.words, texts["role"]
        system = texts.get("system", "")
        named = f"european.{role}{'_named' if system else ''}"
        labels = [words.label(feature.name) for feature in self.query.space]
        return {
            "decision": self._decision(texts, "european.outcome"),
            "role": words.text(named, system=system),
            "factors": words.text("european.factors", factors=words.listed(labels)),
            "rights": [
                words.text(f"european.{sentence}", **texts)
                for sentence, field in RIGHTS.items()
                if texts.get(field)
            ],
        }

    def _decision(self, texts: Mapping[str, str], sentence: str) -> str:
        own = self.words.text(sentence, outcome=self.words.outcome(self.result.outcome_before))
        return texts.get("decision") or own

    def reasons(self, *, named: bool) -> dict[str, Any]:
        """The reasons; ``named``: without what would have been enough."""
        words, reasons = self.words, self.result.reasons
        if not reasons.found:
            place = "nothing" if reasons.ended == "infeasible" else "unknown"
            shown = self._shown(self.result)
            note = words.text(f"reasons.{place}", wanted=self.wanted, shown=shown)
            return {"listed": [], "intro": "", "note": note}
        items = [self._reason(reason, named) for reason in reasons.found]
        together = "_together" * any(len(reason.changes) > 1 for reason in reasons.found)
        ended = {"": "some", "infeasible": "all", "unknown": "partial"}[reasons.ended]
        if ended == "some" and all(reason.fewest for reason in reasons.found):
            ended = f"first{together}"
        place = "adverse.scored" if named else "reasons.intro"
        intro = words.text(f"{place}{together}", wanted=self.wanted)
        shown = self._shown(self.result)
        note = words.text(f"reasons.{ended}", shown=shown, wanted=self.wanted)
        return {"listed": items, "intro": intro, "note": note}

    def _reason(self, reason: Reason, named: bool) -> str:
        """A line about one reason: its factors as they are, and values that would have done."""
        words, parts = self.words, list[str]()
        alone = len(reason.changes) == 1
        place = "value" if named else "enough" if alone else "part"
        for name, (own, other) in reason.changes.items():
            values = {
                "label": words.heading(name) if alone else words.label(name),
                "value": words.value(name, own), "enough": words.value(name, other),
            }  # fmt: skip
            parts.append(words.text(f"reasons.{place}", wanted=self.wanted, **values))
        if alone:
            return parts[0]
        place = "reasons.together" if named else "reasons.together_enough"
        return words.text(place, factors=words.listed(parts), wanted=self.wanted)

    def _shown(self, answer: Result, place: int = 0) -> str:
        """How strongly something was shown: that it is proved is said of what a certificate has."""
        if self._is_certified(answer, place):
            return self.words.text("shown.certificate")
        kind = "solver" if answer.lower_bound_proof == "solver" else "search"
        return self.words.text(f"shown.{kind}")

    def _is_certified(self, answer: Result, place: int) -> bool:
        """Whether the certificate of the answer of this number shows all that the search did."""
        if place not in self.certificates:
            return False
        if not answer.exact_distance:
            return True
        lower, claim = answer.exact_lower_bound, self.certificates[place]["claim"]
        base = len(self._changes(answer)) * (self.query.distance.per_change or 0)
        rest = answer.exact_distance - base or Fraction(1)
        held = self._claimed(claim) * answer.exact_distance
        return (held - base) / rest * 1000 // 1 >= (lower - base) / rest * 1000 // 1

    def answers(self) -> dict[str, Any]:
        """What would have changed the outcome, and what was proved."""
        words, result = self.words, self.result
        found = [one for one in result.all() if one.counterfactual is not None]
        made: dict[str, Any] = {
            "found": [self._answer(one, place) for place, one in enumerate(found)],
            "intro": "", "notes": [], "relaxed": None,
        }  # fmt: skip
        if found:
            after = self.wanted if len(found) > 1 else self._after(found[0])
            place = "change.many" if len(found) > 1 else "change.one"
            made["intro"] = words.text(place, after=after, wanted=after)
        elif result.status == "infeasible":
            made["notes"] = list(self._infeasible())
            made["relaxed"] = self._relaxed()
        else:
            made["notes"] = [words.text("change.unknown", wanted=self.wanted)]
        if found and result.stop_reason:
            more = {"infeasible": "no_more", "unknown": "more_unknown"}[result.stop_reason]
            made["notes"] = [words.text(f"change.{more}", shown=self._shown(result))]
        return made

    def _after(self, answer: Result) -> str:
        """What the model gave, beside what was wanted of it."""
        return self.words.outcome(answer.outcome_after) if self.query.target.is_plain else (
            self.wanted
        )  # fmt: skip

    def _answer(self, answer: Result, place: int) -> dict[str, Any]:
        proof = list(self._proof(answer, place + 1))
        if place:
            proof.insert(0, self.words.text(f"proof.{self._other(answer, place)}"))
        title = self.words.text("change.number", number=str(place + 1))
        return {"title": title, "changes": self._changes(answer), "proof": proof}

    def _other(self, answer: Result, place: int) -> str:
        """What a later answer is compared with: whether it leaves what those before change."""
        own = self.query.factual
        earlier = {
            name
            for one in self.result.all()[:place]
            for name, value in one.evidence.outcome.best.point.items()
            if value != own[name]
        }
        kept = {domain.name for domain in answer.evidence.query.domains if domain.is_fixed}
        return "other_factors" if earlier <= kept else "other"

    def _changes(self, answer: Result) -> list[dict[str, str]]:
        """The features that change, their values in the person's own units."""
        point, words, own = answer.evidence.outcome.best.point, self.words, self.query.factual
        return [
            {
                "label": words.heading(name),
                "before": words.value(name, value),
                "after": words.value(name, point[name]),
            }
            for name, value in own.items()
            if point[name] != value
        ]

    def _proof(self, answer: Result, place: int) -> Iterator[str]:
        """What was proved about smaller changes."""
        unit, said = self.query.distance.per_change, {"wanted": self.wanted}
        words, shown = self.words, self._shown(answer, place)
        distance, lower = answer.exact_distance, answer.exact_lower_bound
        assert distance is not None
        if unit:
            changed = len(self._changes(answer))
            distance, lower = distance - changed * unit, lower - changed * unit
            if changed > 1:  # fewer than one factor is no change
                place_of = "proof.fewest" if lower >= 0 else "proof.fewer"
                yield words.text(place_of, shown=shown, **said)
                if lower < 0:
                    return
        if lower >= distance:
            yield words.text("proof.equal", shown=shown, **said)
            return
        share = lower / distance
        if share * 1000 < 1:
            yield words.text("proof.nothing", **said)
        elif answer.status == "optimal":
            less = words.share_above(1 - share)
            yield words.text("proof.share", shown=shown, less=less, **said)
        else:
            yield words.text("proof.feasible", shown=shown, share=words.share(share), **said)

    def _size(self) -> Iterator[str]:
        name = self.query.distance.name
        known = name in self.words.texts["size"] and name not in ("other", "weighted", "gap")
        yield self.words.text(f"size.{name}" if known else "size.other", name=clean(name))
        if name != "l0" and any(domain.first is not None for domain in self.query.domains):
            yield self.words.text("size.gap")
        if len({domain.feature.weight for domain in self.query.domains}) > 1:
            yield self.words.text("size.weighted")

    def _infeasible(self) -> Iterator[str]:
        shown = self._shown(self.result, 1)
        yield self.words.text("change.infeasible", wanted=self.wanted, shown=shown)
        if self.result.conflict:
            rules = self._rules(self.result.conflict)
            yield self.words.text("change.conflict", rules=rules)
        if self.with_reasons and self.result.reasons.found:
            yield self.words.text("change.apart")

    def _relaxed(self) -> dict[str, Any] | None:
        relaxed = self.result.relaxed
        if relaxed is None or relaxed.counterfactual is None:
            return None
        rules = self._rules(self.result.given_up)
        after = self._after(relaxed)
        intro = self.words.text("change.relaxed", rules=rules, after=after)
        return {"intro": intro, "changes": self._changes(relaxed)}

    def _rules(self, texts: Sequence[str]) -> str:
        """Rules as people read them; those that there are no words for are counted."""
        parts, rest = list[Part](), 0
        for rule in rules_of(self.query):
            if rule.text not in texts:
                continue
            if rule.feature is not None:
                parts.append(Part(self.query.space[rule.feature].action, rule.feature))
            elif rule.constraint is None:
                parts.append(Part("known"))
            elif (said := self.said[rule.constraint]) is None:
                rest += 1
            else:
                parts += said
        return "; ".join(told(parts, rest, self.words))

    def given(self) -> list[str]:
        """What changes were considered."""
        words, found = self.words, [self.words.text("given.range")]
        if steps := [self._step(d) for d in self.query.domains if d.has_grid]:
            found.append(words.text("given.steps", steps=words.listed(steps)))
        if gone := [d.name for d in self.query.domains if d.is_absent and d.is_fixed]:
            found.append(words.text("given.missing", labels=words.listed(map(words.label, gone))))
        parts = [Part(d.feature.action, d.name) for d in self.query.domains]
        parts += (part for each in self.said.values() for part in each or ())
        kept = {action: names for action, names in grouped(parts).items() if names}
        if self.result.status == "infeasible" and (names := kept.pop("fixed", [])):
            labels = words.listed(map(words.label, names))
            found.insert(0, words.text("given.as_is", labels=labels))
        changes = [
            words.text(f"given.{action}", labels=words.listed(map(words.label, names), "or"))
            for action, names in kept.items()
        ]
        if changes:
            found.append(words.text("given.not", changes="; ".join(changes)))
        others = [part for part in parts if part.relation not in (*grouped(parts), *ACTIONS)]
        if conditions := told(others, list(self.said.values()).count(None), words):
            found.append(words.text("given.rules", rules="; ".join(conditions)))
        if self.query.hulls:
            found.append(words.text("given.hull"))
        return found

    def _step(self, domain: Domain) -> str:
        name, step = domain.name, domain.feature.resolution
        values = {"label": self.words.label(name), "step": self.words.value(name, step)}
        return self.words.text("given.step", **values)

    def _details(self) -> list[str]:
        """What the letter speaks of, how changes are measured, and how numbers are rounded."""
        found = [self.words.text("promise.model")]
        if self.result.counterfactual is not None:
            found += self._size()
        whole = self.with_reasons and self.result.reasons.ended == "infeasible"
        if self._is_proved or whole:
            found.append(self.words.text(f"promise.{self.result.semantics}"))
        return found

    @property
    def _is_proved(self) -> bool:
        """Whether anything was proved but that the model gives what it gave."""
        result = self.result
        certain = result.status == "infeasible" or result.exact_distance == 0
        return certain or result.exact_lower_bound > 0

    def check(self, url: str) -> dict[str, Any]:
        """How the answer can be checked, and what to know for it."""
        words, result, made = self.words, self.result, self.certificates
        details = self._details()
        if not made:
            kept = result.lower_bound_proof in ("search", "certificate")
            place = "nothing" if not self._is_proved else "search" if kept else "solver"
            place = "unknown" if result.status == "unknown" else place
            sentence = words.text(f"check.{place}", by=result.proved_by)
            before = [*details, sentence]
            return {"before": before, "after": [], "hashes": [], "qr": ""}
        many = len(result.all()) > 1
        hashes = [
            {
                "title": words.text("change.number", number=str(place)) if many else "",
                "hash": content["hash"],
            }
            for place, content in made.items()
        ]
        after = [words.text("check.some")] if len(made) < len(result.all()) else []
        after += list(self._weaker(made[1]["claim"])) if 1 in made else []
        after.append(words.text("check.url", url=url) if url else words.text("check.ask"))
        listed = " ".join(f"sha256:{each['hash']}" for each in hashes)
        code = qr_code(url or f"cfxc certificate {listed}") if self.qr else ""
        before = [*details, words.text("check.certificate")]
        return {"before": before, "after": after, "hashes": hashes, "qr": code}

    def _claimed(self, claim: Mapping[str, Any]) -> Fraction:
        """The share of the distance that a certificate shows to be a lower bound, rounded down."""
        share = Fraction(number(claim["lower_bound"]) / number(claim["distance"]))
        if self.query.distance.is_squared:
            share = Fraction(isqrt(int(share * 10**12)), 10**6)
        return share

    def _weaker(self, claim: Mapping[str, Any]) -> Iterator[str]:
        """What a certificate does not show, which may be less than the search did."""
        result = self.result
        if not result.exact_distance:
            return
        share = self._claimed(claim)
        if share * 1000 < 1:
            yield self.words.text("check.weakest")
        elif int(share * 1000) < int(result.exact_lower_bound / result.exact_distance * 1000):
            yield self.words.text("check.weaker", share=self.words.share(share))


def _certificates(result: Result) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The contents of the certificates that there can be, by the number of the answer."""
    for place, answer in enumerate(result.all(), start=1):
        with suppress(UnsupportedError):
            yield place, answer.certificate.content


__all__ = ["Given", "Letter"]

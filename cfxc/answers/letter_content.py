"""One answer in the words of a letter: every part that a template may show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from math import isqrt
from typing import Any

from ..certificates.checker import number
from ..errors import InvalidInputError, UnsupportedError
from ..question.query import Query
from ..show.letters.page import qr_code
from ..show.letters.words import Words
from .considered import Considered
from .reasons import Reason
from .result import Result

RIGHTS = {
    "review": "contact", "view": "contact", "contest": "contact", "more": "contact",
    "contact": "contact", "complaint": "authority", "officer": "officer",
}  # fmt: skip
"""What a person may do about a decision, in ``european``, and the field that it takes."""


class Content:
    """One answer in the words of a letter."""

    def __init__(
        self, result: Result, words: Words, certificate: bool | None, qr: bool, with_reasons: bool,
    ) -> None:  # fmt: skip
        self.result, self.words, self.qr = result, words, qr
        self.query: Query = result.evidence.query
        self.with_reasons = with_reasons
        self.wanted = words.wanted(self.query.target)
        self.considered = Considered(self.query, words)
        self.certificates = dict(_certificates(result, certificate))

    def plain(self, texts: Mapping[str, str]) -> dict[str, Any]:
        """What ``plain`` has of its own."""
        return {
            "decision": self._decision(texts, "plain.decision"),
            "ask": self._ask(texts.get("contact", "")),
        }

    def _ask(self, contact: str) -> str:
        """Whom to ask."""
        return self.words.text("plain.contact", contact=contact) if contact.strip() else ""

    def _outcome(self, given: Any) -> str:
        """What the model said: a label, or a number."""
        is_number = self.query.target.is_range
        return self.words.output(given) if is_number else self.words.outcome(given)

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
        model = self.words.text("adverse.model", outcome=self._outcome(self.result.outcome_before))
        listed = bool(self.result.reasons.found)  # else the letter says whom to ask for them
        return {
            "notices": "", "model": model,
            **{name: text for name, text in texts.items() if name != "contact"},
            "whom": contact, "ask": self._ask(contact) if listed else "",
        }  # fmt: skip

    def european(self, texts: Mapping[str, str]) -> dict[str, Any]:
        """What ``european`` has of its own."""
        words, role = self.words, texts["role"]
        system = texts.get("system", "")
        named = f"european.{role}{'_named' if system else ''}"
        return {
            "decision": self._decision(texts, "european.outcome"),
            "role": words.text(named, system=system),
            "rights": [
                words.text(f"european.{sentence}", **texts)
                for sentence, field in RIGHTS.items()
                if texts.get(field)
            ],
        }

    def _decision(self, texts: Mapping[str, str], sentence: str) -> str:
        own = self.words.text(sentence, outcome=self._outcome(self.result.outcome_before))
        return texts.get("decision") or own

    def reasons(self, *, named: bool) -> dict[str, Any]:
        """The reasons; ``named``: without what would have been enough."""
        words, reasons = self.words, self.result.reasons
        if not reasons.found:
            place = "nothing" if reasons.ended == "infeasible" else "unknown"
            shown = self._shown(self.result)
            ranges = self.considered.ranges(self.query.space)
            note = words.text(f"reasons.{place}", wanted=self.wanted, shown=shown, ranges=ranges)
            return {"listed": [], "intro": "", "note": f"{self._beyond()} {note}".strip()}
        items = [self._reason(reason, named) for reason in reasons.found]
        together = "_together" * any(len(reason.changes) > 1 for reason in reasons.found)
        ended = {"": "some", "infeasible": "all", "unknown": "partial"}[reasons.ended]
        if ended == "some" and all(reason.fewest for reason in reasons.found):
            ended = f"first{together}"
        place = "adverse.scored" if named else "reasons.intro"
        intro = f"{words.text(f'{place}{together}', wanted=self.wanted)} {self._beyond()}".strip()
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
        if beyond := self._beyond():
            if found:
                made["intro"] += f" {beyond}"
            else:
                made["notes"].insert(0, beyond)
        return made

    def _beyond(self) -> str:
        """That more was asked for than the outcome, of which less may be enough; empty if not."""
        target = self.query.target
        if target.is_plain:
            return ""
        place = "already" if target.holds(self.result.outcome_before) else "more"
        said = self.words.text(f"change.{place}", outcome=self.words.outcome(target.label))
        return f"{said} {self.words.text('change.points')}" if target.margin else said

    def _after(self, answer: Result) -> str:
        """What the model gave, beside what was wanted of it."""
        return self._outcome(answer.outcome_after) if self.query.target.is_plain else (
            self.wanted
        )  # fmt: skip

    def _answer(self, answer: Result, place: int) -> dict[str, Any]:
        proof = list(self._proof(answer, place + 1))
        if place:
            proof.insert(0, self.words.text(f"proof.{self._other(answer, place)}"))
        title = self.words.text("change.number", number=str(place + 1))
        follows = list(self.considered.following(self._changed(answer)))
        changes = self._changes(answer)
        return {"title": title, "changes": changes, "follows": follows, "proof": proof}

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

    def _changed(self, answer: Result) -> list[str]:
        """The features that change."""
        point = answer.evidence.outcome.best.point
        return [name for name, value in self.query.factual.items() if point[name] != value]

    def _changes(self, answer: Result) -> list[dict[str, str]]:
        """The features that change, their values in the person's own units."""
        words, own = self.words, self.query.factual
        point = answer.evidence.outcome.best.point
        return [
            {
                "label": words.heading(name),
                "before": words.value(name, own[name]),
                "after": words.value(name, point[name]),
            }
            for name in self._changed(answer)
        ]

    def _proof(self, answer: Result, place: int) -> Iterator[str]:
        """What was proved about smaller changes, and which count nothing."""
        yield from self._smaller(answer, place)
        if weightless := self.considered.weightless():
            yield weightless

    def _smaller(self, answer: Result, place: int) -> Iterator[str]:
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

    def _infeasible(self) -> Iterator[str]:
        shown = self._shown(self.result, 1)
        yield self.words.text("change.infeasible", wanted=self.wanted, shown=shown)
        if self.result.conflict:
            rules = self.considered.rules(self.result.conflict)
            yield self.words.text("change.conflict", rules=rules)
        if self.with_reasons and self.result.reasons.found:
            yield self.words.text("change.apart")

    def _relaxed(self) -> dict[str, Any] | None:
        relaxed = self.result.relaxed
        if relaxed is None or relaxed.counterfactual is None:
            return None
        rules = self.considered.rules(self.result.given_up)
        after = self._after(relaxed)
        intro = self.words.text("change.relaxed", rules=rules, after=after)
        changed, given_up = self._changed(relaxed), self.result.given_up
        follows = list(self.considered.following(changed, given_up))
        return {"intro": intro, "changes": self._changes(relaxed), "follows": follows}

    def given(self, *, named: bool) -> list[str]:
        """What changes were considered; the ranges, unless the reasons have listed them."""
        reasons = self.result.reasons if self.with_reasons and not named else None
        listed = reasons is not None and not reasons.found and reasons.ended == "infeasible"
        infeasible = self.result.status == "infeasible"
        return self.considered.sentences(infeasible=infeasible, ranges=not listed)

    def _details(self) -> list[str]:
        """What the letter speaks of, how changes are measured, and how numbers are rounded."""
        found = [self.words.text("promise.model")]
        if self.result.counterfactual is not None:
            found += self.considered.size()
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

    def values(self) -> list[dict[str, str]]:
        """What the model was given: every feature with its value."""
        words, own = self.words, self.query.factual
        return [
            {"label": words.heading(name), "value": words.value(name, value)}
            for name, value in own.items()
        ]

    def check(self, url: str) -> dict[str, Any]:
        """How the answer can be checked, and what to know for it."""
        words, result, made = self.words, self.result, self.certificates
        details = self._details()
        if not made:
            kept = result.lower_bound_proof in ("search", "certificate")
            place = "nothing" if not self._is_proved else "search" if kept else "solver"
            place = "unknown" if result.status == "unknown" else place
            before = [*details, words.text(f"check.{place}")]
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


def _certificates(result: Result, wanted: bool | None) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The contents of certificates by the number of the answer: those that are made already, all
    that there can be (``True``), or none (``False``).
    """
    for place, answer in enumerate(result.all(), start=1):
        if wanted or (wanted is None and answer.lower_bound_proof == "certificate"):
            with suppress(UnsupportedError):
                yield place, answer.certificate.content

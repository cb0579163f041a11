"""Feature spaces as TOML: the one that a certificate was made with, and an auditor's policy.

A policy is a feature space with more entries: what a question must ask, and what it may not.  They
are listed in ``docs/how-to/certificates.md``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from decimal import Context, Decimal
from difflib import get_close_matches
from fractions import Fraction as Q
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any

from ..checker import ACTIONS, KINDS, ODD, Feature, Question, Rejected, Shown, listed, need, rounded
from .inputs import WrongInput, text_of
from .report import SEMANTICS, TEXT, exact, is_loose, is_still, mix, name_of, quoted

DECIMAL = re.compile(r"-?[0-9]{1,400}(\.[0-9]{1,400}|/[1-9][0-9]{0,400})?", re.ASCII)
SPACE = ("version", "columns", "tables", "feature")
POLICY = (*SPACE, "others", "constraints", "target", "norms", "epsilon", "slack", "fixed",
          "semantics")  # fmt: skip
TARGET = "policy.target"
LABEL, RANGE = ("label", "margin", "least", "probability"), ("lower", "upper")
NEARLY = Q(1, 2**22)  # leads count from where the label changes: in single floats beside log odds 0
CHEAPER = "which makes its changes cheaper than the policy's"
GAPS = ("may fill", "free")
FIELDS = ("name", "kind", "lower", "upper", "resolution", "labels", "missing", "missing_as",
          "action", "condition", "weight", "encoding", "columns", "dtype",
          "label", "unit", "format")  # fmt: skip


class Stated:
    """One feature as TOML states it."""

    def __init__(self, given: dict[str, Any], where: str) -> None:
        odd = sorted(set(given) - set(FIELDS))
        need("name" in given and not odd, f"{where}: no name, or unknown {odd[:1]!a}")
        self.name, self.kind = given["name"], given.get("kind")
        need(self.kind in (None, *KINDS), f"{where}: its kind is none of {', '.join(KINDS)}")
        action = given.get("action", "free")
        need(action in ACTIONS, f"{where}: its action is none of {', '.join(ACTIONS)}")
        self.action, self.weight = given.get("action", "free"), decimal(given.get("weight", 1))
        ends = [given.get(end) for end in ("lower", "upper")]
        finite = all(not isinstance(end, float) or isfinite(end) for end in ends)
        need(finite, f"{where}: a range that does not end")
        self.low, self.high = (Q(end) if isinstance(end, float) else decimal(end) for end in ends)
        labels = [None if one == {"missing": True} else one for one in given.get("labels", ())]
        self.labels = [(type(x).__name__, Q(x) if isinstance(x, float) else x) for x in labels]
        self.columns, self.encoding = given.get("columns", [self.name]), given.get("encoding")
        dtypes = given.get("dtype")
        dtypes = [dtypes] if isinstance(dtypes, str) else dtypes
        floats = [one for one in dtypes or () if "float" in one]
        plain = 8 if self.kind in (None, "real") else 0
        self.width = (
            None if not dtypes or labels else 4 if floats == ["float32"] else 8 if floats else plain
        )
        gap = given.get("missing", False)
        need(type(gap) is bool or gap in ("keep", *GAPS), f"{where}: missing")
        self.gap, self.fills, self.loses = gap is not False, gap in GAPS, gap == GAPS[1]
        counts = self.kind == "integer" or (self.kind == "ordinal" and not labels)
        self.step = decimal(given.get("resolution"))
        need(not counts or self.step in (None, 1), f"{where}: whole numbers have the resolution 1")
        need(self.step is None or self.step > 0, f"{where}: the resolution is not above 0")
        self.step = Q(1) if counts else self.step

    def opens(self, own: Feature) -> bool:
        """Whether a missing number is admissible beside others, for the factual of a question."""
        gone = own.gap or (own.absent is not None and own.own == own.absent)
        return self.action != "fixed" and (self.fills if gone else self.loses)


def decimal(value: Any) -> Q | None:
    """A number as it is written, in text or not; the exact fraction."""
    if value is None:
        return None
    text = value if isinstance(value, str) else repr(value)
    if isinstance(value, float) and "e" in text:
        return Q(text)
    need(DECIMAL.fullmatch(text), f"no number: {text[:40]!a}")
    return Q(text)


def _figure(own: dict[str, Any], name: str, where: str = "policy") -> Q | None:
    """A number of an entry, which messages name."""
    try:
        return decimal(own.get(name))
    except Rejected as error:
        raise Rejected(f"{where}.{name}: {error}") from None


def document(text: Any, where: str, names: tuple[str, ...] = SPACE) -> dict[str, Any]:
    """The entries of a TOML text."""
    need(isinstance(text, str) and len(text) <= TEXT, f"{where}: no text, or too long")
    dots = sum(line.count(".") ** 2 for line in text.split("\n"))  # reading a.b.c.d takes as long
    need(dots <= 10**9, f"{where}: too many dots in a line")
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Rejected(f"{where}: no TOML: {ascii(str(error))[1:-1][:100]}") from None
    odd = sorted(set(found) - set(names))
    need(not odd, f"{where}: unknown {odd[:1]!a}; known are {', '.join(names)}")
    need(found.get("version", 1) in (1, "1"), f"{where}: its version is another one than 1")
    return found


def stated(found: dict[str, Any], where: str) -> list[Stated]:
    """The features of a space in TOML."""
    features = listed(found.get("feature", []), f"{where}.feature")
    return [Stated(one, f"{where}.feature[{j}]") for j, one in enumerate(features)]


def require_same(text: str, features: list[Feature]) -> None:
    """The space, by which rows are made for the model, says of features what the question says."""
    try:
        space = stated(document(text, "space"), "space")
    except ODD as error:
        raise Rejected(f"space: malformed: {type(error).__name__}") from None
    need(len(space) == len(features), "space: not one entry for each feature")
    names = ("name", "kind", "action", "weight", "labels", "low", "high", "step")
    for own, feature in zip(space, features, strict=True):
        for name in names:
            same = getattr(own, name) == getattr(feature, name)
            said = {"low": "lower", "high": "upper", "step": "resolution"}.get(name, name)
            need(same, f"features: {feature.name!a}: the space has another {said}")
        need(own.gap or not feature.gap, f"features: {feature.name!a}: it cannot be missing")
        same = own.opens(feature) == (feature.absent is not None)
        need(same, f"features: {feature.name!a}: the space has other gaps that answers may change")


class Policy:
    """What an auditor asks of a question; every entry is checked before a certificate is.

    Raises:
        WrongInput: the text is no policy; says why.
    """

    def __init__(self, text: str, where: str = "policy") -> None:
        try:
            self._read(document(text, "policy", POLICY))
        except (Rejected, *ODD) as error:
            told = isinstance(error, Rejected)
            why = str(error).removeprefix("policy: ") if told else f"malformed: {error!a:.100}"
            raise WrongInput(f"{where}: this is no policy: {why}") from None

    def _read(self, found: dict[str, Any]) -> None:
        self.found, self.features = found, stated(found, "policy")
        for one in self.features:
            ends = one.low is None or one.high is None or one.low <= one.high
            need(ends, f"{one.name!a}: its lower end is above its upper")
            need(one.weight is not None and one.weight >= 0, f"{one.name!a}: its weight is below 0")
        self.fixed = listed(found.get("fixed", []), "policy.fixed")
        self.constraints = listed(found.get("constraints", []), "policy.constraints")
        need(all(type(name) is str for name in self.fixed), "policy.fixed: it holds no names")
        need(found.get("others", "any") == "any", "policy.others: it is 'any', or not there")
        need(set(found) - {"version"}, "it states nothing of what a question must allow")
        self.others = "others" in found
        own = self.features or self.others or set(found) - {"version", "target", "epsilon"}
        need(own, "it names no feature; write [[feature]] tables, or add others = 'any'")
        self.target = Target(found["target"]) if "target" in found else None
        self.norms = _norms(found["norms"]) if "norms" in found else None
        self.semantics = found.get("semantics")
        known = ", ".join(SEMANTICS)
        need(self.semantics in (None, *SEMANTICS), f"policy.semantics: it is none of {known}")
        self.epsilon, self.slack = (_figure(found, name) for name in ("epsilon", "slack"))
        for name, value in (("epsilon", self.epsilon), ("slack", self.slack)):
            need(value is None or value >= 0, f"policy.{name}: it is below 0")

    @property
    def silent(self) -> list[str]:
        """Of what decides how much a certificate is worth, what it does not state."""
        names = {"target": "the target", "norms": "the distance", "epsilon": "epsilon"}
        left = [said for name, said in names.items() if name not in self.found]
        open_ = any(None in (x.low, x.high) and not x.labels for x in self.features)
        left += ["the ranges of some features"] * open_
        return left + ["features that it does not name"] * self.others


def read_policy(path: Path) -> Policy:
    """The policy in a file; raises ``WrongInput`` if there is none."""
    return Policy(text_of(path), str(path))


class Target:
    """The outcome that a policy wants.

    Attributes:
        label: Its type and value; ``None`` of a range.
        ends: Of a range: the least and the largest value.
        margin, least: By what the label's score leads, and what it is at least.
        chance: The label's probability, where that is the logistic function of the lead.
    """

    def __init__(self, given: Any) -> None:
        own = given if isinstance(given, dict) else {"label": given}
        odd = sorted(set(own) - set(LABEL if "label" in own else RANGE))
        how = f"write {', '.join(LABEL)}, or {', '.join(RANGE)}"
        need(own, f"policy.target: it is empty; {how}")
        need(not odd, f"policy.target: unknown {odd[:1]!a}, or of the other kind; {how}")
        label = own.get("label", "")
        plain = isinstance(label, str | bool | int | float)
        need(plain, "policy.target: the label is no text, number or truth value")
        known = type(label).__name__, Q(label) if isinstance(label, float) else label
        self.label = known if "label" in own else None
        low, high = self.ends = _figure(own, "lower", TARGET), _figure(own, "upper", TARGET)
        ordered = low is None or high is None or low <= high
        need(ordered, "policy.target: its lower end is above its upper")
        self.margin = _figure({"margin": 0, **own}, "margin", TARGET)
        self.least, self.chance = (_figure(own, name, TARGET) for name in ("least", "probability"))
        alone = self.chance is None or not {"margin", "least"} & set(own)
        need(alone, "policy.target: a probability, or a margin and a least score")
        inside = self.chance is None or 0 < self.chance < 1
        need(inside, "policy.target: a probability lies between 0 and 1")

    def require_of(self, question: Question) -> None:
        """Rejects a question of another target."""
        labels = question.program.labels
        kinds = "a label" if labels else "a range", "a label" if self.label else "a range"
        need(kinds[0] == kinds[1], f"target: it is {kinds[0]}, and the policy's {kinds[1]}")
        if labels is None:
            ends: list[Q | None] = [None, None]
            for factors, constant, _ in question.stated:
                ends[factors[0] < 0] = -factors[0] * constant
            need(all(map(_is, ends, self.ends)), "target: another range")
            return
        assert self.label is not None
        kind, value = self.label
        alike = [x for x in labels if x[1] == value and {kind, x[0]} <= {"int", "float"}]
        label = self.label if self.label in labels or not alike else alike[0]
        names = ", ".join(quoted(x) for _, x in labels[:8])
        need(label in labels, f"target: the program has no label {quoted(value)}; it has {names}")
        own, wanted = labels[question.place], quoted(value)
        need(own == label, f"target: it is {quoted(own[1])}, and the policy's {wanted}")
        asked = f"target: its margin is {exact(question.margin)}, not "
        need(question.least is None or self.least is not None, "target: a least score besides")
        if self.chance is not None:
            need(len(labels) == 2, "target: a lead is no probability of one label among several")
            low, high = lead_of(self.chance)
            wanted = f"the log odds {float(high - NEARLY):.8g} of a probability of"
            inside = low <= question.margin <= high
            need(inside, f"{asked}{wanted} {float(self.chance):g}")
            return
        need(_is(question.margin, self.margin), f"{asked}{exact(self.margin or Q(0))}")
        need(_is(question.least, self.least), "target: another least score")


def lead_of(chance: Q) -> tuple[Q, Q]:
    """Between what a lead lies that a probability asks for, where scores are log odds.

    The logit log(p / (1 - p)), or 0 below one half, with ``NEARLY`` on either side.  50 digits of
    the ratio and of its logarithm, each rounded to the nearest, are off by less than 1e-45, as
    |log| is below 1e4 for all decimals of 800 digits; the ends are moved outward by as much.
    """
    digits, odds = Context(prec=50), chance / (1 - chance)
    ratio = digits.divide(Decimal(odds.numerator), Decimal(odds.denominator))
    logit, off = max(Q(digits.ln(ratio)), Q(0)), NEARLY + Q(1, 10**45)
    return max(logit - off, Q(0)), logit + off


def _is(value: Q | None, stated: Q | None) -> bool:
    """Whether a value is what a policy states: the decimal, or the double nearest to it, both
    exact: questions hold the one or the other.
    """
    if value is None or stated is None:
        return value is stated
    return value == stated or (abs(stated) < 2**1000 and value == Q(float(stated)))


def _most(stated: Q) -> Q:
    """The largest value that a policy's limit admits: its decimal, or the double nearest to it."""
    return max(stated, Q(float(stated))) if abs(stated) < 2**1000 else stated


def _norms(given: Any) -> list[Q] | str:
    """The factors of l0, l1, linf and l2; or ``sparse``: those follow from the question's size."""
    names = ["l0", "l1", "linf", "l2"]
    if given == "sparse":
        return "sparse"
    given = {given: 1} if isinstance(given, str) else given
    if isinstance(given, dict):
        odd = sorted(set(given) - set(names))
        need(not odd, f"policy.norms: unknown {odd[:1]!a}; known are {', '.join(names)}, sparse")
        given = [given.get(name, 0) for name in names]
    found = [decimal(one) for one in listed(given, "policy.norms")]
    need(len(found) == len(names), "policy.norms: not the four factors of l0, l1, linf, l2")
    known = [one for one in found if one is not None]
    need(sum(known) == 1, "policy.norms: the factors do not sum to 1")
    return known


def require_no_narrower(shown: Shown, policy: Policy, rules: list[str]) -> list[str]:
    """The question allows all that a policy allows, no more than it may, and measures as it does.

    ``rules`` are the question's constraints as the report prints them; returned are those of the
    policy that are none of them.

    Raises:
        Rejected: it does not; says of every entry why.
    """
    faults = []
    for required in _requirements(shown, policy, rules):
        try:
            required()
        except Rejected as error:
            faults.append(str(error))
    need(not faults, f"policy: {'; '.join(faults)}")
    known = {feature.name: feature for feature in shown.question.features}
    return [str(rule) for rule in policy.constraints if _in_figures(rule, known) not in rules]


def _requirements(shown: Shown, policy: Policy, rules: list[str]) -> Iterator[Callable[[], None]]:
    """Functions that reject, one for each entry of a policy."""
    question = shown.question
    known = {feature.name: feature for feature in question.features}
    space = document(shown.space, "space")
    read = {feature.name: feature for feature in stated(space, "space")}
    for wide in policy.features:
        yield partial(_require_feature, wide, known, read, question.norms[0] != 1)
        if shown.witness is not None and wide.name in known:
            place = list(known).index(wide.name)
            yield partial(_require_change, wide, question.features[place], shown.witness[place])
            if wide.action == "conditional" and shown.witness[place] != known[wide.name].own:
                yield partial(_require_condition, wide.name, known, policy, rules)
    for name in policy.fixed:
        yield partial(_require_still, name, known)
    allowed = {_in_figures(rule, known) for rule in policy.constraints}
    for rule in rules:
        held = rule in allowed and "about " not in rule
        yield partial(need, held, f"it has no constraint {rule}")
    if policy.target is not None:
        yield partial(policy.target.require_of, question)
    yield partial(_require_norms, question, policy)
    yield partial(_require_epsilon, shown, policy)
    yield partial(_require_slack, question, policy)
    own, stated_ = shown.semantics, policy.semantics
    yield partial(need, stated_ in (None, own), f"the semantics is {own}, and not {stated_}")
    if policy.others:
        return
    left = [quoted(name) for name in known if name not in {one.name for one in policy.features}]
    said = f"it says nothing of {', '.join(left[:5])}{', …' * (len(left) > 5)}"
    yield partial(need, not left, f"{said}, and not others = 'any'")
    same = left or columns_of(policy.found) == columns_of(space)
    yield partial(need, same, "other columns")


def _feature(name: str, known: dict[str, Feature], why: str = "") -> Feature:
    """A feature by its name; a policy that misspells one is not the question's fault."""
    near = get_close_matches(name, known, 1)
    hint = f"; did the policy mean {near[0]!a}?" if near else ""
    need(name in known, f"the question has no feature {name!a}{why}{hint}")
    return known[name]


def _require_feature(
    wide: Stated, known: dict[str, Feature], read: dict[str, Stated], measured: bool
) -> None:
    own = _feature(wide.name, known)
    _require_wide(wide, own, measured)
    made = read[wide.name]
    same = (wide.columns, wide.encoding) == (made.columns, made.encoding)
    need(same, f"{wide.name!a}: it is made of other columns")


def _require_still(name: str, known: dict[str, Feature]) -> None:
    own = _feature(name, known, ", which is to be fixed")
    need(is_still(own), f"{name!a}: it may change, and the policy fixes it")


def _require_norms(question: Question, policy: Policy) -> None:
    norms = policy.norms
    if isinstance(norms, str):  # sparse
        unit = Q(1, len(question.features) + 1)
        norms = [1 - unit, unit, Q(0), Q(0)]
        alike = len({feature.weight for feature in question.features}) == 1
        need(alike, "another distance: 'sparse' is of features of one weight")
    if norms is not None:
        told = f"another distance: it is {mix(question.norms)}, and the policy's {mix(norms)}"
        need(norms == question.norms, told)


def _require_epsilon(shown: Shown, policy: Policy) -> None:
    if policy.epsilon is not None:
        within = shown.epsilon <= _most(policy.epsilon)
        need(within, f"epsilon is {exact(shown.epsilon)}, more than {exact(policy.epsilon)}")
        only = shown.status == "feasible"
        need(not only, "epsilon: the claim is only that the change is feasible")
        loose = policy.norms == "sparse" and is_loose(shown)
        need(not loose, "epsilon: of as many changes, smaller ones by more may exist")


def _require_slack(question: Question, policy: Policy) -> None:
    if policy.slack is not None:
        within = question.slack <= _most(policy.slack)
        need(within, f"the slack is {exact(question.slack)}, more than {exact(policy.slack)}")


def columns_of(space: dict[str, Any]) -> list[Any]:
    """The model's columns, in their order."""
    features = listed(space.get("feature", []), "feature")
    made = [column for one in features for column in one.get("columns", [one["name"]])]
    return list(space.get("columns", made))


def _require_wide(wide: Stated, own: Feature, measured: bool) -> None:
    where = f"{own.name!a}: "
    gone = own.gap or (own.absent is not None and own.own == own.absent)
    need(wide.gap or not gone, f"{where}it is missing{', and stays so' if own.gap else ''}")
    opens = own.absent is not None or not wide.opens(own)
    need(opens, f"{where}a missing number keeps missing, or one that is there cannot be lost")
    free = own.action in ("free", "conditional", wide.action) or wide.action == "fixed"
    need(free, f"{where}it may not change as it should: {own.action}, not {wide.action}")
    need(own.weight == wide.weight, f"{where}another weight")
    kinds = {own.kind, wide.kind or own.kind}
    need(len(kinds) == 1 or kinds == {"real", "integer"}, f"{where}another kind")
    if own.labels or wide.labels:
        missing = [label for label in wide.labels if label not in own.labels]
        absent = ", ".join(quoted(label) for _, label in missing[:1])
        need(not missing, f"{where}the certificate has no label {absent}")
        plain = (wide.low, wide.high, wide.step) == (None, None, None) or not own.labels
        need(plain, f"{where}labels, and no numbers")
        places = [own.labels.index(label) for label in wide.labels if label in own.labels]
        ordered = own.kind == "ordinal" or wide.encoding or wide.action in ("increase", "decrease")
        listed_ = wide.labels or not ordered or (own.kind == "ordinal" and not wide.encoding)
        need(listed_, f"{where}the policy lists no labels, whose order counts")
        in_order = not ordered or places == sorted(places)
        need(in_order, f"{where}the labels are in another order")
        if measured and own.kind == "ordinal" and wide.labels:
            had, wanted = len(own.labels), len(wide.labels)
            need(had == wanted, f"{where}it has {had} levels, and the policy {wanted}, {CHEAPER}")
        return
    assert own.low is not None
    assert own.high is not None
    top, exact_up_to = max(abs(own.low), abs(own.high)), {0: 2**53, 4: 2**24, 8: 2**53}[own.width]
    whole = own.step is not None and own.step.denominator == 1 and top <= exact_up_to
    same = (own.width or 8) == (wide.width or 8)  # unless stated, doubles
    need(same or (whole and wide.width != 4), f"{where}floats of another width")
    low, high = (own.low if wide.low is None else wide.low), wide.high
    high = own.high if high is None else high
    ranges = f"its range {exact(own.low)} to {exact(own.high)} is", f"{exact(low)} to {exact(high)}"
    narrower, wider = own.low > low or own.high < high, own.low < low or own.high > high
    need(not narrower, f"{where}{ranges[0]} narrower than {ranges[1]}")
    need(not (measured and wider), f"{where}{ranges[0]} wider than {ranges[1]}, {CHEAPER}")
    coarse = own.step is not None and (wide.step is None or wide.step % own.step)
    need(not coarse, f"{where}the grid is coarser")


def _require_change(wide: Stated, own: Feature, value: Any) -> None:
    """The answer itself is one that the policy allows, where the question allows more."""
    if value == own.own:
        return
    where = f"{own.name!a}: the answer changes it"
    if own.absent in (value, own.own):
        filled = value != own.absent
        need(wide.opens(own), f"{where}{' from' if filled else ' to'} missing, which it may not")
        if not filled:
            return
    else:
        way = "increase" if value > own.own else "decrease"
        free = wide.action in (way, "free", "conditional")
        need(free, f"{where}, and its action is {wide.action}")
    if own.labels:
        label = own.labels[value]
        allowed = not wide.labels or label in wide.labels
        need(allowed, f"{where} to {quoted(label[1])}, which the policy does not list")
        return
    low, high = (value if end is None else end for end in (wide.low, wide.high))
    need(low <= value <= high, f"{where} to {exact(value)}, beyond the policy's range")
    if wide.step not in (None, own.step):
        nearest = round(value / wide.step) * wide.step
        beside = (rounded(nearest, width) for width in (8, 4))
        need(value in (nearest, *beside), f"{where} to {exact(value)}, off the policy's grid")


def _require_condition(
    name: str, features: dict[str, Feature], policy: Policy, rules: list[str]
) -> None:
    """All that a policy's constraints say of a feature was asked, as it changes under a condition.

    The condition itself is a text that the checker does not read.
    """
    word = re.compile(rf"(?<![\w.]){re.escape(name_of(name))}(?!\w)")
    own = [str(rule) for rule in policy.constraints if word.search(str(rule))]
    held = own and all(_in_figures(rule, features) in rules for rule in own)
    why = "list it in the policy's constraints, as the check prints it" if not own else own[0]
    need(held, f"{name!a}: the answer changes it, and its condition was not asked: {why}")


def _in_figures(rule: Any, features: dict[str, Feature]) -> str:
    """A constraint of a policy with the factual's numbers put in."""
    text = str(rule)
    for name, feature in sorted(features.items(), key=lambda one: -len(one[0])):
        own = feature.own
        figures = quoted(feature.labels[own][1]) if feature.labels else exact(own)
        text = text.replace(f"factual.{name}", figures)
    return text

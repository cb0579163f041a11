"""Feature spaces as TOML: the one that a certificate was made with, and an auditor's policy.

A policy is a feature space, with more entries if the auditor likes: ``constraints``, the conditions
that a question may make, as the report prints them, where ``factual.NAME`` stands for the factual's
value; ``target``, the target label, or a table as certificates have it; ``norms``, the
distance (l0, l1, linf, l2); ``epsilon``, the largest of a claim that is *optimal* or *infeasible*;
``slack``, the largest.
"""

from __future__ import annotations

import re
import tomllib
from fractions import Fraction as Q
from typing import Any

from ..checker import ODD, Feature, Rejected, listed, need
from .report import TEXT, exact, quoted

DECIMAL = re.compile(r"-?[0-9]{1,400}(\.[0-9]{1,400}|/[1-9][0-9]{0,400})?", re.ASCII)
NAMES = ("version", "columns", "tables", "feature", "others", "constraints", "target", "norms",
         "epsilon", "slack")  # fmt: skip
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
        self.action, self.weight = given.get("action", "free"), decimal(given.get("weight", 1))
        ends = (given.get(end) for end in ("lower", "upper"))
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
        self.step = Q(1) if counts else decimal(given.get("resolution"))

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


def document(text: Any, where: str) -> dict[str, Any]:
    """The entries of a TOML text."""
    need(isinstance(text, str) and len(text) <= TEXT, f"{where}: no text, or too long")
    dots = sum(line.count(".") ** 2 for line in text.split("\n"))  # reading a.b.c.d takes as long
    need(dots <= 10**9, f"{where}: too many dots in a line")
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise Rejected(f"{where}: no TOML") from None
    odd = sorted(set(found) - set(NAMES))
    need(not odd, f"{where}: unknown {odd[:1]!a}")
    return found


def stated(text: Any, where: str) -> list[Stated]:
    """The features of a space in TOML."""
    features = listed(document(text, where).get("feature", []), f"{where}.feature")
    return [Stated(one, f"{where}.feature[{j}]") for j, one in enumerate(features)]


def require_same(text: str, features: list[Feature]) -> None:
    """The space, by which rows are made for the model, says of features what the question says."""
    try:
        space = stated(text, "space")
    except ODD as error:
        raise Rejected(f"space: malformed: {type(error).__name__}") from None
    need(len(space) == len(features), "space: not one entry for each feature")
    names = ("name", "kind", "action", "weight", "labels", "low", "high", "step")
    for own, feature in zip(space, features, strict=True):
        for name in names:
            same = getattr(own, name) == getattr(feature, name)
            need(same, f"features: {feature.name!a}: the space has another {name}")
        need(own.gap or not feature.gap, f"features: {feature.name!a}: it cannot be missing")
        same = own.opens(feature) == (feature.absent is not None)
        need(same, f"features: {feature.name!a}: the space has other gaps that answers may change")


def require_no_narrower(shown: Any, text: str, rules: list[str]) -> None:
    """The question allows all that a policy allows, and measures as it does.

    ``rules`` are the question's constraints as the report prints them.
    """
    try:
        _require(shown, text, rules)
    except Rejected as error:
        raise Rejected(f"policy: {str(error).removeprefix('policy: ')}") from None
    except ODD as error:
        raise Rejected(f"policy: malformed: {type(error).__name__}") from None


def _require(shown: Any, text: str, rules: list[str]) -> None:
    found, question = document(text, "policy"), shown.question
    known = {feature.name: feature for feature in question.features}
    named = stated(text, "policy")
    read = {feature.name: feature for feature in stated(shown.space, "space")}
    for wide in named:
        need(wide.name in known, f"policy: the question has no feature {wide.name!a}")
        _require_wide(wide, known[wide.name], "norms" in found)
        same = (wide.columns, wide.encoding) == (read[wide.name].columns, read[wide.name].encoding)
        need(same, f"policy: {wide.name!a}: it is made of other columns")
    allowed = {_in_figures(rule, known) for rule in found.get("constraints", [])}
    for rule in rules:
        need(rule in allowed and "about " not in rule, f"policy: it has no constraint {rule}")
    if "target" in found:
        same = question.stated == question.rows_of_target(_target(found["target"]))
        need(same, "policy: another target")
    if "norms" in found:
        need(list(map(decimal, found["norms"])) == question.norms, "policy: another distance")
    most = decimal(found.get("epsilon", 1))
    need(most is not None and shown.epsilon <= most, "policy: epsilon is larger")
    gap = "epsilon" in found and shown.status == "feasible"
    need(not gap, "policy: epsilon: the claim is only that the change is feasible")
    slack = decimal(found.get("slack"))
    need(slack is None or question.slack <= slack, "policy: the slack is larger")
    need(found.get("others", "any") == "any", "policy: others is 'any', or is not there")
    left = [] if "others" in found else sorted(set(known) - {wide.name for wide in named})
    if not left and "others" not in found:
        need(_columns(found) == _columns(document(shown.space, "space")), "policy: other columns")
    need(not left, f"policy: it says nothing of {left[:1]!a}, and not others = 'any'")


def _columns(space: dict[str, Any]) -> list[Any]:
    """The model's columns, in their order."""
    features = listed(space.get("feature", []), "feature")
    made = [column for one in features for column in one.get("columns", [one["name"]])]
    return list(space.get("columns", made))


def _target(given: Any) -> dict[str, Any]:
    """A target of TOML as certificates have it."""
    given = given if isinstance(given, dict) else {"label": given}
    made: dict[str, Any] = {"margin": "0", "least": None} if "label" in given else {
        "lower": None, "upper": None}  # fmt: skip
    for name, value in given.items():
        is_float = name == "label" and isinstance(value, float)
        made[name] = {"float": str(Q(value))} if is_float else value
        made[name] = made[name] if name == "label" else str(decimal(value))
    return made


def _require_wide(wide: Stated, own: Feature, measured: bool) -> None:
    where = f"policy: {own.name!a}: "
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
        need(not missing, f"{where}labels are missing: {missing[:1]!a}")
        plain = (wide.low, wide.high, wide.step) == (None, None, None) or not own.labels
        need(plain, f"{where}labels, and no numbers")
        places = [own.labels.index(label) for label in wide.labels if label in own.labels]
        in_order = own.kind != "ordinal" or places == sorted(places)
        need(in_order, f"{where}the labels are in another order")
        more = measured and own.kind == "ordinal" and wide.labels
        need(not more or len(wide.labels) == len(own.labels), f"{where}more labels: distances")
        return
    assert own.low is not None
    assert own.high is not None
    top, exact_up_to = max(abs(own.low), abs(own.high)), {0: 2**53, 4: 2**24, 8: 2**53}[own.width]
    whole = own.step is not None and own.step.denominator == 1 and top <= exact_up_to
    same = (own.width or 8) == (wide.width or 8)  # unless stated, doubles
    need(same or (whole and wide.width != 4), f"{where}floats of another width")
    inside = own.low <= (own.low if wide.low is None else wide.low)
    inside = inside and own.high >= (own.high if wide.high is None else wide.high)
    need(inside, f"{where}the range is narrower")
    ends = (wide.low, own.low), (wide.high, own.high)
    wider = measured and any(requested is not None and requested != had for requested, had in ends)
    need(not wider, f"{where}the range is wider, so distances differ")
    coarse = own.step is not None and (wide.step is None or wide.step % own.step)
    need(not coarse, f"{where}the grid is coarser")


def _in_figures(rule: Any, features: dict[str, Feature]) -> str:
    """A constraint of a policy with the factual's numbers put in."""
    text = str(rule)
    for name, feature in sorted(features.items(), key=lambda one: -len(one[0])):
        own = feature.own
        figures = quoted(feature.labels[own][1]) if feature.labels else exact(own)
        text = text.replace(f"factual.{name}", figures)
    return text

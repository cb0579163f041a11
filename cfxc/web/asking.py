"""What the page sends, as an instance, a model and a question; everything is checked here.

Numbers come as the text that was typed, categories as their place among the feature's levels: so a
page cannot mean another category of the same name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING, Any

from ..errors import CfxcError, InvalidInputError
from ..frontends.csv_files import is_missing, number
from ..lang.literals import write_name, write_number
from ..question.criteria import Criterion, MaxChanges, Probability
from ..question.outcomes import read_target
from ..question.question import Question, asked_of
from ..show.letters.words import written
from ..space import Feature
from ..space.codec import encode_row
from ..space.feature import DIRECTED
from ..space.values import exact
from .site import Site

if TYPE_CHECKING:
    import pandas as pd

    from ..model import CompiledModel

DISTANCES = ("sparse", "l1", "l0", "l2", "linf")
"""What the page may name; a file's distance comes from the question that the server began with."""
FREE = "free"
MOST_ANSWERS = 8
SEVERAL = ("features", "points")
"""How several answers may differ: each changes other features, or each is the next nearest."""
MOST_CONDITIONS = 20
LONGEST_FIGURE = 20
LONGEST_TEXT = 400
"""Letters of a number, a condition or an outcome."""
FIGURES: Mapping[str, tuple[type[Criterion], str, str]] = {
    MaxChanges.name: (MaxChanges, "changes", "3"),
    Probability.name: (Probability, "probability", "0.6"),
}
"""Criteria that a field asks for by one number, what messages call them, and an example."""
KEYS = frozenset(
    ("fields", "moves", "limits", "target", "range", "distance", "count", "diversity", "conditions",
     "seconds", *FIGURES)
)  # fmt: skip


class FieldErrors(InvalidInputError):
    """Something is wrong with single fields; ``where``: what, by the field's name."""

    def __init__(self, where: Mapping[str, str]) -> None:
        super().__init__("; ".join(where.values()))
        self.where = dict(where)


@dataclass(frozen=True)
class Asked:
    """A question about one instance.

    Attributes:
        frame: The instance, a one-row table.
        moves: Features that may move less than the space says, and how.
        options: What was said beside the question that the server began with.
        words: Plain words for conditions that stand for limits.
    """

    frame: pd.DataFrame
    moves: Mapping[str, str]
    options: Mapping[str, Any]
    model: CompiledModel
    question: Question
    words: Mapping[str, str]


FOR_SPACES = re.compile(r"(;|, or) \w[^;,]* in the feature space\b.*", re.DOTALL)
"""Advice about the file of a feature space, which who fills in a page does not have."""


def read_fields(site: Site, given: Any) -> pd.DataFrame:
    """The instance that a page's fields state, as a one-row table."""
    space, fields = site.model.space, _table(given, "fields")
    wrong = {name: f"there is no feature {name[:40]!r}" for name in fields if name not in space}
    values: dict[str, Any] = {}
    for feature in space:
        try:
            if feature.name not in fields:
                raise InvalidInputError(f"{feature.name}: no value was given; fill it in")
            cells = _cells(feature, fields[feature.name])
            values |= encode_row((feature,), cells, check_range=True)
        except CfxcError as error:
            wrong[feature.name] = FOR_SPACES.sub("", str(error))
    if wrong:
        raise FieldErrors(wrong)
    return space.decode(values)


def _cells(feature: Feature, given: Any) -> dict[str, object]:
    """What the feature's columns hold."""
    if has_choices(feature):
        levels = feature.levels
        if type(given) is not int or not 0 <= given < len(levels):
            raise InvalidInputError(f"{feature.name}: choose one of the {len(levels)} values")
        tables = {column: feature.table(column) for column in feature.columns}
        return {c: levels[given] if t is None else t[given] for c, t in tables.items()}
    text = _text(given, feature.name)
    if is_missing(text):
        return {feature.columns[0]: None}
    whole, advice = feature.kind == "integer", f"write e.g. {_one(feature)}"
    return {feature.columns[0]: _number(text, feature.name, advice, whole=whole)}


def _number(text: str, called: str, advice: str, *, whole: bool) -> int | float:
    """The number that was typed; else a message with what may be meant by a comma, or advice."""
    if (value := number(text)) is not None and abs(value) != inf:
        return value
    before, comma, after = text.strip().partition(",")
    pointed, thousands = f"{before}.{after}", f"{before}{after}"
    if comma and number(pointed) is not None:
        meant = [] if whole else [f"{pointed} with a point"]
        meant += [f"{thousands} without the comma"] if len(after) == 3 else []
        advice = f"write {' or '.join(meant)}" if meant else advice
    raise InvalidInputError(f"{called}: {text[:40]!r} is no number; {advice}")


def _one(feature: Feature) -> str:
    """A number that the feature takes."""
    return f"{written(feature, Fraction(feature.bounds[1])):f}"


def has_choices(feature: Feature) -> bool:
    """Whether its value is chosen from a list, and not typed."""
    return feature.is_symbolic or feature.encoding != "plain"


def moves_of(feature: Feature) -> list[str]:
    """How the feature may move, the widest first, which is what the space says."""
    if feature.action == FREE:
        ordered = feature.kind not in ("categorical", "binary")
        return [FREE, *(DIRECTED if ordered else ()), "fixed"]
    return [str(feature.action)] + ["fixed"] * (feature.action != "fixed")


def read_asked(site: Site, given: Any, most_seconds: float) -> Asked:
    """A question as a page sends it.

    Args:
        most_seconds: What the server allows a search; ``seconds`` may say less.
    """
    table = _table(given, "the question")
    if odd := sorted(set(table) - KEYS):
        raise InvalidInputError(f"a question has no {odd[0][:40]!r}; reload the page")
    frame = read_fields(site, table.get("fields", {}))
    moves = _moves(site, _table(table.get("moves", {}), "moves"))
    limits = _limits(site, table.get("limits", {}))
    options = _options(site, table, most_seconds, list(limits))
    question = asked_of(site.base, _added(site, options))
    return Asked(frame, moves, options, site.over(moves), question, limits)


def _added(site: Site, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options, with conditions beside the criteria of the question that the server has."""
    return {**options, "subject_to": [*site.base.subject_to, *options.get("subject_to", ())]}


def _moves(site: Site, given: Mapping[str, Any]) -> dict[str, str]:
    found, wrong = dict[str, str](), dict[str, str]()
    for name, move in given.items():
        if name not in site.model.space:
            wrong[name] = f"there is no feature {name[:40]!r}"
            continue
        first, *others = moves_of(site.model.space[name])
        if move in others:
            found[name] = move
        elif move != first:
            wrong[name] = f"{name}: may be {', '.join([first, *others])}"
    if wrong:
        raise FieldErrors(wrong)
    return found


def _options(
    site: Site, table: Mapping[str, Any], most_seconds: float, limits: list[str]
) -> dict[str, Any]:
    options: dict[str, Any] = {}
    label, range_ = (_text(table.get(name) or "", name) or None for name in ("target", "range"))
    said = label is not None or range_ is not None
    if said or "target" not in site.base.given:
        if not said and site.model.predictor.classes is None and site.model.favourable is None:
            raise InvalidInputError("outcome: say what it is to be at least, or at most")
        options["target"] = read_target(site.model, label, range_)
    if distance := _text(table.get("distance") or "", "distance"):
        if distance not in DISTANCES:
            raise InvalidInputError(f"distance: choose one of {', '.join(DISTANCES)}")
        options["distance"] = distance
    count, seconds = table.get("count", 1), table.get("seconds", most_seconds)
    if type(count) is not int or not 1 <= count <= MOST_ANSWERS:
        raise InvalidInputError(f"answers: from 1 to {MOST_ANSWERS}")
    if type(seconds) not in (int, float) or not 0 < seconds <= most_seconds:
        raise InvalidInputError(f"seconds: a number such as 2.5, above 0, at most {most_seconds:g}")
    if count > 1 or says_how_apart(site):
        options["count"] = count
    diversity = _text(table.get("diversity") or "", "diversity")
    if diversity not in ("", *SEVERAL):
        raise InvalidInputError(f"diversity: choose one of {', '.join(SEVERAL)}")
    if count > 1:
        options["diversity"] = diversity or None
    options["time_limit"] = seconds / count  # which is for each answer
    if criteria := [*limits, *_conditions(table), *_figures(site, table)]:
        options["subject_to"] = criteria
    return {name: value for name, value in options.items() if value is not None}


def figures_of(site: Site) -> list[str]:
    """Criteria that the page has a field for: those that the server's question does not set."""
    given = {each.name for each in site.base.subject_to}
    sure = "probability" in dict(site.model.program.outputs)
    return [name for name in FIGURES if name not in given and (sure or name != "probability")]


def _figures(site: Site, table: Mapping[str, Any]) -> Iterator[Criterion]:
    """The criteria that fields ask for; an empty one asks for nothing."""
    for name, (kind, called, example) in FIGURES.items():
        if not (text := _text(table.get(name, ""), called).strip()):
            continue
        if name not in figures_of(site):
            raise InvalidInputError(f"{called}: cannot be asked for here; reload the page")
        if len(text) > LONGEST_FIGURE:
            raise InvalidInputError(
                f"{called}: a number of at most {LONGEST_FIGURE} letters, such as {example}"
            )
        advice = f"write e.g. {example}, or leave it empty for none"
        value = _number(text, called, advice, whole=kind is MaxChanges)
        try:
            yield kind.from_toml(int(value) if value == int(value) else value)
        except CfxcError as error:
            said = str(error).removeprefix(name).lstrip(": ")
            raise InvalidInputError(f"{called}: {said}") from error


def says_how_apart(site: Site) -> bool:
    """Whether the question that the server has says how several answers differ."""
    return not {"diversity", "apart"}.isdisjoint(site.base.given)


def _limits(site: Site, given: Any) -> dict[str, str]:
    """Conditions for the least and the most that an answer may have, each with its plain words."""
    found, wrong = dict[str, str](), dict[str, str]()
    for name, ends in _table(given, "limits").items():
        try:
            if name not in site.model.space or has_choices(site.model.space[name]):
                raise InvalidInputError(f"{name[:40]}: there is no such number")
            if not isinstance(ends, list) or len(ends) != 2:
                raise InvalidInputError(f"{name}: a least and a largest value")
            low, high = (_end(site.model.space[name], text) for text in ends)
            least, most = site.model.space[name].bounds
            if low is not None and low > (most if high is None else min(most, high)):
                than = f"at most {ends[1]}" if high is not None and low > high else "any value"
                raise InvalidInputError(f"{name}: at least {ends[0]} is more than {than}")
            if high is not None and high < least:
                raise InvalidInputError(f"{name}: at most {ends[1]} is less than any value")
            pairs = zip((">=", "<="), ("at least", "at most"), (low, high), ends, strict=True)
            for sign, words, end, text in pairs:
                if end is not None:
                    plain = f"{site.words.label(name)} is {words} {text.strip()}"
                    found[f"{write_name(name)} {sign} {write_number(end)}"] = plain
        except CfxcError as error:
            wrong[name] = str(error)
    if wrong:
        raise FieldErrors(wrong)
    return found


def _end(feature: Feature, given: Any) -> Fraction | None:
    """The number that the feature's column holds for a text; ``None`` where there is no limit."""
    if not (text := _text(given, feature.name).strip()):
        return None
    whole = feature.kind == "integer"
    value = _number(text, feature.name, "leave it empty for no limit", whole=whole)
    if whole and Decimal(text) != int(value):  # nor one that a double takes for one
        raise InvalidInputError(f"{feature.name}: {text[:40]!r} is no whole number")
    return Fraction(feature.held(exact(value, feature.name)))


def _conditions(table: Mapping[str, Any]) -> list[str]:
    given = table.get("conditions", [])
    if not isinstance(given, list) or len(given) > MOST_CONDITIONS:
        raise InvalidInputError(f"conditions: at most {MOST_CONDITIONS}, one a line")
    return [text for each in given if (text := _text(each, "conditions").strip())]


def _table(given: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(given, dict):
        raise InvalidInputError(f"{what}: not what this page sends; reload it")
    return given


def _text(given: Any, what: str) -> str:
    if not isinstance(given, str) or len(given) > LONGEST_TEXT:
        raise InvalidInputError(f"{what}: a text of at most {LONGEST_TEXT} letters")
    return given

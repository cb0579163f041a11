"""What letters say of conditions: exactly what these ask, for every row there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

import cfxc
from cfxc.answers.conditions import Part, parts_of, told
from cfxc.ir import Builder, evaluate, ops
from cfxc.question.query import Query, make_query
from cfxc.show.letters.fields import Fields
from cfxc.show.letters.words import LANGUAGES, Words
from cfxc.space.feature import sort_of

pytest.importorskip("babel")

FACTUAL = {"age": 3, "pay": Fraction(0.5), "sector": "law", "level": "mid", "member": True}
COMPARED = {
    "<": lambda x, y: x < y, "<=": lambda x, y: x <= y, ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y, "==": lambda x, y: x == y, "!=": lambda x, y: x != y,
}  # fmt: skip
MEANINGS = {
    "fixed": "==", "increase": ">=", "decrease": "<=", "rises": ">", "falls": "<",
    "changes": "!=", "is": "==", "is_not": "!=", "at_least": ">=", "at_most": "<=",
    "above": ">", "below": "<",
}  # fmt: skip
LEVELS = ("low", "mid", "high")


@pytest.fixture(scope="module")
def query() -> Query:
    return asked([])


def asked(subject_to: Sequence[Any], **changed: Any) -> Query:
    space = cfxc.FeatureSpace(
        (
            cfxc.Feature("age", "integer", 0, 6, **changed.get("age", {})),
            cfxc.Feature("pay", "real", Fraction(0), Fraction(1)),
            cfxc.Feature("sector", "categorical", labels=("it", "law", "art", None)),
            cfxc.Feature("level", "ordinal", labels=LEVELS),
            cfxc.Feature("member", "binary", labels=(False, True), **changed.get("member", {})),
        )
    )
    builder = Builder("twice the age")
    inputs = {feature.name: builder.input(feature.name, sort_of(feature)) for feature in space}
    program = builder.build(value=builder.let(ops.Add(inputs["age"], inputs["age"])))
    return make_query(program, space, FACTUAL, target=(8, None), subject_to=subject_to)


def meant(part: Part, row: Mapping[str, Any], own: Mapping[str, Any]) -> bool:
    """What a part says of a row, read as a person does."""
    if part.relation == "at_most_n":
        return sum(row[name] != own[name] for name in own) <= part.value
    if part.relation == "only_if":
        return row[part.name] == own[part.name] or all(meant(p, row, own) for p in part.value)
    here, other = row[part.name], own[part.name] if part.value is None else part.value
    if part.relation in ("one_of", "none_of"):
        return (here in part.value) == (part.relation == "one_of")
    if isinstance(here, str):
        here, other = (LEVELS.index(x) if x in LEVELS else x for x in (here, other))
    return COMPARED[MEANINGS[part.relation]](here, other)


def rows() -> list[dict[str, Any]]:
    close = (0.5, 0.7, 0.45, 3 / 7)
    near = [np.nextafter(one, side) for one in close for side in (0, one, 1)]
    pays = [Fraction(float(pay)) for pay in (0.0, 1.0, *near)]
    found = product(range(7), pays, ("it", "law", "art", None), LEVELS, (False, True))
    return [dict(zip(FACTUAL, values, strict=True)) for values in found]


TOLD = [
    "pay <= factual.age / 7", "pay * 2 <= 1", "pay * -2 <= -1", "pay >= 0.9 * factual.pay",
    "pay < 1.4 * factual.pay", "pay - 0.2 <= factual.pay", "age < 0.9 * factual.age",
    "age > 3 - factual.pay", "factual.age - age <= 3 * age - 2", "pay > 7 * factual.pay - 2.8",
    "age == factual.age", "age >= factual.age", "factual.age >= age",
    "age > factual.age", "x.age < factual.age", "age != factual.age", "age <= 4", "4 < age",
    "age <= 4.5", "age >= 1/3", "age <= factual.age + 1", "age <= 2 * factual.age - 1",
    "0 <= age <= 4", "pay <= 0.7", "pay < 0.5", "pay == factual.pay", "pay > 7/10 && age != 2",
    "sector == factual.sector", 'sector == "it"', 'sector != "it"', "sector != factual.sector",
    'sector in {"it", "art"}', 'sector == "it" || sector == none', '!(sector == "law")',
    "level >= factual.level", "level <= factual.level", 'level > "low"', 'level < "high"',
    "level == factual.level", "member", "!member", "member == factual.member",
    'member && level == "low" && pay >= 0.5',
]  # fmt: skip
COUNTED = [
    "age >= 2 || pay > 0.5", "age + pay <= 4", "age <= pay", "factual.age <= 3", "abs(age) <= 2",
    "age <= 2.5 * pay", 'sector == "it" -> member',
    "age == 2.5", "member -> age > 2",
]  # fmt: skip


@pytest.mark.parametrize("text", TOLD)
def test_parts_say_what_a_condition_asks(text: str) -> None:
    query = asked([text])
    (constraint,) = query.constraints
    parts = parts_of(query, constraint)
    assert parts is not None
    own = {f"factual.{name}": value for name, value in FACTUAL.items()}
    for row in rows():
        scope = {**row, **own}
        given = {name: scope[name] for name, _ in constraint.program.inputs}
        holds = evaluate(constraint.program, given)["holds"]
        assert all(meant(part, row, FACTUAL) for part in parts) == holds, (parts, row)


@pytest.mark.parametrize("text", COUNTED)
def test_what_no_parts_say_is_counted(text: str) -> None:
    query = asked([text])
    assert [parts_of(query, one) for one in query.constraints] == [None]


def test_caps_and_conditional_actions() -> None:
    member = {"action": "conditional", "condition": 'age >= 4 && level != "low"'}
    query = asked([cfxc.MaxChanges(2)], member=member)
    parts = [parts_of(query, one) for one in query.constraints]
    assert parts == [
        (Part("at_most_n", value=2),),
        (Part("only_if", "member", (Part("at_least", "age", 4), Part("increase", "level"))),),
    ]  # fmt: skip
    own = {f"factual.{name}": value for name, value in FACTUAL.items()}
    for row in rows():
        for each, constraint in zip(parts, query.constraints, strict=True):
            given = {name: {**row, **own}[name] for name, _ in constraint.program.inputs}
            holds = evaluate(constraint.program, given)["holds"]
            assert all(meant(part, row, FACTUAL) for part in each or ()) == holds


def test_a_number_that_may_be_lost_has_to_be_there() -> None:
    query = asked(["age >= factual.age"], age={"missing": "free"})
    (constraint,) = query.constraints
    assert parts_of(query, constraint) == (Part("increase", "age"), Part("there", "age"))


SAID = {
    "en": "age and pay stay as they are; level does not fall; at most 2 factors change; "
    "sector is it or art; age is at least 2; 3 that the sender can name",
    "de": "age und pay bleiben, wie sie sind; level fällt nicht; höchstens 2 "
    "Merkmale ändern sich; sector ist it oder art; age ist mindestens 2; 3, die der "
    "Absender nennen kann",
    "fr": "age et pay restent tels quels; level ne diminue pas; au plus 2 éléments "
    "changent; sector vaut it ou art; age vaut au moins 2; 3 que l’expéditeur peut nommer",
}

INNER = {
    "en": "age changes only if this holds: sector is not it and pay does not fall",
    "de": "age ändert sich nur, wenn dies gilt: sector ist nicht it und pay fällt nicht",
    "fr": "age ne change que si ceci est vrai : sector ne vaut pas it et pay ne diminue pas",
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_parts_in_words(language: str, query: Query) -> None:
    words = Words(language, query.space, Fields({}, {}, {}), "fields")
    parts = [
        Part("fixed", "age"), Part("fixed", "pay"), Part("fixed", "age"), Part("increase", "level"),
        Part("at_most_n", value=2), Part("one_of", "sector", ("it", "art")),
        Part("at_least", "age", Fraction(2)),
    ]  # fmt: skip
    assert "; ".join(told(parts, 3, words)) == SAID[language]
    for relation in (*MEANINGS, "there"):
        value = Fraction(2) if relation in ("is", "is_not", *list(MEANINGS)[-4:]) else None
        (text,) = told([Part(relation, "age", value)], 0, words)
        assert "{" not in text
    inner = (Part("none_of", "sector", ("it",)), Part("increase", "pay"))
    (text,) = told([Part("only_if", "age", inner)], 0, words)
    assert text == INNER[language]

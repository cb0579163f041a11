"""What a page sends is a question of the library, or is refused beside its field."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cfxc.cli import main
from cfxc.errors import CfxcError, InvalidInputError
from cfxc.question.criteria import MaxChanges
from cfxc.question.question import Question
from cfxc.space import Feature, FeatureSpace
from cfxc.stopping import INTERRUPTED
from cfxc.web.asking import FieldErrors, moves_of, read_asked, read_fields
from cfxc.web.recipes import recipes
from cfxc.web.site import Site
from cfxc.web.views import field_of, model_view, point_view, result_view
from tests.web.pages import files

FIELDS = {"age": "30", "pay gap": "20.5", "sector": 0}
ASKED: dict[str, Any] = {"fields": FIELDS, "target": "yes", "distance": "l1", "seconds": 10}


def test_a_question_is_the_library_s(site: Site) -> None:
    limits = {"age": ["20", ""], "pay gap": ["", "40.1"]}
    asked = read_asked(site, {**ASKED, "moves": {"sector": "fixed"}, "limits": limits}, 60)
    assert asked.frame.iloc[0].to_dict() == {"age": 30, "pay gap": 20.5, "sector": "art"}
    assert asked.model.space["sector"].action == "fixed"
    assert asked.model.program is site.model.program
    assert asked.question.target == "yes"
    assert asked.question.time_limit == 10
    assert list(asked.words.values()) == ["age is at least 20", "gap in pay is at most 40.1"]
    assert asked.question.conditions[0] == "age >= 20"


def test_a_limit_is_the_number_that_the_column_holds(site: Site) -> None:
    """40.1 itself is admitted, though the double is above 401/10."""
    fields = {**FIELDS, "pay gap": "20.5"}
    asked = read_asked(site, {**ASKED, "fields": fields, "limits": {"pay gap": ["40.1", ""]}}, 60)
    text = asked.question.conditions[0]
    assert Fraction(float.fromhex(text.rsplit(" ", 1)[1])) == Fraction(40.1)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("age", "thirty", "no number"),
        ("age", "30.5", "whole"),
        ("age", "900", "17|18|79"),
        ("age", "", "missing"),
        ("age", "nan", "missing"),
        ("age", "inf", "is no number; write e.g."),
        ("age", "1" * 500, "letters"),
        ("age", 30, "text"),
        ("age", None, "text"),
        ("sector", 3, "choose one"),
        ("sector", -1, "choose one"),
        ("sector", True, "choose one"),
        ("sector", "it", "choose one"),
        ("sex", "0", "no feature"),
    ],
)
def test_a_wrong_field_is_named(site: Site, field: str, value: Any, said: str) -> None:
    with pytest.raises(FieldErrors) as caught:
        read_fields(site, {**FIELDS, field: value})
    assert list(caught.value.where) == [field]
    assert re.search(said, caught.value.where[field]), caught.value.where
    assert "feature space" not in caught.value.where[field]  # which who fills it in does not have


def test_a_field_that_is_not_there_is_named(site: Site) -> None:
    with pytest.raises(FieldErrors, match="sector: no value"):
        read_fields(site, {"age": "30", "pay gap": "20"})


@pytest.mark.parametrize(
    ("odd", "said"),
    [
        ({"distance": "/etc/passwd"}, "distance"),
        ({"distance": "mahalanobis=/etc/passwd"}, "distance"),
        ({"distance": "mine.cfl"}, "distance"),
        ({"seconds": 61}, "seconds"),
        ({"seconds": 0}, "seconds"),
        ({"seconds": float("nan")}, "seconds"),
        ({"seconds": True}, "seconds"),
        ({"count": 9}, "answers"),
        ({"count": 1.0}, "answers"),
        ({"count": 2, "diversity": "clusters"}, "features, points"),
        ({"range": "1:2"}, "not both"),
        ({"moves": {"sector": "increase"}}, "free, fixed"),
        ({"moves": {"sex": "fixed"}}, "no feature"),
        ({"moves": []}, "reload"),
        ({"limits": {"age": ["x", ""]}}, "no number"),
        ({"limits": {"age": ["20,5", ""]}}, "'20,5' is no number; leave it empty"),
        ({"limits": {"age": ["1.500", ""]}}, "'1.500' is no whole number"),
        ({"limits": {"age": ["30.0000000000000001", ""]}}, "is no whole number"),
        ({"limits": {"age": ["2,500", ""]}}, "write 2500 without the comma"),
        ({"limits": {"pay gap": ["20,5", ""]}}, "write 20.5 with a point"),
        ({"limits": {"pay gap": ["2,500", ""]}}, "2.500 with a point or 2500 without the comma"),
        ({"limits": {"age": ["500", ""]}}, "at least 500 is more than any value"),
        ({"limits": {"age": ["", "-5"]}}, "at most -5 is less than any value"),
        ({"limits": {"age": ["40", "30"]}}, "at least 40 is more than at most 30"),
        ({"limits": {"age": ["1"]}}, "least"),
        ({"limits": {"age": ["inf", ""]}}, "age"),
        ({"limits": {"sector": ["1", ""]}}, "no such number"),
        ({"max_changes": "2.5"}, "changes: .*whole number"),
        ({"max_changes": "0"}, "changes: .*whole number"),
        ({"max_changes": "two"}, "changes: 'two' is no number; write e.g. 3"),
        ({"max_changes": 2}, "changes: a text"),
        ({"max_changes": "9" * 30}, "changes: a number of at most 20 letters"),
        ({"probability": "1"}, "probability: .*strictly between 0 and 1"),
        ({"probability": "60%"}, "probability: '60%' is no number; write e.g. 0.6"),
        ({"max_changes": "1,5"}, "is no number; write e.g. 3"),
        ({"probability": "0,7"}, "is no number; write 0.7"),
        ({"conditions": ["x"] * 21}, "at most 20"),
        ({"conditions": "age > 3"}, "one a line"),
        ({"conditions": ["a" * 401]}, "letters"),
        ({"seeds": 3}, "no 'seeds'"),
        ({"fields": 3}, "reload"),
    ],
)
def test_a_wrong_question_is_refused(site: Site, odd: dict[str, Any], said: str) -> None:
    with pytest.raises(CfxcError, match=said):
        read_asked(site, {**ASKED, **odd}, 60)


def test_several_answers_may_change_different_features(site: Site) -> None:
    either = {**FIELDS, "age": "50", "pay gap": "25"}
    given = {**ASKED, "fields": either, "count": 2, "diversity": "features"}
    asked = read_asked(site, given, 60)
    assert asked.question.diversity == "features"
    first, second = asked.model.explain(asked.frame, asked.question).all()
    assert set(first.changes).isdisjoint(second.changes)
    assert "--diversity features" in recipes(site, asked)["command"]
    one = read_asked(site, {**ASKED, "diversity": "features"}, 60)
    assert "diversity" not in one.question.given


def test_further_answers_say_what_is_proved_of_them(site: Site) -> None:
    asked = read_asked(site, {**ASKED, "count": 3, "diversity": "points"}, 60)
    result = asked.model.explain(asked.frame, asked.question)
    first, *others = (one["standing"] for one in result_view(site, asked, result)["answers"])
    assert "; proved: nothing below " in first
    assert all("; proved: nothing that differs as asked below " in one for one in others)
    last = replace(result.alternatives[0], status="feasible", reason=INTERRUPTED)
    broken = replace(result, alternatives=(last,), seconds=1.0)
    seen = result_view(site, asked, broken)
    assert seen["fewer"] == "2 of 3: the search was called off."
    assert seen["answers"][1]["standing"].endswith("; something nearer may exist (interrupted).")
    assert float(seen["seconds"]) >= 1.0


def test_the_question_that_the_server_has_says_how_answers_differ(site: Site) -> None:
    apart = replace(site, base=site.base.with_(apart=0.1, count=2))
    assert (model_view(site)["diversity"], model_view(apart)["diversity"]) == (False, True)


def test_what_the_question_sets_has_no_field(site: Site) -> None:
    assert model_view(site)["figures"] == ["max_changes", "probability"]
    few = replace(site, base=Question(subject_to=[MaxChanges(1)]))
    assert model_view(few)["figures"] == ["probability"]
    assert read_asked(few, {**ASKED, "max_changes": ""}, 60).question.of(MaxChanges)
    with pytest.raises(InvalidInputError, match="changes: cannot"):
        read_asked(few, {**ASKED, "max_changes": "2"}, 60)


def test_what_gives_no_probability_has_no_field(folder: Path) -> None:
    assert model_view(files(folder, "number", data=False).load())["figures"] == ["max_changes"]


def test_a_page_asks_for_less_change_and_never_for_more() -> None:
    number = {"lower": Fraction(0), "upper": Fraction(9)}
    expected = {
        "free": ["free", "increase", "decrease", "fixed"],
        "increase": ["increase", "fixed"],
        "fixed": ["fixed"],
    }
    for action, moves in expected.items():
        assert moves_of(Feature("a", "integer", **number, action=action)) == moves
    assert moves_of(Feature("a", "categorical", labels=("b", "c"))) == ["free", "fixed"]
    conditional = Feature("a", "integer", **number, action="conditional", condition="a > 3")
    assert moves_of(conditional) == ["conditional", "fixed"]


def test_fields_are_what_was_read(site: Site) -> None:
    """Every row of the table comes back from its fields, cell by cell."""
    assert site.people is not None
    for row in site.people.index[:50]:
        frame = site.people.loc[[row]]
        again = read_fields(site, point_view(site, frame))
        assert again.iloc[0].to_dict() == frame.iloc[0].to_dict()


def test_groups_of_columns_are_chosen_from_a_list(site: Site) -> None:
    table = pd.DataFrame({"s_a": [1, 0, 0], "s_b": [0, 1, 0], "s_c": [0, 0, 1], "n": [1, 2, 3]})
    space = FeatureSpace.infer(table, one_hot=["s_"])
    over = Site(site.files, replace(site.model, space=space), site.base)
    frame = read_fields(over, {"s": 1, "n": "2"})
    assert frame.iloc[0].to_dict() == {"s_a": 0, "s_b": 1, "s_c": 0, "n": 2}
    assert point_view(over, frame) == {"s": 1, "n": "2"}


def test_a_missing_number_is_an_empty_field() -> None:
    feature = Feature("a", "real", Fraction(0), Fraction(9), missing=True)
    assert field_of(feature, feature.absent) == ""


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"moves": {"sector": "fixed"}},
        {"limits": {"age": ["", "50"]}},
        {"count": 2, "diversity": "features"},
        {"count": 2, "diversity": "points"},
        {"max_changes": "1", "probability": "0.6", "conditions": ["age >= 20"]},
    ],
)
def test_recipes_give_the_same_answer(
    site: Site, odd: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    asked = read_asked(site, {**ASKED, **odd}, 60)
    result = asked.model.explain(asked.frame, asked.question)
    given = recipes(site, asked)
    monkeypatch.chdir(tmp_path)
    Path("row.json").write_text(json.dumps(given["row"]))
    exec(given["python"], {})
    assert capsys.readouterr().out.strip() == result.summary()
    assert main([*shlex.split(given["command"])[1:], "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["distance"] == result.distance
    others = [each["distance"] for each in said["alternatives"]]
    assert others == [each.distance for each in result.alternatives]
    assert said["lower_bound"] == result.lower_bound


def test_a_number_that_is_there_is_kept_by_the_command(site: Site) -> None:
    """Though it may be missing in others; one that is missing, the command cannot keep."""
    may_miss = site.model.space.replace("age", missing=True, dtypes=("float64",))
    there = replace(site, model=replace(site.model, space=may_miss))
    for age, kept in ((FIELDS["age"], True), ("", False)):
        asked = read_asked(there, {**ASKED, "fields": {**FIELDS, "age": age}}, 60)
        asked = replace(asked, moves={"age": "fixed"})
        command = recipes(there, asked)["command"]
        assert ("age == factual.age" in command) == kept
        assert ("# age: a number that is missing" in command) != kept


def test_numbers_are_asked_for_by_a_range(folder: Path) -> None:
    number = files(folder, "number", data=False).load()
    asked = read_asked(number, {"fields": FIELDS, "range": "100:", "distance": "l1"}, 60)
    result = asked.model.explain(asked.frame, asked.question)
    assert result.outcome_after >= 100
    assert "--range 100:" in recipes(number, asked)["command"]
    with pytest.raises(InvalidInputError, match="outcome: say"):
        read_asked(number, {"fields": FIELDS, "range": ""}, 60)


def test_where_none_exists_it_is_said_what_is_not_known(site: Site) -> None:
    asked = read_asked(site, {**ASKED, "moves": dict.fromkeys(FIELDS, "fixed")}, 60)
    found = asked.model.explain(asked.frame, asked.question)
    assert result_view(site, asked, found)["open"] == ""
    ended = replace(found, relaxed=None, given_up=())
    assert "more seconds" in result_view(site, asked, ended)["open"]
    without = replace(ended, conflict=())
    assert "whatever may change" in result_view(site, asked, without)["open"]
    relaxing = replace(asked, question=asked.question.with_(relax=["actions"]))
    assert "none either" in result_view(site, relaxing, ended)["open"]


def test_no_bound_is_rounded_to_the_better(site: Site) -> None:
    asked = read_asked(site, ASKED, 60)
    result = asked.model.explain(asked.frame, asked.question)
    (seen,) = result_view(site, asked, result)["answers"]
    assert Fraction(seen["lower"]) <= result.exact_lower_bound
    assert result.exact_distance is not None
    assert Fraction(seen["distance"]) >= result.exact_distance

"""What notebooks and terminals show of answers, models, spaces and certificates."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import cfxc

NASTY = "<script>alert('1')</script> & \"<b>$x$"
"""A name that would run, if it were not escaped."""
VOID = {"br", "hr", "img", "meta"}


class Reader(HTMLParser):
    """Reads HTML, and refuses what is not nested well."""

    def __init__(self) -> None:
        super().__init__()
        self.open, self.tags, self.shown = list[str](), set[str](), list[str]()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        self.open += [tag] * (tag not in VOID)
        for name, value in attrs:
            assert name in ("style", "class", "scope"), (name, value)
            assert "url" not in value
            assert not re.search(r"(?:^|;)\s*(?:color|background)", value)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.shown.append(data)


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert not reader.open
    return reader


def small() -> tuple[cfxc.CompiledModel, pd.DataFrame]:
    X = pd.DataFrame({"age": [20, 30, 40, 50, 60, 70], "pay": [1.5, 2.5, 1.0, 3.5, 2.0, 4.0]})
    tree = DecisionTreeClassifier(random_state=0).fit(X, X["age"] > 45)
    return cfxc.compile(tree, cfxc.FeatureSpace.infer(X)), X


def nasty() -> tuple[cfxc.CompiledModel, pd.DataFrame]:
    X = pd.DataFrame({NASTY: [f"{NASTY}{i % 3}" for i in range(30)], "n": np.arange(30) % 7})
    y = np.where(X[NASTY] == f"{NASTY}1", f"{NASTY}yes", f"{NASTY}no")
    encoder = make_column_transformer((OneHotEncoder(), [NASTY]), remainder="passthrough")
    pipeline = make_pipeline(encoder, DecisionTreeClassifier(random_state=0)).fit(X, y)
    return cfxc.compile(pipeline, cfxc.FeatureSpace.infer(X)), X


def test_what_changes_comes_first(golden: Callable[[str, str], None]) -> None:
    model, X = small()
    html = model.explain(X.iloc[[1]])._repr_html_()
    golden("html/answer.html", html.replace("><", ">\n<") + "\n")
    shown = read(html).shown
    assert shown.index("age") < shown.index("1 feature stays as before") < shown.index("pay")
    whole = model.explain(X.iloc[[1]]).to_html(show_only_changes=False)
    assert "stays as before" not in whole
    assert "pay" in read(whole).shown


def test_names_from_data_are_escaped() -> None:
    model, X = nasty()
    answer = model.explain(X.iloc[[0]])
    found = [answer, answer.certificate, model, model.space]
    for each in found:
        reader = read(each._repr_html_())
        assert "script" not in reader.tags
        assert "<script" not in each._repr_html_()
    assert NASTY in read(answer._repr_html_()).shown
    assert f"{NASTY}1" in read(answer._repr_html_()).shown
    assert f"{NASTY}1" in read(answer.certificate._repr_html_()).shown


def test_what_is_proved_is_said_in_plain_words() -> None:
    model, X = small()
    answer = model.explain(X.iloc[[1]])
    words = " ".join(read(answer._repr_html_()).shown)
    assert "Nearest to within 0.1 %: l1 distance" in words
    assert "Proved by box search, of the exact program: nothing in the target lies below" in words
    open_ = replace(answer, status="feasible", reason="time limit", semantics="float")
    words = " ".join(read(open_._repr_html_()).shown)
    assert "Not proved to be the nearest (time limit)" in words
    assert "of the model as deployed" in words
    none = model.explain(X.iloc[[1]], subject_to="age <= factual.age")
    words = " ".join(read(none._repr_html_()).shown)
    assert "no counterfactual exists" in words
    assert "because age <= factual.age" in words
    nothing = replace(
        answer, counterfactual=None, exact_distance=None, status="unknown", reason="x"
    )
    assert "no counterfactual was found (x)" in read(nothing._repr_html_()).shown
    liked = cfxc.compile(
        DecisionTreeClassifier().fit(X, X["age"] > 45), model.space, favourable=False
    )
    done = liked.explain(X.iloc[[1]])
    assert "nothing needs to change: the outcome is False already" in read(done._repr_html_()).shown
    assert "nothing needs to change" in repr(done)


def test_several_answers_stand_side_by_side() -> None:
    model, X = small()
    answer = model.explain(X.iloc[[1]], count=2)
    shown = read(answer._repr_html_()).shown
    assert {"instead 1", "instead 2"} <= set(shown)
    assert repr(answer).splitlines()[1:2] == ["  1:"]
    assert answer.summary().startswith("2 answers; the nearest: optimal: ")
    assert "answers" not in answer.alternatives[0].summary()
    assert {"distance", "proof"} <= set(shown)
    assert shown.count("nearest to within 0.1 %") == 2
    assert any(text.endswith(": 2 answers") for text in shown)


@pytest.mark.parametrize(
    ("stop_reason", "why"),
    [
        ("infeasible", "no other one of the kind asked for exists, proved"),
        ("unknown", "no other one was found, though one may exist"),
    ],
)
def test_fewer_answers_than_asked_for_say_why(stop_reason: Any, why: str) -> None:
    model, X = small()
    answer = model.explain(X.iloc[[1]], count=9, diversity="features")
    assert (answer.count, answer.stop_reason) == (9, "infeasible")
    answer = replace(answer, stop_reason=stop_reason)
    found = len(answer.all())
    assert f"{found} of 9 answers ({why}); the nearest: optimal: " in str(answer)
    shown = read(answer._repr_html_()).shown
    assert any(text.endswith(f": {found} of 9 answers") for text in shown)
    assert any(f"{why.capitalize()}." in text for text in shown)


def test_answers_that_change_the_same_features_are_pointed_out() -> None:
    model, X = small()
    hint = "answers may be near copies; diversity='features' asks for"
    near = model.explain(X.iloc[[1]], count=2)
    assert near.near_copies
    assert hint in repr(near).splitlines()[-1]
    assert any(hint in text for text in read(near._repr_html_()).shown)
    apart = model.explain(X.iloc[[1]], count=2, diversity="features")
    assert not apart.near_copies
    assert "hint" not in repr(apart)


def test_a_group_of_columns_is_one_feature() -> None:
    X = pd.DataFrame({"s_a": [1, 0, 0] * 4, "s_b": [0, 1, 0] * 4, "s_c": [0, 0, 1] * 4})
    tree = DecisionTreeClassifier(random_state=0).fit(X, X["s_b"])
    answer = cfxc.compile(tree, cfxc.FeatureSpace.infer(X, one_hot="s_")).explain(X.iloc[[0]])
    assert repr(answer).splitlines()[1:] == ["  s: a → b"]


def test_texts_are_short() -> None:
    model, X = small()
    answer = model.explain(X.iloc[[1]])
    moved = (
        f"age: 30 → {answer.changes['age'][1]} ({100 * answer.shares['age']:.2g} % of the range)"
    )
    assert repr(answer) == f"Result({answer.summary()})\n  {moved}"
    assert repr(model) == "CompiledModel(DecisionTreeClassifier: 2 features → False, True)"
    assert str(answer) == repr(answer)
    certificate = answer.certificate
    assert re.fullmatch(
        r"Certificate\(optimal: distance .*, sha256 [0-9a-f]{12}…\)", repr(certificate)
    )
    assert repr(cfxc.check(certificate)) == "Report(the certificate holds)"
    broken = {**certificate.to_dict(), "hash": "0"}
    assert repr(cfxc.check(broken)).startswith("Report(REJECTED: ")
    assert "favourable True" in repr(replace(model, favourable=True))


def test_many_changes_are_cut_short() -> None:
    X = pd.DataFrame(np.tile(np.arange(4.0), (20, 1)).T, columns=[f"x{i}" for i in range(20)])
    answer = cfxc.compile(
        DecisionTreeClassifier().fit(X, X["x0"] > 1), cfxc.FeatureSpace.infer(X)
    ).explain(X.iloc[[0]])
    moved = replace(answer, counterfactual=X.iloc[[3]])
    assert repr(moved).splitlines()[-1] == "  … and 8 more"
    assert len(repr(moved).splitlines()) == 14


def test_a_space_shows_its_features() -> None:
    features = [
        cfxc.Feature("rank", "ordinal", labels=("low", "mid", "high"), action="increase"),
        cfxc.Feature("n", "real", 0, 1, resolution=0.5, missing=True, weight=2),
        cfxc.Feature("many", "categorical", labels=tuple("abcdefgh")),
        cfxc.Feature("k", "integer", 0, 9, action="conditional", condition="n >= 0"),
    ]
    shown = read(cfxc.FeatureSpace(features)._repr_html_()).shown
    for text in (
        "low < mid < high", "only up", "0 to 1 in steps of 0.5 or missing", "2",
        "a, b, c, d, e, f, … 2 more", "if n >= 0",
    ):  # fmt: skip
        assert text in shown
    assert "weight" in shown
    space = cfxc.FeatureSpace(features)
    assert repr(space) == str(space)
    assert str(space).splitlines() == [
        "FeatureSpace of 4 features",
        "  rank: ordinal, low < mid < high; only up",
        "  n: real, 0 to 1 in steps of 0.5 or missing; free; weight 2",
        "  many: categorical, a, b, c, d, e, f, … 2 more; free",
        "  k: integer, 0 to 9; if n >= 0",
    ]
    assert str(space["rank"]) == "rank: ordinal, low < mid < high; only up"
    assert repr(space["rank"]).startswith("Feature(name='rank'")
    wide = cfxc.FeatureSpace([cfxc.Feature(f"x{i}", "integer", 0, 1) for i in range(32)])
    assert len(repr(wide).splitlines()) == 32
    assert repr(wide).splitlines()[-1] == "  … and 2 more"


@pytest.mark.parametrize("count", [0, 1])
def test_plans_and_potentials_show_what_changes(count: int) -> None:
    model, X = small()
    if count:
        pytest.importorskip("botorch")
        from sklearn.tree import DecisionTreeRegressor

        tree = DecisionTreeRegressor(random_state=0).fit(X, X["age"])
        found = cfxc.compile(tree, model.space).explain(
            X.iloc[[1]], target=cfxc.SEP(width=10), budget=12
        )
    else:
        pytest.importorskip("cvxpy")
        from sklearn.linear_model import LogisticRegression

        linear = cfxc.compile(LogisticRegression().fit(X, X["age"] > 45), model.space)
        moments = (np.array([0.5, 0.1, -20.0]), np.eye(3) * 1e-3)
        found = linear.plan(X.iloc[[1]], moments=moments, size=1, steps=20, starts=1)
    assert found.summary() in " ".join(read(found._repr_html_()).shown)
    assert found.summary() in repr(found)

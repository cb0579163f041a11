"""Templates of letters: hostile texts, a user's own in a sandbox, the same sentences everywhere."""

from __future__ import annotations

import html
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import cfxc
from cfxc.answers.letters import Letter
from cfxc.answers.result import Result
from cfxc.show.letters.fields import TEMPLATES
from cfxc.show.letters.words import LANGUAGES, catalogue

from .letter_cases import own, page, plain

pytest.importorskip("jinja2")
pytest.importorskip("babel")


HOSTILE = [
    "<script>alert(1)</script>", "{{ 7*7 }}", "{% include '/etc/passwd' %}", "{label} %s {0}",
    '"><img src=x onerror=alert(1)>', "\u202eevil\u2066", "a\x00b\x1b[2J", "&lt;b&gt;",
]  # fmt: skip


def test_hostile_names_and_categories_are_shown_as_they_are() -> None:
    rng = np.random.default_rng(0)
    name = "<b>{{ 7*7 }}</b>"
    X = pd.DataFrame({name: rng.choice(HOSTILE, 200), "n": rng.integers(0, 5, 200)})
    places = X[name].map(HOSTILE.index)
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    for kept in range(len(HOSTILE)):
        outcome = np.where(places == kept, HOSTILE[0], HOSTILE[4])
        encode = make_column_transformer((OneHotEncoder(), [name]), remainder="passthrough")
        tree = make_pipeline(encode, DecisionTreeClassifier(random_state=0)).fit(X, outcome)
        compiled = cfxc.compile(tree, cfxc.FeatureSpace.infer(X))
        answer = compiled.explain(X[places != kept].iloc[[0]])
        for template in TEMPLATES:
            fields = dict.fromkeys(("recipient", "reference", "signature"), HOSTILE[kept])
            text = page(answer, template, certificate=False, **fields)
            assert "<script" not in text
            assert "<img" not in text
            assert "<b>" not in text
            assert "49" not in plain(text)
            assert "root:" not in text
            assert not set(text) & {"\x00", "\x1b", "\u202e", "\u2066"}
            shown = "".join("\ufffd" if c in "\u202e\u2066\x00\x1b" else c for c in HOSTILE[kept])
            assert str(html.escape(shown, quote=False)) in text.replace("&#39;", "'").replace(
                "&#34;", '"'
            )


def test_a_template_of_ones_own(tmp_path: Path, answers: dict[str, Result]) -> None:
    template = own(
        tmp_path,
        '{% extends "_letter.html" %}{% block title %}About {{ topic }}{% endblock %}'
        '{% block body %}{% include "_reasons.html" %}{% include "_answers.html" %}'
        "{{ closing }}{% endblock %}",
    )
    fields = {"topic": "<you>", "closing": "Bye", "recipient": "A. Person"}
    text = Letter("l.html", template, "fr", fields).page(answers["optimal"])
    assert "About &lt;you&gt;" in text
    assert "A. Person" in text
    assert "monthly pay" in text
    with pytest.raises(cfxc.InvalidInputError, match=r"no field 'topik' .nearest: 'topic'"):
        Letter("l.html", template, fields={**fields, "topik": "x"})
    with pytest.raises(cfxc.InvalidInputError, match="'closing' is undefined; give it among"):
        Letter("l.html", template, fields={"topic": "x"}).page(answers["optimal"])
    with pytest.raises(cfxc.InvalidInputError, match="'answers' is what a letter has by itself"):
        Letter("l.html", template, fields={"answers": "x"})


@pytest.mark.parametrize(
    "text",
    [
        "{{ head.__class__.__mro__ }}", "{{ ''.__class__ }}", "{{ t.keys.__globals__ }}",
        "{{ lipsum.__globals__ }}", "{{ cycler.__init__.__globals__.os }}", "{{ self.__init__ }}",
        "{% include '/etc/passwd' %}", "{% include '../fields.py' %}", "{% import 'os' as o %}",
        "{{ '{0.__class__}'.format(t) }}", "{{ head.update({'a': 1}) }}", "{{ nothing }}",
        "{{ head.nothing }}", "{{ 1 / 0 }}", "{% if %}", "{{ range(10**9) }}", "{{ open('x') }}",
    ],
)  # fmt: skip
def test_what_a_template_may_not_do(text: str, tmp_path: Path, answers: dict[str, Result]) -> None:
    with pytest.raises(cfxc.InvalidInputError, match=r"template .*own\.html"):
        Letter("l.html", own(tmp_path, text)).page(answers["optimal"])


def test_languages_have_the_same_sentences() -> None:
    english = catalogue("en")
    for language in LANGUAGES:
        texts = catalogue(language)
        for part, sentences in english.items():
            assert texts[part].keys() == sentences.keys()
            for name, sentence in sentences.items():
                places = [set(re.findall(r"\{\w*\}", one)) for one in (sentence, texts[part][name])]
                assert places[0] == places[1], (language, part, name)

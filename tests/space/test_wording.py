"""Words for readers: kept in files, and part of nothing that is computed."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import cfxc
from cfxc.space.feature import WORDING
from cfxc.space.names import unreadable

TABLE = pd.DataFrame({"pay": [1.25, 2.5, 3.75, 9.0], "sector": ["it", "law", "it", "art"]})
WORDS = {"label": 'monthly "pay" {{x}}', "unit": "€", "format": "#,##0.00"}


def worded() -> cfxc.FeatureSpace:
    return cfxc.FeatureSpace.infer(TABLE).replace("pay", **WORDS).replace("sector", label="trade")


def test_words_survive_a_file(tmp_path: Path) -> None:
    space = worded()
    space.to_toml(tmp_path / "s.toml")
    again = cfxc.FeatureSpace.from_toml(tmp_path / "s.toml")
    assert {name: getattr(again["pay"], name) for name in WORDING} == WORDS
    assert again["sector"].label == "trade"
    assert again.to_toml() == space.to_toml()
    assert "\nlabel =" not in cfxc.FeatureSpace.infer(TABLE).to_toml()


def test_words_are_part_of_no_comparison_and_no_computation(tmp_path: Path) -> None:
    plain, space = cfxc.FeatureSpace.infer(TABLE), worded()
    assert space == plain
    assert hash(space.features) == hash(plain.features)
    assert space.unworded.to_toml() == plain.to_toml()
    tree = DecisionTreeClassifier(random_state=0).fit(TABLE[["pay"]], [0, 0, 1, 1])
    models = [cfxc.compile(tree, each.subset(["pay"])) for each in (plain, space)]
    assert models[0].program.digest == models[1].program.digest
    answers = [model.explain(TABLE[["pay"]].iloc[[0]]) for model in models]
    assert answers[0].certificate.content == answers[1].certificate.content
    assert answers[1].evidence.query.space["pay"].label == WORDS["label"]
    policy = tmp_path / "policy.toml"
    space.subset(["pay"]).to_toml(policy)
    assert cfxc.check(answers[1].certificate, policy=policy).ok


def test_a_batch_goes_on_under_other_words(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    tree = DecisionTreeClassifier(random_state=0).fit(TABLE[["pay"]], [0, 0, 1, 1])
    rows = TABLE[["pay"]]
    for each in (cfxc.FeatureSpace.infer(TABLE), worded()):
        model = cfxc.compile(tree, each.subset(["pay"]), favourable=1)
        assert len(model.explain_batch(rows, out=tmp_path / "answers")) == 4


@pytest.mark.parametrize(
    ("name", "words", "said"),
    [
        ("pay", {"label": 3}, "label is a text"),
        ("pay", {"unit": None}, "unit is a text"),
        ("pay", {"format": "two digits"}, "no pattern of a number"),
        ("pay", {"format": "%0.0"}, "no pattern of a number"),
        ("pay", {"format": "0‰"}, "no pattern of a number"),
        ("pay", {"format": "¤0"}, "no pattern of a number"),
        ("pay", {"format": "0;0"}, "no pattern of a number"),
        ("pay", {"format": "0E0"}, "no pattern of a number"),
        ("sector", {"unit": "m"}, "unit is for numbers"),
        ("sector", {"format": "0"}, "format is for numbers"),
    ],
)
def test_wrong_words(name: str, words: dict[str, str], said: str) -> None:
    with pytest.raises((cfxc.InvalidInputError, cfxc.DataTypeError), match=said):
        cfxc.FeatureSpace.infer(TABLE).replace(name, **words)


def test_wrong_words_of_a_file() -> None:
    text = cfxc.FeatureSpace.infer(TABLE).to_toml()
    with pytest.raises(cfxc.InvalidInputError, match=r"unknown field 'labl' .nearest: 'label'"):
        cfxc.FeatureSpace.from_toml(text + 'labl = "x"\n')
    with pytest.raises(cfxc.DataTypeError, match="label: expected text"):
        cfxc.FeatureSpace.from_toml(text + "label = 3\n")


PATTERNS = ("", "0", "#,##0", "#,##0.00", "$#,##0.0#", "0.000 kg")
TYPED = {"en": (",", "."), "de": (".", ","), "fr": ("\u202f", ",")}


@given(
    st.floats(-1e12, 1e12, allow_nan=False), st.sampled_from(PATTERNS),
    st.sampled_from(sorted(TYPED)), st.booleans(),
)  # fmt: skip
def test_a_shown_number_is_the_one_that_the_column_holds(
    value: float, pattern: str, locale: str, single: bool
) -> None:
    pytest.importorskip("babel")
    from cfxc.show.letters.fields import Fields
    from cfxc.show.letters.words import Words

    kind = np.float32 if single else np.float64
    cell = kind(value)
    feature = cfxc.Feature(
        "x", "real", Fraction(-(2**42)), Fraction(2**42), dtypes=(cell.dtype.name,), format=pattern
    )
    words = Words(locale, [feature], Fields({}, {}, {}), "fields")
    text = words.value("x", Fraction(float(cell)))
    group, point = TYPED[locale]
    typed = text.replace(group, "").replace(point, ".").replace("\u2212", "-")
    typed = typed.replace("$", "").removesuffix("kg").strip()
    assert kind(Decimal(typed)) == cell


@pytest.mark.parametrize(
    ("locale", "value", "said"),
    [
        ("en", 1, "1 month"),
        ("en", 0, "0 months"),
        ("en", 12, "12 months"),
        ("fr", 0, "0 month"),
        ("fr", 2, "2 months"),
        ("de", 1, "1 month"),
    ],
)
def test_a_unit_agrees_with_its_number(locale: str, value: int, said: str) -> None:
    pytest.importorskip("babel")
    from cfxc.show.letters.fields import Fields
    from cfxc.show.letters.words import Words

    feature = cfxc.Feature("duration", "integer", lower=0, upper=72, unit="month|months")
    words = Words(locale, [feature], Fields({}, {}, {}), "fields")
    assert words.value("duration", value) == said.replace(" ", "\u00a0")


def test_the_nearest_file_is_of_the_same_kind(tmp_path: Path, monkeypatch: Any) -> None:
    for name in ("cert.json", "model.onnx", "model.toml", "data.csv", "c4.json.gz", "c4b.json"):
        (tmp_path / name).touch()

    def said(name: str) -> str:
        return unreadable(tmp_path / name, "it", "no such file", "name it").partition(": ")[2]

    plain = "cannot read it: no such file; name it"
    assert said("modl.onnx") == plain.replace(";", f" (nearest: {str(tmp_path / 'model.onnx')!r});")
    assert "'model.onnx" not in said("modl.toml")
    assert "data.csv" in said("data.cvs")
    assert "c4.json.gz" in said("c4.json")
    assert said("cer.onnx") == said("xyz.csv") == said("a\0b.csv") == said("x" * 300) == plain

    def closed(self: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", closed)
    assert said("modl.onnx") == plain

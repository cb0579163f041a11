"""Fields of letters: whom they name, words for features and outcomes, and what is refused."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import pytest

import cfxc
from cfxc.answers.result import Result

from .letter_cases import page, plain

pytest.importorskip("jinja2")
pytest.importorskip("babel")
pytest.importorskip("segno")


def test_words_of_features_and_outcomes(answers: dict[str, Result]) -> None:
    words = {
        "wording": {
            "pay": {"label": "Monatslohn", "unit": "EUR"},
            "sector": {"label": "Branche", "values": {"law": "Recht", "art": "Kunst", "it": "IT"}},
            "member": {"values": {"True": "Mitglied", "False": "kein Mitglied"}},
        },
        "outcomes": {"granted": "bewilligt", "refused": "abgelehnt"},
    }
    text = plain(page(answers["several"], "plain", "de-AT", **words))
    assert "Monatslohn" in text
    assert "\u00a0EUR" in text
    assert "„bewilligt“" in text
    assert "granted" not in text
    assert not re.search(r"\b(law|art)\b", text)


def test_fields_of_a_file(tmp_path: Path, answers: dict[str, Result]) -> None:
    file = tmp_path / "sender.toml"
    file.write_text(
        'sender = "A Bank"\ndate = 2026-11-25\n[wording.pay]\nlabel = "wages"\n', "utf-8"
    )
    with pytest.warns(UserWarning, match="names no recipient"):
        path = answers["optimal"].letter(
            tmp_path / "l.html", fields=file, certificate=True, qr=True
        )
    text = path.read_text("utf-8")
    assert "A Bank" in text
    assert "November 25, 2026" in text
    assert "wages" in text
    assert text.count("<svg") == 1


@pytest.mark.parametrize(
    ("template", "fields", "said"),
    [
        ("plain", {"sendr": "x"}, "no field 'sendr' .nearest: 'sender'"),
        ("plain", {"sender": 7}, "sender is a text"),
        ("plain", {"date": "tomorrow"}, "write 2026-11-25"),
        ("plain", {"wording": {"wage": {}}}, "no feature 'wage'"),
        ("plain", {"wording": {"pay": {"lable": "x"}}}, "no 'lable' .nearest: 'label'"),
        ("plain", {"wording": {"pay": {"format": "x"}}}, "no pattern of a number"),
        ("plain", {"wording": {"sector": {"unit": "x"}}}, "unit is for numbers"),
        ("plain", {"wording": {"sector": {"values": {"laws": "x"}}}}, "no category 'laws'"),
        ("plain", {"wording": {"pay": {"unit": "000 EUR"}}}, "would be read as part of the number"),
        ("plain", {"wording": {"pay": {"label": "Sector"}}}, "'pay' is called 'Sector', and so is"),
        (
            "plain",
            {"wording": {"sector": {"values": {"law": "x", "art": "X"}}}},
            "and so is another",
        ),
        ("plain", {"outcomes": {"granted": "refused"}}, "'refused', and so is another one"),
        ("plain", {"wording": 3}, "wording is a table"),
        ("plain", {"outcomes": {"granted": 3}}, "outcomes.granted is a text"),
        ("european", {"role": "sole"}, "role is automated or assisted"),
        ("european", {"contact": ""}, "- contact: whom to ask"),
        ("european", {"contact": "Ask"}, "contact 'Ask' does not say how to reach anybody"),
        ("adverse-action", {"agency": ""}, "- agency: name and address of the federal agency"),
    ],
)
def test_wrong_fields(
    template: str, fields: dict[str, Any], said: str, answers: dict[str, Result]
) -> None:
    with pytest.raises((cfxc.InvalidInputError, cfxc.DataTypeError), match=said):
        page(answers["optimal"], template, **fields)


@pytest.mark.parametrize(
    "contact", ["a@b.org", "555-0100", "+49 30 12345", "a.org/ask", "http://a", "The loan office"]
)
def test_whom_to_ask_can_be_reached(contact: str, answers: dict[str, Result]) -> None:
    text = page(answers["optimal"], "european", contact=contact)
    assert contact in text.replace("\u00a0", " ")


def test_wrong_letters(tmp_path: Path, answers: dict[str, Result]) -> None:
    answer = answers["optimal"]
    for keywords, said in (
        ({"path": "l.doc"}, "a letter is .html or .pdf"),
        ({"path": "l.html", "locale": "es"}, "letters are written in de, en, fr"),
        ({"path": "l.html", "locale": "../en"}, "letters are written in"),
        ({"path": "l.html", "template": "plane"}, "nearest: 'plain'"),
        ({"path": "l.html", "fields": tmp_path / "no.toml"}, "cannot read the letter's fields"),
        ({"path": "l.html", "template": "adverse-action"}, "--fields"),
        ({"path": tmp_path / "no" / "l.html"}, "no folder"),
    ):
        with pytest.raises(cfxc.InvalidInputError, match=said):
            answer.letter(**keywords)  # type: ignore[arg-type]
    with pytest.raises(cfxc.DataTypeError, match="a mapping, or the path"):
        answer.letter("l.html", fields=7)  # type: ignore[arg-type]


def test_what_a_letter_lacks_is_said(tmp_path: Path, answers: dict[str, Result]) -> None:
    file, answer = tmp_path / "l.html", answers["optimal"]
    with pytest.warns(
        UserWarning, match="^the letter names no sender, no recipient and no c"
    ) as said:
        answer.letter(file)
    assert "calls features as columns, such as 'sector'" in str(said[0].message)
    words = {"sector": {"label": "branch"}, "member": {"label": "membership"}}
    whole: dict[str, Any] = {"sender": "A", "recipient": "B", "contact": "C", "wording": words}
    with pytest.warns(UserWarning, match="^the letter calls an outcome 'granted'"):
        answer.letter(file, fields={**whole, "outcomes": {"refused": "no"}})
    whole["outcomes"] = {"refused": "no", "granted": "yes"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answer.letter(file, fields=whole)

"""Letters in PDF: they are short, load nothing, and say what must be installed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import cfxc
from cfxc.answers.letters import Letter
from cfxc.answers.result import Result
from cfxc.show.letters.words import catalogue

from .letter_cases import COMMON, FIELDS, HASH, own

pytest.importorskip("jinja2")
pytest.importorskip("babel")
pytest.importorskip("segno")


def without_pango() -> None:
    """Skip what writes PDF, where it cannot be written."""
    pytest.importorskip("weasyprint", exc_type=(ImportError, OSError))  # type: ignore[arg-type]


def pages_of(path: Path) -> list[str]:
    pypdf = pytest.importorskip("pypdf")
    return [each.extract_text() for each in pypdf.PdfReader(path).pages]


@pytest.fixture
def pdf() -> None:
    without_pango()


@pytest.mark.usefixtures("pdf")
@pytest.mark.parametrize(
    ("status", "template", "locale"),
    [("optimal", "plain", "en"), ("feasible", "adverse-action", "en"),
     ("infeasible", "european", "de"), ("several", "plain", "fr")],
)  # fmt: skip
def test_pdf(
    status: str, template: str, locale: str, tmp_path: Path, answers: dict[str, Result]
) -> None:
    fields = {**FIELDS[template], **COMMON}
    path = answers[status].letter(
        tmp_path / "l.pdf", template, locale, fields, certificate=True, qr=True
    )
    pages = pages_of(path)
    assert len(pages) <= 2
    flat = re.sub(r"\s+", " ", " ".join(pages))
    assert catalogue(locale)["check"]["title"] in flat
    assert "Monthly pay" in flat
    assert HASH.search(flat)


@pytest.mark.usefixtures("pdf")
@pytest.mark.parametrize(
    "text",
    [
        "<img src='file:///etc/passwd'>", "<img src='http://localhost/x.png'>",
        "<link rel=stylesheet href='file:///etc/passwd'>", "<img src='x.png'>",
        "<style>@import url(file:///etc/passwd)</style>",
        "<a rel=attachment href='file:///etc/passwd'>x</a>",
        "<p style='background: url(file:///etc/passwd)'>x</p>",
        "<object data='file:///etc/passwd'></object>",
        "<svg><image href='file:///etc/passwd' width='9' height='9'/></svg>",
    ],
)  # fmt: skip
def test_a_pdf_loads_nothing(text: str, tmp_path: Path, answers: dict[str, Result]) -> None:
    path = tmp_path / "l.pdf"
    template = own(tmp_path, f"<html><body>{text}</body></html>")
    with pytest.raises(cfxc.InvalidInputError, match="may load nothing"):
        answers["optimal"].letter(path, template)
    assert not path.exists()


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "weasyprint", None)
    with pytest.raises(cfxc.MissingExtraError, match=r"cfxc\[report\]"):
        Letter("l.pdf")
    for name, path in (("jinja2", "l.html"), ("babel", "l.html")):
        with monkeypatch.context() as gone:
            gone.setitem(sys.modules, name, None)
            with pytest.raises(cfxc.MissingExtraError, match=r"cfxc\[report\]"):
                Letter(path)


def test_pdf_without_its_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    import builtins

    real = builtins.__import__

    def broken(name: str, *rest: Any) -> Any:
        if name == "weasyprint":
            raise OSError("cannot load library 'libpango-1.0-0'")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", broken)
    with pytest.raises(cfxc.UnsupportedError, match=r"apt-get install libpango-1\.0-0"):
        Letter("l.pdf")

"""Letters and reports from the command line."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

import cfxc
from cfxc.frontends.csv_files import read_csv

from .conftest import Shell

pytest.importorskip("jinja2")
pytest.importorskip("babel")

ASK = ("explain", "tree.skops", "--space", "space.toml", "--factual", "person.json")
KEPT = ["kept.csv", "-o", "r.html", "--rows", "data.csv"]
ANSWER = (
    "row,status,outcome_before,outcome_after,distance,lower_bound,lower_bound_proof,changes,reason\n"
    "0,unknown,no,,,0,none,,\n"
)
HASH = re.compile(r"\b[0-9a-f]{64}\b")


def test_a_letter_names_the_certificate_that_is_kept(shell: Shell) -> None:
    ended = shell(*ASK, "--certificate", "c.json", "--letter", "l.html", "--locale", "fr")
    assert ended.code == 0
    assert "letter: l.html" in ended.err
    assert (
        "note: the letter names no sender, no recipient and no contact (fields of the letter)"
        in ended.err
    )
    page = (shell.folder / "l.html").read_text("utf-8")
    assert '<html lang="fr">' in page
    (kept,) = HASH.findall(page)
    assert json.loads((shell.folder / "c.json").read_text())["hash"] == kept


def test_each_of_several_answers_has_a_certificate_that_is_kept(shell: Shell) -> None:
    several = ("--count", "2", "--diversity", "points")
    ended = shell(*ASK, *several, "--certificate", "c.json", "--letter", "l.html")
    hint = "hint: answers may be near copies; --diversity features asks for answers"
    assert hint in ended.err
    files = [shell.folder / "c.json", shell.folder / "c-2.json"]
    assert ended.err.index("certificate: c-2.json") < ended.err.index("letter: l.html")
    hashes = [json.loads(file.read_text())["hash"] for file in files]
    assert HASH.findall((shell.folder / "l.html").read_text("utf-8")) == hashes
    assert shell("check", "c-2.json").code == 0


def test_a_certificate_that_is_not_replaced_is_said_to_be_old(shell: Shell) -> None:
    asked = (*ASK, "--favourable", "no", "--certificate", "c.json", "--overwrite")
    assert "older" not in shell(*asked).err
    assert shell(*ASK, "--certificate", "c.json").code == 0
    had = shell(*asked)
    assert had.code == 4
    assert had.err.endswith("; the file c.json was there before\n")


def test_a_letter_without_a_certificate_promises_none(shell: Shell) -> None:
    (shell.folder / "f.toml").write_text('creditor = "A"\naction = "B"\nagency = "C"\n')
    more = ("--template", "adverse-action", "--fields", "f.toml")
    assert shell(*ASK, "--letter", "l.html", *more).code == 0
    page = (shell.folder / "l.html").read_text("utf-8")
    assert not HASH.search(page)
    assert "There is no certificate with this letter." in page


def test_several_answers_of_a_letter_change_different_features(shell: Shell) -> None:
    ended = shell(*ASK, "--count", "2", "--letter", "l.html")
    assert "--diversity points asks for the nearest ones" in ended.err
    assert "near copies" not in ended.err
    page = (shell.folder / "l.html").read_text("utf-8")
    assert "leave the factors of the possibilities above" in page


def test_words_are_checked_before_the_search(shell: Shell) -> None:
    for words, said in (
        ("[wording.sector.values]\nlaws = 'x'", "no category 'laws'"),
        ("[outcomes]\ngrantd = 'x'", "the model has no outcome 'grantd'"),
    ):
        (shell.folder / "f.toml").write_text(words)
        flags = ("--letter", "l.html", "--fields", "f.toml", "--certificate", "c.json")
        assert said in shell.refuses(*ASK, *flags)
        assert not (shell.folder / "c.json").exists()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--locale", "de"], "--locale is for letters"),
        (["--qr"], "--qr is for letters"),
        (["--letter", "l.html", "--qr"], "keep it with --certificate"),
        (["--letter", "l.txt"], "a letter is .html or .pdf"),
        (["--letter", "no/l.html"], "no folder"),
        (["--letter", "l.html", "--locale", "xx"], "letters are written in"),
        (["--letter", "l.html", "--template", "european"], "- controller: name and address"),
        (["--letter", "l.html", "--template", "no.html"], "no file of your own"),
        (["--letter", "l.html", "--fields", "no.toml"], "cannot read the letter's fields"),
    ],
)
def test_wrong_letters_are_refused_before_any_work(
    flags: list[str], said: str, shell: Shell
) -> None:
    assert said in shell.refuses(*ASK, *flags)


def test_a_report_about_a_batch(shell: Shell) -> None:
    pytest.importorskip("pyarrow")
    model = cfxc.compile("tree.skops", cfxc.FeatureSpace.from_toml("space.toml"), favourable="yes")
    model.explain_batch(
        read_csv(Path("data.csv")).frame()[list(model.space.columns)], out="answers"
    )
    more = ("--rows", "data.csv", "--group", "sector,outcome", "--title", "Loans <2026>")
    ended = shell("report", "answers", "-o", "r.html", *more)
    assert ended.code == 0, ended
    page = (shell.folder / "r.html").read_text("utf-8")
    assert "<h1>Loans &lt;2026&gt;</h1>" in page
    assert "Distances by sector" in page
    assert "Distances by outcome" in page


@pytest.mark.parametrize("out", ["a.csv", "a.parquet", "a"])
def test_a_report_about_what_a_batch_wrote(shell: Shell, out: str) -> None:
    """Of the table that rows were chosen from, those that were asked about are found."""
    pytest.importorskip("pyarrow")
    asked = ("--model", "tree.skops", "--space", "space.toml", "--rows", "data.csv")
    ended = shell("batch", *asked[1:], "--which", "3-9", "-o", out)
    (line,) = [one for one in ended.err.splitlines() if one.startswith("next: ")]
    assert line == f"next: cfxc report {out} -o report.html --rows data.csv"
    told = shell(*line.split()[2:], "--group", "sector")
    assert told.code == 0, told
    page = (shell.folder / "report.html").read_text("utf-8")
    assert "Distances by sector" in page
    assert re.search(r"<tr><td>9</td>", page)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["answers", "-o", "r.html"], "no such file or folder"),
        (["no.csv", "-o", "r.html"], "No such file"),
        (["data.csv", "-o", "r.html"], "data.csv has no column 'status'"),
        ([".", "-o", "r.html"], "no answers of a batch"),
        (["answers", "-o", "r.txt"], "a report is .html"),
        (["answers", "-o", "r.html", "--rows", "no.csv"], "no.csv"),
        ([*KEPT, "--certificates", "no"], "no: no such folder of certificates; name the one"),
        ([*KEPT, "--certificates", "."], ".: no certificates (.json, .json.gz) in it; name"),
    ],
)
def test_wrong_reports(flags: list[str], said: str, shell: Shell) -> None:
    (shell.folder / "person.json").unlink()
    (shell.folder / "kept.csv").write_text(ANSWER)
    assert said in shell.refuses("report", *flags)


def test_what_is_there_is_replaced_only_if_asked(shell: Shell) -> None:
    asked = (*ASK, "--count", "2", "--certificate", "c.json")
    (following,) = [line for line in shell(*asked).err.splitlines() if line.startswith("next: ")]
    assert "c.json is there already" in shell.refuses(*asked)
    (shell.folder / "c.json").unlink()
    message = shell.refuses(*asked)
    assert "c-2.json is there already" in message
    (shell.folder / "l.html").write_text("sent")
    assert "l.html is there already" in shell.refuses(*ASK, "--letter", "l.html")
    assert "space.toml is there" in shell.refuses("space", "infer", "data.csv", "-o", "space.toml")
    for line in (message.splitlines()[-1], following):
        assert shell(*shlex.split(line)[2:]).code == 0, line


@pytest.mark.parametrize(
    ("options", "file"),
    [
        (("--letter", "l.html", "--certificate", "l.html"), "l.html"),
        (("--letter", "t.html", "--template", "t.html"), "t.html"),
        (("--certificate", "space.toml"), "space.toml"),
        (("--certificate", "./tree.skops"), "tree.skops"),
        (("--certificate", "person.json"), "person.json"),
    ],
)
def test_what_is_read_is_not_replaced(shell: Shell, options: tuple[str, ...], file: str) -> None:
    (shell.folder / "t.html").write_text("{{ head.date }}")
    message = shell.refuses(*ASK, *options)
    assert f"{file}: cannot write: this command has that file for something else" in message

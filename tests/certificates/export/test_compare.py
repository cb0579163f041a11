"""Files for other checkers are compared with their certificate, and forged ones are refused."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cfxc
from cfxc.certificates.export import compare
from cfxc.certificates.export.compare import compare_cpc, compare_vipr
from cfxc.certificates.export.cpc import proof_of
from cfxc.certificates.export.smtlib import lower
from cfxc.cli import main
from cfxc.errors import InvalidInputError, VerificationError
from tests.certificates.samples import SAMPLES, answered

LINEAR = [name for name in SAMPLES if "l2" not in name]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certificates of all samples, exported."""
    made = tmp_path_factory.mktemp("exported")
    for name in SAMPLES:
        stem = name.replace(" ", "_")
        answered(name).certificate.save(made / f"{stem}.json")
        cfxc.export(answered(name).certificate, "cpc", made / stem)
        if name in LINEAR:
            cfxc.export(answered(name).certificate, "vipr", made / stem)
    return made


def content(name: str) -> dict[str, Any]:
    return dict(answered(name).certificate.to_dict())


@pytest.mark.parametrize("name", SAMPLES)
def test_files_are_about_their_certificate(name: str, folder: Path) -> None:
    path = folder / name.replace(" ", "_")
    found = [compare_cpc(content(name), path.with_suffix(".cpc"))]
    if name in LINEAR:
        found.append(compare_vipr(content(name), path.with_suffix(".vipr")))
    for each in found:
        assert each.reaches
        assert each.shown == each.claimed
    assert "all of it" in found[0].about


@pytest.mark.parametrize("other", ["range", "network", "infeasible"])
def test_files_of_another_certificate_are_refused(other: str, folder: Path) -> None:
    with pytest.raises(VerificationError, match="line 1 says '% cfxc certificate"):
        compare_vipr(content("forest"), folder / f"{other}.vipr")
    with pytest.raises(VerificationError, match="line 1 says '; cfxc certificate"):
        compare_cpc(content("forest"), folder / f"{other}.cpc")


def other_variable(text: str) -> str:
    return text.replace("\nVAR ", "\nVAR 1", 1)


def other_whole(text: str) -> str:
    return re.sub(r"INT (\d+)\n(\d+) ", lambda m: f"INT {int(m[1]) - 1}\n", text, count=1)


def other_objective(text: str) -> str:
    return re.sub(r"OBJ min\n(\d+) (\d+) \S+", r"OBJ min\n\1 \2 1000", text, count=1)


def missing_row(text: str) -> str:
    lines = text.split("\n")
    last = next(i for i, line in enumerate(lines) if line.startswith("RTP")) - 1
    return "\n".join(lines[:last] + lines[last + 1 :])


def further_row(text: str) -> str:
    return text.replace("\nRTP ", "\nmore G 100 1 0 1\nRTP ", 1)


def weaker_row(text: str) -> str:
    return re.sub(r"\n(target_\d+) G \S+", r"\n\1 G 1000", text, count=1)


def higher_bound(text: str) -> str:
    return re.sub(r"RTP range \S+", "RTP range 1000", text, count=1)


def other_witness(text: str) -> str:
    return re.sub(r"\nwitness (\d+) (\d+) \S+", r"\nwitness \1 \2 1/7", text, count=1)


def no_witness(text: str) -> str:
    return re.sub(r"(RTP range \S+) \S+\nSOL 1\nwitness.*", r"\1 inf\nSOL 0", text, count=1)


def no_derivation(text: str) -> str:
    return text[: text.index("\nDER ") + 1]


@pytest.mark.parametrize(
    "forge",
    [
        other_variable, other_whole, other_objective, missing_row, further_row, weaker_row,
        higher_bound, other_witness, no_witness, no_derivation,
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["forest", "network"])
def test_forged_vipr(
    forge: Callable[[str], str], name: str, folder: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(compare, "_viprchk", lambda path: "")  # not by what viprchk says
    text = (folder / f"{name}.vipr").read_text()
    forged = forge(text)
    assert forged != text
    (tmp_path / "forged.vipr").write_text(forged)
    with pytest.raises(VerificationError, match=r"forged.vipr: (line \d+|it is to prove)"):
        compare_vipr(content(name), tmp_path / "forged.vipr")


def test_a_lower_bound_is_less_than_claimed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(compare, "_viprchk", lambda path: "")
    text = (folder / "forest.vipr").read_text()
    (tmp_path / "less.vipr").write_text(re.sub(r"RTP range \S+", "RTP range 1/100", text, count=1))
    found = compare_vipr(content("forest"), tmp_path / "less.vipr")
    assert not found.reaches
    command = ["check", str(folder / "forest.json"), "--vipr", str(tmp_path / "less.vipr")]
    assert main(command) == 4
    said = capsys.readouterr().out
    assert "claimed: nothing nearer than 0.37" in said
    assert "shown: nothing nearer than 0.01 (less by 0.36)" in said
    assert "Remains to be run: viprchk" in said


def test_a_range_is_less_than_infeasible(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare, "_viprchk", lambda path: "")
    text = (folder / "infeasible.vipr").read_text()
    (tmp_path / "less.vipr").write_text(text.replace("RTP infeas", "RTP range 2 inf"))
    found = compare_vipr(content("infeasible"), tmp_path / "less.vipr")
    assert (found.claimed, found.shown, found.reaches) == (None, 2, False)


@pytest.mark.parametrize("name", ["forest", "network"])
def test_forged_cpc(name: str, folder: Path, tmp_path: Path) -> None:
    """Another script, another problem, rules of its own: the proofs are right, of something."""
    certificate, stem = content(name), tmp_path / "forged"
    script, _ = lower(certificate)
    proof = (folder / f"{name}.cpc").read_text().replace(f"{name}.lower", "forged.lower")
    head = "".join(proof.splitlines(keepends=True)[:2])

    def refused(script: str, proof: str, why: str) -> None:
        (tmp_path / "forged.lower.smt2").write_text(script)
        stem.with_suffix(".cpc").write_text(proof)
        with pytest.raises(VerificationError, match=why):
            compare_cpc(certificate, stem.with_suffix(".cpc"))

    false = script.replace("(check-sat)", "(assert false)\n(check-sat)")
    refused(false, head + proof_of(false, 10.0), r"lower.smt2: line \d+ says '\(assert false\)'")
    lines = script.split("\n")
    fewer = "\n".join(line for line in lines if not line.startswith("(assert (< distance"))
    refused(fewer, proof, r"lower.smt2: line \d+")
    refused(script, head + proof_of("(set-logic QF_LRA)(assert false)(check-sat)", 10.0),
            "assumes what the script does not assert")  # fmt: skip
    lie = "(declare-rule lie () :conclusion false)\n(step @p1 false :rule lie)\n"
    refused(script, head + lie, "'declare-rule' is no command")
    refused(script, proof.replace("; cfxc", ";"), "does not begin with the hash")
    refused(script, f"(set-option :x 1)\n{proof}", "does not begin with .reference")
    if not compare._ethos(folder / f"{name}.cpc"):
        return
    wrong = head + f"(assume @p1 {lines[-4][8:-1]})\n(step @p2 false :rule symm :premises (@p1))\n"
    refused(script, wrong, "ethos does not accept it")


def test_a_script_that_was_cut(tmp_path: Path) -> None:
    """It is accepted, and said to be cut."""
    certificate = content("range")
    script, _ = lower(certificate, cut=True)
    assert script != lower(certificate)[0]
    (tmp_path / "c.lower.cut.smt2").write_text(script)
    head = f'; cfxc certificate {certificate["hash"]}\n(reference "c.lower.cut.smt2")\n'
    (tmp_path / "c.cpc").write_text(head + proof_of(script, 20.0))
    assert "ranges cut to the radius" in compare_cpc(certificate, tmp_path / "c.cpc").about


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="cannot read the export"):
        compare_vipr(content("forest"), tmp_path / "nowhere.vipr")
    (tmp_path / "odd.vipr").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInputError, match="it is no text"):
        compare_vipr(content("forest"), tmp_path / "odd.vipr")
    (tmp_path / "odd.smt2").write_text("; cfxc certificate 0\n(check-sat)\n")
    with pytest.raises(InvalidInputError, match="no VIPR file"):
        compare_vipr(content("forest"), tmp_path / "odd.smt2")
    with pytest.raises(InvalidInputError, match="no proof of cvc5"):
        compare_cpc(content("forest"), tmp_path / "odd.smt2")


def test_the_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = str(folder / "forest.json")
    files = ["--vipr", str(folder / "forest.vipr"), "--cpc", str(folder / "forest.cpc")]
    assert main(["check", source, *files]) == 0
    said = capsys.readouterr().out
    assert said.count("is about this certificate") == 2
    assert said.count("claimed and shown: nothing nearer than 0.37") == 2
    assert main(["check", source, *files, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ok"]
    assert [file["reaches"] for file in found["files"]] == [True, True]


def test_a_file_about_something_else_rejects_first(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other, page = str(folder / "forest.vipr"), tmp_path / "page.md"
    command = ["check", str(folder / "range.json"), "--vipr", other]
    assert main([*command, "--summary", str(page)]) == 5
    assert capsys.readouterr().out.startswith(f"REJECTED: {other}: ")
    assert page.read_text().startswith("# Rejected")
    assert main([*command, "--json"]) == 5
    found = json.loads(capsys.readouterr().out)
    assert (found["ok"], found["verdict"][:9]) == (False, "REJECTED:")

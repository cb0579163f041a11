"""``cfxc-check``: what it prints, writes and ends with; as a file, and as a package of its own."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

import cfxc
from cfxc.certificates import write_checker
from cfxc.certificates.auditing.__main__ import main
from cfxc.errors import InvalidInputError
from tests.certificates.handmade import SPACE, changed

UNRUN = "accepted: the proof holds; the model was not run"
ROOT = Path(__file__).parents[2]
OFFLINE = ("No matching distribution", "Could not find a version", "Cannot connect", "ProxyError",
           "Temporary failure", "Network is unreachable")  # fmt: skip


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "c.json"
    path.write_text(json.dumps(changed()), "utf-8")
    return path


def test_it_holds(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(saved)]) == 0
    assert capsys.readouterr().out.startswith(f"{UNRUN}\nmodel: no file; not run: ")
    assert main([str(saved), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["ok"], found["reason"], found["status"]) == (True, "", "optimal")


def test_it_does_not_hold(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved.write_text(json.dumps({**changed(), "hash": "0"}), "utf-8")
    assert main([str(saved)]) == 1
    assert capsys.readouterr().out == "REJECTED: hash: it is not that of the rest\n"
    assert main([str(saved), "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == {
        "ok": False, "reason": "REJECTED: hash: it is not that of the rest",
    }  # fmt: skip


@pytest.mark.parametrize("seconds", ["-3", "0", "nan"])
def test_a_limit_that_is_none(
    saved: Path, capsys: pytest.CaptureFixture[str], seconds: str
) -> None:
    assert main([str(saved), "--seconds", seconds]) == 2
    assert capsys.readouterr().out == "--seconds is a number above 0, such as 60\n"


@pytest.mark.parametrize("row", ["p.csv:-1", "p.csv:²", f"p.csv:{'9' * 20}"])
def test_no_number_of_a_row(saved: Path, capsys: pytest.CaptureFixture[str], row: str) -> None:
    saved.with_name("p.csv").write_text("a\n1\n")
    assert main([str(saved), "--factual", str(saved.with_name(row))]) == 2
    assert "a colon stands a row's number" in capsys.readouterr().out


def test_it_says_its_version(tmp_path: Path) -> None:
    path = write_checker(tmp_path / "cfxc-check.pyz")
    ended = subprocess.run([sys.executable, path, "--version"], capture_output=True, text=True)
    assert ended.stdout == f"cfxc-check {cfxc.__version__}\n"


WHOLE = json.dumps(changed()).encode()
NO_CERTIFICATES = {
    "empty": (b"", "no JSON: Expecting value"),
    "text": (b"hello", "no JSON: Expecting value"),
    "a deep list": (b"[" * 10**5, "no JSON: "),
    "a deep object": (b'{"a": ' * 10**5, "no JSON: "),
    "bytes": (b"\xff", "no JSON: it begins with '\\xff'"),
    "PDF": (b"%PDF-1.7\n%\xe2\xe3", "no JSON: it begins with '%PDF-1.7'"),
    "BOM": (b"\xef\xbb\xbf" + WHOLE, "it holds other bytes than ASCII"),
    "UTF-16": (WHOLE.decode().encode("utf-16"), "it holds other bytes than ASCII"),
    "UTF-16 without a mark": (WHOLE.decode().encode("utf-16-be"), "no JSON: "),
    "gzip under another name": (gzip.compress(WHOLE), "it is compressed; name it .json.gz"),
    "a list": (b"[]", "it has no version 'cfxc certificate 1'"),
    "another object": (b'{"version": 1}', "it has no version 'cfxc certificate 1'"),
    "a row": (b'{"age": 20.5}', "not a number, or too long: '20.5'"),
    "broken off": (WHOLE[:500], "no JSON: "),
}


@pytest.mark.parametrize("name", ["x.smt2.manifest.json", "x.lower.smt2", "x.vipr", "x.CPC"])
def test_exported_files_are_no_certificates(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text('{"shown": 0.5}' if name.endswith("json") else "(set-logic LRA)")
    assert main([str(tmp_path / name)]) == 2
    assert "files that cfxc export makes of one; name the certificate" in capsys.readouterr().out


@pytest.mark.parametrize("name", NO_CERTIFICATES)
def test_what_is_no_certificate(name: str, saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is wrong input and no rejection, and both commands say the same of it."""
    body, why = NO_CERTIFICATES[name]
    saved.write_bytes(body)
    assert main([str(saved)]) == 2
    out = capsys.readouterr().out
    assert out.startswith(f"{saved}: this is no cfxc certificate: {why}")
    with pytest.raises(InvalidInputError) as caught:
        cfxc.check(saved)
    assert f"{caught.value}\n" == out


def test_what_cannot_be_read(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(saved.parent / "none.json")]) == 2
    assert "none.json: cannot be read: No such file" in capsys.readouterr().out
    assert main([str(saved.with_stem(f"{saved.stem}x"))]) == 2
    assert f"(nearest: {str(saved)!r}); name the file" in capsys.readouterr().out
    assert main([str(saved.parent)]) == 2
    assert capsys.readouterr().out == f"{saved.parent}: a folder; name one certificate in it\n"
    zipped = saved.with_suffix(".json.gz")
    for body in (WHOLE, gzip.compress(WHOLE)[:200]):
        zipped.write_bytes(body)
        assert main([str(zipped)]) == 2
        assert "c.json.gz: cannot be read: " in capsys.readouterr().out
    saved.write_text(json.dumps({**changed(), "version": "cfxc certificate 2"}), "utf-8")
    assert main([str(saved)]) == 2
    assert "its version is 'cfxc certificate 2'; this checker reads" in capsys.readouterr().out


@pytest.mark.parametrize("body", [WHOLE[:-1] + b', "hash": "0"}', WHOLE.replace(b'"1/6"', b"0.1")])
def test_a_certificate_that_is_not_well_formed_is_rejected(
    body: bytes, saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says that it is one."""
    saved.write_bytes(body)
    assert main([str(saved)]) == 1
    assert capsys.readouterr().out.startswith("REJECTED: ")
    assert not cfxc.check(saved).ok


def test_names_of_files_stay_on_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "a\nREJECTED: not\x1b[2J.json")]) == 2
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert "\x1b" not in out


def test_a_page(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = saved.parent / "page.md"
    assert main([str(saved), "--summary", str(page)]) == 0
    assert page.read_text("utf-8").startswith("# Certificate of a counterfactual\n")
    (saved.parent / "folder.md").mkdir()
    assert main([str(saved), "--summary", str(saved.parent / "folder.md")]) == 2
    assert "cannot be used: " in capsys.readouterr().out
    assert main([str(saved), "--summary", str(saved)]) == 2  # what is checked is no page
    assert "the page is Markdown: .md or .txt" in capsys.readouterr().out


def test_a_policy(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = saved.parent / "policy.toml"
    policy.write_text('constraints = ["x <= 4"]\n' + SPACE, "utf-8")
    assert main([str(saved), "--policy", str(policy)]) == 0
    policy.write_text(SPACE, "utf-8")
    capsys.readouterr()
    assert main([str(saved), "--policy", str(policy)]) == 1
    assert capsys.readouterr().out == "REJECTED: policy: it has no constraint x <= 4\n"
    for body in (b"\xff", b"version = 2", b"%PDF", b"colour = 1"):
        policy.write_bytes(body)
        assert main([str(saved), "--policy", str(policy)]) == 2
        assert capsys.readouterr().out.startswith(f"{policy}: ")
    policy.write_text("\ufeff" + 'constraints = ["x <= 4"]\n' + SPACE, "utf-8")
    assert main([str(saved), "--policy", str(policy)]) == 0


def test_a_limit_is_no_verdict(
    saved: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = "it takes more than 1e-09 seconds; give it --seconds 200"
    assert main([str(saved), "--seconds", "1e-9"]) == 4
    assert capsys.readouterr().out == f"UNDECIDED: {told}\n"
    held = cfxc.check(saved, seconds=1e-9)
    assert (held.ok, held.undecided, held.summary()) == (False, True, f"UNDECIDED: {told}")
    assert held.to_markdown().startswith("# Undecided\n")
    assert main([str(saved), "--seconds", "100"]) == 0

    def greedy(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("cfxc.certificates.auditing.__main__.check", greedy)
    capsys.readouterr()
    assert main([str(saved)]) == 4
    assert capsys.readouterr().out == "UNDECIDED: it takes more memory than there is\n"


def test_a_model_that_was_not_said(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A certificate that names no file can be compared with one by running it."""
    (other := saved.with_name("model.txt")).write_text("tree")
    assert main([str(saved), "--model", str(saved)]) == 2
    assert "a certificate is no model; name the model's file" in capsys.readouterr().out
    assert main([str(saved), "--model", str(other)]) == 3
    found = capsys.readouterr().out
    assert found.startswith(UNRUN)
    assert "the certificate names no model file; NOTHING of it was compared; it was not" in found
    assert main([str(saved), "--model", str(saved.parent / "none.onnx")]) == 2


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--rows", "c.json"), "--rows has no effect without --model"),
        (("--seed", "3"), "--seed has no effect without --model"),
        (("--model", "c.json", "--rows", "none.csv"), "none.csv: cannot be read: No such file"),
        (("--hash", "0123"), "hash '0123': give 16 to 64 hexadecimal digits"),
        (("--hash", "x" * 20), "give 16 to 64 hexadecimal digits"),
        (("--factual", "none.csv:1"), "none.csv: cannot be read: No such file"),
        (("--factual", "people.csv:9"), "people.csv: no row 9: they count from 0 to 1"),
        (("--factual", "people.csv"), "people.csv: it has 2 rows; name one, counted from 0"),
        (("--factual", "empty.csv"), "empty.csv: no CSV: "),
        (("--factual", "twice.csv"), "twice.csv: two columns are called 'n'"),
        (("--factual", "people.parquet:1"), "people.parquet:1: a row is read from CSV or JSON"),
        (("--factual", "short.csv"), "short.csv: row 0 has 2 cells, and not 3"),
        (("--factual", "narrow.csv"), "narrow.csv: it has no column 'code'"),
        (("--factual", "list.json"), "list.json: no row: give a CSV file"),
        (("--factual", "latin.csv:0"), "latin.csv: cannot be read: not UTF-8 text"),
    ],
)
def test_wrong_input(
    options: tuple[str, ...], why: str, saved: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(saved.parent)
    for name, text in {
        "people.csv": "n,x,code\n1,0.5,a\n2,0.5,a\n", "empty.csv": "",
        "short.csv": "n,x,code\n1,2\n", "narrow.csv": "n,x\n1,0.5\n", "list.json": "[1]",
        "twice.csv": "n,n\n1,1\n",
    }.items():  # fmt: skip
        Path(name).write_text(text, "utf-8")
    Path("latin.csv").write_bytes(b"n\n\xe4\n")
    assert main(["c.json", *options]) == 2
    assert why in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("a.csv:1", "code,n,x,more\na,2,.5,z\na,1.0,5e-1,z\n", ""),
        ("a.csv:0", "code,n,x\na,2,0.5\n", "'n' is 1 in the certificate, and 2 in a.csv:0"),
        ("a.csv", "code,n,x\nb,1,0.5\n", '\'code\' is "a" in the certificate, and "b" in a.csv'),
        ("a.csv", "code,n,x\na,1,0.5000001\n", "'x' is 0.5 in the certificate, and 0.5000001"),
        ("a.csv", "code,n,x\na,,0.5\n", "'n' is 1 in the certificate, and missing in a.csv"),
        ("a.csv", "code,n,x\na,one,0.5\n", '\'n\' is 1 in the certificate, and "one" in a.csv'),
        ("a.csv", "code,n,x\na,1e999,0.5\n", "'n' is 1 in the certificate, and 1e999 in"),
        ("a.json", '{"code": "a", "n": 1, "x": 0.5}', ""),
        ("a.json", '{"code": "a", "n": 1, "x": null}', "'x' is 0.5 in the certificate, and miss"),
        ("a.json", '{"code": 1, "n": 1, "x": 0.5}', "'code' is \"a\" in the certificate, and 1"),
    ],
)  # fmt: skip
def test_whom_it_is_about(
    name: str, text: str, why: str, saved: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(saved.parent)
    Path(name.split(":")[0]).write_text(text, "utf-8")
    assert main(["c.json", "--factual", name]) == (1 if why else 0)
    assert (f"REJECTED: factual: {why}" if why else UNRUN) in capsys.readouterr().out
    assert why in cfxc.check("c.json", factual=name).reason


def test_the_hash_of_the_letter(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    digest = changed()["hash"]
    for given in (digest, digest[:16], f"sha256:{digest.upper()}", f"{digest[:8]} {digest[8:]}"):
        assert main([str(saved), "--hash", given]) == 0
    capsys.readouterr()
    other = ("0" if digest[0] != "0" else "1") + digest[1:]
    assert main([str(saved), "--hash", other]) == 1
    told = f"hash: the certificate's is {digest}, and not {other}: it is another one"
    assert capsys.readouterr().out == f"REJECTED: {told}\n"
    assert cfxc.check(saved, hash=other).reason == told


def test_output_that_nobody_reads(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed(io.TextIOWrapper):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stdout", Closed(io.BytesIO()))
    assert main([str(saved)]) == 0


def test_a_terminal_that_cannot_write_all_signs(saved: Path) -> None:
    content = changed((("program", "labels"), ["no", "J\u00e4"]),
                      (("question", "target"), {"label": "J\u00e4"}))  # fmt: skip
    saved.write_text(json.dumps(content), "utf-8")
    command = [sys.executable, "-m", "cfxc.certificates.auditing", str(saved)]
    environment = {"PYTHONIOENCODING": "ascii", "PYTHONPATH": str(ROOT), "PATH": ""}
    done = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert rb'target: "J\xe4"' in done.stdout


def run(*command: Any, folder: Path) -> subprocess.CompletedProcess[str]:
    order = [str(part) for part in command]
    return subprocess.run(order, capture_output=True, text=True, cwd=folder, check=False)


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A Python without any package."""
    venv.create(tmp_path / "bare", with_pip=False)
    return tmp_path / "bare" / "bin" / "python"


def test_the_file_in_an_empty_environment(saved: Path, bare: Path, tmp_path: Path) -> None:
    checker = write_checker(tmp_path / "cfxc-check.pyz")
    for options, code in (((), 0), (("--json",), 0), (("--policy", "policy.toml"), 1)):
        (tmp_path / "policy.toml").write_text("epsilon = 0.1\nfixed = []", "utf-8")
        done = run(bare, "-I", checker, saved, *options, folder=tmp_path)
        assert done.returncode == code, done.stdout + done.stderr
        assert done.stderr == ""
    assert run(bare, "-I", checker, "--help", folder=tmp_path).returncode == 0
    assert main([str(saved)]) == 0
    listed = run(sys.executable, "-m", "zipfile", "-l", checker, folder=tmp_path).stdout
    assert "cfxc_check/checker/rules.py" in listed
    assert "cfxc_check/auditing/sampling.py" in listed


def test_the_package_alone(saved: Path, bare: Path, tmp_path: Path) -> None:
    """A wheel without dependencies, whose command checks."""
    pip = [sys.executable, "-m", "pip"]
    source = ROOT / "packaging" / "cfxc-check"
    made = run(*pip, "wheel", "-q", "--no-deps", "-w", tmp_path, source, folder=tmp_path)
    if made.returncode and any(word in made.stderr for word in OFFLINE):
        pytest.skip("hatchling cannot be had: no network")
    assert made.returncode == 0, made.stderr
    (wheel,) = tmp_path.glob("cfxc_check-*.whl")
    put = run(*pip, "--python", bare, "install", "-q", "--no-index", wheel, folder=tmp_path)
    assert put.returncode == 0, put.stderr
    held = run(bare.with_name("cfxc-check"), saved, folder=tmp_path)
    assert (held.returncode, held.stderr) == (0, "")
    assert held.stdout.startswith(f"{UNRUN}\n")
    model = run(bare, "-m", "cfxc_check.auditing", saved, "--model", wheel, folder=tmp_path)
    assert model.returncode == 3
    assert "the certificate names no model file; NOTHING of it was compared" in model.stdout

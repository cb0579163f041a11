"""``cfxc-check``: what it prints, writes and ends with; as a file, and as a package of its own."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

from cfxc.certificates import write_checker
from cfxc.certificates.auditing.__main__ import main
from tests.certificates.handmade import SPACE, changed

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
    assert capsys.readouterr().out.startswith("accepted\nmodel: no file; not run: ")
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


@pytest.mark.parametrize("body", [b"", b"hello", b"\xff", b"[" * 10**5, b'{"a": ' * 10**5])
def test_it_cannot_be_read(body: bytes, saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved.write_bytes(body)
    assert main([str(saved)]) in (1, 2)
    assert capsys.readouterr().out.startswith(("REJECTED: ", "cannot be read: "))
    assert main([str(saved.parent / "none.json")]) == 2


def test_names_of_files_stay_on_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "a\nREJECTED: not\x1b[2J.json")]) == 2
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert "\x1b" not in out


def test_a_page(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = saved.parent / "page.md"
    assert main([str(saved), "--summary", str(page)]) == 0
    assert page.read_text("utf-8").startswith("# Certificate of a counterfactual\n")
    assert main([str(saved), "--summary", str(saved.parent)]) == 2
    assert "cannot be read: " in capsys.readouterr().out


def test_a_policy(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = saved.parent / "policy.toml"
    policy.write_text('constraints = ["x <= 4"]\n' + SPACE, "utf-8")
    assert main([str(saved), "--policy", str(policy)]) == 0
    policy.write_text(SPACE, "utf-8")
    capsys.readouterr()
    assert main([str(saved), "--policy", str(policy)]) == 1
    assert capsys.readouterr().out == "REJECTED: policy: it has no constraint x <= 4\n"
    policy.write_bytes(b"\xff")
    assert main([str(saved), "--policy", str(policy)]) == 2


def test_a_time_limit(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(saved), "--seconds", "-1"]) == 1
    assert capsys.readouterr().out == "REJECTED: limits: it takes more than -1 seconds\n"
    assert main([str(saved), "--seconds", "100"]) == 0


def test_a_model_that_was_not_said(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A certificate that names no file is not one of any file."""
    assert main([str(saved), "--model", str(saved)]) == 1
    assert capsys.readouterr().out == "REJECTED: model: made for another file\n"
    assert main([str(saved), "--model", str(saved.parent / "none.onnx")]) == 2


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
        (tmp_path / "policy.toml").write_text("epsilon = 0.1", "utf-8")
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
    assert held.stdout.startswith("accepted\n")
    model = run(bare, "-m", "cfxc_check.auditing", saved, "--model", saved, folder=tmp_path)
    assert (model.returncode, model.stdout) == (1, "REJECTED: model: made for another file\n")

"""Commands as processes: pipes that close, disks that are full, Ctrl-C at any time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import cfxc

from .conftest import Shell

ROOT = str(Path(cfxc.__file__).parents[1])
SPACE = ("--space", "space.toml")
EXPLAIN = ("explain", "tree.onnx", *SPACE, "--factual", "person.json")
COMPILE = ("compile", "tree.onnx", *SPACE)
FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")


def process(
    *arguments: str, stdout: int | None = subprocess.PIPE, path: str = ""
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cfxc", *arguments],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([path, ROOT] if path else [ROOT])},
        timeout=120,
    )


def closed_pipe() -> int:
    reader, writer = os.pipe()
    os.close(reader)
    return writer


@pytest.mark.parametrize("arguments", [COMPILE, ("--help",)])
def test_a_reader_that_has_seen_enough(shell: Shell, arguments: tuple[str, ...]) -> None:
    pipe = closed_pipe()
    ended = process(*arguments, stdout=pipe)
    os.close(pipe)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_exit_code_is_the_verdict_s_whoever_reads(shell: Shell) -> None:
    assert shell(*EXPLAIN, "--certificate", "c.json").code == 0
    pipe = closed_pipe()
    ended = process("check", "c.json", "--hash", "0" * 16, stdout=pipe)
    os.close(pipe)
    assert (ended.returncode, ended.stderr) == (5, "")


def test_the_certificate_is_written_whoever_reads(shell: Shell) -> None:
    pipe = closed_pipe()
    ended = process(*EXPLAIN, "--certificate", "c.json", stdout=pipe)
    os.close(pipe)
    assert ended.returncode == 0
    assert ended.stderr.splitlines()[-1] == "certificate: c.json (cfxc check c.json)"
    assert "Traceback" not in ended.stderr
    assert cfxc.check("c.json").ok


@FULL
@pytest.mark.parametrize("arguments", [(*EXPLAIN, "--json"), ("--help",)])
def test_no_room_for_the_output(shell: Shell, arguments: tuple[str, ...]) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    ended = process(*arguments, stdout=full)
    os.close(full)
    assert ended.returncode == 2
    *progress, message = ended.stderr.splitlines()
    assert message.startswith("cfxc: cannot write the output: No space left on device")
    assert all(line.startswith(("compiling", "searching")) for line in progress)


@FULL
@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (EXPLAIN, "--certificate"),
        (COMPILE, "--out"),
        (("space", "infer", "data.csv"), "--out"),
    ],
)
def test_no_room_for_a_file(shell: Shell, arguments: tuple[str, ...], option: str) -> None:
    before = shell.files()
    ended = shell(*arguments, option, "/dev/full")
    assert ended.code == 2
    message = ended.err.splitlines()[-1]
    assert message.startswith("cfxc: /dev/full: cannot write: No space left on device")
    assert shell.files() == before
    assert Path("/dev/full").is_char_device()


@FULL
def test_an_answer_is_printed_although_its_certificate_is_not(shell: Shell) -> None:
    ended = shell(*EXPLAIN, "--certificate", "/dev/full")
    assert "lower bound" in ended.out


def test_output_to_our_own_stdout(shell: Shell) -> None:
    with open("out.txt", "w") as file:
        ended = process(*COMPILE, "-o", "/dev/stdout", stdout=file.fileno())
    assert (ended.returncode, ended.stderr) == (0, "")
    assert Path("out.txt").read_text() == shell(*COMPILE).out


def test_a_closed_stdout(shell: Shell) -> None:
    quoted = f"{sys.executable} -m cfxc {' '.join(COMPILE)} >&-"
    ended = subprocess.run(
        quoted, shell=True, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": ROOT}
    )
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize(
    ("library", "what_it_does"),
    [
        ("typer", "raise"),
        ("typer", "raise ImportError('broken off')"),
        ("pandas", "raise SystemError('result with an exception set')"),
        ("onnx", "pass"),
    ],
)
def test_ctrl_c_while_libraries_are_imported(shell: Shell, library: str, what_it_does: str) -> None:
    """Compiled modules pass an interrupt on, make it an error of theirs, or swallow it."""
    fake = shell.folder / "fake"
    fake.mkdir()
    (fake / f"{library}.py").write_text(
        "import os, signal, time\n"
        "try:\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    time.sleep(9)\n"
        "except KeyboardInterrupt:\n"
        f"    {what_it_does}\n"
    )
    ended = process("compile", "tree.onnx", *SPACE, path=str(fake))
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "cfxc: stopped\n")

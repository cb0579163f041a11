"""The command line on a terminal: what is being done, colour unless NO_COLOR, completion."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cfxc.cli.report import Page

from .conftest import Shell

pty = pytest.importorskip("pty")
CODE = "import sys; from cfxc.cli import main; sys.exit(main(sys.argv[1:]))"
EXPLAIN = ("explain", "tree.skops", "--space", "space.toml", "--factual", "data.csv:0")


def on_terminal(folder: Path, *arguments: str, **environment: str) -> tuple[int, str]:
    """Exit code and all that a terminal of 100 columns is sent."""
    parent, child = pty.openpty()
    known = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, *arguments],
        cwd=folder, stdin=child, stdout=child, stderr=child,
        env={**known, "TERM": "xterm-256color", "COLUMNS": "100", **environment},
    )  # fmt: skip
    os.close(child)
    said = b""
    while True:
        try:
            part = os.read(parent, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        said += part
    os.close(parent)
    return process.wait(60), said.decode()


def test_a_search_says_what_it_does(shell: Shell) -> None:
    code, said = on_terminal(shell.folder, *EXPLAIN)
    assert code == 0
    assert "compiling …" in said
    assert "searching, for at most 60 s …" in said
    assert "\x1b[1m" in said


def test_errors_stand_out_unless_there_is_to_be_no_colour(shell: Shell) -> None:
    words = (*EXPLAIN, "--target", "Yes")
    code, said = on_terminal(shell.folder, *words)
    assert code == 2
    assert "\x1b[1;31mcfxc:\x1b[0m" in said
    assert "try: cfxc explain" in said
    code, said = on_terminal(shell.folder, *words, NO_COLOR="1")
    assert code == 2
    assert "31m" not in said
    assert "nearest: 'yes'" in said


def test_no_colour_where_there_is_no_terminal(shell: Shell) -> None:
    ended = shell(*EXPLAIN)
    assert "\x1b" not in ended.out + ended.err
    assert "\x1b" not in shell(*EXPLAIN, "--target", "Yes").err


@pytest.mark.parametrize(
    ("words", "place", "found"),
    [
        ("cfxc exp", 1, "explain"),
        ("cfxc explain --dist", 2, "--distance"),
        ("cfxc batch --which", 2, "--which"),
        ("cfxc explain --constr", 2, "--constraint"),
        ("cfxc compile --emit ", 3, "smt2"),
        ("cfxc space in", 2, "infer"),
    ],
)
def test_shells_complete_commands_and_options(words: str, place: int, found: str) -> None:
    environment = {
        **os.environ, "_CFXC_COMPLETE": "complete_bash", "COMP_WORDS": words,
        "COMP_CWORD": str(place),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, check=False
    )
    assert found in done.stdout.split()


def test_a_notebook_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("JPY_PARENT_PID", raising=False)
    assert Page().is_terminal
    monkeypatch.setenv("JPY_PARENT_PID", "1")  # as in a notebook's cell, which forces colours
    assert not Page().is_terminal

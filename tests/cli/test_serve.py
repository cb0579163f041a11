"""``cfxc serve``: what it refuses before it serves; the page itself is tested in ``tests/web``."""

from __future__ import annotations

import socket
import sys

import pytest

from .conftest import Shell

ARGUMENTS = ("serve", "tree.skops", "--space", "space.toml")


def test_without_the_extra_one_line_says_what_to_install(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "starlette", None)
    assert "pip install 'cfxc[web]'" in shell.refuses(*ARGUMENTS)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--time-limit", "0"), "--time-limit"),
        (("--time-limit", "nan"), "--time-limit"),
        (("--jobs", "0"), "--jobs"),
        (("--host", "0.0.0.0"), "--allow-host"),
        (("--port", "70000"), "to 65535"),
        (("--port", "0", "--data", "none.csv"), "none.csv"),
        (("--port", "0", "--question", "none.toml"), "none.toml"),
        (("--port", "0", "--favourable", "maybe"), "maybe"),
    ],
)
def test_wrong_options_are_refused(shell: Shell, options: tuple[str, ...], said: str) -> None:
    assert said in shell.refuses(*ARGUMENTS, *options)


def test_pickles_are_not_opened(shell: Shell) -> None:
    said = shell.refuses("serve", "mlp.joblib", "--space", "space.toml", "--port", "0")
    assert "--trust-pickle" in said


def test_a_port_that_is_taken_is_told(shell: Shell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert "cannot listen" in shell.refuses(*ARGUMENTS, "--port", str(port))

"""Files made to stop or to fool the checker: each is decided, soon and in little memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest

from tests.certificates.hostile_files import FAMILIES, Body, body, of_names, of_programs, whole
from tests.certificates.measured import run

SECONDS = "4"  # of the checker's own clock; a file of 1 MB may take longer if nothing is said


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_hostile_files_are_decided(
    family: Callable[[], Iterator[Body]], tmp_path: Path, third: int
) -> None:
    """Exit code 0, 1, 2 or 4; 10 seconds, 512 MiB; never a traceback."""
    wrong, count = {}, 0
    for name, content in islice(family(), 0, None, third):
        path = tmp_path / ("c.json.gz" if name.endswith(".gz") else "c.json")
        path.write_bytes(content)
        outcome = run(path, "--seconds", SECONDS)
        count += 1
        if not outcome.is_decided:
            wrong[name] = outcome
    assert not wrong
    assert count >= 7 // third


def test_what_they_start_from_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_bytes(body(whole()))
    assert run(path).code == 0


def test_names_print_one_line_each(tmp_path: Path) -> None:
    """Nothing in a name starts a line, or moves a cursor."""
    for name, content in of_names():
        path = tmp_path / "c.json"
        path.write_bytes(content)
        said = run(path).said
        assert said.isascii() or "\u202e" not in said, name
        assert "\x1b" not in said, name
        assert said.count("\naccepted") == 0, name
        assert said.count("\nclaim: ") <= 1, name


def test_a_small_file_is_decided_without_being_told_how_soon(tmp_path: Path) -> None:
    """4 kB whose condition is millions of times as long when it is printed."""
    found = dict(of_programs())
    path = tmp_path / "c.json"
    path.write_bytes(found["a condition of units that read two units"])
    outcome = run(path)
    assert outcome.is_decided
    assert "too deep to be printed" in outcome.said

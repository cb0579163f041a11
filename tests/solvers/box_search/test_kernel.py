"""Compiled code: there before the clock starts, and gone with the sources it was made of."""

from __future__ import annotations

import shutil
from pathlib import Path

import cfxc.solvers.box_search
from cfxc.solvers.box_search import climb, engine, kernel, leaves, tables
from cfxc.solvers.box_search.kernel import version

FOLDER = Path(cfxc.solvers.box_search.__file__).parent


def test_every_source_counts(tmp_path: Path) -> None:
    copy = tmp_path / "box_search"
    shutil.copytree(FOLDER, copy, ignore=shutil.ignore_patterns("__pycache__"))
    assert version(copy) == version(FOLDER)
    seen = {version(copy)}
    for path in sorted(copy.glob("*.py")):
        path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
        seen.add(version(copy))
    assert len(seen) == 1 + len(list(copy.glob("*.py")))


def test_nothing_is_left_to_compile_when_the_clock_starts() -> None:
    engine._warm_up.cache_clear()
    engine._warm_up(threads=True)
    called = (
        kernel.run, kernel.hand_over, leaves._collect, tables._rows, climb._climb, climb._shrink,
    )  # fmt: skip
    assert [len(function.signatures) for function in called] == [1] * len(called)

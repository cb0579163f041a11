"""What building the kernels says where something is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_a_missing_compiler_is_one_message(tmp_path: Path) -> None:
    """What to install where, before anything else is looked for."""
    cmake = shutil.which("cmake")
    if cmake is None:
        pytest.skip("needs cmake")
    made = subprocess.run(
        [cmake, "-S", str(ROOT), "-B", str(tmp_path)],
        env={**os.environ, "CXX": "/nonexistent"}, capture_output=True, text=True,
    )  # fmt: skip
    assert made.returncode != 0
    text = " ".join(made.stderr.split())
    assert text.count("CMake Error") == 1, made.stderr
    assert "a C++20 compiler and found none (CXX is '/nonexistent')" in text
    for line in ("apt install g++", "dnf install gcc-c++", "xcode-select", "Build Tools"):
        assert line in text

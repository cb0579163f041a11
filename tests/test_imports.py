"""Imports that run late, inside functions and scripts and by name, find what they ask for."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import cfxc
from cfxc.errors import MissingExtraError, needs
from cfxc.methods import amortised, bayes

ROOT = Path(cfxc.__file__).parent.parent


def imports(path: Path) -> Iterator[tuple[str, list[str]]]:
    """The modules of cfxc that a file imports anywhere, and the names."""
    package = path.relative_to(ROOT).with_suffix("").parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *filter(None, [node.module])])
            if module.partition(".")[0] == "cfxc":
                yield module, [each.name for each in node.names]


@pytest.mark.parametrize(
    "path",
    [
        path
        for folder in ("cfxc", "benchmarks", "examples")
        for path in sorted((ROOT / folder).rglob("*.py"))
    ],
    ids=lambda path: path.stem,
)
def test_files_import_what_there_is(path: Path) -> None:
    for name, wanted in imports(path):
        try:
            module = import_module(name)
        except ModuleNotFoundError as error:  # of an extra that is not installed
            if (error.name or "").startswith("cfxc"):
                raise
            continue
        for each in wanted:
            assert hasattr(module, each) or import_module(f"{name}.{each}"), (name, each)


@pytest.mark.parametrize("package", [cfxc, amortised, bayes], ids=lambda package: package.__name__)
def test_lazy_names_are_there(package: object) -> None:
    for name in package._LAZY:  # type: ignore[attr-defined]
        assert getattr(package, name) is not None


@pytest.mark.parametrize(
    ("outer", "kind", "said"),
    [
        (needs("te", "tea"), MissingExtraError, "tea needs the package 'no_leaves': pip install"),
        (
            needs("te", "tea", "tin", ["no_leaves"]),
            MissingExtraError,
            "tea needs the package 'tin'",
        ),
        (needs("te", "tea", of=["milk"]), ModuleNotFoundError, "No module named 'no_leaves'"),
    ],
)
def test_what_an_extra_brings_is_named(outer: Any, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=f"^{said}"), outer:
        import_module("no_leaves.green")


def test_an_extra_within_another_is_named() -> None:
    with pytest.raises(MissingExtraError, match=r"^a cup"), needs("te", "tea"), needs("c", "a cup"):
        import_module("no_leaves")


def test_what_is_there_and_broken_is_not_called_missing() -> None:
    with pytest.raises(ImportError, match=r"^libcudart") as told, needs("te", "tea"):
        raise ImportError("libcudart.so: cannot open shared object file", name="torch._C")
    assert type(told.value) is ImportError


def test_help_needs_no_tables() -> None:
    """The command line answers before pandas and compiled code are loaded."""
    code = "import sys, cfxc.cli.app; print(*({'pandas', 'scipy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not done.stdout.split()


def test_compile_needs_no_scikit_learn() -> None:
    """A file in ONNX has its runtime; a fitted estimator has imported its library itself."""
    code = (
        "import sys, cfxc; cfxc.compile; print(*({'sklearn', 'scipy', 'torch'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not found.stdout.strip()

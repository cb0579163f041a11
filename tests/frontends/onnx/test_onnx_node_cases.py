"""ONNX's own tests of every op that is claimed: they pass, or are listed with the reason."""

from __future__ import annotations

from collections.abc import Callable

from .node_cases import cases, outcome


def test_node_cases_of_onnx(golden: Callable[[str, str], None]) -> None:
    """``tests/golden/onnx_node_cases.txt`` lists those that fit no row of numbers, and why."""
    passed, listed = [], []
    for case in cases():
        name, why = case if isinstance(case, tuple) else (case.name, outcome(case))
        if why:
            listed.append(f"{name}: {why}")
        else:
            passed.append(name)
    assert len(passed) >= 250, len(passed)
    golden("onnx_node_cases.txt", "\n".join(sorted(listed)) + "\n")

"""The table of example programs, on both evaluators and as golden texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cfxc.ir import BatchEvaluator, evaluate, parse_program, print_program
from cfxc.ir.op import REGISTRY
from tests.example_programs import EXAMPLES, Example
from tests.strategies import columns_of, encoded

each_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)


def plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


@each_example
def test_evaluate(example: Example) -> None:
    program = parse_program(example.text)
    for inputs, outputs in example.cases:
        found = evaluate(program, inputs)
        assert {name: plain(value) for name, value in found.items()} == outputs


@each_example
def test_batch_evaluator(example: Example) -> None:
    program = parse_program(example.text)
    rows = [inputs for inputs, _ in example.cases]
    found = BatchEvaluator(program)(columns_of(program, rows))
    for name, sort in program.output_sorts.items():
        wanted = np.array([encoded(outputs[name], sort) for _, outputs in example.cases])
        count = len(rows) if rows[0] else 1
        assert found[name].shape == (count, *sort.shape)
        np.testing.assert_allclose(found[name].astype(float), wanted.astype(float), rtol=1e-15)


@each_example
def test_printed_text_is_golden(example: Example, golden: Callable[[str, str], None]) -> None:
    program = parse_program(example.text)
    text = print_program(program)
    golden(f"ir/{example.name}.ir", text)
    assert print_program(parse_program(text)) == text


def test_every_op_occurs_in_the_table() -> None:
    used = {let.op.name for example in EXAMPLES for let in parse_program(example.text).lets()}
    assert used == set(REGISTRY)

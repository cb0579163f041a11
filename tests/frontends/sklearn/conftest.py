"""Tables to train on, and the comparison of a program with the model it was lowered from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cfxc.frontends.sklearn import SklearnPredictor, lower
from cfxc.ir import BatchEvaluator, LabelTuple, Program, evaluate, parse_program
from cfxc.space import FeatureSpace

# Sums of fewer than 100 doubles in another order: at most 100 * 2**-53 relative to the terms.
RELATIVE = 1e-12


def close(actual: Any, expected: Any) -> None:
    actual, expected = np.asarray(actual, dtype=float), np.asarray(expected, dtype=float)
    assert actual.shape == expected.shape
    scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
    np.testing.assert_allclose(actual, expected, rtol=RELATIVE, atol=RELATIVE * scale)


def batch_labels(program: Program, outputs: Mapping[str, Any]) -> np.ndarray[Any, Any]:
    labels = np.array(program.output_sorts["label"].labels, dtype=object)
    return labels[outputs["label"]]


def deployed(model: Any, table: Any) -> dict[str, Any]:
    """What the model answers by its own methods, by name of the program's outputs."""
    if not hasattr(model, "classes_"):
        value = np.asarray(model.predict(table))
        return {"value": value[:, 0] if value.ndim == 2 and value.shape[1] == 1 else value}
    expected: dict[str, Any] = {"label": model.predict(table).astype(object)}
    if hasattr(model, "predict_proba"):
        expected["probability"] = model.predict_proba(table)
    if hasattr(model, "decision_function"):
        expected["score"] = model.decision_function(table)
    return expected


def check_agreement(
    model: Any, space: FeatureSpace, frame: pd.DataFrame, exact_rows: int = 12
) -> Program:
    """Assert that the lowered program gives what ``model`` gives on the rows of ``frame``."""
    program = lower(model, space)
    assert parse_program(str(program)) == program
    predictor = SklearnPredictor(model, space)
    table = predictor.table(frame)
    expected = deployed(model, table)
    outputs = BatchEvaluator(program)(space.encode_frame(frame, check_range=False))
    assert next(iter(outputs)) == ("value" if predictor.task == "regressor" else "label")
    assert set(expected) <= set(outputs)
    for name, answer in expected.items():
        if name == "label":
            assert LabelTuple(predictor.classes or ()) == program.output_sorts["label"].labels
            assert batch_labels(program, outputs).tolist() == answer.tolist()
            assert predictor.predict(frame).tolist() == answer.tolist()
        else:
            close(outputs[name], answer)
    for row in range(min(exact_rows, len(frame))):
        inputs = space.encode_row(frame.iloc[[row]], check_range=False)
        exact = evaluate(program, inputs)
        for name, answer in expected.items():
            if name == "label":
                assert exact[name] == answer[row]
            else:
                close(np.asarray(exact[name], dtype=float), answer[row])
    return program


@pytest.fixture(scope="session")
def agree() -> Callable[..., Program]:
    return check_agreement


@pytest.fixture(scope="session")
def people() -> pd.DataFrame:
    """300 people: integers, reals, text, booleans and numeric codes (income in thousands)."""
    rng = np.random.default_rng(7)
    count = 300
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, count),
            "income": rng.normal(30, 9, count).round(2),
            "sector": rng.choice(
                ["public", "private", "self", "none"], count, p=[0.4, 0.4, 0.15, 0.05]
            ),
            "member": rng.choice([True, False], count),
            "code": rng.choice([3, 5, 9], count),
            "rate": rng.normal(size=count),
        }
    )


@pytest.fixture(scope="session")
def space(people: pd.DataFrame) -> FeatureSpace:
    return FeatureSpace.infer(people, kinds={"code": "categorical"})


@pytest.fixture(scope="session")
def targets(people: pd.DataFrame) -> dict[str, Any]:
    """Labels and numbers that depend on every column."""
    worth = (
        people["age"] * 0.4
        + people["income"]
        + (people["sector"] == "public") * 9
        + people["member"] * 4
        + people["code"] * 0.8
        + people["rate"] * 5
    )
    return {
        "binary": np.where(worth > worth.median(), "grant", "deny"),
        "multi": pd.qcut(worth, 3, labels=False).to_numpy() * 10,
        "value": worth.to_numpy(),
        "values": np.column_stack([worth, people["age"] * 0.1]),
    }

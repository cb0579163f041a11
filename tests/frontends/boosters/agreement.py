"""Tables to train on, and the comparison of a lowered booster with its library, bit by bit."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pandas as pd

import cfxc
from cfxc import FeatureSpace
from cfxc.frontends.predictor import Predictor
from cfxc.ir import BatchEvaluator, LabelTuple, Program, evaluate, ops, parse_program
from cfxc.ir.tree_kernel import TreeTables

CODES = [0, 1, 2, 5, 7, 31, 32, 33, 40]
NUMBERS = ["normal", "tenths", "large", "count", "flag"]


def people(count: int = 400, seed: int = 1) -> pd.DataFrame:
    """Numbers of several sizes, codes, and text and numbers as pandas categories."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "normal": rng.normal(size=count),
            "tenths": rng.choice(np.arange(-20, 21) / 10, count),
            "large": rng.integers(30_000_000, 30_000_900, count).astype(float),
            "count": rng.integers(-4, 12, count),
            "flag": rng.random(count) < 0.4,
            "code": rng.choice(CODES, count),
            "sector": pd.Categorical(rng.choice(["art", "law", "it", "farm", "sea"], count)),
            "level": pd.Categorical(rng.choice([3, 5, 9, -1], count)),
        }
    )


def target(table: pd.DataFrame, kind: str) -> np.ndarray[Any, Any]:
    """``two`` or ``three`` classes, a ``value``, a positive ``amount`` or a ``share``."""
    worth = table["normal"] * 1.3 + table["tenths"] + (table["large"] % 7) / 3
    worth += 1.5 * table["code"].isin([0, 5, 32]) + 1.2 * table["sector"].isin(["law", "sea"])
    worth += table["level"].isin([5, -1]) + table["flag"] * table["normal"] + 0.2 * table["count"]
    noise = np.random.default_rng(9).normal(0, 0.5, len(table))
    value = (worth - worth.mean()).to_numpy() + noise
    if kind == "value":
        return value
    if kind == "amount":
        return np.exp(value / 3)
    if kind == "share":
        return 1 / (1 + np.exp(-value))
    parts = [0.5] if kind == "two" else [0.3, 0.6]
    return np.digitize(value, np.quantile(value, parts))


def space_of(table: pd.DataFrame, **kinds: Any) -> FeatureSpace:
    """The space of a table whose float columns hold any numbers."""
    reals = {c: "real" for c in table if table[c].dtype == float and table[c].nunique() > 2}
    return FeatureSpace.infer(table, kinds={**reals, **kinds})


def walked(table: pd.DataFrame, cuts: dict[str, Any], seed: int = 3) -> pd.DataFrame:
    """Rows at, just below and just above every cut, in float32 and in doubles."""
    rng = np.random.default_rng(seed)
    parts = [table]
    for name, values in cuts.items():
        single = np.float32(values)
        with np.errstate(over="ignore", under="ignore"):
            beside = [np.nextafter(single, np.float32(side)) for side in (-np.inf, np.inf)]
        near = [values, *(np.nextafter(values, side) for side in (-np.inf, np.inf))]
        near = np.concatenate([*near, single, *beside]).astype(float)
        near = near[np.abs(near) < 1e30]
        part = table.iloc[rng.integers(0, len(table), near.size)].reset_index(drop=True)
        part[name] = near
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def ensemble(program: Program) -> Any:
    """The only sum of trees in a program."""
    (op,) = [let.op for let in program.lets() if isinstance(let.op, ops.TreeEnsemble)]
    return op


def value_of(program: Program, operand: Any, columns: Any) -> Any:
    """What some value of a program is, on rows."""
    asked = dataclasses.replace(program, outputs=(("asked", operand),))
    return BatchEvaluator(asked)(columns)["asked"]


def singly_summed(program: Program, columns: Any) -> Any:
    """The leaves that the program reaches, added in float32, tree after tree: (n, K)."""
    op = ensemble(program)
    x = np.ascontiguousarray(value_of(program, op.x, columns), dtype=float)
    tables = dataclasses.replace(TreeTables.of(op), base=np.zeros(op.base.array.size))
    total = np.tile(op.base.array.astype(np.float32), (len(x), 1))
    for root in tables.roots:
        one = dataclasses.replace(tables, roots=np.array([root]))
        total += one(x).astype(np.float32)
    return total


def agree(
    model: Any, space: FeatureSpace, frame: pd.DataFrame, expected: Any, exact_rows: int = 6
) -> tuple[cfxc.CompiledModel, Any]:
    """The compiled model, and its inputs for ``frame``, on which it says what is ``expected``."""
    compiled = cfxc.compile(model, space)
    program = compiled.program
    assert isinstance(compiled.predictor, Predictor)
    assert parse_program(str(program)) == program
    columns = space.encode_frame(frame, check_range=False)
    outputs = BatchEvaluator(program)(columns)
    expected = np.asarray(expected)
    assert np.array_equal(compiled.predictor.predict(frame), expected)
    if compiled.predictor.task == "classifier":
        labels = program.output_sorts["label"].labels
        assert LabelTuple(compiled.predictor.classes or ()) == labels
        found = np.array(labels, dtype=object)[outputs["label"]]
        assert found.tolist() == expected.astype(object).tolist()
    else:
        np.testing.assert_allclose(outputs["value"], expected, rtol=1e-5, atol=1e-5)
    for row in range(0, len(frame), max(1, len(frame) // exact_rows)):
        exact = evaluate(program, space.encode_row(frame.iloc[[row]], check_range=False))
        for name, own in outputs.items():
            if name == "label":
                assert exact[name] == expected[row]
            else:
                close = np.asarray(exact[name], dtype=float)
                np.testing.assert_allclose(close, own[row], rtol=1e-9, atol=1e-9)
    return compiled, columns

"""Bounds of distances: sound on every point, and as close as monotonicity makes them."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import cfxc
from cfxc import FeatureSpace
from cfxc.ir import Program, evaluate
from cfxc.lang import parse_program
from cfxc.question.distances import resolve_distance
from cfxc.question.distances.distance import RESULT, _box, _lower
from cfxc.question.distances.enclosure import enclosed

F = Fraction
TABLE = pd.DataFrame({"a": [0, 1, 2, 3, 4, 5], "b": [3.5, 1.5, 4, 1, 5, 9], "c": list("xyxyxx")})
SPACE = FeatureSpace.infer(TABLE)


def enclosure(text: str) -> tuple[Program, Any, Any]:
    """A program, and the bounds of its result."""
    program = _lower(parse_program(f"return {text} + 0.0", "d"), SPACE, "d", {})
    return (program, *enclosed(program, _box(program, SPACE)))


@pytest.mark.parametrize(
    "text",
    [
        "return exp(delta[1]) - 1",
        "s := 0; for i = 1..J do s := s + exp(delta[i]) - 1; return s / J",
        "return 1 - exp(-2 * delta[1]) + delta[2]",
        "return tanh(delta[1]) + sigmoid(3 * delta[2]) - 1 / 2",
        "return 2 * delta[1] - delta[1] * delta[1]",
        "return delta[1] - delta[1] / 2",
        "d := delta[1] - delta[2]; return d * d",
        "return max(delta[1], delta[2]) + delta[1] - delta[1] * delta[2] / 2",
        "return abs(delta[1] + delta[2]) - delta[1] / 2",
        "return exp(delta[1] * (1 + factual.a)) - 1",
        'return (delta[1] + 1) * (ite(x.c == "x", 2, 1)) - 1',
        "return 1 - min(1 - delta[1], 1 - delta[2] / 2)",
    ],
)
def test_what_is_never_negative_is_accepted(text: str) -> None:
    assert resolve_distance(text, SPACE).lower >= 0


@pytest.mark.parametrize(
    "text",
    [
        "exp(delta[1]) - 1.01 + delta[2] / 100",
        "(delta[1] - 0.5) * (delta[1] - 0.5) - 0.01",
        "ite(delta[1] > 0.5, delta[1], 1) - 0.9",
        "delta[1] * (1 - 1.01 * delta[1])",
    ],
)
def test_what_may_be_negative_is_not_called_positive(text: str) -> None:
    _, low, _ = enclosure(text)
    assert low < 0


def expressions() -> Any:
    leaves = st.sampled_from(
        ["delta[1]", "delta[2]", "x.a", "factual.b", "0.5", "2", '(ite(x.c == "x", 1, 3))']
    )

    def grow(inner: Any) -> Any:
        binary = st.tuples(st.sampled_from(["+", "-", "*"]), inner, inner)
        two = st.tuples(st.sampled_from(["max", "min"]), inner, inner)
        one = st.tuples(st.sampled_from(["abs", "relu", "tanh", "sigmoid", "-"]), inner)
        choice = st.tuples(inner, inner, inner)
        return st.one_of(
            binary.map(lambda t: f"({t[1]} {t[0]} {t[2]})"),
            two.map(lambda t: f"{t[0]}({t[1]}, {t[2]})"),
            one.map(lambda t: f"{t[0]}({t[1]})"),
            choice.map(lambda t: f"ite({t[0]} > 0.25, {t[1]}, {t[2]})"),
            inner.map(lambda t: f"({t} / 4)"),
        )

    return st.recursive(leaves, grow, max_leaves=7)


@settings(derandomize=True, max_examples=60, deadline=None)
@given(expressions(), st.integers(0, 99))
def test_every_value_lies_within(text: str, seed: int) -> None:
    program, low, high = enclosure(text)
    rng = random.Random(seed)
    for _ in range(30):
        point: dict[str, Any] = {}
        for name, sort in program.inputs:
            if sort.kind == "category":
                point[name] = rng.choice(list(sort.labels))
            elif name.startswith("delta."):
                point[name] = rng.choice([F(0), F(1), F(rng.randint(0, 64), 64)])
            elif sort.kind == "int":
                point[name] = rng.randint(0, 5)
            else:
                point[name] = rng.choice([F(1), F(9), F(rng.randint(64, 576), 64)])
        value = evaluate(program, point)[RESULT]
        assert low - F(1, 10**40) <= value <= high + F(1, 10**40)


def test_a_distance_of_nothing_is_0_and_nothing_is_smaller() -> None:
    tree = DecisionTreeClassifier().fit(TABLE[["a", "b"]], [0, 0, 0, 1, 1, 1])
    model = cfxc.compile(tree, FeatureSpace.infer(TABLE[["a", "b"]]))
    result = model.explain(TABLE[["a", "b"]].iloc[[0]], distance="return delta[2]")
    assert (result.status, str(result.distance)) == ("optimal", "0.0")
    assert "distance 0, and no distance is smaller" in result.summary()


def test_a_division_by_the_persons_own_0_names_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.cfl"
    path.write_text("s := delta[1];\nreturn s / factual.a")
    tree = DecisionTreeClassifier().fit(TABLE[["a", "b"]], [0, 0, 0, 1, 1, 1])
    model = cfxc.compile(tree, FeatureSpace.infer(TABLE[["a", "b"]]))
    assert model.explain(TABLE[["a", "b"]].iloc[[1]], distance=path).status == "optimal"
    with pytest.raises(cfxc.CfxcError, match=r"mine\.cfl:2: division by"):
        model.explain(TABLE[["a", "b"]].iloc[[0]], distance=path)

"""Distances: the paper's normalisation, convex combinations, the user's own programs, refusals."""

from __future__ import annotations

import pickle
import subprocess
import sys
from fractions import Fraction
from math import nextafter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfxc.errors import (
    CfxcError,
    DataTypeError,
    InvalidInputError,
    LanguageError,
    MissingColumnError,
)
from cfxc.ir import REAL, Builder, Literal, evaluate, verify
from cfxc.question.distances import (
    FINEST,
    NORMS,
    RESULT,
    Distance,
    delta_name,
    delta_program,
    resolve_distance,
)
from cfxc.question.query import make_query
from cfxc.space import Feature, FeatureSpace
from cfxc.space.feature import sort_of

F = Fraction

SPACE = FeatureSpace(
    (
        Feature("age", "integer", lower=F(20), upper=F(60)),
        Feature("income", "real", lower=F(1, 2), upper=F(5, 2)),
        Feature("sector", "categorical", labels=("a", "b", None)),
        Feature("level", "ordinal", labels=("low", "mid", "high")),
        Feature("steps", "ordinal", lower=F(0), upper=F(4)),
        Feature("married", "binary", labels=(False, True)),
        Feature("constant", "integer", lower=F(7), upper=F(7)),
        Feature("only", "categorical", labels=("x",)),
    )
)
FACTUAL: dict[str, Any] = {
    "age": 30, "income": F(1), "sector": "a", "level": "mid", "steps": 1, "married": False,
    "constant": 7, "only": "x",
}  # fmt: skip
J = len(SPACE)


def deltas(**changes: Any) -> list[Fraction]:
    program = delta_program(SPACE, FACTUAL)
    verify(program)
    assert set(program.output_sorts.values()) == {REAL}
    found = evaluate(program, {**FACTUAL, **changes})
    assert list(found) == [delta_name(position) for position in range(1, J + 1)]
    return list(found.values())


def at(distance: Distance, *values: Any) -> Any:
    """The distance where delta is ``values``, then zeros."""
    padded = [*values, *[F(0)] * (len(distance.program.inputs) - len(values))]
    names = [name for name, _ in distance.program.inputs]
    return evaluate(distance.program, dict(zip(names, padded, strict=True)))[RESULT]


# -- delta -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "position", "expected"),
    [
        ({}, 1, 0),
        ({"age": 60}, 1, F(3, 4)),
        ({"age": 20}, 1, F(1, 4)),
        ({"income": F(5, 2)}, 2, F(3, 4)),
        ({"income": F(1, 2)}, 2, F(1, 4)),
        ({"income": F(4, 3)}, 2, F(1, 6)),
        ({"sector": "b"}, 3, 1),
        ({"sector": None}, 3, 1),
        ({"level": "low"}, 4, F(1, 2)),
        ({"level": "high"}, 4, F(1, 2)),
        ({"steps": 4}, 5, F(3, 4)),
        ({"married": True}, 6, 1),
    ],
)
def test_delta_of_one_feature(changes: dict[str, Any], position: int, expected: Fraction) -> None:
    found = deltas(**changes)
    assert found[position - 1] == expected
    assert not any(found[: position - 1] + found[position:])


def test_inputs_of_delta_are_the_features() -> None:
    assert [name for name, _ in delta_program(SPACE, FACTUAL).inputs] == list(SPACE.names)


def test_the_end_of_an_order_is_one_away_from_the_other() -> None:
    program = delta_program(SPACE, {**FACTUAL, "level": "low"})
    assert evaluate(program, {**FACTUAL, "level": "high"})["delta.4"] == 1


@given(st.integers(20, 60), st.integers(20, 60), st.fractions(F(1, 2), F(5, 2)))
def test_delta_of_numbers(age: int, other: int, income: Fraction) -> None:
    program = delta_program(SPACE, {**FACTUAL, "age": other})
    found = evaluate(program, {**FACTUAL, "age": age, "income": income})
    assert found["delta.1"] == F(abs(age - other), 40)
    assert found["delta.2"] == abs(income - 1) / 2


def test_what_delta_refuses() -> None:
    with pytest.raises(MissingColumnError, match="'only'"):
        delta_program(SPACE, {name: v for name, v in FACTUAL.items() if name != "only"})
    with pytest.raises(InvalidInputError, match="feature 'age': the factual value is missing"):
        delta_program(SPACE, {**FACTUAL, "age": None})
    with pytest.raises(InvalidInputError, match="is True, not a number"):
        delta_program(SPACE, {**FACTUAL, "age": True})
    with pytest.raises(InvalidInputError, match="sector: 'c' is not a category"):
        delta_program(SPACE, {**FACTUAL, "sector": "c"})


# -- the norms -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("l0", [], 0),
        ("l0", [F(1, 100)], F(1, 8)),
        ("l0", [1, F(1, 2), 0, 1], F(3, 8)),
        ("l1", [], 0),
        ("l1", [F(1, 2)], F(1, 16)),
        ("l1", [1] * 8, 1),
        ("linf", [], 0),
        ("linf", [F(1, 4), F(3, 4), F(1, 2)], F(3, 4)),
    ],
)
def test_norms(name: str, values: list[Any], expected: Fraction) -> None:
    distance = resolve_distance(name, SPACE)
    verify(distance.program)
    assert distance.program.output_sorts == {RESULT: REAL}
    assert [each for each, _ in distance.program.inputs] == [delta_name(j + 1) for j in range(J)]
    assert at(distance, *values) == expected


UNIT = st.lists(st.fractions(0, 1), min_size=J, max_size=J)
WEIGHTS = st.lists(st.fractions(0, 5), min_size=J, max_size=J).filter(any)


@given(UNIT, WEIGHTS, st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)))
def test_weighted_combinations(
    delta: list[Fraction], weight: list[Fraction], parts: tuple[int, int, int]
) -> None:
    space = SPACE
    for name, each in zip(SPACE.names, weight, strict=True):
        space = space.replace(name, weight=each)
    total = sum(parts)
    norms = [F(part, total) for part in parts] if total else [F(1), F(0), F(0)]
    distance = resolve_distance(dict(zip(NORMS, norms, strict=True)), space)
    l0 = sum(w for w, d in zip(weight, delta, strict=True) if d) / sum(weight)
    l1 = sum(w * d for w, d in zip(weight, delta, strict=True)) / sum(weight)
    linf = max(w * d for w, d in zip(weight, delta, strict=True)) / max(weight)
    assert at(distance, *delta) == norms[0] * l0 + norms[1] * l1 + norms[2] * linf
    assert distance.norms == (*norms, 0)
    assert distance.lower == 0
    assert 0 <= at(distance, *delta) <= 1


def test_weights_become_constants_and_zero_terms_vanish() -> None:
    space = FeatureSpace(SPACE.features[:2]).replace("age", weight=3)
    program = resolve_distance({"l1": 1, "linf": 0}, space).program
    assert [let.op.name for let in program.lets()] == ["mul", "add", "div"]
    mixed = resolve_distance({"l1": "1/3", "linf": "2/3"}, space).program
    assert "select" not in {let.op.name for let in mixed.lets()}


@pytest.mark.parametrize(
    ("spec", "name", "norms"),
    [
        ("l1", "l1", (0, 1, 0)),
        ({"l0": 1}, "l0", (1, 0, 0)),
        ({"l0": 0.0, "linf": 1}, "linf", (0, 0, 1)),
        ({"l0": 0.3, "l1": 0.7}, "0.3*l0 + 0.7*l1", (F(3, 10), F(7, 10), 0)),
        (" l0 = 0.3 ,l1=0.7", "0.3*l0 + 0.7*l1", (F(3, 10), F(7, 10), 0)),
        ({"l0": 0.1, "l1": 0.2, "linf": 0.7}, "0.1*l0 + 0.2*l1 + 0.7*linf",
         (F(1, 10), F(1, 5), F(7, 10))),
        ({"l1": "1/3", "linf": F(2, 3)}, "1/3*l1 + 2/3*linf", (0, F(1, 3), F(2, 3))),
    ],
)  # fmt: skip
def test_what_a_combination_means(spec: Any, name: str, norms: tuple[Any, ...]) -> None:
    distance = resolve_distance(spec, SPACE)
    assert (distance.name, distance.norms) == (name, (*norms, 0))
    assert distance.text.startswith("# ")
    assert resolve_distance(distance, SPACE) is distance


@given(UNIT, WEIGHTS)
def test_the_euclidean_norm(delta: list[Fraction], weight: list[Fraction]) -> None:
    space = SPACE
    for name, each in zip(SPACE.names, weight, strict=True):
        space = space.replace(name, weight=each)
    distance = resolve_distance("l2", space)
    assert distance == resolve_distance({"l2": 1}, space)
    assert distance.is_squared
    square = sum(w * d * d for w, d in zip(weight, delta, strict=True)) / sum(weight)
    assert at(distance, *delta) == square
    low, high = distance.root(square, -1), distance.root(square, 1)
    assert low**2 <= square <= high**2
    assert high - low <= F(nextafter(float(low), 2)) - low


@given(st.fractions(F(1, 10**30), 1), st.fractions(F(1, 10**9), F(999, 1000)))
def test_what_closes_a_gap(value: Fraction, epsilon: Fraction) -> None:
    plain, euclidean = resolve_distance("l1", SPACE), resolve_distance("l2", SPACE)
    assert plain.below(value, epsilon) == (1 - epsilon) * value
    assert plain.root(value, -1) == plain.root(value, 1) == value
    assert euclidean.below(value**2, epsilon) == ((1 - epsilon) * value) ** 2
    for distance, least in ((plain, value), (euclidean, value**2)):
        goal = distance.below(least, epsilon)
        assert 0 < goal < least
        assert distance.is_enough(goal, least, epsilon)
        short = distance.is_enough(goal * F(999, 1000), least, epsilon)
        assert short == (value <= FINEST), "only nearer than that, a search ends with a gap"


def test_nothing_is_nearer_than_0() -> None:
    for name in ("l1", "l2"):
        distance = resolve_distance(name, SPACE)
        assert distance.below(F(0), F(1, 2)) < 0
        assert distance.is_enough(F(0), F(0), F(1, 2))


@given(st.data())
def test_norms_add_up_to_what_their_programs_say(data: st.DataObject) -> None:
    spec = data.draw(st.sampled_from(["l0", "l1", "l2", "linf", {"l0": "1/3", "linf": "2/3"}]))
    space = SPACE.replace("age", weight=data.draw(st.fractions(0, 5)))
    builder = Builder("free")
    for feature in space:
        builder.input(feature.name, sort_of(feature))
    program = builder.build(value=Literal(F(0)))
    query = make_query(program, space, FACTUAL, target=(1, None), distance=spec)
    point = {
        "age": data.draw(st.integers(20, 60)), "income": data.draw(st.fractions(F(1, 2), F(5, 2))),
        "sector": data.draw(st.sampled_from(["a", "b", None])),
        "level": data.draw(st.sampled_from(["low", "mid", "high"])),
        "steps": data.draw(st.integers(0, 4)), "married": data.draw(st.booleans()),
        "constant": 7, "only": "x",
    }  # fmt: skip
    steps = evaluate(delta_program(space, FACTUAL), point)
    assert query.distance_to(point) == evaluate(query.distance.program, steps)[RESULT]


# -- the user's ------------------------------------------------------------------------------------


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mean.cfl"
    text = """# half of the mean
program half(delta: Real[J], weight: Real[J]) {
  total := 0;
  for j = 1..J do total := total + weight[j] * delta[j];
  return total / (2 * J)
}
"""
    path.write_text(text, encoding="utf-8")
    space = SPACE.replace("income", weight=4)
    for spec in (path, str(path), text):
        distance = resolve_distance(spec, space)
        assert (distance.name, distance.norms, distance.text) == ("half", None, text)
        assert at(distance, 1, 1) == F(5, 16)
        assert -F(1, 10**9) <= distance.lower <= 0


def test_features_and_factual_values() -> None:
    text = """
      if x.sector == factual.sector then near := 0 else near := 0.5;
      return max(near, (x.income - factual.income) / 2 * delta[1])
    """
    program = resolve_distance(text, SPACE).program
    verify(program)
    names = [name for name, _ in program.inputs]
    assert names[J:] == ["x.income", "x.sector", "factual.income", "factual.sector"]
    row = {
        **{delta_name(j + 1): F(1) for j in range(J)},
        "x.sector": "a", "factual.sector": None, "x.income": F(5, 2), "factual.income": F(1),
    }  # fmt: skip
    assert evaluate(program, row) == {RESULT: F(3, 4)}


def test_whole_results_are_real() -> None:
    program = resolve_distance("return ite(delta[1] > 0, 1, 0)", SPACE).program
    assert program.output_sorts == {RESULT: REAL}
    assert resolve_distance("return 1", SPACE).program.output_sorts == {RESULT: REAL}


def test_lower_bound_is_sound() -> None:
    text = "s := 1; for i = 1..J do s := s - delta[i]; return s"
    assert 0.999 < resolve_distance(f"{text} + {J}", SPACE).lower <= 1
    branches = resolve_distance("if delta[1] > 0.5 then return 3 else return 0.5", SPACE)
    assert 0.499 < branches.lower <= 0.5
    assert resolve_distance("return abs(x.income - 1)", SPACE).lower == 0
    assert resolve_distance("return abs(delta[1] - 0.3) - 0.1", SPACE).lower < 0


@pytest.mark.parametrize(
    ("spec", "kind", "message"),
    [
        ("L1", InvalidInputError, "unknown distance 'L1' (nearest: 'l1'"),
        ("manhattan", InvalidInputError, "nearest: 'l1'"),
        ("l3", InvalidInputError, "unknown distance 'l3'"),
        ({"l2": 0.5, "l1": 0.5}, InvalidInputError, "l2 is a root and cannot be mixed"),
        ({"l2": 2}, InvalidInputError, "l2 is a root and cannot be mixed"),
        ({}, InvalidInputError, "must sum to exactly 1, not 0"),
        ({"l0": 0.3, "l1": 0.6}, InvalidInputError, "must sum to exactly 1, not 0.9"),
        ({"l0": 0.3333, "l1": 0.6667, "linf": 1e-9}, InvalidInputError, "not 1.000000001"),
        ({"l0": -0.5, "l1": 1.5}, InvalidInputError, "coefficient of l0 is -0.5"),
        ({"l0": "a lot"}, InvalidInputError, "the coefficient of l0: 'a lot' is not"),
        ({"l0": True}, DataTypeError, "the coefficient of l0: True is not a number"),
        ({"l0": float("nan")}, InvalidInputError, "coefficient of l0"),
        ("l0=0.3,l0=0.7", InvalidInputError, "given twice: 'l0'"),
        ("l5=1", InvalidInputError, "unknown distance 'l5'"),
        ("l0=0.3,l1=0,7", InvalidInputError, "a mix of norms is written"),
        ("l0=0.3;l1=0.7", InvalidInputError, "a mix of norms is written"),
        ("0.3*l0+0.7*l1", InvalidInputError, "a mix of norms is written"),
        ("l0:0.3,l1:0.7", InvalidInputError, "a mix of norms is written"),
        ("mahalanobis=x.csv", InvalidInputError, "needs data"),
        ("a\0b.cfl", InvalidInputError, "holds a NUL"),
        (f"{'x' * 300}.cfl", InvalidInputError, "is so long"),
        (3, DataTypeError, "a distance is a name, a mapping of coefficients, a path or a program"),
        ("no_such.cfl", InvalidInputError, "no_such.cfl: cannot read the distance"),
        (Path("no_such"), InvalidInputError, "no_such: cannot read the distance"),
        ("return delta[9]", LanguageError, "no array 'delta' with an element 9"),
        ("return delta", LanguageError, "'delta' is an array"),
        ("return x.agee", LanguageError, "did you mean x.age"),
        ("return age", LanguageError, "distance:1:8: 'age' is neither an input nor assigned"),
        ("return x.sector", InvalidInputError, "returns one number without a name, not a Category"),
        ("return delta[1] > 0", InvalidInputError, "not a Bool"),
        ("return d = 1", InvalidInputError, "not the outputs d"),
        ("return 0", InvalidInputError, "distance: this distance is 0 everywhere"),
        ("return 0 * delta[1] + x.income * 0", InvalidInputError, "is 0 everywhere"),
        ("return delta[1] / 3 - delta[1] / 3", InvalidInputError, "is 0 everywhere"),
        ("s := 1;\nreturn s / delta[2]", InvalidInputError, "distance:2: this distance divides by"),
        ("return delta[1] / x.income", InvalidInputError, "divide by a constant or by a value of"),
        ("return ite(delta[1] > 0, 1 / delta[1], 0)", InvalidInputError, "distance:1: this"),
        ("return -1", InvalidInputError, "this distance is negative everywhere"),
        ("return -1 - x.income * delta[2]", InvalidInputError, "negative everywhere"),
        ("return delta[1] - delta[2]", InvalidInputError, "this one is -1 at delta.1 = 0"),
        ("return 1 / 2 - delta[8]", InvalidInputError, "at least 0, and this one is -0.5"),
        (
            "program d(delta: Real[J], age: Int) { return 1 }",
            InvalidInputError,
            "distance:1:27: 'age' is no parameter of a distance",
        ),
    ],
)
def test_refusals(spec: Any, kind: type[CfxcError], message: str) -> None:
    with pytest.raises(kind) as caught:
        resolve_distance(spec, SPACE)
    assert message in caught.value.message


@pytest.mark.parametrize(
    "far",
    ["delta[1] + 1e400", "1e400", "1e200*1e200*delta[1] + delta[2]",
     "abs(1e400*delta[1] - 1e400*delta[2])"],
)  # fmt: skip
def test_numbers_that_doubles_do_not_hold_make_no_distance(far: str) -> None:
    with pytest.raises(InvalidInputError, match="numbers beyond doubles"):
        resolve_distance(f"program d(delta: Real[J]) {{ return {far} }}", SPACE)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "bad.cfl"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInputError, match="not UTF-8 text; name its file"):
        resolve_distance(path, SPACE)
    path.write_text("return delta[0]", encoding="utf-8")
    with pytest.raises(LanguageError, match=r"bad\.cfl:1:14: index 0 lies outside"):
        resolve_distance(path, SPACE)


def test_weights_that_are_all_zero() -> None:
    space = FeatureSpace(SPACE.features[:1]).replace("age", weight=0)
    for name in NORMS:
        with pytest.raises(InvalidInputError, match="every feature has weight 0"):
            resolve_distance(name, space)


def test_norms_are_read_as_programs_only_where_one_is_asked_for() -> None:
    """A parser takes longer to make than many an answer; copies are the same distance."""
    script = (
        "import pandas as pd, cfxc; from cfxc.lang.parser import _parser; "
        "from sklearn.tree import DecisionTreeClassifier; "
        "X, y = pd.DataFrame({'a': [0.0, 1.0, 2.0, 3.0]}), [0, 0, 1, 1]; "
        "model = cfxc.compile(DecisionTreeClassifier().fit(X, y), cfxc.FeatureSpace.infer(X)); "
        "assert model.explain(X[:1], target=1).status == 'optimal'; "
        "assert not _parser.cache_info().currsize"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    mixed = resolve_distance({"l0": "1/4", "l1": "3/4"}, SPACE)
    again = pickle.loads(pickle.dumps(mixed))
    assert again == mixed
    assert again.program == mixed.program

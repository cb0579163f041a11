"""The data-wide claim of ``benchmarks/evidence.py`` on a few people; its checks can fail."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import pytest

from benchmarks.support.algorithm_1 import ModelFormula, algorithm_1
from benchmarks.support.cases import DISTANCES, EPSILON, Case, prepare
from benchmarks.support.evidence import check, examine, favourable_rows
from cfxc import datasets
from cfxc.question.query import make_query

pytestmark = pytest.mark.usefixtures("data_directory")  # skipped without the data

PEOPLE = 3


@lru_cache
def case(data: str, model: str) -> Case:
    return prepare(datasets.load(data), model)


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("model", ["lr", "tree", "forest(10)"])
@pytest.mark.parametrize("data", ["compas", "credit"])
def test_every_answer_is_right(data: str, model: str, distance: str) -> None:
    chosen = case(data, model)
    favourable = favourable_rows(chosen)
    assert any(favourable)
    for i in range(PEOPLE):
        finding = examine(chosen, chosen.people.iloc[[i]], distance, favourable)
        assert not finding.faults
        assert finding.answer.status == "optimal"
        assert finding.observable is not None


def test_improvement_is_relative_to_the_nearest_row() -> None:
    chosen = case("credit", "lr")
    favourable = favourable_rows(chosen)
    finding = examine(chosen, chosen.people.iloc[[0]], "l1", favourable)
    assert finding.distance is not None
    assert finding.observable is not None
    assert finding.improvement == float(1 - finding.distance / finding.observable)
    assert 0.3 < finding.improvement < 1


def test_what_is_wrong_is_found() -> None:
    chosen = case("compas", "lr")
    favourable = favourable_rows(chosen)
    person = chosen.people.iloc[[0]]
    good = examine(chosen, person, "l1", favourable).answer
    row = good.counterfactual
    assert row is not None
    assert good.distance is not None

    def faults(**changes: object) -> str:
        return "; ".join(check(chosen, replace(good, **changes), "l1", favourable).faults)

    assert faults() == ""
    assert "no answer" in faults(counterfactual=None)
    assert "does not flip" in faults(counterfactual=person)
    assert "implausible" in faults(counterfactual=row.assign(priors_count=39))
    assert "implausible" in faults(counterfactual=row.assign(priors_count=0.5))
    assert "implausible" in faults(counterfactual=row.assign(race="Martian"))
    assert "dtype" in faults(counterfactual=row.astype({"priors_count": "float64"}))
    assert "columns" in faults(counterfactual=row[row.columns[::-1]])
    assert "says distance" in faults(distance=good.distance / 2)
    assert "lower bound" in faults(lower_bound=good.distance + 0.01)
    candidates = chosen.train[favourable]
    farthest = max(
        (candidates.iloc[[i]] for i in range(200)),
        key=lambda other: int((other.iloc[0] != person.iloc[0]).sum()),
    )
    assert "farther than a training row" in faults(counterfactual=farthest)


@pytest.mark.parametrize(("model", "distance"), [*(("lr", d) for d in DISTANCES), ("tree", "l1")])
def test_algorithm_1_as_printed_finds_the_same_optimum(model: str, distance: str) -> None:
    chosen = case("compas", model)
    target = chosen.data.favourable
    formula = ModelFormula.of(chosen.compiled.program)
    for i in (1, 2):  # people share the formula of the model
        person = chosen.people.iloc[[i]]
        answer = chosen.compiled.explain(person, target=target, distance=distance, epsilon=EPSILON)
        query = make_query(
            chosen.compiled.program, chosen.data.space, chosen.data.space.encode_row(person),
            target=target, distance=distance,
        )  # fmt: skip
        bracket = algorithm_1(formula, query, Fraction(EPSILON), 60.0)
        assert bracket.finished
        assert bracket.upper - bracket.lower <= Fraction(EPSILON)
        assert bracket.calls == 10  # 2**-10 < 1e-3
        assert answer.distance is not None
        assert bracket.lower < Fraction(answer.distance)
        assert answer.lower_bound <= bracket.upper


def test_algorithm_1_stops_in_time() -> None:
    chosen = case("compas", "tree")
    person = chosen.people.iloc[[0]]
    query = make_query(
        chosen.compiled.program, chosen.data.space, chosen.data.space.encode_row(person),
        target=chosen.data.favourable, distance="l1",
    )  # fmt: skip
    bracket = algorithm_1(ModelFormula.of(chosen.compiled.program), query, Fraction(EPSILON), 0.3)
    assert not bracket.finished
    assert bracket.upper - bracket.lower > Fraction(EPSILON)

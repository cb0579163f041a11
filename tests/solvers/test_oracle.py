"""How the search behaves: bounds, calls, limits, several answers, refusals."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pandas as pd
import pytest

import cfxc
from cfxc import FeatureSpace
from cfxc.errors import CfxcError, InvalidInputError, SolverError
from cfxc.lang import compile_program
from cfxc.question.query import Query, make_query
from cfxc.solvers.base import Deployed, Limits, Outcome, Point, verify
from cfxc.solvers.smt import Answer, Backend, backend, search
from cfxc.space import Feature
from cfxc.space.feature import sort_of
from tests.solvers.grids import NORMS, brute_force, distance_of, norm
from tests.solvers.kinds import EPSILON, KINDS, outcome_of, task, trained

F = Fraction

SPACE = FeatureSpace(
    (
        Feature("a", "integer", lower=F(0), upper=F(8)),
        Feature("b", "integer", lower=F(0), upper=F(8)),
        Feature("c", "categorical", labels=("x", "y")),
    )
)
TINY = F(1, 10**6)
OWN: Point = {"a": 0, "b": 0, "c": "x"}
#: "yes" from a + b = 4 on with c = "y", and from a + b = 6 on with "x"
TEXT = """
  total := a + b;
  if c == "y" then bonus := 2 else bonus := 0;
  if total + bonus >= 6 then return label = "yes" else return label = "no"
"""


def query(
    distance: Any = "l1", space: FeatureSpace = SPACE, subject_to: Sequence[str] = ()
) -> Query:
    sorts = ", ".join(f"{f.name}: {sort_of(f)}" for f in space)
    program = compile_program(f"program p({sorts}) {{ {TEXT} }}")
    return make_query(program, space, OWN, target="yes", distance=distance, subject_to=subject_to)


def run(
    asked: Query,
    solver: Backend | None = None,
    deployed: Deployed = lambda point: True,
    epsilon: Fraction = TINY,
    seconds: float = 20.0,
    seeds: Sequence[Point] = (),
) -> Outcome:
    return search(asked, deployed, Limits(epsilon, seconds, seeds), solver or backend("z3"))


def distances(asked: Query, deployed: Deployed = lambda point: True) -> list[Fraction]:
    """The distances of all counterfactuals, by l1 as in the paper."""
    found = []
    for a in range(9):
        for b in range(9):
            for c in "xy":
                point = {"a": a, "b": b, "c": c}
                if a + b + 2 * (c == "y") >= 6 and not asked.violated(point) and deployed(point):
                    found.append((F(a, 8) + F(b, 8) + (c == "y")) / 3)
    return sorted(found)


class Scripted(Backend):
    """Answers that a solver could give, whatever is asked; ``by`` tells them apart."""

    name = "scripted"

    def __init__(self, *answers: str) -> None:
        self.answers, self.asked = list(answers), 0

    def check_text(self, text: str, seconds: float) -> Answer:
        self.asked += 1
        return Answer(self.answers[min(self.asked, len(self.answers)) - 1], reason="scripted")


class Witness(Backend):
    """Counts the queries of another solver."""

    name = "witness"

    def __init__(self) -> None:
        self.inner, self.texts = backend("z3"), list[str]()

    def check_text(self, text: str, seconds: float) -> Answer:
        self.texts.append(text)
        return self.inner.check_text(text, seconds)


# -- bounds ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [F(1, 2), F(1, 10), F(1, 100), F(1, 10**6)], ids=str)
def test_the_gap_is_at_most_epsilon(epsilon: Fraction) -> None:
    outcome = run(query(), epsilon=epsilon)
    optimum = distances(query())[0]
    assert outcome.best is not None
    assert outcome.lower <= optimum <= outcome.best.distance
    assert outcome.lower >= (1 - epsilon) * outcome.best.distance


def test_a_wide_epsilon_needs_no_refutation() -> None:
    outcome = run(query(), Scripted("sat"), epsilon=F(1))
    assert (outcome.calls, outcome.lower, outcome.proved_by) == ([], 0, ())


def test_only_refutations_raise_the_lower_bound() -> None:
    outcome = run(query(), Scripted("unknown"), seconds=2)
    assert outcome.best is not None
    by_bounds = [call for call in outcome.calls if call.refutes]
    assert {call.by for call in by_bounds} <= {"bounds"}
    assert float(outcome.lower) == max((call.delta for call in by_bounds), default=0.0)
    assert outcome.lower <= distances(query())[0]
    assert "scripted" in outcome.reason


def test_every_call_is_recorded() -> None:
    solver = Witness()
    outcome = run(query(), solver)
    asked = [call for call in outcome.calls if call.by == "witness"]
    assert len(asked) == len(solver.texts)
    assert {call.status for call in outcome.calls} <= {"sat", "unsat"}
    assert all(0 <= call.delta <= 1 and 0 <= call.seconds < 20 for call in outcome.calls)
    refuted = [call.delta for call in outcome.calls if call.refutes]
    assert float(outcome.lower) == max(refuted)
    optimum = distances(query())[0]
    for call in outcome.calls:
        assert call.refutes == (F(call.delta) < optimum), call


def test_under_l0_radii_lie_on_the_grid() -> None:
    outcome = run(query("l0"))
    assert outcome.best is not None
    assert (outcome.best.distance, outcome.lower) == (F(1, 3), F(1, 3))
    assert {call.delta for call in outcome.calls} <= {0.0, 1 / 3, 2 / 3, 1.0}


def test_answers_of_no_known_kind_are_an_error() -> None:
    with pytest.raises(SolverError, match="scripted answered 'perhaps'"):
        run(query(subject_to=["a * b >= 4"]), Scripted("perhaps"))


# -- nothing, or not in time -----------------------------------------------------------------------


def test_nobody_can_do_anything() -> None:
    fixed = SPACE
    for feature in SPACE:
        fixed = fixed.replace(feature.name, action="fixed")
    outcome = run(query(space=fixed), Scripted("sat"))
    assert outcome.infeasible
    assert outcome.best is None
    assert [(call.delta, call.status, call.by) for call in outcome.calls] == [
        (1.0, "unsat", "bounds")
    ]


@pytest.mark.parametrize("solver", ["z3", "cvc5", "auto", "pysmt:z3"])
def test_contradictory_constraints(solver: str) -> None:
    asked = query(subject_to=["2 * a + b <= 7", "b <= a", 'c == "x"'])
    assert not distances(asked)
    outcome = run(asked, backend(solver))
    assert outcome.infeasible
    assert outcome.proved_by


def test_no_time_and_no_answer() -> None:
    asked = query(subject_to=["a * b == 35"])  # one point, which greedy steps do not reach
    outcome = run(asked, Scripted("unknown"), seconds=1)
    assert not outcome.infeasible
    assert outcome.best is None
    assert outcome.lower == 0
    assert outcome.reason


def test_no_time_left_at_all() -> None:
    outcome = run(query(), Scripted("sat"), seconds=1e-9)
    assert outcome.best is not None, "the local search found it before"
    assert outcome.reason == "time limit"
    assert outcome.lower <= distances(query())[0] <= outcome.best.distance


def test_a_result_out_of_time() -> None:
    model, space, compiled = trained("relu")
    asked = task(model, space, "two", seed=3)
    answer = compiled.explain(asked.row, target=asked.target, epsilon=1e-9, time_limit=1e-9)
    best = brute_force(space, asked.own, model.predict, asked.wanted, norm(space, 0, 1, 0))
    assert answer.status in ("feasible", "unknown")
    assert answer.reason
    assert F(answer.lower_bound) <= best[0].distance
    if answer.distance is not None:
        assert F(answer.distance) >= best[0].distance
        assert answer.gap > 1e-9


# -- the deployed model has the last word ----------------------------------------------------------


def test_a_deployed_model_that_refuses_the_optimum() -> None:
    asked = query()
    nearest = distances(asked)[0]

    def deployed(point: Point) -> bool:
        return asked.distance_to(point) > nearest + F(1, 50)

    outcome = run(asked, deployed=deployed, epsilon=F(1, 1000), seconds=60)
    assert outcome.best is not None
    assert deployed(outcome.best.point)
    assert verify(asked, outcome.best.point, deployed) == outcome.best
    assert outcome.lower <= nearest, "the bound speaks of the exact program"
    assert outcome.best.distance >= distances(asked, deployed)[0]
    assert outcome.best.distance - outcome.lower > F(1, 1000)
    assert "deployed" in outcome.reason


def test_a_deployed_model_that_refuses_everything() -> None:
    outcome = run(query(), deployed=lambda point: False, seconds=60)
    assert outcome.best is None
    assert not outcome.infeasible, "the exact program has counterfactuals"
    assert outcome.lower <= distances(query())[0]
    assert outcome.reason


# -- several answers, seeds ------------------------------------------------------------------------


@pytest.mark.parametrize("distance", NORMS)
@pytest.mark.parametrize("kind", ["tree plain", "logistic", "forest of 3"])
def test_several_answers_are_the_next_optima(kind: str, distance: str) -> None:
    model, space, compiled = trained(kind)
    asked = task(model, space, outcome_of(kind), seed=5)
    metric = norm(space, *NORMS[distance])
    best = brute_force(space, asked.own, model.predict, asked.wanted, metric)
    answer = compiled.explain(
        asked.row, target=asked.target, distance=distance, epsilon=EPSILON, count=5
    )
    found = answer.all()
    assert len(found) == min(5, len(best))
    rows = pd.concat([each.counterfactual for each in found])
    assert not rows.duplicated().any()
    assert len(answer.to_frame()) == len(found) + 1
    given = [each.distance for each in found]
    pairs = pairwise(given)
    assert all(b >= a - EPSILON for a, b in pairs), "each is optimal to within epsilon"
    for each, expected in zip(found, best, strict=False):
        assert each.status == "optimal"
        assert each.counterfactual is not None
        assert each.distance == pytest.approx(float(expected.distance), abs=EPSILON)
        assert F(each.lower_bound) <= expected.distance
        assert distance_of(space, each.counterfactual, asked.own, metric) <= F(each.distance or 0)


def test_fewer_answers_than_asked_for() -> None:
    model, space, _ = trained("tree plain")
    for name in ("kids", "rate", "narrow"):
        space = space.replace(name, action="fixed")
    compiled = cfxc.compile(model, space)
    metric = norm(space, 0, 1, 0)
    seen = set()
    for seed in range(20):
        asked = task(model, space, "two", seed=seed)
        best = brute_force(space, asked.own, model.predict, asked.wanted, metric)
        answer = compiled.explain(asked.row, target=asked.target, epsilon=EPSILON, count=6)
        seen.add(len(best))
        if best:
            assert len(answer.all()) == len(best)
        else:
            assert (answer.status, answer.alternatives) == ("infeasible", ())
            assert (answer.lower_bound_proof, answer.counterfactual) == ("search", None)
    assert {0, 1} < seen


@pytest.mark.parametrize("kind", ["relu of 3", "forest plain"])
def test_seeds_do_not_change_the_optimum(kind: str) -> None:
    model, space, compiled = trained(kind)
    asked = task(model, space, outcome_of(kind), seed=9)
    best = brute_force(space, asked.own, model.predict, asked.wanted, norm(space, 0, 1, 0))
    far = compiled.space.decode(best[-1].point)
    rows = pd.concat([far, asked.row, compiled.space.decode(best[0].point)])
    answer = compiled.explain(asked.row, target=asked.target, epsilon=EPSILON, seeds=rows)
    assert answer.status == "optimal"
    assert answer.distance == pytest.approx(float(best[0].distance), abs=EPSILON)


def test_a_seed_is_an_upper_bound() -> None:
    """Where greedy steps find nothing, a seed spares the search for a first point."""
    asked = query(subject_to=["a * b == 35"])
    seed = {"a": 5, "b": 7, "c": "x"}
    without, beside = run(asked), run(asked, seeds=[seed])
    assert without.best is not None
    assert beside.best is not None
    assert without.best.distance == beside.best.distance == distances(asked)[0]
    assert without.calls[0].delta == 1.0
    assert all(call.delta < 0.7 for call in beside.calls)


def test_the_same_seed_gives_the_same_answer() -> None:
    model, space, compiled = trained("forest")
    asked = task(model, space, "two", seed=2)
    first, second = (
        compiled.explain(asked.row, target=asked.target, random_state=4).to_dict() for _ in range(2)
    )
    for one in (first, second):
        del one["seconds"]
        one["calls"] = [(c["delta"], c["status"], c["by"]) for c in one["calls"]]
    assert first == second


# -- options ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param({"method": "magic"}, "unknown method 'magic'", id="method"),
        pytest.param({"epsilon": 0}, "epsilon must be", id="epsilon 0"),
        pytest.param({"epsilon": float("nan")}, "epsilon must be", id="epsilon nan"),
        pytest.param({"epsilon": float("inf")}, "epsilon must be", id="epsilon inf"),
        pytest.param({"time_limit": 0}, "time_limit must be", id="no time"),
        pytest.param({"count": 0}, "count must be a whole number", id="count 0"),
        pytest.param({"n_jobs": 0}, "n_jobs must be -1, or a whole number", id="n_jobs 0"),
        pytest.param({"n_jobs": True}, "n_jobs must be -1, or a whole number", id="n_jobs true"),
        pytest.param({"count": 1.5}, "count must be a whole number", id="count 1.5"),
        pytest.param({"solver": "yices"}, "unknown solver 'yices'", id="solver"),
        pytest.param({"solver": "pysmt:"}, "unknown solver 'pysmt:'", id="pysmt without a name"),
        pytest.param({"target": 7}, "target 7 is no outcome", id="label"),
        pytest.param({"target": (0, 1)}, "is no outcome", id="range for a classifier"),
        pytest.param({"distance": "l3"}, "unknown distance 'l3'", id="distance"),
        pytest.param({"subject_to": ["age >"]}, "constraint 'age >':1:", id="constraint"),
        pytest.param({"subject_to": ["agee > 3"]}, "agee", id="unknown feature"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    model, space, compiled = trained("logistic")
    asked = task(model, space, "two", seed=1)
    with pytest.raises(CfxcError) as caught:
        compiled.explain(asked.row, **{"target": asked.target, **options})
    assert message in caught.value.message
    assert caught.value.exit_code == 2


def test_rows_in_the_target_are_refused() -> None:
    model, space, compiled = trained("logistic")
    asked = task(model, space, "two", seed=1)
    with pytest.raises(InvalidInputError, match="already has the outcome that is asked for"):
        compiled.explain(asked.row, target=model.predict(asked.row)[0])
    with pytest.raises(InvalidInputError, match="a row is"):
        compiled.explain([1, 2, 3])
    as_mapping = asked.row.iloc[0].to_dict()
    again = compiled.explain(as_mapping, target=asked.target, epsilon=EPSILON)
    assert again.status == "optimal"
    assert KINDS["logistic"][1] == "two"

"""Optimality: for every kind of model, enumeration of a small grid gives the same answer."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest

import cfxc
from cfxc import FeatureSpace
from tests.solvers.grids import NORMS, Condition, Metric, brute_force, distance_of, norm
from tests.solvers.kinds import EPSILON, KINDS, SMOOTH, check, outcome_of, task, trained

F = Fraction


@dataclass(frozen=True)
class Rules:
    """Actions, constraints as text, and the same as Python."""

    changes: dict[str, dict[str, Any]]
    constraints: tuple[str, ...]
    conditions: tuple[Condition, ...]


RULES = {
    "mixed": Rules(
        {
            "age": {"action": "increase"},
            "member": {"action": "fixed"},
            "level": {"action": "conditional", "condition": 'age >= 22 && sector != "art"'},
        },
        ("x.age - factual.age <= 3", 'pay >= 0.25 || level == "high"', "10 * pay <= age - 15"),
        (
            lambda x, own: x["level"] == own["level"] or (x["age"] >= 22 and x["sector"] != "art"),
            lambda x, own: x["age"] - own["age"] <= 3,
            lambda x, own: x["pay"] >= F(1, 4) or x["level"] == "high",
            lambda x, own: 10 * x["pay"] <= x["age"] - 15,
        ),
    ),
    "numbers": Rules(
        {
            "kids": {"action": "decrease"},
            "narrow": {"action": "increase"},
            "code": {"action": "conditional", "condition": "x.member"},
            "rate": {"weight": F(3)},
        },
        ("x.code == factual.code -> x.rate <= 0.5", "kids + 2 * rate >= factual.kids - 2"),
        (
            lambda x, own: x["code"] == own["code"] or x["member"],
            lambda x, own: x["code"] != own["code"] or x["rate"] <= F(1, 2),
            lambda x, own: x["kids"] + 2 * x["rate"] >= own["kids"] - 2,
        ),
    ),
    "groups": Rules(
        {
            "edu": {"action": "increase"},
            "job": {"action": "conditional", "condition": "edu > 0"},
            "hours": {"action": "free", "weight": F(1)},
        },
        ('job != "d"', "x.hours > factual.hours -> gap <= 1"),
        (
            lambda x, own: x["job"] == own["job"] or x["edu"] > 0,
            lambda x, own: x["job"] != "d",
            lambda x, own: x["hours"] <= own["hours"] or x["gap"] <= 1,
        ),
    ),
}


def restricted(space: FeatureSpace, rules: Rules) -> FeatureSpace:
    for name, changes in rules.changes.items():
        space = space.replace(name, **changes)
    return space


Variant = tuple[Any, tuple[Any, Any, Any]]
MIX: Variant = ({"l0": 0.2, "l1": 0.5, "linf": 0.3}, (F(1, 5), F(1, 2), F(3, 10)))
#: Text of a distance over every kind of feature, and what it means.
WRITTEN = {
    "mixed": (
        """
program own(delta: Real[J]) {
  total := 0;
  for j = 1..J do total := total + j * delta[j];
  if x.sector == "art" then total := total + 0.5 else skip;
  return max(total / 20, delta[2] * delta[2], (x.age - factual.age) / 8)
}
""",
        lambda d, x, own: max(
            (sum(j * each for j, each in enumerate(d, start=1)) + F(x["sector"] == "art") / 2) / 20,
            d[1] ** 2,
            F(x["age"] - own["age"]) / 8,
        ),
    ),
    "numbers": (
        "return (delta[1] + ite(delta[2] > 0.3, 2 * delta[2], delta[2]) + 3 * delta[3]) / 5"
        " + ite(x.member == factual.member, 0, 0.25) + delta[5] / 10",
        lambda d, x, own: (
            (d[0] + d[1] * (2 if d[1] > F(3, 10) else 1) + 3 * d[2]) / 5 + d[3] / 4 + d[4] / 10
        ),
    ),
    "groups": (
        "a := max(delta[1], delta[2]); b := max(delta[3], delta[4]); return 0.7 * a + 0.3 * b",
        lambda d, x, own: F(7, 10) * max(d[0], d[1]) + F(3, 10) * max(d[2], d[3]),
    ),
}


def solved(kind: str, distance: Any, metric: Metric | None, seed: int, **options: Any) -> str:
    """Ask and check, without constraints; gives the status."""
    model, space, compiled = trained(kind)
    asked = task(model, space, outcome_of(kind), seed)
    metric = metric or norm(space, *NORMS[distance])
    best = brute_force(space, asked.own, model.predict, asked.wanted, metric)
    assert best
    answer = compiled.explain(
        asked.row, target=asked.target, distance=distance, epsilon=EPSILON, **options
    )
    check(answer, model, space, asked, best, metric)
    return answer.status


@pytest.mark.sampled(4)
@pytest.mark.parametrize("distance", NORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind(kind: str, distance: str) -> None:
    solved(kind, distance, None, len(distance) + len(kind), solver="z3")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("distance", NORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_under_actions_and_constraints(kind: str, distance: str) -> None:
    model, space, _ = trained(kind)
    rules = RULES[KINDS[kind][2]]
    space = restricted(space, rules)
    metric = norm(space, *NORMS[distance])
    compiled = cfxc.compile(model, space)
    for seed in (11, 12):
        asked = task(model, space, KINDS[kind][1], seed + len(kind))
        best = brute_force(space, asked.own, model.predict, asked.wanted, metric, rules.conditions)
        answer = compiled.explain(
            asked.row, target=asked.target, distance=distance, epsilon=EPSILON,
            subject_to=rules.constraints, solver="z3",
        )  # fmt: skip
        check(answer, model, space, asked, best, metric, rules.conditions)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("distance", NORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_cvc5_gives_the_same(kind: str, distance: str) -> None:
    solved(kind, distance, None, len(distance) + len(kind), solver="cvc5")


@pytest.mark.parametrize("kind", ["logistic", "tree of 3", "forest plain", "relu"])
def test_pysmt_gives_the_same(kind: str) -> None:
    solved(kind, "l1", None, 2 + len(kind), solver="pysmt:z3")


@pytest.mark.parametrize("kind", KINDS)
def test_a_mix_of_norms(kind: str) -> None:
    _, space, _ = trained(kind)
    spec, norms = MIX
    solved(kind, spec, norm(space, *norms), 31 + len(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_a_distance_of_the_users_own(kind: str) -> None:
    text, metric = WRITTEN[KINDS[kind][2]]
    solved(kind, text, metric, 41 + len(kind))


def test_the_constraints_bind() -> None:
    """They rule answers out, all of them for some people, or the tests above would show little."""
    farther = impossible = 0
    for kind in ("logistic", "tree plain", "forest of 3", "tree of 3"):
        model, space, _ = trained(kind)
        rules = RULES[KINDS[kind][2]]
        metric = norm(space, *NORMS["l1"])
        for seed in (11, 12):
            asked = task(model, space, outcome_of(kind), seed + len(kind))
            parts = (model.predict, asked.wanted, metric)
            free = brute_force(space, asked.own, *parts)
            bound = brute_force(restricted(space, rules), asked.own, *parts, rules.conditions)
            impossible += not bound
            farther += bool(bound) and bound[0].distance > free[0].distance
    assert (farther >= 2, impossible >= 1) == (True, True), (farther, impossible)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("distance", NORMS)
@pytest.mark.parametrize("kind", SMOOTH)
def test_smooth_networks(kind: str, distance: str) -> None:
    """Boxes of their features are bounded between lines, and end as points."""
    model, space, compiled = trained(kind)
    asked = task(model, space, outcome_of(kind), seed=3)
    metric = norm(space, *NORMS[distance])
    best = brute_force(space, asked.own, model.predict, asked.wanted, metric)
    answer = compiled.explain(
        asked.row,
        target=asked.target,
        distance=distance,
    )
    assert answer.counterfactual is not None
    assert answer.distance is not None
    assert F(answer.lower_bound) <= best[0].distance <= F(answer.distance)
    assert distance_of(space, answer.counterfactual, asked.own, metric) <= F(answer.distance)
    assert asked.wanted(model.predict(answer.counterfactual)[0])
    assert answer.status == "optimal"
    assert F(answer.distance) <= best[0].distance * (1 + F(2, 1000))

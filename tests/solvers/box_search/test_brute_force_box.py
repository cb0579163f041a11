"""Box search finds what enumeration of a small grid finds, for every ensemble it takes."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import cfxc
from cfxc.errors import UnsupportedError
from tests.solvers import kinds
from tests.solvers import test_brute_force_ensembles as ensembles
from tests.solvers.grids import NORMS, Metric, brute_force, norm
from tests.solvers.kinds import EPSILON, check, task
from tests.solvers.test_brute_force import MIX, RULES, restricted

TREES = [kind for kind in kinds.KINDS if "tree" in kind or "forest" in kind]
REFUSED = {
    "bagging of votes", "votes", "weighted votes", "median", "svc", "svc of 3", "svr",
}  # fmt: skip
BOOSTED = [kind for kind in ensembles.KINDS if kind not in REFUSED]


def solved(kind: str, distance: Any, metric: Metric | None, seed: int) -> None:
    source = kinds if kind in kinds.KINDS else ensembles
    model, space, compiled = source.trained(kind)
    outcome = ensembles.BOOSTERS[kind][2] if kind in ensembles.BOOSTERS else source.KINDS[kind][1]
    asked = task(model, space, outcome, seed)
    metric = metric or norm(space, *NORMS[distance])
    best = brute_force(space, asked.own, model.predict, asked.wanted, metric)
    assert best
    answer = compiled.explain(
        asked.row, target=asked.target, distance=distance, epsilon=EPSILON, method="box"
    )
    check(answer, model, space, asked, best, metric)
    if kind != "mean of numbers":  # what its linear term leaves open goes to a solver
        assert answer.provers in (("box search",), ()), answer.provers


@pytest.mark.sampled(4)
@pytest.mark.parametrize("distance", NORMS)
@pytest.mark.parametrize("kind", [*TREES, *BOOSTED])
def test_every_kind(kind: str, distance: str) -> None:
    for seed in range(3):
        solved(kind, distance, None, len(distance) + len(kind) + seed)


@pytest.mark.sampled(4)
@pytest.mark.filterwarnings("ignore:categorical_feature keyword")  # it is used all the same
@pytest.mark.parametrize("distance", NORMS)
@pytest.mark.parametrize("kind", ensembles.BOOSTERS)
def test_every_booster(kind: str, distance: str) -> None:
    solved(kind, distance, None, len(distance) + len(kind))


@pytest.mark.parametrize("kind", [*TREES, *BOOSTED])
def test_a_mix_of_norms(kind: str) -> None:
    spec, norms = MIX
    source = kinds if kind in kinds.KINDS else ensembles
    solved(kind, spec, norm(source.trained(kind)[1], *norms), 31 + len(kind))


@pytest.mark.parametrize("kind", sorted(REFUSED))
def test_what_is_no_sum_of_trees_is_refused(kind: str) -> None:
    model, space, compiled = ensembles.trained(kind)
    asked = task(model, space, ensembles.KINDS[kind][1], 3)
    with pytest.raises(UnsupportedError, match="'box' does not take this question"):
        compiled.explain(asked.row, target=asked.target, method="box")


@pytest.mark.parametrize("distance", NORMS)
@pytest.mark.parametrize("kind", TREES)
def test_under_actions_and_constraints(kind: str, distance: str) -> None:
    model, space, _ = kinds.trained(kind)
    rules = RULES[kinds.KINDS[kind][2]]
    space = restricted(space, rules)
    metric = norm(space, *NORMS[distance])
    compiled = cfxc.compile(model, space)
    for seed in (11, 12):
        asked = task(model, space, kinds.KINDS[kind][1], seed + len(kind))
        best = brute_force(space, asked.own, model.predict, asked.wanted, metric, rules.conditions)
        answer = compiled.explain(
            asked.row, target=asked.target, distance=distance, epsilon=EPSILON,
            subject_to=rules.constraints, method="box",
        )  # fmt: skip
        check(answer, model, space, asked, best, metric, rules.conditions)


@pytest.mark.parametrize(
    "text", ["x.member", "!x.member", "x.code == 9", "x.kids <= 2", "x.kids == 2"]
)
def test_one_plain_condition(text: str) -> None:
    """A constraint that is a single label test, or a single comparison."""
    model, space, compiled = kinds.trained("forest plain")
    condition = {
        "x.member": lambda x, own: x["member"],
        "!x.member": lambda x, own: not x["member"],
        "x.code == 9": lambda x, own: x["code"] == 9,
        "x.kids <= 2": lambda x, own: x["kids"] <= 2,
        "x.kids == 2": lambda x, own: x["kids"] == 2,
    }[text]
    metric = norm(space, *NORMS["l1"])
    for seed in range(4):
        asked = task(model, space, "two", seed)
        best = brute_force(space, asked.own, model.predict, asked.wanted, metric, [condition])
        answer = compiled.explain(
            asked.row, target=asked.target, epsilon=EPSILON, subject_to=text, method="box"
        )
        check(answer, model, space, asked, best, metric, [condition])


@pytest.mark.parametrize("kind", TREES)
def test_several_answers_are_the_nearest_ones(kind: str) -> None:
    model, space, compiled = kinds.trained(kind)
    asked = task(model, space, kinds.KINDS[kind][1], 5 + len(kind))
    metric = norm(space, *NORMS["l1"])
    best = brute_force(space, asked.own, model.predict, asked.wanted, metric)
    answer = compiled.explain(
        asked.row, target=asked.target, epsilon=EPSILON, method="box", count=4
    )
    found = [one.exact_distance for one in answer.all()]
    for mine, one in zip(found, best, strict=False):
        assert float(mine) == pytest.approx(float(one.distance), abs=2 * EPSILON)
    assert len(found) == min(4, len(best))
    rows = [tuple(one.counterfactual.iloc[0]) for one in answer.all()]
    assert len(set(rows)) == len(rows)


def test_the_distance_must_be_made_of_norms() -> None:
    model, space, compiled = kinds.trained("forest")
    asked = task(model, space, "two", 3)
    with pytest.raises(UnsupportedError, match="not made of the norms"):
        compiled.explain(
            asked.row, target=asked.target, distance="return delta[1] * delta[1]", method="box"
        )
    answer = compiled.explain(asked.row, target=asked.target, distance="return delta[1] * delta[1]")
    assert answer.solver != "box search"
    assert Fraction(answer.exact_lower_bound) >= 0

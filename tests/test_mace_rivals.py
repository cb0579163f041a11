"""The methods that ``benchmarks/mace.py`` compares with, on models small enough to see through."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from benchmarks.support.encodings import Part, decoded, projected
from benchmarks.support.recourse import Recourse
from benchmarks.support.tweaking import Tweaking
from cfxc import Feature, FeatureSpace

NUMBERS = FeatureSpace([Feature("a", "integer", 0, 10), Feature("b", "real", 0, 1)])
PLAIN = tuple(Part(NUMBERS[name], "number", j, j + 1) for j, name in enumerate(NUMBERS.names))


def tree() -> DecisionTreeClassifier:
    """1 where a > 4 and b > 1/2, or a > 8."""
    a, b = (each.ravel() for each in np.meshgrid(np.arange(11), np.linspace(0.05, 0.95, 10)))
    y = ((a > 4) & (b > 0.5)) | (a > 8)
    return DecisionTreeClassifier(random_state=0).fit(np.column_stack([a, b]), y.astype(int))


def test_tweaking_brings_the_row_to_every_favourable_leaf() -> None:
    model, own = tree(), np.array([3.0, 0.6])
    near = Tweaking(model, PLAIN, 1, np.array([1.0, 0.1]), 0.1, "near")
    found = near.candidates(own)
    assert len(found) == sum(model.tree_.value[model.tree_.children_left < 0][:, 0, 1] > 0.5)
    assert (model.predict(found) == 1).all()
    best = near.nearest(own, "l1", plausible=True)
    assert best is not None
    assert best.tolist() == [5.0, 0.6]  # 4.6 is no integer
    plain = near.nearest(own, "l1", plausible=False)
    assert plain is not None
    assert plain == pytest.approx([4.6, 0.6])
    assert decoded(PLAIN, {"a": 3, "b": Fraction(3, 5)}, own, plain) == (
        "implausible: a has no such value"
    )


def test_tweaking_as_published_moves_what_need_not_move() -> None:
    published = Tweaking(tree(), PLAIN, 1, np.array([1.0, 0.1]), 0.1)
    found = published.candidates(np.array([3.0, 0.6]))
    assert any(row == pytest.approx([4.6, 0.51]) for row in found)  # b was behind its cut before


def test_who_is_favourable_already_has_no_candidates() -> None:
    assert len(Tweaking(tree(), PLAIN, 1, np.ones(2), 0.1).candidates(np.array([9.0, 0.1]))) == 0


COLOUR = Feature("c", "categorical", labels=("r", "g", "b"))
LEVEL = Feature("l", "ordinal", labels=("low", "mid", "high"))


def test_projection_takes_the_category_that_was_switched_on() -> None:
    part = Part(COLOUR, "one-hot", 0, 3, COLOUR.labels)
    own = np.array([1.0, 0.0, 0.0])
    values = np.array([[1.0, 0.7, 0.0], [0.3, 0.0, 0.0], [0.8, 0.2, 0.1]])
    assert projected([part], own, values).argmax(axis=1).tolist() == [1, 1, 0]


def test_inconsistent_columns_have_no_value() -> None:
    colour, level = (Part(f, k, 0, n, f.labels) for f, k, n in
                     ((COLOUR, "one-hot", 3), (LEVEL, "steps", 2)))  # fmt: skip
    two = np.array([0.0, 1.0, 1.0])
    assert colour.value("r", True, two) is None
    assert colour.value("r", True, two, lenient=True) == "g"
    assert level.value("low", True, np.array([0.0, 1.0])) is None
    assert level.value("low", True, np.array([1.0, 1.0])) == "high"


@pytest.mark.parametrize("distance", ["l1", "linf"])
@pytest.mark.parametrize("cost", ["percentile", "distance"])
def test_recourse_is_the_cheapest_of_all_actions(cost: str, distance: str) -> None:
    rng = np.random.default_rng(0)
    space = FeatureSpace([Feature("a", "integer", 0, 6), Feature("b", "integer", 0, 4), COLOUR])
    layout = (
        Part(space["a"], "scaled", 0, 1, (), 3.0, 2.0),
        Part(space["b"], "number", 1, 2),
        Part(COLOUR, "one-hot", 2, 5, COLOUR.labels),
    )
    frame = pd.DataFrame({"a": rng.integers(0, 7, 200), "b": rng.integers(0, 5, 200)})
    rows = np.column_stack([(frame.a - 3) / 2, frame.b, np.eye(3)[rng.integers(0, 3, 200)]])
    score = rows @ [1.0, 0.7, -1.0, 0.2, 1.0] - 2.5
    model = LogisticRegression().fit(rows, (score > 0).astype(int))
    asked = 0
    for own in rows[model.predict(rows) == 0][:3]:
        recourse = Recourse(model, layout, 1, rows, cost)  # type: ignore[arg-type]
        actions = recourse.actions(own, distance)
        best = min(
            max(costs) if distance == "linf" else sum(costs)
            for values, costs in (
                ([a.values[k] for a, k in zip(actions, at, strict=True)],
                 [a.costs[k] for a, k in zip(actions, at, strict=True)])
                for at in product(*(range(len(a.values)) for a in actions))
            )
            if model.decision_function([values])[0] > 0
        )  # fmt: skip
        found = recourse.nearest(own, distance)
        assert found is not None
        assert model.predict(found[None])[0] == 1
        costs = [a.costs[np.isclose(a.values, found[a.column])][0] for a in actions]
        reached = max(costs) if distance == "linf" else sum(costs)
        assert best <= reached + 1e-9
        assert reached <= best + (1e-3 if distance == "linf" else 1e-6)
        asked += 1
    assert asked == 3

"""Questions that are refused before any search."""

from __future__ import annotations

from fractions import Fraction

import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import cfxc
from cfxc.errors import InvalidInputError
from cfxc.space import Feature

BIG = 2**53
TABLE = pd.DataFrame({"id": [0, 1, 2, 3], "a": [0, 1, 2, 3]})


def space(upper: int, action: str) -> cfxc.FeatureSpace:
    ends = {"lower": Fraction(0), "upper": Fraction(upper)}
    wide = Feature("id", "integer", action=action, **ends)  # type: ignore[arg-type]
    return cfxc.FeatureSpace((wide, Feature("a", "integer", lower=Fraction(0), upper=Fraction(3))))


@pytest.mark.parametrize("seed", range(4))  # the tree splits either column
def test_whole_numbers_that_doubles_do_not_tell_apart_are_refused(seed: int) -> None:
    """The neighbour of such a number may be no double, and models see doubles alone."""
    row = TABLE.iloc[[0]]
    tree = DecisionTreeClassifier(random_state=seed).fit(TABLE, [0, 0, 1, 1])
    with pytest.raises(InvalidInputError, match=r"id: values beyond 2\^53"):
        cfxc.compile(tree, space(BIG + 4, "free")).explain(row)
    fixed = cfxc.compile(tree, space(BIG + 4, "fixed")).explain(row)
    assert fixed.status in ("optimal", "infeasible")
    near = cfxc.compile(tree, space(BIG, "free")).explain(row)
    assert near.status == "optimal" or "finer than searches tell apart" in near.reason

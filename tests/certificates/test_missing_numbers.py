"""A factual whose number is missing: it stays so, and the reader says it."""

from __future__ import annotations

from fractions import Fraction as Q
from typing import Any

import pytest

from cfxc.certificates.auditing.policy import Stated, _require_wide, require_same
from cfxc.certificates.auditing.sampling import _value, table
from cfxc.certificates.checker import Feature, Rejected
from tests.certificates.handmade import CODE, COUNT, REAL, SPACE

GAP = {**REAL, "missing": True}
GAPS = SPACE.replace('kind = "real"', 'kind = "real"\nmissing = true')


@pytest.mark.parametrize("action", ["free", "increase", "decrease", "conditional", "fixed"])
def test_it_may_not_change(action: str) -> None:
    found = Feature({**GAP, "action": action}, "-1", "f")
    assert found.gap
    assert found.all == (-1, -1)
    assert found.delta(Q(-1)) == 0
    assert found.near(Q(-5), 1) == found.near(Q(3), -1) == -1
    assert found.near(Q(0), 1) is None
    assert found.size == 4


@pytest.mark.parametrize(
    ("given", "own"),
    [
        (GAP, "0"),  # it lies in the range
        (GAP, "5"),
        (GAP, "-1/3"),  # no double
        (REAL, "-1"),  # nothing says that it is missing
        ({**REAL, "missing": False}, "-1"),
        ({**REAL, "missing": False}, "1"),
        ({**REAL, "missing": 1}, "-1"),
        ({**CODE, "missing": True}, "a"),
        ({**GAP, "lower": "5"}, "-1"),  # no range
        ({**GAP, "lower": None, "upper": None}, "-1"),
        ({**COUNT, "missing": True}, str(-(2**53) - 2)),
    ],
)
def test_what_is_no_missing_number(given: dict[str, Any], own: str) -> None:
    with pytest.raises(Rejected):
        Feature(given, own, "f")


def test_a_space_in_which_it_cannot_be_missing() -> None:
    features = [Feature(COUNT, "1", "n"), Feature(GAP, "-1", "x"), Feature(CODE, "a", "code")]
    require_same(GAPS, features)
    with pytest.raises(Rejected, match="'x': it cannot be missing"):
        require_same(SPACE, features)


def test_a_policy_says_that_it_may_be() -> None:
    found = Feature(GAP, "-1", "x")
    given = {"name": "x", "resolution": "1/2"}
    _require_wide(Stated({**given, "missing": True}, "policy"), found, False)
    with pytest.raises(Rejected, match="it is missing, and stays so"):
        _require_wide(Stated(given, "policy"), found, False)


def test_rows_for_the_model_have_none() -> None:
    features = [Feature(COUNT, "1", "n"), Feature(GAP, "-1", "x"), Feature(CODE, "a", "code")]

    class Asked:
        pass

    Asked.features = features  # type: ignore[attr-defined]
    frame = table(Asked, GAPS, [[Q(2), Q(-1), 1], [Q(0), Q(-1), 0]])
    assert frame["x"].isna().all()
    assert frame["n"].tolist() == [2, 0]
    assert _value(features[1], [float("nan")], "plain") == -1
    assert _value(features[1], [2.0], "plain") is None

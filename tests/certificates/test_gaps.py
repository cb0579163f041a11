"""Numbers that may be filled in or lost: what the checker takes, and that false claims fail."""

from __future__ import annotations

import copy
import itertools
from fractions import Fraction as Q
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

import cfxc
from cfxc.certificates import checker
from cfxc.certificates.auditing.policy import Stated, _require_wide, require_same
from cfxc.certificates.auditing.sampling import _value, table
from cfxc.certificates.checker import Feature, Rejected
from tests.certificates.handmade import CODE, COUNT, REAL, SPACE
from tests.certificates.mutants import rehashed

OPEN = {**REAL, "absent": "-1"}
FREE = SPACE.replace('kind = "real"', 'kind = "real"\nmissing = "free"')
FILLS = SPACE.replace('kind = "real"', 'kind = "real"\nmissing = "may fill"')
GRID = [Q(k, 2) for k in range(9)]


def admitted(given: dict[str, Any], own: str) -> list[Q]:
    """All numbers from -2 to 5, in quarters, that are their own next admissible one."""
    feature = Feature(given, own, "f")
    return [Q(k, 4) for k in range(-8, 21) if feature.near(Q(k, 4), 1) == Q(k, 4)]


@pytest.mark.parametrize(
    ("action", "own", "numbers"),
    [
        ("free", "-1", GRID),
        ("increase", "-1", GRID),
        ("decrease", "-1", GRID),
        ("conditional", "3/2", GRID),
        ("increase", "3/2", GRID[3:]),
        ("decrease", "3/2", GRID[:4]),
        ("free", "0.25", sorted([*GRID, Q(1, 4)])),
    ],
)
def test_what_is_admissible(action: str, own: str, numbers: list[Q]) -> None:
    own = str(Q(own))
    given = {**OPEN, "action": action}
    feature, values = Feature(given, own, "f"), [Q(-1), *numbers]
    assert admitted(given, own) == values
    places = [Q(k, 8) for k in range(-16, 41)]
    for place in places:
        above = [value for value in values if value >= place]
        below = [value for value in values if value <= place]
        assert feature.near(place, 1) == min(above, default=None)
        assert feature.near(place, -1) == max(below, default=None)
    assert feature.all == (-1, max(numbers))


@pytest.mark.parametrize("own", ["-1", "0", "3/2", "4"])
def test_changes_grow_away_from_the_factual(own: str) -> None:
    """Lemma 1a, and that the least over an interval is where lemma 6 looks."""
    feature, values = Feature(OPEN, own, "f"), [Q(-1), *GRID]
    for value in values:
        gone = (value == -1) != (Q(own) == -1)
        assert feature.delta(value) == (1 if gone else abs(value - Q(own)) / 4)
    for low, high in itertools.combinations_with_replacement(values, 2):
        inside = [value for value in values if low <= value <= high]
        assert feature.nearest((low, high)) == min(map(feature.delta, inside))


@pytest.mark.parametrize(
    ("given", "own"),
    [
        ({**OPEN, "action": "fixed"}, "1"),
        ({**OPEN, "missing": True}, "-1"),
        ({**OPEN, "absent": "0"}, "1"),  # of the range
        ({**OPEN, "absent": "1/2"}, "1"),
        ({**OPEN, "absent": "-1/3"}, "1"),  # no double
        ({**OPEN, "absent": None}, "1"),
        (OPEN, "-2"),  # neither in the range nor what stands for a missing one
        (OPEN, "-1/2"),
        ({**CODE, "absent": "-1"}, "a"),
        ({**COUNT, "absent": str(-(2**53) - 2)}, "1"),
    ],
)
def test_what_is_refused(given: dict[str, Any], own: str) -> None:
    with pytest.raises(Rejected):
        Feature(given, own, "f")


def test_the_space_says_the_same() -> None:
    def features(given: dict[str, Any], own: str) -> list[Feature]:
        pair = Feature(COUNT, "1", "n"), Feature(CODE, "a", "code")
        return [pair[0], Feature(given, own, "x"), pair[1]]

    require_same(FREE, features(OPEN, "1"))
    require_same(FREE, features(OPEN, "-1"))
    require_same(FILLS, features(OPEN, "-1"))
    require_same(FILLS, features(REAL, "1"))
    for text, given, own in (
        (FREE, REAL, "1"),
        (FREE, {**REAL, "missing": True}, "-1"),
        (FILLS, OPEN, "1"),
        (FILLS, {**REAL, "missing": True}, "-1"),
        (SPACE, OPEN, "1"),
        (SPACE, OPEN, "-1"),
        (FREE.replace('"free"', '"often"'), OPEN, "1"),
        (FREE.replace('"free"', "1"), OPEN, "1"),
    ):
        with pytest.raises(Rejected):
            require_same(text, features(given, own))


def test_a_policy_that_allows_more() -> None:
    def verdict(missing: Any, given: dict[str, Any], own: str) -> bool:
        entries = {"name": "x", "resolution": "1/2", "missing": missing}
        try:
            _require_wide(Stated(entries, "policy"), Feature(given, own, "x"), False)
        except Rejected:
            return False
        return True

    kept = {**REAL, "missing": True}
    assert verdict("free", OPEN, "1")
    assert verdict("may fill", OPEN, "-1")
    assert verdict("may fill", REAL, "1")
    assert verdict(True, OPEN, "-1")  # the question allows more
    assert verdict("keep", kept, "-1")
    assert not verdict("may fill", kept, "-1")
    assert not verdict("free", REAL, "1")
    assert not verdict(False, OPEN, "-1")


def test_rows_for_the_model() -> None:
    features = [Feature(COUNT, "1", "n"), Feature(OPEN, "1", "x"), Feature(CODE, "a", "code")]

    class Asked:
        pass

    Asked.features = features  # type: ignore[attr-defined]
    frame = table(Asked, FREE, [[Q(2), Q(-1), 1], [Q(0), Q(3, 2), 0]])
    assert frame["x"].isna().tolist() == [True, False]
    assert frame["x"].tolist()[1] == 1.5
    assert _value(features[1], [float("nan")], "plain") == -1
    assert _value(features[1], [1.5], "plain") == Q(3, 2)


# -- false claims ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pair() -> tuple[cfxc.Result, cfxc.Result]:
    """One row without a number: answers that keep it missing, and that may fill it in."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({name: rng.integers(0, 5, 400).astype(float) for name in "abcd"})
    X.loc[rng.random(400) < 0.4, "a"] = np.nan
    y = ((X["a"] >= 2) | (X["b"] + X["c"] + X["d"] > 10)).astype(int)
    model = HistGradientBoostingClassifier(max_iter=25, min_samples_leaf=3).fit(X, y)
    space = cfxc.FeatureSpace.infer(X, kinds=dict.fromkeys(X, "integer"))
    row = pd.DataFrame({"a": [np.nan], "b": [0.0], "c": [0.0], "d": [0.0]})
    kept = cfxc.compile(model, space).explain(row, target=1)
    filled = cfxc.compile(model, space.replace("a", missing="may fill")).explain(row, target=1)
    assert filled.distance is not None
    assert kept.distance is not None
    assert filled.distance == pytest.approx(0.25)
    assert kept.distance > filled.distance
    return kept, filled


def test_optimal_while_filling_in_would_be_nearer(pair: Any) -> None:
    """The proof that holds where the number stays missing shows nothing where it may be filled."""
    kept, filled = (answer.certificate.to_dict() for answer in pair)
    assert checker.check(kept).status == checker.check(filled).status == "optimal"
    forged = copy.deepcopy(kept)
    for name in ("features", "space"):
        forged[name] = copy.deepcopy(filled[name])
    with pytest.raises(Rejected, match="proof"):
        checker.check(rehashed(forged))
    # the same witness and claim with the true proof: it covers less
    forged["proof"] = copy.deepcopy(filled["proof"])
    with pytest.raises(Rejected, match="lower_bound"):
        checker.check(rehashed(forged))
    # and with its radius raised
    forged["proof"]["radius"] = kept["proof"]["radius"]
    with pytest.raises(Rejected, match="proof"):
        checker.check(rehashed(forged))


def test_a_gap_that_is_cheaper_than_it_is(pair: Any) -> None:
    """A stand-in right below the range makes filling in no nearer than 1."""
    filled = pair[1].certificate.to_dict()
    forged = copy.deepcopy(filled)
    forged["claim"]["distance"] = "1/16"
    with pytest.raises(Rejected, match="distance"):
        checker.check(rehashed(forged))


def test_a_file_that_says_that_the_number_is_kept(pair: Any) -> None:
    """Where the space lets it be filled in, a question that keeps it is another one."""
    kept, filled = (answer.certificate.to_dict() for answer in pair)
    forged = {**copy.deepcopy(kept), "space": filled["space"]}
    assert not cfxc.check(rehashed(forged)).ok
    loose = {**copy.deepcopy(filled), "space": kept["space"]}
    assert not cfxc.check(rehashed(loose)).ok


def test_every_bound_above_the_truth_is_rejected(pair: Any) -> None:
    filled = pair[1].certificate.to_dict()
    for share in (Q(11, 10), Q(2), Q(4)):
        forged = copy.deepcopy(filled)
        bound = checker.number(filled["proof"]["radius"]) * share
        forged["proof"]["radius"] = forged["claim"]["lower_bound"] = str(bound)
        with pytest.raises(Rejected):
            checker.check(rehashed(forged))

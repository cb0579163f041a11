"""Levels: quantile buckets, what they decode to, and where an instance may go."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cfxc
from cfxc.errors import ModelFileError
from cfxc.methods.amortised.levels import Levels
from cfxc.question.domain import domain_of, is_admissible
from cfxc.solvers.rows import exact_value

from .loans import loans


def cut(frame: pd.DataFrame, buckets: int = 4, rows: int = 20, **options: object) -> Levels:
    space = cfxc.FeatureSpace.infer(frame, **options)
    return Levels.cut(space, space.encode_frame(frame), buckets, rows)


def test_buckets_are_those_of_qcut() -> None:
    frame = pd.DataFrame({"x": np.random.default_rng(0).normal(size=500)})
    levels = cut(frame)
    binned = pd.qcut(frame["x"], 4)
    codes = levels.codes({"x": frame["x"].to_numpy()})[:, 0]
    assert (codes == binned.cat.codes).all()
    edges = pd.qcut(frame["x"], 4, retbins=True)[1]
    assert levels.features[0].values == pytest.approx((edges[1:] + edges[:-1]) / 2)


@given(
    st.lists(st.integers(-20, 20), min_size=30, max_size=80),
    st.sampled_from(["int", "0.1", "0.25"]),
    st.integers(2, 6),
    st.integers(1, 15),
)
@settings(max_examples=60, deadline=None)
def test_levels_decode_to_what_may_be_typed_in(
    whole: list[int], step: str, buckets: int, rows: int
) -> None:
    numbers = np.array(whole) if step == "int" else np.array([k * float(step) for k in whole])
    frame = pd.DataFrame({"x": numbers, "y": np.arange(len(whole))})
    levels = cut(frame, buckets, rows, kinds={"x": "integer" if step == "int" else "real"})
    each = levels.features[0]
    assert 1 <= len(each) <= buckets + 1
    assert (each.of(each.values) == np.arange(len(each))).all()
    codes = each.of(frame["x"].to_numpy())
    if len(each) > 1:
        assert np.bincount(codes).min() >= rows
    domain = domain_of(each.feature, exact_value(each.feature, float(numbers[0])))
    for value in each.values.tolist():
        assert is_admissible(domain, exact_value(each.feature, value))


def test_fewer_buckets_where_they_would_be_small() -> None:
    frame = pd.DataFrame({"x": np.arange(100.0)})
    assert [len(cut(frame, 4, rows).features[0]) for rows in (25, 30, 40, 60)] == [4, 3, 2, 1]


def test_neighbouring_whole_numbers_are_levels() -> None:
    levels = cut(pd.DataFrame({"x": np.arange(80) % 8}), 8, 10).features[0]
    assert levels.values.tolist() == list(range(8))


def test_a_value_that_most_have_is_a_bucket_of_its_own() -> None:
    levels = cut(loans(), 4, 20)
    gain = levels.features[3]
    assert gain.values[0] == 0
    assert gain.edges[0] == 0
    assert len(gain) > 2
    assert gain.of(np.array([0, 1])).tolist() == [0, 1]


def test_monotone_and_fixed_features_by_construction() -> None:
    frame = loans()
    levels = cut(frame, increase=["age"], decrease=["amount"], fixed=["job"])
    raw = levels_raw = cfxc.FeatureSpace.infer(frame).encode_frame(frame)
    codes = levels.codes(levels_raw)
    reach = levels.reach(raw, codes)
    assert 5 not in levels.free
    for name, k, sign in (("age", 0, 1), ("amount", 1, -1)):
        values, own = levels.features[k].values, raw[name]
        for level, value in enumerate(values):
            at = codes[:, k] != level
            assert (reach[at, k, level] == (sign * (value - own[at]) > 0)).all()
            assert reach[~at, k, level].all()


def test_levels_survive_json() -> None:
    frame = loans()
    space = cfxc.FeatureSpace.infer(frame)
    levels = cut(frame)
    again = Levels.from_dict(space, levels.to_dict(), "here")
    raw = space.encode_frame(frame)
    assert (again.codes(raw) == levels.codes(raw)).all()
    broken = levels.to_dict()
    broken[0]["values"] = broken[0]["values"][::-1]
    with pytest.raises(ModelFileError, match="rise"):
        Levels.from_dict(space, broken, "here")

"""Compiled loops beside plain ones."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cfxc.kernels import determinantal, draw_levels, harmonic, max_min
from cfxc.methods.amortised.sampling import distinct

rows = st.integers(2, 12).flatmap(
    lambda n: st.lists(
        st.tuples(*[st.integers(0, 3)] * 5), min_size=n, max_size=n, unique=True
    ).map(lambda found: np.array(found, np.int16))
)


def hamming(rows: np.ndarray) -> np.ndarray:
    return (rows[:, None] != rows[None]).sum(axis=2)


@given(rows, st.data())
@settings(max_examples=60, deadline=None)
def test_max_min_takes_the_farthest_next(found: np.ndarray, data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(found) - 1))
    apart = hamming(found)
    chosen = max_min(found, first, len(found)).tolist()
    assert chosen[0] == first
    assert sorted(chosen) == list(range(len(found)))
    for step in range(1, len(chosen)):
        before, left = chosen[:step], chosen[step:]
        key = [(apart[i, before].min(), apart[i, before].sum()) for i in left]
        assert key[0] == max(key)


@given(rows)
@settings(max_examples=60, deadline=None)
def test_without_time_one_row_is_chosen(found: np.ndarray) -> None:
    changes, count = np.ones(len(found), np.int64), len(found)
    for choose in (
        lambda *most: max_min(found, 0, count, *most),
        lambda *most: harmonic(found, changes, 5, count, *most),
        lambda *most: determinantal(found, count, *most),
    ):
        assert choose(0.0).tolist() == choose()[:1].tolist()


@given(rows)
@settings(max_examples=60, deadline=None)
def test_determinantal_takes_the_largest_determinant_next(found: np.ndarray) -> None:
    kernel = 2.0 ** -hamming(found).astype(float)
    chosen = determinantal(found, len(found)).tolist()
    assert sorted(chosen) == list(range(len(found)))
    for step in range(1, min(5, len(chosen))):
        gains = [
            np.linalg.det(kernel[np.ix_([*chosen[:step], i], [*chosen[:step], i])])
            for i in chosen[step:]
        ]
        assert gains[0] >= max(gains) - 1e-9


@given(rows, st.data())
@settings(max_examples=60, deadline=None)
def test_harmonic_takes_the_best_set_next(found: np.ndarray, data: st.DataObject) -> None:
    changes = np.array(
        data.draw(st.lists(st.integers(1, 5), min_size=len(found), max_size=len(found)))
    )
    columns, apart = data.draw(st.integers(5, 8)), hamming(found)
    chosen = harmonic(found, changes, columns, len(found)).tolist()
    assert sorted(chosen) == list(range(len(found)))
    assert changes[chosen[0]] == changes.min()

    def worth(places: list[int]) -> float:
        pairs = len(places) * (len(places) - 1)
        differ = apart[np.ix_(places, places)].sum() / (pairs * columns)
        kept = 1 - changes[places].mean() / columns
        return 2 * differ * kept / (differ + kept) if differ + kept else 0.0

    for step in range(1, len(chosen)):
        before, left = chosen[:step], chosen[step:]
        assert worth([*before, left[0]]) >= max(worth([*before, i]) for i in left) - 1e-12


def test_levels_are_drawn_by_their_law() -> None:
    law = np.array([[[0.2, 0.0, 0.5, 0.3], [0.0, 1.0, 0.0, 0.0]]])
    found = draw_levels(law, np.random.default_rng(0).random((1, 20000, 2)))
    shares = np.bincount(found[0, :, 0], minlength=4) / 20000
    assert np.abs(shares - law[0, 0]).max() < 0.02
    assert (found[0, :, 1] == 1).all()
    top = draw_levels(law * (1 - 1e-12), np.full((1, 1, 2), 1 - 1e-16))
    assert top[0, 0].tolist() == [3, 1]  # rounding never leads to a level that may not be


@given(
    st.lists(st.tuples(*[st.integers(0, 2)] * 4), min_size=0, max_size=40),
    st.sampled_from([1, 2**20, 2**40]),
)
def test_distinct_rows(found: list[tuple[int, ...]], scale: int) -> None:
    table = scale * np.array(found, np.int64).reshape(len(found), 4)
    first = distinct(table[:, 0], table[:, 1:])
    assert (table[first] == np.unique(table, axis=0)).all()
    assert first.size == len(set(found))

"""Arrays: what hashing finds is what sorting finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cfxc.arrays import distinct_values

few = st.one_of(
    hnp.arrays(
        dtype,
        st.integers(0, 9),
        elements=st.sampled_from([dtype(v) for v in (0.0, 1.0, 3.0, 7.0)]),
    )
    for dtype in (np.float64, np.float32, np.int64, np.uint8)
)
doubles = hnp.arrays(np.float64, st.integers(0, 9), elements=st.floats(allow_nan=False))


@given(st.one_of(few, doubles))
@example(np.array([0.0, -0.0, np.inf, -np.inf]))
def test_distinct_values_are_those_of_sorting(values: npt.NDArray[Any]) -> None:
    found, codes = distinct_values(values)
    assert found.tolist() == np.unique(values).tolist()
    assert found[codes].tolist() == values.tolist()

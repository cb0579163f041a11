"""Options of ``explain`` are checked by name before any work; the obvious spellings work."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from cfxc.errors import CfxcError, DataTypeError
from cfxc.solvers.options import check_options
from cfxc.solvers.smt import backend

GOOD: dict[str, Any] = {
    "epsilon": 1e-3, "method": "auto", "time_limit": 60, "count": 1, "constraints": (),
    "random_state": 0, "n_jobs": 1,
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(
            ("epsilon", v)
            for v in ("a", "1e-3", None, [1e-3], 1 + 0j, 0, 1, 2.5, -1, np.nan, np.inf, True)
        ),
        *(("time_limit", v) for v in ("a", None, 0, -1, np.nan, False)),
        *(("count", v) for v in (0, -1, 1.5, "2", None, True)),
        *(("random_state", v) for v in ("a", None, -1, 1.5)),
        *(("n_jobs", v) for v in ("a", None, 0, -2, 1.5, True)),
        *(("constraints", v) for v in (None, 5, [5], ["age > 3", None])),
        *(("method", v) for v in ("magic", None, 5)),
    ],
    ids=str,
)
def test_what_is_refused(name: str, value: Any) -> None:
    with pytest.raises(CfxcError, match=name.split("_")[0]):
        check_options(**{**GOOD, name: value})


def test_what_is_read() -> None:
    options = check_options(
        epsilon=np.float32(0.5), method="smt", time_limit=Fraction(1, 2), count=np.int64(3),
        constraints="a > 1", random_state=np.int8(7), n_jobs=2,
    )  # fmt: skip
    assert options == type(options)(0.5, 0.5, 3, ("a > 1",), 7, 2)
    assert check_options(**{**GOOD, "n_jobs": -1}).n_jobs >= 1
    assert check_options(**{**GOOD, "constraints": iter(["a", "b"])}).constraints == ("a", "b")
    assert check_options(**{**GOOD, "time_limit": np.inf}).time_limit == np.inf


@pytest.mark.parametrize("name", ["oracle", "", "pysmt:", "pysmt:foo"])
def test_unknown_solvers(name: str) -> None:
    with pytest.raises(CfxcError, match="solver"):
        backend(name)


@pytest.mark.parametrize("name", [None, 5, ["z3"]], ids=str)
def test_solvers_are_names(name: Any) -> None:
    with pytest.raises(DataTypeError, match="solver is a name"):
        backend(name)

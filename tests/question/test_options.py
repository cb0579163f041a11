"""Options of ``explain`` are checked by name before any work; the obvious spellings work."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import cfxc
from cfxc.errors import CfxcError, DataTypeError
from cfxc.solvers.smt import backend


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
        *(("subject_to", v) for v in (None, 5, [5], ["age > 3", None])),
        *(("method", v) for v in ("magic", None, 5)),
    ],
    ids=str,
)
def test_what_is_refused(name: str, value: Any) -> None:
    with pytest.raises(CfxcError, match=name.split("_")[0]):
        cfxc.Question(**{name: value})


def test_what_is_read() -> None:
    asked = cfxc.Question(
        epsilon=np.float32(0.5), method="smt", time_limit=Fraction(1, 2), count=np.int64(3),
        subject_to="a > 1", random_state=np.int8(7), n_jobs=2,
    )  # fmt: skip
    assert (asked.epsilon, asked.time_limit, asked.count) == (0.5, 0.5, 3)
    assert (asked.subject_to, asked.random_state) == ((cfxc.Condition("a > 1"),), 7)
    assert cfxc.Question(n_jobs=-1).n_jobs >= 1
    assert cfxc.Question(subject_to=iter(["a", "b"])).conditions == ("a", "b")
    assert cfxc.Question(time_limit=np.inf).time_limit == np.inf


@pytest.mark.parametrize("name", ["oracle", "", "pysmt:", "pysmt:foo"])
def test_unknown_solvers(name: str) -> None:
    with pytest.raises(CfxcError, match="solver"):
        backend(name)


@pytest.mark.parametrize("name", [None, 5, ["z3"]], ids=str)
def test_solvers_are_names(name: Any) -> None:
    with pytest.raises(DataTypeError, match="solver is a name"):
        backend(name)

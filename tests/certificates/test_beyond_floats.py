"""Rows of which a model's own floats overflow are left out of comparisons, and counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, PoissonRegressor

import cfxc
from cfxc import Feature, FeatureSpace
from cfxc.certificates import checker
from cfxc.certificates.auditing.sampling import Differs, compare
from tests.certificates.mutants import rehashed

ROWS = pd.DataFrame({"x": np.arange(20) / 4, "y": np.arange(20) % 3 / 2})
Predict = Callable[[pd.DataFrame], Any]


def certified(model: Any, top: float) -> Any:
    """A compiled model, and a certificate of what raises its number from that of small inputs."""
    space = FeatureSpace([Feature("x", "real", 0, top), Feature("y", "real", 0, 1)])
    compiled = cfxc.compile(model, space)
    row = pd.DataFrame({"x": [1.0], "y": [0.5]})
    target = (2 * float(model.predict(row)[0]), None)
    return compiled, compiled.explain(row, target=target).certificate.to_dict()


@pytest.fixture(scope="module")
def grown() -> tuple[Any, Any]:
    """exp of a line, up to about exp(800) at the end of the range."""
    model = PoissonRegressor(alpha=0).fit(ROWS, np.exp(ROWS.x))
    return certified(model, 800)


def beside(grown: tuple[Any, Any], predict: Predict) -> Any:
    _, content = grown
    return compare(checker.check(content), content["space"], predict)


def test_what_overflows_is_left_out(grown: tuple[Any, Any]) -> None:
    compiled, content = grown
    found = beside(grown, compiled.predictor.predict)
    left = 402 - found.rows
    assert 0 < left < 201
    assert f"; {left} are left out, beyond floats; 0 differ within" in found.text
    assert cfxc.check(content, model=compiled).ok


def test_what_a_library_refuses_is_left_out(grown: tuple[Any, Any]) -> None:
    """It refuses a whole table for one of its rows."""
    predict = grown[0].predictor.predict

    def strict(frame: pd.DataFrame) -> Any:
        if (frame.x > 650).any():
            raise ValueError("Input X contains infinity")
        return predict(frame)

    assert 0 < beside(grown, strict).rows < beside(grown, predict).rows


def test_a_model_that_says_nothing_of_most_rows(grown: tuple[Any, Any]) -> None:
    predict = grown[0].predictor.predict

    def beyond(share: float) -> Predict:
        def some(frame: pd.DataFrame) -> Any:
            return np.where(frame.x > 800 * share, np.nan, predict(frame))

        return some

    with pytest.raises(Differs, match=r"the model says nothing finite of .* rows: too many"):
        beside(grown, beyond(0.01))
    with pytest.raises(Differs, match=r"of the factual the model says .*nan"):
        beside(grown, beyond(0))

    def refuses(frame: pd.DataFrame) -> Any:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        beside(grown, refuses)

    def refuses_the_factual(frame: pd.DataFrame) -> Any:
        if (frame.x == 1).any() and (len(frame) > 1 or frame.y.iloc[0] == 0.5):
            raise ValueError("no")
        return predict(frame)

    with pytest.raises(Differs, match="of the factual the model says nothing"):
        beside(grown, refuses_the_factual)


def test_single_floats_overflow_earlier(grown: tuple[Any, Any]) -> None:
    compiled, content = grown

    def single(frame: pd.DataFrame) -> Any:
        with np.errstate(over="ignore"):
            return compiled.predictor.predict(frame).astype(np.float32)

    shown = checker.check(content)
    found = compare(shown, content["space"], single, single=True)
    assert found.rows < beside(grown, compiled.predictor.predict).rows


@pytest.mark.parametrize(("off", "differs"), [(1e-6, False), (1e-4, True)])
def test_numbers_are_compared_by_their_own_size(off: float, differs: bool) -> None:
    """Most rows are small, and a few are large: a share of the median would not do for these."""
    model = LinearRegression().fit(ROWS, ROWS.x**2)
    compiled, content = certified(model, 10**9)
    shown, predict = checker.check(content), compiled.predictor.predict

    def nearly(frame: pd.DataFrame) -> Any:
        found = predict(frame)
        return np.where(np.abs(found) > np.quantile(np.abs(found), 0.9), found * (1 + off), found)

    if differs:
        with pytest.raises(Differs, match="of row"):
            compare(shown, content["space"], nearly)
    else:
        assert compare(shown, content["space"], nearly).rows == 402


def test_a_program_that_calls_its_rows_too_large() -> None:
    """What is beyond floats in the program alone is no excuse for another model."""
    compiled, content = certified(LinearRegression().fit(ROWS, ROWS.x), 10)
    form = ["form", [[["one", 0], str(2**1023)], [["x", 0], "1"]]]
    content["program"]["made"].append(form)
    content["program"]["outputs"][0].append([["form", len(content["program"]["made"]) - 1], "0"])
    shown, predict = checker.check(rehashed(content)), compiled.predictor.predict
    assert compare(shown, content["space"], predict).rows == 402  # and the own model still agrees
    known = [1.0, float(shown.witness[0])]

    def other(frame: pd.DataFrame) -> Any:
        return predict(frame) + ~frame.x.isin(known)

    with pytest.raises(Differs, match=r"of \d+ of 402 rows, with values beyond floats, it does"):
        compare(shown, content["space"], other)

"""category_encoders: what each makes of every category, seen in training or not."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline

import cfxc
from cfxc import FeatureSpace
from cfxc.errors import UnsupportedError
from tests.frontends.boosters.agreement import agree

encoders = pytest.importorskip("category_encoders")

NAMES = [
    "BackwardDifferenceEncoder", "BaseNEncoder", "BinaryEncoder", "CatBoostEncoder",
    "CountEncoder", "GLMMEncoder", "HelmertEncoder", "JamesSteinEncoder", "LeaveOneOutEncoder",
    "MEstimateEncoder", "OneHotEncoder", "OrdinalEncoder", "PolynomialEncoder",
    "QuantileEncoder", "SumEncoder", "SummaryEncoder", "TargetEncoder", "WOEEncoder",
]  # fmt: skip


def people(count: int, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "sector": rng.choice(["art", "law", "it", "farm", "sea"], count),
            "worth": rng.normal(size=count),
            "code": rng.choice([2, 3, 5, 7], count),
        }
    )


def trained() -> tuple[pd.DataFrame, Any]:
    """A table that lacks a sector and a code, and what to learn."""
    table = people(300)
    table = table[(table["sector"] != "sea") & (table["code"] != 7)].reset_index(drop=True)
    worth = table["worth"] + table["sector"].isin(["law", "it"]) - (table["code"] == 3)
    return table, (worth > worth.median()).astype(int)


def space() -> FeatureSpace:
    return FeatureSpace.infer(people(300), kinds={"code": "categorical", "worth": "real"})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_encoders(name: str) -> None:
    """All outputs, by a model that adds them up; and labels at the cuts of trees."""
    if name == "GLMMEncoder":
        pytest.importorskip("statsmodels")
    table, two = trained()
    encoder = getattr(encoders, name)(cols=["sector", "code"])
    frame = people(20_000, seed=2)
    value = two if name == "WOEEncoder" else two * 3.0 + table["worth"]
    line = make_pipeline(encoder, LinearRegression()).fit(table, value)
    agree(line, space(), frame, line.predict(frame))
    encoder = getattr(encoders, name)(cols=["sector", "code"])
    trees = make_pipeline(encoder, GradientBoostingClassifier(n_estimators=8, random_state=0))
    trees.fit(table, two)
    agree(trees, space(), frame, trees.predict(frame))


@pytest.mark.filterwarnings("ignore")
def test_inside_a_column_transformer() -> None:
    table, two = trained()
    columns = make_column_transformer(
        (encoders.TargetEncoder(), ["sector"]), (encoders.WOEEncoder(cols=["code"]), ["code"]),
        remainder="passthrough",
    )  # fmt: skip
    model = make_pipeline(columns, LogisticRegression()).fit(table, two)
    frame = people(20_000, seed=2)
    agree(model, space(), frame, model.predict(frame))


@pytest.mark.filterwarnings("ignore")
def test_explanations_are_proved() -> None:
    table, two = trained()
    model = make_pipeline(encoders.TargetEncoder(cols=["sector", "code"]), LogisticRegression())
    compiled = cfxc.compile(model.fit(table, two), space())
    for place in range(5):
        row = table.iloc[[place]]
        wanted = 1 - int(model.predict(row)[0])
        result = compiled.explain(row, target=wanted, time_limit=60)
        assert result.status == "optimal"
        assert model.predict(result.counterfactual)[0] == wanted
        assert result.certificate is not None
        assert cfxc.check(result.certificate).ok


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "error": ({"handle_unknown": "error"}, "can hold 'sea', which the encoder does not know"),
    "return_nan": ({"handle_unknown": "return_nan"}, "turns 'sea' of column 'sector' into a mis"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", REFUSED)
def test_refusals(kind: str) -> None:
    options, said = REFUSED[kind]
    table, two = trained()
    encoder = encoders.OrdinalEncoder(cols=["sector", "code"], **options)
    model = make_pipeline(encoder, LogisticRegression()).fit(table, two)
    with pytest.raises(UnsupportedError, match=said):
        cfxc.compile(model, space())


@pytest.mark.filterwarnings("ignore")
def test_numbers_and_hashes_are_refused() -> None:
    table, two = trained()
    model = make_pipeline(encoders.CountEncoder(cols=["code"]), LogisticRegression())
    used = table[["worth", "code"]]
    wide = FeatureSpace.infer(used, kinds={"code": "integer"})
    with pytest.raises(UnsupportedError, match="'code' holds categories of the model, and numbers"):
        cfxc.compile(model.fit(used, two), wide)
    model = make_pipeline(encoders.HashingEncoder(cols=["sector"]), LogisticRegression())
    with pytest.raises(UnsupportedError, match=r"HashingEncoder\): no transformer"):
        cfxc.compile(model.fit(table, two), space())


def test_without_what_one_encoder_needs() -> None:
    """The other encoders, and models of other libraries, do without statsmodels."""
    said = (
        "import sys; sys.modules['statsmodels'] = None; import category_encoders\n"
        "from cfxc.frontends.libraries.encoders import ENCODERS; print(len(ENCODERS))"
    )
    ended = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert int(ended.stdout) == 17

"""statsmodels: the numbers and labels of fitted results, of tables and of formulae."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import cfxc
from cfxc import FeatureSpace
from cfxc.errors import InvalidInputError, UnsupportedError
from cfxc.ir import BatchEvaluator
from cfxc.show import models
from tests.frontends.boosters.agreement import agree

sm = pytest.importorskip("statsmodels.api")
smf = pytest.importorskip("statsmodels.formula.api")
pytestmark = pytest.mark.filterwarnings("ignore")


def people(count: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "a": rng.normal(size=count),
            "b": rng.normal(size=count).round(2),
            "sector": rng.choice(["art", "law", "it"], count),
            "level": rng.integers(0, 3, count),
        }
    )


TABLE = people()
WORTH = TABLE["a"] + TABLE["b"] / 2 + (TABLE["sector"] == "law") + np.sin(np.arange(400))
TWO, THREE = (WORTH > 0).astype(int), np.digitize(WORTH, [-0.7, 0.9])
NUMBERS = TABLE[["a", "b"]]
WITH_CONSTANT = sm.add_constant(NUMBERS)
SPACE = FeatureSpace.infer(TABLE, kinds={"a": "real", "b": "real", "level": "categorical"})


def binomial(link: str) -> Any:
    family = sm.families.Binomial(getattr(sm.families.links, link)())
    return sm.GLM(TWO, WITH_CONSTANT, family=family)


CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "logit": lambda: sm.Logit(TWO, WITH_CONSTANT),
    "without a constant": lambda: sm.Logit(TWO, NUMBERS),
    "constant last": lambda: sm.Logit(TWO, sm.add_constant(NUMBERS, prepend=False)),
    "probit": lambda: sm.Probit(TWO, WITH_CONSTANT),
    "multinomial": lambda: sm.MNLogit(THREE, WITH_CONSTANT),
    **{
        link: lambda link=link: binomial(link)
        for link in ("Logit", "Probit", "CLogLog", "LogLog", "Cauchy")
    },
}
REGRESSORS: dict[str, Callable[[], Any]] = {
    "ols": lambda: sm.OLS(WORTH, WITH_CONSTANT),
    "array": lambda: sm.OLS(WORTH.to_numpy(), WITH_CONSTANT.to_numpy()),
    "wls": lambda: sm.WLS(WORTH, WITH_CONSTANT, weights=1 + TWO),
    "gls": lambda: sm.GLS(WORTH, WITH_CONSTANT),
    "quantiles": lambda: sm.QuantReg(WORTH, WITH_CONSTANT),
    "robust": lambda: sm.RLM(WORTH, WITH_CONSTANT),
    "counts": lambda: sm.Poisson(np.exp(WORTH).round(), WITH_CONSTANT),
    "gaussian": lambda: sm.GLM(WORTH, WITH_CONSTANT),
    "gamma": lambda: sm.GLM(
        np.exp(WORTH), WITH_CONSTANT, family=sm.families.Gamma(sm.families.links.Log())
    ),
}


def fitted(model: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quiet = {"disp": 0} if hasattr(model, "cdf") or type(model).__name__ == "Poisson" else {}
        return model.fit(**quiet)


def expected(result: Any, frame: pd.DataFrame) -> Any:
    """By the library, of a table with the constant where the model has it."""
    names = [str(name) for name in result.model.exog_names]
    full = frame.assign(const=1.0)
    order = names if set(names) <= set(full) else ["const", *frame.columns]
    said = np.asarray(result.predict(full[order]))
    return said.argmax(axis=1) if said.ndim == 2 else said


WITHOUT_CHANCES = {"probit", "Probit", "CLogLog", "LogLog", "Cauchy"}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_labels(name: str) -> None:
    result = fitted(CLASSIFIERS[name]())
    said = expected(result, NUMBERS)
    labels = said if name == "multinomial" else (said > 0.5) * 1
    compiled, _ = agree(result, SPACE.subset(["a", "b"]), NUMBERS, labels)
    assert ("probability" in compiled.program.output_sorts) == (name not in WITHOUT_CHANCES)


@pytest.mark.parametrize("name", REGRESSORS)
def test_numbers(name: str) -> None:
    result = fitted(REGRESSORS[name]())
    agree(result, SPACE.subset(["a", "b"]), NUMBERS, expected(result, NUMBERS))


@pytest.mark.parametrize("cut", [0.3, 0.5, 0.9])
def test_labels_beside_the_cut(cut: float) -> None:
    """On one column, at the doubles where what the library predicts crosses the cut."""
    result = fitted(sm.Logit(TWO, NUMBERS[["a"]]))
    slope = float(result.params.iloc[0])
    crossing = np.log(cut / (1 - cut)) / slope
    near = [crossing]
    for side in (-np.inf, np.inf):
        number = crossing
        for _ in range(20):
            number = np.nextafter(number, side)
            near.append(number)
    frame = pd.DataFrame({"a": near})
    space = SPACE.subset(["a"])
    compiled = cfxc.compile(result, space, cut=cut)
    found = BatchEvaluator(compiled.program)(space.encode_frame(frame, check_range=False))["label"]
    assert found.tolist() == ((result.predict(frame) > cut) * 1).tolist()
    assert compiled.predict(frame).tolist() == found.tolist()


FORMULAE = {
    "y ~ a + b + C(sector)": ["a", "b", "sector"],
    "y ~ sector - 1 + Q('a')": ["a", "sector"],
    "y ~ C(sector, Sum) * a + a:b": ["a", "b", "sector"],
    "y ~ C(sector) * C(level)": ["sector", "level"],
    "y ~ sector + level": ["sector", "level"],
}


@pytest.mark.parametrize("formula", FORMULAE)
def test_formulae(formula: str) -> None:
    used = FORMULAE[formula]
    result = smf.logit(formula, TABLE.assign(y=TWO)).fit(disp=0)
    agree(result, SPACE.subset(used), TABLE[used], (result.predict(TABLE) > 0.5) * 1)


def test_formulae_that_compute_or_do_not_know() -> None:
    result = smf.ols("v ~ np.log(a + 10) + b", TABLE.assign(v=WORTH)).fit()
    with pytest.raises(UnsupportedError, match=r"its formula computes 'np\.log\(a \+ 10\)'"):
        cfxc.compile(result, SPACE.subset(["a", "b"]))
    known = TABLE[TABLE["sector"] != "art"]
    result = smf.ols("v ~ sector", known.assign(v=WORTH)).fit()
    with pytest.raises(UnsupportedError, match="'sector' can hold 'art', which the model does not"):
        cfxc.compile(result, SPACE.subset(["sector"]))
    holed = SPACE.subset(["a", "b"]).replace("a", missing=True)
    with pytest.raises(UnsupportedError, match="column 'a' may be missing"):
        cfxc.compile(fitted(sm.OLS(WORTH, WITH_CONSTANT)), holed)


def test_refusals() -> None:
    space = SPACE.subset(["a", "b"])
    gamma = sm.GLM(np.exp(WORTH), WITH_CONSTANT, family=sm.families.Gamma()).fit()
    with pytest.raises(UnsupportedError, match="the link InversePower of the family Gamma"):
        cfxc.compile(gamma, space)
    counts = sm.NegativeBinomial(np.exp(WORTH).round(), WITH_CONSTANT).fit(disp=0)
    with pytest.raises(UnsupportedError, match="NegativeBinomial: no model that is read"):
        cfxc.compile(counts, space)
    with pytest.raises(InvalidInputError, match="cut=2 is not in"):
        cfxc.compile(fitted(sm.Logit(TWO, WITH_CONSTANT)), space, cut=2)
    with pytest.raises(InvalidInputError, match="cut= is for a model of two classes"):
        cfxc.compile(fitted(sm.OLS(WORTH, WITH_CONSTANT)), space, cut=0.3)
    with pytest.raises(InvalidInputError, match="is a classifier, not a regressor"):
        cfxc.compile(fitted(sm.Logit(TWO, WITH_CONSTANT)), space, task="regressor")


def test_explanations_are_proved() -> None:
    result = smf.logit("y ~ a + b + C(sector)", TABLE.assign(y=TWO)).fit(disp=0)
    compiled = cfxc.compile(result, SPACE.subset(["a", "b", "sector"]))
    for place in range(3):
        row = TABLE[["a", "b", "sector"]].iloc[[place]]
        answer = compiled.explain(row, time_limit=60)
        assert answer.status == "optimal"
        both = pd.concat([row, answer.counterfactual])
        assert (result.predict(both) > 0.5).nunique() == 2
        assert answer.certificate is not None
        assert cfxc.check(answer.certificate).ok


def test_what_is_listed() -> None:
    (section,) = [each for each in models.of_libraries() if each.title == "statsmodels"]
    marks = {row.name: row.mark for row in section.rows}
    assert marks["Logit"] == marks["OLS"] == marks["GLM"] == models.EXACT

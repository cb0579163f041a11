"""Models whose own sums cancel: what compiling them anew excuses, and what it does not."""

from __future__ import annotations

import copy
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.kernel_ridge import KernelRidge

import cfxc
from cfxc.certificates import checker
from cfxc.certificates.auditing.sampling import LARGEST, Differs, compare
from cfxc.errors import VerificationError
from cfxc.solvers.certification import require_program_of
from tests.certificates.handmade import signed


@cache
def answered() -> tuple[cfxc.CompiledModel, dict[str, Any], float]:
    """A machine whose terms are some million times larger than what it says; its median."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 90, (150, 2)).astype(float), columns=list("ab"))
    values = table["a"] * 0.02 + table["b"] / 30 + rng.normal(0, 0.5, 150)
    machine = KernelRidge(kernel="poly", degree=3, gamma=1, alpha=1e-9).fit(table, values)
    said = machine.predict(table)
    model = cfxc.compile(machine, cfxc.FeatureSpace.infer(table))
    row, least = table.iloc[[int(np.argmin(said))]], float(np.median(said))
    answer = model.explain(row, target=(least, None), time_limit=10)
    return model, answer.certificate.to_dict(), least


def test_what_the_models_own_rounding_explains_is_excused() -> None:
    """Without that knowledge, as for a checker that compiles nothing, the model differs."""
    model, content, _ = answered()
    found = require_program_of(content, model)
    assert found.rows == 402
    shown = checker.check(content)
    with pytest.raises(Differs, match="the model says"):
        compare(shown, content["space"], model.predictor.predict)


@pytest.mark.parametrize("factor", [1 + Fraction(1, 10**12), 1 - Fraction(1, 10**6)])
def test_another_program_is_refused_however_near(factor: Fraction) -> None:
    """A weight or a cut-off within the allowance is still not what the model computes."""
    model, content, _ = answered()
    for place in range(len(content["program"]["outputs"][0])):
        forged = copy.deepcopy(content)
        term = forged["program"]["outputs"][0][place]
        term[1] = str(checker.number(term[1]) * factor)
        with pytest.raises(VerificationError, match="is not what the model computes"):
            require_program_of(signed(forged), model)


def test_no_allowance_hides_more_than_a_share() -> None:
    """Whatever is said of rounding, a tenth of the median is the most that is missed."""
    model, content, size = answered()
    shown = checker.check(content)

    def moved(by: float) -> Any:
        return lambda rows: model.predictor.predict(rows) + by

    compare(shown, content["space"], moved(0.0), rounding=Fraction(1000))
    with pytest.raises(Differs):
        compare(shown, content["space"], moved(3 * float(LARGEST) * size), rounding=Fraction(1000))
    with pytest.raises(Differs):
        compare(shown, content["space"], moved(0.0), rounding=Fraction(1, 10**6))

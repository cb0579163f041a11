"""Passes can be listed, left out and looked at, and no answer depends on them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import cfxc
from cfxc.cli.emission import Emit, emission
from cfxc.compiler.pipeline import PASSES, run_passes, simplified
from cfxc.environment import skipped_passes
from cfxc.ir import evaluate
from cfxc.question.target import resolve_target, target_program
from cfxc.solvers.box_search.decision import decision_of
from cfxc.solvers.box_search.problem import _decision_in

TABLE = pd.DataFrame(np.random.default_rng(0).integers(0, 9, (80, 3)), columns=list("abc"))
LABELS = np.where(TABLE.a + TABLE.b > 8, "yes", "no")
FOREST = RandomForestClassifier(5, max_depth=3, random_state=0).fit(TABLE, LABELS)
MODEL = cfxc.compile(FOREST, cfxc.FeatureSpace.infer(TABLE))


@pytest.mark.parametrize("last", PASSES)
def test_every_pass_keeps_the_meaning(last: str) -> None:
    program = run_passes(MODEL.program, last)
    for _, row in TABLE.head(10).iterrows():
        point = {name: int(row[name]) for name in "abc"}
        assert evaluate(program, point)["label"] == evaluate(MODEL.program, point)["label"]
        shares = (evaluate(each, point)["probability"] for each in (program, MODEL.program))
        assert len({tuple(share) for share in shares}) == 1


@pytest.mark.parametrize("skip", ["narrow_argmax", "fold_into_trees", ",".join(PASSES)])
def test_answers_do_not_depend_on_passes(skip: str, monkeypatch: pytest.MonkeyPatch) -> None:
    row = TABLE[LABELS == "no"].iloc[[0]]
    before = MODEL.explain(row)
    target = resolve_target(MODEL.program, "yes", {"label": "no"})
    program = simplified(target_program(MODEL.program, target, Fraction(0)))
    monkeypatch.setenv("CFXC_SKIP", skip)
    assert skipped_passes() == tuple(skip.split(","))
    other = simplified(target_program(MODEL.program, target, Fraction(0)))
    assert (program == other) == (skip == "narrow_argmax")  # a target has no argmax left
    for cache in (_decision_in, decision_of):  # of the same target, with all passes
        cache.cache_clear()
    after = cfxc.compile(FOREST, MODEL.space).explain(row)
    for cache in (_decision_in, decision_of):
        cache.cache_clear()
    assert (after.status, after.distance) == (before.status, before.distance) != ("unknown", None)
    assert after.certificate is not None


def test_an_unknown_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFXC_SKIP", "fold")
    with pytest.raises(cfxc.InvalidInputError, match="no pass 'fold'; there are multiply_out"):
        simplified(MODEL.program)


def test_a_program_is_shown_after_a_pass() -> None:
    texts = [emission(MODEL, "m", Emit.ir, None, (), after) for after in (None, "fold_into_trees")]
    assert "div(" in texts[0]
    assert "div(" not in texts[1]
    with pytest.raises(cfxc.InvalidInputError, match="no pass 'x'"):
        emission(MODEL, "m", Emit.ir, None, (), "x")
    with pytest.raises(cfxc.InvalidInputError, match="belongs to --emit ir"):
        emission(MODEL, "m", Emit.program, None, (), "fold_into_trees")

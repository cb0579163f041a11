"""``semantics="float"``: bounds of the model as it runs, beside enumeration of what it says."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import cfxc
from cfxc import FeatureSpace
from cfxc.certificates import checker as check
from cfxc.cli import main
from cfxc.errors import InvalidInputError, UnsupportedError, VerificationError
from cfxc.frontends.sklearn.predictor import SklearnPredictor
from cfxc.solvers.certification import Certificate, require_program_of
from tests.solvers.grids import NORMS, brute_force, norm
from tests.solvers.kinds import KINDS, SMOOTH, outcome_of, task, trained

EXACT = sorted(KINDS.keys() - set(SMOOTH))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("distance", NORMS)
@pytest.mark.parametrize("kind", EXACT)
def test_bounds_hold_for_the_model_as_it_runs(kind: str, distance: str) -> None:
    """The nearest row of all with the target outcome of the *deployed* model is not nearer."""
    model, space, compiled = trained(kind)
    one = task(model, space, outcome_of(kind), 3)
    metric = norm(space, *NORMS[distance])
    best = brute_force(space, one.own, model.predict, one.wanted, metric)
    result = compiled.explain(
        one.row, target=one.target, distance=distance, semantics="float", epsilon=1e-6
    )
    assert result.semantics == "float"
    assert result.distance is not None
    assert result.lower_bound <= float(best[0].distance) <= result.distance + 1e-12
    assert result.status == "optimal"
    assert "as deployed" in result.summary()
    found = cfxc.check(result.certificate)
    assert found.ok, found.reason
    single = compiled.predictor.unit_roundoff > Fraction(1, 2**53)
    assert found.content["semantics"] == ("float32" if single else "float")
    assert 0 < check.number(found.content["question"]["slack"]) < Fraction(1, 8)
    kind_of_float = "single floats" if single else "doubles"
    assert f"evaluated in {kind_of_float}: scores may be off by the slack" in found.to_markdown()


def small_forest() -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.integers(0, 4, (120, 4)), columns=list("abcd"))
    wanted = (table.sum(axis=1) + rng.integers(0, 3, 120) > 6).astype(int)
    return table, RandomForestClassifier(10, max_depth=3, random_state=0).fit(table, wanted)


def test_where_rounding_decides_real_bounds_do_not_hold() -> None:
    """A value at the end of a range, but for rounding: only the bound for floats is true of it."""
    model, space, compiled = trained("forest for numbers")
    one = task(model, space, outcome_of("forest for numbers"), 3)
    metric = norm(space, *NORMS["l1"])
    best = brute_force(space, one.own, model.predict, one.wanted, metric)[0].distance
    real = compiled.explain(one.row, target=one.target)
    floats = compiled.explain(one.row, target=one.target, semantics="float")
    assert real.lower_bound > best  # true of the exact program
    assert floats.lower_bound <= best == floats.exact_distance


def test_unit_roundoffs() -> None:
    table, model = small_forest()
    space = FeatureSpace.infer(table)
    assert SklearnPredictor(model, space).unit_roundoff == Fraction(1, 2**53)
    narrow = FeatureSpace.infer(table.astype("float32"))
    assert SklearnPredictor(model, narrow).unit_roundoff == Fraction(1, 2**24)
    from sklearn.pipeline import make_pipeline

    codes = table.astype(str)
    encoded = make_pipeline(OneHotEncoder(dtype=np.float32), LogisticRegression())
    encoded.fit(codes, model.predict(table))
    assert SklearnPredictor(encoded, FeatureSpace.infer(codes)).unit_roundoff == Fraction(1, 2**24)


def test_refusals() -> None:
    table, model = small_forest()
    space, row = FeatureSpace.infer(table), table.iloc[[0]]
    compiled = cfxc.compile(model, space)
    target = 1 - int(model.predict(row)[0])
    with pytest.raises(InvalidInputError, match="unknown semantics 'double': auto, real, float"):
        compiled.explain(row, target=target, semantics="double")  # type: ignore[arg-type]
    votes = VotingClassifier(
        [("a", DecisionTreeClassifier(max_depth=2)), ("b", DecisionTreeClassifier(max_depth=1))]
    ).fit(table, model.predict(table))
    voted = cfxc.compile(votes, space)
    with pytest.raises(UnsupportedError, match="semantics='float' is not known for this model"):
        voted.explain(row, target=1 - int(votes.predict(row)[0]), semantics="float")


def test_certificates_belong_to_models_with_their_slack(tmp_path: Path) -> None:
    table, model = small_forest()
    space = FeatureSpace.infer(table)
    path = tmp_path / "forest.joblib"
    joblib.dump(model, path)
    compiled = cfxc.compile(path, space, trust_pickle=True)
    rows = table[model.predict(table) == 0]
    certificate = compiled.explain(rows.iloc[[0]], target=1, semantics="float").certificate
    require_program_of(certificate.to_dict(), path, trust_pickle=True)
    content = certificate.to_dict()
    wider = {**content, "question": {**content["question"], "slack": "1/100"}}
    require_program_of(signed(wider), path, trust_pickle=True)  # of more points nothing is nearer
    with pytest.raises(VerificationError, match="allows less than the model rounds"):
        require_program_of(signed({**content, "question": {**content["question"], "slack": "0"}}),
                           path, trust_pickle=True)  # fmt: skip
    narrower = {**content, "question": {**content["question"], "slack": "0"}}
    assert cfxc.check(signed(narrower)).reason.startswith("question.slack: rounding may do ")
    real = {**content, "semantics": "real"}
    assert cfxc.check(signed(real)).reason == "question.slack: it must be 0, in real numbers"
    single = {**content, "semantics": "float32"}
    assert cfxc.check(signed(single)).reason.startswith("question.slack: rounding may do ")
    other = {**content, "semantics": "double"}
    assert cfxc.check(signed(other)).reason == "semantics: of no known kind"


def signed(content: dict[str, Any]) -> dict[str, Any]:
    return Certificate({k: v for k, v in content.items() if k != "hash"}).to_dict()


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, model = small_forest()
    space = FeatureSpace.infer(table)
    path, data = tmp_path / "forest.joblib", tmp_path / "data.csv"
    joblib.dump(model, path)
    space.to_toml(tmp_path / "space.toml")
    table[model.predict(table) == 0].to_csv(data, index=False)
    asked = [
        "explain", str(path), "--space", str(tmp_path / "space.toml"), "--factual", f"{data}:1",
        "--target", "1", "--trust-pickle", "--semantics",
    ]  # fmt: skip
    assert main([*asked, "float", "--certificate", str(tmp_path / "c.json")]) == 0
    assert "as deployed" in capsys.readouterr().out
    checked = ["check", str(tmp_path / "c.json"), "--model", str(path), "--trust-pickle"]
    assert main(checked) == 0
    assert main([*asked, "exact"]) == 2
    assert "unknown semantics 'exact': auto, real, float" in capsys.readouterr().err


def test_certificates_behind_a_cut_off_on_a_probability() -> None:
    """Where the checker derives more slack than the model needs, the bound is shown with that."""
    xgboost = pytest.importorskip("xgboost")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(400, 4)).round(2), columns=list("abcd"))
    wanted = (table["a"] + table["b"] * table["c"] > 0.6).astype(int)
    booster = xgboost.XGBClassifier(n_estimators=10, max_depth=2, random_state=0)
    model = FixedThresholdClassifier(booster, threshold=0.1).fit(table, wanted)
    compiled = cfxc.compile(model, FeatureSpace.infer(table))
    row = table[model.predict(table) == 1].iloc[[3]]
    result = compiled.explain(row, target=0)
    content = result.certificate.to_dict()
    assert result.evidence is not None
    assert check.number(content["question"]["slack"]) > result.evidence.query.slack > 0
    assert cfxc.check(content, model=compiled).ok

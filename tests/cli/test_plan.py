"""``plan``: moments from everywhere, what is printed, and what is refused."""

from __future__ import annotations

import json
import shutil
from typing import Any

import numpy as np
import pytest
import skops.io
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import cfxc

from .conftest import Ended, Shell, people

ASKED = ("plan", "lr.skops", "--space", "space.toml", "--factual", "person.json")
RETRAIN = ("--retrain", "data.csv", "--outcome", "outcome", "--retrainings", "40")
SMALL = ("--size", "2")


def answered(ended: Ended, code: int = 0) -> dict[str, Any]:
    assert ended.code == code, ended
    assert ended.out.count("\n") == 1
    found: dict[str, Any] = json.loads(ended.out)
    return found


def test_retraining_and_its_moments_in_a_file(shell: Shell) -> None:
    first = answered(shell(*ASKED, *RETRAIN, *SMALL, "--save-moments", "m.json", "--json"))
    assert first["status"] == "feasible"
    assert first["valid"] == [True, True]
    assert first["models"] == 40
    assert 0 < first["lower"] <= first["share_of_models"] <= first["upper"]
    again = answered(shell(*ASKED, "--moments", "m.json", *SMALL, "--json"))
    assert again["plan"] == first["plan"]
    assert again["lower"] == first["lower"]
    assert again["models"] == 0


def test_what_is_printed(shell: Shell) -> None:
    ended = shell(*ASKED, *RETRAIN, *SMALL, "--plot", "bounds.svg")
    assert ended.code == 0
    lines = dict(line.split(maxsplit=2)[:2] for line in ended.out.splitlines())
    assert "plan" in lines
    assert lines["asked"] == "from"
    assert "stay valid" in ended.out
    assert "both proved, whatever law the parameters have with moments within 0.01" in ended.out
    assert "of 40 have all rows valid" in ended.out
    assert (shell.folder / "bounds.svg").read_text().lstrip().startswith("<?xml")


def test_dated_models(shell: Shell) -> None:
    shutil.copy(shell.folder / "lr.skops", shell.folder / "older.skops")
    text = shell.refuses(*ASKED, "--model", "older.skops")
    assert "not positive definite" in text or "nothing varies" in text
    assert "shrink" in text or "nothing varies" in text


def test_a_plan_to_correct(shell: Shell) -> None:
    (shell.folder / "rows.csv").write_text("age,pay gap,sector\n79,40.5,it\n31,20.5,art\n")
    found = answered(
        shell(*ASKED, *RETRAIN, "--correct", "rows.csv", "--corrections", "0", "--json")
    )
    assert found["method"] == "correct"
    assert found["plan"][0] == {"age": 79, "pay gap": 40.5, "sector": "it"}
    assert found["trace"][1]["moved"] == [1]


def test_nothing_qualifies(shell: Shell) -> None:
    ended = shell(*ASKED, *RETRAIN, *SMALL, "--epsilon", "1000")
    assert ended.code == 3
    assert "infeasible" in ended.out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "one of them"),
        ((*RETRAIN, "--moments", "m.json"), "not --retrain and --moments"),
        (("--retrain", "data.csv"), "--retrain and --outcome belong together"),
        (("--retrain", "data.csv", "--outcome", "nope"), "no column 'nope'"),
        (("--retrain", "nope.csv", "--outcome", "outcome"), "nope.csv: cannot read"),
        (("--moments", "nope.json"), "nope.json: cannot read the moments"),
        (("--moments", "person.json"), "an object with mean and covariance"),
        ((*RETRAIN, "--shrinkage", "lots"), "shrinkage is a share"),
        ((*RETRAIN, "--radius", "-1"), "radius must be finite and >= 0"),
        ((*RETRAIN, "--size", "0"), "size"),
        ((*RETRAIN, "--plot", "bounds.txt"), "a picture is"),
        ((*RETRAIN, "--correct", "nope.csv"), "nope.csv"),
        ((*RETRAIN, "--target", "maybe"), "maybe"),
    ],
)
def test_refusals(shell: Shell, options: tuple[str, ...], words: str) -> None:
    assert words in shell.refuses(*ASKED, *options)


def test_other_models(shell: Shell) -> None:
    text = shell.refuses("plan", "tree.skops", *ASKED[2:], *RETRAIN)
    assert "linear classifier" in text
    text = shell.refuses("plan", "lr.onnx", *ASKED[2:], *RETRAIN)
    assert "single float" in text
    assert ".skops" in text
    encode = make_column_transformer((OneHotEncoder(), ["sector"]), remainder=SimpleImputer())
    table = people()
    filled = make_pipeline(encode, LogisticRegression()).fit(table, table["age"] > 50)
    skops.io.dump(filled, shell.folder / "filled.skops")
    (shell.folder / "gaps.csv").write_text(table.to_csv(index=False) + ",20,it\n")
    assert shell("space", "infer", "gaps.csv", "-o", "gaps.toml").code == 0
    text = shell.refuses("plan", "filled.skops", "--space", "gaps.toml", *ASKED[4:], *RETRAIN)
    assert "a plan needs every number, and these may be missing: 'age'" in text


def test_a_covariance_that_is_not_definite(shell: Shell) -> None:
    model = cfxc.compile(
        shell.folder / "lr.skops", cfxc.FeatureSpace.from_toml(shell.folder / "space.toml")
    )
    size = cfxc.methods.plans.Encoding.of(model.program, model.space).size
    values = {"mean": [1.0] * size, "covariance": np.ones((size, size)).tolist()}
    (shell.folder / "m.json").write_text(json.dumps(values))
    assert "--shrinkage " in shell.refuses(*ASKED, "--moments", "m.json")
    (shell.folder / "space.toml").read_text()
    assert shell(*ASKED, "--moments", "m.json", "--shrinkage", "0.1", *SMALL).code in (0, 3)

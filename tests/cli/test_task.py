"""``--task``: what a model of numbers alone is, on every command that reads one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Shell

NET = ["net.onnx", "--space", "net.toml"]
ONE = ["--factual", "one.json"]
pytestmark = pytest.mark.usefixtures("two_logits")


def test_explain(shell: Shell) -> None:
    ended = shell("explain", *NET, *ONE, "--task", "classifier", "--json")
    assert ended.code == 0, ended
    answer = json.loads(ended.out)
    assert (answer["outcome_before"], answer["outcome_after"]) == (0, 1)
    assert answer["status"] == "optimal"
    message = shell.refuses("explain", *NET, *ONE)
    assert "predicts several numbers" in message
    assert "--task classifier" in message


def test_compile(shell: Shell) -> None:
    assert "label" in shell("compile", *NET, "--task", "classifier").out
    assert "label" not in shell("compile", *NET).out
    assert "label" not in shell("compile", *NET, "--task", "regressor").out


def test_generate(shell: Shell) -> None:
    pytest.importorskip("torch")
    task = ["--task", "classifier"]
    fitted = shell(
        "generate", "fit", *NET, *task, "--data", "net.csv", "--out", "made", "--epochs", "2",
        "--bucket-rows", "20",
    )  # fmt: skip
    assert fitted.code == 0, fitted
    drawn = shell(
        "generate", "run", *NET, *task, "--generator", "made", "--rows", "one.json", "-n", "2"
    )
    assert drawn.code in (0, 4), drawn
    assert "a,b" in drawn.out


def test_plan_and_regress(shell: Shell) -> None:
    """They are told what it is: a classifier without probabilities, and one that is linear."""
    asked = ["regress", *NET, *ONE, "--width", "1", "--budget", "5"]
    assert "a potential of a classifier" in shell.refuses(*asked, "--task", "classifier")
    assert "a potential of a classifier" not in shell.refuses(*asked)
    Path("moments.json").write_text("{}")
    asked = ["plan", *NET, *ONE, "--moments", "moments.json"]
    assert "linear in the features" in shell.refuses(*asked, "--task", "classifier")
    assert "--task classifier" in shell.refuses(*asked)


def test_models_that_say_what_they_are(shell: Shell) -> None:
    wrong = shell.refuses("explain", "lr.skops", "--space", "space.toml", "--factual",
                          "person.json", "--task", "regressor")  # fmt: skip
    assert "the model is a classifier, not a regressor" in wrong


def test_unknown_tasks(shell: Shell) -> None:
    ended = shell("explain", *NET, *ONE, "--task", "ranker")
    assert ended.code == 2
    assert "classifier" in ended.err

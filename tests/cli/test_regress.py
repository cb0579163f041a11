"""``regress``: questions about a model's number, their answers, and what is refused."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
import torch
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import cfxc
import cfxc.methods.bayes as bayes
from cfxc.cli import regress
from cfxc.cli.regress import Question

from .conftest import PERSON, Ended, Shell, people

ASKED = ("--space", "space.toml", "--factual", "person.json")
LINEAR = ("regress", "regression.skops", *ASKED)
FOREST = ("regress", "forest.onnx", *ASKED)
HERE = 50.5
"""What both models give the person, about."""
FAR = ("--width", "500", "--budget", "5")
"""More than any row is away."""


def worth(table: pd.DataFrame) -> Any:
    return table["age"] + table["pay gap"] + 5 * (table["sector"] == "it")


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Of matrices as small as these, threads only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def forest() -> bytes:
    table = people()
    encoder = make_column_transformer((OneHotEncoder(), ["sector"]), remainder="passthrough")
    model = make_pipeline(encoder, RandomForestRegressor(4, max_depth=5, random_state=0))
    types = [
        ("age", Int64TensorType([None, 1])),
        ("pay gap", FloatTensorType([None, 1])),
        ("sector", StringTensorType([None, 1])),
    ]
    content: bytes = to_onnx(
        model.fit(table, worth(table)), initial_types=types
    ).SerializeToString()
    return content


@pytest.fixture
def shell(shell: Shell, forest: bytes) -> Shell:
    (shell.folder / "forest.onnx").write_bytes(forest)
    return shell


def answered(ended: Ended, code: int = 0) -> dict[str, Any]:
    assert ended.code == code, ended
    assert ended.out.count("\n") == 1
    found: dict[str, Any] = json.loads(ended.out)
    return found


def facts(ended: Ended) -> dict[str, str]:
    """Name → text of a report's lines."""
    lines = [line for line in ended.out.splitlines() if line]
    found = {}
    for line in lines:
        name, text = re.split("  +", line, maxsplit=1)
        found[name] = text
    return found


# -- answers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [LINEAR, FOREST], ids=["skops", "onnx"])
def test_reached(shell: Shell, command: tuple[str, ...]) -> None:
    ended = shell(*command, "--width", "20", "--epsilon", "0.1")
    assert ended.code == 0, ended
    assert len(ended.out.splitlines()) <= 15
    found = facts(ended)
    before, after = map(float, found["output"].split(" → "))
    assert before == pytest.approx(HERE, abs=6)
    assert abs(after - before) == pytest.approx(20, abs=5)
    assert found["asked"].startswith("an output about 20 away, higher or lower: ")
    away = float(found["got"].partition(":")[0])
    assert away == pytest.approx(after - before, abs=0.11)
    assert 90 <= float(found["got"].split()[1]) <= 100
    assert found["status"] == "optimal: the model itself gives this output"
    assert re.fullmatch(r"\d+ of 100 evaluations, \d+\.\d s", found["effort"])
    assert "proved" not in found


@pytest.mark.parametrize(("sign", "word"), [("+", "higher"), ("-", "lower")])
def test_one_side(shell: Shell, sign: str, word: str) -> None:
    found = facts(shell(*LINEAR, "--width", "10", "--sign", sign))
    assert found["got"].startswith(sign)
    assert f"10 {word}: " in found["asked"]
    low, high = map(float, re.findall(r"[\d.]+", found["asked"].partition(":")[2]))
    before, after = map(float, found["output"].split(" → "))
    assert low <= after <= high
    assert (low + high) / 2 == pytest.approx(before + float(f"{sign}10"), abs=0.2)


@pytest.mark.parametrize("goal", ["70", "35"])
def test_an_output_wanted(shell: Shell, goal: str) -> None:
    found = answered(shell(*LINEAR, "--to", goal, "--json"))
    assert abs(found["outcome_after"] - float(goal)) <= 0.08 * abs(float(goal) - HERE)
    side = "+" if float(goal) > HERE else "-"
    assert found["target"].startswith(f"AEP{side}, width ")
    ended = shell(*LINEAR, "--to", goal, "--budget", "2", "--no-proof")
    assert facts(ended)["asked"].startswith(f"an output of about {goal}: ")


def test_unreachable_is_proved(shell: Shell) -> None:
    for command in (LINEAR, FOREST):
        ended = shell(*command, *FAR, "--sign", "+")
        assert ended.code == 3, ended
        found = facts(ended)
        assert found["status"].startswith("infeasible")
        low, high, by = re.fullmatch(  # type: ignore[union-attr]  # it matches
            r"no admissible row gives ([\d.]+) to ([\d.]+) \(by (.+)\)", found["proved"]
        ).groups()
        assert float(found["output"].split(" → ")[1]) < float(low) < HERE + 500 < float(high)
        assert by
    table = people()
    assert float(low) > worth(table).max() - 30  # no claim that rows refute


def test_what_is_not_found_in_the_budget(shell: Shell) -> None:
    ended = shell(*LINEAR, *FAR, "--no-proof")
    assert ended.code == 4
    found = facts(ended)
    assert found["status"] == "feasible: the best that was found; the budget is used up"
    assert found["proved"] == "nothing (--no-proof): a better row may exist"
    assert found["effort"].startswith("5 of 5 evaluations, ")


def test_no_row_at_all(shell: Shell) -> None:
    space = (shell.folder / "space.toml").read_text().replace('"free"', '"fixed"')
    (shell.folder / "fixed.toml").write_text(space)
    command = ("regress", "regression.skops", "--space", "fixed.toml", *ASKED[2:], "--width", "9")
    ended = shell(*command, "--no-proof")
    assert ended.code == 4
    assert facts(ended)["status"].startswith("unknown: no row was found that is any better")
    assert "→" not in ended.out
    ended = shell(*command)
    assert ended.code == 3
    assert "→" not in ended.out
    assert " or " in facts(ended)["proved"]


def test_a_time_limit(shell: Shell) -> None:
    ended = shell(*LINEAR, "--width", "500", "--no-proof", "--time-limit", "0.000001")
    assert ended.code == 4
    assert facts(ended)["status"].endswith("; the time is up")


def test_json_is_the_result(shell: Shell) -> None:
    options = ("--epsilon", "0.05", "--seed", "3", "--kernel", "rbf", "--max-changes", "2")
    found = answered(shell(*FOREST, *FAR, *options, "--json"), 3)
    model = cfxc.compile("forest.onnx", cfxc.FeatureSpace.from_toml("space.toml"))
    result = cfxc.BlackBox(model).explain(
        PERSON,
        cfxc.SEP(500),
        budget=5,
        epsilon=0.05,
        random_state=3,
        kernel="rbf",
        subject_to=[cfxc.MaxChanges(2)],
    )
    assert {**found, "seconds": 0} == {**result.to_dict(), "seconds": 0}
    assert found["status"] == "infeasible"
    assert found["factual"] == PERSON
    assert len(found["trace"]) == found["evaluations"] >= 5  # more: rows of the exact engine


def test_what_may_change(shell: Shell) -> None:
    rules = ("--constraint", "age >= factual.age", "--constraint", 'sector != "it"')
    found = answered(
        shell(*LINEAR, "--to", "60", "--max-changes", "1", "--epsilon", "0.1", *rules, "--json")
    )
    assert list(found["changes"]) in (["age"], ["pay gap"])
    causal = ("--causal", "age = 20 + 2 * `pay gap`", "--epsilon", "0.1")
    found = answered(shell(*LINEAR, "--width", "5", *causal, "--json"))
    row = found["counterfactual"]
    assert row["age"] - PERSON["age"] == pytest.approx(2 * (row["pay gap"] - 20.5), abs=1)


def test_a_probability(shell: Shell) -> None:
    ended = shell("regress", "lr.skops", *ASKED, "--to", "0.5", "--epsilon", "0.1")
    assert ended.code == 0, ended
    before, after = map(float, facts(ended)["probability of yes"].split(" → "))
    assert before < 0.1
    assert after == pytest.approx(0.5, abs=0.15)
    ended = shell("regress", "lr.skops", *ASKED, "--width", "1", "--sign", "-", "--budget", "4")
    assert ended.code == 4
    assert facts(ended)["proved"].startswith("nothing, as of any probability")


def test_a_terminal_gets_a_table(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    ended = shell(*LINEAR, "--to", "60")
    assert ended.code == 0
    assert "before" in ended.out
    assert "→" not in ended.out
    plain = re.sub(r"\x1b\[[\d;?]*\w", "", ended.err)
    assert re.search(r"\d of 100 evaluations, best [\d.]+ %", plain)


# -- files ---------------------------------------------------------------------------------------


def test_evaluations_are_kept(shell: Shell) -> None:
    asked = (*LINEAR, "--to", "70", "--data", "seen.json", "--json")
    first = shell(*asked)
    count = answered(first)["evaluations"]
    assert count > 1
    assert first.err.endswith(f"evaluations: seen.json ({count} rows)\n")
    stored = (shell.folder / "seen.json").read_bytes()
    second = shell(*asked)
    again = answered(second)
    assert again["evaluations"] == 0
    assert again["counterfactual"] == answered(first)["counterfactual"]
    assert (shell.folder / "seen.json").read_bytes() == stored
    third = shell(*LINEAR, "--to", "31", "--data", "seen.json", "--epsilon", "0.0001",
                  "--budget", "3", "--no-proof")  # fmt: skip
    assert f"3 of 3 evaluations, {count} known from before, " in facts(third)["effort"]
    space = cfxc.FeatureSpace.from_toml("space.toml")
    assert len(cfxc.Evaluations.load("seen.json", space)) == count + 3


def test_evaluations_of_another_model(shell: Shell) -> None:
    assert shell(*LINEAR, "--width", "20", "--data", "seen.json").code == 0
    message = shell.refuses(*FOREST, "--width", "20", "--data", "seen.json")
    assert message.startswith("cfxc: seen.json: evaluations of another model: ")


def test_evaluations_outlive_a_fault(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: Any, **options: Any) -> None:
        raise AssertionError("a bug")

    monkeypatch.setattr(bayes.BlackBox, "_proved", broken)
    ended = shell(*LINEAR, *FAR, "--data", "seen.json")
    assert ended.code == 1
    assert "AssertionError: a bug" in ended.err
    space = cfxc.FeatureSpace.from_toml("space.toml")
    assert len(cfxc.Evaluations.load("seen.json", space)) == 5


@pytest.mark.parametrize(
    ("name", "starts"), [("t.png", b"\x89PNG"), ("t.svg", b"<?xml"), ("t.PDF", b"%PDF")]
)
def test_a_picture(shell: Shell, name: str, starts: bytes) -> None:
    ended = shell(*LINEAR, *FAR, "--no-proof", "--plot", name)
    assert ended.err.endswith(f"picture: {name}\n")
    assert (shell.folder / name).read_bytes().startswith(starts)
    assert not list(shell.folder.glob(".*"))


# -- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ((), "one of them is needed"),
        (("--width", "5", "--to", "70"), "not both"),
        (("--to", "70", "--sign", "+"), "--sign belongs to --width"),
        (("--width", "0"), "width must be a positive"),
        (("--width", "-3"), "width must be a positive"),
        (("--width", "nan"), "width must be a positive"),
        (("--width", "inf"), "width must be a positive"),
        (("--to", "nan"), "--to is a number, not nan"),
        (("--to", "inf"), "--to is a number, not inf"),
        (("--width", "5", "--sign", "up"), "--sign 'up': write +, - or both"),
        (("--width", "5", "--kernel", "linear"), "unknown kernel 'linear'"),
        (("--width", "5", "--budget", "1"), "a budget of 1 is used up"),
        (("--width", "5", "--budget", "0"), "budget"),
        (("--width", "5", "--epsilon", "0"), "epsilon"),
        (("--width", "5", "--epsilon", "1"), "epsilon"),
        (("--width", "5", "--max-changes", "0"), "--max-changes"),
        (("--width", "5", "--seed", "-1"), "--seed"),
        (("--width", "5", "--time-limit", "0"), "--time-limit"),
        (("--width", "5", "--constraint", "agee > 3"), "agee"),
        (("--width", "5", "--causal", "age"), "--causal 'age'"),
        (("--width", "5", "--data", "no/seen.json"), "no folder"),
        (("--width", "5", "--data", "person.json"), "not a file of evaluations"),
        (("--width", "5", "--data", "data.csv"), "data.csv"),
        (("--width", "5", "--plot", "no/t.png"), "no folder"),
        (("--width", "5", "--plot", "t.gif"), "t.gif: a picture is .png, .svg"),
        (("--width", "5", "--plot", "t"), "t: a picture is .png, .svg"),
        (("--factual", "nobody.json", "--width", "5"), "nobody.json"),
        (("--space", "no.toml", "--width", "5"), "no.toml"),
    ],
)
def test_bad_questions(shell: Shell, options: tuple[str, ...], part: str) -> None:
    assert part in shell.refuses(*LINEAR, *options)


def test_the_output_is_this_already(shell: Shell) -> None:
    found = answered(shell(*FOREST, "--width", "9", "--budget", "2", "--no-proof", "--json"), 4)
    message = shell.refuses(*FOREST, "--to", repr(found["outcome_before"]))
    assert "ask for another one" in message


def test_bad_models(shell: Shell) -> None:
    table = people()
    message = shell.refuses("regress", "no.skops", *ASKED, "--to", "1")
    assert "no.skops" in message
    message = shell.refuses("regress", "mlp.joblib", *ASKED, "--to", "0.9")
    assert "--trust-pickle" in message
    encoder = make_column_transformer((OneHotEncoder(), ["sector"]), remainder="passthrough")
    several = make_pipeline(encoder, DecisionTreeClassifier(max_depth=2))
    skops.io.dump(several.fit(table, table["sector"]), shell.folder / "several.skops")
    message = shell.refuses("regress", "several.skops", *ASKED, "--to", "0.5")
    assert "a classifier of 3 classes" in message
    two = make_pipeline(encoder, LinearRegression())
    joblib.dump(two.fit(table, np.c_[worth(table), table["age"]]), shell.folder / "two.joblib")
    for option in ("--to", "--width"):
        shell.refuses("regress", "two.joblib", *ASKED, "--trust-pickle", option, "7")


def test_percentages_where_there_are_probabilities(shell: Shell) -> None:
    classifier = ("regress", "lr.skops", *ASKED)
    for options in (("--to", "50"), ("--to", "-0.1"), ("--width", "20")):
        assert "probability, between 0 and 1" in shell.refuses(*classifier, *options)


def test_a_model_without_a_number_for_the_row(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        LinearRegression, "predict", lambda self, rows: np.full(rows.shape[0], np.nan)
    )
    for option in ("--to", "--width"):
        assert "gives no number for the row" in shell.refuses(*LINEAR, option, "70")


def test_extras_that_are_missing(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    message = shell.refuses(*LINEAR, "--width", "5", "--plot", "t.png")
    assert "cfxc[plot]" in message
    monkeypatch.delitem(vars(bayes), "BlackBox", raising=False)
    for name in ("black_box", "search", "acquisition"):
        monkeypatch.delitem(sys.modules, f"cfxc.methods.bayes.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "botorch", None)
    monkeypatch.setitem(sys.modules, "botorch.exceptions.errors", None)
    message = shell.refuses(*LINEAR, "--width", "5")
    assert "cfxc[bayes]" in message


# -- words ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "width", "text"),
    [
        (65.8116, 20, "65.81"),
        (0.46913, 0.5, "0.4691"),
        (1234567.8, 5000, "1234568"),
        (-0.004, 20, "0.00"),
        (1.5, 1e-9, "1.500000000000"),
        (2e15, 20, "2000000000000000.0"),
        (1e14, 1e-20, "100000000000000.000000000000000"),
    ],
)
def test_figures_have_the_digits_that_the_question_asks_for(
    value: float, width: float, text: str
) -> None:
    assert regress._figure(value, width) == text


def test_ranges_are_rounded_inwards() -> None:
    assert regress._ranges([(23.761, 26.689)], 20) == "23.77 to 26.68"
    both = [(-3.3333, -1.1111), (1.5, 2.0)]
    assert regress._ranges(both, 2) == "-3.333 to -1.112 or 1.500 to 2.000"
    assert regress._ranges([(1.0001, 1.0009)], 2) == ""
    assert regress._ranges([(1.0009, 1.0011)], 2) == ""
    assert regress._percent(0.98996) == "98.9 %"


def test_a_proof_too_fine_for_the_digits_is_a_share() -> None:
    question = Question("", width=2.0)
    row = pd.DataFrame({"age": [30]})
    result = cfxc.PotentialResult(
        "infeasible", "", row, row, 0.0, 1.99, 0.36, 0.98, 1e-9, 1 - 1e-9, ("z3",), 9,
        (0.0,) * 9, 0, 0.1, "budget", False, cfxc.Evaluations(cfxc.FeatureSpace.infer(row)),
    )  # fmt: skip
    target = bayes.SEP(2.0)
    assert regress._proved(question, result, target, "output") == (
        "none is more than 100 % of an exact hit (by z3)"
    )
    assert regress._target(question, result, target) == "an output about 2 away, higher or lower"
    wide = replace(result, bound=0.5)
    assert regress._proved(question, wide, target, "output").startswith("no admissible row gives -")


def test_an_answer_that_changes_much_hints_at_caps(shell: Shell) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 8)).round(2), columns=list("abcdefgh"))
    model = LinearRegression().fit(table, table.sum(axis=1))
    skops.io.dump(model, "wide.skops")
    table.to_csv("wide.csv", index=False)
    assert shell("space", "infer", "wide.csv", "-o", "wide.toml").code == 0
    ask = ("wide.skops", "--space", "wide.toml", "--factual", "wide.csv:0")
    wanted = float(np.sort(table.to_numpy(), axis=0)[-1].sum()) - 0.5  # next to all at their ends
    regress = ("regress", *ask, "--to", f"{wanted}")
    explain = ("explain", *ask, "--range", f"{wanted}:", "--method", "mio")
    for command in (regress, explain):
        ended = shell(*command)
        assert "hint: 8 features change; --max-changes 5 asks for 5 at most\n" in ended.err
        assert "hint" not in shell(*command, "--json").err
        assert "hint" not in shell(*command, "--max-changes", "8").err

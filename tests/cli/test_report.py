"""How answers are worded, for people and for programs."""

from __future__ import annotations

import io
import json
import re
import sys
import time
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest

import cfxc
from cfxc.answers.result import Result
from cfxc.cli import report
from cfxc.cli.commands import watched
from cfxc.solvers.base import Call, Trace

ROW = pd.DataFrame({"age": [30], "a long name of a column": ["b"]})
FOUND = Result(
    status="optimal",
    factual=ROW,
    counterfactual=ROW.assign(age=40),
    distance=0.25,
    lower_bound=0.2495,
    exact_distance=Fraction(1, 4),
    exact_lower_bound=Fraction(499, 2000),
    epsilon=1e-3,
    lower_bound_proof="solver",
    solver="z3",
    distance_name="l1",
    target="'yes'",
    outcome_before="no",
    outcome_after="yes",
    seconds=0.25,
    calls=(Call(0.2495, "unsat", 0.1, "z3"), Call(0.1, "unsat", 0.1, "bounds")),
    provers=("bounds", "z3"),
)
UNPROVED = replace(
    FOUND, status="feasible", lower_bound=0.0, exact_lower_bound=Fraction(0),
    lower_bound_proof="none", calls=(), provers=(), reason="out of time",
)  # fmt: skip


def lines(result: Result, capsys: pytest.CaptureFixture[str], *more: tuple[str, str]) -> list[str]:
    report.show(result, more)
    return capsys.readouterr().out.splitlines()


def test_the_answer_above_the_proof_in_one_column(capsys: pytest.CaptureFixture[str]) -> None:
    far = replace(FOUND, counterfactual=ROW.assign(**{"a long name of a column": "[c]"}))
    assert lines(far, capsys, ("in total", "3 s")) == [
        "a long name of a column  b → [c]",
        "outcome                  no → yes",
        "",
        "distance                 0.25 (l1)",
        "lower bound              0.2495: nothing is nearer, proved by bounds, z3",
        "status                   optimal to within 0.1 %",
        "effort                   1 solver call, 0.2 s",
        "in total                 3 s",
    ]


@pytest.mark.parametrize(
    ("by", "text"),
    [
        ((), "no solver call"),
        (("bounds", "bounds"), "no solver call"),
        (("z3",), "1 solver call"),
        (("z3", "bounds", "cvc5"), "2 solver calls"),
    ],
)
def test_only_solvers_are_counted(
    by: tuple[str, ...], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made = replace(FOUND, calls=tuple(Call(0.1, "unsat", 0.1, one) for one in by))
    assert lines(made, capsys)[-1] == f"effort       {text}, 0.2 s"


def test_no_bound_is_not_called_proved(capsys: pytest.CaptureFixture[str]) -> None:
    text = "\n".join(lines(UNPROVED, capsys))
    assert "lower bound  0: none above was proved" in text
    assert "nearer one may exist" in text
    assert "nothing" not in text
    assert UNPROVED.summary() == "feasible: l1 distance 0.25, no lower bound above 0 proved"
    assert FOUND.summary() == (
        "optimal: l1 distance 0.25, nothing nearer than 0.2495 (proved by bounds, z3)"
    )


def test_what_was_not_found_has_no_blank_line(capsys: pytest.CaptureFixture[str]) -> None:
    none = replace(
        UNPROVED, status="unknown", counterfactual=None, distance=None, exact_distance=None
    )
    assert lines(none, capsys)[0] == "status  unknown: out of time"


@pytest.mark.parametrize(
    ("wanted", "target"),
    [
        (("yes",), "yes"),
        ((True,), True),
        ((None,), None),
        ((1.5, None), [1.5, None]),
        ((None, 2.0), [None, 2.0]),
        (None, "'yes'"),
    ],
)
def test_the_target_as_a_value(wanted: tuple[Any, ...] | None, target: Any) -> None:
    found = json.loads(json.dumps(replace(FOUND, target_values=wanted).to_dict(), allow_nan=False))
    assert found["target"] == target


def test_progress_is_told_only_if_it_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "PATIENCE", 0.05)
    for seconds, told in ((0.0, ""), (0.5, "searching …\n")):
        monkeypatch.setattr(sys, "stderr", io.StringIO())
        with report.progress("searching …"):
            time.sleep(seconds)
        assert sys.stderr.getvalue() == told  # type: ignore[attr-defined]  # a StringIO
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with pytest.raises(ValueError, match="wrong"), report.progress("searching …"):
        raise ValueError("wrong")
    time.sleep(0.1)
    assert sys.stderr.getvalue() == ""  # type: ignore[attr-defined]  # a StringIO


def test_bounds_as_they_move(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "PATIENCE", 0.05)
    monkeypatch.setattr(report, "EVERY", 0.2)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with report.progress("searching, for at most 9 s …") as told:
        told(cfxc.Progress(1.0, 0.0, None, 3))
        told(cfxc.Progress(12.0, 0.125, None, 3))
        time.sleep(0.35)
        told(cfxc.Progress(13.0, 0.2, 0.5, 4))
        told(cfxc.Progress(25.0, 0.25, 0.5, 4))
        time.sleep(0.4)
    first, second, *_, last = sys.stderr.getvalue().splitlines()  # type: ignore[attr-defined]  # a StringIO
    assert first == "searching, for at most 9 s …"
    assert second == "searching, 0 s: nothing found yet, nothing below 0.125"
    assert re.fullmatch(r"searching, [01] s: best 0\.5, nothing below 0\.25", last)


@pytest.mark.parametrize(
    ("options", "begins", "told"),
    [
        ({}, "searching, for at most 9 s …", "best 0.5"),
        ({"count": 3}, "searching 3 answers, for at most 9 s each …", "answer 2 of 3, best 0.5"),
        ({"count": 3, "diversity": "pool"}, "searching, for at most 9 s …", "best 0.5"),
    ],
)
def test_of_several_answers_it_is_said_which_is_searched(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], begins: str, told: str
) -> None:
    monkeypatch.setattr(report, "PATIENCE", 0.05)
    monkeypatch.setattr(report, "EVERY", 0.1)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with watched(cfxc.Question(time_limit=9, **options)) as watch:
        for _ in range(2):  # searches, each with reports of its own
            Trace(watch)(cfxc.Progress(0.0, 0.0, 0.5, 1))
        time.sleep(0.3)
    first, second, *_ = sys.stderr.getvalue().splitlines()  # type: ignore[attr-defined]  # a StringIO
    assert first == begins
    assert second == f"searching, 0 s: {told}"


def test_a_bound_of_0_is_no_news() -> None:
    assert report.standing(cfxc.Progress(1.0, 0.0, None, 3)) == "nothing found yet"
    assert report.standing(cfxc.Progress(1.0, 0.0, 0.5, 3)) == "best 0.5"


@pytest.mark.parametrize("text", ["compiling …", "retraining the model 1000 times …"])
def test_whatever_takes_long_says_so_again_and_again(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "PATIENCE", 0.05)
    monkeypatch.setattr(report, "EVERY", 0.1)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with report.doing(text):
        time.sleep(0.5)
    first, *others = sys.stderr.getvalue().splitlines()  # type: ignore[attr-defined]  # a StringIO
    assert first == text
    assert len(others) >= 2
    assert set(others) == {f"{text.split()[0]}, 0 s"}

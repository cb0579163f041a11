"""The line that says what goes on: where it is shown, and what it says."""

from __future__ import annotations

import sys
import time
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import cfxc
from cfxc.errors import DataTypeError
from cfxc.show import progress
from cfxc.show.progress import Display, begin, interactive, showing


def test_it_says_what_is_done_and_how_far_that_is() -> None:
    line = Display("searching")
    assert line.line(2.4) == "searching (2 s)"
    line(cfxc.Progress(1.0, 0.09, None, 3))
    assert line.line(3) == "searching: none found yet, nothing below 0.09 (3 s)"
    line(cfxc.Progress(1.0, 0.09, 0.12345678, 3))
    assert line.line(3) == "searching: best 0.1235, nothing below 0.09 (3 s)"
    line(1200, 3400)
    assert line.line(61) == "searching: 1,200 of 3,400 answered (61 s)"
    line(cfxc.Progress(1.0, 0.09, 0.12, 3))
    assert line.line(9) == (
        "searching: 1,200 of 3,400 answered; best 0.12, nothing below 0.09 (9 s)"
    )
    begin(line, "compiling")
    assert line.line(1) == "compiling (1 s)"
    begin(print, "compiling")


def test_nobody_is_told_unless_somebody_looks_on(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not interactive()
    with showing("searching", None) as told:
        assert told is None
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(isatty=lambda: True))
    assert interactive()
    with showing("searching", None) as told:
        assert isinstance(told, Display)
    with showing("searching", False) as told:
        assert told is None
    with showing("searching", print) as told:
        assert told is print
    monkeypatch.setattr(sys, "stderr", None)
    assert not interactive()


def slow(seconds: float, progress_: Any = True) -> None:
    with showing("searching", progress_) as told:
        assert told is not None
        told(cfxc.Progress(1.0, 0.09, 0.12, 3))
        time.sleep(seconds)


def test_it_appears_only_if_it_takes_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    monkeypatch.setattr(progress, "EVERY", 0.01)
    slow(0)
    assert capsys.readouterr() == ("", "")
    slow(0.3)
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "searching: best 0.12, nothing below 0.09 (0 s)\n"


def test_notebooks_have_one_output_that_is_emptied(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    def show(data: dict[str, str], **_: Any) -> Any:
        said.append(data["text/plain"])
        return SimpleNamespace(update=lambda data, raw: said.append(data["text/plain"]))

    shell = SimpleNamespace(kernel=object())
    ipython = SimpleNamespace(get_ipython=lambda: shell, display=SimpleNamespace(display=show))
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", ipython.display)
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    monkeypatch.setattr(progress, "EVERY", 0.01)
    slow(0.2, None)
    assert said[0] == said[-1] == ""
    assert "searching: best 0.12, nothing below 0.09 (0 s)" in said


def test_an_error_ends_the_line() -> None:
    with pytest.raises(ZeroDivisionError), showing("searching", True):
        _ = 1 / 0


def test_what_progress_may_be() -> None:
    X = pd.DataFrame({"a": [0, 1, 2, 3]})
    tree = DecisionTreeClassifier().fit(X, X["a"] > 1)
    space = cfxc.FeatureSpace.infer(X)
    model = cfxc.compile(tree, space, progress=True)
    calls: list[Any] = [model.explain, model.explain_batch, model.frontier, model.single_changes]
    for call in calls:
        call(X.iloc[[0]], progress=True)
        call(X.iloc[[0]], progress=False)
        with pytest.raises(DataTypeError, match="progress is a function, True, False or None"):
            call(X.iloc[[0]], progress=3)
    with pytest.raises(DataTypeError, match="progress of compile is True"):
        cfxc.compile(tree, space, progress=print)  # type: ignore[arg-type]
    told: list[Any] = []
    model.frontier(X.iloc[[0]], progress=told.append)
    assert all(isinstance(each, cfxc.Progress) for each in told)

"""One question: every option is accepted everywhere it makes sense, and comes back from a file."""

from __future__ import annotations

import inspect
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

import cfxc
from cfxc.cli.app import app
from cfxc.cli.flags import Flags, _completed
from cfxc.methods.plans import robust
from cfxc.question.criteria import CRITERIA
from cfxc.question.options import OPTIONS

X = pd.DataFrame({"a": np.arange(12) % 6, "b": np.arange(12) // 2})
MODEL = cfxc.compile(
    DecisionTreeClassifier(random_state=0).fit(X, X.a + X.b > 5), cfxc.FeatureSpace.infer(X)
)
ROW = X.iloc[[0]]
CHOSEN: dict[str, Any] = {
    "target": True, "distance": "l2", "subject_to": ["a <= 5", cfxc.MaxChanges(2)],
    "epsilon": 0.01, "semantics": "real", "method": "mio", "solver": "highs", "count": 2,
    "diversity": "features", "apart": 0.1, "change_penalty": 0.1, "relax": ["max_changes"],
    "seeds": X, "time_limit": 9.0, "random_state": 3, "n_jobs": 2,
}  # fmt: skip
PLAIN: dict[str, Any] = {
    "constraints": "a >= factual.a", "max_changes": cfxc.MaxChanges(3),
    "causal": cfxc.Causal({"b": "2 * a"}), "probability": cfxc.Probability(0.7),
    "margin": cfxc.Margin(0.2), "accepts": cfxc.Accepts("other.onnx", at_least=0.5),
    "trust_region": cfxc.TrustRegion("rows.csv", epsilon=0.1, clusters=2),
}  # fmt: skip


def command(name: str) -> Any:
    return _completed(typer.main.get_command(app).commands[name])  # type: ignore[attr-defined]


def test_every_option_is_chosen_in_these_tests() -> None:
    assert set(CHOSEN) == set(OPTIONS)
    assert set(PLAIN) == set(CRITERIA)


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_is_spelled_once(name: str) -> None:
    """Given to a question, a call, a batch, a robust plan, a file: the same option."""
    value = {name: CHOSEN[name]}
    question = cfxc.Question(**value)
    assert question.given == value
    for function in (cfxc.CompiledModel.explain, cfxc.CompiledModel.explain_batch):
        assert name in inspect.signature(function).parameters
    assert f"{name}: {OPTIONS[name].help[:20]}" in str(cfxc.CompiledModel.explain.__doc__)
    full = {"count": 1, **value}
    beside = MODEL.explain(ROW, question, count=full["count"])
    assert beside.status == MODEL.explain(ROW, **full).status
    one_each = {"count", "diversity", "apart", "relax", "seeds"}
    if name in one_each:
        with pytest.raises(cfxc.InvalidInputError, match=name):
            MODEL.explain_batch(ROW, question)
    else:
        both = MODEL.explain_batch(ROW, question), MODEL.explain_batch(ROW, **value)
        assert both[0]["status"].tolist() == both[1]["status"].tolist()
    if name in {"count", "relax", "seeds"}:
        with pytest.raises(cfxc.InvalidInputError, match=name):
            robust(MODEL, ROW, [MODEL], **value)
    else:
        assert robust(MODEL, ROW, [MODEL], **value).status in ("optimal", "feasible")
    if not OPTIONS[name].in_file:
        with pytest.raises(cfxc.UnsupportedError, match=name):
            question.to_toml()
        return
    read = cfxc.Question.from_toml("\n" + question.to_toml())
    assert {n: v for n, v in vars(read).items() if n != "given"} == {
        n: v for n, v in vars(question).items() if n != "given"
    }


def test_every_option_has_a_flag() -> None:
    known = {flag for each in command("explain").params for flag in each.opts}
    for name, option in OPTIONS.items():
        flag = option.flag or f"--{name.replace('_', '-')}"
        assert flag in known or option.flag is None
    assert {kind.flag for kind in CRITERIA.values()} <= known
    for name in ("plan", "regress"):
        kinds = command(name).callback.flags
        assert isinstance(kinds, Flags)
        assert {CRITERIA[kind].flag for kind in kinds.criteria} <= {
            flag for each in command(name).params for flag in each.opts
        }


@pytest.mark.parametrize("name", CRITERIA)
def test_a_criterion_comes_back_from_a_file(name: str) -> None:
    question = cfxc.Question(subject_to=[PLAIN[name]])
    (read,) = cfxc.Question.from_toml("\n" + question.to_toml()).subject_to
    assert type(read) is CRITERIA[name]
    assert str(read) == str(question.subject_to[0])


def test_fractions_come_back_from_a_file() -> None:
    third = Fraction(1, 3)
    question = cfxc.Question(
        time_limit=10 * third, change_penalty=third,
        diversity=cfxc.Diverse(within=third, tolerance=third),
        subject_to=[cfxc.Margin(third), cfxc.Probability(third)],
    )  # fmt: skip
    mixed = cfxc.Question(
        target=(third, None), distance={"l0": third, "l1": Decimal("0.1")}, apart=Decimal("0.1")
    )  # fmt: skip
    again = cfxc.Question.from_toml("\n" + mixed.to_toml())
    assert (again.target, again.distance) == (("1/3", None), {"l0": "1/3", "l1": "1/10"})
    assert again.apart == Fraction(1, 10)
    read = cfxc.Question.from_toml("\n" + question.to_toml())
    assert (read.time_limit, read.change_penalty) == (10 / 3, third)
    assert read.diversity == question.diversity
    assert [each.exact for each in read.subject_to] == [third, third]


@pytest.mark.parametrize(
    "number",
    [10**5000, Fraction(1, 10**5000), "1e5000"],
    ids=["large", "small", "text"],
)
def test_numbers_beyond_use_are_refused_in_few_words(number: Any) -> None:
    for make in (
        lambda: cfxc.Question(count=number), lambda: cfxc.Question(random_state=number),
        lambda: cfxc.MaxChanges(number), lambda: cfxc.Margin(number),
        lambda: cfxc.Probability(number),
    ):  # fmt: skip
        with pytest.raises(cfxc.CfxcError) as raised:
            make()
        assert len(str(raised.value)) < 200
    assert "thousands" in repr(cfxc.Question(time_limit=10**5000))


def test_files(tmp_path: Path) -> None:
    asked = cfxc.Question(
        target=(1, None), distance={"l0": 0.5, "l1": 0.5}, relax=cfxc.MaxChanges(2),
        subject_to=cfxc.MaxChanges(2),
    )  # fmt: skip
    asked.to_toml(tmp_path / "question.toml")
    read = cfxc.Question.from_toml(tmp_path / "question.toml")
    assert (read.target, read.distance) == ((1.0, None), {"l0": 0.5, "l1": 0.5})
    assert read.relax == ("at most 2 features may change",)
    for text, said in (
        ("epsilonn = 1", "no option 'epsilonn'"), ("target = ", "cannot be read"),
        ("seeds = 3", "no option 'seeds'"), ("subject_to = [3]", "3 is none"),
        ("subject_to = [{most = 3}]", "is none"),
        ("subject_to = [{max_changes = 2, probability = 0.6}]", "one criterion a table"),
        ("epsilon = 2", "between 0 and 1"), ("count = " + "9" * 5000, "cannot be read"),
        ("subject_to = [{max_changes = 0}]", "from 1"), ("relax = ['b > 1']", "is none of"),
        ("subject_to = [{trust_region = {file = 'x'}}]", "rows = 'file'"),
        ("subject_to = [{accepts = {model = 'x', lable = 1}}]", "'lable' is none"),
    ):  # fmt: skip
        with pytest.raises(cfxc.CfxcError, match=said):
            cfxc.Question.from_toml(f"\n{text}\n")
    with pytest.raises(cfxc.InvalidInputError, match=r"none\.toml"):
        cfxc.Question.from_toml(tmp_path / "none.toml")


def test_names_of_files_may_have_commas(tmp_path: Path) -> None:
    path = tmp_path / "may, at_least=2.onnx"
    path.touch()
    read = cfxc.Accepts.from_toml(f"{path},at_least=1")
    assert (read.model, read.lower) == (str(path), 1)
    path.unlink()
    with pytest.raises(cfxc.InvalidInputError, match="at_least"):
        cfxc.Accepts.from_toml(f"{path},at_least=1")


@pytest.mark.parametrize("criterion", [
    cfxc.TrustRegion(X), cfxc.Causal({"b": (LinearRegression().fit(X[["a"]], X.b), ["a"])}),
    cfxc.Accepts(LinearRegression().fit(X[["a"]], X.b), at_least=1),
], ids=lambda each: each.name)  # fmt: skip
def test_objects_are_not_written(criterion: cfxc.Criterion) -> None:
    with pytest.raises(cfxc.UnsupportedError, match="written"):
        cfxc.Question(subject_to=[criterion]).to_toml()


def test_what_is_given_beside_a_question_goes_before() -> None:
    question = cfxc.Question(target=False, epsilon=0.5)
    assert question.with_(epsilon=0.1).given == {"target": False, "epsilon": 0.1}
    assert MODEL.explain(ROW, question, target=True).outcome_after
    with pytest.raises(cfxc.DataTypeError, match=r"question is a cfxc\.Question"):
        MODEL.explain(ROW, {"target": True})  # type: ignore[call-overload] # the point of the test
    with pytest.raises(cfxc.DataTypeError, match="no option 'constraints'"):
        MODEL.explain(ROW, constraints=["a > 1"])  # type: ignore[call-overload]


@pytest.mark.parametrize("given", [
    3, [3], None, {"max_changes": 3}, ["a > 1", None], [cfxc.MaxChanges(2), cfxc.MaxChanges(3)],
])  # fmt: skip
def test_what_is_no_list_of_criteria(given: Any) -> None:
    with pytest.raises(cfxc.CfxcError, match="subject_to"):
        cfxc.Question(subject_to=given)


def test_a_region_in_a_file_is_read_with_the_space(tmp_path: Path) -> None:
    X.to_csv(tmp_path / "rows.csv", index=False)
    near = cfxc.TrustRegion(tmp_path / "rows.csv", epsilon=0.1)
    found = [MODEL.explain(ROW, target=True, subject_to=[each]) for each in
             (near, cfxc.TrustRegion(X, epsilon=0.1))]  # fmt: skip
    assert found[0].exact_distance == found[1].exact_distance

"""What newcomers get wrong: each message names the thing and what to do, and none is a bare error.

The table is long on purpose; the command line's is ``tests/cli/test_mistakes.py``.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace as Names
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import cfxc

Infer = cfxc.FeatureSpace.infer


def pipeline(model: Any) -> Pipeline:
    encode = make_column_transformer((OneHotEncoder(), ["sector"]), remainder="passthrough")
    return make_pipeline(encode, model)


@pytest.fixture(scope="module")
def m() -> Names:
    """A table, its outcomes, and models of it."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, 200),
            "income": rng.normal(30, 8, 200).round(2),
            "sector": rng.choice(["it", "law", "art"], 200),
        }
    )
    worth = X["age"] + X["income"]
    y = np.where(worth > 75, "yes", "no")
    tree = pipeline(DecisionTreeClassifier(max_depth=4, random_state=0)).fit(X, y)
    grades = np.where(worth > 85, "high", np.where(worth > 70, "mid", "low"))
    space = Infer(X)
    model = cfxc.compile(tree, space)
    row = X[tree.predict(X) == "no"].iloc[[0]]
    return Names(
        X=X, y=y, tree=tree, space=space, row=row, model=model,
        line=cfxc.compile(pipeline(LinearRegression()).fit(X, worth), space),
        three=cfxc.compile(pipeline(DecisionTreeClassifier(max_depth=4)).fit(X, grades), space),
        ask=lambda **options: model.explain(row, **{"target": "yes", **options}),
        must=lambda *criteria: model.explain(row, target="yes", subject_to=criteria),
        has=lambda **cells: model.explain(row.assign(**cells), target="yes"),
    )  # fmt: skip


Case = tuple[str, Callable[[Names], Any], list[str]]

TABLES: list[Case] = [
    ("an array", lambda m: Infer(m.X.to_numpy()), ["ndarray", "pd.DataFrame(array, columns"]),
    ("a list", lambda m: Infer([[1, 2]]), ["list", "pd.DataFrame"]),
    ("a path", lambda m: Infer("data.csv"), ["str", "pd.read_csv('data.csv')"]),
    ("a column", lambda m: Infer(m.X["age"]), ["Series", "X[['age']]"]),
    ("no rows", lambda m: Infer(m.X.iloc[:0]), ["empty", "0 rows"]),
    (
        "numbers as names",
        lambda m: Infer(pd.DataFrame(np.eye(3))),
        ["names must be text", "rename"],
    ),
    ("a date", lambda m: Infer(m.X.assign(day=pd.Timestamp("2020-01-01"))), ["'day'", ".dt.days"]),
    ("fixed misspelt", lambda m: Infer(m.X, fixed=["ages"]), ["'ages'", "nearest: 'age'"]),
    ("fixed by place", lambda m: Infer(m.X, fixed=[0]), ["fixed", "0", "'age'"]),
    ("another word", lambda m: Infer(m.X, immutable=["age"]), ["'immutable'", "takes X, fixed"]),
    ("levels as a list", lambda m: Infer(m.X, ordinal=["sector"]), ["ordinal", "mapping"]),
    ("too few levels", lambda m: Infer(m.X, ordinal={"sector": ["it"]}), ["'sector'", "'law'"]),
    ("step in words", lambda m: Infer(m.X, resolution={"income": "fine"}), ["'fine'", "0.01"]),
    ("step of 0", lambda m: Infer(m.X, resolution={"income": 0}), ["'income'", "above 0"]),
    ("a step of texts", lambda m: Infer(m.X, resolution={"sector": 1}), ["'sector'", "real"]),
    ("no such feature", lambda m: m.space["agee"], ["'agee'", "nearest: 'age'"]),
    ("no such field", lambda m: m.space.replace("age", actions="fixed"), ["'actions'", "'action'"]),
    ("no such action", lambda m: m.space.replace("age", action="frozen"), ["'frozen'", "'fixed'"]),
    ("no such file", lambda m: cfxc.FeatureSpace.from_toml("none.toml"), ["none.toml", "infer"]),
    ("a table as a space", lambda m: cfxc.FeatureSpace(m.X), ["Feature", "'age'"]),
]

MODELS: list[Case] = [
    ("no space", lambda m: cfxc.compile(m.tree), ["'space'", "takes model, space"]),
    ("the table", lambda m: cfxc.compile(m.tree, m.X), ["FeatureSpace.infer(X)"]),
    ("swapped", lambda m: cfxc.compile(m.space, m.tree), ["compile(model, space)"]),
    ("target", lambda m: cfxc.compile(m.tree, m.space, target="yes"), ["'target'", "favourable"]),
    ("unfitted", lambda m: cfxc.compile(DecisionTreeClassifier(), m.space), ["not fitted", "fit"]),
    ("a class", lambda m: cfxc.compile(DecisionTreeClassifier, m.space), ["class", "fitted"]),
    ("a function", lambda m: cfxc.compile(m.tree.predict, m.space), ["predictor", "cfxc models"]),
    ("a dict", lambda m: cfxc.compile({"model": m.tree}, m.space), ["dict", "cfxc models"]),
    ("no file", lambda m: cfxc.compile("none.onnx", m.space), ["none.onnx", "model's file"]),
    (
        "a space with the outcome",
        lambda m: cfxc.compile(m.tree, Infer(m.X.assign(y=m.y))),
        ["'y'", "leave them out"],
    ),
    (
        "a space without a column",
        lambda m: cfxc.compile(m.tree, Infer(m.X[["age", "income"]])),
        ["'sector'", "training table"],
    ),
    (
        "trained on an array",
        lambda m: cfxc.compile(DecisionTreeClassifier().fit(np.eye(2), [0, 1]), m.space),
        ["array of 2 columns", "3", "subset"],
    ),
    (
        "encoded outside",
        lambda m: cfxc.compile(
            DecisionTreeClassifier().fit(m.X.assign(sector=pd.factorize(m.X["sector"])[0]), m.y),
            m.space,
        ),
        ["'sector'", "OneHotEncoder"],
    ),
    (
        "no such outcome",
        lambda m: cfxc.compile(m.tree, m.space, favourable="good"),
        ["'good'", '"yes"'],
    ),
    (
        "no such task",
        lambda m: cfxc.compile(m.tree, m.space, task="sorter"),
        ["classifier", "sorter"],
    ),
    ("a model in a generator", lambda m: cfxc.Generator(m.tree), ["Pipeline", "cfxc.compile"]),
    (
        "a generator that has not learned",
        lambda m: cfxc.Generator(m.model).generate(m.row),
        ["not fitted", "fit(X)"],
    ),
    ("a function alone", lambda m: cfxc.BlackBox(len), ["FeatureSpace"]),
    ("a plan of a tree", lambda m: m.model.plan(m.row), ["linear", "robust"]),
]

ROWS: list[Case] = [
    ("three", lambda m: m.model.explain(m.X.iloc[:3]), ["got 3", "X.iloc[[0]]"]),
    ("none", lambda m: m.model.explain(m.X.iloc[:0]), ["got 0", "X.iloc[[0]]"]),
    ("an array", lambda m: m.model.explain(m.row.to_numpy()), ["ndarray", "X.iloc[[0]]"]),
    ("a list", lambda m: m.model.explain([30, 20.5, "it"]), ["list", "X.iloc[[0]]"]),
    ("its number", lambda m: m.model.explain(0), ["int", "X.iloc[[0]]"]),
    ("a column", lambda m: m.model.explain(m.X["age"]), ["'age'", "every column"]),
    (
        "without age",
        lambda m: m.model.explain(m.row.drop(columns="age")),
        ["'age'", "every column"],
    ),
    (
        "age misspelt",
        lambda m: m.model.explain(m.row.rename(columns={"age": "Age"})),
        ["'age'", "rename 'Age' to 'age'"],
    ),
    ("with the outcome", lambda m: m.has(y="no"), ["'y'", "leave it out: X[list(space.columns)]"]),
    ("words for a number", lambda m: m.has(age="thirty"), ["age", "'thirty'", "numbers"]),
    ("digits as text", lambda m: m.has(age="30"), ["age", "'30' is text"]),
    ("no such category", lambda m: m.has(sector="farm"), ["sector", "'farm'", "'art'"]),
    ("too old", lambda m: m.has(age=300), ["age", "300", "18 to 79", "set upper"]),
    ("nothing", lambda m: m.has(income=np.nan), ["income", "missing", "missing = true"]),
    ("infinite", lambda m: m.has(income=np.inf), ["income", "inf", "finite"]),
    ("half a year", lambda m: m.has(age=30.5), ["age", "30.5", "whole number"]),
    ("batch of an array", lambda m: m.model.explain_batch(m.X.to_numpy()), ["ndarray", "X[:10]"]),
    ("batch of a row", lambda m: m.model.explain_batch(m.X.loc[0]), ["Series", "X[:10]"]),
    (
        "batch without a column",
        lambda m: m.model.explain_batch(m.X[["age", "income"]], target="yes"),
        ["'sector'", "every column"],
    ),
    (
        "batch with a count",
        lambda m: m.model.explain_batch(m.X, target="yes", count=2),
        ["one answer a row", "count"],
    ),
    ("labels of a list", lambda m: m.model.predict([1]), ["list", "X[:10]"]),
]

QUESTIONS: list[Case] = [
    ("no such label", lambda m: m.ask(target="good"), ["'good'", '"yes"']),
    ("a label misspelt", lambda m: m.ask(target="Yes"), ["'Yes'", "nearest: 'yes'"]),
    ("a label's place", lambda m: m.ask(target=1), ["1", '"no"']),
    ("labels", lambda m: m.ask(target=["yes"]), ["['yes']", '"yes"']),
    ("a range of labels", lambda m: m.ask(target=(1, 2)), ["(1, 2)", '"yes"']),
    ("an array", lambda m: m.ask(target=np.array(["yes"])), ["label", "array"]),
    ("a label of numbers", lambda m: m.line.explain(m.row, target="yes"), ["'yes'", "(100, None)"]),
    ("a number", lambda m: m.line.explain(m.row, target=100), ["100", "(low, high)"]),
    ("no range", lambda m: m.line.explain(m.row), ["range (low, high)"]),
    ("a range reversed", lambda m: m.line.explain(m.row, target=(9, 5)), ["9 exceeds 5"]),
    ("one of three", lambda m: m.three.explain(m.row), ["3 outcomes", "name one", '"mid"']),
    ("without its name", lambda m: m.model.explain(m.row, "yes"), ["Question", "target='yes'"]),
    ("a dict", lambda m: m.model.explain(m.row, {"target": "yes"}), ["Question", "by name"]),
    ("a question's label", lambda m: cfxc.Question("yes"), ["target='yes'"]),
    ("no such option", lambda m: m.ask(timelimit=3), ["'timelimit'", "'time_limit'"]),
    ("a norm", lambda m: m.ask(norm="l1"), ["'norm'", "nearest: 'distance'"]),
    ("constraints", lambda m: m.ask(constraints=[]), ["'constraints'", "nearest: 'subject_to'"]),
    ("a criterion", lambda m: m.ask(max_changes=2), ["subject_to=[cfxc.MaxChanges(…)]"]),
    ("a norm misspelt", lambda m: m.ask(distance="L1"), ["'L1'", "nearest: 'l1'"]),
    ("Euclid", lambda m: m.ask(distance="euclidean"), ["'euclidean'", "'l2'"]),
    ("a number as norm", lambda m: m.ask(distance=1), ["distance", "int"]),
    ("a method misspelt", lambda m: m.ask(method="mip"), ["'mip'", "mio"]),
    ("a solver misspelt", lambda m: m.ask(solver="gurobii"), ["'gurobii'", "gurobi"]),
    ("no answers", lambda m: m.ask(count=0), ["count", "from 1"]),
    ("a text of answers", lambda m: m.ask(count="3"), ["count", "'3'"]),
    ("no accuracy", lambda m: m.ask(epsilon=0), ["epsilon", "between 0 and 1"]),
    ("negative time", lambda m: m.ask(time_limit=-1), ["time_limit", "positive"]),
    ("no time", lambda m: m.ask(time_limit=None), ["time_limit", "positive"]),
    ("no processes", lambda m: m.ask(n_jobs=0), ["n_jobs", "from 1"]),
    ("progress", lambda m: m.ask(progress=3), ["progress", "function"]),
    ("seeds", lambda m: m.ask(seeds=[1]), ["seeds", "DataFrame"]),
    ("what to give up", lambda m: m.ask(relax=["everything"]), ["'everything'", "max_changes"]),
    ("no question", lambda m: cfxc.Question.from_toml("none.toml"), ["none.toml", "No such file"]),
]

CRITERIA: list[Case] = [
    ("a feature misspelt", lambda m: m.must("agee >= 3"), ["'agee'", "did you mean age"]),
    ("one equals sign", lambda m: m.must("age = 3"), ["'='", "write '=='"]),
    ("and", lambda m: m.must("age > 3 and age < 9"), ["'and'", "'&&'"]),
    ("a text without quotes", lambda m: m.must("sector == it"), ["'it'", "unknown"]),
    ("no such category", lambda m: m.must('sector == "farm"'), ['"farm"', '"art"']),
    ("a function", lambda m: m.must(lambda x: True), ["subject_to", "MaxChanges(3)"]),
    ("a dict", lambda m: m.ask(subject_to={"age": 3}), ["subject_to", "a condition as text"]),
    ("a class", lambda m: m.must(cfxc.MaxChanges), ["MaxChanges(3)"]),
    ("no changes", lambda m: m.must(cfxc.MaxChanges(0)), ["max_changes", "from 1"]),
    ("per cent", lambda m: m.must(cfxc.Probability(80)), ["probability", "between 0 and 1", "80"]),
    ("more than sure", lambda m: m.must(cfxc.Probability(1.2)), ["probability", "1.2"]),
    ("a negative margin", lambda m: m.must(cfxc.Margin(-1)), ["margin", "-1"]),
    (
        "a number's probability",
        lambda m: m.line.explain(m.row, target=(9, None), subject_to=[cfxc.Probability(0.8)]),
        ["probability", "range"],
    ),
    ("no cause", lambda m: m.must(cfxc.Causal({"amount": "90 * age"})), ["'amount'", "'age'"]),
    ("too few labels", lambda m: m.must(cfxc.TrustRegion(m.X, m.y[:5])), ["200 rows", "5 labels"]),
    (
        "an unfitted judge",
        lambda m: m.must(cfxc.Accepts(DecisionTreeRegressor(), label=1)),
        ["not fitted", "fit"],
    ),
    ("no such verdict", lambda m: m.must(cfxc.Accepts(m.tree, label="maybe")), ["'maybe'"]),
    ("a width in words", lambda m: cfxc.SEP(width="big"), ["width", "'big'"]),
    ("a data set misspelt", lambda m: cfxc.datasets.load("adults"), ["nearest: 'adult'"]),
    ("no certificate", lambda m: cfxc.check("none.json"), ["none.json", "name its file"]),
    (
        "no policy",
        lambda m: cfxc.check(m.ask().certificate, policy="none.toml"),
        ["none.toml: cannot read the policy", "name its file"],
    ),
    (
        "no row",
        lambda m: cfxc.check(m.ask().certificate, factual="none.csv:2"),
        ["none.csv: cannot read the row", "name its file"],
    ),
    (
        "no folder",
        lambda m: m.ask().certificate.save("nowhere/c.json"),
        ["no folder nowhere", "make it first"],
    ),
]

PLACES: dict[str, Callable[[Names, Any], object]] = {
    "a certificate": lambda m, path: m.ask().certificate.save(path),
    "a picture": lambda m, path: m.ask().plot(path),
    "a letter": lambda m, path: m.ask().letter(path),
    "a space": lambda m, path: cfxc.FeatureSpace.from_toml(path),
    "a question": lambda m, path: cfxc.Question.from_toml(path),
    "a question's file": lambda m, path: cfxc.Question().to_toml(path),
    "parts of a batch": lambda m, path: m.model.explain_batch(m.X[:2], out=path),
    "its certificates": lambda m, path: m.model.explain_batch(m.X[:2], certificates=path),
}
FILES: dict[str, Callable[[Names, Any], object]] = {
    "a model": lambda m, path: cfxc.compile(path, m.space),
    "to be checked": lambda m, path: cfxc.check(path),
    "to check by": lambda m, path: cfxc.check(m.ask().certificate, model=path),
    "a row": lambda m, path: cfxc.check(m.ask().certificate, factual=path),
}
NUL = "a\0b.html"

PATHS: list[Case] = [
    *((name, partial(call, path=3), ["path of a", "not 3"]) for name, call in PLACES.items()),
    *(
        (f"{name} with a NUL", partial(call, path=NUL), ["NUL", "name another"])
        for name, call in (PLACES | FILES).items()
    ),
    ("axes for ax", lambda m: m.ask().plot(axes=3), ["no argument 'axes'", "'ax'"]),
    ("a misspelt field", lambda m: m.ask().letter("a.html", feilds={}), ["nearest: 'fields'"]),
    ("exports", lambda m: m.ask().export("smt2", 3), ["path of a", "not 3"]),
    ("a generator's model", lambda m: cfxc.Generator.load("gen", 3), ["compiled model", "not int"]),
    ("a generator without", lambda m: cfxc.Generator.load("gen"), ["'model'", "takes folder"]),
    ("a table as a space", lambda m: cfxc.FeatureSpace.from_toml("a,b\n1,2"), ["infer DATA.csv"]),
    ("a space as a question", lambda m: cfxc.Question.from_toml(m.space.to_toml()), ["a feature"]),
    ("a result to check", lambda m: cfxc.check(m.ask()), ["result.certificate", "not Result"]),
    (
        "a policy",
        lambda m: cfxc.check(m.ask().certificate, policy=3),
        ["path of the policy", "not 3"],
    ),
    (
        "a cut of what is compiled",
        lambda m: cfxc.check(m.ask().certificate, model=m.model, cut=0.0),
        ["cut has no effect", "compile"],
    ),
    (
        "files for a folder",
        lambda m: m.ask().export("smt2", "."),
        ["a folder", "name files in it"],
    ),
    (
        "groups of a report",
        lambda m: cfxc.report(
            m.model.explain_batch(m.X[:2], target="yes"), "r.html", rows=m.X[:2], group=3
        ),
        ["group: expected a list", "not 3"],
    ),
    (
        "a report's title",
        lambda m: cfxc.report(m.model.explain_batch(m.X[:2], target="yes"), "r.html", title=3),
        ["title is a text", "not 3"],
    ),
    ("an empty path", lambda m: m.ask().certificate.save(""), ["empty", "name one"]),
    ("a long name", lambda m: m.ask().certificate.save("x" * 300), ["so long", "name another"]),
    (
        "numbers in a cell",
        lambda m: cfxc.check(m.ask().certificate, factual={"age": np.array([1, 2])}),
        ["one value", "'age'", "ndarray"],
    ),
    (
        "a column twice",
        lambda m: cfxc.check(m.ask().certificate, factual={1: 2, "1": 3}),
        ["twice", "give each once"],
    ),
    (
        "a table in a row",
        lambda m: cfxc.check(m.ask().certificate, factual={"age": m.X}),
        ["one value", "'age'", "DataFrame"],
    ),
    ("a hash", lambda m: cfxc.check(m.ask().certificate, hash=12), ["hash is a text", "not 12"]),
    (
        "an export's time",
        lambda m: m.ask().export("cpc", "c", time_limit="a"),
        ["time_limit", "'a'"],
    ),
    ("no place", lambda m: m.ask().certificate.save(), ["'path'", "it takes path"]),
    (
        "a result is no certificate",
        lambda m: cfxc.export(m.ask(), "smt2", "x"),
        ["certificate", "not Result"],
    ),
    (
        "formats",
        lambda m: cfxc.export("a.json", ["smt2"], "x"),
        ["unknown format ['smt2']", "vipr"],
    ),
    (
        "a table as a distance",
        lambda m: m.ask(distance=pd.DataFrame({"a": [1]})),
        ["a distance is", "DataFrame"],
    ),
    (
        "a table as a model",
        lambda m: cfxc.check(m.ask().certificate, model="loans.csv"),
        ["loans.csv", "table is no model"],
    ),
    ("no format", lambda m: cfxc.export("a.json"), ["'format'", "it takes source, format, out"]),
    ("no number of changes", lambda m: cfxc.MaxChanges(), ["MaxChanges", "'most'", "it takes"]),
    ("a kind", lambda m: cfxc.Feature("age"), ["Feature", "'kind'", "it takes name, kind"]),
    ("within", lambda m: cfxc.Diverse(witin=1), ["Diverse", "'witin'", "nearest: 'within'"]),
]

ALL = {
    f"{title}: {name}": (call, parts)
    for title, cases in {
        "table": TABLES, "model": MODELS, "row": ROWS, "question": QUESTIONS, "criterion": CRITERIA,
        "path": PATHS,
    }.items()
    for name, call, parts in cases
}  # fmt: skip


@pytest.mark.parametrize("case", ALL)
def test_a_mistake_is_named_with_a_remedy(
    m: Names, case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call, parts = ALL[case]
    with pytest.raises(cfxc.CfxcError) as raised:
        call(m)
    message = str(raised.value)
    assert all(part in message for part in parts), message
    assert "Errno" not in message
    assert len(message.splitlines()) <= 10


def test_files_of_another_version_or_library(m: Names, tmp_path: Path) -> None:
    """What unpickling raises is told, with the packages and versions that it may be about."""
    path = tmp_path / "model.pkl"
    path.write_bytes(
        pickle.dumps(m.tree).replace(b"sklearn.tree._classes", b"sklearn.tree.classes0")
    )
    with pytest.raises(cfxc.ModelFileError, match="another version of scikit-learn"):
        cfxc.compile(path, m.space, trust_pickle=True)
    path.write_bytes(b"cmissing_library\nModel\n.")
    with pytest.raises(cfxc.ModelFileError, match=r"is not installed: pip install missing_lib"):
        cfxc.compile(path, m.space, trust_pickle=True)
    with pytest.raises(cfxc.ModelFileError, match="trust_pickle=True"):
        cfxc.compile(path, m.space)


def test_packages_that_are_missing_are_named(m: Names, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "gurobipy", None)
    with pytest.raises(cfxc.MissingExtraError, match=r"pip install 'cfxc\[gurobi\]'"):
        m.ask(method="mio", solver="gurobi")

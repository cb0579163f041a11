"""What newcomers get wrong on the command line: what is named, and that the ``try:`` line works."""

from __future__ import annotations

import json
import shlex

import joblib
import pytest
from sklearn.tree import DecisionTreeClassifier

from .conftest import PERSON, Shell

HOW = ("--space", "space.toml")
WHO = ("--factual", "person.json")
EXPLAIN = ("explain", "tree.skops", *HOW, *WHO)
INFER = ("space", "infer", "data.csv", "--target", "outcome", "-o", "new.toml")
NEW = ("new", "tree.skops", "data.csv", "--target", "outcome", "-o", "made")

TRIED = [
    (("explain", "tree.skop", *HOW, *WHO), "nearest: 'tree.skops'"),
    (("explain", "tree.skops", "--space", "spaces.toml", *WHO), "nearest: 'space.toml'"),
    (("explain", "tree.skops", *HOW, "--factual", "persons.json"), "nearest: 'person.json'"),
    (("explain", "tree.skops", *HOW, "--factual", "dat.csv:3"), "nearest: 'data.csv'"),
    (("explain", "tree.skops", *HOW, "--factual", "data.csv"), "expected one row, found 200"),
    ((*EXPLAIN, "--target", "Yes"), "nearest: 'yes'"),
    ((*EXPLAIN, "--favourable", "yess"), "nearest: 'yes'"),
    ((*EXPLAIN, "--distance", "L1"), "nearest: 'l1'"),
    ((*EXPLAIN, "--question", "questin.toml"), "nearest: 'question.toml'"),
    ((*EXPLAIN, "--constraint", "agee >= 3"), "did you mean age"),
    ((*EXPLAIN, "--causal", "ages = 30"), "'ages'"),
    (("explain", "mlp.joblib", *HOW, *WHO, "--time-limit", "5"), "runs the code in it"),
    ((*EXPLAIN, "--distance", "euclidean"), "nearest: 'l2'"),
    ((*EXPLAIN, "--max-changes", "2", "--relax", "max_change"), "nearest: 'max_changes'"),
    (
        (*EXPLAIN, "--apart", "0.2"),
        "for several answers: say how many, such as --count 3",
    ),
    ((*EXPLAIN, "--diversity", "features"), "--diversity is for several answers"),
    ((*EXPLAIN, "--distance", "manhattan"), "nearest: 'l1'"),
    ((*EXPLAIN, "--distance", "Hamming"), "nearest: 'l0'"),
    ((*INFER, "--increase", "sector"), "rising order: --ordinal 'sector=first,second,…'"),
    ((*INFER[:2], "dta.csv", *INFER[3:]), "nearest: 'data.csv'"),
    ((*INFER, "--fixed", "agee"), "nearest: 'age'"),
    ((*INFER, "--drop", "sectors"), "nearest: 'sector'"),
    ((*INFER, "--ordinal", "sectr=art,it,law"), "nearest: 'sector'"),
    ((*INFER, "--resolution", "pay_gap=0.1"), "nearest: 'pay gap'"),
    ((*INFER[:3], "--target", "outcom", *INFER[5:]), "nearest: 'outcome'"),
    (("new", "tree.skops", "data.csv", "-o", "made"), "not trained on the columns 'outcome'"),
    ((*NEW, "--favourable", "yess"), "nearest: 'yes'"),
    (("compile", "tre.skops", *HOW), "nearest: 'tree.skops'"),
    (
        ("explain", "tree.skops", "--space", "question.toml", "--question", "space.toml", *WHO),
        "question.toml looks like a question, and is given as a feature space: swap it and space",
    ),
    (("explain", "data.csv", *HOW, "--factual", "tree.skops"), "--factual data.csv:0"),
    (("explain", "data.csv", *HOW, "--factual", "tree.skops:3"), "--factual data.csv:3"),
    (("explain", "data.csv:4", *HOW, "--factual", "tree.skops"), "--factual data.csv:4"),
    (("explain", "tree.skops", *HOW, "--factual", "dat.csvv:3"), "--factual data.csv:3"),
    (("new", "data.csv", "tree.skops", *NEW[3:]), "data.csv looks like a table"),
    (("explain", "space.toml", "--space", "tree.skops", *WHO), "looks like a feature space"),
    (("compile", "tree.skops", *HOW, "--print", "labl"), "nearest: 'label'"),
]


@pytest.mark.parametrize(("words", "part"), TRIED, ids=lambda one: str(one)[-60:])
def test_the_line_below_works(shell: Shell, words: tuple[str, ...], part: str) -> None:
    (shell.folder / "question.toml").write_text('target = "yes"\n')
    message = shell.refuses(*words)
    assert part in message
    line = message.splitlines()[-1]
    assert line.startswith("try: cfxc "), message
    ended = shell(*shlex.split(line)[2:])
    assert ended.code in (0, 4), (line, ended)


NAMED = [
    (("explain",), ["MODEL"]),
    (("explain", "tree.skops", *HOW), ["--factual"]),
    (("explain", "tree.skops", *WHO), ["--space"]),
    (("explian", "tree.skops"), ["explian"]),
    ((*EXPLAIN, "--tagret", "yes"), ["--tagret", "--target"]),
    ((*EXPLAIN, "--certficate", "c.json"), ["options: --certificate)"]),
    ((*EXPLAIN, "--accepts", "no, m.skops,label=1"), ["'m.skops' is no", "no file 'no, m.skops'"]),
    (
        (*EXPLAIN, "--accepts", "m.skops,at_least"),
        ["'at_least' is no setting", "no file 'm.skops,at_least'"],
    ),
    (("new", "data.csv", "tree.skops", *NEW[3:]), ["tree.skops: not a table in CSV"]),
    ((*EXPLAIN, "--count", "many"), ["--count", "not a valid int"]),
    ((*EXPLAIN, "--target", "7"), ["'7'", '"yes"']),
    ((*EXPLAIN, "--range", "1:2"), ["leave it out", "--target LABEL"]),
    ((*EXPLAIN, "--probability", "80"), ["--probability", "between 0 and 1"]),
    ((*EXPLAIN, "--max-changes", "0"), ["--max-changes", "from 1"]),
    ((*EXPLAIN, "--time-limit", "-5"), ["--time-limit", "positive"]),
    ((*EXPLAIN, "--epsilon", "2"), ["epsilon", "between 0 and 1"]),
    ((*EXPLAIN, "--distance", "euclidean"), ["'euclidean'", "'l2'"]),
    ((*EXPLAIN, "--constraint", "sector == it"), ['quote labels: sector == "it"']),
    ((*EXPLAIN, "--constraint", "sector == 'it'"), ["constraint: sector == 'it'", '"a"']),
    ((*EXPLAIN, "--method", "mip"), ["'mip'", "mio"]),
    ((*EXPLAIN, "--constraint", "age = 3"), ["'='", "write '=='"]),
    ((*EXPLAIN, "--certificate", "nowhere/c.json"), ["no folder", "nowhere"]),
    (("explain", "regression.skops", *HOW, *WHO), ["--range LO:HI"]),
    (("explain", "data.csv", *HOW, *WHO), ["'.csv'", ".skops"]),
    (("explain", "tree.skops", *HOW, "--factual", "data.csv:200"), ["no row 200", "0 to 199"]),
    (("explain", "tree.skops", *HOW, "--factual", "17"), ["'17'", "row"]),
    (("explain", "tree.skops", "--space", "data.csv", *WHO), ["data.csv", "TOML"]),
    (("explain", "tree.skops", "--space", "data.csv", *WHO), ["cfxc space infer makes"]),
    (("batch", "tree.skops", "--space", "data.csv", "-o", "o", "--rows", "data.csv"), ["infer"]),
    (("explain", "tree.skops", *HOW, "--factual", "space.toml:5"), ["no row 5", ".csv"]),
    (("space", "infer", "tree.skops"), ["looks like a model file", "name a table"]),
    (("check", "tree.skops", "--model", "c.json"), ["given as a certificate; name a certificate"]),
    ((*EXPLAIN, "--constraint", "pay gap > 3"), ["between back-quotes: `pay gap`"]),
    (("check", "none.json"), ["none.json", "name its file"]),
    (("check", "person.json"), ["person.json"]),
    (("check", "person.json", "--seconds", "-1"), ["--seconds must be a positive number"]),
    (("plan", "tree.skops", *HOW, *WHO, "--retrain", "data.csv"), ["--outcome"]),
    (("regress", "regression.skops", *HOW, *WHO), ["--width", "--to"]),
    (("generate", "run", "tree.skops", *HOW, "--rows", "data.csv", "--generator", "no"), ["no"]),
]


@pytest.mark.parametrize(("words", "parts"), NAMED, ids=lambda one: " ".join(one)[-60:])
def test_what_is_wrong_is_named(shell: Shell, words: tuple[str, ...], parts: list[str]) -> None:
    before = shell.files()
    ended = shell(*words)
    assert ended.code in (2, 5), ended
    said = ended.err + ended.out * (ended.code == 5)
    assert all(part in said for part in parts), said
    assert "Traceback" not in said
    assert "Errno" not in said
    assert shell.files() == before


TABLES = [
    ("30,20.5,it,no\n40,30.5,law,yes\n", ["seems to hold data", "names of its columns"]),
    ("age;pay gap;sector\n30;20.5;it\n", ["';'", "commas"]),
    ("age,pay gap\n30,20.5\n", ["'sector'"]),
    ("age,pay gap,sector\n30,20.5\n", ["line 2", "2 cells", "3"]),
    ("age,pay gap,sector\nthirty,20.5,it\n", ["age", "'thirty'"]),
    ('age,pay gap,sector\n30,"20,5",it\n', ["pay gap", "'20,5'"]),
    ("age,pay gap,sector\n30,20.5,farming\n", ["sector", "'farming'"]),
    ("age,pay gap,sector\n300,20.5,it\n", ["age", "300", "18 to 79"]),
    ("age,pay gap,sector\n,20.5,it\n", ["age", "missing"]),
    ("age,age,pay gap,sector\n1,1,20.5,it\n", ["several columns", "'age'"]),
    ("", ["empty"]),
]


@pytest.mark.parametrize(("content", "parts"), TABLES, ids=[part[1][0] for part in TABLES])
def test_tables_with_something_wrong(shell: Shell, content: str, parts: list[str]) -> None:
    (shell.folder / "one.csv").write_text(content)
    message = shell.refuses("explain", "tree.skops", *HOW, "--factual", "one.csv:0")
    assert all(part in message for part in parts), message


def test_rows_of_json_with_something_wrong(shell: Shell) -> None:
    path = shell.folder / "person.json"
    for row, part in (
        ({**PERSON, "age": "30"}, "'30' is text"),
        ({**PERSON, "Age": 30}, ""),
        ({"agee": 30, "pay gap": 20.5, "sector": "it"}, "rename 'agee' to 'age'"),
        ([PERSON], "one JSON object"),
    ):
        path.write_text(json.dumps(row))
        if part:
            assert part in shell.refuses(*EXPLAIN)
    assert shell("explain", "tree.skops", *HOW, "--factual", "data.csv:0").code == 0


def test_models_with_something_wrong(shell: Shell) -> None:
    joblib.dump(DecisionTreeClassifier(), shell.folder / "raw.joblib")
    message = shell.refuses("explain", "raw.joblib", *HOW, *WHO, "--trust-pickle")
    assert "not fitted" in message
    (shell.folder / "old.pkl").write_bytes(b"csklearn.no_more\nModel\n.")
    message = shell.refuses("explain", "old.pkl", *HOW, *WHO, "--trust-pickle")
    assert "another version of scikit-learn" in message
    assert "sklearn.no_more" in message


def test_packages_that_are_missing(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "skops.io", None)
    assert "pip install 'cfxc[skops]'" in shell.refuses(*EXPLAIN)

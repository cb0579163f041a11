"""Every bad input ends in a short message, exit code 2, no traceback, and nothing written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import joblib
import onnx
import pytest
import skops.io
from onnx import TensorProto, helper
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from cfxc.cli import remedies

from .conftest import PERSON, Shell, people

EXPLAIN = ("explain", "tree.skops", "--space", "space.toml", "--factual", "person.json")
COMPILE = ("compile", "tree.skops", "--space", "space.toml", "-o", "out.txt")


def with_model(arguments: tuple[str, ...], model: str) -> tuple[str, ...]:
    return (arguments[0], model, *arguments[2:])


def person(shell: Shell, **changes: Any) -> tuple[str, ...]:
    """The question about another person, whose values are PERSON's with changes (None: without)."""
    row = {**PERSON, **{name.replace("_", " "): value for name, value in changes.items()}}
    (shell.folder / "person.json").write_text(
        json.dumps({name: value for name, value in row.items() if value != "absent"})
    )
    return EXPLAIN


# -- models --------------------------------------------------------------------------------------


def test_unknown_estimators_are_all_listed(shell: Shell) -> None:
    table = people()[["age", "pay gap"]]
    model = make_pipeline(RBFSampler(), GaussianProcessClassifier())
    joblib.dump(model.fit(table[:20], table["age"][:20] > 40), shell.folder / "odd.joblib")
    for command in (COMPILE, EXPLAIN):
        message = shell.refuses(*with_model(command, "odd.joblib"), "--trust-pickle")
        assert "RBFSampler" in message
        assert "GaussianProcessClassifier" in message


def test_unknown_onnx_ops_are_all_listed_with_their_nodes(shell: Shell) -> None:
    nodes = [
        helper.make_node("Cos", ["X"], ["e"], name="Cos_1"),
        helper.make_node("Det", ["e"], ["d"], name="Det_2"),
        helper.make_node("Relu", ["d"], ["Y"], name="Relu_3"),
    ]
    graph = helper.make_graph(
        nodes,
        "odd",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, 2])],
        [helper.make_tensor_value_info("Y", TensorProto.FLOAT, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, shell.folder / "odd.onnx")
    shell("space", "infer", "data.csv", "--target", "outcome", "-o", "two.toml")
    text = (shell.folder / "two.toml").read_text().split("[[feature]]")
    (shell.folder / "two.toml").write_text("[[feature]]".join(text[:3]))
    message = shell.refuses("compile", "odd.onnx", "--space", "two.toml", "-o", "out.txt")
    assert "Cos_1" in message
    assert "Det_2" in message


def test_pickles_need_trust(shell: Shell) -> None:
    marker = shell.folder / "ran"

    class Mischief:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (marker,)

    joblib.dump(Mischief(), shell.folder / "evil.pkl")
    for name in ("mlp.joblib", "evil.pkl"):
        message = shell.refuses(*with_model(EXPLAIN, name))
        assert "runs the code in it" in message
        assert "--trust-pickle" in message
    assert not marker.exists()
    assert shell(*with_model(COMPILE, "mlp.joblib"), "--trust-pickle").code == 0


@pytest.mark.parametrize("name", ["tree.onnx", "tree.skops", "mlp.joblib"])
@pytest.mark.parametrize("kept", [0.0, 0.3, 0.7, 0.99])
def test_truncated_models(shell: Shell, name: str, kept: float) -> None:
    path = shell.folder / name
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * kept)])
    message = shell.refuses(*with_model(COMPILE, name), "--trust-pickle")
    assert name in message


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("nothing.onnx", "No such file"),
        (".", "directory"),
        ("", "the path of a model file is empty"),
        ("data.csv", "'.csv'"),
        ("booster.json", "it is no XGBoost model"),
        ("booster.ubj", "cannot be opened"),
        ("booster.txt", "it is no LightGBM model"),
        ("plain", "without a suffix"),
    ],
)
def test_what_is_no_model_file(shell: Shell, name: str, part: str) -> None:
    if name.startswith(("booster", "plain")):
        (shell.folder / name).write_text("{}")
    message = shell.refuses(*with_model(COMPILE, name))
    assert part in message
    assert name in message


def test_skops_files_with_other_types(shell: Shell) -> None:
    skops.io.dump(Path("x"), shell.folder / "odd.skops")
    message = shell.refuses(*with_model(COMPILE, "odd.skops"))
    assert "not trusted" in message
    assert "Path" in message


# -- tables, rows and spaces ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"age": "absent"}, ["missing column", "'age'"]),
        ({"age": "absent", "agee": 3}, ["missing column", "'agee'", "'age'"]),
        ({"age": "thirty"}, ["age", "'thirty'", "text"]),
        ({"age": 30.5}, ["age", "30.5", "whole number"]),
        ({"age": [1]}, ["age", "list"]),
        ({"sector": "farming"}, ["sector", "'farming'", "category"]),
        ({"pay_gap": None}, ["pay gap", "missing value"]),
        ({"pay_gap": float("nan")}, ["pay gap", "missing value"]),
        ({"age": 300}, ["age", "300", "range 18 to 79"]),
        ({"pay_gap": float("inf")}, ["pay gap", "inf"]),
    ],
)
def test_bad_rows(shell: Shell, changes: dict[str, Any], parts: list[str]) -> None:
    message = shell.refuses(*person(shell, **changes))
    assert all(part in message for part in parts), message


BROKEN = {
    "empty": "",
    "truncated": '{"age": 30, "pay',
    "list": "[1, 2]",
    "number": "17",
    "bytes": "\xff\xfe",
    "word": "nul",
    "digits": "9" * 9999,
    "deep": "[" * 99999,
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_rows_that_are_no_json_object(shell: Shell, content: str) -> None:
    (shell.folder / "person.json").write_bytes(content.encode("latin-1"))
    assert "person.json" in shell.refuses(*EXPLAIN)


@pytest.mark.parametrize(
    ("row", "part"),
    [
        ("nobody.json", "No such file"),
        ("nobody.csv:1", "No such file"),
        ("data.csv", "expected one row, found 200"),
        ("data.csv:200", "data.csv: no row 200; rows count from 0 to 199"),
        ("data.csv:-1", "no row '-1'"),
        ("data.csv:first", "no row 'first'"),
        ("data.csv:" + "9" * 40, "a row's number, counted from 0"),
    ],
)
def test_rows_that_are_not_there(shell: Shell, row: str, part: str) -> None:
    assert part in shell.refuses(*EXPLAIN[:-1], row)


@pytest.mark.parametrize("kept", [0.0, 0.4, 0.99])
def test_truncated_spaces(shell: Shell, kept: float) -> None:
    path = shell.folder / "space.toml"
    text = path.read_text()
    path.write_text(text[: int(len(text) * kept)].rstrip().rstrip('"'))
    shell.refuses(*COMPILE)


def test_a_space_for_another_model(shell: Shell) -> None:
    text = (shell.folder / "space.toml").read_text()
    (shell.folder / "space.toml").write_text(text.replace('"age"', '"years"'))
    message = shell.refuses(*COMPILE)
    assert "'age'" in message
    assert "No such file" in shell.refuses("compile", "tree.skops", "--space", "no.toml")


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ("", "empty"),
        ("a,b\n1,2,3\n1,2,3,4\n", "data.csv, line 2: the row has 3 cells, and the header 2"),
        (
            "a,b\n1,2\n\n3,4,\n",
            "data.csv, line 4: the row has 3 cells, and the header 2; remove",
        ),
        ("a,b\n1,2\n3\n", "data.csv, line 3: the row has 1 cell, and the header 2"),
        ('a,b\n1,"2\n3,4\n', "not a table in CSV"),
        ("a,b,a,c,b\n1,2,3,4,5\n", "data.csv: several columns are called 'a', 'b'"),
        ("a;b;c\n1,5;2;3\n", "separated by ';'"),
        ("a\tb\n1\t2\n", "separated by a tab"),
        ("a,outcome\n", "data.csv"),
        (None, "No such"),
    ],
)
def test_tables_that_give_no_space(shell: Shell, content: str | None, part: str) -> None:
    path = shell.folder / "data.csv"
    path.unlink() if content is None else path.write_text(content)
    message = shell.refuses("space", "infer", "data.csv", "--target", "outcome", "-o", "new.toml")
    assert part in message or part == "data.csv"


@pytest.mark.parametrize(
    ("before", "after", "parts"),
    [
        ("version = 1\n", "", ["space.toml", "no version"]),
        ('name = "pay gap"', 'name = "age"', ["space.toml", "feature 'age' occurs twice"]),
        ("lower = 18", "lower = 180", ["space.toml: feature 1 ('age'): lower 180 is above"]),
        ('dtype = "int64"', 'dtype = "category"', ["feature 1 ('age')", "category", "numbers"]),
        ('dtype = "int64"', 'dtype = "datetime64[ns]"', ["feature 1 ('age')", "int64"]),
        ('dtype = "float64"', 'dtype = "str"', ["feature 2 ('pay gap')", "dtype str"]),
        (
            'action = "free"',
            'action = "conditional"\ncondition = ")("',
            ["space.toml: feature 1 ('age'): condition:1:1", "\n  )("],
        ),
        (
            'action = "free"',
            'action = "conditional"\ncondition = "sektor == \'x\'"',
            ["space.toml", "'age'", "condition:1:1"],
        ),
        (
            'action = "free"',
            'action = "conditional"\ncondition = \'sektor == "law"\'',
            ["space.toml: feature 'age': condition:1:1: 'sektor' is unknown", "sector?"],
        ),
    ],
)
def test_spaces_that_are_refused(shell: Shell, before: str, after: str, parts: list[str]) -> None:
    path = shell.folder / "space.toml"
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after, 1))
    message = shell.refuses(*COMPILE)
    assert all(part in message for part in parts), message
    assert message.count("'age'") + message.count("'pay gap'") <= 2


def test_a_space_without_features(shell: Shell) -> None:
    (shell.folder / "space.toml").write_text("version = 1\n")
    assert "space.toml: a feature space has at least one feature" in shell.refuses(*COMPILE)


def test_a_table_without_rows(shell: Shell) -> None:
    (shell.folder / "data.csv").write_text("a,b\n")
    infer = ("space", "infer", "data.csv", "-o", "new.toml")
    assert shell.refuses(*infer).startswith("cfxc: data.csv: the table is empty (0 rows")


def test_unknown_columns_of_a_table(shell: Shell) -> None:
    infer = ("space", "infer", "data.csv", "-o", "new.toml")
    assert "'outcome'" in shell.refuses(*infer, "--target", "outcom")
    assert "'age'" in shell.refuses(*infer, "--target", "outcome", "--fixed", "sector,agee")


# -- questions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("constraints", "named", "unnamed"),
    [
        (["age >= 40", "age <= 39"], ["'age >= 40'", "'age <= 39'", "contradict"], []),
        (["age >= 40", 'sector != "law"', "age <= 39"], ["'age >= 40'", "'age <= 39'"], ["law"]),
        (["age == factual.age + 1/2"], ["holds for no row"], []),
        (["`pay gap` > 10000"], ["holds for no row"], []),
        (["age >= 20", "false"], ["'false' holds for no row"], ["20"]),
    ],
    ids=["two", "two of three", "grid", "range", "constant"],
)
def test_contradictory_constraints(
    shell: Shell, constraints: list[str], named: list[str], unnamed: list[str]
) -> None:
    options = [part for text in constraints for part in ("--constraint", text)]
    message = shell.refuses(*EXPLAIN, *options)
    assert all(part in message for part in named), message
    assert not any(part in message for part in unnamed), message


def test_what_actions_rule_out_is_infeasible(shell: Shell) -> None:
    """Another person could meet the constraint: the question is right, its answer is "none"."""
    (shell.folder / "space.toml").unlink()
    shell("space", "infer", "data.csv", "--target", "outcome", "--fixed", "age", "-o", "space.toml")
    ended = shell(*EXPLAIN, "--constraint", "age > factual.age")
    assert ended.code == 3
    assert "no counterfactual exists, proved by " in ended.out
    ended = shell(*EXPLAIN, "--constraint", "age > factual.age", "--json")
    assert ended.code == 3
    assert json.loads(ended.out)["status"] == "infeasible"


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (("--target", "maybe"), ["'maybe'", '"no"', '"yes"']),
        (("--range", "1:2"), ["--target"]),
        (("--range", "1:2", "--target", "yes"), ["not both"]),
        (("--distance", "l7"), ["'l7'", "'l1'"]),
        (("--distance", "l0=0.5,l1=0.7"), ["sum to exactly 1"]),
        (("--distance", "l0=a,l1=b"), ["'a'"]),
        (("--distance", "l0=1,l0=0"), ["given twice: 'l0'"]),
        (("--distance", "missing.cfl"), ["missing.cfl"]),
        (("--epsilon", "0"), ["epsilon"]),
        (("--epsilon", "nan"), ["epsilon"]),
        (("--method", "magic"), ["'magic'", "smt"]),
        (("--solver", "oracle"), ["'oracle'", "z3"]),
        (("--count", "0"), ["count"]),
        (("--jobs", "-7"), ["--jobs must be -1, or a whole number from 1, not -7"]),
        (("--time-limit", "-1"), ["--time-limit must be"]),
        (("--seed=-1",), ["--seed must be"]),
        (("--trust-region", "data.csv,epsilon=-1"), ["--trust-region: epsilon is at least 0"]),
        (("--causal", "age == 3"), ["with one '='"]),
        (("--relax", "max_changes"), ["nothing of this kind is asked for; add --max-changes"]),
        (("--relax", "age > 3"), ["none of the kinds (constraints, ", "no condition is asked for"]),
        (
            ("--relax", "sector == 3", "--constraint", "age >= 40", "--constraint", "age <= 70"),
            ["none of the conditions asked for (age >= 40; age <= 70)"],
        ),
        (("--constraint", "age >="), ["constraint"]),
        (("--constraint", "agee >= 3"), ["agee"]),
        (("--constraint", "age"), ["constraint"]),
    ],
)
def test_bad_questions(shell: Shell, options: tuple[str, ...], parts: list[str]) -> None:
    message = shell.refuses(*EXPLAIN, *options)
    assert all(part in message for part in parts), message


def test_features_are_listed_once(shell: Shell) -> None:
    message = shell.refuses(*EXPLAIN, "--causal", "foo = 90 * age")
    assert "there is no feature 'foo' (known: " in message
    assert message.count("'sector'") == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--which", "9-5"), "the ends of 9-5 are swapped; write 5-9"),
        (("--which", "0,9 - 5"), "the ends of 9 - 5 are swapped; write 5-9"),
        (("--count", "2"), "No such option: --count; a batch gives one answer each: ask cfxc"),
        (("--relax=actions",), "No such option: --relax; a batch gives one answer each"),
        (("--whic", "3"), "No such option: --whic (Possible options: --which)"),
    ],
)
def test_what_a_batch_is_not_asked(shell: Shell, options: tuple[str, ...], said: str) -> None:
    batch = ("batch", "tree.skops", "--space", "space.toml", "--rows", "data.csv", "-o", "o.csv")
    ended = shell(*batch, "--target", "yes", *options)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


@pytest.mark.parametrize(
    ("line", "message", "said"),
    [
        ("run -n 0", "n must be at least 1", "-n must be at least 1"),
        ("run -n0", "n must be at least 1", "-n must be at least 1"),
        ("run --count 0", "n must be at least 1", "--count must be at least 1"),
        ("plan --retrainings=0", "n must be at least 2", "--retrainings must be at least 2"),
        ("plan", "n must be at least 2", "n must be at least 2"),
        ("explain --count 3", "count: 9 is above its range", "count: 9 is above its range"),
        ("explain --letter l.html", "give them with fields={…}, or in a TOML file (--fields)",
         "give them in a TOML file (--fields)"),
        ("infer", "or add kinds={'job': 'categorical'}", "or add --categorical 'job'"),
    ],
)  # fmt: skip
def test_what_python_calls_by_name_is_called_by_its_flag(
    line: str, message: str, said: str
) -> None:
    remedies.begin(line.split())
    assert remedies.by_flag(message) == said


def test_outcomes_are_shown_as_people_write_them(shell: Shell) -> None:
    table = people()[["age", "pay gap"]]
    shell("space", "infer", "data.csv", "--target", "outcome", "--drop", "sector", "-o", "two.toml")
    (shell.folder / "person.json").write_text('{"age": 30, "pay gap": 20.5}')
    options = ("--space", "two.toml", "--factual", "person.json", "--trust-pickle")
    for name, outcome, wanted, words in (
        ("floats", (table["age"] > 40) * 1.0, "2", "'2' is no outcome of the model: {0.0, 1.0}"),
        ("one", table["age"] * 0, None, "only one outcome, 0: nothing can change it"),
        ("four", table["age"] // 20 * 1.0, None, "4 outcomes; name one as target: {0.0, 1.0, 2.0"),
    ):
        tree = DecisionTreeClassifier(max_depth=3).fit(table, outcome)
        joblib.dump(tree, shell.folder / f"{name}.joblib")
        target = () if wanted is None else ("--target", wanted)
        message = shell.refuses("explain", f"{name}.joblib", *options, *target)
        assert words in message, message


@pytest.mark.parametrize("text", ["", "5", "1:2:3", "a:b", "3:1", ":", "nan:", "inf:"])
def test_bad_ranges(shell: Shell, text: str) -> None:
    shell.refuses(*with_model(EXPLAIN, "regression.skops"), "--range", text)


def test_regression_needs_a_range(shell: Shell) -> None:
    regression = with_model(EXPLAIN, "regression.skops")
    assert "--range" in shell.refuses(*regression)
    assert "--range" in shell.refuses(*regression, "--target", "3")


# -- output --------------------------------------------------------------------------------------


def test_outputs_that_cannot_be_written(shell: Shell) -> None:
    command = COMPILE[:-1]
    assert "no folder" in shell.refuses(*command, "nowhere/out.txt")
    (shell.folder.parent / "folder").mkdir()
    assert "it is a folder" in shell.refuses(*command, "../folder")


def test_emissions_that_do_not_fit(shell: Shell) -> None:
    message = shell.refuses(*COMPILE, "--print", "labl")
    assert "'labl' (nearest: 'label'); it has 'label'" in message
    assert "known" not in shell.refuses(*COMPILE, "--print", "zzz")
    assert "--formula" in shell.refuses(*COMPILE, "--emit", "ir", "--formula", "path")


@pytest.mark.parametrize(
    "arguments",
    [
        ("nonsense",),
        ("explain",),
        ("compile", "tree.skops"),
        ("compile", "tree.skops", "--space", "space.toml", "--emit", "dot"),
        ("explain", "tree.skops", "--space", "space.toml", "--factual", "p", "--count", "many"),
    ],
)
def test_usage_errors(shell: Shell, arguments: tuple[str, ...]) -> None:
    before = shell.files()
    ended = shell(*arguments)
    assert ended.code == 2
    assert ended.out == ""
    assert "Traceback" not in ended.err
    assert shell.files() == before


WALKED = [
    ("space", "infer", "FILE"),
    ("compile", "FILE", "--space", "space.toml"),
    ("compile", "tree.skops", "--space", "FILE"),
    (*EXPLAIN[:-1], "FILE"),
    (*EXPLAIN, "--distance", "mahalanobis=FILE"),
    (*EXPLAIN, "--trust-region", "FILE"),
    ("check", "FILE"),
    ("export", "FILE", "--format", "smt2", "-o", "out"),
    ("plan", "lr.skops", *EXPLAIN[2:], "--moments", "FILE"),
    ("plan", "lr.skops", *EXPLAIN[2:], "--retrain", "FILE", "--outcome", "outcome"),
    ("generate", "fit", "tree.skops", "--space", "space.toml", "--data", "FILE", "-o", "made"),
]


@pytest.mark.parametrize("name", ["junk.csv", "junk.json", "empty.csv", "header.csv", "latin.csv"])
@pytest.mark.parametrize("command", WALKED, ids=" ".join)
def test_every_file_that_is_none(shell: Shell, command: tuple[str, ...], name: str) -> None:
    content = {
        "junk": bytes(range(256)) * 9, "empty": b"", "header": b"age,pay gap,sector\n",
        "latin": "age,pay gap,sector\n30,20.5,ärt\n".encode("latin-1"),
    }[name.partition(".")[0]]  # fmt: skip
    (shell.folder / name).write_bytes(content)
    message = shell.refuses(*(part.replace("FILE", name) for part in command))
    assert name in message
    assert "Errno" not in message
    assert "codec" not in message or command[0] in ("check", "export")  # the checker's own words

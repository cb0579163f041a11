"""What the commands print and write when all is well."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import cvc5
import joblib
import pandas as pd
import pytest
import z3
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import cfxc
from cfxc.answers import explaining
from cfxc.cli import commands, guard, main
from cfxc.frontends.csv_files import read_csv
from cfxc.frontends.row_files import reads
from cfxc.ir import parse_program
from cfxc.lang import parse_program as parse_core
from cfxc.solvers.engines import search_within
from cfxc.stopping import INTERRUPTED

from .conftest import PERSON, Shell

EXPLAIN = ("explain", "tree.skops", "--space", "space.toml", "--factual", "person.json")
MODELS = ["tree.skops", "lr.skops", "mlp.skops", "tree.onnx", "lr.onnx", "regression.skops"]


def compiled(shell: Shell, model: str, *options: str) -> str:
    ended = shell("compile", model, "--space", "space.toml", *options)
    assert ended.code == 0, ended.err
    assert ended.err == ""
    return ended.out


# -- space infer ---------------------------------------------------------------------------------


def test_infer_a_space(shell: Shell) -> None:
    actions = ("--fixed", "sector", "--increase", "age", "--decrease", "pay gap")
    arguments = ("space", "infer", "data.csv", "--target", "outcome", *actions)
    shown = shell(*arguments)
    written = shell(*arguments, "-o", "new.toml")
    assert (shown.code, written.code, written.out) == (0, 0, "")
    assert (shell.folder / "new.toml").read_text() == shown.out
    space = cfxc.FeatureSpace.from_toml(shell.folder / "new.toml")
    assert space.names == ("age", "pay gap", "sector")
    assert [feature.action for feature in space] == ["increase", "decrease", "fixed"]


def test_names_between_commas_and_names_with_commas(shell: Shell) -> None:
    (shell.folder / "odd.csv").write_text('"a,b",c,d\n1,2,3\n2,3,4\n4,5,6\n')
    ended = shell("space", "infer", "odd.csv", "--fixed", "a,b", "--fixed", "c, d")
    space = cfxc.FeatureSpace.from_toml(ended.out)
    assert [feature.action for feature in space] == ["fixed"] * 3


def test_columns_can_be_dropped(shell: Shell) -> None:
    ended = shell("space", "infer", "data.csv", "--target", "outcome", "--drop", "age, sector")
    assert cfxc.FeatureSpace.from_toml(ended.out).names == ("pay gap",)
    assert "'agee'" in shell.refuses("space", "infer", "data.csv", "--drop", "agee", "-o", "new")


def test_odd_columns_are_warned_of(shell: Shell) -> None:
    rows = [f"{i},p{i},2020-01-{i % 28 + 1:02d},{i % 17}" for i in range(60)]
    (shell.folder / "odd.csv").write_text("\n".join([",who,when,age", *rows]) + "\n")
    ended = shell("space", "infer", "odd.csv")
    assert ended.code == 0
    assert "warning" not in ended.out
    warnings = ended.err.splitlines()
    assert [line.split("'")[1] for line in warnings] == ["Unnamed: 0", "who", "when"]
    assert all(line.startswith("cfxc: warning: column ") for line in warnings)
    dropped = shell("space", "infer", "odd.csv", "--drop", "Unnamed: 0", "--drop", "who,when")
    assert dropped.err == ""
    assert cfxc.FeatureSpace.from_toml(dropped.out).names == ("age",)


def test_codes_and_texts_of_a_table_stay_what_they_are(shell: Shell) -> None:
    rows = ["007,NA,1.5,1", "012,None,NA,2", "100,,2.5,x", "100,NA,3,1"]
    (shell.folder / "odd.csv").write_text("\n".join(["zip,grade,gap,y=2", *rows]) + "\n")
    space = cfxc.FeatureSpace.from_toml(shell("space", "infer", "odd.csv").out)
    assert space["zip"].labels == ("007", "012", "100")
    assert space["grade"].labels == ("NA", "None", None)
    assert (space["gap"].kind, space["gap"].missing) == ("real", True)
    assert space["y=2"].labels == ("1", "2", "x")


# -- compile -------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_ir_parses_and_holds_the_decision_only(shell: Shell, model: str) -> None:
    program = parse_program(compiled(shell, model))
    (name,) = dict(program.outputs)
    assert name == ("value" if model.startswith("regression") else "label")


def test_outputs_asked_for(shell: Shell) -> None:
    everything = parse_program(compiled(shell, "lr.skops", "--print", "all"))
    assert list(dict(everything.outputs)) == ["label", "score", "probability"]
    two = compiled(shell, "lr.skops", "--print", "label", "--print", "score")
    assert set(dict(parse_program(two).outputs)) == {"label", "score"}


def test_program_reads_as_the_language(shell: Shell) -> None:
    tree = compiled(shell, "tree.skops", "--emit", "program")
    assert tree.count("if") >= 4
    network = compiled(shell, "mlp.skops", "--emit", "program")
    assert network.count(":=") > 6
    for text in (tree, network):
        assert parse_core(text, "out") is not None


@pytest.mark.parametrize("transformer", ["path", "compact"])
def test_formula(shell: Shell, transformer: str) -> None:
    options = ("--emit", "formula", "--formula", transformer)
    text = compiled(shell, "tree.skops", *options)
    assert transformer in text.splitlines()[0]
    assert '∧ y.label ∈ {"no", "yes"}' in text
    assert "age ≤ " in text
    compiled(shell, "tree.skops", *options, "-o", "out.txt")
    assert (shell.folder / "out.txt").read_text(encoding="utf-8") == text


def z3_status(text: str, *extra: str) -> str:
    solver = z3.Solver()
    solver.from_string("\n".join([text, *(f"(assert {fact})" for fact in extra)]))
    return str(solver.check())


def cvc5_status(text: str, *extra: str) -> str:
    manager = cvc5.TermManager()
    solver = cvc5.Solver(manager)
    symbols = cvc5.SymbolManager(manager)
    parser = cvc5.InputParser(solver, symbols)
    whole = "\n".join([text, *(f"(assert {fact})" for fact in extra)])
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, whole, "out")
    while not (command := parser.nextCommand()).isNull():
        assert "error" not in command.invoke(solver, symbols)
    return str(solver.checkSat())


def facts(row: dict[str, Any]) -> list[str]:
    """The person of a row, in the symbols of the script."""
    sectors = ["art", "it", "law"]
    pay = float(row["pay gap"]).as_integer_ratio()
    return [
        f"(= |age| {row['age']})",
        f"(= |pay gap| (/ {pay[0]}.0 {pay[1]}.0))",
        f"|sector={sectors.index(row['sector'])}|",
    ]


@pytest.mark.parametrize("status", [z3_status, cvc5_status], ids=["z3", "cvc5"])
@pytest.mark.parametrize("model", ["tree.skops", "lr.skops", "tree.onnx"])
def test_smt2_says_what_the_model_says(shell: Shell, model: str, status: Any) -> None:
    space = cfxc.FeatureSpace.from_toml("space.toml")
    deployed = cfxc.compile(model, space)
    rows = [PERSON, {**PERSON, "age": 70}, {**PERSON, "pay gap": 45.1, "sector": "it"}]
    transformers = ["compact", "path"] if model.startswith("tree") else ["compact"]
    for transformer in transformers:
        text = compiled(shell, model, "--emit", "smt2", "--formula", transformer)
        for row in rows:
            outcome = deployed.predict(space.decode(space.encode_row(row)))[0]
            here, there = (0, 1) if outcome == "no" else (1, 0)
            assert status(text, *facts(row), f"|y.label={here}|") == "sat"
            assert status(text, *facts(row), f"|y.label={there}|") == "unsat"


@pytest.mark.parametrize("status", [z3_status, cvc5_status], ids=["z3", "cvc5"])
@pytest.mark.parametrize("model", ["mlp.skops", "lr.onnx"])
def test_smt2_encloses_what_has_no_linear_formula(shell: Shell, model: str, status: Any) -> None:
    text = compiled(shell, model, "--emit", "smt2")
    assert "enclosures" in text
    space = cfxc.FeatureSpace.from_toml("space.toml")
    row = space.decode(space.encode_row(PERSON))
    here = ["no", "yes"].index(cfxc.compile(model, space).predict(row)[0])
    assert status(text, *facts(PERSON), f"|y.label={here}|") == "sat"
    assert status(text, *facts(PERSON), f"|y.label={1 - here}|") == "unsat"
    assert status(text, *facts({**PERSON, "age": 100})) == "unsat"  # the ranges are assumed


def test_smt2_declares_every_input_and_explains_its_symbols(shell: Shell) -> None:
    text = compiled(shell, "tree.skops", "--emit", "smt2")
    assert '|sector=0| is "art"' in text
    assert '|y.label=1| is "yes"' in text
    for name in ("|age|", "|pay gap|", "|sector=2|"):
        assert f"(declare-const {name} " in text
    assert "(check-sat)" not in [line for line in text.splitlines() if not line.startswith(";")]


def tangled() -> tuple[pd.DataFrame, Any]:
    """Columns whose symbols would be the same, and a model that looks at all of them."""
    table = pd.DataFrame(
        [(y, two, label) for y in "pqr" for two in range(4) for label in range(3)],
        columns=["y", "y=2", "y.label=0"],
    )
    outcome = 3 * table["y=2"] + 2 * table["y.label=0"] + 4 * (table["y"] == "r") > 8
    encoder = make_column_transformer((OneHotEncoder(), ["y"]), remainder="passthrough")
    return table, make_pipeline(encoder, LogisticRegression()).fit(table, outcome)


def legend(text: str) -> dict[str, Any]:
    """What the comments of a script say: symbol by input or output, and by label of it."""
    found: dict[str, Any] = {}
    for line in text.splitlines():
        if match := re.fullmatch(r"; (input|output) (\S+): (\|.*\|), \w+", line):
            found[match[2].strip("`")] = match[3]
        elif match := re.fullmatch(r"; (input|output) (\S+): exactly one of", line):
            labels = found[match[2].strip("`")] = {}
        elif match := re.fullmatch(r";   (\|.*\|) is (.*)", line):
            labels[match[2].strip('"')] = match[1]
    return found


@pytest.mark.parametrize("status", [z3_status, cvc5_status], ids=["z3", "cvc5"])
def test_the_legend_names_the_symbols_of_the_script(shell: Shell, status: Any) -> None:
    table, model = tangled()
    joblib.dump(model, shell.folder / "tangled.joblib")
    cfxc.FeatureSpace.infer(table).to_toml("tangled.toml")
    options = ("--space", "tangled.toml", "--trust-pickle", "--emit", "smt2")
    text = shell("compile", "tangled.joblib", *options).out
    names = legend(text)
    symbols = [names["y=2"], names["y.label=0"], *names["y"].values(), *names["label"].values()]
    assert len(set(symbols)) == 7
    rows = table.iloc[::5]
    for (_, row), outcome in zip(rows.iterrows(), model.predict(rows), strict=True):
        given = [f"(= {names[name]} {row[name]})" for name in ("y=2", "y.label=0")]
        given.append(names["y"][row["y"]])
        assert status(text, *given, names["label"][str(outcome).lower()]) == "sat"
        assert status(text, *given, names["label"][str(not outcome).lower()]) == "unsat"


def test_unused_inputs_are_declared_by_the_names_of_the_legend(shell: Shell) -> None:
    table, _ = tangled()
    chosen = make_column_transformer(("passthrough", ["y=2"]))
    model = make_pipeline(chosen, DecisionTreeClassifier(max_depth=1))
    joblib.dump(model.fit(table, table["y=2"] > 1), shell.folder / "one.joblib")
    cfxc.FeatureSpace.infer(table).to_toml("tangled.toml")
    options = ("--space", "tangled.toml", "--trust-pickle", "--emit", "smt2")
    text = shell("compile", "one.joblib", *options).out
    names = legend(text)
    for symbol in (names["y=2"], names["y.label=0"]):
        assert text.count(f"(declare-const {symbol} Int)") == 1
    assert z3_status(text, f"(= {names['y.label=0']} 2)", f"(= {names['y=2']} 3)") == "sat"


def test_files_are_replaced_whole_and_keep_their_permissions(shell: Shell) -> None:
    out = shell.folder / "out.txt"
    out.write_text("before")
    out.chmod(0o640)
    compiled(shell, "tree.skops", "-o", "out.txt")
    assert out.read_text().startswith("program ")
    assert out.stat().st_mode & 0o777 == 0o640


def test_a_failed_write_leaves_the_old_file(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    (shell.folder / "out.txt").write_text("before")

    def full(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(guard.os, "replace", full)
    message = shell.refuses("compile", "tree.skops", "--space", "space.toml", "-o", "out.txt")
    assert "No space left" in message


# -- explain -------------------------------------------------------------------------------------


def test_explain_in_plain_lines(shell: Shell) -> None:
    found = json.loads(shell(*EXPLAIN, "--json").out)
    ended = shell(*EXPLAIN)
    assert ended.code == 0
    *changes, outcome, between, asked, distance, shares, lower, status, effort = (
        ended.out.splitlines()
    )
    assert asked == "asked        from 'no' to 'yes', as no target was named"
    ((name, (before, after)),) = found["changes"].items()  # only what changes
    (line,) = changes
    assert line.split(maxsplit=name.count(" ") + 1)[-1] == f"{before} → {after}"
    assert line.startswith(name)
    assert between == ""
    assert line.index(before if isinstance(before, str) else str(before)) == 13
    assert distance.index(distance.split()[1]) == 13
    assert outcome.split(maxsplit=1) == ["outcome", "no → yes"]
    what, number, metric = distance.split()
    assert (what, metric) == ("distance", "(l1)")
    assert found["distance"] <= float(number) <= found["distance"] * (1 + 1e-4)  # rounded up
    assert shares.startswith(f"shares       {name} ")
    assert shares.endswith(" % of its range")
    assert lower.startswith("lower bound ")
    assert "nothing is nearer, proved by " in lower
    number = lower.split()[2].rstrip(":")
    assert found["lower_bound"] * (1 - 1e-4) <= float(number) <= found["lower_bound"]
    assert status.split(maxsplit=1) == ["status", "optimal to within 0.1 %"]
    assert "box" in effort


def test_a_terminal_gets_a_table(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    ended = shell(*EXPLAIN)
    assert ended.code == 0
    assert "before" in ended.out
    assert "→" not in ended.out
    monkeypatch.delenv("FORCE_COLOR")
    assert "before" not in shell(*EXPLAIN).out


def test_explain_as_json_prints_one_object(shell: Shell) -> None:
    ended = shell(*EXPLAIN, "--json", "--target", "yes", "--solver", "cvc5")
    assert ended.code == 0
    found = json.loads(ended.out)
    assert ended.out.count("\n") == 1
    assert found["status"] == "optimal"
    assert found["solver"] == "cvc5"
    assert found["factual"] == PERSON
    assert found["outcome_after"] == "yes"
    assert 0 <= found["distance"] - found["lower_bound"] <= found["epsilon"] * found["distance"]


def test_constraints_hold_and_distances_mix(shell: Shell) -> None:
    (shell.folder / "mine.cfl").write_text(
        "program mine(delta: Real[J]) { s := 0; for i = 1..J do s := s + delta[i]; return s / J }"
    )
    plain = json.loads(shell(*EXPLAIN, "--json").out)
    own = json.loads(shell(*EXPLAIN, "--json", "--distance", "mine.cfl").out)
    assert own["distance"] == pytest.approx(plain["distance"], abs=2e-3)
    mixed = shell(*EXPLAIN, "--json", "--distance", "l0=0.5, linf=1/2")
    assert mixed.code == 0
    limited = (
        "--constraint",
        "age <= factual.age + 40",
        "--constraint",
        "sector == factual.sector",
    )
    found = json.loads(shell(*EXPLAIN, "--json", *limited).out)
    assert found["counterfactual"]["age"] <= 70
    assert found["counterfactual"]["sector"] == "art"


def test_several_counterfactuals_differ(shell: Shell) -> None:
    shown = shell(*EXPLAIN, "--count", "2").out
    assert shown.count("nothing is nearer, proved by") == 1
    assert shown.count("nothing that differs as asked is nearer, proved by") == 1
    diverse = shell(*EXPLAIN, "--count", "2", "--diversity", "diverse")
    assert diverse.code == 0
    wide = diverse.out
    assert wide.count("from those before; no row so near by more than") == 1
    ended = shell(*EXPLAIN, "--count", "2", "--json")
    first = json.loads(ended.out)
    (second,) = first["alternatives"]
    assert first["counterfactual"] != second["counterfactual"]
    assert "answer 2 of 2\n" in shell(*EXPLAIN, "--count", "2").out


def test_when_there_are_fewer_than_asked_for(shell: Shell) -> None:
    """Others than the nearest one are ruled out; that is proved, and a full answer."""
    nearest = json.loads(shell(*EXPLAIN, "--json").out)["counterfactual"]
    only = " && ".join(f"`{name}` == {json.dumps(value)}" for name, value in nearest.items())
    ended = shell(*EXPLAIN, "--count", "3", "--constraint", only)
    assert ended.code == 0
    assert "answer 1 of 1 (3 were asked for)" in ended.out
    assert ended.out.endswith("\nno other one of the kind asked for exists, proved\n")


def test_json_names_the_target(shell: Shell) -> None:
    assert json.loads(shell(*EXPLAIN, "--json").out)["target"] == "yes"
    regression = ("explain", "regression.skops", *EXPLAIN[2:], "--range", ":45", "--json")
    assert json.loads(shell(*regression).out)["target"] == [None, 45.0]


def test_decimals_are_read_exactly(tmp_path: Path) -> None:
    texts = [repr(k / 977.0) for k in range(1, 3000)]
    (tmp_path / "table.csv").write_text("\n".join(["x", *texts]) + "\n")
    column = read_csv(tmp_path / "table.csv").frame()["x"]
    assert column.tolist() == [float(text) for text in texts]


def test_rows_of_a_table(shell: Shell) -> None:
    (shell.folder / "one.csv").write_text("sector,age,pay gap,outcome\nart,30,20.5,no\n")
    answers = [
        json.loads(shell(*EXPLAIN[:-1], row, "--json").out)["factual"]
        for row in ("person.json", "one.csv", "one.csv:0")
    ]
    assert answers == [PERSON] * 3


def test_ranges_for_numbers(shell: Shell) -> None:
    regression = ("explain", "regression.skops", *EXPLAIN[2:])
    found = json.loads(shell(*regression, "--range", "60:62.5", "--json").out)
    assert 60 <= found["outcome_after"] <= 62.5
    assert shell(*regression, "--range", ":45").code == 0
    assert shell(*regression, "--range", "1000:").code == 3


def test_a_column_of_names_like_temporaries(shell: Shell) -> None:
    table = pd.DataFrame({"%0": range(9), "%1": [3, 1, 4, 1, 5, 9, 2, 6, 5]})
    model = DecisionTreeClassifier(random_state=0).fit(table, table["%0"] > 4)
    joblib.dump(model, shell.folder / "odd.joblib")
    cfxc.FeatureSpace.infer(table).to_toml("odd.toml")
    (shell.folder / "person.json").write_text('{"%0": 1, "%1": 3}')
    options = ("--space", "odd.toml", "--factual", "person.json", "--trust-pickle", "--json")
    text = "`%0` * 2 >= `%1` + 7 && `%1` >= 2 || `%0` == 8"
    ended = shell("explain", "odd.joblib", *options, "--constraint", text, "--target", "1")
    found = json.loads(ended.out)["counterfactual"]
    assert found == {"%0": 5, "%1": 3}


def test_questions_are_refused_before_anything_is_said(shell: Shell) -> None:
    for options in (("--time-limit", "nan"), ("--epsilon", "-1"), ("--solver", "oracle")):
        ended = shell(*EXPLAIN, *options)
        assert ended.code == 2
        assert ended.err.startswith("cfxc: ")


def test_labels_that_are_no_text() -> None:
    assert reads("1", 1)
    assert reads("1.0", 1)
    assert reads("true", True)
    assert reads("1", True)
    assert reads("0", False)
    assert reads("none", None)
    assert not reads("yes", True)
    assert not reads("1", "1.0")
    assert not reads("one", 1)


def test_a_limit_prints_the_best_answer(shell: Shell) -> None:
    ended = shell(*EXPLAIN, "--time-limit", "0.000001")
    assert ended.code == 4
    assert "unknown" in ended.out or "feasible" in ended.out
    assert "Traceback" not in ended.err


# -- the whole -----------------------------------------------------------------------------------


def test_version_and_help(shell: Shell) -> None:
    assert shell("--version").out == f"cfxc {cfxc.__version__}\n"
    text = shell("--help").out
    assert {"demo", "explain", "regress", "plan", "compile", "space"} <= set(text.split())
    assert "Exit codes: 0 done, 1 a fault of cfxc, 2 bad input, 3 no counterfactual" in text
    assert "..." not in text.partition("Commands:")[2]  # nothing is cut
    assert shell("-h").out == text
    for command in (
        ("explain",), ("regress",), ("plan",), ("compile",), ("space", "infer"), ("demo",),
    ):  # fmt: skip
        ended = shell(*command, "-h")
        assert ended.code == 0
        assert ended.out == shell(*command, "--help").out
        assert "list[" not in ended.out
    assert "missing value; so are NA" in " ".join(shell("space", "infer", "-h").out.split())


def test_our_faults_are_ours(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: Any, **options: Any) -> None:
        raise AssertionError("a bug")

    monkeypatch.setattr(commands.Source, "load", broken)
    message = shell.refuses(*EXPLAIN, code=1)
    assert "AssertionError: a bug" in message
    assert "CFXC_DEBUG" in message


def test_ctrl_c_ends_quietly(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*arguments: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(commands.Source, "load", stopped)
    assert shell.refuses(*EXPLAIN, code=130) == "cfxc: stopped"


def test_ctrl_c_between_parsing_and_a_command(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(run: Any) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(guard, "ended", stopped)
    assert shell.refuses(*EXPLAIN, code=130) == "cfxc: stopped"


def test_ctrl_c_in_a_search_keeps_the_best_answer(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pressed(*given: Any) -> Any:
        query, outcome = search_within(*given)
        os.kill(os.getpid(), signal.SIGINT)
        return query, replace(outcome, reason=INTERRUPTED, lower=Fraction(0), proof=None)

    monkeypatch.setattr(explaining, "search_within", pressed)
    ended = shell(*EXPLAIN)
    assert ended.code == 130
    assert "→" in ended.out
    assert "(interrupted)" in ended.out


@pytest.mark.parametrize("interrupted", [False, True])
def test_as_a_process(templates: Path, interrupted: bool) -> None:
    root = str(Path(cfxc.__file__).parents[1])
    arguments = ["compile", "tree.skops", "--space", "space.toml", "--emit", "formula"]
    process = subprocess.Popen(
        [sys.executable, "-m", "cfxc", *arguments],
        cwd=templates,
        env={**os.environ, "PYTHONPATH": root, "PYTHONIOENCODING": "ascii"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    if interrupted:
        assert process.stdout is not None
        process.stdout.close()  # a reader that has seen enough, such as head
        process.wait(60)
        assert process.stderr is not None
        assert process.stderr.read() == ""
        return
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert "\\u2227 y.label" in out  # a terminal without the signs


def test_demo(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0
    lines = capsys.readouterr().out.splitlines()
    changed = [line.split()[0] for line in lines if " → " in line]
    assert "outcome" in changed
    assert not {"age", "sex"} & set(changed)
    assert any("proved by" in line for line in lines)


def test_criteria(shell: Shell) -> None:
    """What advice must obey, from the command line."""
    base = ("explain", "lr.skops", "--space", "space.toml", "--factual", "person.json", "--json")
    near = shell(*base, "--trust-region", "data.csv,epsilon=0.2", "--count", "2", "--apart", "0.1",
                 "--diversity", "pool")  # fmt: skip
    assert near.code in (0, 4), near.err  # what a pool holds need not be proved
    assert len(json.loads(near.out)["alternatives"]) == 1
    sure = shell(*base, "--probability", "0.6", "--margin", "0.1")
    assert sure.code == 0, sure.err
    plain = json.loads(shell(*base).out)
    assert json.loads(sure.out)["distance"] >= plain["distance"] - 1e-3
    none = shell(
        *base, "--max-changes", "1", "--probability", "0.999999999", "--relax", "max_changes"
    )
    assert none.code in (0, 3), none.err
    given = ("--constraint", "age <= 31", "--constraint", "`pay gap` <= 21")
    none = shell(*base[:-1], *given, "--relax", "constraints", "--certificate", "none.json")
    assert none.code == 3
    assert "certificate: none.json" in none.err
    assert "note: it proves that there is none with 'age <= 31' and '`pay gap` <= 21'" in none.err
    odd = shell(*base, "--relax", "everything")
    assert odd.code == 2
    assert "relax" in odd.err


def test_the_favourable_outcome_is_the_target_unless_one_is_named(shell: Shell) -> None:
    asked = json.loads(shell(*EXPLAIN, "--json", "--favourable", "yes").out)
    named = json.loads(shell(*EXPLAIN, "--json", "--target", "yes").out)
    assert asked["target"] == named["target"] == "yes"
    assert asked["distance"] == named["distance"]
    had = shell(*EXPLAIN, "--favourable", "no")
    assert had.code == 0
    assert "unchanged: already has the target outcome 'no'" in had.out
    assert json.loads(shell(*EXPLAIN, "--json", "--favourable", "no").out)["unchanged"] is True
    (shell.folder / "q.toml").write_text('target = "no"\n')
    for stated in (("--target", "no"), ("--question", "q.toml")):
        same = shell(*EXPLAIN, *stated)
        assert (same.code, same.out) == (0, had.out)
        assert json.loads(shell(*EXPLAIN, *stated, "--json").out)["unchanged"] is True
    assert "no outcome of the model" in shell.refuses(*EXPLAIN, "--favourable", "perhaps")
    assert "asked" not in shell(*EXPLAIN, "--target", "yes").out


def test_a_favourable_range_of_a_regressor(shell: Shell) -> None:
    base = ("explain", "regression.skops", "--space", "space.toml", "--factual", "person.json")
    assert "yes" not in shell.refuses(*base)
    near = json.loads(shell(*base, "--favourable", "60:", "--json").out)
    assert near["target"] == [60.0, None]
    assert "unchanged" in shell(*base, "--favourable", ":60").out
    assert "unchanged" in shell(*base, "--range", ":60").out
    assert "--favourable 'much': write LO:HI" in shell.refuses(*base, "--favourable", "much")


GROUPS = pd.DataFrame(
    {
        "edu_0": [1, 1, 1, 1],
        "edu_1": [0, 1, 1, 0],
        "edu_2": [0, 0, 1, 0],
        "size": ["small", "big", "huge", "big"],
        "grade": [1, 2, 4, 2],
        "paid": [True, False, True, False],
        "a=b": [0.125, 1.5, 2.0, 3.25],
        "pay": [1.5, 2.25, 3.0, 4.5],
    }
)


def test_groups_levels_and_resolutions_as_in_python(shell: Shell) -> None:
    GROUPS.to_csv("groups.csv", index=False)
    said = (
        "--thermometer", "edu_", "--ordinal", "size=small, big,huge", "--ordinal", "grade=1,2,3,4",
        "--ordinal", "paid=false,true", "--resolution", "pay=0.05", "--resolution", "a=b=1/3",
    )  # fmt: skip
    assert shell("space", "infer", "groups.csv", *said, "-o", "groups.toml").code == 0
    assert cfxc.FeatureSpace.from_toml("groups.toml") == cfxc.FeatureSpace.infer(
        GROUPS,
        thermometer="edu_",
        ordinal={"size": ["small", "big", "huge"], "grade": [1, 2, 3, 4], "paid": [False, True]},
        resolution={"pay": "0.05", "a=b": "1/3"},
    )


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (("--thermometer", "nix_"), "nix_"),
        (("--ordinal", "size"), "--ordinal 'size': write --ordinal size=small,large"),
        (("--ordinal", "sise=a,b"), "--ordinal: no column 'sise' (nearest: 'size')"),
        (("--ordinal", "size=small,big"), "holds 'huge', not among its levels"),
        (("--ordinal", "grade=one,2,4"), "not among its levels"),
        (("--resolution", "pay="), "--resolution 'pay=': write --resolution pay=0.01"),
        (("--resolution", "pay=fine"), "'fine'"),
        (("--resolution", "pay=1", "--resolution", "pay=2"), "given twice: 'pay'"),
    ],
)
def test_groups_levels_and_resolutions_that_are_refused(
    shell: Shell, said: tuple[str, ...], words: str
) -> None:
    GROUPS.to_csv("groups.csv", index=False)
    assert words in shell.refuses("space", "infer", "groups.csv", *said)

"""``cfxc batch``: many rows into one table, whatever breaks it off."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

import cfxc
from cfxc.answers import batch as answers
from cfxc.answers.explaining import Explainer
from cfxc.answers.result import Result
from cfxc.cli import batch, report

from .conftest import Shell

pytest.importorskip("pyarrow")
BATCH = ("batch", "tree.skops", "--space", "space.toml", "--rows", "data.csv")


def expected(shell: Shell) -> pd.DataFrame:
    """What the model's own answers are, row by row."""
    model = cfxc.compile("tree.skops", cfxc.FeatureSpace.from_toml("space.toml"))
    table = pd.read_csv("data.csv")[["age", "pay gap", "sector"]]
    refused = table[model.predict(table) == "no"]
    return model.explain_batch(refused.rename_axis("row"), target="yes")


def test_all_who_are_refused(shell: Shell) -> None:
    ended = shell(*BATCH, "-o", "out.csv", "--target", "yes")
    following = "next: cfxc report out.csv -o report.html --rows data.csv\n"
    assert ended.code == 0
    assert ended.err.endswith(following)
    found = pd.read_csv("out.csv", index_col="row", keep_default_na=False)
    truth = expected(shell)
    assert ended.out.splitlines()[0].split(maxsplit=1) == [
        "rows", f"{len(truth)} of 200 rows are without the outcome 'yes'",
    ]  # fmt: skip
    assert f"optimal  {len(truth)}" in ended.out
    assert found.index.tolist() == truth.index.tolist()
    for column in ("distance", "lower_bound", "changes", "counterfactual.age", "outcome_after"):
        assert found[column].tolist() == truth[column].tolist(), column
    assert not (shell.folder / "out.csv.parts").exists()


def test_a_row_has_the_number_and_the_answer_of_explain(shell: Shell) -> None:
    shell(*BATCH, "-o", "out.parquet", "--target", "yes", "--which", "3-9,17")
    found = pd.read_parquet("out.parquet")
    assert found.index.tolist() == [3, 4, 5, 6, 7, 8, 9, 17]
    for row in found.index[found["status"] == "optimal"]:
        arguments = ("--factual", f"data.csv:{row}", "--target", "yes", "--json")
        alone = json.loads(shell("explain", *BATCH[1:4], *arguments).out)
        assert alone["distance"] == found["distance"][row]
        assert alone["counterfactual"]["age"] == found["counterfactual.age"][row]


def test_parquet_is_read_like_csv(shell: Shell) -> None:
    pd.read_csv("data.csv").to_parquet("data.parquet")
    rows = (*BATCH[:-1], "data.parquet")
    for command, out in ((BATCH, "one.csv"), (rows, "two.csv")):
        assert shell(*command, "-o", out, "--target", "yes").code == 0
    one, two = (pd.read_csv(name).drop(columns="seconds") for name in ("one.csv", "two.csv"))
    pd.testing.assert_frame_equal(one, two)
    explain = ("explain", *BATCH[1:4], "--target", "yes", "--factual")
    same = [shell(*explain, f"data.{kind}:3").out.split("effort")[0] for kind in ("csv", "parquet")]
    assert same[0] == same[1] != ""
    assert "no row 200; rows count from 0 to 199" in shell.refuses(*explain, "data.parquet:200")
    assert "data.parquet:0" in shell.refuses(*explain, "data.parquet").splitlines()[-1]


def test_the_question_of_a_file(shell: Shell) -> None:
    text = 'target = "yes"\nsubject_to = [{max_changes = 1}]\ndistance = "l0"\n'
    (shell.folder / "question.toml").write_text(text)
    shell(*BATCH, "-o", "out.csv", "--question", "question.toml", "--which", "0-30")
    found = pd.read_csv("out.csv")
    changed = found["changes"].dropna()
    assert len(changed)
    assert not changed.str.contains(";").any()
    assert set(found["status"]) <= {"optimal", "infeasible", "unchanged"}


def test_json_tells_the_counts(shell: Shell) -> None:
    ended = shell(*BATCH, "-o", "out.csv", "--target", "yes", "--which", "0-4", "--json")
    facts = json.loads(ended.out)
    assert facts["rows"] == 5
    assert facts["out"] == "out.csv"
    assert facts.get("optimal", 0) + facts.get("unchanged", 0) == 5


def test_certificates_of_all(shell: Shell) -> None:
    options = ("--target", "yes", "--which", "0-9", "--certificates", "certificates")
    ended = shell(*BATCH, "-o", "out.csv", *options)
    found = pd.read_csv("out.csv", index_col="row")
    named = found["certificate"].dropna()
    assert f"certificates  {len(named)} in certificates" in ended.out
    assert ended.err.endswith(" --rows data.csv --certificates certificates\n")
    assert named.tolist() == [f"row-{row}.json.gz" for row in named.index]
    assert shell("check", f"certificates/{named.iloc[0]}").code == 0


def test_certificates_of_another_table_are_not_replaced(shell: Shell) -> None:
    options = ("--target", "yes", "--which", "0-9", "--certificates", "certificates")
    first = shell(*BATCH, "-o", "out.csv", *options)
    again = shell(*BATCH, "-o", "other.csv", *options)
    assert (first.code, again.code) == (first.code, 2)
    assert "json.gz is there already" in again.err
    assert shell(*BATCH, "-o", "other.csv", *options, "--overwrite").code == first.code


def test_a_folder_without_certificates_is_in_no_next_command(shell: Shell) -> None:
    refused = expected(shell).index
    granted = next(row for row in range(200) if row not in refused)
    options = ("--target", "yes", "--which", str(granted), "--certificates", "certificates")
    ended = shell(*BATCH, "-o", "out.csv", *options)
    assert "certificates  0 in certificates" in ended.out
    assert ended.err.endswith("next: cfxc report out.csv -o report.html --rows data.csv\n")
    assert shell(*ended.err.splitlines()[-1].split()[2:]).code == 0


def test_bad_cells_are_one_rows_error(shell: Shell) -> None:
    lines = (shell.folder / "data.csv").read_text().splitlines()
    lines[3] = "forty,20.5,it,no"
    lines[5] = "40,,it,no"
    lines[7] = "400,20.5,it,no"
    (shell.folder / "data.csv").write_text("\n".join(lines) + "\n")
    ended = shell(*BATCH, "-o", "out.csv", "--target", "yes", "--which", "0-9")
    assert ended.code == 2
    assert "cfxc: row 2: age: 'forty' is text" in ended.err
    found = pd.read_csv("out.csv", index_col="row")
    assert found.index.tolist() == list(range(10))
    assert found.index[found["status"] == "error"].tolist() == [2, 4, 6]
    assert (found["status"].drop([2, 4, 6]) != "error").all()


def test_the_time_of_all_is_up_and_it_goes_on(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "PART", 7)
    clock = [0.0]

    def ticking() -> float:
        clock[0] += 0.2
        return clock[0]

    monkeypatch.setattr(answers, "time", ticking)
    command = (*BATCH, "-o", "out.csv", "--target", "yes")
    limited = shell(*command, "--total-time-limit", "5")
    assert limited.code == 4
    assert "rows are left; the same command goes on" in limited.err
    assert not (shell.folder / "out.csv").exists()
    parts = sorted((shell.folder / "out.csv.parts").glob("part-*"))
    before = {part.name: part.read_bytes() for part in parts}
    assert before
    again = shell(*command, "--total-time-limit", "5")
    assert again.code in (0, 4)
    for part in (shell.folder / "out.csv.parts").glob("part-*"):
        assert before.get(part.name, part.read_bytes()) == part.read_bytes()
    assert shell(*command).code == 0
    found = pd.read_csv("out.csv", index_col="row")
    assert found["changes"].tolist() == expected(shell)["changes"].tolist()
    assert not (shell.folder / "out.csv.parts").exists()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_batch_goes_on(shell: Shell, how: signal.Signals) -> None:
    """No row twice, and no file before all rows are answered."""
    command = (*BATCH, "-o", "out.csv", "--target", "yes", "--method", "smt")
    code = (
        "import sys, cfxc.answers.batch as b; b.PART = 5; from cfxc.cli import main; "
        "sys.exit(main(sys.argv[1:]))"
    )
    process = subprocess.Popen([sys.executable, "-c", code, *command], cwd=shell.folder)
    parts, end = shell.folder / "out.csv.parts", time.monotonic() + 100
    while time.monotonic() < end and len(list(parts.glob("part-*"))) < 3:
        time.sleep(0.05)
    os.kill(process.pid, how)
    process.wait(60)
    begun = list(parts.glob("part-*"))
    if begun:  # a fast machine may have been through
        assert not (shell.folder / "out.csv").exists()
        assert process.returncode in (130, -9)
    assert shell(*command).code == 0
    found = pd.read_csv("out.csv", index_col="row")
    truth = expected(shell)
    assert found.index.tolist() == truth.index.tolist()
    assert found["distance"].tolist() == pytest.approx(truth["distance"].tolist(), rel=2e-3)
    assert not (found["reason"] == "interrupted").any()


@pytest.mark.parametrize("answered", [1, 8])  # the second process may have only begun
def test_ctrl_c_keeps_what_two_processes_answered(shell: Shell, answered: int) -> None:
    """As a terminal sends it: to the command and to its processes."""
    command = (
        *BATCH,
        "-o",
        "out.csv",
        "--target",
        "yes",
        "--certificates",
        "proofs",
        "--jobs",
        "2",
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "cfxc", *command], cwd=shell.folder, start_new_session=True,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    proofs, end = shell.folder / "proofs", time.monotonic() + 100
    while time.monotonic() < end and len(list(proofs.glob("row-*"))) < answered:
        time.sleep(0.002)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert "Traceback" not in said
    if process.returncode:  # a fast machine may have been through
        assert process.returncode == 130
        parts = [pd.read_parquet(each) for each in shell.folder.glob("out.csv.parts/part-*")]
        kept = pd.concat(parts)["certificate"]
        assert {each.name for each in proofs.glob("row-*")} <= set(kept)
    assert shell(*command).code == 0
    found = pd.read_csv("out.csv", index_col="row")
    assert found["changes"].tolist() == expected(shell)["changes"].tolist()
    missing = [name for name in found["certificate"] if not (proofs / name).exists()]
    assert not missing


def test_answers_that_were_broken_off_are_asked_for_again(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    command, told = (*BATCH, "-o", "out.csv", "--target", "yes", "--which", "0-9"), []

    def broken_off(*given: Any) -> Result:
        told.append(result(*given))
        if len(told) == 2:
            return replace(told[-1], status="feasible", reason="interrupted")
        return told[-1]

    result = Explainer._result
    monkeypatch.setattr(Explainer, "_result", broken_off)
    ended = shell(*command)
    assert ended.code == 130
    assert "the same command goes on" in ended.err
    assert shell(*command).code == 0
    assert not (pd.read_csv("out.csv")["reason"] == "interrupted").any()


def test_nothing_to_ask(shell: Shell) -> None:
    ended = shell(*BATCH, "-o", "out.csv", "--target", "yes", "--which", "refused")
    assert ended.code == 0
    table = pd.read_csv("out.csv")
    pd.DataFrame(
        {name: table[f"counterfactual.{name}"] for name in ("age", "pay gap", "sector")}
    ).to_csv("done.csv", index=False)
    ended = shell(*BATCH[:-1], "done.csv", "-o", "none.csv", "--target", "yes")
    assert ended.code == 0
    assert "0 of " in ended.err
    assert not (shell.folder / "none.csv").exists()


def test_a_folder_of_parts(shell: Shell) -> None:
    ended = shell(*BATCH, "-o", "parts", "--target", "yes", "--which", "0-9")
    assert ended.code == 0
    assert len(pd.read_parquet(shell.folder / "parts")) == 10


@pytest.mark.parametrize("out", ["parts", "out.csv"])
def test_answers_to_another_question_give_way_if_asked(shell: Shell, out: str) -> None:
    """Of the folder that is there, only what a batch wrote."""
    shell(*BATCH, "-o", "parts", "--target", "yes", "--which", "0-9")
    folder = shell.folder / (out if out == "parts" else "out.csv.parts")
    (shell.folder / "parts").rename(folder)
    (folder / "notes.txt").write_text("kept")
    command = (*BATCH, "-o", out, "--target", "yes", "--which", "0-4")
    ended = shell(*command)
    assert ended.code == 2
    assert ended.err.splitlines()[-1].endswith(" 0-4 --overwrite"), ended.err
    (folder / "part-of.mine").write_text("kept")
    assert "delete it" in shell(*command, "--overwrite").err
    (folder / "part-of.mine").unlink()
    assert shell(*command, "--overwrite").code == 0
    if out == "parts":
        assert len(pd.read_parquet([*folder.glob("part-*")])) == 5
        assert (folder / "notes.txt").is_file()
    else:
        assert len(pd.read_csv(out)) == 5


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (("-o", "data.csv"), ["data.csv: cannot write", "something else"]),
        (("-o", "data.csv", "--overwrite"), ["data.csv: cannot write", "something else"]),
        (("-o", "link.csv", "--overwrite"), ["link.csv: cannot write", "something else"]),
        (("-o", "old.csv"), ["old.csv is there already", "--overwrite"]),
        (("-o", "out.xlsx"), ["out.xlsx", ".csv, .parquet"]),
        (("-o", "nowhere/out.csv"), ["no folder", "nowhere"]),
        (("-o", "out.csv", "--which", "rejected"), ["rejected", "refused, all, or"]),
        (("-o", "out.csv", "--which", "9-3"), ["the ends of 9-3 are swapped; write 3-9"]),
        (("-o", "out.csv", "--which", "500"), ["rows count from 0 to 199"]),
        (("-o", "out.csv", "--total-time-limit", "-3"), ["--total-time-limit"]),
        (("-o", "out.csv", "--time-limit", "0"), ["--time-limit"]),
        (("-o", "out.csv", "--jobs", "0"), ["--jobs"]),
    ],
)
def test_bad_orders(shell: Shell, options: tuple[str, ...], parts: list[str]) -> None:
    (shell.folder / "old.csv").write_text("kept")
    (shell.folder / "link.csv").symlink_to("data.csv")
    message = shell.refuses(*BATCH, "--target", "yes", *options)
    assert all(part in message for part in parts), message


def test_somebody_has_to_say_what_is_wanted(shell: Shell) -> None:
    message = shell.refuses(*BATCH, "-o", "out.csv")
    assert "nothing says which outcome is wanted" in message
    line = message.splitlines()[-1].removeprefix("try: ")
    assert shell(*shlex.split(line)[1:]).code == 0
    assert len(pd.read_csv("out.csv")) == 200


def test_other_tables_are_refused(shell: Shell) -> None:
    (shell.folder / "other.csv").write_text("agee,pay gap,sector\n3,4,it\n")
    message = shell.refuses(*BATCH[:-1], "other.csv", "-o", "out.csv", "--target", "yes")
    assert "other.csv: missing column: 'age'; rename 'agee' to 'age'" in message
    (shell.folder / "far.csv").write_text("agee,school\n3,x\n")
    message = shell.refuses(*BATCH[:-1], "far.csv", "-o", "out.csv", "--target", "yes")
    assert "far.csv: missing columns: 'age', 'pay gap', 'sector'" in message
    assert "rename" not in message  # one name alike of three: another table
    (shell.folder / "other.parquet").write_bytes(b"junk")
    message = shell.refuses(*BATCH[:-1], "other.parquet", "-o", "out.csv", "--target", "yes")
    assert "other.parquet: cannot read the table: it is no Parquet" in message
    message = shell.refuses(*BATCH[:-1], "no.parquet", "-o", "o.csv", "--target", "yes")
    assert "No such file" in message


def test_a_bar_on_a_terminal(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(report.Page):
        def __init__(self, **options: bool) -> None:
            super().__init__(force_terminal=True, width=100, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(batch, "Page", Terminal)
    ended = shell(*BATCH, "-o", "out.csv", "--target", "yes", "--which", "0-9")
    assert "answering" in ended.err
    assert "10 proved, 0 left" in ended.err

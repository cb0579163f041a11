"""``explain --certificate`` and ``check``: what an auditor runs."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from .conftest import Shell

ASKED = ("--space", "space.toml", "--factual", "person.json")
ANEW = "accepted: the proof holds; the program was compiled anew from the model and is the same"
MODELS = ["tree.skops", "lr.skops", "tree.onnx", "lr.onnx"]


def written(shell: Shell, model: str, name: str = "c.json.gz") -> str:
    ended = shell("explain", model, *ASKED, "--certificate", name)
    assert ended.code == 0, ended
    assert f"certificate: {name}" in ended.err
    return name


@pytest.mark.parametrize("model", MODELS)
def test_a_certificate_holds_and_belongs_to_its_model(shell: Shell, model: str) -> None:
    name = written(shell, model)
    ended = shell("check", name, "--model", model)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"{ANEW}\nmodel: ")
    claimed = json.loads(shell("check", name, "--json").out)["status"]
    assert claimed in ("optimal", "feasible")
    assert f"\nclaim: {claimed}\n" in ended.out
    assert "compiled anew, and the same" in ended.out
    other = "lr.skops" if model != "lr.skops" else "tree.skops"
    refused = shell("check", name, "--model", other)
    assert refused.code == 5
    assert refused.out.startswith("REJECTED: the certificate was made for another model file")


def test_the_program_of_another_model_under_the_right_name(shell: Shell) -> None:
    """Even if somebody writes the hash of the model into it."""
    mine, theirs = (shell.folder / written(shell, m, f"{m}.json") for m in ("lr.skops", "lr.onnx"))
    content = json.loads(mine.read_text())
    content["model"] = json.loads(theirs.read_text())["model"]
    assert shell("check", mine.name).code == 0
    from tests.certificates.mutants import rehashed

    mine.write_text(json.dumps(rehashed(content)))
    assert shell("check", mine.name).code == 0
    ended = shell("check", mine.name, "--model", "lr.onnx")
    assert ended.code == 5
    assert "program is not what lr.onnx computes" in ended.out


def test_one_page_and_json(shell: Shell) -> None:
    name = written(shell, "tree.skops")
    assert shell("check", name, "--summary", "page.md").code == 0
    page = (shell.folder / "page.md").read_text("utf-8")
    assert page.startswith("# Certificate of a counterfactual\n\nThe change leads to the target")
    assert "| name | factual | range | grid | may change | weight |" in page
    assert "cannot write" in shell("check", name, "--summary", "no/page.md").err
    found = json.loads(shell("check", name, "--json").out)
    assert found["ok"]
    assert found["status"] == "optimal"
    assert found["lower bound"] <= found["distance"]


def test_a_changed_certificate_is_rejected(shell: Shell) -> None:
    path = shell.folder / written(shell, "tree.skops", "c.json")
    path.write_text(path.read_text().replace('"kind":"real"', '"kind":"integer"', 1))
    for options in ((), ("--summary", "page.md")):
        ended = shell("check", "c.json", *options)
        assert ended.code == 5
        assert ended.out.startswith("REJECTED: ")
    assert (shell.folder / "page.md").read_text("utf-8").startswith("# Rejected\n")
    assert not json.loads(shell("check", "c.json", "--json").out)["ok"]


def test_bad_input(shell: Shell) -> None:
    written(shell, "tree.skops")
    assert "no-such.json: cannot read the certificate" in shell.refuses("check", "no-such.json")
    assert "this is no cfxc certificate: not a number" in shell.refuses("check", "person.json")
    (shell.folder / "other.json").write_text('{"a": 1}')
    for name in ("other.json", "space.toml"):
        assert f"{name}: this is no cfxc certificate: " in shell.refuses("check", name)
    (shell.folder / "odd.toml").write_text("colour = 1")
    for options, why in (
        (("--rows", "data.csv"), "rows has no effect without a model"),
        (("--cut", "0.3"), "cut has no effect without a model"),
        (("--model", "tree.skops", "--rows", "no.csv"), "no.csv: cannot read the rows"),
        (("--policy", "odd.toml"), "odd.toml: this is no policy: unknown ['colour']"),
        (("--hash", "12"), "give 16 to 64 hexadecimal digits"),
        (("--factual", "data.csv:900"), "no row 900: they count from 0 to 199"),
    ):
        assert why in shell.refuses("check", "c.json.gz", *options)
    assert "no folder" in shell.refuses("explain", "tree.skops", *ASKED, "--certificate", "a/b")
    assert "no-such.onnx" in shell.refuses("check", "c.json.gz", "--model", "no-such.onnx")


def test_what_has_no_certificate_is_said_after_the_answer(shell: Shell) -> None:
    asked = (*ASKED, "--epsilon", "0.2", "--distance", "mahalanobis=data.csv")
    ended = shell("explain", "mlp.skops", *asked, "--certificate", "c.json")
    assert "no certificate" in ended.err
    assert ended.code == 4
    assert "status" in ended.out
    assert not (shell.folder / "c.json").exists()


def test_rows_seed_and_policy(shell: Shell) -> None:
    name = written(shell, "tree.onnx")
    sampled = shell("check", name, "--model", "tree.onnx", "--seed", "7", "--rows", "data.csv")
    assert sampled.code == 0
    assert "run beside it: 402 rows drawn with seed 7 and 200 rows of 'data.csv'" in sampled.out
    drawn = [shell("check", name, "--model", "tree.onnx").out for _ in range(2)]
    assert drawn[0] != drawn[1], "the seed is random, and printed"
    (shell.folder / "wide.toml").write_text((shell.folder / "space.toml").read_text())
    assert shell("check", name, "--policy", "wide.toml").code == 0
    text = (shell.folder / "space.toml").read_text().replace("lower = 18", "lower = 17")
    (shell.folder / "wider.toml").write_text(text)
    ended = shell("check", name, "--policy", "wider.toml")
    assert ended.code == 5
    assert ended.out.startswith("REJECTED: policy: 'age': its range 18 to ")
    assert "no.toml: cannot read the policy" in shell.refuses("check", name, "--policy", "no.toml")


def test_a_limit_is_no_verdict(shell: Shell) -> None:
    name = written(shell, "tree.skops")
    ended = shell("check", name, "--seconds", "1e-9")
    assert ended.code == 4
    assert ended.out == "UNDECIDED: it takes more than 1e-09 seconds; give it --seconds 200\n"
    assert shell("check", name, "--seconds", "100").code == 0


def test_whom_it_is_about_and_which_it_is(shell: Shell) -> None:
    name = written(shell, "tree.skops")
    digest = json.loads(shell("check", name, "--json").out)["hash"]
    assert shell("check", name, "--factual", "person.json", "--hash", digest[:20]).code == 0
    ended = shell("check", name, "--factual", "data.csv:1")
    assert ended.code == 5
    assert ended.out.startswith("REJECTED: factual: ")
    assert shell("check", name, "--hash", "0" * 16).code == 5


def test_a_certificate_that_names_no_model(shell: Shell) -> None:
    from tests.certificates.mutants import rehashed

    path = shell.folder / written(shell, "tree.skops", "c.json")
    path.write_text(json.dumps(rehashed({**json.loads(path.read_text()), "model": None})))
    ended = shell("check", "c.json", "--model", "tree.skops")
    assert ended.code == 0, ended
    assert ended.out.startswith(ANEW)
    assert "the certificate names no model file; compiled anew, and the same program" in ended.out
    assert shell("check", "c.json", "--model", "lr.skops").code == 5


@pytest.mark.parametrize("model", ["lr.skops", "tree.skops"])
def test_a_probability_asked_of_whom_has_the_label(shell: Shell, model: str) -> None:
    """The outcome is there already, its probability is not: the model is compared as ever."""
    row = ("--space", "space.toml", "--factual", "data.csv:0", "--json")
    own = json.loads(shell("explain", "lr.skops", *row).out)["outcome_before"]
    asked = ("--target", own, "--probability", "0.99", "--certificate", "c.json")
    assert shell("explain", model, *row[:4], *asked).code in (0, 3)
    note = "NOTE: The factual has the target label already, and misses what is asked of its score."
    for options in ((), ("--model", model)):
        ended = shell("check", "c.json", *options)
        assert ended.code == 0, ended
        assert note in ended.out
    assert ended.out.startswith(ANEW)
    chance = "(a probability of 0.99, rounded, if the scores are log odds)" in ended.out
    assert chance == (model == "lr.skops")
    assert shell("check", "c.json", "--model", MODELS[2]).code == 5


def test_the_checker_as_one_file(shell: Shell) -> None:
    name = written(shell, "tree.skops")
    assert shell("checker", "--out", "alone.pyz").out == "wrote alone.pyz\n"
    command = [sys.executable, "-I", "alone.pyz", name]
    done = subprocess.run(command, capture_output=True, text=True, cwd=shell.folder, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == shell("check", name).out
    assert "cannot write" in shell.refuses("checker", "-o", "no/alone.pyz")
    assert "the checker is a .pyz file" in shell.refuses("checker", "-o", name)

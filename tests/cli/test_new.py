"""``cfxc new``: from a model and a table to an answer, each command printing the next one."""

from __future__ import annotations

import json
import shlex
import tomllib
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import cfxc

from .conftest import Shell

NEW = ("new", "tree.skops", "data.csv", "--target", "outcome", "-o", "made")


def next_line(text: str) -> list[str]:
    """The command that was printed as the next one."""
    (line,) = [one for one in text.splitlines() if one.startswith("next: ")]
    words = shlex.split(line.removeprefix("next: "))
    assert words[0] == "cfxc"
    return words[1:]


def test_from_a_table_to_an_answer(shell: Shell) -> None:
    made = shell(*NEW, "--favourable", "yes", "--fixed", "sector")
    assert made.code == 0
    assert (
        "made/space.toml: 3 features, 1 integer, 1 real, 1 categorical, fixed: sector" in made.out
    )
    assert "made/question.toml: to 'yes', the favourable outcome" in made.out
    assert "rows outside are refused; widen them in made/space.toml" in made.err
    explained = shell(*next_line(made.err))
    assert explained.code == 0
    assert "no → yes" in explained.out
    pytest.importorskip("jinja2")
    written = shell(*next_line(explained.err))
    assert f"letter: {next_line(explained.err)[-1]}" in written.err
    pytest.importorskip("pyarrow")
    answered = shell(*next_line(written.err))
    assert answered.code == 0
    assert "optimal" in answered.out


def test_without_a_word_about_the_outcome(shell: Shell) -> None:
    """The message names the column that the model does not know; the line below it works."""
    ended = shell("new", "tree.skops", "data.csv", "-o", "made")
    assert ended.code == 2
    assert "was not trained on the columns 'outcome'" in ended.err
    line = ended.err.splitlines()[-1]
    assert line == "try: cfxc new tree.skops data.csv -o made --target outcome"
    assert shell(*shlex.split(line.removeprefix("try: "))[1:]).code == 0


def test_what_is_written_can_be_read(shell: Shell) -> None:
    shell(*NEW, "--ordinal", "sector=art,law,it", "--resolution", "pay gap=0.5")
    space = cfxc.FeatureSpace.from_toml("made/space.toml")
    assert space["sector"].labels == ("art", "law", "it")
    assert space["pay gap"].resolution == 0.5
    text = (shell.folder / "made" / "question.toml").read_text()
    question = cfxc.Question.from_toml("made/question.toml")
    assert set(question.given) == {"target"}
    uncommented = "\n".join(
        line.removeprefix("# ") if " = " in line or line.startswith(("#   ", "# ]")) else line
        for line in text.splitlines()
    )
    given = cfxc.Question.from_toml(uncommented).given
    assert set(tomllib.loads(uncommented)) == set(given)
    assert {"distance", "epsilon", "count", "subject_to", "time_limit"} <= set(given)
    assert max(map(len, text.splitlines())) <= 100


def test_a_number_gets_a_range(shell: Shell) -> None:
    made = shell("new", "regression.skops", "data.csv", "--drop", "outcome", "-o", "made")
    low, high = cfxc.Question.from_toml("made/question.toml").target
    assert low > 0
    assert high is None
    explained = shell(*next_line(made.err), "--json")
    assert explained.code == 0
    assert json.loads(explained.out)["outcome_after"] >= low


def test_files_that_are_there_stay(shell: Shell) -> None:
    shell(*NEW)
    before = (shell.folder / "made" / "question.toml").read_bytes()
    ended = shell(*NEW, "--favourable", "no")
    assert ended.code == 2
    assert "made/space.toml is there already" in ended.err
    assert (shell.folder / "made" / "question.toml").read_bytes() == before
    line = ended.err.splitlines()[-1].removeprefix("try: ")
    assert shell(*shlex.split(line)[1:]).code == 0
    assert 'target = "no"' in (shell.folder / "made" / "question.toml").read_text()


def test_how_a_model_is_read_goes_on(shell: Shell) -> None:
    made = shell("new", "mlp.joblib", *NEW[2:], "--trust-pickle")
    assert "--trust-pickle" in next_line(made.err)
    refused = shell("new", "mlp.joblib", *NEW[2:-1], "other")
    assert refused.code == 2
    assert refused.err.splitlines()[-1].endswith("--trust-pickle")


def test_infer_says_what_comes_next(shell: Shell) -> None:
    ended = shell("space", "infer", "data.csv", "--target", "outcome", "-o", "new.toml")
    words = next_line(ended.err)
    assert shell(*(word.replace("MODEL", "tree.skops") for word in words)).code == 0


def test_the_outcome_is_no_column(shell: Shell) -> None:
    message = shell.refuses("new", "tree.skops", "data.csv", "--target", "yes", "-o", "made")
    assert "--target names the outcome's column, --favourable the wanted outcome" in message


def test_a_table_in_parquet(shell: Shell) -> None:
    pytest.importorskip("pyarrow")
    pd.read_csv("data.csv").to_parquet("data.parquet")
    made = shell("new", "tree.skops", "data.parquet", *NEW[3:])
    assert shell(*next_line(made.err)).code == 0


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("targte = 'yes'", "no option 'targte' (nearest: 'target')"),
        ("n_job = 2", "no option 'n_job' (nearest: 'n_jobs')"),
        ("subject_to = 3", "subject_to lists conditions"),
        ("subject_to = [{max_change = 3}]", "(nearest: 'max_changes')"),
        ("epsilon = 'small'", "epsilon"),
        ("target = [1, 2, 3]", "target"),
    ],
)
def test_wrong_keys_of_a_question(shell: Shell, text: str, part: str) -> None:
    (shell.folder / "question.toml").write_text(text)
    message = shell.refuses(
        "explain", "tree.skops", "--space", "space.toml", "--factual", "person.json",
        "--question", "question.toml",
    )  # fmt: skip
    assert part in message
    assert "question.toml" in message or text.startswith(("epsilon", "target ="))


def test_steps_that_were_inferred_are_noted(shell: Shell) -> None:
    """A step of the data is the resolution, so answers are numbers that a person can have."""
    rng = np.random.default_rng(3)
    table = pd.DataFrame(
        {
            "tenth": rng.integers(0, 50, 60) / 10,
            "cent": rng.integers(0, 5000, 60) / 100,
            "half": rng.integers(0, 9, 60) / 2,
            "any": rng.normal(0, 1, 60),
            "count": rng.integers(0, 50, 60),
        }
    )
    table.to_csv("steps.csv", index=False)
    ended = shell("space", "infer", "steps.csv", "--resolution", "half=0.5")
    text = ended.out
    assert 'resolution = "0.1"  # inferred from the data' in text
    assert 'resolution = "0.01"  # inferred from the data' in text
    assert 'resolution = "0.5"\n' in text
    assert text.count("the data move in no step") == 1
    plain = cfxc.FeatureSpace.infer(table, resolution={"half": 0.5})
    assert cfxc.FeatureSpace.from_toml(text) == plain
    assert plain["any"].resolution is None
    uncommented = text.replace('# resolution = "0.01"', 'resolution = "0.01"')
    assert cfxc.FeatureSpace.from_toml(uncommented)["any"].resolution == Fraction(1, 100)


def test_an_outcome_that_all_rows_have(shell: Shell) -> None:
    """No command is proposed that would say that nothing needs to change."""
    lines = (shell.folder / "data.csv").read_text().splitlines()
    (shell.folder / "same.csv").write_text("\n".join([lines[0], *[lines[1]] * 4]) + "\n")
    made = shell("new", "regression.skops", "same.csv", "--drop", "outcome", "-o", "made")
    assert made.code == 0
    assert "as 4 of 4 rows have; edit it" in made.out
    assert made.err == "cfxc: no row is without that outcome; edit made/question.toml\n"

"""``generate``: trained, drawn, printed; and what is refused."""

from __future__ import annotations

import io
import json

import pandas as pd
import pytest

import cfxc
from cfxc.cli.commands import Source
from cfxc.cli.flags import Reading

from .conftest import Shell

MODEL = ("lr.skops", "--space", "space.toml")
FIT = (
    "generate", "fit", *MODEL, "--data", "data.csv", "--epochs", "2", "--bucket-rows", "40", "-o",
)  # fmt: skip
RUN = ("generate", "run", *MODEL, "--generator", "g")


pytestmark = pytest.mark.usefixtures("one_torch_thread")


def test_trained_then_drawn(shell: Shell) -> None:
    ended = shell(*FIT, "g", "--json", "--checkpoint", "c")
    assert ended.code == 0, ended
    facts = json.loads(ended.out)
    assert facts["targets"] == ["no", "yes"]
    assert facts["gradient"] == "pathwise"
    assert facts["epochs"] == 2
    assert (shell.folder / "c" / "checkpoint.safetensors").is_file()
    assert "generator.json is there already" in shell(*FIT, "g").err
    assert shell(*FIT, "g", "--overwrite").code == 0
    model = Source(str(shell.folder / "lr.skops"), shell.folder / "space.toml", Reading()).load()

    drawn = shell(*RUN, "--rows", "data.csv", "-n", "5", "--target", "yes")
    assert drawn.code == 0, drawn
    rows = pd.read_csv(io.StringIO(drawn.out))
    assert list(rows.columns) == ["row", "k", "age", "pay gap", "sector"]
    assert (model.predict(rows[["age", "pay gap", "sector"]]) == "yes").all()
    assert "in target" in drawn.err

    one = shell(*RUN, "--rows", "person.json", "-n", "4", "--json", "--max-changes", "2")
    answer = json.loads(one.out)
    assert one.out.count("\n") == 1
    (instance,) = answer["instances"]
    assert instance["status"] == "full"
    assert len(instance["counterfactuals"]) == instance["returned"] == 4
    again = shell(*RUN, "--rows", "person.json", "-n", "4", "--json", "--max-changes", "2")
    assert again.out == one.out
    written = shell(*RUN, "--rows", "data.csv:0", "-n", "2", "-o", "rows.csv")
    assert written.code == 0, written
    assert "2 rows for 1 instance: " in written.err
    assert len(pd.read_csv(shell.folder / "rows.csv")) == 2
    third = shell(*RUN, "--rows", "data.csv:2", "-n", "2")
    assert [line.split(",")[0] for line in third.out.splitlines()] == ["row", "2", "2"]
    banded = shell(
        *RUN, "--rows", "data.csv:2", "-n", "2", "--bands", "age=30,40", "--bands", "pay gap=0"
    )
    assert banded.code == 0, banded
    fewer = (*RUN, "--rows", "data.csv:0", "-n", "1", "-o", "rows.csv")
    assert shell(*fewer).err.endswith("-o rows.csv --overwrite\n")
    assert "1 row for 1 instance: " in shell(*fewer, "--overwrite").err


def test_somebody_without_an_answer(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise cfxc.UnsupportedError("no engine")

    assert shell(*FIT, "g").code == 0
    ended = shell(*RUN, "--rows", "person.json", "--constraint", "age == factual.age && age > 99")
    assert ended.code == 3
    assert "1 impossible" in ended.err
    monkeypatch.setattr("cfxc.answers.explaining.Explainer.of", refuse)
    unknown = shell(*RUN, "--rows", "person.json", "--constraint", "age > 99")
    assert unknown.code == 4
    assert "1 none" in unknown.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((*FIT, "person.json"), "it is no folder"), ((*FIT, "no/g"), "no folder no"),
        ((*FIT, "g", "--gradient", "best"), "unknown gradient"),
        ((*FIT, "g", "--target", "maybe"), "no outcome of the model"),
        ((*FIT, "g", "--bucket-rows", "0"), "--bucket-rows"),
        ((*RUN, "--rows", "person.json"), "cannot read"),
        *(((*RUN, "--rows", "person.json", "--bands", bands), "--bands: ")
          for bands in ("age", "age=", "=3", "age=x")),
        (("generate", "fit", "regression.skops", "--space", "space.toml", "--data", "data.csv",
          "-o", "g"), "takes classifiers"),
        (("generate", "fit", *MODEL, "--data", "none.csv", "-o", "g"), "none.csv"),
    ],
)  # fmt: skip
def test_refusals(arguments: tuple[str, ...], said: str, shell: Shell) -> None:
    assert said in shell.refuses(*arguments)


def test_the_generator_of_another_model(shell: Shell) -> None:
    assert shell(*FIT, "g").code == 0
    other = ("generate", "run", "tree.skops", "--space", "space.toml", "--generator", "g")
    ended = shell(*other, "--rows", "person.json")
    assert ended.code == 2
    assert "trained for another model" in ended.err

"""What README and docs show is true: programs compile, the example runs and prints that answer."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import cfxc
from cfxc import FeatureSpace
from cfxc.ir import INT, REAL, category
from cfxc.lang import compile_constraint, compile_program
from cfxc.question.distances import resolve_distance

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
SPACES = ROOT / "docs" / "reference" / "feature-space.md"
LANGUAGE = ROOT / "docs" / "reference" / "language.md"
MODELS = ROOT / "docs" / "how-to" / "multiplicity.md"
OUTPUTS = ROOT / "docs" / "how-to" / "regression.md"
PLANS = ROOT / "docs" / "how-to" / "plans.md"
GENERATOR = ROOT / "docs" / "how-to" / "generator.md"
LETTERS = ROOT / "docs" / "how-to" / "letters.md"


def blocks(path: Path, language: str) -> list[str]:
    """The fenced blocks of a page in one language."""
    text = path.read_text(encoding="utf-8")
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return [body for kind, body in fenced if kind == language]


def test_the_example_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = blocks(README, "python")
    said = README.read_text(encoding="utf-8").split(example)[1].split("```")[2].strip()
    scope: dict[str, object] = {}
    exec(compile(example, str(README), "exec"), scope)
    printed = capsys.readouterr().out.strip()
    first, second = (text.split(" (proved")[0] for text in (said, printed))
    number = r"0\.\d+"
    assert re.sub(number, "", first) == re.sub(number, "", second)
    for shown, here in zip(re.findall(number, first), re.findall(number, second), strict=True):
        # which point within epsilon is found depends on the libraries' versions
        assert abs(float(shown) - float(here)) <= 1e-3


def test_the_example_of_outputs_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    (example,), (said,) = blocks(OUTPUTS, "python"), blocks(OUTPUTS, "")
    exec(compile(example, str(OUTPUTS), "exec"), {})
    assert capsys.readouterr().out.strip() == said.strip()


@pytest.mark.parametrize("part", [0, 1])
def test_the_examples_of_many_models_print_what_they_say(
    part: int, capsys: pytest.CaptureFixture[str]
) -> None:
    if part:
        pytest.importorskip("cvxpy")
    example, said = blocks(MODELS, "python")[part], blocks(MODELS, "")[part]
    exec(compile(example, str(MODELS), "exec"), {})
    assert capsys.readouterr().out.strip() == said.strip()


def test_the_example_of_plans_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    (example,), (said,) = blocks(PLANS, "python"), blocks(PLANS, "")
    exec(compile(example, str(PLANS), "exec"), {})
    assert capsys.readouterr().out.strip() == said.strip()


def test_the_example_of_the_generator_prints_what_it_says(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("safetensors")
    (example,), (said,) = blocks(GENERATOR, "python"), blocks(GENERATOR, "")
    exec(compile(example, str(GENERATOR), "exec"), {})
    assert capsys.readouterr().out.strip() == said.strip()


def test_the_example_of_letters_prints_what_it_says(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    data_directory: Path,
) -> None:  # fmt: skip
    pytest.importorskip("weasyprint", exc_type=(ImportError, OSError))  # type: ignore[arg-type]
    (example,), (said, *_) = blocks(LETTERS, "python"), blocks(LETTERS, "")
    monkeypatch.setenv("CFXC_DATA", str(data_directory.absolute()))
    monkeypatch.chdir(tmp_path)
    Path("sender.toml").write_text(blocks(LETTERS, "toml")[0], encoding="utf-8")
    exec(compile(example, str(LETTERS), "exec"), {})
    assert capsys.readouterr().out.strip() == said.strip()
    assert Path("letter.pdf").read_bytes().startswith(b"%PDF")


def test_programs_of_the_language() -> None:
    tree, gentle = blocks(LANGUAGE, "cfl")
    assert [name for name, _ in compile_program(tree).inputs] == ["x1", "x2", "x3"]
    space = FeatureSpace.infer(pd.DataFrame({"a": [0, 1, 2], "b": [0.5, 1.5, 2.5]}))
    assert resolve_distance(gentle, space).name == "gentle"


def test_constraints_of_the_language() -> None:
    sorts = {
        "age": INT, "loan": REAL, "income": REAL, "pay gap": REAL,
        "degree": category("none", "phd"), "sector": category("it", "law", "art"),
    }  # fmt: skip
    shown = blocks(LANGUAGE, "")[0].splitlines()
    assert len(shown) == 4
    for text in shown:
        assert compile_constraint(text, sorts).outputs


def test_feature_space_of_the_page(tmp_path: Path) -> None:
    text, _ = blocks(SPACES, "toml")
    (tmp_path / "space.toml").write_text(text, encoding="utf-8")
    space = FeatureSpace.from_toml(tmp_path / "space.toml")
    table = pd.DataFrame(
        {
            "age": [20, 30, 40], "pay gap": [1.25, 2.51, 3], "degree": ["none", "phd", "msc"],
            "member": [True, False, True],
        }
    )  # fmt: skip
    scope = {"cfxc": cfxc, "X": table}
    code, _ = blocks(SPACES, "python")
    exec(code.replace('"space.toml"', repr(str(tmp_path / "made.toml"))), scope)
    assert scope["space"] == space
    made = (tmp_path / "made.toml").read_text(encoding="utf-8")
    assert made.partition("[[feature]]")[2] == text.partition("[[feature]]")[2]


def test_the_tables_of_the_page() -> None:
    pl = pytest.importorskip("polars")
    from sklearn.tree import DecisionTreeClassifier

    table = pl.DataFrame({"age": pl.Series(range(20, 60), dtype=pl.UInt8)})
    tree = DecisionTreeClassifier().fit(table, table["age"] > 40)
    _, code = blocks(SPACES, "python")
    scope = {"cfxc": cfxc, "X": table, "pipeline": tree}
    exec(code, scope)
    answer: Any = scope["answer"]
    assert answer.counterfactual.schema == table.schema
    assert answer.changes == {"age": (37, 41)}


def test_the_thermometer_of_the_page() -> None:
    _, text = blocks(SPACES, "toml")
    table = pd.DataFrame({"edu_0": [1, 0, 1], "edu_1": [0, 0, 1], "edu_2": [0, 0, 1]})
    space = FeatureSpace.infer(table, thermometer="edu_", increase=["edu"])
    assert FeatureSpace.from_toml(f"version = 1\n{text}") == space
    assert space.encode_row(table.iloc[[2]])["edu"] == 3
    assert space["edu"].range == 3


def test_links_lead_somewhere() -> None:
    for page in [README, *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/**/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"

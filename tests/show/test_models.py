"""The page of models is up to date, and names every public estimator with a mark or a reason."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from cfxc.cli import main
from cfxc.show import models

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "models.md"


@pytest.fixture(scope="module")
def sections() -> list[models.Section]:
    for library in ("lightgbm", "xgboost", "imblearn"):
        pytest.importorskip(library)
    return models.sections()


def test_the_page_is_up_to_date(
    sections: list[models.Section], golden: Callable[[str, str], None]
) -> None:
    if f"scikit-learn {models.version()}" not in PAGE.read_text(encoding="utf-8"):
        pytest.skip(f"the page is about another version than scikit-learn {models.version()}")
    optional = {"CatBoost", "interpret", "category_encoders", "linear-tree", "statsmodels"}
    page = as_page([s for s in sections if s.title not in optional])
    golden("../../docs/reference/models.md", page)


def test_every_public_estimator_is_decided(sections: list[models.Section]) -> None:
    if f"scikit-learn {models.version()}" not in PAGE.read_text(encoding="utf-8"):
        pytest.skip(f"nothing is said of scikit-learn {models.version()} yet")
    rows = [row for section in sections for row in section.rows]
    assert len(rows) > 400
    for section in sections:
        assert len({row.name for row in section.rows}) == len(section.rows)
    assert not [row.name for row in rows if row.note == models.UNDECIDED]
    for row in rows:
        assert row.mark in models.WORDS
        assert row.mark != models.REFUSES or row.note


def test_the_command(sections: list[models.Section], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models"]) == 0
    printed = capsys.readouterr().out
    assert "  ✔ GaussianNB\n" in printed
    assert "  ≈ PoissonRegressor" in printed
    assert "  – KNeighborsClassifier" in printed
    assert printed.rstrip().splitlines()[-1].startswith("Of scikit-learn ")
    assert max(map(len, printed.splitlines()[:-1])) <= models.LINE
    assert main(["models", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["title"] for each in found["sections"]] == [each.title for each in sections]
    rows = {row["name"]: row for each in found["sections"] for row in each["rows"]}
    assert rows["GaussianNB"] == {"name": "GaussianNB", "support": "exact", "note": ""}
    assert rows["ClassifierChain"]["support"] == "refused"
    assert "model.estimators_[0]" in rows["ClassifierChain"]["note"]


def as_page(found: Sequence[models.Section]) -> str:
    """The page ``docs/reference/models.md``."""
    lines = [
        "# Models",
        "",
        "Made from the registries: `pytest --update-golden tests/show/test_models.py`. "
        "`cfxc models` prints it for what",
        "is installed.",
        "",
        f"* {models.EXACT} The program is the model over the reals, with its parameters and "
        "comparisons.",
        f"* {models.ENCLOSED} What decides is smooth: engines hold it between lines, so bounds are "
        "true and answers verified.",
        f"* {models.REFUSES} Refused before any work, with this reason.",
        "",
        "Classes are matched exactly; a subclass is refused. Pipelines, column transformers and "
        "ensembles may hold all that",
        "is supported.  PyTorch modules are read from their exported program, op by op as ONNX's.",
        "The page lists the libraries that the tests install; CatBoost, the explainable boosting "
        "machines of interpret,",
        "18 encoders of category_encoders, linear-tree and fitted results of statsmodels are read "
        "too (`cfxc models` lists",
        "them where they are installed).",
        "",
    ]
    for section in found:
        lines += [f"## {section.title}", "", "| class | | |", "|---|---|---|"]
        lines += [f"| `{row.name}` | {row.mark} | {_cell(row.note)} |" for row in section.rows]
        lines.append("")
    *_, shares = models.legend(found)
    return "\n".join([*lines, "## Share", "", shares, ""])


def _cell(note: str) -> str:
    return note.replace("|", "\\|").replace("*", "\\*")

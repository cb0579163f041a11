"""Tables of ``benchmarks/results`` are as their commands wrote them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.support.report import HOME, Table, faults_of, write_section

PAGES = sorted((HOME / "results").glob("*.md"))
OLDER = {
    "certificates": ["certificates"],
    "multiplicity": ["multiplicity"],
    "performance": [
        *(f"oracle {data}" for data in ("credit", "compas", "adult")),
        *(f"exact {part}" for part in ("adult", "continuous", "networks", "growth", "cold")),
        *(f"evidence {data}" for data in ("credit", "compas", "adult")),
    ],
}  # fmt: skip
"""Written before commands left stamps.  None is added; who writes one anew takes it out here."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_sections_are_as_written(page: Path) -> None:
    assert faults_of(page) == dict.fromkeys(OLDER.get(page.stem, ()), "no stamp")


def test_what_was_edited_or_is_older_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    table = Table("Two, of | three", ["data", "s"], [["Adult, all", "0.1"], ["HELOC", "0.2"]])
    text = f"{table.markdown()}\n`python benchmarks/l2c.py --part x`"
    write_section(page, "l2c x", text)
    write_section(page, "l2c y", text)
    assert faults_of(page) == {}
    beside = tmp_path / "csv" / "l2c-x.csv"
    assert beside.read_text() == '"Two, of | three"\ndata,s\n"Adult, all",0.1\nHELOC,0.2\n'
    whole = page.read_text()
    page.write_text(whole.replace("0.2", "0.1", 1))
    assert faults_of(page) == {"l2c x": "edited"}
    page.write_text(re.sub("by [0-9a-f]{16}", f"by {'0' * 16}", whole, count=1))
    assert faults_of(page) == {"l2c x": "older than the script that made it"}
    page.write_text(whole)
    beside.write_text("")
    assert faults_of(page) == {"l2c x": "l2c-x.csv is of another run"}
    lines = [line for line in whole.splitlines() if "written" not in line]
    page.write_text("\n".join(lines))
    assert set(faults_of(page).values()) == {"no stamp"}

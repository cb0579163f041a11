"""The examples run, and show what they say."""

from __future__ import annotations

import os
import runpy
from pathlib import Path

import pytest

import cfxc

EXAMPLES = Path(__file__).parent.parent / "examples"
DATA = Path(os.environ.get("CFXC_DATA", ".")) / "german_credit" / "credit-g.csv"


@pytest.mark.skipif(not DATA.exists(), reason="the German credit data are not there")
def test_german_credit() -> None:
    """Each part has what it adds: a negative amount, few changes, actions, nearness, causes."""
    example = runpy.run_path(str(EXAMPLES / "german_credit.py"))
    answers = example["answered"]()
    space, row = answers.space, answers.row
    own, found = row.iloc[0], answers.found
    assert (found["A"].credit_amount < 0).all()
    changed = {part: (rows != own).sum(axis=1) for part, rows in found.items()}
    assert (changed["B"] < changed["A"].min()).all()
    assert len(found["C"]) == len(found["D"]) == len(found["E"]) == len(found["F"]) == 3
    for part in "DEF":
        rows = found[part]
        assert (rows[["duration", "credit_amount", "installment_commitment"]] >= 0).all().all()
        assert (rows.age >= own.age).all()
        for name in ("foreign_worker", "personal_status", "purpose"):
            assert (rows[name] == own[name]).all()
    near = {
        part: cfxc.metrics.nearest_neighbours(space, found[part], answers.data) for part in "DE"
    }
    assert near["E"] < near["D"]
    assert example["unexplained"](answers.causal, row, found["F"]) < 0.1

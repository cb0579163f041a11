"""Claims that are false, with proofs that show nothing: none is accepted."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from cfxc.certificates import checker as check
from tests.certificates.mutants import rehashed
from tests.certificates.oracle import is_true
from tests.certificates.samples import SAMPLES, answered

FEASIBLE = [name for name in SAMPLES if name != "infeasible"]


def infeasible(name: str) -> dict[str, Any]:
    """A question that has an answer, claimed to have none; its proof is still to be forged."""
    content = json.loads(answered(name).certificate.to_json())
    content["claim"].update(status="infeasible", distance=None, lower_bound="0")
    content["witness"] = None
    content["proof"] = {"radius": "5", "lemmas": [], "nodes": []}
    assert not is_true(content)
    return dict(content)


@pytest.mark.parametrize("name", FEASIBLE)
@pytest.mark.parametrize("budget", ["0", "1"])
def test_a_row_that_is_used_zero_times_closes_nothing(name: str, budget: str) -> None:
    """Strictly missing by 0 times a row is no miss: nothing follows from the row's strictness."""
    content = infeasible(name)
    question = check.Question(*(content[part] for part in ("features", "program", "question")))
    assert question.rows
    for k in range(len(question.rows)):
        forged = copy.deepcopy(content)
        forged["proof"]["nodes"] = [["bound", budget, [["row", k, "0"]], []]]
        with pytest.raises(check.Rejected, match="node 0"):
            check.check(rehashed(forged))


@pytest.mark.parametrize("source", [["x", 2, 1], ["x", 2], ["x", 3, 0], ["is", 0, 0], ["is", 0]])
def test_labels_are_not_numbers(source: list[Any]) -> None:
    """A label read as a number has a value at a point, and none in a bound."""
    content = infeasible("forest")
    content["program"]["outputs"][1].append([source, "1"])
    content["proof"]["nodes"] = [["bound", "0", [["row", 0, "1"]], []]]
    with pytest.raises(check.Rejected, match=r"program.outputs\[1\]: source"):
        check.check(rehashed(content))
